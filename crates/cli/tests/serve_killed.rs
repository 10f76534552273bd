//! Kills `nandscope serve --store` repeatedly in the middle of writes: the next server must have all confirmed contents,
//! and a device state that includes their writes.

use crate::support::serving::Serving;
use crate::support::{Folder, tiny};
use nandscope_device::Device;
use nandscope_units::random::SplitMix64;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

const BLOCK: u64 = 4096;
/// Requests under way.
const DEPTH: usize = 8;
/// Number of kills; `NANDSCOPE_KILLS` sets another number.
const KILLS: usize = 120;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FLUSH: u16 = 3;
const TRIM: u16 = 4;

/// NBD client for reads, writes, flushes and trims with simple replies.
struct Client(UnixStream);

impl Client {
    fn connect(serving: &Serving) -> io::Result<Client> {
        let mut client = Client(UnixStream::connect(&serving.socket)?);
        client.take(18)?;
        let mut hello = 3u32.to_be_bytes().to_vec();
        hello.extend(b"IHAVEOPT");
        hello.extend(1u32.to_be_bytes());
        hello.extend(0u32.to_be_bytes());
        client.0.write_all(&hello)?;
        client.take(10)?;
        Ok(client)
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    fn ask(&mut self, what: u16, cookie: u64, block: u64, data: &[u8]) -> io::Result<()> {
        let (offset, length) = match what {
            FLUSH => (0, 0),
            _ => (block * BLOCK, BLOCK as u32),
        };
        let mut bytes = 0x2560_9513_u32.to_be_bytes().to_vec();
        bytes.extend([0, 0]);
        bytes.extend(what.to_be_bytes());
        bytes.extend(cookie.to_be_bytes());
        bytes.extend(offset.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(data);
        self.0.write_all(&bytes)
    }

    fn answer(&mut self) -> io::Result<u64> {
        let head = self.take(16)?;
        assert_eq!(head[..8], [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 0]);
        Ok(u64::from_be_bytes(head[8..].try_into().unwrap()))
    }

    fn read(&mut self, block: u64) -> Vec<u8> {
        self.ask(READ, 0, block, &[]).unwrap();
        self.answer().unwrap();
        self.take(BLOCK as usize).unwrap()
    }
}

/// A block filled with the number of its write; 0 gives a block of zeroes.
fn stamped(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(BLOCK as usize / 8)
}

/// The writes of a host: confirmed and under way.
struct Host {
    random: SplitMix64,
    stamp: u64,
    /// Number of the last confirmed write of each block; 0 after a trim.
    known: BTreeMap<u64, u64>,
    /// Block and number of each request under way, by cookie; `None` for flushes.
    under_way: BTreeMap<u64, Option<(u64, u64)>>,
    /// Confirmed writes, and writes that were under way at a kill.
    written: u64,
    unheard: u64,
}

impl Host {
    fn new() -> Self {
        Host {
            random: SplitMix64::new(7),
            stamp: 0,
            known: BTreeMap::new(),
            under_way: BTreeMap::new(),
            written: 0,
            unheard: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.random.below(bound)
    }

    /// Writes, discards and flushes until the server is gone.
    fn work(&mut self, client: &mut Client, blocks: u64) {
        let mut cookie = 0;
        loop {
            while self.under_way.len() < DEPTH {
                cookie += 1;
                if self.ask(client, cookie, blocks).is_err() {
                    return;
                }
            }
            let Ok(answered) = client.answer() else {
                return;
            };
            if let Some((block, stamp)) = self.under_way.remove(&answered).unwrap() {
                self.known.insert(block, stamp);
                self.written += u64::from(stamp != 0);
            }
        }
    }

    fn ask(&mut self, client: &mut Client, cookie: u64, blocks: u64) -> io::Result<()> {
        let kind = self.below(16);
        if kind == 0 {
            self.under_way.insert(cookie, None);
            return client.ask(FLUSH, cookie, 0, &[]);
        }
        // At most one request per block, so that its possible contents are known.
        let mut block = self.below(blocks);
        while self.under_way.values().flatten().any(|(b, _)| *b == block) {
            block = self.below(blocks);
        }
        if kind < 3 {
            self.under_way.insert(cookie, Some((block, 0)));
            return client.ask(TRIM, cookie, block, &[]);
        }
        self.stamp += 1;
        self.under_way.insert(cookie, Some((block, self.stamp)));
        client.ask(WRITE, cookie, block, &stamped(self.stamp))
    }

    /// Checks that every block has its last confirmed write or the one under way.
    fn check(&mut self, client: &mut Client, blocks: u64) {
        let open: BTreeMap<u64, u64> = std::mem::take(&mut self.under_way)
            .into_values()
            .flatten()
            .collect();
        self.unheard += open.values().filter(|stamp| **stamp != 0).count() as u64;
        for block in 0..blocks {
            let found = client.read(block);
            let heard = self.known.get(&block).copied().unwrap_or(0);
            if found == stamped(heard) {
                continue;
            }
            let new = open.get(&block).map(|stamp| stamped(*stamp));
            assert!(new.is_some_and(|new| new == found), "block {block} is lost");
            self.known.insert(block, open[&block]);
        }
    }
}

/// The device saved next to the contents.
fn kept_device(folder: &Folder) -> Device {
    let bytes = std::fs::read(folder.0.join("card.img.device")).unwrap();
    let mut lines = bytes.splitn(3, |b| *b == b'\n');
    Device::load(lines.nth(2).unwrap()).unwrap()
}

fn kill_over_and_over(name: &str, target: &str, blocks: u64, kills: usize, speeds: &[&str]) {
    let folder = Folder::new(name);
    let mut host = Host::new();
    let mut replayed = 0;
    for round in 0..kills {
        let speed = speeds[round % speeds.len()];
        let more = ["--store", "card.img", "--speed", speed];
        let serving = Serving::start(&folder, target, &more);
        let mut client = Client::connect(&serving).unwrap();
        host.check(&mut client, blocks);
        let before = host.written;
        let delay = Duration::from_micros(500 + host.below(60_000));
        let pid = serving.pid();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(delay);
            assert!(
                std::process::Command::new("kill")
                    .args(["-s", "KILL", &pid])
                    .status()
                    .unwrap()
                    .success()
            );
        });
        host.work(&mut client, blocks);
        killer.join().unwrap();
        drop(serving);
        replayed += usize::from(host.written > before);
    }
    let serving = Serving::start(&folder, target, &["--store", "card.img", "--speed", "max"]);
    let mut client = Client::connect(&serving).unwrap();
    host.check(&mut client, blocks);
    drop(client);
    let ran = serving.finish();
    assert!(ran.err.contains("was killed"), "{}", ran.err);
    assert!(replayed > kills / 2, "{replayed} of {kills} had written");
    // The device has counted all confirmed writes, and none that was never sent; they were programmed to flash.
    let (least, most) = (host.written * BLOCK, (host.written + host.unheard) * BLOCK);
    let counters = kept_device(&folder).counters();
    let found = counters.host_written.0;
    assert!(
        (least..=most).contains(&found),
        "{found} is not within {least}..={most}"
    );
    assert!(counters.flash_programmed.0 >= found / 2, "{counters:?}");
    let left: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("journal") || name.contains("partial"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

fn kills() -> usize {
    std::env::var("NANDSCOPE_KILLS").map_or(KILLS, |text| text.parse().unwrap())
}

#[test]
fn a_killed_server_of_a_drive_comes_back_as_it_was() {
    kill_over_and_over("killed-drive", &tiny(), 512, kills() / 2, &["max", "1"]);
}

#[test]
fn a_killed_server_of_a_card_comes_back_as_it_was() {
    let speeds = ["max", "100"];
    kill_over_and_over("killed-card", "sim:kingston-8gb", 512, kills() / 2, &speeds);
}

/// Every file of a folder.
fn files(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let names = folder.names().into_iter();
    names
        .filter(|name| !name.ends_with(".sock"))
        .map(|name| (name.clone(), std::fs::read(folder.0.join(name)).unwrap()))
        .collect()
}

/// A flipped bit in a journal or a state file: the server refuses to start, and changes no file.
#[test]
fn damage_of_what_was_kept_is_refused_and_changes_nothing() {
    let folder = Folder::new("killed-damaged");
    let more = ["--store", "card.img", "--speed", "max"];
    let serving = Serving::start(&folder, &tiny(), &more);
    let mut client = Client::connect(&serving).unwrap();
    for number in 1..=400 {
        client.ask(WRITE, number, number, &stamped(number)).unwrap();
        client.answer().unwrap();
    }
    assert_eq!(serving.end("KILL").code, None);
    for name in ["card.img", "card.img.device", "card.img.journal.0"] {
        let mode = std::fs::metadata(folder.0.join(name))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
    }
    let serve = [
        "serve",
        &tiny(),
        "--nbd",
        "unix:card.sock",
        "--store",
        "card.img",
    ];
    let good = files(&folder);
    let spoil = |name: &str, at: usize| {
        let mut bytes = good[name].clone();
        bytes[at] ^= 4;
        std::fs::write(folder.0.join(name), bytes).unwrap();
        files(&folder)
    };
    let state = "card.img.device";
    for at in [10, 40, 300, good[state].len() - 20] {
        let before = spoil(state, at);
        folder.run(&serve).fails(2, &[state, "saved"]);
        assert!(files(&folder) == before, "byte {at}");
    }
    std::fs::write(folder.0.join(state), &good[state]).unwrap();
    let journal = "card.img.journal.0";
    let before = spoil(journal, 32 + 32 * 10 + 3);
    let refused = folder.run(&serve);
    let parts = [
        "entry 10 of 400",
        "390 acknowledged commands",
        "--discard-journal",
    ];
    refused.fails(2, &[&[journal], &parts[..]].concat());
    assert!(files(&folder) == before);
    // With `--discard-journal` the readable commands are replayed.
    let more = [&more[..], &["--discard-journal"]].concat();
    let serving = Serving::start(&folder, &tiny(), &more);
    let mut client = Client::connect(&serving).unwrap();
    assert!(client.read(7) == stamped(7));
    drop(client);
    let ran = serving.finish();
    let aside = format!("{journal}.discarded");
    assert!(ran.err.contains(&aside), "{}", ran.err);
    assert!(files(&folder)[&aside] == before[journal]);
    assert_eq!(kept_device(&folder).counters().host_written.0, 10 * BLOCK);
    let again = Serving::start(&folder, &tiny(), &["--store", "card.img"]);
    again.finish();
}
