//! What the tags say: what the device does instead of keeping, whether it is one that fails or one that never
//! had what it claims, and in how far that is certain.

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
    /// It keeps them in other blocks, so many below.
    Wrap {
        /// The distance in blocks.
        period: u64,
    },
    /// It loses what is written and answers with something else.
    Drop,
    /// It answers with what was there before.
    Stale,
    /// It keeps the latest ones in a cache, and loses them when others come.
    Cached {
        /// Observed size of the cache in blocks.
        blocks: u64,
    },
    /// It answers with errors.
    Errors,
}

/// Verdict on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every tag was found in its place.
    Genuine,
    /// It has less capacity than it claims.
    Fake,
    /// Single blocks lose or change data.
    Failing,
    /// Something does not fit, and does not prove anything.
    Suspicious,
}

/// Everything that was found out.
#[derive(Clone, Debug)]
pub struct Finding {
    /// Blocks that the device claims.
    pub blocks: u64,
    /// Size of a block, bytes.
    pub block_bytes: usize,
    /// Blocks that it has.
    pub real: Real,
    /// How it treats the blocks past its end.
    pub behaviour: Option<Behaviour>,
    /// The first pass.
    pub sampling: SamplingPass,
    /// Blocks whose tags were not right.
    pub wrong_places: Vec<u64>,
    /// Blocks that held a tag of another one before they were written.
    pub tagged_before: Vec<u64>,
    /// Blocks written, those put back not counted.
    pub written: u32,
    /// Sum over all passes.
    pub read_bytes: u64,
    /// Operations that failed, those included by which the data was put back.
    pub errors: IoErrors,
    /// Outcome of restoring the data.
    pub restored: Restored,
    /// Tags that were left on the device; the data has not been put back then.
    pub left: Vec<LeftTag>,
    /// The device's time that it took.
    pub elapsed: Nanos,
}

/// If at least this share of the tags after the first wrong one is wrong, the device ends there.
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

    /// Takes the wrap back, after a closer look.
    pub(super) fn no_wrap(&mut self) {
        self.behaviour = self.ending();
    }

    /// Takes the end back: the device fails, and where it ends is not known.
    pub(super) fn fails(&mut self) {
        let (low, _) = self.bracket();
        self.behaviour = None;
        self.real = Real {
            at_least: low.map_or(0, |low| low + 1),
            at_most: self.blocks,
        };
    }

    /// The finding in view of all operations that failed. A device that answers with errors, or of which no block was
    /// seen to keep data (worn out, write-protected), is not a proof of a false capacity; only tags under other names
    /// are.
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

    /// Whether not a single tag was kept: a card that is worn out takes no writes any more.
    pub fn keeps_nothing(&self) -> bool {
        self.sampling.readings.iter().all(|r| !r.seen.right())
    }

    /// Behaviour of a device that ends somewhere and does not wrap around.
    fn ending(&self) -> Option<Behaviour> {
        let sampling = &self.sampling;
        if self.wrong().any(|r| r.seen == Seen::Refused) {
            return None;
        }
        if !sampling.stuck.is_empty() {
            return Some(Behaviour::Stale);
        }
        let first = self.wrong().map(|r| r.place).min()?;
        // The run is one place: its blocks share a fate.
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

    /// Whether the names differ by multiples of something worth the name of a wrap, and not at random.
    fn aliases_agree(&self) -> bool {
        let differences = self.sampling.aliases.iter();
        let differences = differences.map(|a| a.written.abs_diff(a.found));
        let period = differences.fold(0, num_integer::gcd);
        period > 64 || self.sampling.readings.iter().all(|r| r.seen.right())
    }

    fn kind_of(&self, rest: &[&Reading]) -> Behaviour {
        let wrong = rest.iter().filter(|r| !r.seen.right());
        let others = wrong.clone().filter(|r| matches!(r.seen, Seen::Tag { .. }));
        // A device that answers with what it was given last does so right after a write too.
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

    /// Number of blocks written last that were still right: the size of the cache.
    fn cache(&self) -> u64 {
        let (_, high) = self.bracket();
        let beyond = self.sampling.readings.iter().filter(|r| r.place >= high);
        let beyond: Vec<bool> = beyond.map(|r| r.seen.right()).collect();
        let first_right = beyond.iter().position(|right| *right);
        first_right.map_or(0, |i| (beyond.len() - i) as u64)
    }

    /// The last tag below all wrong ones, and the first wrong one.
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

    /// Whether the only thing that was wrong is that blocks gave something else when they were read again: not
    /// their tag with wrong bits, as worn flash does.
    pub fn tampers(&self) -> bool {
        self.wrong().next().is_none() && !self.sampling.changed.is_empty()
    }

    /// The first block from which on nothing can be put back, since nothing is there. A wrap has other blocks'
    /// data there.
    pub(super) fn nothing_from(&self) -> u64 {
        match self.behaviour {
            // What could be read before the errors began may be there again.
            None | Some(Behaviour::Wrap { .. } | Behaviour::Errors) => u64::MAX,
            Some(_) => self.real.at_most,
        }
    }

    /// Number of independent tags: the run and the last block count as one.
    pub fn tags(&self) -> u64 {
        let run = self.sampling.places.run_first;
        let single = self.sampling.readings.iter().filter(|r| r.place < run);
        single.count() as u64 + 1
    }

    /// How likely it is that a device of which this share of the blocks, scattered at random, loses data
    /// was found out. One that ends anywhere is found for certain.
    pub fn detection(&self, share: f64) -> f64 {
        1.0 - libm::pow(1.0 - share.clamp(0.0, 1.0), self.tags() as f64)
    }

    /// The same where whole allocation units lose data: their neighbours share their fate.
    pub fn detection_in_units(&self, share: f64) -> f64 {
        let places = self.sampling.sampled_places + 1;
        1.0 - libm::pow(1.0 - share.clamp(0.0, 1.0), places as f64)
    }
}
