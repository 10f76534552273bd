//! The answers that commands give with `--json`: JSON alone on standard output, with the values of the result document.

use crate::support::{Folder, Ran, tiny};
use nandscope_result::json;
use serde_json::Value;

#[track_caller]
fn parsed(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|e| panic!("{e}: {ran:?}"))
}

/// Value of a figure of a summary.
fn figure(summary: &Value, id: &str) -> Option<f64> {
    let figures = summary["figures"].as_array()?;
    let found = figures.iter().find(|f| f["figure"]["id"] == id)?;
    found["figure"]["value"].as_f64()
}

#[test]
fn a_review_and_its_report_answer_alike_and_as_the_result_says() {
    let folder = Folder::new("json-review");
    let words = ["review", &tiny(), "--suite", "fill", "-o", "r", "--json"];
    let review = parsed(folder.run(&words).succeeds());
    let report = parsed(
        folder
            .run(&["report", "r/result.json", "--json"])
            .succeeds(),
    );
    assert_eq!(review, report);
    let document = json::read(&folder.0.join("r/result.json")).unwrap();
    assert_eq!(review["complete"], true);
    assert_eq!(review["procedure"], "fill");
    assert_eq!(review["target"]["capacity_bytes"], 2 << 20);
    let mut compared = 0;
    for known in document.steps.iter().flat_map(|s| &s.figures) {
        assert_eq!(
            figure(&review, &known.id),
            Some(known.value),
            "{}",
            known.id
        );
        compared += 1;
    }
    assert!(compared > 4, "{compared}");
    let verdict = review["verdict"].as_array().unwrap();
    assert!(verdict.iter().any(|p| p["about"] == "Speed"), "{verdict:?}");
}

#[test]
fn several_reviews_answer_in_the_order_of_their_targets() {
    let folder = Folder::new("json-reviews");
    let text = std::fs::read_to_string(crate::support::TINY).unwrap();
    folder.file("other.toml", &text.replace("A tiny device", "Another"));
    let words = ["review", "sim:./other.toml", &tiny()];
    let words = [&words[..], &["--suite", "fill", "-o", "r", "--json"]].concat();
    let answers = parsed(folder.run(&words).succeeds());
    let names: Vec<&str> = answers["results"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|a| a["target"]["name"].as_str())
        .collect();
    assert_eq!(names, ["sim:./other.toml", &tiny()]);
    // They differ only by name.
    let first = &answers["comparison"]["figures"][0];
    assert_eq!(
        (&first["ratios"][0], &first["ratios"][1]),
        (&Value::Null, &1.0.into())
    );
    assert_eq!(first["values"][0], first["values"][1]);
}

#[test]
fn a_sweep_answers_with_its_points() {
    let folder = Folder::new("json-sweep");
    folder.file("job.fio", "[a]\nrw=randread\nbs=4k\nsize=1m\nio_size=1m\n");
    let words = ["sweep", "job.fio", &tiny(), "-o", "out", "--metric", "iops"];
    let words = [&words[..], &["--job", "iodepth=1,8", "--json"]].concat();
    let answer = parsed(folder.run(&words).succeeds());
    let points = answer["points"].as_array().unwrap();
    assert_eq!(answer["metrics"][0]["unit"], "IOPS");
    let iops: Vec<f64> = points
        .iter()
        .filter_map(|p| p["metrics"]["iops"].as_f64())
        .collect();
    let depths: Vec<&Value> = points
        .iter()
        .map(|p| &p["parameters"]["job.iodepth"])
        .collect();
    assert_eq!(depths, ["1", "8"]);
    assert!(iops[0] > 0.0 && iops[1] >= iops[0], "{iops:?}");
    // The printed JSON equals the saved file.
    let kept: Value = serde_json::from_str(&folder.read("out/points.json")).unwrap();
    assert_eq!(kept["points"], answer["points"]);
}

#[test]
fn a_sweep_of_fullness_answers_with_its_figures() {
    let folder = Folder::new("json-fullness");
    let words = ["sweep", "fullness", &tiny(), "-o", "out", "--json"];
    let answer = parsed(folder.run(&words).succeeds());
    let document = json::read(&folder.0.join("out/result.json")).unwrap();
    let known = &document.steps[0].figures[0];
    assert_eq!(figure(&answer, &known.id), Some(known.value));
    assert_eq!(answer["complete"], true);
}

#[test]
fn validation_answers_with_each_fact_and_whether_it_is_met() {
    let folder = Folder::new("json-validate");
    let ran = folder.run(&["validate", "kingston-8gb", "--json"]);
    let answer = parsed(ran.succeeds());
    let devices = answer["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 1);
    let rows = devices[0]["rows"].as_array().unwrap();
    assert!(!rows.is_empty());
    let met = |row: &&Value| row["published"]["met"] == true;
    for row in rows {
        let (simulated, published) = (&row["figure"]["value"], &row["published"]["value"]);
        assert!(simulated.as_f64() > Some(0.0) && published.as_f64() > Some(0.0));
    }
    let counted = ["calibrated", "predicted"].map(|kind| answer[kind]["met"].as_u64().unwrap());
    let met = rows.iter().filter(met).count() as u64;
    assert_eq!(counted.iter().sum::<u64>(), met);
}

#[test]
fn jobs_are_checked_and_shown() {
    let folder = Folder::new("json-job");
    folder.file("good.fio", "[a]\nrw=randread\nbs=4k\nnumber_ios=9\nioengine=libaio\niodepth=4\ndirect=1\n[b]\nstonewall\nrw=write\nbs=1m\ndirect=1\n");
    folder.file("bad.fio", "[a]\nrw=wirte\n");
    let good = parsed(
        folder
            .run(&["job", "check", "good.fio", "--json"])
            .succeeds(),
    );
    assert_eq!(good[0]["error"], Value::Null);
    assert_eq!(
        (&good[0]["jobs"], &good[0]["groups"]),
        (&2.into(), &2.into())
    );
    let both = folder.run(&["job", "check", "good.fio", "bad.fio", "--json"]);
    both.fails(2, &[]);
    let both = parsed(&both);
    assert_eq!(both[0]["error"], Value::Null);
    let error = both[1]["error"].as_str().unwrap();
    assert!(
        error.contains("rw=wirte") && error.contains("bad.fio:2:1"),
        "{error}"
    );
    let shown = parsed(
        folder
            .run(&["job", "show", "good.fio", "--json"])
            .succeeds(),
    );
    let job = &shown["groups"][0][0];
    assert_eq!((&job["name"], &job["numjobs"]), (&"a".into(), &1.into()));
    assert_eq!(job["options"]["iodepth"], "4");
    assert_eq!(shown["groups"][1][0]["options"]["rw"], "write");
}

#[test]
fn the_path_of_the_kernel_answers_with_its_version() {
    let folder = Folder::new("json-kernel");
    let kernels = folder.0.join("cache/nandscope/kernel");
    let name = format!("6.1.99-{}", nandscope_uml::build::recipe());
    std::fs::create_dir_all(kernels.join(&name)).unwrap();
    let executable = kernels.join(&name).join("linux");
    std::fs::write(&executable, "").unwrap();
    let output = folder
        .command(&["kernel", "path", "--json"])
        .env("XDG_CACHE_HOME", folder.0.join("cache"))
        .output()
        .unwrap();
    let answer = parsed(Ran::from(output).succeeds());
    assert_eq!(answer["version"], "6.1.99");
    assert_eq!(answer["path"], executable.to_str().unwrap());
}
