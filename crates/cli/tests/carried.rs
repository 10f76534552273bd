//! What the program carries besides code: jobs and profiles that work in any folder.

use crate::support::{Folder, tiny};

fn of_the_project(path: &str) -> String {
    let path = format!("{}/../../{path}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn jobs_of_the_library_are_listed_printed_and_run() {
    let folder = Folder::new("carried-jobs");
    let list = folder.run(&["job", "list"]);
    let list = list.succeeds();
    assert!(list.out.contains("rand-read") && list.out.contains("extensions/bursts"));
    let listed = folder.run(&["job", "list", "--json"]);
    let listed: serde_json::Value = serde_json::from_str(&listed.succeeds().out).unwrap();
    let mut names = Vec::new();
    for job in listed.as_array().unwrap() {
        let name = job["name"].as_str().unwrap();
        let text = folder.run(&["job", "show", "--text", name]);
        let file = of_the_project(&format!("jobs/{name}.fio"));
        assert_eq!(text.succeeds().out, file, "{name}");
        folder.run(&["job", "check", name]).succeeds();
        names.push(name.to_string());
    }
    assert!(names.len() > 10, "{names:?}");
    let run = |job: &str| {
        let short = ["--job", "runtime=10ms", "--job", "ramp_time=0"];
        folder.run(&[&["run", job, &tiny()][..], &short].concat())
    };
    let by_name = run("rand-read");
    assert!(by_name.succeeds().out.contains("read: IOPS="));
    run("jobs/rand-read.fio").succeeds();
    // A file of that name in the folder goes first.
    folder.file("rand-read", "[own]\nrw=randwrite\nbs=4k\nsize=64k\n");
    assert!(run("rand-read").succeeds().out.contains("write: IOPS="));
    run("rand-raed").fails(3, &["rand-raed"]);
}

#[test]
fn a_profile_is_printed_and_taken_as_a_file() {
    let folder = Folder::new("carried-profiles");
    for (name, file) in [
        ("kingston-8gb", "profiles/kingston-8gb.toml"),
        ("sim:sm2708-250gb", "profiles/sm2708-250gb.toml"),
        ("sabrelite", "profiles/hosts/sabrelite.toml"),
    ] {
        let printed = folder.run(&["devices", "show", "--toml", name]);
        assert_eq!(printed.succeeds().out, of_the_project(file), "{name}");
    }
    let text = of_the_project("profiles/kingston-8gb.toml");
    folder.file("my-card.toml", &text);
    let words = [
        "run",
        "rand-read",
        "sim:./my-card.toml",
        "--job",
        "runtime=10ms",
    ];
    folder.run(&words).succeeds();
    // A policy that a program supplies is not there on the command line.
    let text = of_the_project("profiles/reference-nvme-64gb.toml");
    assert!(text.contains("collection = \"greedy\""));
    folder.file(
        "own.toml",
        &text.replace("collection = \"greedy\"", "collection = \"program:own\""),
    );
    let words = ["run", "rand-read", "sim:./own.toml"];
    folder
        .run(&words)
        .fails(2, &["program:own", "cost-benefit"]);
}
