//! Reasons of a refusal: the finding and its remedy. All reasons are reported at once.

use super::marker::MarkerCheck;
use crate::signature::Signature;
use nandscope_units::Bytes;
use serde::{Serialize, Serializer, ser::SerializeStruct};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// One rule that forbids it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// `--destroy-data` was not given.
    NotAsked,
    /// Neither a block device nor a regular file.
    NoTarget,
    /// The name is a link that leads away.
    Link(PathBuf),
    /// A part of it is mounted: the device, and where.
    Mounted(String, PathBuf),
    /// A part of it is swapped to: the device or file.
    Swap(String),
    /// Something is stacked on a part of it: the part, and what holds it.
    Holder(String, String),
    /// It holds a protected path.
    Protected(String),
    /// Another process holds it.
    Held,
    /// Something is recognised on it; the name that `--destroy-data` must have.
    Carries(Vec<Signature>, String),
    /// `--destroy-data` names another device.
    OtherName(String, String),
    /// It has a lock switch that is on, or is set to reading only.
    ReadOnly,
    /// It has no size: no medium, or a loop device that is not set up.
    Empty,
    /// A file that nandscope did not make, by what its mark says.
    ForeignFile(MarkerCheck),
    /// A file with several names.
    ManyNames(u64),
    /// A loop device uses the file, or the same backing file as this device.
    BehindLoop(String),
    /// A loop device whose backing file cannot be identified.
    UnknownLoop(String),
    /// The file system has too little room: free, and what must be free.
    Room(Bytes, Bytes),
    /// The file cannot be marked as made by nandscope, so that it would not be known again.
    Unmarked(String),
    /// The question was answered with something else: given, and wanted.
    Answer(String, String),
    /// A system call failed.
    System(String),
}

impl Reason {
    pub(super) fn system(path: &Path, error: &io::Error) -> Self {
        Reason::System(format!("{}: {error}", path.display()))
    }

