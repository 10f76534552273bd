//! Write amplification against the theory of uniform random writes, and against exact accounts.
//!
//! **Which blocks count.** The theory knows one kind of block: full, its data decaying until it is
//! collected. The device has more blocks than that: when a victim is chosen, `collection_start`
//! blocks are free, and so is the one that the host has just opened (its first page apart); the
//! open block of relocation is half full on average. So of N blocks, N − collection_start − 1.5
//! hold data, and α = (N − collection_start − 1.5)·b / logical pages. All profiles here have one
//! die, one plane and a mapping unit of one page, so that a superblock is a block of b pages.
//!
//! With a fraction q of discards of mapped pages among the commands, α/s with s = (1 − 2q)/(1 − q)
//! replaces α.

use crate::support;
use crate::support::plain::Flash;
use crate::support::{Draw, closed_loop, device, discard, near, one, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::profile::check_profile;
use nandscope_device::profile::schema::{MapLocation, VictimPolicyName};
use nandscope_device::theory::{fifo, greedy, two_pools, two_temperatures};
use nandscope_device::{Device, Fill};

const START: u32 = 2;

fn flash(blocks: u32, b: u32) -> Flash {
    Flash {
        channels: 1,
        dies_per_channel: 1,
        planes: 1,
        blocks,
        pages_per_block: b,
        page_kib: 4,
        mt_per_s: 10_000.0,
        read_us: 1.0,
        program_us: 1.0,
    }
}

/// A profile in which α, the number of pages in blocks with data per logical page, is about `1 + spare_percent/100`;
/// returns the exact α.
fn with_spare(blocks: u32, b: u32, spare_percent: f64) -> (Profile, f64) {
    let mut p = flash(blocks, b).profile(8);
    p.ftl.as_mut().expect("page-mapped").collection_start = START;
    p.ftl.as_mut().expect("page-mapped").relocation_units = 1;
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 64;
    p.nand.slc.erase_us = 1.0;
    let holding = (f64::from(blocks - START) - 1.5) * f64::from(b);
    let logical = (holding / (1.0 + spare_percent / 100.0)) as u64;
    p.device.capacity_bytes = logical * 4096;
    (p, holding / logical as f64)
}

/// Write amplification of the steady state, reached without simulated time, by the number of erases: every erased block
/// had b programs.
fn untimed(p: &Profile, b: u32) -> f64 {
    let mut d = device(p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 7 }));
    let logical = d.capacity().0 / 4096;
    d.overwrite_randomly(4 * logical, 1);
    let before = d.counters().erases;
    d.overwrite_randomly(3 * logical, 2);
    let erased = d.counters().erases - before;
    sound(&d);
    erased as f64 * f64::from(b) / (3 * logical) as f64
}

fn greedy_case(blocks: u32, b: u32, percent: f64) {
    let (p, alpha) = with_spare(blocks, b, percent);
    let expected = greedy(alpha, b);
    near(
        &format!("greedy, b {b}, {percent} %"),
        untimed(&p, b),
        expected,
        0.01,
    );
}

#[test]
fn greedy_collection_of_blocks_of_64_pages() {
    for percent in [7.0, 10.0, 15.0, 28.0] {
        greedy_case(4096, 64, percent);
    }
}

#[test]
fn greedy_collection_of_blocks_of_128_pages() {
    for percent in [7.0, 10.0, 15.0, 28.0] {
        greedy_case(3072, 128, percent);
    }
}

#[test]
fn fifo_collection() {
    for percent in [7.0, 10.0, 15.0, 28.0] {
        let (mut p, alpha) = with_spare(2048, 64, percent);
        p.ftl.as_mut().expect("page-mapped").collection = VictimPolicyName::Fifo;
        near(
            &format!("FIFO, {percent} %"),
            untimed(&p, 64),
            fifo(alpha),
            0.01,
        );
    }
}

/// Pages programmed per page that the host wrote, from the counters.
struct Account {
    written: u64,
    programmed: u64,
}

impl Account {
    fn of(d: &Device) -> Self {
        let c = d.counters();
        Account {
            written: c.host_written.0,
            programmed: c.flash_programmed.0,
        }
    }
    fn amplification_since(&self, before: &Account) -> f64 {
        (self.programmed - before.programmed) as f64 / (self.written - before.written) as f64
    }
}

/// Mapped pages of a device, from which discards are drawn.
struct Mapped {
    pages: Vec<u32>,
    place: Vec<u32>,
}

