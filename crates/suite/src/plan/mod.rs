//! The plan of a procedure on an existing target: its steps, with their time and bytes, before anything is measured.
//!
//! The procedure is carried out in virtual time on a stand-in (`PlannedTarget`) with the capacity and the speed of the target
//! ([`Speed`]). Steps are the same, since the procedure is the same; times are right as far as the speed stays as it was measured.
//! The stand-in knows no write cache, no heat and no collection.

mod measuring;
mod target;

use crate::options::{ReviewObserver, ReviewOptions};
use crate::procedure::Procedure;
use crate::real::Existing;
use crate::step_runner::SuiteError;
use nandscope_result::{Level, ResultDocument, TargetInfo};
use nandscope_units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::rc::Rc;
use target::{Account, PlannedTarget};

/// Speed of reads or writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Bytes per second of large sequential operations, many at once.
    pub bytes_per_s: f64,
    /// Time of a sequential operation of 4 KiB, one at a time.
    pub sequential: Nanos,
    /// Time of a random operation of 4 KiB, one at a time.
    pub random: Nanos,
    /// Random operations of 4 KiB that are served at once; at least 1.
    pub parallel: u32,
}

/// Speed of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// Speed of reads.
    pub read: Rates,
    /// Speed of writes.
    pub write: Rates,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedStep {
    /// Title, as in the result.
    pub title: String,
    /// Time from the end of the step before it, with pauses.
    pub time: Nanos,
    /// Bytes read.
    pub read: Bytes,
    /// Bytes written.
    pub written: Bytes,
}

/// The steps of a procedure, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The steps.
    pub steps: Vec<PlannedStep>,
    /// Warnings of the procedure, such as steps that are left out.
    pub warnings: Vec<String>,
}

impl Plan {
    /// Time of all steps.
    pub fn time(&self) -> Nanos {
        Nanos(self.steps.iter().map(|s| s.time.0).sum())
    }

    /// Bytes read by all steps.
    pub fn read(&self) -> Bytes {
        Bytes(self.steps.iter().map(|s| s.read.0).sum())
    }

    /// Bytes written by all steps.
    pub fn written(&self) -> Bytes {
        Bytes(self.steps.iter().map(|s| s.written.0).sum())
    }
}

/// Plans a procedure on a target that is described by `info` and has this speed. Only the progress of `observer` is called.
///
/// # Errors
/// As [`Existing::review`]; [`SuiteError::Target`] if it is stopped, or if the procedure would break off on such a target.
pub fn plan(
    procedure: Procedure,
    info: TargetInfo,
    speed: &Speed,
    options: &ReviewOptions,
    observer: &mut dyn ReviewObserver,
    stop: &dyn Fn() -> bool,
) -> Result<Plan, SuiteError> {
    let account = Rc::new(Account::default());
    let capacity = Bytes(info.capacity_bytes);
    let existing = Existing {
        target: PlannedTarget::new(capacity, speed, Rc::clone(&account)),
        info,
        environment: BTreeMap::new(),
    };
    let mut planner = Planner {
        account,
        before: (Nanos::ZERO, Bytes(0), Bytes(0)),
        steps: Vec::new(),
        observer,
    };
    let document = existing.review(procedure, options, &mut planner, stop)?;
    if stop() {
        return Err(SuiteError::Target("the plan was interrupted".to_string()));
    }
    let notices = document.notices.iter();
    if !document.complete {
        let mut errors = notices.filter(|n| n.level == Level::Error);
        let problem = errors
            .next_back()
            .map_or("it cannot be carried out", |n| &n.text);
        return Err(SuiteError::Target(problem.to_string()));
    }
    let warnings = notices.filter(|n| n.level == Level::Warning);
    Ok(Plan {
        steps: planner.steps,
        warnings: warnings.map(|n| n.text.clone()).collect(),
    })
}

/// Notes the time and the bytes of each step.
struct Planner<'a> {
    account: Rc<Account>,
    /// Time, bytes read and bytes written up to the end of the step before.
    before: (Nanos, Bytes, Bytes),
    steps: Vec<PlannedStep>,
    observer: &'a mut dyn ReviewObserver,
}

