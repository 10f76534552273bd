//! Parity across dies against closed forms: of n dies, p hold parity in each row.

use crate::support::plain::{EIGHT_DIES, Flash};
use crate::support::{Draw, bare, closed_loop, device, near, one, rest, sound, write};
use nandscope_device::profile::check_profile;
use nandscope_device::profile::schema::{Cell, SlcCacheSection};
use nandscope_device::{CommandKind, Counters, Device, Fill};
use nandscope_units::Nanos;

const DIES: u32 = 8;
const PAGE: u64 = 16 * 1024;

/// A device with parity on `parity` dies of each row, whose data capacity leaves `spare` superblocks.
fn with_parity(flash: Flash, parity: u32, spare: u32) -> Device {
    let mut p = flash.profile(spare);
    p.ftl.as_mut().expect("page-mapped").parity_dies = parity;
    let dies = u64::from(flash.channels * flash.dies_per_channel);
    p.device.capacity_bytes = p.device.capacity_bytes / dies * (dies - u64::from(parity));
    check_profile(&p).expect("valid");
    device(&p, "direct")
}

fn write_in_order(d: &mut Device, from: u64, bytes: u64, length: u64) -> f64 {
    let run = closed_loop(d, 4 * DIES, |i| {
        (i * length < bytes).then(|| write(i, from + i * length, length as u32))
    });
    run.mb_per_s()
}

#[test]
fn the_dies_write_their_share_of_data() {
    let die_us = 400.0 + PAGE as f64 / 4000.0;
    for parity in [0, 1, 2, 4] {
        let mut d = with_parity(EIGHT_DIES, parity, 6);
        // The buffer is full when the measurement begins.
        let begin = 128 << 20;
        write_in_order(&mut d, 0, begin, 4 * PAGE);
        let bytes = d.capacity().0 - begin;
        let rate = write_in_order(&mut d, begin, bytes, 4 * PAGE);
        let all = f64::from(DIES) * PAGE as f64 / die_us;
        let expected = all * f64::from(DIES - parity) / f64::from(DIES);
        near(&format!("{parity} of {DIES} dies"), rate, expected, 0.02);
        sound(&d);
    }
}

#[test]
fn full_rows_program_parity_in_its_exact_share() {
    for (parity, cell) in [
        (1u32, Cell::Slc),
        (2, Cell::Slc),
        (1, Cell::Tlc),
        (3, Cell::Tlc),
    ] {
        let mut p = EIGHT_DIES.profile(6);
        p.ftl.as_mut().expect("page-mapped").parity_dies = parity;
        p.nand.cell = cell;
        p.device.capacity_bytes /= 4;
        if cell == Cell::Tlc {
            let mut native = p.nand.slc.clone();
            native.read_us = vec![100.0; 3];
            native.program_us = vec![400.0, 800.0, 1200.0];
            p.nand.native = Some(native);
            p.nand.word_lines /= 3;
        }
        let mut d = device(&p, "direct");
        let row = u64::from(DIES - parity) * PAGE;
        let bytes = 50 * row;
        write_in_order(&mut d, 0, bytes, PAGE);
        let c = d.counters();
        assert_eq!(c.host_written.0, bytes);
        assert_eq!(c.parity.0, bytes / row * u64::from(parity) * PAGE);
        assert_eq!(
            c.flash_programmed.0 * u64::from(DIES - parity),
            bytes * u64::from(DIES)
        );
        rest(&mut d, Nanos::from_secs(1));
        assert_eq!(d.counters().flash_programmed, c.flash_programmed);
        sound(&d);
    }
}

#[test]
fn a_row_that_a_flush_leaves_incomplete_has_no_parity_yet() {
    let mut d = with_parity(EIGHT_DIES, 2, 6);
    let (data, parity) = (u64::from(DIES) - 2, 2);
    write_in_order(&mut d, 0, (data - 1) * PAGE, PAGE);
    one(&mut d, bare(0, CommandKind::Flush));
    assert_eq!(d.counters().parity.0, 0);
    one(&mut d, write(0, data * PAGE, 4096));
    one(&mut d, bare(0, CommandKind::Flush));
    let c = d.counters();
    assert_eq!((c.parity.0, c.padding.0), (parity * PAGE, PAGE - 4096));
}

/// Checks that there is one parity unit per data row, except for the open row of each of two streams.
fn parity_matches(c: &Counters, parity: u64) {
    let data = c.flash_programmed.0 - c.parity.0;
    let expected = data * parity / (u64::from(DIES) - parity);
    let row = 2 * u64::from(DIES) * PAGE;
    assert!(
        expected.abs_diff(c.parity.0) <= row,
        "{expected} bytes for {c:?}"
    );
}

