//! Other files at the path of an output, created before or during a run: no file that was not named is lost or
//! overwritten.
#![cfg(target_os = "linux")]
use crate::support;
use crate::support::loops::{skipped, tool};
use crate::support::signals::{ENDLESS, end, start};
use crate::support::{Folder, Ran, tiny};
use nandscope_result::json;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const SHORT: &str = "[a]\nrw=randread\nbs=4k\nnumber_ios=100\n";

/// Makes a device node or FIFO; if that is not allowed, reports it and returns `None`.
fn node(folder: &Folder, arguments: &[&str]) -> Option<PathBuf> {
    let path = folder.0.join(arguments[0]);
    let words = [&[path.to_str().unwrap()], &arguments[1..]].concat();
    if tool("mknod", &words).is_none() {
        skipped("only root may make device nodes");
        return None;
    }
    Some(path)
}

/// Command lines of all options that name an output file, with `name` as that file.
fn ways(name: &str) -> Vec<Vec<String>> {
    let words = |line: &str| {
        let words = line.split(' ').map(|word| match word {
            "FILE" => name.to_string(),
            "TINY" => tiny(),
            word => word.to_string(),
        });
        words.collect()
    };
    [
        "run job.fio TINY --result FILE",
        "run job.fio TINY --save FILE",
        "compare a.json a.json --html FILE",
    ]
    .map(words)
    .to_vec()
}

fn run(folder: &Folder, arguments: &[String]) -> Ran {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    folder.run(&arguments)
}

fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("job.fio", SHORT);
    let ran = folder.run(&["run", "job.fio", &tiny(), "--result", "a.json"]);
    ran.succeeds();
    folder
}

#[test]
fn character_devices_and_fifos_are_written_to_and_stay() {
    let folder = prepared("outputs-devices");
    let Some(null) = node(&folder, &["null", "c", "1", "3"]) else {
        return;
    };
    for way in ways("null") {
        run(&folder, &way).succeeds();
        assert!(
            fs::symlink_metadata(&null)
                .unwrap()
                .file_type()
                .is_char_device()
        );
    }
    let fifo = node(&folder, &["fifo", "p"]).unwrap();
    for way in ways("fifo") {
        let reader = {
            let fifo = fifo.clone();
            std::thread::spawn(move || fs::read(fifo).unwrap())
        };
        run(&folder, &way).succeeds();
        assert!(reader.join().unwrap().len() > 100, "{way:?}");
        assert!(fs::symlink_metadata(&fifo).unwrap().file_type().is_fifo());
    }
    assert_eq!(folder.names(), ["a.json", "fifo", "job.fio", "null"]);
}

#[test]
fn block_devices_and_folders_are_refused_before_the_run() {
    let folder = prepared("outputs-refused");
    // A loop device without a backing file.
    let Some(block) = node(&folder, &["block", "b", "7", "251"]) else {
        return;
    };
    symlink("block", folder.0.join("link")).unwrap();
    fs::create_dir(folder.0.join("folder")).unwrap();
    for (name, part) in [
        ("block", "block device"),
        ("link", "block device"),
        ("folder", "folder"),
    ] {
        for way in ways(name) {
            let ran = run(&folder, &way);
            ran.fails(3, &["cannot write", name, part]);
            assert!(
                way[0] != "run" || ran.out.is_empty(),
                "{way:?}: {}",
                ran.out
            );
        }
    }
    assert!(
        fs::symlink_metadata(block)
            .unwrap()
            .file_type()
            .is_block_device()
    );
    assert_eq!(
        folder.names(),
        ["a.json", "block", "folder", "job.fio", "link"]
    );
}

#[test]
fn links_are_followed_and_stay() {
    let folder = prepared("outputs-links");
    fs::create_dir(folder.0.join("elsewhere")).unwrap();
    let link = folder.0.join("link");
    symlink("elsewhere/file", &link).unwrap();
    for way in ways("link") {
        let _ = fs::remove_file(folder.0.join("elsewhere/file"));
        for _ in 0..2 {
            run(&folder, &way).succeeds();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            let target = fs::symlink_metadata(folder.0.join("elsewhere/file")).unwrap();
            assert!(target.is_file() && target.len() > 100);
        }
    }
    assert_eq!(fs::read_dir(folder.0.join("elsewhere")).unwrap().count(), 1);
}

