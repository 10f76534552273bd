//! The files of a job. On one target they are parts of it, one after the other.

use crate::pattern::Random;
use nandscope_units::saturating_u32;

/// `filename`, `nrfiles`, `filesize` and `file_service_type`.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    /// `filename` as written. Names are not opened; several count as several files.
    pub names: Option<String>,
    /// `nrfiles`, where `filename` does not name them.
    pub number: u32,
    /// `filesize` in bytes, from the smallest to the largest.
    pub size: Option<(u64, u64)>,
    /// `file_service_type`.
    pub service: FileService,
}

/// `file_service_type`: which file has the next operation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FileService {
    /// One after the other, each for so many operations.
    RoundRobin(u32),
    /// Each until it is done.
    Sequential,
    /// At random, each for so many operations.
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
            // A colon after a backslash belongs to its name.
            Some(names) => {
                let colons = names.matches(':').count() - names.matches("\\:").count();
                saturating_u32(colons as u64 + 1)
            }
            None => self.number.max(1),
        }
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
