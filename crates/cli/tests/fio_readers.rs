//! Programs that parse fio's output, represented by the patterns that they search: dbench, the fio profile of the
//! Phoronix Test Suite, benchmark-wrapper and exporters for Prometheus. Also fio's options of the command itself:
//! `--output`, `--section`, `--minimal`, `--status-interval`, jobs from standard input.

use crate::support::{Folder, tiny};
use serde_json::Value;
use std::io::Write;
use std::process::Stdio;

const JOB: &str = "\
[global]
direct=1
ioengine=libaio
iodepth=4
bs=4k
size=1m
time_based
runtime=3
[a]
rw=randrw
[b]
stonewall
rw=read
numjobs=2
group_reporting
";

/// A device with room for the files of [`JOB`].
const DEVICE: &str = "sim:reference-nvme-64gb";

/// Text after `before` in the first line with `mark`: digits and characters of `allowed`.
fn after<'a>(text: &'a str, mark: &str, before: &str, allowed: &str) -> Option<&'a str> {
    let line = text.lines().find(|line| line.contains(mark))?;
    let (_, rest) = line.split_once(before)?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && !allowed.contains(c));
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|found| !found.is_empty())
}

fn normal(folder: &Folder) -> String {
    folder.file("job.fio", JOB);
    let ran = folder.run(&["run", "job.fio", DEVICE, "--output-format=normal"]);
    ran.succeeds().out.clone()
}

/// dbench takes IOPS and BW of the lines of directions, the mean and the unit of ` lat`, and the sums of the groups.
#[test]
fn dbench_finds_its_numbers() {
    let text = normal(&Folder::new("fio-readers-dbench"));
    for direction in ["read:", "write:"] {
        let iops = after(&text, direction, "IOPS=", "k.").unwrap();
        assert!(iops.trim_end_matches('k').parse::<f64>().unwrap() > 0.0);
        let rate = after(&text, direction, "BW=", "GMKiBs/.").unwrap();
        assert!(rate.ends_with("iB/s"), "{rate}");
    }
    let latency = text
        .lines()
        .find(|line| line.contains(" lat") && line.contains("avg"));
    let latency = latency.unwrap();
    let unit = latency
        .split("lat (")
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    assert!(
        ["nsec", "usec", "msec"].contains(&unit.unwrap()),
        "{latency}"
    );
    assert!(after(latency, "lat", "avg=", " .").is_some(), "{latency}");
    for direction in ["READ:", "WRITE:"] {
        let rate = after(&text, direction, "bw=", "GMKiBs/.").unwrap();
        assert!(rate.ends_with("iB/s"), "{rate}");
    }
}

/// The profile takes the rate after `: bw=` with its unit, and the mean of the line `iops`.
#[test]
fn the_phoronix_test_suite_finds_its_numbers() {
    let text = normal(&Folder::new("fio-readers-phoronix"));
    let sums: Vec<&str> = text.lines().filter(|line| line.contains(": bw=")).collect();
    assert_eq!(sums.len(), 3, "{text}");
    for line in sums {
        let rate = line
            .split(": bw=")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        let (number, unit) = rate.split_at(rate.find(|c: char| c.is_alphabetic()).unwrap());
        assert!(number.parse::<f64>().unwrap() > 0.0, "{line}");
        assert!(["KiB/s", "MiB/s", "GiB/s"].contains(&unit), "{line}");
    }
    let samples = text
        .lines()
        .filter(|line| line.trim_start().starts_with("iops "));
    for line in samples {
        let mean = after(line, "iops", "avg=", ".").unwrap();
        assert!(mean.parse::<f64>().unwrap() > 0.0, "{line}");
    }
    assert_eq!(text.matches("   iops        : min=").count(), 3, "{text}");
}

