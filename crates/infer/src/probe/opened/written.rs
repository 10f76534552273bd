//! Sequential writes and their times.

use crate::probe::Probing;
use crate::probe::writes::{PIECE, TOGETHER};
use crate::quantile::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Length of a long write, bytes: no page is longer.
pub(super) const LONG: u64 = 512 << 10;
/// Number of writes between two evaluations of the times.
pub(super) const LOOK: usize = 128;
/// Number of writes after a jump that do not count, because they close older AUs.
pub(super) const JUMP: usize = 2;

/// Times of sequential writes, s.
pub(super) struct Written {
    pub(super) begin: u64,
    pub(super) length: u64,
    pub(super) times: Vec<f64>,
}

pub(super) fn write<T: Target>(
    probing: &mut Probing<'_, T>,
    begin: &mut u64,
    (length, most): (u64, u64),
    end: Nanos,
    settled: impl Fn(&[f64]) -> bool,
) -> Result<Written, ProbeError> {
    let mut written = Written {
        begin: *begin,
        length,
        times: Vec::new(),
    };
    let whole = probing.target.whole().0;
    let keep = probing.kept;
    while (written.times.len() as u64) * length < most {
        let spent = probing.target.now() >= end || probing.writes_left() < keep + length;
        if spent || *begin + length > whole {
            break;
        }
        let at = Bytes(*begin);
        let took = probing.timed(|p| p.write(at, Bytes(length)))?;
        written.times.push(took.as_secs_f64());
        *begin += length;
        let looks = written.times.len() / LOOK;
        let look =
            written.times.len().is_multiple_of(LOOK) && (looks.is_multiple_of(4) || looks < 4);
        if look && settled(&written.times) {
            break;
        }
    }
    Ok(written)
}

impl Written {
    pub(super) fn none(begin: u64, length: u64) -> Self {
        Written {
            begin,
            length,
            times: Vec::new(),
        }
    }

    /// Writes of [`PIECE`] from the start of the target at a queue depth: the first write of a batch does not wait for others, so
    /// every position in a batch is normalized to the common level.
    pub(super) fn earlier(gaps: &[f64]) -> Self {
        let levels: Vec<f64> = (0..TOGETHER)
            .map(|place| {
                let same = gaps.iter().skip(place).step_by(TOGETHER).copied();
                median(&same.collect::<Vec<f64>>())
            })
            .collect();
        let level = median(gaps);
        let times = gaps.iter().enumerate();
        Written {
            begin: 0,
            length: PIECE,
            times: times
                .map(|(i, t)| t - levels[i % TOGETHER] + level)
                .collect(),
        }
    }

    pub(super) fn end(&self) -> u64 {
        self.begin + self.times.len() as u64 * self.length
    }

    /// Appends shorter writes that continue these, summed up to the same length.
    pub(super) fn join(&mut self, shorter: &Written) {
        let together = (self.length / shorter.length.max(1)).max(1) as usize;
        let whole = self.length.is_multiple_of(shorter.length.max(1))
            && shorter.times.len().is_multiple_of(together);
        if whole && shorter.begin == self.end() {
            let sums = shorter.times.chunks(together).map(|c| c.iter().sum());
            let sums: Vec<f64> = sums.collect();
            self.times = self.with(&sums).times;
        }
    }

    /// These writes and later ones of the same length that continue them, shifted to the level of the later ones.
    pub(super) fn with(&self, later: &[f64]) -> Written {
        let rise = match self.times.is_empty() || later.is_empty() {
            true => 0.0,
            false => median(later) - median(&self.times),
        };
        let before = self.times.iter().map(|t| t + rise);
        Written {
            begin: self.begin,
            length: self.length,
            times: before.chain(later.iter().copied()).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_of_several_kinds_are_brought_to_one_level() {
        // The first write of a batch does not wait for others.
        let gaps: Vec<f64> = (0..64)
            .map(|i| if i % TOGETHER == 0 { 12.0 } else { 10.0 })
            .collect();
        let mut all = Written::earlier(&gaps);
        assert!(all.times.iter().all(|t| (t - 10.0).abs() < 1e-9));
        let short = Written {
            begin: all.end(),
            length: PIECE / 16,
            times: vec![1.0; 32],
        };
        all.join(&short);
        assert_eq!((all.times.len(), all.times[0]), (66, 16.0));
        // Writes that do not continue the series, or do not add up to whole ones, are ignored.
        all.join(&short);
        assert_eq!(all.times.len(), 66);
        assert_eq!(all.with(&[20.0, 20.0]).times[..2], [20.0, 20.0]);
    }
}
