//! Rows over a shared axis: joins several series with separate clocks in one plot, and reduces many rows to the number
//! that a screen shows. Independent of units, colours and files.

/// Value of a line at one place of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell {
    /// Value of a sample.
    Value(f64),
    /// Nothing was measured here: the line is broken.
    Gap,
    /// Only other lines have a sample here: the line continues.
    Absent,
}

impl Cell {
    /// The value, if there is one.
    pub fn value(self) -> Option<f64> {
        match self {
            Cell::Value(v) => Some(v),
            Cell::Gap | Cell::Absent => None,
        }
    }
}

/// A line before alignment: places and values, with the usual distance between places (zero if irregular: gaps are then
/// unknown).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Place (finite, ascending) and value.
    pub points: Vec<(f64, f64)>,
    /// The usual distance between two places.
    pub interval: f64,
}

impl Samples {
    /// Samples from two lists: pairs with a finite place and value, in ascending order.
    pub fn new(places: &[f64], values: &[f64], interval: f64) -> Self {
        let mut points: Vec<(f64, f64)> = places
            .iter()
            .copied()
            .zip(values.iter().copied())
            .filter(|(x, _)| x.is_finite())
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let interval = if interval > 0.0 {
            interval
        } else {
            usual_distance(&points)
        };
        Samples { points, interval }
    }

    /// Appends later samples. The line is broken between the two if there is a gap, or if the usual distance of one of
    /// them is unknown.
    pub fn append(&mut self, later: Samples) {
        if let (Some(last), Some(first)) = (self.points.last(), later.points.first()) {
            let gap = first.0 - last.0;
            let seen = |interval: f64| interval > 0.0 && gap > MISSING * interval;
            let missing = gap > MISSING * self.interval.min(later.interval);
            // A gap that exceeds the longer of the two intervals is found later, by [`Samples::breaks`].
            if missing && !seen(self.interval.max(later.interval)) {
                self.points.push(((last.0 + first.0) / 2.0, f64::NAN));
            }
        }
        self.points.extend(later.points);
        self.points.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.interval = self.interval.max(later.interval);
    }

    /// Places at which the line must be broken because more than three intervals are missing.
    fn breaks(&self) -> Vec<f64> {
        if !(self.interval.is_finite() && self.interval > 0.0) {
            return Vec::new();
        }
        self.points
            .windows(2)
            .filter(|w| w[1].0 - w[0].0 > MISSING * self.interval)
            .map(|w| w[0].0 + self.interval)
            .collect()
    }
}

/// Intervals between two samples from which on a stretch is missing between them.
const MISSING: f64 = 3.5;
/// Smallest number of distances that have a usual one.
const FEWEST_DISTANCES: usize = 3;

/// The distance of at least half of the neighbours; 0 if they have no common one. A series with pauses may have no
/// interval, but its pauses must not be drawn as slopes.
fn usual_distance(points: &[(f64, f64)]) -> f64 {
    let mut distances: Vec<f64> = points.windows(2).map(|w| w[1].0 - w[0].0).collect();
    if distances.len() < FEWEST_DISTANCES {
        return 0.0;
    }
    distances.sort_by(f64::total_cmp);
    let middle = distances[distances.len() / 2];
    let near = |d: &&f64| (**d - middle).abs() <= 0.1 * middle;
    if distances.iter().filter(near).count() * 2 >= distances.len() {
        middle
    } else {
        0.0
    }
}

/// Lines over a shared axis. Every column is as long as `xs`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Places, ascending.
    pub xs: Vec<f64>,
    /// One column for each line.
    pub columns: Vec<Vec<Cell>>,
}

impl Table {
    /// Aligns lines over the union of their places.
    pub fn align(lines: &[Samples]) -> Self {
        let mut xs: Vec<f64> = lines
            .iter()
            .flat_map(|line| line.points.iter().map(|p| p.0).chain(line.breaks()))
            .collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let columns = lines.iter().map(|line| column(&xs, line)).collect();
        Table { xs, columns }
    }

    /// Arranges samples that are points, not lines, by their places. A place has as many rows as a column has points
    /// there: commands may begin at the same instant.
    pub fn scatter(columns: &[Samples]) -> Self {
        let mut rows: Vec<(f64, usize)> = columns.iter().flat_map(ranked).map(|p| p.0).collect();
        let ascending =
            |a: &(f64, usize), b: &(f64, usize)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
        rows.sort_by(ascending);
        rows.dedup();
        let columns = columns
            .iter()
            .map(|samples| {
                let mut cells = vec![Cell::Absent; rows.len()];
                for (row, value) in ranked(samples) {
                    if let Ok(i) = rows.binary_search_by(|probe| ascending(probe, &row)) {
                        cells[i] = if value.is_finite() {
                            Cell::Value(value)
                        } else {
                            Cell::Absent
                        };
                    }
                }
                cells
            })
            .collect();
        Table {
            xs: rows.into_iter().map(|row| row.0).collect(),
            columns,
        }
    }

