//! fio's output formats compared with fio itself: both run the same job, and their outputs have the same lines, keys
//! and fields. Numbers differ, since fio measures a file and nandscope a simulated device.

use crate::support::serving::{have, run};
use crate::support::{Folder, tiny};
use serde_json::Value;
use std::collections::BTreeSet;

/// Long enough for samples of rates, which fio takes each half second.
const JOBS: &str = "\
[global]
direct=1
bs=4k
size=1m
time_based
runtime=1
[mix]
rw=randrw
description=Reads and writes, mixed
[synced]
stonewall
rw=write
bs=16k
fsync=32
[pair]
new_group
rw=randread
numjobs=2
group_reporting
";

/// `JOBS` with additional lines for all jobs.
fn jobs(lines: &str) -> String {
    JOBS.replace("[global]\n", &format!("[global]\n{lines}"))
}

/// Output of fio for a job file, on separate files.
fn by_fio(folder: &Folder, jobs: &str, format: &str) -> String {
    folder.file("jobs.fio", jobs);
    run(folder, "fio", &["jobs.fio", format])
}

/// Output of nandscope for a job file, on the small device.
fn by_nandscope(folder: &Folder, jobs: &str, format: &str) -> String {
    folder.file("jobs.fio", jobs);
    let ran = folder.run(&["run", "jobs.fio", "sim:kingston-8gb", format]);
    ran.succeeds().out.clone()
}

/// A line with `#` in place of each number, its prefix and padding, and with one unit of time.
fn masked(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        if !c.is_ascii_digit() {
            out.push(c);
            continue;
        }
        while rest.next_if(|c| c.is_ascii_digit() || *c == '.').is_some() {}
        while rest.next_if(|c| "kKMGTPiB".contains(*c)).is_some() {}
        out.truncate(out.trim_end_matches(' ').len());
        out.push('#');
    }
    for unit in ["nsec", "usec", "msec"] {
        out = out.replace(unit, "sec");
    }
    out.replace("MiB/s)", "KiB/s)")
}

/// The lines of the output for people. Percentiles and classes of latencies, whose number depends on the values, are one
/// line each; the date is left out, and so are fio's remark on a file that it makes and the disks of the system.
fn shape(text: &str) -> Vec<String> {
    let (text, _) = text.split_once("\nDisk stats").unwrap_or((text, ""));
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.contains("Laying out IO")) {
        let line = match line.split_once(": pid=") {
            Some((before, _)) => format!("{}: pid", masked(before)),
            None if line.starts_with("     |") => "percentiles".to_string(),
            None if line.contains("   : ") && line.starts_with("  lat (") => "classes".to_string(),
            None => masked(line),
        };
        let is_one = ["percentiles", "classes"].contains(&line.as_str());
        if !(is_one && lines.last() == Some(&line)) {
            lines.push(line);
        }
    }
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[test]
fn the_output_for_people_has_the_lines_of_fio() {
    let folder = Folder::new("fio-formats-normal");
    let ours = by_nandscope(&folder, JOBS, "--output-format=normal");
    for part in [
        "mix: (g=0): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\n",
        "pair: (g=2): rw=randread,",
        "fio-3.33\nStarting 4 processes\n\nmix: (groupid=0, jobs=1): err= 0: pid=0: ",
        "  Description  : [Reads and writes, mixed]\n",
        "pair: (groupid=2, jobs=2): err= 0: ",
        "Run status group 2 (all jobs):\n   READ: bw=",
    ] {
        assert!(ours.contains(part), "no `{part}` in:\n{ours}");
    }
    if !have(&["fio"]) {
        return;
    }
    let theirs = by_fio(&folder, JOBS, "--output-format=normal");
    assert_eq!(shape(&ours), shape(&theirs), "{ours}\n\n{theirs}");
}

/// Every path of keys in a value, with the type of the value there. Options are compared by name only, and disks are
/// those of the system.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::String(_) => "text",
        Value::Number(n) if n.is_f64() => "decimal",
        Value::Number(_) => "whole",
        _ => "other",
    };
    found.insert(format!("{path}: {kind}"));
    if path.ends_with("options") || path.ends_with("disk_util") {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                paths(field, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                paths(value, &format!("{path}/{place}"), found);
            }
        }
        _ => {}
    }
}

