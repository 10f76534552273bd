//! The page of simulated cards beside recorded ones.

use super::{Card, Cell, Comparison};
use crate::flashbench::{CardStep, Certainty, OpenUnits, Order};
use nandscope_units::number::{binary_bytes, significant};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Cards: measured against simulated

Written by `nandscope validate --cards facts/cards.toml`: recorded flashbench runs of real cards, and the same on simulated cards
after one full write. A cell is *measured / simulated*, or one value for both; an error is the median of the absolute differences as shares of the
measured rates. A card is *met* if the open units are equal and both medians are below 25 %. With names of devices the command
prints every rate. [The model](cards-model.md#differences-from-recorded-cards) has the differences.

";

/// The page of all cards, in the order of the entries; with details, every rate that was compared (MB/s of 10^6 bytes).
pub fn page(cards: &[(Card, Comparison)], details: bool) -> String {
    let mut page = INTRODUCTION.to_string();
    if cards.is_empty() {
        page.push_str("No simulated card represents a recorded one yet.\n");
        return page;
    }
    summary(&mut page, cards);
    for (card, comparison) in cards.iter().filter(|_| details) {
        let _ = writeln!(page, "\n## {}, `{}`\n", card.recorded, card.profile);
        let runs: Vec<String> = card.run.iter().map(u32::to_string).collect();
        let _ = writeln!(
            page,
            "Host `{}`, recorded runs {}.\n",
            card.host,
            runs.join(", ")
        );
        align_table(&mut page, comparison);
        for order in [Order::Linear, Order::Random] {
            open_au_table(&mut page, comparison, order);
        }
        find_fat_table(&mut page, comparison);
    }
    page
}

fn summary(page: &mut String, cards: &[(Card, Comparison)]) {
    page.push_str(
        "| card | device | page | allocation unit | open units, linear | open units, random | error, open units | error, FAT search | met |\n|---|---|---|---|---|---|---|---|---|\n",
    );
    for (card, c) in cards {
        let (measured, simulated) = c.boundaries();
        let (open_au, find_fat) = c.median_errors();
        let _ = writeln!(
            page,
            "| {} | `{}` | {} | {} | {} | {} | {} | {} | {} |",
            card.recorded,
            card.profile,
            pair(step(measured.page), step(simulated.page)),
            pair(step(measured.unit), step(simulated.unit)),
            units(c.open_units(Order::Linear)),
            units(c.open_units(Order::Random)),
            percent(open_au),
            percent(find_fat),
            if c.met() { "yes" } else { "no" },
        );
    }
    let mut told: Vec<&str> = Vec::new();
    for (card, _) in cards {
        if let Some(why) = card.why.as_deref().filter(|why| !told.contains(why)) {
            told.push(why);
            let _ = writeln!(page, "\n`{}` is not met: {why}.", card.profile);
        }
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or("–".to_string(), |e| format!("{:.0} %", e * 100.0))
}

fn step(found: Option<CardStep>) -> String {
    match found {
        Some(s) if s.certainty() != Certainty::None => binary_bytes(s.at),
        Some(_) => "cannot tell".to_string(),
        None => "–".to_string(),
    }
}

fn units(found: Option<(OpenUnits, OpenUnits)>) -> String {
    let one = |u: OpenUnits| match u.knee.told() {
        Some((units, false)) => units.to_string(),
        Some((units, true)) => format!("≥ {units}"),
        None => "cannot tell".to_string(),
    };
    found.map_or("–".to_string(), |(a, b)| pair(one(a), one(b)))
}

/// Text of a measured and a simulated value, or of one if they are equal.
fn pair(measured: String, simulated: String) -> String {
    match measured == simulated {
        true => measured,
        false => format!("{measured} / {simulated}"),
    }
}

fn align_table(page: &mut String, c: &Comparison) {
    if c.align_recorded.is_empty() {
        return;
    }
    page.push_str(
        "`flashbench -a`, µs:\n\n| align | pre | on | post | diff |\n|---|---|---|---|---|\n",
    );
    for (a, b) in c.align_recorded.iter().zip(&c.align_simulated) {
        let pair = |a: f64, b: f64| {
            let one = |v: f64| match v.is_finite() {
                true => significant(v, 3, 1),
                false => "–".to_string(),
            };
            format!("{} / {}", one(a), one(b))
        };
        let wrapped = if b.off_boundary > 0 { " (wraps)" } else { "" };
        let _ = writeln!(
            page,
            "| {}{wrapped} | {} | {} | {} | {} |",
            binary_bytes(a.align),
            pair(a.pre_us, b.pre_us),
            pair(a.on_us, b.on_us),
            pair(a.post_us, b.post_us),
            pair(a.diff_us, b.diff_us)
        );
    }
    page.push('\n');
}

fn open_au_table(page: &mut String, c: &Comparison, order: Order) {
    let cells = c.open_au.iter().filter(|((o, _, _), _)| *o == order);
    let cells: Vec<_> = cells.map(|((_, n, l), cell)| (*l, *n, cell)).collect();
    let title = format!(
        "`flashbench --open-au`, {}, MB/s by number of interleaved AUs",
        order.name()
    );
    crosswise(page, &title, &cells, |n| n.to_string());
}

fn find_fat_table(page: &mut String, c: &Comparison) {
    let cells = c.find_fat.iter();
    let cells: Vec<_> = cells.map(|((l, unit), cell)| (*l, *unit, cell)).collect();
    let title = "`flashbench --find-fat`, MB/s by unit";
    crosswise(page, title, &cells, |unit| format!("unit {unit}"));
}

/// A table of cells `(length, column, cell)`: a row for each length, longest first.
fn crosswise(
    page: &mut String,
    title: &str,
    cells: &[(u64, u32, &Cell)],
    heading: impl Fn(u32) -> String,
) {
    if cells.is_empty() {
        return;
    }
    let mut lengths: Vec<u64> = cells.iter().map(|c| c.0).collect();
    lengths.sort_unstable_by_key(|l| std::cmp::Reverse(*l));
    lengths.dedup();
    let mut columns: Vec<u32> = cells.iter().map(|c| c.1).collect();
    columns.sort_unstable();
    columns.dedup();
    let names: Vec<String> = columns.iter().map(|c| heading(*c)).collect();
    let _ = writeln!(page, "{title}:\n\n| piece | {} |", names.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(columns.len()));
    for length in lengths {
        let row: Vec<String> = columns
            .iter()
            .map(|column| {
                let cell = cells.iter().find(|c| (c.0, c.1) == (length, *column));
                cell.map_or("–".to_string(), |c| {
                    format!("{} / {}", mb(c.2.recorded), mb(c.2.simulated))
                })
            })
            .collect();
        let _ = writeln!(page, "| {} | {} |", binary_bytes(length), row.join(" | "));
    }
    page.push('\n');
}

/// A rate in MB/s with three digits.
fn mb(bytes_per_s: f64) -> String {
    significant(bytes_per_s / 1e6, 3, 3)
}
