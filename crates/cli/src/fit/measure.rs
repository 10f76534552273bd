//! The measurement of `nandscope fit TARGET`: short runs of the workloads that determine the parameters of a profile.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::fault;
use crate::interrupt::Interrupt;
use crate::run::preparation;
use crate::target::real::{self, RealArguments};
use crate::target::{self, Precondition};
use nandscope_experiment::OpenOptions;
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{
    Ending, RunError, RunOptions, RunTarget, SimulatedTarget, run_jobs,
};
use nandscope_result::ResultDocument;
use std::fmt::Write as _;

/// Range that is written and read, bytes: small, so that a card is filled in minutes; larger than buffers.
const REGION: u64 = 1 << 30;
/// Share of a smaller target that is used.
const SHARE: f64 = 0.8;
/// Time of each workload on a real target, seconds.
const SECONDS: u32 = 6;
/// Bytes of each workload on a simulated target, whose time is virtual, but not its work.
const SIMULATED_MIB: u64 = 64;
/// The workloads: option `rw`, block, depth. Reads first: they do not change the device.
const WORKLOADS: [(&str, &str, u32); 16] = [
    ("randread", "4k", 1),
    ("randread", "4k", 4),
    ("randread", "4k", 32),
    ("randread", "16k", 4),
    ("randread", "64k", 1),
    ("randread", "64k", 8),
    ("randread", "512k", 1),
    ("read", "128k", 1),
    ("read", "1m", 4),
    ("write", "128k", 1),
    ("randwrite", "64k", 4),
    ("randwrite", "16k", 1),
    ("randwrite", "4k", 1),
    ("randwrite", "4k", 4),
    ("randwrite", "4k", 32),
    ("randrw", "4k", 4),
];

/// The target, and how it is opened.
pub struct Measurement<'a> {
    /// Name on the command line.
    pub name: &'a str,
    /// Host, profile parameters and seed of a simulated target.
    pub options: OpenOptions,
    /// Confirmations and limits of a real one.
    pub real: &'a RealArguments,
    /// Seed of the random number generator.
    pub seed: u64,
}

impl Measurement<'_> {
    /// Measures the target.
    ///
    /// # Errors
    /// `Exit::File` or `Exit::Usage` if the target cannot be opened or must not be written to; `Exit::Interrupted`.
    pub fn run(&self, interrupt: &Interrupt, console: &Console) -> Result<ResultDocument, Failure> {
        if real::is_real(self.name) {
            return self.on_real(interrupt, console);
        }
        self.real.refuse(self.name)?;
        let (simulated, device) = target::open_with(self.name, &self.options, console)?;
        let capacity = device.capacity().0;
        let mut target = SimulatedTarget::new(simulated, device);
        self.measured(&mut target, capacity, interrupt, console)
    }

    #[cfg(target_os = "linux")]
    fn on_real(&self, interrupt: &Interrupt, console: &Console) -> Result<ResultDocument, Failure> {
        use crate::run::RealRunTarget;
        use nandscope_measure::real::Access;
        use nandscope_measure::target::Target as _;
        let opened = real::open_real(self.name, Access::Write, self.real, &[], false, interrupt)?;
        let capacity = opened.target.capacity().0;
        let deepest = WORKLOADS.iter().map(|(_, _, depth)| *depth).max();
        let mut target = RealRunTarget::open(opened, deepest.unwrap_or(1), interrupt);
        self.measured(&mut target, capacity, interrupt, console)
    }

    #[cfg(not(target_os = "linux"))]
    fn on_real(&self, _: &Interrupt, _: &Console) -> Result<ResultDocument, Failure> {
        Err(real::absent(self.name))
    }

    fn measured<T: RunTarget>(
        &self,
        target: &mut T,
        capacity: u64,
        interrupt: &Interrupt,
        console: &Console,
    ) -> Result<ResultDocument, Failure> {
        let is_real = real::is_real(self.name);
        let text = jobs(capacity, is_real);
        if is_real {
            console.note(&format!(
                "measuring {} workloads, about {} s, and writing up to {} MB first",
                WORKLOADS.len(),
                WORKLOADS.len() as u32 * SECONDS,
                region(capacity) / 1_000_000
            ));
        }
        let jobs = Jobs::parse("the measurement of fit", text, &[]).map_err(Failure::internal)?;
        let options = RunOptions {
            seed: self.seed,
            precondition: match is_real {
                true => Precondition::None,
                false => Precondition::Sequential(80.0),
            },
            ..RunOptions::new("fit".to_string())
        };
        let stop = || interrupt.asked();
        let run = run_jobs(target, &jobs, &options, &mut (), &stop);
        let run = run.map_err(|error| match error {
            RunError::Jobs(error) => fault::of_job(console, &jobs.text, &error),
            RunError::Precondition(error) => preparation::failure(&error),
            error => Failure::of(error.class(), error),
        })?;
        match run.ending {
            Ending::Interrupted => Err(Failure::new(
                Exit::Interrupted,
                "interrupted; nothing was fitted",
            )),
            _ => Ok(run.document),
        }
    }
}

fn region(capacity: u64) -> u64 {
    let most = (capacity as f64 * SHARE) as u64;
    REGION.min(most) >> 20 << 20
}

/// The job file. A real target is written once in order, so that reads meet data.
fn jobs(capacity: u64, is_real: bool) -> String {
    let size = region(capacity) >> 20;
    let mut text = format!("[global]\nioengine=libaio\ndirect=1\nfilename=all\nsize={size}m\n");
    match is_real {
        true => {
            let _ = writeln!(text, "\n[fill]\nrw=write\nbs=1m\niodepth=4");
        }
        false => {
            let _ = writeln!(text, "io_size={SIMULATED_MIB}m");
        }
    }
    for (rw, block, depth) in WORKLOADS {
        let _ = write!(
            text,
            "\n[{rw}-{block}-{depth}]\nstonewall\nrw={rw}\nbs={block}\niodepth={depth}\n"
        );
        if rw == "randrw" {
            text.push_str("rwmixread=70\n");
        }
        let _ = match is_real {
            true => writeln!(text, "time_based\nruntime={SECONDS}"),
            false => writeln!(text, "runtime={SECONDS}"),
        };
    }
    text
}
