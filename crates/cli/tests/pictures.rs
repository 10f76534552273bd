//! `nandscope report --png`: every plot as PNG next to its SVG file.

use crate::support::{Folder, tiny};
use std::collections::BTreeSet;

fn names(folder: &Folder, ending: &str) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder.0.join("out/plots")).unwrap();
    let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
    names
        .filter_map(|n| Some(n.strip_suffix(ending)?.to_string()))
        .collect()
}

#[test]
fn every_plot_is_there_in_both_forms() {
    let folder = Folder::new("pictures");
    let target = tiny();
    folder
        .run(&["review", &target, "--suite", "fill", "-o", "first"])
        .succeeds();
    let report = ["report", "first/result.json", "-o", "out"];
    folder.run(&report).succeeds();
    assert!(names(&folder, ".png").is_empty());
    folder.run(&[&report[..], &["--png"]].concat()).succeeds();
    let plots = names(&folder, ".svg");
    assert!(plots.len() > 2, "{plots:?}");
    assert_eq!(names(&folder, ".png"), plots);
    folder
        .run(&["report", "first/result.json", "--png"])
        .fails(2, &["--output"]);
}
