//! Times single operations: each is submitted and awaited before the next one. The runner of the measure crate keeps
//! only histograms; procedures that need the time of one read at one address use [`Probe`] instead.
//!
//! No record is kept; the calling procedure interprets the times.

use nandscope_measure::target::{Outcome, Reply, Request, Target};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// Why no more operations are timed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeError {
    /// The caller requested a stop.
    Stopped,
    /// An operation failed or the target is gone; with the reason.
    Failed(String),
}

/// Operations between two checks for a stop.
const LOOK_EVERY: u64 = 64;
/// The largest request that Linux sends to an SD host controller at once.
pub const REQUEST: Bytes = Bytes::kib(512);

/// Most outstanding requests of one operation; further ones are submitted as they complete.
const OUTSTANDING: u32 = 64;

/// Times single operations on a target.
pub struct Probe<'a, T: Target> {
    target: &'a mut T,
    stop: &'a dyn Fn() -> bool,
    tell: &'a mut dyn FnMut(f64, Nanos),
    request: Bytes,
    outstanding: u32,
    fraction: f64,
    operations: u64,
    replies: Vec<Reply>,
}

impl<'a, T: Target> Probe<'a, T> {
    /// `tell` is called every 64 operations with the completed share of the work and the target's time.
    pub fn new(
        target: &'a mut T,
        stop: &'a dyn Fn() -> bool,
        tell: &'a mut dyn FnMut(f64, Nanos),
    ) -> Self {
        Probe {
            target,
            stop,
            tell,
            request: REQUEST,
            outstanding: OUTSTANDING,
            fraction: 0.0,
            operations: 0,
            replies: Vec::new(),
        }
    }

    /// Splits longer operations into requests of this size, as the kernel of a real host does.
    pub fn with_request(mut self, request: Bytes) -> Self {
        self.request = Bytes((request.0 / 512 * 512).max(512));
        self
    }

    /// Limits the outstanding requests of one operation: the fewer, the sooner an operation can be cut short.
    pub fn with_outstanding(mut self, requests: u32) -> Self {
        self.outstanding = requests.max(1);
        self
    }

    /// Addressable bytes of the target.
    pub fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    /// Current time of the target's clock.
    pub fn now(&self) -> Nanos {
        self.target.now()
    }

    /// Sets the completed share of the work, 0 to 1.
    pub fn progress(&mut self, fraction: f64) {
        self.fraction = fraction;
    }

    /// Reads and returns the time until all requests completed.
    ///
    /// # Errors
    /// `ProbeError::Failed` if the operation fails; `ProbeError::Stopped` if it was interrupted.
    pub fn read(&mut self, offset: Bytes, length: Bytes) -> Result<Nanos, ProbeError> {
        self.time(OpKind::Read, offset, length)
    }

    /// Writes and returns the time until all requests completed.
    ///
    /// # Errors
    /// As [`Probe::read`].
    pub fn write(&mut self, offset: Bytes, length: Bytes) -> Result<Nanos, ProbeError> {
        self.time(OpKind::Write, offset, length)
    }

    /// Submits the requests of one operation and waits until all have completed.
    fn time(&mut self, kind: OpKind, offset: Bytes, length: Bytes) -> Result<Nanos, ProbeError> {
        if self.operations.is_multiple_of(LOOK_EVERY) {
            if (self.stop)() {
                return Err(ProbeError::Stopped);
            }
            (self.tell)(self.fraction, self.target.now());
        }
        self.operations += 1;
        let began = self.target.now();
        let (mut outstanding, mut tag) = (0_u32, 0_u32);
        let mut at = 0;
        while at < length.0 || outstanding > 0 {
            if at < length.0 && outstanding < self.outstanding {
                let piece = self.request.0.min(length.0 - at);
                let request = Request {
                    tag,
                    kind,
                    offset: Bytes(offset.0 + at),
                    // At most one request, which fits a `u32`.
                    length: u32::try_from(piece).unwrap_or(u32::MAX),
                    durable: false,
                    thread: 0,
                };
                self.target.submit(request).map_err(failed)?;
                outstanding += 1;
                tag = tag.wrapping_add(1);
                at += piece;
                continue;
            }
            self.replies.clear();
            self.target
                .wait(Nanos::MAX, &mut self.replies)
                .map_err(failed)?;
            if self.replies.is_empty() {
                return Err(failed("the target does not respond"));
            }
            for reply in &self.replies {
                outstanding = outstanding.saturating_sub(1);
                match reply.outcome {
                    Outcome::Done => {}
                    Outcome::Failed(why) => return Err(failed(format!("{why} at {offset}"))),
                    Outcome::Unsupported => return Err(failed("the target cannot do it")),
                }
            }
        }
        Ok(self.target.now().saturating_sub(began))
    }
}

fn failed(why: impl ToString) -> ProbeError {
    ProbeError::Failed(why.to_string())
}
