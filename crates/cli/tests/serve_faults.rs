//! Served cards with faults, used by real programs: f3, file systems, a database. Slow ones run with `--ignored`;
//! `NANDSCOPE_CUTS` sets the number of power cuts of each (200), and `NANDSCOPE_LYING_CUTS` that for a card that lies
//! about flush (a tenth).

#![cfg(target_os = "linux")]

use crate::support;
use crate::support::Folder;
use crate::support::block::{Loop, Mounted, can_mount};
use crate::support::serving::{Serving, attempt, have, run};
use nandscope_units::random::SplitMix64;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

const CARD: &str = "sim:kingston-8gb";

/// Injects a fault over the control socket; returns the answer.
fn inject(folder: &Folder, text: &str) -> String {
    let mut stream = UnixStream::connect(folder.0.join("card.ctl")).unwrap();
    stream.write_all(format!("{text}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    assert!(answer.starts_with("ok: "), "{text}: {answer}");
    answer
}

/// A device of a library profile with another capacity.
fn resized(folder: &Folder, name: &str, text: &str, capacity: u64) -> String {
    let line = text
        .lines()
        .find(|l| l.starts_with("capacity_bytes"))
        .unwrap();
    let text = text.replace(line, &format!("capacity_bytes = {capacity}"));
    format!(
        "sim:{}",
        folder.file(&format!("{name}.toml"), &text).display()
    )
}

#[test]
fn fault_commands_come_over_the_socket() {
    let folder = Folder::new("faults-commands");
    let serving = Serving::start(&folder, CARD, &["--control", "unix:card.ctl"]);
    folder.run(&["ctl", "card.ctl", "power", "off"]).succeeds();
    folder.run(&["ctl", "card.ctl", "power on"]).succeeds();
    folder
        .run(&["ctl", "card.ctl", "power up"])
        .fails(2, &["unknown fault command", "tamper OFFSET"]);
    folder
        .run(&["ctl", "card.ctl", "fake 1TB wrap"])
        .fails(2, &["not less than"]);
    folder
        .run(&["ctl", "no.ctl", "clear"])
        .fails(3, &["no.ctl"]);
    serving.finish();
    assert!(!folder.0.join("card.ctl").exists());
    folder.file("faults", "# at first\nlie on\n\nmelt\n");
    let wrong = folder.run(&["serve", CARD, "--nbd", "unix:s", "--faults", "faults"]);
    wrong.fails(2, &["faults:4", "unknown fault command"]);
}

#[test]
fn clients_see_the_errors() {
    if !have(&["qemu-io"]) {
        return;
    }
    let folder = Folder::new("faults-errors");
    folder.file("faults", "unreadable 1MiB 4096 # one bad block\n");
    let more = [
        "--speed",
        "max",
        "--faults",
        "faults",
        "--control",
        "unix:card.ctl",
    ];
    let serving = Serving::start(&folder, CARD, &more);
    let uri = serving.uri();
    let io = |command: &str| {
        let output = attempt(&folder, "qemu-io", &["-f", "raw", "-c", command, &uri]);
        let said = [output.stdout, output.stderr].concat();
        String::from_utf8(said).unwrap()
    };
    assert!(io("read 1M 4k").contains("Input/output error"));
    assert!(io("read 2M 4k").contains("read 4096/4096"));
    inject(&folder, "read-only on");
    assert!(io("write 2M 4k").contains("failed"));
    inject(&folder, "clear");
    assert!(io("write -P 3 1M 4k").contains("wrote 4096/4096"));
    inject(&folder, "tamper 1MiB 512");
    assert!(!io("read -P 3 1M 4k").contains("failed"));
    assert!(io("read -P 3 1M 4k").contains("verification failed"));
    serving.finish();
}

// ---- fakes -------------------------------------------------------------------------------------

/// Runs f3probe on a card with a fault; returns its output.
fn probe(fault: &[&str]) -> String {
    let folder = Folder::new(&format!("faults-f3probe-{}", fault.len()));
    let text = include_str!("../../../profiles/kingston-8gb.toml");
    let card = resized(&folder, "card", text, 2 << 30);
    let more = [&["--speed", "max"], fault].concat();
    let mounted = Mounted::start(&folder, &card, &more);
    let device = mounted.block();
    let output = attempt(&folder, "f3probe", &["--destructive", &device.0]);
    let said = String::from_utf8(output.stdout).unwrap();
    drop(device);
    mounted.finish();
    said
}

#[test]
fn f3probe_finds_fakes_out_and_passes_a_genuine_card() {
    if !can_mount() || !have(&["f3probe", "losetup"]) {
        return;
    }
    let genuine = probe(&[]);
    assert!(genuine.contains("is the real thing"), "{genuine}");
    let wraps = probe(&["--fault", "fake 512MiB wrap"]);
    assert!(wraps.contains("Bad news"), "{wraps}");
    let drops = probe(&["--fault", "fake 512MiB drop", "--seed", "1"]);
    assert!(drops.contains("Bad news"), "{drops}");
}

/// Runs f3write and f3read in a file system on the card; returns the line in which f3read reports lost data.
fn write_and_read(folder: &Folder, fault: &[&str]) -> String {
    let text = include_str!("../../../profiles/kingston-8gb.toml");
    let card = resized(folder, "card", text, 256 << 20);
    let mounted = Mounted::start(folder, &card, &[&["--speed", "max"], fault].concat());
    let device = mounted.block();
    // Metadata of the file system is at the beginning, where fakes keep data.
    let make = [
        "-q",
        "-O",
        "^has_journal,flex_bg",
        "-E",
        "lazy_itable_init=0",
        &device.0,
    ];
    run(folder, "mkfs.ext4", &make);
    let fs = FileSystem::mount(folder, &device, "ext4").unwrap();
    run(folder, "f3write", &["fs"]);
    fs.unmount();
    let fs = FileSystem::mount(folder, &device, "ext4").unwrap();
    let said = String::from_utf8(attempt(folder, "f3read", &["fs"]).stdout).unwrap();
    fs.unmount();
    drop(device);
    mounted.finish();
    let line = said
        .lines()
        .find(|l| l.contains("Data LOST"))
        .unwrap_or_else(|| panic!("{said}"));
    line.trim().to_string()
}

#[test]
fn f3write_and_f3read_find_a_fake_out_and_pass_a_genuine_card() {
    if !can_mount() || !have(&["f3write", "f3read", "mkfs.ext4", "losetup"]) {
        return;
    }
    let folder = Folder::new("faults-f3");
    let genuine = write_and_read(&folder, &[]);
    assert!(genuine.contains("0.00 Byte (0 sectors)"), "{genuine}");
    // 100 MB and some sectors: no power of two.
    let fake = write_and_read(&folder, &["--fault", "fake 100000256 drop"]);
    assert!(!fake.contains("0.00 Byte"), "{fake}");
}

// ---- power cuts --------------------------------------------------------------------------------

/// A mounted file system, unmounted at the end.
struct FileSystem<'a> {
    folder: &'a Folder,
    mounted: bool,
}

impl<'a> FileSystem<'a> {
    fn mount(folder: &'a Folder, device: &Loop, kind: &str) -> Result<Self, String> {
        let _ = std::fs::create_dir(folder.0.join("fs"));
        let output = attempt(folder, "mount", &["-t", kind, &device.0, "fs"]);
        if output.status.success() {
            return Ok(FileSystem {
                folder,
                mounted: true,
            });
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Repeats umount: other programs may have a newly mounted file system open for a moment.
    fn unmount(mut self) {
        for _ in 0..50 {
            if attempt(self.folder, "umount", &["fs"]).status.success() {
                self.mounted = false;
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        run(self.folder, "umount", &["fs"]);
        self.mounted = false;
    }
}

impl Drop for FileSystem<'_> {
    fn drop(&mut self) {
        if self.mounted {
            let _ = attempt(self.folder, "umount", &["-l", "fs"]);
        }
    }
}

/// Contents of the file with this number.
fn content(number: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(number);
    let length = 1 + random.below(40_000) as usize;
    (0..length).map(|_| random.below(256) as u8).collect()
}

/// Writes files until the card is gone; returns the numbers of those whose fsync succeeded.
fn write_files(folder: &Path, from: u64) -> Vec<u64> {
    let mut safe = Vec::new();
    for number in from.. {
        let written = File::create(folder.join(format!("f{number}"))).and_then(|mut file| {
            file.write_all(&content(number))?;
            file.sync_all()?;
            File::open(folder)?.sync_all()
        });
        if written.is_err() {
            return safe;
        }
        safe.push(number);
        // Old files are removed, so that the card never fills up, and are not checked.
        if safe.len() > 200 {
            let old = safe.remove(0);
            let _ = std::fs::remove_file(folder.join(format!("f{old}")));
        }
    }
    safe
}

/// Losses over a number of power cuts at random moments.
#[derive(Debug, Default)]
struct Losses {
    /// Lost files whose fsync had succeeded.
    files: usize,
    /// File systems that could not be mounted or repaired.
    systems: usize,
    safe: usize,
}

struct Kind {
    name: &'static str,
    make: &'static [&'static str],
    check: &'static [&'static str],
}

const EXT4: Kind = Kind {
    name: "ext4",
    make: &["mkfs.ext4", "-q", "-F"],
    check: &["fsck.ext4", "-f", "-n"],
};
const XFS: Kind = Kind {
    name: "xfs",
    make: &["mkfs.xfs", "-q", "-f"],
    check: &["xfs_repair", "-n"],
};
const BTRFS: Kind = Kind {
    name: "btrfs",
    make: &["mkfs.btrfs", "-q", "-f"],
    check: &["btrfs", "check", "--readonly"],
};

fn cuts() -> u64 {
    let set = std::env::var("NANDSCOPE_CUTS").ok();
    set.map_or(200, |n| n.parse().unwrap())
}

fn lying_cuts() -> u64 {
    let set = std::env::var("NANDSCOPE_LYING_CUTS").ok();
    set.map_or(cuts() / 10, |n| n.parse().unwrap())
}

/// Cuts the power while a file system is written to, mounts it again, and counts the losses.
fn campaign(kind: &Kind, cuts: u64, faults: &[&str]) -> Losses {
    let folder = Folder::new(&format!("faults-{}-{}", kind.name, faults.len()));
    let text = include_str!("../../../profiles/reference-nvme-64gb.toml");
    let drive = resized(&folder, "drive", text, 512 << 20);
    let more = [&["--speed", "max", "--control", "unix:card.ctl"], faults].concat();
    let mounted = Mounted::start(&folder, &drive, &more);
    let device = mounted.block();
    let on_device = |words: &[&'static str]| {
        let arguments = [&words[1..], &[&device.0]].concat();
        attempt(&folder, words[0], &arguments).status.success()
    };
    assert!(on_device(kind.make));
    let mut random = SplitMix64::new(1);
    let mut losses = Losses::default();
    let place = folder.0.join("fs");
    let mut number = 0;
    for _ in 0..cuts {
        let fs = FileSystem::mount(&folder, &device, kind.name).unwrap();
        let _ = std::fs::create_dir(place.join("d"));
        inject(
            &folder,
            &format!("after {} writes power off", 1 + random.below(150)),
        );
        let safe = write_files(&place.join("d"), number);
        number += safe.len() as u64 + 1;
        losses.safe += safe.len();
        fs.unmount();
        inject(&folder, "power on");
        let sound = FileSystem::mount(&folder, &device, kind.name).map(|fs| {
            let right = |n: &u64| {
                std::fs::read(place.join(format!("d/f{n}"))).is_ok_and(|f| f == content(*n))
            };
            losses.files += safe.iter().filter(|n| !right(n)).count();
            let _ = std::fs::remove_dir_all(place.join("d"));
            fs.unmount();
        });
        if sound.is_err() || !on_device(kind.check) {
            losses.systems += 1;
            losses.files += if sound.is_err() { safe.len() } else { 0 };
            assert!(on_device(kind.make));
        }
    }
    drop(device);
    mounted.finish();
    losses
}

fn survives_with_an_honest_card_only(kind: &Kind) {
    if !can_mount() || !have(&["losetup", kind.make[0], kind.check[0]]) {
        return;
    }
    let honest = campaign(kind, cuts(), &[]);
    assert_eq!((honest.files, honest.systems), (0, 0), "{honest:?}");
    assert!(honest.safe as u64 > cuts(), "{honest:?}");
    // A few cuts are enough to lose files on a lying card.
    let lying = campaign(kind, lying_cuts(), &["--fault", "lie on"]);
    eprintln!("{}: {honest:?}; with lies {lying:?}", kind.name);
    assert!(lying.files > 0, "{lying:?}");
}

#[test]
#[ignore = "slow: hundreds of power cuts"]
fn slow_ext4_survives_power_cuts_of_an_honest_card() {
    survives_with_an_honest_card_only(&EXT4);
}

#[test]
#[ignore = "slow: hundreds of power cuts"]
fn slow_xfs_survives_power_cuts_of_an_honest_card() {
    survives_with_an_honest_card_only(&XFS);
}

#[test]
#[ignore = "slow: hundreds of power cuts"]
fn slow_btrfs_survives_power_cuts_of_an_honest_card() {
    survives_with_an_honest_card_only(&BTRFS);
}

// ---- a database, and the end of the server itself ----------------------------------------------

const INSERTS: &str = "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute('PRAGMA journal_mode=WAL')
db.execute('PRAGMA synchronous=FULL')
db.execute('PRAGMA wal_autocheckpoint=20')
db.execute('CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, x BLOB)')
n = db.execute('SELECT coalesce(max(n), 0) FROM t').fetchone()[0]
while True:
    n += 1
    db.execute('INSERT INTO t VALUES (?, zeroblob(3000))', (n,))
    print(n, flush=True)
";
const LOOK: &str = "
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute('PRAGMA integrity_check').fetchone()[0], db.execute('SELECT coalesce(max(n), 0), count(*) FROM t').fetchone())
";

/// Numbers of committed rows that were lost, and of cuts after which the database was damaged.
fn database(cuts: u64, faults: &[&str]) -> (u64, u64) {
    let folder = Folder::new(&format!("faults-sqlite-{}", faults.len()));
    let text = include_str!("../../../profiles/reference-nvme-64gb.toml");
    let drive = resized(&folder, "drive", text, 128 << 20);
    let more = [&["--speed", "max", "--control", "unix:card.ctl"], faults].concat();
    let mounted = Mounted::start(&folder, &drive, &more);
    let device = mounted.block();
    let mut random = SplitMix64::new(5);
    let (mut lost, mut damaged, mut afresh) = (0, 0, true);
    for _ in 0..cuts {
        if afresh {
            run(&folder, "mkfs.ext4", &["-q", "-F", &device.0]);
        }
        let Ok(fs) = FileSystem::mount(&folder, &device, "ext4") else {
            (damaged, afresh) = (damaged + 1, true);
            continue;
        };
        inject(
            &folder,
            &format!("after {} writes power off", 30 + random.below(300)),
        );
        let output = attempt(&folder, "python3", &["-c", INSERTS, "fs/db"]);
        let said = String::from_utf8(output.stdout).unwrap();
        let committed = said.lines().last().map_or(0, |n| n.parse::<u64>().unwrap());
        fs.unmount();
        inject(&folder, "power on");
        let Ok(fs) = FileSystem::mount(&folder, &device, "ext4") else {
            (damaged, afresh, lost) = (damaged + 1, true, lost + committed);
            continue;
        };
        let output = attempt(&folder, "python3", &["-c", LOOK, "fs/db"]);
        let said = String::from_utf8(output.stdout).unwrap();
        fs.unmount();
        let count = said
            .strip_prefix("ok (")
            .and_then(|s| s.split(',').next()?.parse().ok());
        let whole = committed == 0 || count.is_some();
        damaged += u64::from(!whole);
        lost += committed.saturating_sub(count.unwrap_or(0));
        afresh = !whole || random.below(8) == 0;
    }
    drop(device);
    mounted.finish();
    (lost, damaged)
}

#[test]
#[ignore = "slow: a hundred power cuts"]
fn slow_sqlite_keeps_what_it_committed_on_an_honest_card() {
    if !can_mount() || !have(&["losetup", "mkfs.ext4", "python3"]) {
        return;
    }
    assert_eq!(database(cuts(), &[]), (0, 0));
    let (lost, damaged) = database(lying_cuts(), &["--fault", "lie on"]);
    eprintln!("with lies {lost} rows lost, {damaged} databases damaged");
    assert!(lost > 0);
}

const FLUSHES: &str = "
import sys
for n in range(1, 100000):
    h.pwrite(n.to_bytes(8, 'big') * 512, n % 400 * 4096)
    if n % 7 == 0:
        h.flush()
        print(n, flush=True)
";

/// The server is killed during writes: all data that was flushed before is in the store.
#[test]
fn a_killed_server_leaves_what_was_flushed() {
    if !have(&["nbdsh", "nbdcopy"]) {
        return;
    }
    let folder = Folder::new("faults-kill");
    let more = ["--speed", "max", "--store", "card.img"];
    for round in 0..5u64 {
        let serving = Serving::start(&folder, &support::tiny(), &more);
        let script = folder.file("flushes.py", FLUSHES);
        let read = format!("exec(open('{}').read())", script.display());
        let mut client = Command::new("/usr/bin/python3")
            .args(["-m", "nbd", "-u", &serving.uri(), "-c", &read])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
        let mut flushed: u64 = 0;
        for _ in 0..20 + round * 13 {
            flushed = lines.next().unwrap().unwrap().parse().unwrap();
        }
        assert_eq!(serving.end("KILL").code, None);
        for line in lines {
            flushed = line.unwrap().parse().unwrap();
        }
        client.wait().unwrap();
        let serving = Serving::start(&folder, &support::tiny(), &more);
        run(&folder, "nbdcopy", &[&serving.uri(), "now.img"]);
        let ran = serving.finish();
        assert!(ran.err.contains("was killed"), "{ran:?}");
        let now = std::fs::read(folder.0.join("now.img")).unwrap();
        for slot in 0..400u64 {
            let at = slot as usize * 4096;
            let held = u64::from_be_bytes(now[at..at + 8].try_into().unwrap());
            // The latest number at this place that was flushed, if any.
            let least = (flushed + 400 - slot) / 400 * 400 + slot;
            let least = if least > flushed {
                least.saturating_sub(400)
            } else {
                least
            };
            assert!(
                held >= least && held % 400 == slot % 400 || least == 0,
                "{slot}: {held} < {least}"
            );
            let whole = now[at..at + 4096]
                .chunks(8)
                .all(|c| c == held.to_be_bytes());
            assert!(whole, "{slot}: torn in the middle of a block");
        }
        let serving = Serving::start(&folder, &support::tiny(), &more);
        assert!(!serving.finish().err.contains("was killed"));
        std::fs::remove_file(folder.0.join("card.img")).unwrap();
        std::fs::remove_file(folder.0.join("card.img.device")).unwrap();
    }
}
