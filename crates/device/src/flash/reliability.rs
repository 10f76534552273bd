//! Raw bit errors of a block, and whether the ECC can correct them.
//!
//! The raw bit error rate (RBER) grows with program/erase cycles as a power law, is multiplied by a
//! factor that grows logarithmically with the time since programming, at any wear, and grows linearly
//! with reads of the block since the erase; the forms follow
//! Cai, Ghose, Haratsch, Luo and Mutlu, "Error characterization, mitigation, and recovery in
//! flash-memory-based solid-state drives" (Proc. IEEE 105, 2017). A codeword fails where a Poisson
//! number of errors exceeds what the ECC corrects; each read retry, with adjusted thresholds,
//! halves the rate. SLC blocks have a tenth of the errors of native ones. Where the profile says so, the pages
//! of a word line differ, and data ages by the temperature ([`crate::flash::retention`]). Differences between
//! blocks are left out; and data that is lost
//! while it is being moved is counted, but the host that reads it later is not told.

use crate::convert::ToF64;
use crate::flash::blocks::{NATIVE_CYCLE, Superblock};
use crate::flash::retention::RetentionClock;
use crate::invariant::{Checked, ensure};
use crate::profile::schema::ReliabilitySection;
use crate::random::Random;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};

const SLC_SHARE: f64 = 0.1;
const YEAR_S: f64 = 365.25 * 86_400.0;
/// Time after which retention errors begin to show, s: the origin of the logarithm.
const RETENTION_ORIGIN_S: f64 = 3_600.0;
/// Probability of a retry per page below which no random number is drawn.
const NEGLIGIBLE: f64 = 1e-9;

/// Outcome of reading a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReadVerdict {
    /// Number of additional array reads.
    pub(crate) retries: u32,
    /// Whether the data is lost.
    pub(crate) uncorrectable: bool,
}

/// The error model of a part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reliability {
    section: ReliabilitySection,
    /// Rated life, in the unit in which blocks count their wear.
    rated_wear: f64,
    /// Temperature-dependent ageing, if the profile has it.
    clock: Option<RetentionClock>,
}

/// A page to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageRead {
    /// Reads of the block since its last erase.
    pub(crate) reads: u32,
    /// Bytes to decode.
    pub(crate) bytes: u32,
    /// Number of the page in its word line; ignored if all pages have the same error rate.
    pub(crate) page: u32,
}

impl Reliability {
    /// An error model of blocks rated for `cycles` cycles in their native mode.
    pub(crate) fn new(section: &ReliabilitySection, cycles: u32) -> Self {
        Reliability {
            section: section.clone(),
            rated_wear: f64::from(cycles.max(1)) * NATIVE_CYCLE.to_f64(),
            clock: section.activation_ev.map(RetentionClock::new),
        }
    }

    /// Sets the flash temperature from `now` on.
    pub(crate) fn set_temperature(&mut self, celsius: f64, now: Nanos) {
        if let Some(clock) = &mut self.clock {
            clock.set_temperature(celsius, now);
        }
    }

    /// Whether the pages of a word line have different error rates.
    #[inline]
    pub(crate) fn has_page_types(&self) -> bool {
        self.section.page_rber.is_some()
    }

    /// Checks that the error model is that of the profile.
    pub(crate) fn audit(&self, section: &ReliabilitySection, cycles: u32, now: Nanos) -> Checked {
        let fresh = Reliability::new(section, cycles);
        ensure!(
            self.section == fresh.section
                && self.rated_wear == fresh.rated_wear
                && self.clock.is_some() == fresh.clock.is_some(),
            "the error model is not that of the profile"
        );
        match (&self.clock, section.activation_ev) {
            (Some(clock), Some(activation_ev)) => clock.audit(activation_ev, now),
            _ => Ok(()),
        }
    }

    /// Error rate of a page relative to the mean of its word line; without `page`, that of the worst page.
    fn page_factor(&self, block: &Superblock, page: Option<u32>) -> f64 {
        match (&self.section.page_rber, page) {
            (Some(pages), Some(page)) if !block.slc => {
                pages.get(page as usize).copied().unwrap_or(1.0)
            }
            (Some(pages), None) if !block.slc => pages.iter().copied().fold(0.0, f64::max),
            _ => 1.0,
        }
    }

    /// Share of the block's rated life that is used, 0 for a fresh block.
    fn used_up(&self, block: &Superblock) -> f64 {
        block.wear.to_f64() / self.rated_wear
    }

