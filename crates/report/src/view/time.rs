//! Plots over time: groups the series of a step into plots, orders the plots and names
//! their axes. Series with the same unit share a plot.

use super::plot::{Axis, Kind, Line, Mark, Plot};
use super::requirements;
use super::table::{Samples, Table};
use crate::names::{Unique, capital, valid_name};
use nandscope_result::{ADDRESS_UNIT, Operation, Series, StepResult, series};

/// Units in the order of their plots; other units follow.
const ORDER: [&str; 8] = ["MB/s", "IOPS", "µs", "ms", "W", "°C", "%", "GB"];

/// A series on its way into a plot: its name, unit and samples, times already relative to the origin.
struct Track {
    name: String,
    unit: String,
    samples: Samples,
}

/// Plots of all series of one step.
pub fn of_step(step: &StepResult, names: &mut Unique) -> Vec<Plot> {
    let tracks: Vec<Track> = step
        .series
        .iter()
        .filter(|s| is_shown(s, step))
        .map(|s| track(s, step.start_s))
        .collect();
    let length = step.end_s - step.start_s;
    let marks: Vec<Mark> = step
        .events
        .iter()
        .map(|m| Mark {
            x: m.t_s - step.start_s,
            name: m.kind.to_string(),
        })
        .collect();
    let plots = plots(
        &tracks,
        &valid_name(&step.id),
        "since start of step",
        length,
        &marks,
        names,
    );
    let with_limits = |plot: Plot| {
        let limits = requirements::limits(step, &plot.y.unit);
        plot.with_limits(limits)
    };
    plots.into_iter().map(with_limits).collect()
}

/// Plots over several steps, one after another on the target's clock: the time line of a whole chapter. Each step's
/// start is marked with its title. Lines break where no step ran. Empty if the steps do not follow one another on
/// one clock, such as runs that each begin with a fresh device.
pub fn of_steps(id: &str, steps: &[&StepResult], names: &mut Unique) -> Vec<Plot> {
    if !follow_one_another(steps) {
        return Vec::new();
    }
    let origin = steps
        .iter()
        .map(|s| s.start_s)
        .fold(f64::INFINITY, f64::min);
    let end = steps
        .iter()
        .map(|s| s.end_s)
        .fold(f64::NEG_INFINITY, f64::max);
    let mut tracks: Vec<Track> = Vec::new();
    let shown = steps
        .iter()
        .flat_map(|step| step.series.iter().filter(|s| is_shown(s, step)));
    for series in shown {
        let part = track(series, origin);
        match tracks
            .iter_mut()
            .find(|t| t.name == part.name && t.unit == part.unit)
        {
            Some(whole) => whole.samples.append(part.samples),
            None => tracks.push(part),
        }
    }
    let marks: Vec<Mark> = steps
        .iter()
        .map(|s| Mark {
            x: s.start_s - origin,
            name: s.title.clone(),
        })
        .collect();
    plots(
        &tracks,
        id,
        "since start of first step",
        end - origin,
        &marks,
        names,
    )
}

/// Whether the steps are on one clock: none begins before the previous one has ended.
fn follow_one_another(steps: &[&StepResult]) -> bool {
    // Times of a document are rounded.
    const ROUNDING_S: f64 = 1e-3;
    let follows = |w: &[&StepResult]| w[1].start_s >= w[0].end_s - ROUNDING_S;
    steps.windows(2).all(follows)
}

/// Share of full speed below which a throttle acts; values above are rounding.
const FULL: f64 = 0.999;

/// Whether a plot of the series is informative: operations and latencies repeat the bandwidth, a discard moves no data,
/// and a throttle that never acts is a straight line. All are in the CSV file.
fn is_shown(series: &Series, step: &StepResult) -> bool {
    let quantity = |name: &str| series.name.ends_with(name);
    let bandwidth = |s: &Series| s.unit == "MB/s" && s.name.ends_with(series::BANDWIDTH);
    match series.name.as_str() {
        series::THROTTLE => {
            let full = if series.unit == "%" { 100.0 } else { 1.0 };
            series.v.iter().any(|v| *v < FULL * full)
        }
        series::SLC_CACHE_USED => series.v.iter().any(|v| *v > 0.0),
        name if name == series::of(&Operation::Trim, series::BANDWIDTH) => false,
        _ if quantity(series::IOPS)
            || quantity(series::LATENCY)
            || quantity(series::LATENCY_MAX)
            || series::PERCENTILES.iter().any(|(name, _)| quantity(name)) =>
        {
            !step.series.iter().any(bandwidth)
        }
        _ => true,
    }
}

