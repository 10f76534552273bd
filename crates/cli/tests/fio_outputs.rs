//! Options of fio's command line for outputs and sections, and shared logs, with fio itself beside: which jobs run, what is
//! printed where, and how often.

use crate::support::fio::with_target;
use crate::support::serving::{have, run};
use crate::support::{Folder, Ran};
use serde_json::Value;
use std::fs::File;
use std::process::{Command, Stdio};

/// An engine without I/O, so that fio prints no line about a disk.
const JOB: &str = "\
[global]
ioengine=null
direct=1
bs=4k
size=1m
[a]
rw=randread
[b]
stonewall
rw=read
numjobs=2
group_reporting
[c]
stonewall
rw=write
";

/// A device with room for the files of [`JOB`].
const DEVICE: &str = "sim:reference-nvme-64gb";

/// Standard output of fio and of nandscope for a job, which they read from a file or from standard input.
fn by_both(folder: &Folder, job: &str, from_input: bool, words: &[&str]) -> [String; 2] {
    folder.file("fio.fio", job);
    folder.file("our.fio", &with_target(job));
    let name = |file| if from_input { "-" } else { file };
    let mut fio = Command::new("fio");
    fio.args(words).arg(name("fio.fio")).current_dir(&folder.0);
    let ours = folder.command(&[&["run", name("our.fio"), DEVICE, "--"][..], words].concat());
    let commands = [(fio, "fio.fio"), (ours, "our.fio")];
    commands.map(|(mut command, file)| {
        let input = match from_input {
            true => Stdio::from(File::open(folder.0.join(file)).unwrap()),
            false => Stdio::null(),
        };
        let ran = Ran::from(command.stdin(input).output().unwrap());
        ran.succeeds();
        ran.out
    })
}

/// Of each line of fio's terse output: the fields that do not depend on times (version, name, group, error, KiB read and KiB
/// written), and the number of all fields.
fn facts(terse: &str) -> Vec<(Vec<&str>, usize)> {
    let lines = terse.lines().map(|line| {
        let fields: Vec<&str> = line.split(';').collect();
        let same = [0, 1, 2, 3, 4, 5, 46].map(|at| fields[at]);
        (same.to_vec(), fields.len())
    });
    lines.collect()
}

#[test]
fn sections_and_standard_input_select_the_jobs_of_fio() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("fio-outputs-sections");
    for (sections, names) in [
        (&[][..], &["a", "b", "c"][..]),
        (&["--section=b"], &["b"]),
        (&["--section=c", "--section", "a"], &["a", "c"]),
        (&["-section=c"], &["c"]),
    ] {
        for from_input in [false, true] {
            let words = [&["--minimal"][..], sections].concat();
            let [fios, ours] = by_both(&folder, JOB, from_input, &words);
            let [fios, ours] = [facts(&fios), facts(&ours)];
            let found: Vec<&str> = fios.iter().map(|line| line.0[2]).collect();
            assert_eq!(found, names, "{sections:?}");
            assert_eq!(
                ours, fios,
                "{sections:?}, from standard input: {from_input}"
            );
        }
    }
}

#[test]
fn outputs_go_where_fio_puts_them() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("fio-outputs-file");
    folder.file("fio.fio", JOB);
    folder.file("our.fio", &with_target(JOB));
    for (words, begins) in [
        (&["--minimal"][..], "3;fio-3.33;a;0;0;1024;"),
        (
            &["--output-format=terse", "--terse-version=5"],
            "5;fio-3.33;a;0;0;1024;",
        ),
        (
            &["--output-format=json"],
            "{\n  \"fio version\" : \"fio-3.33\",",
        ),
        (
            &["--output-format=normal"],
            "a: (g=0): rw=randread, bs=(R) 4096B-4096B,",
        ),
        (&[], "a: (g=0): rw=randread, bs=(R) 4096B-4096B,"),
    ] {
        // Each program has a file of its own.
        let fio = [words, &["--output", "fio.txt", "fio.fio"]].concat();
        let our = [
            &["run", "our.fio", DEVICE, "--"][..],
            words,
            &["--output", "our.txt"],
        ]
        .concat();
        let by_fio = run(&folder, "fio", &fio);
        let by_us = folder.run(&our).succeeds().out.clone();
        assert_eq!([by_fio, by_us], ["", ""], "{words:?}");
        let [fios, ours] = ["fio.txt", "our.txt"].map(|name| folder.read(name));
        assert!(ours != fios, "both have measured times");
        for text in [&ours, &fios] {
            assert!(text.starts_with(begins), "{words:?}:\n{text}");
        }
    }
}

/// The numbers of operations of the first job in each of several JSON objects, one after the other.
fn totals(text: &str) -> Vec<u64> {
    let objects = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let total = |object: Value| object["jobs"][0]["read"]["total_ios"].as_u64().unwrap();
    objects.map(|object| total(object.unwrap())).collect()
}

#[test]
fn results_in_between_add_up_from_the_start_as_in_fio() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("fio-outputs-interval");
    let job = "[a]\nioengine=null\ndirect=1\nrw=randread\nbs=4k\nsize=1m\nrate_iops=100\ntime_based\nruntime=2600ms\n";
    let words = ["--status-interval=1", "--output-format=json"];
    let [fios, ours] = by_both(&folder, job, false, &words).map(|text| totals(&text));
    assert_eq!(ours, [100, 200, 260], "each second, and at the end");
    // fio prints when its helper thread is woken, which a busy machine delays.
    assert!(fios.len() >= 2, "{fios:?}");
    assert!(fios.is_sorted_by(|a, b| a < b) && fios[0] > 0, "{fios:?}");
    assert!((250..=270).contains(fios.last().unwrap()), "{fios:?}");
}

/// Names of the logs that begin with `x`, and the number of lines in each.
fn logs(folder: &Folder) -> Vec<(String, usize)> {
    let names = folder.names().into_iter();
    let names = names.filter(|name| name.starts_with('x') && name.ends_with(".log"));
    let counted = names.map(|name| {
        let lines = folder.read(&name).lines().count();
        std::fs::remove_file(folder.0.join(&name)).unwrap();
        (name, lines)
    });
    counted.collect()
}

#[test]
fn threads_share_logs_as_in_fio() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("fio-outputs-logs");
    for per_job in ["per_job_logs=0", "per_job_logs=1"] {
        for engine in ["psync", "libaio"] {
            let job = format!(
                "[global]\nioengine={engine}\nthread\nrw=read\nbs=64k\nsize=1m\ndirect=1\nwrite_bw_log=x\nwrite_iops_log=x\nwrite_lat_log=x\n{per_job}\n[a]\nnumjobs=2\n[b]\nstonewall\nrw=write\n"
            );
            folder.file("job.fio", &job);
            run(&folder, "fio", &["job.fio", "--output=out.txt"]);
            let fios = logs(&folder);
            folder.run(&["run", "job.fio", DEVICE]).succeeds();
            let mut ours = logs(&folder);
            if engine == "psync" {
                // fio has submission latencies of asynchronous engines only (docs/jobs.md).
                let slat = ours.iter_mut().filter(|(name, _)| name.contains("slat"));
                slat.for_each(|(_, lines)| *lines = 0);
            }
            assert_eq!(ours, fios, "{per_job} {engine}");
            let bandwidth = fios.iter().filter(|(name, _)| name.starts_with("x_bw"));
            assert_eq!(
                bandwidth.map(|(_, lines)| lines).sum::<usize>(),
                48,
                "{fios:?}"
            );
        }
    }
}
