//! Flash translation layers, one per kind of device: [`page`] of SSDs and SD Express cards, [`au`] of SD cards, eMMC and
//! USB sticks. Each owns its map, its write streams, its journal and the audit of its state.

pub(crate) mod au;
pub(crate) mod page;
