//! Commands on the buses of SD cards and eMMC: the cost of a request with and without a queue, with and without
//! SET_BLOCK_COUNT, and with packed writes.

use crate::support::plain::{Flash, attach, link_ns};
use crate::support::{Draw, closed_loop, host, near, one, profile, read, rest, sound, write};
use nandscope_device::profile::{HostProfile, Profile};
use nandscope_device::{CardRegisters, Command, CommandKind, Device, Fill};
use nandscope_units::Nanos;

const LINK: &str = "emmc-hs400";
/// Time of array read and channel of the plain device, for 4 KiB, ns.
const FLASH_NS: u64 = 50_000 + 4_096;

fn plain(depth: Option<u32>) -> Profile {
    let flash = Flash {
        channels: 2,
        dies_per_channel: 4,
        planes: 1,
        blocks: 40,
        pages_per_block: 64,
        page_kib: 4,
        mt_per_s: 1000.0,
        read_us: 50.0,
        program_us: 400.0,
    };
    let mut p = flash.profile(6);
    attach(&mut p, LINK);
    p.interface[0].command_queue = depth;
    p
}

/// A host with 30 µs before and 20 µs after each command.
fn board(queues: bool) -> HostProfile {
    let mut host = host("direct");
    host.host.links = vec![LINK.to_string()];
    host.host.command_queue = queues;
    host.stage[0].command_us = 30.0;
    host.stage[0].completion_us = 20.0;
    host
}

fn filled(p: &Profile, host: &HostProfile) -> Device {
    let mut d = Device::new(p, host, 1).expect("attaches");
    assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
    d
}

fn random_reads(d: &mut Device, depth: u32, count: u64) -> f64 {
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(1);
    let run = closed_loop(d, depth, |i| {
        (i < count).then(|| read(i, draw.below(units) * 4096, 4096))
    });
    run.iops()
}

#[test]
fn a_queue_hides_what_the_host_does_for_each_command() {
    let link = link_ns(LINK, 4096);
    let alone_ns = 30_000 + FLASH_NS + link + 20_000;
    // Unless both ends have a queue, commands are executed one after another.
    for (depth, queues) in [(None, true), (Some(32), false), (None, false)] {
        let mut d = filled(&plain(depth), &board(queues));
        near(
            "IOPS",
            random_reads(&mut d, 16, 5_000),
            1e9 / alone_ns as f64,
            1e-6,
        );
    }
    let mut d = filled(&plain(Some(32)), &board(true));
    near(
        "QD1",
        random_reads(&mut d, 1, 2_000),
        1e9 / alone_ns as f64,
        1e-6,
    );
    // Two commands, which seldom access the same die.
    near(
        "QD2",
        random_reads(&mut d, 2, 20_000),
        2e9 / alone_ns as f64,
        0.06,
    );
    // The half-duplex bus is never idle.
    near(
        "QD32",
        random_reads(&mut d, 32, 50_000),
        1e9 / link as f64,
        0.03,
    );
    sound(&d);
    // A device queue of four takes four commands, however many wait at the host.
    let mut d = filled(&plain(Some(4)), &board(true));
    let four = random_reads(&mut d, 4, 20_000);
    near("queue of 4", random_reads(&mut d, 16, 20_000), four, 0.01);
}

#[test]
fn a_stop_command_follows_where_the_length_is_not_stated_before() {
    for (set_block_count, queue, stop_us) in [
        (true, None, 0),
        (false, None, 40),
        // Queued commands state their length.
        (false, Some(32), 0),
    ] {
        let mut p = plain(queue);
        p.interface[0].set_block_count = set_block_count;
        let mut host = board(true);
        host.host.stop_us = Some(40.0);
        host.stage[0].max_transfer_kib = Some(64);
        let mut d = filled(&p, &host);
        let stop = Nanos::from_micros(stop_us);
        let base = Nanos(30_000 + FLASH_NS + link_ns(LINK, 4096) + 20_000);
        assert_eq!(one(&mut d, read(0, 0, 4096)).latency(), base + stop);
        // One block needs no stop.
        let block = Nanos(30_000 + FLASH_NS + link_ns(LINK, 512) + 20_000);
        assert_eq!(one(&mut d, read(0, 0, 512)).latency(), block);
        // 256 KiB are four transfers.
        host.host.stop_us = None;
        let mut other = filled(&p, &host);
        let long = |d: &mut Device| one(d, read(0, 0, 262_144)).latency();
        assert_eq!(long(&mut d), long(&mut other) + stop * 4);
    }
}

