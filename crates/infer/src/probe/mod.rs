//! What is inside a device, as far as times of operations show it: one investigation after the other,
//! each as long as the budget lasts, each with an answer and its confidence, or with the reason why it cannot be told.
//!
//! Reading comes first, then writing in order, then what disturbs the device most. How the answers
//! fare on devices whose truth is known is in docs/inference.md.

pub mod advice;
mod bench;
mod describe;
mod dies;
mod discard;
mod discarded;
mod finding;
mod flash;
mod heat;
mod link;
mod recorded;
mod slc;
mod units;
mod writes;

pub use bench::Metered;
pub use describe::{from_document, step};
pub use finding::{FAIR, Finding, LIKELY, SURE, Value, size};
pub use recorded::from_flashbench;

use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_result::{Curve, DataTable, StopReason};
use nandscope_units::{Bytes, Nanos};

/// What may be spent, and in which order things happen.
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
    /// Every random choice follows from it.
    pub seed: u64,
}

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
    /// The answers.
    pub findings: Vec<Finding>,
    /// Evidence as plots.
    pub curves: Vec<Curve>,
    /// Evidence as tables.
    pub tables: Vec<DataTable>,
    /// Bytes written.
    pub written: u64,
    /// The device's time, seconds.
    pub elapsed_s: f64,
    /// Why it ended early, where it did.
    pub cut_short: Option<StopReason>,
}

impl Report {
    /// The answer with that name.
    pub fn finding(&self, id: &str) -> Option<&Finding> {
        self.findings.iter().find(|f| f.id == id)
    }

    /// The bytes of an answer that is a size.
    pub fn bytes(&self, id: &str) -> Option<u64> {
        match self.finding(id)?.value? {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The number of an answer that is a count.
    pub fn count(&self, id: &str) -> Option<u32> {
        match self.finding(id)?.value? {
            Value::Count(count) => Some(count),
            _ => None,
        }
    }
}

/// One probing under way.
pub(crate) struct Probing<'a, T: Target> {
    pub(crate) target: Metered<T>,
    pub(crate) options: Options,
    pub(crate) report: Report,
    /// What went into an SLC cache at first, and does not count.
    pub(crate) cached: u64,
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
        let (stop, end) = (self.stop, began + time);
        // The probe looks now and then, and an operation may be long: the last of the time is kept for that.
        let end = end.saturating_sub(Nanos(time.0 / 10));
        let now = std::cell::Cell::new(self.target.now());
        let mut told = |share: f64, at: Nanos| {
            now.set(at);
            spent(share, at);
        };
        let over = || stop() || now.get() > end;
        measure(&mut Probe::new(&mut self.target, &over, &mut told))
    }

    pub(crate) fn add(&mut self, finding: Finding) {
        self.report.findings.push(finding);
    }

    /// Bytes that may still be written.
    pub(crate) fn writes_left(&self) -> u64 {
        let may = self.options.writes.0.saturating_add(self.cached);
        may.saturating_sub(self.target.written)
    }

    /// Time that may still be spent.
    pub(crate) fn time_left(&self) -> Nanos {
        let spent = self.target.now().saturating_sub(self.began);
        self.options.time.saturating_sub(spent)
    }

    pub(crate) fn interrupted(&self) -> bool {
        (self.stop)()
    }
}

/// Probes a target. `tell` learns which share of the time is spent.
///
/// # Errors
/// Where it was interrupted before anything was found out, or the device went away; what was found
/// until then is in the report otherwise.
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
        stop,
        tell,
    };
    probing.target.limit = if options.read_only {
        0
    } else {
        options.writes.0
    };
    let result = investigate(&mut probing);
    let mut report = probing.report;
    report.written = probing.target.written;
    report.elapsed_s = probing
        .target
        .now()
        .saturating_sub(probing.began)
        .as_secs_f64();
    match result {
        Ok(()) => {}
        Err(error) if report.findings.is_empty() => return Err(error),
        Err(ProbeError::Stopped) if stop() => report.cut_short = Some(StopReason::Interrupted),
        Err(ProbeError::Stopped) => {
            report.cut_short = Some(StopReason::TimeSpent);
        }
        Err(ProbeError::Failed(why)) => report.cut_short = Some(StopReason::Failed(why)),
    }
    Ok(report)
}

fn investigate<T: Target>(probing: &mut Probing<'_, T>) -> Result<(), ProbeError> {
    let coolest = probing.target.reading().device_temperature_c;
    let mut span = Bytes(probing.target.whole().0);
    let mut filled = slc::Filled::default();
    if !probing.options.read_only {
        let (written, seen) = writes::in_order(probing)?;
        // Where nothing may be written, reads are of whatever is there.
        (span, filled) = (if written.0 == 0 { span } else { written }, seen);
        slc::cache(probing, &filled, span.0)?;
        writes::buffer(probing, span)?;
    }
    link::transfers(probing, span)?;
    link::depth(probing, span)?;
    dies::dies(probing, span)?;
    link::map_span(probing, span)?;
    let layout = flash::boundaries(probing, span)?;
    heat::throttling(probing, span, coolest)?;
    if probing.options.read_only {
        return Ok(());
    }
    units::open(probing, layout)?;
    discard::discards(probing, layout, &filled, span)?;
    units::worst(probing);
    Ok(())
}
