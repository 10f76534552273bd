//! Behaviour of the device except its speed: heat, throttling, power, and the effect of formatting. Figures of the
//! document take precedence, as they state their interval; without them the series of the instruments are used.

use super::modes::modes;
use super::statements::{Overview, Paragraph, tile};
use crate::number::with_unit;
use nandscope_result::{Figure, ResultDocument, StepResult, figure_id, series, throughput_profile};

/// The figure `id` of a mode.
fn figure<'a>(document: &'a ResultDocument, id: &str, mode: Option<&str>) -> Option<&'a Figure> {
    let fits = |f: &&Figure| f.has_id(id) && f.mode.as_deref() == mode && f.value.is_finite();
    let of_steps = document.steps.iter().flat_map(|s| &s.figures);
    document.figures.iter().chain(of_steps).find(fits)
}

/// The greatest value of all series of a name in a mode.
fn peak(document: &ResultDocument, name: &str, mode: Option<&str>) -> Option<f64> {
    let of_mode = |s: &&StepResult| s.mode.as_deref() == mode;
    let values = document
        .steps
        .iter()
        .filter(of_mode)
        .filter_map(|s| s.find_series(name))
        .flat_map(|s| s.v.iter().copied());
    values.filter(|v| v.is_finite()).max_by(f64::total_cmp)
}

/// A figure's value, or else the peak of a series.
fn greatest(document: &ResultDocument, id: &str, series: &str, mode: Option<&str>) -> Option<f64> {
    figure(document, id, mode)
        .map(|f| f.value)
        .or_else(|| peak(document, series, mode))
}

/// Tiles of a mode: power, and heat if there is only one mode.
pub fn tiles(
    overview: &mut Overview,
    document: &ResultDocument,
    mode: Option<&str>,
    several: bool,
) {
    let name = mode.unwrap_or_default();
    if let Some(w) = greatest(document, figure_id::POWER_PEAK, series::POWER, mode) {
        let label = if several {
            format!("{name}: peak power")
        } else {
            "Peak power".to_string()
        };
        let note = figure(document, figure_id::POWER_MEAN, mode)
            .map(|f| format!("{} on average", with_unit(f.value, &f.unit)))
            .unwrap_or_default();
        overview.tiles.push(tile(label, w, "W", note));
    }
    if !several
        && let Some(c) = greatest(
            document,
            figure_id::DEVICE_TEMPERATURE_MAX,
            series::DEVICE_TEMPERATURE,
            mode,
        )
    {
        overview
            .tiles
            .push(tile("Hottest, inside".to_string(), c, "°C", String::new()));
    }
}

/// One sentence on power and heat; `None` where nothing is known.
pub fn paragraph(document: &ResultDocument) -> Option<Paragraph> {
    let mut clauses = Vec::new();
    clauses.extend(power(document));
    clauses.extend(heat(document));
    clauses.extend(throttled_percent(document).map(throttling));
    (!clauses.is_empty())
        .then(|| Paragraph::new("Power and heat", format!("It {}.", clauses.join("; it "))))
}

/// How much of the time the device throttled; `None` if it did not, or this was not recorded.
pub(super) fn throttles(document: &ResultDocument) -> Option<String> {
    let percent = throttled_percent(document)?;
    (percent > 0.0).then(|| throttling(percent))
}

/// Effect of formatting; `None` if the device was not formatted.
pub fn formatting_paragraph(document: &ResultDocument) -> Option<Paragraph> {
    formatting(document).map(|text| Paragraph::new("Formatting", text))
}

/// The clauses of all modes as one sentence; each names its mode where there are several.
fn sentence(
    document: &ResultDocument,
    clause: impl Fn(Option<&str>, &str) -> Option<String>,
) -> Option<String> {
    let modes = modes(document);
    let clauses: Vec<String> = modes
        .iter()
        .filter_map(|m| {
            let place = match m {
                Some(name) if modes.len() > 1 => format!(" in {name}"),
                _ => String::new(),
            };
            clause(m.as_deref(), &place)
        })
        .collect();
    (!clauses.is_empty()).then(|| clauses.join(", "))
}

fn power(document: &ResultDocument) -> Option<String> {
    let text = sentence(document, |mode, place| {
        let w = with_unit(
            greatest(document, figure_id::POWER_PEAK, series::POWER, mode)?,
            "W",
        );
        let mean = figure(document, figure_id::POWER_MEAN, mode)
            .map(|f| format!(" ({} on average)", with_unit(f.value, &f.unit)))
            .unwrap_or_default();
        Some(format!("up to {w}{place}{mean}"))
    })?;
    Some(format!("draws {text}"))
}

