//! A target with a listener: each operation is reported when it is submitted, and when it is finished.

use crate::target::{Load, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};

/// Receives single operations.
pub trait Listener {
    /// Whether operations are to be reported.
    fn is_listening(&self) -> bool {
        true
    }

    /// An operation is handed to the target at this instant.
    fn submitted(&mut self, request: &Request, at: Nanos) {
        let _ = (request, at);
    }

    /// An operation that was submitted at `at` is finished.
    fn finished(&mut self, request: &Request, at: Nanos, reply: &Reply);
}

impl<L: Listener> Listener for &mut L {
    fn is_listening(&self) -> bool {
        (**self).is_listening()
    }

    fn submitted(&mut self, request: &Request, at: Nanos) {
        (**self).submitted(request, at);
    }

    fn finished(&mut self, request: &Request, at: Nanos, reply: &Reply) {
        (**self).finished(request, at, reply);
    }
}

/// Ignores all reports, at no cost.
impl Listener for () {
    fn is_listening(&self) -> bool {
        false
    }

    fn finished(&mut self, _: &Request, _: Nanos, _: &Reply) {}
}

/// A target that reports each operation to a listener. It has no thread queues: one loop drives it, so that reports are
/// in order.
#[derive(Debug)]
pub struct Listened<T, L> {
    /// The target itself.
    pub target: T,
    /// Receives the reports.
    pub listener: L,
    /// Requests and their submission times, by tag; the runner numbers tags from 0 and reuses them.
    in_flight: Vec<Option<(Request, Nanos)>>,
}

impl<T, L> Listened<T, L> {
    /// A target with a listener.
    pub fn new(target: T, listener: L) -> Self {
        Listened {
            target,
            listener,
            in_flight: Vec::new(),
        }
    }
}

impl<T: Target, L: Listener> Target for Listened<T, L> {
    fn now(&self) -> Nanos {
        self.target.now()
    }

    fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    fn prepare(&mut self, load: &Load) -> Result<(), TargetError> {
        self.target.prepare(load)
    }

    fn longest_wait(&self) -> Nanos {
        self.target.longest_wait()
    }

    #[inline]
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if self.listener.is_listening() {
            let now = self.target.now();
            let tag = request.tag as usize;
            if tag >= self.in_flight.len() {
                self.in_flight.resize(tag + 1, None);
            }
            self.in_flight[tag] = Some((request, now));
            self.listener.submitted(&request, now);
        }
        self.target.submit(request)
    }

    #[inline]
    fn expect(&mut self, offset: Bytes) {
        self.target.expect(offset);
    }

    #[inline]
    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        let before = replies.len();
        let waited = self.target.wait(until, replies);
        if self.listener.is_listening() {
            for reply in &replies[before..] {
                let slot = self.in_flight.get_mut(reply.tag as usize);
                if let Some((request, at)) = slot.and_then(Option::take) {
                    self.listener.finished(&request, at, reply);
                }
            }
        }
        waited
    }

    fn contents(&mut self, offset: Bytes, length: u32) -> Result<Option<Vec<u8>>, TargetError> {
        self.target.contents(offset, length)
    }

    fn reading(&mut self) -> Reading {
        self.target.reading()
    }
}
