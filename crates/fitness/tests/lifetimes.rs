//! Lifetimes from the steady state of a workload, against a simulation in full.

use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::SimulatedTarget;
use nandscope_experiment::{OpenOptions, Precondition, ProfileOverride, open};
use nandscope_fitness::lifetime::{Estimate, LifetimeOptions, Rating, measure};
use nandscope_units::Bytes;
use nandscope_workload::trace::Fit;

fn target(name: &str, changes: &[(&str, &str)]) -> SimulatedTarget {
    let options = OpenOptions {
        overrides: changes
            .iter()
            .map(|(k, v)| ProfileOverride::new(*k, v))
            .collect(),
        ..OpenOptions::default()
    };
    let (about, mut device) = open(name, &options).unwrap();
    Precondition::Sequential(100.0)
        .apply(&mut device, 1)
        .unwrap();
    SimulatedTarget::new(about, device)
}

fn estimate(target: &mut SimulatedTarget, job: &str) -> Estimate {
    let jobs = Jobs::parse("j.fio", job, &[]).unwrap();
    let about = target.about().clone();
    let rating = Rating::of(&about.device_source.profile, &about.device_source.text);
    let options = LifetimeOptions {
        per_day: Some(Bytes(10_000_000_000)),
        hours_per_day: 24.0,
        most_rounds: 400,
        most_capacities: 20.0,
        seed: 1,
        fit: Fit::Exact,
    };
    measure(target, &jobs, &rating, &options, &|_| true).unwrap()
}

/// Superblock cycles that `times` rounds more of the job make.
fn in_full(target: &mut SimulatedTarget, job: &str, times: u64) -> (f64, f64) {
    let jobs = Jobs::parse("j.fio", job, &[]).unwrap();
    let before = (target.device().wear(), target.device().counters());
    for round in 0..times {
        let mut options = nandscope_experiment::run::RunOptions::new("full");
        options.seed = 1_000 + round;
        nandscope_experiment::run::run_jobs(target, &jobs, &options, &mut (), &|| false).unwrap();
    }
    let device = target.device();
    let host = device.counters().since(&before.1).host_written.0;
    (device.wear().mean - before.0.mean, host as f64)
}

#[test]
fn in_order_a_card_wears_by_one_cycle_per_capacity() {
    let mut card = target("sim:kingston-8gb", &[]);
    let job = "[s]\nrw=write\nbs=1m\nsize=256m\nio_size=256m\nioengine=libaio\ndirect=1\n";
    let e = estimate(&mut card, job);
    assert!(e.rounds.is_level, "{e:?}");
    assert!(
        (e.write_amplification - 1.0).abs() < 0.02,
        "{}",
        e.write_amplification
    );
    let physical = e.wear.blocks as f64 * 4.0 * 1024.0 * 1024.0;
    let even = 10e9 / physical;
    assert!(
        (e.cycles_per_day / even - 1.0).abs() < 0.03,
        "{} {even}",
        e.cycles_per_day
    );
    assert!((e.years.rated - 3000.0 / e.cycles_per_day / 365.25).abs() < 1e-6);
}

/// Random writes: the steady state of a short run predicts what a run of many times its length does.
#[test]
fn a_compressed_run_predicts_the_erases_of_the_full_one() {
    let changes = [("ftl.over_provisioning", "0.2"), ("nand.word_lines", "2")];
    for (name, changes, job, times) in [
        (
            "sim:reference-nvme-64gb",
            &changes[..],
            "[r]\nrw=randwrite\nbs=4k\nsize=100%\nnumber_ios=20000\niodepth=8\nnorandommap\nioengine=libaio\ndirect=1\n",
            100,
        ),
        (
            "sim:kingston-8gb",
            &[][..],
            "[r]\nrw=randwrite\nbs=16k\nsize=256m\nnumber_ios=200\nnorandommap\nioengine=libaio\ndirect=1\n",
            100,
        ),
    ] {
        let mut device = target(name, changes);
        let e = estimate(&mut device, job);
        assert!(
            e.rounds.is_level && e.write_amplification > 1.2,
            "{name} {e:?}"
        );
        let (cycles, host) = in_full(&mut device, job, times);
        let predicted = e.cycles_per_tb * host / 1e12;
        let error = predicted / cycles - 1.0;
        assert!(error.abs() < 0.02, "{name}: {error}, stated {}", e.error);
    }
}
