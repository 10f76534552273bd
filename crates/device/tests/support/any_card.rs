//! Random cards with allocation units and random commands for them.

use super::card::{AU, KIB, PAGE, plain, section};
use nandscope_device::profile::Profile;
use nandscope_device::profile::card::{
    FatSection, OutOfOrder, SharedLogSection, SmallWritesSection,
};
use nandscope_device::profile::schema::Acknowledge;
use nandscope_device::{Command, CommandKind};
use nandscope_units::Lba;
use proptest::prelude::*;

fn out_of_order() -> impl Strategy<Value = OutOfOrder> {
    prop_oneof![
        Just(OutOfOrder::Rewrite),
        Just(OutOfOrder::Log),
        Just(OutOfOrder::Map)
    ]
}

fn log_kib(kind: OutOfOrder, pages: u32) -> Option<u32> {
    (kind == OutOfOrder::Log).then_some(pages * (PAGE / KIB) as u32)
}

fn fat() -> impl Strategy<Value = Option<FatSection>> {
    let some = (
        0u32..3,
        (1u32..4, 1u32..4),
        1u32..3,
        out_of_order(),
        1u32..17,
        any::<bool>(),
        any::<bool>(),
    );
    prop::option::of(some.prop_map(
        |(first_au, (aus, apart_aus), open_aus, kind, log, log_first, slc)| FatSection {
            first_au,
            aus,
            apart_aus,
            open_aus,
            out_of_order: kind,
            log_kib: log_kib(kind, log),
            log_first: log_first && kind == OutOfOrder::Log,
            slc,
        },
    ))
}

prop_compose! {
    pub fn cards()(
        (open, kind, log, parts) in (1u32..6, out_of_order(), 1u32..17, 1u32..5),
        (states, deferred, merge_after) in (1u32..4, 0u32..4, prop::sample::select(vec![0.0, 0.5, 50.0])),
        (spread, batch, refresh) in (0u32..4, 1u32..3, prop::sample::select(vec![0u32, 5, 1000])),
        fat in fat(),
        shared in prop::option::of((1u32..4, 1u32..6)),
        small in prop::option::of((1u32..40, 1u32..80)),
        (buffer, (ahead, streams), buffered, cycles) in (1u32..200, (0u32..100, 1u32..4), any::<bool>(), prop::sample::select(vec![3u32, 1_000_000])),
        (dies, aus, cut) in (1u32..3, 4u64..30, 0u64..200),
    ) -> Profile {
        let mut p = plain();
        p.nand.dies_per_channel = dies;
        p.nand.slc.cycles = cycles;
        p.device.capacity_bytes = aus * AU - cut * 512;
        p.interface[0].acknowledge = if buffered { Acknowledge::Buffered } else { Acknowledge::Programmed };
        let card = section(&mut p);
        card.open_aus = open + fat.as_ref().map_or(0, |f| f.open_aus);
        card.out_of_order = kind;
        card.log_kib = log_kib(kind, log);
        card.partial_programs = parts;
        card.states_in_ram = states;
        card.switch_us = 10.0;
        card.deferred_merges = deferred;
        card.merge_after_ms = merge_after;
        card.wear_spread_cycles = spread;
        card.wear_batch_aus = batch;
        card.refresh_reads = refresh;
        card.fat = fat;
        card.small_writes = small.map(|(up_to_kib, cluster_kib)| SmallWritesSection { up_to_kib, cluster_kib });
        card.shared_log = shared.map(|(blocks, aus)| SharedLogSection { blocks, aus });
        card.controller.buffer_kib = buffer;
        card.controller.read_ahead_kib = ahead;
        card.controller.read_ahead_streams = streams;
        p
    }
}

/// A command: kind, address (share of the capacity and beyond), length, whether it follows the previous one; then a
/// pause, µs.
pub type Step = (u8, u32, u32, bool, u32);

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let length = prop_oneof![1u32..9, 1u32..64, 1u32..1200];
    let pause = prop_oneof![3 => Just(0u32), 1 => 0u32..200_000];
    prop::collection::vec(
        (0u8..24, any::<u32>(), length, any::<bool>(), pause),
        1..250,
    )
}

pub fn command(step: Step, tag: u64, sectors: u64, next: &mut u64) -> Command {
    let (kind, place, length, follows, _) = step;
    let kind = match kind {
        0..=14 => CommandKind::Write { fua: kind == 0 },
        15..=19 => CommandKind::Read,
        20 => CommandKind::Flush,
        21 | 22 => CommandKind::Discard,
        _ => CommandKind::Health,
    };
    // A few commands extend beyond the end.
    let first = if follows {
        *next
    } else {
        (u64::from(place) * (sectors + 20)) >> 32
    };
    *next = first + u64::from(length);
    Command {
        tag,
        kind,
        lba: Lba(first),
        sectors: length,
    }
}
