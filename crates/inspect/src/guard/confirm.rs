//! The confirmation before a device is written. Without the right answer there is no descriptor.

use super::block::is_name_of;
use super::{DestroyData, Opened, Reason, Refusal};
use crate::identity::Identity;
use crate::place::Kind;
use crate::signature::Signature;
use crate::size::decimal_size;
use std::fs::File;
use std::path::{Path, PathBuf};

/// An answer of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// The name, typed on a terminal.
    Typed(&'a str),
    /// `--yes SERIAL`. A device without a serial number takes its name.
    Serial(&'a str),
}

/// A device that all rules allow to write, before confirmation.
#[derive(Debug)]
pub struct Unconfirmed {
    name: PathBuf,
    path: PathBuf,
    file: File,
    identity: Identity,
    signatures: Vec<Signature>,
    /// Effect on the contents, for the prompt.
    fate: &'static str,
}

impl Unconfirmed {
    pub(super) fn new(
        name: &Path,
        path: PathBuf,
        file: File,
        identity: Identity,
        signatures: Vec<Signature>,
        destroy: &DestroyData,
    ) -> Self {
        Unconfirmed {
            name: name.to_path_buf(),
            path,
            file,
            identity,
            signatures,
            fate: match destroy {
                DestroyData::PutBack => {
                    "Some blocks of this device will be written, then restored from a journal"
                }
                DestroyData::Overwrite => {
                    "Blocks of this device will be restored from a journal; their current contents will be lost"
                }
                DestroyData::No | DestroyData::Blank | DestroyData::Named(_) => {
                    "Everything on this device will be lost"
                }
            },
        }
    }

    /// Identity of the device.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The word that must be typed.
    pub fn word(&self) -> &str {
        &self.identity.name
    }

    /// The prompt, in lines of at most 80 columns as a rule.
    pub fn question(&self) -> String {
        let about = &self.identity;
        let known = |text: &Option<String>| text.clone().unwrap_or_else(|| "not known".into());
        let mut lines = vec![
            format!("{}: /dev/{}", self.fate, about.name),
            format!("  model       {}", known(&about.model)),
            format!("  serial      {}", known(&about.serial)),
            format!(
                "  size        {} ({} bytes)",
                decimal_size(about.size),
                about.size.0
            ),
            format!("  attached    {}", about.transport),
        ];
        for partition in &about.partitions {
            lines.push(format!(
                "  partition   {} of {}",
                partition.name, partition.size
            ));
        }
        if about.partitions.is_empty() {
            lines.push("  partitions  none".to_string());
        }
        if !self.signatures.is_empty() {
            let names: Vec<_> = self.signatures.iter().map(|s| s.name.as_ref()).collect();
            lines.push(format!("  contains    {}", names.join(", ")));
        }
        lines.push(format!(
            "Type {} to continue; anything else cancels.",
            self.word()
        ));
        lines.join("\n")
    }

    /// Returns the device for writing.
    ///
    /// # Errors
    /// [`Refusal`] if the answer is wrong. The device is then closed unwritten.
    pub fn confirm(self, answer: Answer<'_>) -> Result<Opened, Refusal> {
        let own = &self.identity;
        let serial = own
            .serial
            .as_deref()
            .map(str::trim)
            .filter(|s| !s.is_empty());
        let (given, wanted, right) = match (answer, serial) {
            (Answer::Serial(given), Some(serial)) => (given, serial, given.trim() == serial),
            (Answer::Serial(given) | Answer::Typed(given), _) => {
                (given, self.word(), is_name_of(own, &self.name, given))
            }
        };
        if !right {
            let reason = Reason::Answer(given.trim().to_string(), wanted.to_string());
            return Err(Refusal::to_write(&self.name, vec![reason]));
        }
        Ok(Opened {
            file: self.file,
            path: self.path,
            kind: Kind::BlockDevice,
            writable: true,
            size: self.identity.size,
            identity: Some(self.identity),
            notes: Vec::new(),
        })
    }
}
