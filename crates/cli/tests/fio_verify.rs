//! Blocks with headers and checksums of fio 3.33: fio verifies data written by nandscope, and vice versa.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::{Loop, skipped, tool};
use std::process::Command;

const METHODS: [&str; 16] = [
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "xxhash",
    "sha1",
    "sha256",
    "sha512",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "meta",
];

fn has_fio() -> bool {
    let has = tool("fio", &["--version"]).is_some();
    if !has {
        skipped("fio is not installed");
    }
    has
}

/// Runs a job with fio on a file. Returns fio's output as the error if it fails.
fn by_fio(folder: &Folder, file: &str, options: &str) -> Result<(), String> {
    folder.file(
        "fio.fio",
        &format!("[a]\nioengine=libaio\ndirect=1\n{options}\n"),
    );
    let name = format!("--filename={file}");
    let done = Command::new("fio")
        .args(["--output=out.txt", &name, "fio.fio"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let text = || format!("{options}: {}", String::from_utf8_lossy(&done.stderr));
    done.status.success().then_some(()).ok_or_else(text)
}

/// Runs a job with nandscope on a file. Returns whether it succeeded, and its output.
fn by_us(folder: &Folder, file: &str, options: &str) -> (bool, String) {
    folder.file(
        "ours.fio",
        &format!("[a]\nioengine=libaio\ndirect=1\n{options}\n"),
    );
    let target = format!("./{file}");
    let mut run = vec!["run", "ours.fio", &target];
    // An existing file is used as it is; otherwise one of 1 MiB is created.
    if !folder.0.join(file).exists() {
        run.extend(["--size", "1m"]);
    }
    let done = folder.run(&run);
    (
        done.code == Some(0),
        format!("{options}: {}{}", done.out, done.err),
    )
}

/// Writes with one program and verifies with the other, in both directions; then changes the byte `damaged`, which both
/// must find.
fn exchange(folder: &Folder, job: &str, damaged: Option<usize>) {
    let read = job.replace("rw=rand", "rw=").replace("rw=write", "rw=read");
    let only = format!("{job}\nverify_only");
    by_fio(folder, "fio.img", &format!("{job}\nsize=1m")).unwrap();
    let written = by_us(folder, "ours.img", job);
    assert!(written.0, "{}", written.1);
    for job in [&only, &read] {
        by_fio(folder, "ours.img", &format!("{job}\nsize=1m")).unwrap();
        let verified = by_us(folder, "fio.img", job);
        assert!(verified.0, "{}", verified.1);
    }
    let Some(at) = damaged else {
        return;
    };
    for name in ["fio.img", "ours.img"] {
        let mut bytes = std::fs::read(folder.0.join(name)).unwrap();
        bytes[at] ^= 0x10;
        std::fs::write(folder.0.join(name), bytes).unwrap();
    }
    assert!(
        by_fio(folder, "ours.img", &format!("{read}\nsize=1m")).is_err(),
        "{job}"
    );
    let (is_right, text) = by_us(folder, "fio.img", &read);
    assert!(!is_right && text.contains("verify: wrong data"), "{text}");
}

/// Exchanges blocks of each method in both directions, also with a wrong byte.
fn checksums(folder: &str, methods: &[&str]) {
    if !has_fio() {
        return;
    }
    let folder = Folder::new(folder);
    for method in methods {
        // The last byte of a block: fio's sha512 covers little more.
        let damaged = (*method != "meta").then_some(69_631);
        let job = format!("rw=write\nbs=4k\nverify={method}");
        exchange(&folder, &job, damaged);
    }
}

#[test]
fn checksums_are_verified_across_programs() {
    checksums("fio-verify-methods", &["crc32c", "sha512"]);
}

#[test]
#[ignore = "slow: fio and nandscope run more than a hundred times"]
fn slow_every_checksum_is_verified_across_programs() {
    checksums("fio-verify-all-methods", &METHODS);
}

/// Exchanges blocks of each layout and method in both directions.
fn layouts(folder: &Folder, layouts: &[&str], methods: &[&str]) {
    for options in layouts {
        for method in methods {
            let job = format!("rw=write\n{options}\nverify={method}");
            exchange(folder, &job, None);
        }
    }
}

#[test]
fn intervals_and_offsets_are_those_of_fio() {
    if !has_fio() {
        return;
    }
    let folder = Folder::new("fio-verify-intervals");
    let options = "bs=8k\nverify_interval=512\nverify_offset=200";
    layouts(&folder, &[options], &["crc32c"]);
    exchange(
        &folder,
        "rw=randwrite\nbs=4k\nverify=crc32c\niodepth=8",
        Some(5_000),
    );
}

#[test]
#[ignore = "slow: fio and nandscope run more than a hundred times"]
fn slow_intervals_offsets_and_sizes_are_those_of_fio() {
    if !has_fio() {
        return;
    }
    let folder = Folder::new("fio-verify-all-intervals");
    let options = [
        "bs=16k\nverify_interval=4k",
        "bs=4k\nverify_interval=128",
        "bs=4k\nverify_interval=4k\nverify_offset=1000",
        "bs=8k\nverify_interval=512\nverify_offset=200",
        // 1000 does not divide the block size, so fio uses the whole block as the interval.
        "bs=4k\nverify_interval=1000",
        "bs=4k\nverify_pattern=0xdeadbeef",
        "bs=4k\nverify_pattern=0x11%o\nverify_interval=1k",
        "bs=8k\nbuffer_compress_percentage=60",
        "bs=2560\nverify_interval=160",
    ];
    layouts(&folder, &options, &["crc32c", "sha256", "md5", "meta"]);
    let sizes = "rw=write\nbssplit=4k/50:8k/50\nverify=crc32c";
    by_fio(&folder, "fio.img", &format!("{sizes}\nsize=1m")).unwrap();
    assert!(by_us(&folder, "ours.img", sizes).0);
    let read = "rw=read\nbs=4k\nverify=crc32c";
    by_fio(&folder, "ours.img", &format!("{read}\nsize=1m")).unwrap();
    let verified = by_us(&folder, "fio.img", read);
    assert!(verified.0, "{}", verified.1);
}

/// Whole blocks are the same, byte for byte, but for times and seeds: data follow from the seed in the header.
#[test]
fn data_follow_from_the_seed_as_in_fio() {
    if !has_fio() {
        return;
    }
    let folder = Folder::new("fio-verify-seed");
    let job = "rw=write\nbs=4k\nverify=crc32c";
    assert!(by_us(&folder, "ours.img", job).0);
    let mut bytes = std::fs::read(folder.0.join("ours.img")).unwrap();
    let right = bytes[4096..8192].to_vec();
    bytes[6000] ^= 1;
    std::fs::write(folder.0.join("ours.img"), &bytes).unwrap();
    by_fio(
        &folder,
        "ours.img",
        "rw=read\nbs=4k\nsize=1m\nverify=crc32c\nverify_dump=1",
    )
    .unwrap_err();
    // The block that fio expected; times and thread in bytes 24 to 39 are those of fio's own run.
    let expected = std::fs::read(folder.0.join("ours.img.4096.expected")).unwrap();
    assert_eq!(expected[40..], right[40..]);
    assert_eq!(expected[..24], right[..24]);
}

/// After a byte was changed, both programs write the same dump files, except for times.
#[test]
fn mismatches_are_dumped_as_by_fio() {
    if !has_fio() {
        return;
    }
    let folder = Folder::new("fio-verify-dumps");
    for options in [
        "",
        "\nverify_interval=1k",
        "\nverify_interval=512\nverify_offset=100",
    ] {
        let job = format!("rw=write\nbs=4k\nverify=crc32c{options}");
        let image = folder.0.join("card.img");
        let _ = std::fs::remove_file(&image);
        assert!(by_us(&folder, "card.img", &job).0);
        let right = std::fs::read(&image).unwrap();
        let mut wrong = right.clone();
        wrong[70_700] ^= 0x10;
        std::fs::write(&image, &wrong).unwrap();
        let read = format!("{}\nverify_dump=1", job.replace("rw=write", "rw=read"));
        // fio 3.33 reports success if the last part of a block is right, but dumps the wrong part nevertheless.
        let _ = by_fio(&folder, "card.img", &format!("{read}\nsize=1m"));
        let dumps = || {
            let names = folder.names().into_iter();
            let names = names.filter(|name| name.ends_with("ed"));
            let take = |name: String| {
                let bytes = std::fs::read(folder.0.join(&name)).unwrap();
                std::fs::remove_file(folder.0.join(&name)).unwrap();
                (name, bytes)
            };
            names.map(take).collect::<Vec<_>>()
        };
        let by_fio = dumps();
        assert!(!by_us(&folder, "card.img", &read).0);
        let ours = dumps();
        let names = |files: &[(String, Vec<u8>)]| -> Vec<String> {
            files.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&ours), names(&by_fio), "{options}");
        let [(name, expected), (_, received)] = &ours[..] else {
            panic!("{options}: {:?}", names(&ours));
        };
        let at: usize = name.split('.').nth(2).unwrap().parse().unwrap();
        let place = at..at + expected.len();
        assert!(place.contains(&70_700), "{options}: {name}");
        assert!(*expected == right[place.clone()] && *received == wrong[place]);
        // fio 3.33 dumps its buffer, in which it has moved the header to the start.
        let is_moved = options.contains("verify_offset");
        assert!(is_moved || by_fio[1].1 == *received, "{options}");
        // Header and checksum have times and the number of the thread; data are the same.
        let differing = by_fio[0].1.iter().zip(expected).filter(|(a, b)| a != b);
        assert!(differing.count() <= 24, "{options}");
    }
}

#[test]
fn what_fio_cannot_verify_itself_is_refused() {
    let folder = Folder::new("fio-verify-refused");
    for (options, reason) in [
        ("verify_offset=41", "overlaps"),
        ("verify_offset=4060", "overlaps"),
        ("verify_interval=64", "smaller than two headers"),
        (
            "verify=sha512\nverify_interval=256",
            "needs parts of at least 296 bytes",
        ),
    ] {
        let job = format!("[a]\nrw=write\nsize=64k\nverify=crc32c\n{options}\n");
        folder.file("job.fio", &job);
        folder.run(&["job", "check", "job.fio"]).fails(2, &[reason]);
    }
}

#[test]
fn a_simulated_device_keeps_headers_too() {
    let folder = Folder::new("fio-verify-simulated");
    for options in [
        "verify_interval=512\nverify_offset=200",
        "verify_interval=1k",
        "bsrange=4k-16k",
    ] {
        for method in METHODS {
            let job = format!(
                "[a]\nioengine=libaio\niodepth=4\ndirect=1\nrw=randwrite\nbs=4k\nsize=256k\nverify={method}\n{options}\n"
            );
            folder.file("job.fio", &job);
            let run = ["run", "job.fio", "sim:reference-nvme-64gb", "--contents"];
            folder.run(&run).succeeds();
            let wrong = folder.run(&[&run[..], &["--fault", "corrupt 1"]].concat());
            match method {
                "meta" => {}
                _ => assert!(
                    wrong.code == Some(1) && wrong.out.contains("verify: wrong data"),
                    "{job}: {wrong:?}"
                ),
            }
        }
    }
}

/// Blocks that were trimmed or never written are holes in the backing file of a loop device, which a notice reports.
#[test]
fn reads_of_a_block_device_that_was_never_written_are_said() {
    let folder = Folder::new("unwritten-loop");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    folder.file(
        "read.fio",
        "[r]\nioengine=libaio\ndirect=1\nbs=64k\nsize=4m\n",
    );
    let read = || folder.run(&["run", "read.fio", &device.device]);
    tool("blkdiscard", &[&device.device]).unwrap();
    let said = read();
    let text = &said.succeeds().out;
    assert!(
        text.contains("100 % of the region of job `r` was never written"),
        "{text}"
    );
    std::fs::write(&device.device, vec![7u8; 2 << 20]).unwrap();
    let half = read();
    assert!(
        half.succeeds().out.contains("50 % of the region"),
        "{}",
        half.out
    );
    std::fs::write(&device.device, vec![7u8; 4 << 20]).unwrap();
    let none = read();
    assert!(
        !none.succeeds().out.contains("of the region"),
        "{}",
        none.out
    );
    tool("blkdiscard", &["-l", "1m", &device.device]).unwrap();
    let quarter = read();
    assert!(
        quarter.succeeds().out.contains("25 % of the region"),
        "{}",
        quarter.out
    );
}
