//! Checks of measurements before they are used. What cannot be true is dropped with a reason; if the rest says too
//! little, or is of no flash device, there is no fit.

use crate::observation::{Cell, Direction, Figure, Observation, Pattern, State};
use std::collections::BTreeMap;
use thiserror::Error;

/// Upper end of fio's latency histogram, µs (17.11 s): longer latencies are reported as this.
const FIO_CEILING_US: f64 = 17_112_760.0;
/// Cells that a fit needs: fewer cannot separate the times of the controller, the flash and the link.
pub const FEWEST_CELLS: usize = 4;
/// Greatest ratio of two measurements of a cell that are averaged.
const REPEATABLE: f64 = 1.5;
/// Share of contradictory cells above which nothing of the data is believed.
const CONTRADICTORY: f64 = 0.2;
/// Share of the rate at a smaller queue depth below which a deeper, later run was in another state.
const COLLAPSE: f64 = 0.6;
/// Time of a random read at queue depth 1, µs, above which a disk seeks: 5,400 to 15,000 revolutions per minute take 2 to
/// 5.6 ms for half a turn, and a seek 3 ms or more; cards read 4 KiB within 2 ms.
const SEEK_US: f64 = 3_500.0;
/// Time of a random read at queue depth 1, µs, below which no NAND flash was read: low-latency SLC parts take 3 µs (Z-NAND,
/// ISSCC 2018), and host and controller as much again.
const NO_FLASH_US: f64 = 8.0;
/// Time of a random read at queue depth 1, µs, below which it may have been answered without reading flash: mapped reads of
/// recorded drives take 60 µs or more, reads of unwritten blocks 37 to 46 µs.
const DOUBTFUL_US: f64 = 48.0;

/// Measurements that are used, and what was found in the others.
#[derive(Clone, Debug, Default)]
pub struct Screened {
    /// Measurements that are used; each cell once.
    pub kept: Vec<Observation>,
    /// What was dropped or changed, with place and reason.
    pub findings: Vec<String>,
    /// Standard deviation of the logarithm of repeated measurements; `None` if no cell was measured twice.
    pub noise: Option<f64>,
}

/// The measurements cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// They contradict themselves, or are of no flash device.
    #[error("{0}")]
    Nonsense(String),
    /// They say too little.
    #[error("cannot tell: {0}")]
    TooLittle(String),
}

/// Checks measurements, drops what cannot be true, and joins repeated ones.
///
/// # Errors
/// [`Refusal`] if they are of no flash device, contradict themselves, or say too little.
pub fn screen(observations: Vec<Observation>) -> Result<Screened, Refusal> {
    let mut screened = Screened::default();
    let (mut rows, mut binary) = (Vec::new(), Vec::new());
    for mut row in observations {
        let mut found = Vec::new();
        check_percentiles(&mut row, &mut found);
        let usable = check_throughput(&mut row, (&mut found, &mut binary));
        let place = &row.place;
        screened
            .findings
            .extend(found.into_iter().map(|what| format!("{place}: {what}")));
        if usable {
            rows.push(row);
        }
    }
    if let Some(first) = binary.first() {
        screened
            .findings
            .push(format!("{first}, and so in {} rows", binary.len()));
    }
    refuse_other_devices(&rows)?;
    let rows = join_repeats(rows, &mut screened)?;
    let rows = drop_unread(rows, &mut screened.findings);
    screened.kept = drop_collapsed(rows, &mut screened.findings);
    refuse_too_little(&screened.kept)?;
    Ok(screened)
}

/// Drops percentiles that no latencies can have: with n operations outstanding, the mean latency is n divided by the rate
/// (Little), and no more than a share p of the latencies are above mean / p (Markov).
fn check_percentiles(row: &mut Observation, found: &mut Vec<String>) {
    let figures = &mut row.figures;
    for (name, slot) in [
        ("p50", &mut figures.p50_us),
        ("p90", &mut figures.p90_us),
        ("p99", &mut figures.p99_us),
    ] {
        if slot.is_some_and(|us| us >= FIO_CEILING_US * 0.999) {
            *slot = None;
            found.push(format!(
                "{name} is at the end of fio's histogram (17.11 s) and may be any longer time; it is dropped"
            ));
        }
    }
    let known = [figures.p50_us, figures.p90_us, figures.p99_us];
    let known: Vec<f64> = known.into_iter().flatten().collect();
    if !known.is_sorted() {
        *figures = figures.without_percentiles();
        found.push("the percentiles do not ascend; they are dropped".to_string());
        return;
    }
    if row.cell.read_percent.is_some() {
        // Little's law holds for both directions together only.
        return;
    }
    let mean = f64::from(row.cell.outstanding()) / figures.iops * 1e6;
    let above = |value: Option<f64>, share: f64| value.is_some_and(|us| us > 1.1 * mean / share);
    let is_long =
        above(figures.p50_us, 0.5) || above(figures.p90_us, 0.1) || above(figures.p99_us, 0.01);
    let is_short = figures.p99_us.is_some_and(|us| us < 0.1 * mean);
    if is_long || is_short {
        *figures = figures.without_percentiles();
        found.push(format!(
            "the percentiles are impossible beside {:.0} IOPS with {} operations outstanding, which take {mean:.0} µs on average (as with sqthread_poll in fio 3.32); they are dropped",
            figures.iops,
            row.cell.outstanding(),
        ));
    }
}

