//! Received and expected contents of mismatching blocks, for `verify_dump`.

use super::parts::{Parts, Write};
use super::{Fault, Mismatch};

/// Maximum memory for the dumps of a verifier, bytes.
const ROOM: usize = 256 << 20;

/// A mismatching part of a block. As in fio 3.33 it is as long as `verify_interval`, or the whole block with
/// `verify=pattern`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dump {
    /// Offset on the target, bytes.
    pub offset: u64,
    /// Data as read.
    pub received: Vec<u8>,
    /// Data written there last; `None` if neither the run nor a header identifies the write.
    pub expected: Option<Vec<u8>>,
}

/// The first mismatches of a run.
#[derive(Debug, Default)]
pub(super) struct Dumps {
    kept: Vec<Dump>,
    bytes: usize,
}

impl Dumps {
    pub(super) fn kept(&self) -> &[Dump] {
        &self.kept
    }

    /// Stores a dump, unless there is one of its offset, or no room.
    fn keep(&mut self, dump: Dump, most: usize) {
        let bytes = dump.received.len() + dump.expected.as_ref().map_or(0, Vec::len);
        let is_known = self.kept.iter().any(|known| known.offset == dump.offset);
        if !is_known && self.kept.len() < most && self.bytes + bytes <= ROOM {
            self.bytes += bytes;
            self.kept.push(dump);
        }
    }

    pub(super) fn extend(&mut self, dumps: Vec<Dump>, most: usize) {
        dumps.into_iter().for_each(|dump| self.keep(dump, most));
    }
}

/// Findings of one read.
#[derive(Debug)]
pub(super) struct Findings {
    pub(super) mismatches: Vec<Mismatch>,
    /// Dumps; `None` if they are not requested.
    dumps: Option<Dumps>,
    most: usize,
}

impl Findings {
    /// No findings; at most `most` dumps will be stored if they are requested.
    pub(super) fn new(dumps_are_wanted: bool, most: usize) -> Self {
        Findings {
            mismatches: Vec::new(),
            dumps: dumps_are_wanted.then(Dumps::default),
            most,
        }
    }

    /// Adds the result of comparing `received`, if it found a mismatch.
    pub(super) fn add(
        &mut self,
        found: Option<Mismatch>,
        offset: u64,
        received: &[u8],
        expected: impl FnOnce() -> Option<Vec<u8>>,
    ) {
        let Some(mismatch) = found else { return };
        self.mismatches.push(mismatch);
        if let Some(dumps) = &mut self.dumps
            && dumps.kept.len() < self.most
        {
            let dump = Dump {
                offset,
                received: received.to_vec(),
                expected: expected(),
            };
            dumps.keep(dump, self.most);
        }
    }

    /// The fault of the first mismatch.
    pub(super) fn first(&self) -> Option<Fault> {
        self.mismatches.first().map(|(fault, _)| *fault)
    }

    pub(super) fn into_parts(self) -> (Vec<Mismatch>, Vec<Dump>) {
        let dumps = self.dumps.map(|dumps| dumps.kept).unwrap_or_default();
        (self.mismatches, dumps)
    }
}

/// Part of a read of one write's data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Of the read data, on the target.
    pub(super) offset: u64,
    /// Length of the read data.
    pub(super) length: usize,
    /// From the start of the write to the read data, bytes.
    pub(super) position: u64,
}

/// Data that a write puts into a part of `length` bytes at `at`, bytes from the start of the target. Compressible
/// data depend on the length of the write: as in fio, the length of the read is used.
pub(super) fn expected_part(
    parts: &Parts,
    span: Span,
    at: u64,
    length: usize,
    write: Write,
) -> Option<Vec<u8>> {
    let from = at - span.offset;
    if parts.is_determined() {
        let mut right = vec![0; length];
        parts.fill(&mut right, at, write.seed, span.position + from);
        parts.finish(&mut right, at, write);
        return Some(right);
    }
    if span.position > 0 {
        return None;
    }
    let mut whole = vec![0; span.length];
    parts.write(&mut whole, span.offset, write);
    Some(whole[from as usize..][..length].to_vec())
}

/// Expected data of a part whose write is known only from its own header.
pub(super) fn expected_of_header(
    parts: &Parts,
    span: Span,
    at: u64,
    part: &[u8],
) -> Option<Vec<u8>> {
    let header = parts.header_of(part)?;
    let is_own = header.offset == at
        && header.length as usize == part.len()
        && header.method == parts.method as u16;
    let write = Write {
        seed: header.seed,
        generation: header.number.wrapping_add(1),
        thread: header.thread,
    };
    is_own.then(|| expected_part(parts, span, at, part.len(), write))?
}
