//! [`Die`], the number of a die, and lists with one entry per die.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Index, IndexMut};

/// Number of a die, across all channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Die(pub u32);

impl Die {
    /// Index in a list of all dies.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Die {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A list with one entry per die.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PerDie<T>(Vec<T>);

impl<T: Clone> PerDie<T> {
    /// A list of `dies` copies of `entry`.
    pub(crate) fn new(entry: T, dies: u32) -> Self {
        PerDie(vec![entry; dies as usize])
    }
}

impl<T> PerDie<T> {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, die: Die) -> Option<&T> {
        self.0.get(die.index())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Die, &T)> {
        (0..).map(Die).zip(&self.0)
    }
}

impl<T> Index<Die> for PerDie<T> {
    type Output = T;

    #[inline]
    fn index(&self, die: Die) -> &T {
        &self.0[die.index()]
    }
}

impl<T> IndexMut<Die> for PerDie<T> {
    #[inline]
    fn index_mut(&mut self, die: Die) -> &mut T {
        &mut self.0[die.index()]
    }
}
