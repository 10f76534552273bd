//! Six requests for zeroes in almost 4 GiB each, at once, to a server with faults: its memory stays bounded, another client is
//! served, and SIGTERM ends it.
#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::nbd::{Client, request};
use crate::support::serving::Serving;
use nandscope_export::nbd::wire::{command, command_flag};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const DRIVE: &str = "sim:sm2708-250gb";
const REQUESTS: u64 = 6;
/// The longest request of whole sectors.
const LENGTH: u32 = 0xffff_fe00;
/// Bytes that a request for zeroes may add to the memory of the server: the budget for data of requests is 256 MiB.
const ADDED: u64 = 256 << 20;
/// Processor time from SIGTERM to the end, in hundredths of a second.
const TICKS: u64 = 200;
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(100);

fn client(serving: &Serving) -> Client {
    let stream = UnixStream::connect(&serving.socket).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    Client::begin(stream, true)
}

/// Bytes that have arrived at a client.
fn arrived(client: &mut Client) -> usize {
    client.0.set_nonblocking(true).unwrap();
    let mut bytes = [0; 4096];
    match client.0.read(&mut bytes) {
        Ok(count) => count,
        Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
        Err(error) => panic!("{error}"),
    }
}

fn zeroes(name: &str, more: &[&str], flags: u16) {
    let folder = Folder::new(&format!("zeroes-{name}"));
    let more = [more, &["--store", "card.img"]].concat();
    let serving = Serving::start(&folder, DRIVE, &more);
    let mut good = client(&serving);
    // Data under the zeroes, which a power cut may bring back.
    for n in 0..64 {
        assert_eq!(good.write(0, n << 20, &[0x6d; 1 << 20]), 0);
    }
    let before = serving.memory("VmHWM");
    let mut zeroing = client(&serving);
    let requests = (0..REQUESTS).map(|n| {
        let offset = n * u64::from(LENGTH);
        request(flags, command::WRITE_ZEROES, n, offset, LENGTH)
    });
    zeroing
        .0
        .write_all(&requests.flatten().collect::<Vec<_>>())
        .unwrap();
    for n in 0..16 {
        let at = (200 << 30) + (n << 20);
        assert_eq!(good.read(at, 4096), [0; 4096]);
    }
    // Writes of zeroes take a minute; discards may be done. A reply has 16 bytes at least.
    let replies = arrived(&mut zeroing) / 16;
    let is_middle = replies < REQUESTS as usize;
    assert!(is_middle || flags & command_flag::NO_HOLE == 0, "{replies}");
    let (ran, ticks, memory) = serving.end_measured("TERM", PATIENCE);
    ran.succeeds();
    println!("{name}: {before} bytes, then {memory}; {ticks} ticks");
    assert!(memory < before + ADDED, "{before} bytes, then {memory}");
    assert!(ticks <= TICKS, "{ticks} hundredths of a second");
}

#[test]
fn six_discards_of_4_gib_with_a_control_socket() {
    zeroes("control", &["--control", "unix:card.ctl"], 0);
}

#[test]
fn six_writes_of_4_gib_of_zeroes_with_a_control_socket() {
    let no_hole = command_flag::NO_HOLE;
    zeroes("control-writes", &["--control", "unix:card.ctl"], no_hole);
}

#[test]
fn six_writes_of_4_gib_of_zeroes_with_a_fault() {
    zeroes("fault", &["--fault", "lie on"], command_flag::NO_HOLE);
}
