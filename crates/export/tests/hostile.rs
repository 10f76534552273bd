//! Clients that break the protocol, or keep to it in order to do harm: they are dropped, and the
//! others notice nothing.

use crate::support::{Client, Serving, export, go, request};
use nandscope_export::nbd::socket::{Address, Listener};
use nandscope_export::nbd::wire::{self, command};
use nandscope_units::Nanos;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const FAST: Nanos = Nanos(100_000);
/// Beyond the device of the corpus, which has 1 MiB: what it may write lies before.
const ELSEWHERE: u64 = 48 << 20;

/// The corpus of the fuzz target, over a real socket.
#[test]
fn malformed_messages_end_their_own_connection_only() {
    let serving = Serving::start(export(), FAST);
    let mut honest = serving.client(true);
    assert_eq!(honest.write(0, ELSEWHERE, &[0x77; 4096]), 0);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/nbd");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        let mut stream = serving.stream();
        // The server may hang up before it has read everything.
        let _ = stream.write_all(&bytes);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        assert!(Client(stream).is_dropped(), "{}", path.display());
        let unharmed = honest.read(ELSEWHERE, 4096) == [0x77; 4096];
        assert!(unharmed, "{}", path.display());
        seen += 1;
    }
    assert!(seen > 10);
}

#[test]
fn who_breaks_the_protocol_is_dropped() {
    let serving = Serving::start(export(), FAST);
    let begun = |bytes: &[u8]| {
        let mut client = serving.client(false);
        client.send(bytes);
        client.is_dropped()
    };
    let mut wrong_magic = request(0, command::READ, 0, 0, 512);
    wrong_magic[3] ^= 1;
    assert!(begun(&wrong_magic));
    assert!(begun(&request(0, command::WRITE, 0, 0, u32::MAX)));
    assert!(begun(&request(0, command::WRITE, 0, 0, (32 << 20) + 1)));
    let greeted = |bytes: &[u8]| {
        let mut stream = serving.stream();
        stream.read_exact(&mut [0; 18]).unwrap();
        let _ = stream.write_all(bytes);
        Client(stream).is_dropped()
    };
    assert!(greeted(&0x8000_0003u32.to_be_bytes()));
    assert!(greeted(b"\0\0\0\x03IHAVEOPS\0\0\0\x07\0\0\0\0"));
    assert!(greeted(b"\0\0\0\x03IHAVEOPT\0\0\0\x07\x7f\xff\xff\xff"));
    let list = b"IHAVEOPT\0\0\0\x03\0\0\0\0".repeat(100);
    assert!(greeted(&[&b"\0\0\0\x03"[..], &list].concat()));
    assert!(greeted(b"\0\0\0\x03IHAVEOPT\0\0\0\x01\0\0\0\x05other"));
}

/// A write whose data never comes to its end changes nothing; nor does its client's end.
#[test]
fn a_client_that_goes_in_the_middle_of_a_write() {
    let serving = Serving::start(export(), Nanos::from_millis(5));
    let mut honest = serving.client(true);
    let mut leaving = serving.client(true);
    leaving.send(&request(0, command::WRITE, 1, 0, 65536));
    leaving.send(&[0xee; 65535]);
    // A client that leaves while its requests are under way.
    let mut busy = serving.client(true);
    for cookie in 0..50 {
        busy.send(&request(0, command::READ, cookie, 0, 1 << 20));
    }
    drop((leaving, busy));
    assert_eq!(honest.read(0, 65536), vec![0; 65536]);
    assert_eq!(honest.ask(0, command::FLUSH, 0, 0).0, 0);
    assert_eq!(honest.read(0, 65536), vec![0; 65536]);
}