impl Mapped {
    fn all(n: u32) -> Self {
        Mapped {
            pages: (0..n).collect(),
            place: (0..n).collect(),
        }
    }
    fn insert(&mut self, page: u32) {
        if self.place[page as usize] == u32::MAX {
            self.place[page as usize] = self.pages.len() as u32;
            self.pages.push(page);
        }
    }
    fn take(&mut self, at: u64) -> u32 {
        let page = self.pages.swap_remove(at as usize);
        if let Some(moved) = self.pages.get(at as usize) {
            self.place[*moved as usize] = at as u32;
        }
        self.place[page as usize] = u32::MAX;
        page
    }
}

#[test]
fn discards_lower_the_amplification_of_timed_writes() {
    let b = 256;
    for q in [0.05, 0.1, 0.2] {
        let (p, alpha) = with_spare(1024, b, 7.0);
        let mut d = device(&p, "direct");
        assert!(d.precondition(1.0, Fill::Random { seed: 7 }));
        let logical = d.capacity().0 / 4096;
        let mut mapped = Mapped::all(logical as u32);
        let mut draw = Draw(3);
        // Begins with the mapped share to which the mix converges, slowly by itself.
        let share = (1.0 - 2.0 * q) / (1.0 - q);
        let surplus = ((1.0 - share) * logical as f64) as u64;
        closed_loop(&mut d, 4, |i| {
            (i < surplus).then(|| {
                let page = mapped.take(draw.below(mapped.pages.len() as u64));
                discard(i, u64::from(page) * 4096, 4096)
            })
        });
        let mut command = |i: u64| {
            if (draw.below(1 << 40) as f64) < q * (1u64 << 40) as f64 && !mapped.pages.is_empty() {
                let page = mapped.take(draw.below(mapped.pages.len() as u64));
                discard(i, u64::from(page) * 4096, 4096)
            } else {
                let page = draw.below(logical);
                mapped.insert(page as u32);
                write(i, page * 4096, 4096)
            }
        };
        closed_loop(&mut d, 4, |i| (i < 4 * logical).then(|| command(i)));
        let before = Account::of(&d);
        closed_loop(&mut d, 4, |i| (i < 2 * logical).then(|| command(i)));
        let got = Account::of(&d).amplification_since(&before);
        let in_use = mapped.pages.len() as f64 / logical as f64;
        near("share that is mapped", in_use, share, 0.005);
        near(&format!("q {q}"), got, greedy(alpha / share, b), 0.01);
        sound(&d);
    }
}

#[test]
fn timed_random_writes_agree_with_the_formula() {
    let (p, alpha) = with_spare(2048, 128, 10.0);
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 7 }));
    let logical = d.capacity().0 / 4096;
    d.overwrite_randomly(4 * logical, 1);
    let mut draw = Draw(9);
    let before = Account::of(&d);
    closed_loop(&mut d, 4, |i| {
        (i < 2 * logical).then(|| write(i, draw.below(logical) * 4096, 4096))
    });
    let got = Account::of(&d).amplification_since(&before);
    near("timed greedy", got, greedy(alpha, 128), 0.01);
    sound(&d);
}

#[test]
fn hot_and_cold_data_that_are_not_separated() {
    let (mut p, alpha) = with_spare(2048, 64, 7.0);
    p.ftl.as_mut().expect("page-mapped").collection = VictimPolicyName::Fifo;
    let got = skewed(&p, 4);
    near("80/20", got, two_temperatures(alpha, 0.2, 0.8), 0.01);
}

/// Of the blocks, `START` and one per separated stream are free; one was just opened, and three are half full.
fn separated(blocks: u32, b: u32, spare_percent: f64) -> (Profile, f64) {
    let (mut p, _) = with_spare(blocks, b, spare_percent);
    let holding = (f64::from(blocks - START - 2) - 2.5) * f64::from(b);
    let logical = (holding / (1.0 + spare_percent / 100.0)) as u64;
    p.device.capacity_bytes = logical * 4096;
    p.ftl.as_mut().expect("page-mapped").separate_by_heat = true;
    (p, holding / logical as f64)
}

/// Write amplification of timed writes, 80 % of them to 20 % of the pages, after writing `warm_up` times the capacity.
fn skewed(p: &Profile, warm_up: u64) -> f64 {
    hot_and_cold(p, 2, warm_up)
}

