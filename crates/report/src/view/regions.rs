//! Regions of a write across the whole device: stretches of about equal rate, as found by the procedure and stored in
//! figures (`….plateau-N` for the median rate, `….plateau-N.end` for their end). No regions are found here.

use super::matrix::{Body, Cell, Matrix, Row};
use crate::number::with_unit;
use nandscope_result::StepResult;

/// Separates the name of the run from the number of the region.
const MARK: &str = ".plateau-";

/// A stretch of a write with one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// Rate, MB/s.
    pub mb_s: f64,
    /// End, 10^9 bytes from the start, if known.
    pub end_gb: Option<f64>,
}

/// Regions of a step in order; empty if the step has no such figures.
pub fn of_step(step: &StepResult) -> Vec<Region> {
    let value = |wanted: &str| {
        step.figures
            .iter()
            .find(|f| f.id.split_once(MARK).is_some_and(|(_, n)| n == wanted))
            .map(|f| f.value)
            .filter(|v| v.is_finite() && *v > 0.0)
    };
    (1..)
        .map_while(|n: usize| {
            value(&n.to_string()).map(|mb_s| Region {
                mb_s,
                end_gb: value(&format!("{n}.end")),
            })
        })
        .collect()
}

/// Several regions in words: `411 MB/s for the first 5.48 GB, then 76.2 MB/s up to 244 GB and 32.2 MB/s
/// for the rest`.
pub fn in_words(regions: &[Region]) -> String {
    let last = regions.len().saturating_sub(1);
    let mut out = String::new();
    for (i, region) in regions.iter().enumerate() {
        let speed = with_unit(region.mb_s, "MB/s");
        out.push_str(match i {
            0 => "",
            1 if last > 1 => ", then ",
            i if i == last => " and ",
            _ => ", ",
        });
        out.push_str(&speed);
        match (i, region.end_gb) {
            (i, _) if i == last => out.push_str(" for the rest"),
            (0, Some(gb)) => out.push_str(&format!(" for the first {}", with_unit(gb, "GB"))),
            (_, Some(gb)) => out.push_str(&format!(" up to {}", with_unit(gb, "GB"))),
            _ => {}
        }
    }
    out
}

/// A table of all runs that have regions, with the names of the runs before them; `None` if no run has regions.
pub fn table(runs: &[(String, Vec<Region>)]) -> Option<Matrix> {
    let columns = runs.iter().map(|r| r.1.len()).max().filter(|n| *n > 0)?;
    let rows = runs
        .iter()
        .filter(|(_, regions)| !regions.is_empty())
        .map(|(name, regions)| Row {
            label: name.clone(),
            cells: (0..columns).map(|i| cell(regions.get(i))).collect(),
        })
        .collect();
    Some(Matrix {
        title: "Regions of the write".into(),
        corner: "Run".into(),
        heads: Vec::new(),
        columns: (1..=columns).map(|n| format!("Region {n}")).collect(),
        bodies: vec![Body {
            title: String::new(),
            rows,
        }],
    })
}

fn cell(region: Option<&Region>) -> Cell {
    region.map_or_else(Cell::default, |r| Cell {
        text: with_unit(r.mb_s, "MB/s"),
        remark: r
            .end_gb
            .map(|gb| format!("until {}", with_unit(gb, "GB")))
            .unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Figure;

    fn step(figures: &[(&str, f64)]) -> StepResult {
        let figures = figures.iter().map(|(id, value)| Figure {
            id: format!("e.fio.fresh{id}"),
            value: *value,
            ..Figure::default()
        });
        StepResult {
            figures: figures.collect(),
            ..StepResult::default()
        }
    }

    #[test]
    fn regions_are_read_and_said() {
        let s = step(&[
            (".write", 75.0),
            (".write.plateau-1", 411.0),
            (".write.plateau-1.end", 5.48),
            (".write.plateau-2", 76.2),
            (".write.plateau-2.end", 244.0),
            (".write.plateau-3", 32.2),
        ]);
        let regions = of_step(&s);
        assert_eq!(regions.len(), 3);
        assert_eq!(regions[2].end_gb, None);
        assert_eq!(
            in_words(&regions).replace('\u{202f}', " "),
            "411 MB/s for the first 5.48 GB, then 76.2 MB/s up to 244 GB and 32.2 MB/s for the rest"
        );
        assert_eq!(
            in_words(&regions[1..]).replace('\u{202f}', " "),
            "76.2 MB/s for the first 244 GB and 32.2 MB/s for the rest"
        );
    }

    #[test]
    fn shorter_runs_leave_their_last_cells_empty() {
        let run = |n: usize| {
            vec![
                Region {
                    mb_s: 50.0,
                    end_gb: Some(1.0)
                };
                n
            ]
        };
        let table = table(&[
            ("a".into(), run(3)),
            ("b".into(), run(0)),
            ("c".into(), run(1)),
        ])
        .unwrap();
        assert_eq!(table.columns.len(), 3);
        let rows = &table.bodies[0].rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[1].cells[2], Cell::default());
        assert_eq!(super::table(&[]), None);
    }
}
