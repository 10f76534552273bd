//! Whether the wear per written byte is level.
//!
//! Samples of the second half of the measurement count, in four groups. Two things must hold: the groups agree, and the
//! trend through them changes little over as many bytes as fill the device. The second matters for a page-mapped device: after a
//! sequential fill, garbage collection approaches its steady state while the host writes the capacity once or twice,
//! and a short part of that looks level. A card has no such memory: it merges units as it reopens them.

use nandscope_device::Counters;
use nandscope_units::{Bytes, Nanos};

/// Cycles of superblocks (cards: allocation units) that a sample has at least. Four samples make 100, so that one more
/// or less changes the wear by 1 %.
pub(super) const LEAST_CYCLES: f64 = 25.0;
/// Groups of samples that must agree.
const GROUPS: usize = 4;
/// Range of the groups, as a share of their mean, and change of the trend over one filling, at which the wear is level.
const LEVEL: f64 = 0.05;

/// Wear and bytes of several rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    /// Cycles of superblocks.
    pub cycles: f64,
    /// Bytes of host and flash.
    pub counters: Counters,
    /// Time of the device.
    pub time: Nanos,
    /// Rounds of the workload.
    pub rounds: u32,
}

impl Sample {
    fn cycles_per_byte(&self) -> f64 {
        self.cycles / self.counters.host_written.0.max(1) as f64
    }

    /// Programmed bytes per byte of the host. In the steady state blocks are erased as fast as they are programmed, and
    /// bytes are not rounded to blocks.
    fn amplification(&self) -> f64 {
        self.counters.flash_programmed.0 as f64 / self.counters.host_written.0.max(1) as f64
    }

    fn with(self, other: &Sample) -> Sample {
        Sample {
            cycles: self.cycles + other.cycles,
            counters: sum(&self.counters, &other.counters),
            time: self.time + other.time,
            rounds: self.rounds + other.rounds,
        }
    }
}

/// Samples since the beginning.
pub(super) struct Samples {
    all: Vec<Sample>,
    /// Bytes after which the device has forgotten how it began; `None` if it forgets at once.
    memory: Option<f64>,
}

impl Samples {
    pub(super) fn new(memory: Option<f64>) -> Self {
        Samples {
            all: Vec::new(),
            memory,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn push(&mut self, sample: Sample) {
        self.all.push(sample);
    }

    /// The samples that count: the last four at least, and those of the second half.
    fn window(&self) -> &[Sample] {
        let first = (self.all.len() / 2).min(self.all.len().saturating_sub(GROUPS));
        &self.all[first..]
    }

    /// Everything in the samples that count.
    pub(super) fn counted(&self) -> Sample {
        merged(self.window())
    }

    fn groups(&self) -> Vec<Sample> {
        let window = self.window();
        let bounds = |g: usize| g * window.len() / GROUPS;
        let group = |g| merged(&window[bounds(g)..bounds(g + 1)]);
        (0..GROUPS).map(group).filter(|s| s.rounds > 0).collect()
    }

    /// Range of the groups as a share of their mean, of programmed bytes or cycles, whichever is more. Cycles are whole
    /// numbers, so one cycle at either end of a group is not counted as a difference.
    pub(super) fn range(&self) -> f64 {
        let groups = self.groups();
        let cycles = groups
            .iter()
            .map(|s| s.cycles)
            .fold(f64::INFINITY, f64::min);
        let rounding = 2.0 / cycles.max(1.0);
        let worn = range(groups.iter().map(Sample::cycles_per_byte));
        range(groups.iter().map(Sample::amplification)).max(worn - rounding)
    }

    /// Change of the write amplification over one filling of the device, as a share, at the trend through the groups.
    fn drift(&self) -> f64 {
        let Some(memory) = self.memory else {
            return 0.0;
        };
        let groups = self.groups();
        let whole = merged(&groups);
        let mean = whole.amplification();
        let each = whole.counters.host_written.0.max(1) as f64 / groups.len().max(1) as f64;
        let middle = (groups.len() as f64 - 1.0) / 2.0;
        let (mut up, mut square) = (0.0, 0.0);
        for (i, group) in groups.iter().enumerate() {
            let x = i as f64 - middle;
            up += x * group.amplification();
            square += x * x;
        }
        match mean > 0.0 && square > 0.0 {
            true => (up / square / mean * memory / each).abs(),
            false => 0.0,
        }
    }

    /// Whether the wear is level in the samples that count.
    pub(super) fn is_level(&self) -> bool {
        self.all.len() >= GROUPS && self.range() <= LEVEL && self.drift() <= LEVEL
    }
}

fn merged(samples: &[Sample]) -> Sample {
    samples.iter().fold(Sample::default(), Sample::with)
}

/// Range of values as a share of their mean.
fn range(all: impl Iterator<Item = f64>) -> f64 {
    let (mut least, mut most, mut total, mut count) = (f64::INFINITY, 0.0_f64, 0.0, 0.0);
    for value in all {
        least = least.min(value);
        most = most.max(value);
        total += value;
        count += 1.0;
    }
    match total > 0.0 {
        true => (most - least) / (total / count),
        false => 0.0,
    }
}

/// The counters that the causes need, added.
pub(super) fn sum(a: &Counters, b: &Counters) -> Counters {
    let add = |a: Bytes, b: Bytes| Bytes(a.0.saturating_add(b.0));
    Counters {
        host_written: add(a.host_written, b.host_written),
        flash_programmed: add(a.flash_programmed, b.flash_programmed),
        gc_writes: add(a.gc_writes, b.gc_writes),
        folded: add(a.folded, b.folded),
        refreshed: add(a.refreshed, b.refreshed),
        metadata: add(a.metadata, b.metadata),
        padding: add(a.padding, b.padding),
        parity: add(a.parity, b.parity),
        erases: a.erases.saturating_add(b.erases),
        ..*b
    }
}
