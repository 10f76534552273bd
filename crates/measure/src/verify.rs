//! Contents that can be checked: what is written says where it belongs and by which write, and
//! what is read is held against what was written last.
//!
//! Every sector of 512 bytes carries its offset, the generation of the write (a number that rises
//! with each), the seed of the run, random data that follow from the three, and a CRC-32 of all of
//! it. So that a sector is right, of another place, of an earlier write, or wrong; and a block whose
//! sectors come from different writes is torn. Which generation a block must have is kept in a
//! ledger with four bytes per block; a block that two writes were on their way to at once may have
//! either.
//!
//! Jobs may ask for other [`Check`]s: labels over a pattern, labels without a sum of the data, or a pattern alone.

use crate::payload::fill;
use crate::target::{Outcome, Request};
use nandscope_units::{Bytes, SECTOR_BYTES};
use nandscope_workload::OpKind;
use nandscope_workload::job::{DataPattern, Verify};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

const SECTOR: usize = SECTOR_BYTES as usize;
const MAGIC: u64 = u64::from_le_bytes(*b"nandscop");
/// The same in labels whose checksum covers the label alone.
const MAGIC_META: u64 = u64::from_le_bytes(*b"nandmeta");
/// Offset, generation, seed and the magic number before them.
const HEADER: usize = 32;
const CHECKSUM: usize = SECTOR - 4;
/// Blocks whose generations lie together in memory.
const CHUNK: u64 = 1 << 14;
/// Mismatches that are described; all are counted.
const DESCRIBED: usize = 16;

/// A block that was never written.
const NEVER: u32 = 0;
/// A block whose last write is not known.
const EITHER: u32 = u32::MAX;
/// A block that was discarded and must read as zeros.
const ZERO: u32 = u32::MAX - 1;
/// Values from here on are blocks that hold the pattern of a check, by its number.
const PATTERN: u32 = ZERO - MOST_CHECKS;
const MOST_CHECKS: u32 = 1 << 20;

/// How the blocks of a thread are made and compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// A label in each sector, and a checksum over label and data.
    Labels {
        /// The data between them; random by default.
        data: Option<DataPattern>,
        /// Whether the checksum covers the data (not with `verify=meta`).
        covers_data: bool,
    },
    /// Each block is this pattern.
    Pattern(DataPattern),
    /// Nothing is compared.
    Nothing,
}

impl Default for Check {
    fn default() -> Self {
        Check::Labels {
            data: None,
            covers_data: true,
        }
    }
}

impl Check {
    /// What a job asks for with `verify` and `verify_pattern`.
    pub fn of_job(verify: &Verify) -> Check {
        match (verify.method.as_deref(), &verify.pattern) {
            (Some("null"), _) => Check::Nothing,
            (Some("pattern"), Some(pattern)) => Check::Pattern(pattern.clone()),
            (method, data) => Check::Labels {
                data: data.clone(),
                covers_data: method != Some("meta"),
            },
        }
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct Verifier {
    seed: u64,
    block: u64,
    /// Blocks that the ledger does not know are checked too, for all but their generation.
    all: bool,
    /// What was discarded must read as zeros.
    zeros: bool,
    checks: Vec<Check>,
    /// The number of the check of each thread; others have the first one.
    threads: Vec<u32>,
    ledger: Mutex<Ledger>,
}

#[derive(Debug, Default)]
struct Ledger {
    chunks: BTreeMap<u64, Box<[u32]>>,
    /// Blocks that are being written, and by how many.
    under_way: BTreeMap<u64, u32>,
    generation: u32,
    described: Vec<String>,
    mismatches: u64,
}

/// What is wrong with a sector or block.
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

/// What a sector says of itself, where its checksum holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Label {
    offset: u64,
    generation: u64,
    seed: u64,
}

impl Verifier {
    /// A verifier for blocks of this many bytes (rounded down to whole sectors, at least one).
    /// `all` checks also what it did not see written, as a job that only reads does.
    pub fn new(seed: u64, block: u32, all: bool) -> Self {
        Verifier {
            seed,
            block: (u64::from(block) / SECTOR_BYTES).max(1) * SECTOR_BYTES,
            all,
            zeros: false,
            checks: vec![Check::default()],
            threads: Vec::new(),
            ledger: Mutex::default(),
        }
    }

    /// From now on what is discarded must read as zeros (`trim_verify_zero`).
    #[must_use]
    pub fn with_zeros_after_discards(mut self) -> Self {
        self.zeros = true;
        self
    }

