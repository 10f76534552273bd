//! Infers the internals of a device from the times of operations: one question after the other within the budget, each with an
//! answer and its confidence, or with the reason for "cannot tell".
//!
//! Reads come first, then sequential writes, then the most disturbing writes. docs/inference.md compares the answers with the
//! truth of simulated devices.

pub mod advice;
mod bench;
mod buffer;
mod clock;
mod confidence;
mod contradictions;
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
pub use recorded::transcript;

use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_result::{Curve, DataTable, StopReason};
use nandscope_units::{Bytes, Nanos};

/// Limits of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Time on the device's clock.
    pub time: Nanos,
    /// Write budget, bytes; on a device of more than 36 GB, writes to an empty SLC cache are free.
    pub writes: Bytes,
    /// Whether writing is forbidden.
    pub read_only: bool,
    /// Duration of continuous reads that test for thermal throttling; 0 skips them.
    pub heat: Nanos,
    /// Seed of the random number generator.
    pub seed: u64,
}

/// Queue depth of one long operation: 8 requests of 512 KiB, so that it can be cut short in time.
const OUTSTANDING: u32 = 8;
/// Divisor of the total time: reserve for an operation that takes longer than all before it, for example a stall of the host for
/// a minute.
const RESERVE: u64 = 20;
/// Parallel reads from which a device counts as page-mapped: cards with AUs execute one operation after another.
const OVERLAPS: f64 = 1.6;
/// Largest capacity of a card, bytes (32 GB with some reserve); its default write budget is fixed.
const CARD_MAX: u64 = 36_000_000_000;

impl Options {
    /// Defaults: 20 minutes; 4 GB of writes up to a capacity of 36 GB, 3 % of the capacity above.
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

/// Findings of a probe and their evidence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Findings in the order of the measurements.
    pub findings: Vec<Finding>,
    /// Evidence as plots.
    pub curves: Vec<Curve>,
    /// Evidence as tables.
    pub tables: Vec<DataTable>,
    /// Limits of the confidences, in sentences; empty for simulated devices, on which the confidences were counted.
    pub doubts: Vec<String>,
    /// Interquartile range of the times of equal reads at random places, as a share of their median; `None` if they were not
    /// measured.
    pub scatter: Option<f64>,
    /// Bytes written.
    pub written: u64,
    /// Elapsed time on the device's clock, s.
    pub elapsed_s: f64,
    /// Why the probe ended early; `None` if it is complete.
    pub cut_short: Option<StopReason>,
    /// Which counts the confidences come from.
    pub basis: Basis,
}

impl Report {
    /// The answer to a question.
    pub fn finding(&self, question: Question) -> Option<&Finding> {
        self.findings.iter().find(|f| f.question == question)
    }

    /// Replaces the finding for the same question, or adds it.
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

    /// The answer to a question whose answer is a size, bytes.
    pub fn bytes(&self, question: Question) -> Option<u64> {
        self.finding(question)?.bytes()
    }

    /// Size of the largest page that reads show, bytes.
    pub fn whole_page(&self) -> Option<u64> {
        let large = self.bytes(Question::LargePage);
        large.or_else(|| self.bytes(Question::Page))
    }

    /// The answer to a question whose answer is a count; the lower end of a range.
    pub fn count(&self, question: Question) -> Option<u32> {
        match self.finding(question)?.value? {
            Value::Count(count) | Value::Range(count, _) => Some(count),
            _ => None,
        }
    }
}

/// State of a running probe.
pub(crate) struct Probing<'a, T: Target> {
    pub(crate) target: Metered<T>,
    pub(crate) options: Options,
    pub(crate) report: Report,
    /// Bytes written to an empty SLC cache, which are free of the write budget.
    pub(crate) cached: u64,
    /// Write budget, bytes, that the search for AUs reserves for later steps.
    pub(crate) kept: u64,
    /// Step of the clock; zero until measured.
    pub(crate) clock: Nanos,
    /// Reads executed in parallel: best rate divided by the rate at queue depth 1; 0 until measured.
    pub(crate) overlap: f64,
    began: Nanos,
    stop: &'a dyn Fn() -> bool,
    tell: &'a mut dyn FnMut(f64, Nanos),
}

impl<T: Target> Probing<'_, T> {
    /// Runs a measurement that times single operations.
    pub(crate) fn timed<R>(
        &mut self,
        measure: impl FnOnce(&mut Probe<'_, Metered<T>>) -> Result<R, ProbeError>,
    ) -> Result<R, ProbeError> {
        let (began, time) = (self.began, self.options.time);
        let tell = &mut *self.tell;
        // Progress is the spent share of the time.
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

    /// Remaining write budget, bytes.
    pub(crate) fn writes_left(&self) -> u64 {
        let may = self.options.writes.0.saturating_add(self.cached);
        may.saturating_sub(self.target.written)
    }

    /// Remaining time for new operations.
    pub(crate) fn time_left(&self) -> Nanos {
        self.target.time_left()
    }

    /// Elapsed time on the device's clock.
    pub(crate) fn spent(&self) -> Nanos {
        self.target.now().saturating_sub(self.began)
    }

    /// Evidence that the device is page-mapped and has no AUs; `None` if it may have AUs.
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

/// Probes a target. `tell` is called with the spent share of the time and the target's time.
///
/// No operation starts that the budget does not cover; the report has a reason for every question that was not reached.
///
/// # Errors
/// `ProbeError::Stopped` or `ProbeError::Failed` if the probe was interrupted or the device failed before the first answer;
/// later, the report has the answers so far.
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
    // Reserve for one operation that takes far longer than any before it.
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
    contradictions::withdraw(&mut report);
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
    /// Adds the reason for every question that was not reached.
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
        // Without writes, reads cover the whole device, whatever it contains.
        (span, filled) = (if written.0 == 0 { span } else { written }, seen);
        emptied = slc::cache(probing, &filled, span.0)?;
    }
    probing.clock = clock::step(probing, span)?;
    link::transfers(probing, span)?;
    link::depth(probing, span)?;
    if filled.end.is_some() && !emptied && probing.overlaps().is_none() {
        // On a card, special first AUs, or merges once the open AUs are used up, look like the end of an SLC cache.
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
