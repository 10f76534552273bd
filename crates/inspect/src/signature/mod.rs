//! Detects contents that somebody may want to keep: partition tables, file systems, members of volumes
//! and arrays, swap, encryption. It uses magic numbers at the locations of each format (`table`,
//! `rare`), as `blkid` and the kernel do, and `blkid` itself (`second`).
//!
//! Formats count even if they are damaged or unused: a damaged file system may be one to rescue. Data
//! without a known format is detected by samples that are not blank (`blank`).

mod blank;
mod fat;
mod partitions;
mod rare;
mod second;
mod table;

pub use blank::first_data;

use nandscope_units::Bytes;
use serde::Serialize;
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Purpose of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Usage {
    /// A partition table.
    Partitions,
    /// Magic number of a file system.
    FileSystem,
    /// Swap or a hibernated system.
    Swap,
    /// A part of a volume group, an array or a cache.
    Member,
    /// An encrypted volume.
    Encrypted,
    /// Unknown purpose.
    Unknown,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Signature {
    /// The name of the format, such as `ext`, `gpt`, `mdraid`.
    pub name: Cow<'static, str>,
    /// Purpose.
    pub usage: Usage,
    /// Offset of the magic number; zero if only `blkid` reports it.
    pub offset: Bytes,
}

impl Signature {
    fn new(name: &'static str, usage: Usage, offset: u64) -> Self {
        Signature {
            name: name.into(),
            usage,
            offset: Bytes(offset),
        }
    }
}

/// Something that can be read at any place.
pub trait ReadAt {
    /// Reads up to a full buffer from `offset` on and returns the length.
    ///
    /// # Errors
    /// `io::Error` if a read fails.
    fn read_some(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

impl ReadAt for File {
    fn read_some(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset.saturating_add(filled as u64)) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(filled)
    }
}

impl ReadAt for [u8] {
    fn read_some(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let there = self.get(start..).unwrap_or_default();
        let count = there.len().min(buffer.len());
        buffer[..count].copy_from_slice(&there[..count]);
        Ok(count)
    }
}

/// Formats on a device of this size, ordered by offset.
///
/// # Errors
/// `io::Error` if a location cannot be read: it must not count as empty.
pub fn probe(source: &(impl ReadAt + ?Sized), size: Bytes) -> io::Result<Vec<Signature>> {
    let bytes = Source { source, size };
    let mut found = partitions::probe(&bytes)?;
    found.extend(fat::probe(&bytes)?);
    found.extend(table::probe(&bytes)?);
    found.extend(rare::probe(&bytes)?);
    found.sort_by(|a, b| (a.offset, &a.name).cmp(&(b.offset, &b.name)));
    found.dedup();
    Ok(found)
}

/// Formats on a block device that is open for reading: own findings and those of `blkid`.
///
/// # Errors
/// As [`probe`].
pub fn probe_device(device: File, size: Bytes) -> io::Result<Vec<Signature>> {
    let mut found = probe(&device, size)?;
    for other in second::opinion(device) {
        let known = |own: &Signature| own.name == second::own_name(&other.name);
        if !found.iter().any(known) {
            found.push(other);
        }
    }
    Ok(found)
}

/// Sampled data on a device without a known format.
///
/// # Errors
/// `io::Error` if a sample cannot be read.
pub fn unknown_data(device: &File, size: Bytes) -> io::Result<Option<Signature>> {
    let first = first_data(device, size)?;
    Ok(first.map(|offset| Signature {
        name: "data of no known format".into(),
        usage: Usage::Unknown,
        offset,
    }))
}

/// A reader with its size.
struct Source<'a, R: ?Sized> {
    source: &'a R,
    size: Bytes,
}

impl<R: ReadAt + ?Sized> Source<'_, R> {
    /// `N` bytes at an offset; bytes past the end read as zeros.
    fn bytes<const N: usize>(&self, offset: u64) -> io::Result<[u8; N]> {
        let mut buffer = [0; N];
        let inside = self.size.0.saturating_sub(offset).min(N as u64) as usize;
        self.source.read_some(&mut buffer[..inside], offset)?;
        Ok(buffer)
    }

    /// The offset this many bytes before the end, rounded down to `align`; `None` on a smaller device.
    fn before_end(&self, distance: u64, align: u64) -> Option<u64> {
        (self.size.0 - self.size.0 % align).checked_sub(distance)
    }
}

fn le16(bytes: &[u8], at: usize) -> u16 {
    bytes
        .get(at..at + 2)
        .map_or(0, |b| u16::from_le_bytes([b[0], b[1]]))
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    let four = bytes.get(at..at + 4);
    four.map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

#[cfg(test)]
mod tests;
