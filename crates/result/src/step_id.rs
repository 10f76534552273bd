//! Identifiers of steps that more than one place knows ([`crate::StepResult::id`]).

use crate::procedure;

/// The answers of a probe.
pub const PROBE: &str = procedure::PROBE;
/// A verification by tagged blocks.
pub const VERIFY: &str = procedure::VERIFY;
/// Tagged blocks of an earlier verification, read again.
pub const VERIFY_KEPT: &str = "verify-kept";
/// A verification that writes and reads the whole device.
pub const VERIFY_FULL: &str = "verify-full";
/// A fullness sweep.
pub const FULLNESS: &str = "fullness";

/// Prefix of the step of a group of jobs.
const GROUP: &str = "group-";
/// Suffix of the step in which a group of jobs reads back what it wrote.
const READ_BACK: &str = "-verify";

/// The jobs of a file that run together; groups count from 1.
pub fn group(number: usize) -> String {
    format!("{GROUP}{number}")
}

/// The number of the group whose step this is.
pub fn number_of_group(id: &str) -> Option<usize> {
    id.strip_prefix(GROUP)?.parse().ok()
}

/// Identifier of the step in which the group of this number reads back what it wrote.
pub fn read_back(number: usize) -> String {
    group(number) + READ_BACK
}

/// Whether a group of jobs reads back what it wrote in the step `id`.
pub fn is_read_back(id: &str) -> bool {
    id.ends_with(READ_BACK)
}
