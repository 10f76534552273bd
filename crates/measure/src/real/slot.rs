//! One place for an operation in flight: its memory, and how far it has come.

use super::buffer::Buffer;
use crate::payload::tag;
use crate::target::{Outcome, Request};
use crate::verify::Verifier;
use nandscope_units::Nanos;
use nandscope_workload::OpKind;
use std::sync::Arc;

/// See the module's text. Reads and writes have memory of their own, so that what was read (often
/// zeroes) is never written.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) read: Buffer,
    pub(super) write: Buffer,
    /// The kernel knows the memory already.
    pub(super) registered: bool,
    pub(super) kind: OpKind,
    pub(super) offset: u64,
    pub(super) length: u32,
    /// Bytes that are done; less than all after a transfer that was cut short.
    pub(super) done: u32,
    pub(super) submitted: Nanos,
    /// The write is durable on completion.
    pub(super) durable: bool,
    verifier: Option<Arc<Verifier>>,
}

impl Slot {
    /// A place for operations of up to `length` bytes; `seed` is for what is written where no
    /// verifier makes it.
    pub(super) fn new(length: usize, seed: u64, verifier: Option<&Arc<Verifier>>) -> Self {
        Slot {
            read: Buffer::zeroed(length),
            write: Buffer::random(length, seed),
            registered: false,
            kind: OpKind::Read,
            offset: 0,
            length: 0,
            done: 0,
            submitted: Nanos::ZERO,
            durable: false,
            verifier: verifier.cloned(),
        }
    }

    /// Takes in an operation. A longer one than was foretold gets memory now, which the kernel
    /// does not know.
    #[inline]
    pub(super) fn begin(&mut self, request: &Request, operation: u64, at: Nanos) {
        let moves = matches!(request.kind, OpKind::Read | OpKind::Write);
        if moves && request.length as usize > self.read.len() {
            *self = Slot::new(request.length as usize, operation, self.verifier.as_ref());
        }
        self.kind = request.kind;
        self.offset = request.offset.0;
        self.length = request.length;
        self.done = 0;
        self.submitted = at;
        self.durable = request.durable;
        if request.kind == OpKind::Write {
            let bytes = self.write.bytes_mut(request.length as usize);
            match &self.verifier {
                None => tag(bytes, request.offset.0, operation),
                Some(verifier) => verifier.write(bytes, request.offset.0),
            }
        }
    }

    /// The operation has ended: what was read is checked where somebody checks.
    #[inline]
    pub(super) fn end(&self, outcome: Outcome) -> Outcome {
        match &self.verifier {
            None => outcome,
            Some(verifier) => {
                let length = self.length as usize;
                let read = self.read.bytes(length);
                verifier.ended(self.kind, self.offset, length, read, outcome)
            }
        }
    }
}