    /// At most about `most` rows: each bucket of rows becomes two, which hold the least and the
    /// greatest value of every line in the order in which they came, so that no peak is lost.
    pub fn reduce(&self, most: usize) -> Table {
        if self.xs.len() <= most.max(4) {
            return self.clone();
        }
        let per_bucket = self.xs.len().div_ceil((most / 2).max(2));
        let mut out = Table {
            xs: Vec::new(),
            columns: vec![Vec::new(); self.columns.len()],
        };
        for (start, end) in self.buckets(per_bucket, most) {
            let single = end - start == 1;
            out.xs.push(self.xs[start]);
            if !single {
                out.xs.push(self.xs[end - 1]);
            }
            for (from, to) in self.columns.iter().zip(&mut out.columns) {
                let (first, second) = extremes(&from[start..end]);
                to.push(first);
                if !single {
                    to.push(second);
                }
            }
        }
        out
    }

    /// Bounds of the buckets. A row that breaks a line is a separate bucket, or the break would be lost among values,
    /// unless there are too many breaks for the limit.
    fn buckets(&self, rows: usize, most: usize) -> Vec<(usize, usize)> {
        let breaks: Vec<usize> = (0..self.xs.len())
            .filter(|&i| {
                let begins = |c: &Vec<Cell>| c[i] == Cell::Gap && (i == 0 || c[i - 1] != Cell::Gap);
                self.columns.iter().any(begins)
            })
            .collect();
        let kept: &[usize] = if breaks.len() <= most / 8 {
            &breaks
        } else {
            &[]
        };
        let mut bounds = Vec::new();
        let mut start = 0;
        let mut cut = |from: usize, to: usize| {
            for s in (from..to).step_by(rows) {
                bounds.push((s, (s + rows).min(to)));
            }
        };
        for &at in kept {
            cut(start, at);
            cut(at, at + 1);
            start = at + 1;
        }
        cut(start, self.xs.len());
        bounds
    }
}

/// Each point with its index among the points at its place.
fn ranked(samples: &Samples) -> impl Iterator<Item = ((f64, usize), f64)> {
    let mut last = (f64::NAN, 0);
    samples.points.iter().map(move |&(x, value)| {
        last = (x, if x == last.0 { last.1 + 1 } else { 0 });
        (last, value)
    })
}

fn column(xs: &[f64], line: &Samples) -> Vec<Cell> {
    let mut cells = vec![Cell::Absent; xs.len()];
    let place = |x: f64| xs.binary_search_by(|probe| probe.total_cmp(&x));
    for x in line.breaks() {
        if let Ok(i) = place(x) {
            cells[i] = Cell::Gap;
        }
    }
    for &(x, v) in &line.points {
        if let Ok(i) = place(x) {
            cells[i] = if v.is_finite() {
                Cell::Value(v)
            } else {
                Cell::Gap
            };
        }
    }
    // A break lasts until the next value, however many places other lines have in between.
    for i in 1..cells.len() {
        if cells[i] == Cell::Absent && cells[i - 1] == Cell::Gap {
            cells[i] = Cell::Gap;
        }
    }
    cells
}

