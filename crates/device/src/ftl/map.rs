//! Both directions of the mapping, and which physical units hold valid data. Four bytes per
//! logical unit, four and one bit per physical one.

use crate::geometry::{Ppa, UNMAPPED};
use serde::{Deserialize, Serialize};

/// Logical-to-physical map, its inverse, and the validity of every physical unit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Map {
    forward: Vec<Ppa>,
    inverse: Vec<u32>,
    valid: Vec<u64>,
    mapped: u32,
}

impl Map {
    pub(crate) fn new(logical_units: u32, physical_units: u32) -> Self {
        Map {
            forward: vec![UNMAPPED; logical_units as usize],
            inverse: vec![0; physical_units as usize],
            valid: vec![0; physical_units.div_ceil(64) as usize],
            mapped: 0,
        }
    }

    /// Logical units that are mapped.
    pub(crate) fn mapped(&self) -> u32 {
        self.mapped
    }

    #[inline]
    pub(crate) fn lookup(&self, logical: u32) -> Ppa {
        self.forward[logical as usize]
    }

    /// Points a logical unit at a new place; returns the old one.
    #[inline]
    pub(crate) fn point(&mut self, logical: u32, ppa: Ppa) -> Ppa {
        let old = std::mem::replace(&mut self.forward[logical as usize], ppa);
        if old == UNMAPPED {
            self.mapped += 1;
        } else {
            self.clear(old);
        }
        self.inverse[ppa as usize] = logical;
        self.valid[ppa as usize / 64] |= 1 << (ppa % 64);
        old
    }

    /// Forgets a logical unit; returns where it was.
    pub(crate) fn unmap(&mut self, logical: u32) -> Ppa {
        let old = std::mem::replace(&mut self.forward[logical as usize], UNMAPPED);
        if old != UNMAPPED {
            self.mapped -= 1;
            self.clear(old);
        }
        old
    }

    /// Which logical unit was written at a physical one.
    pub(crate) fn owner(&self, ppa: Ppa) -> u32 {
        self.inverse[ppa as usize]
    }

    /// Logical units, mapped or not.
    pub(crate) fn logical_units(&self) -> u32 {
        self.forward.len() as u32
    }

    pub(crate) fn is_valid(&self, ppa: Ppa) -> bool {
        self.valid[ppa as usize / 64] >> (ppa % 64) & 1 == 1
    }

    /// The first valid unit in `from..end`.
    pub(crate) fn next_valid(&self, from: Ppa, end: Ppa) -> Option<Ppa> {
        let mut ppa = from;
        while ppa < end {
            let word = self.valid[ppa as usize / 64] >> (ppa % 64);
            if word != 0 {
                let found = ppa + word.trailing_zeros();
                return (found < end).then_some(found);
            }
            ppa = (ppa / 64 + 1).checked_mul(64)?;
        }
        None
    }

    #[inline]
    fn clear(&mut self, ppa: Ppa) {
        self.valid[ppa as usize / 64] &= !(1 << (ppa % 64));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_directions_agree() {
        let mut map = Map::new(100, 300);
        assert_eq!(map.point(7, 130), UNMAPPED);
        assert_eq!(map.point(7, 200), 130);
        assert_eq!((map.lookup(7), map.owner(200), map.mapped()), (200, 7, 1));
        assert!(map.is_valid(200) && !map.is_valid(130));
        assert_eq!(map.next_valid(0, 300), Some(200));
        assert_eq!(map.next_valid(0, 200), None);
        assert_eq!(map.unmap(7), 200);
        assert_eq!(
            (map.lookup(7), map.mapped(), map.next_valid(0, 300)),
            (UNMAPPED, 0, None)
        );
    }
}
