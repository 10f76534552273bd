//! `nandscope serve --fuse`: the card as a file and, through a loop device, as a block device for unmodified programs.
//! Slow ones run with `--ignored`.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::block::{Mounted, can_mount};
use crate::support::serving::{have, run};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;

const CARD: &str = "sim:kingston-8gb";

#[test]
fn a_file_of_the_cards_size() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new("file-size");
    let mounted = Mounted::start(
        &folder,
        CARD,
        &["--speed", "max", "--record", "seen.nstrace"],
    );
    let names: Vec<_> = std::fs::read_dir(folder.0.join("card")).unwrap().collect();
    assert_eq!(names.len(), 1);
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&mounted.file)
        .unwrap();
    let size = file.metadata().unwrap().len();
    assert!(size > 7_000_000_000 && size.is_multiple_of(512), "{size}");

    let data: Vec<u8> = (0..3 << 20).map(|i: u32| (i / 7) as u8).collect();
    file.write_all_at(&data, 5 << 20).unwrap();
    let mut back = vec![0; data.len()];
    file.read_exact_at(&mut back, 5 << 20).unwrap();
    assert!(back == data);
    // Within sectors, across the end, and beyond it.
    let mut few = [0; 100];
    file.read_exact_at(&mut few, (5 << 20) + 777).unwrap();
    assert_eq!(few[..], data[777..877]);
    assert_eq!(file.read_at(&mut few, size - 10).unwrap(), 10);
    assert_eq!(file.read_at(&mut few, size + 10).unwrap(), 0);
    file.write_all_at(&[1; 100], 777).unwrap();
    file.read_exact_at(&mut few, 770).unwrap();
    assert_eq!((few[6], few[7], few[99]), (0, 1, 1));
    assert!(file.write_at(&[1; 512], size).is_err());
    // As on a block device.
    file.set_len(0).unwrap();
    assert_eq!(file.metadata().unwrap().len(), size);

    let place = mounted.file.display().to_string();
    run(
        &folder,
        "fallocate",
        &["-p", "-o", "6291456", "-l", "65536", &place],
    );
    file.read_exact_at(&mut back, 5 << 20).unwrap();
    let hole = 1 << 20..(1 << 20) + 65536;
    assert!(back[hole.clone()].iter().all(|b| *b == 0));
    assert!(back[..hole.start] == data[..hole.start] && back[hole.end..] == data[hole.end..]);
    file.sync_all().unwrap();
    drop(file);
    mounted.finish();
    assert!(!folder.0.join("card/card.img").exists());
    let info = folder.run(&["trace", "info", "seen.nstrace"]);
    info.succeeds();
    for part in ["trim", "flush"] {
        assert!(info.out.contains(part), "no {part} in {}", info.out);
    }
}

#[test]
fn unmounting_the_only_file_ends_the_server() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new("file-unmount");
    let mounted = Mounted::start(&folder, CARD, &["--record", "seen.nstrace"]);
    File::open(&mounted.file)
        .unwrap()
        .read_exact_at(&mut [0; 512], 0)
        .unwrap();
    run(&folder, "umount", &["card"]);
    mounted.ended().succeeds();
    let info = folder.run(&["trace", "info", "seen.nstrace"]);
    info.succeeds();
}

#[test]
fn read_only_files_are_not_written() {
    if !can_mount() {
        return;
    }
    let folder = Folder::new("file-read-only");
    let mounted = Mounted::start(&folder, CARD, &["--write-protect"]);
    assert!(OpenOptions::new().write(true).open(&mounted.file).is_err());
    let mut sector = [1; 512];
    File::open(&mounted.file)
        .unwrap()
        .read_exact_at(&mut sector, 0)
        .unwrap();
    assert_eq!(sector, [0; 512]);
    mounted.finish();
    let wrong = folder.run(&["serve", CARD, "--fuse", "no/such"]);
    wrong.fails(3, &["cannot mount at no/such", "a folder that exists"]);
}

/// A file system on the served card, with discard.
#[test]
fn a_file_system_survives_a_restart() {
    if !can_mount() || !have(&["mkfs.ext4", "fsck.ext4", "losetup", "mount"]) {
        return;
    }
    let folder = Folder::new("file-ext4");
    let more = ["--speed", "max", "--store", "card.raw"];
    let target = small_card(&folder);
    std::fs::create_dir(folder.0.join("fs")).unwrap();
    let mounted = Mounted::start(&folder, &target, &more);
    let device = mounted.block();
    run(&folder, "mkfs.ext4", &["-q", &device.0]);
    run(&folder, "mount", &[&device.0, "fs"]);
    std::fs::write(folder.0.join("fs/a"), vec![7; 1 << 20]).unwrap();
    run(&folder, "fstrim", &["fs"]);
    run(&folder, "umount", &["fs"]);
    drop(device);
    mounted.finish();

    let mounted = Mounted::start(&folder, &target, &more);
    let device = mounted.block();
    run(&folder, "fsck.ext4", &["-f", "-n", &device.0]);
    run(&folder, "mount", &["-o", "ro", &device.0, "fs"]);
    let a = std::fs::read(folder.0.join("fs/a"));
    run(&folder, "umount", &["fs"]);
    assert!(a.unwrap() == vec![7; 1 << 20]);
    drop(device);
    mounted.finish();
}

