//! `nandscope fs` on real targets: refusals, and runs on a file that it attaches to a loop device itself. The runs need root
//! and loop devices: without them they report that they are skipped.

#![cfg(target_os = "linux")]

use crate::support::guest::skipped;
use crate::support::serving::have;
use crate::support::signals::send;
use crate::support::{Folder, Ran};
use nandscope_units::random::SplitMix64;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const FILE: &str = "./card.img";
/// Options of a short run; FAT32 needs small clusters on a small file.
const SHORT: [&str; 10] = [
    "--fs",
    "ext4,vfat",
    "--mkfs",
    "vfat:-s 1",
    "--workload",
    "log,sqlite",
    "--setting",
    "LOG_LINES=40",
    "--setting",
    "SQLITE_INSERTS=20",
];

#[test]
fn options_of_the_other_kind_of_target_are_refused_before_anything_is_made() {
    let folder = Folder::new("fs-real-refusals");
    let refused = |arguments: &[&str], message: &str| {
        let ran = folder.run(&[&["fs"], arguments].concat());
        ran.fails(2, &[message]);
    };
    for option in ["--destroy-data", "--yes=1", "--size=64MiB"] {
        let name = option.split('=').next().unwrap();
        let message = format!("{name} works with real targets only");
        refused(&["sim:kingston-8gb", option], &message);
    }
    for (option, name) in [
        ("--used", "--used"),
        ("--partition=4MiB", "--partition"),
        ("--dirty=1MiB", "--dirty"),
        ("--topology", "--topology"),
        ("--host=sabrelite", "--host"),
        ("--param=card.open_aus=1", "--param"),
        ("--cuts=3", "--cuts"),
        ("--page=page.md", "--page"),
    ] {
        let message = format!("{name} works with simulated devices only");
        refused(&[FILE, "--size=64MiB", option], &message);
    }
    // A page has no place for a real device, with or without a simulated one beside it.
    refused(
        &["sim:kingston-8gb", FILE, "--size=64MiB", "--page=page.md"],
        "--page works with simulated devices only",
    );
    assert_eq!(folder.names(), [""; 0]);
}

fn can_attach() -> bool {
    let root = Command::new("id").arg("-u").output();
    root.is_ok_and(|o| o.stdout == b"0\n") && Path::new("/dev/loop-control").exists()
}

/// Mounts of this machine, and the files of its loop devices.
fn state() -> (String, Vec<String>) {
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    // Other tests mount too.
    let ours = |line: &&str| line.contains("fs-real") || line.contains("/run/");
    let mounts = mounts.lines().filter(ours).collect::<Vec<_>>().join("\n");
    let devices = std::fs::read_dir("/sys/block").unwrap().flatten();
    let mut files: Vec<String> = devices
        .filter_map(|device| {
            let file = std::fs::read_to_string(device.path().join("loop/backing_file"));
            Some(format!("{:?}: {}", device.file_name(), file.ok()?))
        })
        // Other tests attach files too.
        .filter(|line| line.contains("fs-real"))
        .collect();
    files.sort();
    (mounts, files)
}

/// Names of files and folders that runs of `fs` did not remove from their folder of temporary files.
fn left(folder: &Folder) -> Vec<String> {
    let names = |place: &Path| {
        let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
        entries.map(|e| e.file_name().to_string_lossy().into_owned())
    };
    names(&folder.0.join("tmp"))
        .filter(|name| name.starts_with("nandscope"))
        .collect()
}

fn command(folder: &Folder, more: &[&str]) -> Command {
    let tmp = folder.0.join("tmp");
    std::fs::create_dir_all(&tmp).unwrap();
    let mut command = folder.command(&[&["fs", FILE], &SHORT[..], more].concat());
    command.env("TMPDIR", tmp);
    command
}

/// A file of 8 MiB on a loop device, which no run may write.
struct Bystander {
    device: String,
    folder: std::path::PathBuf,
}

impl Bystander {
    fn new(folder: &Folder) -> Option<Bystander> {
        let contents: Vec<u8> = (0..8u32 << 20).map(|n| (n / 7) as u8).collect();
        std::fs::write(folder.0.join("bystander.img"), contents).unwrap();
        let file = folder.0.join("bystander.img");
        let device =
            crate::support::loops::tool("losetup", &["--find", "--show", file.to_str().unwrap()])?;
        Some(Bystander {
            device,
            folder: folder.0.clone(),
        })
    }

