//! The logs that jobs ask for. `write_bw_log`, `write_iops_log` and `write_lat_log` have fio's format: `time (ms), value,
//! direction, block size`, with `log_offset` the offset, and the priority. `write_hist_log` has histograms,
//! `write_iolog` the operations as a trace.
//!
//! The runner keeps no single operations, so a [`Watch`] listens to the target.

use super::log_names::{self, Value};
use nandscope_measure::histogram_log::HistogramLog;
use nandscope_measure::listened::Listener;
use nandscope_measure::target::{Outcome, Reply, Request};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use nandscope_workload::job::{Job, Logs};
use std::collections::BTreeMap;

type Operation = (OpKind, Bytes, u32);

/// One finished operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Nanos,
    /// Time from the hand-over of the operation to the target until its submission there.
    submission: Nanos,
    /// Time from the submission of the operation to its completion.
    latency: Nanos,
    operation: Operation,
}

/// Operations of one kind that finished within one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Window {
    operations: u64,
    bytes: u64,
    latency_ns: u128,
    submission_ns: u128,
    /// The largest value of each kind of latency: completion, submission, both.
    largest: [Nanos; 3],
}

/// State of the log of one thread.
#[derive(Debug, Default)]
struct ThreadLog {
    logs: Logs,
    /// Number among all threads of the job file, from 1, as in fio's file names.
    number: usize,
    name: String,
    /// Nothing before this instant is logged: start of the group, delay and ramp.
    from: Nanos,
    begin: Nanos,
    entries: Vec<Entry>,
    windows: BTreeMap<(u64, u8), Window>,
    /// By direction, with the largest block of the job.
    histograms: Vec<(HistogramLog, u32)>,
    /// The last completion, from the start of the group.
    last: Nanos,
}

/// The threads of a group, watched.
#[derive(Debug, Default)]
pub struct Watch {
    threads: Vec<ThreadLog>,
    /// Traces of the operations, by the name of their file.
    traces: BTreeMap<String, String>,
}

impl Watch {
    /// Watches one more thread of the run, in the order of their numbers there; `number` is that in names of files.
    pub fn add(&mut self, job: &Job, number: usize, begin: Nanos, unmeasured: Nanos) {
        let logs = &job.logs;
        let histogram = |kind| {
            let log = HistogramLog::new(logs.histogram_interval, logs.coarseness);
            (log, job.bs.get(kind).max())
        };
        let histograms = match logs.histogram {
            Some(_) => [OpKind::Read, OpKind::Write, OpKind::Trim]
                .map(histogram)
                .into(),
            None => Vec::new(),
        };
        self.threads.push(ThreadLog {
            logs: logs.clone(),
            number,
            name: job.name.clone(),
            histograms,
            begin,
            from: begin + unmeasured,
            ..ThreadLog::default()
        });
    }

    /// An operation of a thread goes to the target.
    fn note_submission(&mut self, thread: usize, operation: Operation, at: Nanos) {
        let Some(name) = self
            .threads
            .get(thread)
            .and_then(|t| t.logs.operations.as_ref())
        else {
            return;
        };
        if !self.traces.contains_key(name) {
            self.traces.insert(name.clone(), TRACE_BEGIN.to_string());
        }
        let (kind, offset, length) = operation;
        let action = match kind {
            OpKind::Read => "read",
            OpKind::Write => "write",
            OpKind::Trim => "trim",
            OpKind::Flush => "sync",
        };
        if let Some(text) = self.traces.get_mut(name) {
            let us = at.0 / 1_000;
            text.push_str(&format!("{us} {TRACED} {action} {} {length}\n", offset.0));
        }
    }

