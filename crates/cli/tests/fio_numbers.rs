//! Numbers that once differed from fio's for the same job: the requests to the device, their sizes and frequency, and
//! their logs.

use crate::support::{Folder, tiny};
use serde_json::Value;

/// The result of a job on the small simulated device, and the folder with its logs.
fn simulated(name: &str, job: &str) -> (Value, Folder) {
    let folder = Folder::new(&format!("fio-numbers-{name}"));
    folder.file("job.fio", job);
    folder
        .run(&["run", "job.fio", &tiny(), "--result", "r.json"])
        .succeeds();
    let result = serde_json::from_str(&folder.read("r.json")).unwrap();
    (result, folder)
}

/// Operations of a kind in the first job of a result.
fn operations(result: &Value, kind: &str) -> u64 {
    let all = result["steps"][0]["jobs"][0]["directions"].as_array();
    let found = all.unwrap().iter().find(|d| d["kind"] == kind);
    found.map_or(0, |d| d["operations"].as_u64().unwrap())
}

/// The fields of a log.
fn log(folder: &Folder, name: &str) -> Vec<Vec<u64>> {
    let text = folder.read(name);
    let fields = |line: &str| line.split(", ").map(|f| f.parse().unwrap()).collect();
    text.lines().map(fields).collect()
}

fn notices(result: &Value) -> String {
    result["notices"].to_string()
}

/// fio 3.33: 1,800 reads and 200 writes.
#[test]
fn each_direction_of_a_mix_keeps_its_own_rate() {
    let job = "[a]\nioengine=libaio\ndirect=1\nrw=rw\nrate_iops=900,100\nsize=1m\ntime_based\nruntime=2\n";
    let (result, _folder) = simulated("rates", job);
    assert!((1799..=1801).contains(&operations(&result, "read")));
    assert!((199..=201).contains(&operations(&result, "write")));
}

/// `lat_fatal` of fio: the job ends, and its error is ETIMEDOUT.
#[test]
fn an_operation_beyond_max_latency_ends_the_job() {
    let folder = Folder::new("fio-numbers-max-latency");
    let job = "[a]\ndirect=1\nrw=write\nsize=1m\nmax_latency=0,1us\n";
    folder.file("job.fio", job);
    folder
        .run(&["run", "job.fio", &tiny(), "--result", "r.json"])
        .fails(1, &["longer than its max_latency"]);
    let result: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    assert_eq!(operations(&result, "write"), 1);
    let (result, _folder) = simulated("max-latency", &job.replace("0,1us", "1us,10s"));
    assert_eq!(operations(&result, "write"), 256);
}

/// 1,000 arrivals in a second on average; the standard deviation of their number is its root, 32.
#[test]
fn arrivals_at_random_have_the_rate_of_the_job() {
    let job = |process: &str| {
        format!(
            "[a]\nioengine=libaio\ndirect=1\niodepth=32\nrw=randread\nrate_iops=1000\nrate_process={process}\nsize=1m\ntime_based\nruntime=1\n"
        )
    };
    let (even, _folder) = simulated("linear", &job("linear"));
    assert!((999..=1001).contains(&operations(&even, "read")));
    let (random, _folder) = simulated("poisson", &job("poisson"));
    assert!((872..=1128).contains(&operations(&random, "read")));
    assert_ne!(operations(&random, "read"), operations(&even, "read"));
}

#[test]
fn clones_begin_at_times_of_their_own() {
    let job = "[a]\ndirect=1\nrw=read\nsize=4k\nnumjobs=4\nstartdelay=1-3\nwrite_lat_log=x\n";
    let (result, folder) = simulated("delays", job);
    let mut begins: Vec<u64> = (1..=4)
        .map(|n| log(&folder, &format!("x_lat.{n}.log"))[0][0])
        .collect();
    assert!(
        begins.iter().all(|ms| (1_000..=3_001).contains(ms)),
        "{result}"
    );
    begins.sort_unstable();
    begins.dedup();
    assert_eq!(begins.len(), 4);
}

#[test]
fn requests_of_a_trace_are_left_out() {
    let trace = "fio version 2 iolog\nf add\nf open\nf read 0 4096\nf write 4096 4096\nf trim 0 4096\nf sync 0 0\nf write 0 4096\n";
    for (skip, expected) in [("trim,sync", [1, 2, 0, 0]), ("write", [1, 0, 1, 1])] {
        let folder = Folder::new("fio-numbers-skip");
        folder.file("t.log", trace);
        let job = format!("[a]\ndirect=1\nread_iolog=t.log\nreplay_skip={skip}\n");
        folder.file("job.fio", &job);
        folder
            .run(&["run", "job.fio", &tiny(), "--result", "r.json"])
            .succeeds();
        let result = serde_json::from_str(&folder.read("r.json")).unwrap();
        let found = ["read", "write", "trim", "flush"].map(|kind| operations(&result, kind));
        assert_eq!(found, expected, "{skip}");
    }
}

