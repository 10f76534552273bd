//! The sampling pass: tags all over the device and at the probe LBAs at its end, read back in random order; and windows all over
//! the device, searched for tags of other blocks.

use super::medium::Medium;
use super::places::{NEIGHBOURS, Places, samples};
use super::tag::{Seen, read_tag};
use super::work::{Stage, VerifyError, Work};
use nandscope_units::Nanos;
use nandscope_units::random::SplitMix64;

/// Result of reading one tagged block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Block number.
    pub place: u64,
    /// Contents of the block after all writes.
    pub seen: Seen,
    /// Whether the contents equal those before the tag.
    pub as_before: bool,
    /// Whether all bytes of the contents are equal.
    pub constant: bool,
}

/// A tag that was found in another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alias {
    /// Block to which the tag was written.
    pub written: u64,
    /// Block in which the tag was found.
    pub found: u64,
}

/// Result of the sampling pass.
#[derive(Clone, Debug)]
pub struct SamplingPass {
    /// Places of the probe LBAs and the run.
    pub places: Places,
    /// Number of samples outside the probe LBAs and the run.
    pub sampled_places: u64,
    /// Readings of the tagged blocks, in the order of writing.
    pub readings: Vec<Reading>,
    /// Tags found in other blocks.
    pub aliases: Vec<Alias>,
    /// Number of windows read.
    pub windows: u64,
    /// First blocks of unreadable windows.
    pub unreadable: Vec<u64>,
    /// Whether the last block returned its tag before anything else was written.
    pub at_once: bool,
    /// Blocks that kept their first tag instead of the second.
    pub stuck: Vec<u64>,
    /// Blocks whose contents changed between readings.
    pub unstable: Vec<u64>,
    /// Unstable blocks that returned neither their tag nor one with wrong bits, and unwritten blocks whose contents changed
    /// between readings.
    pub changed: Vec<u64>,
    /// Unwritten blocks and checksums of their contents.
    sums: Vec<(u64, u32)>,
    /// Number of unwritten blocks that were read again.
    pub read_again: u64,
}

impl SamplingPass {
    /// Whether every tag was right, and nothing unusual was found.
    pub fn is_clean(&self) -> bool {
        self.readings.iter().all(|r| r.seen.right())
            && self.aliases.is_empty()
            && self.unreadable.is_empty()
            && self.stuck.is_empty()
            && self.unstable.is_empty()
            && self.changed.is_empty()
    }
}

/// Least number of samples on any device, and samples per journal batch.
const PLACES_MIN: usize = 4;
/// Largest number of samples.
const PLACES_MAX: u64 = 16;
/// Time after which no more samples are taken, including the restore of those taken. A card that opens an AU for each sample and
/// merges another one needs up to 1 s per sample, and as long for the restore; the first samples may find free AUs.
const TIME: Nanos = Nanos(6_000_000_000);
/// Approximate number of unwritten blocks that are read again.
const READ_AGAIN: u64 = 200;
/// Approximate number of tags that are written a second time.
const AGAIN: usize = 4;

pub(super) fn sampling_pass<M: Medium>(
    work: &mut Work<'_, M>,
    cache: u64,
    repeats: u32,
) -> Result<SamplingPass, VerifyError> {
    let blocks = work.medium.blocks();
    let places = Places::new(blocks, cache);
    work.tell(Stage::Tagging, 0.0);
    // The last block is tagged first, so that everything else is written after it.
    let last = blocks - 1;
    work.keep(&[last])?;
    work.tag(last)?;
    let at_once = work.look(last)?.right();
    // From here on, a tag on the device identifies it, unless the device is lying about flushes.
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

/// First blocks of at most `PLACES_MAX` samples below `end`, and the number of consecutive blocks per sample.
pub(super) fn sample_places(random: &mut SplitMix64, end: u64) -> (Vec<u64>, u64) {
    let below = |n: u64| random.below(n);
    let count = PLACES_MAX.min(end / NEIGHBOURS);
    samples(end, count, NEIGHBOURS, below)
}

/// Tags samples all over the device as long as the time allows; returns their number.
fn sample<M: Medium>(
    work: &mut Work<'_, M>,
    end: u64,
    written: &mut Vec<u64>,
) -> Result<u64, VerifyError> {
    let (mut places, neighbours) = sample_places(&mut work.random, end);
    work.shuffle(&mut places);
    let began = work.medium.now();
    let (before, mut sampled) = (written.len(), 0);
    // Estimated time to restore a sample.
    let mut back = Nanos::ZERO;
    // A group is one batch of the journal, since each batch must reach the disk.
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
            // Writes an early sample again, as the restore will: by now a card has closed its AU.
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

/// Reads all tags in random order; returns the readings in the order of writing.
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

/// Tags that were returned by other blocks.
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

/// Searches the windows for tags of other blocks, in ascending order, which suits read-ahead.
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

/// Writes some tags again, which shows whether a device keeps the first data written.
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

/// Reads all tags and some unwritten blocks again, which must be unchanged.
fn repeat<M: Medium>(
    work: &mut Work<'_, M>,
    written: &[u64],
    repeats: u32,
    sampling: &mut SamplingPass,
) -> Result<(), VerifyError> {
    let mut order = written.to_vec();
    let sums = std::mem::take(&mut sampling.sums);
    let mut others: Vec<(u64, u32)> = sums.into_iter().collect();
    // A device may treat the first read of a block differently: compares with the witnesses, which were read first.
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
