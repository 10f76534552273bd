//! Real targets on files of this machine, with both engines: requested operations are executed, counted exactly, and
//! written to the right place.

use nandscope_measure::real::{Access, EngineChoice, Options, RealTarget, Volume, fill_holes};
use nandscope_measure::recorder::Direction;
use nandscope_measure::runner::{Ending, GroupOutcome, OnError, Thread, run_group};
use nandscope_measure::target::{Load, Outcome, Reply, Request, Target};
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::job::JobFile;
use nandscope_workload::pattern::Generator;
use nandscope_workload::{Op, OpKind, OpSource, Pacing, RateLimit, TimedOp};
use std::fs::File;
use std::path::{Path, PathBuf};

const MIB: u64 = 1 << 20;
const ENGINES: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Blocking];

/// A file that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("measure-{name}"));
        let _ = std::fs::remove_file(&path);
        Scratch(path)
    }

    fn made(name: &str, size: u64) -> Self {
        let scratch = Scratch::new(name);
        let file = File::create_new(&scratch.0).unwrap();
        file.set_len(size).unwrap();
        assert!(fill_holes(&file, &mut |_| true).unwrap());
        scratch
    }

    fn open(&self, access: Access, engine: EngineChoice) -> RealTarget {
        let file = File::options()
            .read(true)
            .write(access == Access::Write)
            .open(&self.0);
        let volume = Volume::new(&self.0, file.unwrap(), access).unwrap();
        RealTarget::new(
            volume,
            Options {
                engine,
                polled: false,
            },
        )
        .unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn threads(text: &str, capacity: Bytes) -> Vec<Thread> {
    let jobs = JobFile::parse("test.fio", text).unwrap().jobs;
    let clones = jobs
        .iter()
        .flat_map(|job| (0..job.numjobs).map(move |n| (job, n)));
    clones
        .map(|(job, n)| {
            let source = Generator::new(job, n, capacity, 1).unwrap();
            Thread::new(Box::new(source), job.pacing.clone(), 0)
        })
        .collect()
}

fn run(target: &mut RealTarget, threads: Vec<Thread>) -> GroupOutcome {
    let outcome = run_group(target, threads, None, &mut (), &|| false).unwrap();
    adds_up(&outcome);
    outcome
}

/// Intervals add up to the totals, also after several threads were merged.
fn adds_up(outcome: &GroupOutcome) {
    for direction in Direction::ALL {
        let whole: (u64, u64, u128) = outcome
            .groups
            .iter()
            .filter_map(|g| g.record.direction(direction))
            .fold((0, 0, 0), |a, r| {
                assert_eq!(r.latency.count(), r.operations);
                (
                    a.0 + r.operations,
                    a.1 + r.bytes.0,
                    a.2 + r.latency.sum_ns(),
                )
            });
        let parts = outcome.timeline.bins().iter().fold((0, 0, 0), |a, bin| {
            let b = bin.direction(direction);
            (
                a.0 + b.operations,
                a.1 + b.bytes,
                a.2 + u128::from(b.latency_sum_ns),
            )
        });
        assert_eq!(parts, whole, "{direction:?}");
    }
}

fn operations(outcome: &GroupOutcome, direction: Direction) -> u64 {
    let records = outcome.groups.iter();
    records
        .filter_map(|g| g.record.direction(direction))
        .map(|r| r.operations)
        .sum()
}

#[test]
fn writes_cover_the_region_and_nothing_else() {
    for (engine, name) in ENGINES.into_iter().zip(["cover-uring", "cover-blocking"]) {
        let scratch = Scratch::made(name, 8 * MIB);
        let before = std::fs::read(&scratch.0).unwrap();
        let mut target = scratch.open(Access::Write, engine);
        let text = "[w]\nrw=randwrite\nbs=16k\niodepth=7\noffset=2m\nsize=4m\nend_fsync=1\n";
        let outcome = run(&mut target, threads(text, Bytes(8 * MIB)));
        assert_eq!(outcome.ending, Ending::Complete);
        assert_eq!(operations(&outcome, Direction::Write), 256);
        assert_eq!(operations(&outcome, Direction::Flush), 1);
        let after = std::fs::read(&scratch.0).unwrap();
        for (i, (old, new)) in before.chunks(4096).zip(after.chunks(4096)).enumerate() {
            let inside = (512..1536).contains(&i);
            assert_eq!(old != new, inside, "{engine:?}: block {i}");
        }
    }
}

#[test]
fn several_jobs_run_at_once_and_are_counted_exactly() {
    for (engine, name) in ENGINES.into_iter().zip(["jobs-uring", "jobs-blocking"]) {
        let scratch = Scratch::made(name, 8 * MIB);
        let mut target = scratch.open(Access::Read, engine);
        let text = "[r]\nrw=randread\nbs=4k\niodepth=16\nnumjobs=4\nloops=3\n";
        let outcome = run(&mut target, threads(text, Bytes(8 * MIB)));
        assert_eq!(outcome.ending, Ending::Complete, "{engine:?}");
        assert_eq!(operations(&outcome, Direction::Read), 4 * 3 * 2048);
        assert_eq!(outcome.groups[0].threads, 4);
    }
}

#[test]
fn a_read_only_target_is_never_written() {
    let scratch = Scratch::made("read-only", MIB);
    let before = std::fs::read(&scratch.0).unwrap();
    for engine in ENGINES {
        let mut target = scratch.open(Access::Read, engine);
        let outcome = run(&mut target, threads("[w]\nrw=write\nbs=64k\n", Bytes(MIB)));
        assert!(matches!(&outcome.ending, Ending::Failed(why) if why.contains("reading only")));
    }
    assert_eq!(std::fs::read(&scratch.0).unwrap(), before);
}

#[test]
fn discards_leave_holes_and_a_target_that_shrank_says_so() {
    for (engine, name) in ENGINES.into_iter().zip(["holes-uring", "holes-blocking"]) {
        let scratch = Scratch::made(name, 4 * MIB);
        let mut target = scratch.open(Access::Write, engine);
        run(
            &mut target,
            threads("[t]\nrw=trim\nbs=1m\nsize=2m\n", Bytes(4 * MIB)),
        );
        let after = std::fs::read(&scratch.0).unwrap();
        assert!(after[..2 * MIB as usize].iter().all(|b| *b == 0));
        assert!(after[2 * MIB as usize..].iter().any(|b| *b != 0));
        std::fs::OpenOptions::new()
            .write(true)
            .open(&scratch.0)
            .unwrap()
            .set_len(3 * MIB)
            .unwrap();
        let mut all = threads("[r]\nrw=read\nbs=1m\niodepth=2\n", Bytes(4 * MIB));
        all[0].on_error = OnError::Continue;
        let outcome = run(&mut target, all);
        assert_eq!(operations(&outcome, Direction::Read), 3);
        assert_eq!(outcome.groups[0].errors.len(), 1);
    }
}

/// Reads at a fixed rate, each due at its place in the schedule.
#[test]
fn a_rate_is_kept_and_latency_counts_from_when_an_operation_was_due() {
    for (engine, name) in ENGINES.into_iter().zip(["rate-uring", "rate-blocking"]) {
        let scratch = Scratch::made(name, MIB);
        let mut target = scratch.open(Access::Read, engine);
        let pacing = Pacing {
            iodepth: 4,
            read_limit: RateLimit::OpsPerSecond(1000),
            ..Pacing::default()
        };
        let source = Generator::new(
            &JobFile::parse(
                "r",
                "[r]\nrw=randread\nbs=4k\nnorandommap\nnumber_ios=200\n",
            )
            .unwrap()
            .jobs[0],
            0,
            Bytes(MIB),
            1,
        );
        let outcome = run(
            &mut target,
            vec![Thread::new(Box::new(source.unwrap()), pacing, 0)],
        );
        let record = outcome.groups[0].record.direction(Direction::Read).unwrap();
        assert_eq!(record.operations, 200);
        let took = outcome.groups[0].runtime();
        // The last is due after 199 ms; a busy machine may be late, but never early.
        assert!(took >= Nanos::from_millis(199), "{took}");
        assert!(took < Nanos::from_secs(3), "{took}");
        let service = record.service.as_ref().unwrap();
        assert!(service.sum_ns() <= record.latency.sum_ns());
    }
}

/// The runner's loop over one target, as with logs: tags beyond the forecast, operations longer than the forecast, and
/// misaligned ones.
#[test]
fn more_than_was_foretold_is_served() {
    let scratch = Scratch::made("foretold", 4 * MIB);
    for engine in ENGINES {
        let mut target = scratch.open(Access::Write, engine);
        target
            .prepare(&Load {
                batch: 1,
                depth: 2,
                largest: 4096,
            })
            .unwrap();
        let request = |tag: u32, kind, offset: u64, length| Request {
            tag,
            kind,
            offset: Bytes(offset),
            length,
            durable: false,
            thread: 0,
        };
        for tag in 0..40 {
            let kind = if tag % 2 == 0 {
                OpKind::Read
            } else {
                OpKind::Write
            };
            target
                .submit(request(tag, kind, u64::from(tag) * 65_536, 65_536))
                .unwrap();
        }
        target.submit(request(40, OpKind::Read, 100, 512)).unwrap();
        let mut replies: Vec<Reply> = Vec::new();
        while replies.len() < 41 {
            let until = target.now() + Nanos::from_secs(1);
            target.wait(until, &mut replies).unwrap();
        }
        let mut tags: Vec<u32> = replies.iter().map(|r| r.tag).collect();
        tags.sort_unstable();
        assert_eq!(tags, (0..41).collect::<Vec<_>>());
        for reply in &replies {
            assert_eq!(reply.outcome == Outcome::Done, reply.tag < 40, "{reply:?}");
            assert!(reply.completed >= reply.submitted);
        }
        // Without outstanding operations, the wait sleeps until its end, or returns at once if there is no end.
        let until = target.now() + Nanos::from_millis(3);
        target.wait(until, &mut replies).unwrap();
        assert!(target.now() >= until);
        target.wait(Nanos::MAX, &mut replies).unwrap();
        assert_eq!(replies.len(), 41);
    }
}

/// Reads without end.
struct Endless;

impl OpSource for Endless {
    fn next_op(&mut self) -> Option<TimedOp> {
        let op = Op {
            kind: OpKind::Read,
            offset: Bytes::ZERO,
            length: 4096,
        };
        Some(TimedOp { op, due: None })
    }
}

#[test]
fn a_stop_ends_all_threads_and_keeps_what_was_measured() {
    let scratch = Scratch::made("stop", MIB);
    for engine in ENGINES {
        let mut target = scratch.open(Access::Read, engine);
        let all = (0..3)
            .map(|_| {
                Thread::new(
                    Box::new(Endless),
                    Pacing {
                        iodepth: 4,
                        ..Pacing::default()
                    },
                    0,
                )
            })
            .collect();
        let begin = std::time::Instant::now();
        let stop = || begin.elapsed().as_millis() > 200;
        let outcome = run_group(&mut target, all, None, &mut (), &stop).unwrap();
        adds_up(&outcome);
        assert_eq!(outcome.ending, Ending::Interrupted);
        assert!(operations(&outcome, Direction::Read) > 0);
        assert!(begin.elapsed().as_secs() < 5);
    }
}

#[test]
fn a_processor_that_does_not_exist_is_an_error_and_not_a_hang() {
    let scratch = Scratch::made("pin", MIB);
    let mut target = scratch.open(Access::Read, EngineChoice::Uring);
    let mut all: Vec<Thread> = threads("[r]\nrw=read\nbs=4k\nnumjobs=2\n", Bytes(MIB));
    all[1].cpus = vec![1023];
    let outcome = run(&mut target, all);
    assert!(matches!(&outcome.ending, Ending::Failed(why) if why.contains("cpus_allowed")));
    assert_eq!(operations(&outcome, Direction::Read), 0);
}