#[test]
fn contents_of_a_served_card_are_kept_in_regular_files_only() {
    let folder = Folder::new("outputs-store");
    let nodes = [
        (&["null", "c", "1", "3"][..], "char"),
        (&["block", "b", "7", "251"], "block"),
        (&["fifo", "p"], "fifo"),
    ];
    for (arguments, _) in nodes {
        let Some(path) = node(&folder, arguments) else {
            return;
        };
        let before = fs::symlink_metadata(&path).unwrap().file_type();
        let serve = ["serve", &tiny(), "--nbd", "unix:s", "--store", arguments[0]];
        folder
            .run(&serve)
            .fails(2, &[arguments[0], "not a regular file"]);
        assert_eq!(fs::symlink_metadata(&path).unwrap().file_type(), before);
        assert!(!folder.0.join(format!("{}.device", arguments[0])).exists());
    }
    // A link in the place of a journal.
    let foreign = folder.file("foreign", "foreign");
    symlink(&foreign, folder.0.join("card.journal.0")).unwrap();
    let serve = ["serve", &tiny(), "--nbd", "unix:s", "--store", "card"];
    assert_ne!(folder.run(&serve).code, Some(0));
    assert_eq!(folder.read("foreign"), "foreign");
}

#[test]
fn stores_are_for_their_owner_alone() {
    let folder = Folder::new("outputs-private");
    let serve = ["serve", &tiny(), "--nbd", "unix:s", "--store", "card"];
    let child = start(&folder, &serve);
    let files = ["card", "card.device", "card.journal.0"];
    for name in files {
        let file = folder.0.join(name);
        let about = support::signals::wait_for(name, || fs::metadata(&file).ok());
        let mode = about.permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    end(child, "INT").succeeds();
    assert_eq!(folder.names(), ["card", "card.device"]);
}

/// Six names at which a planted link once redirected a write. `exec` keeps the process ID, from which the old names
/// were made.
#[test]
fn links_at_names_that_could_be_guessed_lead_nowhere() {
    let folder = prepared("outputs-guessed");
    folder.file(
        "log.fio",
        "[a]\nrw=randread\nbs=4k\nnumber_ios=100\nwrite_bw_log\n",
    );
    fs::create_dir(folder.0.join("out")).unwrap();
    let foreign = folder.file("foreign", "foreign");
    let tiny = tiny();
    for (line, name) in [
        ("run job.fio TINY --result out/x", "x"),
        ("run job.fio TINY --save out/x", "x"),
        ("run log.fio TINY --log-dir out", "a_bw.1.log"),
        ("compare a.json a.json --html out/x", "x"),
        ("report a.json -o out", "report.html"),
        ("report a.json -o out", "result.json"),
    ] {
        let line = line.replace("TINY", &format!("'{tiny}'"));
        let plant = format!(
            "for n in out/.{name}.$$.partial out/{name}.$$.tmp out/.{name}.partial out/{name}.tmp out/.nandscope.$$.trial; do
                ln -s \"$1\" $n || exit 99
            done
            exec \"$0\" {line}"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &plant, env!("CARGO_BIN_EXE_nandscope")]);
        command.arg(&foreign).current_dir(&folder.0);
        Ran::from(command.output().unwrap()).succeeds();
        assert_eq!(folder.read("foreign"), "foreign", "{line}");
        let planted = fs::read_dir(folder.0.join("out")).unwrap().flatten();
        let planted: Vec<_> = planted.filter(|e| e.path().is_symlink()).collect();
        assert_eq!(planted.len(), 5, "{line}");
        for entry in planted {
            fs::remove_file(entry.path()).unwrap();
        }
    }
}

