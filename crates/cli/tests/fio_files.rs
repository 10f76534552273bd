//! Job files and command lines of fio that nandscope once silently interpreted differently: files of jobs, options with
//! one hyphen, forced writes, traces of other programs. Compared with fio 3.33 if it is installed.

use crate::support::fio::{DISCARD, READ, WRITE, blktrace, traced};
use crate::support::loops::{skipped, tool};
use crate::support::{Folder, Ran, tiny};
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Whether fio ends without an error.
fn fio_succeeds(folder: &Folder, arguments: &[&str]) -> Option<bool> {
    if tool("fio", &["--version"]).is_none() {
        skipped("fio is not installed");
        return None;
    }
    let mut fio = Command::new("fio");
    fio.args(arguments)
        .arg("--output=fio.txt")
        .current_dir(&folder.0);
    Some(fio.output().unwrap().status.success())
}

/// All output of a command, in one line.
fn said(ran: &Ran) -> String {
    let text = format!("{} {}", ran.out, ran.err);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn result(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&folder.read(name)).unwrap()
}

/// A job does not read the data that another job wrote to another file.
#[test]
fn a_file_that_was_never_written_is_not_the_other_one() {
    let folder = Folder::new("fio-files-two");
    let text = "[global]\nioengine=libaio\niodepth=4\nbs=8k\ndirect=1\nverify=crc32c\ndo_verify=1\nsize=256k\n[w]\nfilename=file-0\nrw=write\n[r]\nstonewall\nfilename=file-1\nrw=read\n";
    folder.file("two.fio", text);
    let ours = folder.run(&["run", "two.fio", &tiny(), "--contents"]);
    ours.fails(1, &["verify: "]);
    assert!(said(&ours).contains("the jobs use 2 files"), "{}", ours.out);
    // Also if both run at the same time.
    folder.file("both.fio", &text.replace("stonewall\n", ""));
    let ours = folder.run(&["run", "both.fio", &tiny(), "--contents"]);
    ours.fails(1, &["verify: "]);
    folder.file("one.fio", &text.replace("file-1", "file-0"));
    folder
        .run(&["run", "one.fio", &tiny(), "--contents"])
        .succeeds();
    if let Some(fios) = fio_succeeds(&folder, &["two.fio"]) {
        assert!(!fios, "fio verifies a file that was never written");
        assert_eq!(fio_succeeds(&folder, &["one.fio"]), Some(true));
    }
}

#[test]
fn clones_read_files_of_their_own() {
    let folder = Folder::new("fio-files-clones");
    folder.file(
        "clones.fio",
        "[r]\ndirectory=.\nrw=read\nbs=64k\nsize=256k\nnumjobs=4\ndirect=1\nwrite_iolog=clones.log\n",
    );
    folder.run(&["run", "clones.fio", &tiny()]).succeeds();
    let log = folder.read("clones.log");
    let places: BTreeSet<u64> = traced(&log).iter().map(|op| op.1).collect();
    assert_eq!(places, (0..16).map(|n| n * 65_536).collect(), "{log}");
    // Clones that name a file share it.
    folder
        .run(&["run", "clones.fio", &tiny(), "--job", "filename=x"])
        .succeeds();
    let log = folder.read("clones.log");
    assert_eq!(traced(&log).len(), 16);
    assert!(traced(&log).iter().all(|op| op.1 < 256 << 10), "{log}");
    // Nine files of 256 KiB do not fit into 2 MiB.
    folder
        .run(&["run", "clones.fio", &tiny(), "--job", "numjobs=9"])
        .fails(
            2,
            &[
                "the 9 files of the jobs take",
                "no room for ./r.8.0",
                "the same filename",
            ],
        );
}

