//! Measures the step of the clock that times the operations. Answers that depend on a difference of times require a
//! multiple of this step.

use super::Probing;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Reads of different lengths whose times are compared.
const READS: u64 = 64;

/// Smallest difference between the times of reads of different lengths in the first `span` bytes; zero if all times are equal.
pub(super) fn step<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<Nanos, ProbeError> {
    let room = span.0.saturating_sub(READS * 512).max(1);
    let seed = probing.options.seed;
    let mut times = probing.timed(|p| {
        let reads = (1..=READS).map(|i| {
            let at = (seed ^ i.wrapping_mul(0x9e37_79b9_7f4a_7c15)) % room / 512 * 512;
            p.read(Bytes(at), Bytes(i * 512))
        });
        reads.collect::<Result<Vec<Nanos>, _>>()
    })?;
    times.sort_unstable();
    let steps = times.windows(2).map(|w| w[1].saturating_sub(w[0]));
    Ok(steps.filter(|d| d.0 > 0).min().unwrap_or(Nanos::ZERO))
}
