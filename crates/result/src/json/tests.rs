use super::*;
use crate::{
    CANNOT_TELL, Conclusion, Figure, JobResult, Notice, Series, StepResult, TargetInfo, WallClock,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn document() -> ResultDocument {
    ResultDocument {
        format: FORMAT.to_string(),
        version: FORMAT_VERSION,
        generator: "nandscope 0.1.0".into(),
        procedure: "run".into(),
        title: "A test".into(),
        seed: u64::MAX,
        target: TargetInfo::default(),
        environment: BTreeMap::new(),
        wall: WallClock::default(),
        complete: true,
        quick: false,
        steps: vec![StepResult {
            id: "one".into(),
            series: vec![Series {
                name: "power".into(),
                t_s: vec![0.1, 0.2],
                v: vec![1e-300, 12345.678901234567],
                ..Series::default()
            }],
            jobs: vec![JobResult::default()],
            ..StepResult::default()
        }],
        figures: vec![],
        disks: vec![],
        notices: vec![],
    }
}

/// A folder of its own for each test, emptied first.
fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("nandscope-{}-{name}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_file_reads_back_as_it_was_and_nothing_else_stays_behind() {
    let folder = folder("roundtrip");
    let path = folder.join("result.json");
    std::fs::write(&path, "older").unwrap();
    write(&path, &document()).unwrap();
    assert_eq!(read(&path).unwrap(), document());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_version_1_had_in_sentences_is_read() {
    let conclusion = |id: &str, question: &str, answer: &str| Conclusion {
        id: id.into(),
        question: question.into(),
        answer: answer.into(),
        ..Conclusion::default()
    };
    let mut older = ResultDocument {
        version: 1,
        notices: vec![Notice::warning("Quick run: a tenth of the data.")],
        ..document()
    };
    older.steps[0].conclusions = vec![
        conclusion("probe.unit", "Allocation unit", "4 MiB (99 %)"),
        conclusion("probe.page", "Page", CANNOT_TELL),
        conclusion("fs.untar.rank2", "untar: place 2", "ext4 (9.47s)"),
    ];
    let text = to_json(&older).unwrap();
    let document = from_json(&text, Path::new("older.json")).unwrap();
    assert_eq!((document.version, document.quick), (FORMAT_VERSION, true));
    let [unit, page, second] = &document.steps[0].conclusions[..] else {
        panic!("{document:?}");
    };
    assert_eq!(
        (unit.answer.as_str(), unit.confidence),
        ("4 MiB", Some(0.99))
    );
    assert_eq!((page.unknown, page.confidence), (true, None));
    let ranked = second.ranked.as_ref().unwrap();
    assert_eq!((ranked.workload.as_str(), ranked.place), ("untar", 2));
    assert_eq!(
        (second.answer.as_str(), unit.unknown),
        ("ext4 (9.47s)", false)
    );
}

#[test]
fn objects_span_lines_and_series_do_not() {
    let text = to_json(&document()).unwrap();
    assert!(text.contains("[0.1,0.2]"), "{text}");
    assert!(text.starts_with("{\n \"format\": \"nandscope-result\",\n"));
    assert!(text.ends_with("}\n"));
    assert!(text.contains("\"environment\": {},"));
}

#[test]
fn a_failed_write_leaves_the_older_file() {
    let folder = folder("refused");
    let path = folder.join("result.json");
    std::fs::write(&path, "older").unwrap();
    let mut bad = document();
    bad.steps[0].series[0].v[1] = f64::NAN;
    let error = write(&path, &bad).unwrap_err().to_string();
    assert!(
        error.starts_with("step `one`: series `power`: v is NaN"),
        "{error}"
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "older");
    let nowhere = folder.join("missing").join("result.json");
    let error = write(&nowhere, &document()).unwrap_err().to_string();
    assert!(
        error.contains("missing/result.json: cannot open its folder"),
        "{error}"
    );
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn every_number_that_is_not_finite_is_named() {
    type Change = fn(&mut ResultDocument);
    let change: [(Change, &str); 5] = [
        (|d| d.wall.elapsed_s = Some(f64::INFINITY), "wall.elapsed_s"),
        (|d| d.steps[0].end_s = f64::NAN, "step `one`: end_s"),
        (
            |d| d.steps[0].jobs[0].runtime_s = f64::NAN,
            "step `one`: job ``: runtime_s",
        ),
        (
            |d| {
                d.steps[0]
                    .counters
                    .insert("energy_j".into(), f64::NEG_INFINITY);
            },
            "step `one`: energy_j is -inf",
        ),
        (
            |d| {
                d.figures.push(Figure {
                    id: "f".into(),
                    value: f64::NAN,
                    ..Figure::default()
                });
            },
            "figure `f`: value",
        ),
    ];
    for (change, expected) in change {
        let mut d = document();
        change(&mut d);
        let error = to_json(&d).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn what_is_no_result_is_refused_in_words() {
    let good = to_json(&document()).unwrap();
    let newer = good.replace("\"version\": 2", "\"version\": 3");
    let cases = [
        ("", "r.json is not a nandscope result: the file is empty"),
        ("hello", "r.json is not a nandscope result: expected value"),
        (
            "{\"jobs\": []}",
            "r.json is not a nandscope result: it has no field `format`",
        ),
        (
            "{\"format\": \"fio\"}",
            "r.json is not a nandscope result: its format is `fio`",
        ),
        (&good[..good.len() / 2], "r.json is cut off at line"),
        (
            newer.as_str(),
            "r.json is a result of version 3, written by `nandscope 0.1.0`",
        ),
        (
            "{\"format\": \"nandscope-result\",\n\"version\": 1,\n\"seed\": \"x\"}",
            "r.json, line",
        ),
    ];
    for (text, expected) in cases {
        let error = from_json(text, Path::new("r.json"))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn fields_that_a_newer_program_added_are_passed_over() {
    let text = to_json(&document())
        .unwrap()
        .replacen("{\n", "{\n \"colour\": \"blue\",\n", 1);
    assert_eq!(from_json(&text, Path::new("r")).unwrap(), document());
}

#[test]
fn the_committed_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/result.schema.json");
    let schema = schemars::schema_for!(ResultDocument);
    let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == text,
        "docs/result.schema.json is out of date; run `UPDATE=1 cargo test -p nandscope-result schema`"
    );
}

/// Names of the properties of a type whose schema mentions a floating-point number.
fn float_fields(schema: &serde_json::Value) -> Vec<String> {
    fn mentions_number(value: &serde_json::Value) -> bool {
        match value {
            serde_json::Value::String(text) => text == "number",
            serde_json::Value::Array(all) => all.iter().any(mentions_number),
            serde_json::Value::Object(all) => all
                .iter()
                .any(|(key, value)| key != "description" && mentions_number(value)),
            _ => false,
        }
    }
    let root = ("ResultDocument", &schema["properties"]);
    let definitions = schema["$defs"].as_object().unwrap();
    let types = definitions
        .iter()
        .map(|(name, definition)| (name.as_str(), &definition["properties"]));
    std::iter::once(root)
        .chain(types)
        .flat_map(|(name, properties)| {
            let fields = properties.as_object().into_iter().flatten();
            fields
                .filter(|(_, property)| mentions_number(property))
                .map(move |(field, _)| format!("{name}.{field}"))
        })
        .collect()
}

#[test]
fn every_floating_point_field_is_looked_at() {
    let schema = schemars::schema_for!(ResultDocument).to_value();
    let mut found = float_fields(&schema);
    found.sort();
    // A field that is new here must be added to `finite.rs` first.
    let looked_at = [
        "Conclusion.confidence",
        "Curve.threshold",
        "Curve.x",
        "Curve.y",
        "DataRow.cells",
        "DirectionResult.bandwidth_bytes_per_s",
        "DirectionResult.iops",
        "DiskUse.busy_percent",
        "Event.t_s",
        "Event.until_s",
        "Figure.high",
        "Figure.low",
        "Figure.value",
        "JobResult.idle_s",
        "JobResult.runtime_s",
        "JobResult.start_s",
        "Latency.mean_ns",
        "Latency.percentiles",
        "Latency.stddev_ns",
        "Published.tolerance",
        "Published.value",
        "Requirement.limit",
        "Requirement.value",
        "Series.interval_s",
        "Series.t_s",
        "Series.v",
        "Spread.deviation",
        "Spread.max",
        "Spread.mean",
        "Spread.min",
        "StateCode.value",
        "SteadyState.bandwidth_bytes_per_s",
        "SteadyState.iops",
        "SteadyState.value",
        "StepResult.counters",
        "StepResult.end_s",
        "StepResult.start_s",
        "TargetInfo.link_bytes_per_s",
        "WallClock.elapsed_s",
    ];
    assert_eq!(found, looked_at);
}

#[test]
fn fields_of_later_builds_are_read_from_texts() {
    let mut d = document();
    let step = &mut d.steps[0];
    step.section = "Preparation".into();
    step.figures = vec![Figure {
        title: "Formatting helps (1 yes, 0 no)".into(),
        ..Figure::default()
    }];
    let curve = |y_name: &str| crate::Curve {
        y_name: y_name.into(),
        ..crate::Curve::default()
    };
    step.curves = vec![
        curve("state of the block (3 genuine, 0 unreadable)"),
        curve("block kept (1 yes, 0 no)"),
        curve("rate (MB/s)"),
        curve("time (1 fast, 2 slow)"),
    ];
    let read = from_json(&to_json(&d).unwrap(), Path::new("r")).unwrap();
    let step = &read.steps[0];
    assert!(step.preparation && step.figures[0].yes_or_no);
    let states: Vec<Vec<(f64, &str)>> = step
        .curves
        .iter()
        .map(|c| {
            c.states
                .iter()
                .map(|s| (s.value, s.state.as_str()))
                .collect()
        })
        .collect();
    assert_eq!(states[0], [(3.0, "genuine"), (0.0, "unreadable")]);
    assert_eq!(states[1], [(1.0, "genuine"), (0.0, "lost")]);
    assert!(states[2].is_empty() && states[3].is_empty());
    // Written and read again, nothing changes.
    assert_eq!(
        from_json(&to_json(&read).unwrap(), Path::new("r")).unwrap(),
        read
    );
}

proptest! {
    #[test]
    fn numbers_survive(v in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL, 0..20), seed in any::<u64>()) {
        let mut d = document();
        d.seed = seed;
        d.steps[0].series[0].v = v;
        prop_assert_eq!(from_json(&to_json(&d).unwrap(), Path::new("r")).unwrap(), d);
    }
}
