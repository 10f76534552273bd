//! Names and titles that try to control the terminal, inputs that require more memory or time than there is, and
//! malformed tables of facts.

#![cfg(unix)]

use crate::support::{Folder, Ran, tiny};
use std::process::Command;

/// Control characters that clear the screen, ring the bell and reverse the following text.
const HOSTILE: &str = "x\u{1b}[2J\u{7}gpj.\u{202e}exe\u{9b}1m\u{7f}";
/// [`HOSTILE`] as it must be printed: escaped.
const SHOWN: &str = "x\\u{1b}[2J\\u{7}gpj.\\u{202e}exe\\u{9b}1m\\u{7f}";

fn assert_harmless(text: &str) {
    let bad = |c: char| c != '\n' && c != '\t' && (c.is_control() || c == '\u{202e}');
    assert_eq!(text.find(bad), None, "{text:?}");
}

/// Asserts that both outputs are free of control characters, and that one of them shows the escaped name.
fn shows_it_escaped(ran: &Ran) {
    assert_harmless(&ran.out);
    assert_harmless(&ran.err);
    let text = format!("{}{}", ran.out, ran.err);
    // Lines may be broken anywhere in it.
    let joined: String = text.split_whitespace().collect();
    assert!(joined.contains(SHOWN), "{text}");
}

#[test]
fn names_of_files_and_arguments_cannot_steer_the_terminal() {
    let folder = Folder::new("hostile-names");
    let name = format!("{HOSTILE}.fio");
    folder.file(&name, "[a]\nrw=rea\n");
    folder.file("job.fio", "[a]\nrw=read\nsize=1m\n");
    for arguments in [
        &["run", &name, &tiny()][..],
        &["job", "check", &name],
        &["job", "show", &format!("no-{name}")],
        &["report", &format!("no-{name}")],
        &["trace", "info", &name],
        &["run", "job.fio", &format!("sim:{HOSTILE}")],
        &["inspect", &format!("./{HOSTILE}")],
    ] {
        let ran = folder.run(arguments);
        assert!(
            ran.code == Some(2) || ran.code == Some(3),
            "{arguments:?}: {}",
            ran.err
        );
        shows_it_escaped(&ran);
    }
    // clap leaves out whole sequences for colours.
    for arguments in [&[HOSTILE][..], &["devices", &format!("--{HOSTILE}")]] {
        let ran = folder.run(arguments);
        ran.fails(2, &["\\u{202e}exe\\u{9b}1m"]);
        assert_harmless(&ran.err);
    }
}

#[test]
fn texts_in_files_cannot_steer_the_terminal() {
    let folder = Folder::new("hostile-texts");
    folder.file("job.fio", &format!("[{HOSTILE}]\nrw=read\nsize=1m\n"));
    folder.file("faulty.fio", &format!("[a]\nrw={HOSTILE}\n{HOSTILE}=1\n"));
    let faults = folder.run(&["job", "check", "faulty.fio"]);
    faults.fails(2, &[]);
    assert_harmless(&faults.err);
    shows_it_escaped(&folder.run(&["job", "show", "job.fio"]));
    let ran = folder.run(&["run", "job.fio", &tiny(), "--result", "a.json"]);
    ran.succeeds();
    shows_it_escaped(&ran);
    let text = folder.read("a.json");
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["title"] = HOSTILE.into();
    document["target"]["model"] = HOSTILE.into();
    document["notices"] = serde_json::json!([{"level": "error", "text": HOSTILE, "step": null}]);
    folder.file("b.json", &document.to_string());
    for arguments in [
        &["report", "b.json", "-o", "report"][..],
        &["compare", "b.json", "b.json", "--html", "c.html"],
    ] {
        let ran = folder.run(arguments);
        ran.succeeds();
        shows_it_escaped(&ran);
    }
    assert_harmless(&folder.read("report/report.html"));
    assert_harmless(&folder.read("c.html"));
    for entry in std::fs::read_dir(folder.0.join("report/plots")).unwrap() {
        assert_harmless(&std::fs::read_to_string(entry.unwrap().path()).unwrap());
    }
    // A program that reads the job file gets its bytes.
    let emitted = folder.run(&["job", "emit-fio", "job.fio"]);
    assert!(emitted.succeeds().out.contains(HOSTILE));
}

