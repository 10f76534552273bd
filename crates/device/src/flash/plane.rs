//! [`Plane`], the number of a plane, and sets of planes of one die.

use serde::{Deserialize, Serialize};
use std::fmt;

/// Number of a plane within its die, less than 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Plane(pub u32);

impl Plane {
    /// Index in a list of the planes of a die.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Set of planes of one die, one bit each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[repr(transparent)]
pub(crate) struct PlaneSet(u16);

impl PlaneSet {
    /// The empty set.
    pub(crate) const NONE: PlaneSet = PlaneSet(0);

    /// The set of one plane.
    #[inline]
    pub(crate) const fn of(plane: Plane) -> Self {
        debug_assert!(plane.0 < u16::BITS, "a die has at most 16 planes");
        PlaneSet(1 << plane.0)
    }

    /// The planes from one to another, both included.
    #[inline]
    pub(crate) const fn from_to(first: Plane, last: Plane) -> Self {
        debug_assert!(first.0 <= last.0, "planes are in order");
        PlaneSet(PlaneSet::of(last).0 | (PlaneSet::of(last).0 - PlaneSet::of(first).0))
    }

    /// Adds a plane.
    #[inline]
    pub(crate) const fn insert(&mut self, plane: Plane) {
        self.0 |= PlaneSet::of(plane).0;
    }

    /// Whether a plane is in the set.
    #[inline]
    pub(crate) const fn contains(self, plane: Plane) -> bool {
        self.0 & PlaneSet::of(plane).0 != 0
    }

    /// Number of planes in the set.
    #[inline]
    pub(crate) const fn len(self) -> u32 {
        self.0.count_ones()
    }

    /// Whether the set has no plane.
    #[inline]
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The planes in order.
    #[inline]
    pub(crate) fn iter(self) -> Planes {
        Planes(u32::from(self.0))
    }
}

/// The planes of a set in order.
#[derive(Clone, Debug)]
pub(crate) struct Planes(u32);

impl Iterator for Planes {
    type Item = Plane;

    #[inline]
    fn next(&mut self) -> Option<Plane> {
        if self.0 == 0 {
            return None;
        }
        let plane = Plane(self.0.trailing_zeros());
        self.0 &= self.0 - 1;
        Some(plane)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_planes_is_each_of_them() {
        for first in 0..16 {
            for last in first..16 {
                let range = PlaneSet::from_to(Plane(first), Plane(last));
                let mut single = PlaneSet::NONE;
                (first..=last).for_each(|plane| single.insert(Plane(plane)));
                assert_eq!(range, single);
                assert_eq!(range.len(), last - first + 1);
                assert!(range.iter().map(|plane| plane.0).eq(first..=last));
                assert!((0..16).all(|p| range.contains(Plane(p)) == (first..=last).contains(&p)));
            }
        }
        assert!(PlaneSet::NONE.is_empty());
    }
}
