//! Results determined by a job, in fio's format: the queue depth of `latency_target`, the block `steadystate`.

use super::number::{Base, bytes, short};
use nandscope_result::JobResult;
use nandscope_units::{SizeBase, parse_duration, parse_size};
use serde::Serialize;

/// The block `steadystate`.
#[derive(Serialize)]
pub struct Steady {
    ss: String,
    duration: u64,
    attained: u8,
    criterion: String,
    max_deviation: f64,
    slope: f64,
    data: Data,
}

#[derive(Serialize)]
struct Data {
    bw_mean: u64,
    iops_mean: u64,
    iops: Vec<u64>,
    bw: Vec<u64>,
}

fn option<'a>(job: &'a JobResult, name: &str) -> &'a str {
    job.options.get(name).map_or("", String::as_str)
}

/// The search for a queue depth that keeps a latency; without a search, the requested depth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// Queue depth at the end.
    pub depth: u32,
    /// `latency_target`, ns; 0 without one.
    pub target_ns: u64,
    /// `latency_window`, µs.
    pub window_us: u64,
    /// `latency_percentile`.
    pub percentile: f64,
}

/// The search of a job.
pub fn search(job: &JobResult) -> Search {
    let asked = || option(job, "iodepth").parse().unwrap_or(1);
    // Without a unit these options count microseconds.
    let time = |name| parse_duration(option(job, name), 1_000).map_or(0, |time| time.0);
    let percentile = option(job, "latency_percentile").parse::<f64>().ok();
    Search {
        depth: job.latency_depth.unwrap_or_else(asked),
        target_ns: time("latency_target"),
        window_us: time("latency_window") / 1_000,
        percentile: percentile.filter(|p| p.is_finite()).unwrap_or(100.0),
    }
}

/// Line of the text output, if the job waited for a steady state.
pub fn line(job: &JobResult, digits: usize) -> Option<String> {
    let steady = of_job(job)?;
    let what = if steady.ss.starts_with("bw") {
        "bw"
    } else {
        "iops"
    };
    let how = match steady.ss.contains("_slope:") {
        true => "slope",
        false => "mean dev",
    };
    let (number, unit) = match steady.criterion.strip_suffix('%') {
        Some(number) => (number, "%"),
        None => (steady.criterion.as_str(), ""),
    };
    let number: f64 = number.parse().unwrap_or(0.0);
    // As in fio, which takes whole KiB.
    let (binary, _) = bytes(steady.data.bw_mean / 1024 * 1024, digits);
    let (_, decimal) = bytes(steady.data.bw_mean, digits);
    Some(format!(
        "  steadystate  : attained={}, bw={binary}/s ({decimal}/s), iops={}, {what} {how}={number:.3}{unit}\n",
        if steady.attained == 1 { "yes" } else { "no" },
        short(steady.data.iops_mean, digits, Base::Decimal),
    ))
}

/// Block of the JSON output, if the job waited for a steady state.
pub fn of_job(job: &JobResult) -> Option<Steady> {
    let found = job.steady_state.as_ref()?;
    // The default of fio.
    let text = match option(job, "steadystate") {
        "" => "iops_slope:0.01%",
        text => text,
    };
    let (what, limit) = text.split_once(':').unwrap_or((text, "0"));
    let (unit, limit) = match limit.strip_suffix('%') {
        Some(percent) => ("%", percent.parse().unwrap_or(0.0)),
        None => ("", absolute(limit)),
    };
    let is_slope = what.ends_with("_slope");
    let rates = match what.starts_with("bw") {
        true => &found.bandwidth_bytes_per_s,
        false => &found.iops,
    };
    let value = found.value.unwrap_or(0.0);
    let criterion = match (unit, mean(rates)) {
        ("%", mean) if mean > 0.0 => 100.0 * value / mean,
        ("%", _) => 0.0,
        _ => value,
    };
    let whole = |rates: &[f64]| rates.iter().map(|rate| *rate as u64).collect();
    let duration = parse_duration(option(job, "steadystate_duration"), 1_000_000_000);
    Some(Steady {
        ss: format!("{what}:{limit:.6}{unit}"),
        duration: duration.map_or(0, |time| time.0 / 1_000_000_000),
        attained: u8::from(found.attained),
        criterion: format!("{criterion:.6}{unit}"),
        max_deviation: if is_slope { 0.0 } else { value },
        slope: if is_slope { value } else { 0.0 },
        data: Data {
            bw_mean: mean(&found.bandwidth_bytes_per_s) as u64,
            iops_mean: mean(&found.iops) as u64,
            iops: whole(&found.iops),
            bw: whole(&found.bandwidth_bytes_per_s),
        },
    })
}

/// A limit in operations or bytes per second.
fn absolute(text: &str) -> f64 {
    let size = || parse_size(text, SizeBase::Binary).map_or(0.0, |bytes| bytes.0 as f64);
    text.parse().unwrap_or_else(|_| size())
}

fn mean(rates: &[f64]) -> f64 {
    rates.iter().sum::<f64>() / rates.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::SteadyState;

    /// The numbers of a run of fio 3.33.
    #[test]
    fn the_block_is_that_of_fio() {
        let options = [
            ("steadystate", "iops_slope:10%"),
            ("steadystate_duration", "3s"),
        ];
        let mut job = JobResult {
            options: options.map(|(k, v)| (k.to_string(), v.to_string())).into(),
            steady_state: Some(SteadyState {
                attained: true,
                value: Some(-0.5),
                iops: vec![1001.0, 1000.0, 1000.0],
                bandwidth_bytes_per_s: vec![4_100_566.0, 4_100_087.0, 4_096_000.0],
            }),
            ..JobResult::default()
        };
        let text = |job: &JobResult| serde_json::to_string(&of_job(job)).unwrap();
        assert_eq!(
            text(&job),
            "{\"ss\":\"iops_slope:10.000000%\",\"duration\":3,\"attained\":1,\"criterion\":\"-0.049983%\",\"max_deviation\":0.0,\"slope\":-0.5,\"data\":{\"bw_mean\":4098884,\"iops_mean\":1000,\"iops\":[1001,1000,1000],\"bw\":[4100566,4100087,4096000]}}"
        );
        job.options.insert("steadystate".into(), "bw:1m".into());
        assert!(
            text(&job).contains("\"ss\":\"bw:1048576.000000\""),
            "{}",
            text(&job)
        );
        job.steady_state = None;
        assert_eq!(text(&job), "null");
    }
}
