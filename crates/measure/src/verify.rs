//! Verifiable contents: written data identifies its place and its write, and data read is compared with the data
//! written last.
//!
//! Blocks are those of fio 3.33: parts of `verify_interval` bytes with a header, which has offset and seed, and a
//! checksum ([`Check::Parts`]), or a pattern alone. fio can therefore verify them, and this module can verify fio's.
//! The seed identifies the write of a block, and determines the random data between the headers. A part is therefore
//! known to be right, of another place, of an earlier write, torn between two writes, or wrong. A ledger has the write
//! of each block; a block with two simultaneous writes may have the data of either.

mod checksum;
mod dump;
mod generated;
mod header;
mod ledger;
mod mismatch_text;
mod parts;
mod random;

use crate::target::{Outcome, Request};
pub use dump::Dump;
use dump::{Dumps, Findings, Span};
use ledger::{Holds, Ledger};
use nandscope_units::{Bytes, SECTOR_BYTES};
use nandscope_workload::OpKind;
use nandscope_workload::job::{DataPattern, Job, VerifyMethod};
pub use parts::Parts;
use parts::Write;
use random::Seeds;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

const SECTOR: usize = SECTOR_BYTES as usize;
/// Mismatches that are described; all are counted.
const DESCRIBED: usize = 16;

/// Procedure to make and compare the blocks of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// Parts with headers and checksums.
    Parts(Parts),
    /// Each block is this pattern.
    Pattern(DataPattern),
    /// Nothing is compared.
    Nothing,
}

impl Check {
    /// Checks of a job with `verify` and its related options; by default crc32c.
    pub fn of_job(job: &Job) -> Check {
        match (job.verify.method, &job.verify.pattern) {
            (Some(VerifyMethod::Null), _) => Check::Nothing,
            (Some(VerifyMethod::Pattern), Some(pattern)) => Check::Pattern(pattern.clone()),
            // fio refuses this combination.
            (Some(VerifyMethod::Pattern), None) => Check::Nothing,
            (method, _) => {
                let method = method.unwrap_or(VerifyMethod::Crc32c);
                Check::Parts(Parts::of_job(job, method))
            }
        }
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct Verifier {
    seeds: Seeds,
    /// Whether blocks not in the ledger are checked too, for everything except their write.
    all: bool,
    /// True if discarded blocks must read as zeros.
    zeros: bool,
    /// Whether contents of mismatching blocks are stored.
    dumps: bool,
    /// Checks of the threads, by thread number.
    checks: Vec<Check>,
    /// Whether all known blocks are compared, whichever thread reads them.
    reads_back: AtomicBool,
    ledger: Mutex<Ledger>,
    found: Mutex<Found>,
}

#[derive(Debug, Default)]
struct Found {
    described: Vec<String>,
    mismatches: u64,
    dumps: Dumps,
}

/// Fault of a part or block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Wrong,
    Misplaced,
    Stale,
    Torn,
}

impl Fault {
    fn reason(self) -> &'static str {
        match self {
            Fault::Wrong => "verify: wrong data",
            Fault::Misplaced => "verify: data of another place",
            Fault::Stale => "verify: stale data, of an earlier write",
            Fault::Torn => "verify: torn, parts of different writes",
        }
    }
}

/// A fault and its description.
type Mismatch = (Fault, String);

impl Verifier {
    /// A verifier for threads with these checks, in the order of their numbers. `block` divides the lengths and offsets
    /// of all writes and their parts, bytes. With `all`, blocks whose write it did not see are checked too, as for a
    /// job that only reads.
    pub fn new(seed: u64, block: u32, all: bool, checks: Vec<Check>) -> Self {
        Verifier {
            seeds: Seeds::of_run(seed),
            all,
            zeros: false,
            dumps: false,
            checks,
            reads_back: AtomicBool::new(false),
            ledger: Mutex::new(Ledger::new(block.into())),
            found: Mutex::default(),
        }
    }

    /// Requires discarded blocks to read as zeros from now on (`trim_verify_zero`).
    #[must_use]
    pub fn with_zeros_after_discards(mut self) -> Self {
        self.zeros = true;
        self
    }

    /// Stores contents of the first mismatching blocks from now on (`verify_dump`).
    #[must_use]
    pub fn with_dumps(mut self) -> Self {
        self.dumps = true;
        self
    }

