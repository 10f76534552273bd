//! Decisions of a page-mapped device that vendors make differently: which superblock is collected next (`victim`), which
//! data is hot (`heat`), and how fast the host may go on while space is made (`pacing`).
//!
//! A policy sees numbers and views, and decides; the translation layer (`mapping`) carries it out. A program can
//! supply a victim policy of its own ([`VictimPolicy`], and the example `victim_policy`).

pub(crate) mod heat;
pub(crate) mod pacing;
pub(crate) mod victim;
pub(crate) mod victims;

pub use crate::random::Random;
pub use victim::{Candidate, Closed, VictimPolicy};
