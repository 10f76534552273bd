//! Procedures of suites as fio job files: `job emit-fio` of each result.

use crate::support::loops::{skipped, tool};
use crate::support::{Folder, tiny};
use nandscope_result::json;
use nandscope_suite::Procedure;
use std::process::Command;

/// Devices on which the suite runs to its end, and soon.
fn target(procedure: Procedure) -> Vec<String> {
    let card = || vec!["sim:kingston-8gb".to_string()];
    match procedure {
        Procedure::Card => ["sim:sm2708-250gb", "--mode", "SD Express"]
            .map(String::from)
            .to_vec(),
        Procedure::Ssd => vec!["sim:plextor-m6e-256gb".to_string()],
        Procedure::SsdPeers => vec!["sim:hp-ex920-1tb".to_string()],
        Procedure::Fill | Procedure::Iometer => vec![tiny()],
        Procedure::Flashbench | Procedure::FlashbenchWhole => card(),
        Procedure::Plain | Procedure::SpeedClass => card(),
    }
}

fn emit(procedure: Procedure) {
    let name = procedure.name();
    let folder = Folder::new(&format!("emit-{name}"));
    let target = target(procedure);
    let mut arguments = vec!["review", "--quick", "-o", "out", "--suite"];
    arguments.extend(match procedure {
        Procedure::SsdPeers => ["ssd", "--peers"].iter(),
        Procedure::FlashbenchWhole => ["flashbench", "--whole"].iter(),
        _ => [].iter(),
    });
    if arguments.ends_with(&["--suite"]) {
        arguments.push(name);
    }
    arguments.extend(target.iter().map(String::as_str));
    folder.run(&arguments).succeeds();
    let document = json::read(&folder.0.join("out/result.json")).unwrap();
    let emitted = folder.run(&["job", "emit-fio", "out/result.json"]);
    let jobs = document.steps.iter().flat_map(|step| &step.jobs);
    let in_grammar = jobs.filter(|job| !job.options.is_empty()).count();
    if in_grammar == 0 {
        emitted.fails(2, &["no step is a job that fio can run"]);
        return;
    }
    let text = &emitted.succeeds().out;
    for step in &document.steps {
        let heading = format!("; step {}: ", step.id);
        assert!(text.contains(&heading), "{name}: {heading}");
    }
    assert_eq!(text.matches("\n[").count(), in_grammar, "{name}");
    // Options that fio does not know follow a comment.
    let fios: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("nandscope_"))
        .collect();
    folder.file("disk.img", "");
    let job = format!("[global]\nfilename=disk.img\n{}\n", fios.join("\n"));
    folder.file("job.fio", &job);
    let done = Command::new("fio")
        .args(["--parse-only", "job.fio"])
        .current_dir(&folder.0)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    let fine = done.status.success() && !said.contains("dropped");
    assert!(fine, "{name}: {said}");
}

/// Suites that take longer.
const SLOW: [Procedure; 3] = [
    Procedure::Ssd,
    Procedure::SsdPeers,
    Procedure::FlashbenchWhole,
];

#[test]
fn fio_takes_the_jobs_of_the_suites() {
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    let all = Procedure::ALL.into_iter();
    all.filter(|one| !SLOW.contains(one)).for_each(emit);
}

#[test]
#[ignore = "slow: the suites for solid-state drives"]
fn slow_suites_are_taken_by_fio() {
    if tool("fio", &["--version"]).is_none() {
        return skipped("fio is not installed");
    }
    SLOW.into_iter().for_each(emit);
}
