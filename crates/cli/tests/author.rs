//! Introduction, photos and conclusion of the author: in a report, in that of a review, and on the page of a drive.

use crate::support::{Folder, tiny};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn measured(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("job.fio", "[a]\nrw=randread\nbs=4k\nnumber_ios=200\n");
    let words = ["run", "job.fio", &tiny(), "--result", "result.json"];
    folder.run(&words).succeeds();
    std::fs::create_dir(folder.0.join("texts")).unwrap();
    folder
}

const REPORT: [&str; 6] = ["report", "result.json", "-o", "out", "--author", "texts"];

#[test]
fn texts_and_photos_are_where_they_belong() {
    let folder = measured("author");
    folder.file(
        "texts/introduction.md",
        "Bought *used* <script>alert(1)</script>.\n",
    );
    folder.file("texts/conclusion.md", "# In short\n\nGood for cameras.\n");
    std::fs::write(folder.0.join("texts/front-side.png"), PNG).unwrap();
    folder.run(&REPORT).succeeds();
    let page = folder.read("out/report.html");
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let places = [
        at("<em>used</em>"),
        at("src=\"data:image/png;base64,"),
        at("<figcaption>front side</figcaption>"),
        at("Summary and verdict</h2>"),
        at("class=\"chapter"),
        at("<h3>In short</h3>"),
        at("Good for cameras."),
    ];
    assert!(places.is_sorted(), "{places:?}");
    assert!(!page.contains("<script>alert"));
    // Without author texts, the report has no empty sections in their place.
    folder.run(&REPORT[..4]).succeeds();
    let page = folder.read("out/report.html");
    assert!(!page.contains("id=\"introduction\"") && !page.contains("id=\"conclusion\""));
}

/// Writes texts and a photo; returns the texts that a page with them contains.
fn texts(folder: &Folder) -> [&'static str; 3] {
    folder.file("texts/introduction.md", "Bought *used*.\n");
    folder.file("texts/conclusion.md", "Good for cameras.\n");
    std::fs::write(folder.0.join("texts/front-side.png"), PNG).unwrap();
    [
        "<em>used</em>",
        "<figcaption>front side</figcaption>",
        "Good for cameras.",
    ]
}

#[test]
fn the_report_of_a_review_has_them_at_once() {
    let folder = Folder::new("author-review");
    std::fs::create_dir(folder.0.join("texts")).unwrap();
    let target = tiny();
    let review = [
        "review", &target, "--suite", "fill", "-o", "out", "--author", "texts",
    ];
    // Author texts that cannot be included are refused before hours of measuring.
    folder.run(&review).fails(2, &["texts holds nothing"]);
    assert!(!folder.0.join("out").exists());
    let parts = texts(&folder);
    folder.run(&review).succeeds();
    let page = folder.read("out/report.html");
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    let two = ["review", &target, "sim:kingston-8gb", "--author", "texts"];
    folder
        .run(&two)
        .fails(2, &["--author applies to one target"]);
}

#[test]
fn a_shelf_keeps_them_for_the_page_of_the_drive() {
    let folder = measured("author-shelf");
    let parts = texts(&folder);
    let add = [
        "shelf",
        "add",
        "result.json",
        "--name",
        "card",
        "--author",
        "texts",
    ];
    folder.run(&add).succeeds();
    std::fs::remove_dir_all(folder.0.join("texts")).unwrap();
    let site = ["shelf", "site", "-o", "site"];
    folder.run(&site).succeeds();
    let page = folder.read("site/drives/card-run.html");
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    // Texts that are not given again are kept; an invalid file in their folder is reported when the shelf is read.
    folder
        .run(&[
            "shelf",
            "add",
            "result.json",
            "--name",
            "card",
            "--title",
            "Mine",
        ])
        .succeeds();
    folder.run(&site).succeeds();
    assert!(folder.read("site/drives/card-run.html").contains(parts[0]));
    folder.file("shelf/card/author/notes.txt", "no photo");
    folder.run(&site).fails(2, &["notes.txt is neither"]);
}

#[test]
fn a_shelf_is_not_changed_by_texts_that_it_cannot_show() {
    let folder = measured("author-shelf-wrong");
    folder.file("texts/notes.txt", "no photo");
    let add = ["shelf", "add", "result.json", "--author", "texts"];
    folder.run(&add).fails(2, &["notes.txt is neither"]);
    assert!(!folder.0.join("shelf").exists());
}

#[test]
fn what_cannot_be_included_is_refused_before_anything_is_written() {
    let folder = measured("author-wrong");
    folder
        .run(&REPORT)
        .fails(2, &["texts holds nothing", "introduction.md"]);
    let other = folder.file("texts/notes.txt", "no photo");
    folder
        .run(&REPORT)
        .fails(2, &["texts/notes.txt is neither", "remove it"]);
    std::fs::remove_file(other).unwrap();
    let large = [PNG, &vec![0; 1_600_000]].concat();
    std::fs::write(folder.0.join("texts/large.png"), large).unwrap();
    folder
        .run(&REPORT)
        .fails(2, &["have 1.6 MB", "scale them down"]);
    assert!(!folder.0.join("out").exists());
    std::fs::remove_dir_all(folder.0.join("texts")).unwrap();
    folder.run(&REPORT).fails(3, &["texts"]);
}