/// benchmark-wrapper drops everything before the first brace, and takes time, version and options from the JSON.
#[test]
fn benchmark_wrapper_finds_its_numbers() {
    let folder = Folder::new("fio-readers-wrapper");
    folder.file("job.fio", JOB);
    folder
        .run(&[
            "run",
            "job.fio",
            DEVICE,
            "--",
            "--output-format=json",
            "--output=fio.json",
        ])
        .succeeds();
    let text = folder.read("fio.json");
    let json = &text[text.find('{').unwrap()..];
    let data: Value = serde_json::from_str(json).unwrap();
    assert!(data["timestamp"].as_u64().unwrap() > 1_700_000_000);
    assert!(data["fio version"].as_str().unwrap().starts_with("fio-3"));
    assert_eq!(data["global options"]["iodepth"], "4");
    for job in data["jobs"].as_array().unwrap() {
        assert!(job["job options"].is_object());
        for key in ["iops_mean", "bw_mean", "iops_min", "iops_stddev"] {
            assert!(job["read"][key].as_f64().is_some(), "{key}");
        }
        assert!(job["read"]["iops_mean"].as_f64() > Some(0.0));
        assert!(job["read"]["clat_ns"]["percentile"]["99.000000"].as_u64() > Some(0));
    }
}

/// An exporter runs fio with `--status-interval` and takes each terse line as it comes.
#[test]
fn exporters_follow_a_run() {
    let folder = Folder::new("fio-readers-exporter");
    folder.file("job.fio", JOB);
    let ran = folder.run(&[
        "run",
        "job.fio",
        DEVICE,
        "--",
        "--status-interval=1",
        "--output-format=terse",
        "--terse-version=5",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        "--section=a",
    ]);
    let lines: Vec<Vec<String>> = ran
        .succeeds()
        .out
        .lines()
        .map(|line| line.split(';').map(String::from).collect())
        .collect();
    assert!((3..=4).contains(&lines.len()), "{lines:?}");
    let number = |line: &[String], place: usize| -> f64 {
        let text = line[place].split('=').next_back().unwrap();
        text.trim_end_matches('%').parse().unwrap()
    };
    let mut before = 0.0;
    for line in &lines {
        assert_eq!(line[..3], ["5", "fio-3.33", "a"]);
        // Rates and times of reads and writes, and the depths.
        for place in [6, 7, 27, 28, 29, 37, 38, 39, 53, 54, 74, 84, 85, 86, 153] {
            assert!(number(line, place) > 0.0, "field {place}: {}", line[place]);
        }
        let kib = number(line, 5);
        assert!(
            kib >= before && kib > 0.0,
            "the numbers add up from the start"
        );
        before = kib;
    }
    let runtimes: Vec<f64> = lines.iter().map(|line| number(line, 8)).collect();
    assert_eq!(runtimes[..2], [1000.0, 2000.0], "virtual time");
}

#[test]
fn results_in_between_are_json_objects_one_after_the_other() {
    let folder = Folder::new("fio-readers-between");
    folder.file("job.fio", JOB);
    let formats = "--output-format=json,normal";
    let ran = folder.run(&[
        "run",
        "job.fio",
        DEVICE,
        "--status-interval=1500ms",
        formats,
    ]);
    let text = &ran.succeeds().out;
    assert_eq!(text.matches("Starting 3 processes").count(), 1);
    assert_eq!(text.matches("a: (g=0): ").count(), 1);
    let jobs = |part: &str| {
        let mut objects = serde_json::Deserializer::from_str(part).into_iter::<Value>();
        let output = objects.next().unwrap().unwrap();
        output["jobs"].as_array().unwrap().len()
    };
    let objects: Vec<usize> = text
        .match_indices("{\n  \"fio version\"")
        .map(|(place, _)| jobs(&text[place..]))
        .collect();
    assert_eq!(objects.first(), Some(&1), "the second group has not begun");
    assert_eq!(objects.last(), Some(&2));
    assert!(objects.len() >= 3, "{objects:?}");
}

