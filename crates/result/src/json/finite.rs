//! Finds numbers that JSON cannot represent, and their paths.

use crate::{
    DataTable, DirectionResult, Figure, JobResult, Latency, ResultDocument, Spread, StepResult,
};

/// A number and the path of its field.
type Named = (String, f64);

/// The first number of the document that is not finite.
pub(super) fn first_not_finite(document: &ResultDocument) -> Option<(String, f64)> {
    let mut all = Vec::new();
    if let Some(elapsed) = document.wall.elapsed_s {
        keep(&mut all, "", "wall.elapsed_s", elapsed);
    }
    if let Some(rate) = document.target.link_bytes_per_s {
        keep(&mut all, "", "target.link_bytes_per_s", rate);
    }
    for disk in &document.disks {
        let path = format!("disk `{}`: ", disk.name);
        keep(&mut all, &path, "busy_percent", disk.busy_percent);
    }
    document.steps.iter().for_each(|s| step(s, &mut all));
    document
        .figures
        .iter()
        .for_each(|f| figure("", f, &mut all));
    all.into_iter().next()
}

/// Only what is not finite is kept, so that nothing is formatted for the many numbers that are.
fn keep(all: &mut Vec<Named>, path: &str, name: &str, value: f64) {
    if !value.is_finite() {
        all.push((format!("{path}{name}"), value));
    }
}

fn step(s: &StepResult, all: &mut Vec<Named>) {
    let path = format!("step `{}`: ", s.id);
    keep(all, &path, "start_s", s.start_s);
    keep(all, &path, "end_s", s.end_s);
    for (name, &value) in &s.counters {
        keep(all, &path, name, value);
    }
    for series in &s.series {
        let path = format!("{path}series `{}`: ", series.name);
        keep(all, &path, "interval_s", series.interval_s);
        series.t_s.iter().for_each(|&v| keep(all, &path, "t_s", v));
        series.v.iter().for_each(|&v| keep(all, &path, "v", v));
    }
    for curve in &s.curves {
        let path = format!("{path}curve `{}`: ", curve.name);
        curve.x.iter().for_each(|&v| keep(all, &path, "x", v));
        curve.y.iter().for_each(|&v| keep(all, &path, "y", v));
        if let Some(v) = curve.threshold {
            keep(all, &path, "threshold", v);
        }
        let codes = curve.states.iter();
        codes.for_each(|code| keep(all, &path, "states", code.value));
    }
    for event in &s.events {
        let path = format!("{path}event `{}`: ", event.kind);
        keep(all, &path, "t_s", event.t_s);
        if let Some(v) = event.until_s {
            keep(all, &path, "until_s", v);
        }
    }
    for conclusion in &s.conclusions {
        let path = format!("{path}conclusion `{}`: ", conclusion.id);
        for requirement in &conclusion.requirements {
            keep(all, &path, "value", requirement.value);
            keep(all, &path, "limit", requirement.limit);
        }
        if let Some(v) = conclusion.confidence {
            keep(all, &path, "confidence", v);
        }
    }
    s.jobs.iter().for_each(|j| job(&path, j, all));
    s.figures.iter().for_each(|f| figure(&path, f, all));
    s.tables.iter().for_each(|t| table(&path, t, all));
}

fn table(path: &str, t: &DataTable, all: &mut Vec<Named>) {
    let path = format!("{path}table `{}`: ", t.title);
    for row in &t.rows {
        let values = row.cells.iter().flatten();
        values.for_each(|&v| keep(all, &path, &row.label, v));
    }
}

fn job(path: &str, j: &JobResult, all: &mut Vec<Named>) {
    let path = format!("{path}job `{}`: ", j.name);
    keep(all, &path, "start_s", j.start_s);
    keep(all, &path, "runtime_s", j.runtime_s);
    keep(all, &path, "idle_s", j.idle_s);
    if let Some(steady) = &j.steady_state {
        let rates = steady.iops.iter().chain(&steady.bandwidth_bytes_per_s);
        let values = rates.chain(&steady.value);
        values.for_each(|&v| keep(all, &path, "steady_state", v));
    }
    j.directions.iter().for_each(|d| direction(&path, d, all));
    for rates in j.fio.iter().flat_map(|fio| &fio.rates) {
        let path = format!("{path}rates of {}: ", rates.kind);
        spread(&path, "kib_per_s", &rates.kib_per_s, all);
        spread(&path, "iops", &rates.iops, all);
    }
}

fn spread(path: &str, name: &str, s: &Spread, all: &mut Vec<Named>) {
    for value in [s.min, s.max, s.mean, s.deviation] {
        keep(all, path, name, value);
    }
}

fn direction(path: &str, d: &DirectionResult, all: &mut Vec<Named>) {
    let path = format!("{path}{}: ", d.kind);
    keep(all, &path, "bandwidth_bytes_per_s", d.bandwidth_bytes_per_s);
    keep(all, &path, "iops", d.iops);
    latency(&path, &d.latency, all);
    if let Some(service) = &d.service {
        latency(&format!("{path}service "), service, all);
    }
    if let Some(stages) = &d.stages {
        latency(&format!("{path}submission "), &stages.submission, all);
        latency(&format!("{path}completion "), &stages.completion, all);
    }
}

fn latency(path: &str, l: &Latency, all: &mut Vec<Named>) {
    keep(all, path, "mean_ns", l.mean_ns);
    keep(all, path, "stddev_ns", l.stddev_ns);
    for &(percentile, _) in &l.percentiles {
        keep(all, path, "percentiles", percentile);
    }
}

fn figure(path: &str, f: &Figure, all: &mut Vec<Named>) {
    let path = format!("{path}figure `{}`: ", f.id);
    keep(all, &path, "value", f.value);
    for value in [f.low, f.high].into_iter().flatten() {
        keep(all, &path, "low or high", value);
    }
    if let Some(published) = &f.published {
        keep(all, &path, "published value", published.value);
        keep(all, &path, "tolerance", published.tolerance);
    }
}
