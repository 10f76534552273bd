//! Recording as in the specification: recording units in order into allocation units, empty or half in use, and
//! file-system updates in between. Measures times; verdicts are elsewhere.

use super::class::{moved, performance};
use crate::probe::{Probe, ProbeError};
use nandscope_measure::target::Target;
use nandscope_units::{Bytes, Nanos};

/// Areas used for recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Areas {
    /// The allocation unit, bytes.
    pub unit: u64,
    /// Number of areas, each an allocation unit.
    pub count: u32,
    /// Start of the first area, bytes; a multiple of the unit.
    pub start: u64,
}

/// Bytes at the start of the device reserved for the file system.
const SYSTEM: u64 = 16 << 20;

impl Areas {
    /// Areas of the largest allocation unit that the specification allows a card of this capacity
    /// (§4.13.1.8: 512 KiB to 64 MB, 1 MiB to 256 MB, 2 MiB to 512 MB, 4 MiB to 32 GB, above 64 MiB);
    /// every smaller unit divides it.
    pub fn of_capacity(capacity: Bytes, count: u32) -> Areas {
        let unit = match capacity.0 {
            b if b <= 64 << 20 => 512 << 10,
            b if b <= 256 << 20 => 1 << 20,
            b if b <= 512 << 20 => 2 << 20,
            // A card of "32 GB" may be a little larger in binary figures, never by an eighth.
            b if b <= 36_000_000_000 => 4 << 20,
            _ => 64 << 20,
        };
        let start = SYSTEM.next_multiple_of(unit);
        let room = u32::try_from(capacity.0.saturating_sub(start) / unit).unwrap_or(u32::MAX);
        Areas {
            unit,
            count: count.min(room),
            start,
        }
    }

    fn check(&self, recording_unit: u64) -> Result<(), ProbeError> {
        let fits = recording_unit > 0 && self.unit.is_multiple_of(recording_unit);
        if self.count == 0 || !fits {
            return Err(ProbeError::Failed(format!(
                "{} areas of {} in recording units of {} bytes cannot be recorded; the device is too small",
                self.count,
                Bytes(self.unit),
                recording_unit
            )));
        }
        Ok(())
    }

    fn units(&self, recording_unit: u64) -> u32 {
        u32::try_from(self.unit / recording_unit).unwrap_or(u32::MAX)
    }
}

/// Writes of a recording over time: end on the clock of the target in seconds, duration in seconds, and bytes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimeLine(pub Vec<(f64, f64, u64)>);

impl TimeLine {
    /// Most samples of an area; of more writes, neighbours become one.
    const SAMPLES: usize = 64;

    /// Writes of one area, joined to at most [`TimeLine::SAMPLES`].
    fn of_area(writes: &[(f64, f64, u64)]) -> TimeLine {
        let together = writes.len().div_ceil(TimeLine::SAMPLES).max(1);
        let sample = |some: &[(f64, f64, u64)]| {
            let end_s = some.last().map_or(0.0, |w| w.0);
            let spent_s = some.iter().map(|w| w.1).sum();
            (end_s, spent_s, some.iter().map(|w| w.2).sum())
        };
        TimeLine(writes.chunks(together).map(sample).collect())
    }
}

/// Results of sequential recording into areas without valid data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unfragmented {
    /// Rate in each area, bytes per second.
    pub areas: Vec<f64>,
    /// Longest write of a recording unit, seconds.
    pub busy_s: f64,
    /// The writes that count.
    pub time_line: TimeLine,
}

impl Unfragmented {
    /// Rate in the slowest area, bytes per second.
    pub fn least(&self) -> f64 {
        let least = self.areas.iter().copied().reduce(f64::min);
        least.unwrap_or(0.0)
    }
}

