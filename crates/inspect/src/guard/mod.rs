//! Decides whether a target may be opened, read and written, and returns the open file. docs/safety.md
//! has the rules.
//!
//! There is no race between check and use: a target is opened first, all checks use the open descriptor,
//! and all operations go through it. A block device is opened for writing with `O_EXCL`: the kernel
//! refuses this if it is mounted, used as swap or stacked, and prevents that afterwards.
//!
//! The guard does not interact with the user: [`Unconfirmed`] has the prompt, and returns the descriptor
//! only for the right answer.

mod alone;
mod block;
mod confirm;
mod file;
mod marker;
mod pin;
mod refusal;

pub use confirm::{Answer, Unconfirmed};
pub use file::margin;
pub use marker::MarkerCheck;
pub use refusal::{Reason, Refusal};

use crate::identity::Identity;
use crate::layers::Machine;
use crate::place::Kind;
use crate::signature::{self, Signature};
use crate::{DeviceNumber, Roots};
use nandscope_units::Bytes;
use pin::Pinned;
use rustix::io::Errno;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Data that may be destroyed, by `--destroy-data`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DestroyData {
    /// Data must not be destroyed.
    No,
    /// `--destroy-data`: a device may be written if it is shown to be empty.
    Blank,
    /// `--destroy-data=NAME`: the device with this name may be written, whatever it contains.
    Named(String),
    /// Written blocks will be restored from a journal, so existing contents are no reason to refuse. All
    /// other rules apply.
    PutBack,
    /// As `PutBack`; in addition, blocks whose contents have changed since they were written are overwritten.
    Overwrite,
}

/// An open target.
#[derive(Debug)]
pub struct Opened {
    /// All operations must use this descriptor; opening the name again would bypass the guard. It is
    /// opened without `O_DIRECT`, which `fcntl` can add.
    pub file: File,
    /// Resolved path.
    pub path: PathBuf,
    /// Kind of target.
    pub kind: Kind,
    /// True if it may be written.
    pub writable: bool,
    /// Size in bytes.
    pub size: Bytes,
    /// Of a block device, what it is.
    pub identity: Option<Identity>,
    /// Notices for the result.
    pub notes: Vec<String>,
}

/// Assessment of a device, without opening it for writing.
#[derive(Debug)]
pub struct Judgement {
    /// Why writing would be refused.
    pub reasons: Vec<Reason>,
    /// Recognised formats.
    pub signatures: Vec<Signature>,
}

/// The guard, with further protected paths besides the system disk.
#[derive(Clone, Debug)]
pub struct Guard {
    roots: Roots,
    /// A description and a path; the disks under it are not written.
    protected: Vec<(String, PathBuf)>,
}

impl Guard {
    /// A guard that protects the disk under `/`.
    pub fn new(roots: Roots) -> Self {
        Guard {
            roots,
            protected: vec![("the system (/)".to_string(), PathBuf::from("/"))],
        }
    }

    /// Protects the disk under a folder too, such as the one that results are written to.
    #[must_use]
    pub fn protect(mut self, what: impl Into<String>, folder: impl Into<PathBuf>) -> Self {
        self.protected.push((what.into(), folder.into()));
        self
    }

    /// Opens a block device or file read-only. Links are followed, because reading is harmless.
    ///
    /// # Errors
    /// [`Refusal`] if the target does not exist or is not readable.
    pub fn open_to_read(&self, name: &Path) -> Result<Opened, Refusal> {
        let refuse = |reason| Refusal::to_read(name, vec![reason]);
        let path = name
            .canonicalize()
            .map_err(|e| refuse(Reason::system(name, &e)))?;
        let pinned = Pinned::new(&path).map_err(|e| refuse(Reason::system(name, &e)))?;
        let kind = pinned.kind().ok_or_else(|| refuse(Reason::NoTarget))?;
        if kind == Kind::Directory {
            return Err(refuse(Reason::NoTarget));
        }
        let file = pinned
            .reopen(pin::READ)
            .map_err(|e| refuse(Reason::system(name, &e)))?;
        let mut notes = Vec::new();
        if path != name && name.is_symlink() {
            notes.push(format!(
                "{} is a link to {}",
                name.display(),
                path.display()
            ));
        }
        let identity = pinned.device().map(|n| Identity::read(&self.roots, n));
        let identity = identity
            .transpose()
            .map_err(|e| refuse(Reason::system(name, &e)))?;
        if let Some(identity) = &identity {
            let judged = block::in_use(&self.machine()?, identity.number);
            notes.extend(
                judged
                    .iter()
                    .map(|r| format!("not alone on the device: {}", r.what())),
            );
        }
        Ok(Opened {
            size: identity.as_ref().map_or(pinned.size(), |i| i.size),
            file,
            path,
            kind,
            writable: false,
            identity,
            notes,
        })
    }