/// Durable writes wait for the program of a page; others end in the write buffer.
#[test]
fn synchronous_writes_reach_the_flash() {
    let mean = |sync: &str| {
        let job = format!("[a]\ndirect=1\nrw=write\nsize=64k\nsync={sync}\n");
        let (result, _folder) = simulated("sync-flash", &job);
        let write = &result["steps"][0]["jobs"][0]["directions"][0];
        write["latency"]["mean_ns"].as_f64().unwrap()
    };
    let buffered = mean("none");
    for sync in ["1", "sync", "dsync"] {
        assert!(mean(sync) > 2.0 * buffered, "{} {buffered}", mean(sync));
    }
}

/// With one direction unlimited, the other must not slow it down: fio switches to the one that is behind.
#[test]
fn a_direction_without_a_rate_does_not_wait_for_the_other() {
    let job = "[a]\nioengine=libaio\ndirect=1\nrw=randrw\nrate_iops=,50\nsize=1m\ntime_based\nruntime=1\nnorandommap\n";
    let (result, _folder) = simulated("one-rate", job);
    assert!((49..=51).contains(&operations(&result, "write")));
    assert!(operations(&result, "read") > 500, "{result}");
}

/// fio 3.33: 16 sequential operations, 15 random ones.
#[test]
fn a_size_that_is_no_multiple_of_the_block_size() {
    for (rw, expected) in [("write", 16), ("randwrite", 15)] {
        let job = format!("[a]\ndirect=1\nrw={rw}\nbs=4k\nsize=63k\n");
        let (result, _folder) = simulated("odd-size", &job);
        assert_eq!(operations(&result, "write"), expected, "{rw}");
    }
}

#[test]
fn the_last_flush_comes_also_where_time_ends_the_job() {
    for option in ["end_fsync=1", "fsync_on_close=1"] {
        for end in [
            "time_based\nruntime=1",
            "runtime=1\nloops=1000000",
            "io_size=1m",
        ] {
            let job = format!("[a]\ndirect=1\nrw=randwrite\nsize=1m\n{end}\n{option}\n");
            let (result, _folder) = simulated("end-fsync", &job);
            let flushes = operations(&result, "flush");
            assert!(flushes >= 1, "{option}, {end}: {flushes}");
        }
    }
}

#[test]
fn repeated_replays_follow_one_another() {
    let trace =
        "fio version 3 iolog\n0 f add\n0 f open\n0 f read 0 4096\n200000 f read 4096 4096\n";
    let folder = Folder::new("fio-numbers-replay");
    folder.file("t.log", trace);
    let job = "[a]\nioengine=libaio\ndirect=1\nread_iolog=t.log\nloops=3\nwrite_iops_log=x\n";
    folder.file("job.fio", job);
    folder.run(&["run", "job.fio", &tiny()]).succeeds();
    let times: Vec<u64> = log(&folder, "x_iops.1.log").iter().map(|l| l[0]).collect();
    assert_eq!(times, [0, 200, 200, 400, 400, 600]);
}

#[test]
fn the_last_interval_of_a_log_has_a_rate_only_if_it_is_filled() {
    let job = "[a]\nioengine=libaio\ndirect=1\nrw=read\nbs=4k\nsize=1m\nrate_iops=1000\ntime_based\nruntime=2250ms\nlog_avg_msec=500\nwrite_bw_log=x\nwrite_iops_log=x\n";
    let (_, folder) = simulated("last-sample", job);
    for (name, rate) in [("x_bw.1.log", 4000.0), ("x_iops.1.log", 1000.0)] {
        let lines = log(&folder, name);
        // As in fio 3.33, the last quarter of a second is not logged.
        assert_eq!(lines.len(), 4, "{lines:?}");
        for line in &lines {
            let share = line[1] as f64 / rate;
            assert!((share - 1.0).abs() < 0.02, "{name}: {lines:?}");
        }
    }
}

#[test]
fn a_queue_depth_that_is_not_taken_is_said() {
    let job = "[a]\ndirect=1\nrw=randread\niodepth=8\nsize=1m\n";
    let (result, _folder) = simulated("depth", job);
    assert!(notices(&result).contains("the queue depth is 1 and not 8"));
    assert_eq!(result["steps"][0]["jobs"][0]["options"]["iodepth"], "1");
}

#[test]
fn directions_are_reported_together_where_the_job_asks_for_it() {
    let job = |mode: &str| format!("[a]\ndirect=1\nrw=rw\nsize=1m\nunified_rw_reporting={mode}\n");
    let (none, _folder) = simulated("unified", &job("none"));
    let sum = operations(&none, "read") + operations(&none, "write");
    let (mixed, _folder) = simulated("unified", &job("mixed"));
    assert_eq!(
        (operations(&mixed, "mixed"), operations(&mixed, "read")),
        (sum, 0)
    );
    let (both, _folder) = simulated("unified", &job("both"));
    assert_eq!(operations(&both, "mixed"), sum);
    assert_eq!(operations(&both, "read"), operations(&none, "read"));
}