/// Compares a stated throughput with rate times block size. Returns false if the row is dropped. `binary` gets the rows
/// whose MB are not 10^6 bytes.
fn check_throughput(
    row: &mut Observation,
    (found, binary): (&mut Vec<String>, &mut Vec<String>),
) -> bool {
    let Some(stated) = row.mb_per_s.take() else {
        return true;
    };
    let computed = row.figures.iops * row.cell.block.0 as f64 / 1e6;
    let ratio = computed / stated;
    // Rates in tables are rounded to whole operations.
    let rounding = 0.006 + 0.6 / row.figures.iops;
    let near = |expected: f64| (ratio / expected - 1.0).abs() <= rounding;
    if near(1.0) {
        return true;
    }
    if near(1.024) || near(1.048_576) {
        binary.push(format!(
            "{}: {stated} MB/s are KiB/s / 1000 or MiB/s: rate × block size is {computed:.2} MB/s, which is used",
            row.place
        ));
        return true;
    }
    if (ratio - 1.0).abs() < 0.06 {
        return true;
    }
    found.push(format!(
        "{stated} MB/s contradict the rate: rate × block size is {computed:.2} MB/s; the row is dropped"
    ));
    false
}

/// Mean latency of a random read at queue depth 1, µs; `None` for other cells.
fn single_read_us(row: &Observation) -> Option<f64> {
    let cell = &row.cell;
    let is_single = cell.direction == Direction::Read
        && cell.pattern == Pattern::Random
        && cell.outstanding() == 1
        && cell.block.0 <= 16_384
        && cell.read_percent.is_none();
    is_single.then(|| 1e6 / row.figures.iops)
}

fn refuse_other_devices(rows: &[Observation]) -> Result<(), Refusal> {
    for row in rows {
        let Some(us) = single_read_us(row) else {
            continue;
        };
        if us > SEEK_US {
            return Err(Refusal::Nonsense(format!(
                "{}: a random read takes {:.1} ms, as on a hard disk that seeks; flash reads within 2 ms. Only flash devices are fitted",
                row.place,
                us / 1e3
            )));
        }
        if us < NO_FLASH_US && row.cell.state != State::Fresh {
            return Err(Refusal::Nonsense(format!(
                "{}: a random read takes {us:.1} µs, less than any NAND flash: this is memory (a RAM disk or a page cache). Measure with direct=1 on a flash device",
                row.place
            )));
        }
    }
    Ok(())
}

/// Replaces repeated measurements of a cell by their geometric mean.
fn join_repeats(
    rows: Vec<Observation>,
    screened: &mut Screened,
) -> Result<Vec<Observation>, Refusal> {
    let mut cells: BTreeMap<Cell, Vec<Observation>> = BTreeMap::new();
    for row in rows {
        cells.entry(row.cell).or_default().push(row);
    }
    let total = cells.len();
    let (mut joined, mut contradictory, mut spread) = (Vec::new(), 0, (0.0, 0.0));
    for (cell, group) in cells {
        let rates: Vec<f64> = group.iter().map(|row| row.figures.iops).collect();
        let least = rates.iter().copied().fold(f64::MAX, f64::min);
        let most = rates.iter().copied().fold(0.0, f64::max);
        if most / least > REPEATABLE {
            contradictory += 1;
            let places: Vec<&str> = group.iter().map(|row| row.place.as_str()).collect();
            screened.findings.push(format!(
                "{}: {cell} was measured {} times, from {least:.0} to {most:.0} IOPS: they contradict each other and are dropped",
                places.join(" and "),
                group.len()
            ));
            continue;
        }
        let mean = mean_of(&group);
        for rate in &rates {
            let off = libm::log(rate / mean.figures.iops);
            spread = (spread.0 + off * off, spread.1);
        }
        spread.1 += group.len() as f64 - 1.0;
        joined.push(mean);
    }
    if contradictory as f64 > CONTRADICTORY * total as f64 && contradictory > 0 {
        return Err(Refusal::Nonsense(format!(
            "{contradictory} of {total} cells were measured several times with contradictory rates (more than a factor of {REPEATABLE}); separate the runs by state or region, or repeat them. The first: {}",
            screened.findings.last().map_or("", String::as_str)
        )));
    }
    screened.noise = (spread.1 > 0.0).then(|| libm::sqrt(spread.0 / spread.1));
    Ok(joined)
}

