//! Relocation: data is read at its old place until the program at its new place is done.

use crate::support::plain::{FAST_LINK, FOUR_DIES, Flash, link_ns};
use crate::support::{Draw, device, read, sound, write};
use nandscope_device::{Completion, Fill};
use nandscope_units::Nanos;

#[test]
fn what_is_being_moved_is_read_from_the_flash() {
    let flash = Flash {
        planes: 4,
        blocks: 40,
        pages_per_block: 32,
        page_kib: 16,
        program_us: 400.0,
        ..FOUR_DIES
    };
    let mut p = flash.profile(10);
    // Many units are relocated at once, so that reads often hit one.
    p.ftl.as_mut().expect("page-mapped").relocation_units = 256;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
    let half = d.capacity().0 / 4096 / 2;
    let mut draw = Draw(7);
    // The host writes to the first half and reads from the second, which collection moves as well.
    let (mut reads, mut moved, mut outstanding, mut issued) = (0, 0, 0, 0);
    let mut done: Vec<Completion> = Vec::new();
    while reads < 6000 || moved < 20_000 {
        while outstanding < 16 {
            let now = d.now();
            let command = if issued % 2 == 0 {
                write(0, draw.below(half) * 4096, 4096)
            } else {
                read(1, (half + draw.below(half)) * 4096, 4096)
            };
            d.submit(command, now).expect("in order");
            outstanding += 1;
            issued += 1;
        }
        d.advance(Nanos::MAX, &mut done);
        for c in done.drain(..) {
            outstanding -= 1;
            if c.tag == 1 {
                reads += 1;
                let least = Nanos(50_000 + 4_096 + link_ns(FAST_LINK, 4096));
                assert!(c.latency() >= least, "read {reads} took {}", c.latency());
            }
        }
        moved = d.counters().gc_writes.0 / 4096;
    }
    sound(&d);
}

/// With data separated by heat, a relocation job programs only data of one pool, and only what it has read.
#[test]
fn a_relocation_program_takes_data_of_one_pool() {
    let flash = Flash {
        planes: 2,
        blocks: 60,
        pages_per_block: 8,
        page_kib: 16,
        program_us: 400.0,
        ..FOUR_DIES
    };
    let mut p = flash.profile(14);
    p.ftl.as_mut().expect("page-mapped").separate_by_heat = true;
    p.ftl.as_mut().expect("page-mapped").relocation_units = 8;
    p.controller.as_mut().expect("page-mapped").write_buffer_kib = 1024;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(7);
    let mut done = Vec::new();
    for i in 0..40_000 {
        let among = if draw.below(10) < 8 { units / 5 } else { units };
        let place = draw.below(among) * 4096;
        d.submit(write(i, place, 4096), d.now()).expect("in order");
        if i >= 8 {
            d.advance(Nanos::MAX, &mut done);
        }
        if i % 10 == 0 {
            sound(&d);
        }
    }
    assert!(d.counters().gc_writes.0 / 4096 > 20_000);
}

/// Relocation jobs program on different dies, and may end in another order than they began. The victim is kept until
/// the first job has programmed its data, even if the last unit of the victim was relocated or overwritten before.
#[test]
fn a_victim_stays_until_all_its_data_is_programmed() {
    let flash = Flash {
        blocks: 40,
        pages_per_block: 8,
        page_kib: 16,
        program_us: 400.0,
        ..FOUR_DIES
    };
    let mut p = flash.profile(10);
    p.ftl.as_mut().expect("page-mapped").relocation_units = 8;
    let mut d = device(&p, "direct");
    assert!(d.precondition(1.0, Fill::Random { seed: 1 }));
    let units = d.capacity().0 / 4096;
    let mut draw = Draw(7);
    let (mut done, mut outstanding) = (Vec::new(), 0);
    for _ in 0..20_000 {
        while outstanding < 8 {
            // Reads of one eighth of the device keep one die busier than the others.
            let command = match draw.below(4) {
                0 => read(0, draw.below(units / 8) * 4096, 4096),
                _ => write(1, draw.below(units) * 4096, 4096),
            };
            let now = d.now();
            d.submit(command, now).expect("in order");
            outstanding += 1;
        }
        let until = d.now() + Nanos(20_000);
        d.advance(until, &mut done);
        outstanding -= done.drain(..).count();
        sound(&d);
    }
    assert!(d.counters().gc_writes.0 > 0);
}
