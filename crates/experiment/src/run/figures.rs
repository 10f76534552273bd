//! The figures of a run, so that results of the same job file can be compared: bandwidth, IOPS
//! and latency of each job and direction, and the energy that each gigabyte took.

use nandscope_result::{DirectionResult, Figure, Operation, StepResult, counter, run_figure};

/// Adds the figures of each job to its step. Jobs with the same name are numbered.
pub fn add(step: &mut StepResult) {
    let mut figures = Vec::new();
    for (index, job) in step.jobs.iter().enumerate() {
        let same = |j: &&nandscope_result::JobResult| j.name == job.name;
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
    figures.extend(energy(step));
    step.figures = figures;
}

/// Energy per gigabyte read and written, where there is power.
fn energy(step: &StepResult) -> Option<Figure> {
    let joules = *step.counters.get(counter::ENERGY)?;
    let bytes = step.bytes_read_and_written();
    (bytes > 0).then(|| Figure {
        id: run_figure::energy_per_gb(&step.id),
        title: format!("{}: energy per GB", step.title),
        value: joules / (bytes as f64 / 1e9),
        unit: "J/GB".to_string(),
        ..Figure::default()
    })
}

fn of_direction(step: &str, job: &str, d: &DirectionResult, figures: &mut Vec<Figure>) {
    let mut add = |what: &str, title: &str, value: f64, unit: &str| {
        figures.push(Figure {
            id: run_figure::of(step, job, &d.kind, what),
            title: format!("{job}: {} {title}", d.kind),
            value,
            unit: unit.to_string(),
            ..Figure::default()
        });
    };
    if d.kind != Operation::Flush {
        add(
            run_figure::BANDWIDTH,
            "bandwidth",
            d.bandwidth_bytes_per_s / 1e6,
            "MB/s",
        );
    }
    add(run_figure::IOPS, "IOPS", d.iops, "IOPS");
    // As in fio, `latency` counts from the submission; with a schedule that may be later than an operation was due.
    let due = d
        .service
        .is_some()
        .then_some((run_figure::DUE_LATENCY, "due latency", &d.latency));
    for (id, name, latency) in [(run_figure::LATENCY, "latency", d.since_issue())]
        .into_iter()
        .chain(due)
    {
        let tail = latency.percentiles.iter().find(|p| p.0 == 99.0);
        let tail = tail.filter(|_| d.defines(99.0));
        let tail = tail.map(|(_, ns)| (run_figure::P99, *ns as f64));
        for (what, ns) in [(run_figure::MEAN, latency.mean_ns)]
            .into_iter()
            .chain(tail)
        {
            add(
                &run_figure::latency(id, what),
                &format!("{name}, {what}"),
                ns / 1e3,
                "µs",
            );
        }
    }
}