/// Records all areas in order, twice; the second time counts. By then, the card has finished earlier background work:
/// the specification allows a second for it at the start of a recording (CMD20), which hosts behind card readers cannot
/// send.
///
/// # Errors
/// [`ProbeError::Failed`] if the areas do not fit or a write fails, [`ProbeError::Stopped`] if it was interrupted.
pub fn unfragmented<T: Target>(
    probe: &mut Probe<'_, T>,
    areas: &Areas,
    recording_unit: u64,
) -> Result<Unfragmented, ProbeError> {
    areas.check(recording_unit)?;
    let mut result = Unfragmented::default();
    let units = areas.units(recording_unit);
    for number in 0..2 * areas.count {
        probe.progress(f64::from(number) / f64::from(2 * areas.count));
        let base = areas.start + u64::from(number % areas.count) * areas.unit;
        let area = record(probe, base, recording_unit, 0..units)?;
        if number >= areas.count {
            result.areas.push(area.rate);
            result.busy_s = result.busy_s.max(area.busy_s);
            result.time_line.0.extend(area.time_line.0);
        }
    }
    Ok(result)
}

/// The recording of one area.
struct Recorded {
    /// Bytes per second.
    rate: f64,
    /// Longest write, seconds.
    busy_s: f64,
    time_line: TimeLine,
}

/// Writes the given recording units of an area.
fn record<T: Target>(
    probe: &mut Probe<'_, T>,
    base: u64,
    recording_unit: u64,
    units: impl IntoIterator<Item = u32>,
) -> Result<Recorded, ProbeError> {
    let (mut spent, mut busy, mut bytes) = (Nanos::ZERO, Nanos::ZERO, 0_u64);
    let mut writes = Vec::new();
    for number in units {
        let offset = base + u64::from(number) * recording_unit;
        let took = probe.write(Bytes(offset), Bytes(recording_unit))?;
        spent += took;
        busy = busy.max(took);
        bytes += recording_unit;
        let end_s = probe.now().as_secs_f64();
        writes.push((end_s, took.as_secs_f64(), recording_unit));
    }
    Ok(Recorded {
        rate: bytes as f64 / spent.as_secs_f64().max(1e-9),
        busy_s: busy.as_secs_f64(),
        time_line: TimeLine::of_area(&writes),
    })
}

/// Recording rate with a share of the recording units in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FragmentedRate {
    /// Share of the recording units in use, in quarters.
    pub quarters: u32,
    /// Rate in the slowest area, bytes per second.
    pub least: f64,
    /// Rate over all areas, bytes per second.
    pub mean: f64,
    /// Rate by the formula of the specification, with Pm from the measurement with half in use; bytes per second.
    pub formula: Option<f64>,
}

/// Quarters of the recording units in use with which the classes require their rate.
const HALF: u32 = 2;

/// Results of recording into areas in use.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fragmented {
    /// Pw: the rate in empty areas, bytes per second.
    pub write: f64,
    /// Pm: the rate of moving, from the measurement with half in use; `None` if that was not slower.
    pub moving: Option<f64>,
    /// Longest write, seconds.
    pub busy_s: f64,
    /// Rates with 1, 2 and 3 quarters of the units in use.
    pub rates: Vec<FragmentedRate>,
    /// The writes with half of the units in use.
    pub time_line: TimeLine,
}

impl Fragmented {
    /// Rate in the slowest area with half of the units in use, bytes per second.
    pub fn half(&self) -> f64 {
        let half = self.rates.iter().find(|r| r.quarters == HALF);
        half.map_or(0.0, |r| r.least)
    }
}

