//! The first pass: stamps all over the device, read back in random order, and the beginning read
//! from end to end for stamps that belong elsewhere.

use super::medium::{Medium, MediumError};
use super::places::{Places, STAMPS_MAX, STAMPS_MIN};
use super::stamp::{Seen, read_stamp};
use super::work::{Stage, VerifyError, Work};
use libm::sqrt;
use nandscope_units::Bytes;

/// What was found at one stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its block.
    pub place: u64,
    /// What was there when everything had been written.
    pub seen: Seen,
    /// Whether what was there equals what had been there before the stamp.
    pub as_before: bool,
    /// Whether all bytes of what was there are equal.
    pub constant: bool,
}

/// A stamp that was found under another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The block it was written to.
    pub written: u64,
    /// The block it was found in.
    pub found: u64,
}

/// What the first pass found.
#[derive(Clone, Debug)]
pub struct Sounding {
    /// Where the stamps stood.
    pub places: Places,
    /// What was found there, in the order of writing.
    pub readings: Vec<Reading>,
    /// Stamps that came up elsewhere.
    pub aliases: Vec<Alias>,
    /// Whether the last block gave its stamp back as long as nothing else had been written.
    pub at_once: bool,
    /// Blocks that took the first stamp and not the second.
    pub stuck: Vec<u64>,
    /// Blocks that gave different answers to repeated reads.
    pub unstable: Vec<u64>,
}

impl Sounding {
    /// Everything stood where it should.
    pub fn is_clean(&self) -> bool {
        self.readings.iter().all(|r| r.seen.right())
            && self.aliases.is_empty()
            && self.stuck.is_empty()
            && self.unstable.is_empty()
    }
}

/// The length of a read of the beginning.
const PIECE: Bytes = Bytes::mib(1);
/// Stamps that are written a second time.
const AGAIN: usize = 4;

pub(super) fn sound<M: Medium>(
    work: &mut Work<'_, M>,
    run: u64,
    repeats: u32,
) -> Result<Sounding, VerifyError> {
    let blocks = work.medium.blocks();
    work.tell(Stage::Stamping, 0.0);
    // The last block goes first, so that everything else is written behind it.
    let last = blocks - 1;
    work.keep(&[last])?;
    work.stamp(last)?;
    let at_once = work.look(last)?.right();
    let (stamps, pilots) = affordable(work)?;
    let places = Places::new(blocks, stamps, run);
    let mut order: Vec<u64> = places.lattice.clone();
    order.retain(|x| *x != last && !pilots.contains(x) && *x < places.run_first);
    work.shuffle(&mut order);
    work.keep(&order)?;
    for (i, place) in order.iter().enumerate() {
        work.tell(Stage::Stamping, i as f64 / order.len() as f64);
        work.stamp(*place)?;
    }
    if places.run > 0 {
        work.keep_run(places.run_first, places.run)?;
        work.stamp_run(places.run_first, places.run)?;
    }
    work.settle()?;
    let run_places = places.run_first..places.run_first + places.run;
    let written: Vec<u64> = std::iter::once(last)
        .chain(pilots)
        .chain(order)
        .chain(run_places)
        .collect();
    let readings = readings(work, &written)?;
    let mut sounding = Sounding {
        places,
        readings,
        aliases: Vec::new(),
        at_once,
        stuck: Vec::new(),
        unstable: Vec::new(),
    };
    sounding.aliases = stamps_elsewhere(&sounding.readings);
    if sounding.readings.iter().all(|r| r.seen.right()) {
        sounding.aliases = search_beginning(work, sounding.places.stride)?;
    }
    if sounding.is_clean() {
        sounding.stuck = second_generation(work, &sounding.places)?;
    }
    if sounding.is_clean() {
        sounding.unstable = repeat(work, &written, repeats)?;
    }
    Ok(sounding)
}

/// How many stamps keep writing them and reading the beginning equally long; with the pilots, which
/// have been written.
fn affordable<M: Medium>(work: &mut Work<'_, M>) -> Result<(u64, Vec<u64>), VerifyError> {
    let blocks = work.medium.blocks();
    // The coarsest lattice, without the last block.
    let mut pilots = Places::new(blocks, STAMPS_MIN, 0).lattice.split_off(1);
    work.shuffle(&mut pilots);
    work.keep(&pilots)?;
    // The first ones find allocation units closed; only then does each write cost what the others will.
    let (first, later) = pilots.split_at(pilots.len() / 2);
    for pilot in first {
        work.stamp(*pilot)?;
    }
    let began = work.medium.now();
    for pilot in later {
        work.stamp(*pilot)?;
    }
    let write = work.medium.now().saturating_sub(began).as_secs_f64() / later.len().max(1) as f64;
    let pieces = 4;
    let mut piece = vec![0; PIECE.0 as usize];
    let began = work.medium.now();
    let mut read = 0;
    for i in 0..pieces {
        let per_piece = PIECE.0 / work.medium.block_bytes() as u64;
        if (i + 1) * per_piece <= blocks {
            read += reading(work, i * per_piece, &mut piece)? as u64;
        }
    }
    let spent = work.medium.now().saturating_sub(began).as_secs_f64();
    let whole = blocks as f64 * work.medium.block_bytes() as f64;
    let whole = whole * spent / (read as f64).max(1.0);
    // Each stamp is written, and written back.
    let best = sqrt(whole / (2.0 * write.max(1e-6)));
    let most = STAMPS_MAX as f64;
    Ok((best.clamp(STAMPS_MIN as f64, most) as u64, pilots))
}

