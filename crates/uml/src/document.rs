//! The result document of measured cells, and the table for people who only look.

use crate::access_pattern::SIZE_CLASSES;
use crate::cell::{Card, Cell};
use crate::layout::Kind;
use nandscope_measure::distribution::Distribution;
use nandscope_result::recording::{LATE, LATE_MAX_S};
use nandscope_result::{
    ADDRESS_UNIT, Conclusion, DataColumn, DataRow, DataTable, DirectionResult, Figure, JobResult,
    Operation, Ranked, Series, StepResult, counter,
};
use nandscope_workload::OpKind;
use nandscope_workload::job::DEFAULT_PERCENTILES;
use std::collections::BTreeMap;

/// More writes of a kind are thinned out for the plot.
const MOST_POINTS: usize = 4000;

/// The step of the document that a cell is. The name of a cell with another seed than `first_seed` has the seed, or on a real
/// device the number of the run.
pub fn step(cell: &Cell, card: Card, first_seed: u64) -> StepResult {
    let c = &cell.pattern;
    let mut id = cell.id();
    if cell.settings.seed != first_seed {
        let what = if cell.is_simulated() { "seed" } else { "run" };
        id.push_str(&format!("-{what}{}", cell.settings.seed));
    }
    StepResult {
        title: format!("{} on {}", cell.workload, cell.title()),
        section: format!("Workload {}", cell.workload),
        description: format!("{}. {}", cell.reason(card), settings_in_words(cell)),
        start_s: c.window.from.as_secs_f64(),
        end_s: c.window.to.as_secs_f64(),
        jobs: jobs(cell),
        series: if cell.known.trace {
            series(cell)
        } else {
            Vec::new()
        },
        counters: counters(cell),
        figures: figures(cell, &id),
        tables: if cell.known.trace {
            vec![sizes(cell), kinds(cell), open_units(cell)]
        } else {
            Vec::new()
        },
        id,
        ..StepResult::default()
    }
}

fn settings_in_words(cell: &Cell) -> String {
    let s = &cell.settings;
    let mut text = if cell.is_simulated() {
        format!(
            "Linux starts writeback at {} of dirty pages; requests of at most {}",
            s.dirty_background, s.max_request
        )
    } else {
        let check = match cell.fs.check() {
            Some(_) => "fsck found no error afterwards",
            None => "all files were readable afterwards",
        };
        format!("In real time, with the kernel's own settings of writeback; {check}")
    };
    if s.fullness > 0 {
        text.push_str(&format!(
            "; filled to {} % before, {} rounds of deleting and refilling",
            s.fullness, s.age_rounds
        ));
    }
    if let Some(start) = s.partition_start {
        text.push_str(&format!("; on a partition from {start} on"));
    }
    for (what, options) in [("mkfs", &s.mkfs_options), ("mount", &s.mount_options)] {
        if !options.is_empty() {
            text.push_str(&format!("; {what} with {options}"));
        }
    }
    text + "."
}

fn jobs(cell: &Cell) -> Vec<JobResult> {
    let calls = cell.known.calls.then(|| calls(cell));
    let device = cell.known.trace.then(|| device(cell));
    calls.into_iter().chain(device).collect()
}

fn calls(cell: &Cell) -> JobResult {
    let c = &cell.pattern;
    let seconds = cell.time.as_secs_f64().max(1e-9);
    JobResult {
        name: "calls of programs".to_string(),
        start_s: c.window.from.as_secs_f64(),
        runtime_s: seconds,
        directions: vec![direction(
            Operation::Write,
            c.call_latency.count(),
            c.program_bytes,
            seconds,
            &c.call_latency,
        )],
        ..JobResult::default()
    }
}

fn device(cell: &Cell) -> JobResult {
    let c = &cell.pattern;
    let seconds = cell.time.as_secs_f64().max(1e-9);
    let of = |wanted: OpKind| {
        let mut latency = Distribution::new();
        let mine = cell.events.iter().filter(|e| {
            e.kind == wanted && c.window.from <= e.submitted && e.submitted < c.window.to
        });
        for event in mine {
            latency.record(event.latency());
        }
        latency
    };
    let directions = [
        (Operation::Read, OpKind::Read, c.reads.bytes),
        (Operation::Write, OpKind::Write, c.writes.bytes),
        (Operation::Trim, OpKind::Trim, c.discards.bytes),
        (Operation::Flush, OpKind::Flush, 0),
    ];
    JobResult {
        name: "commands to the card".to_string(),
        start_s: c.window.from.as_secs_f64(),
        runtime_s: seconds,
        directions: directions
            .into_iter()
            .map(|(name, kind, bytes)| (name, of(kind), bytes))
            .filter(|(_, latency, _)| latency.count() > 0)
            .map(|(name, latency, bytes)| {
                direction(name, latency.count(), bytes, seconds, &latency)
            })
            .collect(),
        ..JobResult::default()
    }
}

