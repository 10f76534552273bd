//! Rates below which a thread is ended: fio's `rate_min` and `rate_iops_min`.

use nandscope_units::Nanos;
use nandscope_workload::LowestRates;

/// Time before which rates are not judged, as in fio.
const SETTLES: Nanos = Nanos::from_secs(2);

/// Watches the rates of one thread, by direction.
#[derive(Clone, Debug)]
pub(super) struct Watch {
    bounds: LowestRates,
    start: Nanos,
    /// Bytes and operations so far.
    done: [(u64, u64); 3],
    /// Bytes, operations and time at the last check, by direction.
    last: [Option<(u64, u64, Nanos)>; 3],
}

impl Watch {
    /// A watch that begins at `start`; `None` without a limit.
    pub(super) fn new(bounds: LowestRates, start: Nanos) -> Option<Watch> {
        let any = bounds
            .bytes
            .iter()
            .chain(&bounds.operations)
            .any(|n| *n > 0);
        any.then_some(Watch {
            bounds,
            start,
            done: [(0, 0); 3],
            last: [None; 3],
        })
    }

    /// Counts a finished operation of a direction; returns the reason if that direction is too slow.
    pub(super) fn finished(&mut self, direction: usize, bytes: u64, now: Nanos) -> Option<String> {
        let done = self.done.get_mut(direction)?;
        done.0 += bytes;
        done.1 += 1;
        let (bytes, operations) = *done;
        let (lowest_bytes, lowest_operations) = (
            self.bounds.bytes[direction],
            self.bounds.operations[direction],
        );
        if now.saturating_sub(self.start) < SETTLES || lowest_bytes + lowest_operations == 0 {
            return None;
        }
        if let Some((bytes_before, operations_before, at)) = self.last[direction] {
            let passed = now.saturating_sub(at);
            if passed < self.bounds.cycle || passed.is_zero() {
                return None;
            }
            let per_second = |n: u64| (n as f64 / passed.as_secs_f64()) as u64;
            let rate = per_second(bytes - bytes_before);
            if rate < lowest_bytes {
                return Some(format!(
                    "{rate} bytes per second are below its rate_min of {lowest_bytes}"
                ));
            }
            let rate = per_second(operations - operations_before);
            if lowest_bytes == 0 && rate < lowest_operations {
                return Some(format!(
                    "{rate} operations per second are below its rate_iops_min of {lowest_operations}"
                ));
            }
        }
        self.last[direction] = Some((bytes, operations, now));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slow_after(seconds: u64, operations: &[u64]) -> Option<u64> {
        let bounds = LowestRates {
            operations: [50, 0, 0],
            ..LowestRates::default()
        };
        let mut watch = Watch::new(bounds, Nanos::ZERO).unwrap();
        for second in 0..seconds {
            let rate = operations[(second as usize).min(operations.len() - 1)];
            for i in 1..=rate {
                let now = Nanos(second * 1_000_000_000 + i * 1_000_000_000 / rate);
                if watch.finished(0, 512, now).is_some() {
                    return Some(second + 1);
                }
            }
        }
        None
    }

    /// fio 3.33 ends `rate_iops_min=50 thinktime=100ms` after 3 s.
    #[test]
    fn a_rate_below_the_bound_ends_the_job_after_it_has_settled() {
        assert_eq!(slow_after(9, &[10]), Some(3));
        assert_eq!(slow_after(9, &[60]), None);
        assert_eq!(slow_after(9, &[10, 10, 60]), None, "slow only at first");
    }
}
