//! The first pass: stamps all over the device and a comb of them at its end, read back in random order, and windows
//! read all over the device for stamps that belong elsewhere.

use super::medium::{Medium, MediumError};
use super::places::{NEIGHBOURS, Places, samples};
use super::stamp::{Seen, read_stamp, splitmix};
use super::work::{Stage, VerifyError, Work};
use nandscope_units::Nanos;

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
    /// Where the comb and the run stood.
    pub places: Places,
    /// In how many places elsewhere blocks were sampled.
    pub sampled_places: u64,
    /// What was found there, in the order of writing.
    pub readings: Vec<Reading>,
    /// Stamps that came up elsewhere.
    pub aliases: Vec<Alias>,
    /// Windows that were read.
    pub windows: u64,
    /// The first blocks of windows that could not be read.
    pub unreadable: Vec<u64>,
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
            && self.unreadable.is_empty()
            && self.stuck.is_empty()
            && self.unstable.is_empty()
    }
}

/// Places that are sampled on any device.
const PLACES_MIN: u64 = 4;
/// Blocks that are sampled at most in further places.
const MORE: u64 = 96;
/// What writing and restoring the samples may take. A card that opens an allocation unit for each and
/// merges it needs about a second for a place; where it costs little, more places are sampled.
const TIME: Nanos = Nanos(6_000_000_000);
/// Stamps that are written a second time.
const AGAIN: usize = 4;

pub(super) fn sound<M: Medium>(
    work: &mut Work<'_, M>,
    run: u64,
    repeats: u32,
) -> Result<Sounding, VerifyError> {
    let blocks = work.medium.blocks();
    let places = Places::new(blocks, run);
    work.tell(Stage::Stamping, 0.0);
    // The last block goes first, so that everything else is written behind it.
    let last = blocks - 1;
    work.keep(&[last])?;
    work.stamp(last)?;
    let at_once = work.look(last)?.right();
    let mut written = vec![last];
    let sampled_places = sample(work, places.end_first(), &mut written)?;
    work.tell(Stage::Stamping, 0.5);
    work.keep(&places.comb)?;
    for tooth in &places.comb {
        work.stamp(*tooth)?;
    }
    written.extend(&places.comb);
    if places.run > 0 {
        work.keep_run(places.run_first, places.run)?;
        work.stamp_run(places.run_first, places.run)?;
        written.extend(places.run_first..places.run_first + places.run);
    }
    work.settle()?;
    let readings = readings(work, &written)?;
    let mut sounding = Sounding {
        places,
        sampled_places,
        readings,
        aliases: Vec::new(),
        windows: 0,
        unreadable: Vec::new(),
        at_once,
        stuck: Vec::new(),
        unstable: Vec::new(),
    };
    sounding.aliases = stamps_elsewhere(&sounding.readings);
    if sounding.readings.iter().all(|r| r.seen.right()) {
        search(work, &mut sounding)?;
    }
    if sounding.is_clean() {
        sounding.stuck = second_generation(work, &sounding.places)?;
    }
    if sounding.is_clean() {
        sounding.unstable = repeat(work, &written, repeats)?;
    }
    Ok(sounding)
}

/// Stamps blocks all over the device, in as many places as the time allows; gives their number.
fn sample<M: Medium>(
    work: &mut Work<'_, M>,
    end: u64,
    written: &mut Vec<u64>,
) -> Result<u64, VerifyError> {
    let mut random = work.random;
    let mut below = |n: u64| splitmix(&mut random) % n;
    let (first, neighbours) = samples(end, PLACES_MIN, NEIGHBOURS, &mut below);
    let began = work.medium.now();
    stamp_places(work, &first, neighbours, written)?;
    let spent = work.medium.now().saturating_sub(began);
    // Each place is written twice: stamped and put back.
    let affordable = TIME.0.saturating_sub(2 * spent.0) * first.len() as u64 / (2 * spent.0).max(1);
    let count = affordable.min(MORE);
    let neighbours = (MORE / count.max(1)).clamp(1, neighbours.max(1));
    let (mut more, neighbours) = match count {
        0 => (Vec::new(), 0),
        _ => samples(end, count, neighbours, &mut below),
    };
    work.random = random;
    let taken = |place: &u64| {
        let apart = |other: &u64| place.abs_diff(*other) >= NEIGHBOURS;
        first.iter().all(apart)
    };
    more.retain(taken);
    stamp_places(work, &more, neighbours, written)?;
    Ok((first.len() + more.len()) as u64)
}

/// Stamps so many neighbours in each of the places, upwards.
fn stamp_places<M: Medium>(
    work: &mut Work<'_, M>,
    places: &[u64],
    neighbours: u64,
    written: &mut Vec<u64>,
) -> Result<(), VerifyError> {
    work.keep_runs(places, neighbours)?;
    for place in places {
        work.look_whether_to_stop()?;
        work.stamp_run(*place, neighbours)?;
        written.extend(*place..*place + neighbours);
    }
    Ok(())
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

/// Reads the windows, upwards: a device reads on in order where it reads ahead.
fn search<M: Medium>(work: &mut Work<'_, M>, sounding: &mut Sounding) -> Result<(), VerifyError> {
    let (size, blocks, salt) = (work.medium.block_bytes(), work.medium.blocks(), work.salt());
    let pitch = sounding.places.pitch;
    let mut window = Vec::new();
    for first in sounding.places.windows(blocks) {
        work.look_whether_to_stop()?;
        work.tell(Stage::Searching, first as f64 / blocks as f64);
        let count = pitch.min(blocks - first);
        window.resize(count as usize * size, 0);
        work.read_bytes += window.len() as u64;
        sounding.windows += 1;
        match work.medium.read(first, &mut window) {
            Ok(()) => {}
            Err(MediumError::Gone(why)) => return Err(VerifyError::Gone(why)),
            Err(MediumError::Failed(_)) => {
                sounding.unreadable.push(first);
                continue;
            }
        }
        for (found, block) in (first..).zip(window.chunks(size)) {
            if let Some((written, _)) = read_stamp(block, salt)
                && written != found
            {
                sounding.aliases.push(Alias { written, found });
            }
        }
    }
    Ok(())
}

/// Writes some stamps once more: a device that keeps the first thing it was given shows it now.
fn second_generation<M: Medium>(
    work: &mut Work<'_, M>,
    places: &Places,
) -> Result<Vec<u64>, VerifyError> {
    let step = (places.comb.len() / AGAIN).max(1);
    let mut again: Vec<u64> = places.comb.iter().copied().step_by(step).collect();
    again.push(work.medium.blocks() - 1);
    for place in &again {
        work.stamp(*place)?;
    }
    work.settle()?;
    work.shuffle(&mut again);
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
