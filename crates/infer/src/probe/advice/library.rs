//! Which file system is fastest on cards like the probed one: seconds that `nandscope fs` measured on simulated cards.

use crate::probe::size;

/// The measured seconds; a test of `advice` compares them with docs/filesystems.md.
const TABLE: &str = include_str!("file_systems.txt");
/// The file systems in the order of the columns.
pub(super) const NAMES: [&str; 5] = ["ext4", "F2FS", "NILFS2", "FAT32", "exFAT"];

/// One workload on one card.
struct Cell<'a> {
    workload: &'a str,
    card: &'a str,
    open: u32,
    unit: u64,
    seconds: [f64; NAMES.len()],
}

/// The card with the nearest structure, and the file systems from the fastest to the slowest on it.
pub(super) struct Ranking {
    /// File systems, fastest first: geometric mean over the workloads.
    pub(super) order: Vec<&'static str>,
    /// Similarity of the card, in words.
    pub(super) how_near: String,
    /// The seconds of each workload.
    pub(super) seconds: String,
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

/// Ranks the file systems on the measured card whose allocation unit and number of open AUs are nearest.
pub(super) fn ranking(unit: u64, open: u32) -> Option<Ranking> {
    let cells: Vec<Cell<'_>> = TABLE.lines().filter_map(cell).collect();
    let distance = |c: &Cell<'_>| {
        let octaves = |a: f64, b: f64| libm::log2(a / b).abs();
        // Too few open AUs cost more than a unit of another size does.
        2.0 * octaves(f64::from(open.max(1)), f64::from(c.open))
            + octaves(unit as f64, c.unit as f64)
    };
    let nearest = cells
        .iter()
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
    let of_card: Vec<&Cell<'_>> = cells.iter().filter(|c| c.card == nearest.card).collect();
    let mean = |i: &usize| -> f64 { of_card.iter().map(|c| libm::log(c.seconds[*i])).sum() };
    let mut order: Vec<usize> = (0..NAMES.len()).collect();
    order.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
    let how_near = if distance(nearest) == 0.0 {
        format!(
            "measured on a simulated card with as many open allocation units of that size (sim:{})",
            nearest.card
        )
    } else {
        format!(
            "an estimate: the nearest measured card has {} open units of {} (sim:{})",
            nearest.open,
            size(nearest.unit),
            nearest.card
        )
    };
    let row = |c: &&Cell<'_>| {
        let times = order
            .iter()
            .map(|i| format!("{} {} s", NAMES[*i], c.seconds[*i]));
        format!("{}: {}", c.workload, times.collect::<Vec<_>>().join(", "))
    };
    let seconds: Vec<String> = of_card.iter().map(row).collect();
    Some(Ranking {
        order: order.iter().map(|i| NAMES[*i]).collect(),
        how_near,
        seconds: seconds.join("; "),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_file_system_is_within_a_third_of_the_fastest_in_every_workload() {
        let cells: Vec<Cell<'_>> = TABLE.lines().filter_map(cell).collect();
        assert_eq!(cells.len(), 27);
        for c in &cells {
            let first = ranking(c.unit, c.open).unwrap().order[0];
            let at = NAMES.iter().position(|n| *n == first).unwrap();
            let best = c.seconds.iter().copied().fold(f64::INFINITY, f64::min);
            let ratio = c.seconds[at] / best;
            assert!(ratio <= 1.3, "{} {}: {first} {ratio}", c.card, c.workload);
        }
    }

    /// `make fs` writes the page; the table here is its first three tables.
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
        let table = TABLE.lines().filter(|l| !l.starts_with('#'));
        assert_eq!(table.collect::<Vec<_>>(), shown);
    }

    #[test]
    fn the_nearest_card_is_named_and_whether_it_is_the_same() {
        let same = ranking(4 << 20, 2).unwrap();
        assert_eq!(same.order[0], "NILFS2");
        assert!(
            same.how_near.contains("sim:kingston-class10-32gb"),
            "{}",
            same.how_near
        );
        assert!(same.seconds.contains("exFAT 108 s"), "{}", same.seconds);
        let near = ranking(3 << 20, 3).unwrap();
        assert!(
            near.how_near.starts_with("an estimate"),
            "{}",
            near.how_near
        );
        // Whatever is asked, there is an answer.
        assert!(ranking(0, 0).is_some() && ranking(u64::MAX, u32::MAX).is_some());
    }
}