#[test]
fn logs_stay_in_their_folder() {
    let folder = Folder::new("outputs-logs");
    fs::create_dir_all(folder.0.join("logs/sub")).unwrap();
    let foreign = folder.file("foreign", "foreign");
    symlink("..", folder.0.join("logs/out")).unwrap();
    symlink(&foreign, folder.0.join("logs/x_bw.2.log")).unwrap();
    let absolute = folder.0.join("x");
    let absolute = absolute.to_str().unwrap();
    // The jobs would run for 100 days if they were started.
    for (text, line, parts) in [
        (
            "[a]\nrw=read\nwrite_bw_log=../x\n",
            3,
            &["write_bw_log", "../x_bw.1.log"][..],
        ),
        (
            "[a]\nrw=read\nwrite_iops_log=sub/../../x\n",
            3,
            &["write_iops_log"],
        ),
        (
            &format!("[a]\nrw=read\nwrite_lat_log={absolute}\n"),
            3,
            &["write_lat_log"],
        ),
        ("[a]\nrw=read\nwrite_bw_log=out/x\n", 3, &["out/x_bw.1.log"]),
        ("[../a]\nrw=read\nwrite_bw_log\n", 3, &["../a_bw.1.log"]),
        (
            "[a]\nrw=read\n[b]\nrw=read\nwrite_bw_log=x\n",
            5,
            &["x_bw.2.log", "not a regular file"],
        ),
        (
            "[a]\nrw=read\nnumjobs=2\nwrite_bw_log=x\n",
            4,
            &["x_bw.2.log", "not a regular file"],
        ),
    ] {
        folder.file("job.fio", &format!("{text}time_based\nruntime=100d\n"));
        let ran = folder.run(&["run", "job.fio", &tiny(), "--log-dir", "logs"]);
        ran.fails(2, parts);
        ran.fails(2, &[&format!("job.fio:{line}"), "--log-dir"]);
        assert_eq!(ran.out, "");
    }
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(folder.names(), ["foreign", "job.fio", "logs"]);
    // A subfolder is accepted like the folder itself.
    folder.file("job.fio", &format!("{SHORT}write_bw_log=sub/x\n"));
    folder
        .run(&["run", "job.fio", &tiny(), "--log-dir", "logs"])
        .succeeds();
    assert!(folder.0.join("logs/sub/x_bw.1.log").exists());
}

/// The result saved in the state folder, which the message names.
#[track_caller]
fn kept(folder: &Folder, ran: &Ran) -> nandscope_result::ResultDocument {
    let kept = folder.kept();
    let [path] = kept.as_slice() else {
        panic!("{kept:?}\n{}", ran.err);
    };
    ran.fails(3, &["cannot write", "is kept in", path.to_str().unwrap()]);
    let result = json::read(path).unwrap();
    fs::remove_file(path).unwrap();
    result
}

#[test]
fn a_folder_that_is_removed_during_a_run_costs_nothing() {
    let folder = Folder::new("outputs-gone");
    folder.file("job.fio", ENDLESS);
    let tiny = tiny();
    for (arguments, shown) in [
        (
            &["run", "job.fio", &tiny, "--result", "out/r.json"][..],
            "IOPS=",
        ),
        (&["review", "sim:sm2708-250gb", "-o", "out"], "SM2708"),
        (
            &["sweep", "fullness", "sim:sm2262en-2tb", "-o", "out"],
            "SM2262EN",
        ),
    ] {
        fs::create_dir(folder.0.join("out")).unwrap();
        let child = start(&folder, arguments);
        fs::remove_dir_all(folder.0.join("out")).unwrap();
        let ran = end(child, "INT");
        let result = kept(&folder, &ran);
        assert!(!result.complete);
        assert!(ran.out.contains(shown), "{}", ran.out);
        assert_eq!(folder.names(), ["job.fio"], "{arguments:?}");
    }
}

/// A file system of 1 MiB in memory, if mounting is allowed.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: PathBuf) -> Option<Self> {
        fs::create_dir(&at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=1m", "nandscope-test"];
        let mounted = tool("mount", &[&options[..], &[at.to_str().unwrap()]].concat());
        if mounted.is_none() {
            skipped("mounting a small file system needs root");
        }
        mounted.map(|_| SmallDisk(at))
    }

    /// Leaves no byte free.
    fn fill(&self) {
        fs::write(self.0.join("filler"), vec![0u8; 2 << 20]).unwrap_err();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        tool("umount", &[self.0.to_str().unwrap()]);
    }
}

