//! Output in fio's formats: fio's own tools accept it, and reading it back gives the measured values.

use crate::support::serving::{have, run};
use crate::support::{Folder, tiny};
use nandscope_result::{Operation, ResultDocument, json};
use serde_json::Value;

const JOB: &str = "\
[global]
ioengine=libaio
direct=1
bs=4k
size=1m
[mix]
rw=randrw
iodepth=4
write_bw_log=mix
log_avg_msec=1
[paced]
stonewall
rw=read
rate_iops=2000
runtime=1
time_based
";

/// Output of a run in `format`, and its result document.
fn printed(folder: &Folder, format: &str) -> (String, ResultDocument) {
    folder.file("job.fio", JOB);
    let device = tiny();
    let option = format!("--output-format={format}");
    let ran = folder.run(&["run", "job.fio", &device, "--result", "r.json", &option]);
    ran.succeeds();
    let document = json::read(&folder.0.join("r.json")).unwrap();
    (ran.out, document)
}

/// Operations of reads and writes of each job, in order.
fn operations(document: &ResultDocument) -> Vec<u64> {
    let jobs = document.steps.iter().flat_map(|s| &s.jobs);
    let kinds = jobs.flat_map(|j| &j.directions);
    let kinds = kinds.filter(|d| matches!(d.kind, Operation::Read | Operation::Write));
    kinds.map(|d| d.operations).collect()
}

