//! Random offsets of one direction: the block of the region, by the job's distribution.

use super::{Normal, Pareto, Random, Scatter, Zipf};
use crate::job::{Distribution, Extent};

/// Chooses blocks of a region.
#[derive(Clone, Debug)]
pub struct Offsets {
    blocks: u64,
    choice: Choice,
}

#[derive(Clone, Debug)]
enum Choice {
    Uniform,
    Zipf(Zipf, Scatter),
    Pareto(Pareto, Scatter),
    Normal(Normal, Scatter),
    Zones(Vec<Span>),
}

/// A zone in blocks, and the cumulative percentage of accesses up to its end.
#[derive(Clone, Copy, Debug)]
struct Span {
    below: u64,
    first: u64,
    blocks: u64,
}

impl Offsets {
    /// Offsets in a region of `blocks` blocks of `align` bytes; `heat` places the hottest block unless the job does.
    pub fn new(distribution: &Distribution, blocks: u64, align: u64, heat: &mut Random) -> Self {
        let blocks = blocks.max(1);
        let mut scatter = |centre: Option<f64>| {
            let first = match centre {
                Some(share) => (share.clamp(0.0, 1.0) * (blocks - 1) as f64) as u64,
                None => heat.below(blocks),
            };
            Scatter::new(blocks, first)
        };
        let choice = match distribution {
            Distribution::Uniform => Choice::Uniform,
            Distribution::Zipf { theta, centre } => {
                Choice::Zipf(Zipf::new(blocks, *theta), scatter(*centre))
            }
            Distribution::Pareto { h, centre } => {
                Choice::Pareto(Pareto::new(blocks, *h), scatter(*centre))
            }
            Distribution::Normal { deviation, centre } => {
                let deviation = (deviation / 100.0).clamp(0.0, 1.0);
                Choice::Normal(Normal::new(blocks, 0.5, deviation), scatter(*centre))
            }
            Distribution::Zoned(zones) => {
                let mut spans = Vec::with_capacity(zones.len());
                let (mut below, mut end) = (0, 0);
                for zone in zones {
                    let first = end / align;
                    end += zone.extent.of(blocks * align);
                    let last = (end / align).min(blocks);
                    below += u64::from(zone.access);
                    spans.push(Span {
                        below,
                        first: first.min(blocks - 1),
                        blocks: last.saturating_sub(first).max(1),
                    });
                }
                Choice::Zones(spans)
            }
        };
        Offsets { blocks, choice }
    }

    /// Number of blocks, at least 1.
    pub(super) fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Whether all blocks have equal probability.
    pub fn is_uniform(&self) -> bool {
        matches!(self.choice, Choice::Uniform)
    }

    /// Bytes that zones of absolute size take; zero for other distributions.
    pub fn absolute_bytes(distribution: &Distribution) -> u64 {
        match distribution {
            Distribution::Zoned(zones) => zones
                .iter()
                .map(|z| match z.extent {
                    Extent::Bytes(bytes) => bytes.0,
                    Extent::Percent(_) => 0,
                })
                .fold(0, u64::saturating_add),
            _ => 0,
        }
    }

    /// A block, below the number of blocks.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> u64 {
        match &self.choice {
            Choice::Uniform => random.below(self.blocks),
            Choice::Zipf(zipf, scatter) => scatter.block(zipf.rank(random)),
            Choice::Pareto(pareto, scatter) => scatter.block(pareto.rank(random)),
            Choice::Normal(normal, scatter) => scatter.block(normal.block(random)),
            Choice::Zones(spans) => {
                let v = random.below(100);
                let span = spans.iter().find(|s| v < s.below);
                span.map_or(0, |s| s.first + random.below(s.blocks))
            }
        }
    }
}