    /// The checks of the threads of the run, in the order of their numbers.
    #[must_use]
    pub fn with_checks(mut self, threads: Vec<Check>) -> Self {
        self.checks.clear();
        self.threads.clear();
        for check in threads {
            let known = self.checks.iter().position(|known| *known == check);
            let number = known.unwrap_or(self.checks.len());
            if known.is_none() {
                self.checks.push(check);
            }
            self.threads.push((number as u32).min(MOST_CHECKS - 1));
        }
        if self.checks.is_empty() {
            self.checks.push(Check::default());
        }
        self
    }

    /// The number of the check of a thread, and the check.
    fn check_of(&self, thread: u32) -> (u32, &Check) {
        let number = self.threads.get(thread as usize).copied().unwrap_or(0);
        (
            number,
            &self.checks[(number as usize).min(self.checks.len() - 1)],
        )
    }

    /// Mismatches so far, and the first of them in words.
    pub fn mismatches(&self) -> (u64, Vec<String>) {
        let ledger = self.lock();
        (ledger.mismatches, ledger.described.clone())
    }

    /// The ranges that were written, in order: offset and length in bytes.
    pub fn written(&self) -> Vec<(Bytes, u64)> {
        let mut ranges: Vec<(Bytes, u64)> = Vec::new();
        for (chunk, generations) in &self.lock().chunks {
            for (i, _) in generations.iter().enumerate().filter(|(_, g)| **g != NEVER) {
                let offset = (chunk * CHUNK + i as u64) * self.block;
                match ranges.last_mut() {
                    Some((from, length)) if from.0 + *length == offset => *length += self.block,
                    _ => ranges.push((Bytes(offset), self.block)),
                }
            }
        }
        ranges
    }

    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // What stands in the ledger is right after each statement.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the contents of a write that is about to begin; false if its thread wants nothing compared, and
    /// the contents are not made here.
    pub fn write(&self, bytes: &mut [u8], offset: u64, thread: u32) -> bool {
        let (number, check) = self.check_of(thread);
        let generation = self.announce(bytes.len(), offset, number, check);
        match check {
            Check::Nothing => return false,
            Check::Pattern(pattern) => self.fill_blocks(bytes, offset, pattern),
            Check::Labels { data, covers_data } => {
                for (i, sector) in bytes.chunks_exact_mut(SECTOR).enumerate() {
                    let label = Label {
                        offset: offset + (i * SECTOR) as u64,
                        generation: u64::from(generation),
                        seed: self.seed,
                    };
                    label.write(sector, data.as_ref(), *covers_data);
                }
            }
        }
        true
    }

    /// Notes what the blocks of a write will hold; gives its generation.
    fn announce(&self, length: usize, offset: u64, number: u32, check: &Check) -> u32 {
        let mut ledger = self.lock();
        // The last values are taken for other meanings; 2^32 - 2^20 writes are enough for a run.
        ledger.generation = ledger.generation.saturating_add(1).min(PATTERN - 1);
        let generation = ledger.generation;
        let value = match check {
            Check::Labels { .. } => generation,
            Check::Pattern(_) => PATTERN + number,
            Check::Nothing => NEVER,
        };
        for block in self.blocks(offset, length) {
            let others = ledger.under_way.entry(block).or_default();
            *others += 1;
            let is_alone = *others == 1;
            let place = ledger.at(block);
            *place = match is_alone || *place == value {
                true => value,
                false => EITHER,
            };
        }
        generation
    }

    /// Fills each block, or part of one, with the pattern from its beginning on.
    fn fill_blocks(&self, bytes: &mut [u8], offset: u64, pattern: &DataPattern) {
        let first = (self.block - offset % self.block).min(bytes.len() as u64) as usize;
        let (begin, rest) = bytes.split_at_mut(first);
        let blocks = std::iter::once(begin).chain(rest.chunks_mut(self.block as usize));
        let mut at = offset;
        for block in blocks {
            pattern.fill(block, at);
            at += block.len() as u64;
        }
    }

    /// An operation has ended with this outcome; a read is compared, and fails if it differs. `read` is what
    /// it read.
    pub fn ended(&self, request: &Request, read: &[u8], outcome: Outcome) -> Outcome {
        let (offset, length) = (request.offset.0, request.length as usize);
        let done = outcome == Outcome::Done;
        match request.kind {
            OpKind::Read if done => return self.check(read, offset, request.thread),
            OpKind::Write => self.written_to(offset, length, done),
            // One that failed may have discarded a part.
            OpKind::Trim => self.discarded(offset, length as u64),
            OpKind::Read | OpKind::Flush => {}
        }
        outcome
    }