/// Interim results on a file, where each thread has its own loop.
#[test]
#[cfg(target_os = "linux")]
fn results_in_between_have_the_operations_of_all_threads() {
    let folder = Folder::new("fio-readers-threads");
    let job =
        "[a]\nrw=write\nbs=64k\ndirect=1\ntime_based\nruntime=2\nnumjobs=2\ngroup_reporting\n";
    folder.file("a.fio", job);
    let ran = folder.run(&[
        "run",
        "a.fio",
        "./t.img",
        "--size",
        "8m",
        "--status-interval=500ms",
        "--output-format=terse",
    ]);
    let ran = ran.succeeds();
    let field = |line: &str, at: usize| line.split(';').nth(at).unwrap().parse::<u64>().unwrap();
    let written: Vec<u64> = ran.out.lines().map(|line| field(line, 46)).collect();
    let runtime_ms = field(ran.out.lines().next_back().unwrap(), 49);
    // One line for each interval, not for each thread; a busy machine ends the run later.
    let most = runtime_ms as usize / 500 + 2;
    assert!(
        (3..=most).contains(&written.len()),
        "{written:?} in {runtime_ms} ms"
    );
    assert!(written.is_sorted() && written[0] > 0, "{written:?}");
}

#[test]
fn output_goes_to_a_file_and_sections_are_selected() {
    let folder = Folder::new("fio-readers-output");
    folder.file("job.fio", JOB);
    let device = tiny();
    let run = |arguments: &[&str]| folder.run(&[&["run", "job.fio", &device], arguments].concat());
    let ran = run(&["--section", "b", "--", "--output=out.txt"]);
    assert_eq!(ran.succeeds().out, "");
    let text = folder.read("out.txt");
    assert!(text.starts_with("b: (g=0): rw=read,"), "{text}");
    assert!(text.contains("\nb: (groupid=0, jobs=2): err= 0"), "{text}");
    let ran = run(&["--minimal", "--section=a"]);
    let lines: Vec<&str> = ran.succeeds().out.lines().collect();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("3;fio-3.33;a;0;0;"), "{lines:?}");
    run(&["--section=c"]).fails(2, &["no section `[c]`", "--section"]);
    run(&["--", "--output=none/out.txt"]).fails(3, &["none"]);
    run(&["--", "--output-format=xml"]).fails(2, &["json+"]);
    folder
        .run(&["run", &device, "--section=a", "--", "--rw=read"])
        .fails(2, &["--section"]);
}

#[test]
fn jobs_come_from_standard_input() {
    let folder = Folder::new("fio-readers-stdin");
    let mut command = folder.command(&["run", "-", &tiny(), "--minimal"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"[x]\nrw=read\nbs=4k\nsize=1m\ndirect=1\n")
        .unwrap();
    drop(input);
    let ran = crate::support::Ran::from(child.wait_with_output().unwrap());
    assert!(
        ran.succeeds().out.starts_with("3;fio-3.33;x;0;0;1024;"),
        "{ran:?}"
    );
    let mut child = folder.command(&["run", "-", &tiny()]);
    child.stdin(Stdio::null());
    let ran = crate::support::Ran::from(child.output().unwrap());
    ran.fails(2, &["standard input", "no job"]);
}

/// As in fio, all threads whose logs have the same name share one file.
#[test]
fn threads_share_a_log_without_per_job_logs() {
    let folder = Folder::new("fio-readers-logs");
    let job =
        "[a]\nrw=read\nbs=64k\nsize=1m\ndirect=1\nnumjobs=2\nwrite_bw_log=x\nper_job_logs=0\n";
    folder.file("job.fio", job);
    folder.run(&["run", "job.fio", &tiny()]).succeeds();
    assert!(!folder.names().iter().any(|name| name.contains(".1.log")));
    assert_eq!(folder.read("x_bw.log").lines().count(), 2 * 16);
}
