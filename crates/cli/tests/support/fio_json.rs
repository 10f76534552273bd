//! The JSON of fio as a result document that has all of its numbers, also those that reports of nandscope do not show.

use nandscope_result::{
    DepthCounts, DirectionResult, FioReport, JobResult, Latency, LatencyStages, Operation,
    RateSamples, ResultDocument, Spread, SteadyState, StepResult, TargetInfo, histogram,
};
use nandscope_units::Nanos;
use serde_json::Value;
use std::collections::BTreeMap;

/// Shares are scaled to counts of this sum.
const ALL: u64 = 1_000_000_000;

/// A document with the numbers of fio's output, each decimal increased by `shift`: fio rounds a number to six decimals in
/// JSON, and the number itself to fewer elsewhere.
pub fn document(output: &Value, shift: f64) -> ResultDocument {
    let reader = Reader { shift };
    let jobs = output["jobs"].as_array().unwrap();
    // Clones that are not reported together have an entry each.
    let entries = |name: &Value| jobs.iter().filter(|job| job["jobname"] == *name).count();
    let results = jobs.iter().map(|job| {
        let clones_are_together = entries(&job["jobname"]) == 1;
        reader.job(job, &output["global options"], clones_are_together)
    });
    let step = StepResult {
        jobs: results.collect(),
        ..StepResult::default()
    };
    ResultDocument {
        steps: vec![step],
        ..ResultDocument::begin("fio", "fio".to_string(), 0, TargetInfo::default())
    }
}

struct Reader {
    shift: f64,
}

impl Reader {
    fn decimal(&self, value: &Value) -> f64 {
        let number = value.as_f64().unwrap_or(0.0);
        if number == 0.0 {
            0.0
        } else {
            number + self.shift
        }
    }

    fn job(&self, job: &Value, global: &Value, clones_are_together: bool) -> JobResult {
        let options: BTreeMap<String, String> = [global, &job["job options"]]
            .into_iter()
            .filter_map(Value::as_object)
            .flatten()
            .map(|(key, value)| (key.clone(), value.as_str().unwrap().to_string()))
            .collect();
        let kinds = [
            ("read", Operation::Read),
            ("write", Operation::Write),
            ("trim", Operation::Trim),
            ("mixed", Operation::Mixed),
        ];
        let done = kinds
            .into_iter()
            .filter(|(name, _)| whole(&job[name]["total_ios"]) > 0);
        let done: Vec<(&Value, Operation)> = done.map(|(name, kind)| (&job[name], kind)).collect();
        let mut directions: Vec<DirectionResult> = done
            .iter()
            .map(|(value, kind)| self.direction(value, kind))
            .collect();
        add_classes(job, &mut directions);
        let flushes = whole(&job["sync"]["total_ios"]);
        if flushes > 0 {
            directions.push(DirectionResult {
                kind: Operation::Flush,
                operations: flushes,
                latency: self.latency(&job["sync"]["lat_ns"]),
                ..DirectionResult::default()
            });
        }
        let runtimes = done.iter().map(|(value, _)| whole(&value["runtime"]));
        let threads = options.get("numjobs").filter(|_| clones_are_together);
        let errors = [("error".to_string(), whole(&job["total_err"]))];
        JobResult {
            name: text(&job["jobname"]),
            runtime_s: runtimes.max().unwrap_or(0) as f64 / 1e3,
            directions,
            errors: errors.into_iter().filter(|(_, count)| *count > 0).collect(),
            latency_depth: Some(whole(&job["latency_depth"]) as u32),
            steady_state: self.steady_state(&job["steadystate"]),
            fio: Some(FioReport {
                group: whole(&job["groupid"]) as u32,
                error: whole(&job["error"]) as u32,
                threads: threads.map_or(1, |n| n.parse().unwrap()),
                name: text(&job["jobname"]),
                global_options: Vec::new(),
                depths: depths(job),
                rates: done
                    .iter()
                    .map(|(value, kind)| self.rates(value, kind))
                    .collect(),
            }),
            options,
            ..JobResult::default()
        }
    }

    fn direction(&self, value: &Value, kind: &Operation) -> DirectionResult {
        DirectionResult {
            kind: kind.clone(),
            operations: whole(&value["total_ios"]),
            bytes: whole(&value["io_bytes"]),
            bandwidth_bytes_per_s: whole(&value["bw_bytes"]) as f64,
            iops: value["iops"].as_f64().unwrap(),
            latency: self.latency(&value["lat_ns"]),
            service: None,
            stages: Some(LatencyStages {
                submission: self.latency(&value["slat_ns"]),
                completion: self.latency(&value["clat_ns"]),
            }),
        }
    }

    fn latency(&self, value: &Value) -> Latency {
        let percentiles = value["percentile"].as_object().into_iter().flatten();
        let mut percentiles: Vec<(f64, u64)> = percentiles
            .map(|(percent, ns)| (percent.parse().unwrap(), whole(ns)))
            .collect();
        percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        Latency {
            min_ns: whole(&value["min"]),
            max_ns: whole(&value["max"]),
            mean_ns: self.decimal(&value["mean"]),
            stddev_ns: self.decimal(&value["stddev"]),
            percentiles,
            histogram: String::new(),
        }
    }

