//! Numbers that once differed from those of fio for the same job: what is asked of the device, in
//! which sizes, how often, and what the logs say of it.

use crate::support::{Folder, tiny};
use serde_json::Value;

/// The result of a job on the small simulated device, and the folder with its logs.
fn simulated(name: &str, job: &str) -> (Value, Folder) {
    let folder = Folder::new(&format!("fio-numbers-{name}"));
    folder.file("job.fio", job);
    folder
        .run(&["run", "job.fio", &tiny(), "-o", "r.json"])
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
fn the_last_sample_of_a_log_has_the_rate_of_its_own_interval() {
    let job = "[a]\nioengine=libaio\ndirect=1\nrw=read\nbs=4k\nsize=1m\nrate_iops=1000\ntime_based\nruntime=2250ms\nlog_avg_msec=500\nwrite_bw_log=x\nwrite_iops_log=x\n";
    let (_, folder) = simulated("last-sample", job);
    for (name, rate) in [("x_bw.1.log", 4000.0), ("x_iops.1.log", 1000.0)] {
        let lines = log(&folder, name);
        assert_eq!(lines.len(), 5, "{lines:?}");
        for line in &lines {
            let share = line[1] as f64 / rate;
            assert!((share - 1.0).abs() < 0.02, "{name}: {lines:?}");
        }
        assert!((2245..=2250).contains(&lines[4][0]), "{lines:?}");
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
        folder.file("job.fio", job);
        let named = format!("--destroy-data={}", device.name());
        let arguments = [
            "run",
            "job.fio",
            &device.device,
            &named,
            "--yes-destroy",
            device.name(),
            "--engine",
            "uring",
            "-o",
            "r.json",
        ];
        folder.run(&arguments).succeeds();
        serde_json::from_str(&folder.read("r.json")).unwrap()
    }

    /// fio submits one at a time, and 16,384 operations are 16,384 requests of the device.
    #[test]
    fn neighbours_are_not_merged_unless_they_are_submitted_together() {
        let folder = Folder::new("fio-numbers-merged");
        let Some(device) = Loop::new(&folder, 64) else {
            return;
        };
        for (rw, lane) in [("read", 0), ("write", 1)] {
            let job = |batch: &str| {
                format!(
                    "[a]\nioengine=io_uring\ndirect=1\nrw={rw}\nbs=4k\niodepth=8\nsize=16m\n{batch}\n"
                )
            };
            let before = completed(&device);
            let result = run(&folder, &device, &job(""));
            let after = completed(&device);
            let requests = after[lane] - before[lane];
            assert!((4096..4096 + 64).contains(&requests), "{rw}: {requests}");
            assert!(!notices(&result).contains("other sizes"), "{result}");
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
    }
}
