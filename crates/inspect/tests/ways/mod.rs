//! Ways to reach a device or file that is mounted, swapped to, held or foreign through another
//! name. Each is set up for real, opened through the guard, and must be refused, with the contents
//! the same as before.

mod files;
mod nodes;
mod stage;
mod twins;

use nandscope_inspect::Roots;
use nandscope_inspect::guard::{Answer, DestroyData, Guard, Opened, Refusal};
use nandscope_units::Bytes;
use rustix::fs::{major, minor};
use stage::Stage;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::support::Folder;

/// Bytes of an image.
pub const MIB: u64 = 1 << 20;

/// Target of a way after its set-up, and the expected refusal.
pub struct Attempt {
    /// The name that is given to the guard.
    target: Target,
    /// Files and devices that must stay as they are.
    precious: Vec<PathBuf>,
    /// Of these rules one must be among the reasons.
    rules: &'static [&'static str],
}

enum Target {
    Device(PathBuf),
    File(PathBuf, Bytes),
}

/// Why this machine cannot do it.
pub type Cannot = String;

/// One way: its name, whether the quick tests take it, and how it is set up.
pub struct Way {
    pub name: &'static str,
    pub quick: bool,
    set_up: fn(&mut Stage) -> Result<Attempt, Cannot>,
}

const fn way(
    name: &'static str,
    quick: bool,
    set_up: fn(&mut Stage) -> Result<Attempt, Cannot>,
) -> Way {
    Way {
        name,
        quick,
        set_up,
    }
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Way> {
    let all = [twins::WAYS, nodes::WAYS, files::WAYS];
    all.into_iter().flatten()
}

/// A device must be refused for one of these rules.
fn device(
    name: impl Into<PathBuf>,
    precious: &[&Path],
    rules: &'static [&'static str],
) -> Result<Attempt, Cannot> {
    Ok(Attempt {
        target: Target::Device(name.into()),
        precious: precious.iter().map(|p| p.to_path_buf()).collect(),
        rules,
    })
}

/// As [`device`], for a file.
fn file(
    name: impl Into<PathBuf>,
    precious: &[&Path],
    rules: &'static [&'static str],
) -> Result<Attempt, Cannot> {
    Ok(Attempt {
        target: Target::File(name.into(), Bytes(8 * MIB)),
        precious: precious.iter().map(|p| p.to_path_buf()).collect(),
        rules,
    })
}

impl Way {
    /// Goes the way; `Err` where the machine cannot.
    pub fn go(&self, folder: &Folder) -> Result<(), Cannot> {
        let mut stage = Stage::new(folder, self.name);
        let attempt = (self.set_up)(&mut stage)?;
        rustix::fs::sync();
        let before: Vec<u64> = attempt.precious.iter().map(|p| hash(p)).collect();
        for refused in attempt.refusals(self.name) {
            let rules: Vec<_> = refused.reasons.iter().map(|r| r.rule()).collect();
            let right = rules.iter().any(|rule| attempt.rules.contains(rule));
            assert!(right, "{}: {refused}", self.name);
        }
        rustix::fs::sync();
        let after: Vec<u64> = attempt.precious.iter().map(|p| hash(p)).collect();
        assert_eq!(before, after, "{}: it was written", self.name);
        Ok(())
    }
}

impl Attempt {
    /// Refusals by every method of the guard. A target that it opens is written.
    fn refusals(&self, way: &str) -> Vec<Refusal> {
        let guard = Guard::new(Roots::default());
        let answers = match &self.target {
            Target::File(name, size) => {
                let judged = guard.judge_file(name);
                let rules: Vec<_> = judged.iter().map(|r| r.rule()).collect();
                assert!(!judged.is_empty(), "{way}: looking says it may be written");
                assert!(
                    rules.iter().any(|r| self.rules.contains(r)),
                    "{way}: {rules:?}"
                );
                vec![guard.open_file(name, *size)]
            }
            Target::Device(name) => {
                let named = DestroyData::Named(kernel_name(name));
                let answers = [named, DestroyData::PutBack];
                answers.map(|how| confirmed(&guard, name, &how)).into()
            }
        };
        let refused = answers.into_iter().map(|answer| match answer {
            Ok(opened) => {
                let _ = opened.file.write_at(&[0x5a; 4096], MIB);
                let _ = opened.file.sync_all();
                panic!("{way}: it was opened for writing");
            }
            Err(refusal) => refusal,
        });
        refused.collect()
    }
}

fn confirmed(guard: &Guard, name: &Path, how: &DestroyData) -> Result<Opened, Refusal> {
    let unconfirmed = guard.open_to_write(name, how)?;
    let word = unconfirmed.word().to_string();
    unconfirmed.confirm(Answer::Typed(&word))
}

/// As an attentive user would find it out.
fn kernel_name(device: &Path) -> String {
    let number = std::fs::metadata(device).unwrap().rdev();
    let place = format!("/sys/dev/block/{}:{}", major(number), minor(number));
    let place = std::fs::canonicalize(place).unwrap();
    place.file_name().unwrap().to_str().unwrap().to_string()
}

fn hash(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(&std::fs::read(path).unwrap());
    hasher.finish()
}