fn track(series: &Series, origin: f64) -> Track {
    let origin = if origin.is_finite() { origin } else { 0.0 };
    let places: Vec<f64> = series.t_s.iter().map(|t| t - origin).collect();
    Track {
        name: series.name.clone(),
        unit: series.unit.clone(),
        samples: Samples::new(&places, &series.v, series.interval_s),
    }
}

fn plots(
    tracks: &[Track],
    group: &str,
    since: &str,
    length: f64,
    marks: &[Mark],
    names: &mut Unique,
) -> Vec<Plot> {
    let (divisor, unit) = time_unit(length);
    let mut units: Vec<&str> = Vec::new();
    for t in tracks.iter().filter(|t| is_curve(t)) {
        if !units.contains(&t.unit.as_str()) {
            units.push(&t.unit);
        }
    }
    units.sort_by_key(|u| ORDER.iter().position(|o| o == u).unwrap_or(ORDER.len()));
    units
        .into_iter()
        .map(|y_unit| {
            let members: Vec<&Track> = tracks
                .iter()
                .filter(|t| t.unit == y_unit && has_values(t))
                .collect();
            let name = common_name(&members);
            let samples: Vec<Samples> = members
                .iter()
                .map(|t| scaled(&t.samples, divisor))
                .collect();
            // The names of places are in the title and the legend; together they are longer than the axis.
            let axis = |name: &str, unit: String| Axis {
                name: name.to_string(),
                unit,
            };
            let (kind, table, y) = if y_unit == ADDRESS_UNIT {
                let y = axis("Address", "MiB".to_string());
                (Kind::Points, Table::scatter(&samples), y)
            } else {
                let y = axis(&capital(&name), shown_unit(y_unit));
                (Kind::Time, Table::align(&samples), y)
            };
            Plot {
                id: names.unique(&format!("{group} {name}")),
                title: capital(&name),
                kind,
                group: group.to_string(),
                x: Axis {
                    name: format!("Time {since}"),
                    unit: unit.to_string(),
                },
                y,
                lines: lines(&members),
                bands: Vec::new(),
                rows_measured: table.xs.len(),
                table,
                marks: marks
                    .iter()
                    .map(|m| Mark {
                        x: m.x / divisor,
                        name: m.name.clone(),
                    })
                    .collect(),
                limits: Vec::new(),
            }
        })
        .filter(|plot| plot.kind != Kind::Points || has_places(&plot.table.xs))
        .collect()
}

/// Whether points are at several places: at one or two they would overlap.
fn has_places(xs: &[f64]) -> bool {
    let mut xs = xs.to_vec();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    xs.len() >= POINTS_MIN
}

/// Number of points from which on a curve is drawn: fewer are in the tables and the CSV files only.
const POINTS_MIN: usize = 3;

fn is_curve(track: &Track) -> bool {
    let points = track.samples.points.iter();
    points.filter(|p| p.1.is_finite()).count() >= POINTS_MIN
}

fn has_values(track: &Track) -> bool {
    track.samples.points.iter().any(|p| p.1.is_finite())
}

/// The same samples with places divided.
pub fn scaled(samples: &Samples, divisor: f64) -> Samples {
    Samples {
        points: samples
            .points
            .iter()
            .map(|(x, v)| (x / divisor, *v))
            .collect(),
        interval: samples.interval / divisor,
    }
}

fn lines(members: &[&Track]) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (i, t) in members.iter().enumerate() {
        let colour = colour(&t.name, i);
        lines.push(Line::over(&t.name, colour, i % 2 == 1, &t.samples));
    }
    lines
}

