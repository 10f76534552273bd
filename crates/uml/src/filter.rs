//! A filter of system calls (seccomp) against what Landlock has no rules for: modes, owners, time stamps and
//! attributes of files, and on older systems their length. The calls fail with EPERM.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};
use std::collections::BTreeMap;
use std::io;

/// Calls of newer systems, which libc may not name: fchmodat2, setxattrat, removexattrat.
const NEWER: [i64; 3] = [452, 463, 466];

/// The calls that change a file without opening it for writing.
const DENIED: [i64; 20] = [
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    libc::SYS_chown,
    libc::SYS_fchown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_truncate,
    // These could do any of them.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
];

/// Applies the filter to this thread and its children.
///
/// # Errors
/// `io::Error` if the system has no such filters.
pub fn apply() -> io::Result<()> {
    let denied = DENIED.into_iter().chain(NEWER);
    let rules: BTreeMap<i64, Vec<_>> = denied.map(|call| (call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let program = SeccompFilter::new(rules, SeccompAction::Allow, refuse, TargetArch::x86_64)
        .and_then(BpfProgram::try_from)
        .map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}
