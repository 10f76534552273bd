//! Chapters in which the same things are measured in several states of the device (fresh, used,
//! refreshed): CrystalDiskMark, and reading and writing across the device. The state is part of the
//! identifier of a figure: `<mode>.cdm.<state>.<test>.<read|write>[.latency|.iops]`,
//! `<mode>.fio.<state>.<read|write>[.<what>]`. Other figures are not taken. Identifiers decide which figures share a row;
//! titles only label the rows.

use super::bars::{self, BarChart};
use super::matrix::{Body, Cell, Matrix, Row};
use crate::names::capital;
use crate::number::{latency, short, with_unit};
use nandscope_result::figure_id::STATES;
use nandscope_result::{Figure, StepResult};

/// A figure and where its identifier puts it.
struct Entry<'a> {
    figure: &'a Figure,
    mode: &'a str,
    state: &'a str,
    rest: Vec<&'a str>,
}

/// The figures of the steps whose identifiers have `kind` as a part.
fn entries<'a>(steps: &[&'a StepResult], kind: &str) -> Vec<Entry<'a>> {
    let figures = steps
        .iter()
        .flat_map(|s| s.figures.iter().map(move |f| (*s, f)))
        .filter(|(_, f)| f.value.is_finite());
    figures
        .filter_map(|(step, figure)| {
            let mut parts = figure.id.split('.').skip_while(|p| *p != kind).skip(1);
            let state = parts.next()?;
            let rest: Vec<&str> = parts.collect();
            let mode = figure.mode.as_deref().or(step.mode.as_deref());
            STATES.contains(&state).then(|| Entry {
                figure,
                mode: mode.unwrap_or_default(),
                state,
                rest,
            })
        })
        .collect()
}

/// Rows of a table, each with the part of the identifiers that its figures share.
struct Rows {
    columns: usize,
    keyed: Vec<(String, Row)>,
}

impl Rows {
    /// No rows, of a table with this number of columns.
    fn of(columns: usize) -> Rows {
        Rows {
            columns,
            keyed: Vec::new(),
        }
    }

    /// Puts a cell into the row of its key, or into a new row if its column is used already.
    fn place(&mut self, key: &str, label: impl Fn() -> String, at: usize, cell: Cell) {
        let free =
            |(k, row): &&mut (String, Row)| k == key && row.cells.get(at) == Some(&Cell::default());
        if let Some((_, row)) = self.keyed.iter_mut().find(free) {
            row.cells[at] = cell;
            return;
        }
        let mut cells = vec![Cell::default(); self.columns];
        if let Some(slot) = cells.get_mut(at) {
            *slot = cell;
        }
        let label = label();
        self.keyed.push((key.to_string(), Row { label, cells }));
    }

    /// Sorts the rows by their keys.
    fn sort(&mut self) {
        self.keyed.sort_by(|a, b| a.0.cmp(&b.0));
    }

    fn rows(self) -> Vec<Row> {
        self.keyed.into_iter().map(|(_, row)| row).collect()
    }
}

fn distinct<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut out = Vec::new();
    for text in texts {
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out
}

/// CrystalDiskMark: a table of speeds for each mode, tables of operations and latencies, and the first test of all
/// states as bars.
#[derive(Clone, Debug, Default)]
pub struct Crystal {
    /// Speeds, one table for each mode.
    pub speeds: Vec<Matrix>,
    /// Operations per second and mean latency, one table for each mode.
    pub details: Vec<Matrix>,
    /// The first test in all states.
    pub charts: Vec<BarChart>,
}

/// Extracts CrystalDiskMark's figures from steps; `None` if they have none.
pub fn crystal(steps: &[&StepResult], modes: &[String]) -> Option<Crystal> {
    let all = entries(steps, "cdm");
    if all.is_empty() {
        return None;
    }
    let states = distinct(all.iter().map(|e| e.state));
    let kinds = distinct(all.iter().filter_map(|e| e.rest.get(1).copied()));
    let mut crystal = Crystal::default();
    for mode in distinct(all.iter().map(|e| e.mode)) {
        let of_mode: Vec<&Entry> = all.iter().filter(|e| e.mode == mode).collect();
        crystal.speeds.push(speeds(mode, &of_mode, &kinds, &states));
        crystal
            .details
            .extend(details(mode, &of_mode, &kinds, &states));
    }
    let first = all.first().and_then(|e| e.rest.first().copied())?;
    let chosen: Vec<(String, &Figure, Option<&str>)> = kinds
        .iter()
        .flat_map(|kind| {
            let is_first = move |e: &&Entry| e.rest == [first, *kind];
            all.iter().filter(is_first).map(|e| {
                let mode = (!e.mode.is_empty()).then_some(e.mode);
                (format!("{}, {}", capital(kind), e.state), e.figure, mode)
            })
        })
        .collect();
    let title = all.first().map_or(String::new(), test_name);
    crystal.charts = all_tests(&all, &kinds, states.first().copied(), modes);
    crystal
        .charts
        .extend(bars::of_labelled(&title, &chosen, modes));
    Some(crystal)
}