/// The same jobs on a file of this machine.
#[test]
fn files_of_jobs_are_parts_of_a_real_target_too() {
    let folder = Folder::new("fio-files-real");
    folder.file(
        "two.fio",
        "[global]\nrw=write\nbs=4k\nsize=64k\ndirect=1\n[a]\nfilename=a\nbuffer_pattern=0xaa\n[b]\nstonewall\nfilename=b\nbuffer_pattern=0xbb\n",
    );
    folder
        .run(&["run", "two.fio", "./target.img", "--size", "1m"])
        .succeeds();
    let bytes = std::fs::read(folder.0.join("target.img")).unwrap();
    assert!(bytes[..65_536].iter().all(|byte| *byte == 0xaa));
    assert!(bytes[65_536..131_072].iter().all(|byte| *byte == 0xbb));
}

#[test]
fn options_with_one_hyphen_are_those_with_two() {
    let folder = Folder::new("fio-files-hyphen");
    let written = |hyphen: &str| {
        let options = [
            "name=m",
            "thread",
            "rw=randwrite",
            "bs=16k",
            "size=1m",
            "direct=1",
        ];
        let options = options.map(|option| format!("{hyphen}{option}"));
        let mut words = vec![
            "run",
            "sim:samsung-970-pro-512gb",
            "--result",
            "r.json",
            "--",
        ];
        words.extend(options.iter().map(String::as_str));
        folder.run(&words).succeeds();
        let job = &result(&folder, "r.json")["steps"][0]["jobs"][0]["directions"][0];
        (job["kind"].clone(), job["operations"].clone())
    };
    let [one, two] = [written("-"), written("--")];
    assert_eq!(one, two);
    assert_eq!(one.0, "write", "{one:?}");
    let words = [
        "run",
        "sim:kingston-8gb",
        "--",
        "-group_reporting",
        "-rw=randread",
        "-bs=16k",
        "-size=1m",
        "-direct=1",
    ];
    folder.run(&words).succeeds();
    // Also together with a job file.
    folder.file("a.fio", "[a]\nsize=64k\ndirect=1\n");
    folder
        .run(&[
            "run",
            "a.fio",
            &tiny(),
            "--result",
            "s.json",
            "--",
            "-thread",
            "-rw",
            "write",
        ])
        .succeeds();
    let job = &result(&folder, "s.json")["steps"][0]["jobs"][0]["directions"][0];
    assert_eq!(job["kind"], "write");
}

/// On fio's command line `#` is no comment.
#[test]
fn a_pattern_on_the_command_line_is_whole() {
    let folder = Folder::new("fio-files-hash");
    let options = [
        "--name=a",
        "--rw=write",
        "--bs=4k",
        "--size=64k",
        "--direct=1",
        "--verify=pattern",
        "--verify_pattern=\"EB##\"0x31",
    ];
    let ours = [&["run", "./ours.img", "--size", "64k", "--"][..], &options].concat();
    folder.run(&ours).succeeds();
    let ours = std::fs::read(folder.0.join("ours.img")).unwrap();
    assert!(ours.starts_with(b"EB##1EB##1"), "{:?}", &ours[..10]);
    let fios = [&["--filename=fio.img"][..], &options].concat();
    if fio_succeeds(&folder, &fios) == Some(true) {
        assert!(ours == std::fs::read(folder.0.join("fio.img")).unwrap());
    }
}

/// A forced write ends when it is durable, as one with `sync=dsync`.
#[test]
fn forced_writes_reach_the_flash() {
    let folder = Folder::new("fio-files-fua");
    let mean = |option: &str| {
        let text = format!("[a]\nioengine=sg\ndirect=1\nrw=write\nsize=256k\n{option}\n");
        folder.file("fua.fio", &text);
        let target = "sim:samsung-970-pro-512gb";
        folder
            .run(&["run", "fua.fio", target, "--result", "r.json"])
            .succeeds();
        let write = &result(&folder, "r.json")["steps"][0]["jobs"][0]["directions"][0];
        write["latency"]["mean_ns"].as_f64().unwrap()
    };
    let [plain, forced, durable] = ["", "writefua=1", "sync=dsync"].map(mean);
    assert_eq!(forced, durable);
    assert!(forced > 10.0 * plain, "{forced} {plain}");
}

