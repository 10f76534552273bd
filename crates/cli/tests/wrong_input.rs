//! Each error in the input is reported once, with its place and a remedy, before anything is run or written.

use crate::support::{Folder, TINY, tiny};
use std::fmt::Write as _;

#[test]
fn a_misspelt_key_of_a_profile() {
    let folder = Folder::new("profile-typo");
    let text = std::fs::read_to_string(TINY).unwrap();
    let line = 1 + text
        .lines()
        .position(|l| l.starts_with("channels"))
        .unwrap();
    folder.file("typo.toml", &text.replace("\nchannels = ", "\nchanels = "));
    folder.file("job.fio", "[a]\nrw=read\n");
    let place = format!("./typo.toml:{line}:1");
    for arguments in [
        &["run", "job.fio", "sim:./typo.toml"][..],
        &["devices", "show", "./typo.toml"],
    ] {
        let ran = folder.run(arguments);
        ran.fails(
            2,
            &[
                "unknown field `chanels`",
                &place,
                "^^^^^^^",
                "help: correct",
            ],
        );
        assert_eq!(ran.out, "");
    }
}

#[test]
fn an_impossible_value_of_a_profile() {
    let folder = Folder::new("profile-value");
    let text = std::fs::read_to_string(TINY).unwrap();
    folder.file("bad.toml", &text.replace("\nplanes = 2", "\nplanes = 0"));
    let ran = folder.run(&["devices", "show", "./bad.toml"]);
    ran.fails(
        2,
        &["nand.planes: 0 is out of range", "planes = 0", "help: "],
    );
}

#[test]
fn faults_of_a_job_file() {
    let folder = Folder::new("job-faults");
    for (text, parts) in [
        (
            "[a]\nrw=read\niodepht=4\n",
            &[
                "unknown option `iodepht`",
                "job.fio:3:1",
                "did you mean `iodepth`?",
            ][..],
        ),
        ("[a]\nrw=read\nbs=4x\n", &["job.fio:3", "bs=4x", "help: "]),
        (
            "[a]\nrw=write\nsize=1t\n",
            &["has only 2097152 bytes", "job.fio:3:1", "help: reduce size"],
        ),
        (
            "[a]\nrw=write\nverify=crc32c\n",
            &["keeps no contents", "job.fio:3:1", "help: add --contents"],
        ),
        (
            "[a]\nrw=rw\nioengine=ftruncate\n",
            &["changes the sizes of files", "job.fio:3:1"],
        ),
        ("", &["the file holds no job", "help: add a section"]),
    ] {
        folder.file("job.fio", text);
        let ran = folder.run(&["run", "job.fio", &tiny(), "--result", "result.json"]);
        ran.fails(2, parts);
        assert_eq!(folder.names(), ["job.fio"], "nothing may be left behind");
    }
}

#[test]
fn all_files_are_checked() {
    let folder = Folder::new("job-check");
    folder.file(
        "good.fio",
        "[global]\ndirect=1\n[a]\nrw=read\n[b]\nstonewall\nrw=read\n",
    );
    folder.file("other.fio", "[a]\nrw=read\n");
    let other = folder.run(&["job", "check", "other.fio"]);
    assert!(other.succeeds().out.contains("no `direct=`"), "{other:?}");
    folder.file("bad.fio", "[a]\nrx=read\n");
    folder.file("worse.fio", "[a]\nbs=ä\nrw=1\n");
    let ran = folder.run(&["job", "check", "bad.fio", "good.fio", "worse.fio"]);
    ran.fails(2, &["bad.fio:2:1", "worse.fio:2:1", "worse.fio:3:1"]);
    assert_eq!(ran.out, "good.fio: 2 jobs, 2 groups\n");
}

#[test]
fn many_faults_are_counted() {
    let folder = Folder::new("many-faults");
    let mut text = String::from("[a]\n");
    for i in 0..40 {
        writeln!(text, "nothing{i}=1").unwrap();
    }
    folder.file("job.fio", &text);
    folder
        .run(&["job", "check", "job.fio"])
        .fails(2, &["nothing19", "and 20 more"]);
}

