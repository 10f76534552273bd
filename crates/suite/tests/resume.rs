//! An interrupted procedure is continued: on a simulated device with the same result as without the interruption, on a
//! target with state without repeating a step.

use nandscope_device::Device;
use nandscope_measure::sim::SimTarget;
use nandscope_result::ResultDocument;
use nandscope_result::json::to_json;
use nandscope_suite::{Earlier, Existing, Procedure, ReviewObserver, ReviewOptions, SimSpec};
use nandscope_units::Nanos;
use std::cell::Cell;
use std::collections::BTreeMap;

fn quick() -> ReviewOptions {
    ReviewOptions {
        seed: 3,
        quick: true,
        ..ReviewOptions::default()
    }
}

/// Stores the documents after every step and every part.
#[derive(Default)]
struct Kept {
    steps: Vec<ResultDocument>,
    parts: Vec<(ResultDocument, u64)>,
}

impl ReviewObserver for Kept {
    fn progress(&mut self, _: f64, _: &str, _: &str, _: Nanos) {}

    fn step_done(&mut self, document: &ResultDocument) {
        self.steps.push(document.clone());
    }

    fn part_done(&mut self, document: &ResultDocument, parts: u64) {
        self.parts.push((document.clone(), parts));
    }
}

#[test]
fn parts_that_are_done_are_not_simulated_again_and_the_result_is_the_same() {
    for (procedure, device, parts) in [
        (Procedure::Fill, "sm2708-250gb", 2),
        (Procedure::Ssd, "reference-nvme-64gb", 8),
    ] {
        let spec = SimSpec::library(device).unwrap();
        let mut kept = Kept::default();
        let whole = procedure
            .run(&spec, &quick(), &mut kept, &|| false)
            .unwrap();
        assert_eq!(kept.parts.len(), parts, "{}", procedure.name());
        assert_eq!(kept.steps.len(), whole.steps.len());
        // All parts but one, and all: other numbers would take longer and test nothing more.
        let tried = [parts as u64 - 1, parts as u64];
        let places = kept.parts.into_iter().filter(|(_, n)| tried.contains(n));
        for (document, parts) in places {
            let done = document.steps.len();
            let options = ReviewOptions {
                earlier: Some(Earlier { document, parts }),
                ..quick()
            };
            let mut again = Kept::default();
            let resumed = procedure
                .run(&spec, &options, &mut again, &|| false)
                .unwrap();
            assert_eq!(to_json(&resumed).unwrap(), to_json(&whole).unwrap());
            assert_eq!(again.steps.len(), whole.steps.len() - done, "{parts} parts");
        }
    }
}

fn target(spec: &SimSpec) -> SimTarget {
    let mode = spec.modes.first().unwrap();
    SimTarget::new(Device::new(&spec.profile, &mode.host, 3).unwrap())
}

/// Runs a procedure on a simulated device as on an existing one.
fn review(
    procedure: Procedure,
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> ResultDocument {
    let existing = Existing {
        target: target(spec),
        info: spec.target_info(),
        environment: BTreeMap::new(),
    };
    existing
        .review(procedure, options, observer, stop)
        .unwrap_or_else(|e| panic!("{}: {e}", procedure.name()))
}

/// Stops after a number of steps, and keeps the document of that moment.
struct Until<'a> {
    stop: &'a Cell<bool>,
    steps: usize,
    document: Option<ResultDocument>,
}

impl ReviewObserver for Until<'_> {
    fn step_done(&mut self, document: &ResultDocument) {
        if document.steps.len() == self.steps {
            self.stop.set(true);
            self.document = Some(document.clone());
        }
    }
}

/// Interrupts a procedure after a number of steps and resumes it: no step is done twice, none is missing, and what later steps
/// conclude from earlier ones is there.
fn no_step_is_done_twice(procedure: Procedure, device: &str, after: impl Fn(usize) -> Vec<usize>) {
    let spec = SimSpec::library(device).unwrap();
    let whole = review(procedure, &spec, &quick(), &mut (), &|| false);
    let name = procedure.name();
    assert!(whole.complete, "{name}: {:?}", whole.notices);
    for done in after(whole.steps.len()) {
        let stop = Cell::new(false);
        let mut until = Until {
            stop: &stop,
            steps: done,
            document: None,
        };
        let cut = review(procedure, &spec, &quick(), &mut until, &|| stop.get());
        assert!(!cut.complete, "{name}, {done}");
        let document = until.document.unwrap();
        let options = ReviewOptions {
            earlier: Some(Earlier {
                document: document.clone(),
                parts: done as u64,
            }),
            ..quick()
        };
        let mut kept = Kept::default();
        let resumed = review(procedure, &spec, &options, &mut kept, &|| false);
        assert!(resumed.complete, "{name}, {done}: {:?}", resumed.notices);
        assert_eq!(resumed.steps[..done], document.steps[..], "{name}, {done}");
        assert_eq!(kept.steps.len(), whole.steps.len() - done, "{name}, {done}");
        let steps = |d: &ResultDocument| d.steps.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
        assert_eq!(steps(&resumed), steps(&whole), "{name}, {done}");
        // Plateaus of a fill depend on the contents of the device. The resumed run of this test has a fresh device.
        let figures = |d: &ResultDocument| {
            let ids = d.all_figures().map(|f| f.id.clone());
            ids.filter(|id| !id.contains(".plateau-"))
                .collect::<Vec<_>>()
        };
        assert_eq!(figures(&resumed), figures(&whole), "{name}, {done}");
        let asked = |d: &ResultDocument| {
            let steps = d.steps.iter().flat_map(|s| &s.conclusions);
            steps.map(|c| c.id.clone()).collect::<Vec<_>>()
        };
        assert_eq!(asked(&resumed), asked(&whole), "{name}, {done}");
    }
}

#[test]
fn on_a_target_that_keeps_its_state_no_step_is_done_twice() {
    no_step_is_done_twice(Procedure::Card, "sm2708-250gb", |_| vec![2, 13]);
}

#[test]
fn short_procedures_on_an_existing_target_go_on_after_any_step() {
    for (procedure, device) in [
        (Procedure::Fill, "sm2708-250gb"),
        (Procedure::Iometer, "sm2708-250gb"),
        (Procedure::Plain, "sandisk-ultra-16gb"),
        (Procedure::SpeedClass, "samsung-evo-16gb"),
        (Procedure::Flashbench, "samsung-evo-16gb"),
    ] {
        no_step_is_done_twice(procedure, device, |steps| (1..steps).collect());
    }
}

#[test]
fn the_suite_for_drives_on_an_existing_target_goes_on_within_its_parts() {
    no_step_is_done_twice(Procedure::Ssd, "reference-nvme-64gb", |steps| {
        vec![3, steps - 1]
    });
}
