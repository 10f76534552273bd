//! Finds out whether something is on a device that somebody may want to keep: partition tables,
//! file systems, members of volumes and arrays, swap, encryption. By magic numbers at the places
//! of each format (`table`, `rare`), those that `blkid` and the kernel look for, and by a
//! second opinion of `blkid` itself (`second`).
//!
//! It does not ask whether what it finds is whole or in use: a damaged file system may be just the
//! one that somebody wants to rescue. Data without any format is not recognised; that there is any
//! is found by looking for places that are not blank (`blank`).

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

/// What kind of thing a signature belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Usage {
    /// A partition table.
    Partitions,
    /// A file system.
    FileSystem,
    /// Swap or a hibernated system.
    Swap,
    /// A part of a volume group, an array or a cache.
    Member,
    /// An encrypted volume.
    Encrypted,
    /// Nobody knows.
    Unknown,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Signature {
    /// The name of the format, such as `ext`, `gpt`, `mdraid`.
    pub name: Cow<'static, str>,
    /// What it is for.
    pub usage: Usage,
    /// Where the magic number is; zero where only `blkid` knows.
    pub offset: Bytes,
}

/// Something that can be read at any place.
pub trait ReadAt {
    /// Fills as much of the buffer as there is from `offset` on, and says how much.
    ///
    /// # Errors
    /// Where it cannot be read.
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

/// What is on a device of this size, in the order of the places.
///
/// # Errors
/// Where a place cannot be read: what cannot be looked at must not be taken for empty.
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

/// What is on a block device that is open for reading: what we find, and what `blkid` finds beside.
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

/// Data on a device on which no format is found, as far as is looked.
///
/// # Errors
/// Where a place cannot be read.
pub fn unknown_data(device: &File, size: Bytes) -> io::Result<Option<Signature>> {
    let first = first_data(device, size)?;
    Ok(first.map(|offset| Signature {
        name: "data of no known format".into(),
        usage: Usage::Unknown,
        offset,
    }))
}

/// What is read, with its size.
struct Source<'a, R: ?Sized> {
    source: &'a R,
    size: Bytes,
}

impl<R: ReadAt + ?Sized> Source<'_, R> {
    /// `N` bytes at a place; what lies beyond the end reads as zeros.
    fn bytes<const N: usize>(&self, offset: u64) -> io::Result<[u8; N]> {
        let mut buffer = [0; N];
        let inside = self.size.0.saturating_sub(offset).min(N as u64) as usize;
        self.source.read_some(&mut buffer[..inside], offset)?;
        Ok(buffer)
    }

    /// So many bytes before the end, rounded down to `align`; `None` on a smaller device.
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