/// As [`skewed`], with 10 − `hot_tenths` tenths of the writes to `hot_tenths` tenths of the pages.
fn hot_and_cold(p: &Profile, hot_tenths: u64, warm_up: u64) -> f64 {
    let mut d = device(p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 7 }));
    let logical = d.capacity().0 / 4096;
    let hot = logical * hot_tenths / 10;
    let mut draw = Draw(11);
    let mut command = |i| {
        let page = if draw.below(10) >= hot_tenths {
            draw.below(hot)
        } else {
            hot + draw.below(logical - hot)
        };
        write(i, page * 4096, 4096)
    };
    closed_loop(&mut d, 4, |i| (i < warm_up * logical).then(|| command(i)));
    let before = Account::of(&d);
    closed_loop(&mut d, 4, |i| (i < 4 * logical).then(|| command(i)));
    sound(&d);
    Account::of(&d).amplification_since(&before)
}

#[test]
fn hot_and_cold_data_in_pools_of_their_own() {
    for percent in [7.0, 28.0] {
        let (mut p, alpha) = separated(1024, 64, percent);
        p.ftl.as_mut().expect("page-mapped").collection = VictimPolicyName::CostBenefit;
        let apart = skewed(&p, 6);
        p.ftl.as_mut().expect("page-mapped").separate_by_heat = false;
        let together = skewed(&p, 6);
        let best = two_pools(alpha, 0.2, 0.8, 64);
        assert!(apart >= 0.99 * best, "{percent} %: {apart} beats {best}");
        assert!(apart <= 1.05 * best, "{percent} %: {apart} for {best}");
        assert!(
            apart <= 0.85 * together,
            "{percent} %: {apart}, {together} in one pool"
        );
    }
}

/// Rosenblum and Ousterhout, "The Design and Implementation of a Log-Structured File System", ACM TOCS 10(1), 1992,
/// section 3.5: where 90 % of the writes go to 10 % of the data and live data is sorted by age, the cost-benefit policy is
/// substantially better than the greedy one from a utilization of 60 % on, and reduces the write cost, which is twice the
/// amplification, by as much as 50 %.
#[test]
fn cost_benefit_halves_the_cost_of_greedy_collection() {
    let ratio = |utilization: f64| {
        let (mut p, _) = separated(512, 64, 100.0 / utilization - 100.0);
        let mut with = |policy| {
            p.ftl.as_mut().expect("page-mapped").collection = policy;
            hot_and_cold(&p, 1, 4)
        };
        with(VictimPolicyName::CostBenefit) / with(VictimPolicyName::Greedy)
    };
    let ratios = [0.6, 0.75, 0.9].map(ratio);
    assert!(ratios.is_sorted_by(|a, b| a > b), "{ratios:?}");
    assert!(ratios[0] < 0.85, "{ratios:?}");
    near("at 90 %", ratios[2], 0.5, 0.1);
}

#[test]
fn uniform_writes_are_not_changed_by_separation() {
    for percent in [7.0, 15.0] {
        let (p, alpha) = separated(2048, 64, percent);
        let expected = greedy(alpha, 64);
        near(&format!("{percent} %"), untimed(&p, 64), expected, 0.02);
    }
}

#[test]
fn a_saved_device_keeps_its_pools() {
    let (p, _) = separated(256, 64, 15.0);
    let mut d = device(&p, "direct");
    d.precondition(1.0, Fill::Sequential);
    let overwrite = |d: &mut Device| {
        let mut draw = Draw(3);
        closed_loop(d, 4, |i| {
            let pages = if draw.below(10) < 8 { 1024 } else { 8192 };
            (i < 20_000).then(|| write(i, draw.below(pages) * 4096, 4096))
        });
    };
    overwrite(&mut d);
    let mut loaded = Device::load(&d.save().expect("saves")).expect("loads");
    overwrite(&mut d);
    overwrite(&mut loaded);
    assert!(d.counters().gc_writes.0 > 0);
    assert_eq!(d.telemetry(), loaded.telemetry());
    assert!(d.save() == loaded.save());
}

#[test]
fn pools_with_a_window_of_the_map_are_refused() {
    let (mut p, _) = separated(256, 64, 15.0);
    check_profile(&p).expect("valid");
    let map = &mut p.ftl.as_mut().expect("page-mapped").map;
    map.location = MapLocation::Window;
    map.window_kib = Some(64);
    let errors = check_profile(&p).expect_err("the map is not in DRAM");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].key, "ftl.separate_by_heat");
}

