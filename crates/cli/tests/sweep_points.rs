//! `nandscope sweep` over parameters from the outside: files, table, page, interruptions, and refused inputs.

use crate::support::{Folder, Ran, signals, tiny};
use nandscope_result::json;
use nandscope_sweep::store::sealed;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

const JOB: &str = "[mix]\nioengine=libaio\nrw=randrw\nbs=4k\nsize=1m\nio_size=1m\niodepth=2\n";

/// Points long enough to be killed.
const LONG: &str = "[mix]\nioengine=libaio\nrw=randrw\nbs=4k\nsize=1m\nio_size=256m\niodepth=2\n";

fn sweep<'a>(target: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let base = ["sweep", "job.fio", target, "-o", "out", "--seeds=2"];
    [&base[..], more].concat()
}

const SPACE: [&str; 6] = [
    "--param",
    "controller.cores=1,4",
    "--job",
    "iodepth=1..3",
    "--metric",
    "p99,iops,waf",
];

/// The files of finished points, with their bytes and when they were written.
fn points(folder: &Folder) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let entries = std::fs::read_dir(folder.0.join("out/points"));
    let entries = entries.into_iter().flatten().flatten().map(|e| e.path());
    let whole = entries.filter(|p| p.extension().is_some_and(|e| e == "json"));
    whole
        .map(|path| {
            let written = std::fs::metadata(&path).unwrap().modified().unwrap();
            let bytes = std::fs::read(&path).unwrap();
            let name = PathBuf::from(path.file_name().unwrap());
            (name, (bytes, written))
        })
        .collect()
}

