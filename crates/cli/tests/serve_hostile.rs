//! `nandscope serve` with hostile clients: its memory stays bounded, good clients are still served, SIGTERM ends it within
//! two seconds, and the next server has the stored data.

#![cfg(target_os = "linux")]

use crate::support;
use crate::support::Folder;
use crate::support::nbd::monitor::{Monitor, SET_VRING_CALL, SET_VRING_KICK, event};
use crate::support::nbd::{Client, request};
use crate::support::serving::Serving;
use nandscope_export::nbd::wire::command;
use rustix::fd::AsFd;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Time within which a server must end after SIGTERM.
const END: Duration = Duration::from_secs(2);
/// Limit of the server's memory, bytes: 256 MiB for data of requests, and as much again for everything else.
const MOST_MEMORY: u64 = 512 << 20;

/// Clients that each send a write only in part.
const HALVES: usize = 150;
/// Connections that never send anything.
const SILENT: usize = 300;

struct Attacked {
    folder: Folder,
    serving: Serving,
}

impl Attacked {
    fn start(name: &str, target: &str, speed: &str) -> Attacked {
        let folder = Folder::new(&format!("hostile-{name}"));
        let serving = Self::serve(&folder, target, speed);
        Attacked { folder, serving }
    }

    fn serve(folder: &Folder, target: &str, speed: &str) -> Serving {
        let more = [
            "--store",
            "card.img",
            "--control",
            "unix:card.ctl",
            "--vhost-user",
            "unix:vm.sock",
            "--speed",
            speed,
        ];
        Serving::start(folder, target, &more)
    }

    fn stream(&self) -> UnixStream {
        let stream = UnixStream::connect(&self.serving.socket).unwrap();
        let patience = Some(Duration::from_secs(30));
        stream.set_read_timeout(patience).unwrap();
        stream.set_write_timeout(patience).unwrap();
        stream
    }

    fn client(&self) -> Client {
        Client::begin(self.stream(), true)
    }

    fn monitor(&self) -> Monitor {
        Monitor::connect(&self.folder.0.join("vm.sock"))
    }

    /// Memory of the server, bytes, without mapped pages of the contents file.
    fn memory(&self) -> u64 {
        self.serving.memory("RssAnon:")
    }

    /// Checks that a well-behaved client is served, the server ends in time, and the next server has the written data.
    fn ends_in_time(self, target: &str) {
        self.ends(target, true);
    }

    fn ends(self, target: &str, is_good_served: bool) {
        if is_good_served {
            let mut good = self.client();
            assert_eq!(good.write(0, 1 << 20, &[0x6d; 4096]), 0);
            assert_eq!(good.read(1 << 20, 4096), [0x6d; 4096]);
        }
        let memory = self.memory();
        assert!(memory < MOST_MEMORY, "{memory} bytes");
        let began = Instant::now();
        let ran = self.serving.end("TERM");
        let took = began.elapsed();
        ran.succeeds();
        assert!(took < END, "it took {took:?}");
        let again = Self::serve(&self.folder, target, "max");
        if is_good_served {
            let mut client = Client::begin(UnixStream::connect(&again.socket).unwrap(), true);
            assert_eq!(client.read(1 << 20, 4096), [0x6d; 4096]);
        }
        again.finish();
    }
}

const CARD: &str = "sim:kingston-8gb";

