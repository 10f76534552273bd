//! Measurements and answers in the form of the result document: tables, conclusions, figures.

use nandscope_infer::flashbench::{
    AlignPlan, AlignRow, CLEAR, CardStep, Certainty, FatRounds, Knee, OpenUnits, Order, Pinned,
    Rate, Treatment, VISIBLE,
};
use nandscope_result::{CANNOT_TELL, Conclusion, DataColumn, DataRow, DataTable};
pub(crate) use nandscope_units::number::binary_bytes as size;

pub(crate) fn columns(names: &[(&str, &str)]) -> Vec<DataColumn> {
    let column = |(name, unit): &(&str, &str)| DataColumn {
        name: (*name).to_string(),
        unit: (*unit).to_string(),
    };
    names.iter().map(column).collect()
}

pub(super) fn align_table(rows: &[AlignRow], plan: &AlignPlan) -> DataTable {
    let title = match plan.factor {
        1 if plan.wrap => "Reads at boundaries".to_string(),
        1 => "Reads at boundaries, without places that wrap".to_string(),
        factor => format!("Reads at boundaries, multiples of {factor}"),
    };
    let names = [
        ("pre", "µs"),
        ("on", "µs"),
        ("post", "µs"),
        ("diff", "µs"),
        ("places off the boundary", ""),
    ];
    DataTable {
        title,
        corner: "align".to_string(),
        columns: columns(&names),
        rows: rows
            .iter()
            .map(|r| DataRow {
                label: size(r.align),
                cells: [
                    r.pre_us,
                    r.on_us,
                    r.post_us,
                    r.diff_us,
                    f64::from(r.off_boundary),
                ]
                .map(Some)
                .into(),
            })
            .collect(),
    }
}

/// Identifier and title of the figure for a row of the table of powers of two.
pub(super) fn diff_figure(align: u64) -> (String, String) {
    (
        format!("align.diff.{align}"),
        format!("Extra time of a read across {}", size(align)),
    )
}

/// Conclusion from a step of the read times.
pub(super) fn boundary(id: &str, question: &str, step: Option<CardStep>) -> Conclusion {
    let (answer, evidence) = match step {
        Some(step) => {
            let rise = format!(
                "extra time rises from {:.1} to {:.1} µs at {}, ratio {:.2}",
                step.from_us,
                step.to_us,
                size(step.at),
                step.ratio
            );
            match step.certainty() {
                Certainty::Clear => (size(step.at), rise),
                Certainty::Weak => (
                    size(step.at),
                    format!("{rise}: visible, but below {CLEAR}, so not certain"),
                ),
                Certainty::None => (
                    CANNOT_TELL.to_string(),
                    format!("largest step: {rise}, less than {VISIBLE}"),
                ),
            }
        }
        None => (
            CANNOT_TELL.to_string(),
            "no boundaries to compare".to_string(),
        ),
    };
    Conclusion::new(id, question, answer, evidence)
}

/// Title of the table of rates.
pub(super) fn rate_title(order: Order) -> String {
    format!("Interleaved AUs, {}, by length of a piece", order.name())
}

/// The rates of a table, with pieces of these lengths: AUs, length in bytes, bytes per second.
pub(super) fn rates(table: &DataTable, lengths: &[u64]) -> Vec<(u32, u64, f64)> {
    let named = |name: &str| lengths.iter().copied().find(|l| size(*l) == name);
    let mut rates = Vec::new();
    for row in &table.rows {
        let Ok(units) = row.label.parse() else {
            continue;
        };
        for (column, cell) in table.columns.iter().zip(&row.cells) {
            if let (Some(length), Some(mb_per_s)) = (named(&column.name), cell) {
                rates.push((units, length, mb_per_s * 1e6));
            }
        }
    }
    rates
}

/// Table of rates by number of units and length of pieces.
pub(super) fn rate_table(order: Order, rates: &[Rate]) -> DataTable {
    let mut lengths: Vec<u64> = rates.iter().map(|r| r.length).collect();
    lengths.sort_unstable_by_key(|l| std::cmp::Reverse(*l));
    lengths.dedup();
    let mut units: Vec<u32> = rates.iter().map(|r| r.units).collect();
    units.sort_unstable();
    units.dedup();
    let find = |n: u32, length: u64| {
        let rate = rates.iter().find(|r| r.units == n && r.length == length);
        rate.map(|r| r.bytes_per_s / 1e6)
    };
    let names: Vec<String> = lengths.iter().map(|l| size(*l)).collect();
    let names: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "MB/s")).collect();
    DataTable {
        title: rate_title(order),
        corner: "units".to_string(),
        columns: columns(&names),
        rows: units
            .iter()
            .map(|n| DataRow {
                label: n.to_string(),
                cells: lengths.iter().map(|l| find(*n, *l)).collect(),
            })
            .collect(),
    }
}

