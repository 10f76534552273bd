//! A target that serves one operation at a time, in a time that the test chooses.

use nandscope_measure::target::{Outcome, Reading, Reply, Request, Target, TargetError};
use nandscope_units::{Bytes, Nanos};
use std::collections::VecDeque;

pub struct SerialTarget {
    now: Nanos,
    free_at: Nanos,
    queue: VecDeque<Reply>,
    service: fn(&Request, Nanos) -> Nanos,
    pub requests: Vec<(Request, Nanos)>,
}

impl SerialTarget {
    /// `service` gives the time of a request that begins at an instant.
    pub fn new(service: fn(&Request, Nanos) -> Nanos) -> Self {
        SerialTarget {
            now: Nanos::ZERO,
            free_at: Nanos::ZERO,
            queue: VecDeque::new(),
            service,
            requests: Vec::new(),
        }
    }
}

impl Target for SerialTarget {
    fn now(&self) -> Nanos {
        self.now
    }

    fn capacity(&self) -> Bytes {
        Bytes::gib(8)
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        let begin = self.now.max(self.free_at);
        self.free_at = begin + (self.service)(&request, begin);
        self.queue.push_back(Reply {
            tag: request.tag,
            submitted: self.now,
            completed: self.free_at,
            outcome: Outcome::Done,
        });
        self.requests.push((request, self.now));
        Ok(())
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        match self.queue.front() {
            Some(reply) if reply.completed <= until => {
                self.now = self.now.max(reply.completed);
                replies.extend(self.queue.pop_front());
            }
            None if until == Nanos::MAX => {}
            _ => self.now = self.now.max(until),
        }
        Ok(())
    }

    fn longest_wait(&self) -> Nanos {
        Nanos::MAX
    }

    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}
