//! The rules about block devices, each against the real thing: loop devices, mounts, swap, a
//! process that holds one, and attempts to slip something else in between.

use crate::support;
use crate::support::{Folder, Loop, Undo, has, must, run, skip};
use nandscope_inspect::Roots;
use nandscope_inspect::guard::{Answer, DestroyData, Guard, Opened, Refusal};
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn guard() -> Guard {
    Guard::new(Roots::default())
}

fn blank(device: &Path) -> Result<Opened, Refusal> {
    open(device, &DestroyData::Blank)
}

/// With the answer that an attentive user would give.
fn open(device: &Path, destroy: &DestroyData) -> Result<Opened, Refusal> {
    let unconfirmed = guard().open_to_write(device, destroy)?;
    let word = unconfirmed.word().to_string();
    unconfirmed.confirm(Answer::Typed(&word))
}

fn rules(result: Result<Opened, Refusal>) -> Vec<&'static str> {
    let refusal = result.expect_err("it should have been refused");
    assert!(!refusal.to_string().contains('\n'));
    refusal.reasons.iter().map(|r| r.rule()).collect()
}

fn mount(device: &Path, folder: &Folder, name: &str) -> Undo {
    let point = folder.path(name);
    std::fs::create_dir_all(&point).unwrap();
    must(&format!("mount {} {}", device.display(), point.display()));
    Undo(format!("umount {}", point.display()))
}

