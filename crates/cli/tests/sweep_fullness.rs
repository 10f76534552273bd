//! `nandscope sweep fullness` as a user meets it: curves, thresholds and plots of a drive whose cache
//! shrinks, in the result, in the report, in the tables and on the screen.

use crate::support::Folder;
use nandscope_result::json;

/// The SM2262EN with a 256th of the word lines, and all else in proportion: as many superblocks, of 19 MB each.
fn small() -> String {
    let whole = include_str!("../../../profiles/sm2262en-2tb.toml");
    let mut text = String::new();
    for line in whole.lines() {
        let key = line.split(" = ").next().unwrap_or_default();
        text.push_str(match key {
            "name" => "name = \"small\"",
            "capacity_bytes" => "capacity_bytes = 7814053888 # 1/256",
            "word_lines" => "word_lines = 3 # 1/256",
            "dynamic_gb" => "dynamic_gb = 2.578 # 1/256",
            "erase_us" => "erase_us = 40.0 # 1/256",
            _ => line,
        });
        text.push('\n');
    }
    text
}

#[test]
fn a_sweep_finds_the_threshold_and_shows_it_everywhere() {
    let folder = Folder::new("sweep");
    std::fs::write(folder.0.join("small.toml"), small()).unwrap();
    let ran = folder.run(&[
        "sweep",
        "fullness",
        "sim:./small.toml",
        "-o",
        "out",
        "--threads",
        "1",
    ]);
    let result = json::read(&folder.0.join("out/result.json")).unwrap();
    assert!(result.complete);
    let [step] = result.steps.as_slice() else {
        panic!("{} steps", result.steps.len());
    };
    let latency: Vec<_> = step
        .curves
        .iter()
        .filter(|c| c.y_name == "mean latency")
        .collect();
    assert_eq!((latency.len(), step.curves.len()), (4, 8));
    for curve in &latency {
        let expected: Vec<f64> = (0..21).map(|i| f64::from(i) * 5.0).collect();
        assert_eq!(curve.x, expected, "{}", curve.name);
        assert_eq!(curve.y.len(), 21);
        // Data in SLC takes three times its size: a third of the capacity fills every block.
        let threshold = curve.threshold.unwrap();
        assert!(
            (30.0..=45.0).contains(&threshold),
            "{}: {threshold}",
            curve.name
        );
        // The curve is flat before and after the threshold, not a straight line between its ends.
        let at = |percent: usize| curve.y[percent / 5];
        assert!(
            (at(25) / at(0) - 1.0).abs() < 0.1,
            "{}: {:?}",
            curve.name,
            curve.y
        );
        assert!(
            (at(80) / at(100) - 1.0).abs() < 0.15,
            "{}: {:?}",
            curve.name,
            curve.y
        );
        let line = (at(0) + at(100)) / 2.0;
        assert!(at(50) > 1.1 * line, "{}: {:?}", curve.name, curve.y);
        let figure = format!("Threshold, {}", curve.name);
        assert!(
            step.figures
                .iter()
                .any(|f| f.title == figure && f.value == threshold)
        );
    }
    // Idle time lowers the latency of the full drive.
    assert!(latency[1].y[20] < latency[0].y[20]);
    insta::assert_snapshot!("sweep_fullness", ran.shown());
    let page = folder.read("out/report.html");
    assert!(page.contains("Mean latency by fullness") && page.contains("Threshold at"));
    assert!(page.contains("\"kind\":\"curve\"") && page.contains("Fullness (%)"));
    let svg = folder.read("out/plots/fullness-mean-latency-by-fullness.svg");
    assert!(svg.contains("Threshold at") && svg.contains("Mean latency (µs)"));
    let index = folder.read("out/series-index.csv");
    let curve = "\"filled in order, with idle time\",fullness (%),mean latency (µs)";
    assert!(index.lines().any(|l| l.ends_with(curve)), "{index}");
    // Finished points are kept and not run again, as in any sweep.
    assert_eq!(folder.read("out/points.csv").lines().count(), 85);
    let points = std::fs::read_dir(folder.0.join("out/points")).unwrap();
    let points: Vec<_> = points.flatten().map(|entry| entry.path()).collect();
    assert_eq!(points.len(), 84);
    std::fs::remove_file(&points[5]).unwrap();
    let resumed = folder.run(&["sweep", "fullness", "sim:./small.toml", "-o", "out"]);
    resumed.succeeds();
    let said = "84 of 84 points are done, 83 of them by earlier runs";
    assert!(resumed.err.contains(said), "{}", resumed.err);
    let resumed = json::read(&folder.0.join("out/result.json")).unwrap();
    assert!(resumed.steps == result.steps, "the same curves");
    // Eight curves of 21 points.
    assert_eq!(folder.read("out/series.csv").lines().count(), 8 * 21 + 1);
    let again = [
        "sweep",
        "fullness",
        "sim:./small.toml",
        "-o",
        "again",
        "--threads",
        "3",
    ];
    folder.run(&again).succeeds();
    let again = json::read(&folder.0.join("again/result.json")).unwrap();
    assert!(
        again.steps == result.steps,
        "the number of threads has no influence"
    );
}
