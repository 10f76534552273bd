//! Figures that follow from a whole procedure: power and heat over all of its steps, and what
//! formatting restored.

use crate::session::figure_id;
use nandscope_result::{Figure, ResultDocument, Series, StepResult};

/// Least speed-up by which a format counts as having restored performance.
const RESTORED: f64 = 1.5;
/// Shortest interval that counts for the extremes of power: what a meter on the bus resolves.
const METER_INTERVAL_S: f64 = 0.5;

/// Adds the figures of one mode to the document.
pub(crate) fn add(document: &mut ResultDocument, mode: Option<&str>) {
    let steps: Vec<&StepResult> = document
        .steps
        .iter()
        .filter(|s| s.mode.as_deref() == mode)
        .collect();
    let mut figures = Vec::new();
    power(&steps, mode, &mut figures);
    for (series, id, title) in [
        (
            "device temperature",
            "temperature.device.max",
            "Highest temperature that the device reports",
        ),
        (
            "surface temperature",
            "temperature.surface.max",
            "Highest temperature of the surface",
        ),
    ] {
        let highest = points(&steps, series).map(|(_, v)| v).reduce(f64::max);
        figures.extend(highest.map(|v| figure(mode, id, title, "°C", v)));
    }
    let throttled = points(&steps, "throttle").map(|(_, v)| v).reduce(f64::min);
    figures.extend(throttled.map(|v| {
        figure(
            mode,
            "throttle.min",
            "Least share of full speed under thermal throttling",
            "%",
            v,
        )
    }));
    formatting(&steps, mode, &mut figures);
    let lows = ["fresh", "used"].map(|state| figure_id(mode, &format!("fio.{state}.write.low")));
    let lowest = steps
        .iter()
        .flat_map(|s| &s.figures)
        .filter(|f| lows.contains(&f.id))
        .map(|f| f.value)
        .reduce(f64::min);
    figures.extend(lowest.map(|v| {
        figure(
            mode,
            "fio.write.low",
            "Sequential write across the device, slowest interval",
            "MB/s",
            v,
        )
    }));
    document.figures.extend(figures);
}

fn power(steps: &[&StepResult], mode: Option<&str>, figures: &mut Vec<Figure>) {
    let (mut energy_j, mut time_s) = (0.0, 0.0);
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for (length, watts) in points(steps, "power") {
        energy_j += watts * length;
        time_s += length;
        if length >= METER_INTERVAL_S {
            least = least.min(watts);
            most = most.max(watts);
        }
    }
    if time_s > 0.0 && most >= least {
        figures.push(figure(mode, "power.min", "Power, lowest", "W", least));
        figures.push(figure(
            mode,
            "power.mean",
            "Power, mean over the procedure",
            "W",
            energy_j / time_s,
        ));
        figures.push(figure(mode, "power.peak", "Power, highest", "W", most));
        figures.push(figure(
            mode,
            "energy",
            "Energy over the procedure",
            "kJ",
            energy_j / 1e3,
        ));
        let jobs = steps.iter().flat_map(|s| &s.jobs);
        let moved = jobs
            .flat_map(|j| &j.directions)
            .filter(|d| d.kind == "read" || d.kind == "write");
        let bytes: u64 = moved.map(|d| d.bytes).sum();
        if bytes > 0 {
            let title = "Energy per GB read and written, idle times included";
            let value = energy_j / (bytes as f64 / 1e9);
            figures.push(figure(mode, "energy.per-gb", title, "J/GB", value));
        }
    }
}

fn formatting(steps: &[&StepResult], mode: Option<&str>, figures: &mut Vec<Figure>) {
    let of = |state: &str| {
        let id = figure_id(mode, &format!("cdm.{state}.seq1m-q8t1.write"));
        steps
            .iter()
            .flat_map(|s| &s.figures)
            .find(|f| f.id == id)
            .map(|f| f.value)
    };
    if let (Some(used), Some(refreshed)) = (of("used"), of("refreshed"))
        && used > 0.0
    {
        let gain = refreshed / used;
        figures.push(figure(
            mode,
            "format.gain",
            "Sequential write after formatting, against before",
            "×",
            gain,
        ));
        let restored = if gain >= RESTORED { 1.0 } else { 0.0 };
        figures.push(figure(
            mode,
            "format.restores",
            "Formatting restores performance (1 yes, 0 no)",
            "",
            restored,
        ));
    }
}

/// Lengths of the intervals and values of a series over all steps.
fn points<'a>(steps: &'a [&'a StepResult], name: &'a str) -> impl Iterator<Item = (f64, f64)> + 'a {
    steps.iter().flat_map(move |step| {
        let series: Option<&Series> = step.series.iter().find(|s| s.name == name);
        let mut before = step.start_s;
        series
            .into_iter()
            .flat_map(|s| s.t_s.iter().zip(&s.v))
            .map(move |(t, v)| {
                let length = t - before;
                before = *t;
                (length, *v)
            })
    })
}

fn figure(mode: Option<&str>, id: &str, title: &str, unit: &str, value: f64) -> Figure {
    Figure {
        id: figure_id(mode, id),
        title: title.to_string(),
        mode: mode.map(str::to_string),
        value,
        unit: unit.to_string(),
        ..Figure::default()
    }
}
