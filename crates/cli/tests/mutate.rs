//! Every kind of file that the program reads, with bytes changed at random: the same checks that
//! libFuzzer drives (fuzz/), for some seconds, with any compiler. The sequence of inputs follows
//! from a fixed seed; how far it gets depends on the time (`NANDSCOPE_MUTATE_SECONDS`, 20).
//! `mutate_all.rs` is the long form of it.

use crate::bodies;
use crate::support::mutation::{input, seeds};
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

/// Longest time for one input, in any build.
const LONGEST: Duration = Duration::from_secs(20);

/// Runs one input; saves a failing one in a file.
fn try_input(target: &str, body: fn(&[u8]), input: &[u8]) {
    let began = Instant::now();
    let outcome = catch_unwind(|| body(input));
    let took = began.elapsed();
    if outcome.is_err() || took > LONGEST {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mutate-{target}"));
        std::fs::write(&path, input).unwrap();
        panic!(
            "{target}: failed after {took:?}; the input is {}",
            path.display()
        );
    }
}

#[test]
fn changed_files_are_read_or_refused() {
    let seconds = std::env::var("NANDSCOPE_MUTATE_SECONDS").ok();
    let seconds: f64 = seconds.map_or(20.0, |s| s.parse().expect("a number of seconds"));
    let share = Duration::from_secs_f64(seconds / bodies::ALL.len() as f64);
    for (target, body) in bodies::ALL {
        let seeds = seeds(target);
        for seed in &seeds {
            try_input(target, body, seed);
        }
        let (began, mut inputs) = (Instant::now(), 0u64);
        while began.elapsed() < share || inputs < 20 {
            try_input(target, body, &input(target, &seeds, inputs));
            inputs += 1;
        }
        println!("{target}: {} seeds, {inputs} changed inputs", seeds.len());
    }
}
