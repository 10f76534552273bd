//! Jobs from the command line: options that are set on every job of a file, and jobs without a file.

use crate::support::{Folder, tiny};
use nandscope_result::{JobResult, json};

/// The jobs of the result of a command.
fn jobs(folder: &Folder, arguments: &[&str]) -> Vec<JobResult> {
    let mut all = vec!["run", "--result", "r.json"];
    all.extend(arguments);
    folder.run(&all).succeeds();
    let document = json::read(&folder.0.join("r.json")).unwrap();
    document.steps.into_iter().flat_map(|s| s.jobs).collect()
}

#[test]
fn options_of_the_command_line_come_after_those_of_the_file() {
    let folder = Folder::new("run-set");
    folder.file(
        "job.fio",
        "[a]\nrw=read\nsize=64k\nbs=4k\n[b]\nstonewall\nrw=write\nsize=128k\nbs=8k\n",
    );
    let device = tiny();
    let set = ["--job", "bs=16k", "--job", "group_reporting"];
    for more in [&set[..], &["--", "--bs=16k"]] {
        let mut arguments = vec!["job.fio", &device];
        arguments.extend(more);
        let jobs = jobs(&folder, &arguments);
        let operations: Vec<u64> = jobs.iter().map(|j| j.directions[0].operations).collect();
        assert_eq!(operations, [4, 8], "{more:?}");
        assert_eq!(jobs[1].options["bs"], "16k");
    }
    folder
        .run(&["run", "job.fio", &device, "--job", "bs=17"])
        .fails(2, &["bs=17", "the command line"]);
}

#[test]
fn a_job_without_a_file() {
    let folder = Folder::new("run-no-file");
    let device = tiny();
    let one = jobs(
        &folder,
        &[
            &device,
            "--",
            "--rw=write",
            "--bs",
            "8k",
            "--size=64k",
            "--direct=1",
        ],
    );
    assert_eq!((one.len(), one[0].directions[0].operations), (1, 8));
    let two = jobs(
        &folder,
        &[
            &device,
            "--",
            "--size=64k",
            "--name=first",
            "--rw=write",
            "--name=second",
            "--stonewall",
            "--rw=read",
            "--bs=16k",
        ],
    );
    let found: Vec<(&str, u64)> = two
        .iter()
        .map(|job| (job.name.as_str(), job.directions[0].operations))
        .collect();
    assert_eq!(found, [("first", 16), ("second", 4)]);
    folder
        .run(&["run", &device])
        .fails(2, &["needs a job file and a target"]);
    folder
        .run(&["run", &device, "--", "--iodepht=4"])
        .fails(2, &["unknown option `iodepht`", "did you mean"]);
}
