//! Range covered by the map cache. If the controller holds only a part of the map, reads that cycle through more map pages than
//! fit miss the cache each time, and take longer than reads that cycle through a few map pages.

use super::confidence::Strength;
use super::finding::{Finding, Value, size};
use super::question::Question;
use super::{Probing, settled};
use crate::flashbench::shuffled;
use crate::quantile::{median, quantile};
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};

const BLOCK: u64 = 4096;
/// Range covered by a map page, bytes: 4 KiB of entries of 4 bytes, each for 4 KiB.
const CELL: u64 = 4 << 20;
/// Map pages in the smallest range.
const FEWEST: u32 = 8;
/// Number of map pages whose read times are compared; then the size of a small group, whose map pages fit the cache.
const COMPARED: usize = 48;
const GROUP: usize = 6;
/// Rounds that count, after one that fills the map cache.
const ROUNDS: usize = 3;
/// Least extra time of a map miss, s: a host's clock has steps of 1 µs.
const FETCH: f64 = 3e-6;
/// Least extra time of map misses, as a multiple of the scatter of the mean.
const SCATTERS: f64 = 4.0;
/// Largest ratio between the smallest range with misses and the largest without.
const NEAR: f64 = 1.2;
/// Divisor of the remaining time: limit of this question.
const TIME: u64 = 2;
/// Time per single block, s, above which a device closes AUs and has no page map; tested after `LOOKED` blocks.
const SLOW: f64 = 20e-3;
const LOOKED: u32 = 16;
/// Idle time after writes, which empties the write buffer; and number of rounds of reads that evict changed map pages.
const REST: Nanos = Nanos::from_secs(1);
const SETTLES: u32 = 2;
/// Bytes written to touch the whole map: one block for each map page.
pub(super) fn needs(whole: Bytes) -> u64 {
    whole.0 / CELL * BLOCK
}

/// Read times over one range.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Step {
    /// Number of map pages in the range.
    cells: u32,
    /// Median time of a read, s.
    takes: f64,
    /// Extra time compared with the same reads in small groups, s; and the scatter of its mean.
    more: f64,
    scatter: f64,
}

impl Step {
    fn of(cells: u32, alone: &[f64], in_turn: &[f64]) -> Self {
        let more: Vec<f64> = in_turn.iter().zip(alone).map(|(t, a)| t - a).collect();
        let (low, high) = (quantile(&more, 0.25), quantile(&more, 0.75));
        let middle = more.iter().filter(|m| (low..=high).contains(*m));
        let (sum, count) = middle.fold((0.0, 0.0), |(sum, count), m| (sum + m, count + 1.0));
        Step {
            cells,
            takes: median(in_turn),
            more: sum / f64::max(count, 1.0),
            scatter: (high - low) / (more.len().max(1) as f64).sqrt(),
        }
    }

    fn fetches(&self) -> bool {
        self.more >= FETCH.max(SCATTERS * self.scatter)
    }

    fn range(&self) -> u64 {
        u64::from(self.cells) * CELL
    }
}

/// Addresses that are read, one per cell.
struct Places {
    /// Size of a cell, bytes.
    apart: u64,
    /// Number of cells.
    count: u32,
}

impl Places {
    /// Address in a cell, at a pseudo-random block, so that the blocks of different cells do not share flash pages.
    fn at(&self, cell: u32) -> Bytes {
        let blocks = self.apart / BLOCK;
        let block = u64::from(cell).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Bytes(u64::from(cell) * self.apart + block % blocks * BLOCK)
    }
}

