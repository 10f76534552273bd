//! Gives a file contents before a measurement. Space that was reserved and never written reads as zeros without access
//! to the device; every such hole in the file is therefore written once.
//!
//! Existing data is kept: a filled file is not written again, and an interrupted fill is continued. File systems
//! without holes (FAT) write zeros when they reserve space.

use super::buffer::Buffer;
use crate::payload::tag;
use nandscope_units::Bytes;
use rustix::fs::{OFlags, SeekFrom, fcntl_getfl, fcntl_setfl, seek};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const CHUNK: usize = 1 << 20;

/// Number of bytes of a file that were never written, or were discarded.
///
/// # Errors
/// The error of `lseek` with `SEEK_HOLE` or `SEEK_DATA`.
pub fn holes(file: &File) -> io::Result<Bytes> {
    let sum = hole_ranges(file)?
        .iter()
        .map(|(begin, end)| end - begin)
        .sum();
    Ok(Bytes(sum))
}

/// Ranges of a file that were never written, or were discarded.
///
/// # Errors
/// The error of `lseek` with `SEEK_HOLE` or `SEEK_DATA`.
pub(super) fn hole_ranges(file: &File) -> io::Result<Vec<(u64, u64)>> {
    let mut ranges = Vec::new();
    let mut from = 0;
    while let Some((begin, end)) = next_hole(file, from)? {
        ranges.push((begin, end));
        from = end;
    }
    Ok(ranges)
}

/// Writes random data into all holes of a file that is open for writing, and syncs it. `progress` gets the share
/// that is done, from 0 to 1, and returns whether to continue. Returns whether all holes were filled.
///
/// # Errors
/// The error of the write or sync that failed.
pub fn fill_holes(file: &File, progress: &mut dyn FnMut(f64) -> bool) -> io::Result<bool> {
    let all = holes(file)?.0;
    if all == 0 {
        return Ok(true);
    }
    // Bypasses the page cache if possible: gigabytes in it would be written back later, during the measurement.
    let flags = fcntl_getfl(file)?;
    let direct = fcntl_setfl(file, flags | OFlags::DIRECT).is_ok();
    let filled = fill(file, all, progress);
    if direct {
        fcntl_setfl(file, flags)?;
    }
    file.sync_all()?;
    filled
}

fn fill(file: &File, all: u64, progress: &mut dyn FnMut(f64) -> bool) -> io::Result<bool> {
    let mut buffer = Buffer::random(CHUNK, all);
    let (mut done, mut from) = (0, 0);
    while let Some((begin, end)) = next_hole(file, from)? {
        let mut at = begin;
        while at < end {
            let length = (end - at).min(CHUNK as u64);
            let bytes = buffer.bytes_mut(length as usize);
            tag(bytes, at, u64::MAX);
            file.write_all_at(bytes, at)?;
            at += length;
            done += length;
            if !progress(done as f64 / all as f64) {
                return Ok(false);
            }
        }
        from = end;
    }
    Ok(true)
}

/// Begin and end of the first hole at or after a place. The end of the file is not a hole.
fn next_hole(file: &File, from: u64) -> io::Result<Option<(u64, u64)>> {
    let length = file.metadata()?.len();
    if from >= length {
        return Ok(None);
    }
    let begin = seek(file, SeekFrom::Hole(from))?;
    if begin >= length {
        return Ok(None);
    }
    let end = match seek(file, SeekFrom::Data(begin)) {
        Ok(end) => end,
        // No data after the hole.
        Err(Errno::NXIO) => length,
        Err(e) => return Err(e.into()),
    };
    Ok(Some((begin, end)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// A file of 3 MiB in the temporary folder, removed at the end.
    struct Scratch(PathBuf, File);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            let file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(true)
                .open(&path)
                .unwrap();
            file.set_len(3 << 20).unwrap();
            Scratch(path, file)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn holes_are_filled_with_data_that_does_not_repeat_and_the_rest_stays() {
        let Scratch(path, file) = &Scratch::new("fill");
        let kept = [7u8; 65_536];
        file.write_all_at(&kept, 1 << 20).unwrap();
        assert_eq!(holes(file).unwrap(), Bytes((3 << 20) - 65_536));
        let mut shares = Vec::new();
        let done = fill_holes(file, &mut |share| {
            shares.push(share);
            true
        });
        assert!(done.unwrap());
        assert_eq!(shares.last(), Some(&1.0));
        assert_eq!(holes(file).unwrap(), Bytes::ZERO);
        let data = std::fs::read(path).unwrap();
        assert_eq!(data[1 << 20..][..65_536], kept);
        let rest: Vec<&[u8]> = data[..1 << 20]
            .chunks(512)
            .chain(data[(1 << 20) + 65_536..].chunks(512))
            .collect();
        let distinct: std::collections::HashSet<_> = rest.iter().collect();
        assert_eq!(distinct.len(), rest.len(), "a sector is there twice");
    }

    #[test]
    fn filling_can_be_broken_off_and_taken_up_again() {
        let Scratch(_, file) = &Scratch::new("fill-again");
        assert!(!fill_holes(file, &mut |share| share < 0.5).unwrap());
        assert_eq!(holes(file).unwrap(), Bytes(1 << 20));
        assert!(fill_holes(file, &mut |_| true).unwrap());
        assert_eq!(holes(file).unwrap(), Bytes::ZERO);
    }
}