    /// Opens a block device for writing. Nothing can be written before the confirmation.
    ///
    /// # Errors
    /// [`Refusal`] with every rule of docs/safety.md that forbids it.
    pub fn open_to_write(
        &self,
        name: &Path,
        destroy: &DestroyData,
    ) -> Result<Unconfirmed, Refusal> {
        let refuse = |reasons| Refusal::to_write(name, reasons);
        if *destroy == DestroyData::No {
            return Err(refuse(self.why_not_without_asking(name)));
        }
        let pinned = pin::device_node(&self.roots, name).map_err(|r| refuse(vec![r]))?;
        let Some(number) = pinned.device() else {
            return Err(refuse(vec![Reason::NoTarget]));
        };
        let system = |e: &std::io::Error| refuse(vec![Reason::system(name, e)]);
        let file = match pinned.reopen(pin::WRITE_EXCLUSIVELY) {
            Ok(file) => file,
            Err(e) => return Err(refuse(self.why_not(number, name, &e)?)),
        };
        // From here on the number stays with this device, even if it is pulled out.
        let identity = Identity::read(&self.roots, number).map_err(|e| system(&e))?;
        let mut reasons = self.reasons(number)?;
        // Through a descriptor that cannot write: one of them is given to another program.
        let probed = pinned.reopen(pin::READ);
        let probed = probed.and_then(|f| signature::probe_device(f, identity.size));
        let mut signatures = probed.map_err(|e| system(&e))?;
        if signatures.is_empty() && *destroy == DestroyData::Blank {
            let unknown = signature::unknown_data(&file, identity.size);
            signatures.extend(unknown.map_err(|e| system(&e))?);
        }
        reasons.extend(block::carries(&identity, &signatures, name, destroy));
        if reasons.is_empty() {
            Ok(Unconfirmed::new(
                name,
                pinned.path,
                file,
                identity,
                signatures,
                destroy,
            ))
        } else {
            Err(refuse(reasons))
        }
    }

    /// Why a device is not written without `--destroy-data`: the rules that forbid it even with the option, so that the
    /// message does not recommend an option that would not help; without such rules, that the option was not given.
    fn why_not_without_asking(&self, name: &Path) -> Vec<Reason> {
        let pinned = pin::device_node(&self.roots, name).ok();
        let number = pinned.as_ref().and_then(Pinned::device);
        let reasons = number.and_then(|number| self.reasons(number).ok());
        match reasons.filter(|reasons| !reasons.is_empty()) {
            Some(reasons) => reasons,
            None => vec![Reason::NotAsked],
        }
    }

    /// Creates a target file of this size, or opens an existing one.
    ///
    /// # Errors
    /// [`Refusal`] if another file has that name, or space is insufficient.
    pub fn open_file(&self, name: &Path, size: Bytes) -> Result<Opened, Refusal> {
        file::open(&self.roots, name, size).map_err(|reasons| Refusal::to_write(name, reasons))
    }

    /// Checks an existing file without opening it for writing.
    pub fn judge_file(&self, name: &Path) -> Vec<Reason> {
        file::judge(&self.roots, name)
    }

    /// Checks a block device without opening it for writing. Failed checks are among the reasons.
    ///
    /// # Errors
    /// [`Refusal`] if the device does not exist.
    pub fn judge(&self, name: &Path) -> Result<Judgement, Refusal> {
        let system = |e: &std::io::Error| Reason::system(name, e);
        let refuse = |reason| Refusal::to_read(name, vec![reason]);
        let path = name.canonicalize().map_err(|e| refuse(system(&e)))?;
        let pinned = Pinned::new(&path).map_err(|e| refuse(system(&e)))?;
        let number = pinned.device().ok_or_else(|| refuse(Reason::NoTarget))?;
        let identity = Identity::read(&self.roots, number).map_err(|e| refuse(system(&e)))?;
        let mut reasons = self.reasons(number)?;
        reasons.extend(pin::device_node(&self.roots, name).err());
        let probe = |file: File| {
            let again = file.try_clone()?;
            let mut found = signature::probe_device(again, identity.size)?;
            if found.is_empty() {
                found.extend(signature::unknown_data(&file, identity.size)?);
            }
            Ok(found)
        };
        let signatures = match pinned.reopen(pin::READ).and_then(probe) {
            Ok(signatures) => signatures,
            Err(e) => {
                reasons.push(system(&e));
                Vec::new()
            }
        };
        if let Err(e) = pinned.reopen(pin::READ_EXCLUSIVELY)
            && reasons.is_empty()
        {
            reasons = self.why_not(number, name, &e)?;
        }
        reasons.extend(block::carries(
            &identity,
            &signatures,
            name,
            &DestroyData::Blank,
        ));
        Ok(Judgement {
            reasons,
            signatures,
        })
    }

    fn machine(&self) -> Result<Machine<'_>, Refusal> {
        let proc = &self.roots.proc;
        Machine::read(&self.roots)
            .map_err(|e| Refusal::to_read(proc, vec![Reason::system(proc, &e)]))
    }

    /// Every rule about the use of a device, those about its contents apart.
    fn reasons(&self, number: DeviceNumber) -> Result<Vec<Reason>, Refusal> {
        let machine = self.machine()?;
        let mut reasons = block::in_use(&machine, number);
        reasons.extend(block::unknown(&machine));
        reasons.extend(block::protects(&machine, number, &self.protected));
        reasons.extend(block::cannot_be_written(&self.roots, number));
        Ok(reasons)
    }

    /// Reason for which the kernel did not open the device: a known one, or that another program holds the device open.
    fn why_not(
        &self,
        number: DeviceNumber,
        name: &Path,
        error: &std::io::Error,
    ) -> Result<Vec<Reason>, Refusal> {
        let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
        let (busy, protected) = (is(Errno::BUSY), is(Errno::ROFS));
        let mut reasons = self.reasons(number)?;
        let explained = protected && reasons.iter().any(|r| matches!(r, Reason::ReadOnly));
        if !busy && !explained {
            reasons.push(Reason::system(name, error));
        } else if reasons.is_empty() {
            reasons.push(Reason::Held);
        }
        Ok(reasons)
    }
}
