//! What is known of a device's pages and allocation units while it is probed.

/// Structure found so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    /// The allocation unit.
    pub(super) unit: Option<u64>,
    /// The first boundary of one, less than a unit from the beginning; 0 where it is not known.
    pub(super) first: u64,
    /// Whether the first boundary is known.
    pub(super) placed: bool,
    /// Whether writing in order shows the unit, at the same places each time.
    pub(super) written: bool,
    /// Whether the page was found as the larger of two steps below the unit.
    pub(super) stacked: bool,
}

/// Largest page that is looked for: sixteen program units of 64 KiB would be 1 MiB, which is an allocation unit.
pub(super) const PAGE_MAX: u64 = 512 << 10;
/// A drive maps units of this size: a read across two of them costs something wherever pages begin.
pub(super) const MAPPED: u64 = 4096;
/// A partition begins at any sector, bytes.
pub(super) const SECTOR: u64 = 512;
