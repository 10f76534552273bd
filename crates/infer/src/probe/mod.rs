//! Infers the internals of a device from times of operations: one investigation after the other,
//! each as long as the budget lasts, each with an answer and its confidence, or with the reason why it cannot be told.
//!
//! Reading comes first, then writing in order, then what disturbs the device most. How the answers
//! fare on devices whose truth is known is in docs/inference.md.

pub mod advice;
mod bench;
mod buffer;
mod clock;
mod confidence;
mod dies;
mod discard;
mod discarded;
mod document;
mod fat;
mod filled;
mod finding;
mod flash;
mod heat;
mod knee;
mod layout;
mod link;
mod map_range;
mod open_answers;
mod opened;
mod question;
mod real;
mod recorded;
mod rested;
mod rewritten;
mod settled;
mod slc;
mod slow_writes;
mod units;
mod withdrawn;
mod worst;
mod writes;

pub use bench::{Metered, Refused};
pub use confidence::{Basis, COUNTED, COUNTED_RECORDED, FAIR, LIKELY, SURE, Strength, level};
pub use document::{from_document, step};
pub use finding::{Finding, Value, size};
pub use question::Question;
pub use real::doubt;
pub use recorded::from_flashbench;

use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_result::{Curve, DataTable, StopReason};
use nandscope_units::{Bytes, Nanos};

/// Limits of a probe, and the order of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The device's time.
    pub time: Nanos,
    /// Bytes that may be written; on a device of more than 36 GB what an SLC cache held at first does not count.
    pub writes: Bytes,
    /// Nothing is written.
    pub read_only: bool,
    /// How long to read without a pause, to see whether it throttles; not at all where 0.
    pub heat: Nanos,
    /// Seed of the random number generator.
    pub seed: u64,
}

/// Requests of one long operation that are outstanding at once: 4 MiB, so that one can be cut short in time.
const OUTSTANDING: u32 = 8;
/// One part of so many of the time is kept for an operation that takes longer than all before it, as if the host stops for
/// a minute.
const RESERVE: u64 = 20;
/// A device that does so many reads at once is not a card with allocation units: those do one thing after another.
const OVERLAPS: f64 = 1.6;
/// Up to this capacity a device is taken for a card of 32 GB or less, which may be written to more.
const CARD_MAX: u64 = 36_000_000_000;

impl Options {
    /// 20 minutes; 4 GB up to a capacity of 36 GB, and 3 % of the capacity above.
    pub fn for_capacity(capacity: Bytes) -> Self {
        let writes = if capacity.0 <= CARD_MAX {
            4_000_000_000
        } else {
            capacity.0 / 100 * 3
        };
        Options {
            time: Nanos::from_secs(1200),
            writes: Bytes(writes),
            read_only: false,
            heat: Nanos::ZERO,
            seed: 1,
        }
    }
}

/// Everything that was found out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Answers, in the order of the questions.
    pub findings: Vec<Finding>,
    /// Evidence as plots.
    pub curves: Vec<Curve>,
    /// Evidence as tables.
    pub tables: Vec<DataTable>,
    /// What limits the confidences, in sentences; empty for simulated devices, on which they were counted.
    pub doubts: Vec<String>,
    /// Spread of the times of equal reads at random places, as a share of their median: the middle half of them. `None` if they
    /// were not measured.
    pub scatter: Option<f64>,
    /// Bytes written.
    pub written: u64,
    /// The device's time, seconds.
    pub elapsed_s: f64,
    /// Why it ended early, where it did.
    pub cut_short: Option<StopReason>,
    /// The counts on which the confidences rest.
    pub basis: Basis,
}

impl Report {
    /// The answer to a question.
    pub fn finding(&self, question: Question) -> Option<&Finding> {
        self.findings.iter().find(|f| f.question == question)
    }

    /// Puts a finding in the place of the one to the same question.
    pub(crate) fn replace(&mut self, finding: Finding) {
        match self
            .findings
            .iter_mut()
            .find(|f| f.question == finding.question)
        {
            Some(before) => *before = finding,
            None => self.findings.push(finding),
        }
    }

    /// The bytes of an answer that is a size.
    pub fn bytes(&self, question: Question) -> Option<u64> {
        match self.finding(question)?.value? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The number of an answer that is a count; the lowest of a range.
    pub fn count(&self, question: Question) -> Option<u32> {
        match self.finding(question)?.value? {
            Value::Count(count) | Value::Range(count, _) => Some(count),
            _ => None,
        }
    }
}

/// One probing under way.
pub(crate) struct Probing<'a, T: Target> {
    pub(crate) target: Metered<T>,
    pub(crate) options: Options,
    pub(crate) report: Report,
    /// Bytes that went into an SLC cache at first, and do not count.
    pub(crate) cached: u64,
    /// Bytes that the search for allocation units leaves for what follows.
    pub(crate) kept: u64,
    /// The resolution of the clock; zero until it is measured.
    pub(crate) clock: Nanos,
    /// The device does at least so many reads at once; 0 until it is measured.
    pub(crate) overlap: f64,
    began: Nanos,
    stop: &'a dyn Fn() -> bool,
    tell: &'a mut dyn FnMut(f64, Nanos),
}