/// Stop commands of a card with allocation units.
#[test]
fn a_stop_command_of_a_card() {
    let latency = |set_block_count, stop_us| {
        let mut p = profile("kingston-8gb");
        for interface in &mut p.interface {
            interface.set_block_count = set_block_count;
        }
        let mut host = host("sabrelite");
        host.host.stop_us = stop_us;
        let mut d = Device::new(&p, &host, 1).expect("attaches");
        one(&mut d, read(0, 0, 65_536)).latency()
    };
    let base = latency(true, None);
    assert_eq!(latency(true, Some(25.0)), base);
    assert_eq!(latency(false, None), base);
    assert_eq!(latency(false, Some(25.0)), base + Nanos::from_micros(25));
}

/// An A2 card reaches the rates of its class, with the queue and the cache that the class requires.
#[test]
fn an_a2_card_reaches_its_class() {
    let rates = |on: &str| {
        let mut d =
            Device::new(&profile("sandisk-extreme-a2-64gb"), &host(on), 1).expect("attaches");
        assert!(d.precondition(0.5, Fill::Sequential));
        let mut draw = Draw(2);
        let mut place = || draw.below(64 << 8) * 4096;
        let reads = closed_loop(&mut d, 32, |i| (i < 20_000).then(|| read(i, place(), 4096)));
        let writes = closed_loop(&mut d, 32, |i| {
            (i < 20_000).then(|| write(i, place(), 4096))
        });
        rest(&mut d, Nanos::from_secs(2));
        let long = closed_loop(&mut d, 2, |i| {
            (i < 1_000).then(|| write(i, (4 << 30) + i * 524_288, 524_288))
        });
        (reads.iops(), writes.iops(), long.mb_per_s())
    };
    let (reads, writes, long) = rates("mmc-queue-board");
    assert!(
        reads >= 4_000.0 && writes >= 2_000.0 && long >= 30.0,
        "{reads} {writes} {long}"
    );
    // Without a queue on the host, the rate is that of one command at a time.
    let (one_by_one, ..) = rates("odroid-xu3");
    assert!(one_by_one < 0.6 * reads, "{one_by_one} {reads}");
}

#[test]
fn registers_state_queue_and_cache() {
    let of = |name: &str, on: &str| {
        let d = Device::new(&profile(name), &host(on), 1).expect("attaches");
        d.registers().expect("a card")
    };
    let CardRegisters::Sd { ssr, scr, .. } = of("sandisk-extreme-a2-64gb", "mmc-queue-board")
    else {
        panic!("no SD card")
    };
    // APP_PERF_CLASS and PERFORMANCE_ENHANCE: A2, a queue of 32, a cache.
    assert_eq!((ssr[21], ssr[22]), (2, 31 << 3 | 1 << 2));
    assert_eq!(scr[3], 0x02);
    for (on, enabled) in [("mmc-queue-board", 1), ("emmc-board", 0)] {
        let CardRegisters::Mmc { ext_csd, .. } = of("samsung-emmc51-64gb", on) else {
            panic!("no eMMC")
        };
        assert_eq!((ext_csd[307], ext_csd[308], ext_csd[15]), (31, 1, enabled));
    }
}

/// A host that leaves the cache off gets each write acknowledged after its program.
#[test]
fn the_host_decides_about_the_cache() {
    for (name, on) in [
        ("sandisk-extreme-a2-64gb", "mmc-queue-board"),
        ("samsung-emmc51-64gb", "emmc-board"),
    ] {
        let p = profile(name);
        let longest = p.nand.native.as_ref().expect("not SLC").program_us.iter();
        let program = Nanos::from_micros_f64(longest.copied().fold(f64::MAX, f64::min));
        for cache_off in [false, true] {
            let mut board = host(on);
            board.host.cache_off = cache_off;
            let mut d = Device::new(&p, &board, 1).expect("attaches");
            let took = one(&mut d, write(0, 0, 4096)).latency();
            assert_eq!(took > program, cache_off, "{name}: {took}");
            let (size, is_on) = match d.registers().expect("a card") {
                CardRegisters::Sd { ssr, .. } => (u32::from(ssr[22] >> 2 & 1), !cache_off),
                CardRegisters::Mmc { ext_csd, .. } => (
                    ext_csd[249..253].iter().map(|b| u32::from(*b)).sum(),
                    ext_csd[33] == 1,
                ),
            };
            assert!(size > 0, "{name} has a cache");
            assert_eq!(is_on, !cache_off, "{name}");
            d.track_writes();
            one(&mut d, write(1, 1 << 20, 4096));
            let damage = d.cut_power().damage;
            assert_eq!(damage.is_empty(), cache_off, "{name}: {damage:?}");
            sound(&d);
        }
    }
}

