//! Measurements from fio's JSON output (`--output-format=json`), also as `nandscope run` writes it.

use crate::observation::{Cell, Direction, Figures, Observation, Pattern, State};
use nandscope_units::Bytes;
use nandscope_units::{SizeBase, parse_size};
use serde::Deserialize;
use std::collections::BTreeMap;
use thiserror::Error;

/// Engines that keep one operation outstanding, whatever `iodepth` says.
const SYNCHRONOUS: [&str; 5] = ["sync", "psync", "vsync", "pvsync", "pvsync2"];

/// fio's JSON cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{file}: {what}")]
pub struct FioError {
    /// Name of the file.
    pub file: String,
    /// What is wrong, where, and the remedy.
    pub what: String,
}

#[derive(Deserialize)]
struct Output {
    timestamp_ms: Option<f64>,
    #[serde(rename = "global options", default)]
    global: BTreeMap<String, String>,
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    #[serde(default)]
    jobname: String,
    #[serde(default)]
    groupid: u64,
    #[serde(default)]
    error: i64,
    #[serde(rename = "job options", default)]
    options: BTreeMap<String, String>,
    read: Option<Part>,
    write: Option<Part>,
    job_start: Option<f64>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    iops: f64,
    #[serde(default)]
    total_ios: u64,
    #[serde(default)]
    bw_bytes: f64,
    clat_ns: Option<Latency>,
    lat_ns: Option<Latency>,
}

#[derive(Deserialize)]
struct Latency {
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// Entries of the same job: with `numjobs` and without `group_reporting` fio lists each thread.
struct Run<'a> {
    entries: Vec<&'a Job>,
    options: Options<'a>,
}

/// Options of a job in fio's names.
pub(crate) struct Options<'a> {
    pub(crate) values: BTreeMap<&'a str, &'a str>,
    /// Threads that are listed one by one.
    pub(crate) entries: u32,
}

/// Reads fio's output; `file` is for messages, `state` is that of the device before each job. Text before the JSON, such
/// as warnings of fio, is skipped.
///
/// # Errors
/// [`FioError`] if it is no such output, jobs failed or ran at the same time, or an option is missing.
pub fn read(file: &str, text: &str, state: State) -> Result<Vec<Observation>, FioError> {
    let fault = |what: String| FioError {
        file: file.to_string(),
        what,
    };
    let begin = text.find('{').unwrap_or(0);
    let output: Output =
        serde_json::from_str(text.get(begin..).unwrap_or_default()).map_err(|e| {
            fault(format!(
                "not fio's JSON output ({e}); make it with fio --output-format=json"
            ))
        })?;
    let mut runs: BTreeMap<u64, BTreeMap<&str, Vec<&Job>>> = BTreeMap::new();
    for job in &output.jobs {
        let group = runs.entry(job.groupid).or_default();
        group.entry(&job.jobname).or_default().push(job);
    }
    let mut observations = Vec::new();
    for (number, (_, group)) in runs.iter().enumerate() {
        if group.len() > 1 {
            let names: Vec<&str> = group.keys().copied().collect();
            return Err(fault(format!(
                "the jobs {} ran at the same time and cannot be separated; put `stonewall` between them",
                names.join(", ")
            )));
        }
        for (name, entries) in group {
            let mut options: BTreeMap<&str, &str> = BTreeMap::new();
            let own = entries.first().map(|job| &job.options);
            for (key, value) in output.global.iter().chain(own.into_iter().flatten()) {
                options.insert(key, value);
            }
            let run = Run {
                options: Options {
                    values: options,
                    entries: entries.len() as u32,
                },
                entries: entries.clone(),
            };
            let start = output.timestamp_ms.unwrap_or(0.0) + number as f64;
            let found = run.observations(state, start);
            let found = found.map_err(|what| fault(format!("job `{name}`: {what}")))?;
            observations.extend(found.into_iter().map(|mut one| {
                one.place = format!("{file}, job `{name}`");
                one
            }));
        }
    }
    if observations.is_empty() {
        return Err(fault("no job has read or written anything".to_string()));
    }
    Ok(observations)
}