#[test]
fn relocation_writes_parity_as_well() {
    let mut d = with_parity(EIGHT_DIES, 2, 8);
    let units = d.capacity().0 / 4096;
    d.precondition(1.0, Fill::Random { seed: 7 });
    assert_eq!(d.counters().parity.0, 0, "a starting state is not counted");
    let mut draw = Draw(9);
    closed_loop(&mut d, 32, |i| {
        (i < 60_000).then(|| write(i, draw.below(units) * 4096, 4096))
    });
    rest(&mut d, Nanos::from_secs(3));
    let c = d.counters();
    assert!(c.gc_writes.0 > c.host_written.0 / 4, "{c:?}");
    parity_matches(&c, 2);
    sound(&d);
}

/// Only programs draw power here.
#[test]
fn each_program_of_the_counters_is_one_of_the_array() {
    let mut p = EIGHT_DIES.profile(8);
    p.nand.energy.read_mw = 0.0;
    p.nand.energy.erase_mw = 0.0;
    p.nand.energy.program_mw = 1000.0;
    p.nand.energy.bus_pj_per_byte = 0.0;
    p.power.data_path_pj_per_byte = 0.0;
    let interface = &mut p.interface[0];
    (interface.active_mw, interface.idle_mw) = (0.0, 0.0);
    interface.link_pj_per_byte = 0.0;
    p.ftl.as_mut().expect("page-mapped").parity_dies = 2;
    p.device.capacity_bytes = p.device.capacity_bytes / 4 * 3;
    let mut d = device(&p, "direct");
    d.precondition(1.0, Fill::Random { seed: 7 });
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(5);
    closed_loop(&mut d, 32, |i| {
        (i < 60_000).then(|| write(i, draw.below(units) * 4096, 4096))
    });
    one(&mut d, bare(0, CommandKind::Flush));
    rest(&mut d, Nanos::from_secs(3));
    let t = d.telemetry();
    assert!(t.counters.gc_writes.0 > 0);
    let programs = t.counters.flash_programmed.0 / PAGE;
    near("energy", t.energy_j, programs as f64 * 400e-6, 1e-6);
}

#[test]
fn cached_data_has_parity_in_slc_and_again_where_it_is_folded_to() {
    let mut p = EIGHT_DIES.profile(6);
    p.nand.cell = Cell::Tlc;
    let mut native = p.nand.slc.clone();
    native.read_us = vec![100.0; 3];
    native.program_us = vec![1000.0];
    p.nand.native = Some(native);
    let ftl = p.ftl.as_mut().expect("page-mapped");
    ftl.parity_dies = 2;
    ftl.slc_cache = Some(SlcCacheSection {
        static_gb: 0.0,
        dynamic_gb: 0.1,
        lends_spare_percent: 0.0,
        reserve_gb: 0.0,
        fold_after_ms: 5.0,
        fold_blocks_host: false,
    });
    let mut d = device(&p, "direct");
    let superblock = 128 * (u64::from(DIES) - 2) * PAGE;
    write_in_order(&mut d, 0, superblock, 4 * PAGE);
    let c = d.counters();
    assert_eq!((c.parity.0, c.folded.0), (superblock / 3, 0));
    rest(&mut d, Nanos::from_secs(3));
    let c = d.counters();
    assert_eq!(c.folded.0, superblock);
    // Folded data fills a third of a superblock: its last row of three pages may be open.
    let again = c.parity.0 - superblock / 3;
    assert!(again.abs_diff(superblock / 3) <= 6 * PAGE, "{c:?}");
    sound(&d);
}

#[test]
fn a_saved_device_goes_on_in_the_middle_of_a_row() {
    let mut d = with_parity(EIGHT_DIES, 1, 6);
    for i in 0..5 {
        let now = d.now();
        d.submit(write(i, i * 3 * PAGE, 3 * PAGE as u32), now)
            .expect("in order");
    }
    d.advance(Nanos::from_micros(60), &mut Vec::new());
    let mut loaded = Device::load(&d.save().expect("saves")).expect("loads");
    for d in [&mut d, &mut loaded] {
        rest_with_completions(d);
    }
    assert_eq!(d.telemetry(), loaded.telemetry());
    assert!(d.counters().parity.0 > 0);
    assert!(d.save() == loaded.save());
}

fn rest_with_completions(d: &mut Device) {
    let until = d.now() + Nanos::from_secs(1);
    let mut done = Vec::new();
    while d.now() < until {
        d.advance(until, &mut done);
    }
}

#[test]
fn parity_on_all_dies_is_refused() {
    let mut p = EIGHT_DIES.profile(6);
    p.ftl.as_mut().expect("page-mapped").parity_dies = DIES;
    let errors = check_profile(&p).expect_err("no die is left");
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].key, "ftl.parity_dies");
    assert_eq!(
        errors[0].message,
        "8 dies of 8 hold parity, and none is left for data"
    );
}
