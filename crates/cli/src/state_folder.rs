//! The user's folder for state that programs keep between runs (XDG Base Directory Specification).

use std::path::PathBuf;

/// `$XDG_STATE_HOME/nandscope`, by default `~/.local/state/nandscope`; `/var/lib/nandscope` for a user
/// without a home. It need not exist.
pub fn path() -> PathBuf {
    // By the specification, relative paths are ignored.
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .unwrap_or_else(|| PathBuf::from("/var/lib"))
        .join("nandscope")
}