/// Finds the range covered by the map cache from reads that cycle through few, all, and intermediate numbers of map pages. A
/// device with AUs is skipped, as the map of its AUs is small.
pub(super) fn map_range<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
) -> Result<(), ProbeError> {
    let question = Question::MapSpan;
    let unit = probing.report.finding(Question::Unit);
    if unit.is_some_and(|f| f.value.is_some()) {
        let why = "the device maps allocation units, and such a map fits in RAM";
        probing.add(question.unknown(why));
        return Ok(());
    }
    let until = probing.target.now() + Nanos(probing.time_left().0 / TIME);
    let places = match probing.options.read_only {
        true => Places::all(span),
        false => Places::written(probing, CELL, until)?,
    };
    let mut search = Search {
        until,
        places,
        steps: Vec::new(),
    };
    let found = search.find(probing)?;
    probing.report.curves.push(search.curve());
    let finding = match found {
        Ok(between) => search.confirmed(probing, between)?,
        Err(why) => question.unknown(why),
    };
    probing.add(finding);
    Ok(())
}

impl Places {
    /// All cells of the first `span` bytes, without changing the cell size.
    fn all(span: Bytes) -> Self {
        Places {
            apart: CELL,
            count: u32::try_from(span.0 / CELL).unwrap_or(u32::MAX),
        }
    }

    /// Writes a block into each cell, as far as time and budget allow.
    fn written<T: Target>(
        probing: &mut Probing<'_, T>,
        apart: u64,
        until: Nanos,
    ) -> Result<Self, ProbeError> {
        let most = u32::try_from(probing.target.whole().0 / apart).unwrap_or(u32::MAX);
        let mut places = Places { apart, count: 0 };
        places.write(probing, most, until)?;
        Ok(places)
    }

    fn write<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        most: u32,
        until: Nanos,
    ) -> Result<(), ProbeError> {
        let began = probing.target.now();
        while self.count < most {
            let now = probing.target.now();
            if self.count.is_multiple_of(64) && probing.interrupted() {
                return Err(ProbeError::Stopped);
            }
            let spent = now.saturating_sub(began).as_secs_f64();
            if self.count == LOOKED && spent > SLOW * f64::from(LOOKED) {
                self.count = 0;
                return Ok(());
            }
            // Half of the time is reserved for reads.
            if now.0 > until.0 - until.saturating_sub(began).0 / 2 || probing.writes_left() < BLOCK
            {
                break;
            }
            let at = self.at(self.count);
            probing.timed(|p| p.write(at, Bytes(BLOCK)))?;
            self.count += 1;
        }
        // Changed map pages are written back when reads evict them.
        let all: Vec<u32> = (0..self.count).collect();
        for _ in 0..SETTLES {
            probing.target.flush()?;
            probing.target.idle(REST)?;
            once(probing, self, &all, &mut |_, _| {})?;
        }
        let some = spread(&all);
        let some: Vec<u64> = some.iter().map(|cell| self.at(*cell).0).collect();
        settled::settle(probing, &some, until)
    }
}

/// Up to `COMPARED` of the cells, evenly spaced.
fn spread(cells: &[u32]) -> Vec<u32> {
    let count = cells.len().min(COMPARED);
    (0..count).map(|i| cells[i * cells.len() / count]).collect()
}

/// Time limit, addresses and results of the search.
struct Search {
    until: Nanos,
    places: Places,
    steps: Vec<Step>,
}