impl<T: Target> Probing<'_, T> {
    /// Measures with single operations.
    pub(crate) fn timed<R>(
        &mut self,
        measure: impl FnOnce(&mut Probe<'_, Metered<T>>) -> Result<R, ProbeError>,
    ) -> Result<R, ProbeError> {
        let (began, time) = (self.began, self.options.time);
        let tell = &mut *self.tell;
        // The share of the time that is gone is what a person wants to know.
        let mut spent = |_: f64, now: Nanos| {
            let share = now.saturating_sub(began).as_secs_f64() / time.as_secs_f64().max(1e-9);
            tell(share.min(1.0), now);
        };
        let stop = self.stop;
        let mut probe =
            Probe::new(&mut self.target, stop, &mut spent).with_outstanding(OUTSTANDING);
        measure(&mut probe)
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        self.report.findings.push(finding);
    }

    /// Bytes that may still be written.
    pub(crate) fn writes_left(&self) -> u64 {
        let may = self.options.writes.0.saturating_add(self.cached);
        may.saturating_sub(self.target.written)
    }

    /// Time in which operations may still begin.
    pub(crate) fn time_left(&self) -> Nanos {
        self.target.time_left()
    }

    /// Time that has passed.
    pub(crate) fn spent(&self) -> Nanos {
        self.target.now().saturating_sub(self.began)
    }

    /// Why the device has no allocation units; `None` if it may have some.
    pub(crate) fn overlaps(&self) -> Option<String> {
        let factor = self.overlap;
        (factor >= OVERLAPS).then(|| {
            format!("it does {factor:.1} reads at once, as devices do that map single pages; boundaries in them are those of stripes, and there are no units to be opened")
        })
    }

    pub(crate) fn interrupted(&self) -> bool {
        (self.stop)()
    }
}

/// Probes a target. `tell` is called with the share of the time that is spent.
///
/// No operation begins for which the budget has no room, and of each question that was not reached the report says why.
///
/// # Errors
/// `ProbeError::Stopped` or `ProbeError::Failed` if it was interrupted or the device went away before the first
/// answer; later, the report has the answers so far.
pub fn probe<T: Target>(
    target: T,
    options: &Options,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(f64, Nanos),
) -> Result<Report, ProbeError> {
    let mut probing = Probing {
        began: target.now(),
        target: Metered::new(target),
        options: *options,
        report: Report::default(),
        cached: 0,
        kept: 0,
        clock: Nanos::ZERO,
        overlap: 0.0,
        stop,
        tell,
    };
    probing.target.limit = if options.read_only {
        0
    } else {
        options.writes.0
    };
    // One operation may take far longer than any before it.
    let reserve = Nanos(options.time.0 / RESERVE);
    probing.target.end = probing.began + options.time.saturating_sub(reserve);
    let result = investigate(&mut probing);
    let refused = probing.target.refused;
    let mut report = probing.report;
    report.written = probing.target.written;
    report.elapsed_s = probing
        .target
        .now()
        .saturating_sub(probing.began)
        .as_secs_f64();
    report.cut_short = match result {
        Ok(()) => None,
        Err(ProbeError::Stopped) if stop() => Some(StopReason::Interrupted),
        Err(_) if refused == Some(Refused::Time) => Some(StopReason::TimeSpent),
        Err(ProbeError::Stopped) => Some(StopReason::TimeSpent),
        Err(ProbeError::Failed(why)) => Some(StopReason::Failed(why)),
    };
    let Some(why) = report.cut_short.clone() else {
        return Ok(report);
    };
    if report.findings.is_empty() && refused.is_none() {
        return Err(match why {
            StopReason::Failed(why) => ProbeError::Failed(why),
            _ => ProbeError::Stopped,
        });
    }
    report.leave_out(why.as_str(), options.read_only);
    Ok(report)
}

impl Report {
    /// Says of each question that was not reached why there is no answer.
    fn leave_out(&mut self, why: &str, read_only: bool) {
        let asked = Question::ALL.into_iter();
        for question in asked.filter(|q| !(read_only && q.writes())) {
            if self.finding(question).is_none() {
                let why = format!("not reached: {why}");
                self.findings.push(question.unknown(why));
            }
        }
    }
}

fn investigate<T: Target>(probing: &mut Probing<'_, T>) -> Result<(), ProbeError> {
    let coolest = probing.target.reading().device_temperature_c;
    let mut span = Bytes(probing.target.whole().0);
    let mut filled = filled::Filled::default();
    let mut emptied = false;
    if !probing.options.read_only {
        let (written, seen) = writes::in_order(probing)?;
        // Where nothing may be written, reads are of whatever is there.
        (span, filled) = (if written.0 == 0 { span } else { written }, seen);
        emptied = slc::cache(probing, &filled, span.0)?;
    }
    probing.clock = clock::step(probing, span)?;
    link::transfers(probing, span)?;
    link::depth(probing, span)?;
    if filled.end.is_some() && !emptied && probing.overlaps().is_none() {
        // On a card the units at the beginning, or closing units once all that stay open are in use, look alike.
        withdrawn::no_cache(&mut probing.report);
        filled = filled.without_cache();
        probing.cached = 0;
        probing.target.limit = probing.options.writes.0;
    }
    if !probing.options.read_only {
        buffer::buffer(probing, span)?;
    }
    dies::dies(probing, span)?;
    let layout = flash::boundaries(probing, span, &filled)?;
    heat::throttling(probing, span, coolest)?;
    if probing.options.read_only {
        return map_range::map_range(probing, span);
    }
    // Before writes that may use up the time.
    let discards = discard::taken(probing, span)?;
    units::open(probing, layout)?;
    discard::speed(probing, layout, &filled, discards)?;
    worst::worst(probing);
    map_range::map_range(probing, span)
}
