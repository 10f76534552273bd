//! Next step of a thread, and the reasons for its end.

use nandscope_units::Nanos;
use nandscope_workload::Op;

/// Next step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Issue this operation, which was due at `due`; `scheduled` if a schedule set that time.
    Issue { op: Op, due: Nanos, scheduled: bool },
    /// Sleep until this instant.
    Sleep(Nanos),
    /// Wait for the completion of one of the thread's operations.
    AwaitReply,
    /// Wait for another thread, at most until this instant.
    AwaitOthers(Nanos),
    /// The thread has ended.
    Finished,
}

/// Why a thread issues no more operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The source is at its end.
    Work,
    /// The runtime is over.
    Time,
    /// A condition on its measurements, or the end of another thread, ended it at this instant.
    Early(Nanos),
    /// An error, or an interruption, at this instant.
    Cut(Nanos),
}

/// Consequence of a finished operation for its thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    /// The thread continues, or ends as its job wants.
    Accept,
    /// Earlier records do not count.
    Restart,
    /// The thread ends with an error: reason and error number.
    Fail { reason: String, error: u32 },
}