/// Colour of a quantity, the same throughout a report.
fn colour(name: &str, index: usize) -> usize {
    match name {
        n if n.starts_with("read") => 0,
        n if n.starts_with("write") && n != series::WRITE_AMPLIFICATION => 1,
        series::POWER => 2,
        series::DEVICE_TEMPERATURE => 3,
        series::SURFACE_TEMPERATURE => 4,
        series::THROTTLE => 5,
        series::SLC_CACHE_USED => 6,
        series::WRITE_AMPLIFICATION => 7,
        // Structures of file systems; two share a colour if no file system has both.
        "data" => 0,
        "journal" | "FAT" => 1,
        "inode" | "tree" => 2,
        "bitmap" => 3,
        "directory" => 4,
        "map" => 5,
        "log" => 6,
        "superblock" => 7,
        _ => index % 8,
    }
}

/// Divisor and unit of the time axis for a length in seconds.
pub fn time_unit(length: f64) -> (f64, &'static str) {
    match length {
        l if l > 4.0 * 3600.0 => (3600.0, "h"),
        l if l > 600.0 => (60.0, "min"),
        l if l < 0.05 => (1e-3, "ms"),
        _ => (1.0, "s"),
    }
}

/// The unit as an axis shows it; a bare number is a ratio.
fn shown_unit(unit: &str) -> String {
    if unit.is_empty() {
        "×".to_string()
    } else {
        unit.to_string()
    }
}