    /// Stored contents of the first mismatching blocks: at most as many as are described, and up to 256 MiB.
    pub fn dumps(&self) -> Vec<Dump> {
        lock(&self.found).dumps.kept().to_vec()
    }

    /// From now on reads compare all that was written, whichever thread reads.
    pub fn begin_to_read_back(&self) {
        self.reads_back.store(true, Ordering::Relaxed);
    }

    /// Check of a thread; a thread without a check compares nothing.
    fn check_of(&self, thread: u32) -> &Check {
        self.checks.get(thread as usize).unwrap_or(&Check::Nothing)
    }

    /// Number of mismatches so far, and descriptions of the first ones.
    pub fn mismatches(&self) -> (u64, Vec<String>) {
        let found = lock(&self.found);
        (found.mismatches, found.described.clone())
    }

    /// The ranges that were written, in order: offset and length in bytes.
    pub fn written(&self) -> Vec<(Bytes, u64)> {
        let ranges = lock(&self.ledger).written();
        ranges.into_iter().map(|(at, n)| (Bytes(at), n)).collect()
    }

    fn write_of(&self, generation: u32, thread: u32) -> Write {
        Write {
            seed: self.seeds.of(generation),
            generation,
            thread,
        }
    }

    /// Makes the contents of a write about to begin; false if its thread has no check, so that its contents are made
    /// elsewhere.
    pub fn write(&self, bytes: &mut [u8], offset: u64, thread: u32) -> bool {
        let check = self.check_of(thread);
        let is_known = *check != Check::Nothing;
        let generation = lock(&self.ledger).begin(offset, bytes.len(), thread, is_known);
        match check {
            Check::Nothing => return false,
            Check::Pattern(pattern) => parts::fill_pattern(pattern, bytes, offset, 0),
            Check::Parts(parts) => parts.write(bytes, offset, self.write_of(generation, thread)),
        }
        true
    }

    /// Handles the end of an operation: compares the data `read` with the expected data; a mismatch makes the read
    /// fail.
    pub fn ended(&self, request: &Request, read: &[u8], outcome: Outcome) -> Outcome {
        let (offset, length) = (request.offset.0, request.length as usize);
        let done = outcome == Outcome::Done;
        match request.kind {
            OpKind::Read if done => return self.check(read, offset, request.thread),
            OpKind::Write => lock(&self.ledger).end(offset, length, done),
            // A failed discard may have discarded a part.
            OpKind::Trim => lock(&self.ledger).discard(offset, length as u64, self.zeros),
            OpKind::Read | OpKind::Flush => {}
        }
        outcome
    }

    /// Compares the data of a read with the expected data.
    fn check(&self, bytes: &[u8], offset: u64, thread: u32) -> Outcome {
        let reader = self.check_of(thread);
        if *reader == Check::Nothing && !self.reads_back.load(Ordering::Relaxed) {
            return Outcome::Done;
        }
        let (parts, last) = {
            let mut ledger = lock(&self.ledger);
            (ledger.parts(offset, bytes.len()), ledger.last())
        };
        let mut found = Findings::new(self.dumps, DESCRIBED);
        let mut from = 0usize;
        for (length, holds) in parts {
            let part = &bytes[from..from + length];
            let at = offset + from as u64;
            from += length;
            match holds {
                Holds::Moving => {}
                Holds::Unknown if !self.all => {}
                Holds::Unknown => {
                    examine_unknown(reader, part, at, from == bytes.len(), &mut found)
                }
                Holds::Either => self.examine_either(part, at, &mut found),
                Holds::Zeros => found.add(mismatch_text::not_zero(part, at), at, part, || {
                    Some(vec![0; length])
                }),
                Holds::Written {
                    generation,
                    thread,
                    position,
                } => {
                    let write = self.write_of(generation, thread);
                    self.examine(part, at, write, position, last, &mut found);
                }
            }
        }
        self.record(found)
    }

    fn record(&self, findings: Findings) -> Outcome {
        let Some(first) = findings.first() else {
            return Outcome::Done;
        };
        let (mismatches, dumps) = findings.into_parts();
        let mut found = lock(&self.found);
        found.mismatches += mismatches.len() as u64;
        let room = DESCRIBED.saturating_sub(found.described.len());
        let texts = mismatches.into_iter().map(|(_, text)| text);
        found.described.extend(texts.take(room));
        found.dumps.extend(dumps, DESCRIBED);
        Outcome::Failed(first.reason())
    }

