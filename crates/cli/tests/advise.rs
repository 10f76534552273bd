//! Every command that `nandscope advise` prints, run on a loop device.

use crate::support::Folder;
use crate::support::loops::{skipped, tool};
use std::process::Command;

/// A loop device over a sparse file; detached at the end.
struct Sparse(String);

impl Sparse {
    fn new(folder: &Folder, gib: u64) -> Option<Self> {
        let path = folder.0.join("card.img");
        let file = std::fs::File::create(&path).unwrap();
        file.set_len(gib << 30).unwrap();
        let path = path.to_str().unwrap();
        let device = tool("losetup", &["--find", "--show", "--partscan", path]);
        if device.is_none() {
            skipped("a loop device is not to be had here");
        }
        device.map(Sparse)
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        tool("losetup", &["--detach", &self.0]);
    }
}

/// What flashbench prints of a card with such a unit, in KiB.
fn table(unit: u64) -> String {
    let odd = unit >> unit.trailing_zeros();
    let row = |k: u32| {
        let align = (odd << k) << 10;
        let diff = match align >> 10 {
            a if a < 16 => "2µs",
            a if a < unit => "378µs",
            _ => "858µs",
        };
        format!("align {align}\tpre 1.01ms\ton 1.4ms\tpost 1.01ms\tdiff {diff}\n")
    };
    (0..18).rev().map(row).collect()
}

fn shell(command: &str) {
    let done = Command::new("sh").args(["-c", command]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{command}: {said}");
}

fn supported(name: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|l| l.trim_end().ends_with(name))
}

/// Runs the commands of one advice, every file system in turn.
fn run_all(folder: &Folder, device: &Sparse, unit: u64) {
    folder.file("align.txt", &table(unit));
    let probe = ["probe", "--from-flashbench", "align.txt", "-o", "report"];
    folder.run(&probe).succeeds();
    let advise = [
        "advise",
        "report/result.json",
        "--device",
        &device.0,
        "--json",
    ];
    let output = folder.command(&advise).output().unwrap();
    let all: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let commands = all.as_array().unwrap().iter();
    let commands: Vec<(&str, &str)> = commands
        .filter_map(|a| Some((a["about"].as_str()?, a["command"].as_str()?)))
        .collect();
    let mount = commands.iter().find(|c| c.0 == "mount").unwrap().1;
    let f2fs = commands.iter().find(|c| c.0 == "F2FS").unwrap().1;
    assert!(unit < 3 << 10 || f2fs.contains("-s "), "{unit} KiB: {f2fs}");
    let mut mounted = 0;
    for (about, command) in commands {
        if command.starts_with("mount") {
            continue;
        }
        shell(command);
        if !command.starts_with("mkfs") {
            continue;
        }
        if supported(&about.to_lowercase()) {
            // In a namespace of its own, where nobody sees it.
            shell(&format!("unshare -m sh -c '{mount} && umount /mnt'"));
            mounted += 1;
        }
        // Makers of file systems refuse to replace another one.
        shell(&format!("wipefs --all --quiet {}p1", device.0));
    }
    assert!(mounted > 0, "not even ext4 could be mounted");
}

#[test]
fn every_command_runs_on_a_device() {
    let folder = Folder::new("advise-run");
    let tools = [
        "parted",
        "mkfs.ext4",
        "mkfs.f2fs",
        "mkfs.nilfs2",
        "mkfs.exfat",
    ];
    for name in tools {
        if Command::new(name).arg("-V").output().is_err() {
            skipped(&format!("{name} is not installed"));
            return;
        }
    }
    let Some(device) = Sparse::new(&folder, 32) else {
        return;
    };
    for unit in [1 << 10, 3 << 10, 4 << 10, 7 << 10, 128 << 10] {
        run_all(&folder, &device, unit);
    }
}