/// Two partitions of the same size.
fn partitioned(device: &Loop) -> Option<[PathBuf; 2]> {
    must(&format!("sgdisk -n 1:0:+20M -n 2:0:+20M {}", device.show()));
    must(&format!("partprobe {}", device.show()));
    let parts = [1, 2].map(|n| PathBuf::from(format!("{}p{n}", device.show())));
    let began = Instant::now();
    while !parts.iter().all(|p| p.exists()) {
        if began.elapsed() > Duration::from_secs(5) {
            return None;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Some(parts)
}

#[test]
fn a_blank_device_is_written_after_the_right_answer_and_by_one_only() {
    let folder = Folder::new("blank");
    let Some(device) = Loop::new("a_blank_device", &folder, "image", 32) else {
        return;
    };
    assert_eq!(rules(open(&device.device, &DestroyData::No)), ["not-asked"]);
    let unconfirmed = guard()
        .open_to_write(&device.device, &DestroyData::Blank)
        .unwrap();
    let question = unconfirmed.question();
    for part in [
        device.name().as_str(),
        "33.6 MB (33554432 bytes)",
        "partitions  none",
    ] {
        assert!(question.contains(part), "{question}");
    }
    drop(unconfirmed);
    for wrong in ["", "y", "loop", "/dev", "loop9999"] {
        for answer in [Answer::Typed(wrong), Answer::Serial(wrong)] {
            let unconfirmed = guard()
                .open_to_write(&device.device, &DestroyData::Blank)
                .unwrap();
            assert_eq!(rules(unconfirmed.confirm(answer)), ["answer"], "{wrong}");
        }
    }
    let opened = blank(&device.device).unwrap();
    assert_eq!(opened.size.0, 32 << 20);
    opened.file.write_at(b"written", 4096).unwrap();
    // Held: by nandscope itself for a second time, and against a mount.
    let named = DestroyData::Named(device.name());
    assert_eq!(rules(open(&device.device, &named)), ["held"]);
    drop(opened);
    let mut read = [0; 7];
    let reading = guard().open_to_read(&device.device).unwrap();
    reading.file.read_at(&mut read, 4096).unwrap();
    assert_eq!(&read, b"written");
    assert!(reading.file.write_at(b"x", 0).is_err());
}

#[test]
fn a_device_with_a_file_system_must_be_given_up_by_name() {
    let folder = Folder::new("carries");
    let Some(device) = Loop::new("a_device_with_a_file_system", &folder, "image", 32) else {
        return;
    };
    must(&format!("mkfs.ext4 -q -F {}", device.show()));
    assert_eq!(rules(blank(&device.device)), ["carries-data"]);
    let other = DestroyData::Named("sda".into());
    assert_eq!(rules(open(&device.device, &other)), ["other-name"]);
    for name in [device.name(), device.show()] {
        open(&device.device, &DestroyData::Named(name)).unwrap();
    }
    // The refusal has not touched it.
    must(&format!("e2fsck -n -f {}", device.show()));
}

/// Data of an unknown format may still be valuable.
#[test]
fn a_device_with_data_of_no_format_must_be_given_up_by_name() {
    let folder = Folder::new("unknown-data");
    let Some(device) = Loop::new("data_of_no_format", &folder, "image", 64) else {
        return;
    };
    let image = File::options().write(true).open(&device.file).unwrap();
    for at in [0u64, 7 << 20, (64 << 20) - 4096] {
        blank(&device.device).unwrap();
        image.write_at(b"mine", at).unwrap();
        assert_eq!(rules(blank(&device.device)), ["carries-data"], "{at}");
        let judged = guard().judge(&device.device).unwrap();
        assert_eq!(judged.signatures[0].name, "data of no known format");
        assert_eq!(judged.signatures[0].offset.0, at);
        open(&device.device, &DestroyData::Named(device.name())).unwrap();
        // As erased and as discarded flash reads.
        let erased = if at == 0 { 0xff } else { 0 };
        image.write_at(&[erased; 4096], at).unwrap();
    }
    blank(&device.device).unwrap();
}

#[test]
fn partitions_count_as_contents() {
    let folder = Folder::new("partitions");
    let Some(device) = Loop::new("partitions_count", &folder, "image", 64) else {
        return;
    };
    let Some(parts) = partitioned(&device) else {
        return skip("partitions_count", "no partitions appear on loop devices");
    };
    let refusal = blank(&device.device).unwrap_err();
    assert_eq!(refusal.reasons[0].rule(), "carries-data");
    let named = DestroyData::Named(device.name());
    let question = guard()
        .open_to_write(&device.device, &named)
        .unwrap()
        .question();
    assert!(question.contains("p2 of 20 MiB"), "{question}");
    // A blank partition may be written, and then the disk may not.
    let held = blank(&parts[0]).unwrap();
    assert_eq!(rules(open(&device.device, &named)), ["held"]);
    drop(held);
}

#[test]
fn a_mounted_device_is_read_but_not_written() {
    let folder = Folder::new("mounted");
    let Some(device) = Loop::new("a_mounted_device", &folder, "image", 32) else {
        return;
    };
    must(&format!("mkfs.ext4 -q -F {}", device.show()));
    let _mount = mount(&device.device, &folder, "point");
    let named = DestroyData::Named(device.name());
    assert_eq!(rules(open(&device.device, &named)), ["mounted"]);
    let opened = guard().open_to_read(&device.device).unwrap();
    assert!(
        opened.notes.iter().any(|n| n.contains("mounted at")),
        "{:?}",
        opened.notes
    );
}

#[test]
fn a_mounted_partition_protects_its_disk_and_a_sibling_stays_free() {
    let test = "a_mounted_partition";
    let folder = Folder::new("partition");
    let Some(device) = Loop::new(test, &folder, "image", 64) else {
        return;
    };
    let Some(parts) = partitioned(&device) else {
        return skip(test, "no partitions appear on loop devices");
    };
    must(&format!("mkfs.ext4 -q -F {}", parts[0].display()));
    let _mount = mount(&parts[0], &folder, "point");
    let named = DestroyData::Named(device.name());
    assert_eq!(rules(open(&device.device, &named)), ["mounted"]);
    blank(&parts[1]).unwrap();
    // Unless results are written to the mounted one: then it is the disk under them.
    let guard = guard().protect("the output folder", folder.path("point"));
    let refusal = guard
        .open_to_write(&parts[1], &DestroyData::Blank)
        .unwrap_err();
    assert_eq!(refusal.reasons.len(), 1);
    assert!(
        refusal
            .to_string()
            .contains("the disk that holds the output folder"),
        "{refusal}"
    );
}

#[test]
fn a_device_mounted_where_nobody_sees_it() {
    let test = "a_device_mounted_where_nobody_sees_it";
    let folder = Folder::new("namespace");
    let Some(device) = Loop::new(test, &folder, "image", 32) else {
        return;
    };
    must(&format!("mkfs.ext4 -q -F {}", device.show()));
    let point = folder.path("point");
    std::fs::create_dir(&point).unwrap();
    let script = format!(
        "mount {} {} && echo mounted && cat",
        device.show(),
        point.display()
    );
    let mut child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 7];
    let told = std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said);
    if told.is_err() {
        child.wait().unwrap();
        return skip(test, "no mount namespaces here");
    }
    let named = DestroyData::Named(device.name());
    assert_eq!(rules(open(&device.device, &named)), ["held"]);
    drop(child.stdin.take());
    child.wait().unwrap();
    open(&device.device, &named).unwrap();
}

#[test]
fn swap_is_refused() {
    let test = "swap_is_refused";
    let folder = Folder::new("swap");
    let Some(device) = Loop::new(test, &folder, "image", 32) else {
        return;
    };
    must(&format!("mkswap {}", device.show()));
    if !run(&format!("swapon {}", device.show())).status.success() {
        return skip(test, "swapon does not work here");
    }
    let _swap = Undo(format!("swapoff {}", device.show()));
    let named = DestroyData::Named(device.name());
    assert_eq!(rules(open(&device.device, &named)), ["swap"]);
}

