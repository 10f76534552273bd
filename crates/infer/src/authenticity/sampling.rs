//! The first pass: tags all over the device and at the probe LBAs at its end, read back in random order, and windows
//! read all over the device for tags that belong elsewhere.

use super::medium::Medium;
use super::places::{NEIGHBOURS, Places, samples};
use super::tag::{Seen, read_tag};
use super::work::{Stage, VerifyError, Work};
use nandscope_units::Nanos;
use nandscope_units::random::SplitMix64;

/// Result of reading one tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Block number of the tag.
    pub place: u64,
    /// Contents of the block after all writes.
    pub seen: Seen,
    /// Whether what was there equals what had been there before the tag.
    pub as_before: bool,
    /// Whether all bytes of what was there are equal.
    pub constant: bool,
}

/// A tag that was found under another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The block it was written to.
    pub written: u64,
    /// The block it was found in.
    pub found: u64,
}

/// Result of the first pass.
#[derive(Clone, Debug)]
pub struct SamplingPass {
    /// Places of the probe LBAs and the run.
    pub places: Places,
    /// In how many places elsewhere blocks were sampled.
    pub sampled_places: u64,
    /// Results of the reads, in the order of writing.
    pub readings: Vec<Reading>,
    /// Tags that came up elsewhere.
    pub aliases: Vec<Alias>,
    /// Windows that were read.
    pub windows: u64,
    /// The first blocks of windows that could not be read.
    pub unreadable: Vec<u64>,
    /// Whether the last block gave its tag back as long as nothing else had been written.
    pub at_once: bool,
    /// Blocks that took the first tag and not the second.
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

impl SamplingPass {
    /// Every tag was found in its place.
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
/// Tags that are written a second time.
const AGAIN: usize = 4;

pub(super) fn sampling_pass<M: Medium>(
    work: &mut Work<'_, M>,
    cache: u64,
    repeats: u32,
) -> Result<SamplingPass, VerifyError> {
    let blocks = work.medium.blocks();
    let places = Places::new(blocks, cache);
    work.tell(Stage::Tagging, 0.0);
    // The last block goes first, so that everything else is written after it.
    let last = blocks - 1;
    work.keep(&[last])?;
    work.tag(last)?;
    let at_once = work.look(last)?.right();
    // From here on a tag proves which device it is, unless the device lies about what it has.
    work.settle()?;
    let mut written = vec![last];
    let sampled_places = sample(work, places.end_first(), &mut written)?;
    work.tell(Stage::Tagging, 0.5);
    work.keep(&places.probe_lbas)?;
    for lba in &places.probe_lbas {
        work.tag(*lba)?;
    }
    written.extend(&places.probe_lbas);
    if places.run > 0 {
        work.keep_run(places.run_first, places.run)?;
        work.tag_run(places.run_first, places.run)?;
        written.extend(places.run_first..places.run_first + places.run);
    }
    work.settle()?;
    let readings = readings(work, &written)?;
    let mut sampling = SamplingPass {
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
    sampling.aliases = tags_elsewhere(&sampling.readings);
    let first_stays = |r: &&Reading| matches!(r.seen, Seen::Tag { place, .. } if place == r.place);
    let stuck = sampling.readings.iter().filter(first_stays);
    sampling.stuck = stuck.map(|r| r.place).collect();
    if sampling.readings.iter().all(|r| r.seen.right()) {
        search(work, &mut sampling)?;
    }
    if sampling.is_clean() {
        second_generation(work, &mut sampling)?;
    }
    if sampling.is_clean() {
        repeat(work, &written, repeats, &mut sampling)?;
    }
    Ok(sampling)
}

/// Begins of samples below `end`, at most, and the number of neighbours of each.
pub(super) fn sample_places(random: &mut SplitMix64, end: u64) -> (Vec<u64>, u64) {
    let below = |n: u64| random.below(n);
    let count = PLACES_MAX.min(end / NEIGHBOURS);
    samples(end, count, NEIGHBOURS, below)
}

/// Tags blocks all over the device, in as many places as the time allows; gives their number.
fn sample<M: Medium>(
    work: &mut Work<'_, M>,
    end: u64,
    written: &mut Vec<u64>,
) -> Result<u64, VerifyError> {
    let (mut places, neighbours) = sample_places(&mut work.random, end);
    work.shuffle(&mut places);
    let began = work.medium.now();
    let (before, mut sampled) = (written.len(), 0);
    // Estimated time to restore a place.
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
            work.tag_run(*place, neighbours)?;
            written.extend(*place..*place + neighbours);
        }
        if sampled > 0 {
            // The earliest ones are written again, as all will be when they are put back: by now a card has
            // closed their units.
            let number = sampled / PLACES_MIN - 1;
            let again = written[before + number * neighbours as usize];
            let began = work.medium.now();
            work.tag(again)?;
            back = back.max(work.medium.now().saturating_sub(began));
        }
        sampled += group.len();
    }
    Ok(sampled as u64)
}

/// Looks at all tags in a random order; gives them in the order of writing.
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

/// Tags that other blocks answered with.
fn tags_elsewhere(readings: &[Reading]) -> Vec<Alias> {
    let elsewhere = readings.iter().filter_map(|r| match r.seen {
        Seen::Tag { place, .. } if place != r.place => Some(Alias {
            written: place,
            found: r.place,
        }),
        _ => None,
    });
    elsewhere.collect()
}

/// Reads the windows, upwards: a device reads on in order where it reads ahead.
fn search<M: Medium>(
    work: &mut Work<'_, M>,
    sampling: &mut SamplingPass,
) -> Result<(), VerifyError> {
    let (size, blocks, salt) = (work.medium.block_bytes(), work.medium.blocks(), work.salt());
    let pitch = sampling.places.pitch;
    let mut window = Vec::new();
    let every = (blocks / sampling.places.reach / READ_AGAIN).max(1);
    for first in sampling.places.windows(blocks) {
        work.look_whether_to_stop()?;
        work.tell(Stage::Searching, first as f64 / blocks as f64);
        let count = pitch.min(blocks - first);
        window.resize(count as usize * size, 0);
        sampling.windows += 1;
        if !work.read_run(first, &mut window)? {
            sampling.unreadable.push(first);
            continue;
        }
        let tagged = work.journal.original(first).is_some();
        if sampling.windows.is_multiple_of(every) && !tagged {
            sampling
                .sums
                .push((first, crc32fast::hash(&window[..size])));
        }
        for (found, block) in (first..).zip(window.chunks(size)) {
            if let Some((written, _)) = read_tag(block, salt)
                && written != found
            {
                sampling.aliases.push(Alias { written, found });
            }
        }
    }
    Ok(())
}

/// Writes some tags once more: a device that keeps the first thing it was given shows it now.
fn second_generation<M: Medium>(
    work: &mut Work<'_, M>,
    sampling: &mut SamplingPass,
) -> Result<(), VerifyError> {
    let probe_lbas = &sampling.places.probe_lbas;
    let step = (probe_lbas.len() / AGAIN).max(1);
    let mut again: Vec<u64> = probe_lbas.iter().copied().step_by(step).collect();
    again.push(work.medium.blocks() - 1);
    for place in &again {
        work.tag(*place)?;
    }
    work.settle()?;
    work.shuffle(&mut again);
    let mut stuck = Vec::new();
    for place in again {
        let seen = work.look(place)?;
        if seen.failed() {
            sampling.unstable.push(place);
        } else if !seen.right() {
            stuck.push(place);
        }
    }
    sampling.stuck = stuck;
    Ok(())
}

/// Reads all tags once more, and some blocks of the windows, which hold what they held before.
fn repeat<M: Medium>(
    work: &mut Work<'_, M>,
    written: &[u64],
    repeats: u32,
    sampling: &mut SamplingPass,
) -> Result<(), VerifyError> {
    let mut order = written.to_vec();
    let sums = std::mem::take(&mut sampling.sums);
    let mut others: Vec<(u64, u32)> = sums.into_iter().collect();
    // The first that was read of a block may differ from all that is read of it later.
    let witnesses = work.journal.witnesses().iter();
    let unwritten = witnesses.filter(|w| work.journal.original(w.place).is_none());
    others.extend(unwritten.map(|w| (w.place, w.sum)));
    sampling.read_again = others.len() as u64;
    for _ in 0..repeats {
        work.shuffle(&mut order);
        for place in &order {
            match work.look(*place)? {
                Seen::Right => {}
                Seen::Damaged { .. } | Seen::Unreadable | Seen::Refused => {
                    sampling.unstable.push(*place);
                }
                _ => {
                    sampling.unstable.push(*place);
                    sampling.changed.push(*place);
                }
            }
        }
        work.shuffle(&mut others);
        for (place, sum) in &others {
            match work.sum(*place)? {
                Some(again) if again == *sum => {}
                Some(_) => sampling.changed.push(*place),
                None => sampling.unstable.push(*place),
            }
        }
    }
    for list in [&mut sampling.unstable, &mut sampling.changed] {
        list.sort_unstable();
        list.dedup();
    }
    Ok(())
}
