//! Tests of the order in which a die serves host reads and background work.

use super::{Array, ArrayTimes, OVERTAKES_MAX};
use crate::events::{Event, EventQueue};
use crate::flash::superblock_id::SuperblockId;
use crate::flash::{Die, FlashOp, OpClass, Owner, PlaneSet, Progress};
use crate::random::Random;
use nandscope_units::Nanos;

const ARRAY_NS: u32 = 50_000;

struct Bench {
    array: Array,
    events: EventQueue,
    now: Nanos,
}

impl Bench {
    fn new(dies: u32) -> Self {
        let times = ArrayTimes {
            picos_per_byte: 1000,
            overhead_ns: 0,
            cache_read: false,
            planes: 0,
            cache_program: false,
            suspend: None,
            suspend_threshold: Nanos::ZERO,
            read_mw: 0,
            program_mw: 0,
            erase_mw: 0,
            bus_pj_per_byte: 0.0,
        };
        Bench {
            array: Array::new(times, 1, dies),
            events: EventQueue::default(),
            now: Nanos::ZERO,
        }
    }

    fn submit(&mut self, class: OpClass, die: u32, owner: Owner) {
        self.array
            .submit(op(class, die, owner), self.now, &mut self.events);
    }

    /// As [`Bench::submit`], through the queue of the die even if it has nothing to do.
    fn submit_to_queue(&mut self, class: OpClass, die: u32, owner: Owner) {
        let op = op(class, die, owner);
        let slot = self.array.allocate(op);
        self.array.outstanding += 1;
        self.array.submit_to_queue(slot, self.now, &mut self.events);
    }

    fn host_read(&mut self, command: u32) {
        self.submit(
            OpClass::Read,
            0,
            Owner::HostRead {
                command,
                bytes: 4096,
            },
        );
    }

    /// Runs until all operations have ended; returns their owners in that order.
    fn run(&mut self) -> Vec<Owner> {
        let mut ended = Vec::new();
        while let Some(progress) = self.step() {
            if let Some(Progress::Finished(owner, _)) = progress {
                ended.push(owner);
            }
        }
        assert_eq!(self.array.outstanding(), 0);
        ended
    }

    /// Handles the next event; returns its outcome, or `None` if there is no event.
    fn step(&mut self) -> Option<Option<Progress>> {
        let (at, event) = self.events.pop_until(Nanos::MAX)?;
        self.now = at;
        Some(match event {
            Event::Array(die) => self.array.on_array(die, at, &mut self.events),
            Event::Bus(op) => self.array.on_bus(op, at, &mut self.events),
            other => panic!("{other:?}"),
        })
    }
}

fn op(class: OpClass, die: u32, owner: Owner) -> FlashOp {
    FlashOp {
        class,
        urgent: matches!(owner, Owner::HostRead { .. }),
        die: Die(die),
        array_ns: ARRAY_NS,
        bus_bytes: 4096,
        transfers: 1,
        retransfers: 0,
        planes: PlaneSet::NONE,
        owner,
    }
}

fn is_host_read(owner: &Owner) -> bool {
    matches!(owner, Owner::HostRead { .. })
}

#[test]
fn reads_with_nothing_waiting_overtake_nothing() {
    let mut bench = Bench::new(1);
    // The first read of an idle die skips the queue; the others wait for it.
    for command in 0..2 * OVERTAKES_MAX {
        bench.host_read(command);
    }
    bench.run();
    // The first read is in the array when the program and the other reads arrive.
    bench.host_read(0);
    bench.submit(OpClass::Program, 0, Owner::RelocationProgram { job: 0 });
    for command in 1..10 {
        bench.host_read(command);
    }
    let ended = bench.run();
    assert!(ended[..10].iter().all(is_host_read), "{ended:?}");
}