/// The words in which the names of all members end (`read bandwidth`, `write bandwidth`:
/// `bandwidth`), or all names where they have no word in common.
fn common_name(members: &[&Track]) -> String {
    let words: Vec<Vec<&str>> = members
        .iter()
        .map(|t| t.name.split_whitespace().collect())
        .collect();
    let Some(first) = words.first() else {
        return String::new();
    };
    let shared = (0..first.len())
        .take_while(|&n| {
            words
                .iter()
                .all(|w| w.len() > n && w[w.len() - 1 - n] == first[first.len() - 1 - n])
        })
        .count();
    if shared > 0 {
        first[first.len() - shared..].join(" ")
    } else if let Some(word) = first
        .iter()
        .rev()
        .find(|word| words.iter().all(|w| w.contains(word)))
    {
        // `read latency` and `read latency max` are both latencies, though neither ends as the other.
        (*word).to_string()
    } else {
        let names: Vec<&str> = members.iter().map(|t| t.name.as_str()).collect();
        names.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &str, unit: &str, t: &[f64], v: &[f64]) -> Series {
        Series {
            name: name.into(),
            unit: unit.into(),
            interval_s: 1.0,
            t_s: t.into(),
            v: v.into(),
        }
    }

    #[test]
    fn series_with_one_unit_share_a_plot_named_by_their_common_words() {
        let seconds = [101.0, 102.0, 103.0];
        let step = StepResult {
            id: "s".into(),
            start_s: 100.0,
            end_s: 103.0,
            series: vec![
                series("device temperature", "°C", &seconds, &[30.0, 31.0, 31.5]),
                series("surface temperature", "°C", &seconds, &[28.0, 29.0, 29.5]),
                series("write bandwidth", "MB/s", &seconds, &[400.0, 75.0, 75.0]),
                series("write amplification", "", &seconds, &[1.5, 1.0, 1.0]),
                // Two points are no curve.
                series("throttle", "%", &seconds[1..], &[100.0, 90.0]),
                series("power", "W", &[], &[]),
            ],
            ..StepResult::default()
        };
        let plots = of_step(&step, &mut Unique::default());
        let labels: Vec<String> = plots.iter().map(|p| p.y.label()).collect();
        assert_eq!(
            labels,
            [
                "Write bandwidth (MB/s)",
                "Temperature (°C)",
                "Write amplification (×)"
            ]
        );
        assert_eq!(plots[0].table.xs, [1.0, 2.0, 3.0]);
        assert_eq!(plots[0].x.label(), "Time since start of step (s)");
        assert_eq!(plots[1].lines.len(), 2);
        assert_eq!(
            plots[0].summary(),
            "write bandwidth: 75.0 to 400\u{202f}MB/s, mean 183"
        );
    }

    #[test]
    fn a_time_line_runs_over_its_steps_and_breaks_between_them() {
        let step = |start: f64| StepResult {
            title: format!("at {start}"),
            start_s: start,
            end_s: start + 2.0,
            series: vec![series(
                "power",
                "W",
                &[start + 1.0, start + 2.0],
                &[1.0, 2.0],
            )],
            ..StepResult::default()
        };
        let (a, b) = (step(10.0), step(50.0));
        let plots = of_steps("c", &[&a, &b], &mut Unique::default());
        assert_eq!(plots[0].table.xs, [1.0, 2.0, 3.0, 41.0, 42.0]);
        assert_eq!(plots[0].marks[1].x, 40.0);
        assert_eq!(plots[0].table.columns[0][2].value(), None);
    }

    #[test]
    fn runs_that_started_apart_make_no_time_line() {
        let step = |start: f64| StepResult {
            start_s: start,
            end_s: start + 5.0,
            series: vec![series(
                "power",
                "W",
                &[start + 1.0, start + 2.0, start + 3.0],
                &[1.0; 3],
            )],
            ..StepResult::default()
        };
        let (a, b, again) = (step(0.0), step(5.0), step(0.0));
        assert_eq!(of_steps("c", &[&a, &b], &mut Unique::default()).len(), 1);
        // A fresh device begins at zero again.
        assert!(of_steps("c", &[&a, &b, &again], &mut Unique::default()).is_empty());
    }

    #[test]
    fn a_throttle_that_never_acts_is_not_drawn() {
        let seconds = [1.0, 2.0, 3.0];
        let titles = |throttle: &[f64], latency_alone: bool| {
            let mut step = StepResult {
                end_s: 3.0,
                series: vec![
                    series("throttle", "%", &seconds, throttle),
                    series("SLC cache used", "GB", &seconds, &[0.0; 3]),
                    series("trim bandwidth", "MB/s", &seconds, &[250_000.0; 3]),
                    series("write latency", "µs", &seconds, &[9.0; 3]),
                    series("write bandwidth", "MB/s", &seconds, &[9.0; 3]),
                ],
                ..StepResult::default()
            };
            if latency_alone {
                step.series.truncate(4);
                step.series.remove(2);
            }
            let plots = of_step(&step, &mut Unique::default());
            plots.into_iter().map(|p| p.title).collect::<Vec<_>>()
        };
        assert_eq!(titles(&[100.0; 3], false), ["Write bandwidth"]);
        assert_eq!(
            titles(&[100.0, 90.0, 100.0], false),
            ["Write bandwidth", "Throttle"]
        );
        assert_eq!(titles(&[100.0; 3], true), ["Write latency"]);
    }

    #[test]
    fn what_a_place_is_for_keeps_its_colour_whatever_else_is_there() {
        let seconds = [1.0, 1.0, 2.0, 3.0];
        let mut step = StepResult {
            id: "s".into(),
            end_s: 3.0,
            series: vec![
                series("tree", ADDRESS_UNIT, &seconds, &[1.0, 2.0, 3.0, 4.0]),
                series("superblock", ADDRESS_UNIT, &seconds, &[4.0, 5.0, 6.0, 7.0]),
            ],
            ..StepResult::default()
        };
        let plots = of_step(&step, &mut Unique::default());
        let plot = &plots[0];
        assert_eq!(plot.kind, Kind::Points);
        assert_eq!(plot.y.label(), "Address (MiB)");
        assert_eq!([plot.lines[0].colour, plot.lines[1].colour], [2, 7]);
        // Both writes of the first instant are in the table.
        assert_eq!(plot.table.columns[0][1].value(), Some(2.0));
        // Points at two instants would overlap.
        for series in &mut step.series {
            series.t_s = vec![1.0, 1.0, 2.0, 2.0];
        }
        assert!(of_step(&step, &mut Unique::default()).is_empty());
    }
}