fn mean_of(group: &[Observation]) -> Observation {
    let mut mean = group[0].clone();
    let geometric = |figure: Figure| {
        let values: Option<Vec<f64>> = group.iter().map(|row| row.figures.get(figure)).collect();
        let values = values?;
        let sum: f64 = values.iter().map(|v| libm::log(*v)).sum();
        Some(libm::exp(sum / values.len() as f64))
    };
    mean.figures.iops = geometric(Figure::Iops).unwrap_or(mean.figures.iops);
    mean.figures.p50_us = geometric(Figure::P50);
    mean.figures.p90_us = geometric(Figure::P90);
    mean.figures.p99_us = geometric(Figure::P99);
    mean
}

/// Drops random reads at queue depth 1 that were answered without flash, where a slower one of the same size shows what
/// flash takes.
fn drop_unread(rows: Vec<Observation>, findings: &mut Vec<String>) -> Vec<Observation> {
    let mapped = |row: &Observation| row.cell.state != State::Fresh;
    let slowest = |block| {
        let same = rows.iter().filter(|r| r.cell.block == block && mapped(r));
        same.filter_map(single_read_us).fold(0.0, f64::max)
    };
    let mut dropped = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let Some(us) = single_read_us(row).filter(|us| mapped(row) && *us < DOUBTFUL_US) else {
            continue;
        };
        if slowest(row.cell.block) > 1.6 * us {
            dropped.push(number);
            findings.push(format!(
                "{}: a random read takes {us:.0} µs, others of this size {:.0} µs: these blocks were never written or are in a cache, and no flash was read; the row is dropped",
                row.place,
                slowest(row.cell.block)
            ));
        } else {
            findings.push(format!(
                "{}: a random read takes {us:.0} µs; if the blocks were never written, no flash was read, and the fit is of the host path. The row is used",
                row.place
            ));
        }
    }
    let keep = |(number, _): &(usize, Observation)| !dropped.contains(number);
    let rows = rows.into_iter().enumerate().filter(keep);
    rows.map(|(_, row)| row).collect()
}

/// Drops deeper writes that are far slower than shallower ones before them: the runs before have used up the free blocks
/// or the cache.
fn drop_collapsed(rows: Vec<Observation>, findings: &mut Vec<String>) -> Vec<Observation> {
    let series = |cell: &Cell| Cell {
        depth: 1,
        jobs: 1,
        ..*cell
    };
    let is_worn = |row: &Observation| {
        row.cell.direction == Direction::Write
            && row.cell.state != State::Steady
            && rows.iter().any(|other| {
                series(&other.cell) == series(&row.cell)
                    && other.cell.outstanding() < row.cell.outstanding()
                    && row.figures.iops < COLLAPSE * other.figures.iops
                    && !matches!((other.order, row.order), (Some(a), Some(b)) if a > b)
            })
    };
    let worn: Vec<bool> = rows.iter().map(is_worn).collect();
    let mut kept = Vec::new();
    for (row, worn) in rows.into_iter().zip(worn) {
        if worn {
            findings.push(format!(
                "{}: {} reaches {:.0} IOPS, far less than smaller depths before it: the runs before have filled the cache or used up the free blocks; the row is dropped (state `steady`, if it was)",
                row.place, row.cell, row.figures.iops
            ));
        } else {
            kept.push(row);
        }
    }
    kept
}

