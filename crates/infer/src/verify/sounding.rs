//! The first pass: stamps all over the device and a comb of them at its end, read back in random order, and windows
//! read all over the device for stamps that belong elsewhere.

use super::medium::Medium;
use super::places::{NEIGHBOURS, Places, samples};
use super::stamp::{Seen, read_stamp};
use super::work::{Stage, VerifyError, Work};
use nandscope_units::Nanos;
use nandscope_units::random::SplitMix64;

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
    /// Those of them that gave something else altogether, and blocks that nobody had written
    /// and that were not the same again.
    pub changed: Vec<u64>,
    /// Checksums of blocks that nobody had written.
    sums: Vec<(u64, u32)>,
    /// Blocks that nobody had written, and that were read again.
    pub read_again: u64,
}

impl Sounding {
    /// Everything stood where it should.
    pub fn is_clean(&self) -> bool {
        self.readings.iter().all(|r| r.seen.right())
            && self.aliases.is_empty()
            && self.unreadable.is_empty()
            && self.stuck.is_empty()
            && self.unstable.is_empty()
            && self.changed.is_empty()
    }
}

/// Places that are sampled on any device.
const PLACES_MIN: usize = 4;
/// Places that are sampled where it costs little.
const PLACES_MAX: u64 = 16;
/// No further places are begun where sampling and putting back takes so much time. A card that opens an allocation
/// unit for each and merges another one needs up to a second for it, and once more to put it back; the first
/// ones may find room for nothing.
const TIME: Nanos = Nanos(6_000_000_000);
/// About so many blocks of the windows are read again.
const READ_AGAIN: u64 = 200;
/// Stamps that are written a second time.
const AGAIN: usize = 4;

pub(super) fn sound<M: Medium>(
    work: &mut Work<'_, M>,
    cache: u64,
    repeats: u32,
) -> Result<Sounding, VerifyError> {
    let blocks = work.medium.blocks();
    let places = Places::new(blocks, cache);
    work.tell(Stage::Stamping, 0.0);
    // The last block goes first, so that everything else is written behind it.
    let last = blocks - 1;
    work.keep(&[last])?;
    work.stamp(last)?;
    let at_once = work.look(last)?.right();
    // From here on a stamp proves which device it is, unless the device lies about what it has.
    work.settle()?;
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
        changed: Vec::new(),
        sums: Vec::new(),
        read_again: 0,
    };
    sounding.aliases = stamps_elsewhere(&sounding.readings);
    let first_stays =
        |r: &&Reading| matches!(r.seen, Seen::Stamp { place, .. } if place == r.place);
    let stuck = sounding.readings.iter().filter(first_stays);
    sounding.stuck = stuck.map(|r| r.place).collect();
    if sounding.readings.iter().all(|r| r.seen.right()) {
        search(work, &mut sounding)?;
    }
    if sounding.is_clean() {
        second_generation(work, &mut sounding)?;
    }
    if sounding.is_clean() {
        repeat(work, &written, repeats, &mut sounding)?;
    }
    Ok(sounding)
}

/// Where samples begin below `end`, at most, and how many neighbours each has.
pub(super) fn sample_places(random: &mut SplitMix64, end: u64) -> (Vec<u64>, u64) {
    let below = |n: u64| random.below(n);
    let count = PLACES_MAX.min(end / NEIGHBOURS);
    samples(end, count, NEIGHBOURS, below)
}

