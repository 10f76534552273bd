//! What a run needs of a target beside the commands that the runner sends to it.

use super::level::Room;
use super::{RunError, verify};
use crate::precondition::{Precondition, PreparationStep};
use nandscope_measure::build::JobMeta;
use nandscope_measure::data_source::DataSource;
use nandscope_measure::runner::Thread;
use nandscope_measure::target::Target;
use nandscope_measure::unwritten::Unwritten;
use nandscope_measure::verify::{Dump, Verifier};
use nandscope_result::{DiskUse, Notice, TargetInfo};
use nandscope_units::Bytes;
use nandscope_workload::job::Job;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Abilities of a target that jobs depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetAbilities {
    /// It stores what is written, so that jobs can verify it.
    pub stores_contents: bool,
    /// It can be filled at once.
    pub can_be_filled: bool,
    /// The host could have a page cache before it, which `direct=0` asks for.
    pub has_page_cache: bool,
}

/// Reads the use of the disks of the system since the run began.
pub type DiskReader = Box<dyn Fn() -> Vec<DiskUse>>;

/// A simulated or a real target with what belongs to it.
pub trait RunTarget {
    /// Target that the runner drives.
    type Target: Target;

    /// Target that the runner drives.
    fn target(&mut self) -> &mut Self::Target;

    /// Its name for the title of a result.
    fn title(&self) -> String;

    /// Its description in the result.
    fn info(&self) -> TargetInfo;

    /// Abilities that jobs may use.
    fn abilities(&self) -> TargetAbilities;

    /// Whether a later run can go on after a group, because the target keeps what was done to it.
    fn is_resumable(&self) -> bool {
        false
    }

    /// The circumstances of the measurement, for the result.
    fn environment(&self) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Circumstances that are known at the end of the measurement only, for the result.
    fn closing(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Reader of the disks of the system that the target uses, after the first [`RunTarget::begin_group`].
    fn disks(&self) -> DiskReader {
        Box::new(Vec::new)
    }

    /// Conditions that affect the interpretation of the results.
    fn notices(&self) -> Vec<Notice> {
        Vec::new()
    }

    /// Parts of a real target that were never written or were discarded, if known.
    fn unwritten(&self) -> Unwritten {
        Unwritten::default()
    }

    /// A group of jobs is about to run.
    fn begin_group(&mut self, group: &[Job], seed: u64);

    /// Verifier of the present group, if a job of it verifies.
    fn verifier(&self) -> Option<&Arc<Verifier>>;

    /// Brings it into a state before a run or a group. `step` hears how far it is, and may end it.
    ///
    /// # Errors
    /// Returns [`RunError`] if it cannot be brought into the state, or `step` ended it.
    fn fill(
        &mut self,
        state: Precondition,
        seed: u64,
        step: &mut PreparationStep<'_>,
    ) -> Result<(), RunError>;

    /// The free space of a simulated device.
    fn room(&mut self) -> Option<Room> {
        None
    }

    /// A thread that reads back what the group wrote, if a job of it asks for that.
    fn read_back(&self, group: &[Job]) -> Option<(Thread, JobMeta)> {
        verify::read_back(group, self.verifier()?)
    }

    /// Number of blocks since the group began that did not hold what was written, and the first of them
    /// in words.
    fn mismatches(&self) -> (u64, Vec<String>) {
        let verifier = self.verifier();
        verifier.map(|v| v.mismatches()).unwrap_or_default()
    }

    /// Contents of the first of these blocks, if a job of the group asks for them.
    fn dumps(&self) -> Vec<Dump> {
        let verifier = self.verifier();
        verifier.map(|v| v.dumps()).unwrap_or_default()
    }
}

/// Data of a group and its verifier, for [`RunTarget::begin_group`].
pub fn group_data(group: &[Job], seed: u64, capacity: Bytes) -> DataSource {
    verify::data_of_group(group, seed, capacity)
}