impl Options<'_> {
    fn option(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.values.get(name).copied())
    }

    fn size(&self, names: &[&str]) -> Result<Option<Bytes>, String> {
        let Some(text) = self.option(names) else {
            return Ok(None);
        };
        // `bs=4k,8k` has the sizes of reads, writes and trims.
        let first = text.split(',').next().unwrap_or_default();
        match parse_size(first, SizeBase::Binary) {
            Ok(size) => Ok(Some(size)),
            Err(error) => Err(format!("{}: {error}", names[0])),
        }
    }

    fn count(&self, name: &str) -> Result<u32, String> {
        let text = self.option(&[name]).unwrap_or("1");
        let number = text
            .parse::<u32>()
            .ok()
            .filter(|n| (1..=65_536).contains(n));
        number.ok_or_else(|| format!("{name}: `{text}` is not a whole number from 1 to 65536"))
    }

    /// The cell of the job's reads; that of its writes differs in the direction.
    pub(crate) fn shape(&self, state: State) -> Result<Cell, String> {
        let rw = self.option(&["rw", "readwrite"]).unwrap_or("read");
        let (pattern, mixed) = match rw.split(':').next().unwrap_or_default() {
            "read" | "write" => (Pattern::Sequential, false),
            "randread" | "randwrite" => (Pattern::Random, false),
            "rw" | "readwrite" => (Pattern::Sequential, true),
            "randrw" => (Pattern::Random, true),
            other => return Err(format!("rw={other} is not fitted; use reads and writes")),
        };
        let block = self.size(&["bs", "blocksize"])?.unwrap_or(Bytes(4096));
        if block.0 == 0 || !block.0.is_multiple_of(512) {
            return Err(format!("bs: {block} is not a multiple of 512 bytes"));
        }
        let is_synchronous = |engine: &str| SYNCHRONOUS.contains(&engine);
        let engine = self.option(&["ioengine"]).unwrap_or("psync");
        let depth = if is_synchronous(engine) {
            1
        } else {
            self.count("iodepth")?
        };
        let read_percent = match mixed {
            true => Some(self.read_percent()?),
            false => None,
        };
        // A size in percent is of a file of unknown length.
        let region = match self.option(&["size"]) {
            Some(text) if !text.ends_with('%') => self.size(&["size"])?,
            _ => None,
        };
        Ok(Cell {
            direction: Direction::Read,
            pattern,
            block,
            depth,
            jobs: self.count("numjobs")?.max(self.entries),
            read_percent,
            region: region.filter(|r| r.0 >= block.0),
            interleaved: None,
            state,
        })
    }

    fn read_percent(&self) -> Result<u8, String> {
        let stated = |name| -> Result<Option<u8>, String> {
            let Some(text) = self.option(&[name]) else {
                return Ok(None);
            };
            let number = text.parse::<u8>().ok().filter(|p| (1..=99).contains(p));
            number
                .map(Some)
                .ok_or_else(|| format!("{name}: `{text}` is not a share from 1 to 99 %"))
        };
        let writes = stated("rwmixwrite")?.map(|w| 100 - w);
        Ok(stated("rwmixread")?.or(writes).unwrap_or(50))
    }
}

impl Run<'_> {
    fn observations(&self, state: State, start: f64) -> Result<Vec<Observation>, String> {
        if let Some(error) = self.entries.iter().map(|j| j.error).find(|e| *e != 0) {
            return Err(format!("fio reports error {error}; leave this job out"));
        }
        let shape = self.options.shape(state)?;
        let mut found = Vec::new();
        for direction in [Direction::Read, Direction::Write] {
            let parts: Vec<&Part> = self
                .entries
                .iter()
                .filter_map(|job| match direction {
                    Direction::Read => job.read.as_ref(),
                    Direction::Write => job.write.as_ref(),
                })
                .collect();
            let parts: Vec<&Part> = parts.into_iter().filter(|p| p.total_ios > 0).collect();
            if parts.is_empty() {
                continue;
            }
            let figures = figures(&parts);
            if !(figures.iops.is_finite() && figures.iops > 0.0) {
                return Err(format!(
                    "{direction}: the rate {} is not a number above 0",
                    figures.iops
                ));
            }
            let began = self
                .entries
                .iter()
                .filter_map(|job| job.job_start)
                .fold(f64::MAX, f64::min);
            found.push(Observation {
                place: String::new(),
                cell: Cell { direction, ..shape },
                mb_per_s: Some(parts.iter().map(|p| p.bw_bytes).sum::<f64>() / 1e6)
                    .filter(|mb| *mb > 0.0),
                figures,
                order: Some(if began < f64::MAX { began } else { start }),
            });
        }
        Ok(found)
    }
}