impl ReviewObserver for Planner<'_> {
    fn progress(&mut self, fraction: f64, mode: &str, step: &str, at: Nanos) {
        self.observer.progress(fraction, mode, step, at);
    }

    fn step_done(&mut self, document: &ResultDocument) {
        let Some(step) = document.steps.last() else {
            return;
        };
        let now = self.account.so_far();
        self.steps.push(PlannedStep {
            title: step.title.clone(),
            time: now.0.saturating_sub(self.before.0),
            read: Bytes(now.1.0 - self.before.1.0),
            written: Bytes(now.2.0 - self.before.2.0),
        });
        self.before = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::Device;
    use nandscope_device::profile::library;
    use nandscope_measure::sim::SimTarget;
    use nandscope_measure::target::Target;

    const RATES: Rates = Rates {
        bytes_per_s: 50e6,
        sequential: Nanos(200_000),
        random: Nanos(1_000_000),
        parallel: 4,
    };

    fn card(capacity: u64) -> TargetInfo {
        TargetInfo {
            capacity_bytes: capacity,
            ..TargetInfo::default()
        }
    }

    fn planned(procedure: Procedure, capacity: u64, quick: bool) -> Plan {
        let speed = Speed {
            read: RATES,
            write: RATES,
        };
        let options = ReviewOptions {
            quick,
            ..ReviewOptions::default()
        };
        let info = card(capacity);
        plan(procedure, info, &speed, &options, &mut (), &|| false).unwrap()
    }

    /// The time of a procedure on a simulated device without a cache, over the time of its plan.
    fn time_over_plan(device: &str, procedure: Procedure) -> f64 {
        let profile = library::device(device).unwrap().profile().unwrap();
        let host = library::host("direct").unwrap().host_profile().unwrap();
        let fresh = || SimTarget::new(Device::new(&profile, &host, 1).unwrap());
        let speed = Speed::measure(&mut fresh(), true, &|| false).unwrap();
        let options = ReviewOptions {
            quick: true,
            ..ReviewOptions::default()
        };
        let info = card(profile.device.capacity_bytes);
        let plan = plan(procedure, info.clone(), &speed, &options, &mut (), &|| {
            false
        })
        .unwrap();
        let mut target = fresh();
        let existing = Existing {
            target: &mut target,
            info,
            environment: BTreeMap::new(),
        };
        existing
            .review(procedure, &options, &mut (), &|| false)
            .unwrap();
        target.now().as_secs_f64() / plan.time().as_secs_f64()
    }

    fn takes_as_long_as_planned(device: &str, procedures: &[Procedure]) {
        for procedure in procedures {
            let ratio = time_over_plan(device, *procedure);
            let name = procedure.name();
            assert!((ratio - 1.0).abs() < 0.1, "{device} {name}: {ratio}");
        }
    }

    #[test]
    fn a_procedure_on_a_card_takes_as_long_as_planned() {
        use Procedure::{Fill, Iometer, Plain};
        takes_as_long_as_planned("kingston-8gb", &[Fill, Iometer, Plain]);
    }

    #[test]
    #[ignore = "slow: a minute of operations of a fast drive"]
    fn slow_a_procedure_on_a_drive_without_a_cache_takes_as_long_as_planned() {
        use Procedure::{Fill, Iometer, Plain, SpeedClass};
        takes_as_long_as_planned("reference-nvme-64gb", &[Fill, Iometer, Plain, SpeedClass]);
    }

    /// Two fills at 50 MB/s.
    #[test]
    fn a_fill_takes_the_capacity_over_the_speed() {
        let plan = planned(Procedure::Fill, 1_000_000_000, false);
        assert_eq!(plan.steps.len(), 2);
        for step in &plan.steps {
            let bytes = step.written.0;
            assert!((999_000_000..=1_000_000_000).contains(&bytes), "{bytes}");
            let seconds = step.time.as_secs_f64();
            assert!((seconds / 20.0 - 1.0).abs() < 0.05, "{seconds}");
        }
        assert!((plan.time().as_secs_f64() / 40.0 - 1.0).abs() < 0.05);
    }

    /// A plan has the steps that the procedure has on a target.
    #[test]
    fn every_procedure_can_be_planned() {
        for procedure in Procedure::ALL {
            if procedure == Procedure::SsdPeers {
                continue;
            }
            let plan = planned(procedure, 4_000_000_000, true);
            assert!(!plan.steps.is_empty(), "{}", procedure.name());
            assert!(plan.written().0 > 0, "{}", procedure.name());
            assert!(plan.time() > Nanos::from_secs(1), "{}", procedure.name());
        }
    }

    /// On a small target a procedure is carried out whole, or refused before anything is written.
    #[test]
    fn small_targets_are_reviewed_whole_or_refused_at_once() {
        let speed = Speed {
            read: RATES,
            write: RATES,
        };
        let all = Procedure::ALL
            .into_iter()
            .filter(|p| *p != Procedure::SsdPeers);
        for procedure in all {
            for mib in [1, 2, 3, 8, 16, 40, 41, 63, 64, 100, 128, 200, 255] {
                for quick in [true, false] {
                    let case = format!("{} on {mib} MiB, quick: {quick}", procedure.name());
                    let options = ReviewOptions {
                        quick,
                        ..ReviewOptions::default()
                    };
                    let account = Rc::new(Account::default());
                    let existing = Existing {
                        target: PlannedTarget::new(Bytes::mib(mib), &speed, Rc::clone(&account)),
                        info: card(mib << 20),
                        environment: BTreeMap::new(),
                    };
                    match existing.review(procedure, &options, &mut (), &|| false) {
                        Ok(document) => {
                            assert!(document.complete, "{case}: {:?}", document.notices);
                            for step in &document.steps {
                                assert!(step.end_s > step.start_s, "{case}: {}", step.title);
                            }
                        }
                        Err(error) => {
                            let text = error.to_string();
                            assert!(text.contains("too small"), "{case}: {text}");
                            assert_eq!(account.so_far().2, Bytes(0), "{case}: {text}");
                        }
                    }
                }
            }
        }
    }
}