/// Records into areas whose recording units are in use by turns: of four neighbours, 1, 2 or 3. An
/// area is written whole beforehand; the card must keep the units in use while the free ones
/// between them are written, in order.
///
/// # Errors
/// As [`unfragmented`].
pub fn fragmented<T: Target>(
    probe: &mut Probe<'_, T>,
    areas: &Areas,
    recording_unit: u64,
) -> Result<Fragmented, ProbeError> {
    areas.check(recording_unit)?;
    let units = areas.units(recording_unit);
    let mut result = Fragmented::default();
    let mut write = Vec::new();
    for (i, quarters) in [HALF, 1, 3].into_iter().enumerate() {
        let mut rates = Vec::new();
        for area in 0..areas.count {
            let done = i as f64 + f64::from(area) / f64::from(areas.count);
            probe.progress(done / 3.0);
            let base = areas.start + u64::from(area) * areas.unit;
            write.push(record(probe, base, recording_unit, 0..units)?.rate);
            let free = (0..units).filter(|u| !in_use(*u, quarters));
            let area = record(probe, base, recording_unit, free)?;
            rates.push(area.rate);
            result.busy_s = result.busy_s.max(area.busy_s);
            if quarters == HALF {
                result.time_line.0.extend(area.time_line.0);
            }
        }
        result.rates.push(FragmentedRate {
            quarters,
            least: rates.iter().copied().fold(f64::INFINITY, f64::min),
            mean: mean(&rates),
            formula: None,
        });
    }
    result.write = mean(&write);
    let half = result.rates.first().map_or(0.0, |r| r.mean);
    result.moving = moved(units, units / 2, result.write, half);
    for rate in &mut result.rates {
        let used = units / 4 * rate.quarters;
        rate.formula = result
            .moving
            .map(|pm| performance(units, used, result.write, pm));
    }
    result.rates.sort_by_key(|r| r.quarters);
    Ok(result)
}

/// Whether a recording unit is in use in an area with `quarters` of four units in use; with half in use, every second
/// one.
fn in_use(unit: u32, quarters: u32) -> bool {
    match quarters {
        1 => unit.is_multiple_of(4),
        2 => unit.is_multiple_of(2),
        _ => unit % 4 != 3,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Durations of file-system updates during a recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UpdateTimes {
    /// The largest mean of eight updates in a row, seconds.
    pub mean_s: f64,
    /// The longest update, seconds.
    pub longest_s: f64,
}

/// Number of successive updates that are averaged (§4.13.2.4).
const AVERAGED: usize = 8;
/// Number of measured updates.
const UPDATES: u32 = 64;
/// Length of a write to the table or the directory, bytes.
const UPDATE: u64 = 4096;
/// Addresses of both tables and the directory as the SD formatter places them on a card of 4 to 16 GB: partition at 4
/// MiB, tables up to 8 MiB, directory at the start of the data.
const TABLES_AND_DIRECTORY: [u64; 3] = [(4 << 20) + (256 << 10), (6 << 20) + (128 << 10), 8 << 20];
/// Number of recording units between two updates.
const BETWEEN: u32 = 2;

/// Measures updates: two copies of the file allocation table and the directory entry, 4 KiB each, after
/// every second recording unit.
///
/// # Errors
/// As [`unfragmented`].
pub fn update_times<T: Target>(
    probe: &mut Probe<'_, T>,
    areas: &Areas,
    recording_unit: u64,
) -> Result<UpdateTimes, ProbeError> {
    areas.check(recording_unit)?;
    let room = u64::from(areas.count) * areas.unit / recording_unit;
    let mut times: Vec<f64> = Vec::new();
    let mut number = 0_u64;
    for update in 0..UPDATES {
        probe.progress(f64::from(update) / f64::from(UPDATES));
        for _ in 0..BETWEEN {
            let offset = areas.start + number % room * recording_unit;
            probe.write(Bytes(offset), Bytes(recording_unit))?;
            number += 1;
        }
        let mut took = Nanos::ZERO;
        for place in TABLES_AND_DIRECTORY {
            let offset = place + u64::from(update % 16) * UPDATE;
            took += probe.write(Bytes(offset), Bytes(UPDATE))?;
        }
        times.push(took.as_secs_f64());
    }
    let means = times.windows(AVERAGED).map(mean);
    Ok(UpdateTimes {
        mean_s: means.fold(0.0, f64::max),
        longest_s: times.iter().copied().fold(0.0, f64::max),
    })
}
