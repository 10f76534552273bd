//! What a run is made on, as far as the command has to know: how it is called, what may be done
//! to it before and after, how threads are put on it. The runner sees none of this.

use super::Arguments;
use super::contents::{ContentTarget, Contents};
use super::progress::Line;
use super::verify;
use crate::failure::Failure;
use crate::steps::{Asked, Earlier, Keeper};
use crate::target::{Kept, Precondition, Simulated};
use nandscope_device::Device;
use nandscope_measure::build::JobMeta;
use nandscope_measure::runner::Thread;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target;
use nandscope_measure::verify::Verifier;
use nandscope_result::{Notice, TargetInfo};
use nandscope_workload::job::Job;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A simulated or a real target with what belongs to it.
pub trait Subject {
    /// What the runner drives.
    type Target: Target;

    /// What the runner drives.
    fn target(&mut self) -> &mut Self::Target;

    /// Its name for the title of a result.
    fn title(&self) -> String;

    /// What the result says of it.
    fn info(&self) -> TargetInfo;

    /// On what of it the result depends.
    fn asked(&self, asked: Asked) -> Asked {
        asked.on(&self.info())
    }

    /// Where an interrupted run goes on: nowhere but at its beginning, unless the target keeps what was done
    /// to it.
    fn resume(&mut self, keeper: &mut Keeper) -> Option<Earlier> {
        let _ = keeper;
        None
    }

    /// Whether a later run can go on after a group.
    fn in_place(&self) -> bool {
        false
    }

    /// The circumstances of the measurement, for the result.
    fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// What is known of the measurement as a whole only when it is over, for the result.
    fn closing(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What a reader of the result must know: level and text.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// The line that shows the progress of a run on it.
    fn line(&self, title: &str) -> Line {
        Line::new(title)
    }

    /// A group of jobs is about to run.
    fn begin_group(&mut self, group: &[Job], seed: u64) {
        let _ = (group, seed);
    }

    /// What compares the contents of the present group, where a job of it wants that.
    fn verifier(&self) -> Option<&Arc<Verifier>> {
        None
    }

    /// A thread that reads back what the group wrote, where that is wanted.
    fn read_back(&self, group: &[Job]) -> Option<(Thread, JobMeta)> {
        verify::read_back(group, self.verifier()?)
    }

    /// Contents that were not as they were written, and the first of them in words; those since
    /// the group began.
    fn mismatches(&self) -> (u64, Vec<String>) {
        let verifier = self.verifier();
        verifier.map(|v| v.mismatches()).unwrap_or_default()
    }

    /// Fills it before a run or a group.
    ///
    /// # Errors
    /// Where it cannot be filled.
    fn fill(&mut self, state: Precondition, seed: u64) -> Result<(), Failure>;

    /// The bytes by which it can be continued later.
    ///
    /// # Errors
    /// Where there are none.
    fn save(&self) -> Result<Vec<u8>, Failure>;
}

/// A simulated device.
pub struct Simulation {
    target: ContentTarget<SimTarget<Device>>,
    simulated: Simulated,
    verifier: Option<Arc<Verifier>>,
    /// The option of the contents and its faults, for the result.
    contents: Option<String>,
}

impl Simulation {
    /// A device at its present, with contents if the run wants them.
    ///
    /// # Errors
    /// If a fault of the contents is invalid or makes no sense in a run.
    pub fn new(
        simulated: Simulated,
        device: Device,
        arguments: &Arguments,
    ) -> Result<Self, Failure> {
        let contents = match arguments.contents {
            false => None,
            true => {
                let (capacity, faults) = (device.capacity(), &arguments.fault);
                Some(Contents::new(capacity, faults, arguments.seed)?)
            }
        };
        let now = device.now();
        Ok(Simulation {
            contents: contents.is_some().then(|| match &arguments.fault[..] {
                [] => "stored".to_string(),
                faults => format!("stored, with faults: {}", faults.join("; ")),
            }),
            target: ContentTarget::new(SimTarget::at(device, now), contents),
            simulated,
            verifier: None,
        })
    }
}

impl Subject for Simulation {
    type Target = ContentTarget<SimTarget<Device>>;

    fn target(&mut self) -> &mut Self::Target {
        &mut self.target
    }

    fn title(&self) -> String {
        self.simulated.device_source.profile.device.title.clone()
    }

    fn info(&self) -> TargetInfo {
        self.simulated.info(self.target.device().device())
    }

