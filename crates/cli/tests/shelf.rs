//! The shelf: results are stored by drive, listed, and made into a site.

use crate::support::{Folder, tiny};

const JOB: &str = "[a]\nrw=randread\nbs=4k\nnumber_ios=200\n";
/// The first bytes of a PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";

/// A folder with two results of the same job, of different seeds.
fn results(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.file("job.fio", JOB);
    for (file, seed) in [("a.json", "1"), ("b.json", "2")] {
        let words = ["run", "job.fio", &tiny(), "--seed", seed, "--result", file];
        folder.run(&words).succeeds();
    }
    folder
}

#[test]
fn results_become_a_site() {
    let folder = results("shelf");
    std::fs::write(folder.0.join("card.png"), PNG).unwrap();
    folder.run(&["shelf", "add", "a.json"]).succeeds();
    let about = [
        "shelf",
        "add",
        "b.json",
        "--name",
        "second",
        "--title",
        "The second <card>",
        "--photo",
        "card.png",
        "--price",
        "5",
        "--currency",
        "EUR",
        "--notes",
        "Bought\n\nused",
    ];
    folder.run(&about).succeeds();
    // Adding the same result again does not add an entry.
    folder.run(&["shelf", "add", "a.json"]).succeeds();
    let list = folder.run(&["shelf", "list", "--json"]);
    let list: serde_json::Value = serde_json::from_str(&list.succeeds().out).unwrap();
    let names: Vec<_> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|d| &d["name"])
        .collect();
    assert_eq!(names, ["second", "tiny"]);
    assert_eq!(list[0]["price"], 5.0);
    assert_eq!(list[1]["simulated"], true);
    let shown = folder.run(&["shelf", "list"]);
    assert!(shown.succeeds().out.contains("5.00 EUR"), "{}", shown.out);

    folder.run(&["shelf", "site", "-o", "site"]).succeeds();
    let index = folder.read("site/index.html");
    assert!(
        index.contains("The second &lt;card&gt;") || index.contains("The second &#60;card&#62;")
    );
    assert!(index.contains("photos/second.png"));
    assert_eq!(
        std::fs::read(folder.0.join("site/photos/second.png")).unwrap(),
        PNG
    );
    let page = folder.read("site/drives/second-run.html");
    assert!(page.contains("../photos/second.png") && page.contains("<p>used</p>"));
    assert!(page.contains("id=\"ranks\""));
    assert!(
        folder
            .read("site/compare.html")
            .contains("\"name\":\"second\"")
    );
}

#[test]
fn a_report_names_the_ranks_on_a_shelf() {
    let folder = results("shelf-ranks");
    folder
        .run(&["shelf", "add", "b.json", "--name", "other"])
        .succeeds();
    // A result of the same target is not compared.
    let alone = ["report", "a.json", "-o", "alone", "--shelf", "shelf"];
    folder.run(&alone).succeeds();
    assert!(!folder.read("alone/report.html").contains("id=\"ranks\""));
    let text = folder.read("a.json");
    let target = format!("\"name\": \"{}\"", tiny());
    assert!(text.contains(&target), "{}", &text[..600]);
    folder.file(
        "c.json",
        &text.replace(&target, "\"name\": \"sim:another\""),
    );
    let words = ["report", "c.json", "-o", "ranked", "--shelf", "shelf"];
    folder.run(&words).succeeds();
    assert!(folder.read("ranked/report.html").contains("id=\"ranks\""));
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_written() {
    let folder = results("shelf-refused");
    folder
        .run(&["shelf", "list"])
        .fails(3, &["cannot read the shelf", "shelf add"]);
    let both = folder.run(&["shelf", "add", "a.json", "b.json"]);
    both.fails(2, &["another result of `run` for tiny", "--replace"]);
    assert!(!folder.0.join("shelf").exists());
    folder.run(&["shelf", "add", "a.json"]).succeeds();
    folder
        .run(&["shelf", "add", "b.json"])
        .fails(2, &["--replace"]);
    folder
        .run(&["shelf", "add", "b.json", "--replace"])
        .succeeds();
    assert_eq!(folder.read("shelf/tiny/run.json"), folder.read("b.json"));
    for (words, parts) in [
        (&["--name", "Über/../x"][..], &["lower-case", "ber-x"][..]),
        (&["--photo", "job.fio"], &["not a PNG, JPEG or WebP"]),
        (&["--price", "0", "--currency", "EUR"], &["positive"]),
        (&["--price", "1"], &["--currency"]),
    ] {
        let mut command = vec!["shelf", "add", "b.json"];
        command.extend(words);
        folder.run(&command).fails(2, parts);
    }
    folder.file("shelf/tiny/drive.toml", "title = \"x\"\npricee = 3\n");
    let broken = folder.run(&["shelf", "site", "-o", "site"]);
    broken.fails(2, &["drive.toml, line 2", "pricee"]);
    folder.file("shelf/tiny/drive.toml", "photo = \"../../a.png\"\n");
    folder
        .run(&["shelf", "list"])
        .fails(2, &["the photo is not a file of the same folder"]);
    folder.file("shelf/tiny/drive.toml", "");
    folder.file("shelf/tiny/copy.json", &folder.read("a.json"));
    folder
        .run(&["shelf", "list"])
        .fails(2, &["run.json", "second result of `run`"]);
}
