//! Simulated 4 KiB reads per second through the whole path of a job: workload generator, runner, simulated device,
//! recorder.
//!
//! `cargo bench -p nandscope-measure --bench path`. The goal is 3 million per second on one core; docs/performance.md
//! has the results.

use nandscope_device::profile::library;
use nandscope_device::{Device, Fill};
use nandscope_measure::runner::{Thread, run_group};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;
use std::time::Instant;

const OPS: u64 = 2_000_000;
const TIMES: usize = 5;

fn main() {
    let profile = match library::device("reference-nvme-64gb").map(|e| e.profile()) {
        Some(Ok(profile)) => profile,
        _ => panic!("the library has no usable reference device"),
    };
    let host = match library::host("direct").map(|e| e.host_profile()) {
        Some(Ok(host)) => host,
        _ => panic!("the library has no usable host"),
    };
    let mut device = match Device::new(&profile, &host, 1) {
        Ok(device) => device,
        Err(error) => panic!("{error}"),
    };
    device.precondition(1.0, Fill::Random { seed: 1 });
    let now = device.now();
    let mut target = SimTarget::at(device, now);
    for (name, options) in [
        ("random read, random map", "rw=randread"),
        ("random read, no map", "rw=randread\nnorandommap"),
    ] {
        let mut rates: Vec<f64> = (0..TIMES).map(|_| measure(&mut target, options)).collect();
        rates.sort_by(f64::total_cmp);
        println!(
            "{name}, QD32: {:.2} million/s ({:.2} to {:.2})",
            rates[TIMES / 2],
            rates[0],
            rates[TIMES - 1]
        );
    }
}

/// Runs one job; returns million operations per second of wall time.
fn measure(target: &mut SimTarget, options: &str) -> f64 {
    let text = format!("[path]\n{options}\nbs=4k\niodepth=32\nnumber_ios={OPS}\n");
    let job = match JobFile::parse("path", &text) {
        Ok(mut file) => file.jobs.remove(0),
        Err(error) => panic!("{error}"),
    };
    let generator = match Generator::new(&job, 0, target.capacity(), 1) {
        Ok(generator) => generator,
        Err(error) => panic!("{error}"),
    };
    let threads = vec![Thread::new(Box::new(generator), job.pacing.clone(), 0)];
    let start = Instant::now();
    let outcome = run_group(target, threads, None, &mut (), &|| false);
    let elapsed = start.elapsed();
    let operations: u64 = outcome
        .iter()
        .flat_map(|o| &o.groups)
        .flat_map(|g| g.record.present())
        .map(|(_, r)| r.operations)
        .sum();
    assert_eq!(operations, OPS, "the run did not do what it was asked");
    OPS as f64 / 1e6 / elapsed.as_secs_f64()
}