/// Least and greatest of the values, in the order of their places.
fn extremes(cells: &[Cell]) -> (Cell, Cell) {
    let mut least: Option<(usize, f64)> = None;
    let mut greatest: Option<(usize, f64)> = None;
    for (i, cell) in cells.iter().enumerate() {
        let Some(v) = cell.value() else { continue };
        if least.is_none_or(|(_, l)| v < l) {
            least = Some((i, v));
        }
        if greatest.is_none_or(|(_, g)| v > g) {
            greatest = Some((i, v));
        }
    }
    match (least, greatest) {
        (Some((i, l)), Some((j, g))) if i <= j => (Cell::Value(l), Cell::Value(g)),
        (Some((_, l)), Some((_, g))) => (Cell::Value(g), Cell::Value(l)),
        _ if cells.contains(&Cell::Gap) => (Cell::Gap, Cell::Gap),
        _ => (Cell::Absent, Cell::Absent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_with_clocks_of_their_own_share_the_axis() {
        let a = Samples::new(&[1.0, 2.0, 3.0], &[10.0, 20.0, 30.0], 1.0);
        let b = Samples::new(&[2.0, 2.5], &[5.0, f64::NAN], 0.5);
        let table = Table::align(&[a, b]);
        assert_eq!(table.xs, [1.0, 2.0, 2.5, 3.0]);
        let v = Cell::Value;
        assert_eq!(table.columns[0], [v(10.0), v(20.0), Cell::Absent, v(30.0)]);
        assert_eq!(
            table.columns[1],
            [Cell::Absent, v(5.0), Cell::Gap, Cell::Gap]
        );
    }

    #[test]
    fn points_at_one_place_are_all_kept() {
        let a = Samples::new(&[1.0, 1.0, 1.0, 2.0], &[10.0, 20.0, 30.0, 40.0], 0.0);
        let b = Samples::new(&[1.0, 1.0, 3.0], &[5.0, 6.0, 7.0], 0.0);
        let table = Table::scatter(&[a, b]);
        assert_eq!(table.xs, [1.0, 1.0, 1.0, 2.0, 3.0]);
        let (v, none) = (Cell::Value, Cell::Absent);
        assert_eq!(table.columns[0], [v(10.0), v(20.0), v(30.0), v(40.0), none]);
        assert_eq!(table.columns[1], [v(5.0), v(6.0), none, none, v(7.0)]);
    }

    #[test]
    fn a_missing_stretch_breaks_the_line() {
        let line = Samples::new(&[1.0, 2.0, 60.0], &[1.0, 1.0, 1.0], 1.0);
        let table = Table::align(&[line]);
        assert_eq!(table.xs, [1.0, 2.0, 3.0, 60.0]);
        assert_eq!(table.columns[0][2], Cell::Gap);
    }

    #[test]
    fn a_pause_within_a_steady_series_without_interval_breaks_the_line() {
        let mut xs: Vec<f64> = (0..20).map(f64::from).collect();
        xs.extend((300..320).map(f64::from));
        let line = Samples::new(&xs, &vec![1.0; 40], 0.0);
        assert_eq!(line.interval, 1.0);
        let gaps = |t: &Table| t.columns[0].iter().filter(|c| **c == Cell::Gap).count();
        assert_eq!(gaps(&Table::align(&[line])), 1);
        // Short runs with pauses of a minute: one distance in four is a pause, one a cut interval.
        let runs: Vec<f64> = (0..6)
            .flat_map(|run| [1.0, 2.0, 3.0, 3.4].map(|t| t + 60.0 * f64::from(run)))
            .collect();
        assert_eq!(
            gaps(&Table::align(&[Samples::new(&runs, &[1.0; 24], 0.0)])),
            5
        );
        let growing: Vec<f64> = (0..40).map(|i| f64::from(i * i)).collect();
        let irregular = Samples::new(&growing, &growing, 0.0);
        assert_eq!(gaps(&Table::align(&[irregular])), 0);
    }

    #[test]
    fn a_break_is_not_passed_over_where_another_line_has_samples() {
        let broken = Samples::new(&[1.0, 2.0, 60.0], &[1.0, 1.0, 1.0], 1.0);
        let whole: Vec<f64> = (1..=60).map(f64::from).collect();
        let table = Table::align(&[broken, Samples::new(&whole, &whole, 1.0)]);
        assert!(table.columns[0][2..59].iter().all(|c| *c == Cell::Gap));
        assert_eq!(table.columns[0][59], Cell::Value(1.0));
    }

    #[test]
    fn lists_of_different_length_and_disorder_are_taken() {
        let line = Samples::new(&[3.0, f64::NAN, 1.0, 9.0], &[30.0, 0.0, 10.0], 0.0);
        assert_eq!(line.points, [(1.0, 10.0), (3.0, 30.0)]);
        assert_eq!(Table::align(&[]).xs.len(), 0);
    }

    #[test]
    fn a_break_survives_reduction() {
        let mut xs: Vec<f64> = (0..1000).map(f64::from).collect();
        xs.extend((2000..3000).map(f64::from));
        let values = vec![1.0; xs.len()];
        let small = Table::align(&[Samples::new(&xs, &values, 1.0)]).reduce(100);
        assert_eq!(
            small.columns[0].iter().filter(|c| **c == Cell::Gap).count(),
            1
        );
        assert!(small.xs.len() < 110);
    }

    proptest! {
        #[test]
        fn reduction_keeps_extremes_order_and_bound(
            values in proptest::collection::vec(-1e6f64..1e6, 1..3000), most in 4usize..500
        ) {
            let xs: Vec<f64> = (0..values.len()).map(|i| i as f64).collect();
            let whole = Table::align(&[Samples::new(&xs, &values, 1.0)]);
            let small = whole.reduce(most);
            prop_assert!(small.xs.len() <= most.max(4) + 2);
            prop_assert!(small.xs.windows(2).all(|w| w[0] < w[1]));
            prop_assert_eq!(small.columns[0].len(), small.xs.len());
            let least = |t: &Table| t.columns[0].iter().filter_map(|c| c.value()).fold(f64::MAX, f64::min);
            let most = |t: &Table| t.columns[0].iter().filter_map(|c| c.value()).fold(f64::MIN, f64::max);
            prop_assert_eq!(least(&whole), least(&small));
            prop_assert_eq!(most(&whole), most(&small));
        }
    }
}