fn direction(
    kind: Operation,
    operations: u64,
    bytes: u64,
    seconds: f64,
    latency: &Distribution,
) -> DirectionResult {
    DirectionResult {
        kind,
        operations,
        bytes,
        bandwidth_bytes_per_s: bytes as f64 / seconds,
        iops: operations as f64 / seconds,
        latency: latency.summary(&DEFAULT_PERCENTILES),
        service: None,
        stages: None,
    }
}

fn series(cell: &Cell) -> Vec<Series> {
    let c = &cell.pattern;
    let mut all = vec![Series {
        name: "allocation units in use".to_string(),
        unit: "AUs".to_string(),
        interval_s: 0.0,
        t_s: c
            .units_over_time
            .iter()
            .map(|(t, _)| t.as_secs_f64())
            .collect(),
        v: c.units_over_time.iter().map(|(_, units)| *units).collect(),
    }];
    let writes: Vec<_> = cell
        .events
        .iter()
        .filter(|e| e.kind == OpKind::Write)
        .zip(&cell.kinds)
        .filter(|(e, _)| c.window.from <= e.submitted && e.submitted < c.window.to)
        .collect();
    for kind in Kind::ALL {
        let mine: Vec<_> = writes.iter().filter(|(_, k)| **k == kind).collect();
        if mine.is_empty() {
            continue;
        }
        let every = mine.len().div_ceil(MOST_POINTS);
        let points = mine.iter().step_by(every);
        let (t_s, v) = points
            .map(|(e, _)| (e.submitted.as_secs_f64(), e.offset as f64 / 1_048_576.0))
            .unzip();
        all.push(Series {
            name: kind.name().to_string(),
            unit: ADDRESS_UNIT.to_string(),
            interval_s: 0.0,
            t_s,
            v,
        });
    }
    all
}

fn counters(cell: &Cell) -> BTreeMap<String, f64> {
    let c = &cell.counters;
    let mut all = vec![
        (counter::HOST_READ, c.host_read.0),
        (counter::HOST_WRITTEN, c.host_written.0),
        (counter::HOST_DISCARDED, c.host_discarded.0),
    ];
    if cell.known.flash {
        all.push((counter::FLASH_PROGRAMMED, c.flash_programmed.0));
        all.push(("erases", c.erases));
    }
    all.into_iter()
        .map(|(name, value)| (name.to_string(), value as f64))
        .collect()
}

fn figures(cell: &Cell, id: &str) -> Vec<Figure> {
    let c = &cell.pattern;
    let mut all = Vec::new();
    let known = cell.known;
    let mut add = |known: bool, name: &str, title: &str, value: f64, unit: &str| {
        if !known {
            return;
        }
        all.push(Figure {
            id: format!("fs.{id}.{name}"),
            title: format!("{}, {}: {title}", cell.workload, cell.title()),
            value,
            unit: unit.to_string(),
            ..Figure::default()
        });
    };
    add(true, "time", "time", cell.time.as_secs_f64(), "s");
    add(
        known.program_bytes,
        "throughput",
        "throughput of the programs",
        c.throughput() / 1e6,
        "MB/s",
    );
    let mean_us = c.call_latency.mean_ns() / 1e3;
    add(
        known.calls,
        "call-mean",
        "mean latency of a call",
        mean_us,
        "µs",
    );
    // Processor time is not modelled: a call that does not wait for the device takes no time at all.
    let p99 = c.call_latency.percentile(99.0).as_micros_f64();
    let p99_known = known.calls && p99 > 0.0;
    add(
        p99_known,
        "call-p99",
        "99 % of calls take at most",
        p99,
        "µs",
    );
    let longest_ms = c.call_latency.max().as_secs_f64() * 1e3;
    add(known.calls, "stall", "longest call", longest_ms, "ms");
    let (commands, trace) = (known.commands, known.trace);
    let writes = c.writes.commands as f64;
    add(commands, "writes", "writes to the card", writes, "");
    let written = c.writes.bytes as f64 / 1e6;
    add(commands, "written", "written to the card", written, "MB");
    add(commands, "flushes", "flushes", c.flushes as f64, "");
    let discards = c.discards.commands as f64;
    add(commands, "discards", "discards", discards, "");
    if let Some(factor) = c.write_amplification() {
        add(
            commands && known.program_bytes,
            "fs-wa",
            "write amplification of the file system",
            factor,
            "",
        );
    }
    let card = cell.counters.write_amplification();
    add(
        known.flash,
        "card-wa",
        "write amplification of the card",
        card,
        "",
    );
    add(
        trace,
        "units-needed",
        "open allocation units that suffice",
        f64::from(c.units_needed),
        "",
    );
    add(
        trace,
        "units",
        "allocation units in use over 64 writes",
        c.units_mean,
        "",
    );
    add(
        trace,
        "sequential",
        "writes that continue the one before",
        c.sequential * 100.0,
        "%",
    );
    add(
        trace,
        "distance",
        "median distance between writes",
        c.distance as f64 / 1_048_576.0,
        "MiB",
    );
    if let Some(file) = &c.per_file {
        add(true, "file-writes", "writes for a file", file.writes, "");
        add(
            true,
            "file-places",
            "places written for a file",
            file.places,
            "",
        );
        add(
            true,
            "file-bytes",
            "written for a file",
            file.bytes / 1024.0,
            "KiB",
        );
    }
    if let Some(late) = cell.late_s() {
        add(true, LATE, "video written late by at most", late, "s");
    }
    for (name, value) in &cell.values {
        if cell.late_s().is_none() || name != LATE {
            add(true, name, name, *value, "");
        }
    }
    all
}

