//! Monitors of virtual machines that break the protocol of vhost-user: they are hung up on, and the
//! clients of NBD notice nothing. That a real one is served, crates/cli/tests/serve_guest.rs shows.

#![cfg(target_os = "linux")]

use crate::support::monitor::*;
use crate::support::{CAPACITY, Serving, export};
use nandscope_export::nbd::socket::{Address, Listener};
use nandscope_export::vhost::Disk;
use nandscope_units::Nanos;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn socket(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("nandscope-{name}-{}.sock", std::process::id()))
}

fn serving(path: &Path) -> Serving {
    let listener = Listener::open(&Address::Unix(path.to_path_buf())).unwrap();
    let disk = Disk {
        size: CAPACITY,
        read_only: false,
        discards: true,
        unit: None,
    };
    Serving::start_with(export(), Nanos(100_000), move |server| {
        server.with_machines_at(listener, disk)
    })
}

#[test]
fn monitors_that_break_the_protocol_are_hung_up_on() {
    let path = socket("vhost");
    let serving = serving(&path);
    let mut honest = serving.client(true);
    assert_eq!(honest.write(0, 0, &[7; 4096]), 0);
    let vring = |index: u32| {
        let mut body = [index, 0].map(u32::to_ne_bytes).concat();
        body.extend(
            [0x1000u64, 0x2000, 0x3000, 0]
                .map(u64::to_ne_bytes)
                .concat(),
        );
        message(SET_VRING_ADDR, VERSION, 40, &body)
    };
    let number = |index: u32, size: u32| {
        message(
            SET_VRING_NUM,
            VERSION,
            8,
            &[index, size].map(u32::to_ne_bytes).concat(),
        )
    };
    let mut region = [1u32, 0].map(u32::to_ne_bytes).concat();
    region.extend([0u64, 1 << 20, 1 << 40, 0].map(u64::to_ne_bytes).concat());
    let cases = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xff; 4096],
        message(GET_FEATURES, VERSION, u32::MAX, &[]),
        message(GET_FEATURES, 7, 0, &[]),
        message(9999, VERSION, 0, &[]),
        message(SET_FEATURES, VERSION, 8, &u64::MAX.to_ne_bytes()),
        // Memory without a descriptor; rings outside of any; queues and sizes that there are not.
        message(SET_MEM_TABLE, VERSION, region.len() as u32, &region),
        message(
            SET_MEM_TABLE,
            VERSION,
            8,
            &[u32::MAX, 0].map(u32::to_ne_bytes).concat(),
        ),
        vring(0),
        vring(17),
        number(0, 0),
        number(0, 3),
        number(0, 1 << 20),
        number(1, 16),
        message(
            GET_CONFIG,
            VERSION,
            12,
            &[u32::MAX, u32::MAX, 0].map(u32::to_ne_bytes).concat(),
        ),
        message(GET_FEATURES, VERSION, 0, &[])[..7].to_vec(),
    ];
    for case in &cases {
        let mut stream = UnixStream::connect(&path).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let _ = stream.write_all(case);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        // It is over, whether with an answer before or without.
        let mut rest = Vec::new();
        if let Err(e) = stream.read_to_end(&mut rest) {
            assert_eq!(e.kind(), std::io::ErrorKind::ConnectionReset, "{case:?}");
        }
        assert!(honest.read(0, 4096) == [7; 4096]);
    }
    // Those who say nothing hold nobody up.
    let silent: Vec<_> = (0..50)
        .map(|_| UnixStream::connect(&path).unwrap())
        .collect();
    assert!(honest.read(0, 4096) == [7; 4096]);
    drop(silent);
    let mut polite = UnixStream::connect(&path).unwrap();
    polite
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    polite
        .write_all(&message(GET_FEATURES, VERSION, 0, &[]))
        .unwrap();
    let mut answer = [0; 20];
    polite.read_exact(&mut answer).unwrap();
    let features = u64::from_ne_bytes(answer[12..].try_into().unwrap());
    // Version 1, flush and discard.
    assert_eq!(
        features & (1 << 32 | 1 << 9 | 1 << 13),
        1 << 32 | 1 << 9 | 1 << 13
    );
}

/// Offers memory to the server; gives whether the server still talks.
fn takes_memory(path: &Path, memory: &OwnedFd) -> bool {
    let mut monitor = Monitor::connect(path);
    monitor.say(SET_OWNER, &[], None);
    monitor.give_memory(memory.as_fd());
    monitor.is_heard()
}

/// Memory that can be cut off would end the server once it is touched: it is refused. What is taken
/// cannot be cut off.
#[test]
fn memory_that_can_shrink_is_refused() {
    let path = socket("shrink");
    let serving = serving(&path);
    let mut honest = serving.client(true);
    let sealed = |seals| memory(MemfdFlags::empty(), seals).unwrap();
    assert!(!takes_memory(&path, &sealed(SealFlags::empty())));
    assert!(!takes_memory(&path, &sealed(SealFlags::GROW)));
    let memory = sealed(SealFlags::SHRINK);
    assert!(takes_memory(&path, &memory));
    let shrunk = rustix::fs::ftruncate(&memory, 0);
    assert_eq!(shrunk, Err(rustix::io::Errno::PERM));
    assert_eq!(honest.write(0, 0, &[7; 4096]), 0);
}

