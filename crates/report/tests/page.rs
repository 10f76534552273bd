//! The whole page: complete, reproducible, safe against hostile names, small.

use crate::fixture;
use nandscope_report::html;
use nandscope_result::{Figure, Notice, Parameter, ResultDocument, Series, StepResult};

#[test]
fn the_same_document_gives_the_same_page() {
    let first = html::render(&fixture::document()).unwrap();
    assert_eq!(first, html::render(&fixture::document()).unwrap());
    assert!(first.len() < 2_000_000, "{} bytes", first.len());
}

#[test]
fn holds_every_chapter_step_and_figure() {
    let document = fixture::document();
    let page = html::render(&document).unwrap();
    for step in &document.steps {
        assert!(
            page.contains(&format!("<h4>{}</h4>", step.title)),
            "{}",
            step.title
        );
    }
    let chapters = [
        "CrystalDiskMark",
        "Sequential across the device",
        "Extended use",
        "Application traces",
        "Power",
        "Temperature",
    ];
    let places: Vec<usize> = chapters
        .iter()
        .map(|c| {
            page.find(&format!("-title\">{c}</h2>"))
                .expect("every chapter has a heading")
        })
        .collect();
    assert!(
        places.is_sorted(),
        "chapters are in the order of the document"
    );
    for text in [
        "not met",
        "S0-042",
        "The model folds in larger units",
        "9f2c4d0a51e7",
        "Lexar SR2 reader",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn fetches_nothing_and_runs_nothing_foreign() {
    let page = html::render(&fixture::document()).unwrap();
    for sign in [
        "src=",
        "@import",
        "url(",
        "<iframe",
        "<object",
        "<link rel=\"stylesheet\"",
    ] {
        assert!(!page.contains(sign), "{sign}");
    }
    assert!(page.contains("default-src 'none'"));
}

const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' onmouseover=\"x {{ 7*7 }} <!--";

/// A document in which every text is an attack.
fn hostile() -> ResultDocument {
    let mut document = fixture::document();
    let bad = || HOSTILE.to_string();
    document.title = bad();
    document.procedure = bad();
    document.generator = bad();
    document.environment.insert(bad(), bad());
    let target = &mut document.target;
    for text in [&mut target.name, &mut target.model, &mut target.description] {
        *text = bad();
    }
    target.kind = bad().into();
    target.profile_sha256 = Some(bad());
    target.sources = vec![bad()];
    target.parameters.push(Parameter {
        group: bad(),
        name: bad(),
        value: bad(),
        reason: bad(),
    });
    target.modes[0].name = bad();
    target.modes[0].path = vec![bad()];
    document.notices.push(Notice {
        level: bad().into(),
        text: bad(),
        step: Some(document.steps[0].id.clone()),
    });
    for step in &mut document.steps {
        for text in [&mut step.title, &mut step.section, &mut step.description] {
            *text = bad();
        }
        step.id.push_str(HOSTILE);
        step.mode = Some(bad());
        step.incomplete = Some(bad().into());
        step.counters.insert(bad(), 1.0);
        for series in &mut step.series {
            series.name.push_str(HOSTILE);
            series.unit.push_str(HOSTILE);
        }
        for job in &mut step.jobs {
            job.name = bad();
            job.options.insert(bad(), bad());
            job.errors.insert(bad(), 3);
            job.directions[0].kind = bad().into();
        }
        for figure in &mut step.figures {
            hostile_figure(figure);
        }
    }
    document.figures.iter_mut().for_each(hostile_figure);
    document
}

fn hostile_figure(figure: &mut Figure) {
    for text in [&mut figure.id, &mut figure.title, &mut figure.unit] {
        text.push_str(HOSTILE);
    }
    if let Some(p) = &mut figure.published {
        for text in [&mut p.fact, &mut p.why, &mut p.source] {
            text.push_str(HOSTILE);
        }
        p.op = HOSTILE.into();
    }
}

#[test]
fn hostile_names_stay_text() {
    let page = html::render(&hostile()).unwrap();
    assert!(!page.contains("<script>alert"), "a name became a script");
    assert!(!page.contains("<img"), "a name became an element");
    assert!(
        !page.contains("\" onmouseover=\"x"),
        "a name left its attribute"
    );
    // The page's own: theme, then library and plots; data elements beside them.
    assert_eq!(page.matches("<script>").count(), 2);
    assert!(data(&page).len() > 100);
    let ends = page.matches("</script>").count();
    assert_eq!(
        ends,
        page.matches("<script>").count()
            + page.matches("<script type=\"application/json\">").count()
    );
}

/// A long document: 100 steps with series of altogether `points` points.
fn long(points: usize) -> ResultDocument {
    let mut document = fixture::document();
    let per_series = points / 100 / 4;
    document.steps = (0..100)
        .map(|i| {
            let start = f64::from(i) * 1e4;
            let series = |name: &str, unit: &str, k: f64| Series {
                name: name.into(),
                unit: unit.into(),
                interval_s: 1.0,
                t_s: (1..=per_series).map(|t| start + t as f64).collect(),
                v: (0..per_series)
                    .map(|t| k * (1.0 + (t * 7919 % 1000) as f64 / 3.0))
                    .collect(),
            };
            StepResult {
                id: format!("s{i}"),
                title: format!("Step {i}"),
                section: format!("Chapter {}", i / 5),
                start_s: start,
                end_s: start + per_series as f64,
                series: vec![
                    series("read bandwidth", "MB/s", 1.0),
                    series("power", "W", 0.01),
                    series("device temperature", "°C", 0.2),
                    series("read latency", "µs", 3.0),
                ],
                ..StepResult::default()
            }
        })
        .collect();
    document
}

#[test]
fn long_documents_stay_light() {
    for points in [200_000, 2_000_000] {
        let page = html::render(&long(points)).unwrap();
        assert!(
            page.len() < 3_000_000,
            "{points} points became {} bytes",
            page.len()
        );
        assert!(page.contains("minima and maxima are kept"));
    }
}

#[test]
fn nothing_measured_is_a_page_all_the_same() {
    let mut document = fixture::document();
    document.steps.clear();
    document.figures.clear();
    document.target.parameters.clear();
    document.complete = false;
    let page = html::render(&document).unwrap();
    assert!(page.contains("no figures from which a verdict could follow"));
    assert!(page.contains("The run is incomplete"));
}

#[test]
fn numbers_that_are_none_do_no_harm() {
    let mut document = fixture::document();
    for step in &mut document.steps {
        step.start_s = f64::NAN;
        step.end_s = f64::NEG_INFINITY;
        for series in &mut step.series {
            series.interval_s = f64::NAN;
            series
                .v
                .iter_mut()
                .step_by(2)
                .for_each(|v| *v = f64::INFINITY);
            series.t_s.iter_mut().step_by(3).for_each(|t| *t = f64::NAN);
            series.v.pop();
        }
        for figure in &mut step.figures {
            figure.value = f64::NAN;
        }
    }
    let page = html::render(&document).unwrap();
    assert!(
        !page.contains("NaN%") && !page.contains("inf%"),
        "a bar has no length"
    );
    assert!(data(&page).len() > 100);
}

/// The data of every plot; each must be JSON.
fn data(page: &str) -> Vec<serde_json::Value> {
    page.split("<script type=\"application/json\">")
        .skip(1)
        .map(|rest| {
            let text = rest
                .split("</script>")
                .next()
                .expect("split gives at least one part");
            serde_json::from_str(text).expect("the data of a plot is JSON")
        })
        .collect()
}

#[test]
fn every_axis_has_a_unit_and_every_line_its_values() {
    for plot in data(&html::render(&fixture::document()).unwrap()) {
        for axis in ["x", "y"] {
            let label = plot[axis].as_str().unwrap();
            assert!(label.ends_with(')') && !label.ends_with("()"), "{label}");
        }
        let places = plot["xs"]["n"]
            .as_u64()
            .unwrap_or_else(|| plot["xs"].as_array().unwrap().len() as u64);
        for line in plot["lines"].as_array().unwrap() {
            // A text is a number of places without a value of this line.
            let count = |v: &serde_json::Value| v.as_str().map_or(1, |n| n.parse::<u64>().unwrap());
            let counts = line["v"].as_array().unwrap().iter().map(count);
            assert_eq!(counts.sum::<u64>(), places);
        }
    }
}
