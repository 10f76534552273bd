//! Cost of the generator itself: processor time per operation of a run on a target that does nothing, so that readers
//! see the share of the instrument in a result.

use super::null::RealNull;
use crate::runner::{Thread, run_group};
use nandscope_units::Bytes;
use nandscope_workload::job::Job;
use nandscope_workload::pattern::Generator;
use nandscope_workload::{OpSource, Pacing};
use rustix::time::{ClockId, clock_gettime};

/// Number of operations of one measurement, about 30 ms.
const OPERATIONS: u64 = 200_000;
/// Size of the null target's area, read at random.
const AREA: Bytes = Bytes::gib(16);

/// Processor time of the calling thread, nanoseconds.
fn thread_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Processor time per operation, ns, of 4 KiB random reads at this queue depth with all recording of a measurement; the
/// best of three. `None` if `stop` returned true meanwhile.
pub fn generator_cost_ns(depth: u32, stop: &dyn Fn() -> bool) -> Option<f64> {
    (0..3)
        .filter_map(|_| once(depth, OPERATIONS, stop))
        .reduce(f64::min)
}

fn once(depth: u32, operations: u64, stop: &dyn Fn() -> bool) -> Option<f64> {
    let mut job = Job::new("generator");
    job.rw.random = true;
    job.number_ios = Some(operations);
    let generator = Generator::new(&job, 0, AREA, 1).ok()?;
    cost_of(Box::new(generator), (depth, operations), stop)
}

fn cost_of(
    source: Box<dyn OpSource>,
    (depth, operations): (u32, u64),
    stop: &dyn Fn() -> bool,
) -> Option<f64> {
    let pacing = Pacing {
        iodepth: depth.max(1),
        ..Pacing::default()
    };
    let mut target = RealNull::new(AREA);
    let threads = vec![Thread::new(source, pacing, 0)];
    let begin = thread_time();
    let outcome = run_group(&mut target, threads, None, &mut (), stop).ok()?;
    let spent = thread_time() - begin;
    let done = outcome
        .groups
        .first()?
        .record
        .present()
        .map(|(_, r)| r.operations);
    (done.sum::<u64>() == operations).then(|| spent as f64 / operations as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_is_that_of_a_generator_and_not_of_nothing() {
        let cost = generator_cost_ns(32, &|| false).unwrap();
        // Optimised with assertions on, on any machine: more than a bare loop, less than a system call per operation.
        assert!((5.0..20_000.0).contains(&cost), "{cost}");
    }

    #[test]
    fn a_stopped_measurement_gives_no_cost() {
        assert_eq!(generator_cost_ns(32, &|| true), None);
    }
}
