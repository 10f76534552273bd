//! [`Lpn`], the number of a logical mapping unit.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Logical page number: index of a mapping unit in the address range. The pages of the map and of its journal follow
/// the host's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub(crate) struct Lpn(pub(crate) u32);

impl Lpn {
    /// Index in a list of all logical units.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// The unit `units` after this one; `None` on overflow.
    pub(crate) fn checked_add(self, units: u32) -> Option<Lpn> {
        self.0.checked_add(units).map(Lpn)
    }

    /// `count` consecutive units, from this one on.
    #[inline]
    pub(crate) fn and_next(self, count: u32) -> impl Iterator<Item = Lpn> + Clone + use<> {
        (self.0..self.0 + count).map(Lpn)
    }
}

impl Add<u32> for Lpn {
    type Output = Lpn;

    #[inline]
    fn add(self, units: u32) -> Lpn {
        Lpn(self.0 + units)
    }
}

impl AddAssign<u32> for Lpn {
    #[inline]
    fn add_assign(&mut self, units: u32) {
        self.0 += units;
    }
}

/// Distance from a lower to a higher number, in units.
impl Sub for Lpn {
    type Output = u32;

    #[inline]
    fn sub(self, first: Lpn) -> u32 {
        self.0 - first.0
    }
}

impl From<Lpn> for u64 {
    #[inline]
    fn from(unit: Lpn) -> u64 {
        u64::from(unit.0)
    }
}

impl fmt::Display for Lpn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
