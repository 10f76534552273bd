//! A preparation that takes long says so before, without a terminal: how long, and why. What is measured after `steady`.

use crate::support::Folder;
use serde_json::Value;
use std::time::Instant;

/// A preparation that takes longer is announced, seconds. As its estimate may be half of that time, this is certain only beyond
/// twice the time. `scripts/preconditions.py` compares all estimates with the times taken.
const LONG: f64 = 60.0;

/// The announcements of a preparation, and the time that the command took, seconds.
fn prepare(device: &str, state: &str) -> (Vec<String>, f64) {
    let folder = Folder::new(&format!("preparation-{device}-{state}"));
    folder.file("job.fio", "[r]\nrw=read\nbs=4k\ndirect=1\nnumber_ios=1\n");
    let target = format!("sim:{device}");
    let began = Instant::now();
    let ran = folder.run(&["run", "job.fio", &target, "--precondition", state]);
    let took = began.elapsed().as_secs_f64();
    ran.succeeds();
    println!("{device} {state}: {took:.1} s\n{}", ran.err);
    let announced = |line: &&str| line.starts_with("prepare: this takes about ");
    let lines = ran.err.lines().filter(announced).map(String::from);
    (lines.collect(), took)
}

#[test]
fn a_short_preparation_is_not_announced() {
    let (lines, took) = prepare("kingston-8gb", "overwritten");
    assert!(
        lines.is_empty() || took > LONG / 2.0,
        "{took:.0} s: {lines:?}"
    );
}

#[test]
#[ignore = "slow: overwrites a drive, minutes"]
fn slow_a_long_preparation_is_announced_once_with_its_reason() {
    let (lines, took) = prepare("sm2708-250gb", "overwritten");
    let expected = lines.len() == 1 || lines.is_empty() && took <= 2.0 * LONG;
    assert!(expected, "{took:.0} s: {lines:?}");
    for line in lines {
        assert!(line.contains("because the device is full"), "{line}");
        assert!(line.contains(" GB/s"), "{line}");
    }
}

/// Three groups of random writes, after which 0.3, 1 and 3 million have been made.
const WRITES: &str = "[global]\nrw=randwrite\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nnorandommap\nstonewall\n\
    [a]\nnumber_ios=300000\nrandseed=11\n[b]\nnumber_ios=700000\nrandseed=12\n[c]\nnumber_ios=2000000\nrandseed=13\n";

/// Write amplification after `steady` does not depend on the number of writes, or the result says that it was not level, or that
/// few superblocks were collected.
fn measure_steady(device: &str, params: &[&str], is_few: bool) {
    let folder = Folder::new(&format!("preparation-waf-{device}"));
    folder.file("job.fio", WRITES);
    let target = format!("sim:{device}");
    let run = ["run", "job.fio", &target, "--precondition", "steady"];
    let params = params.iter().flat_map(|param| ["--param", param]);
    let run: Vec<&str> = run.into_iter().chain(params).collect();
    folder
        .run(&[&run[..], &["--result", "r.json"]].concat())
        .succeeds();
    let document: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    let (mut host, mut programmed, mut measured) = (0.0, 0.0, Vec::new());
    // The result has one list of notices for all of its steps.
    let notices = document["notices"].to_string();
    let is_said = notices.contains("was not level");
    let few = notices.contains("write amplification rests on");
    assert_eq!(few, is_few, "{device}: {notices}");
    for step in document["steps"].as_array().unwrap() {
        let counter = |name: &str| step["counters"][name].as_f64().unwrap();
        host += counter("host_written_bytes");
        programmed += counter("flash_programmed_bytes");
        measured.push(programmed / host);
    }
    println!("{device}: {measured:?}, notice: {is_said}");
    assert_eq!(measured.len(), 3);
    let (least, most) = measured
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(l, m), w| (l.min(*w), m.max(*w)));
    assert!(is_said || most / least < 1.05, "{device}: {measured:?}");
}

#[test]
#[ignore = "slow: overwrites a drive until it is steady, a minute"]
fn slow_a_steady_state_is_level() {
    measure_steady("sandisk-extreme-a2-64gb", &[], false);
}

/// The smallest run writes fewer blocks than are collected together.
#[test]
#[ignore = "slow: overwrites a drive until it is steady, half a minute"]
fn slow_a_steady_state_over_few_collections_says_so() {
    // A tenth of the blocks, of full size.
    measure_steady(
        "kingston-a2000-1tb",
        &[
            "nand.blocks_per_plane=60",
            "device.capacity_bytes=100020486144",
            "ftl.slc_cache.dynamic_gb=15",
        ],
        true,
    );
}