    /// A write has ended. One that failed leaves its blocks with contents that nobody knows.
    fn written_to(&self, offset: u64, length: usize, done: bool) {
        let mut ledger = self.lock();
        for block in self.blocks(offset, length) {
            if let Some(others) = ledger.under_way.get_mut(&block) {
                *others -= 1;
                if *others == 0 {
                    ledger.under_way.remove(&block);
                }
            }
            if !done && *ledger.at(block) != NEVER {
                *ledger.at(block) = EITHER;
            }
        }
    }

    /// A range has been discarded: what is in it is nobody's business any more, unless it must be zeros.
    fn discarded(&self, offset: u64, length: u64) {
        let mut ledger = self.lock();
        let value = if self.zeros { ZERO } else { NEVER };
        for block in self.blocks(offset, length as usize) {
            *ledger.at(block) = value;
        }
    }

    /// Compares what was read with what was written.
    fn check(&self, bytes: &[u8], offset: u64, thread: u32) -> Outcome {
        let (number, check) = self.check_of(thread);
        // What this run did not write is as the reader expects it.
        let unknown = match check {
            Check::Pattern(_) => PATTERN + number,
            Check::Nothing => return Outcome::Done,
            Check::Labels { .. } => NEVER,
        };
        let mut worst = None;
        let mut ledger = self.lock();
        let mut from = 0usize;
        for block in self.blocks(offset, bytes.len()) {
            let end = ((block + 1) * self.block - offset).min(bytes.len() as u64) as usize;
            let part = &bytes[from..end];
            let at = offset + from as u64;
            from = end;
            let expected = *ledger.at(block);
            // Who reads while it is written may see both.
            let settled = !ledger.under_way.contains_key(&block);
            if !settled || (expected == NEVER && !self.all) {
                continue;
            }
            let expected = if expected == NEVER { unknown } else { expected };
            if let Some((fault, text)) = self.examine(part, at, expected) {
                worst = worst.or(Some(fault));
                ledger.mismatches += 1;
                if ledger.described.len() < DESCRIBED {
                    ledger.described.push(text);
                }
            }
        }
        worst.map_or(Outcome::Done, |fault| Outcome::Failed(fault.reason()))
    }

    /// What is wrong with a block, and in words.
    fn examine(&self, bytes: &[u8], offset: u64, expected: u32) -> Option<(Fault, String)> {
        if expected == ZERO {
            let wrong = bytes.iter().position(|byte| *byte != 0)?;
            let at = offset + wrong as u64;
            return Some((
                Fault::Wrong,
                format!(
                    "verify: byte {at} was trimmed and is not zero: found 0x{:02x}",
                    bytes[wrong]
                ),
            ));
        }
        if (PATTERN..ZERO).contains(&expected) {
            return self.examine_pattern(bytes, offset, expected - PATTERN);
        }
        if expected == EITHER && self.holds_a_pattern(bytes, offset) {
            return None;
        }
        let mut generations: Vec<u64> = Vec::new();
        for (i, sector) in bytes.chunks_exact(SECTOR).enumerate() {
            let at = offset + (i * SECTOR) as u64;
            let Some(label) = Label::read(sector) else {
                return Some((Fault::Wrong, self.first_wrong(sector, at, expected)));
            };
            if label.offset != at {
                return Some((
                    Fault::Misplaced,
                    format!(
                        "verify: the sector at byte {at} holds what was written to byte {}",
                        label.offset
                    ),
                ));
            }
            generations.push(label.generation);
            let known = expected != NEVER && expected != EITHER;
            if known && label.seed != self.seed {
                generations.pop();
                // An earlier run is earlier than every write of this one.
                generations.push(0);
            }
        }
        let known = expected != NEVER && expected != EITHER;
        if !known || generations.iter().all(|g| *g == u64::from(expected)) {
            return None;
        }
        let mut found = generations.clone();
        found.sort_unstable();
        found.dedup();
        if let [one] = found[..] {
            return Some((
                Fault::Stale,
                format!(
                    "verify: the block at byte {offset} is stale: write {expected} was the last, write {one} is found"
                ),
            ));
        }
        let first = generations.iter().position(|g| *g != u64::from(expected));
        let at = offset + (first.unwrap_or(0) * SECTOR) as u64;
        Some((
            Fault::Torn,
            format!(
                "verify: the block at byte {offset} is torn: parts come from the writes {found:?}, expected is {expected}; the first other sector is at byte {at}"
            ),
        ))
    }

