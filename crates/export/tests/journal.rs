//! The journal of a served device: done again on the state that it began with, it gives the state
//! at its last entry, bit for bit, wherever it was cut off.

use nandscope_blockio::store::Store;
use nandscope_device::Device;
use nandscope_device::profile::{library, parse_profile};
use nandscope_export::clock::Speed;
use nandscope_export::command_journal::{
    CommandJournal, CommandJournalError, CommandJournals, JournalFile, Replay,
};
use nandscope_export::request::{Action, Origin, Request};
use nandscope_export::service::Service;
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Nanos};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes before the first entry.
const HEAD: usize = 32;
/// Part of a device that is used at most.
const USED: u64 = 256 << 20;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("nandscope-journal-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn file(folder: &Path, number: u32) -> PathBuf {
    folder.join(number.to_string())
}

#[derive(Debug)]
struct Files(PathBuf, u32);

impl CommandJournals for Files {
    fn next(&mut self, start: Nanos) -> io::Result<JournalFile> {
        self.1 += 1;
        JournalFile::create(&file(&self.0, self.1 - 1), start)
    }
}

fn request(dice: &mut SplitMix64, capacity: u64) -> Request {
    let used = capacity.min(USED);
    let (action, most) = match dice.below(12) {
        0..4 => (Action::Write, 16),
        4 => (Action::Write, 256),
        5..8 => (Action::Read, 32),
        8 => (Action::Discard, 20_000),
        9 => (Action::Zero, 64),
        10 => (Action::WriteZeroes, 4_000),
        _ => (Action::Flush, 0),
    };
    let most = most.min(used / 4096 / 8);
    let length = if most == 0 {
        0
    } else {
        (1 + dice.below(most)) * 4096
    };
    Request {
        action,
        offset: dice.below((used - length) / 4096) * 4096,
        length: length as u32,
        data: match action {
            Action::Write => vec![7; length as usize],
            _ => Vec::new(),
        },
        durable: dice.below(5) == 0,
    }
}

fn device(name: &str) -> Device {
    let profile = match name {
        "tiny" => parse_profile(name, include_str!("../../cli/tests/data/tiny.toml")).unwrap(),
        name => library::device(name).unwrap().profile().unwrap(),
    };
    let host = library::host("direct").unwrap().host_profile().unwrap();
    Device::new(&profile, &host, 1).unwrap()
}

/// The state when all that is under way and planned for the next second has happened.
fn state_later(device: &Device, until: Nanos) -> Vec<u8> {
    let mut device = Device::load(&device.save().unwrap()).unwrap();
    let mut done = Vec::new();
    while let Some(event) = device.next_event().filter(|e| *e <= until) {
        device.advance(event, &mut done);
    }
    while device.now() < until {
        device.advance(until, &mut done);
    }
    device.save().unwrap()
}

fn replay_all(kept: &[u8], folder: &Path, upto: u32) -> Device {
    let mut device = Device::load(kept).unwrap();
    let mut replay = Replay::new(&mut device);
    for number in 0..upto {
        let bytes = std::fs::read(file(folder, number)).unwrap();
        replay.play(&CommandJournal::read(&bytes).unwrap()).unwrap();
    }
    drop(replay);
    device
}

