//! A part of a target as a separate target, such as a partition: it may begin in the middle of an allocation unit.

use nandscope_measure::target::{Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};

/// The part of a target from `begin` to its end.
#[derive(Debug)]
pub struct Part<T> {
    target: T,
    begin: Bytes,
}

impl<T: Target> Part<T> {
    /// The part of `target` from `begin` to its end.
    pub fn new(target: T, begin: Bytes) -> Self {
        Part { target, begin }
    }
}

impl<T: Target> Target for Part<T> {
    fn now(&self) -> Nanos {
        self.target.now()
    }

    fn capacity(&self) -> Bytes {
        Bytes(self.target.capacity().0.saturating_sub(self.begin.0))
    }

    fn submit(&mut self, mut request: Request) -> Result<(), TargetError> {
        request.offset.0 += self.begin.0;
        self.target.submit(request)
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        self.target.wait(until, replies)
    }

    fn reading(&mut self) -> Reading {
        self.target.reading()
    }
}
