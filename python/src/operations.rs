//! The single operations of a run, in columns that Arrow reads without a copy. They are kept in parts of a fixed size,
//! so that nothing is moved when they grow: 30 bytes for each operation.

use crate::table::{Table, schema};
use arrow_array::{ArrayRef, RecordBatch, UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::DataType::{UInt8, UInt32, UInt64};
use arrow_schema::SchemaRef;
use nandscope_measure::listened::Listener;
use nandscope_measure::target::{Outcome, Reply, Request};
use nandscope_units::Nanos;
use nandscope_workload::OpKind;
use std::sync::Arc;

/// Operations of a part: 30 MiB.
const PART: usize = 1 << 20;

/// Columns of up to [`PART`] operations.
#[derive(Debug, Default)]
struct Part {
    submitted_ns: Vec<u64>,
    completed_ns: Vec<u64>,
    offset: Vec<u64>,
    length: Vec<u32>,
    operation: Vec<u8>,
    status: Vec<u8>,
}

impl Part {
    fn with_room() -> Self {
        Part {
            submitted_ns: Vec::with_capacity(PART),
            completed_ns: Vec::with_capacity(PART),
            offset: Vec::with_capacity(PART),
            length: Vec::with_capacity(PART),
            operation: Vec::with_capacity(PART),
            status: Vec::with_capacity(PART),
        }
    }

    fn push(&mut self, request: &Request, reply: &Reply) {
        self.submitted_ns.push(reply.submitted.0);
        self.completed_ns.push(reply.completed.0);
        self.offset.push(request.offset.0);
        self.length.push(request.length);
        self.operation.push(match request.kind {
            OpKind::Read => 0,
            OpKind::Write => 1,
            OpKind::Trim => 2,
            OpKind::Flush => 3,
        });
        self.status.push(match reply.outcome {
            Outcome::Done => 0,
            Outcome::Failed(_) => 1,
            Outcome::Unsupported => 2,
        });
    }

    /// The last part of a run gives back the room that it did not use.
    fn batch(mut self, schema: &SchemaRef) -> RecordBatch {
        self.submitted_ns.shrink_to_fit();
        self.completed_ns.shrink_to_fit();
        self.offset.shrink_to_fit();
        self.length.shrink_to_fit();
        self.operation.shrink_to_fit();
        self.status.shrink_to_fit();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from(self.submitted_ns)),
            Arc::new(UInt64Array::from(self.completed_ns)),
            Arc::new(UInt64Array::from(self.offset)),
            Arc::new(UInt32Array::from(self.length)),
            Arc::new(UInt8Array::from(self.operation)),
            Arc::new(UInt8Array::from(self.status)),
        ];
        match RecordBatch::try_new(schema.clone(), columns) {
            Ok(batch) => batch,
            // `push` adds to all columns.
            Err(error) => unreachable!("the columns have one length: {error}"),
        }
    }
}

/// Completed operations.
#[derive(Debug)]
pub struct Operations {
    schema: SchemaRef,
    parts: Vec<RecordBatch>,
}

impl Operations {
    /// The operations as a table that shares their memory.
    pub fn table(&self) -> Table {
        Table::of_parts(self.schema.clone(), self.parts.clone())
    }
}

/// Gathers the operations of a run.
#[derive(Debug)]
pub struct Gatherer {
    schema: SchemaRef,
    full: Vec<RecordBatch>,
    part: Part,
}

impl Default for Gatherer {
    fn default() -> Self {
        Gatherer {
            schema: schema(&[
                ("submitted_ns", UInt64, false),
                ("completed_ns", UInt64, false),
                ("offset_bytes", UInt64, false),
                ("length_bytes", UInt32, false),
                ("operation", UInt8, false),
                ("status", UInt8, false),
            ]),
            full: Vec::new(),
            part: Part::with_room(),
        }
    }
}

impl Listener for Gatherer {
    fn finished(&mut self, request: &Request, _: Nanos, reply: &Reply) {
        self.part.push(request, reply);
        if self.part.status.len() == PART {
            let part = std::mem::replace(&mut self.part, Part::with_room());
            self.full.push(part.batch(&self.schema));
        }
    }
}

impl Gatherer {
    /// Ends the recording and returns it as columns.
    pub fn finish(mut self) -> Operations {
        if !self.part.status.is_empty() {
            self.full.push(self.part.batch(&self.schema));
        }
        Operations {
            schema: self.schema,
            parts: self.full,
        }
    }
}
