//! Job files as users write them. fio accepts each of them, if it is installed, and so does this parser, or it states
//! why not.
//!
//! A heading `=== name` begins a job file that is accepted, `=== name ! reason` one that is refused for a reason that
//! applies to every simulator of block devices.

use nandscope_workload::job::{Job, JobFile, Machine, Surroundings, supported};
use std::collections::BTreeSet;
use std::process::Command;

const CORPUS: &str = include_str!("data/fio-jobs.txt");

struct Entry {
    name: &'static str,
    /// Part of the refusal.
    refusal: Option<&'static str>,
    text: &'static str,
}

fn entries() -> Vec<Entry> {
    let parts = CORPUS.split("\n=== ").skip(1);
    parts
        .map(|part| {
            let (heading, text) = part.split_once('\n').unwrap();
            let (name, refusal) = match heading.split_once('!') {
                Some((name, reason)) => (name.trim(), Some(reason.trim())),
                None => (heading, None),
            };
            Entry {
                name,
                refusal,
                text,
            }
        })
        .collect()
}

struct Desk;

impl Surroundings for Desk {
    fn variable(&self, name: &str) -> Option<String> {
        (name == "SIZE").then(|| "16m".to_string())
    }

    fn machine(&self) -> Option<Machine> {
        Some(Machine {
            processors: 4,
            memory_mib: 2048,
            page_bytes: 4096,
        })
    }
}

#[test]
fn job_files_are_accepted_or_refused_with_a_reason() {
    let entries = entries();
    assert!(entries.len() >= 120, "{} job files", entries.len());
    let mut wrong = Vec::new();
    for entry in &entries {
        let read = JobFile::read(entry.name, entry.text, &Desk);
        match (read, entry.refusal) {
            (Ok(file), None) => {
                let written = file.to_fio();
                match JobFile::parse("again", &written) {
                    Ok(again) if again.to_fio() == written => {}
                    other => wrong.push(format!("{}: does not read back: {other:?}", entry.name)),
                }
            }
            (Err(error), None) => wrong.push(error.to_string()),
            (Err(error), Some(reason)) if error.to_string().contains(reason) => {}
            (read, Some(reason)) => {
                wrong.push(format!(
                    "{}: not refused by `{reason}`: {read:?}",
                    entry.name
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn fio_accepts_all_of_them() {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("skipped: fio cannot be run here");
        return;
    }
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("trace.log"), "fio version 2 iolog\n").unwrap();
    let file = std::fs::File::create(folder.join("disk.img")).unwrap();
    file.set_len(64 << 20).unwrap();
    for entry in entries() {
        std::fs::write(folder.join("job.fio"), entry.text).unwrap();
        let done = Command::new("fio")
            .args(["--parse-only", "job.fio"])
            .current_dir(&folder)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        let fine = done.status.success() && !said.contains("dropped");
        assert!(fine, "{}: {said}", entry.name);
    }
}

/// Every fio option with an effect occurs in some job file.
#[test]
fn the_corpus_spans_the_options() {
    let mut given = BTreeSet::new();
    for entry in entries() {
        for line in entry.text.lines() {
            let key = line.split(['=', ' ']).next().unwrap_or_default();
            given.insert(key.to_string());
        }
    }
    let missing: Vec<&str> = supported()
        .map(|option| option.name)
        .filter(|name| !name.starts_with("nandscope_") && !given.contains(*name))
        .collect();
    assert!(missing.is_empty(), "no job file has {missing:?}");
}

/// Options that a job file does not set have fio's defaults.
#[test]
fn an_empty_job_has_fios_defaults() {
    let job = &JobFile::read("x", "[a]\n", &Desk).unwrap().jobs[0];
    assert_eq!(
        job,
        &Job {
            name: "a".to_string(),
            ..Job::new("a")
        }
    );
}
