//! Meaning of the system's error numbers for an operation.

use crate::target::Outcome;
use rustix::io::Errno;

/// The device has been removed, or its medium.
pub(super) fn is_gone(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NODEV | Errno::NXIO | Errno::NOMEDIUM | Errno::SHUTDOWN
    )
}

/// Outcome of an operation with this error.
pub(super) fn outcome(errno: Errno) -> Outcome {
    Outcome::Failed(match errno {
        Errno::OPNOTSUPP | Errno::NOSYS => return Outcome::Unsupported,
        Errno::IO => "input/output error (EIO)",
        Errno::NOSPC => "no space left (ENOSPC)",
        Errno::DQUOT => "the quota is used up (EDQUOT)",
        Errno::INVAL => "refused as invalid (EINVAL), perhaps for its alignment",
        Errno::ROFS => "the file system has become read-only (EROFS)",
        Errno::PERM | Errno::ACCESS | Errno::BADF => {
            "not permitted; the target is open for reading only"
        }
        Errno::TIMEDOUT => "timed out (ETIMEDOUT)",
        Errno::ILSEQ => "bad protection or integrity data (EILSEQ)",
        Errno::REMOTEIO => "the device reported a fault of its own (EREMOTEIO)",
        Errno::NODATA => "the medium is damaged there (ENODATA)",
        Errno::NOMEM => "no memory in the kernel (ENOMEM)",
        Errno::FBIG => "beyond the largest size of a file (EFBIG)",
        Errno::CANCELED => "cancelled (ECANCELED)",
        errno if is_gone(errno) => "the device disappeared (unplugged or reset)",
        _ => "failed with another error of the system",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_kinds_are_told_apart() {
        assert_eq!(outcome(Errno::OPNOTSUPP), Outcome::Unsupported);
        assert_eq!(
            outcome(Errno::IO),
            Outcome::Failed("input/output error (EIO)")
        );
        assert!(is_gone(Errno::NODEV) && !is_gone(Errno::IO));
    }
}