/// Runs a command with a limit on its address space, KiB.
fn within(kib: u64, folder: &Folder, arguments: &[&str]) -> Ran {
    let script = format!("ulimit -v {kib} && exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_nandscope")])
        .args(arguments)
        .current_dir(&folder.0)
        .output();
    Ran::from(output.unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_device_that_does_not_fit_into_memory_is_refused_first() {
    let folder = Folder::new("no-memory");
    folder.file("job.fio", "[a]\nrw=read\nsize=1m\n");
    for arguments in [
        &["run", "job.fio", "sim:sm2262en-2tb", "--result", "r.json"][..],
        &["review", "sim:sm2262en-2tb", "-o", "r"],
        &["probe", "sim:sm2262en-2tb"],
        &["serve", "sim:sm2262en-2tb", "--nbd", "unix:s"],
    ] {
        let ran = within(3_000_000, &folder, arguments);
        ran.fails(3, &["sim:sm2262en-2tb needs ", "of memory", "`ulimit -v`"]);
    }
    assert_eq!(folder.names(), ["job.fio"]);
    within(1_000_000, &folder, &["run", "job.fio", &tiny()]).succeeds();
}

#[cfg(target_os = "linux")]
#[test]
fn jobs_that_do_not_fit_into_memory_are_refused_first() {
    let folder = Folder::new("no-memory-for-jobs");
    let each =
        "filename=one\nsize=1m\nloops=5\nbs=512\nrw=read\n[a]\nnumjobs=30000\n[b]\nnumjobs=60000\n";
    folder.file("many.fio", &format!("[global]\n{each}"));
    let run = ["run", "many.fio", &tiny(), "--result", "r.json"];
    let ran = within(2_000_000, &folder, &run);
    ran.fails(3, &["90000 jobs need ", "`ulimit -v`", "`group_reporting`"]);
    // Each job does too few operations to need much.
    let each = "filename=one\nsize=4k\nbs=4k\nrw=read\n[a]\nnumjobs=3000\n";
    folder.file("short.fio", &format!("[global]\n{each}"));
    within(1_000_000, &folder, &["run", "short.fio", &tiny()]).succeeds();
    assert_eq!(folder.names(), ["many.fio", "short.fio"]);
}

/// The estimate holds for jobs of thousands of operations: they fit into little more than it, and are refused below it.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "slow: 15 million operations, half a minute"]
fn slow_many_long_jobs_fit_into_the_estimated_memory() {
    let folder = Folder::new("memory-for-long-jobs");
    let each = "rw=randread\nbs=4k\nnorandommap\nio_size=40960000\n[a]\nnumjobs=1500\n";
    folder.file("many.fio", &format!("[global]\n{each}"));
    let device = tiny();
    let run = ["run", "many.fio", &device, "--precondition", "sequential"];
    within(100_000, &folder, &run).fails(3, &["1500 jobs need 82.9 MB of memory"]);
    let ran = within(250_000, &folder, &run);
    assert_eq!(ran.succeeds().out.matches("IOPS=").count(), 1500);
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_that_does_not_fit_into_memory_is_refused() {
    let folder = Folder::new("endless-file");
    let sparse = std::fs::File::create(folder.0.join("sparse.json")).unwrap();
    sparse.set_len(3 << 30).unwrap();
    for arguments in [
        &["report", "sparse.json"][..],
        &["report", "/dev/zero"],
        &["trace", "info", "/dev/zero"],
        &["job", "check", "sparse.json"],
        &["run", "job.fio", "sim:saved:sparse.json"],
    ] {
        folder.file("job.fio", "[a]\nrw=read\nsize=1m\n");
        let ran = within(2_000_000, &folder, arguments);
        ran.fails(
            2,
            &["is larger than the ", "check that it is the right file"],
        );
    }
}

#[test]
fn fifty_years_between_two_requests_take_no_time() {
    let folder = Folder::new("long-gap");
    let years = 50 * 365 * 86_400 * 10_000_000u64;
    let line = |at: u64, kind: &str, offset: u32| format!("{at},hm,0,{kind},{offset},65536,100\n");
    let trace: String = [
        line(1, "Write", 1 << 20),
        line(10_000, "Write", 0),
        line(years, "Read", 1 << 20),
        line(years + 10_000, "Write", 1 << 20),
    ]
    .concat();
    folder.file("gap.csv", &trace);
    folder.file("gap.fio", "[gap]\nread_iolog=gap.csv\nwrite_lat_log=gap\n");
    // Begins after 40 years, and pauses for 10 after each of its requests.
    folder.file(
        "delay.fio",
        "[a]\nrw=write\nbs=64k\nsize=256k\nstartdelay=1261440000\nthinktime=315360000000000\n",
    );
    for device in [
        tiny().as_str(),
        "sim:sm2708-250gb",
        "sim:kingston-class10-32gb",
    ] {
        for job in ["gap.fio", "delay.fio"] {
            let ran = within(
                2_000_000,
                &folder,
                &["run", job, device, "--result", "r.json"],
            );
            assert!(ran.code == Some(0) || ran.code == Some(1), "{}", ran.err);
            assert!(folder.read("r.json").len() < 4 << 20, "{device}");
        }
    }
    for text in ["startdelay=1e12", "thinktime=9e18"] {
        folder.file("never.fio", &format!("[a]\nrw=write\nsize=64k\n{text}\n"));
        folder.run(&["run", "never.fio", &tiny()]).fails(2, &[]);
    }
    // Each pause fits, but their sum exceeds the clock.
    let job = "[a]\nrw=randread\nbs=4k\nnumber_ios=20\nthinktime=2000000000s\n";
    folder.file("beyond.fio", job);
    folder
        .run(&["run", "beyond.fio", &tiny()])
        .fails(1, &["146 years", "`thinktime`"]);
}