fn column(name: &str, unit: &str) -> DataColumn {
    DataColumn {
        name: name.to_string(),
        unit: unit.to_string(),
    }
}

fn sizes(cell: &Cell) -> DataTable {
    DataTable {
        title: "Sizes of writes".to_string(),
        corner: "Size".to_string(),
        columns: vec![column("Share", "%")],
        rows: SIZE_CLASSES
            .iter()
            .zip(cell.pattern.sizes)
            .map(|((_, name), share)| DataRow {
                label: (*name).to_string(),
                cells: vec![Some(share * 100.0)],
            })
            .collect(),
    }
}

fn kinds(cell: &Cell) -> DataTable {
    DataTable {
        title: "What was written".to_string(),
        corner: "Kind".to_string(),
        columns: vec![column("Writes", ""), column("Bytes", "MB")],
        rows: cell
            .pattern
            .kinds
            .iter()
            .map(|(kind, amount)| DataRow {
                label: kind.name().to_string(),
                cells: vec![
                    Some(amount.commands as f64),
                    Some(amount.bytes as f64 / 1e6),
                ],
            })
            .collect(),
    }
}

fn open_units(cell: &Cell) -> DataTable {
    let mut rows = cell.pattern.reopened.clone();
    rows.sort_unstable();
    DataTable {
        title: "Reopened allocation units by the number of open ones of the card".to_string(),
        corner: "Open AUs".to_string(),
        columns: vec![column("Reopened", "")],
        rows: rows
            .into_iter()
            .map(|(open, times)| DataRow {
                label: open.to_string(),
                cells: vec![Some(times as f64)],
            })
            .collect(),
    }
}

/// Mean, minimum and maximum time of cells that differ only in their seeds, or are runs of one cell, if there are several.
pub fn spread(cells: &[&Cell]) -> Option<Figure> {
    let times: Vec<f64> = cells.iter().map(|c| c.time.as_secs_f64()).collect();
    let [first, _, ..] = cells else {
        return None;
    };
    Some(Figure {
        id: format!("fs.{}.time-over-seeds", first.id()),
        title: format!(
            "{}, {}: time over {} {}",
            first.workload,
            first.title(),
            times.len(),
            if first.is_simulated() {
                "seeds"
            } else {
                "runs"
            }
        ),
        value: times.iter().sum::<f64>() / times.len() as f64,
        unit: "s".to_string(),
        low: times.iter().copied().reduce(f64::min),
        high: times.iter().copied().reduce(f64::max),
        ..Figure::default()
    })
}

/// Whether a recording keeps up, in words.
pub fn kept_up(late_s: f64) -> String {
    match late_s <= LATE_MAX_S {
        true => "keeps up".to_string(),
        false => format!("does not keep up: {late_s:.1} s late"),
    }
}

/// The file systems of a workload in the order of their times, each with its reason. Recordings that keep up end at the same
/// time, and are in the order of how late they were.
pub fn ranking(workload: &str, cells: &[&Cell], card: Card) -> Vec<Conclusion> {
    let mut order: Vec<&&Cell> = cells.iter().filter(|c| c.workload == workload).collect();
    order.sort_by(|a, b| {
        let late = |c: &Cell| c.late_s().unwrap_or_default();
        late(a).total_cmp(&late(b)).then(a.time.cmp(&b.time))
    });
    order
        .iter()
        .enumerate()
        .map(|(i, cell)| Conclusion {
            id: format!("fs.{workload}.rank{}", i + 1),
            question: format!("{workload}: place {}", i + 1),
            answer: match cell.late_s() {
                Some(late) => format!("{} ({}; {})", cell.title(), cell.time, kept_up(late)),
                None => format!("{} ({})", cell.title(), cell.time),
            },
            evidence: cell.reason(card),
            ranked: Some(Ranked {
                workload: workload.to_string(),
                place: i as u32 + 1,
            }),
            ..Conclusion::default()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_keeps_up_within_the_buffer_of_the_camera() {
        assert_eq!(kept_up(LATE_MAX_S), "keeps up");
        assert_eq!(kept_up(12.34), "does not keep up: 12.3 s late");
    }
}
