//! A light and a heavy application trace with their pauses, replayed as in AnandTech's storage bench: as recorded, with
//! every pause limited to 25 ms. The bench's recordings are not public; the project's own replace them. The light trace
//! runs one program after the other, the heavy one all of them at the same time. As in that bench, flushes and discards
//! are left out (AnandTech, 2021 SSD benchmark suite). The result is the mean latency of reads and writes from the time
//! at which the drive receives them.

use crate::step_runner::{Flow, Phase, Pick, SECOND, StepRunner, SuiteError};
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::Thread;
use nandscope_measure::target::Target;
use nandscope_result::Operation;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::trace::{Fit, NamedTrace, Replay, ReplayOptions, Timing, library};
use nandscope_workload::{Op, OpKind, OpSource, Pacing, TimedOp};

/// Longest pause in a trace (S3-205); longer pauses are cut to it.
pub(crate) const IDLE_CAP: Nanos = Nanos::from_millis(25);
/// Largest number of outstanding requests: those traces seldom queued deeper.
const DEPTH: u32 = 4;
/// Longest request, bytes; longer ones are split, as drivers of that time did.
const LONGEST: u32 = 128 * 1024;
/// Length of the writes that prepare the data read by a trace, bytes.
const BLOCK: u32 = 128 * 1024;
/// Idle time before a trace.
pub(crate) const SETTLE: Nanos = Nanos::from_secs(60);
/// The same in a quick run in real time.
pub(crate) const SETTLE_QUICK: Nanos = Nanos::from_secs(6);

/// Fullness of the drive before the traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Empty,
    Half,
    EightyPercent,
    Full,
}

impl State {
    /// Name in identifiers.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            State::Empty => "empty",
            State::Half => "half",
            State::EightyPercent => "80-percent",
            State::Full => "full",
        }
    }

    /// Word for reports, before `drive`.
    const fn words(self) -> &'static str {
        match self {
            State::Empty => "empty",
            State::Half => "half-full",
            State::EightyPercent => "80 % full",
            State::Full => "full",
        }
    }

    /// Share of the capacity filled in order before the traces, 0 to 1.
    pub(crate) const fn share(self) -> f64 {
        match self {
            State::Empty => 0.0,
            State::Half => 0.5,
            State::EightyPercent => 0.8,
            State::Full => 1.0,
        }
    }
}

/// Whether the traces fit a device of this size.
///
/// # Errors
/// [`SuiteError::Target`] with the size that the largest one needs.
pub(crate) fn check_fit(capacity: Bytes) -> Result<(), SuiteError> {
    for trace in library() {
        replay(trace, Timing::ClosedLoop, capacity)
            .map_err(|e| SuiteError::Target(format!("too small for the suite. {e}")))?;
    }
    Ok(())
}