/// A binary trace of blktrace: three reads, a write and a discard, each queued, issued and completed; packed by gzip too.
#[test]
fn traces_of_blktrace_are_replayed() {
    let folder = Folder::new("fio-files-blktrace");
    let bytes = blktrace(&[
        (READ, 8, 4096),
        (WRITE, 16, 8192),
        (READ, 24, 4096),
        (DISCARD, 1024, 65_536),
        (READ, 2048, 4096),
    ]);
    std::fs::write(folder.0.join("t.blktrace.0"), &bytes).unwrap();
    let traces = match tool("gzip", &["--version"]) {
        Some(_) => {
            let mut gzip = Command::new("gzip");
            gzip.args(["-k", "t.blktrace.0"]).current_dir(&folder.0);
            assert!(gzip.status().unwrap().success());
            vec!["t.blktrace.0", "t.blktrace.0.gz"]
        }
        None => vec!["t.blktrace.0"],
    };
    for trace in traces {
        folder.file("t.fio", &format!("[t]\nread_iolog={trace}\ndirect=1\n"));
        folder
            .run(&["run", "t.fio", &tiny(), "--result", "r.json"])
            .succeeds();
        let found = result(&folder, "r.json");
        let job = &found["steps"][0]["jobs"][0];
        let counts = job["directions"].as_array().unwrap().iter();
        let counts: Vec<_> = counts
            .map(|d| {
                (
                    d["kind"].as_str().unwrap(),
                    d["operations"].as_u64().unwrap(),
                )
            })
            .collect();
        assert_eq!(counts, [("read", 3), ("write", 1), ("trim", 1)], "{trace}");
        let info = folder.run(&["trace", "info", trace]);
        assert!(
            said(info.succeeds()).contains("a blktrace file"),
            "{}",
            info.out
        );
    }
}

#[test]
fn doubtful_times_of_traces_get_a_warning() {
    let folder = Folder::new("fio-files-times");
    let head = "fio version 3 iolog\n0 d add\n0 d open\n";
    folder.file("ns.log", &format!("{head}20000 d write 0 4096\n21000 d read 4096 4096\n22000 d read 8192 4096\n1000001000 d read 0 4096\n"));
    folder.file(
        "back.log",
        &format!("{head}20 d write 0 4096\n1000001 d read 4096 4096\n1 d read 8192 4096\n"),
    );
    folder.file("wait.log", "fio version 2 iolog\nd add\nd open\nd wait 400 0\nd read 0 4096\nd wait 600 0\nd read 4096 4096\nd close\n");
    for (log, expected) in [
        ("ns.log", "look like nanoseconds"),
        ("back.log", "1 × timestamp that goes back"),
        ("wait.log", "milliseconds since the start"),
    ] {
        let trace = folder.run(&["trace", "info", log]);
        assert!(
            said(trace.succeeds()).contains(expected),
            "{log}: {}",
            trace.out
        );
        folder.file("t.fio", &format!("[t]\nread_iolog={log}\ndirect=1\n"));
        let ran = folder.run(&["run", "t.fio", &tiny()]);
        assert!(
            said(ran.succeeds()).contains(expected),
            "{log}: {}",
            ran.out
        );
    }
}

/// A saved device has no contents, which both commands say.
#[test]
fn contents_are_not_saved_and_the_commands_say_so() {
    let folder = Folder::new("fio-files-saved");
    let job = [
        "--name=w",
        "--rw=write",
        "--bs=4k",
        "--size=64k",
        "--direct=1",
        "--verify=md5",
    ];
    let tiny = tiny();
    let write = [
        &["run", &tiny, "--contents", "--save", "s.dev", "--"][..],
        &job,
    ]
    .concat();
    let saved = folder.run(&write);
    saved.succeeds();
    assert!(
        said(&saved).contains("without the contents"),
        "{}",
        saved.err
    );
    let read = [
        &["run", "sim:saved:s.dev", "--contents", "--"][..],
        &job,
        &["--verify_only"],
    ]
    .concat();
    let read = folder.run(&read);
    assert!(
        said(&read).contains("a saved device has no contents"),
        "{}",
        read.out
    );
}