/// Serves at random, and compares the device now and then with what the journals make of its
/// state at the beginning.
fn compare(name: &str, speed: Speed, seed: u64) {
    let folder = Folder::new(&format!("{name}-{seed}"));
    let device = device(name);
    let kept = device.save().unwrap();
    let capacity = device.capacity();
    let files = Files(folder.0.clone(), 0);
    let mut service = Service::new(device, Store::memory(capacity), speed)
        .with_faults(1)
        .with_journals_of(Box::new(files), 400)
        .unwrap();
    let (mut dice, mut wall, mut done) = (SplitMix64::new(seed), Nanos(0), Vec::new());
    let (mut compared, mut most_under_way) = (0, 0);
    for cookie in 0..1500 {
        wall += Nanos(dice.below(400_000));
        let origin = Origin {
            connection: 1,
            cookie,
        };
        service.submit(origin, request(&mut dice, capacity.0), wall);
        most_under_way = most_under_way.max(service.outstanding());
        if dice.below(3) == 0 || service.outstanding() > 40 {
            service.run(wall, &mut done);
        }
        if dice.below(400) == 0 {
            service
                .inject("power cycle".parse().unwrap(), wall)
                .unwrap();
        }
        if dice.below(7) == 0 {
            service.commit().unwrap();
        }
        if dice.below(150) == 0 {
            service.commit().unwrap();
            let journals = (0..).find(|n| !file(&folder.0, *n).exists()).unwrap();
            let again = replay_all(&kept, &folder.0, journals);
            let until = service.model().now().max(again.now()) + Nanos(1_000_000_000);
            let (ours, theirs) = (
                state_later(service.model(), until),
                state_later(&again, until),
            );
            assert!(ours == theirs, "{name} after {cookie} requests");
            compared += 1;
        }
    }
    assert!(
        compared > 3 && most_under_way > 4,
        "{compared} {most_under_way}"
    );
    assert!(
        file(&folder.0, 2).exists(),
        "journals became no longer than asked"
    );
}

#[test]
fn the_state_of_drives_comes_back() {
    compare("tiny", Speed::Max, 1);
    compare("tiny", Speed::Times(1.0), 2);
}

#[test]
fn the_state_of_cards_comes_back() {
    compare("kingston-8gb", Speed::Times(100.0), 3);
    compare("samsung-evo-16gb", Speed::Max, 4);
}

/// A discard that was under way is done again, but not over what was written after it.
#[test]
fn discards_under_way_are_known() {
    let folder = Folder::new("discards");
    let device = device("tiny");
    let kept = device.save().unwrap();
    let capacity = device.capacity();
    let files = Files(folder.0.clone(), 0);
    let service = Service::new(device, Store::memory(capacity), Speed::Times(1.0));
    let mut service = service.with_journals(Box::new(files)).unwrap();
    let mut submit = |cookie, action, offset: u64, length: u32| {
        let data = vec![
            1;
            if action == Action::Write {
                length as usize
            } else {
                0
            }
        ];
        let request = Request {
            action,
            offset,
            length,
            data,
            durable: false,
        };
        let origin = Origin {
            connection: 1,
            cookie,
        };
        service.submit(origin, request, Nanos(1000));
    };
    submit(1, Action::Discard, 0, 1 << 20);
    // Takes longer than the discard.
    submit(2, Action::Write, 256 << 10, 128 << 10);
    service.commit().unwrap();
    let mut device = Device::load(&kept).unwrap();
    let mut replay = Replay::new(&mut device);
    let bytes = std::fs::read(file(&folder.0, 0)).unwrap();
    replay.play(&CommandJournal::read(&bytes).unwrap()).unwrap();
    let replayed = replay.finish();
    assert_eq!((replayed.commands, replayed.under_way), (2, 2));
    assert_eq!(replayed.lost_discards, [0..256 << 10, 384 << 10..1 << 20]);
    // Once it was completed and something came after, there is nothing to be done.
    let mut done = Vec::new();
    service.run(Nanos(1_000_000_000), &mut done);
    assert_eq!(done.len(), 2);
    let origin = Origin {
        connection: 1,
        cookie: 3,
    };
    let flush = Request {
        action: Action::Flush,
        offset: 0,
        length: 0,
        data: Vec::new(),
        durable: false,
    };
    service.submit(origin, flush, Nanos(2_000_000_000));
    service.commit().unwrap();
    let mut device = Device::load(&kept).unwrap();
    let mut replay = Replay::new(&mut device);
    let bytes = std::fs::read(file(&folder.0, 0)).unwrap();
    replay.play(&CommandJournal::read(&bytes).unwrap()).unwrap();
    assert_eq!(replay.finish().lost_discards, []);
}

