//! Monitors of virtual machines that break the protocol of vhost-user: they are hung up on, and the
//! clients of NBD notice nothing. That a real one is served, crates/cli/tests/serve_guest.rs shows.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(target_os = "linux")]

mod support;

use nandscope_export::nbd::socket::{Address, Listener};
use nandscope_export::vhost::Disk;
use nandscope_units::Nanos;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use support::{CAPACITY, Serving, export};

/// A message: number, flags, length that it claims, what follows.
fn message(request: u32, flags: u32, length: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = [request, flags, length].map(u32::to_ne_bytes).concat();
    bytes.extend(body);
    bytes
}

const VERSION: u32 = 1;
const GET_FEATURES: u32 = 1;
const SET_FEATURES: u32 = 2;
const SET_MEM_TABLE: u32 = 5;
const SET_VRING_NUM: u32 = 8;
const SET_VRING_ADDR: u32 = 9;
const GET_CONFIG: u32 = 24;

fn serving(path: &std::path::Path) -> Serving {
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
    let path = std::env::temp_dir().join(format!("nandscope-vhost-{}.sock", std::process::id()));
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

const SET_OWNER: u32 = 3;
const MEMORY: u64 = 1 << 20;

/// Offers memory to the server; gives the memory and whether the server still talks.
fn offer_memory(path: &std::path::Path, seals: SealFlags) -> (OwnedFd, bool) {
    let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
    let memory = rustix::fs::memfd_create("guest", flags).unwrap();
    rustix::fs::ftruncate(&memory, MEMORY).unwrap();
    rustix::fs::fcntl_add_seals(&memory, seals).unwrap();
    let mut body = [1u32, 0].map(u32::to_ne_bytes).concat();
    body.extend([0u64, MEMORY, 1 << 40, 0].map(u64::to_ne_bytes).concat());
    let table = message(SET_MEM_TABLE, VERSION, body.len() as u32, &body);

    let mut monitor = UnixStream::connect(path).unwrap();
    let patience = Some(Duration::from_secs(20));
    monitor.set_read_timeout(patience).unwrap();
    monitor
        .write_all(&message(SET_OWNER, VERSION, 0, &[]))
        .unwrap();
    let descriptors = [memory.as_fd()];
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut room);
    assert!(control.push(SendAncillaryMessage::ScmRights(&descriptors)));
    let sent = sendmsg(
        &monitor,
        &[IoSlice::new(&table)],
        &mut control,
        SendFlags::empty(),
    );
    assert_eq!(sent.unwrap(), table.len());
    let _ = monitor.write_all(&message(GET_FEATURES, VERSION, 0, &[]));
    let answers = monitor.read_exact(&mut [0; 20]).is_ok();
    (memory, answers)
}

/// Memory that can be cut off would end the server once it is touched: it is refused. What is taken
/// cannot be cut off.
#[test]
fn memory_that_can_shrink_is_refused() {
    let path = std::env::temp_dir().join(format!("nandscope-shrink-{}.sock", std::process::id()));
    let serving = serving(&path);
    let mut honest = serving.client(true);
    let (_, answers) = offer_memory(&path, SealFlags::empty());
    assert!(!answers);
    let (_, answers) = offer_memory(&path, SealFlags::GROW);
    assert!(!answers);
    let (memory, answers) = offer_memory(&path, SealFlags::SHRINK);
    assert!(answers);
    let shrunk = rustix::fs::ftruncate(&memory, 0);
    assert_eq!(shrunk, Err(rustix::io::Errno::PERM));
    assert_eq!(honest.write(0, 0, &[7; 4096]), 0);
}
