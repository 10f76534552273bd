//! What a thread does next, and what ends it.

use nandscope_units::Nanos;
use nandscope_workload::Op;

/// Next step of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Issue this operation, which was due then; `scheduled` where a schedule said so.
    Issue { op: Op, due: Nanos, scheduled: bool },
    /// Nothing before this instant.
    Sleep(Nanos),
    /// Nothing before one of its operations is complete.
    AwaitReply,
    /// Nothing before another thread has done or ended something, or before this instant.
    AwaitOthers(Nanos),
    /// Nothing more, ever.
    Finished,
}

/// Why a thread issues nothing more.
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
    /// It ends as an error, for this reason and with this number.
    Fail { reason: String, error: u32 },
}
