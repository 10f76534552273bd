//! Blocks in parts with a header and a checksum each: how they are made, and what can be wrong with a part.

use super::checksum;
use super::generated;
use super::header::Header;
use super::random;
use nandscope_workload::job::{DataPattern, Job, VerifyMethod};
use std::borrow::Cow;

/// Layout of the blocks of a thread, equal to that of fio for the same job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Checksum of each part.
    pub(super) method: VerifyMethod,
    /// Data after the headers; random if `None`.
    pub(super) pattern: Option<DataPattern>,
    /// Compressible share of random data (`buffer_compress_percentage`), filled with zeros or `buffer_pattern`.
    compressible: u32,
    filler: Option<DataPattern>,
    /// Bytes of a part.
    interval: u32,
    /// Offset of the header in the part.
    header_at: u32,
}

/// Write from which a part comes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Write {
    pub(super) seed: u64,
    pub(super) generation: u32,
    pub(super) thread: u32,
}

/// Fault of a part that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PartFault {
    /// No header, or a damaged one.
    NoHeader,
    /// The header names another offset.
    Elsewhere(Header),
    /// The header names another length.
    OtherLength(Header),
    /// The checksum differs from that of the data.
    Checksum(Header),
}

impl Parts {
    /// Layout described by a job.
    pub(super) fn of_job(job: &Job, method: VerifyMethod) -> Self {
        Parts {
            method,
            pattern: job.verify.pattern.clone(),
            compressible: job.data.compressible.min(100),
            filler: job.data.pattern.clone(),
            interval: job.verify_interval().max(1),
            header_at: job.verify.offset,
        }
    }

    /// Bytes of a part.
    pub(super) fn interval(&self) -> u64 {
        u64::from(self.interval)
    }

    fn overhead(&self) -> usize {
        self.method.overhead() as usize
    }

    /// Offset of the header of a part of this length; the last part of a block may be shorter.
    fn header_at(&self, length: usize) -> usize {
        let at = self.header_at as usize;
        if at + self.overhead() <= length {
            at
        } else {
            0
        }
    }

    /// Whether the data of a part is determined by its write and offset.
    pub(super) fn is_determined(&self) -> bool {
        self.pattern.is_some() || self.compressible == 0
    }

    /// Makes a whole write.
    pub(super) fn write(&self, bytes: &mut [u8], offset: u64, write: Write) {
        self.fill(bytes, offset, write.seed, 0);
        if self.pattern.is_none() && self.compressible > 0 {
            let share = u64::from(100 - self.compressible);
            let random = (bytes.len() as u64 * share / 100) as usize;
            let (begin, rest) = bytes.split_at_mut(random);
            random::fill_to_end(begin, write.seed);
            match &self.filler {
                Some(pattern) => fill_pattern(pattern, rest, offset, 0),
                None => rest.fill(0),
            }
        }
        let mut at = offset;
        for part in bytes.chunks_mut(self.interval as usize) {
            self.finish(part, at, write);
            at += part.len() as u64;
        }
    }

    /// The data of a write from `position` on, without headers.
    pub(super) fn fill(&self, bytes: &mut [u8], offset: u64, seed: u64, position: u64) {
        match &self.pattern {
            None => random::fill(bytes, seed, position),
            Some(pattern) => fill_pattern(pattern, bytes, offset, position),
        }
    }

    /// Adds header and checksum to the data of a part.
    pub(super) fn finish(&self, part: &mut [u8], offset: u64, write: Write) {
        let overhead = self.overhead();
        if part.len() <= overhead {
            return;
        }
        let header = Header {
            method: self.method as u16,
            length: part.len() as u32,
            seed: write.seed,
            offset,
            thread: write.thread,
            number: write.generation.wrapping_sub(1),
        };
        header.put(part);
        let (head, data) = part.split_at_mut(overhead);
        let length = self.method.checksum_length() as usize;
        head[overhead - length..].copy_from_slice(&checksum::of_data(self.method, data)[..length]);
        self.swap(part);
    }

    /// Swaps the header between its offset and the beginning of the part.
    fn swap(&self, part: &mut [u8]) {
        let (at, overhead) = (self.header_at(part.len()), self.overhead());
        if at >= overhead {
            let (begin, rest) = part.split_at_mut(at);
            begin[..overhead].swap_with_slice(&mut rest[..overhead]);
        }
    }

    /// The header of a whole part at `offset`, if header and checksum are right.
    pub(super) fn judge(&self, part: &[u8], offset: u64) -> Result<Header, PartFault> {
        let mut part = Cow::Borrowed(part);
        if self.header_at(part.len()) > 0 {
            self.swap(part.to_mut());
        }
        let header = Header::read(&part).ok_or(PartFault::NoHeader)?;
        if header.offset != offset {
            return Err(PartFault::Elsewhere(header));
        }
        if header.length as usize != part.len() || part.len() <= self.overhead() {
            return Err(PartFault::OtherLength(header));
        }
        let (head, data) = part.split_at(self.overhead());
        let length = self.method.checksum_length() as usize;
        let is_right =
            head[self.overhead() - length..] == checksum::of_data(self.method, data)[..length];
        match is_right {
            true => Ok(header),
            false => Err(PartFault::Checksum(header)),
        }
    }

    /// The header in a part that may be damaged elsewhere.
    pub(super) fn header_of(&self, part: &[u8]) -> Option<Header> {
        Header::read(part.get(self.header_at(part.len())..)?)
    }

    /// Whether a byte of a part of this length belongs to the header, or to the data swapped with it.
    pub(super) fn is_header(&self, at: usize, length: usize) -> bool {
        let (place, overhead) = (self.header_at(length), self.overhead());
        at < overhead || (place..place + overhead).contains(&at)
    }
}

/// Fills with a pattern from `position` bytes after the start of a write at `offset - position` on.
pub(super) fn fill_pattern(pattern: &DataPattern, bytes: &mut [u8], offset: u64, position: u64) {
    generated::count(bytes.len());
    pattern.fill_from(bytes, offset.wrapping_sub(position), position);
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_workload::job::JobFile;

    /// Also checks that no memory is allocated for the distance.
    #[test]
    fn a_pattern_goes_on_far_from_the_start_of_its_write() {
        let text = "[a]\nrw=write\nverify=pattern\nverify_pattern=0x0102\"ab\"%o\n";
        let file = JobFile::parse("t", text).unwrap();
        let pattern = file.jobs[0].verify.pattern.clone().unwrap();
        let mut whole = vec![0; 4096];
        pattern.fill(&mut whole, 1 << 41);
        for position in [1, 11, 12, 13, 512, 3000] {
            let length = pattern.length() as u64;
            for far in [position, position + length * ((1 << 40) / length)] {
                let mut bytes = vec![0; 100];
                fill_pattern(&pattern, &mut bytes, (1 << 41) + far, far);
                assert_eq!(bytes, whole[position as usize..][..100], "{far}");
            }
        }
    }
}
