//! Two roles for one file: an output that is another output, an input, or a file of a server. Refused with both names
//! before anything is written, whatever links lead to the file.
#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::Loop;
use crate::support::serving::Serving;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;

const JOB: &str = "[a]\nrw=randread\nbs=4k\nnumber_ios=100\n";
const TINY: &str = "sim:./tiny.toml";

/// All files of a folder.
fn contents(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let names = folder.names().into_iter();
    let read = |name: String| {
        let bytes = fs::read(folder.0.join(&name)).unwrap_or_default();
        (name, bytes)
    };
    names.map(read).collect()
}

/// Runs a line of words; each of the parts is in the message, and no file is made or changed.
#[track_caller]
fn refused(folder: &Folder, line: &str, parts: &[&str]) {
    let before = contents(folder);
    let line = line.replace("TINY", TINY);
    let words: Vec<&str> = line.split(' ').collect();
    folder.run(&words).fails(2, parts);
    assert!(contents(folder) == before, "{line}: {:?}", folder.names());
}

fn prepared(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.tiny();
    folder.file("job.fio", JOB);
    folder
}

#[test]
fn outputs_of_a_run_are_neither_its_inputs_nor_each_other() {
    let folder = prepared("claims-run");
    folder.file("logs.fio", &format!("{JOB}write_bw_log\n"));
    folder.file(
        "same.fio",
        &format!("{JOB}write_bw_log\nwrite_iolog=a_bw.1.log\n"),
    );
    folder.file("trace.csv", "time_ns,kind,offset,length\n0,read,0,4096\n");
    folder.file("replay.fio", "[a]\nread_iolog=trace.csv\n");
    folder.file("image", "precious");
    fs::hard_link(folder.0.join("job.fio"), folder.0.join("hard")).unwrap();
    symlink("job.fio", folder.0.join("link")).unwrap();
    symlink("q.json", folder.0.join("dangling")).unwrap();
    let ran = folder.run(&["run", "job.fio", TINY, "--save", "used.dev"]);
    ran.succeeds();
    for (line, parts) in [
        (
            "run job.fio TINY --result q.json --save q.json",
            ["--result q.json", "--save q.json"],
        ),
        (
            "run job.fio TINY --result q.json --save ./q.json",
            ["--result q.json", "--save ./q.json"],
        ),
        (
            "run job.fio TINY --result q.json --save dangling",
            ["--result q.json", "--save dangling"],
        ),
        (
            "run job.fio TINY --result q.json --save q.json.steps",
            ["the journal q.json.steps", "--save q.json.steps"],
        ),
        (
            "run job.fio TINY --result job.fio",
            ["--result job.fio", "the job file job.fio"],
        ),
        (
            "run job.fio TINY --result hard",
            ["--result hard", "the job file job.fio"],
        ),
        (
            "run job.fio TINY --save link",
            ["--save link", "the job file job.fio"],
        ),
        (
            "run job.fio TINY --result tiny.toml",
            ["--result tiny.toml", "the device profile ./tiny.toml"],
        ),
        (
            "run logs.fio TINY --result a_bw.1.log",
            [
                "--result a_bw.1.log",
                "the log of `write_bw_log`, ./a_bw.1.log",
            ],
        ),
        (
            "run same.fio TINY",
            ["the log of `write_bw_log`", "the log of `write_iolog`"],
        ),
        (
            "run replay.fio TINY --result trace.csv",
            ["--result trace.csv", "the trace trace.csv"],
        ),
        (
            "run job.fio sim:saved:used.dev --save used.dev",
            ["--save used.dev", "the saved device used.dev"],
        ),
        (
            "run job.fio ./image --result image",
            ["--result image", "the target ./image"],
        ),
    ] {
        refused(&folder, line, &parts);
    }
    // Two outputs may name `/dev/null`, which is never replaced.
    let twice = [
        "run",
        "job.fio",
        TINY,
        "--result",
        "/dev/null",
        "--save",
        "/dev/null",
    ];
    folder.run(&twice).succeeds();
}