/// A client that asks for a gigabyte and reads none of it: the server takes no more of its requests
/// than the limits allow, others are served, and in the end it gets everything, in order.
#[test]
fn a_slow_reader() {
    let _alone = MEASURING.lock();
    let serving = Serving::start(export(), FAST);
    let mut slow = serving.client(true);
    let mut honest = serving.client(true);
    assert_eq!(honest.write(0, 0, &vec![0x3c; 1 << 20]), 0);
    let before = resident();
    let sender = slow.0.try_clone().unwrap();
    let sent = Arc::new(AtomicU64::new(0));
    let counted = sent.clone();
    let sending = std::thread::spawn(move || {
        let mut sender = Client(sender);
        for cookie in 0..1024 {
            sender.send(&request(0, command::READ, cookie, 0, 1 << 20));
            counted.store(cookie + 1, Ordering::Relaxed);
        }
    });
    // Until the server takes no more of them.
    let mut before_pause = u64::MAX;
    while sent.load(Ordering::Relaxed) != before_pause {
        before_pause = sent.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(100));
    }
    let began = Instant::now();
    assert_eq!(honest.read(0, 512), [0x3c; 512]);
    assert!(began.elapsed() < Duration::from_secs(8));
    if let (Some(before), Some(after)) = (before, resident()) {
        assert!(after < before + (200 << 20), "{before} bytes, then {after}");
    }
    for cookie in 0..1024 {
        let (got, error, data) = slow.answer(1 << 20).unwrap();
        assert_eq!((got, error), (cookie, 0));
        assert!(data.len() == 1 << 20 && data.iter().all(|b| *b == 0x3c));
    }
    sending.join().unwrap();
}

/// Tests that measure the memory of this process run one at a time.
static MEASURING: Mutex<()> = Mutex::new(());

/// Bytes of this process in memory, where the system tells.
fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

#[test]
fn two_hundred_connections() {
    let serving = Serving::start(export(), FAST);
    let idle: Vec<_> = (0..100).map(|_| serving.stream()).collect();
    let mut clients: Vec<_> = (0..100).map(|i| serving.client(i % 2 == 0)).collect();
    for (i, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.write(0, (i as u64) << 12, &[i as u8; 512]), 0);
    }
    for (i, client) in clients.iter_mut().rev().enumerate() {
        assert_eq!(client.read((i as u64) << 12, 512), [i as u8; 512]);
    }
    drop(idle);
    // Beyond the limit those have to go who have said nothing for longest, and nobody else.
    let mut more: Vec<_> = (0..200).map(|_| serving.stream()).collect();
    let mut newest = serving.client(true);
    assert_eq!(newest.read(0, 512), [0; 512]);
    assert!(Client(more.remove(0)).is_dropped());
    let mut last = more.pop().unwrap();
    last.read_exact(&mut [0; 18]).unwrap();
    for (i, client) in clients.iter_mut().enumerate() {
        assert_eq!(client.read((i as u64) << 12, 512), [i as u8; 512]);
    }
}

/// 300 who connect and say nothing, here and where fault commands are taken, lock nobody out.
#[test]
fn the_silent_lock_nobody_out() {
    let path = std::env::temp_dir().join(format!("nandscope-silent-{}.ctl", std::process::id()));
    let control = Listener::open(&Address::Unix(path.clone())).unwrap();
    let serving = Serving::start_with(export(), FAST, |server| server.with_control_at(control));
    let mut silent: Vec<_> = (0..300).map(|_| serving.stream()).collect();
    // A half of the greeting does not count either.
    for stream in &mut silent {
        let _ = stream.write_all(&[0; 2]);
    }
    let began = Instant::now();
    let mut good = serving.client(true);
    assert_eq!(good.write(0, 0, &[5; 512]), 0);
    let controls: Vec<_> = (0..300)
        .map(|_| UnixStream::connect(&path).unwrap())
        .collect();
    let mut command = UnixStream::connect(&path).unwrap();
    command
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    command.write_all(b"power off\n").unwrap();
    let mut answer = [0; 6];
    command.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"error:", "these tests know no faults");
    // Before any of the silent ones has come to the end of its time.
    assert!(began.elapsed() < Duration::from_secs(8));
    assert_eq!(good.read(0, 512), [5; 512]);
    drop((silent, controls));
}