/// Reads a piece; the bytes that came.
fn reading<M: Medium>(
    work: &mut Work<'_, M>,
    first: u64,
    piece: &mut [u8],
) -> Result<usize, VerifyError> {
    work.look_whether_to_stop()?;
    match work.medium.read(first, piece) {
        Ok(()) => {
            work.read_bytes += piece.len() as u64;
            Ok(piece.len())
        }
        Err(MediumError::Failed(_)) => Ok(0),
        Err(MediumError::Gone(why)) => Err(VerifyError::Gone(why)),
    }
}

/// Looks at all stamps in a random order; gives them in the order of writing.
fn readings<M: Medium>(
    work: &mut Work<'_, M>,
    written: &[u64],
) -> Result<Vec<Reading>, VerifyError> {
    let mut order: Vec<usize> = (0..written.len()).collect();
    work.shuffle(&mut order);
    let mut readings = Vec::with_capacity(written.len());
    for (i, number) in order.iter().enumerate() {
        work.tell(Stage::Reading, i as f64 / order.len() as f64);
        readings.push((*number, look(work, written[*number])?));
    }
    readings.sort_by_key(|(number, _)| *number);
    Ok(readings.into_iter().map(|(_, reading)| reading).collect())
}

pub(super) fn look<M: Medium>(work: &mut Work<'_, M>, place: u64) -> Result<Reading, VerifyError> {
    let seen = work.look(place)?;
    let there = work.last();
    let original = work.journal.original(place);
    Ok(Reading {
        place,
        seen,
        as_before: seen != Seen::Unreadable && original == Some(there),
        constant: there.iter().all(|byte| *byte == there[0]),
    })
}

/// Stamps that other blocks answered with.
fn stamps_elsewhere(readings: &[Reading]) -> Vec<Alias> {
    let elsewhere = readings.iter().filter_map(|r| match r.seen {
        Seen::Stamp { place, .. } if place != r.place => Some(Alias {
            written: place,
            found: r.place,
        }),
        _ => None,
    });
    elsewhere.collect()
}

fn search_beginning<M: Medium>(
    work: &mut Work<'_, M>,
    blocks: u64,
) -> Result<Vec<Alias>, VerifyError> {
    let size = work.medium.block_bytes();
    let per_piece = (PIECE.0 as usize / size) as u64;
    let mut aliases = Vec::new();
    let mut first = 0;
    let salt = work.salt();
    while first < blocks {
        let count = per_piece.min(blocks - first);
        work.tell(Stage::Searching, first as f64 / blocks as f64);
        let mut piece = vec![0; count as usize * size];
        let whole = reading(work, first, &mut piece)? > 0;
        for (found, block) in (first..).zip(piece.chunks(size)).filter(|_| whole) {
            if let Some((written, _)) = read_stamp(block, salt)
                && written != found
            {
                aliases.push(Alias { written, found });
            }
        }
        first += count;
    }
    Ok(aliases)
}

/// Writes some stamps once more: a device that keeps the first thing it was given shows it now.
fn second_generation<M: Medium>(
    work: &mut Work<'_, M>,
    places: &Places,
) -> Result<Vec<u64>, VerifyError> {
    let step = (places.lattice.len() / AGAIN).max(1);
    // The lattice begins with the last block.
    let mut again: Vec<u64> = places.lattice.iter().copied().step_by(step).collect();
    work.shuffle(&mut again);
    for place in &again {
        work.stamp(*place)?;
    }
    work.settle()?;
    let mut stuck = Vec::new();
    for place in again {
        if !work.look(place)?.right() {
            stuck.push(place);
        }
    }
    Ok(stuck)
}

fn repeat<M: Medium>(
    work: &mut Work<'_, M>,
    written: &[u64],
    repeats: u32,
) -> Result<Vec<u64>, VerifyError> {
    let mut order = written.to_vec();
    let mut unstable = Vec::new();
    for _ in 0..repeats {
        work.shuffle(&mut order);
        for place in &order {
            if !work.look(*place)?.right() {
                unstable.push(*place);
            }
        }
    }
    unstable.sort_unstable();
    unstable.dedup();
    Ok(unstable)
}
