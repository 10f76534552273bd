//! How runs end: interruptions, errors, targets that fail.

use super::*;
use nandscope_measure::runner::ThreadFault;
use nandscope_result::StopReason;
use std::rc::Rc;

#[test]
fn an_interruption_keeps_what_was_measured() {
    let mut target = MockTarget::new(CAPACITY, 4, Nanos::from_micros(100));
    let calls = Cell::new(0);
    let stop = || {
        calls.set(calls.get() + 1);
        calls.get() > 1_000
    };
    let threads = vec![Thread::new(reads(1_000_000), depth(4), 0)];
    let outcome = run_group(&mut target, threads, None, &mut (), &stop).unwrap();
    intervals_add_up(&outcome);
    assert_eq!(outcome.ending, Ending::Interrupted);
    // An interrupted run waits for the operations in flight.
    assert_eq!(only(&outcome, Direction::Read).operations, 4_004);
    let step = step_result(&outcome, StepMeta::default(), &[JobMeta::new("j")]);
    assert_eq!(step.incomplete, Some(StopReason::Interrupted));
    let json = r#"{"format":"nandscope-result","version":1,"generator":"","procedure":"","title":"","seed":0,"target":{"name":"","kind":"","model":"","capacity_bytes":0},"complete":true,"steps":[]}"#;
    let mut document = nandscope_result::json::from_json(json, std::path::Path::new("t")).unwrap();
    nandscope_measure::build::add_step(&mut document, step, &outcome.notices);
    assert!(!document.complete);
}

#[test]
fn an_interruption_in_the_start_delay_ends_there() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos(10));
    let pacing = Pacing {
        start_delay: Nanos::from_secs(100),
        ..depth(1)
    };
    let calls = Cell::new(0);
    let stop = || {
        calls.set(calls.get() + 1);
        calls.get() > 20
    };
    let threads = vec![Thread::new(reads(5), pacing, 0)];
    let outcome = run_group(&mut target, threads, None, &mut (), &stop).unwrap();
    assert_eq!(outcome.ending, Ending::Interrupted);
    assert!(outcome.end < Nanos::from_secs(100));
    assert_eq!(outcome.groups[0].runtime(), Nanos::ZERO);
}

#[test]
fn a_stop_after_the_last_operation_was_issued_loses_nothing() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos(10));
    let issued_all = Cell::new(false);
    let stop = || issued_all.replace(true);
    let threads = vec![Thread::new(reads(5), depth(8), 0)];
    let outcome = run_group(&mut target, threads, None, &mut (), &stop).unwrap();
    assert_eq!(outcome.ending, Ending::Complete);
    assert_eq!(only(&outcome, Direction::Read).operations, 5);
}

#[test]
fn the_first_error_stops_a_thread_unless_it_is_to_go_on() {
    let target = || MockTarget::new(CAPACITY, 1, Nanos(10)).with_failures(10, "uncorrectable read");
    let outcome = run(&mut target(), vec![Thread::new(reads(100), depth(1), 0)]);
    assert_eq!(only(&outcome, Direction::Read).operations, 9);
    let Ending::Failed(why) = &outcome.ending else {
        panic!("{:?}", outcome.ending);
    };
    assert!(why.contains("read of 4096 bytes at byte 4096: uncorrectable read"));
    let mut thread = Thread::new(reads(100), depth(4), 0);
    thread.on_error = OnError::Continue;
    let outcome = run(&mut target(), vec![thread]);
    assert_eq!(outcome.ending, Ending::Complete);
    assert_eq!(only(&outcome, Direction::Read).operations, 90);
    let job = nandscope_measure::build::job_result(&outcome.groups[0], &JobMeta::new("j"));
    assert_eq!(job.errors["uncorrectable read"], 10);
}

#[test]
fn unsupported_trims_are_told_once() {
    let mut target = MockTarget::new(CAPACITY, 1, Nanos(10)).without(OpKind::Trim);
    let mut ops = vec![op(OpKind::Trim); 5];
    ops.push(op(OpKind::Write));
    let outcome = run(&mut target, vec![Thread::new(list(ops), depth(1), 0)]);
    assert_eq!(outcome.ending, Ending::Complete);
    assert_eq!(outcome.notices.len(), 1);
    assert!(outcome.notices[0].text.contains("does not support trim: 5"));
    assert!(
        outcome.groups[0]
            .record
            .direction(Direction::Trim)
            .is_none()
    );
    // A time-based trim job has nothing to measure and ends.
    let pacing = Pacing {
        time_based: true,
        runtime: Some(Nanos::from_secs(3600)),
        ..depth(1)
    };
    let trims = list(vec![op(OpKind::Trim); 5]);
    let outcome = run(&mut target, vec![Thread::new(trims, pacing, 0)]);
    assert!(outcome.end < Nanos::from_secs(1));
}