/// Chart of the speeds of all tests in one state.
fn all_tests(
    all: &[Entry],
    kinds: &[&str],
    state: Option<&str>,
    modes: &[String],
) -> Vec<BarChart> {
    let Some(state) = state else {
        return Vec::new();
    };
    let mut chosen: Vec<(String, &Figure, Option<&str>)> = Vec::new();
    for kind in kinds {
        let fits = |e: &&Entry| e.state == state && e.rest.len() == 2 && e.rest[1] == *kind;
        chosen.extend(all.iter().filter(fits).map(|e| {
            let mode = (!e.mode.is_empty()).then_some(e.mode);
            (format!("{} {kind}", test_name(e)), e.figure, mode)
        }));
    }
    bars::of_labelled(&capital(state), &chosen, modes)
}

/// Name of the test in the identifier of a figure: the part before the direction.
fn test_name(entry: &Entry) -> String {
    let kind = entry.rest.get(1).copied().unwrap_or_default();
    let title = &entry.figure.title;
    match title.split_once(&format!(" {kind}")) {
        Some((test, _)) if !kind.is_empty() => test.to_string(),
        _ => title.clone(),
    }
}

/// An empty table with a column for each direction and state.
fn crystal_table(title: String, kinds: &[&str], states: &[&str], rows: Vec<Row>) -> Matrix {
    let heads = kinds.iter().map(|k| (capital(k), states.len())).collect();
    let columns = kinds
        .iter()
        .flat_map(|_| states.iter().map(|s| (*s).to_string()))
        .collect();
    Matrix {
        title,
        corner: "Test".into(),
        heads,
        columns,
        bodies: vec![Body {
            title: String::new(),
            rows,
        }],
    }
}

/// Column of a direction and a state.
fn column(entry: &Entry, kinds: &[&str], states: &[&str]) -> Option<usize> {
    let kind = kinds.iter().position(|k| Some(k) == entry.rest.get(1))?;
    let state = states.iter().position(|s| *s == entry.state)?;
    Some(kind * states.len() + state)
}

fn speeds(mode: &str, of_mode: &[&Entry], kinds: &[&str], states: &[&str]) -> Matrix {
    let mut rows = Rows::of(kinds.len() * states.len());
    for e in of_mode.iter().filter(|e| e.rest.len() == 2) {
        if let Some(at) = column(e, kinds, states) {
            let mut cell = Cell::of(e.figure);
            cell.text = short(e.figure.value);
            rows.place(e.rest[0], || test_name(e), at, cell);
        }
    }
    let title = if mode.is_empty() {
        "Speed in MB/s".to_string()
    } else {
        format!("{mode}, MB/s")
    };
    crystal_table(title, kinds, states, rows.rows())
}

fn details(mode: &str, of_mode: &[&Entry], kinds: &[&str], states: &[&str]) -> Option<Matrix> {
    let mut rows = Rows::of(kinds.len() * states.len());
    for e in of_mode.iter().filter(|e| e.rest.len() == 3) {
        let figure = e.figure;
        let (what, text) = match (e.rest[2], figure.unit.as_str()) {
            ("latency", "µs") => ("mean latency", latency(figure.value * 1e3)),
            ("latency", unit) => ("mean latency", with_unit(figure.value, unit)),
            ("iops", _) => ("IOPS", short(figure.value)),
            _ => continue,
        };
        if let Some(at) = column(e, kinds, states) {
            let cell = Cell {
                text,
                ..Cell::of(figure)
            };
            let key = format!("{}.{}", e.rest[0], e.rest[2]);
            rows.place(&key, || format!("{}, {what}", test_name(e)), at, cell);
        }
    }
    rows.sort();
    let rows = rows.rows();
    (!rows.is_empty()).then(|| crystal_table(mode.to_string(), kinds, states, rows))
}