    fn note_end(&mut self, thread: usize, operation: Operation, begun: Nanos, reply: &Reply) {
        let Some(log) = self.threads.get_mut(thread) else {
            return;
        };
        if reply.completed < log.from || reply.outcome != Outcome::Done {
            return;
        }
        let at = reply.completed.saturating_sub(log.begin);
        let submission = reply.submitted.saturating_sub(begun);
        let latency = reply.completed.saturating_sub(reply.submitted.max(begun));
        let Some(direction) = direction(operation.0) else {
            return;
        };
        if let Some((histogram, _)) = log.histograms.get_mut(usize::from(direction)) {
            histogram.record(at, latency);
        }
        if !log.logs.has_values() {
            return;
        }
        if log.logs.interval.is_zero() {
            log.entries.push(Entry {
                at,
                submission,
                latency,
                operation,
            });
            return;
        }
        log.last = log.last.max(at);
        let key = (at.0 / log.logs.interval.0, direction);
        let window = log.windows.entry(key).or_default();
        window.operations += 1;
        window.bytes += u64::from(operation.2);
        window.latency_ns += u128::from(latency.0);
        window.submission_ns += u128::from(submission.0);
        let values = [latency, submission, latency + submission];
        for (largest, value) in window.largest.iter_mut().zip(values) {
            *largest = (*largest).max(value);
        }
    }

    /// Name and text of every log that was asked for.
    pub fn files(&self) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for thread in &self.threads {
            for file in log_names::of_thread(&thread.logs, &thread.name, thread.number) {
                match file.value {
                    Value::Operations => {}
                    Value::Histogram => files.push((file.name, thread.histograms())),
                    value => files.push((file.name, thread.text(value))),
                }
            }
        }
        let traces = self.traces.iter();
        files.extend(traces.map(|(name, text)| (name.clone(), text.clone())));
        files
    }
}

/// Name of the target in a trace, and the first lines of a trace.
const TRACED: &str = "target";
const TRACE_BEGIN: &str = "fio version 3 iolog\n0 target add\n0 target open\n";

/// Adds the logs of a group to those of the groups before it. A trace continues that of the group
/// before, a log that threads share (`per_job_logs=0`) that of the thread before; the whole is added after the
/// shorter one.
pub fn add(logs: &mut Vec<(String, String)>, files: Vec<(String, String)>) {
    for (name, text) in files {
        let before = logs.iter().rev().find(|(known, _)| *known == name);
        let rest = text.strip_prefix(TRACE_BEGIN).unwrap_or(&text);
        let whole = match before {
            Some((_, before)) => format!("{before}{rest}"),
            None => text,
        };
        logs.push((name, whole));
    }
}

/// The logs without the former parts of traces that several groups share: these are whole in the last one.
pub fn whole(logs: Vec<(String, String)>) -> Vec<(String, String)> {
    let is_last = |place: usize| {
        let later = logs.get(place + 1..).unwrap_or_default();
        later.iter().all(|(name, _)| *name != logs[place].0)
    };
    let last: Vec<bool> = (0..logs.len()).map(is_last).collect();
    let kept = logs.into_iter().zip(last).filter(|(_, last)| *last);
    kept.map(|(log, _)| log).collect()
}

/// fio's numbers of directions; it logs no flushes.
fn direction(kind: OpKind) -> Option<u8> {
    match kind {
        OpKind::Read => Some(0),
        OpKind::Write => Some(1),
        OpKind::Trim => Some(2),
        OpKind::Flush => None,
    }
}

impl Value {
    fn of_entry(self, entry: &Entry) -> u64 {
        match self {
            Value::Bandwidth => {
                per_second(
                    u64::from(entry.operation.2),
                    entry.submission + entry.latency,
                ) / 1024
            }
            Value::Iops => 1,
            Value::Submission => entry.submission.0,
            Value::Completion => entry.latency.0,
            Value::Latency => (entry.submission + entry.latency).0,
            Value::Histogram | Value::Operations => 0,
        }
    }

    fn of_window(self, window: &Window, length: Nanos, largest: bool) -> u64 {
        let [completion, submission, both] = window.largest;
        match self {
            Value::Completion if largest => return completion.0,
            Value::Submission if largest => return submission.0,
            Value::Latency if largest => return both.0,
            _ => {}
        }
        let mean = |sum: u128| (sum / u128::from(window.operations.max(1))) as u64;
        match self {
            Value::Bandwidth => per_second(window.bytes, length) / 1024,
            Value::Iops => per_second(window.operations, length),
            Value::Submission => mean(window.submission_ns),
            Value::Completion => mean(window.latency_ns),
            Value::Latency => mean(window.submission_ns + window.latency_ns),
            Value::Histogram | Value::Operations => 0,
        }
    }
}

