//! Identity of a path: two paths that lead to one file have the same spot, whatever links are in them
//! and whether the file exists yet.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

/// Links that are followed at most, as in Linux.
const MOST_LINKS: u32 = 40;

/// Device and inode number.
#[cfg(unix)]
pub type FileId = (u64, u64);
/// Path without links.
#[cfg(not(unix))]
pub type FileId = PathBuf;

/// Place of a file or folder in the file systems.
#[derive(Clone, Debug)]
pub struct Spot {
    /// The file, if it exists.
    file: Option<FileId>,
    /// Nearest existing folder above it.
    folder: FileId,
    /// Path of that folder.
    known: PathBuf,
    /// Names below that folder.
    rest: Vec<String>,
}

impl Spot {
    /// Finds the spot of a path, through links. `None` for what is written to but never replaced (a character
    /// device, a FIFO), and for a path that the system refuses to look at.
    pub fn of(path: &Path) -> Option<Spot> {
        let mut path = std::path::absolute(path).ok()?;
        for _ in 0..MOST_LINKS {
            match std::fs::metadata(&path) {
                Ok(about) if is_stream(&about) => return None,
                Ok(about) => {
                    let path = path.canonicalize().ok()?;
                    let file = Some(id(&about, &path));
                    return Some(Spot {
                        file,
                        ..Spot::below(&path)?
                    });
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    // A dangling link leads to the file that is created through it.
                    match std::fs::read_link(&path) {
                        Ok(target) => path = crate::folder_of(&path).join(target),
                        Err(_) => return Spot::below(&path),
                    }
                }
                Err(_) => return None,
            }
        }
        None
    }

    /// The spot of a path below the nearest folder that exists.
    fn below(path: &Path) -> Option<Spot> {
        let mut rest = Vec::new();
        let mut at = path;
        loop {
            let Component::Normal(name) = at.components().next_back()? else {
                return None;
            };
            rest.push(name.to_string_lossy().into_owned());
            at = at.parent()?;
            if let Ok(about) = std::fs::metadata(at) {
                let known = at.canonicalize().ok().filter(|_| about.is_dir())?;
                rest.reverse();
                return Some(Spot {
                    file: None,
                    folder: id(&about, &known),
                    known,
                    rest,
                });
            }
        }
    }

    /// The file, if it exists.
    pub fn file(&self) -> Option<&FileId> {
        self.file.as_ref()
    }

    /// Folder and name, equal for names that differ in case only.
    pub fn in_small_letters(&self) -> (FileId, Vec<String>) {
        (self.folder, lower(&self.rest))
    }

    /// Whether two spots are one file: the same name in the same folder, or two names of one file (hard links).
    pub fn is(&self, other: &Spot) -> bool {
        let same_file = self.file.is_some() && self.file == other.file;
        same_file || self.folder == other.folder && self.same_names(&self.rest, &other.rest)
    }

    /// Whether `other` is a file in the folder that this spot names.
    pub fn has_inside(&self, other: &Spot) -> bool {
        let Some((_, above)) = other.rest.split_last() else {
            return false;
        };
        let in_existing = self.file.as_ref() == Some(&other.folder) && above.is_empty();
        in_existing
            || !above.is_empty()
                && self.folder == other.folder
                && self.same_names(&self.rest, above)
    }

    /// Whether the name of `other`, in the same folder, begins with the name of this spot.
    pub fn begins(&self, other: &Spot) -> bool {
        let split = |spot: &Spot| {
            let (last, above) = spot.rest.split_last()?;
            Some((last.to_lowercase(), above.to_vec()))
        };
        let (Some((begin, above)), Some((name, around))) = (split(self), split(other)) else {
            return false;
        };
        self.folder == other.folder && above == around && name.starts_with(&begin)
    }

    fn same_names(&self, one: &[String], other: &[String]) -> bool {
        one == other || lower(one) == lower(other) && crate::system::ignores_case(&self.known)
    }
}

fn lower(names: &[String]) -> Vec<String> {
    names.iter().map(|name| name.to_lowercase()).collect()
}

#[cfg(unix)]
fn id(about: &Metadata, _: &Path) -> FileId {
    use std::os::unix::fs::MetadataExt as _;
    (about.dev(), about.ino())
}

#[cfg(not(unix))]
fn id(_: &Metadata, path: &Path) -> FileId {
    path.to_path_buf()
}

#[cfg(unix)]
fn is_stream(about: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let kind = about.file_type();
    kind.is_char_device() || kind.is_fifo()
}

#[cfg(not(unix))]
fn is_stream(_: &Metadata) -> bool {
    false
}
