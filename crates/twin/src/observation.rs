//! A measurement of a device: which workload ([`Cell`]), and what it achieved ([`Figures`]).

use nandscope_units::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Direction of the operations that figures are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Reads.
    Read,
    /// Writes.
    Write,
}

/// Order of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Uniformly random, aligned to the block size.
    Random,
    /// Ascending; each job has a stream of its own.
    Sequential,
}

/// State of the device before a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing was written since a discard of the whole device.
    Fresh,
    /// The region was written once, in order, and free blocks are left.
    Filled,
    /// Full, and overwritten at random until write amplification was level.
    Steady,
}

/// Writes into several allocation units in turn, as `flashbench --open-au` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Interleaved {
    /// Allocation units that are written in turn.
    pub units: u32,
    /// Size of a unit, bytes.
    pub unit: Bytes,
}

/// A workload whose figures are measured or simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cell {
    /// Direction of the figures; of a mixed workload, of one of its parts.
    pub direction: Direction,
    /// Order of addresses.
    pub pattern: Pattern,
    /// Block size, a multiple of 512 bytes.
    pub block: Bytes,
    /// Operations that each job keeps outstanding.
    pub depth: u32,
    /// Jobs that run at the same time.
    pub jobs: u32,
    /// Share of reads in a mixed workload, percent, 1 to 99; `None` if all operations have the cell's direction.
    pub read_percent: Option<u8>,
    /// Range of addresses in use, from the start of the device; `None` for all of it.
    pub region: Option<Bytes>,
    /// Writes in turn into several allocation units, each in the order of `pattern`; `None` for all other workloads.
    pub interleaved: Option<Interleaved>,
    /// State of the device before the measurement.
    pub state: State,
}

impl Cell {
    /// Operations that all jobs keep outstanding.
    pub fn outstanding(&self) -> u32 {
        self.depth.saturating_mul(self.jobs)
    }

    /// The same workload without its direction if it is mixed: two cells of one run share it.
    pub fn workload(&self) -> Cell {
        let direction = match self.read_percent {
            Some(_) => Direction::Read,
            None => self.direction,
        };
        Cell { direction, ..*self }
    }
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
            Pattern::Random => "random",
            Pattern::Sequential => "sequential",
        })
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            State::Fresh => "fresh",
            State::Filled => "filled",
            State::Steady => "steady",
        })
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let block = nandscope_units::number::binary_bytes(self.block.0);
        write!(
            f,
            "{} {} {block}, QD {}",
            self.pattern, self.direction, self.depth
        )?;
        if self.jobs > 1 {
            write!(f, " × {} jobs", self.jobs)?;
        }
        if let Some(percent) = self.read_percent {
            write!(f, ", {percent} % reads")?;
        }
        if let Some(turn) = self.interleaved {
            let unit = nandscope_units::number::binary_bytes(turn.unit.0);
            write!(f, ", {} AUs of {unit} in turn", turn.units)?;
        }
        if let Some(region) = self.region {
            let region = nandscope_units::number::binary_bytes(region.0);
            write!(f, " in {region}")?;
        }
        write!(f, ", {}", self.state)
    }
}

/// Figures of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Operations per second.
    pub iops: f64,
    /// Median latency, µs.
    pub p50_us: Option<f64>,
    /// 90th percentile of latency, µs.
    pub p90_us: Option<f64>,
    /// 99th percentile of latency, µs.
    pub p99_us: Option<f64>,
}

/// Name of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Figure {
    /// Operations per second.
    Iops,
    /// Median latency.
    P50,
    /// 90th percentile of latency.
    P90,
    /// 99th percentile of latency.
    P99,
}

impl Figure {
    /// All figures, in the order of tables.
    pub const ALL: [Figure; 4] = [Figure::Iops, Figure::P50, Figure::P90, Figure::P99];

    /// Unit of the figure.
    pub fn unit(self) -> &'static str {
        match self {
            Figure::Iops => "IOPS",
            _ => "µs",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Figure::Iops => "iops",
            Figure::P50 => "p50",
            Figure::P90 => "p90",
            Figure::P99 => "p99",
        })
    }
}

impl Figures {
    /// Value of one figure, if it was measured.
    pub fn get(&self, figure: Figure) -> Option<f64> {
        match figure {
            Figure::Iops => Some(self.iops),
            Figure::P50 => self.p50_us,
            Figure::P90 => self.p90_us,
            Figure::P99 => self.p99_us,
        }
    }

    /// The same without percentiles.
    pub fn without_percentiles(&self) -> Figures {
        Figures {
            iops: self.iops,
            ..Figures::default()
        }
    }
}

/// One measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Where it was read, such as `a.csv:7`, for messages.
    pub place: String,
    /// The workload.
    pub cell: Cell,
    /// What was measured.
    pub figures: Figures,
    /// Stated throughput, MB/s (10^6 bytes), if the file has one beside the rate.
    pub mb_per_s: Option<f64>,
    /// Position in the order of the runs, such as a number or a time; `None` if unknown.
    pub order: Option<f64>,
}
