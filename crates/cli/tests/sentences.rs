//! Every sentence that a report makes is recomputed from the result document by a script that shares nothing with the
//! product (tests/report/check_sentences.py).

use crate::support::serving::have;
use crate::support::{Folder, tiny};
use std::process::Command;

const SCRIPT: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/report/check_sentences.py"
);

/// Arguments of a review, without its folder.
type Review<'a> = &'a [&'a str];

/// Reviews and has the script check the reports.
#[track_caller]
fn all_true(folder: &Folder, reviews: &[Review]) {
    let mut names = Vec::new();
    for (i, arguments) in reviews.iter().enumerate() {
        let name = format!("report-{i}");
        let mut whole = vec!["review"];
        whole.extend(*arguments);
        whole.extend(["-o", &name]);
        folder.run(&whole).succeeds();
        names.push(name);
    }
    check(folder, &names);
}

#[track_caller]
fn check(folder: &Folder, names: &[String]) {
    let checked = Command::new("python3")
        .arg(SCRIPT)
        .args(names)
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success(), "{said}");
    assert_eq!(said.matches(", 0 faults").count(), names.len(), "{said}");
}

#[test]
fn every_sentence_of_short_reviews_is_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences");
    all_true(
        &folder,
        &[
            &[&tiny(), "--suite", "fill"],
            &["sim:samsung-evo-16gb", "--suite", "speed-class", "--quick"],
            &["sim:plextor-m6e-256gb", "--suite", "iometer", "--quick"],
        ],
    );
}

#[test]
fn a_sentence_that_is_false_is_found() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-false");
    let name = "report".to_string();
    folder
        .run(&["review", &tiny(), "--suite", "fill", "-o", &name])
        .succeeds();
    check(&folder, std::slice::from_ref(&name));
    let page = folder.read("report/report.html");
    let at = page.find("at up to ").unwrap() + "at up to ".len();
    let false_page = format!("{}9{}", &page[..at], &page[at..]);
    std::fs::write(folder.0.join("report/report.html"), false_page).unwrap();
    let checked = Command::new("python3")
        .args([SCRIPT, "report"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(
        !checked.status.success() && said.contains("but the greatest is"),
        "{said}"
    );
}

#[test]
#[ignore = "slow: twelve reviews"]
fn slow_every_sentence_of_a_panel_of_reviews_is_true() {
    if !have(&["python3"]) {
        return;
    }
    let folder = Folder::new("sentences-panel");
    // The reference drive has no cache; the file lies on this machine.
    all_true(
        &folder,
        &[
            &["sim:sm2708-250gb", "--quick"],
            &["sim:reference-nvme-64gb", "--quick"],
            &["./test.img", "--size", "512M", "--quick"],
            &["sim:sm2708-250gb", "--suite", "fill"],
            &["sim:reference-nvme-64gb", "--suite", "fill"],
            &["sim:samsung-evo-16gb", "--suite", "fill"],
            &["sim:reference-nvme-64gb", "--suite", "ssd", "--quick"],
            &["sim:samsung-970-pro-512gb", "--suite", "ssd", "--quick"],
            &["sim:hp-ex920-1tb", "--suite", "ssd", "--quick"],
            &["sim:samsung-evo-16gb", "--suite", "speed-class"],
            &["sim:kingston-class10-32gb", "--suite", "speed-class"],
            &[
                "sim:plextor-m6e-256gb",
                "--suite",
                "iometer",
                "--host",
                "asus-z87-satae",
            ],
        ],
    );
}
