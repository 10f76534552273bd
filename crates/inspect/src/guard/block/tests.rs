//! Stacks of devices in a fake sysfs: LVM and RAID, which some test kernels lack.

use super::*;
use crate::mounts::{Mount, parse_mounts};
use std::os::unix::fs::symlink;

/// sda has sda1, on which dm-0 is; sda2 and sdb are the halves of md0; sdc is free.
fn machine() -> (Roots, PathBuf) {
    // Tests run in separate threads.
    let id = format!("{}-{:?}", std::process::id(), std::thread::current().id());
    let folder = std::env::temp_dir().join(format!("nandscope-block-{id}"));
    let sys = folder.join("sys");
    let put = |path: &str, text: &str| {
        let path = sys.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    std::fs::create_dir_all(sys.join("dev/block")).unwrap();
    let all = [
        ("d/sda", "8:0"),
        ("d/sda/sda1", "8:1"),
        ("d/sda/sda2", "8:2"),
        ("d/sdb", "8:16"),
        ("d/sdc", "8:32"),
        ("d/dm-0", "252:0"),
        ("d/md0", "9:0"),
    ];
    for (place, number) in all {
        put(&format!("{place}/dev"), number);
        put(&format!("{place}/size"), "2048");
        symlink(sys.join(place), sys.join("dev/block").join(number)).unwrap();
    }
    put("d/sda/sda1/partition", "1");
    put("d/sda/sda2/partition", "2");
    for (below, above, lower, upper) in [
        ("d/sda/sda1", "d/dm-0", "8:1", "252:0"),
        ("d/sda/sda2", "d/md0", "8:2", "9:0"),
        ("d/sdb", "d/md0", "8:16", "9:0"),
    ] {
        let name = |path: &str| roots::file_name(Path::new(path));
        put(&format!("{below}/holders/{}/dev", name(above)), upper);
        put(&format!("{above}/slaves/{}/dev", name(below)), lower);
    }
    (Roots::under(&folder), folder)
}

fn rules(roots: &Roots, mounts: &[Mount], number: &str) -> Vec<String> {
    let machine = Machine {
        roots,
        mounts: mounts.to_vec(),
        swaps: Vec::new(),
        loops: Vec::new(),
    };
    let reasons = in_use(&machine, number.parse().unwrap());
    reasons.iter().map(Reason::what).collect()
}

#[test]
fn a_mount_on_a_volume_reaches_the_disk_under_it() {
    let (roots, folder) = machine();
    let mounts = parse_mounts(b"1 1 252:0 / /data rw - xfs /dev/mapper/data rw\n");
    let disk = rules(&roots, &mounts, "8:0");
    let expected = [
        "dm-0 is mounted at /data",
        "sda1 is part of dm-0",
        "sda2 is part of md0",
    ];
    assert_eq!(disk, expected);
    let half = rules(&roots, &mounts, "8:16");
    assert_eq!(half, ["sdb is part of md0"]);
    assert_eq!(rules(&roots, &mounts, "8:32"), Vec::<String>::new());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_name_gives_up_one_device_only() {
    let (roots, folder) = machine();
    let identity = Identity::read(&roots, "8:32".parse().unwrap()).unwrap();
    let found = [Signature {
        name: "xfs".into(),
        usage: crate::signature::Usage::FileSystem,
        offset: Bytes::ZERO,
    }];
    let by_id = Path::new("/dev/disk/by-id/usb-card");
    let carried = |given: &str| {
        let destroy = DestroyData::Named(given.to_string());
        carries(&identity, &found, by_id, &destroy).map(|reason| reason.rule())
    };
    for right in ["sdc", "/dev/sdc", " sdc\n", "/dev/disk/by-id/usb-card"] {
        assert_eq!(carried(right), None, "{right}");
    }
    for wrong in ["", "sd", "sda", "/dev/sda", "/dev/", "yes", "xfs"] {
        assert_eq!(carried(wrong), Some("other-name"), "{wrong}");
    }
    let blank = carries(&identity, &[], by_id, &DestroyData::Blank);
    assert_eq!(blank, None);
    // A disk with partitions known to the kernel is not blank.
    let disk = Identity::read(&roots, "8:0".parse().unwrap()).unwrap();
    let reason = carries(&disk, &[], Path::new("/dev/sda"), &DestroyData::Blank);
    assert_eq!(reason.map(|r| r.rule()), Some("carries-data"));
    std::fs::remove_dir_all(folder).unwrap();
}

/// A container's host may have thousands of mounts; the last one counts as the first does.
#[test]
fn a_long_list_of_mounts_is_read_whole() {
    let (roots, folder) = machine();
    let line = "1 1 0:9 / /somewhere/or/other rw,relatime shared:1 - tmpfs none rw\n";
    let last = "2 1 8:32 / /data rw - ext4 /dev/sdc rw\n";
    let text = format!("{}{last}", line.repeat((3 << 20) / line.len()));
    std::fs::create_dir_all(folder.join("proc/self")).unwrap();
    std::fs::write(folder.join("proc/self/mountinfo"), text).unwrap();
    let read = Machine::read(&roots).unwrap();
    let reasons = in_use(&read, "8:32".parse().unwrap());
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    std::fs::remove_dir_all(folder).unwrap();
}

/// Loop devices that may not be opened: their path is looked at, and must lead somewhere.
#[test]
fn a_loop_device_that_cannot_be_asked() {
    let (roots, folder) = machine();
    let place = folder.join("sys/block/loop7");
    std::fs::create_dir_all(place.join("loop")).unwrap();
    std::fs::write(place.join("dev"), "7:7\n").unwrap();
    std::fs::create_dir_all(folder.join("proc/self")).unwrap();
    std::fs::write(folder.join("proc/self/mountinfo"), "").unwrap();
    let backing = folder.join("image ");
    std::fs::write(&backing, "").unwrap();
    let shown = |path: &Path| {
        let line = [path.as_os_str().as_encoded_bytes(), b"\n"].concat();
        std::fs::write(place.join("loop/backing_file"), line).unwrap();
    };
    let behind = || Machine::read(&roots).unwrap().loops[0].behind;
    shown(&backing);
    assert_eq!(behind(), Behind::at(&backing));
    assert!(behind().is_some());
    shown(&folder.join("image"));
    assert_eq!(behind(), None);
    // Somebody else's file of that name is not the deleted one.
    let deleted = folder.join("image (deleted)");
    std::fs::write(&deleted, "").unwrap();
    shown(&deleted);
    assert_eq!(behind(), None);
    let found = unknown(&Machine::read(&roots).unwrap());
    assert_eq!(found[0].rule(), "unknown-loop");
    std::fs::remove_dir_all(folder).unwrap();
}

/// If a loop device cannot be queried, a file is refused only if it is open elsewhere.
#[test]
fn a_file_that_only_we_have_open_is_behind_no_loop_device() {
    let (roots, folder) = machine();
    let place = folder.join("sys/block/loop7");
    std::fs::create_dir_all(place.join("loop")).unwrap();
    std::fs::write(place.join("dev"), "7:7\n").unwrap();
    std::fs::create_dir_all(folder.join("proc/self")).unwrap();
    std::fs::write(folder.join("proc/self/mountinfo"), "").unwrap();
    std::fs::write(place.join("loop/backing_file"), "/out of/sight\n").unwrap();
    let guard = crate::guard::Guard::new(roots.clone());
    let path = folder.join("target");
    let size = Bytes::mib(1);
    drop(guard.open_file(&path, size).unwrap());
    assert_eq!(guard.judge_file(&path), []);
    drop(guard.open_file(&path, size).unwrap());
    let rules = || {
        let judged = guard.judge_file(&path);
        assert_eq!(guard.open_file(&path, size).unwrap_err().reasons, judged);
        judged.iter().map(Reason::rule).collect::<Vec<_>>()
    };
    for writable in [false, true] {
        let mut options = std::fs::OpenOptions::new();
        let other = options.read(true).write(writable).open(&path).unwrap();
        assert_eq!(rules(), ["unknown-loop"], "{writable}");
        drop(other);
    }
    let ours = guard.open_file(&path, size).unwrap();
    assert_eq!(rules(), ["held"]);
    drop(ours);
    drop(guard.open_file(&path, size).unwrap());
    std::fs::remove_dir_all(folder).unwrap();
}
