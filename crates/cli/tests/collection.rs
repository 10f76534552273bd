//! The report shows the garbage collection, and that it paced writes instead of stopping them.

use crate::support::Folder;
use serde_json::Value;

/// The reference drive after all of it was overwritten at random.
const RUN: [&str; 7] = [
    "run",
    "job.fio",
    "sim:reference-nvme-64gb",
    "--precondition",
    "overwritten:1",
    "--result",
    "report/result.json",
];

#[test]
fn a_report_shows_that_collection_paces_writes() {
    let folder = Folder::new("collection");
    let job = "[w]\nrw=randwrite\nbs=16k\niodepth=4\nioengine=libaio\ndirect=1\nnumber_ios=20000\n";
    folder.file("job.fio", job);
    std::fs::create_dir(folder.0.join("report")).unwrap();
    folder.run(&RUN).succeeds();
    folder
        .run(&["report", "report/result.json", "-o", "report"])
        .succeeds();
    let document: Value = serde_json::from_str(&folder.read("report/result.json")).unwrap();
    let step = &document["steps"][0];
    let counter = |name: &str| step["counters"][name].as_f64().unwrap();
    // Garbage collection writes more than the host.
    assert!(counter("collected_bytes") > counter("host_written_bytes"));
    let latency = &step["jobs"][0]["directions"][0]["latency"];
    let mut percentiles = latency["percentiles"].as_array().unwrap().iter();
    let tail = percentiles.find(|p| p[0] == 99.99).unwrap()[1].as_f64();
    let (tail_ms, longest_ms) = (
        tail.unwrap() / 1e6,
        latency["max_ns"].as_f64().unwrap() / 1e6,
    );
    // Moving a whole victim takes half a second; with pacing, a write waits for a small share of it.
    assert!(
        tail_ms <= longest_ms && longest_ms < 50.0,
        "{tail_ms} {longest_ms}"
    );
    let page = folder.read("report/report.html");
    let start = page.find("<p class=\"collection\">").unwrap();
    let line = page[start..]
        .split("</p>")
        .next()
        .unwrap()
        .replace('\u{202f}', " ");
    assert!(line.contains("Garbage collection moved "), "{line}");
    let shown = line
        .split("99.99 % of the writes took at most ")
        .nth(1)
        .unwrap();
    let shown: f64 = shown.split(" ms").next().unwrap().parse().unwrap();
    assert!(
        (shown - tail_ms).abs() <= 0.006 * tail_ms,
        "{line} of {tail_ms} ms"
    );
}
