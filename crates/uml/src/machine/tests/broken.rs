//! Protocol violations of a kernel, and their errors.

use super::fake::{AVAILABLE, DATA, Fake};
use super::{Image, MachineError, SIZE, against};
use crate::time_travel::{MESSAGE_BYTES, Message, Op};
use nandscope_units::Nanos;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

/// Runs `kernel`, whose machine must fail, and gives the error.
#[track_caller]
fn failed(kernel: impl FnOnce(&mut Fake) + Send) -> MachineError {
    let (ended, _) = against(&mut Image::bounded(SIZE), kernel);
    ended.unwrap_err()
}

/// As `broken`, for a kernel that stops after violating a rule; returns the text of the error.
#[track_caller]
fn refused(breaker: impl FnOnce(&mut Fake) + Send) -> String {
    let error = failed(|kernel| {
        breaker(kernel);
        // The machine goes first.
        kernel.outlive();
    });
    error.to_string()
}

#[test]
fn a_kernel_that_sleeps_for_ever_is_told_of() {
    let error = failed(|kernel| {
        kernel.set_up();
        kernel.sleep(i64::MAX as u64);
    });
    let text = error.to_string();
    assert!(text.contains("sleeps for ever"), "{text}");
}

#[test]
fn a_silent_kernel_ends_at_the_limit() {
    let began = Instant::now();
    let error = failed(|kernel| {
        kernel.say(Op::Start, 0);
        std::thread::sleep(Duration::from_secs(4));
    });
    assert!(matches!(error, MachineError::Silent { .. }), "{error:?}");
    assert!(began.elapsed() < Duration::from_secs(6));
}

/// Ways to break the protocols, and what the error must say.
#[test]
fn broken_messages_are_errors_that_say_so() {
    type Breaker = fn(&mut Fake);
    let cases: [(&str, Breaker); 12] = [
        ("code 77", |k| {
            let mut bytes = [0; MESSAGE_BYTES];
            bytes[0..4].copy_from_slice(&77u32.to_ne_bytes());
            k.time_travel.write_all(&bytes).unwrap();
        }),
        ("only the simulation sends", |k| {
            let run = Message {
                op: Op::Run,
                sequence: 1,
                time: Nanos(1),
            };
            k.time_travel.write_all(&run.encode()).unwrap();
        }),
        ("acknowledged what was not sent", |k| {
            let ack = Message {
                op: Op::Ack,
                sequence: 1,
                time: Nanos(1),
            };
            k.time_travel.write_all(&ack.encode()).unwrap();
        }),
        ("request 99", |k| k.send(99, &[], &[])),
        ("payload", |k| {
            let mut bytes = Vec::new();
            for number in [1u32, 9, u32::MAX] {
                bytes.extend(number.to_ne_bytes());
            }
            k.disk.write_all(&bytes).unwrap();
        }),
        ("file descriptor is missing", |k| k.send(21, &[], &[])),
        ("power of two", |k| k.send(8, &Fake::pair(0, 7), &[])),
        ("queue 3", |k| k.send(35, &Fake::pair(3, 0), &[])),
        ("not in memory that the guest shares", |k| {
            k.set_up();
            k.memory.set_len(4096).unwrap();
            k.kick_only();
        }),
        ("without a header", |k| {
            k.set_up();
            k.put(1, 0, 512, false);
            k.describe(0, super::fake::HEADER, 15, 1, 1);
            k.kick_only();
        }),
        ("without a buffer for its status", |k| {
            k.set_up();
            k.put(1, 0, 512, false);
            k.describe(1, DATA, 512, 0, 0);
            k.kick_only();
        }),
        ("more requests than descriptors", |k| {
            k.set_up();
            k.memory
                .write_all_at(&100u16.to_le_bytes(), AVAILABLE + 2)
                .unwrap();
            k.kick_only();
        }),
    ];
    for (expected, breaker) in cases {
        let text = refused(breaker);
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn a_chain_of_descriptors_without_an_end_is_refused() {
    let text = refused(|kernel| {
        kernel.set_up();
        kernel.put(1, 0, 512, false);
        // The second one references itself.
        kernel.describe(1, DATA, 512, 1, 1);
        kernel.kick_only();
    });
    assert!(text.contains("an endless chain"), "{text}");
}

#[test]
fn memory_that_is_not_shared_is_refused() {
    let text = refused(|kernel| {
        kernel.set_up();
        kernel.put(1, 0, 512, false);
        kernel.describe(1, 1 << 40, 512, 1, 2);
        kernel.kick_only();
    });
    assert!(text.contains("has not shared"), "{text}");
}
