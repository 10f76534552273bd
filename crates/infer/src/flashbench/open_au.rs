//! `flashbench --open-au`: interleaves writes to N allocation units twelve AUs apart, one piece into each in turn, until all are
//! full. The rate does not depend on N up to the number of AUs that the card keeps open; beyond it, the card copies an AU for
//! every few pieces.
//!
//! As in flashbench, the AUs are not reset between two measurements: they contain data of earlier ones.

use super::order::shuffled;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Order in which the pieces of an AU are written, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Ascending addresses.
    Linear,
    /// Random permutation.
    Random,
}

impl Order {
    /// Name in tables and recordings.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Linear => "linear",
            Order::Random => "random",
        }
    }

    /// The places 0 to n − 1 in this order; `seed` selects the permutation.
    pub fn places(self, n: u32, seed: u64) -> Vec<u32> {
        match self {
            Order::Linear => (0..n).collect(),
            Order::Random => shuffled(n, seed),
        }
    }
}

/// Write rate with `units` interleaved AUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Number of interleaved AUs.
    pub units: u32,
    /// Length of a piece, bytes.
    pub length: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// False if the budget ended the measurement before the AUs were full.
    pub whole: bool,
}

/// Distance between the starts of interleaved AUs, in AUs, as in flashbench.
const APART: u64 = 12;
/// Start of the first interleaved AU, bytes: beyond the FAT area.
const FIRST: u64 = 16 << 20;
/// Least number of rounds per rate, however long they take, except after a warm-up (see `LONG`).
const ROUNDS_MIN: u32 = 8;

/// Factor of the budget after which a measurement ends if it had a warm-up, even with fewer than `ROUNDS_MIN` rounds;
/// also the limit of the warm-up itself.
const LONG: u64 = 2;

/// Least number of pieces per rate if a single round takes longer than `LONG` budgets; enough for deferred merges to
/// occur among them.
const PIECES_MIN: u32 = 12;

/// Which AUs are written, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAu {
    /// Size of the allocation unit, bytes.
    pub unit: u64,
    /// Order of the pieces within an AU.
    pub order: Order,
    /// Seed of the random permutations.
    pub seed: u64,
    /// Time per rate; `None` writes until the AUs are full.
    pub budget: Option<Nanos>,
    /// Precautions between measurements.
    pub care: Care,
}

/// Precautions against effects of one measurement on the next; by default none, as in flashbench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Care {
    /// Rounds of warm-up, which do not count: they close AUs that the previous measurement left half-written.
    pub warm: u32,
    /// Lowest start of the first interleaved AU, bytes; at least 16 MiB.
    pub from: u64,
    /// Bytes written per AU at most; 0 for the whole AU.
    pub extent: u64,
    /// Every number of AUs is measured in different AUs, which lie between those of the other numbers.
    pub fresh: bool,
    /// Leaves out the slowest tenth of four or more rounds, at least one: a stall of the host affects one round, work of the card
    /// many.
    pub trim: bool,
}

impl OpenAu {
    /// Number of interleaved AUs that fit the device, at most `most`.
    pub fn fitting(&self, capacity: Bytes, most: u32) -> u32 {
        let between = if self.care.fresh { APART - 1 } else { 0 };
        let first = self.start() + self.unit * (1 + between);
        let room = capacity.0.saturating_sub(first);
        let more = room / (APART * self.unit.max(1));
        if capacity.0 < first {
            return 0;
        }
        most.min(u32::try_from(more + 1).unwrap_or(u32::MAX))
    }

    fn start(&self) -> u64 {
        FIRST.max(self.care.from).next_multiple_of(self.unit.max(1))
    }

    /// Start of the interleaved AU with this number, bytes.
    pub fn place(&self, number: u64) -> u64 {
        self.start() + number * APART * self.unit
    }

    /// Lengths from the AU size down to `least`, each half of the previous one, in multiples of 512 bytes.
    pub fn lengths(&self, least: u64) -> Vec<u64> {
        let halves = std::iter::successors(Some(self.unit), |l| Some(l / 2));
        halves
            .take_while(|l| *l >= least.max(512) && l.is_multiple_of(512))
            .collect()
    }

    /// Measures the rate with pieces of `length` bytes into `units` interleaved AUs.
    ///
    /// # Errors
    /// `ProbeError::Failed` if the units do not fit the device or a write fails; `ProbeError::Stopped` if it was
    /// interrupted.
    pub fn rate<T: Target>(
        &self,
        probe: &mut Probe<'_, T>,
        units: u32,
        length: u64,
    ) -> Result<Rate, ProbeError> {
        self.shifted(probe, units, length, 0)
    }

