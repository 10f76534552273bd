//! Randomly generated jobs with rate limits: each direction does as many operations as with fio.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::{skipped, tool};
use nandscope_units::random::SplitMix64;
use serde_json::Value;
use std::process::Command;

const JOBS: u64 = 200;
/// Number of jobs that run at the same time.
const AT_ONCE: u64 = 20;
const SECONDS: u64 = 2;
/// Relative tolerance of the number of operations in a direction, to which [`FEW`] are added: fio runs in real time.
const SHARE: f64 = 0.05;
const FEW: f64 = 6.0;

/// A random rate that fio and the page cache reach even on a busy machine: 5 to 150 operations per second.
fn rate(dice: &mut SplitMix64) -> u64 {
    5 + dice.below(146)
}

/// A job whose directions have rate limits, set by one of fio's options for it.
fn job(number: u64) -> String {
    let mut dice = SplitMix64::new(number);
    let access = [
        "read",
        "write",
        "rw",
        "randrw",
        "randread",
        "randwrite",
        "rw",
    ];
    let access = access[dice.below(access.len() as u64) as usize];
    let kib = 1 << (2 + dice.below(3));
    let (reads, writes) = (rate(&mut dice), rate(&mut dice));
    let limit = match dice.below(4) {
        0 => format!("rate_iops={reads}"),
        1 => format!("rate={}k,{}k", reads * kib, writes * kib),
        _ => format!("rate_iops={reads},{writes}"),
    };
    let stonewall = if number > 0 && number.is_multiple_of(AT_ONCE) {
        "stonewall\n"
    } else {
        ""
    };
    let (mix, depth) = (10 + dice.below(81), 1 << dice.below(4));
    format!(
        "[j{number}]\n{stonewall}filename=f{}\nrw={access}\nbs={kib}k\n{limit}\nrwmixread={mix}\niodepth={depth}\n",
        number % AT_ONCE
    )
}

/// Operations that each job read and wrote, from the JSON of fio or in its format.
fn operations(text: &str) -> Vec<[f64; 2]> {
    let output: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let jobs = output["jobs"].as_array().unwrap().iter();
    let total = |job: &Value, kind| job[kind]["total_ios"].as_f64().unwrap();
    jobs.map(|job| [total(job, "read"), total(job, "write")])
        .collect()
}

#[test]
#[ignore = "slow: 200 jobs of two seconds, 20 at once"]
fn slow_each_direction_has_the_rate_that_it_has_with_fio() {
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let folder = Folder::new("fio-rates");
    let global = format!(
        "[global]\nioengine=libaio\ndirect=1\nsize=1m\ntime_based\nruntime={SECONDS}\nnorandommap\n"
    );
    let jobs: Vec<String> = (0..JOBS).map(job).collect();
    let jobs_of_both = global + &jobs.concat();
    folder.file("job.fio", &jobs_of_both);
    // Rates are compared, so that fio must not wait for the disk.
    let cached = jobs_of_both.replace("ioengine=libaio\ndirect=1", "ioengine=psync");
    folder.file("fio.fio", &cached);
    let done = Command::new("fio")
        .args(["--output-format=json", "fio.fio"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let fios = operations(&String::from_utf8_lossy(&done.stdout));
    let ran = folder.run(&[
        "run",
        "job.fio",
        "sim:reference-nvme-64gb",
        "--output-format=json",
    ]);
    let ours = operations(&ran.succeeds().out);
    assert_eq!((ours.len(), fios.len()), (JOBS as usize, JOBS as usize));
    let differ = |a: f64, b: f64| (a - b).abs() > SHARE * a.max(b) + FEW;
    let wrong: Vec<String> = (0..JOBS as usize)
        .filter(|n| (0..2).any(|kind| differ(ours[*n][kind], fios[*n][kind])))
        .map(|n| {
            format!(
                "{}: {:?}, with fio {:?}",
                jobs[n].replace('\n', " "),
                ours[n],
                fios[n]
            )
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {JOBS}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