    fn rates(&self, value: &Value, kind: &Operation) -> RateSamples {
        let spread = |what: &str, deviation: &str| Spread {
            min: whole(&value[format!("{what}_min")]) as f64,
            max: whole(&value[format!("{what}_max")]) as f64,
            mean: self.decimal(&value[format!("{what}_mean")]),
            deviation: self.decimal(&value[format!("{what}_{deviation}")]),
        };
        RateSamples {
            kind: kind.clone(),
            samples: whole(&value["bw_samples"]),
            kib_per_s: spread("bw", "dev"),
            iops: spread("iops", "stddev"),
        }
    }

    fn steady_state(&self, value: &Value) -> Option<SteadyState> {
        let data = value.get("data")?;
        let list = |name: &str| {
            let values = data[name].as_array().unwrap().iter();
            values.map(|v| v.as_f64().unwrap()).collect()
        };
        let is_slope = text(&value["ss"]).contains("_slope");
        let name = if is_slope { "slope" } else { "max_deviation" };
        Some(SteadyState {
            attained: whole(&value["attained"]) == 1,
            value: Some(self.decimal(&value[name])),
            iops: list("iops"),
            bandwidth_bytes_per_s: list("bw"),
        })
    }
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_string()
}

/// Counts whose shares of [`ALL`] are these percentages. fio shows `least` for each smaller one that is not zero: such ones
/// share the rest.
fn counts(shares: &[f64], least: f64) -> Vec<u64> {
    let exact = |share: f64| (share / 100.0 * ALL as f64).round() as u64;
    let is_least = |share: f64| share > 0.0 && share <= least;
    let sum: u64 = shares
        .iter()
        .filter(|s| !is_least(**s))
        .map(|s| exact(*s))
        .sum();
    let small = shares.iter().filter(|s| is_least(**s)).count() as u64;
    let part = ALL.saturating_sub(sum) / small.max(1);
    let of = |share: &f64| {
        if is_least(*share) {
            part.max(1)
        } else {
            exact(*share)
        }
    };
    shares.iter().map(of).collect()
}

fn depths(job: &Value) -> DepthCounts {
    let read = |name: &str, classes: [&str; 7]| {
        let shares = classes.map(|class| job[name][class].as_f64().unwrap());
        counts(&shares, 0.1).try_into().unwrap()
    };
    let batches = ["0", "4", "8", "16", "32", "64", ">=64"];
    DepthCounts {
        level: read("iodepth_level", ["1", "2", "4", "8", "16", "32", ">=64"]),
        submit: read("iodepth_submit", batches),
        complete: read("iodepth_complete", batches),
    }
}

/// Begin and end of each class of latency, ns, with its key in JSON.
fn classes() -> impl Iterator<Item = (u64, u64, &'static str, String)> {
    const ENDS: [u64; 12] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000, 2000, u64::MAX];
    let units = [
        ("latency_ns", 1, 10),
        ("latency_us", 1_000, 10),
        ("latency_ms", 1_000_000, 12),
    ];
    units.into_iter().flat_map(|(name, scale, number)| {
        (0..number).map(move |at| {
            // The first class of a unit begins where the unit before it ends.
            let begin = if at == 0 {
                u64::from(scale > 1)
            } else {
                ENDS[at - 1]
            };
            let key = match ENDS[at] {
                u64::MAX => ">=2000".to_string(),
                end => end.to_string(),
            };
            (begin * scale, ENDS[at].saturating_mul(scale), name, key)
        })
    })
}

/// Whether the largest latency of a direction is so near to the beginning of a class that its bucket of a histogram may lie
/// in the class before.
pub fn has_doubtful_class(output: &Value) -> bool {
    let jobs = output["jobs"].as_array().unwrap().iter();
    let maxima = jobs.flat_map(|job| {
        let kinds = ["read", "write", "trim", "mixed"];
        kinds.map(|kind| whole(&job[kind]["clat_ns"]["max"]))
    });
    let is_doubtful = |max: u64| {
        let mut begins = classes().map(|class| class.0);
        begins.any(|begin| begin > 1000 && (begin..=begin + begin / 500).contains(&max))
    };
    maxima.into_iter().any(is_doubtful)
}

/// Gives directions histograms whose classes of latency are those of the job: each class is counted for a direction that has
/// latencies in it.
fn add_classes(job: &Value, directions: &mut [DirectionResult]) {
    let mut histograms = vec![histogram::empty(); directions.len()];
    let shares: Vec<f64> = classes()
        .map(|(_, _, name, key)| job[name][key].as_f64().unwrap())
        .collect();
    for ((begin, end, ..), count) in classes().zip(counts(&shares, 0.01)) {
        let in_class = directions.iter().position(|direction| {
            let latency = &direction.stages.as_ref().unwrap().completion;
            latency.max_ns >= begin && latency.min_ns < end
        });
        let Some(at) = in_class.filter(|_| count > 0) else {
            continue;
        };
        let latency = &directions[at].stages.as_ref().unwrap().completion;
        let middle = begin + (end - begin).min(begin.max(2)) / 2;
        let ns = middle.clamp(latency.min_ns, latency.max_ns);
        histogram::count_saturating(&mut histograms[at], Nanos(ns), count);
    }
    for (direction, histogram) in directions.iter_mut().zip(histograms) {
        let stages = direction.stages.as_mut().unwrap();
        stages.completion.histogram = histogram::encode(&histogram);
    }
}
