//! Character devices and FIFOs, which are written to as they are.

use crate::place::Place;
use crate::{Refusal, WriteError};
use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, fstat, openat};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longest wait for a reader of a FIFO. Without a limit, a process that has lost its terminal would never end.
const LONGEST_WAIT: Duration = Duration::from_secs(10);
/// Time between two looks for a reader.
const PAUSE: Duration = Duration::from_millis(20);

/// Writes `bytes` to the device or FIFO at `place`.
///
/// # Errors
/// `WriteError::Refused` if the file was replaced or has no reader; `WriteError::Io` if a system call fails.
pub fn write(path: &Path, place: &Place, linked: bool, bytes: &[u8]) -> Result<(), WriteError> {
    let mut file = open(path, place, linked)?;
    file.write_all(bytes)
        .map_err(WriteError::io(path, "write to it"))
}

fn open(path: &Path, place: &Place, linked: bool) -> Result<File, WriteError> {
    let io = |action| WriteError::io::<Errno>(path, action);
    let usual = OFlags::WRONLY | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let flags = if linked {
        usual
    } else {
        usual | OFlags::NOFOLLOW
    };
    let began = Instant::now();
    let file = loop {
        match openat(&place.folder, &place.name, flags, Mode::empty()) {
            // A FIFO without a reader, or a device that has vanished, for which waiting does no harm.
            Err(Errno::NXIO) if began.elapsed() < LONGEST_WAIT => sleep(PAUSE),
            Err(Errno::NXIO) => return Err(WriteError::refused(path)(Refusal::NoReader)),
            opened => break opened.map_err(io("open it"))?,
        }
    };
    let stat = fstat(&file).map_err(io("look at it"))?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::CharacterDevice | FileType::Fifo => {}
        _ => return Err(WriteError::refused(path)(Refusal::NotStream)),
    }
    fcntl_setfl(&file, OFlags::WRONLY).map_err(io("set it to blocking"))?;
    Ok(File::from(file))
}