fn heat(document: &ResultDocument) -> Option<String> {
    let text = sentence(document, |mode, place| {
        let c = greatest(
            document,
            figure_id::DEVICE_TEMPERATURE_MAX,
            series::DEVICE_TEMPERATURE,
            mode,
        )?;
        let surface = greatest(
            document,
            figure_id::SURFACE_TEMPERATURE_MAX,
            series::SURFACE_TEMPERATURE,
            mode,
        )
        .map(|s| format!(" (surface {})", with_unit(s, "°C")))
        .unwrap_or_default();
        Some(format!("up to {}{place}{surface}", with_unit(c, "°C")))
    })?;
    Some(format!("reports {text}"))
}

fn throttling(percent: f64) -> String {
    if percent <= 0.0 {
        return "shows no throttling in the recorded time".to_string();
    }
    let share = if percent < 0.1 {
        "less than 0.1\u{202f}%".into()
    } else {
        with_unit(percent, "%")
    };
    format!("throttles for {share} of the time that was recorded")
}

/// Share of the recorded time in which `throttle` lay below full speed, in percent; full speed is 100 in percent and 1
/// otherwise.
fn throttled_percent(document: &ResultDocument) -> Option<f64> {
    let (mut all, mut throttled) = (0.0, 0.0);
    let steps = document.steps.iter();
    let series = steps.filter_map(|s| Some((s.start_s, s.find_series(series::THROTTLE)?)));
    for (start_s, s) in series {
        let full = if s.unit == "%" { 100.0 } else { 1.0 };
        for (v, seconds) in throughput_profile::weighted(s, start_s) {
            all += seconds;
            if v < full * 0.999 {
                throttled += seconds;
            }
        }
    }
    (all > 0.0).then(|| throttled / all * 100.0)
}

fn formatting(document: &ResultDocument) -> Option<String> {
    let is_restored = restores(document);
    let text = sentence(document, |mode, place| {
        let restores = figure(document, figure_id::FORMAT_RESTORES, mode)?;
        Some(match figure(document, figure_id::FORMAT_GAIN, mode) {
            Some(gain) if restores.value != 0.0 => format!(
                "brings the write speed of a used device back{place} ({} what it was before)",
                with_unit(gain.value, "×")
            ),
            _ if restores.value != 0.0 => format!("brings write speed back{place}"),
            _ => format!("changes nothing{place}"),
        })
    })?;
    // A clause that is the same in every mode is stated once.
    let text = match is_restored {
        true => text,
        false => "changes nothing".to_string(),
    };
    Some(format!("It {text}."))
}

/// Whether formatting restored the write speed in a mode of the document.
fn restores(document: &ResultDocument) -> bool {
    let figures = document.all_figures();
    let mut restores = figures.filter(|f| f.has_id(figure_id::FORMAT_RESTORES));
    restores.any(|f| f.value != 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::Series;

    #[test]
    fn a_figure_comes_before_the_peak_of_a_series() {
        let mut document = crate::blank::document();
        document.steps = vec![StepResult {
            mode: Some("E".into()),
            series: vec![Series {
                name: "power".into(),
                unit: "W".into(),
                interval_s: 1.0,
                t_s: vec![1.0],
                v: vec![4.75],
            }],
            ..StepResult::default()
        }];
        let text = |d: &ResultDocument| paragraph(d).unwrap().text.replace('\u{202f}', " ");
        assert_eq!(text(&document), "It draws up to 4.75 W.");
        let figure = |id: &str, value: f64| Figure {
            id: id.into(),
            mode: Some("E".into()),
            value,
            unit: "W".into(),
            ..Figure::default()
        };
        document.figures = vec![figure("e.power.peak", 4.55), figure("e.power.mean", 3.2)];
        assert_eq!(
            text(&document),
            "It draws up to 4.55 W (3.20 W on average)."
        );
        let mut overview = Overview::default();
        tiles(&mut overview, &document, Some("E"), true);
        assert_eq!(
            (
                overview.tiles[0].label.as_str(),
                overview.tiles[0].value.as_str()
            ),
            ("E: peak power", "4.55")
        );
    }

    #[test]
    fn formatting_is_told_mode_by_mode() {
        let mut document = crate::blank::document();
        let step = |mode: &str| StepResult {
            mode: Some(mode.into()),
            ..StepResult::default()
        };
        document.steps = vec![step("E"), step("U")];
        let figure = |id: &str, mode: &str, value: f64| Figure {
            id: id.into(),
            mode: Some(mode.into()),
            value,
            ..Figure::default()
        };
        document.figures = vec![
            figure("e.format.restores", "E", 1.0),
            figure("e.format.gain", "E", 5.25),
            figure("u.format.restores", "U", 0.0),
        ];
        assert_eq!(
            formatting_paragraph(&document).unwrap().text,
            "It brings the write speed of a used device back in E (5.25× what it was before), changes nothing in U."
        );
        document.figures[0].value = 0.0;
        let text = formatting_paragraph(&document).unwrap().text;
        assert_eq!(text, "It changes nothing.");
    }
}
