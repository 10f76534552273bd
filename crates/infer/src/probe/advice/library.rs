//! Times of file systems measured with `nandscope fs` on the simulated cards of the library.

use super::Purpose;
use super::ranking::{Ranking, Row};
use crate::probe::size;

/// Measured times, s. Tests compare them with docs/filesystems.md and repeat the measurement.
const TABLE: &str = include_str!("file_systems.txt");
/// The file systems in the order of the columns.
const NAMES: [&str; 5] = ["ext4", "F2FS", "NILFS2", "FAT32", "exFAT"];
/// Host on which the cards were measured.
const HOST: &str = "sabrelite";

/// One workload on one card.
struct Cell<'a> {
    workload: &'a str,
    card: &'a str,
    open: u32,
    unit: u64,
    seconds: [f64; NAMES.len()],
}

fn cell(line: &str) -> Option<Cell<'_>> {
    let cells: Vec<&str> = line.split('|').map(str::trim).collect();
    let [workload, card, open, unit, rest @ ..] = &cells[..] else {
        return None;
    };
    let mut seconds = [0.0; NAMES.len()];
    for (to, from) in seconds.iter_mut().zip(rest) {
        *to = from.parse().ok()?;
    }
    let unit: u64 = unit.parse().ok()?;
    Some(Cell {
        workload,
        card,
        open: open.parse().ok()?,
        unit: unit << 20,
        seconds,
    })
}

/// Ranks the file systems by the times on `target` (`sim:NAME`), or on the card with the AU size and number of open AUs nearest
/// to `structure`; `None` if `target` was not measured and its structure is not known.
pub(super) fn ranking(
    purpose: Purpose,
    target: &str,
    structure: Option<(u64, u32)>,
) -> Option<Ranking> {
    let cells = TABLE.lines().filter_map(cell);
    let cells: Vec<Cell<'_>> = cells
        .filter(|c| purpose.workloads().contains(&c.workload))
        .collect();
    let own = target.strip_prefix("sim:");
    let own = own.and_then(|name| cells.iter().find(|c| c.card == name));
    let (card, source) = match own {
        Some(own) => (own, format!("measured on this card on the host {HOST}")),
        None => {
            let (unit, open) = structure?;
            let distance = |c: &Cell<'_>| distance(c, unit, open);
            let nearest = cells
                .iter()
                .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
            (nearest, estimate(nearest, distance(nearest) == 0.0))
        }
    };
    let of_card = cells.iter().filter(|c| c.card == card.card);
    let row = |c: &Cell<'_>| Row {
        workload: c.workload.to_string(),
        seconds: NAMES.map(String::from).into_iter().zip(c.seconds).collect(),
    };
    Ranking::new(source, of_card.map(row).collect())
}

/// Whether cards of the library were measured for this purpose.
pub(super) fn has(purpose: Purpose) -> bool {
    let mut cells = TABLE.lines().filter_map(cell);
    cells.any(|c| purpose.workloads().contains(&c.workload))
}

/// Distance between a card and a structure, in octaves.
fn distance(c: &Cell<'_>, unit: u64, open: u32) -> f64 {
    let octaves = |a: f64, b: f64| libm::log2(a / b).abs();
    // Too few open AUs cost more than a different AU size.
    2.0 * octaves(f64::from(open.max(1)), f64::from(c.open))
        + octaves(unit.max(1) as f64, c.unit as f64)
}

/// Describes how the measured card compares with the probed one.
fn estimate(nearest: &Cell<'_>, is_equal: bool) -> String {
    let alike = match is_equal {
        true => "has as many open AUs of that size".to_string(),
        false => format!(
            "is the nearest measured card, with {} open AUs of {}",
            nearest.open,
            size(nearest.unit)
        ),
    };
    format!(
        "an estimate, measured on sim:{} on the host {HOST}, which {alike}; your card may be faster or slower",
        nearest.card
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_system_is_within_a_third_of_the_fastest_in_every_workload() {
        let cells: Vec<Cell<'_>> = TABLE.lines().filter_map(cell).collect();
        for purpose in Purpose::ALL {
            for workload in purpose.workloads() {
                let of_it = cells.iter().filter(|c| c.workload == *workload).count();
                // A workload has all cards or none: the nearest card must not depend on the workload.
                assert!(
                    of_it == 9 || (of_it == 0 && purpose != Purpose::Rootfs),
                    "{workload}"
                );
            }
            let mine = |c: &&Cell<'_>| purpose.workloads().contains(&c.workload);
            for c in cells.iter().filter(mine) {
                let target = format!("sim:{}", c.card);
                let first = ranking(purpose, &target, None).unwrap().order()[0].clone();
                let at = NAMES.iter().position(|n| *n == first).unwrap();
                let best = c.seconds.iter().copied().fold(f64::INFINITY, f64::min);
                let ratio = c.seconds[at] / best.max(1e-3);
                assert!(ratio <= 1.3, "{} {}: {first} {ratio}", c.card, c.workload);
            }
        }
    }

    /// `make fs` writes the page; the first workloads of the table here are its first three tables.
    #[test]
    fn the_seconds_are_those_of_the_documentation() {
        let page = include_str!("../../../../../docs/filesystems.md");
        let mut shown = Vec::new();
        let mut structures = Vec::new();
        let mut workload = "";
        for line in page.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                workload = title;
            }
            let cells: Vec<String> = line.split('|').map(|c| c.trim().replace('*', "")).collect();
            if let [_, card, open, unit, _] = &cells[..]
                && let Some(unit) = unit.strip_suffix(" MiB")
            {
                structures.push((card.clone(), format!("{open} | {unit}")));
            } else if let [_, card, times @ .., _] = &cells[..]
                && let Some((_, structure)) = structures.iter().find(|s| s.0 == *card)
                && times.len() == NAMES.len()
            {
                let times = times.join(" | ");
                shown.push(format!("{workload} | {card} | {structure} | {times}"));
            }
        }
        let small = Purpose::Rootfs.workloads();
        let table = TABLE
            .lines()
            .filter(|l| cell(l).is_some_and(|c| small.contains(&c.workload)));
        assert_eq!(table.collect::<Vec<_>>(), shown);
    }

    #[test]
    fn the_card_is_named_and_whether_it_is_the_same() {
        let of = |target: &str, unit: u64, open: u32| {
            ranking(Purpose::Rootfs, target, Some((unit, open))).unwrap()
        };
        // The table's times for the card itself are used, whatever structure the probe found.
        let own = of("sim:kingston-8gb", 1 << 20, 1);
        let evidence = own.evidence();
        assert!(evidence.starts_with("measured on this card"), "{evidence}");
        let exfat = |ranking: &Ranking| {
            let rows = ranking.table().rows.into_iter();
            rows.filter(|r| r.file_system == "exFAT")
                .flat_map(|r| r.values)
                .collect::<Vec<_>>()
        };
        assert_eq!(exfat(&own), [2.64, 1.51, 18.2]);
        let same = of("/dev/sdb", 4 << 20, 2);
        assert_eq!(same.order()[0], "NILFS2");
        let evidence = same.evidence();
        assert!(evidence.contains("sim:kingston-class10-32gb"), "{evidence}");
        assert!(evidence.contains("as many open AUs"), "{evidence}");
        assert_eq!(exfat(&same)[0], 108.0);
        let near = of("sim:unknown", 3 << 20, 3).evidence();
        assert!(near.contains("the nearest measured card"), "{near}");
        assert_eq!(ranking(Purpose::Rootfs, "/dev/sdb", None), None);
        // Every structure has a ranking.
        of("", 0, 0);
        of("", u64::MAX, u32::MAX);
    }
}
