//! Does the card keep the unit with the file allocation table open for itself? A file system writes
//! data, and every now and then a little to the table. Where the number of open units k is known,
//! k data units and a little in any other unit are slow; if k and a little in one of the first units are
//! fast, that unit does not count among the k.

use super::boundary::CLEAR;
use super::open_au::OpenAu;
use crate::timed::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Lengths of the writes to the table that are tried one after the other until one tells: a block, as
/// file systems write tables, and a cluster, for cards that gather whatever is shorter elsewhere.
pub const PIECES: [u64; 2] = [4 << 10, 64 << 10];
/// Rounds that a time is based on at least, however long they take.
const ROUNDS_MIN: u32 = 8;

/// Seconds for a round: a piece into each data unit, and a small write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FatRounds {
    /// Length of the small writes, bytes.
    pub piece: u64,
    /// k data units, no small write.
    pub data_s: f64,
    /// A small write to the unit in question, no data.
    pub small_s: f64,
    /// k data units, a small write to that unit.
    pub fat_s: f64,
    /// k + 1 data units, a small write to that unit.
    pub fat_more_s: f64,
    /// k data units, a small write to a unit after them.
    pub control_s: f64,
}

/// Conclusion on the unit from its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pinned {
    /// It is kept open beside the others.
    Yes,
    /// It takes a place among them.
    No,
    /// One unit more did no harm elsewhere either, so nothing follows.
    CannotTell,
}

impl FatRounds {
    /// Conclusion from the times.
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
    /// To this unit of the card.
    First(u64),
    /// To the unit that would be this number of the data units.
    After(u64),
}

/// Measures with pieces of `length` in `open` data units, the number that the card keeps open, and
/// small writes of the first of `PIECES` that tells to unit `first` of the card, which must lie before
/// the data.
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

/// The five rounds with small writes of one length, to unit `first`.
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

/// Mean time of a round until the units are full or the budget is spent.
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
            // The same few sectors again and again, as a table is updated.
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
