//! Names of the counters that more than one crate uses.

/// Energy of the device, J.
pub const ENERGY: &str = "energy_j";
/// Energy of the host, J.
pub const HOST_ENERGY: &str = "host_energy_j";
/// Bytes that the kernel read from a real device.
pub const DEVICE_READ: &str = "device_read_bytes";
/// Bytes that the kernel wrote to a real device.
pub const DEVICE_WRITTEN: &str = "device_written_bytes";
/// Reads that a real device completed, as the kernel counts them.
pub const DEVICE_READS: &str = "device_reads";
/// Writes that a real device completed, as the kernel counts them.
pub const DEVICE_WRITES: &str = "device_writes";
/// Bytes that the host read.
pub const HOST_READ: &str = "host_read_bytes";
/// Bytes that the host wrote.
pub const HOST_WRITTEN: &str = "host_written_bytes";
/// Bytes that the host discarded.
pub const HOST_DISCARDED: &str = "host_discarded_bytes";
/// Bytes programmed into flash.
pub const FLASH_PROGRAMMED: &str = "flash_programmed_bytes";
/// Bytes that garbage collection moved.
pub const GC_WRITES: &str = "collected_bytes";
/// Bytes programmed per byte that the host wrote.
pub const WRITE_AMPLIFICATION: &str = "write_amplification";