#[test]
fn a_device_that_another_process_holds_is_refused() {
    let folder = Folder::new("held");
    let Some(device) = Loop::new("held", &folder, "image", 32) else {
        return;
    };
    let exclusive = rustix::fs::OFlags::EXCL.bits() as i32;
    let held = OpenOptions::new()
        .read(true)
        .custom_flags(exclusive)
        .open(&device.device)
        .unwrap();
    assert_eq!(rules(blank(&device.device)), ["held"]);
    assert_eq!(
        guard().judge(&device.device).unwrap().reasons[0].rule(),
        "held"
    );
    drop(held);
    blank(&device.device).unwrap();
}

#[test]
fn loop_devices_on_devices_and_twins() {
    let test = "loop_devices_on_devices";
    let folder = Folder::new("layers");
    let Some(below) = Loop::new(test, &folder, "image", 32) else {
        return;
    };
    let above = must(&format!("losetup --find --show {}", below.show()));
    let undo = Undo(format!("losetup -d {above}"));
    assert_eq!(rules(blank(&below.device)), ["holder"]);
    assert_eq!(rules(blank(Path::new(&above))), ["holder"]);
    drop(undo);
    // Twice the same file: what is mounted of the one is destroyed through the other.
    let twin = must(&format!("losetup --find --show {}", below.file.display()));
    let _undo = Undo(format!("losetup -d {twin}"));
    must(&format!("mkfs.ext4 -q -F {}", below.show()));
    let _mount = mount(&below.device, &folder, "point");
    let named = DestroyData::Named(twin.clone());
    let refused = rules(open(Path::new(&twin), &named));
    assert_eq!(refused, ["mounted", "behind-loop"]);
}

#[test]
fn the_second_device_of_a_btrfs_is_mounted_too() {
    let test = "the_second_device_of_a_btrfs";
    let folder = Folder::new("btrfs");
    if !has("mkfs.btrfs") {
        return skip(test, "there is no mkfs.btrfs");
    }
    let Some(one) = Loop::new(test, &folder, "one", 160) else {
        return;
    };
    let Some(two) = Loop::new(test, &folder, "two", 160) else {
        return;
    };
    must(&format!(
        "mkfs.btrfs -q -f -d raid1 -m raid1 {} {}",
        one.show(),
        two.show()
    ));
    must(&format!("btrfs device scan {} {}", one.show(), two.show()));
    let point = folder.path("point");
    std::fs::create_dir(&point).unwrap();
    if !run(&format!("mount {} {}", one.show(), point.display()))
        .status
        .success()
    {
        return skip(test, "the kernel does not mount btrfs");
    }
    let _mount = Undo(format!("umount {}", point.display()));
    for device in [&one, &two] {
        let refused = rules(open(&device.device, &DestroyData::Named(device.name())));
        assert!(
            refused.iter().all(|r| ["mounted", "holder"].contains(r)),
            "{refused:?}"
        );
        assert!(!refused.is_empty());
    }
    // The numbers that files on it show belong to no device; it is found all the same.
    let judged = guard()
        .protect("the output folder", &point)
        .judge(&two.device)
        .unwrap();
    assert!(
        judged.reasons.iter().any(|r| r.rule() == "protected"),
        "{:?}",
        judged.reasons
    );
}

#[test]
fn the_disk_under_the_system_is_refused() {
    let number = std::fs::metadata("/").unwrap().dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let uevent = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/uevent"));
    let name = uevent.ok().and_then(|text| {
        let line = text
            .lines()
            .find_map(|l| l.strip_prefix("DEVNAME=").map(str::to_string));
        line.filter(|name| Path::new("/dev").join(name).exists())
    });
    let Some(name) = name.filter(|_| rustix::process::geteuid().is_root()) else {
        return skip(
            "the_disk_under_the_system",
            "/ is on no block device, or we are not root",
        );
    };
    let refused = rules(open(
        &Path::new("/dev").join(&name),
        &DestroyData::Named(name.clone()),
    ));
    assert!(
        refused.contains(&"protected") && refused.contains(&"mounted"),
        "{refused:?}"
    );
}

#[test]
fn a_read_only_device() {
    let test = "a_read_only_device";
    let folder = Folder::new("read-only");
    let Some(device) = Loop::new(test, &folder, "image", 32) else {
        return;
    };
    must(&format!("blockdev --setro {}", device.show()));
    // It would stay with the loop device beyond this file.
    let _writable = Undo(format!("blockdev --setrw {}", device.show()));
    let refused = rules(blank(&device.device));
    // The error of the system, which says the same, is left out.
    assert_eq!(refused, ["read-only"]);
}