#[test]
fn a_disk_that_fills_up_during_a_review_costs_nothing() {
    let folder = Folder::new("outputs-full");
    folder.file("job.fio", ENDLESS);
    let Some(disk) = SmallDisk::mount(folder.0.join("disk")) else {
        return;
    };
    let tiny = tiny();
    for (arguments, shown) in [
        (
            &["run", "job.fio", &tiny, "--result", "disk/r.json"][..],
            "IOPS=",
        ),
        (&["review", "sim:sm2708-250gb", "-o", "disk/out"], "SM2708"),
    ] {
        let child = start(&folder, arguments);
        disk.fill();
        let ran = end(child, "INT");
        ran.fails(3, &["No space left"]);
        assert!(!kept(&folder, &ran).complete);
        assert!(ran.out.contains(shown), "{}", ran.out);
        fs::remove_file(disk.0.join("filler")).unwrap();
        let left: Vec<_> = fs::read_dir(&disk.0).unwrap().flatten().collect();
        let half = |e: &fs::DirEntry| {
            e.path()
                .extension()
                .is_some_and(|e| e == "partial" || e == "json")
        };
        assert!(!left.iter().any(half), "{left:?}");
    }
}

#[test]
fn a_device_that_cannot_be_saved_is_kept_elsewhere() {
    let folder = Folder::new("outputs-save");
    folder.file("job.fio", ENDLESS);
    fs::create_dir(folder.0.join("out")).unwrap();
    let child = start(
        &folder,
        &["run", "job.fio", &tiny(), "--save", "out/used.dev"],
    );
    fs::remove_dir_all(folder.0.join("out")).unwrap();
    let ran = end(child, "TERM");
    let kept = folder.kept();
    ran.fails(
        3,
        &["out/used.dev", "is kept in", kept[0].to_str().unwrap()],
    );
    folder.file("job.fio", SHORT);
    let saved = format!("sim:saved:{}", kept[0].display());
    folder.run(&["run", "job.fio", &saved]).succeeds();
}

/// If the state folder cannot be created, the result is saved in the folder for temporary files; without both an error is
/// reported.
#[test]
fn a_result_that_can_be_kept_nowhere_is_said() {
    let folder = Folder::new("outputs-nowhere");
    folder.file("job.fio", ENDLESS);
    let blocked = folder.file("blocked", "");
    for temporary in ["tmp", "blocked"] {
        for dir in ["out", "tmp"] {
            let _ = fs::create_dir(folder.0.join(dir));
        }
        let mut command = folder.command(&["run", "job.fio", &tiny(), "--result", "out/r.json"]);
        command.env("XDG_STATE_HOME", &blocked);
        command.env("TMPDIR", folder.0.join(temporary));
        let child = support::signals::start_by(command);
        fs::remove_dir_all(folder.0.join("out")).unwrap();
        let ran = end(child, "INT");
        assert!(ran.out.contains("IOPS="), "{}", ran.out);
        let place = folder.0.join("tmp/nandscope");
        if temporary == "tmp" {
            ran.fails(3, &["is kept in", place.to_str().unwrap()]);
            assert_eq!(fs::read_dir(Path::new(&place)).unwrap().count(), 1);
        } else {
            ran.fails(3, &["could not be kept elsewhere"]);
        }
    }
}

#[test]
fn names_of_devices_are_whole_where_there_is_no_terminal() {
    let folder = Folder::new("devices-piped");
    let json = folder.run(&["devices", "--json"]);
    let devices: serde_json::Value = serde_json::from_str(&json.succeeds().out).unwrap();
    let list = folder.run(&["devices"]);
    let first_words: Vec<&str> = list.succeeds().out.lines().collect();
    for device in devices["simulated"].as_array().unwrap() {
        let name = device["name"].as_str().unwrap();
        let whole = |line: &&str| line.split_whitespace().next() == Some(name);
        assert_eq!(first_words.iter().filter(|l| whole(l)).count(), 1, "{name}");
    }
}
