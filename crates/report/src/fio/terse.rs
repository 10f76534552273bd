//! fio's terse output: one line per job.

use super::VERSION;
use super::group;
use super::reported::{Part, Reported};
use super::stats::{self, Classes};
use nandscope_result::{DiskUse, Latency, Operation};
use nandscope_units::printable;

/// Percentiles of a line; fio fills it up with zeroes.
const PERCENTILES: usize = 20;

/// Version of the terse output, which decides about the fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TerseVersion {
    /// Version 3: reads and writes.
    #[default]
    Three,
    /// Version 4: reads, writes and trims.
    Four,
    /// Version 5: reads, writes and trims, and operations per second over time.
    Five,
}

impl TerseVersion {
    /// The version with this number.
    pub fn of(number: u32) -> Option<TerseVersion> {
        match number {
            3 => Some(TerseVersion::Three),
            4 => Some(TerseVersion::Four),
            5 => Some(TerseVersion::Five),
            _ => None,
        }
    }
}

/// All jobs.
pub fn text(entries: &[Reported], disks: &[DiskUse], version: TerseVersion) -> String {
    let lines = entries.iter();
    lines
        .map(|entry| line(entries, entry, disks, version) + "\n")
        .collect()
}

fn line(
    entries: &[Reported],
    entry: &Reported,
    disks: &[DiskUse],
    version: TerseVersion,
) -> String {
    let number = match version {
        TerseVersion::Three => "3",
        TerseVersion::Four => "4",
        TerseVersion::Five => "5",
    };
    let mut fields = vec![
        number.to_string(),
        VERSION.to_string(),
        field(entry.name),
        entry.group.to_string(),
        entry.error.to_string(),
    ];
    let mut kinds = match entry.is_mixed() {
        true => vec![Operation::Mixed],
        false => vec![Operation::Read, Operation::Write],
    };
    if version > TerseVersion::Three && !entry.is_mixed() {
        kinds.push(Operation::Trim);
    }
    if !entry.is_mixed() && entry.part(&Operation::Mixed).is_some() {
        kinds.push(Operation::Mixed);
    }
    for kind in &kinds {
        direction(&mut fields, entries, entry, kind);
        if version == TerseVersion::Five {
            rates(&mut fields, entry, kind);
        }
    }
    // Processor time, context switches and page faults are not measured.
    fields.extend(["0.000000%", "0.000000%", "0", "0", "0"].map(String::from));
    let depths = stats::shares(&entry.depths.level);
    fields.extend(depths.map(|share| format!("{share:.1}%")));
    let Classes { ns, mut us, ms } = stats::classes(entry);
    us[0] += ns.iter().sum::<f64>();
    fields.extend(us.iter().chain(&ms).map(|share| format!("{share:.2}%")));
    disks.iter().for_each(|disk| disk_fields(&mut fields, disk));
    if let Some(errors) = entry.errors_passed() {
        fields.extend([errors.to_string(), entry.error.to_string()]);
    }
    let description = entry.option("description");
    if !description.is_empty() {
        fields.push(field(description));
    }
    fields.join(";")
}

fn disk_fields(fields: &mut Vec<String>, disk: &DiskUse) {
    let counts = [
        disk.reads,
        disk.writes,
        disk.read_merges,
        disk.write_merges,
        disk.read_ms,
        disk.write_ms,
        disk.in_queue_ms,
    ];
    fields.push(field(&disk.name));
    fields.extend(counts.map(|count| count.to_string()));
    fields.push(format!("{:.2}%", disk.busy_percent));
}

/// Text of a field; a semicolon in it would begin another field.
fn field(text: &str) -> String {
    printable(text).replace(';', ",")
}

fn direction(fields: &mut Vec<String>, entries: &[Reported], entry: &Reported, kind: &Operation) {
    let part = entry.part(kind);
    let none = Latency::default();
    let result = part.map(|part| part.result.as_ref());
    let rate = part.map_or(0, Part::bytes_per_s);
    for number in [
        result.map_or(0, |d| d.bytes) / 1024,
        rate / 1024,
        result.map_or(0, |d| d.iops as u64),
        part.map_or(0, |part| part.runtime_ms),
    ] {
        fields.push(number.to_string());
    }
    let completion = result.map_or(&none, stats::completion);
    let total = result.map_or(&none, |d| d.since_issue());
    times(fields, result.and_then(stats::submission).unwrap_or(&none));
    times(fields, completion);
    let shown = match (entry.is_on("lat_percentiles"), entry.shows_completion()) {
        (true, _) => total,
        (false, true) => completion,
        (false, false) => &none,
    };
    percentiles(fields, entry, shown);
    times(fields, total);
    let Some(rates) = part.map(|part| &part.rates).filter(|r| r.samples > 0) else {
        fields.extend(["0", "0", "0.000000%", "0.000000", "0.000000"].map(String::from));
        return;
    };
    let together = group::sum(entries, entry.group, kind).together;
    let bandwidth = &rates.kib_per_s;
    fields.push((bandwidth.min as u64).to_string());
    fields.push((bandwidth.max as u64).to_string());
    fields.push(format!("{:.6}%", stats::share_of_group(rates, together)));
    fields.push(format!("{:.6}", bandwidth.mean));
    fields.push(format!("{:.6}", bandwidth.deviation));
}

/// Samples of the bandwidth and of the operations per second.
fn rates(fields: &mut Vec<String>, entry: &Reported, kind: &Operation) {
    let rates = entry.part(kind).map(|part| part.rates.clone());
    let rates = rates.unwrap_or_default();
    fields.push(rates.samples.to_string());
    fields.push((rates.iops.min as u64).to_string());
    fields.push((rates.iops.max as u64).to_string());
    fields.push(format!("{:.6}", rates.iops.mean));
    fields.push(format!("{:.6}", rates.iops.deviation));
    fields.push(rates.samples.to_string());
}

/// The percentiles of a latency, µs. Without operations the percentages stay, with zeroes.
fn percentiles(fields: &mut Vec<String>, entry: &Reported, shown: &Latency) {
    let listed = || {
        let parts = entry.parts.iter();
        let mut lists = parts.map(|part| &stats::completion(&part.result).percentiles);
        lists.next().map_or(&[][..], Vec::as_slice)
    };
    let is_shown = entry.shows_completion() || entry.is_on("lat_percentiles");
    let list: Vec<(f64, u64)> = match shown.percentiles.is_empty() {
        false => shown.percentiles.clone(),
        true if is_shown => listed().iter().map(|(p, _)| (*p, 0)).collect(),
        true => Vec::new(),
    };
    let texts = list.iter().map(|(p, ns)| format!("{p:.6}%={}", ns / 1_000));
    let texts = texts.chain(std::iter::repeat("0%=0".to_string()));
    fields.extend(texts.take(PERCENTILES));
}

/// Minimum, maximum, mean and deviation, µs.
fn times(fields: &mut Vec<String>, latency: &Latency) {
    fields.push((latency.min_ns / 1_000).to_string());
    fields.push((latency.max_ns / 1_000).to_string());
    fields.push(format!("{:.6}", latency.mean_ns / 1e3));
    fields.push(format!("{:.6}", latency.stddev_ns / 1e3));
}
