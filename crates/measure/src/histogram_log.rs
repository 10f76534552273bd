//! Lines of fio's histogram logs (`write_hist_log`): number of completion latencies in each of fio's bins since the
//! previous line.

use nandscope_units::Nanos;

const BITS: u32 = 6;
const PER_GROUP: usize = 1 << BITS;
const GROUPS: usize = 29;
const BINS: usize = GROUPS * PER_GROUP;

/// The bin of a latency, as in fio's `plat_val_to_idx`: exact below 128 ns, then 64 bins for each doubling.
fn bin(latency: Nanos) -> usize {
    let ns = latency.0;
    let highest = 63 - (ns | 1).leading_zeros();
    if highest <= BITS {
        return ns as usize;
    }
    let dropped = highest - BITS;
    let base = (dropped as usize + 1) << BITS;
    let offset = (ns >> dropped) as usize & (PER_GROUP - 1);
    (base + offset).min(BINS - 1)
}

/// The histogram log of one direction of a thread.
#[derive(Clone, Debug)]
pub struct HistogramLog {
    interval: Nanos,
    stride: usize,
    bins: Vec<u64>,
    /// When the present interval began.
    since: Option<Nanos>,
    /// Time of each line, and its counts.
    lines: Vec<(Nanos, Vec<u64>)>,
}

impl HistogramLog {
    /// A log with one line per `interval`, in which groups of 2^`coarseness` bins (at most 2^6) are summed.
    #[must_use]
    pub fn new(interval: Nanos, coarseness: u32) -> Self {
        HistogramLog {
            interval,
            stride: 1 << coarseness.min(BITS),
            bins: vec![0; BINS],
            since: None,
            lines: Vec::new(),
        }
    }

    /// Counts a latency. As in fio, the first operation after the end of an interval ends it and belongs to it.
    pub fn record(&mut self, at: Nanos, latency: Nanos) {
        self.bins[bin(latency)] += 1;
        let since = *self.since.get_or_insert(at);
        if self.interval.is_zero() || at.saturating_sub(since) < self.interval {
            return;
        }
        let counts = self.bins.chunks(self.stride).map(|part| part.iter().sum());
        self.lines.push((at, counts.collect()));
        self.bins.fill(0);
        self.since = Some(since + self.interval);
    }

    /// Lines in order of time, each with its time, in fio's format, for this direction and a largest block of `block`
    /// bytes.
    pub fn lines(&self, direction: u8, block: u32) -> impl Iterator<Item = (Nanos, String)> {
        self.lines.iter().map(move |(at, counts)| {
            let counts: Vec<String> = counts.iter().map(u64::to_string).collect();
            let ms = at.0 / 1_000_000;
            (
                *at,
                format!("{ms}, {direction}, {block}, {}\n", counts.join(", ")),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of fio's own function.
    #[test]
    fn bins_are_those_of_fio() {
        let cases = [
            (0, 0),
            (63, 63),
            (127, 127),
            (128, 128),
            (129, 128),
            (255, 191),
            (256, 192),
            (1_000, 317),
            (u64::MAX, BINS - 1),
        ];
        for (ns, expected) in cases {
            assert_eq!(bin(Nanos(ns)), expected, "{ns}");
        }
    }

    #[test]
    fn an_interval_ends_with_the_first_operation_after_it() {
        let mut log = HistogramLog::new(Nanos::from_millis(300), 6);
        for ms in 1..=1_000 {
            log.record(Nanos::from_millis(ms), Nanos(100));
        }
        let lines: Vec<(Nanos, String)> = log.lines(1, 8192).collect();
        let starts: Vec<&str> = lines.iter().map(|(_, line)| &line[..20]).collect();
        assert_eq!(
            starts,
            [
                "301, 1, 8192, 0, 301",
                "601, 1, 8192, 0, 300",
                "901, 1, 8192, 0, 300"
            ]
        );
        assert_eq!(lines[0].1.split(", ").count(), 3 + GROUPS);
    }
}