    /// What is wrong with a block that must hold the pattern of a check, and in words.
    fn examine_pattern(&self, bytes: &[u8], offset: u64, number: u32) -> Option<(Fault, String)> {
        let Some(Check::Pattern(pattern)) = self.checks.get(number as usize) else {
            return None;
        };
        // A part of a block begins in the middle of the pattern.
        let before = (offset % self.block) as usize;
        let mut right = vec![0; before + bytes.len()];
        pattern.fill(&mut right, offset - before as u64);
        let right = &right[before..];
        let wrong = bytes.iter().zip(right).position(|(a, b)| a != b)?;
        let text = format!(
            "verify: byte {} is wrong: expected 0x{:02x} of verify_pattern, found 0x{:02x}",
            offset + wrong as u64,
            right[wrong],
            bytes[wrong]
        );
        Some((Fault::Wrong, text))
    }

    /// Whether a block is the pattern of any check.
    fn holds_a_pattern(&self, bytes: &[u8], offset: u64) -> bool {
        let mut numbers = (0..).zip(&self.checks);
        numbers.any(|(number, check)| {
            matches!(check, Check::Pattern(_))
                && self.examine_pattern(bytes, offset, number).is_none()
        })
    }

    /// The first byte that differs from what belongs there.
    fn first_wrong(&self, sector: &[u8], at: u64, expected: u32) -> String {
        if expected == NEVER || expected == EITHER {
            return format!(
                "verify: the sector at byte {at} holds nothing that a verified job wrote"
            );
        }
        let mut right = [0u8; SECTOR];
        let label = Label {
            offset: at,
            generation: u64::from(expected),
            seed: self.seed,
        };
        // Which check wrote it is not kept: the one whose data are most like what was found.
        let labels = self.checks.iter().filter_map(|check| match check {
            Check::Labels { data, covers_data } => Some((data.as_ref(), *covers_data)),
            _ => None,
        });
        let differences = labels.map(|(data, covers_data)| {
            let mut right = [0u8; SECTOR];
            label.write(&mut right, data, covers_data);
            let count = sector.iter().zip(&right).filter(|(a, b)| a != b).count();
            (count, right)
        });
        if let Some((_, nearest)) = differences.min_by_key(|(count, _)| *count) {
            right = nearest;
        }
        let wrong = sector.iter().zip(&right).position(|(a, b)| a != b);
        let i = wrong.unwrap_or(0);
        let count = sector.iter().zip(&right).filter(|(a, b)| a != b).count();
        format!(
            "verify: byte {} is wrong: expected 0x{:02x}, found 0x{:02x} ({count} of the {SECTOR} bytes of its sector differ from write {expected})",
            at + i as u64,
            right[i],
            sector[i]
        )
    }

    fn blocks(&self, offset: u64, length: usize) -> std::ops::Range<u64> {
        offset / self.block..(offset + length as u64).div_ceil(self.block)
    }
}

impl Ledger {
    fn at(&mut self, block: u64) -> &mut u32 {
        let chunk = self
            .chunks
            .entry(block / CHUNK)
            .or_insert_with(|| vec![NEVER; CHUNK as usize].into_boxed_slice());
        &mut chunk[(block % CHUNK) as usize]
    }
}

impl Label {
    fn write(self, sector: &mut [u8], data: Option<&DataPattern>, covers_data: bool) {
        let place = self.offset ^ self.generation.rotate_left(32) ^ self.seed.rotate_left(17);
        let magic = if covers_data { MAGIC } else { MAGIC_META };
        for (field, at) in [magic, self.offset, self.generation, self.seed]
            .into_iter()
            .zip((0..HEADER).step_by(8))
        {
            sector[at..at + 8].copy_from_slice(&field.to_le_bytes());
        }
        match data {
            None => fill(&mut sector[HEADER..CHECKSUM], place),
            Some(pattern) => pattern.fill(&mut sector[HEADER..CHECKSUM], self.offset),
        }
        let covered = if covers_data { CHECKSUM } else { HEADER };
        let checksum = crc32fast::hash(&sector[..covered]);
        sector[CHECKSUM..].copy_from_slice(&checksum.to_le_bytes());
    }

    fn read(sector: &[u8]) -> Option<Label> {
        let field = |at: usize| {
            let bytes = sector.get(at..at + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let covered = match field(0)? {
            MAGIC => CHECKSUM,
            MAGIC_META => HEADER,
            _ => return None,
        };
        let checksum = crc32fast::hash(sector.get(..covered)?);
        let right = sector.get(CHECKSUM..)? == checksum.to_le_bytes();
        right.then_some(Label {
            offset: field(8)?,
            generation: field(16)?,
            seed: field(24)?,
        })
    }
}

#[cfg(test)]
mod tests;
