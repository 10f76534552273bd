//! Exchange with fio: fio's results are reported like ours, and a suite's jobs are emitted for fio.

use crate::support::{Folder, tiny};

const FIO: &str = include_str!("../../measure/tests/data/fio-3.33-json-plus.json");

/// The jobs that fio ran.
const JOBS: &str = "[global]\nsize=1m\nbs=4k\n[r]\nrw=randread\nnumber_ios=2000\n\
    [w]\nstonewall\nrw=randrw\nnumber_ios=2000\nfsync=100\n";

#[test]
fn the_output_of_fio_is_reported_and_compared() {
    let folder = Folder::new("fio-output");
    folder.file("fio.json", FIO);
    folder.file("job.fio", JOBS);
    let report = folder.run(&["report", "fio.json", "-o", "report"]);
    assert!(report.succeeds().out.contains("fio-3.33"), "{}", report.out);
    let page = folder.read("report/report.html");
    assert!(page.contains("completion latencies"));
    let run = folder.run(&["run", "job.fio", &tiny(), "--result", "ours.json"]);
    run.succeeds();
    let refused = folder.run(&["compare", "fio.json", "ours.json"]);
    refused.fails(
        2,
        &["share no host", "A on a real machine", "--across-hosts"],
    );
    let compared = folder.run(&["compare", "fio.json", "ours.json", "--across-hosts"]);
    let text = &compared.succeeds().out;
    for figure in [
        "r: read bandwidth",
        "w: write latency, p99",
        "w: flush IOPS",
        "Hosts differ: A on a real machine; B on Direct",
    ] {
        assert!(text.contains(figure), "{figure} is missed in {text}");
    }
    folder.file("broken.json", &FIO[..FIO.len() / 2]);
    let broken = folder.run(&["report", "broken.json"]);
    broken.fails(2, &["--output-format=json+"]);
}

#[test]
fn steps_of_a_result_go_to_fio() {
    let folder = Folder::new("steps-to-fio");
    folder.file("job.fio", JOBS);
    folder
        .run(&["run", "job.fio", &tiny(), "--result", "ours.json"])
        .succeeds();
    let all = folder.run(&["job", "emit-fio", "ours.json"]);
    let text = &all.succeeds().out;
    assert_eq!(text.matches("stonewall").count(), 2, "{text}");
    folder.file("all.fio", text);
    folder
        .run(&["run", "all.fio", &tiny(), "--result", "again.json"])
        .succeeds();
    let one = folder.run(&["job", "emit-fio", "ours.json", "--step", "group-2"]);
    assert!(one.succeeds().out.contains("rw=randrw") && !one.out.contains("rw=randread"));
    folder
        .run(&["job", "emit-fio", "ours.json", "--step", "none"])
        .fails(2, &["it has group-1, group-2"]);
    folder
        .run(&["job", "emit-fio", "job.fio", "--step", "group-1"])
        .fails(2, &["leave it out"]);
}
