//! Speeds that makers and reviews state for cards, compared with simulations whose parameters were chosen by them:
//! checks the parameters together.

use crate::support::{Draw, closed_loop, device, near, profile, read, rest, write};
use nandscope_device::{Device, Fill};
use nandscope_units::Nanos;

const BLOCK: u64 = 512 * 1024;

fn sequential_reads(d: &mut Device, blocks: u64) -> f64 {
    let run = closed_loop(d, 1, |i| {
        (i < blocks).then(|| read(i, i * BLOCK, BLOCK as u32))
    });
    run.mb_per_s()
}

fn sequential_writes(d: &mut Device, blocks: u64) -> f64 {
    let run = closed_loop(d, 1, |i| {
        (i < blocks).then(|| write(i, i * BLOCK, BLOCK as u32))
    });
    run.mb_per_s()
}

#[test]
fn an_emmc_reaches_what_its_maker_states() {
    let mut d = device(&profile("samsung-emmc51-64gb"), "emmc-board");
    near("writes", sequential_writes(&mut d, 2000), 125.0, 0.1);
    rest(&mut d, Nanos::from_secs(1));
    assert!(d.precondition(0.5, Fill::Sequential));
    near("reads", sequential_reads(&mut d, 2000), 250.0, 0.1);
    // Within the range of a map in the controller, as such figures are measured.
    let mut draw = Draw(1);
    let mut place = || draw.below(32 << 8) * 4096;
    let writes = closed_loop(&mut d, 1, |i| (i < 20_000).then(|| write(i, place(), 4096)));
    near("random writes", writes.iops(), 13_000.0, 0.15);
}

#[test]
fn a_uhs_ii_card_reaches_what_its_maker_and_its_review_state() {
    let mut d = device(&profile("sandisk-extreme-uhs2-128gb"), "direct");
    near("writes", sequential_writes(&mut d, 2000), 110.0, 0.1);
    near("reads", sequential_reads(&mut d, 2000), 275.0, 0.1);
}