    /// Compares bytes with those of a write from `position` on.
    fn examine(
        &self,
        bytes: &[u8],
        offset: u64,
        write: Write,
        position: u64,
        last: u32,
        found: &mut Findings,
    ) {
        let parts = match self.check_of(write.thread) {
            Check::Nothing => return,
            Check::Pattern(pattern) => {
                let mut right = vec![0; bytes.len()];
                parts::fill_pattern(pattern, &mut right, offset, position);
                let wrong = mismatch_text::not_the_pattern(bytes, &right, offset);
                return found.add(wrong, offset, bytes, || Some(right));
            }
            Check::Parts(parts) => parts,
        };
        let span = Span {
            offset,
            length: bytes.len(),
            position,
        };
        let mut rest = bytes;
        let (mut at, mut position) = (offset, position);
        while !rest.is_empty() {
            let within = position % parts.interval();
            let length = (parts.interval() - within).min(rest.len() as u64) as usize;
            let (part, after) = rest.split_at(length);
            let place = mismatch_text::Place {
                offset: at,
                position,
                write,
                last,
                seeds: self.seeds,
            };
            let is_whole =
                length as u64 == parts.interval() || (within == 0 && is_short_part(parts, part));
            match is_whole {
                true => found.add(place.examine_part(parts, part), at, part, || {
                    dump::expected_part(parts, span, at, length, write)
                }),
                false => found.add(place.examine_fragment(parts, part), at, part, || {
                    Some(place.fragment(parts, part))
                }),
            }
            rest = after;
            at += length as u64;
            position += length as u64;
        }
    }

    /// Compares bytes written by one of several simultaneous writes, or possibly changed by a failed one. They are
    /// right if any check makes such data; partial parts cannot be judged.
    fn examine_either(&self, bytes: &[u8], offset: u64, found: &mut Findings) {
        let mut distinct: Vec<&Check> = Vec::new();
        for check in &self.checks {
            if !distinct.contains(&check) {
                distinct.push(check);
            }
        }
        let shortest = distinct.iter().map(|check| match check {
            Check::Parts(parts) => parts.interval(),
            _ => SECTOR_BYTES,
        });
        let step = shortest.min().unwrap_or(SECTOR_BYTES).max(1) as usize;
        let mut at = offset;
        for part in bytes.chunks(step) {
            let is_right = distinct.iter().any(|check| match check {
                Check::Nothing => true,
                Check::Pattern(pattern) => mismatch_text::is_pattern(pattern, part),
                Check::Parts(parts) => mismatch_text::is_plausible(parts, part, at),
            });
            let wrong = (!is_right).then(|| mismatch_text::nothing_verified(at));
            found.add(wrong, at, part, || None);
            at += part.len() as u64;
        }
    }
}

/// Whether this is the last part of a block, shorter than the other parts.
fn is_short_part(parts: &Parts, part: &[u8]) -> bool {
    let header = parts.header_of(part);
    header.is_some_and(|header| header.length as usize == part.len())
}

/// Compares blocks that this run did not write with the reader's expectations.
fn examine_unknown(reader: &Check, bytes: &[u8], offset: u64, is_end: bool, found: &mut Findings) {
    match reader {
        Check::Nothing => {}
        Check::Pattern(pattern) => {
            let mut right = vec![0; bytes.len()];
            parts::fill_pattern(pattern, &mut right, offset, 0);
            let wrong = mismatch_text::not_the_pattern(bytes, &right, offset);
            found.add(wrong, offset, bytes, || Some(right));
        }
        Check::Parts(parts) => {
            let span = Span {
                offset,
                length: bytes.len(),
                position: 0,
            };
            let mut at = offset;
            for part in bytes.chunks(parts.interval() as usize) {
                // A part that ends before the read does was partly overwritten by this run: it is not judged.
                if is_end || part.len() as u64 == parts.interval() {
                    let wrong = mismatch_text::unknown_part(parts, part, at, at - offset);
                    found.add(wrong, at, part, || {
                        dump::expected_of_header(parts, span, at, part)
                    });
                }
                at += part.len() as u64;
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A poisoned lock is used: no panic can leave the value between two consistent states.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod work;