/// The files of the table in Parquet, with their bytes.
fn rows(folder: &Folder) -> BTreeMap<String, Vec<u8>> {
    let out = folder.0.join("out");
    let mut open = vec![out.clone()];
    let mut files = BTreeMap::new();
    while let Some(path) = open.pop() {
        for entry in std::fs::read_dir(path).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "parquet") {
                let name = path.strip_prefix(&out).unwrap().display().to_string();
                files.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    files
}

#[test]
fn a_sweep_writes_points_table_and_page() {
    let folder = Folder::new("sweep-points");
    folder.file("job.fio", JOB);
    let tiny = folder.tiny();
    let ran = folder.run(&sweep(tiny, &SPACE));
    insta::assert_snapshot!("sweep", ran.shown());
    let csv = folder.read("out/points.csv");
    assert_eq!(csv.lines().count(), 13);
    let head = "point,key,seed,controller.cores,job.iodepth,p99 (µs),iops (IOPS),waf,failure";
    assert_eq!(csv.lines().next(), Some(head));
    let all: serde_json::Value = serde_json::from_str(&folder.read("out/points.json")).unwrap();
    let first = &all["points"][0];
    assert_eq!(first["parameters"]["controller.cores"], "1");
    assert!(first["figures"]["group-1.mix.read.iops"].as_f64().unwrap() > 0.0);
    let page = folder.read("out/report.html");
    assert!(page.contains("Effects of the parameters") && page.contains("class=\"line front\""));
    assert_eq!(points(&folder).len(), 12);
    let (known, written) = (points(&folder), rows(&folder));
    assert_eq!(written.len(), 12);
    for (name, bytes) in &written {
        let (folder, file) = name.rsplit_once('/').unwrap();
        assert!(
            folder.starts_with("version=") && folder.contains("/device="),
            "{name}"
        );
        assert!(
            folder.ends_with("/seed=1") || folder.ends_with("/seed=2"),
            "{name}"
        );
        let point = format!("{}.json", file.strip_suffix(".parquet").unwrap());
        assert!(known.contains_key(&PathBuf::from(point)), "{name}");
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    }
    // A second run measures nothing and only prints the results.
    let before = points(&folder);
    let again = folder.run(&sweep(tiny, &SPACE));
    again.succeeds();
    assert!(
        again
            .err
            .contains("12 of 12 points are done, 12 of them by earlier runs")
    );
    assert!(points(&folder) == before && again.out == ran.out);
    assert!(rows(&folder) == written);
    assert_eq!(folder.read("out/points.csv"), csv);
}

#[test]
fn a_point_is_the_run_of_its_job_and_overrides() {
    let folder = Folder::new("sweep-equals-run");
    folder.file("job.fio", JOB);
    let tiny = tiny();
    let space = [
        "--param",
        "controller.cores=1,4",
        "--param",
        "ftl.over_provisioning=0.9",
        "--job",
        "iodepth=3",
        "--precondition",
        "random:70",
    ];
    folder.run(&sweep(&tiny, &space)).succeeds();
    let known = points(&folder);
    assert_eq!(known.len(), 4);
    for (cores, seed) in [("1", "2"), ("4", "1")] {
        let cores = format!("controller.cores={cores}");
        let run = [
            "run",
            "job.fio",
            &tiny,
            "--param",
            &cores,
            "--param",
            "ftl.over_provisioning=0.9",
            "--job",
            "iodepth=3",
            "--precondition",
            "random:70",
            "--seed",
            seed,
            "--result",
            "r.json",
        ];
        folder.run(&run).succeeds();
        let mut document = json::read(&folder.0.join("r.json")).unwrap();
        document.wall = Default::default();
        let text = sealed(&json::to_json(&document).unwrap());
        assert!(
            known.values().any(|(bytes, _)| text.as_bytes() == bytes),
            "{cores} {seed}"
        );
    }
}

/// Kills a sweep when `count` points are finished, resumes it, and compares it with an uninterrupted one.
fn killed_after(count: usize, folder: &Folder, whole: &BTreeMap<PathBuf, (Vec<u8>, SystemTime)>) {
    let _ = std::fs::remove_dir_all(folder.0.join("out"));
    let tiny = tiny();
    let command = sweep(&tiny, &SPACE);
    let mut child = signals::start(folder, &command);
    signals::wait_for("points", || {
        let ended = child.try_wait().unwrap().is_some();
        (ended || points(folder).len() >= count).then_some(())
    });
    // On a busy machine the sweep may have ended before the kill; then all its points exist.
    child.kill().unwrap();
    child.wait().unwrap();
    let left = points(folder);
    for (name, (bytes, _)) in &left {
        assert!(whole[name].0 == *bytes, "a finished point is whole");
    }
    let ran = folder.run(&command);
    ran.succeeds();
    if !left.is_empty() {
        let said = format!(
            "12 of 12 points are done, {} of them by earlier runs",
            left.len()
        );
        assert!(ran.err.contains(&said), "{}", ran.err);
    }
    let now = points(folder);
    assert!(
        left.iter().all(|(name, before)| now[name] == *before),
        "nothing is done twice"
    );
    let bytes = |all: &BTreeMap<PathBuf, (Vec<u8>, SystemTime)>| -> Vec<(PathBuf, Vec<u8>)> {
        all.iter()
            .map(|(name, file)| (name.clone(), file.0.clone()))
            .collect()
    };
    assert!(bytes(&now) == bytes(whole), "no point is lost");
    let names: Vec<_> = std::fs::read_dir(folder.0.join("out/points"))
        .unwrap()
        .collect();
    assert_eq!(names.len(), 12, "no partial file is left");
}

fn killed_at(name: &str, moments: impl Iterator<Item = usize>) {
    let folder = Folder::new(name);
    folder.file("job.fio", LONG);
    folder.run(&sweep(&tiny(), &SPACE)).succeeds();
    let whole = points(&folder);
    assert_eq!(whole.len(), 12);
    for count in moments {
        killed_after(count, &folder, &whole);
    }
}

#[test]
fn a_killed_sweep_goes_on() {
    killed_at("sweep-killed", [0, 3, 10].into_iter());
}

#[test]
#[ignore = "slow: a sweep killed at 20 moments and resumed"]
fn slow_a_sweep_killed_at_many_moments_loses_nothing() {
    killed_at("sweep-killed-often", (0..20).map(|n| n * 11 / 19));
}

#[test]
fn an_interrupted_sweep_keeps_its_points() {
    let folder = Folder::new("sweep-interrupted");
    // Long enough that a busy machine sends the signal before the last point ends.
    folder.file("job.fio", &LONG.replace("256m", "2g"));
    let tiny = tiny();
    let command = sweep(&tiny, &SPACE);
    let child = signals::start(&folder, &command);
    signals::wait_for("a point", || (!points(&folder).is_empty()).then_some(()));
    let ran = signals::end(child, "INT");
    ran.fails(130, &["interrupted", "the same command continues"]);
    let left = points(&folder).len();
    assert!((1..12).contains(&left));
    assert_eq!(folder.read("out/points.csv").lines().count(), 13);
    folder.run(&command).succeeds();
    assert_eq!(points(&folder).len(), 12);
}

#[test]
fn what_cannot_be_swept_says_why() {
    let folder = Folder::new("sweep-wrong");
    folder.file("job.fio", JOB);
    let tiny = tiny();
    let refused = |more: &[&str], code: i32, parts: &[&str]| {
        let ran: Ran = folder.run(&sweep(&tiny, more));
        ran.fails(code, parts);
        assert!(!folder.0.join("out").exists(), "{more:?}");
    };
    refused(
        &["--param", "controller.core=1"],
        2,
        &["unknown key `controller.core`", "did you mean"],
    );
    refused(
        &["--param", "controller.cores=0"],
        2,
        &["at controller.cores=0", "controller.cores"],
    );
    refused(
        &["--param", "controller.cores=x"],
        2,
        &["controller.cores=x", "invalid type"],
    );
    refused(&["--param", "controller.cores"], 2, &["KEY=V1,V2"]);
    refused(
        &["--param", "controller.cores=4..1"],
        2,
        &["lower to a higher"],
    );
    refused(&["--job", "iodept=4"], 2, &["iodept", "at job.iodept=4"]);
    refused(
        &["--param", "ftl.over_provisioning=0.1..0.3"],
        2,
        &["--sample"],
    );
    refused(&["--sample", "lhs:0"], 2, &["random:N or lhs:N"]);
    let none = ["sweep", "job.fio", &tiny, "-o", "out", "--seeds", "0"];
    folder.run(&none).fails(2, &["no points"]);
    refused(
        &["--metric", "speed"],
        2,
        &["unknown metric `speed`", "group-1.mix.read.latency.p99"],
    );
    refused(&["--threads", "0"], 2, &["0"]);
    folder.run(&["sweep"]).fails(2, &["JOB.fio"]);
    folder
        .run(&["sweep", "none.fio", &tiny, "-o", "out"])
        .fails(3, &["cannot read the job file"]);
    folder
        .run(&["sweep", "job.fio", "./x", "-o", "out"])
        .fails(2, &["a sweep cannot run on `./x`"]);
    folder
        .run(&["run", "job.fio", &tiny, "--param", "controller.cores=0"])
        .fails(2, &["with controller.cores=0: controller.cores: "]);
}