/// Sends `bytes` to every client without blocking, for at most `time`; returns the bytes sent to each.
fn push(clients: &mut [Client], bytes: &[u8], time: Duration) -> Vec<usize> {
    let began = Instant::now();
    let mut sent = vec![0; clients.len()];
    for client in clients.iter() {
        client.0.set_nonblocking(true).unwrap();
    }
    while began.elapsed() < time && sent.iter().any(|sent| *sent < bytes.len()) {
        for (client, sent) in clients.iter_mut().zip(&mut sent) {
            *sent += client.0.write(&bytes[*sent..]).unwrap_or(0);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    sent
}

#[test]
#[ignore = "slow: hostile clients in real time"]
fn slow_half_sent_writes() {
    let attacked = Attacked::start("halves", CARD, "1");
    let mut clients: Vec<_> = (0..HALVES).map(|_| attacked.client()).collect();
    let mut half = request(0, command::WRITE, 1, 0, 32 << 20);
    half.resize(12 << 20, 0xee);
    let sent = push(&mut clients, &half, Duration::from_secs(8));
    assert!(sent.iter().sum::<usize>() > 64 << 20);
    attacked.ends_in_time(CARD);
}

#[test]
#[ignore = "slow: hostile clients in real time"]
fn slow_answers_that_nobody_reads() {
    let attacked = Attacked::start("unread", CARD, "max");
    let mut clients: Vec<_> = (0..30).map(|_| attacked.client()).collect();
    let asks: Vec<u8> = (0..200)
        .flat_map(|n| request(0, command::READ, n, 0, 1 << 20))
        .collect();
    push(&mut clients, &asks, Duration::from_secs(2));
    attacked.ends_in_time(CARD);
}

#[test]
#[ignore = "slow: hostile clients in real time"]
fn slow_silent_connections() {
    let attacked = Attacked::start("silent", CARD, "1");
    let silent: Vec<_> = (0..SILENT).map(|_| attacked.stream()).collect();
    let controls: Vec<_> = (0..SILENT)
        .map(|_| UnixStream::connect(attacked.folder.0.join("card.ctl")).unwrap())
        .collect();
    let monitors: Vec<_> = (0..100).map(|_| attacked.monitor()).collect();
    let said = attacked.folder.run(&["ctl", "card.ctl", "slow", "0", "1"]);
    said.succeeds();
    attacked.ends_in_time(CARD);
    drop((silent, controls, monitors));
}

#[test]
#[ignore = "slow: hostile clients in real time"]
fn slow_guests_that_cannot_be_called() {
    let attacked = Attacked::start("guests", CARD, "1");
    let (call, kick) = (event(u64::MAX - 1), event(1));
    let mut monitors: Vec<_> = (0..8).map(|_| attacked.monitor()).collect();
    for monitor in &mut monitors {
        monitor.set_up();
        monitor.give(SET_VRING_CALL, call.as_fd());
        monitor.give(SET_VRING_KICK, kick.as_fd());
        let _ = monitor.is_heard();
        monitor.put_read();
        (&kick).write_all(&1u64.to_ne_bytes()).unwrap();
    }
    let (_reader, writer) = std::io::pipe().unwrap();
    let mut other = attacked.monitor();
    other.set_up();
    other.give(SET_VRING_CALL, writer.as_fd());
    assert!(!other.is_heard());
    attacked.ends_in_time(CARD);
}

/// The device needs longer for the outstanding requests than the server has to end.
#[test]
#[ignore = "slow: hostile clients in real time"]
fn slow_more_than_the_device_can_do() {
    let drive = "sim:sm2708-250gb";
    let attacked = Attacked::start("much", drive, "0.001");
    let mut clients: Vec<_> = (0..20).map(|_| attacked.client()).collect();
    let asks: Vec<u8> = (0..250)
        .flat_map(|n| request(0, command::TRIM, n, (n % 50) << 32, 0xffff_fe00))
        .collect();
    push(&mut clients, &asks, Duration::from_secs(2));
    let asks: Vec<u8> = (0..250)
        .flat_map(|n| request(0, command::READ, n, n << 25, 32 << 20))
        .collect();
    push(&mut clients, &asks, Duration::from_secs(2));
    attacked.ends(drive, false);
}

/// A mounted card that programs have open while they wait for reads.
#[test]
#[ignore = "slow: hostile clients in real time"]
fn slow_a_busy_mount() {
    let folder = Folder::new("hostile-mount");
    std::fs::create_dir(folder.0.join("card")).unwrap();
    let arguments = ["serve", CARD, "--fuse", "card", "--speed", "0.001"];
    let mut serving = Serving::with(&folder, &arguments);
    if !serving.says("card.img") {
        let ran = serving.ended();
        assert!(
            ran.err.contains("mount") || ran.err.contains("FUSE"),
            "{ran:?}"
        );
        support::loops::skipped("mounting a card is not allowed here");
        return;
    }
    let card = folder.0.join("card/card.img");
    let opened = Arc::new(AtomicUsize::new(0));
    let reading: Vec<_> = (0..8)
        .map(|_| {
            let (card, opened) = (card.clone(), opened.clone());
            std::thread::spawn(move || {
                let mut file = std::fs::File::open(card)?;
                opened.fetch_add(1, Ordering::Relaxed);
                file.read_exact(&mut vec![0; 4 << 20])?;
                Ok::<_, std::io::Error>(file)
            })
        })
        .collect();
    support::signals::wait_for("readers", || {
        (opened.load(Ordering::Relaxed) == 8).then_some(())
    });
    let began = Instant::now();
    serving.end("TERM").succeeds();
    assert!(began.elapsed() < END, "it took {:?}", began.elapsed());
    for reader in reading {
        // Each reader must return, with data or with an error.
        let _ = reader.join().unwrap();
    }
}
