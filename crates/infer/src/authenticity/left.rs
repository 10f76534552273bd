//! Tags that stay on a device without power. Reading them again shows data that the device keeps only while powered, or loses in
//! days or months. Whether the device was really without power is known to its user only.

use super::medium::Medium;
use super::sampling::{Reading, look};
use super::tag::{LeftTag, Seen};
use super::undo_journal::UndoJournal;
use super::verdict::Verdict;
use super::work::{Stage, Tell, VerifyError, Work};
use nandscope_units::Nanos;

/// Result of checking tags left on a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// Contents of each block, in ascending order.
    pub readings: Vec<Reading>,
    /// Blocks whose contents changed between readings.
    pub unstable: Vec<u64>,
    /// Duration on the device's clock.
    pub elapsed: Nanos,
}

/// Least share of lost tags, from the first wrong tag to the last tag, that shows that they were only in a cache.
const GONE: f64 = 0.5;

/// Reads the tags left on a device, then repeats that `repeats` times. Writes nothing.
///
/// # Errors
/// `VerifyError::Stopped` if it was interrupted; `VerifyError::Gone` if the device is gone; `VerifyError::Unfit` if
/// the list cannot belong to this device.
pub fn check_left<M: Medium>(
    medium: &mut M,
    journal: &mut UndoJournal,
    left: &[LeftTag],
    repeats: u32,
    stop: &dyn Fn() -> bool,
    tell: Tell<'_>,
) -> Result<Kept, VerifyError> {
    check_list(left, medium.blocks())?;
    let began = medium.now();
    let mut work = Work::new(medium, journal, stop, tell);
    work.generations = left.iter().map(|l| (l.place, l.generation)).collect();
    let mut order: Vec<u64> = left.iter().map(|l| l.place).collect();
    let mut kept = Kept::default();
    work.shuffle(&mut order);
    for (number, place) in order.iter().enumerate() {
        work.tell(Stage::Reading, number as f64 / order.len() as f64);
        kept.readings.push(look(&mut work, *place)?);
    }
    kept.readings.sort_by_key(|r| r.place);
    let right = |r: &&Reading| r.seen.right();
    let mut again: Vec<u64> = kept
        .readings
        .iter()
        .filter(right)
        .map(|r| r.place)
        .collect();
    for _ in 0..repeats {
        work.shuffle(&mut again);
        for place in &again {
            if !work.look(*place)?.right() {
                kept.unstable.push(*place);
            }
        }
    }
    kept.unstable.sort_unstable();
    kept.unstable.dedup();
    kept.elapsed = work.medium.now().saturating_sub(began);
    Ok(kept)
}

/// Checks that the list is not empty, and that its blocks are in ascending order and on the device.
fn check_list(left: &[LeftTag], blocks: u64) -> Result<(), VerifyError> {
    let in_order = left.windows(2).all(|pair| pair[0].place < pair[1].place);
    match left.last() {
        None => Err(VerifyError::Unfit(
            "the list of tagged blocks is empty".to_string(),
        )),
        Some(last) if !in_order || last.place >= blocks => Err(VerifyError::Unfit(
            "the list of tagged blocks is damaged: its blocks are not in order, or not on the device"
                .to_string(),
        )),
        Some(_) => Ok(()),
    }
}

impl Kept {
    fn count(&self, which: impl Fn(&Reading) -> bool) -> usize {
        self.readings.iter().filter(|r| which(r)).count()
    }

    /// Verdict from the tags.
    pub fn verdict(&self) -> Verdict {
        let wrong = self.readings.iter().position(|r| !r.seen.right());
        let Some(first) = wrong else {
            return match self.unstable.is_empty() {
                true => Verdict::Genuine,
                false => Verdict::Suspicious,
            };
        };
        let rest = &self.readings[first..];
        let gone = |r: &&Reading| r.seen == Seen::Foreign;
        if self.readings.iter().any(|r| r.seen.failed()) {
            // A contact, cable or reader may have failed, and the block may be readable later: no proof.
            return Verdict::Failing;
        }
        let many = rest.iter().filter(gone).count() as f64 >= GONE * rest.len() as f64;
        if many && rest.last().is_some_and(|r| !r.seen.right()) {
            Verdict::Fake
        } else {
            Verdict::Failing
        }
    }

    /// Reasons for the verdict, one sentence each.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons = Vec::new();
        let mut add = |count: usize, what: &str| {
            if count > 0 {
                reasons.push(format!(
                    "{count} of {} tagged blocks {what}",
                    self.readings.len()
                ));
            }
        };
        add(
            self.count(|r| r.seen.right()),
            "were found as they were left",
        );
        let older = |r: &Reading| matches!(r.seen, Seen::Tag { place, .. } if place == r.place);
        add(
            self.count(older),
            "were older ones of the same block: the latest write was lost",
        );
        let other = |r: &Reading| matches!(r.seen, Seen::Tag { place, .. } if place != r.place);
        add(self.count(other), "belong to other blocks");
        let damaged = |r: &Reading| matches!(r.seen, Seen::Damaged { .. });
        add(self.count(damaged), "have wrong bits");
        add(self.count(|r| r.seen == Seen::Foreign), "are gone");
        add(self.count(|r| r.seen.failed()), "cannot be read");
        add(
            self.unstable.len(),
            "gave other contents when they were read again",
        );
        if self.verdict() == Verdict::Fake {
            reasons.push("from some place on nearly all of them are gone: they were only in a cache, which loses its contents without power".to_string());
        }
        reasons
    }
}
