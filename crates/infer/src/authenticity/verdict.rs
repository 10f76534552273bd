//! Conclusions from the tags: how the device behaves past its end, whether it fails or lacks capacity, and how certain that is.

use super::capacity::Real;
use super::io_errors::IoErrors;
use super::restored::Restored;
use super::sampling::{Reading, SamplingPass};
use super::tag::LeftTag;
use super::tag::Seen;
use nandscope_units::Nanos;
use serde::Serialize;

/// How a device treats blocks past its real capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Behaviour {
    /// Addresses past the end alias to lower ones.
    Wrap {
        /// Distance between aliases, in blocks.
        period: u64,
    },
    /// Writes are lost, and reads return unrelated data.
    Drop,
    /// Writes are lost, and reads return the old contents.
    Stale,
    /// Only the latest blocks are kept, in a cache; newer ones replace them.
    Cached {
        /// Observed size of the cache in blocks.
        blocks: u64,
    },
    /// Operations fail.
    Errors,
}

/// Verdict on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// All tags were right, and nothing unusual was found.
    Genuine,
    /// The device has less capacity than it claims.
    Fake,
    /// Some blocks lose or change data, or operations fail.
    Failing,
    /// Something is unusual, but proves nothing.
    Suspicious,
}

/// Results of a verification.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Number of blocks that the device claims.
    pub blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: usize,
    /// Limits of the real capacity, blocks.
    pub real: Real,
    /// Behaviour past the real end; `None` if there is no such end.
    pub behaviour: Option<Behaviour>,
    /// Result of the sampling pass.
    pub sampling: SamplingPass,
    /// Blocks whose tags were not right.
    pub wrong_places: Vec<u64>,
    /// Blocks that held a tag of another block when they were journaled.
    pub tagged_before: Vec<u64>,
    /// Number of blocks written, without the restore.
    pub written: u32,
    /// Bytes read in all passes.
    pub read_bytes: u64,
    /// Failed operations, including those of the restore.
    pub errors: IoErrors,
    /// Outcome of restoring the data.
    pub restored: Restored,
    /// Tags left on the device, whose data is then in the journal only.
    pub left: Vec<LeftTag>,
    /// Duration on the device's clock.
    pub elapsed: Nanos,
}

/// Least share of wrong tags, from the first wrong one on, that means that the device ends there.
const ENDS: f64 = 0.5;

impl Finding {
    pub(super) fn new(blocks: u64, sampling: SamplingPass) -> Self {
        let mut finding = Finding {
            blocks,
            block_bytes: 0,
            real: Real {
                at_least: blocks,
                at_most: blocks,
            },
            behaviour: None,
            sampling,
            wrong_places: Vec::new(),
            tagged_before: Vec::new(),
            written: 0,
            read_bytes: 0,
            errors: IoErrors::default(),
            restored: Restored::default(),
            left: Vec::new(),
            elapsed: Nanos::ZERO,
        };
        finding.wrong_places = finding.wrong().map(|r| r.place).collect();
        finding.behaviour = finding.behaviour_seen();
        finding
    }

    fn wrong(&self) -> impl Iterator<Item = &Reading> {
        self.sampling.readings.iter().filter(|r| !r.seen.right())
    }

    fn behaviour_seen(&self) -> Option<Behaviour> {
        let sampling = &self.sampling;
        if !sampling.aliases.is_empty() && self.aliases_agree() {
            return Some(Behaviour::Wrap { period: 0 });
        }
        self.ending()
    }

    /// Withdraws the wrap-around after a closer test.
    pub(super) fn no_wrap(&mut self) {
        self.behaviour = self.ending();
    }

    /// Withdraws the end: the device fails, and its end is not known.
    pub(super) fn fails(&mut self) {
        let (low, _) = self.bracket();
        self.behaviour = None;
        self.real = Real {
            at_least: low.map_or(0, |low| low + 1),
            at_most: self.blocks,
        };
    }

    /// The finding, considering all failed operations. On a device with errors, or one that kept no block (worn out,
    /// write-protected), only tags at other addresses prove a false capacity.
    pub(super) fn concluded(mut self, errors: IoErrors) -> Self {
        let doubtful = match self.behaviour {
            None | Some(Behaviour::Wrap { .. }) => false,
            Some(Behaviour::Errors) => self.real.at_least == 0,
            Some(_) => !errors.is_empty() || self.real.at_least == 0,
        };
        if doubtful {
            self.fails();
        }
        self.errors = errors;
        self
    }

    /// Whether no tag was kept: worn-out cards do not accept writes.
    pub fn keeps_nothing(&self) -> bool {
        self.sampling.readings.iter().all(|r| !r.seen.right())
    }

