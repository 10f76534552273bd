//! `flashbench --open-au`: N allocation units that lie twelve units apart are written in turn, a
//! piece of each, until all are full. As long as the card keeps N units open, the rate does not
//! depend on N; one more, and it copies a unit for every few pieces.
//!
//! As in flashbench, the units are not reset between two measurements: a rate is that of units
//! that were written before.

use super::order::shuffled;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Order in which the pieces of a unit are written, each once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// One after another.
    Linear,
    /// In a random order.
    Random,
}

impl Order {
    /// As the tables name it.
    pub const fn name(self) -> &'static str {
        match self {
            Order::Linear => "linear",
            Order::Random => "random",
        }
    }

    /// The places 0 to n − 1 in this order.
    pub fn places(self, n: u32, seed: u64) -> Vec<u32> {
        match self {
            Order::Linear => (0..n).collect(),
            Order::Random => shuffled(n, seed),
        }
    }
}

/// The rate with so many interleaved AUs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Units written in turn.
    pub units: u32,
    /// Length of a piece, bytes.
    pub length: u64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// False where the budget ended it before the units were full.
    pub whole: bool,
}

/// Units between the starts of two that are written in turn, as in flashbench.
const APART: u64 = 12;
/// Start of the units, after the file allocation table.
const FIRST: u64 = 16 << 20;
/// Rounds over all units that a rate is based on at least, however long they take.
const ROUNDS_MIN: u32 = 8;

/// Where this many times the budget is spent, the rounds so far are enough, and so are those of the unsteady beginning.
const LONG: u64 = 2;

/// Pieces of one round that a rate is based on at least, where that takes so long: merges that are put off are among them.
const PIECES_MIN: u32 = 12;

/// Units to write, their places and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenAu {
    /// The allocation unit, bytes.
    pub unit: u64,
    /// Order within it.
    pub order: Order,
    /// Random orders follow from it.
    pub seed: u64,
    /// A rate is based on what was written in this time, where there is more; `None` fills the units.
    pub budget: Option<Nanos>,
    /// Precautions between measurements.
    pub care: Care,
}

/// Precautions that keep one measurement from disturbing the next; by default none, as in flashbench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Care {
    /// Rounds at the beginning that do not count: units that the measurement before left half
    /// written are closed in them.
    pub warm: u32,
    /// The first unit that is written to lies here at the earliest, bytes; 16 MiB where it is less.
    pub from: u64,
    /// So much of a unit is written at most, bytes; all of it where 0.
    pub extent: u64,
    /// Each number of units is tried in units of its own, which lie between those of the others.
    pub fresh: bool,
    /// The slowest tenth of the rounds, one at least, is left out of four or more: a stall of the host falls into one
    /// round, and the work of the card into many.
    pub trim: bool,
}

impl OpenAu {
    /// The most units that fit the device, up to `most`.
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

    /// Begin of the interleaved unit with this number.
    pub fn place(&self, number: u64) -> u64 {
        self.start() + number * APART * self.unit
    }

    /// Lengths from the unit down to `least`, by halves.
    pub fn lengths(&self, least: u64) -> Vec<u64> {
        let halves = std::iter::successors(Some(self.unit), |l| Some(l / 2));
        halves
            .take_while(|l| *l >= least.max(512) && l.is_multiple_of(512))
            .collect()
    }

    /// The rate of pieces of `length` into `units` interleaved AUs.
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

    /// The same in units that lie so many units further up.
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
        // The same turn in every round, as in flashbench.
        let turn = shuffled(units, self.seed ^ 1);
        let mut spent = Nanos::ZERO;
        let mut unsteady = Nanos::ZERO;
        let mut rounds = 0;
        let mut times = Vec::new();
        // Short measurements count whole.
        let mut warm = self.care.warm.min(places / 4);
        let over = |spent: Nanos, times: u64| self.budget.is_some_and(|b| spent.0 > times * b.0);
        // Of a round that takes long, so many pieces are enough, where the rounds before it closed what was open.
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
                // A round closes as many units of the measurement before as it opens.
                if over(unsteady, LONG) {
                    warm = number + 1;
                }
                continue;
            }
            spent += round;
            times.push(round);
            rounds += 1;
            // Without the unsteady beginning few rounds do, where they take long.
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

/// Looks for the number of units at which the rate collapses: 1, 2, 4, … units until it is less than half of
/// the best, then by halves in between. Gives all rates, by number of units.
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
            // One further than fast is slow: nothing is left in between.
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