    fn asked(&self, asked: Asked) -> Asked {
        asked
            .on(&self.info())
            .and("profile of the host", &self.simulated.host_source.text)
            .and("state before", self.simulated.state.unwrap_or_default())
            .and("contents", self.contents.as_deref().unwrap_or_default())
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let contents = self.contents.iter();
        contents
            .map(|text| ("contents".to_string(), text.clone()))
            .collect()
    }

    fn begin_group(&mut self, group: &[Job], seed: u64) {
        self.verifier = verify::of_group(group, seed);
        self.target.verify_with(self.verifier.clone());
    }

    fn verifier(&self) -> Option<&Arc<Verifier>> {
        self.verifier.as_ref()
    }

    /// Takes no time of the device's clock.
    fn fill(&mut self, state: Precondition, seed: u64) -> Result<(), Failure> {
        state
            .apply(self.target.device_mut().device_mut(), seed)
            .map_err(Failure::internal)
    }

    fn save(&self) -> Result<Vec<u8>, Failure> {
        Kept::write(&self.simulated, self.target.device().device()).map_err(Failure::internal)
    }
}

#[cfg(target_os = "linux")]
pub use real::RealSubject;

#[cfg(target_os = "linux")]
mod real {
    use super::*;
    use crate::target::real::{Real, generator_cost};
    use nandscope_measure::real::RealTarget;

    /// A file or block device.
    pub struct RealSubject {
        real: Real,
        cost: Option<String>,
        verifier: Option<Arc<Verifier>>,
    }

    impl RealSubject {
        /// One that is open, for jobs of up to this queue depth.
        ///
        /// # Errors
        /// Where an option was given that only a simulated device heeds.
        pub fn new(real: Real, arguments: &Arguments, depth: u32) -> Result<Self, Failure> {
            let given = [
                (arguments.host.is_some(), "--host"),
                (arguments.save.is_some(), "--save"),
                (arguments.contents, "--contents"),
                (
                    arguments.precondition != Precondition::None,
                    "--precondition",
                ),
            ];
            if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
                return Err(Failure::usage(format!(
                    "{option} is for simulated devices, and {} is a real target; leave it out",
                    real.name
                )));
            }
            Ok(RealSubject {
                real,
                cost: generator_cost(depth),
                verifier: None,
            })
        }
    }

    impl Subject for RealSubject {
        type Target = RealTarget;

        fn target(&mut self) -> &mut RealTarget {
            &mut self.real.target
        }

        fn title(&self) -> String {
            self.real.name.clone()
        }

        fn info(&self) -> TargetInfo {
            self.real.info()
        }

        fn asked(&self, asked: Asked) -> Asked {
            self.real.asked(asked)
        }

        fn resume(&mut self, keeper: &mut Keeper) -> Option<Earlier> {
            if let Some(earlier) = keeper.interrupted() {
                self.real.target.set_clock(earlier.end());
            }
            keeper.earlier()
        }

        fn in_place(&self) -> bool {
            true
        }

        fn line(&self, title: &str) -> Line {
            Line::new(title).in_real_time()
        }

        fn begin_group(&mut self, group: &[Job], seed: u64) {
            self.verifier = verify::of_group(group, seed);
            self.real.target.verify_with(self.verifier.clone());
        }

        fn verifier(&self) -> Option<&Arc<Verifier>> {
            self.verifier.as_ref()
        }

        fn environment(&self) -> BTreeMap<String, String> {
            let mut all = self.real.environment();
            if let Some(cost) = &self.cost {
                all.insert("generator cost".to_string(), cost.clone());
            }
            all
        }

        fn closing(&self) -> Vec<(String, String)> {
            self.real.panel.since_then()
        }

        fn notices(&self) -> Vec<Notice> {
            let engine = format!("driven by {}", self.real.target.describe_engine());
            let cost = self.cost.iter().map(|c| format!("the generator costs {c}"));
            let infos = self
                .real
                .remarks
                .iter()
                .cloned()
                .chain([engine])
                .chain(cost);
            let warnings = self.real.warnings.iter().cloned().map(Notice::warning);
            infos.map(Notice::info).chain(warnings).collect()
        }

        /// [`super::super::plan::check`] refuses the jobs that ask for it.
        fn fill(&mut self, _: Precondition, _: u64) -> Result<(), Failure> {
            Err(Failure::usage(
                "a real target is filled by a job that writes; leave nandscope_fullness out",
            ))
        }

        fn save(&self) -> Result<Vec<u8>, Failure> {
            Err(Failure::internal("a real target cannot be kept in a file"))
        }
    }
}
