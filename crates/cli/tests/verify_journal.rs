//! The undo journal of `nandscope verify` from the outside: files that are not journals, killed runs, journals with
//! changed bits, another card in the same slot, and a card without power for a while. Tests that need loop devices
//! report that they are skipped without root.

#![cfg(target_os = "linux")]

use crate::support::block::{Mounted, can_mount};
use crate::support::loops::{Loop, tool};
use crate::support::serving::have;
use crate::support::{Folder, Ran};
use nandscope_units::random::SplitMix64;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const SIMULATED: &str = "sim:kingston-class10-32gb";

#[test]
fn a_file_that_is_no_journal_is_refused_and_stays() {
    let folder = Folder::new("verify-foreign");
    let contents: [(&str, &[u8]); 5] = [
        ("letter", b"a letter"),
        ("empty", b""),
        ("zeros", &[0; 40_000]),
        (
            "former",
            b"nandscope-undo-1 and what a former version wrote after it",
        ),
        ("later", b"nandscope-undo-9"),
    ];
    for (name, bytes) in contents {
        let file = folder.0.join(name);
        std::fs::write(&file, bytes).unwrap();
        let link = folder.0.join(format!("{name}.link"));
        symlink(&file, &link).unwrap();
        for journal in [name, &format!("{name}.link")] {
            for option in [
                None,
                Some("--restore"),
                Some("--after-power-cycle"),
                Some("--full"),
            ] {
                let arguments = [
                    &["verify", SIMULATED, "--journal", journal],
                    option.as_slice(),
                ]
                .concat();
                let ran = folder.run(&arguments);
                ran.fails(2, &[]);
                assert_eq!(std::fs::read(&file).unwrap(), bytes, "{journal} {option:?}");
                assert!(link.symlink_metadata().unwrap().is_symlink());
            }
        }
    }
    let ran = folder.run(&["verify", SIMULATED, "--journal", "former"]);
    ran.fails(2, &["format 1", "the version that wrote it"]);
    let before = folder.names();
    std::fs::create_dir(folder.0.join("folder")).unwrap();
    folder
        .run(&["verify", SIMULATED, "--journal", "folder"])
        .fails(2, &["not a file"]);
    symlink("nowhere", folder.0.join("dangling")).unwrap();
    folder
        .run(&["verify", SIMULATED, "--journal", "dangling"])
        .fails(2, &["symbolic link"]);
    assert_eq!(folder.names().len(), before.len() + 2);
}

/// A loop device with random data, its journal, and its initial contents.
struct Card<'a> {
    folder: &'a Folder,
    device: Loop,
    before: Vec<u8>,
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = SplitMix64::new(seed);
    let words = (0..bytes / 8).flat_map(|_| random.below(u64::MAX).to_le_bytes());
    words.collect()
}

impl<'a> Card<'a> {
    fn new(folder: &'a Folder, mib: usize) -> Option<Self> {
        let device = Loop::new(folder, mib)?;
        let before = noise(mib << 20, 1);
        std::fs::write(device.backing(), &before).unwrap();
        Some(Card {
            folder,
            device,
            before,
        })
    }

    fn journal(&self) -> PathBuf {
        self.folder.0.join("undo")
    }

    fn command(&self, more: &[&str]) -> std::process::Command {
        let device = self.device.device.as_str();
        let start = ["verify", device, "--yes", self.device.name(), "--json"];
        self.folder
            .command(&[&start[..], &["--journal", "undo"], more].concat())
    }

    fn run(&self, more: &[&str]) -> Ran {
        Ran::from(self.command(more).output().unwrap())
    }

