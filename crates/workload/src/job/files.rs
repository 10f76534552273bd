//! Files of a job. On one target they are consecutive parts of it.

use crate::pattern::Random;
use nandscope_units::saturating_u32;
use std::sync::Arc;

/// `filename`, `nrfiles`, `filesize` and `file_service_type`.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// `filename` as written. Files are not opened; several names count as several files.
    pub names: Option<String>,
    /// `nrfiles`; ignored if `filename` names the files.
    pub number: u32,
    /// `filesize` in bytes, from the smallest to the largest.
    pub size: Option<(u64, u64)>,
    /// `file_service_type`.
    pub service: FileService,
    /// Positions of the files on the target; `None` if the job uses the whole target, or its files divide it evenly.
    pub places: Option<PlacedFiles>,
}

/// A part of a target that a file has, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacedFile {
    /// Offset of the first byte on the target.
    pub start: u64,
    /// Length of the file, bytes.
    pub length: u64,
}

/// The parts of a target that the files of a job have.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedFiles {
    /// Positions in the order of the files; if clones have separate files, those of the first clone first.
    files: Arc<[PlacedFile]>,
    is_per_clone: bool,
}

impl PlacedFiles {
    /// Positions in the order of the files. With `is_per_clone`, the files of each clone follow one another.
    pub(crate) fn new(files: Vec<PlacedFile>, is_per_clone: bool) -> Self {
        PlacedFiles {
            files: files.into(),
            is_per_clone,
        }
    }

    /// Positions of the `count` files of a clone.
    pub(crate) fn of_clone(&self, clone: u32, count: u32) -> &[PlacedFile] {
        let first = if self.is_per_clone {
            clone as usize * count as usize
        } else {
            0
        };
        self.files
            .get(first..first + count as usize)
            .unwrap_or_default()
    }
}

/// `file_service_type`: choice of the file for the next operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileService {
    /// Files in rotation, with this number of operations on each.
    RoundRobin(u32),
    /// Each file until it is finished.
    Sequential,
    /// At random, this number of operations on each.
    Random(u32),
    /// At random by Zipf's law with this exponent.
    Zipf(f64),
    /// At random by the Pareto law with this power.
    Pareto(f64),
    /// At random by a normal distribution with this deviation, percent.
    Normal(f64),
}

impl Default for Files {
    fn default() -> Self {
        Files {
            names: None,
            number: 1,
            size: None,
            service: FileService::RoundRobin(1),
            places: None,
        }
    }
}

impl Files {
    /// A single file of this size.
    pub(crate) fn of_size(size: Option<u64>) -> Self {
        Files {
            size: size.map(|size| (size, size)),
            ..Files::default()
        }
    }

    /// Number of files, at least 1.
    pub fn count(&self) -> u32 {
        match &self.names {
            // A colon after a backslash belongs to the name.
            Some(names) => {
                let colons = names.matches(':').count() - names.matches("\\:").count();
                saturating_u32(colons as u64 + 1)
            }
            None => self.number.max(1),
        }
    }

    /// The names of `filename`; empty if it is not given.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut list: Vec<String> = Vec::new();
        let mut joins = false;
        for part in self.names.iter().flat_map(|names| names.split(':')) {
            let name = part.strip_suffix('\\');
            match list.last_mut().filter(|_| joins) {
                Some(last) => *last += name.unwrap_or(part),
                None => list.push(name.unwrap_or(part).to_string()),
            }
            joins = name.is_some();
            if let Some(last) = list.last_mut().filter(|_| joins) {
                last.push(':');
            }
        }
        list
    }

    /// The largest size that a file may have, in bytes.
    pub(crate) fn largest(&self) -> Option<u64> {
        self.size.map(|(_, largest)| largest)
    }

    /// Draws the size of a file, in whole blocks.
    pub(crate) fn draw_size(&self, block: u64, random: &mut Random) -> Option<u64> {
        let (smallest, largest) = self.size?;
        if smallest == largest {
            return Some(smallest);
        }
        let size = smallest + random.below(largest - smallest + 1);
        Some((size - size % block.max(1)).max(block))
    }
}