    /// Behaviour past an end without a wrap-around; `None` if the tags show no end.
    fn ending(&self) -> Option<Behaviour> {
        let sampling = &self.sampling;
        if self.wrong().any(|r| r.seen == Seen::Refused) {
            return None;
        }
        if !sampling.stuck.is_empty() {
            return Some(Behaviour::Stale);
        }
        let first = self.wrong().map(|r| r.place).min()?;
        // The run counts as one block, as its blocks behave alike.
        let single =
            |r: &&Reading| r.place < sampling.places.run_first || r.place + 1 == self.blocks;
        let rest = sampling.readings.iter().filter(single);
        let rest: Vec<&Reading> = rest.filter(|r| r.place >= first).collect();
        let wrong = rest.iter().filter(|r| !r.seen.right()).count();
        let last_is_right = sampling.readings.first().is_some_and(|r| r.seen.right());
        let many = wrong as f64 >= ENDS * rest.len() as f64;
        if last_is_right || !many {
            return None;
        }
        let failed = rest.iter().filter(|r| r.seen.failed()).count();
        match failed {
            0 => Some(self.kind_of(&rest)),
            _ => (failed * 2 > wrong).then_some(Behaviour::Errors),
        }
    }

    /// Whether the distances of aliases have a common divisor large enough for a wrap-around.
    fn aliases_agree(&self) -> bool {
        let differences = self.sampling.aliases.iter();
        let differences = differences.map(|a| a.written.abs_diff(a.found));
        let period = differences.fold(0, num_integer::gcd);
        period > 64 || self.sampling.readings.iter().all(|r| r.seen.right())
    }

    fn kind_of(&self, rest: &[&Reading]) -> Behaviour {
        let wrong = rest.iter().filter(|r| !r.seen.right());
        let others = wrong.clone().filter(|r| matches!(r.seen, Seen::Tag { .. }));
        // A device that answers with the last data written returns a right tag directly after the write.
        let echoes = others.count() * 2 > wrong.clone().count();
        if self.sampling.at_once && !echoes {
            return Behaviour::Cached {
                blocks: self.cache(),
            };
        }
        let stale = wrong
            .clone()
            .filter(|r| matches!(r.seen, Seen::Tag { .. }) || (r.as_before && !r.constant));
        if stale.count() * 2 > wrong.count() {
            Behaviour::Stale
        } else {
            Behaviour::Drop
        }
    }

    /// Size of the cache: the number of blocks at the end of the run that were still right.
    fn cache(&self) -> u64 {
        let (_, high) = self.bracket();
        let beyond = self.sampling.readings.iter().filter(|r| r.place >= high);
        let beyond: Vec<bool> = beyond.map(|r| r.seen.right()).collect();
        let first_right = beyond.iter().position(|right| *right);
        first_right.map_or(0, |i| (beyond.len() - i) as u64)
    }

    /// The last right block below all wrong ones, and the first wrong one.
    pub(super) fn bracket(&self) -> (Option<u64>, u64) {
        let high = self.wrong().map(|r| r.place).min();
        let high = high.unwrap_or(self.blocks - 1);
        let right = self.sampling.readings.iter().filter(|r| r.seen.right());
        let low = right.map(|r| r.place).filter(|p| *p < high).max();
        (low, high)
    }

    /// Verdict from the tags alone.
    pub fn verdict(&self) -> Verdict {
        if self.behaviour.is_some() {
            Verdict::Fake
        } else if !self.errors.is_empty() {
            Verdict::Failing
        } else if !self.sampling.aliases.is_empty() || self.tampers() {
            Verdict::Suspicious
        } else if !self.sampling.is_clean() {
            Verdict::Failing
        } else if !self.tagged_before.is_empty() {
            Verdict::Suspicious
        } else {
            Verdict::Genuine
        }
    }

    /// Whether the only fault is that blocks changed between readings, other than by wrong bits as in worn flash.
    pub fn tampers(&self) -> bool {
        self.wrong().next().is_none() && !self.sampling.changed.is_empty()
    }

    /// First block from which on there is no memory, so that nothing can be restored. With a wrap-around, data of other blocks is
    /// there.
    pub(super) fn nothing_from(&self) -> u64 {
        match self.behaviour {
            // Blocks that were readable before the errors began may be readable again.
            None | Some(Behaviour::Wrap { .. } | Behaviour::Errors) => u64::MAX,
            Some(_) => self.real.at_most,
        }
    }

    /// Number of independent tags: the run and the last block together count as one.
    pub fn tags(&self) -> u64 {
        let run = self.sampling.places.run_first;
        let single = self.sampling.readings.iter().filter(|r| r.place < run);
        single.count() as u64 + 1
    }

    /// Probability of detecting a device on which a share of the blocks, scattered at random, loses data. A false end is always
    /// detected.
    pub fn detection(&self, share: f64) -> f64 {
        1.0 - libm::pow(1.0 - share.clamp(0.0, 1.0), self.tags() as f64)
    }

    /// Probability of detecting a device on which a share of the allocation units loses data.
    pub fn detection_in_units(&self, share: f64) -> f64 {
        let places = self.sampling.sampled_places + 1;
        1.0 - libm::pow(1.0 - share.clamp(0.0, 1.0), places as f64)
    }
}