#[test]
fn links_are_followed_within_dev_only() {
    let folder = Folder::new("links");
    let Some(device) = Loop::new("links", &folder, "image", 32) else {
        return;
    };
    let outside = folder.path("my-card");
    symlink(&device.device, &outside).unwrap();
    assert_eq!(rules(blank(&outside)), ["link"]);
    let inside = PathBuf::from(format!("/dev/nandscope-test-{}", std::process::id()));
    symlink(&device.device, &inside).unwrap();
    let opened = blank(&inside);
    std::fs::remove_file(&inside).unwrap();
    assert_eq!(opened.unwrap().path, device.device);
    // From within to without and back again.
    symlink(&outside, &inside).unwrap();
    let opened = guard().open_to_write(&inside, &DestroyData::Blank);
    std::fs::remove_file(&inside).unwrap();
    // It ends in the folder of devices, and what is opened is shown under its own name.
    assert_eq!(opened.unwrap().word(), device.name());
    // Paths that are not block devices.
    for other in ["/dev/null", "/proc/version", "/"] {
        assert_eq!(rules(blank(Path::new(other))), ["no-target"], "{other}");
    }
    assert_eq!(rules(blank(Path::new("/dev/nothing-here"))), ["system"]);
}

/// A name that means the blank device in one moment and a device with a file system in the next.
#[test]
fn a_name_that_changes_between_check_and_open() {
    let test = "a_name_that_changes";
    let folder = Folder::new("race");
    let Some(free) = Loop::new(test, &folder, "free", 32) else {
        return;
    };
    let Some(precious) = Loop::new(test, &folder, "precious", 32) else {
        return;
    };
    must(&format!("mkfs.ext4 -q -F {}", precious.show()));
    let before = std::fs::read(&precious.file).unwrap();
    let node = folder.path("node");
    let make = |device: &Loop, at: &Path| {
        let number = std::fs::metadata(&device.device).unwrap().rdev();
        let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
        run(&format!("mknod {} b {major} {minor}", at.display()))
            .status
            .success()
    };
    let nodes = [folder.path("a"), folder.path("b")];
    if !make(&free, &nodes[0]) || !make(&precious, &nodes[1]) || File::open(&nodes[0]).is_err() {
        return skip(test, "device nodes do not work in the folder of the tests");
    }
    std::fs::hard_link(&nodes[0], &node).unwrap();
    let stop = AtomicBool::new(false);
    let (mut opened, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let spare = folder.path("spare");
            for turn in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let _ = std::fs::hard_link(&nodes[turn % 2], &spare);
                std::fs::rename(&spare, &node).unwrap();
                let _ = std::fs::remove_file(&spare);
            }
        });
        let _stop = support::Stop(&stop);
        let began = Instant::now();
        while support::race_goes_on(began, 3, opened, refused) && (opened < 200 || refused < 200) {
            match open(&node, &DestroyData::Blank) {
                Ok(target) => {
                    assert_eq!(target.identity.as_ref().unwrap().name, free.name());
                    target.file.write_at(&[0xa5; 4096], 0x400).unwrap();
                    target.file.write_at(&[0; 4096], 0x400).unwrap();
                    opened += 1;
                }
                Err(refusal) => {
                    let rule = refusal.reasons[0].rule();
                    assert!(["carries-data", "system"].contains(&rule), "{refusal}");
                    refused += 1;
                }
            }
        }
    });
    assert!(
        opened > 0 && refused > 0,
        "{opened} opened, {refused} refused: no race took place"
    );
    assert!(
        std::fs::read(&precious.file).unwrap() == before,
        "a device with data was written"
    );
}

/// A device that is mounted again and again: it is either refused, or cannot be mounted any more.
#[test]
fn a_mount_between_check_and_open() {
    let test = "a_mount_between";
    let folder = Folder::new("mount-race");
    let Some(device) = Loop::new(test, &folder, "image", 32) else {
        return;
    };
    must(&format!("mkfs.ext4 -q -F {}", device.show()));
    let point = folder.path("point");
    std::fs::create_dir(&point).unwrap();
    let stop = AtomicBool::new(false);
    let (mut opened, mut refused) = (0, 0);
    let named = DestroyData::Named(device.name());
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                run(&format!("mount {} {}", device.show(), point.display()));
                run(&format!("umount {}", point.display()));
            }
        });
        let _stop = support::Stop(&stop);
        let began = Instant::now();
        while support::race_goes_on(began, 5, opened, refused) && (opened < 20 || refused < 20) {
            match open(&device.device, &named) {
                Ok(target) => {
                    for _ in 0..5 {
                        std::thread::sleep(Duration::from_millis(1));
                        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
                        assert!(!mounts.contains(&device.show()), "mounted while held");
                    }
                    drop(target);
                    opened += 1;
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(_) => refused += 1,
            }
        }
    });
    run(&format!("umount {}", point.display()));
    assert!(
        opened > 0 && refused > 0,
        "{opened} opened, {refused} refused: no race took place"
    );
}
