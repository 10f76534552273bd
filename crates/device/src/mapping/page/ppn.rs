//! [`Ppn`], the number of a physical mapping unit.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};

/// Physical page number of a mapping unit: superblock × native units per superblock + offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Ppn(pub u32);

impl Ppn {
    /// Value of an unmapped logical unit.
    pub const UNMAPPED: Ppn = Ppn(u32::MAX);

    /// Index in a list of all physical units.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Form in which the map stores the number: its complement, so that zero means unmapped.
    #[inline]
    pub(crate) const fn complement(self) -> u32 {
        !self.0
    }

    /// The number that the map stores as `word`.
    #[inline]
    pub(crate) const fn from_complement(word: u32) -> Self {
        Ppn(!word)
    }
}

impl Add<u32> for Ppn {
    type Output = Ppn;

    #[inline]
    fn add(self, units: u32) -> Ppn {
        Ppn(self.0 + units)
    }
}

/// Distance from a lower to a higher number, in units.
impl Sub for Ppn {
    type Output = u32;

    #[inline]
    fn sub(self, first: Ppn) -> u32 {
        self.0 - first.0
    }
}

impl fmt::Display for Ppn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
