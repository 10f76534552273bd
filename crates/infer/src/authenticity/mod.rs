//! Detects counterfeit and failing devices with a few tags at chosen addresses instead of a full write and read. [`verify`] finds
//! wrap-arounds of any size; blocks that lose data, return old contents, or exist only in a cache; and the exact real capacity.
//!
//! Every block is saved in the [`UndoJournal`] before it is written, and is restored at the end, after an interruption, or by the
//! next run ([`restore`]).

mod capacity;
mod direct;
mod document;
mod evidence;
mod full;
mod held;
mod io_errors;
mod left;
mod medium;
mod places;
mod recognize;
mod restore;
mod restored;
mod sampling;
mod tag;
mod undo_journal;
mod verdict;
mod witness;
mod work;

pub use capacity::Real;
pub use direct::DirectMedium;
pub use document::{KeptSummary, Summary, full_step, kept_step, kept_summary, step, summary};
pub use evidence::{Evidence, Testimony};
pub use full::{Full, Pass};
pub use io_errors::IoErrors;
pub use left::{Kept, check_left};
pub use medium::{Medium, MediumError};
pub use places::{BLOCKS_MIN, Places};
pub use recognize::bears_tags;
pub use restore::{Since, restore};
pub use restored::Restored;
pub use sampling::{Alias, Reading, SamplingPass};
pub use tag::{LeftTag, Salt, Seen, judge, read_tag, write_tag};
pub use undo_journal::{
    Contents, DamagedRecord, JournaledDevice, Original, Progress, UndoJournal, UndoJournalError,
};
pub use verdict::{Behaviour, Finding, Verdict};
pub use witness::Witness;
pub use work::{Stage, Tell, VerifyError};

use capacity::{Test, of_end, of_wrap};
use restore::restore_below;
use work::Work;

/// Options of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Largest number of blocks written, including the restore. Writes past the end of a fake that evict its cache are not
    /// counted.
    pub budget: u32,
    /// Largest cache in the device, in blocks, that is certainly detected.
    pub cache: u64,
    /// Number of times that all tags are read again.
    pub repeats: u32,
    /// Whether the tags stay on a genuine device for [`check_left`]; its data is then in the journal only.
    pub leave: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            budget: 1980,
            cache: 512,
            repeats: 1,
            leave: false,
        }
    }
}

/// Verifies a device and restores its data. The journal must be empty at the start; [`Finding::restored`] is the result of the
/// restore, which [`UndoJournal::close`] needs.
///
/// # Errors
/// `VerifyError::Stopped` if it was interrupted and `VerifyError::Journal` if the journal could not be written: the data is
/// restored then ([`UndoJournal::end`]). `VerifyError::Gone` or `VerifyError::Unrestored` if the data is not completely restored:
/// [`restore`] must be called later. `VerifyError::Unfit` if the device cannot be verified.
pub fn verify<M: Medium>(
    medium: &mut M,
    journal: &mut UndoJournal,
    options: &Options,
    stop: &dyn Fn() -> bool,
    tell: Tell<'_>,
) -> Result<Finding, VerifyError> {
    let (blocks, block_bytes) = (medium.blocks(), medium.block_bytes());
    if blocks < BLOCKS_MIN || block_bytes < 64 {
        return Err(VerifyError::Unfit(format!(
            "a device of {blocks} blocks of {block_bytes} bytes is too small to be verified; at least {BLOCKS_MIN} blocks of 64 bytes are needed"
        )));
    }
    let began = medium.now();
    let mut errors = IoErrors::default();
    let witnesses = witness::read_witnesses(medium, journal.salt(), &mut errors);
    let witnesses = witnesses.map_err(|e| VerifyError::Gone(e.to_string()))?;
    journal.bind(&witnesses)?;
    let mut work = Work::new(medium, journal, stop, tell);
    let examined = examine(&mut work, options);
    work.tell(Stage::Restoring, 0.0);
    let (written, read_bytes) = (work.written, work.read_bytes);
    let left = std::mem::take(&mut work.generations);
    if let Err(error @ (VerifyError::Gone(_) | VerifyError::Unfit(_))) = examined {
        return Err(error);
    }
    let errors = errors.and(std::mem::take(&mut work.errors));
    let tagged_before = std::mem::take(&mut work.tagged_before);
    let examined = examined.map(|finding| Finding {
        tagged_before: tagged_before.into_iter().collect(),
        ..finding.concluded(errors)
    });
    if let Ok(finding) = &examined
        && options.leave
        && finding.verdict() == Verdict::Genuine
    {
        let tag = |(place, generation)| LeftTag { place, generation };
        let finding = examined?;
        return Ok(Finding {
            block_bytes,
            written,
            read_bytes,
            elapsed: medium.now().saturating_sub(began),
            left: left.into_iter().map(tag).collect(),
            ..finding
        });
    }
    let end = match &examined {
        Ok(finding) => finding.nothing_from(),
        Err(_) => u64::MAX,
    };
    let restored = restore_below(medium, journal, Since::Held, end);
    let restored = restored.map_err(|e| VerifyError::Gone(e.to_string()))?;
    journal.remember(&restored);
    let finding = match examined {
        Ok(finding) => finding,
        Err(error) if restored.is_complete() => return Err(error),
        Err(error) => {
            return Err(VerifyError::Unrestored {
                why: error.to_string(),
                restored: Box::new(restored),
            });
        }
    };
    Ok(Finding {
        block_bytes,
        written,
        read_bytes,
        // Errors of the restore count as well.
        errors: finding.errors.and(restored.errors.clone()),
        restored,
        elapsed: medium.now().saturating_sub(began),
        ..finding
    })
}

