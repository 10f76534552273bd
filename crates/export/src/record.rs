//! Requests written down with the device's time and that on the wall, as a trace that can be replayed.

use crate::request::Request;
use nandscope_device::CommandKind;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use nandscope_workload::trace::{Record, Trace, write_nstrace};

/// Requests as the device executed them: zeroes become a discard if the host path passes discards on,
/// and a write otherwise.
#[derive(Debug)]
pub struct Recording {
    records: Vec<Record>,
    /// When each arrived, on the wall.
    walls: Vec<Nanos>,
    capacity: Bytes,
}

impl Recording {
    pub(crate) const fn new(capacity: Bytes) -> Self {
        Recording {
            records: Vec::new(),
            walls: Vec::new(),
            capacity,
        }
    }

    pub(crate) fn note(
        &mut self,
        request: &Request,
        command: CommandKind,
        (at, wall): (Nanos, Nanos),
    ) {
        let kind = match command {
            CommandKind::Read => OpKind::Read,
            CommandKind::Write { .. } => OpKind::Write,
            CommandKind::Discard => OpKind::Trim,
            CommandKind::Flush => OpKind::Flush,
            // Clients cannot request these.
            CommandKind::Identify | CommandKind::Health => return,
        };
        self.records.push(Record {
            time: at,
            offset: Bytes(request.offset),
            length: request.length,
            kind,
        });
        self.walls.push(wall);
    }

    /// Requests written down.
    pub fn requests(&self) -> usize {
        self.records.len()
    }

    /// The bytes of an nstrace file. The device's times count from the first request, those on the
    /// wall from the server's start.
    pub fn to_nstrace(&self, name: &str, title: &str) -> Vec<u8> {
        let trace = Trace::new(self.records.clone(), true, Some(self.capacity))
            .with_walls(self.walls.clone());
        write_nstrace(name, title, &trace)
    }
}
