//! How the jobs of a file depend on each other beside `stonewall`.

use nandscope_units::Nanos;

/// `wait_for`, `flow` and `exitall` with what belongs to them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relation {
    /// `wait_for`: the job that must have ended before this one begins.
    pub wait_for: Option<String>,
    /// `flow`: share of the operations of all jobs with the same `flow_id`; 0 takes no part. As in
    /// fio a negative weight is that number modulo 2^32.
    pub flow: u32,
    /// `flow_id`.
    pub flow_id: u32,
    /// `flow_sleep`: pause of a job that is ahead of its share.
    pub flow_sleep: Nanos,
    /// `exitall`: the end of any job ends others. As in fio it holds for all jobs once one has it.
    pub exit_all: bool,
    /// `exitall_on_error`: the same if this job ends with an error.
    pub exit_on_error: bool,
    /// `exit_what`: which others.
    pub exit_what: ExitScope,
}

/// `exit_what`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitScope {
    /// The jobs from the last `stonewall` or `new_group` to the next.
    #[default]
    Group,
    /// All jobs that run at the same time.
    Stonewall,
    /// All jobs of the file.
    All,
}