impl Search {
    /// The largest range without map misses and the smallest with them, in map pages, or the reason why they are unknown.
    fn find<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
    ) -> Result<Result<(u32, u32), String>, ProbeError> {
        let most = self.places.count;
        if most < 2 * FEWEST {
            let why = "single blocks are written too slowly, or the budget is spent";
            return Ok(Err(why.to_string()));
        }
        let (mut low, mut high) = (FEWEST, most);
        let (Some(few), Some(many)) = (self.step(probing, low)?, self.step(probing, high)?) else {
            return Ok(Err("the time budget is too small".to_string()));
        };
        if few.fetches() || !many.fetches() {
            let why = "reads of the same places do not take longer when reads of a larger range come between them";
            return Ok(Err(format!("{}: {why}", self.numbers())));
        }
        while f64::from(high) > NEAR * f64::from(low) {
            let middle = (f64::from(low) * f64::from(high)).sqrt() as u32;
            match self.step(probing, middle)? {
                None => return Ok(Err("the time budget is too small".to_string())),
                Some(step) if step.fetches() => high = middle,
                Some(_) => low = middle,
            }
        }
        Ok(Ok((low, high)))
    }

    /// Reads blocks of `cells` map pages in cycles; `None` if the time is not enough.
    fn step<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        cells: u32,
    ) -> Result<Option<Step>, ProbeError> {
        let reads = (ROUNDS as u64 + 1) * u64::from(cells);
        let takes = self.steps.last().map_or(0.0, |s| s.takes);
        let time = Nanos::from_secs_f64(takes * reads as f64);
        if probing.target.now() + time > self.until {
            return Ok(None);
        }
        let step = measure(probing, &self.places, cells)?;
        self.steps.push(step);
        Ok(Some(step))
    }

    /// The finding, if ranges on either side of the limit give the same result again, and cells of half the size do not
    /// cause more misses.
    fn confirmed<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        (low, high): (u32, u32),
    ) -> Result<Finding, ProbeError> {
        let question = Question::MapSpan;
        let range = u64::from(low) * CELL / 2 + u64::from(high) * CELL / 2;
        let range = range / CELL * CELL;
        // A range slightly larger than the cache does not miss on every read.
        let below = (f64::from(low) / NEAR) as u32;
        let above = ((f64::from(high) * NEAR) as u32).min(self.places.count);
        let few = measure(probing, &self.places, below.max(FEWEST))?;
        let many = measure(probing, &self.places, above)?;
        let numbers = format!(
            "read in turn with others, the same places take {:.1} µs more over {} and {:.1} µs more over {} than with {} others",
            few.more * 1e6,
            size(few.range()),
            many.more * 1e6,
            size(many.range()),
            GROUP - 1
        );
        if few.fetches() || !many.fetches() {
            let why = format!("{numbers}: not the same each time");
            return Ok(question.unknown(why));
        }
        let strength = match self.closer(probing, low)? {
            Some(step) if step.fetches() => {
                let why = format!(
                    "{numbers}, but a page of the map covers less than {}",
                    size(CELL)
                );
                return Ok(question.unknown(why));
            }
            Some(_) => Strength::Strong,
            None => Strength::Fair,
        };
        let answer = format!("about {}", size(range));
        let value = Value::Bytes(range);
        Ok(question.answer(value, answer, strength, numbers))
    }

    /// Reads a block in every half cell, so that there are more blocks than the cache has map pages: if a map page
    /// covers two of these blocks, the reads do not miss.
    fn closer<T: Target>(
        &mut self,
        probing: &mut Probing<'_, T>,
        low: u32,
    ) -> Result<Option<Step>, ProbeError> {
        let cells = (f64::from(low) * CLOSER) as u32;
        let mut closer = Places {
            apart: CELL / 2,
            count: if probing.options.read_only { cells } else { 0 },
        };
        closer.write(probing, cells, self.until)?;
        if closer.count < cells || probing.target.now() > self.until {
            return Ok(None);
        }
        measure(probing, &closer, cells).map(Some)
    }

    fn curve(&self) -> Curve {
        let mut steps = self.steps.clone();
        steps.sort_unstable_by_key(|s| s.cells);
        Curve {
            name: "reads within a range".to_string(),
            x_name: "range".to_string(),
            x_unit: "MiB".to_string(),
            y_name: "time of a read".to_string(),
            y_unit: "µs".to_string(),
            x: steps.iter().map(|s| (s.range() >> 20) as f64).collect(),
            y: steps.iter().map(|s| s.takes * 1e6).collect(),
            threshold: None,
            ..Curve::default()
        }
    }

    /// Read times of the smallest and the largest range, for evidence.
    fn numbers(&self) -> String {
        let shown = |s: &Step| format!("{:.0} µs over {}", s.takes * 1e6, size(s.range()));
        let (few, many) = (
            self.steps.iter().min_by_key(|s| s.cells),
            self.steps.iter().max_by_key(|s| s.cells),
        );
        let shown: Vec<String> = few.into_iter().chain(many).map(shown).collect();
        format!("median of a read of 4 KiB: {}", shown.join(", "))
    }
}

