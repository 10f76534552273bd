//! Notices that the file of the contents was removed or replaced while it is served: further writes would be lost.

use crate::failure::Failure;
use nandscope_blockio::store::Store;
use std::cell::Cell;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two checks of the name.
const PAUSE: Duration = Duration::from_millis(100);

/// Compares the name of the contents with the file that is open.
#[derive(Debug)]
pub struct StoreWatch {
    /// Name, device and inode of the file; `None` for contents in memory.
    file: Option<(PathBuf, (u64, u64))>,
    looked: Cell<Instant>,
    is_lost: Cell<bool>,
}

impl StoreWatch {
    /// Watches the file of these contents.
    pub fn of(path: Option<&Path>, store: &Store) -> StoreWatch {
        let path = path.map(Path::to_path_buf);
        StoreWatch {
            file: path.zip(store.file_id()),
            looked: Cell::new(Instant::now()),
            is_lost: Cell::new(false),
        }
    }

    /// Whether the name was found missing or to be another file; checked at most every [`PAUSE`].
    pub fn is_lost(&self) -> bool {
        if self.looked.get().elapsed() >= PAUSE {
            self.look();
        }
        self.is_lost.get()
    }

    fn look(&self) {
        self.looked.set(Instant::now());
        let Some((path, id)) = &self.file else {
            return;
        };
        let is_lost = match std::fs::metadata(path) {
            Ok(found) => (found.dev(), found.ino()) != *id,
            Err(error) => matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
        };
        self.is_lost.set(self.is_lost.get() || is_lost);
    }

    /// The failure of a server whose contents are lost, after a last check.
    pub fn failure(&self) -> Option<Failure> {
        self.look();
        let (path, _) = self.file.as_ref().filter(|_| self.is_lost.get())?;
        let shown = path.display();
        Some(Failure::file(format!(
            "the contents {shown} were removed, renamed or replaced while they were served, so the server ended; what it wrote since is not in {shown}. State and journals are as after a kill: put the file back under its name, or remove {shown}.device and {shown}.journal.*"
        )))
    }
}
