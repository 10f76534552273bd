//! Sweeps through the library: the same bytes for any number of threads, nothing done twice, and errors
//! before the first point.

use nandscope_experiment::ErrorClass;
use nandscope_result::json::to_json;
use nandscope_sweep::pool::{self, PoolRun};
use nandscope_sweep::store::sealed;
use nandscope_sweep::table::{csv, json};
use nandscope_sweep::{Plan, Sampling, Store, SweepSpec, SweepTable};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

const TINY: &str = concat!(
    "sim:",
    env!("CARGO_MANIFEST_DIR"),
    "/../cli/tests/data/tiny.toml"
);
const JOB: &str = "[mix]\nioengine=libaio\nrw=randrw\nbs=4k\nsize=1m\nio_size=1m\niodepth=2\n";

fn spec(parameters: &[&str]) -> SweepSpec {
    SweepSpec {
        target: TINY.to_string(),
        host: None,
        precondition: "random:80".parse().unwrap(),
        job_file: "job.fio".to_string(),
        job_name: "job.fio".to_string(),
        job_text: JOB.to_string(),
        parameters: parameters.iter().map(|p| p.parse().unwrap()).collect(),
        sampling: Sampling::Grid,
        seed: 1,
        seeds: 2,
        metrics: ["waf", "p99", "iops"].map(str::to_string).to_vec(),
    }
}

/// A folder that is removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let entries = std::fs::read_dir(self.0.join("points")).unwrap().flatten();
        let file = |e: std::fs::DirEntry| {
            (
                e.file_name().into_string().unwrap(),
                std::fs::read(e.path()).unwrap(),
            )
        };
        let mut files: Vec<_> = entries.map(file).collect();
        files.sort();
        files
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn run(plan: &Plan, folder: &Folder, threads: usize, stop: &(dyn Fn() -> bool + Sync)) -> PoolRun {
    let store = Store::open(&folder.0).unwrap();
    pool::run(
        &plan.points,
        &plan.metrics,
        &store,
        threads,
        stop,
        &mut |_| {},
    )
    .unwrap()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let plan = Plan::new(&spec(&["controller.cores=1,2", "job.iodepth=1..3"])).unwrap();
    assert_eq!((plan.points.len(), plan.configurations), (12, 6));
    // Two values of cores, two seeds.
    assert_eq!(plan.devices, 4);
    let mut known = None;
    for threads in [1, 2, 5] {
        let folder = Folder::new(&format!("threads-{threads}"));
        let done = run(&plan, &folder, threads, &|| false);
        assert_eq!((done.found, done.conditioned), (0, 4));
        let table = SweepTable::new(&plan, &done.outcomes);
        assert!(table.rows.iter().any(|r| r.is_pareto));
        assert!(
            table
                .rows
                .iter()
                .all(|r| r.points == (2, 2) && r.failure.is_none())
        );
        let texts = (
            csv(&plan, &done.outcomes),
            json(&plan, &done.outcomes).unwrap(),
        );
        let all = (folder.files(), texts, table);
        assert_eq!(all.0.len(), 12);
        let before = known.get_or_insert_with(|| all.clone());
        assert!(*before == all, "{threads} threads");
    }
    // A point that is run by itself, as another executor runs it, gives the same file.
    let (files, ..) = known.unwrap();
    for point in [&plan.points[0], &plan.points[7], &plan.points[11]] {
        let document = point.run(&mut (), &|| false).unwrap().unwrap();
        let name = format!("{}.json", point.key);
        let (_, bytes) = files.iter().find(|f| f.0 == name).unwrap();
        assert_eq!(sealed(&to_json(&document).unwrap()).as_bytes(), bytes);
    }
}

#[test]
fn an_interrupted_sweep_goes_on_and_does_nothing_twice() {
    let plan = Plan::new(&spec(&["controller.cores=1,2", "job.bs=4k,8k"])).unwrap();
    let whole = Folder::new("whole");
    let expected = run(&plan, &whole, 2, &|| false);
    for after in [0, 1, 3, 7] {
        let folder = Folder::new(&format!("interrupted-{after}"));
        let store = Store::open(&folder.0).unwrap();
        let stopped = AtomicBool::new(after == 0);
        let stop = || stopped.load(Ordering::SeqCst);
        let mut tell = |progress: pool::SweepProgress| {
            stopped.fetch_or(progress.done >= after, Ordering::SeqCst);
        };
        let first = pool::run(&plan.points, &plan.metrics, &store, 2, &stop, &mut tell).unwrap();
        let kept = folder.files();
        assert_eq!(kept.len(), first.outcomes.iter().flatten().count());
        assert!(kept.len() >= after);
        let times = |folder: &Folder| -> Vec<_> {
            let stamp = |name: &String| {
                std::fs::metadata(folder.0.join("points").join(name))
                    .unwrap()
                    .modified()
                    .unwrap()
            };
            kept.iter().map(|(name, _)| stamp(name)).collect()
        };
        let before = times(&folder);
        let second = run(&plan, &folder, 2, &|| false);
        assert_eq!(second.found, kept.len());
        assert_eq!(
            times(&folder),
            before,
            "finished points are not written again"
        );
        assert_eq!(second.outcomes, expected.outcomes);
        assert!(folder.files() == whole.files());
        // Nothing is left to do; no device is made.
        let third = run(&plan, &folder, 2, &|| false);
        assert_eq!((third.found, third.conditioned), (8, 0));
    }
}