/// A plain eMMC that takes eight writes in one command, and a board that packs.
fn packing() -> (Profile, HostProfile) {
    let mut p = plain(None);
    p.interface[0].packed_writes = Some(8);
    let mut host = board(false);
    host.host.packed_writes = true;
    (p, host)
}

/// Completion times of commands submitted together, in the order of their tags.
fn ends(d: &mut Device, commands: &[Command]) -> Vec<Nanos> {
    let begin = d.now();
    for command in commands {
        d.submit(*command, begin).expect("in order");
    }
    let mut over = Vec::new();
    while over.len() < commands.len() {
        d.advance(Nanos::MAX, &mut over);
    }
    over.sort_by_key(|completion| completion.tag);
    over.iter().map(|c| c.completed - begin).collect()
}

fn writes(count: u64, bytes: u32) -> Vec<Command> {
    let of = |i| write(i, i * u64::from(bytes), bytes);
    (0..count).map(of).collect()
}

#[test]
fn packed_writes_pay_for_one_command_and_end_together() {
    let (p, host) = packing();
    let mut d = Device::new(&p, &host, 1).expect("attaches");
    let path = 30_000 + 20_000;
    let data = link_ns(LINK, 4096);
    let pack = |writes: u64| path + link_ns(LINK, 512) + writes * data;
    let over = ends(&mut d, &writes(14, 4096));
    // The first write finds an idle device; then eight wait, then five.
    let first = path + data;
    let second = first + pack(8);
    let third = second + pack(5);
    assert_eq!(over[0], Nanos(first));
    assert!(over[1..9].iter().all(|at| *at == Nanos(second)), "{over:?}");
    assert!(over[9..].iter().all(|at| *at == Nanos(third)), "{over:?}");
    sound(&d);
}

#[test]
fn writes_are_packed_only_where_device_and_host_do_so() {
    let alone = |count: u64, bytes| Nanos(count * (50_000 + link_ns(LINK, bytes)));
    let last = |p: &Profile, host: &HostProfile| {
        let mut d = Device::new(p, host, 1).expect("attaches");
        *ends(&mut d, &writes(9, 4096)).last().expect("nine")
    };
    let (p, host) = packing();
    assert!(last(&p, &host) < alone(4, 4096));
    assert_eq!(last(&plain(None), &host), alone(9, 4096));
    assert_eq!(last(&p, &board(false)), alone(9, 4096));
    // With a command queue, the host packs no writes.
    let (mut queues, mut both) = packing();
    queues.interface[0].command_queue = Some(8);
    both.host.command_queue = true;
    let mut only_queue = board(true);
    only_queue.host.packed_writes = false;
    assert_eq!(last(&queues, &both), last(&queues, &only_queue));
}

#[test]
fn a_pack_holds_plain_writes_that_one_transfer_carries() {
    let (p, mut host) = packing();
    let mut d = Device::new(&p, &host, 1).expect("attaches");
    let mut commands = writes(9, 4096);
    commands[2].kind = CommandKind::Read;
    commands[5].kind = CommandKind::Write { fua: true };
    commands[8].kind = CommandKind::Flush;
    let over = ends(&mut d, &commands);
    // Expected packs: 1 alone before the read, 3 and 4 together before the forced write, then 6 and 7.
    let together: Vec<bool> = over.windows(2).map(|w| w[0] == w[1]).collect();
    assert_eq!(
        together,
        [false, false, false, true, false, false, true, false]
    );
    assert!(over.is_sorted(), "{over:?}");
    sound(&d);
    // The first block of a transfer of 64 KiB lists the writes: one of 32 KiB fits, not two.
    host.stage[0].max_transfer_kib = Some(64);
    let mut d = Device::new(&p, &host, 1).expect("attaches");
    let over = ends(&mut d, &writes(5, 32_768));
    assert!(over.windows(2).all(|w| w[0] < w[1]), "{over:?}");
    let over = ends(&mut d, &writes(5, 16_384));
    let together: Vec<bool> = over.windows(2).map(|w| w[0] == w[1]).collect();
    assert_eq!(together, [false, true, true, false]);
}

#[test]
fn a_register_states_the_writes_of_a_pack() {
    for (packed, stated) in [(None, 0), (Some(63), 63)] {
        let (mut p, host) = packing();
        p.interface[0].packed_writes = packed;
        let d = Device::new(&p, &host, 1).expect("attaches");
        let Some(CardRegisters::Mmc { ext_csd, .. }) = d.registers() else {
            panic!("no eMMC")
        };
        assert_eq!((ext_csd[500], ext_csd[501]), (stated, 0));
    }
}
