//! The files of one command. Every file that it reads or writes is claimed with its role before anything
//! is written; two claims on one file are a [`Collision`], unless both only read it.

use crate::spot::{FileId, Spot};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A file that a command would read and write, or write twice.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{new} and {known} are the same file; choose another name for one of them")]
pub struct Collision {
    /// Role and name of the file that was claimed last.
    pub new: String,
    /// Role and name of the earlier claim.
    pub known: String,
}

/// Use of a claimed path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Read,
    Write,
    /// Any file in this folder may be written.
    WriteInside,
    /// Any file whose path has this beginning may be written.
    WriteBeginning,
}

#[derive(Clone, Debug)]
struct Claim {
    role: String,
    path: PathBuf,
    spot: Spot,
    how: Use,
}

impl Claim {
    fn collides(&self, other: &Claim) -> bool {
        if self.role == other.role && (self.how, other.how) == (Use::Write, Use::WriteBeginning) {
            // The other claim is on a file whose name has this beginning, under the same role.
            return false;
        }
        match (self.how, other.how) {
            (Use::Read, Use::Read) => false,
            // Two claims on files in a folder collide only for one folder; the files' names are compared where they are
            // known.
            (Use::WriteInside, Use::WriteInside) => self.spot.is(&other.spot),
            (Use::WriteInside, _) => self.spot.has_inside(&other.spot),
            (_, Use::WriteInside) => other.spot.has_inside(&self.spot),
            (Use::WriteBeginning, _) => self.spot.begins(&other.spot),
            (_, Use::WriteBeginning) => other.spot.begins(&self.spot),
            _ => self.spot.is(&other.spot),
        }
    }

    fn named(&self) -> String {
        format!("{} {}", self.role, self.path.display())
    }
}

/// The claimed files of a command.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    claims: Vec<Claim>,
    /// Claims by the identity of the file, for files that exist.
    by_file: HashMap<FileId, Vec<usize>>,
    /// Claims by folder and name in small letters.
    by_name: HashMap<(FileId, Vec<String>), Vec<usize>>,
    /// Claims on several files.
    several: Vec<usize>,
}

impl Claims {
    /// Claims a file that is read. `role` stands before its name in messages, such as `the job file`.
    ///
    /// # Errors
    /// [`Collision`] if the command writes this file.
    pub fn read(&mut self, role: &str, path: &Path) -> Result<(), Collision> {
        self.add(role, path, Use::Read)
    }

    /// Claims a file that is created or replaced. `role` stands before its name in messages, such as `-o`.
    ///
    /// # Errors
    /// [`Collision`] if the command reads or writes this file already.
    pub fn write(&mut self, role: &str, path: &Path) -> Result<(), Collision> {
        self.add(role, path, Use::Write)
    }

    /// Claims all files directly in a folder.
    ///
    /// # Errors
    /// [`Collision`] if the command reads or writes one of them already.
    pub fn write_inside(&mut self, role: &str, folder: &Path) -> Result<(), Collision> {
        self.add(role, folder, Use::WriteInside)
    }

    /// Claims all files whose path begins with `beginning`, such as numbered journals.
    ///
    /// # Errors
    /// [`Collision`] if the command reads or writes one of them already.
    pub fn write_beginning(&mut self, role: &str, beginning: &Path) -> Result<(), Collision> {
        self.add(role, beginning, Use::WriteBeginning)
    }

    fn add(&mut self, role: &str, path: &Path, how: Use) -> Result<(), Collision> {
        let Some(spot) = Spot::of(path) else {
            return Ok(());
        };
        let claim = Claim {
            role: role.to_string(),
            path: path.to_path_buf(),
            spot,
            how,
        };
        if let Some(known) = self.known(&claim) {
            return Err(Collision {
                new: claim.named(),
                known: known.named(),
            });
        }
        let number = self.claims.len();
        if let Some(file) = claim.spot.file() {
            self.by_file.entry(*file).or_default().push(number);
        }
        let name = claim.spot.in_small_letters();
        self.by_name.entry(name).or_default().push(number);
        if matches!(how, Use::WriteInside | Use::WriteBeginning) {
            self.several.push(number);
        }
        self.claims.push(claim);
        Ok(())
    }

    /// The claim, made before, that collides with a new one.
    fn known(&self, new: &Claim) -> Option<&Claim> {
        let collides = |number: &&usize| self.claims[**number].collides(new);
        if matches!(new.how, Use::WriteInside | Use::WriteBeginning) {
            // There are few of these.
            return self.claims.iter().find(|known| known.collides(new));
        }
        let of_file = new.spot.file().and_then(|file| self.by_file.get(file));
        let of_name = self.by_name.get(&new.spot.in_small_letters());
        let candidates = of_file.into_iter().chain(of_name).flatten();
        let number = candidates.chain(&self.several).find(collides)?;
        Some(&self.claims[*number])
    }
}