#[test]
fn one_background_read_has_its_turn_after_so_many_host_reads() {
    let mut bench = Bench::new(1);
    bench.host_read(0);
    for job in 0..8 {
        bench.submit(OpClass::Read, 0, Owner::RelocationRead { job });
    }
    for command in 1..200 {
        bench.host_read(command);
    }
    let ended = bench.run();
    let turns: Vec<usize> = (0..ended.len())
        .filter(|i| !is_host_read(&ended[*i]))
        .collect();
    let most = OVERTAKES_MAX as usize;
    // The read already in the array when the others arrived overtook none.
    let expected: Vec<usize> = (1..=6).map(|n| n * (most + 1)).collect();
    assert_eq!(turns[..6], expected, "{ended:?}");
}

#[test]
fn reads_go_on_while_the_work_waits_for_its_data_or_for_power() {
    let mut bench = Bench::new(2);
    bench.array.set_active_dies(1);
    bench.submit(
        OpClass::Erase,
        1,
        Owner::Erase {
            superblock: SuperblockId(1),
        },
    );
    bench.host_read(0);
    bench.submit(OpClass::Program, 0, Owner::RelocationProgram { job: 0 });
    let reads = 4 * OVERTAKES_MAX;
    for command in 1..reads {
        bench.host_read(command);
    }
    let ended = bench.run();
    // The array is never idle: reads, program and the transfer after each read follow one another.
    let transfer = 4096;
    let busy = u64::from(reads) * (u64::from(ARRAY_NS) + transfer) + u64::from(ARRAY_NS);
    assert_eq!(bench.now, Nanos(busy), "{ended:?}");
}

/// A program's data is transferred page by page, and a read page goes between two of its pages.
#[test]
fn a_read_waits_for_a_page_of_a_program_on_its_channel() {
    const PAGES: u32 = 16;
    const PAGE_NS: u64 = 4096;
    let mut bench = Bench::new(2);
    bench.host_read(0);
    let program = FlashOp {
        bus_bytes: PAGES * 4096,
        transfers: PAGES,
        ..op(OpClass::Program, 1, Owner::RelocationProgram { job: 0 })
    };
    bench.array.submit(program, bench.now, &mut bench.events);
    while !matches!(bench.step(), Some(Some(Progress::Finished(..)))) {}
    let boundary = u64::from(ARRAY_NS).div_ceil(PAGE_NS) * PAGE_NS;
    assert_eq!(bench.now, Nanos(boundary + PAGE_NS), "the read");
    bench.run();
    let transfer = u64::from(PAGES + 1) * PAGE_NS;
    assert_eq!(
        bench.now,
        Nanos(transfer + u64::from(ARRAY_NS)),
        "the program"
    );
}

/// A read of an idle die skips the queue: times and order are as if it did not.
#[test]
fn a_read_that_skips_the_queue_ends_as_one_that_does_not() {
    for seed in 0..64u64 {
        let mut random = Random::new(seed);
        let (mut quick, mut plain) = (Bench::new(3), Bench::new(3));
        for bench in [&mut quick, &mut plain] {
            bench.array.times.cache_read = seed & 1 == 1;
            bench.array.times.cache_program = seed & 2 == 2;
            bench.array.times.suspend = (seed & 4 == 4).then_some(Nanos(5_000));
            bench.array.set_active_dies(1 + seed as u32 % 3);
        }
        for number in 0..400 {
            let die = random.below(3) as u32;
            let (class, owner) = match random.below(8) {
                0..=3 => (
                    OpClass::Read,
                    Owner::HostRead {
                        command: number,
                        bytes: 4096,
                    },
                ),
                4..=5 => (OpClass::Read, Owner::RelocationRead { job: number }),
                6 => (OpClass::Program, Owner::RelocationProgram { job: number }),
                _ => (
                    OpClass::Erase,
                    Owner::Erase {
                        superblock: SuperblockId(number),
                    },
                ),
            };
            quick.submit(class, die, owner);
            plain.submit_to_queue(class, die, owner);
            for _ in 0..random.below(6) {
                assert_eq!(quick.step(), plain.step(), "seed {seed}");
                assert_eq!(quick.now, plain.now, "seed {seed}");
            }
        }
        assert_eq!(quick.run(), plain.run(), "seed {seed}");
        assert_eq!(quick.now, plain.now, "seed {seed}");
    }
}