/// Runs all steps between the first tag and the restore.
fn examine<M: Medium>(work: &mut Work<'_, M>, options: &Options) -> Result<Finding, VerifyError> {
    let blocks = work.medium.blocks();
    let sampling = sampling::sampling_pass(work, options.cache, options.repeats)?;
    let mut finding = Finding::new(blocks, sampling);
    if let Some(Behaviour::Wrap { .. }) = finding.behaviour {
        let aliases = finding.sampling.aliases.clone();
        if let Some((period, real)) = of_wrap(work, &aliases, options.budget)? {
            finding.behaviour = Some(Behaviour::Wrap { period });
            finding.real = real;
            return Ok(finding);
        }
        finding.no_wrap();
    }
    let Some(behaviour) = finding.behaviour else {
        return Ok(finding);
    };
    if behaviour != Behaviour::Errors && !work.errors.is_empty() {
        // Failed operations may explain lost tags, so these do not show where the device ends.
        return Ok(finding);
    }
    let test = Test {
        flood: match behaviour {
            Behaviour::Cached { blocks } => blocks + 8,
            // A device may answer with the last data written, so another block is written.
            _ => 1,
        },
        twice: behaviour == Behaviour::Stale,
    };
    if !finding.sampling.stuck.is_empty() {
        retag(work, &mut finding)?;
    }
    let (low, high) = finding.bracket();
    if test.flood > finding.sampling.places.run {
        // The cache is larger than the run: right blocks may have been in the cache.
        finding.real = Real {
            at_least: 0,
            at_most: high,
        };
        return Ok(finding);
    }
    finding.real = of_end(work, &finding.sampling, low, high, test, options.budget)?;
    let still = match behaviour {
        Behaviour::Errors => ends_in_errors(work, &finding)?,
        Behaviour::Drop | Behaviour::Stale => still_loses(work, &finding)?,
        Behaviour::Wrap { .. } | Behaviour::Cached { .. } => true,
    };
    if !still {
        finding.fails();
        return Ok(finding);
    }
    if behaviour == Behaviour::Drop
        && let Some(real) = finding.real.exact()
        && mirrors(work, real)?
    {
        finding.behaviour = Some(Behaviour::Stale);
    }
    Ok(finding)
}

/// Whether the last block loses another tag: before, the power supply may have failed for a while.
fn still_loses<M: Medium>(work: &mut Work<'_, M>, finding: &Finding) -> Result<bool, VerifyError> {
    let last = finding.blocks - 1;
    work.tag(last)?;
    if let Some(before) = finding.real.at_least.checked_sub(1) {
        // A device may answer with the last data written.
        work.keep(&[before])?;
        work.tag(before)?;
    }
    work.settle()?;
    Ok(!work.look(last)?.right())
}

/// Whether the device keeps data below the end and still fails from the end on: otherwise a contact, cable or power supply failed
/// for a while.
fn ends_in_errors<M: Medium>(
    work: &mut Work<'_, M>,
    finding: &Finding,
) -> Result<bool, VerifyError> {
    let Some(real) = finding.real.exact().filter(|real| *real > 0) else {
        return Ok(false);
    };
    let right = finding.sampling.readings.iter();
    let right = right.filter(|r| r.seen.right()).map(|r| r.place).min();
    for place in [Some(real - 1), right].into_iter().flatten() {
        work.keep(&[place])?;
        if !work.tag(place)? || !work.look(place)?.right() {
            return Ok(false);
        }
    }
    let wrong = finding.wrong_places.iter().copied();
    // Only a few, as reading a bad block may take seconds.
    for place in wrong.filter(|place| *place >= real).take(8).chain([real]) {
        if work.sum(place)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a device that loses writes past its end answers there with the block modulo its size. On a blank device, that is not
/// visible without a tag in that block.
fn mirrors<M: Medium>(work: &mut Work<'_, M>, real: u64) -> Result<bool, VerifyError> {
    let last = work.medium.blocks() - 1;
    if real == 0 {
        return Ok(false);
    }
    let below = last % real;
    work.keep(&[below])?;
    work.tag(below)?;
    work.settle()?;
    Ok(work.tag_at(last)? == Some(below))
}

/// Up to this number of tags, all are written again.
const RETAG_ALL: usize = 256;

/// If blocks keep their first tag, tags other places again to find which blocks do so.
fn retag<M: Medium>(work: &mut Work<'_, M>, finding: &mut Finding) -> Result<(), VerifyError> {
    // Without the run, whose blocks behave alike. If there are many tags, every eighth, one per sample.
    let (run, last) = (finding.sampling.places.run_first, finding.blocks - 1);
    let readings = &mut finding.sampling.readings;
    let every = if readings.len() > RETAG_ALL { 8 } else { 1 };
    let mut number = 0;
    readings.retain(|r| {
        number += 1;
        r.place == last || r.place < run && number % every == 2 % every
    });
    for reading in readings.iter() {
        work.tag(reading.place)?;
    }
    work.settle()?;
    for reading in readings.iter_mut() {
        *reading = sampling::look(work, reading.place)?;
    }
    Ok(())
}
