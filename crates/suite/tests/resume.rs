//! An interrupted procedure is continued: on a simulated device with the same result as without the interruption, on a
//! target with state without repeating a step.

use nandscope_device::Device;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_result::ResultDocument;
use nandscope_result::json::to_json;
use nandscope_suite::{Earlier, Procedure, ReviewObserver, ReviewOptions, SimSpec, review_target};
use nandscope_units::Nanos;
use std::cell::{Cell, RefCell};
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

fn review<T: Target>(
    target: T,
    spec: &SimSpec,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> ResultDocument {
    let info = spec.target_info();
    review_target(target, info, BTreeMap::new(), options, observer, stop).unwrap()
}

#[test]
fn on_a_target_that_keeps_its_state_no_step_is_done_twice() {
    let spec = SimSpec::library("sm2708-250gb").unwrap();
    let whole = review(target(&spec), &spec, &quick(), &mut (), &|| false);
    for done in [2, 13] {
        /// Stops after a number of steps.
        struct Until<'a>(&'a Cell<bool>, usize, &'a RefCell<Option<ResultDocument>>);
        impl ReviewObserver for Until<'_> {
            fn progress(&mut self, _: f64, _: &str, _: &str, _: Nanos) {}
            fn step_done(&mut self, document: &ResultDocument) {
                if document.steps.len() == self.1 {
                    self.0.set(true);
                    *self.2.borrow_mut() = Some(document.clone());
                }
            }
        }
        let (stop, last) = (Cell::new(false), RefCell::new(None));
        let mut until = Until(&stop, done, &last);
        let cut = review(target(&spec), &spec, &quick(), &mut until, &|| stop.get());
        assert!(!cut.complete, "{done}");
        let document = last.take().unwrap();
        let options = ReviewOptions {
            earlier: Some(Earlier {
                document: document.clone(),
                parts: done as u64,
            }),
            ..quick()
        };
        let mut kept = Kept::default();
        let resumed = review(target(&spec), &spec, &options, &mut kept, &|| false);
        assert!(resumed.complete);
        assert_eq!(resumed.steps[..done], document.steps[..], "{done}");
        assert_eq!(kept.steps.len(), whole.steps.len() - done, "{done}");
        let ids = |d: &ResultDocument| d.steps.iter().map(|s| s.id.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&resumed), ids(&whole));
        let figures =
            |d: &ResultDocument| d.figures.iter().map(|f| f.id.clone()).collect::<Vec<_>>();
        assert_eq!(figures(&resumed), figures(&whole));
    }
}
