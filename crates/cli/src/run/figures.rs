//! The figures of a run, so that results of the same job file can be compared: bandwidth, IOPS
//! and latency of each job and direction.

use nandscope_measure::result::{DirectionResult, Figure, StepResult};

/// Adds the figures of each job to its step. Jobs with the same name are numbered.
pub fn add(step: &mut StepResult) {
    let mut figures = Vec::new();
    for (index, job) in step.jobs.iter().enumerate() {
        let same = |j: &&nandscope_measure::result::JobResult| j.name == job.name;
        let name = if step.jobs.iter().filter(same).count() > 1 {
            let number = step.jobs[..index].iter().filter(same).count() + 1;
            format!("{} {number}", job.name)
        } else {
            job.name.clone()
        };
        for direction in &job.directions {
            of_direction(&step.id, &name, direction, &mut figures);
        }
    }
    step.figures = figures;
}

fn of_direction(step: &str, job: &str, d: &DirectionResult, figures: &mut Vec<Figure>) {
    let mut add = |what: &str, title: &str, value: f64, unit: &str| {
        figures.push(Figure {
            id: format!("{step}.{job}.{}.{what}", d.kind),
            title: format!("{job}: {} {title}", d.kind),
            value,
            unit: unit.to_string(),
            ..Figure::default()
        });
    };
    if d.kind != "flush" {
        add(
            "bandwidth",
            "bandwidth",
            d.bandwidth_bytes_per_s / 1e6,
            "MB/s",
        );
    }
    add("iops", "IOPS", d.iops, "IOPS");
    add(
        "latency.mean",
        "latency, mean",
        d.latency.mean_ns / 1e3,
        "µs",
    );
    let tail = d.latency.percentiles.iter().find(|p| p.0 == 99.0);
    if let Some((_, ns)) = tail {
        add("latency.p99", "latency, p99", *ns as f64 / 1e3, "µs");
    }
}