    /// Like [`OpenAu::rate`], in AUs that lie `shift` AUs further up.
    ///
    /// # Errors
    /// As [`OpenAu::rate`].
    pub fn shifted<T: Target>(
        &self,
        probe: &mut Probe<'_, T>,
        units: u32,
        length: u64,
        shift: u64,
    ) -> Result<Rate, ProbeError> {
        if units == 0 || self.fitting(probe.capacity(), units) < units {
            return Err(ProbeError::Failed(format!(
                "AUs of {} that lie {APART} AUs apart: {units} do not fit {}",
                Bytes(self.unit),
                probe.capacity()
            )));
        }
        if length == 0 || length > self.unit || !length.is_multiple_of(512) {
            return Err(ProbeError::Failed(format!(
                "pieces of {length} bytes do not fit a unit of {} bytes",
                self.unit
            )));
        }
        let extent = match self.care.extent {
            0 => self.unit,
            extent => extent.clamp(length, self.unit),
        };
        let places = u32::try_from(extent / length).unwrap_or(u32::MAX);
        // The AUs have the same order in every round, as in flashbench.
        let turn = shuffled(units, self.seed ^ 1);
        let mut spent = Nanos::ZERO;
        let mut unsteady = Nanos::ZERO;
        let mut rounds = 0;
        let mut times = Vec::new();
        // The warm-up is at most a quarter of the rounds.
        let mut warm = self.care.warm.min(places / 4);
        let over = |spent: Nanos, times: u64| self.budget.is_some_and(|b| spent.0 > times * b.0);
        // A first round that takes too long ends after `PIECES_MIN` pieces, if a warm-up has closed older AUs.
        let mut cut = None;
        for (number, place) in (0..).zip(self.order.places(places, self.seed)) {
            let mut round = Nanos::ZERO;
            for (written, unit) in (1..).zip(&turn) {
                let begin = self.place(u64::from(*unit)) + shift * self.unit;
                let offset = Bytes(begin + u64::from(place) * length);
                round += probe.write(offset, Bytes(length))?;
                let counts = self.care.warm > 0 && number >= warm && times.is_empty();
                if counts && written >= PIECES_MIN && written < units && over(round, LONG) {
                    cut = Some((written, round));
                    break;
                }
            }
            if cut.is_some() {
                break;
            }
            if number < warm {
                unsteady += round;
                // Each round closes as many AUs of the previous measurement as it opens.
                if over(unsteady, LONG) {
                    warm = number + 1;
                }
                continue;
            }
            spent += round;
            times.push(round);
            rounds += 1;
            // After a warm-up, few rounds are enough if they take long.
            let few = self.care.warm > 0 && over(spent, LONG);
            if few || rounds >= ROUNDS_MIN && over(spent, 1) {
                break;
            }
        }
        if let Some((pieces, round)) = cut {
            let bytes = f64::from(pieces) * length as f64;
            return Ok(Rate {
                units,
                length,
                bytes_per_s: bytes / round.as_secs_f64().max(1e-9),
                whole: false,
            });
        }
        let whole = rounds + warm == places;
        if self.care.trim && times.len() >= 4 {
            times.sort_unstable();
            times.truncate(times.len() - times.len().div_ceil(10));
        }
        let bytes = times.len() as f64 * f64::from(units) * length as f64;
        let spent: f64 = times.iter().map(|t| t.as_secs_f64()).sum();
        Ok(Rate {
            units,
            length,
            bytes_per_s: bytes / spent.max(1e-9),
            whole,
        })
    }
}

/// Searches the number of AUs at which the rate falls below half of the best: doubles the number until it does, then bisects.
/// Returns all rates, sorted by number of AUs.
///
/// # Errors
/// As [`OpenAu::rate`].
pub fn search<T: Target>(
    probe: &mut Probe<'_, T>,
    plan: &OpenAu,
    length: u64,
    most: u32,
) -> Result<Vec<Rate>, ProbeError> {
    let most = plan.fitting(probe.capacity(), most);
    let mut rates: Vec<Rate> = Vec::new();
    let (mut fast, mut best) = (0, 0.0_f64);
    let mut slow = None;
    let mut next = 1;
    while next <= most && next > fast {
        let shift = if plan.care.fresh {
            rates.len() as u64 % APART
        } else {
            0
        };
        let rate = plan.shifted(probe, next, length, shift)?;
        rates.push(rate);
        if rate.bytes_per_s < best / 2.0 {
            slow = Some(next);
        } else {
            fast = next;
            best = best.max(rate.bytes_per_s);
        }
        probe.progress(f64::from(rates.len() as u32) / 12.0);
        next = match slow {
            None => (next * 2).min(most),
            // The largest fast number and the smallest slow one are neighbours.
            Some(slow) if slow - fast <= 1 => break,
            Some(slow) => fast + (slow - fast) / 2,
        };
    }
    rates.sort_by_key(|r| r.units);
    Ok(rates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_that_do_not_fit_are_not_counted() {
        let plan = OpenAu {
            unit: 4 << 20,
            order: Order::Linear,
            seed: 1,
            budget: None,
            care: Care::default(),
        };
        assert_eq!(plan.fitting(Bytes::mib(19), 32), 0);
        assert_eq!(plan.fitting(Bytes::mib(20), 32), 1);
        assert_eq!(plan.fitting(Bytes::mib(67), 32), 1);
        assert_eq!(plan.fitting(Bytes::mib(68), 32), 2);
        assert_eq!(plan.fitting(Bytes::gib(32), 32), 32);
        assert_eq!(plan.lengths(1 << 20), [4 << 20, 2 << 20, 1 << 20]);
        let odd = OpenAu {
            unit: 3 << 20,
            ..plan
        };
        assert_eq!(odd.start(), 18 << 20);
        assert_eq!(odd.lengths(512 << 10), [3 << 20, 1536 << 10, 768 << 10]);
    }
}
