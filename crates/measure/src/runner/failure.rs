//! Effect of a failed operation on its thread.

use nandscope_workload::OpKind;
use nandscope_workload::job::{ContinueOnError, Job};

/// Reaction of a thread to a failed operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The thread stops, as fio does without `continue_on_error`.
    #[default]
    Stop,
    /// The failure is counted and the thread continues.
    Continue,
    /// The thread continues only after the listed failures.
    Only(Failing),
}

/// Error numbers after which a thread continues, by kind of operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failing {
    /// Error numbers of reads that do not end the job.
    pub read: Vec<u32>,
    /// Of writes, trims and flushes.
    pub write: Vec<u32>,
    /// Error numbers of verification.
    pub verify: Vec<u32>,
}

/// Linux error numbers of operations, by their names in the reasons.
const NUMBERS: &[(&str, u32)] = &[
    ("EIO", 5),
    ("ENOMEM", 12),
    ("EINVAL", 22),
    ("EFBIG", 27),
    ("ENOSPC", 28),
    ("EROFS", 30),
    ("ENODATA", 61),
    ("EILSEQ", 84),
    ("ETIMEDOUT", 110),
    ("EREMOTEIO", 121),
    ("EDQUOT", 122),
    ("ECANCELED", 125),
];
/// An input or output error.
pub(super) const EIO: u32 = 5;
/// Error number of a missed time limit.
pub(super) const ETIMEDOUT: u32 = 110;
const EROFS: u32 = 30;
const EILSEQ: u32 = 84;

impl Failing {
    /// Default errors of fio's `continue_on_error`: an I/O error, and EILSEQ, as which verification reports wrong
    /// contents.
    pub const USUAL: [u32; 2] = [EIO, EILSEQ];
}

impl OnError {
    /// Errors that the job's `continue_on_error` and `ignore_error` allow. As in fio, a list in `ignore_error`
    /// replaces [`Failing::USUAL`], and has effect without `continue_on_error`.
    #[must_use]
    pub fn of_job(job: &Job) -> OnError {
        use ContinueOnError::{All, Io, None, Read, Verify, Write};
        let [read, write, verify] = &job.ignored_errors;
        let mode = job.continue_on_error;
        let list = |own: &Vec<u32>, usual: bool| match usual && own.is_empty() {
            true => Failing::USUAL.to_vec(),
            false => own.clone(),
        };
        let failing = Failing {
            read: list(read, matches!(mode, Read | Io | All)),
            write: list(write, matches!(mode, Write | Io | All)),
            verify: list(verify, matches!(mode, Verify | All)),
        };
        match mode {
            None if failing == Failing::default() => OnError::Stop,
            _ => OnError::Only(failing),
        }
    }

    /// Whether the thread continues after an operation of this kind failed for this reason.
    pub(super) fn goes_on(&self, kind: OpKind, reason: &str) -> bool {
        let failing = match self {
            OnError::Stop => return false,
            OnError::Continue => return true,
            OnError::Only(failing) => failing,
        };
        let list = match kind {
            _ if reason.starts_with("verify:") => &failing.verify,
            OpKind::Read => &failing.read,
            OpKind::Write | OpKind::Trim | OpKind::Flush => &failing.write,
        };
        numbers(reason).iter().any(|number| list.contains(number))
    }
}

/// The number that Linux has for a reason.
pub(super) fn number(reason: &str) -> u32 {
    numbers(reason)[0]
}

/// Numbers of an error. Kernels since 4.19 report a damaged medium and a device fault by separate numbers; they count
/// as I/O errors as well.
fn numbers(reason: &str) -> [u32; 2] {
    let name = reason.rsplit_once('(').map(|(_, rest)| rest);
    let name = name
        .and_then(|rest| rest.split_once(')'))
        .map(|(name, _)| name);
    let known = name.and_then(|name| NUMBERS.iter().find(|(known, _)| *known == name));
    match known {
        Some((_, number @ (61 | 121))) => [*number, EIO],
        Some((_, number)) => [*number; 2],
        None if reason.starts_with("verify:") => [EILSEQ; 2],
        None if reason.contains("read-only") => [EROFS; 2],
        None => [EIO; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_goes_on_after_the_errors_of_its_list() {
        let on_error = OnError::Only(Failing {
            read: vec![EIO],
            write: vec![28],
            verify: vec![],
        });
        let goes_on = |kind, reason| on_error.goes_on(kind, reason);
        assert!(goes_on(OpKind::Read, "uncorrectable read"));
        assert!(goes_on(
            OpKind::Read,
            "the medium is damaged there (ENODATA)"
        ));
        assert!(!goes_on(OpKind::Read, "timed out (ETIMEDOUT)"));
        assert!(goes_on(OpKind::Write, "no space left (ENOSPC)"));
        assert!(!goes_on(OpKind::Write, "input/output error (EIO)"));
        assert!(!goes_on(OpKind::Read, "verify: wrong data"));
    }
}
