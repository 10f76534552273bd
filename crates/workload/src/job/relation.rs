//! Dependences between the jobs of a file, except `stonewall`.

use nandscope_units::Nanos;

/// `wait_for`, `flow`, `exitall` and related options.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relation {
    /// `wait_for`: the job that must have ended before this one begins.
    pub wait_for: Option<String>,
    /// `flow`: share of the operations of all jobs with the same `flow_id`; 0 does not take part. As in fio a negative
    /// weight is taken modulo 2^32.
    pub flow: u32,
    /// `flow_id`.
    pub flow_id: u32,
    /// `flow_sleep`: pause of a job that is ahead of its share.
    pub flow_sleep: Nanos,
    /// `exitall`: the end of any job ends others. As in fio, the option of one job applies to all jobs.
    pub exit_all: bool,
    /// `exitall_on_error`: an end of this job by an error ends others.
    pub exit_on_error: bool,
    /// `exit_what`: which other jobs are ended.
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