#[test]
fn outputs_of_other_commands_are_not_their_inputs() {
    let folder = prepared("claims-others");
    folder
        .run(&["run", "job.fio", TINY, "--result", "a.json"])
        .succeeds();
    let result = folder.read("a.json");
    for name in ["report.html", "series.csv", "result.json"] {
        folder.file(name, &result);
    }
    folder.file("points.csv", JOB);
    folder.file("page.md", "");
    fs::create_dir(folder.0.join("plots")).unwrap();
    folder.file("plots/b.json", &result);
    for (line, parts) in [
        (
            "compare a.json result.json --html a.json",
            ["--html a.json", "the result a.json"],
        ),
        (
            "report report.html -o .",
            ["the report's ./report.html", "the result report.html"],
        ),
        (
            "report plots/b.json -o .",
            ["the report's ./plots", "the result plots/b.json"],
        ),
        (
            "report --recover result.json -o .",
            [
                "the recovered result ./result.json",
                "the journal result.json",
            ],
        ),
        (
            "probe --from-flashbench series.csv -o .",
            ["the report's ./series.csv", "--from-flashbench series.csv"],
        ),
        (
            "verify TINY --journal ./report.html -o .",
            ["--journal ./report.html", "the report's ./report.html"],
        ),
        (
            "sweep points.csv TINY --job iodepth=1,2 -o .",
            ["the table ./points.csv", "the job file points.csv"],
        ),
        (
            "fs TINY --kernel result.json -o .",
            ["the result ./result.json", "--kernel result.json"],
        ),
        (
            "validate --cards page.md --page page.md",
            ["--page page.md", "--cards page.md"],
        ),
        (
            "review ./result.json --quick -o .",
            ["the result ./result.json", "the target ./result.json"],
        ),
    ] {
        refused(&folder, line, &parts);
    }
}

#[test]
fn files_of_a_server_have_one_role() {
    let folder = prepared("claims-serve");
    folder.file("faults", "");
    for (more, parts) in [
        ("--store y --record y", ["--record y", "--store y"]),
        (
            "--store y --record y.device",
            ["--record y.device", "the state of the device, y.device"],
        ),
        (
            "--store y --record y.journal.0",
            ["--record y.journal.0", "the journals y.journal."],
        ),
        (
            "--store y --record ./y.journal.17",
            ["--record ./y.journal.17", "the journals y.journal."],
        ),
        ("--store y --control unix:y", ["--control y", "--store y"]),
        (
            "--store tiny.toml",
            ["--store tiny.toml", "the device profile ./tiny.toml"],
        ),
        (
            "--faults faults --record faults",
            ["--record faults", "--faults faults"],
        ),
    ] {
        refused(&folder, &format!("serve TINY --nbd unix:s {more}"), &parts);
    }
}

#[test]
fn files_of_a_running_server_are_not_replaced() {
    let folder = prepared("claims-running");
    let serving = Serving::start(&folder, TINY, &["--store", "z"]);
    fs::hard_link(folder.0.join("z.device"), folder.0.join("other-name")).unwrap();
    for name in ["z", "z.device", "z.journal.0", "other-name"] {
        let before = fs::read(folder.0.join(name)).unwrap();
        for line in [
            format!("serve {TINY} --nbd unix:s --record {name}"),
            format!("run job.fio {TINY} --result {name}"),
        ] {
            let words: Vec<&str> = line.split(' ').collect();
            folder.run(&words).fails(2, &[name, "locked"]);
        }
        assert!(fs::read(folder.0.join(name)).unwrap() == before, "{name}");
    }
    serving.finish();
    folder
        .run(&["run", "job.fio", TINY, "--result", "other-name"])
        .succeeds();
}

/// A server whose contents were removed or renamed ends with a message.
#[test]
fn a_server_notices_that_its_contents_are_gone() {
    for name in ["claims-unlinked", "claims-replaced"] {
        let folder = prepared(name);
        let serving = Serving::start(&folder, TINY, &["--store", "z", "--record", "seen"]);
        let store = folder.0.join("z");
        let length = fs::metadata(&store).unwrap().len();
        let state = fs::read(folder.0.join("z.device")).unwrap();
        fs::remove_file(&store).unwrap();
        if name == "claims-replaced" {
            fs::File::create(&store).unwrap().set_len(length).unwrap();
        }
        let ran = serving.ended();
        ran.fails(3, &["the contents z were removed, renamed or replaced"]);
        // As after a kill, the trace is there.
        assert!(folder.0.join("seen").exists() && folder.0.join("z.journal.0").exists());
        assert!(fs::read(folder.0.join("z.device")).unwrap() == state);
    }
}

#[test]
fn the_file_behind_a_loop_device_is_no_output() {
    let folder = prepared("claims-loop");
    let Some(device) = Loop::new(&folder, 1) else {
        return;
    };
    let backing = device.backing();
    let run = [
        "run",
        "job.fio",
        &device.device,
        "--result",
        backing.to_str().unwrap(),
    ];
    folder
        .run(&run)
        .fails(2, &["the file of /dev/loop", "--result "]);
    assert!(fs::read(&backing).unwrap().iter().all(|byte| *byte == 0xa5));
}
