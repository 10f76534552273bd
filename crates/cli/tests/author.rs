//! `nandscope report --author`: introduction, photos and conclusion in the report.

use crate::support::{Folder, tiny};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

fn measured(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("job.fio", "[a]\nrw=randread\nbs=4k\nnumber_ios=200\n");
    let words = ["run", "job.fio", &tiny(), "-o", "result.json"];
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
    // Without them, nothing stands in their place.
    folder.run(&REPORT[..4]).succeeds();
    let page = folder.read("out/report.html");
    assert!(!page.contains("id=\"introduction\"") && !page.contains("id=\"conclusion\""));
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
