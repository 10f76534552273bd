//! Slot of an operation in flight: its memory and progress.

use super::buffer::Buffer;
use crate::data_source::DataSource;
use crate::target::{Outcome, Request};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// Slot of an operation. Reads and writes have separate memory, so that read data (often zeros) is never written.
#[derive(Debug)]
pub(super) struct Slot {
    pub(super) read: Buffer,
    pub(super) write: Buffer,
    /// The kernel knows the memory already.
    pub(super) registered: bool,
    pub(super) request: Request,
    /// Number of finished bytes; less than all after a short transfer.
    pub(super) done: u32,
    pub(super) submitted: Nanos,
    data: DataSource,
}

impl Slot {
    /// A slot for operations of up to `length` bytes; `seed` is for the default data of writes.
    pub(super) fn new(length: usize, seed: u64, data: &DataSource) -> Self {
        Slot {
            read: Buffer::zeroed(length),
            write: Buffer::random(length, seed),
            registered: false,
            request: Request {
                tag: 0,
                thread: 0,
                kind: OpKind::Read,
                offset: Bytes::ZERO,
                length: 0,
                durable: false,
            },
            done: 0,
            submitted: Nanos::ZERO,
            data: data.clone(),
        }
    }

    /// Begins an operation. One longer than expected gets new memory, unknown to the kernel.
    #[inline]
    pub(super) fn begin(&mut self, request: &Request, operation: u64, at: Nanos) {
        let moves = matches!(request.kind, OpKind::Read | OpKind::Write);
        if moves && request.length as usize > self.read.len() {
            *self = Slot::new(request.length as usize, operation, &self.data);
        }
        self.request = *request;
        self.done = 0;
        self.submitted = at;
        if request.kind == OpKind::Write {
            let bytes = self.write.bytes_mut(request.length as usize);
            self.data.renew(bytes, request, operation);
        }
    }

    /// Ends the operation; compares the data of a read if a job verifies.
    #[inline]
    pub(super) fn end(&self, outcome: Outcome) -> Outcome {
        let read = self.read.bytes(self.request.length as usize);
        self.data.ended(&self.request, read, outcome)
    }
}