/// Conclusion on the number of open AUs. `alone`: a single AU is already slow in this order, so that a constant rate is
/// no evidence.
pub(super) fn open_units(order: Order, found: Option<OpenUnits>, alone: bool) -> Conclusion {
    let name = order.name();
    let (answer, evidence) = match found {
        Some(OpenUnits { knee, length }) => {
            let length = size(length);
            match knee {
                Knee::At { units, drop, step } => {
                    let numbers = format!(
                        "pieces of {length}: one unit more than {units} divides the rate by {step:.2}, to 1/{drop:.1} of the best"
                    );
                    match knee.certainty() {
                        Certainty::Clear => (units.to_string(), numbers),
                        Certainty::Weak => (
                            units.to_string(),
                            format!("{numbers}: a step below {CLEAR}, so not certain"),
                        ),
                        Certainty::None => (
                            CANNOT_TELL.to_string(),
                            format!("{numbers}: a slope, no collapse"),
                        ),
                    }
                }
                Knee::AtLeast(_) if alone => (
                    "none".to_string(),
                    format!(
                        "pieces of {length}: in one unit already less than half the rate of linear order"
                    ),
                ),
                Knee::AtLeast(units) => (
                    format!("at least {units}"),
                    format!("pieces of {length}: no collapse up to {units} units"),
                ),
                Knee::Unknown => (
                    CANNOT_TELL.to_string(),
                    "fewer than two units fit the device".to_string(),
                ),
            }
        }
        None => (CANNOT_TELL.to_string(), "nothing was measured".to_string()),
    };
    Conclusion::new(
        &format!("open-au.{name}"),
        &format!("Open allocation units, {name} within the unit"),
        answer,
        evidence,
    )
}

pub(super) fn fat_table(order: Order, lengths: &[u64], rates: &[Vec<f64>]) -> DataTable {
    let units = rates.iter().map(Vec::len).max().unwrap_or(0);
    let names: Vec<String> = (0..units).map(|u| format!("unit {u}")).collect();
    let names: Vec<(&str, &str)> = names.iter().map(|n| (n.as_str(), "MB/s")).collect();
    DataTable {
        title: format!("The first units, {}", order.name()),
        corner: "piece".to_string(),
        columns: columns(&names),
        rows: lengths
            .iter()
            .zip(rates)
            .map(|(length, row)| DataRow {
                label: size(*length),
                cells: row.iter().map(|r| Some(r / 1e6)).collect(),
            })
            .collect(),
    }
}

pub(super) fn treated(order: Order, found: Option<&[Treatment]>) -> Conclusion {
    let (answer, evidence) = match found {
        None => (
            CANNOT_TELL.to_string(),
            "too few units to compare".to_string(),
        ),
        Some([]) => (
            "none".to_string(),
            format!("no unit differs from the others by a factor of {CLEAR} over the lengths"),
        ),
        Some(some) => {
            let word = |t: &Treatment| if t.ratio > 1.0 { "faster" } else { "slower" };
            let list: Vec<String> = some
                .iter()
                .map(|t| format!("unit {} {}", t.unit, word(t)))
                .collect();
            let ratios: Vec<String> = some.iter().map(|t| format!("{:.2}", t.ratio)).collect();
            (
                list.join(", "),
                format!(
                    "rate over the median of the units, median over the lengths: {}",
                    ratios.join(", ")
                ),
            )
        }
    };
    Conclusion::new(
        &format!("find-fat.{}", order.name()),
        &format!("Units treated otherwise, written {}", order.name()),
        answer,
        evidence,
    )
}

/// Conclusion on whether first AUs are kept open, from the rounds of several of them, by AU number.
pub(super) fn pinned(open: u32, length: u64, units: &[(u64, FatRounds)]) -> Conclusion {
    let with = |wanted: Pinned| units.iter().filter(move |(_, r)| r.pinned() == wanted);
    let kept: Vec<String> = with(Pinned::Yes)
        .map(|(u, _)| format!("unit {u}"))
        .collect();
    let answer = if !kept.is_empty() {
        kept.join(", ")
    } else if with(Pinned::No).next().is_some() {
        "none".to_string()
    } else {
        CANNOT_TELL.to_string()
    };
    let ms = |s: f64| format!("{:.2} ms", s * 1e3);
    let evidence = units.iter().map(|(unit, r)| {
        format!(
            "unit {unit}: a piece of {} into each of {open} data units takes {}, {piece} to the unit {}, both together {}, with {piece} to a unit after the data instead {}; {} data units and {piece} to the unit {}",
            size(length),
            ms(r.data_s),
            ms(r.small_s),
            ms(r.fat_s),
            ms(r.control_s),
            open + 1,
            ms(r.fat_more_s),
            piece = size(r.piece),
        )
    });
    Conclusion::new(
        "find-fat.pinned",
        PINNED,
        answer,
        evidence.collect::<Vec<_>>().join(". "),
    )
}

const PINNED: &str = "First units kept open beside the others";

pub(super) fn pinned_unknown(why: &str) -> Conclusion {
    Conclusion::new("find-fat.pinned", PINNED, CANNOT_TELL, why)
}
