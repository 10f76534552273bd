//! Pages and allocation units of a device, as far as known during a probe.

/// Structure found so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Layout {
    /// Size of the allocation unit, bytes.
    pub(super) unit: Option<u64>,
    /// Start of the first AU, less than an AU from the start of the target, bytes; 0 if not known.
    pub(super) first: u64,
    /// Whether `first` is known.
    pub(super) placed: bool,
    /// Whether sequential writes show the AU, at the same addresses each time.
    pub(super) written: bool,
}

/// Largest page that is searched, bytes: 16 program units of 64 KiB, 1 MiB, would already be an AU.
pub(super) const PAGE_MAX: u64 = 512 << 10;
/// Mapping unit of drives, bytes: a read across two of them takes longer wherever pages begin.
pub(super) const MAPPED: u64 = 4096;
/// Granularity of the start of a partition, bytes.
pub(super) const SECTOR: u64 = 512;
