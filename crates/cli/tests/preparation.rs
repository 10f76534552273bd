//! A preparation that takes long says so before, without a terminal: how long, and why. What is measured after `steady`.

use crate::support::Folder;
use serde_json::Value;
use std::time::Instant;

/// Longest time that need not be announced, seconds, and the largest error of an announced time.
const LONG: f64 = 60.0;
const FACTOR: f64 = 2.0;

/// The announced time in seconds, of a line such as `prepare: this takes about 3 min, because …`.
fn announced(line: &str) -> f64 {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number: f64 = words[4].parse().unwrap();
    match words[5] {
        "s," => number,
        "min," => number * 60.0,
        "h," => number * 3600.0,
        other => panic!("{other} in {line}"),
    }
}

/// Prepares a device, and compares the time that was announced with that of the command. Both are times of the wall, which a
/// busy machine prolongs alike.
fn prepare(device: &str, state: &str) {
    let folder = Folder::new(&format!("preparation-{device}-{state}"));
    folder.file("job.fio", "[r]\nrw=read\nbs=4k\ndirect=1\nnumber_ios=1\n");
    let target = format!("sim:{device}");
    let began = Instant::now();
    let ran = folder.run(&["run", "job.fio", &target, "--precondition", state]);
    let took = began.elapsed().as_secs_f64();
    ran.succeeds();
    println!("{device} {state}: {took:.1} s\n{}", ran.err);
    let lines = || {
        ran.err
            .lines()
            .filter(|l| l.starts_with("prepare: this takes about "))
    };
    let count = lines().count();
    assert!(count <= 1, "announced twice: {}", ran.err);
    assert!(
        took <= LONG || count == 1,
        "{took:.0} s were not announced: {}",
        ran.err
    );
    let Some(line) = lines().next() else {
        return;
    };
    assert!(line.contains("because the device is full"), "{line}");
    assert!(line.contains(" GB/s"), "{line}");
    let share = announced(line) / took;
    assert!(
        (1.0 / FACTOR..FACTOR).contains(&share),
        "announced: {line}; it took {took:.0} s"
    );
}

#[test]
fn a_short_preparation_is_not_announced() {
    prepare("kingston-8gb", "overwritten");
}

#[test]
#[ignore = "slow: overwrites two devices, minutes"]
fn slow_a_long_preparation_is_announced() {
    prepare("sandisk-extreme-a2-64gb", "steady");
    prepare("sm2708-250gb", "overwritten");
}

/// Three groups of random writes, after which 0.3, 1 and 3 million have been made.
const WRITES: &str = "[global]\nrw=randwrite\nbs=4k\niodepth=32\nioengine=libaio\ndirect=1\nnorandommap\nstonewall\n\
    [a]\nnumber_ios=300000\nrandseed=11\n[b]\nnumber_ios=700000\nrandseed=12\n[c]\nnumber_ios=2000000\nrandseed=13\n";

/// Write amplification after `steady` does not depend on the number of writes, or the result says that it was not level.
fn measure_steady(device: &str) {
    let folder = Folder::new(&format!("preparation-waf-{device}"));
    folder.file("job.fio", WRITES);
    let target = format!("sim:{device}");
    let run = ["run", "job.fio", &target, "--precondition", "steady"];
    folder
        .run(&[&run[..], &["--result", "r.json"]].concat())
        .succeeds();
    let document: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    let (mut host, mut programmed, mut measured) = (0.0, 0.0, Vec::new());
    let mut is_said = false;
    for step in document["steps"].as_array().unwrap() {
        let counter = |name: &str| step["counters"][name].as_f64().unwrap();
        host += counter("host_written_bytes");
        programmed += counter("flash_programmed_bytes");
        measured.push(programmed / host);
        is_said |= step["notices"].to_string().contains("was not level");
    }
    println!("{device}: {measured:?}, notice: {is_said}");
    assert_eq!(measured.len(), 3);
    let (least, most) = measured
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(l, m), w| (l.min(*w), m.max(*w)));
    assert!(is_said || most / least < 1.05, "{device}: {measured:?}");
}

#[test]
#[ignore = "slow: overwrites two drives until they are steady, a minute or two"]
fn slow_a_steady_state_is_level() {
    measure_steady("reference-nvme-64gb");
    measure_steady("sandisk-extreme-a2-64gb");
}
