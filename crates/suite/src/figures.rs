//! Figures of a whole procedure: power and heat over all of its steps, and the performance that formatting restored.

use crate::step_runner::id_in_mode;
use nandscope_result::{Figure, ResultDocument, StepResult, figure_id, series};

/// Least speed-up by which a format counts as having restored performance.
const RESTORED: f64 = 1.5;
/// Shortest interval for the extremes of power: the resolution of a power meter on the bus.
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
    for (name, id, title) in [
        (
            series::DEVICE_TEMPERATURE,
            figure_id::DEVICE_TEMPERATURE_MAX,
            "Highest temperature that the device reports",
        ),
        (
            series::SURFACE_TEMPERATURE,
            figure_id::SURFACE_TEMPERATURE_MAX,
            "Highest temperature of the surface",
        ),
    ] {
        let highest = points(&steps, name).map(|(_, v)| v).reduce(f64::max);
        figures.extend(highest.map(|v| figure(mode, id, title, "°C", v)));
    }
    let throttled = points(&steps, series::THROTTLE)
        .map(|(_, v)| v)
        .reduce(f64::min);
    figures.extend(throttled.map(|v| {
        figure(
            mode,
            figure_id::THROTTLE_MIN,
            "Least share of full speed under thermal throttling",
            "%",
            v,
        )
    }));
    formatting(&steps, mode, &mut figures);
    let lows = ["fresh", "used"].map(|state| id_in_mode(mode, &format!("fio.{state}.write.low")));
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
    for (length, watts) in points(steps, series::POWER) {
        energy_j += watts * length;
        time_s += length;
        if length >= METER_INTERVAL_S {
            least = least.min(watts);
            most = most.max(watts);
        }
    }
    if time_s > 0.0 && most >= least {
        figures.push(figure(
            mode,
            figure_id::POWER_MIN,
            "Power, lowest",
            "W",
            least,
        ));
        figures.push(figure(
            mode,
            figure_id::POWER_MEAN,
            "Power, mean over the procedure",
            "W",
            energy_j / time_s,
        ));
        figures.push(figure(
            mode,
            figure_id::POWER_PEAK,
            "Power, highest",
            "W",
            most,
        ));
        figures.push(figure(
            mode,
            figure_id::ENERGY,
            "Energy over the procedure",
            "kJ",
            energy_j / 1e3,
        ));
        let bytes: u64 = steps.iter().map(|s| s.bytes_read_and_written()).sum();
        if bytes > 0 {
            let title = "Energy per GB read and written, idle times included";
            let value = energy_j / (bytes as f64 / 1e9);
            figures.push(figure(mode, figure_id::ENERGY_PER_GB, title, "J/GB", value));
        }
    }
}

fn formatting(steps: &[&StepResult], mode: Option<&str>, figures: &mut Vec<Figure>) {
    let of = |state: &str| {
        let id = id_in_mode(mode, &format!("cdm.{state}.seq1m-q8t1.write"));
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
            figure_id::FORMAT_GAIN,
            "Sequential write after formatting, against before",
            "×",
            gain,
        ));
        let restored = if gain >= RESTORED { 1.0 } else { 0.0 };
        figures.push(Figure {
            yes_or_no: true,
            ..figure(
                mode,
                figure_id::FORMAT_RESTORES,
                "Formatting restores performance (1 yes, 0 no)",
                "",
                restored,
            )
        });
    }
}

/// Interval lengths and values of a series over all steps.
fn points<'a>(steps: &'a [&'a StepResult], name: &'a str) -> impl Iterator<Item = (f64, f64)> + 'a {
    steps.iter().flat_map(move |step| {
        let series = step.find_series(name);
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
        id: id_in_mode(mode, id),
        title: title.to_string(),
        mode: mode.map(str::to_string),
        value,
        unit: unit.to_string(),
        ..Figure::default()
    }
}