    /// Raw bit error rate at `now` of data in a block that was read `reads` times since its erase.
    pub(crate) fn rber(&self, block: &Superblock, reads: u32, now: Nanos) -> f64 {
        let s = &self.section;
        let worn = libm::pow(self.used_up(block), s.wear_exponent);
        let base = s.rber_fresh + (s.rber_rated - s.rber_fresh) * worn;
        let age_s = match &self.clock {
            None => now.saturating_sub(block.opened_at).as_secs_f64(),
            Some(clock) => clock.age_s(block.opened_at, now),
        };
        let span = libm::log(1.0 + YEAR_S / RETENTION_ORIGIN_S);
        let aged =
            (s.retention_factor_year - 1.0) * libm::log(1.0 + age_s / RETENTION_ORIGIN_S) / span;
        let disturbed = s.disturb_per_100k_reads * f64::from(reads) / 100_000.0;
        let rber = base * (1.0 + aged) + disturbed;
        (if block.slc { rber * SLC_SHARE } else { rber }).min(0.5)
    }

    /// Probability that a codeword has more errors than the ECC can correct.
    pub(crate) fn codeword_failure(&self, rber: f64) -> f64 {
        let lambda = rber * f64::from(self.section.codeword_bytes) * 8.0;
        poisson_above(f64::from(self.section.correctable_bits), lambda)
    }

    /// Reads a page of a block: draws the number of retries. For most reads of healthy blocks, limits stored with the
    /// block show that no retry is needed.
    #[inline]
    pub(crate) fn read(
        &self,
        block: &mut Superblock,
        read: PageRead,
        now: Nanos,
        random: &mut Random,
    ) -> ReadVerdict {
        if read.reads < block.safe_reads && now < block.safe_until {
            return ReadVerdict {
                retries: 0,
                uncorrectable: false,
            };
        }
        self.read_slowly(block, read, now, random)
    }

    fn read_slowly(
        &self,
        block: &mut Superblock,
        PageRead { reads, bytes, page }: PageRead,
        now: Nanos,
        random: &mut Random,
    ) -> ReadVerdict {
        let codewords = f64::from(bytes.div_ceil(self.section.codeword_bytes));
        let rber = self.rber(block, reads, now);
        let worst = rber * self.page_factor(block, None);
        if codewords * self.codeword_failure(worst * 1.05) < NEGLIGIBLE {
            // Until these limits, the error rate changes by far less than 5 %.
            block.safe_reads = reads.saturating_add(1_000);
            let ageing = self.clock.as_ref().map_or(1.0, RetentionClock::rate);
            block.safe_until = now + Nanos::from_secs_f64(60.0 / ageing.max(1.0));
            return ReadVerdict {
                retries: 0,
                uncorrectable: false,
            };
        }
        let mut rate = rber * self.page_factor(block, Some(page));
        for retries in 0..=self.section.retries {
            let fails = 1.0 - libm::pow(1.0 - self.codeword_failure(rate).min(1.0), codewords);
            if random.unit() >= fails {
                return ReadVerdict {
                    retries,
                    uncorrectable: false,
                };
            }
            rate /= 2.0;
        }
        ReadVerdict {
            retries: self.section.retries,
            uncorrectable: true,
        }
    }

    /// Whether one of the blocks of a superblock fails in an erase. Within the rated cycles the
    /// chance is one in ten million per block (data sheets promise fewer than 2 % grown bad blocks
    /// over 3,000 cycles, about 7 in a million; most of them late); beyond, it grows with the
    /// eighth power of the cycles.
    pub(crate) fn erase_fails(&self, block: &Superblock, blocks: u32, random: &mut Random) -> bool {
        let chance = 1e-7 * libm::pow(self.used_up(block).max(1.0), 8.0) * f64::from(blocks);
        random.unit() < chance
    }
}

/// Probability that a Poisson variable of mean `lambda` exceeds `limit`.
fn poisson_above(limit: f64, lambda: f64) -> f64 {
    if lambda <= 0.0 {
        return 0.0;
    }
    if lambda > 0.8 * limit {
        // Normal approximation with continuity correction, where the tail is not small.
        let z = (limit + 0.5 - lambda) / libm::sqrt(lambda);
        return 0.5 * libm::erfc(z / std::f64::consts::SQRT_2);
    }
    let first = limit + 1.0;
    let ln_first = first * libm::log(lambda) - lambda - libm::lgamma(first + 1.0);
    // The terms beyond `limit` fall at least as fast as a geometric series.
    (libm::exp(ln_first) / (1.0 - lambda / (first + 1.0))).min(1.0)
}