fn all_paths(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    paths(&serde_json::from_str(text).unwrap(), "", &mut found);
    found
}

#[test]
fn json_has_every_key_of_fio() {
    let folder = Folder::new("fio-formats-json");
    // Options that change which keys there are.
    let files = [
        jobs(""),
        jobs("slat_percentiles=1\nlat_percentiles=1\nclat_percentiles=0\ncontinue_on_error=all\n"),
        jobs("unified_rw_reporting=mixed\n"),
    ];
    let ours = files
        .each_ref()
        .map(|file| by_nandscope(&folder, file, "--output-format=json"));
    let output: Value = serde_json::from_str(&ours[0]).unwrap();
    let jobs = output["jobs"].as_array().unwrap();
    let named: Vec<_> = jobs
        .iter()
        .map(|j| (&j["jobname"], &j["groupid"]))
        .collect();
    assert_eq!(
        named,
        [
            (&"mix".into(), &0.into()),
            (&"synced".into(), &1.into()),
            (&"pair".into(), &2.into())
        ]
    );
    assert_eq!(output["global options"]["size"], "1m");
    assert_eq!(
        output["global options"]["runtime"], "1",
        "a number, as programs read it"
    );
    assert!(jobs[1]["job options"].get("size").is_none());
    assert_eq!(jobs[0]["desc"], "Reads and writes, mixed");
    let date = output["time"].as_str().unwrap();
    assert_eq!((date.len(), &date[13..14], &date[16..17]), (24, ":", ":"));
    let ms = output["timestamp_ms"].as_u64().unwrap();
    assert_eq!(output["timestamp"], ms / 1000);
    assert_eq!(jobs[0]["iodepth_level"]["1"], 100.0);
    assert_eq!(jobs[0]["iodepth_complete"]["4"], 100.0);
    if !have(&["fio"]) {
        return;
    }
    let theirs = files
        .each_ref()
        .map(|file| by_fio(&folder, file, "--output-format=json"));
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let (ours, theirs) = (all_paths(ours), all_paths(theirs));
        let missing: Vec<_> = theirs
            .difference(&ours)
            // A fio job waits on a disk of the system.
            .filter(|path| !path.starts_with("/disk_util"))
            .collect();
        assert!(missing.is_empty(), "{missing:#?}");
    }
}

#[test]
fn terse_fields_are_those_of_fio() {
    let folder = Folder::new("fio-formats-terse");
    let job = "[a]\nrw=randread\nbs=4k\nsize=1m\nioengine=libaio\niodepth=8\ndirect=1\ntime_based\nruntime=1\n";
    folder.file("a.fio", job);
    // An engine that uses no disk, so that no disk of the system is in the line.
    folder.file("null.fio", &job.replace("libaio", "null"));
    let device = tiny();
    for version in ["3", "4", "5"] {
        let version = format!("--terse-version={version}");
        let ran = folder.run(&["run", "a.fio", &device, "--minimal", "--", &version]);
        let line = ran.succeeds().out.trim_end().to_string();
        let fields: Vec<&str> = line.split(';').collect();
        if version.ends_with('3') {
            // Depths 1, 2, 4, 8, 16, 32, 64.
            let depths: Vec<f64> = fields[92..99]
                .iter()
                .map(|share| share.trim_end_matches('%').parse().unwrap())
                .collect();
            assert!(depths[3] > 90.0 && depths[4..] == [0.0; 3], "{depths:?}");
            let write = ["0", "0", "0.000000%", "0.000000", "0.000000"];
            assert_eq!(fields[82..87], write, "bandwidth of writes");
            assert_ne!(fields[41], "0", "bandwidth of reads");
        }
        if !have(&["fio"]) {
            continue;
        }
        let theirs = run(&folder, "fio", &["null.fio", "--minimal", &version]);
        let theirs: Vec<&str> = theirs.trim_end().split(';').collect();
        let kinds = |fields: &[&str]| fields.iter().map(|f| masked(f)).collect::<Vec<_>>();
        assert_eq!(kinds(&fields), kinds(&theirs));
        // The fields of the missing direction are equal.
        let directions = if version.ends_with('5') { 47 } else { 41 };
        let write = 5 + directions..5 + 2 * directions;
        assert_eq!(fields[write.clone()], theirs[write]);
    }
}