#[test]
fn points_with_the_same_result_are_run_once() {
    let mut spec = spec(&["job.iodepth=1,2,3"]);
    // A synchronous engine has no queue: its depth has no effect.
    spec.job_text = JOB.replace("libaio", "psync");
    let plan = Plan::new(&spec).unwrap();
    let folder = Folder::new("same-result");
    let done = run(&plan, &folder, 2, &|| false);
    assert_eq!(folder.files().len(), 2, "one for each seed");
    assert_eq!(done.outcomes.iter().flatten().count(), 6);
    assert_eq!(done.outcomes[0], done.outcomes[4]);
}

#[test]
fn a_damaged_file_is_no_result() {
    let plan = Plan::new(&spec(&["job.bs=4k,8k"])).unwrap();
    let folder = Folder::new("damaged");
    let first = run(&plan, &folder, 1, &|| false);
    let files = folder.files();
    std::fs::write(
        folder.0.join("points").join(&files[0].0),
        &files[0].1[..100],
    )
    .unwrap();
    std::fs::write(folder.0.join("points").join(&files[1].0), b"{}").unwrap();
    let again = run(&plan, &folder, 1, &|| false);
    assert_eq!(again.found, 2);
    assert_eq!(again.outcomes, first.outcomes);
    assert!(folder.files() == files);
}

#[test]
fn a_result_that_cannot_be_kept_ends_the_sweep() {
    let plan = Plan::new(&spec(&["job.bs=4k,8k"])).unwrap();
    let folder = Folder::new("refused");
    let store = Store::open(&folder.0).unwrap();
    std::fs::remove_dir_all(folder.0.join("points")).unwrap();
    let mut quiet = |_| {};
    let ended = pool::run(
        &plan.points,
        &plan.metrics,
        &store,
        2,
        &|| false,
        &mut quiet,
    );
    assert!(matches!(ended, Err(pool::PoolError::Store(_))));
}

#[test]
fn keys_differ_where_results_may() {
    let keys = |spec: &SweepSpec| -> BTreeSet<String> {
        let plan = Plan::new(spec).unwrap();
        plan.points.iter().map(|p| p.key.clone()).collect()
    };
    let base = spec(&["controller.cores=1,2"]);
    let known = keys(&base);
    assert_eq!(known.len(), 4);
    assert_eq!(known, keys(&base));
    let changes: [fn(&mut SweepSpec); 5] = [
        |s| s.precondition = "random:70".parse().unwrap(),
        |s| s.seed = 10,
        |s| s.job_text = JOB.replace("iodepth=2", "iodepth=3"),
        |s| s.job_name = "other.fio".to_string(),
        |s| s.parameters = vec!["controller.cores=3,5".parse().unwrap()],
    ];
    for (number, change) in changes.iter().enumerate() {
        let mut other = base.clone();
        change(&mut other);
        assert!(keys(&other).is_disjoint(&known), "change {number}");
    }
    // Metrics and the way of sampling do not matter to a result.
    let mut same = base.clone();
    same.metrics = vec!["bw".to_string()];
    same.sampling = Sampling::Random(50);
    assert!(keys(&same).is_superset(&known));
}

#[test]
fn what_cannot_be_swept_is_refused_before_the_first_point() {
    let system = ErrorClass::System;
    let usage = ErrorClass::Usage;
    let refused = |change: &dyn Fn(&mut SweepSpec)| {
        let mut spec = spec(&[]);
        change(&mut spec);
        let error = Plan::new(&spec).unwrap_err();
        (error.class(), error.to_string())
    };
    let parameter =
        |text: &'static str| move |s: &mut SweepSpec| s.parameters = vec![text.parse().unwrap()];
    for (change, class, part) in [
        (
            &parameter("controller.core=1") as &dyn Fn(&mut SweepSpec),
            usage,
            "did you mean `controller.cores`?",
        ),
        (
            &parameter("controller.cores=0..2"),
            usage,
            "at controller.cores=0: with controller.cores=0",
        ),
        (&parameter("job.iodept=1"), usage, "iodept"),
        (&parameter("job.size=1g"), usage, "at job.size=1g"),
        (&parameter("host=nowhere"), usage, "unknown host `nowhere`"),
        (&parameter("precondition=full"), usage, "leave one out"),
        (&parameter("seed=1,2"), usage, "leave one out"),
        (
            &parameter("ftl.over_provisioning=0.1..0.2"),
            usage,
            "--sample",
        ),
        (
            &|s| s.metrics = vec!["speed".to_string()],
            usage,
            "unknown metric `speed`",
        ),
        (
            &|s| s.target = "sim:saved:x".to_string(),
            usage,
            "cannot run on",
        ),
        (
            &|s| s.target = "/dev/sda".to_string(),
            usage,
            "cannot run on",
        ),
        (
            &|s| s.target = "sim:./none.toml".to_string(),
            system,
            "cannot read",
        ),
        (&|s| s.seeds = 0, usage, "no points"),
        (&|s| s.sampling = Sampling::Random(0), usage, "no points"),
        (
            &|s| s.job_text = "[a]\nrw=sideways\n".to_string(),
            usage,
            "sideways",
        ),
    ] {
        let (found, text) = refused(change);
        assert!(
            text.contains(part) && found == class,
            "{part}: {found:?} {text}"
        );
    }
}