    fn is_unchanged(&self) -> bool {
        let contents = std::fs::read(self.folder.join("bystander.img")).unwrap();
        let device = std::fs::read(&self.device).unwrap();
        device == contents
            && contents.len() == 8 << 20
            && (0..8u32 << 20).all(|n| contents[n as usize] == (n / 7) as u8)
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        crate::support::loops::tool("losetup", &["--detach", &self.device]);
    }
}

#[test]
#[ignore = "slow: formats and mounts a file, and is interrupted at many moments"]
fn slow_file_systems_on_a_file_leave_nothing_mounted_whenever_they_end() {
    let tools = [
        "mkfs.ext4",
        "e2fsck",
        "losetup",
        "unshare",
        "setpriv",
        "perl",
        "sqlite3",
    ];
    if !can_attach() {
        return skipped(
            "file systems on a file",
            "it needs root and /dev/loop-control",
        );
    }
    if !have(&tools) {
        return;
    }
    let folder = Folder::new("fs-real");
    let Some(bystander) = Bystander::new(&folder) else {
        return skipped(
            "file systems on a file",
            "a loop device is not to be had here",
        );
    };
    let before = state();
    let ran = command(&folder, &["--size", "320MiB", "-o", "out"])
        .output()
        .unwrap();
    let ran = Ran::from(ran);
    ran.succeeds();
    assert_eq!(state(), before);
    assert_eq!(left(&folder), [""; 0]);
    holds(&folder, &ran);
    // Moments of a whole run, however long it takes on this machine.
    let began = Instant::now();
    Ran::from(command(&folder, &[]).output().unwrap()).succeeds();
    let whole = began.elapsed().as_micros() as u64;
    let mut random = SplitMix64::new(7);
    let mut interrupted = 0;
    for round in 0..14 {
        let moment = Duration::from_micros(random.below(whole));
        let mut child = command(&folder, &[])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(moment);
        let killed = round % 4 == 3;
        send(
            if killed { "KILL" } else { "TERM" },
            &[i64::from(child.id())],
        );
        let code = child.wait().unwrap().code();
        if killed {
            // The kernel ends the namespaces of a killed run a little later.
            let began = Instant::now();
            while state() != before {
                assert!(began.elapsed() < Duration::from_secs(30), "{:?}", state());
                std::thread::sleep(Duration::from_millis(20));
            }
        } else {
            // Without a code the signal came before the command listened.
            let expected = matches!(code, None | Some(0 | 130));
            assert!(expected, "{code:?} after {moment:?}");
            interrupted += u32::from(code == Some(130));
            assert_eq!(state(), before, "SIGTERM after {moment:?}");
        }
    }
    assert!(interrupted > 3, "{interrupted} runs were interrupted");
    // The folders of killed runs are removed by the next.
    let ran = Ran::from(command(&folder, &[]).output().unwrap());
    ran.succeeds();
    assert_eq!(left(&folder), [""; 0]);
    assert_eq!(state(), before);
    assert!(bystander.is_unchanged());
}

/// Checks the result of the first run.
fn holds(folder: &Folder, ran: &Ran) {
    let result: serde_json::Value = serde_json::from_str(&folder.read("out/result.json")).unwrap();
    assert_eq!(result["complete"], true);
    assert_eq!(result["target"]["kind"], "file");
    let figures = result["figures"].as_array().unwrap();
    let figure = |id: &str| {
        let found = figures.iter().find(|f| f["id"] == id);
        found.map(|f| f["value"].as_f64().unwrap())
    };
    let flushes = figure("fs.log-ext4.flushes").unwrap();
    assert!(flushes >= 40.0, "a flush for each fsync, {flushes}");
    assert!(figure("fs.log-ext4.time").unwrap() > 0.0);
    // A real device does not report these three, so the result has no figure for them.
    for unknown in ["stall", "card-wa", "call-mean"] {
        assert_eq!(figure(&format!("fs.log-ext4.{unknown}")), None);
    }
    let row = ran
        .out
        .lines()
        .find(|line| line.trim_start().starts_with("log "));
    let row = row.unwrap().trim_end();
    // The longest call is not known on a real device.
    assert!(row.contains(" ext4 ") && row.ends_with(" -"), "{row}");
}
