//! `nandscope inspect`: what it shows of each kind of target.

use crate::support::Folder;

fn json(folder: &Folder, target: &str) -> serde_json::Value {
    let out = folder
        .command(&["inspect", target, "--json"])
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).unwrap()
}

#[test]
fn a_simulated_device_answers_for_itself() {
    let folder = Folder::new("inspect-sim");
    let found = json(&folder, "sim:sm2708-250gb");
    assert_eq!(found["simulated"]["capacity_bytes"], 250_059_350_016u64);
    assert_eq!(found["simulated"]["used_percent"], 0);
    assert!(found["refused"].is_null() && found["conditions"].is_null());
}

#[test]
fn a_file_and_its_folder_lie_on_the_same_device() {
    let folder = Folder::new("inspect-file");
    folder.file("target", "x");
    let (file, around) = (json(&folder, "target"), json(&folder, "."));
    assert_eq!(
        (&file["kind"], &around["kind"]),
        (&"file".into(), &"folder".into())
    );
    assert_eq!(file["identity"], around["identity"]);
    let options = &file["conditions"]["mount"]["options"];
    assert!(
        options.as_array().is_some_and(|o| !o.is_empty()),
        "{options}"
    );
    let shown = folder.command(&["inspect", "target"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("\nConditions\n"), "{shown}");
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_file_says_whether_it_may_be_written() {
    let folder = Folder::new("inspect-writing");
    folder.file("thesis", "years of work");
    let rule = |target: &str| json(&folder, target)["refused"][0]["rule"].clone();
    assert_eq!(rule("thesis"), "foreign-file");
    let guard = nandscope_inspect::guard::Guard::new(nandscope_inspect::Roots::default());
    let size = nandscope_units::Bytes::mib(1);
    let made = guard.open_file(&folder.0.join("made"), size).unwrap();
    assert_eq!(rule("made"), "held");
    drop(made);
    assert_eq!(json(&folder, "made")["refused"], serde_json::json!([]));
    let shown = folder.command(&["inspect", "made"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Allowed without confirmation"), "{shown}");
}

#[test]
fn what_is_no_target() {
    let folder = Folder::new("inspect-none");
    for target in ["/dev/null", "nothing-here"] {
        let out = folder.command(&["inspect", target]).output().unwrap();
        assert_eq!(out.status.code(), Some(3));
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(
            said.contains(target) && said.contains("check the name"),
            "{said}"
        );
    }
}

#[test]
fn a_file_that_would_not_be_written_is_said_to_be_refused_first() {
    let folder = Folder::new("inspect-refused");
    folder.file("mine.img", "data");
    let ran = folder.run(&["inspect", "./mine.img"]);
    let lines: Vec<&str> = ran.succeeds().out.lines().collect();
    assert_eq!(lines[2], "Writing would be refused", "{}", ran.out);
    assert!(ran.out.contains("nandscope did not make it"), "{}", ran.out);
}
