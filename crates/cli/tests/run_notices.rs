//! What a result says of its own numbers, where they would mislead.

use crate::support::{Folder, tiny};
use nandscope_result::json;

const NOTHING_READ: &str = "was never written, or was trimmed";

/// The notices of a run, which stand in its output as well.
fn notices(name: &str, job: &str, more: &[&str]) -> Vec<String> {
    let folder = Folder::new(&format!("notices-{name}"));
    folder.file("job.fio", &format!("[global]\ndirect=1\nbs=4k\n{job}"));
    let device = tiny();
    let mut arguments = vec!["run", "job.fio", &device, "-o", "r.json"];
    arguments.extend(more);
    let ran = folder.run(&arguments);
    ran.succeeds();
    let document = json::read(&folder.0.join("r.json")).unwrap();
    let texts: Vec<String> = document.notices.into_iter().map(|n| n.text).collect();
    for text in &texts {
        let beginning = text
            .split_whitespace()
            .take(4)
            .collect::<Vec<_>>()
            .join(" ");
        assert!(ran.out.contains(&beginning), "{beginning}: {}", ran.out);
    }
    texts
}

/// The share in percent of the data read that no flash was read for, as the notice says it.
fn share(notices: &[String]) -> Option<u32> {
    let text = notices.iter().find(|text| text.contains(NOTHING_READ))?;
    text.split(' ').next()?.parse().ok()
}

#[test]
fn reads_of_what_was_never_written() {
    let read = "[r]\nrw=randread\nsize=1m\n";
    assert_eq!(share(&notices("empty", read, &[])), Some(100));
    let filled = ["--precondition", "sequential"];
    assert_eq!(share(&notices("filled", read, &filled)), None);
    // A quarter of the region is written.
    let part = "[w]\nrw=write\nsize=256k\n[r]\nstonewall\nrw=read\nsize=1m\n";
    assert_eq!(share(&notices("part", part, &[])), Some(75));
    let trimmed = "[w]\nrw=write\nsize=1m\n[t]\nstonewall\nrw=trim\nsize=512k\n[r]\nstonewall\nrw=read\nsize=1m\n";
    assert_eq!(share(&notices("trimmed", trimmed, &[])), Some(50));
    // What is still in the write buffer is data as well.
    let mixed = "[w]\nrw=write\nsize=64k\n[r]\nstonewall\nrw=read\nsize=64k\n";
    assert_eq!(share(&notices("buffered", mixed, &[])), None);
}

#[test]
fn jobs_on_the_same_part_of_the_target() {
    let overlaps = |name: &str, job: &str| {
        let texts = notices(name, job, &[]);
        texts
            .iter()
            .any(|text| text.contains("same part of the target"))
    };
    assert!(overlaps(
        "both",
        "[a]\nrw=write\nsize=1m\n[b]\nrw=read\nsize=4k\noffset=512k\n"
    ));
    assert!(!overlaps(
        "apart",
        "[a]\nrw=write\nsize=1m\n[b]\nrw=write\nsize=1m\noffset=1m\n"
    ));
    assert!(!overlaps(
        "in turn",
        "[a]\nrw=write\nsize=1m\n[b]\nstonewall\nrw=read\nsize=1m\n"
    ));
}

#[test]
fn a_job_shorter_than_an_interval() {
    let is_short = |name: &str, job: &str| {
        let texts = notices(name, job, &[]);
        texts
            .iter()
            .any(|text| text.contains("less than one interval"))
    };
    assert!(is_short("short", "[a]\nrw=write\nsize=64k\n"));
    assert!(!is_short(
        "long",
        "[a]\nrw=write\nsize=64k\ntime_based\nruntime=5\n"
    ));
}
