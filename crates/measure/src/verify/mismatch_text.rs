//! Descriptions of wrong blocks.

use super::parts::{PartFault, Parts, Write};
use super::random::{self, Seeds};
use super::{Fault, Mismatch, SECTOR};
use nandscope_workload::job::DataPattern;

/// Describes the first byte that is not zero; `None` if all are zero.
pub(super) fn not_zero(bytes: &[u8], offset: u64) -> Option<Mismatch> {
    let wrong = bytes.iter().position(|byte| *byte != 0)?;
    let text = format!(
        "verify: byte {} was trimmed and is not zero: found 0x{:02x}",
        offset + wrong as u64,
        bytes[wrong]
    );
    Some((Fault::Wrong, text))
}

/// Describes the first byte that differs from the pattern.
pub(super) fn not_the_pattern(bytes: &[u8], right: &[u8], offset: u64) -> Option<Mismatch> {
    let wrong = bytes.iter().zip(right).position(|(a, b)| a != b)?;
    let text = format!(
        "verify: byte {} is wrong: expected 0x{:02x} of verify_pattern, found 0x{:02x}",
        offset + wrong as u64,
        right[wrong],
        bytes[wrong]
    );
    Some((Fault::Wrong, text))
}

/// No job with `verify` wrote this.
pub(super) fn nothing_verified(offset: u64) -> Mismatch {
    let text =
        format!("verify: the block at byte {offset} holds nothing that a verified job wrote");
    (Fault::Wrong, text)
}

fn misplaced(offset: u64, found: u64) -> Mismatch {
    let text = format!("verify: the block at byte {offset} holds what was written to byte {found}");
    (Fault::Misplaced, text)
}

/// Describes the fault of a part of an earlier run. `position` is its distance from the start of the read.
pub(super) fn unknown_part(
    parts: &Parts,
    part: &[u8],
    offset: u64,
    position: u64,
) -> Option<Mismatch> {
    let text = match parts.judge(part, offset) {
        Ok(_) => return data_of_pattern(parts, part, offset, position),
        Err(PartFault::NoHeader) => return Some(nothing_verified(offset)),
        Err(PartFault::Elsewhere(header)) => return Some(misplaced(offset, header.offset)),
        Err(PartFault::OtherLength(header)) => format!(
            "verify: the block at byte {offset} has {} bytes and not {}; verify with the block size and verify_interval of the job that wrote it",
            header.length,
            part.len()
        ),
        Err(PartFault::Checksum(header)) if header.method != parts.method as u16 => format!(
            "verify: the block at byte {offset} was written with verify={}, not {}",
            header.method_name(),
            parts.method.name()
        ),
        Err(PartFault::Checksum(_)) => format!(
            "verify: the block at byte {offset} is wrong: its checksum ({}) is not that of its data",
            parts.method.name()
        ),
    };
    Some((Fault::Wrong, text))
}

/// Compares the data of a part with `verify_pattern` if no checksum covers it, as fio does.
fn data_of_pattern(parts: &Parts, part: &[u8], offset: u64, position: u64) -> Option<Mismatch> {
    if parts.pattern.is_none() || super::checksum::covers(parts.method) {
        return None;
    }
    let mut right = vec![0; part.len()];
    parts.fill(&mut right, offset, 0, position);
    (0..part.len())
        .filter(|at| parts.is_header(*at, part.len()))
        .for_each(|at| right[at] = part[at]);
    not_the_pattern(part, &right, offset)
}

/// Whether one of several simultaneous writes may have made these bytes, at most a part.
pub(super) fn is_plausible(parts: &Parts, bytes: &[u8], offset: u64) -> bool {
    if (bytes.len() as u64) < parts.interval() || parts.judge(bytes, offset).is_ok() {
        return true;
    }
    // Two simultaneous writes may mix by sectors.
    let length = bytes.len();
    let mut sectors = bytes.chunks(SECTOR).enumerate();
    let is_data = |at: usize, sector: &[u8]| match &parts.pattern {
        Some(pattern) => {
            let mut right = vec![0; sector.len()];
            let place = offset.wrapping_add(at as u64);
            super::parts::fill_pattern(pattern, &mut right, place, at as u64);
            right == *sector
        }
        None => !parts.is_determined() || random::start_of(sector).is_some(),
    };
    sectors.all(|(i, sector)| {
        let at = i * SECTOR;
        match (at..at + sector.len()).any(|byte| parts.is_header(byte, length)) {
            true => parts
                .header_of(bytes)
                .is_some_and(|header| header.offset == offset),
            false => is_data(at, sector),
        }
    })
}

/// Whether these bytes may come from a pattern, at any position in it.
pub(super) fn is_pattern(pattern: &DataPattern, bytes: &[u8]) -> bool {
    // A pattern with offsets contains that of its block, which is unknown here: any bytes may match.
    if pattern.has_offsets() {
        return true;
    }
    // The data from every position is in one piece.
    let mut right = vec![0; pattern.length() + bytes.len()];
    super::parts::fill_pattern(pattern, &mut right, 0, 0);
    right
        .windows(bytes.len().max(1))
        .any(|place| place == bytes)
}

/// Position of bytes expected from a certain write.
#[derive(Clone, Copy)]
pub(super) struct Place {
    /// Offset on the target, bytes.
    pub(super) offset: u64,
    /// From the start of the write, bytes.
    pub(super) position: u64,
    pub(super) write: Write,
    /// Number of the last write of the run.
    pub(super) last: u32,
    pub(super) seeds: Seeds,
}