/// Pages of 2 MiB may be missing once they are touched, which ends who touches them.
#[test]
fn memory_of_huge_pages_is_refused() {
    let path = socket("huge");
    let serving = serving(&path);
    let mut honest = serving.client(true);
    match memory(MemfdFlags::HUGETLB, SealFlags::SHRINK) {
        Ok(huge) => assert!(!takes_memory(&path, &huge)),
        Err(error) => eprintln!("SKIPPED: this kernel has no huge pages: {error}"),
    }
    assert_eq!(honest.write(0, 0, &[7; 4096]), 0);
}

/// Waits until something is so.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(20), "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The counter of its call descriptor is full, so that a write to it waits for ever.
#[test]
fn a_guest_that_cannot_be_called_holds_nobody_up() {
    let path = socket("full");
    let serving = serving(&path);
    let mut honest = serving.client(true);
    // A write of 1 waits at this value already.
    let (call, kick) = (event(u64::MAX - 1), event(0));
    let mut monitor = Monitor::connect(&path);
    monitor.set_up();
    monitor.give(SET_VRING_CALL, call.as_fd());
    monitor.give(SET_VRING_KICK, kick.as_fd());
    assert!(monitor.is_heard());
    monitor.put_read();
    (&kick).write_all(&1u64.to_ne_bytes()).unwrap();
    wait_until("the guest's request is answered", || monitor.answered() > 0);
    for _ in 0..10 {
        assert_eq!(honest.write(0, 0, &[7; 4096]), 0);
    }
    // The server disconnects a client whose event counter is full.
    assert!(monitor.stream.read_to_end(&mut Vec::new()).is_ok());
}

/// Another one takes what was to be read from the kick descriptor, and makes the call descriptor
/// block again and again: neither keeps the server.
#[test]
fn a_guest_that_races_for_its_descriptors_holds_nobody_up() {
    let path = socket("race");
    let serving = serving(&path);
    let mut honest = serving.client(true);
    let (call, kick) = (event(u64::MAX - 1), event(1));
    let stop = Arc::new(AtomicBool::new(false));
    let racing: Vec<_> = [call.try_clone().unwrap(), kick.try_clone().unwrap()]
        .into_iter()
        .map(|event| {
            let stop = stop.clone();
            std::thread::spawn(move || {
                let counter = &mut [0; 8][..];
                while !stop.load(Ordering::Relaxed) {
                    let flags = rustix::fs::fcntl_getfl(&event).unwrap();
                    let blocking = flags - rustix::fs::OFlags::NONBLOCK;
                    rustix::fs::fcntl_setfl(&event, blocking).unwrap();
                    let pieces = &mut [std::io::IoSliceMut::new(counter)];
                    let now = rustix::io::ReadWriteFlags::NOWAIT;
                    let taken = rustix::io::preadv2(&event, pieces, u64::MAX, now);
                    if taken.is_ok() {
                        // As full, and as readable, as it was.
                        let _ = rustix::io::write(&event, counter);
                    }
                }
            })
        })
        .collect();
    for _ in 0..20 {
        let mut monitor = Monitor::connect(&path);
        monitor.set_up();
        monitor.give(SET_VRING_CALL, call.as_fd());
        monitor.give(SET_VRING_KICK, kick.as_fd());
        let _ = monitor.is_heard();
        monitor.put_read();
        assert_eq!(honest.write(0, 0, &[7; 4096]), 0);
    }
    stop.store(true, Ordering::Relaxed);
    // One may wait for its own counter now.
    drain(&call);
    racing.into_iter().for_each(|thread| thread.join().unwrap());
}

fn drain(event: &File) {
    let mut counter = [0; 8];
    let pieces = &mut [std::io::IoSliceMut::new(&mut counter)];
    let _ = rustix::io::preadv2(event, pieces, u64::MAX, rustix::io::ReadWriteFlags::NOWAIT);
}

/// A pipe that nobody reads, a socket, a plain file: only event descriptors are taken.
#[test]
fn descriptors_of_other_kinds_are_refused() {
    let path = socket("kinds");
    let serving = serving(&path);
    let mut honest = serving.client(true);
    let (_reader, writer) = std::io::pipe().unwrap();
    let (socket, _peer) = UnixStream::pair().unwrap();
    let plain = memory(MemfdFlags::empty(), SealFlags::empty()).unwrap();
    let terminal = File::open("/dev/null").unwrap();
    for request in [SET_VRING_CALL, SET_VRING_KICK] {
        let others = [
            writer.as_fd(),
            socket.as_fd(),
            plain.as_fd(),
            terminal.as_fd(),
        ];
        for other in others {
            let mut monitor = Monitor::connect(&path);
            monitor.set_up();
            assert!(monitor.is_heard());
            monitor.give(request, other);
            assert!(!monitor.is_heard(), "{request} {other:?}");
        }
    }
    assert_eq!(honest.write(0, 0, &[7; 4096]), 0);
}

/// Messages without end, and answers that nobody reads, take neither the server's time nor memory.
#[test]
fn a_monitor_that_never_stops_talking() {
    let path = socket("flood");
    let serving = serving(&path);
    let mut honest = serving.client(true);
    let monitor = Monitor::connect(&path);
    monitor.set_up();
    let mut sender = monitor.stream.try_clone().unwrap();
    let flood: Vec<u8> = message(SET_VRING_BASE, VERSION, 8, &[0; 8]).repeat(1000);
    let asks: Vec<u8> = message(GET_FEATURES, VERSION, 0, &[]).repeat(1000);
    let talking = std::thread::spawn(move || {
        (0..200).all(|_| sender.write_all(&flood).is_ok()) && sender.write_all(&asks).is_ok()
    });
    for round in 0..100 {
        assert_eq!(honest.write(0, 0, &[round; 4096]), 0);
    }
    assert!(talking.join().unwrap());
}
