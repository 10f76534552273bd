//! Finds the unwritten parts of a block device. For a loop device, the file system knows the holes of the file behind
//! it; other devices are sampled, and parts that read as zeros may never have been written.

use super::buffer::Buffer;
use super::fill_holes::hole_ranges;
use crate::unwritten::Unwritten;
use nandscope_units::Bytes;
use std::fs::File;
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Bytes of a sample.
const SAMPLE: u64 = 4096;
/// Maximum number of samples.
const SAMPLES: u64 = 128;

/// The parts of a device that were never written or were discarded, if known.
pub(super) fn of_device(device: &File, capacity: Bytes) -> Unwritten {
    let known = behind_loop(device, capacity);
    known.unwrap_or_else(|| sampled(device, capacity))
}

/// The holes of the file behind a loop device; `None` for other devices, or if the file cannot be found.
fn behind_loop(device: &File, capacity: Bytes) -> Option<Unwritten> {
    let number = device.metadata().ok()?.st_rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let folder = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/loop"));
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let file = File::open(text("backing_file")?.trim_end_matches('\n')).ok()?;
    let start: u64 = text("offset")?.trim().parse().ok()?;
    // Another file may have taken this name.
    let length = file.metadata().ok().filter(|file| file.is_file())?.len();
    if length < start.checked_add(capacity.0)? {
        return None;
    }
    let ranges = hole_ranges(&file).ok()?.into_iter();
    let moved = ranges.map(|(a, b)| (a.saturating_sub(start), b.saturating_sub(start)));
    let within = moved.map(|(a, b)| (a, b.min(capacity.0)));
    Some(Unwritten {
        ranges: within.filter(|(a, b)| a < b).collect(),
        is_sampled: false,
    })
}

/// The surroundings of samples that read as zeros; nothing if a sample cannot be read, as others would take long to fail.
fn sampled(device: &File, capacity: Bytes) -> Unwritten {
    let count = (capacity.0 / SAMPLE).min(SAMPLES);
    let start = |i: u64| (u128::from(capacity.0) * u128::from(i) / u128::from(count.max(1))) as u64;
    let mut buffer = Buffer::zeroed(SAMPLE as usize);
    let mut ranges = Vec::new();
    for i in 0..count {
        let bytes = buffer.bytes_mut(SAMPLE as usize);
        let read = device.read_exact_at(bytes, start(i) / SAMPLE * SAMPLE);
        if read.is_err() {
            return Unwritten::default();
        }
        if bytes.iter().all(|byte| *byte == 0) {
            ranges.push((start(i), start(i + 1)));
        }
    }
    Unwritten {
        ranges,
        is_sampled: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_find_what_was_never_written() {
        let file = tempfile();
        let capacity = Bytes::mib(4);
        file.set_len(capacity.0).unwrap();
        file.write_all_at(&vec![1; 1 << 20], 1 << 20).unwrap();
        let found = sampled(&file, capacity);
        assert!(found.is_sampled);
        let zeros: u64 = found.ranges.iter().map(|(a, b)| b - a).sum();
        assert_eq!(zeros, 3 << 20);
        assert!(
            found
                .ranges
                .iter()
                .all(|(a, b)| *b <= 1 << 20 || *a >= 2 << 20)
        );
    }

    /// A file without a name.
    fn tempfile() -> File {
        let path = std::env::temp_dir().join(format!("zeros-{}", std::process::id()));
        let mut options = File::options();
        let file = options
            .read(true)
            .write(true)
            .create_new(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        file
    }
}
