//! fio's output for people.

use super::date::Date;
use super::number::{self, Base, bytes, short};
use super::reported::{Part, Reported};
use super::stats::{self, CLASSES, Classes};
use super::{errno, group};
use nandscope_result::{DiskUse, Latency, Operation};
use nandscope_units::printable;
use std::fmt::Write as _;

/// Width of a line of percentiles without its indentation, columns.
const COLUMNS: usize = 80 - 7;
/// Digits of the times in a line of latencies.
const TIME_DIGITS: usize = 6;

/// The results of the jobs, of their groups and of the disks.
pub fn text(entries: &[Reported], disks: &[DiskUse], date: Date) -> String {
    let mut text = "\n".to_string();
    for entry in entries {
        if entry.parts.iter().any(|part| part.result.operations > 0) {
            job(&mut text, entries, entry, date);
        }
    }
    for number in group::numbers(entries) {
        group_lines(&mut text, entries, number);
    }
    disk_lines(&mut text, disks);
    text
}

fn job(text: &mut String, entries: &[Reported], entry: &Reported, date: Date) {
    let reason = match entry.error {
        0 => String::new(),
        number => format!(" (error={})", errno::text(number)),
    };
    let _ = writeln!(
        text,
        "{}: (groupid={}, jobs={}): err={:2}{reason}: pid=0: {}",
        printable(entry.name),
        entry.group,
        entry.threads,
        entry.error,
        date.text()
    );
    let description = entry.option("description");
    if !description.is_empty() {
        let _ = writeln!(text, "  Description  : [{}]", printable(description));
    }
    for kind in [
        Operation::Read,
        Operation::Write,
        Operation::Trim,
        Operation::Mixed,
    ] {
        if let Some(part) = entry.part(&kind) {
            let together = group::sum(entries, entry.group, &kind).together;
            direction(text, entry, part, together);
        }
    }
    latency_classes(text, &stats::classes(entry));
    if let Some(flushes) = entry.part(&Operation::Flush) {
        text.push_str("  fsync/fdatasync/sync_file_range:\n");
        let latency = flushes.result.since_issue();
        latency_line(text, "sync", latency);
        percentiles(text, "sync", latency);
    }
    ending(text, entry);
}

fn direction(text: &mut String, entry: &Reported, part: &Part, together: u64) {
    let digits = entry.digits();
    let result = part.result.as_ref();
    let (rate, rate_decimal) = bytes(part.bytes_per_s(), digits);
    let resets = match result.kind {
        Operation::Write => "; 0 zone resets",
        _ => "",
    };
    let _ = writeln!(
        text,
        "  {}: IOPS={}, BW={rate}/s ({rate_decimal}/s)({}/{}msec){resets}",
        result.kind,
        short(result.iops as u64, digits, Base::Decimal),
        bytes(result.bytes, digits).0,
        part.runtime_ms
    );
    let submission = stats::submission(result);
    let (completion, total) = (stats::completion(result), result.since_issue());
    if let Some(submission) = submission {
        latency_line(text, "slat", submission);
    }
    latency_line(text, "clat", completion);
    latency_line(text, " lat", total);
    if let Some(submission) = submission.filter(|_| entry.is_on("slat_percentiles")) {
        percentiles(text, "slat", submission);
    }
    if entry.shows_completion() {
        percentiles(text, "clat", completion);
    }
    if entry.is_on("lat_percentiles") {
        percentiles(text, "lat", total);
    }
    rates(text, part, together);
}

/// Unit of a latency and its divisor: as in fio, the next unit if the smallest latency has at least four digits and the
/// largest at least six.
fn unit(min_ns: u64, max_ns: u64, deviation_ns: f64) -> (&'static str, u64) {
    if min_ns > 2_000_000 && max_ns > 99_999_999 && deviation_ns > 1e6 {
        ("msec", 1_000_000)
    } else if min_ns > 2_000 && max_ns > 99_999 && deviation_ns > 1e3 {
        ("usec", 1_000)
    } else {
        ("nsec", 1)
    }
}

fn latency_line(text: &mut String, name: &str, latency: &Latency) {
    let (unit, scale) = unit(latency.min_ns, latency.max_ns, latency.stddev_ns);
    let time = |ns: u64| short(ns / scale, TIME_DIGITS, Base::Decimal);
    let _ = writeln!(
        text,
        "    {name} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        time(latency.min_ns),
        time(latency.max_ns),
        latency.mean_ns / scale as f64,
        latency.stddev_ns / scale as f64,
    );
}

fn percentiles(text: &mut String, name: &str, latency: &Latency) {
    let list = &latency.percentiles;
    let (Some(first), Some(last)) = (list.first(), list.last()) else {
        return;
    };
    let (unit, scale) = unit(first.1, last.1, f64::INFINITY);
    // As in fio, which rounds up at each of the two steps.
    let scaled = |ns: u64| ns.div_ceil(scale);
    let precision = list.iter().map(|(p, _)| decimals(*p)).max().unwrap_or(0);
    let precision = precision.clamp(2, 9);
    let longest = (last.1 / scale).checked_ilog10().unwrap_or(0) as usize + 1;
    let width = longest.max(5);
    let per_line = (COLUMNS / (precision + 10 + width)).max(1);
    let _ = writeln!(text, "    {name} percentiles ({unit}):");
    let cells: Vec<String> = list
        .iter()
        .map(|(p, ns)| {
            let percent = precision + 3;
            format!(" {p:percent$.precision$}th=[{:width$}]", scaled(*ns))
        })
        .collect();
    let lines: Vec<String> = cells
        .chunks(per_line)
        .map(|cells| format!("     |{}", cells.join(",")))
        .collect();
    let _ = writeln!(text, "{}", lines.join(",\n"));
}

