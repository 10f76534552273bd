//! Traces beside fio 3.33: times of iologs, binary traces of blktrace, and the formats that fio does not read.

use crate::support::fio::{DISCARD, Logged, READ, WRITE, blktrace, logged, with_target};
use crate::support::loops::tool;
use crate::support::serving::{attempt, have, run};
use crate::support::{Folder, Ran, tiny};
use std::process::Command;
use std::time::{Duration, Instant};

/// Replays a trace on an engine without I/O, logging each operation in `fio_lat.1.log`.
fn job(trace: &str, options: &str) -> String {
    format!(
        "[t]\nioengine=null\nread_iolog={trace}\nreplay_redirect=x\ndirect=1\nwrite_lat_log=ops\nlog_offset=1\n{options}\n"
    )
}

fn by_fio(folder: &Folder, job: &str) -> Vec<Logged> {
    folder.file("fio.fio", job);
    run(folder, "fio", &["fio.fio", "--output=out.txt"]);
    logged(&folder.read("ops_lat.1.log"))
}

fn by_us(folder: &Folder, job: &str, keys: &[&str]) -> (Vec<Logged>, Ran) {
    folder.file("our.fio", &with_target(job));
    let ran = folder.run(&[&["run", "our.fio", &tiny()][..], keys].concat());
    ran.succeeds();
    (logged(&folder.read("ops_lat.1.log")), ran)
}

fn operations(log: &[Logged]) -> Vec<[u64; 3]> {
    log.iter().map(|op| op.operation()).collect()
}

/// fio takes timestamps in nanoseconds for microseconds, and waits 1000 times as long. With a tenfold speed, the 1 ms
/// between these requests is 100 ms. nandscope does the same in virtual time, and warns.
#[test]
fn timestamps_in_nanoseconds_are_microseconds_in_fio_too() {
    let folder = Folder::new("fio-traces-nanoseconds");
    let lines = (0..4).map(|n| format!("{} d read {} 4096\n", 1_000_000 * (n + 1), 4096 * n));
    let trace = format!(
        "fio version 3 iolog\n0 d add\n0 d open\n{}",
        lines.collect::<String>()
    );
    folder.file("t.log", &trace);
    let tenfold = job("t.log", "replay_time_scale=1000");
    let (ours, ran) = by_us(&folder, &tenfold, &[]);
    let times: Vec<u64> = ours.iter().map(|op| op.ms).collect();
    assert_eq!(times, [0, 100, 200, 300]);
    let said = format!("{}{}", ran.out, ran.err).replace('\n', " ");
    assert!(said.contains("timestamps look like nanoseconds"), "{said}");
    // The remedy of the warning, at the same speed: 1 ms apart as recorded would be 0.1 ms.
    let (ours, _) = by_us(&folder, &job("t.log", "replay_time_scale=1000000"), &[]);
    assert!(ours.iter().all(|op| op.ms == 0), "{ours:?}");
    if have(&["fio"]) {
        let fios = by_fio(&folder, &tenfold);
        assert_eq!(operations(&fios), operations(&ours));
        let waited = fios.last().unwrap().ms;
        assert!(waited >= 299, "{fios:?}");
    }
}

/// docs/jobs.md: fio takes a `wait` of version 2 for milliseconds since its start, nandscope for microseconds after the
/// previous one.
#[test]
fn waits_of_version_2_are_times_since_the_start_in_fio_only() {
    let folder = Folder::new("fio-traces-wait");
    let trace = "fio version 2 iolog\nd add\nd open\nd wait 500 0\nd read 0 4096\nd wait 300 0\nd read 4096 4096\nd close\n";
    folder.file("t.log", trace);
    let job = job("t.log", "");
    let (ours, ran) = by_us(&folder, &job, &["--result", "r.json"]);
    let result: serde_json::Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    let runtime_s = result["steps"][0]["jobs"][0]["runtime_s"].as_f64().unwrap();
    assert!(
        (0.0003..0.05).contains(&runtime_s),
        "{runtime_s} s, from the first request on"
    );
    let said = format!("{}{}", ran.out, ran.err).replace('\n', " ");
    assert!(
        said.contains("milliseconds since the start of the run"),
        "{said}"
    );
    if !have(&["fio"]) {
        return;
    }
    // The second wait is over when the first one ends. A busy machine may delay a run: the shortest one counts.
    let mut shortest = Duration::MAX;
    for _ in 0..8 {
        let start = Instant::now();
        let fios = by_fio(&folder, &job);
        let took = start.elapsed();
        assert_eq!(operations(&fios), operations(&ours));
        assert!(took >= Duration::from_millis(500), "{took:?}");
        shortest = shortest.min(took);
        let apart = fios[1].ms - fios[0].ms;
        if apart < 300 {
            return;
        }
    }
    panic!("fio waited for the second time: {shortest:?}");
}

/// fio takes queued requests, nandscope issued ones unless the job selects others; all of these are both.
#[test]
fn binary_traces_of_blktrace_have_the_requests_of_fio() {
    let folder = Folder::new("fio-traces-blktrace");
    let requests = [
        (READ, 8, 4096),
        (WRITE, 16, 8192),
        (READ, 24, 4096),
        (WRITE, 1024, 65_536),
        (DISCARD, 2048, 65_536),
        (READ, 512, 512),
    ];
    std::fs::write(folder.0.join("t.blktrace.0"), blktrace(&requests)).unwrap();
    let job = job("t.blktrace.0", "");
    let (issued, _) = by_us(&folder, &job, &[]);
    let (queued, _) = by_us(&folder, &job, &["--job", "nandscope_trace_event=Q"]);
    assert_eq!(operations(&issued), operations(&queued));
    let expected = requests.map(|(category, sector, length)| {
        let direction = match category {
            DISCARD => 2,
            WRITE => 1,
            _ => 0,
        };
        [direction, u64::from(length), sector * 512]
    });
    assert_eq!(operations(&queued), expected);
    if have(&["fio"]) {
        assert_eq!(operations(&by_fio(&folder, &job)), expected);
    }
}

/// docs/traces.md: of the formats of traces, fio reads its own and that of blktrace, neither of them packed.
#[test]
fn other_formats_and_packed_traces_are_read_by_nandscope_alone() {
    let folder = Folder::new("fio-traces-alone");
    folder.file(
        "t.log",
        "fio version 3 iolog\n0 d add\n0 d open\n0 d read 0 4096\n100 d write 8192 4096\n",
    );
    folder.file("t.spc", "0,0,4096,R,0.000000\n0,16,4096,W,0.000100\n");
    let mut traces = vec!["t.spc"];
    if tool("gzip", &["--version"]).is_some() {
        let mut gzip = Command::new("gzip");
        gzip.args(["-k", "t.log"]).current_dir(&folder.0);
        assert!(gzip.status().unwrap().success());
        traces.push("t.log.gz");
    }
    let expected = [[0, 4096, 0], [1, 4096, 8192]];
    if have(&["fio"]) {
        assert_eq!(operations(&by_fio(&folder, &job("t.log", ""))), expected);
    }
    for trace in traces {
        let job = job(trace, "");
        assert_eq!(
            operations(&by_us(&folder, &job, &[]).0),
            expected,
            "{trace}"
        );
        if have(&["fio"]) {
            folder.file("fio.fio", &job);
            let done = attempt(&folder, "fio", &["fio.fio", "--output=out.txt"]);
            assert!(!done.status.success(), "{trace}: fio reads it");
        }
    }
}
