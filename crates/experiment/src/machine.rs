//! What a job file may refer to on this machine: its environment, its size, the files beside it.

use crate::input;
use nandscope_workload::job::{FileError, Included, Machine, Override, Surroundings};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

const MEMORY: &str = "/proc/meminfo";
const VECTOR: &str = "/proc/self/auxv";
/// Files that describe the machine, which a confined process must be able to read.
pub const FACTS: [&str; 2] = [MEMORY, VECTOR];

/// This machine, with options that are set from outside.
#[derive(Debug, Default)]
pub(crate) struct ThisMachine {
    /// Options that are set on every job.
    pub(crate) overrides: Vec<Override>,
    /// Sections whose jobs run; all if it is empty.
    pub(crate) sections: Vec<String>,
}

impl Surroundings for ThisMachine {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    /// A file beside the one that names it, or one in the present folder, in this order.
    fn include(&self, name: &str, from: &str) -> Result<Included, FileError> {
        let beside = Path::new(from).parent().map(|folder| folder.join(name));
        let places = [beside, Some(PathBuf::from(name))];
        let Some(path) = places.into_iter().flatten().find(|path| path.is_file()) else {
            return Err(FileError::NotFound);
        };
        let text = input::text(&path, "the job file").map_err(unreadable)?;
        Ok(Included {
            name: path.display().to_string(),
            text,
        })
    }

    fn bytes(&self, name: &str, most: usize) -> Result<Vec<u8>, FileError> {
        let path = Path::new(name);
        if input::is_fifo(&std::fs::metadata(path).map_err(unreadable)?) {
            let error = std::io::Error::other("it is a FIFO; name a regular file");
            return Err(unreadable(error));
        }
        let file = File::open(path).map_err(unreadable)?;
        let mut bytes = Vec::new();
        file.take(most as u64)
            .read_to_end(&mut bytes)
            .map_err(unreadable)?;
        match bytes.is_empty() {
            true => Err(FileError::Empty),
            false => Ok(bytes),
        }
    }

    fn sections(&self) -> &[String] {
        &self.sections
    }

    fn machine(&self) -> Option<Machine> {
        let processors = std::thread::available_parallelism().ok()?;
        Some(Machine {
            processors: processors.get() as u64,
            memory_mib: memory_bytes()? >> 20,
            page_bytes: page_bytes()?,
        })
    }

    fn overrides(&self) -> &[Override] {
        &self.overrides
    }
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> FileError {
    FileError::Unreadable(Box::new(error))
}

/// Bytes of memory of the machine.
fn memory_bytes() -> Option<u64> {
    let text = std::fs::read_to_string(MEMORY).ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Bytes of a page, from what the kernel gave the process (`AT_PAGESZ` of getauxval(3)).
fn page_bytes() -> Option<u64> {
    const PAGE_SIZE: usize = 6;
    let word = |bytes: &[u8]| bytes.try_into().ok().map(usize::from_ne_bytes);
    let bytes = std::fs::read(VECTOR).ok()?;
    let entries = bytes.chunks_exact(2 * size_of::<usize>());
    let mut entries = entries.map(|entry| entry.split_at(size_of::<usize>()));
    let (_, value) = entries.find(|(key, _)| word(key) == Some(PAGE_SIZE))?;
    u64::try_from(word(value)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_os = "linux")]
    fn facts_about_this_machine() {
        let machine = ThisMachine::default().machine().unwrap();
        assert!(
            machine.processors >= 1 && machine.memory_mib > 16,
            "{machine:?}"
        );
        assert!(machine.page_bytes.is_power_of_two() && machine.page_bytes >= 4096);
    }
}