/// A card of 256 MiB, so that file systems are made quickly.
fn small_card(folder: &Folder) -> String {
    let text = include_str!("../../../profiles/kingston-8gb.toml");
    let line = text.lines().find(|l| l.starts_with("capacity_bytes"));
    let text = text.replace(line.unwrap(), "capacity_bytes = 268435456");
    format!("sim:{}", folder.file("small.toml", &text).display())
}

/// Reads alignment and the last column (µs) of the output of `flashbench -a`. It truncates that column to seven
/// characters, so that negative numbers, which it always prints in ns, lose their unit.
fn differences(printed: &str) -> Vec<(u64, f64)> {
    let row = |line: &str| {
        let rest = line.strip_prefix("align ")?;
        let align = rest.split_whitespace().next()?.parse().ok()?;
        let diff = rest.rsplit("diff ").next()?.trim();
        let scale = [
            ("ns", 1e-3),
            ("n", 1e-3),
            ("µs", 1.0),
            ("ms", 1e3),
            ("", 1e-3),
        ];
        let (number, scale) = scale
            .iter()
            .find_map(|(u, s)| Some((diff.strip_suffix(u)?, s)))?;
        Some((align, number.parse::<f64>().ok()? * scale))
    };
    printed.lines().filter_map(row).collect()
}

/// Largest factor by which operations take longer than on the card: at the card's own speed, a row of flashbench, the
/// mean of eight reads, is off by the late wake-ups of a busy machine, tens of µs.
const SLOWER: f64 = 5.0;

/// Debian's flashbench on the card of the talk prints the talk's table: 858 µs more across 4 MiB
/// and above, 378 µs across less, nothing within a page of 16 KiB.
#[test]
#[ignore = "slow: a minute in real time"]
fn slow_flashbench_prints_the_table_of_the_talk() {
    if !can_mount() || !have(&["flashbench", "losetup"]) {
        return;
    }
    let folder = Folder::new("file-flashbench");
    let speed = (1.0 / SLOWER).to_string();
    let more = ["--host", "sabrelite", "--speed", &speed];
    let mounted = Mounted::start(&folder, "sim:talk-mmcblk1-8gb", &more);
    let device = mounted.block();
    // flashbench writes to its standard input.
    let command = format!("flashbench -a {} --blocksize=1024 0<>/dev/null", device.0);
    let table = run(&folder, "sh", &["-c", &command]);
    drop(device);
    mounted.finish();
    let rows = differences(&table);
    assert_eq!(rows.len(), 21, "{table}");
    for (align, diff) in rows {
        let diff = diff / SLOWER;
        let (expected, tolerance) = match align {
            4_194_304.. => (858.0, 0.05 * 858.0),
            16_384.. => (378.0, 0.05 * 378.0),
            _ => (0.0, 15.0),
        };
        assert!(
            (diff - expected).abs() <= tolerance,
            "align {align}: {diff} instead of {expected} µs in\n{table}"
        );
    }
}

/// The slowest rate that `flashbench --open-au` prints, bytes per second.
fn slowest(printed: &str) -> f64 {
    let rate = |line: &str| {
        let text = line.split_whitespace().nth(1)?.strip_suffix("/s")?;
        let (number, scale) = match text.split_at(text.len() - 1) {
            (number, "M") => (number, 1e6),
            (number, "K") => (number, 1e3),
            _ => (text, 1.0),
        };
        Some(number.parse::<f64>().ok()? * scale)
    };
    printed
        .lines()
        .filter_map(rate)
        .fold(f64::INFINITY, f64::min)
}

/// `flashbench --open-au` falls from one number of units to the next, where the profile says.
#[test]
#[ignore = "slow: half a minute in real time"]
fn slow_flashbench_finds_the_open_units() {
    if !can_mount() || !have(&["flashbench", "losetup"]) {
        return;
    }
    let folder = Folder::new("file-open-au");
    for (card, unit, open) in [
        ("sim:sandisk-ultra-16gb", 2 << 20, 4),
        ("sim:toshiba-class10-16gb", 8 << 20, 2),
        ("sim:kingston-8gb", 4 << 20, 6),
    ] {
        let more = ["--host", "sabrelite", "--speed", "10"];
        let mounted = Mounted::start(&folder, card, &more);
        let device = mounted.block();
        let mut rates = Vec::new();
        for units in [open - 1, open, open + 1] {
            let command = format!(
                "flashbench --open-au --open-au-nr={units} --erasesize={unit} --blocksize=262144 {} 0<>/dev/null",
                device.0
            );
            rates.push(slowest(&run(&folder, "sh", &["-c", &command])));
        }
        drop(device);
        mounted.finish();
        assert!(rates[1] > 0.5 * rates[0], "{card}: {rates:?}");
        assert!(rates[2] < 0.5 * rates[1], "{card}: {rates:?}");
    }
}