    fn start(&self, more: &[&str]) -> Child {
        let mut command = self.command(more);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Kills a run when its journal has `bytes` bytes; returns whether a journal is left, which is false if the run
    /// ended first.
    fn killed_at(&self, bytes: u64, more: &[&str]) -> bool {
        let mut child = self.start(more);
        let begin = Instant::now();
        loop {
            let length = std::fs::metadata(self.journal()).map_or(0, |m| m.len());
            if length >= bytes {
                child.kill().unwrap();
            }
            if child.try_wait().unwrap().is_some() {
                return self.journal().exists();
            }
            assert!(begin.elapsed() < Duration::from_secs(30), "it hangs");
            std::thread::yield_now();
        }
    }

    /// Blocks whose contents have changed.
    fn changed(&self) -> Vec<usize> {
        let now = std::fs::read(self.device.backing()).unwrap();
        let blocks = now.chunks(512).zip(self.before.chunks(512));
        let changed = blocks.enumerate().filter(|(_, (now, then))| now != then);
        changed.map(|(place, _)| place).collect()
    }

    /// Puts another card into the slot.
    fn put_in(&self, file: &Path) {
        tool("losetup", &["--detach", &self.device.device]);
        let begin = Instant::now();
        let arguments = [self.device.device.as_str(), file.to_str().unwrap()];
        // The kernel lets go of the former file a little later.
        while tool("losetup", &arguments).is_none() {
            assert!(begin.elapsed() < Duration::from_secs(10), "{arguments:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn flip(path: &Path, random: &mut SplitMix64) -> u64 {
    let file = std::fs::File::options()
        .read(true)
        .write(true)
        .open(path)
        .unwrap();
    let at = random.below(file.metadata().unwrap().len());
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    byte[0] ^= 1 << random.below(8);
    file.write_all_at(&byte, at).unwrap();
    at
}

/// Number of runs to kill: 24, or the environment variable NANDSCOPE_UNDO_KILLS.
fn kills() -> u64 {
    let given = std::env::var("NANDSCOPE_UNDO_KILLS").ok();
    given.and_then(|n| n.parse().ok()).unwrap_or(24)
}

#[test]
fn killed_runs_lose_nothing_to_changed_bits_or_to_another_card() {
    let folder = Folder::new("verify-undo-kills");
    let Some(card) = Card::new(&folder, 24) else {
        return;
    };
    let other = folder.0.join("tmpfs/other");
    let mut random = SplitMix64::new(4);
    let (mut left, mut named) = (0, 0);
    for round in 0..kills() {
        let at = [0, 20_000, 40_000, 150_000, 300_000][random.below(5) as usize];
        let leave: &[&str] = if round % 5 == 4 {
            &["--leave-tagged-blocks"]
        } else {
            &[]
        };
        if !card.killed_at(at + random.below(40_000), leave) {
            assert!(card.changed().is_empty(), "{round}");
            continue;
        }
        left += 1;
        let said = format!("round {round}, a journal of {at} bytes");
        match round % 4 {
            0 => {}
            1 => {
                // A card of the same size and name, blank or with other contents.
                let contents = match random.below(2) {
                    0 => vec![0; card.before.len()],
                    _ => noise(card.before.len(), 2),
                };
                std::fs::write(&other, &contents).unwrap();
                card.put_in(&other);
                let ran = card.run(&["--restore"]);
                let written = std::fs::read(&other).unwrap() != contents;
                card.put_in(&card.device.backing());
                let empty = ran.code == Some(0) && card.changed().is_empty();
                assert!(ran.code == Some(13) || empty, "{said}: {ran:?}");
                assert!(
                    empty || card.journal().exists() && ran.err.contains("0 of "),
                    "{said}: {ran:?}"
                );
                assert!(!written, "{said}");
            }
            2 => {
                card.killed_at(0, &["--restore"]);
            }
            _ => {
                let at = flip(&card.journal(), &mut random);
                let ran = card.run(&["--restore"]);
                let changed = card.changed();
                assert_eq!(
                    ran.code,
                    Some(if card.journal().exists() { 13 } else { 0 }),
                    "{said}: {ran:?}"
                );
                assert!(
                    changed.len() <= 1,
                    "{said}, bit of byte {at}: {ran:?} {changed:?}"
                );
                for place in &changed {
                    assert!(ran.err.contains(&place.to_string()), "{said}: {ran:?}");
                    named += 1;
                }
                if card.journal().exists() {
                    // The original data is only in this journal, so the test restores it from its own copy.
                    std::fs::remove_file(card.journal()).unwrap();
                    std::fs::write(card.device.backing(), &card.before).unwrap();
                    card.put_in(&card.device.backing());
                }
            }
        }
        if card.journal().exists() {
            let ran = card.run(&["--restore"]);
            if ran.err.contains("none held a tag") {
                // Without a tag on the card, a run killed before its first tag or after its last one cannot be
                // distinguished from another card.
                assert_eq!(ran.code, Some(13), "{said}: {ran:?}");
                std::fs::remove_file(card.journal()).unwrap();
            } else {
                assert_eq!(ran.code, Some(0), "{said}: {ran:?}");
            }
        }
        assert!(
            card.changed().is_empty() && !card.journal().exists(),
            "{said}"
        );
        let _ = std::fs::remove_file(folder.0.join("undo.left"));
    }
    println!("{left} journals were left, {named} blocks were named");
    assert!(left > kills() / 3, "{left}");
    let ran = card.run(&[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(card.changed().is_empty() && !card.journal().exists());
}

#[test]
fn blocks_that_were_lost_come_back_where_the_user_says_overwrite() {
    let folder = Folder::new("verify-undo-overwrite");
    let Some(card) = Card::new(&folder, 16) else {
        return;
    };
    assert!(card.killed_at(150_000, &[]));
    // The tag of the last block is not touched, by which the card is recognized.
    let lost = card.changed()[..3].to_vec();
    let device = std::fs::File::options()
        .write(true)
        .open(&card.device.device);
    let device = device.unwrap();
    for place in &lost {
        device
            .write_all_at(&[0x42; 512], *place as u64 * 512)
            .unwrap();
    }
    device.sync_all().unwrap();
    drop(device);
    for _ in 0..2 {
        let ran = card.run(&["--restore"]);
        assert_eq!(ran.code, Some(13), "{ran:?}");
        assert!(card.journal().exists());
        assert_eq!(card.changed(), lost);
    }
    let path = card.device.device.as_str();
    let unasked = ["verify", path, "--restore=overwrite", "--journal", "undo"];
    folder.run(&unasked).fails(2, &["--yes"]);
    assert_eq!(card.changed(), lost);
    let ran = card.run(&["--restore=overwrite"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(card.changed().is_empty() && !card.journal().exists());
}

#[test]
fn the_state_of_a_full_run_stays_until_its_report_is_written() {
    let folder = Folder::new("verify-full-state");
    let Some(card) = Card::new(&folder, 16) else {
        return;
    };
    std::fs::create_dir_all(folder.0.join("report/report.html")).unwrap();
    let destroy = format!("--destroy-data={}", card.device.name());
    let full = ["--full", &destroy, "-o", "report"];
    let ran = card.run(&full);
    assert!(ran.code != Some(0) && card.journal().exists(), "{ran:?}");
    std::fs::remove_dir(folder.0.join("report/report.html")).unwrap();
    let ran = card.run(&full);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.err.contains("100 %"), "{ran:?}");
    assert!(!card.journal().exists());
}

#[test]
fn tags_that_are_left_need_a_free_place_and_their_own_journal() {
    let folder = Folder::new("verify-undo-left");
    let Some(card) = Card::new(&folder, 16) else {
        return;
    };
    folder.file("undo.left", "a letter");
    let ran = card.run(&["--leave-tagged-blocks"]);
    ran.fails(2, &["undo.left exists"]);
    assert_eq!(folder.read("undo.left"), "a letter");
    assert!(card.changed().is_empty() && !card.journal().exists());
    std::fs::remove_file(folder.0.join("undo.left")).unwrap();
    assert_eq!(card.run(&["--leave-tagged-blocks"]).code, Some(0));
    assert!(card.changed().len() > 400);
    let other = folder.0.join("tmpfs/other");
    std::fs::write(&other, noise(card.before.len(), 2)).unwrap();
    card.put_in(&other);
    let ran = card.run(&["--after-power-cycle"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(13), ""), "{ran:?}");
    card.put_in(&card.device.backing());
    let ran = card.run(&["--after-power-cycle"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(card.changed().is_empty() && !card.journal().exists());
    assert!(!folder.0.join("undo.left").exists());
}

#[test]
fn a_card_without_power_for_a_while_is_not_finished_and_no_fake() {
    if !can_mount() || !have(&["losetup", "dd"]) {
        return;
    }
    let folder = Folder::new("verify-undo-power");
    let profile = include_str!("../../../profiles/kingston-8gb.toml");
    let line = profile
        .lines()
        .find(|l| l.starts_with("capacity_bytes"))
        .unwrap();
    let profile = profile.replace(line, &format!("capacity_bytes = {}", 256 << 20));
    let target = format!("sim:{}", folder.file("card.toml", &profile).display());
    let more = [
        "--speed",
        "20",
        "--control",
        "unix:card.ctl",
        "--store",
        "card.store",
    ];
    let mounted = Mounted::start(&folder, &target, &more);
    let device = mounted.block();
    let inject = |command: &str| {
        folder.run(&["ctl", "card.ctl", command]).succeeds();
    };
    let name = device.0.trim_start_matches("/dev/");
    let start = [
        "verify",
        &device.0,
        "--yes",
        name,
        "--json",
        "--journal",
        "undo",
    ];
    let mut unfinished = 0;
    for bytes in [20_000, 60_000, 200_000, 390_000] {
        let mut command = folder.command(&start);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while child.try_wait().unwrap().is_none()
            && std::fs::metadata(folder.0.join("undo")).map_or(0, |m| m.len()) < bytes
        {
            assert!(begin.elapsed() < Duration::from_secs(60), "it hangs");
            std::thread::sleep(Duration::from_millis(1));
        }
        inject("power off");
        let ran = Ran::from(child.wait_with_output().unwrap());
        inject("power on");
        assert_ne!(ran.code, Some(10), "{bytes}: {ran:?}");
        assert_eq!(
            ran.code == Some(13),
            folder.0.join("undo").exists(),
            "{bytes}: {ran:?}"
        );
        if ran.code == Some(13) {
            unfinished += 1;
            assert!(ran.err.contains("--restore --journal undo"), "{ran:?}");
            folder
                .run(&[&start[..], &["--restore"]].concat())
                .succeeds();
        }
        assert!(!folder.0.join("undo").exists(), "{bytes}");
    }
    let ran = folder.run(&start);
    drop(device);
    mounted.finish();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(unfinished > 0);
    let store = std::fs::read(folder.0.join("card.store")).unwrap();
    assert!(store.iter().all(|byte| *byte == 0), "the data is not back");
}