#[test]
fn cost_benefit_lies_between_greedy_and_random_choice_of_victims() {
    // With uniform writes, age has no meaning, so that greedy is optimal; any policy that considers valid data is
    // better than one that does not: α/(α − 1).
    let (mut p, alpha) = with_spare(1024, 64, 15.0);
    p.ftl.as_mut().expect("page-mapped").collection = VictimPolicyName::CostBenefit;
    let got = untimed(&p, 64);
    assert!(got >= 0.99 * greedy(alpha, 64), "{got}");
    assert!(got <= 1.02 * fifo(alpha), "{got}");
}

#[test]
fn sequential_overwriting_costs_exactly_one_program_per_page() {
    let (p, _) = with_spare(128, 64, 7.0);
    let mut d = device(&p, "direct");
    let logical = d.capacity().0 / 4096;
    closed_loop(&mut d, 8, |i| {
        (i < 5 * logical).then(|| write(i, i % logical * 4096, 4096))
    });
    let c = d.counters();
    assert_eq!(c.flash_programmed, c.host_written);
    assert_eq!(c.host_written.0, 5 * logical * 4096);
    assert_eq!((c.gc_writes.0, c.padding.0, c.metadata.0), (0, 0, 0));
    assert_eq!(c.page_reads, 0, "nothing had to be moved");
}

#[test]
fn every_program_is_accounted_for_by_cause_and_by_place() {
    // Pages of one unit, then of four, several of which move at once.
    account_for_programs(4);
    account_for_programs(16);
}

fn account_for_programs(page_kib: u32) {
    let (mut p, _) = with_spare(128, 64, 15.0);
    p.nand.page_kib = page_kib;
    p.nand.word_lines = 64 * 4 / page_kib;
    p.ftl.as_mut().expect("page-mapped").journal_entries = 512;
    let mut d = device(&p, "direct");
    let logical = d.capacity().0 / 4096;
    let mut draw = Draw(5);
    for round in 0..20 {
        closed_loop(&mut d, 4, |i| {
            (i < logical / 4).then(|| write(i, draw.below(logical) * 4096, 4096))
        });
        one(
            &mut d,
            support::bare(0, nandscope_device::CommandKind::Flush),
        );
        support::rest(&mut d, nandscope_units::Nanos::from_millis(500));
        let c = d.counters();
        let by_cause = c.host_written.0 + c.gc_writes.0 + c.metadata.0 + c.padding.0;
        assert_eq!(c.flash_programmed.0, by_cause, "round {round}");
        // All programmed units are in erased blocks or in blocks that are not free; the open block of relocation may be
        // partly empty.
        let block = 64 * 4096;
        let by_place = c.erases * block + 128 * block - c.free.0;
        assert!(
            (0..=block).contains(&(by_place - c.flash_programmed.0)),
            "round {round}: {by_place} against {}",
            c.flash_programmed.0
        );
        sound(&d);
    }
    assert!(d.counters().gc_writes.0 > 0 && d.counters().metadata.0 > 0);
}

/// Metadata pages programmed for writes of units, on a drive with 16 entries per journal page; then the pages of its
/// map.
fn metadata(journal_pages: Option<u32>, units: impl Iterator<Item = u64>) -> (u64, u64) {
    let mut p = crate::support::plain::EIGHT_DIES.profile(8);
    let ftl = p.ftl.as_mut().expect("page-mapped");
    (ftl.journal_entries, ftl.journal_pages) = (16, journal_pages);
    let mut d = device(&p, "direct");
    let map_pages = (d.capacity().0 / 4096).div_ceil(1024);
    for unit in units {
        crate::support::one(&mut d, write(unit, unit * 4096, 4096));
    }
    sound(&d);
    (d.counters().metadata.0 / 4096, map_pages)
}

#[test]
fn a_round_of_the_journal_writes_each_changed_page_of_the_map_once() {
    // Each round of 1,024 entries changes all pages of the map, or one of them.
    let rounds = 6;
    let everywhere = |pages: u64| (0..rounds * 1024).map(move |i| i % pages * 1024 + i / pages);
    let (none, pages) = metadata(None, everywhere(96));
    assert_eq!((none, pages), (rounds * 64, 96));
    let (all, _) = metadata(Some(64), everywhere(96));
    assert_eq!(all, rounds * (64 + pages));
    let (one, _) = metadata(Some(64), 0..rounds * 1024);
    assert!((rounds * 65 - 1..=rounds * 66).contains(&one), "{one}");
}
