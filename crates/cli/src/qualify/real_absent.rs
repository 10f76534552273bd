//! Real targets on systems without them.

use super::{Arguments, Examined};
use crate::console::Console;
use crate::failure::Failure;
use nandscope_fitness::requirement::Requirement;

/// Refuses the target.
///
/// # Errors
/// Always.
pub fn examine(
    _: &Arguments,
    target: &str,
    _: &Requirement,
    _: &Console,
) -> Result<Examined, Failure> {
    Err(crate::target::real::absent(target))
}