/// Stamps blocks all over the device, in as many places as the time allows; gives their number.
fn sample<M: Medium>(
    work: &mut Work<'_, M>,
    end: u64,
    written: &mut Vec<u64>,
) -> Result<u64, VerifyError> {
    let (mut places, neighbours) = sample_places(&mut work.random, end);
    work.shuffle(&mut places);
    let began = work.medium.now();
    let (before, mut sampled) = (written.len(), 0);
    // What it takes to put a place back, as far as it was seen.
    let mut back = Nanos::ZERO;
    // A group goes into the journal at once: each time it must reach the disk.
    for group in places.chunks_mut(PLACES_MIN) {
        let spent = work.medium.now().saturating_sub(began);
        if spent.0 + back.0 * sampled as u64 > TIME.0 {
            break;
        }
        group.sort_unstable();
        work.keep_runs(group, neighbours)?;
        for place in group.iter() {
            work.look_whether_to_stop()?;
            work.stamp_run(*place, neighbours)?;
            written.extend(*place..*place + neighbours);
        }
        if sampled > 0 {
            // The earliest ones are written again, as all will be when they are put back: by now a card has
            // closed their units.
            let number = sampled / PLACES_MIN - 1;
            let again = written[before + number * neighbours as usize];
            let began = work.medium.now();
            work.stamp(again)?;
            back = back.max(work.medium.now().saturating_sub(began));
        }
        sampled += group.len();
    }
    Ok(sampled as u64)
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
    let every = (blocks / sounding.places.reach / READ_AGAIN).max(1);
    for first in sounding.places.windows(blocks) {
        work.look_whether_to_stop()?;
        work.tell(Stage::Searching, first as f64 / blocks as f64);
        let count = pitch.min(blocks - first);
        window.resize(count as usize * size, 0);
        sounding.windows += 1;
        if !work.read_run(first, &mut window)? {
            sounding.unreadable.push(first);
            continue;
        }
        let stamped = work.journal.original(first).is_some();
        if sounding.windows.is_multiple_of(every) && !stamped {
            sounding
                .sums
                .push((first, crc32fast::hash(&window[..size])));
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
    sounding: &mut Sounding,
) -> Result<(), VerifyError> {
    let comb = &sounding.places.comb;
    let step = (comb.len() / AGAIN).max(1);
    let mut again: Vec<u64> = comb.iter().copied().step_by(step).collect();
    again.push(work.medium.blocks() - 1);
    for place in &again {
        work.stamp(*place)?;
    }
    work.settle()?;
    work.shuffle(&mut again);
    let mut stuck = Vec::new();
    for place in again {
        let seen = work.look(place)?;
        if seen.failed() {
            sounding.unstable.push(place);
        } else if !seen.right() {
            stuck.push(place);
        }
    }
    sounding.stuck = stuck;
    Ok(())
}

/// Reads all stamps once more, and some blocks of the windows, which hold what they held before.
fn repeat<M: Medium>(
    work: &mut Work<'_, M>,
    written: &[u64],
    repeats: u32,
    sounding: &mut Sounding,
) -> Result<(), VerifyError> {
    let mut order = written.to_vec();
    let sums = std::mem::take(&mut sounding.sums);
    let mut others: Vec<(u64, u32)> = sums.into_iter().collect();
    // The first that was read of a block may differ from all that is read of it later.
    let witnesses = work.journal.witnesses().iter();
    let unwritten = witnesses.filter(|w| work.journal.original(w.place).is_none());
    others.extend(unwritten.map(|w| (w.place, w.sum)));
    sounding.read_again = others.len() as u64;
    for _ in 0..repeats {
        work.shuffle(&mut order);
        for place in &order {
            match work.look(*place)? {
                Seen::Right => {}
                Seen::Damaged { .. } | Seen::Unreadable | Seen::Refused => {
                    sounding.unstable.push(*place);
                }
                _ => {
                    sounding.unstable.push(*place);
                    sounding.changed.push(*place);
                }
            }
        }
        work.shuffle(&mut others);
        for (place, sum) in &others {
            match work.sum(*place)? {
                Some(again) if again == *sum => {}
                Some(_) => sounding.changed.push(*place),
                None => sounding.unstable.push(*place),
            }
        }
    }
    for list in [&mut sounding.unstable, &mut sounding.changed] {
        list.sort_unstable();
        list.dedup();
    }
    Ok(())
}