#[test]
fn json_has_the_numbers_of_the_result() {
    let folder = Folder::new("fio-tools-json");
    let (text, document) = printed(&folder, "json");
    let output: Value = serde_json::from_str(&text).unwrap();
    let jobs = output["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 2);
    let (mix, paced) = (&jobs[0], &jobs[1]);
    let counts = [&mix["read"], &mix["write"], &paced["read"]].map(|d| d["total_ios"].as_u64());
    let counts: Vec<u64> = counts.into_iter().flatten().collect();
    assert_eq!(counts, operations(&document));
    assert_eq!(mix["job options"]["iodepth"], "4");
    let ours = &document.steps[0].jobs[0].directions[0];
    let theirs = &mix["read"];
    assert_eq!(theirs["clat_ns"]["max"], ours.latency.max_ns);
    assert_eq!(
        theirs["clat_ns"]["percentile"]["50.000000"],
        ours.latency.percentiles[6].1
    );
    assert!(theirs["clat_ns"].get("bins").is_none());
    assert!(theirs["due_lat_ns"].is_null(), "no schedule");
    // With a schedule, latency counts from the due time.
    let ours = &document.steps[1].jobs[0].directions[0];
    let service = ours.service.as_ref().unwrap();
    assert_eq!(paced["read"]["clat_ns"]["max"], service.max_ns);
    assert_eq!(paced["read"]["due_lat_ns"]["max"], ours.latency.max_ns);
    assert!(paced["read"]["bw_samples"].as_u64() > Some(0));
    let shares = ["latency_ns", "latency_us", "latency_ms"].map(|unit| {
        let classes = mix[unit].as_object().unwrap();
        classes.values().filter_map(Value::as_f64).sum::<f64>()
    });
    assert!(
        (shares.iter().sum::<f64>() - 100.0).abs() < 1e-6,
        "{shares:?}"
    );
}

#[test]
fn fio_output_is_read_back() {
    let folder = Folder::new("fio-tools-back");
    let (text, document) = printed(&folder, "normal,json+");
    assert!(text.starts_with("mix: (g=0): rw=randrw, bs=(R) "), "{text}");
    let back = nandscope_measure::fio_output::read(&text, "test").unwrap();
    assert_eq!(operations(&back), operations(&document));
    let p99 = |document: &ResultDocument| {
        let latency = &document.steps[0].jobs[0].directions[1].latency;
        latency
            .percentiles
            .iter()
            .find(|(p, _)| *p == 99.0)
            .unwrap()
            .1
    };
    assert_eq!(p99(&back), p99(&document));
}

#[test]
fn terse_output_has_the_fields_of_version_3() {
    let folder = Folder::new("fio-tools-terse");
    let (text, document) = printed(&folder, "terse");
    let lines: Vec<Vec<&str>> = text.lines().map(|l| l.split(';').collect()).collect();
    assert_eq!(lines.len(), 2);
    for line in &lines {
        // As fio 3.33 writes for a job that touches no disk.
        assert_eq!(line.len(), 5 + 2 * 41 + 5 + 7 + 10 + 12, "{line:?}");
        assert_eq!(line[..2], ["3", "fio-3.33"]);
    }
    let read = &document.steps[0].jobs[0].directions[0];
    assert_eq!(lines[0][2], "mix");
    assert_eq!(lines[0][5].parse(), Ok(read.bytes / 1024));
    assert_eq!(lines[0][14].parse(), Ok(read.latency.max_ns / 1000));
    let shares = lines[0][99..].iter().map(|s| s.trim_end_matches('%'));
    let sum: f64 = shares.filter_map(|s| s.parse::<f64>().ok()).sum();
    assert!((sum - 100.0).abs() < 0.2, "{sum}");
}

#[test]
fn an_unknown_format_is_refused() {
    let folder = Folder::new("fio-tools-unknown");
    folder.file("job.fio", JOB);
    folder
        .run(&["run", "job.fio", &tiny(), "--output-format=xml"])
        .fails(2, &["xml", "json+"]);
}

#[test]
fn fios_tool_makes_tables_of_the_bins() {
    let folder = Folder::new("fio-tools-clat");
    let (text, document) = printed(&folder, "json+");
    if !have(&["fio_jsonplus_clat2csv"]) {
        return;
    }
    folder.file("fio.json", &text);
    run(&folder, "fio_jsonplus_clat2csv", &["fio.json", "table.csv"]);
    // The last cumulative count of a column is the number of operations.
    let last = |job: usize, column: &str| {
        let table = folder.read(&format!("table_job{job}.csv"));
        let mut lines = table.lines().map(|l| l.split(", ").collect::<Vec<_>>());
        let names = lines.next().unwrap();
        let place = names.iter().position(|name| *name == column).unwrap();
        let mut counts = lines.filter_map(|l| l[place].trim().parse::<u64>().ok());
        counts.next_back().unwrap_or(0)
    };
    let counts = [
        last(0, "read_clat_ns_cumulative"),
        last(0, "write_clat_ns_cumulative"),
        last(1, "read_clat_ns_cumulative"),
    ];
    assert_eq!(counts.to_vec(), operations(&document));
}

#[test]
fn fios_plotter_reads_the_logs() {
    let folder = Folder::new("fio-tools-logs");
    printed(&folder, "json");
    if !have(&["fio2gnuplot"]) {
        return;
    }
    run(&folder, "fio2gnuplot", &["-p", "mix_bw.1.log"]);
    let points = folder.read("mix_bw.1");
    let is_point = |line: &&str| !line.is_empty() && !line.starts_with('#');
    assert_eq!(
        points.lines().filter(is_point).count(),
        folder.read("mix_bw.1.log").lines().count()
    );
}

#[test]
fn json_has_what_jobs_found_out() {
    let folder = Folder::new("fio-tools-found");
    folder.file(
        "job.fio",
        "[global]\nioengine=libaio\ndirect=1\nrw=randread\nbs=4k\nsize=1m\nrate_iops=1000\ntime_based\nruntime=20\n[s]\nss=iops:10%\nss_dur=3\n[l]\nstonewall\nrate_iops=0\niodepth=8\nlatency_target=1s\nlatency_window=100ms\nlatency_percentile=99\n",
    );
    let ran = folder.run(&["run", "job.fio", &tiny(), "--output-format=json"]);
    let output: Value = serde_json::from_str(&ran.succeeds().out).unwrap();
    let (steady, search) = (&output["jobs"][0], &output["jobs"][1]);
    let block = &steady["steadystate"];
    assert_eq!(block["ss"], "iops:10.000000%");
    assert_eq!(
        (&block["duration"], &block["attained"]),
        (&3.into(), &1.into())
    );
    assert_eq!(block["data"]["iops"].as_array().map(Vec::len), Some(3));
    assert!((block["data"]["iops_mean"].as_f64().unwrap() - 1000.0).abs() < 5.0);
    assert_eq!(block["slope"], 0.0);
    assert!(block["criterion"].as_str().unwrap().ends_with('%'));
    // Without a search fio writes the depth of the job.
    assert_eq!(
        (&steady["latency_depth"], &steady["latency_target"]),
        (&1.into(), &0.into())
    );
    assert_eq!(search["latency_depth"], 8, "bounded by the job");
    assert_eq!(search["latency_target"], 1_000_000_000, "ns, as in fio");
    assert_eq!(search["latency_window"], 100_000);
    assert_eq!(search["latency_percentile"], 99.0);
    assert!(search["steadystate"].is_null());
}