impl Place {
    /// Describes the fault of a whole part.
    pub(super) fn examine_part(&self, parts: &Parts, part: &[u8]) -> Option<Mismatch> {
        let judged = parts.judge(part, self.offset);
        match &judged {
            Ok(header) if header.seed == self.write.seed => {
                // Data that no checksum covers are compared byte by byte, except with verify=meta, which checks
                // headers only.
                let is_weak =
                    parts.method.checksum_length() > 0 && !super::checksum::covers(parts.method);
                if !is_weak || !parts.is_determined() {
                    return data_of_pattern(parts, part, self.offset, self.position);
                }
            }
            Ok(header) => return Some(self.stale(self.generation_of(header.seed))),
            Err(PartFault::Elsewhere(header)) => {
                return Some(misplaced(self.offset, header.offset));
            }
            Err(_) if !parts.is_determined() => {
                return unknown_part(parts, part, self.offset, self.position);
            }
            Err(_) => {}
        }
        let mut right = vec![0; part.len()];
        parts.fill(&mut right, self.offset, self.write.seed, self.position);
        parts.finish(&mut right, self.offset, self.write);
        if right == part {
            return None;
        }
        let found: Vec<_> = (0..part.len().div_ceil(SECTOR))
            .map(|i| self.origin(parts, part, &right, i * SECTOR))
            .collect();
        match found.into_iter().collect::<Option<Vec<u64>>>() {
            Some(origins) => Some(self.other_writes(origins)),
            None => Some(self.wrong(part, &right)),
        }
    }

    /// Describes the fault of a piece of a part; its headers are not compared.
    pub(super) fn examine_fragment(&self, parts: &Parts, piece: &[u8]) -> Option<Mismatch> {
        if !parts.is_determined() || !covers_data(parts) {
            return None;
        }
        let right = self.fragment(parts, piece);
        (right != piece).then(|| self.wrong(piece, &right))
    }

    /// Expected contents of a piece of a part, with its headers as they were read.
    pub(super) fn fragment(&self, parts: &Parts, piece: &[u8]) -> Vec<u8> {
        let within = (self.position % parts.interval()) as usize;
        let mut right = vec![0; piece.len()];
        parts.fill(&mut right, self.offset, self.write.seed, self.position);
        let whole = parts.interval() as usize;
        (0..piece.len())
            .filter(|at| parts.is_header(within + at, whole))
            .for_each(|at| right[at] = piece[at]);
        right
    }

    /// Write from which a sector of a part comes; 0 is an earlier run, `None` if it comes from no write.
    fn origin(&self, parts: &Parts, part: &[u8], right: &[u8], at: usize) -> Option<u64> {
        let end = (at + SECTOR).min(part.len());
        let sector = &part[at..end];
        if *sector == right[at..end] {
            return Some(self.write.generation.into());
        }
        if (at..end).any(|byte| parts.is_header(byte, part.len())) {
            let header = parts.header_of(part)?;
            // Wrong data with a header of the right write is not from another write.
            return (header.seed != self.write.seed).then(|| self.generation_of(header.seed));
        }
        if parts.pattern.is_some() {
            return None;
        }
        match random::seed_of(sector, self.position + at as u64) {
            Some(seed) => Some(self.generation_of(seed)),
            None => random::start_of(sector).map(|_| 0),
        }
    }

    /// Number of the write with a seed; 0 is a write of an earlier run.
    fn generation_of(&self, seed: u64) -> u64 {
        let generation = self.seeds.generation(seed);
        generation.filter(|g| *g <= self.last).unwrap_or(0).into()
    }

    fn other_writes(&self, origins: Vec<u64>) -> Mismatch {
        let mut found = origins.clone();
        found.sort_unstable();
        found.dedup();
        if let [one] = found[..] {
            return self.stale(one);
        }
        let expected = u64::from(self.write.generation);
        let first = origins.iter().position(|g| *g != expected);
        let at = self.offset + (first.unwrap_or(0) * SECTOR) as u64;
        let text = format!(
            "verify: the block at byte {} is torn: parts come from the writes {found:?}, expected is {expected}; the first other sector is at byte {at}",
            self.offset
        );
        (Fault::Torn, text)
    }

    fn stale(&self, found: u64) -> Mismatch {
        let text = format!(
            "verify: the block at byte {} is stale: write {} was the last, write {found} is found",
            self.offset, self.write.generation
        );
        (Fault::Stale, text)
    }

    /// Describes the first byte that differs from the expected data.
    fn wrong(&self, found: &[u8], right: &[u8]) -> Mismatch {
        let differs = |(a, b): (&u8, &u8)| a != b;
        let at = found.iter().zip(right).position(differs).unwrap_or(0);
        let sector = at / SECTOR * SECTOR..(at / SECTOR * SECTOR + SECTOR).min(found.len());
        let pairs = found[sector.clone()].iter().zip(&right[sector.clone()]);
        let count = pairs.filter(|(a, b)| a != b).count();
        let text = format!(
            "verify: byte {} is wrong: expected 0x{:02x}, found 0x{:02x} ({count} of the {} bytes of its sector differ from write {})",
            self.offset + at as u64,
            right[at],
            found[at],
            sector.len(),
            self.write.generation
        );
        (Fault::Wrong, text)
    }
}

/// Whether the data is compared in addition to the headers.
fn covers_data(parts: &Parts) -> bool {
    parts.pattern.is_some() || parts.method.checksum_length() > 0
}