#[cfg(target_os = "linux")]
mod real {
    use super::*;
    use crate::support::loops::Loop;

    /// Reads and writes that the device has completed, as the kernel counts them.
    fn completed(device: &Loop) -> [u64; 2] {
        let path = format!("/sys/block/{}/stat", device.name());
        let text = std::fs::read_to_string(path).unwrap();
        let fields: Vec<u64> = text
            .split_whitespace()
            .map(|f| f.parse().unwrap())
            .collect();
        [fields[0], fields[4]]
    }

    fn run(folder: &Folder, device: &Loop, job: &str) -> Value {
        run_on(folder, device, job, "uring")
    }

    fn run_on(folder: &Folder, device: &Loop, job: &str, engine: &str) -> Value {
        folder.file("job.fio", job);
        let named = format!("--destroy-data={}", device.name());
        let arguments = [
            "run",
            "job.fio",
            &device.device,
            &named,
            "--yes",
            device.name(),
            "--engine",
            engine,
            "--result",
            "r.json",
        ];
        folder.run(&arguments).succeeds();
        serde_json::from_str(&folder.read("r.json")).unwrap()
    }

    /// fio submits operations one at a time, so that 16,384 operations are 16,384 requests of the device.
    #[test]
    fn neighbours_are_not_merged_unless_they_are_submitted_together() {
        let folder = Folder::new("fio-numbers-merged");
        let Some(device) = Loop::new(&folder, 64) else {
            return;
        };
        for (rw, direction) in [("read", 0), ("write", 1)] {
            let job = |batch: &str| {
                format!(
                    "[a]\nioengine=io_uring\ndirect=1\nrw={rw}\nbs=4k\niodepth=8\nsize=16m\n{batch}\n"
                )
            };
            let before = completed(&device);
            let result = run(&folder, &device, &job(""));
            let after = completed(&device);
            let requests = after[direction] - before[direction];
            assert!((4096..4096 + 64).contains(&requests), "{rw}: {requests}");
            assert!(!notices(&result).contains("other sizes"), "{result}");
        }
    }

    /// Flushes that the kernel sent to the device; a device without FUA gets one for each durable write, and
    /// another one after `pwritev2`.
    fn flushes(device: &Loop) -> u64 {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", device.name())).unwrap();
        text.split_whitespace().nth(15).unwrap().parse().unwrap()
    }

    #[test]
    fn synchronous_writes_are_flushed_by_both_engines() {
        let folder = Folder::new("fio-numbers-sync");
        let Some(device) = Loop::new(&folder, 64) else {
            return;
        };
        for engine in ["uring", "blocking"] {
            for (sync, expected) in [("none", 0..=4), ("dsync", 64..=160), ("sync", 64..=160)] {
                let before = flushes(&device);
                let job = format!(
                    "[a]\nioengine=io_uring\ndirect=1\nrw=randwrite\nbs=4k\nsize=256k\nsync={sync}\n"
                );
                run_on(&folder, &device, &job, engine);
                let sent = flushes(&device) - before;
                assert!(expected.contains(&sent), "{engine}, {sync}: {sent}");
            }
        }
    }

    #[test]
    fn latencies_have_the_parts_that_fio_gives_them() {
        let folder = Folder::new("fio-numbers-parts");
        let Some(device) = Loop::new(&folder, 64) else {
            return;
        };
        let job =
            "[a]\nioengine=io_uring\ndirect=1\nrw=randread\niodepth=4\nsize=4m\nwrite_lat_log=x\n";
        run(&folder, &device, job);
        let [slat, clat, lat] =
            ["slat", "clat", "lat"].map(|part| log(&folder, &format!("x_{part}.1.log")));
        assert_eq!(lat.len(), 1024);
        for ((s, c), l) in slat.iter().zip(&clat).zip(&lat) {
            assert_eq!(s[1] + c[1], l[1]);
        }
        assert!(slat.iter().any(|line| line[1] > 0));
        // Both the result and fio's JSON have the same three values.
        let result: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
        let read = &result["steps"][0]["jobs"][0]["directions"][0];
        let stage = |name: &str| read["stages"][name]["mean_ns"].as_f64().unwrap();
        let [before, after] = ["submission", "completion"].map(stage);
        let total = read["latency"]["mean_ns"].as_f64().unwrap();
        assert!(before > 0.0 && (before + after - total).abs() < 1.0);
        let printed = folder.run(&["run", "job.fio", &device.device, "--output-format=json"]);
        let printed: Value = serde_json::from_str(&printed.succeeds().out).unwrap();
        let read = &printed["jobs"][0]["read"];
        let mean = |name: &str| read[name]["mean"].as_f64().unwrap();
        let difference = mean("slat_ns") + mean("clat_ns") - mean("lat_ns");
        assert!(mean("slat_ns") > 0.0 && difference.abs() < 1.0, "{read}");
        assert_eq!(read["slat_ns"]["N"], read["total_ios"]);
    }
}
