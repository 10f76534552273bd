//! Files found under names that the user did not give: links are not followed, and a FIFO or a device does not block
//! the command.
#![cfg(target_os = "linux")]

use crate::support::guest::{kernel, processes, wait_until};
use crate::support::serving::have;
use crate::support::signals::start;
use crate::support::{Folder, Ran, tiny};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Time within which a command that does not block ends, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(30);

const JOB: &str = "[a]\nioengine=libaio\nrw=randread\nbs=4k\nsize=1m\nnumber_ios=200\n";

fn fifo(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success());
}

/// Runs a command that must end by itself.
#[track_caller]
fn run(folder: &Folder, arguments: &[&str]) -> Ran {
    let mut command = folder.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("{arguments:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ran::from(child.wait_with_output().unwrap())
}

fn sweep(folder: &Folder) -> Ran {
    let target = tiny();
    let space = ["--job", "iodepth=1,2", "-o", "out"];
    let words = [&["sweep", "job.fio", &target][..], &space].concat();
    run(folder, &words)
}

/// The one-line names of the points of a finished sweep.
fn points(folder: &Folder) -> Vec<String> {
    let entries = fs::read_dir(folder.0.join("out/points")).unwrap();
    let mut names: Vec<String> = entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_sweep_writes_through_no_link() {
    let folder = Folder::new("found-sweep-links");
    folder.file("job.fio", JOB);
    sweep(&folder).succeeds();
    let point = folder.0.join("out/points").join(&points(&folder)[0]);
    let foreign = folder.file("foreign", "foreign");
    fs::remove_file(&point).unwrap();
    symlink(&foreign, &point).unwrap();
    let ran = sweep(&folder);
    ran.fails(3, &["cannot write", "not a regular file"]);
    assert_eq!(folder.read("foreign"), "foreign");
    // Folders that are links: those of the points, and of the table.
    fs::create_dir(folder.0.join("elsewhere")).unwrap();
    let entries = fs::read_dir(folder.0.join("out")).unwrap().flatten();
    let mut names = entries.map(|e| e.file_name().into_string().unwrap());
    let version = names.find(|name| name.starts_with("version=")).unwrap();
    for name in ["points", &version] {
        let place = folder.0.join("out").join(name);
        let _ = fs::remove_dir_all(folder.0.join("out"));
        fs::create_dir(folder.0.join("out")).unwrap();
        symlink("../elsewhere", &place).unwrap();
        sweep(&folder).fails(3, &["leads out of its folder"]);
        assert_eq!(fs::read_dir(folder.0.join("elsewhere")).unwrap().count(), 0);
    }
}

#[test]
fn a_damaged_point_is_run_again_and_said() {
    let folder = Folder::new("found-sweep-damaged");
    folder.file("job.fio", JOB);
    sweep(&folder).succeeds();
    let names = points(&folder);
    let whole = folder.read(&format!("out/points/{}", names[0]));
    let table = folder.read("out/points.csv");
    let digit = whole.find("\"value\": ").unwrap() + 9;
    let mut changed = whole.clone().into_bytes();
    changed[digit] = if changed[digit] == b'9' { b'8' } else { b'9' };
    let changed = String::from_utf8(changed).unwrap();
    for damaged in [&changed, &whole[..whole.len() - 7], ""] {
        folder.file(&format!("out/points/{}", names[0]), damaged);
        let ran = sweep(&folder);
        ran.succeeds();
        assert!(
            ran.err.contains(&names[0]) && ran.err.contains("the point was run again"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("1 of them by earlier runs"), "{}", ran.err);
        assert_eq!(folder.read(&format!("out/points/{}", names[0])), whole);
        assert_eq!(folder.read("out/points.csv"), table);
    }
    assert!(!sweep(&folder).err.contains("run again"));
}

#[test]
fn rows_beside_a_page_and_states_beside_contents_follow_no_link() {
    let folder = Folder::new("found-beside");
    let foreign = folder.file("foreign", "foreign");
    symlink(&foreign, folder.0.join("p.csv")).unwrap();
    run(&folder, &["validate", "--page", "p.md"]).fails(3, &["p.csv", "not a regular file"]);
    symlink(&foreign, folder.0.join("card.device")).unwrap();
    let serve = ["serve", &tiny(), "--nbd", "unix:s", "--store", "card"];
    run(&folder, &serve).fails(3, &["card.device", "not a regular file"]);
    fs::create_dir(folder.0.join("elsewhere")).unwrap();
    fs::create_dir(folder.0.join("shelf")).unwrap();
    folder.file("job.fio", JOB);
    run(&folder, &["run", "job.fio", &tiny(), "--result", "r.json"]).succeeds();
    symlink("../elsewhere", folder.0.join("shelf/drive")).unwrap();
    let add = ["shelf", "add", "r.json", "--name", "drive"];
    run(&folder, &add).fails(3, &["leads out of its folder"]);
    fs::create_dir(folder.0.join("report")).unwrap();
    symlink("../elsewhere", folder.0.join("report/plots")).unwrap();
    run(&folder, &["report", "r.json", "-o", "report"]).fails(3, &["leads out of its folder"]);
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(fs::read_dir(folder.0.join("elsewhere")).unwrap().count(), 0);
}

/// The rows beside the page of `fs`, for its tables and those of power cuts. Refused before a kernel is started, so that any file
/// will do for one.
#[test]
fn rows_beside_the_page_of_file_systems_follow_no_link() {
    let folder = Folder::new("found-beside-fs");
    if !have(&["mkfs.vfat", "sqlite3"]) {
        return;
    }
    let foreign = folder.file("foreign", "foreign");
    folder.file("kernel", "");
    symlink(&foreign, folder.0.join("p.csv")).unwrap();
    let card = "sim:samsung-evo-16gb";
    for more in [&["--workload", "log"][..], &["--cuts", "2"]] {
        let page = [
            "fs", card, "--fs", "vfat", "--kernel", "kernel", "--page", "p.md",
        ];
        run(&folder, &[&page[..], more].concat()).fails(3, &["p.csv", "not a regular file"]);
    }
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(folder.names(), ["foreign", "kernel", "p.csv"]);
}

/// A link that is made while `fs` measures: the rows are kept elsewhere. The link that the user named is followed.
#[test]
#[ignore = "slow: boots kernels"]
fn slow_a_link_made_during_a_measurement_of_file_systems_is_not_followed() {
    let folder = Folder::new("found-during-fs");
    let Some(kernel) = kernel(&folder, "a link beside a page") else {
        return;
    };
    let foreign = folder.file("foreign", "foreign");
    let named = folder.file("named", "old");
    symlink(&named, folder.0.join("p.md")).unwrap();
    let cuts = ["--cuts", "2", "--page", "p.md"];
    let arguments = [&["fs", "sim:samsung-evo-16gb", "--fs", "vfat"], &cuts[..]].concat();
    let child = start(&folder, &arguments);
    wait_until("a kernel", || !processes(&kernel).is_empty());
    symlink(&foreign, folder.0.join("p.csv")).unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.fails(3, &["p.csv", "not a regular file", "is kept in"]);
    assert_eq!(folder.read("foreign"), "foreign");
    assert!(folder.read("named").contains("lying"));
    let kept = folder.kept();
    assert_eq!(kept.len(), 1, "{kept:?}");
    let rows = fs::read_to_string(&kept[0]).unwrap();
    assert!(rows.contains("FAT32,honest,2,"), "{rows}");
}

#[test]
fn a_fifo_in_a_folder_holds_nobody_up() {
    let folder = Folder::new("found-fifos");
    folder.file("job.fio", JOB);
    run(&folder, &["run", "job.fio", &tiny(), "--result", "r.json"]).succeeds();
    let at = |name: &str| folder.0.join(name);
    fifo(&at("pipe"));
    let add = ["shelf", "add", "r.json", "--name", "drive"];
    run(&folder, &[&add[..], &["--photo", "pipe"]].concat())
        .fails(2, &["pipe", "not a regular file"]);
    run(&folder, &["kernel", "build", "--source", "pipe"])
        .fails(2, &["pipe", "neither a regular file"]);
    run(&folder, &add).succeeds();
    for name in ["shelf/drive/x.json", "shelf/drive/drive.toml"] {
        fifo(&at(name));
        run(&folder, &["shelf", "list"]).fails(2, &[name, "not a regular file"]);
        run(&folder, &["shelf", "site", "-o", "site"]).fails(2, &[name]);
        fs::remove_file(at(name)).unwrap();
    }
    fs::create_dir(at("texts")).unwrap();
    fifo(&at("texts/introduction.md"));
    let report = ["report", "r.json", "-o", "report", "--author", "texts"];
    run(&folder, &report).fails(2, &["introduction.md", "not a regular file"]);
    sweep(&folder).succeeds();
    let point = at("out/points").join(&points(&folder)[0]);
    fs::remove_file(&point).unwrap();
    fifo(&point);
    sweep(&folder).fails(3, &["not a regular file"]);
    // A result is not read from a FIFO either before it would be replaced.
    let to_pipe = ["run", "job.fio", &tiny(), "--result", "pipe"];
    let reader = {
        let pipe = at("pipe");
        std::thread::spawn(move || fs::read(pipe).unwrap())
    };
    run(&folder, &to_pipe).succeeds();
    assert!(reader.join().unwrap().len() > 100);
}

#[test]
#[ignore = "slow: waits for programs that never come, 10 s each"]
fn slow_silent_peers_are_waited_for_ten_seconds() {
    let folder = Folder::new("found-silent");
    fifo(&folder.0.join("job.fio"));
    let began = Instant::now();
    run(&folder, &["job", "check", "job.fio"]).fails(3, &["FIFO", "10 s"]);
    assert!(began.elapsed() > Duration::from_secs(9));
    // A socket that accepts no connection, and one with a full queue of connections.
    let listener = UnixListener::bind(folder.0.join("s")).unwrap();
    run(&folder, &["ctl", "s", "lie", "on"]).fails(3, &["does not answer within 10 s"]);
    drop(listener);
}
