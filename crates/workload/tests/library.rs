//! The job files that come with the project, and the tables of docs/jobs.md.

use nandscope_units::Bytes;
use nandscope_workload::OpSource;
use nandscope_workload::job::{ALIASES, INERT, JobFile, REFUSED, SUPPORTED};
use nandscope_workload::pattern::Generator;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn job_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "fio"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_job_of_the_library_is_valid_and_explained() {
    let plain = job_files(&root().join("jobs"));
    let extended = job_files(&root().join("jobs/extensions"));
    assert!(plain.len() >= 8 && !extended.is_empty());
    for path in plain.iter().chain(&extended) {
        let text = std::fs::read_to_string(path).expect("readable");
        assert!(text.starts_with("; "), "{}: no comment", path.display());
        let name = path.display().to_string();
        let file = JobFile::parse(&name, &text).unwrap_or_else(|e| panic!("{e}"));
        for job in &file.jobs {
            if job.trace.is_none() {
                let mut g = Generator::new(job, 0, Bytes::gib(64), 1).expect("fits a 64 GiB card");
                assert!(g.next_op().is_some(), "{name}");
            }
            let ours = job.options().keys().any(|k| k.starts_with("nandscope_"));
            assert_eq!(ours, extended.contains(path), "{name}");
        }
    }
}

#[test]
fn the_tables_of_the_book_are_complete() {
    let book = std::fs::read_to_string(root().join("docs/jobs.md")).expect("docs/jobs.md");
    let mut missing = Vec::new();
    let refused = REFUSED.iter().flat_map(|(names, _)| names.iter().copied());
    let names = SUPPORTED
        .iter()
        .copied()
        .chain(INERT.iter().map(|i| i.name))
        .chain(ALIASES.iter().map(|a| a.0))
        .chain(refused);
    for name in names {
        if !book.contains(&format!("`{name}`")) {
            missing.push(name);
        }
    }
    assert!(missing.is_empty(), "docs/jobs.md lacks {missing:?}");
    for entry in INERT {
        assert!(book.contains(entry.reason), "reason of {}", entry.name);
    }
}

#[test]
fn every_option_stands_in_one_table() {
    let mut names: Vec<&str> = SUPPORTED
        .iter()
        .copied()
        .chain(INERT.iter().map(|i| i.name))
        .chain(ALIASES.iter().map(|a| a.0))
        .chain(REFUSED.iter().flat_map(|(names, _)| names.iter().copied()))
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