/// Number and text of the error of the first job, in JSON, in the terse line and for people.
fn errors(folder: &Folder, arguments: &[&str], number: u32, text: &str) {
    let device = tiny();
    let mut all = vec![
        "run",
        "job.fio",
        &device,
        "--output-format=normal,terse,json",
    ];
    all.extend(arguments);
    let ran = folder.run(&all);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let (terse, rest) = ran.out.split_once("\n{").map_or(("", ""), |(a, b)| (a, b));
    let terse = terse.lines().last().unwrap_or_default();
    assert_eq!(terse.split(';').nth(4), Some(number.to_string().as_str()));
    let json = format!("{{{rest}");
    let mut objects = serde_json::Deserializer::from_str(&json).into_iter::<Value>();
    let output = objects.next().unwrap().unwrap();
    assert_eq!(output["jobs"][0]["error"], number);
    let shown = format!("err={number:2} (error={text})");
    assert!(ran.out.contains(&shown), "no `{shown}` in:\n{}", ran.out);
}

/// As fio 3.33: EIO, ETIMEDOUT and EILSEQ.
#[test]
fn errors_have_their_numbers() {
    let folder = Folder::new("fio-formats-errors");
    folder.file(
        "job.fio",
        "[a]\nrw=read\nbs=4k\nsize=1m\ndirect=1\ntime_based\nruntime=3\nrate_min=9000m\n",
    );
    errors(&folder, &[], 5, "Input/output error");
    folder.file(
        "job.fio",
        "[a]\nrw=read\nbs=4k\nsize=1m\ndirect=1\nmax_latency=1us\n",
    );
    errors(&folder, &[], 110, "Connection timed out");
    let target = "latency_target=1us\nlatency_window=10ms\ntime_based\nruntime=3\n";
    folder.file(
        "job.fio",
        &format!("[a]\nrw=read\nbs=4k\nsize=1m\ndirect=1\n{target}"),
    );
    errors(&folder, &[], 110, "Connection timed out");
    // As in fio, the reads of verification belong to the job that wrote.
    folder.file(
        "job.fio",
        "[a]\nrw=write\nbs=4k\nsize=1m\ndirect=1\nverify=crc32c\n",
    );
    let fault = ["--contents", "--fault", "fake 512k wrap"];
    errors(
        &folder,
        &fault,
        84,
        "Invalid or incomplete multibyte or wide character",
    );
}

#[test]
fn a_verified_job_reads_what_it_wrote() {
    let folder = Folder::new("fio-formats-verified");
    folder.file(
        "job.fio",
        "[a]\nrw=randrw\nbs=4k\nsize=1m\ndirect=1\nverify=crc32c\n",
    );
    let device = tiny();
    let arguments = [
        "run",
        "job.fio",
        &device,
        "--contents",
        "--output-format=json",
        "--result",
        "r.json",
    ];
    let ran = folder.run(&arguments);
    let output: Value = serde_json::from_str(&ran.succeeds().out).unwrap();
    let document: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    assert_eq!(output["jobs"].as_array().map(Vec::len), Some(1));
    let of_step = |step: usize, kind: &str| {
        let all = document["steps"][step]["jobs"][0]["directions"]
            .as_array()
            .unwrap();
        let found = all.iter().find(|d| d["kind"] == kind).unwrap();
        found["operations"].as_u64().unwrap()
    };
    let (read, written) = (of_step(0, "read"), of_step(0, "write"));
    assert_eq!(of_step(1, "read"), written);
    let job = &output["jobs"][0];
    assert_eq!(job["read"]["total_ios"], read + written);
    assert_eq!(job["read"]["clat_ns"]["N"], read + written);
    assert_eq!(job["write"]["total_ios"], written);
    assert!(job["read"]["runtime"].as_u64() > job["write"]["runtime"].as_u64());
}
