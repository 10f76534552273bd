//! Keys: SHA-256, in hexadecimal, of everything that a result depends on, so that a point has the same name in every
//! sweep, process and machine.

use nandscope_experiment::Simulated;
use nandscope_experiment::jobs::Jobs;
use nandscope_experiment::run::{RunOptions, trace_file};
use nandscope_files::{FollowLinks, read_regular};
use sha2::{Digest, Sha256};

/// Largest trace that is read, bytes; a larger one is refused when its job is run.
const LARGEST_TRACE: u64 = 16 << 30;

/// The key of a conditioned device: its profiles, its state before the run, the seed.
pub fn of_device(about: &Simulated, options: &RunOptions) -> String {
    let mut hash = Hash::default();
    hash.device(about, options);
    hash.hex()
}

/// The key of a point: its conditioned device, its jobs with their traces, and the version of nandscope.
pub fn of_point(about: &Simulated, jobs: &Jobs, options: &RunOptions) -> String {
    let mut hash = Hash::default();
    hash.field(env!("CARGO_PKG_VERSION").as_bytes());
    hash.device(about, options);
    hash.field(options.job_name.as_bytes());
    hash.field(jobs.file.to_fio().as_bytes());
    for job in &jobs.file.jobs {
        let file = job.trace.as_ref().and_then(|trace| trace_file(job, trace));
        let bytes = file.map(|file| read_regular(&file, FollowLinks::Yes, LARGEST_TRACE));
        if let Some(Ok(bytes)) = bytes {
            hash.field(&bytes);
        }
    }
    hash.hex()
}

/// SHA-256 of bytes, in hexadecimal.
pub fn sum_of(bytes: &[u8]) -> String {
    let mut hash = Hash::default();
    hash.0.update(bytes);
    hash.hex()
}

/// A hash of fields, each preceded by its length, so that different lists of fields are different inputs.
#[derive(Default)]
struct Hash(Sha256);

impl Hash {
    fn field(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn device(&mut self, about: &Simulated, options: &RunOptions) {
        self.field(about.name.as_bytes());
        self.field(about.device_source.text.as_bytes());
        self.field(about.host_source.text.as_bytes());
        self.field(format!("{:?}", options.precondition).as_bytes());
        self.field(&options.seed.to_le_bytes());
    }

    fn hex(self) -> String {
        self.0
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    }
}