fn per_second(amount: u64, time: Nanos) -> u64 {
    let rate = u128::from(amount) * 1_000_000_000 / u128::from(time.0.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}

impl ThreadLog {
    /// When its measurement begins, from the start of the group.
    fn measured_from(&self) -> Nanos {
        self.from.saturating_sub(self.begin)
    }

    /// The histograms of all directions in the order of time.
    fn histograms(&self) -> String {
        let all = (0..).zip(&self.histograms);
        let lines = all.flat_map(|(direction, (log, block))| log.lines(direction, *block));
        let mut lines: Vec<(Nanos, String)> = lines.collect();
        lines.sort_by_key(|(at, _)| *at);
        lines.into_iter().map(|(_, line)| line).collect()
    }

    /// The columns after that of block sizes.
    fn rest(&self, offset: Bytes) -> String {
        let priority = if self.logs.priorities { "0x0000" } else { "0" };
        match self.logs.offsets {
            true => format!("{}, {priority}", offset.0),
            false => priority.to_string(),
        }
    }

    fn text(&self, value: Value) -> String {
        let mut text = String::new();
        for entry in &self.entries {
            let (kind, offset, length) = entry.operation;
            text.push_str(&format!(
                "{}, {}, {}, {length}, {}\n",
                entry.at.0 / 1_000_000,
                value.of_entry(entry),
                direction(kind).unwrap_or_default(),
                self.rest(offset)
            ));
        }
        // As in fio, block size and offset of a mean are 0, and its time is the end of the interval.
        for ((index, direction), window) in &self.windows {
            let begin = Nanos(index.saturating_mul(self.logs.interval.0)).max(self.measured_from());
            let whole = Nanos((index + 1).saturating_mul(self.logs.interval.0));
            let end = if self.last < whole { self.last } else { whole };
            let is_rate = matches!(value, Value::Bandwidth | Value::Iops);
            // As in fio 3.33, whose times are whole milliseconds: an interval that the thread does not fill has no rate.
            if is_rate && end + Nanos::from_millis(1) <= whole {
                continue;
            }
            let length = whole.saturating_sub(begin);
            let end = if is_rate { whole } else { end };
            let value = value.of_window(window, length, self.logs.largest);
            let end = end.0 / 1_000_000;
            let rest = self.rest(Bytes::ZERO);
            text.push_str(&format!("{end}, {value}, {direction}, 0, {rest}\n"));
        }
        text
    }
}

impl Listener for Watch {
    fn submitted(&mut self, request: &Request, at: Nanos) {
        self.note_submission(request.thread as usize, operation(request), at);
    }

    fn finished(&mut self, request: &Request, at: Nanos, reply: &Reply) {
        self.note_end(request.thread as usize, operation(request), at, reply);
    }
}

fn operation(request: &Request) -> Operation {
    (request.kind, request.offset, request.length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(logs: Logs) -> Watch {
        let mut watch = Watch::default();
        let a = Job {
            logs,
            ..Job::new("a")
        };
        watch.add(&a, 1, Nanos::from_secs(5), Nanos::from_secs(1));
        watch.add(&Job::new("b"), 2, Nanos::from_secs(5), Nanos::ZERO);
        watch
    }

    fn reply(from_ms: u64, to_ms: u64) -> Reply {
        Reply {
            tag: 0,
            submitted: Nanos::from_millis(from_ms),
            completed: Nanos::from_millis(to_ms),
            outcome: Outcome::Done,
        }
    }

    const WRITE: Operation = (OpKind::Write, Bytes(8192), 4096);

    #[test]
    fn every_operation_in_fios_format() {
        let mut watch = watch(Logs {
            bandwidth: Some("x".into()),
            latency: Some(String::new()),
            offsets: true,
            priorities: true,
            ..Logs::default()
        });
        watch.note_end(
            0,
            WRITE,
            Nanos::from_millis(5_000 - 1),
            &reply(5_000, 5_500),
        );
        watch.note_end(
            0,
            WRITE,
            Nanos::from_millis(6_000 - 1),
            &reply(6_000, 6_002),
        );
        let files = watch.files();
        assert_eq!(
            files,
            [
                (
                    "x_bw.1.log".into(),
                    "1002, 1333, 1, 4096, 8192, 0x0000\n".into()
                ),
                (
                    "a_slat.1.log".into(),
                    "1002, 1000000, 1, 4096, 8192, 0x0000\n".into()
                ),
                (
                    "a_clat.1.log".into(),
                    "1002, 2000000, 1, 4096, 8192, 0x0000\n".into()
                ),
                (
                    "a_lat.1.log".into(),
                    "1002, 3000000, 1, 4096, 8192, 0x0000\n".to_string()
                ),
            ]
        );
    }

    #[test]
    fn means_over_intervals() {
        let mut watch = watch(Logs {
            iops: Some("x".into()),
            interval: Nanos::from_millis(500),
            ..Logs::default()
        });
        for at in [6_100, 6_200, 6_400, 6_900] {
            watch.note_end(0, WRITE, Nanos::from_millis(at - 2 - 1), &reply(at - 2, at));
        }
        let files = watch.files();
        assert_eq!(
            files,
            [("x_iops.1.log".to_string(), "1500, 6, 1, 0, 0\n".to_string())]
        );
    }

    #[test]
    fn an_interval_that_is_not_filled_has_latencies_but_no_rate() {
        let mut watch = watch(Logs {
            iops: Some("x".into()),
            latency: Some("x".into()),
            interval: Nanos::from_millis(500),
            ..Logs::default()
        });
        for at in [6_100, 6_499, 6_501] {
            watch.note_end(0, WRITE, Nanos::from_millis(at - 2), &reply(at - 2, at));
        }
        let files: BTreeMap<String, String> = watch.files().into_iter().collect();
        assert_eq!(files["x_iops.1.log"], "1500, 4, 1, 0, 0\n");
        assert_eq!(
            files["x_lat.1.log"],
            "1500, 2000000, 1, 0, 0\n1501, 2000000, 1, 0, 0\n"
        );
    }

    #[test]
    fn the_largest_value_of_an_interval() {
        let mut watch = watch(Logs {
            latency: Some("x".into()),
            interval: Nanos::from_millis(500),
            largest: true,
            ..Logs::default()
        });
        for (from, to) in [(6_000, 6_001), (6_010, 6_013), (6_020, 6_022)] {
            let begun = Nanos::from_millis(from);
            watch.note_end(0, WRITE, begun, &reply(from, to));
        }
        assert_eq!(watch.files()[1].1, "1022, 3000000, 1, 0, 0\n");
    }

    #[test]
    fn threads_share_a_log_without_per_job_logs() {
        let mut logs = Vec::new();
        for ms in [6_001, 6_002] {
            let mut watch = watch(Logs {
                iops: Some("x".into()),
                shared: true,
                ..Logs::default()
            });
            watch.note_end(0, WRITE, Nanos::from_millis(6_000), &reply(6_000, ms));
            add(&mut logs, watch.files());
        }
        let whole = whole(logs);
        let text = "1001, 1, 1, 4096, 0\n1002, 1, 1, 4096, 0\n";
        assert_eq!(whole, [("x_iops.log".to_string(), text.to_string())]);
    }

    #[test]
    fn a_trace_goes_on_in_the_next_group() {
        let mut logs = Vec::new();
        for at in [3, 8] {
            let mut watch = watch(Logs {
                operations: Some("t.log".into()),
                ..Logs::default()
            });
            watch.note_submission(0, WRITE, Nanos::from_micros(at));
            add(&mut logs, watch.files());
        }
        let whole = logs.pop().unwrap();
        assert_eq!(
            whole.1,
            "fio version 3 iolog\n0 target add\n0 target open\n3 target write 8192 4096\n\
             8 target write 8192 4096\n"
        );
    }
}