/// Replays both traces in the given state.
pub(crate) fn run<T: Target>(
    runner: &mut StepRunner<'_, T>,
    state: State,
    settle: Nanos,
) -> Result<Flow, SuiteError> {
    let (state, words) = (state.name(), state.words());
    runner.note_stage(&format!("Application traces, {words} drive"), 0.0, 1.0, 3);
    if prepare(runner, state, settle)? == Flow::Stop {
        return Ok(Flow::Stop);
    }
    for heavy in [false, true] {
        let name = if heavy { "heavy" } else { "light" };
        let how = if heavy {
            "all of them at the same time"
        } else {
            "one after the other"
        };
        let id = format!("trace-{name}-{state}");
        if runner.skips(&id) {
            continue;
        }
        runner.begin_step(
            &id,
            &format!("Application traces, {name}, {words} drive"),
            "Application traces",
            format!("Reads and writes of the recorded traces, {how}, with their pauses, none longer than 25 ms; the drive is {words} before."),
            if heavy { 1 } else { library().len() as u32 },
        );
        let flow = if heavy {
            at_once(runner)
        } else {
            in_turn(runner)
        };
        let id = format!("atsb.{name}.{state}");
        latency_figures(
            runner,
            &id,
            &format!("Application traces, {name}, {words} drive"),
        );
        runner.end_step();
        if flow? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

/// Writes the data that the traces will read, so that an empty drive has it.
fn prepare<T: Target>(
    runner: &mut StepRunner<'_, T>,
    state: &str,
    settle: Nanos,
) -> Result<Flow, SuiteError> {
    let id = format!("trace-prepare-{state}");
    if runner.skips(&id) {
        return Ok(Flow::Continue);
    }
    runner.begin_step(
        &id,
        "Application traces: writing what they read",
        "Preparation",
        format!(
            "All that the traces read is written sequentially, then {} s of idle time.",
            settle.as_secs_f64()
        ),
        2,
    );
    runner.mark_preparation();
    let mut areas = Vec::new();
    for trace in library() {
        let replay = replay(trace, Timing::ClosedLoop, runner.capacity())?;
        areas.extend(areas_read(replay));
    }
    let flow = write_areas(runner, areas, settle);
    runner.end_step();
    flow
}

/// Start and end of each area that a trace reads, bytes.
pub(crate) fn areas_read(mut replay: Replay) -> Vec<(u64, u64)> {
    let mut areas = Vec::new();
    while let Some(timed) = replay.next_op() {
        if timed.op.kind == OpKind::Read {
            let begin = timed.op.offset.0;
            areas.push((begin, begin + u64::from(timed.op.length)));
        }
    }
    areas
}

/// Writes the areas in order, then leaves the device idle for a while.
pub(crate) fn write_areas<T: Target>(
    runner: &mut StepRunner<'_, T>,
    areas: Vec<(u64, u64)>,
    settle: Nanos,
) -> Result<Flow, SuiteError> {
    let source = Areas::new(areas);
    let pacing = Pacing {
        iodepth: 8,
        ..Pacing::default()
    };
    let phase = Phase {
        threads: vec![Thread::new(Box::new(source), pacing, 0)],
        jobs: vec![JobMeta::new("prepare")],
        interval: SECOND,
    };
    match runner.run(phase) {
        Ok(Flow::Continue) => runner.idle(settle),
        other => other,
    }
}

fn in_turn<T: Target>(runner: &mut StepRunner<'_, T>) -> Result<Flow, SuiteError> {
    for trace in library() {
        let phase = Phase {
            threads: vec![thread(trace, runner.capacity(), 0)?],
            jobs: vec![JobMeta::new(trace.name)],
            interval: SECOND,
        };
        if runner.run(phase)? == Flow::Stop {
            return Ok(Flow::Stop);
        }
    }
    Ok(Flow::Continue)
}

fn at_once<T: Target>(runner: &mut StepRunner<'_, T>) -> Result<Flow, SuiteError> {
    let mut threads = Vec::new();
    for (record, trace) in library().iter().enumerate() {
        threads.push(thread(trace, runner.capacity(), record)?);
    }
    let jobs = library().iter().map(|t| JobMeta::new(t.name)).collect();
    runner.run(Phase {
        threads,
        jobs,
        interval: SECOND,
    })
}

/// One trace with its pauses.
pub(crate) fn thread(
    trace: &NamedTrace,
    capacity: Bytes,
    record: usize,
) -> Result<Thread, SuiteError> {
    let timing = Timing::OpenLoop {
        speed: 1.0,
        idle_cap: Some(IDLE_CAP),
    };
    let pacing = Pacing {
        iodepth: DEPTH,
        idle_cap: Some(IDLE_CAP),
        ..Pacing::default()
    };
    Ok(Thread::new(
        Box::new(Split::new(replay(trace, timing, capacity)?)),
        pacing,
        record,
    ))
}

fn replay(trace: &NamedTrace, timing: Timing, capacity: Bytes) -> Result<Replay, SuiteError> {
    let fault = |problem: String| SuiteError::Step {
        step: trace.title.to_string(),
        problem,
    };
    let (_, records) = trace.load().map_err(|e| fault(e.to_string()))?;
    let options = ReplayOptions {
        timing,
        fit: Fit::Scale,
    };
    Replay::new(&records, &options, capacity).map_err(|e| fault(e.to_string()))
}

/// Adds the mean latency of reads, of writes and of both, over all jobs of the step.
fn latency_figures<T: Target>(runner: &mut StepRunner<'_, T>, id: &str, title: &str) {
    let Some(step) = runner.current() else {
        return;
    };
    let of = |kind: Operation| {
        let directions = step
            .jobs
            .iter()
            .flat_map(|j| &j.directions)
            .filter(|d| d.kind == kind);
        directions.fold((0.0, 0.0), |(ns, n), d| {
            (
                ns + d.since_issue().mean_ns * d.operations as f64,
                n + d.operations as f64,
            )
        })
    };
    let (reads, writes) = (of(Operation::Read), of(Operation::Write));
    let both = (reads.0 + writes.0, reads.1 + writes.1);
    for (suffix, what, (ns, n)) in [
        ("latency", "mean latency", both),
        ("latency.read", "mean latency of reads", reads),
        ("latency.write", "mean latency of writes", writes),
    ] {
        if n > 0.0 {
            runner.figure(
                &format!("{id}.{suffix}"),
                &format!("{title}, {what}"),
                "µs",
                &[ns / n / 1e3],
                Pick::Mean,
            );
        }
    }
}

/// Reads and writes of another source, with long ones split.
struct Split<S> {
    source: S,
    rest: Option<TimedOp>,
}

impl<S: OpSource> Split<S> {
    fn new(source: S) -> Self {
        Split { source, rest: None }
    }

    fn next_transfer(&mut self) -> Option<TimedOp> {
        loop {
            let timed = self.source.next_op()?;
            if matches!(timed.op.kind, OpKind::Read | OpKind::Write) {
                return Some(timed);
            }
        }
    }
}

impl<S: OpSource> OpSource for Split<S> {
    fn next_op(&mut self) -> Option<TimedOp> {
        let mut timed = self.rest.take().or_else(|| self.next_transfer())?;
        if timed.op.length > LONGEST {
            let mut rest = timed;
            rest.op.offset = Bytes(timed.op.offset.0 + u64::from(LONGEST));
            rest.op.length -= LONGEST;
            timed.op.length = LONGEST;
            self.rest = Some(rest);
        }
        Some(timed)
    }

    fn restart(&mut self) {
        self.rest = None;
        self.source.restart();
    }

    fn expected_bytes(&self) -> Option<u64> {
        self.source.expected_bytes()
    }
}

/// Writes areas in ascending order, each byte once.
struct Areas {
    areas: Vec<(u64, u64)>,
    next: usize,
    at: u64,
}

impl Areas {
    fn new(mut areas: Vec<(u64, u64)>) -> Self {
        areas.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (start, end) in areas {
            match joined.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        let at = joined.first().map_or(0, |a| a.0);
        Areas {
            areas: joined,
            next: 0,
            at,
        }
    }
}

impl OpSource for Areas {
    fn next_op(&mut self) -> Option<TimedOp> {
        let (_, end) = *self.areas.get(self.next)?;
        // The minimum is at most BLOCK, which fits.
        let length = (end - self.at).min(u64::from(BLOCK)) as u32;
        let op = Op {
            kind: OpKind::Write,
            offset: Bytes(self.at),
            length,
        };
        self.at += u64::from(length);
        if self.at == end {
            self.next += 1;
            self.at = self.areas.get(self.next).map_or(0, |a| a.0);
        }
        Some(TimedOp { op, due: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_written_once_and_in_order() {
        let mut source = Areas::new(vec![
            (8192, 12_288),
            (0, 4096),
            (4096, 8192),
            (1 << 20, (1 << 20) + 300_032),
            (0, 512),
        ]);
        let mut seen = Vec::new();
        while let Some(timed) = source.next_op() {
            assert_eq!(timed.op.kind, OpKind::Write);
            seen.push((timed.op.offset.0, u64::from(timed.op.length)));
        }
        let m = 1 << 20;
        assert_eq!(
            seen,
            [
                (0, 12_288),
                (m, 131_072),
                (m + 131_072, 131_072),
                (m + 262_144, 37_888)
            ]
        );
    }
}
