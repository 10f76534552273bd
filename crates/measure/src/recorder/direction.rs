//! The kinds of operation that are recorded separately.

use nandscope_result::Operation;
use nandscope_workload::OpKind;

/// A kind of operation, as an index into per-kind arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// Operations that transfer data from the target.
    Read,
    /// Operations that transfer data to the target.
    Write,
    /// Discards.
    Trim,
    /// Flushes.
    Flush,
}

impl Direction {
    /// Number of directions.
    pub const COUNT: usize = 4;
    /// All directions, in the order of results.
    pub const ALL: [Direction; Self::COUNT] = [
        Direction::Read,
        Direction::Write,
        Direction::Trim,
        Direction::Flush,
    ];

    /// Index in an array of [`Direction::COUNT`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The operation in the result document.
    pub const fn operation(self) -> Operation {
        match self {
            Direction::Read => Operation::Read,
            Direction::Write => Operation::Write,
            Direction::Trim => Operation::Trim,
            Direction::Flush => Operation::Flush,
        }
    }
}

impl From<OpKind> for Direction {
    fn from(kind: OpKind) -> Self {
        match kind {
            OpKind::Read => Direction::Read,
            OpKind::Write => Direction::Write,
            OpKind::Trim => Direction::Trim,
            OpKind::Flush => Direction::Flush,
        }
    }
}
