//! Files left after a run that does not finish: signals, a full disk, a closed pipe.

use crate::support::{Folder, Ran, signals, tiny};
use nandscope_result::json;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A load that would take hours.
const ENDLESS: &str = "[a]\nrw=randrw\nbs=4k\niodepth=4\nnorandommap\ntime_based\nruntime=100d\n[b]\nstonewall\nrw=read\n";

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill")
        .args(["-s", name, &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    folder.file("job.fio", ENDLESS);
    let child = signals::start(folder, arguments);
    signals::wait_until_under_way(&child);
    child
}

#[test]
fn an_interrupted_run_keeps_what_it_measured() {
    for name in ["INT", "TERM"] {
        let folder = Folder::new(&format!("interrupt-{name}"));
        let child = start(&folder, &["run", "job.fio", &tiny(), "--result", "r.json"]);
        signal(&child, name);
        let asked = Instant::now();
        let ran = Ran::from(child.wait_with_output().unwrap());
        assert!(asked.elapsed() < Duration::from_secs(10));
        ran.fails(130, &["interrupted", "r.json"]);
        assert!(ran.out.contains("INCOMPLETE") && ran.out.contains("read: IOPS="));
        assert!(
            ran.out.contains("1 further groups were not begun"),
            "{}",
            ran.out
        );
        let document = json::read(&folder.0.join("r.json")).unwrap();
        assert!(!document.complete);
        let jobs = &document.steps[0].jobs;
        assert!(jobs[0].directions.iter().all(|d| d.operations > 1000));
        assert_eq!(folder.names(), ["job.fio", "r.json"]);
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new("pipe");
    let mut command = folder.command(&["devices", "show", "sm2708-250gb"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

/// A file system of 256 KiB in memory, if mounting is allowed.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", "size=256k", "nandscope-test"]);
        let mounted = command.arg(at).output().is_ok_and(|o| o.status.success());
        mounted.then_some(SmallDisk(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_leaves_nothing_half_written() {
    let folder = Folder::new("full-disk");
    // Every operation is logged: megabytes, where 256 KiB fit.
    folder.file(
        "job.fio",
        "[a]\nrw=randread\nbs=4k\nnumber_ios=50000\nloops=100\nwrite_lat_log\n",
    );
    std::fs::create_dir(folder.0.join("disk")).unwrap();
    let path = folder.0.join("disk");
    let Some(_disk) = SmallDisk::mount(&path) else {
        eprintln!("SKIPPED: mounting a small file system needs root; /dev/full is used instead");
        let ran = Command::new("sh")
            .args([
                "-c",
                "\"$0\" devices > /dev/full",
                env!("CARGO_BIN_EXE_nandscope"),
            ])
            .output();
        Ran::from(ran.unwrap()).fails(3, &["cannot write to standard output"]);
        return;
    };
    let ran = folder.run(&[
        "run",
        "job.fio",
        &tiny(),
        "--result",
        "disk/r.json",
        "--log-dir",
        "disk",
    ]);
    ran.fails(
        3,
        &[
            "a_lat.1.log",
            "No space left",
            "free some space",
            "is kept in",
        ],
    );
    // The result is small and was written first; nothing is left of the log.
    let left: Vec<_> = std::fs::read_dir(&path)
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["r.json"]);
    assert!(json::read(&path.join("r.json")).unwrap().complete);
    // An older result stays complete if the new one does not fit.
    std::fs::write(path.join("filler"), vec![0u8; 1 << 20]).unwrap_err();
    let before = std::fs::read(path.join("r.json")).unwrap();
    let ran = folder.run(&[
        "run",
        "job.fio",
        &tiny(),
        "--seed",
        "2",
        "--result",
        "disk/r.json",
    ]);
    ran.fails(3, &["No space left"]);
    assert_eq!(before, std::fs::read(path.join("r.json")).unwrap());
}
