//! Runs through the library: errors before a run, and runs that are stopped.

use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{
    Ending, Observer, Phase, Progress, RunObserver, RunOptions, SimulatedTarget, run_jobs,
};
use nandscope_experiment::{ErrorClass, OpenOptions, open};
use nandscope_measure::steps::Attachment;
use nandscope_result::ResultDocument;
use std::cell::Cell;

const TINY: &str = concat!(
    "sim:",
    env!("CARGO_MANIFEST_DIR"),
    "/../cli/tests/data/tiny.toml"
);

fn target(options: &OpenOptions) -> SimulatedTarget {
    let (about, device) = open(TINY, options).unwrap();
    SimulatedTarget::new(about, device)
}

fn jobs(text: &str) -> Jobs {
    Jobs::parse("t.fio", text, &[]).unwrap()
}

/// Observer that records the calls of a run.
#[derive(Default)]
struct Notes {
    phases: Vec<Phase>,
    open: usize,
    steps: Vec<usize>,
}

impl Observer for Notes {
    fn progress(&mut self, _: &Progress) {
        assert_eq!(self.open, 1);
    }
}

impl RunObserver for Notes {
    fn begin(&mut self, phase: Phase) {
        self.open += 1;
        self.phases.push(phase);
    }

    fn end(&mut self) {
        self.open -= 1;
    }

    fn record(&mut self, document: &ResultDocument, _: &[Attachment], resume: Option<u64>) {
        assert_eq!(resume, None, "a simulated device starts again");
        self.steps.push(document.steps.len());
    }
}

#[test]
fn an_observer_hears_of_every_phase() {
    let mut notes = Notes::default();
    let options = RunOptions {
        precondition: "sequential:10".parse().unwrap(),
        ..RunOptions::new("t.fio")
    };
    let jobs = jobs("[a]\nsize=64k\n[b]\nstonewall\nrw=write\nsize=64k\n");
    let run = run_jobs(
        &mut target(&OpenOptions::default()),
        &jobs,
        &options,
        &mut notes,
        &|| false,
    )
    .unwrap();
    let group = |number| Phase::Group { number, of: 2 };
    assert_eq!(notes.phases, [Phase::Filling, group(1), group(2)]);
    assert_eq!((notes.open, notes.steps), (0, vec![1, 2]));
    assert!(run.document.complete && run.ending == Ending::Complete);
}

#[test]
fn a_run_that_is_stopped_keeps_what_was_measured() {
    let asked = Cell::new(0);
    let stop = || {
        asked.set(asked.get() + 1);
        asked.get() > 3
    };
    let jobs =
        jobs("[a]\nrw=randread\ntime_based\nruntime=1d\nsize=1m\n[b]\nstonewall\nsize=64k\n");
    let run = run_jobs(
        &mut target(&OpenOptions::default()),
        &jobs,
        &RunOptions::new("t.fio"),
        &mut (),
        &stop,
    )
    .unwrap();
    assert_eq!(run.ending, Ending::Interrupted);
    assert!(!run.document.complete && run.document.steps.len() == 1);
}

#[test]
fn what_cannot_run_is_an_error_of_its_class() {
    let options = RunOptions::new("t.fio");
    for (text, class, part) in [
        (
            "[a]\nverify=crc32c\nsize=64k\n",
            ErrorClass::Usage,
            "verify",
        ),
        (
            "[a]\nread_iolog=none.log\n",
            ErrorClass::System,
            "no trace none.log",
        ),
        ("[a]\nsize=1t\n", ErrorClass::Usage, "size"),
    ] {
        let mut target = target(&OpenOptions::default());
        let run = run_jobs(&mut target, &jobs(text), &options, &mut (), &|| false);
        let error = run.unwrap_err();
        assert_eq!(error.class(), class, "{text}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn an_override_is_in_the_result() {
    let options = OpenOptions {
        overrides: vec!["controller.cores=1".parse().unwrap()],
        ..OpenOptions::default()
    };
    let plain = target(&OpenOptions::default());
    let overridden = target(&options);
    let run = |mut target: SimulatedTarget| {
        let jobs = jobs("[a]\nsize=64k\n");
        let options = RunOptions::new("t.fio");
        let run = run_jobs(&mut target, &jobs, &options, &mut (), &|| false);
        run.unwrap().document.target
    };
    let (plain, overridden) = (run(plain), run(overridden));
    assert_ne!(plain.profile_sha256, overridden.profile_sha256);
    let key = |p: &&nandscope_result::Parameter| p.group == "controller" && p.name == "cores";
    let value = overridden.parameters.iter().find(key).unwrap();
    assert_eq!(value.value, "1");
}