#[test]
fn wrong_targets_and_files() {
    let folder = Folder::new("targets");
    folder.file("job.fio", "[a]\nrw=read\nsize=4k\n");
    folder.file("trace.fio", "[a]\nread_iolog=nothing.log\n");
    folder.file("large.fio", "[a]\nread_iolog=database\n");
    folder.file("not.json", "{\"format\": \"something\"}");
    folder.file("used.dev", "nandscope kept device 9\n");
    folder.file("empty.csv", "");
    std::fs::write(folder.0.join("packed.zst"), b"\x28\xb5\x2f\xfd\0\0").unwrap();
    let tiny = tiny();
    for (arguments, code, parts) in [
        (
            &["run", "job.fio", "sdz"][..],
            2,
            &["unknown target", "sim:NAME", "/dev/sdX"][..],
        ),
        (
            &["run", "job.fio", "/dev/sdz"],
            3,
            &["unknown device /dev/sdz"],
        ),
        (
            &["run", "job.fio", "sim:nobody"],
            2,
            &["unknown device `nobody`", "`nandscope devices` lists"],
        ),
        (
            &["run", "job.fio", "sim:./no.toml"],
            3,
            &["no.toml", "No such file"],
        ),
        (
            &["run", "job.fio", "sim:saved:used.dev"],
            2,
            &["another version"],
        ),
        (
            &["run", "job.fio", &tiny, "--host", "no"],
            2,
            &["unknown host `no`", "`nandscope devices hosts` lists"],
        ),
        (
            &["run", "job.fio", &tiny, "--host", "lexar-sr2"],
            2,
            &["no link in common"],
        ),
        (
            &["run", "job.fio", &tiny, "--precondition", "half"],
            2,
            &["--precondition", "sequential"],
        ),
        (
            &["run", "no.fio", &tiny],
            3,
            &["no.fio", "No such file", "check the name"],
        ),
        (
            &["run", "trace.fio", &tiny],
            3,
            &["trace.fio:2", "no trace nothing.log", "trace list"],
        ),
        (
            &["run", "large.fio", &tiny],
            2,
            &["large.fio:2", "beyond the device", "--fit scale"],
        ),
        (&["report", "no.json"], 3, &["no.json", "check the name"]),
        (&["report", "not.json"], 2, &["is not a nandscope result"]),
        (
            &["compare", "not.json", "not.json"],
            2,
            &["is not a nandscope result"],
        ),
        (
            &["trace", "info", "nothing"],
            3,
            &["unknown trace `nothing`"],
        ),
        (&["trace", "info", "job.fio"], 2, &["no known trace format"]),
        (&["trace", "info", "empty.csv"], 2, &["empty.csv is empty"]),
        (
            &["trace", "info", "packed.zst"],
            2,
            &["packed by zstd", "`zstd -d packed.zst`"],
        ),
        (&["trace", "info", "-"], 2, &["/dev/stdin"]),
        (
            &["run", &tiny, "job.fio"],
            3,
            &["names a simulated device", "order of the arguments"],
        ),
        (
            &["sweep", &tiny, "job.fio", "-o", "out"],
            3,
            &["names a simulated device", "order of the arguments"],
        ),
        (
            &["lifetime", &tiny, "job.fio"],
            2,
            &["is a simulated device", "order of the arguments"],
        ),
        (&["report", "-"], 3, &["/dev/stdin"]),
        (&["devices", "shwo"], 2, &["shwo"]),
        (&["nothing"], 2, &["nothing"]),
    ] {
        folder.run(arguments).fails(code, parts);
    }
}

#[test]
fn a_place_that_cannot_be_written_is_found_before_the_run() {
    let folder = Folder::new("unwritable");
    // The job would run for ever if it were started.
    folder.file(
        "job.fio",
        "[a]\nrw=randread\ntime_based\nruntime=100d\nwrite_bw_log\n",
    );
    folder.file("file", "");
    for arguments in [
        ["--result", "no/such/folder/result.json"],
        ["--result", "file/result.json"],
        ["--result", "."],
        ["--save", "no/used.dev"],
        ["--log-dir", "file/logs"],
        ["--result", "/proc/result.json"],
    ] {
        let ran = folder.run(&["run", "job.fio", &tiny(), arguments[0], arguments[1]]);
        ran.fails(3, &["cannot write", arguments[1]]);
        assert_eq!(ran.out, "");
    }
    assert_eq!(folder.names(), ["file", "job.fio"]);
}
