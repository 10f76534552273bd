//! Due times of operations: rate limits and the times of traces.
//!
//! A schedule is an open loop: it continues whether or not the target keeps up, so that a stall makes operations late
//! instead of making them disappear (coordinated omission). It neither waits nor issues operations.

use nandscope_units::Nanos;
use nandscope_workload::{Arrivals, OpKind, Pace, Pacing, RateLimit, TimedOp};

const NANOS_PER_SECOND: u128 = 1_000_000_000;
const READ: usize = 0;
const WRITE: usize = 1;
const TRIM: usize = 2;

/// The schedule of one thread.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    base: Nanos,
    limits: [RateLimit; 3],
    /// Bytes or operations scheduled so far, in the unit of the limit.
    spent: [u64; 3],
    /// For random arrivals: the process of each direction and its next arrival.
    arrivals: Option<[(Arrivals, Nanos); 3]>,
    idle_cap: Option<Nanos>,
    /// Recorded time of the previous operation of the trace; then its scheduled time.
    trace_raw: Nanos,
    trace_due: Nanos,
}

impl Schedule {
    /// A schedule that begins at `base`.
    pub(super) fn new(pacing: &Pacing, base: Nanos) -> Self {
        Schedule {
            base,
            limits: [pacing.read_limit, pacing.write_limit, pacing.trim_limit],
            spent: [0; 3],
            arrivals: pacing
                .arrivals
                .map(|seed| [0, 1, 2].map(|direction| (Arrivals::new(seed, direction), base))),
            idle_cap: pacing.idle_cap,
            trace_raw: Nanos::ZERO,
            trace_due: base,
        }
    }

    /// Whether no direction is limited.
    pub(super) fn is_free(&self) -> bool {
        self.limits == [RateLimit::Unlimited; 3]
    }

    /// Moves all future due times.
    pub(super) fn shift(&mut self, by: Nanos) {
        self.base += by;
        for (_, next) in self.arrivals.iter_mut().flatten() {
            *next += by;
        }
    }

    /// Due time of the next operation; `None` if only the target's speed decides. Each direction has its own schedule;
    /// the operations of a trace stay in order.
    #[inline]
    pub(super) fn due(&mut self, next: &TimedOp) -> Option<Nanos> {
        let rated = self.rated(next);
        let traced = next.due.map(|raw| self.traced(raw));
        rated.max(traced)
    }

    /// Earliest time of the next operation of each direction; `None` unless reads or writes are limited.
    pub(super) fn pace(&self, now: Nanos) -> Option<Pace> {
        let [read, write, _] = self.limits;
        let limited = read != RateLimit::Unlimited || write != RateLimit::Unlimited;
        limited.then(|| Pace {
            now,
            read: self.place(READ).unwrap_or(Nanos::ZERO),
            write: self.place(WRITE).unwrap_or(Nanos::ZERO),
        })
    }

    /// Next time in the schedule of a direction; `None` without a limit.
    #[inline]
    fn place(&self, direction: usize) -> Option<Nanos> {
        let per_second = match self.limits[direction] {
            RateLimit::Unlimited => return None,
            RateLimit::BytesPerSecond(rate) | RateLimit::OpsPerSecond(rate) => rate,
        };
        if let Some(arrivals) = &self.arrivals {
            return Some(arrivals[direction].1);
        }
        // A rate of zero is refused before the run.
        let after =
            u128::from(self.spent[direction]) * NANOS_PER_SECOND / u128::from(per_second.max(1));
        Some(self.base + Nanos(u64::try_from(after).unwrap_or(u64::MAX)))
    }