/// Reading and writing across the device, a column for each mode and state; `None` without such figures. Regions have a
/// separate table.
pub fn across(steps: &[&StepResult]) -> Option<Matrix> {
    let all: Vec<Entry> = entries(steps, "fio")
        .into_iter()
        .filter(|e| !e.rest.iter().any(|p| p.starts_with("plateau")))
        .collect();
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for mode in distinct(all.iter().map(|e| e.mode)) {
        let of_mode = all.iter().filter(|e| e.mode == mode);
        columns.extend(
            distinct(of_mode.map(|e| e.state))
                .iter()
                .map(|s| (mode, *s)),
        );
    }
    let mut rows = Rows::of(columns.len());
    for e in &all {
        let label = || e.figure.title.replace(&format!(", {}", e.state), "");
        let at = columns.iter().position(|c| *c == (e.mode, e.state));
        let key = e.rest.join(".");
        rows.place(&key, label, at.unwrap_or(0), Cell::of(e.figure));
    }
    let rows = rows.rows();
    let heads = distinct(columns.iter().map(|c| c.0))
        .into_iter()
        .map(|m| (m.to_string(), columns.iter().filter(|c| c.0 == m).count()))
        .filter(|h| !h.0.is_empty())
        .collect();
    (!rows.is_empty()).then(|| Matrix {
        title: "Reading and writing across the device".into(),
        corner: "Figure".into(),
        heads,
        columns: columns.iter().map(|c| c.1.to_string()).collect(),
        bodies: vec![Body {
            title: String::new(),
            rows,
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(mode: &str, figures: &[(&str, &str, f64, &str)]) -> StepResult {
        StepResult {
            mode: Some(mode.into()),
            figures: figures
                .iter()
                .map(|(id, title, value, unit)| Figure {
                    id: (*id).into(),
                    title: (*title).into(),
                    value: *value,
                    unit: (*unit).into(),
                    ..Figure::default()
                })
                .collect(),
            ..StepResult::default()
        }
    }

    #[test]
    fn crystal_has_a_table_for_each_mode_and_one_chart() {
        let fresh = step(
            "E",
            &[
                ("e.cdm.fresh.seq1m.read", "SEQ1M read, fresh", 890.0, "MB/s"),
                (
                    "e.cdm.fresh.seq1m.read.latency",
                    "SEQ1M read, fresh, mean latency",
                    9400.0,
                    "µs",
                ),
                (
                    "e.cdm.fresh.rnd4k.write",
                    "RND4K write, fresh",
                    90.0,
                    "MB/s",
                ),
            ],
        );
        let used = step(
            "E",
            &[("e.cdm.used.seq1m.read", "SEQ1M read, used", 880.0, "MB/s")],
        );
        let other = step(
            "U",
            &[("u.cdm.fresh.seq1m.read", "SEQ1M read, fresh", 92.0, "MB/s")],
        );
        let c = crystal(&[&fresh, &used, &other], &["E".into(), "U".into()]).unwrap();
        assert_eq!(c.speeds.len(), 2);
        let table = &c.speeds[0];
        assert_eq!(
            table.heads,
            [("Read".to_string(), 2), ("Write".to_string(), 2)]
        );
        let texts = |row: &Row| row.cells.iter().map(|c| c.text.clone()).collect::<Vec<_>>();
        assert_eq!(table.bodies[0].rows[0].label, "SEQ1M");
        assert_eq!(texts(&table.bodies[0].rows[0]), ["890", "880", "", ""]);
        assert_eq!(texts(&table.bodies[0].rows[1]), ["", "", "90.0", ""]);
        assert_eq!(
            c.details[0].bodies[0].rows[0].cells[0].text,
            "9.40\u{202f}ms"
        );
        let titles: Vec<&str> = c.charts.iter().map(|c| c.title.as_str()).collect();
        assert_eq!(titles, ["Fresh", "SEQ1M"]);
        assert_eq!(c.charts[0].rows.len(), 2);
        assert_eq!(c.charts[1].rows[0].bars.len(), 2);
    }

    #[test]
    fn across_leaves_regions_to_their_own_table() {
        let fresh = step(
            "E",
            &[
                (
                    "e.fio.fresh.write",
                    "Sequential write, fresh, mean",
                    75.0,
                    "MB/s",
                ),
                (
                    "e.fio.fresh.write.plateau-1",
                    "Sequential write, fresh, region 1",
                    411.0,
                    "MB/s",
                ),
            ],
        );
        let used = step(
            "E",
            &[(
                "e.fio.used.write",
                "Sequential write, used, mean",
                74.0,
                "MB/s",
            )],
        );
        let m = across(&[&fresh, &used]).unwrap();
        assert_eq!(m.columns, ["fresh", "used"]);
        assert_eq!(m.bodies[0].rows.len(), 1);
        assert_eq!(m.bodies[0].rows[0].label, "Sequential write, mean");
        assert!(across(&[]).is_none() && crystal(&[], &[]).is_none());
    }
}