/// 12 clients that stop in the middle of a write of 32 MiB: there is no room for all, small requests
/// of others are served at once, and a large one gets room when a half has had its time.
#[test]
fn halves_of_writes_take_bounded_memory() {
    let _alone = MEASURING.lock();
    let serving = Serving::start(export(), FAST);
    let mut honest = serving.client(true);
    let before = resident();
    let halves: Vec<_> = (0..12)
        .map(|_| {
            let mut client = serving.client(true);
            client.0.set_nonblocking(true).unwrap();
            let mut half = request(0, command::WRITE, 1, 0, 32 << 20);
            half.resize(12 << 20, 0xee);
            std::thread::spawn(move || {
                let (began, mut sent) = (Instant::now(), 0);
                while sent < half.len() && began.elapsed() < Duration::from_secs(3) {
                    match client.0.write(&half[sent..]) {
                        Ok(length) => sent += length,
                        Err(e) if e.kind() == ErrorKind::WouldBlock => {
                            std::thread::sleep(Duration::from_millis(5));
                        }
                        Err(_) => break,
                    }
                }
                (client, sent == half.len())
            })
        })
        .collect();
    // Small requests, which need little room, all the time.
    for round in 0..50 {
        assert_eq!(honest.read(0, 4096), vec![0; 4096], "{round}");
    }
    let halves: Vec<_> = halves.into_iter().map(|h| h.join().unwrap()).collect();
    let whole = halves.iter().filter(|(_, is_whole)| *is_whole).count();
    assert!((1..12).contains(&whole), "{whole} were taken in");
    if let (Some(before), Some(after)) = (before, resident()) {
        // 12 writers hold 12 MiB each: 144 MiB.
        let limit = (144 + 256 + 100) << 20;
        assert!(after < before + limit, "{before} bytes, then {after}");
    }
    assert_eq!(honest.write(0, 0, &vec![0x3c; 32 << 20]), 0);
    assert_eq!(honest.read(32 << 20, 4096), vec![0; 4096]);
}

#[test]
fn sockets_are_private() {
    let serving = Serving::start(export(), FAST);
    let mode = std::fs::metadata(&serving.path)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    // One that answers is not taken over.
    let taken = Listener::open(&Address::Unix(serving.path.clone())).unwrap_err();
    assert!(taken.to_string().contains("another server uses"), "{taken}");
    // One that was left behind is; a file is not.
    let left = serving.path.with_extension("left");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    assert!(left.exists());
    drop(Listener::open(&Address::Unix(left.clone())).unwrap());
    assert!(!left.exists());
    std::fs::write(&left, "a file").unwrap();
    let file = Listener::open(&Address::Unix(left.clone())).unwrap_err();
    assert!(file.to_string().contains("file of that name"), "{file}");
    assert_eq!(std::fs::read_to_string(&left).unwrap(), "a file");
    std::fs::remove_file(&left).unwrap();
    // A file that replaced the server's socket is not removed.
    let replaced = Listener::open(&Address::Unix(left.clone())).unwrap();
    std::fs::remove_file(&left).unwrap();
    std::fs::write(&left, "another file").unwrap();
    drop(replaced);
    assert_eq!(std::fs::read_to_string(&left).unwrap(), "another file");
    std::fs::remove_file(&left).unwrap();
    // One whose queue is full answers later: it is neither taken over nor waited for.
    let busy = std::os::unix::net::UnixListener::bind(&left).unwrap();
    rustix::net::listen(&busy, 0).unwrap();
    let _waiting = UnixStream::connect(&left).unwrap();
    let taken = Listener::open(&Address::Unix(left.clone())).unwrap_err();
    assert!(taken.to_string().contains("another server"), "{taken}");
    std::fs::remove_file(&left).unwrap();

    let tcp = Listener::open(&Address::Tcp(0)).unwrap();
    let port: u16 = tcp.uri().rsplit(':').next().unwrap().parse().unwrap();
    assert_eq!(tcp.uri(), format!("nbd://127.0.0.1:{port}"));
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    let outside = TcpStream::connect(("127.0.0.2", port)).unwrap_err();
    assert_eq!(outside.kind(), ErrorKind::ConnectionRefused);
}

/// A client has ten seconds to choose an export.
#[test]
fn who_never_comes_to_the_point_is_dropped() {
    let serving = Serving::start(export(), FAST);
    let mut client = Client(serving.stream());
    client.hello();
    client.option(wire::OPT_INFO, &go("", &[]));
    client.answers();
    let began = Instant::now();
    assert!(client.is_dropped());
    assert!(began.elapsed() > Duration::from_secs(8));
}
