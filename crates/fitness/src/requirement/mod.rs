//! What an application needs of a device, from a TOML file.

mod check;
mod fault;
pub mod library;
mod parse;
mod quantity;

pub use fault::RequirementFault;
pub use parse::parse;

use nandscope_units::{Bytes, Nanos};
use serde::Serialize;
use std::fmt;

/// Version of the requirement format that this build reads.
pub const FORMAT: u32 = 1;

/// Streams, years and conditions that an application demands of a device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Requirement {
    /// Name of the application in one line.
    pub title: String,
    /// Years that the device must last; `None` if the file does not ask.
    pub years: Option<f64>,
    /// Hours of each day in which the streams flow, above 0 and up to 24.
    pub hours_per_day: f64,
    /// Lowest and highest ambient temperature, degrees Celsius; `None` if the file does not ask.
    pub temperature_c: Option<(f64, f64)>,
    /// Whether data must survive power cuts.
    pub power_cuts: bool,
    /// Conditions that no model here describes, such as radiation: key and text of the file.
    pub beyond: Vec<(String, String)>,
    /// The streams, at least one.
    pub streams: Vec<Stream>,
}

/// Data that flows to or from the device at a constant rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stream {
    /// Name, unique in the file.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Blocks per second.
    pub blocks_per_s: f64,
    /// Size of a block; a multiple of 512 bytes.
    pub block: Bytes,
    /// Places of the blocks.
    pub pattern: Pattern,
    /// Part of the device that the stream uses.
    pub area: Area,
    /// Blocks in flight at once.
    pub depth: u32,
    /// When the stream makes its data durable.
    pub sync: Sync,
    /// Longest time from the arrival of a block to its completion.
    pub deadline: Option<Deadline>,
    /// Bytes that the application can keep while the device is busy.
    pub buffer: Option<Bytes>,
    /// Share of the data that may be lost with that buffer, 0 to 1.
    pub loss: f64,
}

impl Stream {
    /// Bytes per second.
    pub fn bytes_per_s(&self) -> f64 {
        self.blocks_per_s * self.block.0 as f64
    }

    /// Time between the arrivals of two blocks, at least 1 ns.
    pub fn period(&self) -> Nanos {
        Nanos::from_secs_f64(1.0 / self.blocks_per_s).max(Nanos(1))
    }
}

/// Direction of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Write,
}

/// Places of a stream's blocks in its area.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// One after the other, and again from the start of the area.
    Sequential,
    /// Uniformly at random, aligned to the size of the block.
    Random,
}

/// Part of the device that a stream uses. Parts follow each other in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Area {
    /// Share of the capacity, above 0 and up to 1.
    Share(f64),
    /// Bytes.
    Size(Bytes),
    /// An equal part of what the other streams leave.
    Rest,
}

/// When a stream makes its data durable with a flush.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sync {
    /// Never.
    Never,
    /// After each block, or after as many as are in flight at once; a block is complete when its flush is.
    Each,
    /// At this interval, if something was written; writes wait for the flush.
    Interval(Nanos),
    /// After this many bytes; writes wait for the flush.
    Bytes(Bytes),
}

/// Longest time from the arrival of a block to its completion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Deadline {
    /// The time.
    pub time: Nanos,
    /// Share of the blocks that must meet it, above 0 and up to 1.
    pub share: f64,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Direction::Read => "read",
            Direction::Write => "write",
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Pattern::Sequential => "sequential",
            Pattern::Random => "random",
        })
    }
}

impl fmt::Display for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sync::Never => f.pad("never"),
            Sync::Each => f.pad("each"),
            Sync::Interval(time) => f.pad(&format!("every {time}")),
            Sync::Bytes(bytes) => f.pad(&format!("every {bytes}")),
        }
    }
}

#[cfg(test)]
mod tests;
