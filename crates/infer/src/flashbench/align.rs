//! `flashbench -a`: reads one block before, across and after boundaries, from the largest that the device holds down to twice the
//! block. The quickest read at each of seven places counts; a row is the mean over the places.
//!
//! In flashbench, places wrap round at the end of the device and may then miss the boundary. The table of powers of two does the
//! same and counts such places. Boundaries at odd multiples of powers of two are an extension; their places never wrap.

use super::boundary::AlignRow;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Places per row.
const PLACES: u64 = 7;

/// Parameters of `flashbench -a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlignPlan {
    /// Length of a read; at least 1 KiB and a multiple of it, since half of it lies on either side.
    pub block: Bytes,
    /// Reads of each place.
    pub tries: u32,
    /// Odd number; the boundaries are its products with powers of two. flashbench uses 1.
    pub factor: u64,
    /// True lets places wrap round the end of the device, as flashbench does, where they may miss their
    /// boundary; false begins with a smaller boundary instead. Odd factors never wrap.
    pub wrap: bool,
}

impl Default for AlignPlan {
    /// `flashbench -a --blocksize=1024`.
    fn default() -> Self {
        AlignPlan {
            block: Bytes::kib(1),
            tries: 8,
            factor: 1,
            wrap: true,
        }
    }
}

/// Smallest distance, bytes, is this times the odd factor: odd factors are for allocation units, not for pages.
const ODD_MIN: u64 = 32 << 10;

impl AlignPlan {
    /// Boundaries from the largest down, and the distance between the places of a row, bytes.
    fn boundaries(&self, capacity: u64) -> (Vec<u64>, u64) {
        let mut largest = (self.block.0 * 2).max(1) * self.factor;
        if self.factor == 1 && self.wrap {
            while largest < capacity / PLACES {
                largest *= 2;
            }
        } else {
            while largest * 2 * PLACES <= capacity {
                largest *= 2;
            }
        }
        let least = if self.factor == 1 {
            self.block.0 * 2
        } else {
            self.factor * ODD_MIN
        };
        let halves = std::iter::successors(Some(largest), |a| Some(a / 2));
        (halves.take_while(|a| *a >= least).collect(), largest)
    }

    fn check(&self, capacity: Bytes) -> Result<(), ProbeError> {
        if self.block.0 < 1024
            || !self.block.0.is_multiple_of(1024)
            || self.factor.is_multiple_of(2)
        {
            return Err(ProbeError::Failed(format!(
                "blocks of {} at multiples of {} cannot lie across a boundary; give a multiple of 1 KiB and an odd factor",
                self.block, self.factor
            )));
        }
        if capacity.0 / PLACES < self.block.0 * 2 {
            return Err(ProbeError::Failed(format!(
                "{capacity} do not hold {PLACES} boundaries of blocks of {}",
                self.block
            )));
        }
        Ok(())
    }
}

/// Measures the table; the largest boundary is the first row.
///
/// # Errors
/// `ProbeError::Failed` if the plan does not fit the device or a read fails; `ProbeError::Stopped` if it was
/// interrupted.
pub fn align<T: Target>(
    probe: &mut Probe<'_, T>,
    plan: &AlignPlan,
) -> Result<Vec<AlignRow>, ProbeError> {
    plan.check(probe.capacity())?;
    let (boundaries, distance) = plan.boundaries(probe.capacity().0);
    let count = boundaries.len();
    let mut rows = Vec::with_capacity(count);
    for (i, boundary) in boundaries.into_iter().enumerate() {
        probe.progress(i as f64 / count as f64);
        rows.push(row(probe, plan, boundary, distance)?);
    }
    Ok(rows)
}

fn row<T: Target>(
    probe: &mut Probe<'_, T>,
    plan: &AlignPlan,
    boundary: u64,
    distance: u64,
) -> Result<AlignRow, ProbeError> {
    let capacity = probe.capacity().0;
    let block = plan.block.0;
    // Bytes by which the reads before, across and after the boundary begin before it.
    let starts = [block, block / 2, 0];
    let mut quickest = [[Nanos::MAX; PLACES as usize]; 3];
    for _ in 0..plan.tries.max(1) {
        for (before, quickest) in starts.iter().zip(&mut quickest) {
            for (place, best) in (0..PLACES).zip(quickest.iter_mut()) {
                let offset = (boundary - before + place * distance) % capacity;
                let offset = Bytes(offset.min(capacity - block) / 512 * 512);
                *best = (*best).min(probe.read(offset, plan.block)?);
            }
        }
    }
    let mean = |times: &[Nanos]| {
        let sum: f64 = times.iter().map(|t| t.as_micros_f64()).sum();
        sum / PLACES as f64
    };
    let [pre_us, on_us, post_us] = quickest.map(|times| mean(&times));
    let off = |place: &u64| {
        let at = (boundary + place * distance) % capacity;
        // No read can begin before the start of the device.
        at == 0 || !at.is_multiple_of(boundary)
    };
    Ok(AlignRow {
        align: boundary,
        pre_us,
        on_us,
        post_us,
        diff_us: on_us - (pre_us + post_us) / 2.0,
        off_boundary: (0..PLACES).filter(off).count() as u32,
    })
}