/// The flash's error model, and the random number generator that decides about each read and erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Errors {
    pub(crate) model: Reliability,
    pub(crate) random: Random,
}

impl Errors {
    pub(crate) fn new(section: &ReliabilitySection, cycles: u32, random: Random) -> Self {
        Errors {
            model: Reliability::new(section, cycles),
            random,
        }
    }

    /// Whether the pages of a word line have different error rates.
    #[inline]
    pub(crate) fn has_page_types(&self) -> bool {
        self.model.has_page_types()
    }

    /// Sets the flash temperature from `now` on.
    pub(crate) fn set_temperature(&mut self, celsius: f64, now: Nanos) {
        self.model.set_temperature(celsius, now);
    }

    /// Reads a page of a block: the retries that it needs, and whether it is lost.
    #[inline]
    pub(crate) fn read(
        &mut self,
        block: &mut Superblock,
        read: PageRead,
        now: Nanos,
    ) -> ReadVerdict {
        self.model.read(block, read, now, &mut self.random)
    }

    /// Whether the erase of one of `blocks` blocks of a superblock fails.
    pub(crate) fn erase_fails(&mut self, block: &Superblock, blocks: u32) -> bool {
        self.model.erase_fails(block, blocks, &mut self.random)
    }

    pub(crate) fn audit(&self, section: &ReliabilitySection, cycles: u32, now: Nanos) -> Checked {
        self.model.audit(section, cycles, now)?;
        self.random.audit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::blocks::WearPerErase;
    use crate::profile::library;

    fn poisson_above_exactly(limit: u32, lambda: f64) -> f64 {
        let mut term = libm::exp(-lambda);
        let mut below = term;
        for k in 1..=limit {
            term *= lambda / f64::from(k);
            below += term;
        }
        1.0 - below
    }

    /// The error model and a fresh block of the reference card.
    fn model() -> (Reliability, ReliabilitySection, Superblock, WearPerErase) {
        let entry = library::device("sm2708-250gb").expect("in the library");
        let nand = entry.profile().expect("valid").nand;
        let native = nand.native.expect("is TLC").cycles;
        (
            Reliability::new(&nand.reliability, native),
            nand.reliability,
            Superblock::fresh(),
            WearPerErase::new(native, nand.slc.cycles),
        )
    }

    #[test]
    fn retention_multiplies_the_errors_at_any_wear() {
        let (model, section, mut block, wear) = model();
        let year = Nanos::from_secs_f64(YEAR_S);
        for _ in 0..3 {
            let fresh = model.rber(&block, 0, Nanos::ZERO);
            let aged = model.rber(&block, 0, year) / fresh;
            assert!(
                (aged / section.retention_factor_year - 1.0).abs() < 1e-9,
                "{aged}"
            );
            // Data of a block opened later is younger.
            block.opened_at = year;
            assert_eq!(model.rber(&block, 0, year), fresh);
            block.opened_at = Nanos::ZERO;
            (0..700).for_each(|_| block.count_erase(wear));
        }
    }

    #[test]
    fn each_mode_uses_up_the_life_by_its_own_rated_cycles() {
        let (model, section, block, wear) = model();
        for (slc, cycles) in [(false, 1_500), (true, 40_000)] {
            let mut block = Superblock {
                slc,
                ..block.clone()
            };
            (0..cycles).for_each(|_| block.count_erase(wear));
            assert!(
                (model.used_up(&block) - 1.0).abs() < 1e-3,
                "{}",
                model.used_up(&block)
            );
            block.slc = false;
            let rber = model.rber(&block, 0, Nanos::ZERO);
            assert!((rber / section.rber_rated - 1.0).abs() < 2e-3, "{rber}");
        }
    }

    #[test]
    fn the_tail_agrees_with_the_sum() {
        for (limit, lambda) in [(4, 1.0), (10, 5.0), (72, 40.0), (72, 60.0), (72, 90.0)] {
            let exact = poisson_above_exactly(limit, lambda);
            let got = poisson_above(f64::from(limit), lambda);
            assert!(
                (got / exact - 1.0).abs() < 0.12,
                "{limit} {lambda}: {got} {exact}"
            );
        }
        assert_eq!(poisson_above(10.0, 0.0), 0.0);
    }
}
