//! Amounts of data and logical block addresses.

use crate::number::in_decimal_unit;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign};

/// Bytes in one logical block, as SD, eMMC, SATA and most NVMe devices number them.
pub const SECTOR_BYTES: u64 = 512;

/// An amount of data, or an offset from the start of a device, in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);

    /// 2^10 bytes times `n`.
    pub const fn kib(n: u64) -> Self {
        Bytes(n << 10)
    }

    /// 2^20 bytes times `n`.
    pub const fn mib(n: u64) -> Self {
        Bytes(n << 20)
    }

    /// 2^30 bytes times `n`.
    pub const fn gib(n: u64) -> Self {
        Bytes(n << 30)
    }

    /// Whole logical blocks that fit in this many bytes.
    pub const fn sectors(self) -> u64 {
        self.0 / SECTOR_BYTES
    }

    /// In units of 10^9 bytes.
    pub fn as_gb(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Bytes) {
        *self = *self + other;
    }
}

impl fmt::Display for Bytes {
    /// The size in binary units if it is a whole number of them (`128 KiB`), otherwise in decimal units (`250.1 GB`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n = self.0;
        let text = if n < 1024 {
            format!("{n} B")
        } else if n.is_multiple_of(1 << 30) && n < 1 << 50 {
            format!("{} GiB", n >> 30)
        } else if n.is_multiple_of(1 << 20) && n < 1 << 40 {
            format!("{} MiB", n >> 20)
        } else if n.is_multiple_of(1 << 10) && n < 1 << 30 {
            format!("{} KiB", n >> 10)
        } else {
            decimal(n as f64)
        };
        f.pad(&text)
    }
}

fn decimal(bytes: f64) -> String {
    let (value, unit) = in_decimal_unit(bytes);
    let decimals = if value < 10.0 && unit != "kB" { 2 } else { 1 };
    format!("{value:.decimals$} {unit}")
}

/// A logical block address: the number of a 512-byte sector.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Lba(pub u64);

impl Lba {
    /// The address of the block that contains the byte at `offset`.
    pub const fn containing(offset: Bytes) -> Self {
        Lba(offset.0 / SECTOR_BYTES)
    }

    /// Offset of the block's first byte.
    pub const fn offset(self) -> Bytes {
        Bytes(self.0.saturating_mul(SECTOR_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_unit_in_which_the_number_is_whole() {
        let cases = [
            (512, "512 B"),
            (131_072, "128 KiB"),
            (4 << 20, "4 MiB"),
            (250_059_350_016, "250.1 GB"),
            (5_500_000_000, "5.50 GB"),
            (1_000, "1000 B"),
            (2_500, "2.5 kB"),
        ];
        for (n, text) in cases {
            assert_eq!(Bytes(n).to_string(), text);
        }
    }
}
