//! Operations taken from their source ahead of time.

use super::*;
use nandscope_workload::Pace;
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;

/// Gives one operation at a time.
struct OneByOne(Generator);

impl OpSource for OneByOne {
    fn next_op(&mut self) -> Option<TimedOp> {
        self.0.next_op()
    }

    fn next_op_at(&mut self, pace: &Pace) -> Option<TimedOp> {
        self.0.next_op_at(pace)
    }

    fn closing(&self) -> Option<Op> {
        self.0.closing()
    }

    fn restart(&mut self) {
        self.0.restart();
    }
}

/// Runs a job whose operations take 10 µs each, `options` with times in microseconds.
fn log(options: &str, one_by_one: bool) -> Log {
    let text = format!("[job]\nbs=4k\nsize=1m\niodepth=3\n{options}\n");
    let job = JobFile::parse("job", &text).unwrap().jobs.remove(0);
    let mut target = Log::new(2, Nanos::from_micros(10));
    let generator = Generator::new(&job, 0, CAPACITY, 1).unwrap();
    let source: Box<dyn OpSource> = match one_by_one {
        true => Box::new(OneByOne(generator)),
        false => Box::new(generator),
    };
    run(
        &mut target,
        vec![Thread::new(source, job.pacing.clone(), 0)],
    );
    target
}

/// Whenever time ends a run, operations taken but not issued have no effect.
#[test]
fn operations_taken_ahead_of_time_change_nothing() {
    for options in [
        "rw=randread",
        "rw=randread\nloops=3",
        "rw=randwrite\nend_fsync=1\nio_size=3m",
        "rw=randwrite\nfsync=3\nend_fsync=1",
        "rw=write\nfsync=1\nend_fsync=1",
        "rw=randrw\nfsync=5\npercentage_random=40",
        "rw=randtrimwrite\nend_fsync=1\nnumber_ios=100",
        "rw=randwrite\nthinktime=50us\nthinktime_blocks=5\nend_fsync=1",
        "rw=randrw\nrate_iops=20000,30000\nserialize_overlap=1",
    ] {
        for runtime in [31, 70, 100, 135, 200, 500, 1000, 5000] {
            let options = format!("{options}\nruntime={runtime}us");
            for options in [options.clone(), format!("{options}\ntime_based")] {
                let at_once = log(&options, false);
                assert_eq!(log(&options, true).seen, at_once.seen, "{options}");
                if options.contains("end_fsync") {
                    let last = at_once.seen.last().map(|seen| seen.1);
                    assert_eq!(last, Some(OpKind::Flush), "{options}");
                }
            }
        }
    }
}

/// A target is notified of each operation before its submission, except the first.
#[test]
fn a_target_is_told_what_to_expect() {
    let log = log("rw=randread", false);
    let offsets: Vec<Bytes> = log.seen.iter().map(|seen| seen.2).collect();
    assert_eq!(offsets.len(), 256);
    assert_eq!(log.expected, offsets[1..]);
}
