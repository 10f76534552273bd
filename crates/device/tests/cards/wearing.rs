//! Wear: wear levelling, and blocks that fail.

use super::{full, write_us};
use crate::support::card::*;
use crate::support::{bare, one, read, sound, write};
use nandscope_device::profile::card::SmallWritesSection;
use nandscope_device::{CommandKind, Status};

#[test]
fn wear_levelling_moves_cold_data_and_costs_little() {
    let mut p = plain();
    let card = section(&mut p);
    card.wear_spread_cycles = 20;
    card.wear_batch_aus = 1;
    let mut d = full(&p);
    let hot = 3000;
    for i in 0..hot {
        write_us(&mut d, i % 2 * AU, AU);
    }
    let moved = d.counters().refreshed.0 / AU;
    // Without wear levelling, the 24 spare AUs and two others take all 3000 erases, 125 each. Moving all other AUs once
    // in 20 cycles takes 38 moves per 20 x 64 erases.
    assert!(
        (30..=hot * 38 / (20 * 30)).contains(&moved),
        "{moved} AUs moved"
    );
    sound(&d);
    section(&mut p).wear_spread_cycles = 0;
    let mut d = full(&p);
    for i in 0..hot {
        write_us(&mut d, i % 2 * AU, AU);
    }
    assert_eq!(d.counters().refreshed.0, 0);
}

#[test]
fn a_card_whose_blocks_fail_ends_read_only() {
    let mut p = plain();
    p.nand.slc.cycles = 4;
    let mut d = full(&p);
    let mut spare = d.health().available_spare_percent;
    let mut written = 0;
    let refused = loop {
        let done = one(&mut d, write(0, written % 40 * AU, AU as u32));
        let now = d.health().available_spare_percent;
        assert!(now <= spare, "spare comes back");
        spare = now;
        if done.status != Status::Ok {
            break done.status;
        }
        written += 1;
        assert!(written < 100_000, "it never ends");
    };
    assert_eq!(refused, Status::ReadOnly);
    assert!(spare == 0 && written > 4 * 64, "{written} AUs were written");
    sound(&d);
    assert_eq!(one(&mut d, write(0, 0, 512)).status, Status::ReadOnly);
    assert_eq!(one(&mut d, read(0, 0, 512)).status, Status::Ok);
    assert_eq!(one(&mut d, bare(1, CommandKind::Flush)).status, Status::Ok);
}

/// Small writes fill their own AU, cluster by cluster; a full AU is erased for the next clusters.
#[test]
fn small_writes_wear_and_erase() {
    let mut p = plain();
    section(&mut p).small_writes = Some(SmallWritesSection {
        up_to_kib: 4,
        cluster_kib: 32,
    });
    let mut d = full(&p);
    let before = d.counters();
    let writes = 1600;
    for i in 0..writes {
        write_us(&mut d, i * 7 % 40 * AU, 4 * KIB);
    }
    let after = d.counters();
    // A cluster takes two of the sixteen pages of an AU, which is one block here.
    assert_eq!(after.erases - before.erases, writes * 2 / PAGES);
    assert_eq!(after.gc_writes.0 - before.gc_writes.0, writes * 2 * PAGE);
    sound(&d);
    p.nand.slc.cycles = 2;
    let mut d = full(&p);
    let refused = (0..1_000_000u64)
        .map(|i| one(&mut d, write(i, i * 7 % 40 * AU, 4096)).status)
        .find(|status| *status != Status::Ok);
    assert_eq!(refused, Some(Status::ReadOnly), "it wears out");
}