    #[inline]
    fn rated(&mut self, next: &TimedOp) -> Option<Nanos> {
        let direction = match next.op.kind {
            OpKind::Read => READ,
            OpKind::Write => WRITE,
            OpKind::Trim => TRIM,
            OpKind::Flush => return None,
        };
        let place = self.place(direction)?;
        let cost = match self.limits[direction] {
            RateLimit::BytesPerSecond(_) => u64::from(next.op.length),
            RateLimit::OpsPerSecond(_) | RateLimit::Unlimited => 1,
        };
        self.spent[direction] = self.spent[direction].saturating_add(cost);
        if let (Some(arrivals), RateLimit::BytesPerSecond(rate) | RateLimit::OpsPerSecond(rate)) =
            (&mut self.arrivals, self.limits[direction])
        {
            let mean = u128::from(cost) * NANOS_PER_SECOND / u128::from(rate.max(1));
            let (process, next) = &mut arrivals[direction];
            *next += process.gap(Nanos(u64::try_from(mean).unwrap_or(u64::MAX)));
        }
        Some(place)
    }

    fn traced(&mut self, raw: Nanos) -> Nanos {
        let mut gap = raw.saturating_sub(self.trace_raw);
        if let Some(cap) = self.idle_cap {
            gap = gap.min(cap);
        }
        self.trace_raw = raw.max(self.trace_raw);
        self.trace_due += gap;
        self.trace_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_units::Bytes;
    use nandscope_workload::Op;

    fn op(kind: OpKind, length: u32, due: Option<u64>) -> TimedOp {
        TimedOp {
            op: Op {
                kind,
                offset: Bytes::ZERO,
                length,
            },
            due: due.map(Nanos),
        }
    }

    #[test]
    fn no_limit_is_no_schedule() {
        let mut s = Schedule::new(&Pacing::default(), Nanos(5));
        assert_eq!(s.due(&op(OpKind::Read, 512, None)), None);
    }

    #[test]
    fn bytes_per_second_without_drift() {
        let pacing = Pacing {
            write_limit: RateLimit::BytesPerSecond(3 * 4096),
            ..Pacing::default()
        };
        let mut s = Schedule::new(&pacing, Nanos::from_secs(1));
        let dues: Vec<u64> = (0..7)
            .filter_map(|_| s.due(&op(OpKind::Write, 4096, None)))
            .map(|n| n.0)
            .collect();
        assert_eq!(dues[3], 2_000_000_000);
        assert_eq!(dues[6], 3_000_000_000);
        assert_eq!(s.due(&op(OpKind::Flush, 0, None)), None);
    }

    #[test]
    fn arrivals_at_random_have_the_mean_and_the_spread_of_their_process() {
        let pacing = Pacing {
            read_limit: RateLimit::OpsPerSecond(1_000),
            arrivals: Some(7),
            ..Pacing::default()
        };
        let mut s = Schedule::new(&pacing, Nanos::ZERO);
        let dues: Vec<f64> = (0..20_001)
            .filter_map(|_| s.due(&op(OpKind::Read, 512, None)))
            .map(|due| due.as_secs_f64() * 1e3)
            .collect();
        let gaps: Vec<f64> = dues.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let square = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>();
        let deviation = (square / gaps.len() as f64).sqrt();
        // Mean and standard deviation of an exponential distribution are both 1 ms here; the limit is four standard
        // errors of 20,000 draws.
        assert!((mean - 1.0).abs() < 0.03, "{mean}");
        assert!((deviation - 1.0).abs() < 0.04, "{deviation}");
    }

    #[test]
    fn traces_keep_gaps_up_to_the_cap() {
        let pacing = Pacing {
            idle_cap: Some(Nanos(100)),
            ..Pacing::default()
        };
        let mut s = Schedule::new(&pacing, Nanos(1000));
        let raw = [0, 50, 5_000, 5_000, 5_030, 4_000, 4_010];
        let dues: Vec<_> = raw
            .iter()
            .map(|&t| s.due(&op(OpKind::Read, 512, Some(t))).unwrap().0)
            .collect();
        assert_eq!(dues, [1000, 1050, 1150, 1150, 1180, 1180, 1180]);
    }
}