#[test]
fn what_is_cut_off_or_does_not_fit_is_refused() {
    let folder = Folder::new("cut");
    let mut service = Service::new(
        device("kingston-8gb"),
        Store::memory(Bytes(1 << 20)),
        Speed::Max,
    )
    .with_journals(Box::new(Files(folder.0.clone(), 0)))
    .unwrap();
    let mut dice = SplitMix64::new(5);
    for cookie in 0..50 {
        let mut request = request(&mut dice, USED);
        request.offset = 0;
        let origin = Origin {
            connection: 1,
            cookie,
        };
        service.submit(origin, request, Nanos(0));
    }
    service.commit().unwrap();
    let bytes = std::fs::read(file(&folder.0, 0)).unwrap();
    let whole = CommandJournal::read(&bytes).unwrap();
    for cut in 0..bytes.len() {
        match cut {
            0..20 => assert_eq!(
                CommandJournal::read(&bytes[..cut]),
                Err(CommandJournalError::NotAJournal)
            ),
            20..HEAD => assert_eq!(
                CommandJournal::read(&bytes[..cut]),
                Err(CommandJournalError::Head)
            ),
            cut => damages(&bytes[..cut], &whole, (cut - HEAD) / 32),
        }
    }
    // A kill during a commit leaves incomplete entries, which were not acknowledged.
    for more in 1..bytes.len() - HEAD {
        let torn = [&bytes[..], &bytes[HEAD..HEAD + more]].concat();
        assert_eq!(CommandJournal::read(&torn).unwrap(), whole);
    }
    // A bit of an entry, an entry that is missing, doubled or at another place: whatever comes after
    // it was acknowledged.
    for number in [0, 7, whole.entries.len() - 1] {
        let at = HEAD + 32 * number;
        for bit in 0..256 {
            let mut damaged = bytes.clone();
            damaged[at + bit / 8] ^= 1 << (bit % 8);
            damages(&damaged, &whole, number);
        }
    }
    let at = |number: usize| HEAD + 32 * number;
    damages(&[&bytes[..at(7)], &bytes[at(8)..]].concat(), &whole, 7);
    damages(&[&bytes[..at(8)], &bytes[at(7)..]].concat(), &whole, 8);
    let swapped = [&bytes[at(8)..at(9)], &bytes[at(7)..at(8)]].concat();
    damages(
        &[&bytes[..at(7)], &swapped, &bytes[at(9)..]].concat(),
        &whole,
        7,
    );
    damages(&[&bytes[..at(9)], &[0; 64]].concat(), &whole, 9);
    for bit in 0..HEAD * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(
            CommandJournal::read(&damaged).is_err(),
            "bit {bit} of the head"
        );
    }
    let mut old = bytes.clone();
    old[7] = b'1';
    assert_eq!(
        CommandJournal::read(&old),
        Err(CommandJournalError::Version('1'))
    );
    // A device that is elsewhere in time.
    let mut other = device("kingston-8gb");
    other.advance(Nanos(5), &mut Vec::new());
    let error = Replay::new(&mut other).play(&whole).unwrap_err();
    assert!(error.to_string().contains("does not fit"), "{error}");
}

/// Checks that damage at this entry is found, and that the entries before it can still be read.
#[track_caller]
fn damages(bytes: &[u8], whole: &CommandJournal, entry: usize) {
    let Err(CommandJournalError::Damaged(damage)) = CommandJournal::read(bytes) else {
        panic!("damage at entry {entry} was not seen");
    };
    assert_eq!(damage.entry, entry as u64);
    assert_eq!(damage.offset, (HEAD + 32 * entry) as u64);
    let (salvaged, found) = CommandJournal::salvage(bytes).unwrap();
    assert_eq!(found, Some(damage));
    assert_eq!(salvaged.entries, whole.entries[..entry]);
}
