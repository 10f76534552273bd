//! A lifetime from the output of iostat: the writes of a disk, run in order and at random.

use super::{Arguments, Setting, claim, document, estimate, open, put_out, rows, workload_name};
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::{input, job};
use nandscope_experiment::jobs::Jobs;
use nandscope_fitness::iostat::{DiskLoad, Order, job as job_of, parse};
use nandscope_fitness::lifetime::Estimate;
use nandscope_fitness::verdict::years_text;
use nandscope_units::{Bytes, number};
use nandscope_workload::job::Override;
use serde_json::json;

/// Properties of the workload that iostat does not record.
const ASSUMPTIONS: [&str; 4] = [
    "places: iostat has none; written in order and at random over the whole device, of which real workloads are between",
    "sizes: the mean of each interval",
    "flushes: at equal distances, as many as were counted; none if this iostat does not count them",
    "pauses: none, so that the device has no idle time for itself",
];

/// Estimates the lifetime under the writes of a disk.
///
/// # Errors
/// As `lifetime`; `Exit::Usage` if the file is not of `iostat -x`, or the disk is not in it, or was not written.
pub fn run(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let name = arguments.workload.display().to_string();
    let text = input::text(&arguments.workload, "the output of iostat")?;
    let loads = parse(&name, &text).map_err(Failure::usage)?;
    let load = chosen(&loads, arguments, &name)?;
    let orders =
        [Order::Sequential, Order::Random].map(|order| jobs(load, order, arguments, console));
    let [in_order, at_random] = orders;
    let (in_order, at_random) = (in_order?, at_random?);
    let per_day = load.mean().bytes_per_s * arguments.hours_per_day * 3600.0;
    let per_day = Some(Bytes(per_day as u64));
    let _made = claim(arguments, None)?;
    let (setting, mut device) = open(arguments, console)?;
    device.share();
    let copy = device.clone();
    let ordered = estimate(arguments, &setting, copy, &in_order, per_day, console)?;
    let random = estimate(arguments, &setting, device, &at_random, per_day, console)?;
    let found = json!({
        "disk": load,
        "assumptions": ASSUMPTIONS,
        "in_order": ordered,
        "at_random": random,
    });
    let document = document(arguments, &setting.about, found);
    put_out(arguments, &document, console, || {
        words(arguments, &setting, load, &[&ordered, &random], console)
    })?;
    Ok(Exit::Done)
}

/// The disk that was named, or the only one that was written.
fn chosen<'a>(
    loads: &'a [DiskLoad],
    arguments: &Arguments,
    file: &str,
) -> Result<&'a DiskLoad, Failure> {
    let names: Vec<&str> = loads.iter().map(|l| l.disk.as_str()).collect();
    if let Some(wanted) = &arguments.disk {
        let found = loads.iter().find(|l| l.disk == *wanted);
        return found.ok_or_else(|| {
            Failure::usage(format!(
                "{file} has no disk `{wanted}`; it has {}",
                names.join(", ")
            ))
        });
    }
    let written: Vec<&DiskLoad> = loads
        .iter()
        .filter(|l| l.mean().bytes_per_s > 0.0)
        .collect();
    match written[..] {
        [one] => Ok(one),
        [] => Err(Failure::usage(format!(
            "no disk in {file} was written, so nothing wears"
        ))),
        _ => Err(Failure::usage(format!(
            "{file} has several disks: {}; choose one with --disk",
            names.join(", ")
        ))),
    }
}

fn jobs(
    load: &DiskLoad,
    order: Order,
    arguments: &Arguments,
    console: &Console,
) -> Result<Jobs, Failure> {
    let text = job_of(load, order).ok_or_else(|| {
        Failure::usage(format!(
            "disk `{}` was not written, so nothing wears; choose another with --disk",
            load.disk
        ))
    })?;
    let overrides: Vec<Override> = arguments.keys.iter().map(|k| Override::parse(k)).collect();
    Jobs::parse("the output of iostat", text, &overrides)
        .map_err(|e| job::jobs_failure(&e, console))
}

/// The result for people.
fn words(
    arguments: &Arguments,
    setting: &Setting,
    load: &DiskLoad,
    [ordered, random]: &[&Estimate; 2],
    console: &Console,
) -> String {
    let low = ordered.years.low.min(random.years.low);
    let high = ordered.years.high.max(random.years.high);
    let mean = load.mean();
    let flushes = mean.flushes_per_s.map_or_else(
        || "flushes not counted".to_string(),
        |f| format!("{} flushes/s", number::short(f)),
    );
    let mut text = console.paragraph(
        &format!(
            "{} under {} of {}: {} to {} until the rated cycles",
            setting.about.device_source.profile.device.title,
            load.disk,
            workload_name(&arguments.workload),
            years_text(low),
            years_text(high)
        ),
        "",
    );
    text.push_str(&console.paragraph(
        &format!(
            "{} intervals: {} writes/s, {}/s, {flushes}",
            load.intervals.len(),
            number::short(mean.writes_per_s),
            number::bytes(mean.bytes_per_s as u64),
        ),
        "  ",
    ));
    text.push('\n');
    let mut table = console.table(&["", "IN ORDER", "AT RANDOM"]);
    let others = rows(random);
    for (name, value) in rows(ordered) {
        let other = others.iter().find(|(other, _)| *other == name);
        let other = other.map(|(_, value)| value.clone()).unwrap_or_default();
        table.add_row([name.to_string(), value, other]);
    }
    text.push_str(&lines_of(&table));
    text.push('\n');
    let level = match ordered.rounds.is_level && random.rounds.is_level {
        true => "The wear per byte was level in both.",
        false => {
            "The wear per byte was NOT level: the years are a rough guide; allow more with --rounds or --capacities."
        }
    };
    let all = format!(
        "{level} Assumed: {}. Range of the cycles: {}.",
        ASSUMPTIONS.join("; "),
        random.rating.source
    );
    text.push_str(&console.paragraph(&all, ""));
    text
}