    /// The rule, as a word that stays the same.
    pub fn rule(&self) -> &'static str {
        match self {
            Reason::NotAsked => "not-asked",
            Reason::NoTarget => "no-target",
            Reason::Link(_) => "link",
            Reason::Mounted(..) => "mounted",
            Reason::Swap(_) => "swap",
            Reason::Holder(..) => "holder",
            Reason::Protected(_) => "protected",
            Reason::Held => "held",
            Reason::Carries(..) => "carries-data",
            Reason::OtherName(..) => "other-name",
            Reason::ReadOnly => "read-only",
            Reason::Empty => "empty",
            Reason::ForeignFile(_) => "foreign-file",
            Reason::ManyNames(_) => "many-names",
            Reason::BehindLoop(_) => "behind-loop",
            Reason::UnknownLoop(_) => "unknown-loop",
            Reason::Room(..) => "room",
            Reason::Unmarked(_) => "unmarked",
            Reason::Answer(..) => "answer",
            Reason::System(_) => "system",
        }
    }

    /// Describes the finding.
    pub fn what(&self) -> String {
        match self {
            Reason::NotAsked => "block devices are opened read-only by default".into(),
            Reason::NoTarget => "it is neither a block device nor a regular file".into(),
            Reason::Link(to) => format!("the name is a symbolic link to {}", to.display()),
            Reason::Mounted(device, at) => format!("{device} is mounted at {}", at.display()),
            Reason::Swap(device) => format!("{device} is used for swap"),
            Reason::Holder(device, holder) => format!("{device} is part of {holder}"),
            Reason::Protected(what) => format!("it is the disk that holds {what}"),
            Reason::Held => "another process has it open exclusively".into(),
            Reason::Carries(signatures, _) => format!("it contains {}", listed(signatures)),
            Reason::OtherName(given, own) => {
                format!("--destroy-data names `{given}`, but this is {own}")
            }
            Reason::ReadOnly => "it is read-only".into(),
            Reason::Empty => "it has no size".into(),
            Reason::ForeignFile(mark) => mark.what(),
            Reason::ManyNames(n) => format!("the file has {n} names (hard links)"),
            Reason::BehindLoop(name) => format!("{name} has the same backing file"),
            Reason::UnknownLoop(name) => {
                format!(
                    "{name} is in use and may have this as backing file, which cannot be identified"
                )
            }
            Reason::Room(free, wanted) => format!("{free} are free, but {wanted} are needed"),
            Reason::Unmarked(why) => format!("the file cannot be marked as nandscope's: {why}"),
            Reason::Answer(given, wanted) => format!("`{given}` is not `{wanted}`"),
            Reason::System(text) => text.clone(),
        }
    }

    /// Describes the remedy.
    pub fn remedy(&self) -> String {
        match self {
            Reason::NotAsked => "allow writing with --destroy-data; all data is lost".into(),
            Reason::NoTarget => "name a device, a file or a folder".into(),
            Reason::Link(to) => format!("name {} itself", to.display()),
            Reason::Mounted(_, at) => format!("umount {}", at.display()),
            Reason::Swap(device) => format!("swapoff {device}"),
            Reason::Holder(_, holder) => format!("stop {holder} first"),
            Reason::Protected(_) => "use another disk, or a file on this one".into(),
            Reason::Held => "end that process (find it with `fuser` or `lsof`)".into(),
            Reason::Carries(_, name) => format!("to destroy its data, use --destroy-data={name}"),
            Reason::OtherName(_, own) => {
                format!("use --destroy-data={own} if this is the right device")
            }
            Reason::ReadOnly => "check its lock switch, or run `blockdev --setrw`".into(),
            Reason::Empty => "insert a medium".into(),
            Reason::ForeignFile(MarkerCheck::None) => "name a file that does not exist yet".into(),
            Reason::ForeignFile(_) => {
                "delete it if it is not needed, or name a file that does not exist yet".into()
            }
            Reason::ManyNames(_) => "name a file that does not exist yet".into(),
            Reason::BehindLoop(name) => format!("losetup -d /dev/{name}"),
            Reason::UnknownLoop(name) => {
                format!("run as a user who may read /dev/{name}, or losetup -d /dev/{name}")
            }
            Reason::Room(..) => "use a smaller size, or free some space".into(),
            Reason::Unmarked(_) => "use another file system".into(),
            Reason::Answer(..) => "nothing was written".into(),
            Reason::System(_) => "check the name and the permissions".into(),
        }
    }
}

fn listed(signatures: &[Signature]) -> String {
    let mut names: Vec<_> = signatures.iter().map(|s| s.name.as_ref()).collect();
    names.dedup();
    names.join(", ")
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Reason", 3)?;
        fields.serialize_field("rule", self.rule())?;
        fields.serialize_field("what", &self.what())?;
        fields.serialize_field("remedy", &self.remedy())?;
        fields.end()
    }
}

/// The guard's no.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub struct Refusal {
    /// As it was named.
    pub target: PathBuf,
    /// True if writing was requested.
    pub writing: bool,
    /// At least one.
    pub reasons: Vec<Reason>,
}

impl Refusal {
    pub(super) fn to_read(target: &Path, reasons: Vec<Reason>) -> Self {
        Refusal {
            target: target.to_path_buf(),
            writing: false,
            reasons,
        }
    }

    pub(super) fn to_write(target: &Path, reasons: Vec<Reason>) -> Self {
        Refusal {
            writing: true,
            ..Self::to_read(target, reasons)
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let act = if self.writing { "write to" } else { "read" };
        write!(f, "refusing to {act} {}: ", self.target.display())?;
        for (i, reason) in self.reasons.iter().enumerate() {
            let separator = if i > 0 { "; " } else { "" };
            write!(f, "{separator}{} ({})", reason.what(), reason.remedy())?;
        }
        Ok(())
    }
}