/// Decimals that a percentage needs.
fn decimals(percent: f64) -> usize {
    let text = percent.to_string();
    text.split_once('.')
        .map_or(0, |(_, decimals)| decimals.len())
}

fn rates(text: &mut String, part: &Part, together: u64) {
    const MIB: f64 = 1024.0;
    let rates = &part.rates;
    if rates.samples == 0 {
        return;
    }
    let bandwidth = &rates.kib_per_s;
    let (unit, scale) = match bandwidth.mean > MIB * MIB {
        true => ("MiB", MIB),
        false => ("KiB", 1.0),
    };
    let _ = writeln!(
        text,
        "   bw ({unit:>5}/s): min={:5}, max={:5}, per={:.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
        (bandwidth.min / scale) as u64,
        (bandwidth.max / scale) as u64,
        stats::share_of_group(rates, together),
        bandwidth.mean / scale,
        bandwidth.deviation / scale,
        rates.samples
    );
    let iops = &rates.iops;
    let _ = writeln!(
        text,
        "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
        iops.min as u64, iops.max as u64, iops.mean, iops.deviation, rates.samples
    );
}

fn latency_classes(text: &mut String, classes: &Classes) {
    for (unit, shares) in [
        ("nsec", &classes.ns[..]),
        ("usec", &classes.us[..]),
        ("msec", &classes.ms[..]),
    ] {
        let ends = CLASSES.iter().map(u64::to_string);
        let ends = ends.chain(["2000".to_string(), ">=2000".to_string()]);
        let found = ends.zip(shares).filter(|(_, share)| **share > 0.0);
        let found: Vec<String> = found
            .map(|(end, share)| format!("{end}={share:.2}%"))
            .collect();
        for line in found.chunks(5) {
            let _ = writeln!(text, "  lat ({unit})   : {}", line.join(", "));
        }
    }
}

/// The lines after the directions: processor, depths, counts, errors, the search for a depth, the steady state.
fn ending(text: &mut String, entry: &Reported) {
    text.push_str("  cpu          : usr=0.00%, sys=0.00%, ctx=0, majf=0, minf=0\n");
    const LEVELS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
    const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
    let depths = &entry.depths;
    for (name, names, counts) in [
        ("  IO depths    ", LEVELS, &depths.level),
        ("     submit    ", BATCHES, &depths.submit),
        ("     complete  ", BATCHES, &depths.complete),
    ] {
        let shares = names.iter().zip(stats::shares(counts));
        let shares: Vec<String> = shares
            .map(|(name, share)| format!("{name}={share:.1}%"))
            .collect();
        let _ = writeln!(text, "{name}: {}", shares.join(", "));
    }
    let count = |kind| entry.part(&kind).map_or(0, |part| part.result.operations);
    // As in fio, what is reported together counts as reads.
    let read = match entry.is_mixed() {
        true => count(Operation::Mixed),
        false => count(Operation::Read),
    };
    let _ = writeln!(
        text,
        "     issued rwts: total={read},{},{},{} short=0,0,0,0 dropped=0,0,0,0",
        count(Operation::Write),
        count(Operation::Trim),
        count(Operation::Flush)
    );
    if let Some(errors) = entry.errors_passed() {
        let _ = writeln!(
            text,
            "     errors    : total={errors}, first_error={}/<{}>",
            entry.error,
            errno::text(entry.error)
        );
    }
    let search = super::steady::search(entry.job);
    let _ = writeln!(
        text,
        "     latency   : target={}, window={}, percentile={:.2}%, depth={}",
        search.target_ns, search.window_us, search.percentile, search.depth
    );
    if let Some(line) = super::steady::line(entry.job, entry.digits()) {
        text.push_str(&line);
    }
}

fn group_lines(text: &mut String, entries: &[Reported], number: u32) {
    let _ = writeln!(text, "\nRun status group {number} (all jobs):");
    let members = entries.iter().filter(|entry| entry.group == number);
    let digits = members.map(Reported::digits).next();
    let digits = digits.unwrap_or(number::DIGITS);
    for (name, kind) in [
        ("   READ", Operation::Read),
        ("  WRITE", Operation::Write),
        ("   TRIM", Operation::Trim),
        ("  MIXED", Operation::Mixed),
    ] {
        let sum = group::sum(entries, number, &kind);
        if sum == group::Sum::default() {
            continue;
        }
        let pair = |n| bytes(n, digits);
        let (rate, decimal) = pair(sum.together);
        let (least, least_decimal) = pair(sum.bytes_per_s.0);
        let (most, most_decimal) = pair(sum.bytes_per_s.1);
        let (all, all_decimal) = pair(sum.bytes);
        let _ = writeln!(
            text,
            "{name}: bw={rate}/s ({decimal}/s), {least}/s-{most}/s ({least_decimal}/s-{most_decimal}/s), io={all} ({all_decimal}), run={}-{}msec",
            sum.runtime_ms.0, sum.runtime_ms.1
        );
    }
}

fn disk_lines(text: &mut String, disks: &[DiskUse]) {
    if disks.is_empty() {
        return;
    }
    text.push_str("\nDisk stats (read/write):\n");
    for disk in disks {
        let _ = writeln!(
            text,
            "  {}: ios={}/{}, merge={}/{}, ticks={}/{}, in_queue={}, util={:.2}%",
            printable(&disk.name),
            disk.reads,
            disk.writes,
            disk.read_merges,
            disk.write_merges,
            disk.read_ms,
            disk.write_ms,
            disk.in_queue_ms,
            disk.busy_percent
        );
    }
}