/// Number of half-size cells, as a multiple of the map pages that fit.
const CLOSER: f64 = 1.5;

/// Reads blocks of `cells` map pages in cycles, and some of these blocks in small groups before and after.
fn measure<T: Target>(
    probing: &mut Probing<'_, T>,
    places: &Places,
    cells: u32,
) -> Result<Step, ProbeError> {
    let order = shuffled(cells, probing.options.seed ^ u64::from(cells));
    let compared = spread(&order);
    let before = groups(probing, places, &compared)?;
    let in_turn = rounds(probing, places, &order, compared.len())?;
    let after = groups(probing, places, &compared)?;
    // Background work of the device may slow all reads for a while; the smaller difference counts.
    let (first, last) = (
        Step::of(cells, &before, &in_turn),
        Step::of(cells, &after, &in_turn),
    );
    Ok(if first.more < last.more { first } else { last })
}

fn groups<T: Target>(
    probing: &mut Probing<'_, T>,
    places: &Places,
    cells: &[u32],
) -> Result<Vec<f64>, ProbeError> {
    let mut times = Vec::new();
    for group in cells.chunks(GROUP) {
        times.extend(rounds(probing, places, group, group.len())?);
    }
    Ok(times)
}

/// Median read times of `compared` of the cells, those of [`spread`], when all are read in cycles, s.
fn rounds<T: Target>(
    probing: &mut Probing<'_, T>,
    places: &Places,
    cells: &[u32],
    compared: usize,
) -> Result<Vec<f64>, ProbeError> {
    let mut times = vec![Vec::new(); compared];
    once(probing, places, cells, &mut |_, _| {})?;
    for _ in 0..ROUNDS {
        let mut number = 0;
        once(probing, places, cells, &mut |i, took| {
            if number < compared && i == number * cells.len() / compared {
                times[number].push(took.as_secs_f64());
                number += 1;
            }
        })?;
    }
    Ok(times.iter().map(|t| median(t)).collect())
}

/// Reads a block of each cell once, and calls `tell` with its index and time.
fn once<T: Target>(
    probing: &mut Probing<'_, T>,
    places: &Places,
    cells: &[u32],
    tell: &mut dyn FnMut(usize, Nanos),
) -> Result<(), ProbeError> {
    if probing.interrupted() {
        return Err(ProbeError::Stopped);
    }
    probing.timed(|p| {
        for (i, cell) in cells.iter().enumerate() {
            tell(i, p.read(places.at(*cell), Bytes(BLOCK))?);
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_longer_than_the_scatter() {
        let alone: Vec<f64> = (0..48).map(|i| 80e-6 + f64::from(i % 5) * 1e-6).collect();
        let later = |by: f64| alone.iter().map(|t| t + by).collect::<Vec<f64>>();
        assert!(Step::of(64, &alone, &later(50e-6)).fetches());
        assert!(!Step::of(64, &alone, &later(2e-6)).fetches());
        // Stalls in some reads.
        let mut some = alone.clone();
        some.iter_mut().step_by(5).for_each(|t| *t += 1.0);
        assert!(!Step::of(64, &alone, &some).fetches());
        // A coarse clock: some times are longer by chance.
        let coarse = |n: i32| f64::from(n % 3) * 30e-6;
        let (one, other): (Vec<f64>, Vec<f64>) =
            (0..48).map(|i| (coarse(i), coarse(i * 7 + i / 5))).unzip();
        assert!(!Step::of(64, &one, &other).fetches());
    }

    #[test]
    fn every_place_lies_in_its_own_page_of_the_map() {
        let places = Places {
            apart: CELL,
            count: 1000,
        };
        for cell in 0..1000 {
            let at = places.at(cell).0;
            assert_eq!((at / CELL, at % BLOCK), (u64::from(cell), 0));
        }
    }
}
