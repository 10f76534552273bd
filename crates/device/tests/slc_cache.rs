//! The SLC cache: its size, its speed until it is full, that idle time and discards free it, and that it is smaller on a
//! full device.

use crate::support::plain::Flash;
use crate::support::{closed_loop, device, discard, near, one, rest, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::{ArraySection, Cell, SlcCacheSection};
use nandscope_device::{Device, Fill};
use nandscope_units::Nanos;

const SPARE: u32 = 12;

/// TLC with one-shot programs of 900 µs for three pages; SLC programs take 100 µs per page: a third of the time per
/// byte. A superblock has 4 dies × 64 word lines × 16 KiB × 3.
fn flash() -> Flash {
    Flash {
        channels: 4,
        dies_per_channel: 1,
        planes: 1,
        blocks: 100,
        pages_per_block: 64,
        page_kib: 16,
        mt_per_s: 10_000.0,
        read_us: 20.0,
        program_us: 100.0,
    }
}

fn slc_block() -> u64 {
    flash().superblock_bytes()
}

fn with_cache(fixed: u32, dynamic: u32) -> Profile {
    let mut p = flash().profile(SPARE);
    p.nand.cell = Cell::Tlc;
    p.nand.native = Some(ArraySection {
        read_us: vec![50.0; 3],
        program_us: vec![900.0],
        erase_us: 1000.0,
        cycles: 1_000_000,
    });
    p.device.capacity_bytes = u64::from(100 - SPARE) * slc_block() * 3;
    p.nand.cache_program = true;
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
    p.ftl.as_mut().expect("page-mapped").slc_cache = Some(SlcCacheSection {
        static_gb: f64::from(fixed) * slc_block() as f64 / 1e9,
        dynamic_gb: f64::from(dynamic) * slc_block() as f64 / 1e9,
        lends_spare_percent: 0.0,
        reserve_gb: 0.0,
        fold_after_ms: 100.0,
        fold_blocks_host: false,
    });
    p
}

/// Sequential writes in steps of a SLC superblock; the speed of each, MB/s.
fn speeds(d: &mut Device, from: u64, steps: u64) -> Vec<f64> {
    let length = 131_072;
    (0..steps)
        .map(|step| {
            let start = from + step * slc_block();
            closed_loop(d, 8, |i| {
                let offset = i * u64::from(length);
                (offset < slc_block()).then(|| write(i, start + offset, length))
            })
            .mb_per_s()
        })
        .collect()
}

const SLC_MB_S: f64 = 4.0 * 16_384.0 / 100.0;
const TLC_MB_S: f64 = 4.0 * 3.0 * 16_384.0 / 900.0;

fn fast_steps(speeds: &[f64]) -> usize {
    speeds
        .iter()
        .filter(|s| **s > (SLC_MB_S + TLC_MB_S) / 2.0)
        .count()
}

#[test]
fn writes_are_fast_while_the_cache_lasts_and_go_through_behind_it() {
    for (fixed, dynamic) in [(4, 0), (0, 12), (4, 12)] {
        let p = with_cache(fixed, dynamic);
        let mut d = device(&p, "direct");
        let limit = d.counters().slc_limit.0;
        assert_eq!(limit, u64::from(fixed + dynamic) * slc_block());
        let cache = (fixed + dynamic) as usize;
        let got = speeds(&mut d, 0, 24);
        let fast = fast_steps(&got);
        assert!(
            (cache..=cache + 1).contains(&fast),
            "{fast} of {cache}: {got:?}"
        );
        near("in the cache", got[2], SLC_MB_S, 0.05);
        near("after it", got[20], TLC_MB_S, 0.05);
        assert_eq!(d.counters().folded.0, 0, "nothing had to be folded yet");
        sound(&d);
    }
}

#[test]
fn idle_time_folds_and_gives_the_cache_back() {
    let p = with_cache(0, 12);
    let mut d = device(&p, "direct");
    speeds(&mut d, 0, 24);
    let used = d.counters().slc_used.0;
    assert!(used >= 11 * slc_block(), "{used}");
    rest(&mut d, Nanos::from_millis(50));
    assert_eq!(
        d.counters().folded.0,
        0,
        "it has not been idle for long enough"
    );
    rest(&mut d, Nanos::from_secs(20));
    assert_eq!(d.counters().slc_used.0, 0);
    let folded = d.counters().folded.0;
    assert!(folded >= used, "{folded} of {used}");
    sound(&d);
    let fast = fast_steps(&speeds(&mut d, 30 * slc_block(), 20));
    assert!((12..=13).contains(&fast), "{fast} again");
}

#[test]
fn discards_of_everything_give_the_cache_back_at_once() {
    let p = with_cache(0, 12);
    let mut d = device(&p, "direct");
    speeds(&mut d, 0, 24);
    let capacity = d.capacity().0;
    one(&mut d, discard(1, 0, capacity));
    // The erases take a few ms; folding would begin only after 100 ms.
    rest(&mut d, Nanos::from_millis(60));
    let c = d.counters();
    assert_eq!((c.slc_used.0, c.folded.0), (0, 0));
    assert_eq!(c.slc_limit.0, 12 * slc_block());
    let fast = fast_steps(&speeds(&mut d, 0, 20));
    assert!((11..=13).contains(&fast), "{fast} again");
    sound(&d);
}

#[test]
fn a_full_device_has_no_dynamic_cache_left() {
    // An SLC superblock replaces a native one. Only superblocks not needed for mapped data may be borrowed, so that the
    // limit falls as the mapped share grows.
    let p = with_cache(0, 80);
    let mut before = u64::MAX;
    for share in [0.0, 0.25, 0.5, 0.75, 0.9, 1.0] {
        let mut d = device(&p, "direct");
        assert!(d.precondition(share, Fill::Sequential));
        let limit = d.counters().slc_limit.0 / slc_block();
        let unmapped = ((1.0 - share) * f64::from(100 - SPARE)) as u64;
        assert!(limit < before, "{share}: {limit}");
        assert!(limit <= unmapped + 1, "{share}: {limit} of {unmapped}");
        // Except for open superblocks and rounding, all unmapped capacity is lent.
        assert!(
            limit + 3 >= unmapped.min(80),
            "{share}: {limit} of {unmapped}"
        );
        before = limit.max(1);
        if share >= 0.9 {
            let fast = fast_steps(&speeds(&mut d, 0, 30)) as u64;
            assert!(
                fast <= limit + 1,
                "{share}: {fast} fast steps, {limit} lent"
            );
        }
        sound(&d);
    }
}

#[test]
fn a_dynamic_cache_never_takes_more_than_is_unmapped() {
    // Fills the device without a pause: the cache must be folded in the foreground, and all data fits.
    let p = with_cache(0, 60);
    let mut d = device(&p, "direct");
    let steps = d.capacity().0 / slc_block();
    let got = speeds(&mut d, 0, steps);
    assert!(got.iter().all(|s| *s > 1.0), "{got:?}");
    assert!(d.counters().folded.0 > 0, "room was made by folding");
    sound(&d);
    rest(&mut d, Nanos::from_secs(60));
    assert_eq!(d.counters().slc_used.0, 0);
    sound(&d);
}
