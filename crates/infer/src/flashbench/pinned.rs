//! Does the card keep the AU of the file allocation table open in addition to the others? A file system writes data, and from
//! time to time a few sectors of the table. If the card keeps k AUs open, interleaving k data AUs with small writes to another AU
//! is slow; if it is fast with small writes to one of the first AUs, that AU does not count among the k.

use super::boundary::CLEAR;
use super::open_au::OpenAu;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Lengths of the small writes, bytes, tried until the result is conclusive: a block, as file systems write tables, and a
/// cluster, for cards that buffer shorter writes.
pub const PIECES: [u64; 2] = [4 << 10, 64 << 10];
/// Least number of rounds per time, however long they take.
const ROUNDS_MIN: u32 = 8;

/// Times per round, s: one piece into each data AU, and a small write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FatRounds {
    /// Length of the small writes, bytes.
    pub piece: u64,
    /// Round with k data AUs and no small write.
    pub data_s: f64,
    /// Round with a small write to the tested AU and no data.
    pub small_s: f64,
    /// Round with k data AUs and a small write to the tested AU.
    pub fat_s: f64,
    /// Round with k + 1 data AUs and a small write to the tested AU.
    pub fat_more_s: f64,
    /// Round with k data AUs and a small write to an AU after them.
    pub control_s: f64,
}

/// Whether the tested AU is kept open in addition to the data AUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// The AU is open in addition to the k others.
    Yes,
    /// The AU is one of the k AUs.
    No,
    /// An additional AU is not slow anywhere, so there is no conclusion.
    CannotTell,
}

impl FatRounds {
    /// Conclusion from the times of the rounds.
    pub fn pinned(&self) -> Pinned {
        if self.control_s < CLEAR * (self.data_s + self.small_s) {
            Pinned::CannotTell
        } else if self.control_s >= CLEAR * self.fat_s {
            Pinned::Yes
        } else {
            Pinned::No
        }
    }
}

/// Target of the small write of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Small {
    None,
    /// To the AU of this number from the start of the card.
    First(u64),
    /// To the AU that would follow the data AUs with this number.
    After(u64),
}

/// Measures with pieces of `length` bytes in `open` data AUs, the number that the card keeps open, and small writes to AU `first`
/// of the card, which must lie before the data. The first conclusive length of `PIECES` counts.
///
/// # Errors
/// As [`OpenAu::rate`].
pub fn fat_and_data<T: Target>(
    probe: &mut Probe<'_, T>,
    plan: &OpenAu,
    open: u32,
    length: u64,
    first: u64,
) -> Result<FatRounds, ProbeError> {
    if (first + 1).saturating_mul(plan.unit) > plan.place(0) {
        return Err(ProbeError::Failed(format!(
            "unit {first} of {} does not lie before the data",
            Bytes(plan.unit)
        )));
    }
    if plan.fitting(probe.capacity(), open + 2) < open + 2 {
        return Err(ProbeError::Failed(format!(
            "{} units of {} do not fit {}",
            open + 2,
            Bytes(plan.unit),
            probe.capacity()
        )));
    }
    let mut rounds = with_pieces(probe, plan, open, length, (first, PIECES[0]))?;
    for piece in PIECES.into_iter().skip(1) {
        if rounds.pinned() == Pinned::CannotTell && piece <= plan.unit {
            rounds = with_pieces(probe, plan, open, length, (first, piece))?;
        }
    }
    Ok(rounds)
}

/// The five rounds with small writes of `piece` bytes to AU `first`.
fn with_pieces<T: Target>(
    probe: &mut Probe<'_, T>,
    plan: &OpenAu,
    open: u32,
    length: u64,
    (first, piece): (u64, u64),
) -> Result<FatRounds, ProbeError> {
    let cases = [
        (open, Small::None),
        (0, Small::First(first)),
        (open, Small::First(first)),
        (open + 1, Small::First(first)),
        (open, Small::After(u64::from(open + 1))),
    ];
    let mut seconds = [0.0; 5];
    for (i, ((data, small), seconds)) in cases.into_iter().zip(&mut seconds).enumerate() {
        probe.progress(i as f64 / 5.0);
        *seconds = round(probe, plan, (data, length), (small, piece))?;
    }
    let [data_s, small_s, fat_s, fat_more_s, control_s] = seconds;
    Ok(FatRounds {
        piece,
        data_s,
        small_s,
        fat_s,
        fat_more_s,
        control_s,
    })
}

/// Mean time of a round, s, until the AUs are full or the budget is spent.
fn round<T: Target>(
    probe: &mut Probe<'_, T>,
    plan: &OpenAu,
    (data, length): (u32, u64),
    (small, piece): (Small, u64),
) -> Result<f64, ProbeError> {
    let mut spent = Nanos::ZERO;
    let mut rounds = 0;
    let places = u32::try_from(plan.unit / length).unwrap_or(u32::MAX);
    for place in plan.order.places(places, plan.seed) {
        for number in 0..u64::from(data) {
            let offset = plan.place(number) + u64::from(place) * length;
            spent += probe.write(Bytes(offset), Bytes(length))?;
        }
        let table = match small {
            Small::None => None,
            Small::First(number) => Some(number * plan.unit),
            Small::After(number) => Some(plan.place(number)),
        };
        if let Some(table) = table {
            // Rewrites the same eight pieces, as updates of a table do.
            let offset = table + u64::from(rounds) * piece % (8 * piece).min(plan.unit);
            spent += probe.write(Bytes(offset), Bytes(piece))?;
        }
        rounds += 1;
        if rounds >= ROUNDS_MIN && plan.budget.is_some_and(|b| spent > b) {
            break;
        }
    }
    Ok(spent.as_secs_f64() / f64::from(rounds.max(1)))
}
