//! Jobs that depend on each other, end early, or read back their own writes, on the small simulated device, with their
//! logs.

use crate::support::{Folder, tiny};
use serde_json::Value;

/// Runs a job file; returns the result and the folder with its logs.
fn ran(name: &str, job: &str, options: &[&str]) -> (Value, Folder) {
    let folder = Folder::new(&format!("run-ties-{name}"));
    folder.file("job.fio", job);
    let tiny = tiny();
    let run = ["run", "job.fio", &tiny, "--result", "r.json"];
    folder.run(&[&run[..], options].concat()).succeeds();
    let result = serde_json::from_str(&folder.read("r.json")).unwrap();
    (result, folder)
}

/// Operations of a kind in a job of a step.
fn operations(result: &Value, step: usize, job: usize, kind: &str) -> u64 {
    let all = result["steps"][step]["jobs"][job]["directions"].as_array();
    let found = all.unwrap().iter().find(|d| d["kind"] == kind);
    found.map_or(0, |d| d["operations"].as_u64().unwrap())
}

const TIMED: &str = "[global]\ndirect=1\nsize=1m\nfilename=x\ntime_based\nruntime=200ms\n";

#[test]
fn a_job_waits_for_another_and_shares_operations_with_a_third() {
    let job = format!(
        "{TIMED}[a]\nrw=write\n[b]\nwait_for=a\nrw=read\nflow=3\n[c]\nwait_for=a\nrw=read\nflow=1\n"
    );
    let (result, _folder) = ran("flow", &job, &[]);
    let start = |job: usize| result["steps"][0]["jobs"][job]["start_s"].as_f64().unwrap();
    assert!(start(1) >= start(0) + 0.2, "{}", start(1));
    let (three, one) = (
        operations(&result, 0, 1, "read"),
        operations(&result, 0, 2, "read"),
    );
    assert!(one > 10 && three.abs_diff(3 * one) <= 4, "{three} {one}");
}

#[test]
fn the_end_of_a_job_ends_the_file() {
    let job = format!(
        "{TIMED}[a]\nrw=read\nexitall\nexit_what=all\n[b]\nrw=read\nruntime=1h\n[c]\nstonewall\nrw=read\n"
    );
    let (result, _folder) = ran("exit", &job, &[]);
    assert_eq!(result["steps"].as_array().unwrap().len(), 1);
    assert_eq!(result["complete"], true);
    let runtime = result["steps"][0]["jobs"][1]["runtime_s"].as_f64().unwrap();
    assert!(runtime < 0.3, "{runtime}");
}

#[test]
fn a_job_ends_in_its_steady_state_and_says_so() {
    let job = format!("{TIMED}[a]\nrw=randread\nruntime=1h\nss=iops:20%\nss_dur=3\n");
    let (result, _folder) = ran("steady", &job, &["--precondition", "sequential"]);
    let runtime = result["steps"][0]["jobs"][0]["runtime_s"].as_f64().unwrap();
    assert!((3.0..60.0).contains(&runtime), "{runtime}");
    let notices = result["notices"].to_string();
    assert!(notices.contains("steady state attained"), "{notices}");
}

#[test]
fn what_was_written_is_verified_by_its_job_and_by_a_later_one() {
    let job = "[global]\ndirect=1\nsize=512k\nrw=write\nverify=crc32c\n\
        [a]\nverify_backlog=16\ntrim_percentage=100\ntrim_backlog=8\ntrim_backlog_batch=1\ntrim_verify_zero=1\n\
        [b]\nstonewall\noffset=512k\ndo_verify=0\n[c]\nstonewall\noffset=512k\nverify_only\n";
    let (result, _folder) = ran("verify", job, &["--contents"]);
    assert_eq!(operations(&result, 0, 0, "write"), 128);
    assert_eq!(operations(&result, 0, 0, "read"), 128);
    assert_eq!(operations(&result, 0, 0, "trim"), 16);
    assert_eq!(operations(&result, 2, 0, "read"), 128);
    assert_eq!(operations(&result, 2, 0, "write"), 0);
}

#[test]
fn the_operations_of_all_groups_can_be_replayed() {
    let job = "[global]\ndirect=1\nwrite_iolog=ops.log\n[a]\nrw=randwrite\nnrfiles=2\nfilesize=64k\n\
        [b]\nstonewall\nrw=read\nsize=64k\n";
    let (result, folder) = ran("iolog", job, &[]);
    let log = folder.read("ops.log");
    assert_eq!(log.matches(" write ").count(), 32, "{log}");
    assert_eq!(log.matches(" read ").count(), 16, "{log}");
    assert_eq!(log.matches("iolog").count(), 1, "{log}");
    assert!(result["notices"].to_string().contains("2 files are parts"));
    folder.file(
        "replay.fio",
        "[r]\ndirect=1\nread_iolog=ops.log\nreplay_no_stall=1\n",
    );
    let run = folder.run(&["run", "replay.fio", &tiny(), "--result", "again.json"]);
    run.succeeds();
    let again: Value = serde_json::from_str(&folder.read("again.json")).unwrap();
    assert_eq!(operations(&again, 0, 0, "write"), 32);
    assert_eq!(operations(&again, 0, 0, "read"), 16);
}

#[test]
fn histograms_are_logged_in_fios_bins() {
    let job = format!(
        "{TIMED}[a]\nrw=randread\nwrite_hist_log=h\nlog_hist_msec=50\nlog_hist_coarseness=6\n"
    );
    let (result, folder) = ran("histogram", &job, &[]);
    let log = folder.read("h_clat_hist.1.log");
    let mut logged = 0;
    for line in log.lines() {
        let fields: Vec<u64> = line.split(", ").map(|f| f.parse().unwrap()).collect();
        assert_eq!(
            (fields.len(), fields[1], fields[2]),
            (3 + 29, 0, 4096),
            "{line}"
        );
        logged += fields[3..].iter().sum::<u64>();
    }
    assert_eq!(log.lines().count(), 3, "{log}");
    let all = operations(&result, 0, 0, "read");
    assert!(logged <= all && logged * 10 >= all * 7, "{logged} of {all}");
}

#[test]
fn the_page_cache_is_refused_on_a_simulated_device() {
    let folder = Folder::new("run-ties-buffered");
    folder.file("job.fio", "[a]\nsize=1m\nbuffered=1\n");
    let run = folder.run(&["run", "job.fio", &tiny()]);
    run.fails(2, &["page cache", "job.fio:3", "--job direct=1"]);
}
