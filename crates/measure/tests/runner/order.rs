//! Order and time in which operations reach the target.

use super::*;

#[test]
fn a_flush_waits_for_earlier_writes_and_holds_back_later_operations() {
    use OpKind::{Flush, Read, Write};
    let mut target = Log::new(8, Nanos(100));
    let ops = [Write, Write, Write, Flush, Write, Read, Flush, Flush, Write];
    let source = list(ops.iter().map(|&k| op(k)).collect());
    let outcome = run(&mut target, vec![Thread::new(source, depth(8), 0)]);
    let expected = [
        (0, Write),
        (0, Write),
        (0, Write),
        (100, Flush),
        (200, Write),
        (200, Read),
        (300, Flush),
        (400, Flush),
        (500, Write),
    ];
    let seen = target.seen.iter().map(|(at, kind, _)| (at.0, *kind));
    assert!(seen.eq(expected), "{:?}", target.seen);
    assert_eq!(only(&outcome, Direction::Flush).operations, 3);
    assert_eq!(only(&outcome, Direction::Flush).bytes, Bytes::ZERO);
}

#[test]
fn traces_keep_their_times_within_the_cap() {
    let mut target = Log::new(1, Nanos(10));
    let at = |ns| TimedOp {
        due: Some(Nanos(ns)),
        ..op(OpKind::Read)
    };
    let pacing = Pacing {
        idle_cap: Some(Nanos(100)),
        ..depth(4)
    };
    let source = list(vec![at(0), at(50), at(10_000), at(10_001)]);
    let outcome = run(&mut target, vec![Thread::new(source, pacing, 0)]);
    let times: Vec<u64> = target.seen.iter().map(|s| s.0.0).collect();
    assert_eq!(times, [0, 50, 150, 151]);
    // The last waited for the server: 151 to 170.
    assert_eq!(only(&outcome, Direction::Read).latency.max(), Nanos(19));
}