fn refuse_too_little(rows: &[Observation]) -> Result<(), Refusal> {
    if rows.len() < FEWEST_CELLS {
        return Err(Refusal::TooLittle(format!(
            "{} usable cells, and a fit needs {FEWEST_CELLS}; measure more block sizes and depths",
            rows.len()
        )));
    }
    let kind = |row: &Observation| (row.cell.block, row.cell.outstanding());
    let first = rows.first().map(kind);
    if rows.iter().all(|row| Some(kind(row)) == first) {
        return Err(Refusal::TooLittle(
            "all cells have one block size and one depth, which cannot separate the times of controller, flash and link; measure others"
                .to_string(),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv;

    const HEAD: &str = "op,pattern,block,depth,iops,mb_per_s,p50_us,p99_us,order,state\n";
    /// A plausible drive.
    const DRIVE: &str = "read,random,4k,1,10000,,90,150,1,\nread,random,4k,4,36000,,,,2,\nread,random,4k,32,90000,,,,3,\n\
                         write,random,4k,1,25000,,30,,4,\nwrite,random,4k,32,80000,,,,5,\n";

    fn screened(rows: &str) -> Result<Screened, Refusal> {
        let text = format!("{HEAD}{rows}");
        screen(csv::read("a.csv", &text, State::Filled).unwrap())
    }

    #[test]
    fn sound_measurements_pass_unchanged() {
        let screened = screened(DRIVE).unwrap();
        assert_eq!(screened.kept.len(), 5);
        assert!(screened.findings.is_empty(), "{:?}", screened.findings);
    }

    #[test]
    fn what_cannot_be_true_is_named() {
        for (row, part, kept) in [
            ("read,random,8k,1,8000,,10,11,,", "impossible", 6),
            ("read,random,8k,1,8000,,400,500,,", "impossible", 6),
            ("read,random,8k,1,8000,,120,100,,", "do not ascend", 6),
            ("read,random,8k,512,50,,100,17112760,,", "17.11 s", 6),
            ("read,random,64k,8,1600,102.4,,,,", "KiB/s / 1000", 6),
            ("read,random,64k,8,1600,300,,,,", "contradict the rate", 5),
            ("read,random,4k,1,25000,,,,,", "contradict each other", 4),
            ("write,random,4k,64,20000,,,,9,", "filled the cache", 5),
            ("read,random,8k,1,25000,,,,,", "never written", 6),
        ] {
            let found = screened(&format!("{DRIVE}{row}\n")).unwrap();
            assert!(
                found.findings.iter().any(|f| f.contains(part)),
                "{row}: {:?}",
                found.findings
            );
            assert_eq!(found.kept.len(), kept, "{row}");
        }
    }

    /// A drive whose cache is full after the third depth.
    #[test]
    fn depths_that_follow_a_full_cache_are_dropped() {
        let rates = [
            (1, 21_000),
            (2, 40_500),
            (4, 72_000),
            (8, 18_200),
            (16, 17_900),
        ];
        let series = |order: &dyn Fn(usize) -> String| -> String {
            let rows = rates.iter().enumerate();
            rows.map(|(n, (depth, iops))| {
                format!("write,random,8k,{depth},{iops},,,,{},\n", order(n))
            })
            .collect()
        };
        let rising = series(&|n| (10 + n).to_string());
        let unknown = series(&|_| String::new());
        let falling = series(&|n| (20 - n).to_string());
        for (rows, dropped) in [(rising, 2), (unknown, 2), (falling, 0)] {
            let found = screened(&format!("{DRIVE}{rows}")).unwrap();
            assert_eq!(found.kept.len(), 10 - dropped, "{rows}");
            let worn = found
                .findings
                .iter()
                .filter(|f| f.contains("filled the cache"));
            assert_eq!(worn.count(), dropped, "{:?}", found.findings);
        }
    }

    #[test]
    fn other_devices_and_too_little_are_refused() {
        let disk = "read,random,4k,1,120,,,,,\nread,random,4k,32,300,,,,,\nread,sequential,1m,1,180,,,,,\nwrite,random,4k,1,200,,,,,\n";
        let memory = "read,random,4k,1,400000,,,,,\nread,random,4k,4,900000,,,,,\nwrite,random,4k,1,300000,,,,,\nwrite,random,4k,4,800000,,,,,\n";
        let twice: String = DRIVE
            .lines()
            .map(|l| format!("{}\n", l.replacen("000,", "0000,", 1)))
            .collect();
        for (rows, part) in [
            (disk, "hard disk"),
            (memory, "RAM disk"),
            ("read,random,4k,1,10000,,,,,\n", "cannot tell: 1 usable"),
            (&format!("{DRIVE}{twice}"), "contradictory"),
            (
                "read,random,4k,1,9000,,,,,\nread,sequential,4k,1,9000,,,,,\nwrite,random,4k,1,9000,,,,,\nwrite,sequential,4k,1,9000,,,,,\n",
                "one block size and one depth",
            ),
        ] {
            let error = screened(rows).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn repeats_are_averaged_and_state_the_noise() {
        let found = screened(&format!("{DRIVE}read,random,4k,1,11000,,,,,\n")).unwrap();
        assert_eq!(found.kept.len(), 5);
        let noise = found.noise.unwrap();
        assert!(
            (noise - libm::log(1.1) / 2f64.sqrt()).abs() < 1e-9,
            "{noise}"
        );
    }
}
