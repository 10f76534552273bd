//! Recognizes the device of a journal before anything is restored on it. Model and size are no proof, and a serial number is
//! often that of the card reader. A tag of the journal is a proof, as its salt is unique.

use super::Options;
use super::evidence::{Evidence, Testimony};
use super::held::{contents_of, is_ours};
use super::io_errors::IoErrors;
use super::medium::{Medium, MediumError};
use super::places::Places;
use super::sampling::sample_places;
use super::tag::Salt;
use super::undo_journal::{Contents, Progress};
use super::witness::Witness;
use nandscope_units::random::SplitMix64;
use std::collections::BTreeSet;

impl Evidence {
    /// Compares a device with a journal. Writes nothing.
    ///
    /// # Errors
    /// `MediumError` if the device is gone.
    pub(super) fn gather<M: Medium>(
        medium: &mut M,
        journal: &Contents,
    ) -> Result<Self, MediumError> {
        let mut evidence = Evidence::default();
        if !journal.journaled().has_size_of(medium) {
            evidence.blocks = journal.originals().len() as u32;
            return Ok(evidence);
        }
        let mut originals: Vec<_> = journal.originals().iter().collect();
        originals.sort_by_key(|original| original.place);
        for run in originals.chunk_by(|a, b| a.place + 1 == b.place) {
            let contents = contents_of(medium, run, &mut IoErrors::default())?;
            for (original, there) in run.iter().zip(contents) {
                evidence.blocks += 1;
                let count = match there {
                    None => &mut evidence.unreadable,
                    Some(there) if there == original.contents => &mut evidence.same,
                    Some(there) if is_ours(&there, original, journal.salt()) => &mut evidence.tags,
                    Some(_) => continue,
                };
                *count += 1;
            }
        }
        if evidence.tags == 0 {
            // Tags in blocks with a damaged or missing record are a proof as well.
            let recorded = journal.originals().iter().map(|o| o.place).collect();
            let places = &tagged_places(journal, medium.blocks()) | &journal.places();
            let tagged = tagged(medium, &places - &recorded, journal.salt())?;
            evidence.tags = tagged.len() as u32;
        }
        evidence.testimony = hear(medium, journal)?;
        Ok(evidence)
    }

    /// Whether this is the device of the journal. Without a tag, only if at most the first batch can be tagged: a copy of the
    /// device has the same contents.
    pub(super) fn proves(&self, journal: &Contents) -> bool {
        let nothing_written = self.blocks == 0 && journal.damaged().is_empty();
        let first_batch_only =
            journal.batches().len() <= 1 || journal.progress() == Progress::FirstBatchLeft;
        self.tags > 0
            || nothing_written
            || first_batch_only && self.same == self.blocks && self.testimony.is_convincing()
    }
}

/// Compares a device with the witnesses of its journal.
///
/// # Errors
/// `MediumError` if the device is gone.
fn hear<M: Medium>(medium: &mut M, journal: &Contents) -> Result<Testimony, MediumError> {
    let written = journal.places();
    let mut testimony = Testimony::default();
    let mut block = vec![0; medium.block_bytes()];
    for witness in journal.witnesses() {
        if written.contains(&witness.place) || witness.place >= medium.blocks() {
            continue;
        }
        match medium.read(witness.place, &mut block) {
            Ok(()) => {}
            Err(MediumError::Failed(_)) => continue,
            Err(gone @ MediumError::Gone(_)) => return Err(gone),
        }
        let same = Witness::of(witness.place, &block) == *witness;
        testimony.of += 1;
        testimony.same += u32::from(same);
        testimony.distinctive += u32::from(same && witness.distinctive);
    }
    Ok(testimony)
}

/// Whether a device holds a tag of a journal and therefore is the journal's device, whatever its current name. Writes nothing.
///
/// # Errors
/// `MediumError::Gone` if the device is gone.
pub fn bears_tags<M: Medium>(medium: &mut M, journal: &Contents) -> Result<bool, MediumError> {
    Ok(Evidence::gather(medium, journal)?.tags > 0)
}

/// Addresses that the sampling pass of a run with this journal's salt writes.
pub(super) fn tagged_places(journal: &Contents, blocks: u64) -> BTreeSet<u64> {
    let places = Places::new(blocks, Options::default().cache);
    let mut random = SplitMix64::new(journal.salt().seed());
    let (samples, neighbours) = sample_places(&mut random, places.end_first());
    let samples = samples
        .into_iter()
        .flat_map(|first| first..first + neighbours);
    let run = places.run_first..blocks;
    samples.chain(places.probe_lbas).chain(run).collect()
}

/// The blocks among `places` that begin with a tag of this salt.
///
/// # Errors
/// `MediumError` if the device is gone.
pub(super) fn tagged<M: Medium>(
    medium: &mut M,
    places: BTreeSet<u64>,
    salt: Salt,
) -> Result<Vec<u64>, MediumError> {
    let mut block = vec![0; medium.block_bytes()];
    let mut tagged = Vec::new();
    for place in places {
        match medium.read(place, &mut block) {
            Ok(()) if block.starts_with(&salt.0) => tagged.push(place),
            Ok(()) | Err(MediumError::Failed(_)) => {}
            Err(gone @ MediumError::Gone(_)) => return Err(gone),
        }
    }
    Ok(tagged)
}
