//! Groups of options in the help of commands.

/// Options of simulated devices.
pub const SIMULATED: &str = "Simulated devices";
/// Options of files, folders and block devices of this machine.
pub const REAL: &str = "Real targets";
/// Printed output and files that are written.
pub const OUTPUT: &str = "Output";
/// Limits of a measurement.
pub const LIMITS: &str = "Limits";
/// The machine in which file systems run.
pub const MACHINE: &str = "Machine";
/// The file systems and their state.
pub const FILE_SYSTEMS: &str = "File systems";
/// Addresses at which clients reach a served device.
pub const ADDRESSES: &str = "Addresses, one at least";