/// Sums of the rates, and means of the percentiles weighted by operations.
fn figures(parts: &[&Part]) -> Figures {
    let percentile = |name: &str| {
        let mut sum = (0.0, 0.0);
        for part in parts {
            let full = |l: &&Latency| !l.percentile.is_empty();
            let latency = part.lat_ns.as_ref().filter(full);
            let latency = latency.or(part.clat_ns.as_ref().filter(full))?;
            let value = *latency.percentile.get(name)?;
            let weight = part.total_ios as f64;
            sum = (sum.0 + value * weight, sum.1 + weight);
        }
        (sum.0 > 0.0).then(|| sum.0 / sum.1 / 1e3)
    };
    Figures {
        iops: parts.iter().map(|p| p.iops).sum(),
        p50_us: percentile("50.000000"),
        p90_us: percentile("90.000000"),
        p99_us: percentile("99.000000"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(jobs: &str) -> String {
        format!(
            "fio: warning\n{{\"timestamp_ms\": 5000, \"global options\": {{\"bs\": \"4k\", \"ioengine\": \"libaio\"}}, \"jobs\": [{jobs}]}}"
        )
    }

    fn job(name: &str, group: u32, options: &str, iops: f64) -> String {
        format!(
            "{{\"jobname\": \"{name}\", \"groupid\": {group}, \"error\": 0, \"job options\": {{{options}}}, \"read\": {{\"iops\": {iops}, \"total_ios\": 100, \"bw_bytes\": {}, \"clat_ns\": {{\"percentile\": {{\"50.000000\": 90000, \"99.000000\": 110000}}}}}}, \"write\": {{\"iops\": 0, \"total_ios\": 0}}}}",
            iops * 4096.0
        )
    }

    #[test]
    fn threads_of_a_job_are_one_cell() {
        let options =
            "\"rw\": \"randread\", \"iodepth\": \"8\", \"numjobs\": \"2\", \"size\": \"1g\"";
        let text = output(&[job("a", 0, options, 1000.0), job("a", 0, options, 3000.0)].join(","));
        let found = read("f.json", &text, State::Filled).unwrap();
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!(
            (one.cell.depth, one.cell.jobs, one.figures.iops),
            (8, 2, 4000.0)
        );
        assert_eq!((one.figures.p50_us, one.figures.p90_us), (Some(90.0), None));
        assert_eq!(one.cell.region, Some(Bytes(1 << 30)));
    }

    #[test]
    fn faults_name_the_job() {
        let random = "\"rw\": \"randread\"";
        for (jobs, part) in [
            (
                [job("a", 0, random, 5.0), job("b", 0, random, 5.0)].join(","),
                "a, b ran at the same time",
            ),
            (job("a", 0, "\"rw\": \"trim\"", 5.0), "job `a`: rw=trim"),
            (job("a", 0, "\"bs\": \"4q\"", 5.0), "job `a`: bs: "),
            (job("a", 0, "\"iodepth\": \"0\"", 5.0), "iodepth: `0`"),
            (job("a", 0, random, 0.0), "not a number above 0"),
            (String::new(), "no job has read"),
            ("1".to_string(), "not fio's JSON"),
        ] {
            let error = read("f.json", &output(&jobs), State::Filled)
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with("f.json: ") && error.contains(part),
                "{error}"
            );
        }
    }
}