#[test]
fn impossible_operations_stop_the_thread() {
    let cases = [
        (4096, 100, "multiple of 512"),
        (100, 512, "multiple of 512"),
        (0, 0, "length is zero"),
        (CAPACITY.0, 512, "beyond the end"),
        (u64::MAX - 511, 512, "beyond the end"),
    ];
    for (offset, length, expected) in cases {
        let bad = TimedOp {
            op: Op {
                kind: OpKind::Write,
                offset: Bytes(offset),
                length,
            },
            due: None,
        };
        let mut target = NullTarget::new(CAPACITY);
        let mut thread = Thread::new(list(vec![bad]), depth(1), 0);
        thread.on_error = OnError::Continue;
        thread.pacing.time_based = true;
        thread.pacing.runtime = Some(Nanos::from_secs(1));
        let outcome = run(&mut target, vec![thread]);
        let why = outcome.ending.incomplete().unwrap().to_string();
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn a_target_that_vanishes_leaves_the_partial_result() {
    let mut target =
        MockTarget::new(CAPACITY, 2, Nanos::from_micros(100)).gone_at(Nanos::from_millis(10));
    let outcome = run(&mut target, vec![Thread::new(reads(1_000), depth(2), 0)]);
    assert_eq!(only(&outcome, Direction::Read).operations, 198);
    let why = outcome.ending.incomplete().unwrap().to_string();
    assert!(
        why.contains("gone") && why.contains("in flight that were lost: 2"),
        "{why}"
    );
}

/// A target that completes at once without advancing its clock.
struct Frozen(Vec<Reply>);

impl Target for Frozen {
    fn now(&self) -> Nanos {
        Nanos::ZERO
    }
    fn capacity(&self) -> Bytes {
        CAPACITY
    }
    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        self.0.push(Reply {
            tag: request.tag,
            submitted: Nanos::ZERO,
            completed: Nanos::ZERO,
            outcome: Outcome::Done,
        });
        Ok(())
    }
    fn wait(&mut self, _: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        replies.append(&mut self.0);
        Ok(())
    }
    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}

#[test]
fn a_clock_that_stands_still_is_an_error_and_no_endless_run() {
    let pacing = Pacing {
        time_based: true,
        runtime: Some(Nanos(1)),
        ..depth(1)
    };
    let outcome = run(
        &mut Frozen(Vec::new()),
        vec![Thread::new(reads(10), pacing, 0)],
    );
    assert!(
        outcome
            .ending
            .incomplete()
            .unwrap()
            .as_str()
            .contains("has not advanced")
    );
}

#[test]
fn contradictions_are_refused_before_anything_is_issued() {
    let duty = |burst_bytes, busy_percent| Pacing {
        duty_cycle: Some(DutyCycle {
            burst_bytes,
            busy_percent,
        }),
        ..Pacing::default()
    };
    let cases = [
        (depth(0), ThreadFault::NoDepth),
        (duty(4096, 0), ThreadFault::DutyCycle(0)),
        (duty(4096, 101), ThreadFault::DutyCycle(101)),
        (duty(0, 20), ThreadFault::EmptyBursts),
        (
            Pacing {
                time_based: true,
                ..Pacing::default()
            },
            ThreadFault::Endless,
        ),
        (
            Pacing {
                write_limit: RateLimit::OpsPerSecond(0),
                ..Pacing::default()
            },
            ThreadFault::RateOfZero,
        ),
    ];
    for (pacing, expected) in cases {
        let threads = vec![
            Thread::new(reads(1), depth(1), 0),
            Thread::new(reads(1), pacing, 0),
        ];
        let mut target = NullTarget::new(CAPACITY);
        let error = run_group(&mut target, threads, None, &mut (), &|| false).unwrap_err();
        assert_eq!(error.thread, 1);
        assert_eq!(error.problem, expected);
    }
    let far = vec![Thread::new(reads(1), depth(1), usize::MAX)];
    let error = run_group(&mut NullTarget::new(CAPACITY), far, None, &mut (), &|| {
        false
    });
    let group = ThreadFault::NoSuchGroup {
        record: usize::MAX,
        threads: 1,
    };
    assert_eq!(error.unwrap_err().problem, group);
    let nothing = run(&mut NullTarget::new(CAPACITY), Vec::new());
    assert_eq!(nothing.ending, Ending::Complete);
}

#[test]
fn progress_rises_to_its_end() {
    struct Watch(Rc<Cell<(u32, f64)>>);
    impl Observer for Watch {
        fn progress(&mut self, progress: &Progress) {
            let (calls, last) = self.0.get();
            let share = progress.fraction.unwrap();
            assert!(share >= last && share <= 1.0);
            self.0.set((calls + 1, share));
        }
    }
    let seen = Rc::new(Cell::new((0, 0.0)));
    let mut target = MockTarget::new(CAPACITY, 1, Nanos::from_millis(1));
    let threads = vec![Thread::new(reads(10_000), depth(1), 0)];
    run_group(
        &mut target,
        threads,
        None,
        &mut Watch(seen.clone()),
        &|| false,
    )
    .unwrap();
    assert_eq!(seen.get(), (10, 1.0));
}
