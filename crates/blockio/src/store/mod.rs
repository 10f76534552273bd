//! Contents of a served device by address, in memory or in a file. Unwritten and discarded ranges read
//! as zeroes.
//!
//! This module is independent of time, requests and flash. [`crate::undo`] restores data after a power
//! cut.

mod distortion;
mod error;
mod file;

use crate::image::{Image, OutOfRange, SpillError};
use crate::memory_len;
use distortion::Distortion;
pub use distortion::{Beyond, Fake};
pub use error::StoreError;
use file::FileStore;
use nandscope_units::Bytes;
use std::path::Path;

/// The contents of a device.
#[derive(Debug)]
pub struct Store {
    capacity: u64,
    backing: Backing,
    distortion: Distortion,
}

#[derive(Debug)]
enum Backing {
    Memory(Image),
    /// In memory up to a limit, the rest in a temporary file.
    Bounded(Image),
    File(FileStore),
}

impl Store {
    /// Contents in memory, all zeroes. Pages of 4 KiB take memory when they are written.
    pub fn memory(capacity: Bytes) -> Self {
        Store {
            capacity: capacity.0,
            backing: Backing::Memory(Image::in_memory(capacity.0)),
            distortion: Distortion::default(),
        }
    }

    /// Contents in memory, all zeroes, of which pages beyond [`crate::image::IN_MEMORY`] are in a temporary
    /// file.
    pub fn bounded(capacity: Bytes) -> Self {
        Store {
            capacity: capacity.0,
            backing: Backing::Bounded(Image::bounded(capacity.0)),
            distortion: Distortion::default(),
        }
    }

    /// The first failure of the temporary file. What was read or written since is not what the device
    /// holds.
    pub fn fault(&self) -> Option<SpillError> {
        match &self.backing {
            Backing::Bounded(image) => image.fault(),
            Backing::Memory(_) | Backing::File(_) => None,
        }
    }

    /// Contents in a sparse file of the device's size, byte for byte as on the device. The file is
    /// created if missing, and locked against a second server.
    ///
    /// # Errors
    /// `StoreError` if the file cannot be opened or locked, or has another size.
    pub fn file(path: &Path, capacity: Bytes) -> Result<Self, StoreError> {
        Ok(Store {
            capacity: capacity.0,
            backing: Backing::File(FileStore::open(path, capacity.0)?),
            distortion: Distortion::default(),
        })
    }

    /// Device and inode number of the backing file; `None` for contents in memory, or if the system does not tell.
    pub fn file_id(&self) -> Option<(u64, u64)> {
        match &self.backing {
            Backing::Memory(_) | Backing::Bounded(_) => None,
            Backing::File(file) => file.id(),
        }
    }

    /// Size of the contents.
    pub const fn capacity(&self) -> Bytes {
        Bytes(self.capacity)
    }

    /// Appends `length` bytes from `offset` on to `to`.
    ///
    /// # Errors
    /// `StoreError` if the range extends past the end (`to` is unchanged), or the file cannot be read (the appended
    /// bytes are invalid).
    pub fn append_to(&self, to: &mut Vec<u8>, offset: u64, length: u64) -> Result<(), StoreError> {
        self.check(offset, length)?;
        let start = to.len();
        for (place, length) in self.distortion.pieces(offset, length, false) {
            let from = to.len();
            to.resize(from + memory_len(length), 0);
            match (place, &self.backing) {
                (None, _) => {}
                (Some(place), Backing::Memory(image) | Backing::Bounded(image)) => {
                    image.read(place, &mut to[from..])?
                }
                (Some(place), Backing::File(file)) => file.read(place, &mut to[from..])?,
            }
        }
        self.distortion.change(&mut to[start..], offset);
        Ok(())
    }

    /// Makes the device hold less than it reports; with `None` as much as it reports.
    pub fn set_fake(&mut self, fake: Option<Fake>) {
        self.distortion.set_fake(fake);
    }

    /// Makes these bytes read differently from the second time on.
    pub fn tamper(&mut self, range: std::ops::Range<u64>) {
        self.distortion.tamper(range);
    }

    /// Ends the faults of the contents.
    pub fn clear_faults(&mut self) {
        self.distortion = Distortion::default();
    }

    /// True if the contents are in memory and no fault changes what is read.
    pub const fn is_in_memory(&self) -> bool {
        matches!(self.backing, Backing::Memory(_)) && self.distortion.is_none()
    }

    /// Pages of a range in memory; empty if the contents are in a file or the range extends past the
    /// end.
    pub fn pieces(&self, offset: u64, length: u64) -> impl Iterator<Item = &[u8]> {
        let memory = match &self.backing {
            Backing::Memory(memory)
                if self.distortion.is_none() && self.check(offset, length).is_ok() =>
            {
                Some(memory)
            }
            _ => None,
        };
        memory
            .into_iter()
            .flat_map(move |memory| memory.pieces(offset, length))
    }

    /// Writes `data` at `offset`.
    ///
    /// # Errors
    /// `StoreError` if the range extends past the end (nothing is written), or the file cannot be written.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Result<(), StoreError> {
        self.check(offset, data.len() as u64)?;
        let mut rest = data;
        self.distortion.remember(offset, data);
        for (place, length) in self.distortion.pieces(offset, data.len() as u64, true) {
            let (piece, after) = rest.split_at(memory_len(length));
            rest = after;
            match (place, &mut self.backing) {
                (None, _) => {}
                (Some(place), Backing::Memory(image) | Backing::Bounded(image)) => {
                    image.write(place, piece)?
                }
                (Some(place), Backing::File(file)) => file.write(place, piece)?,
            }
        }
        Ok(())
    }

    /// Makes a range read as zeroes and gives its room back.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn discard(&mut self, offset: u64, length: u64) -> Result<(), StoreError> {
        self.check(offset, length)?;
        for (place, length) in self.distortion.pieces(offset, length, true) {
            match (place, &mut self.backing) {
                (None, _) => {}
                (Some(place), Backing::Memory(image) | Backing::Bounded(image)) => {
                    image.discard(place, length)?
                }
                (Some(place), Backing::File(file)) => file.discard(place, length)?,
            }
        }
        Ok(())
    }

    /// Syncs the backing file, if there is one.
    ///
    /// # Errors
    /// `StoreError` if the system call fails.
    pub fn sync(&self) -> Result<(), StoreError> {
        match &self.backing {
            Backing::Memory(_) | Backing::Bounded(_) => Ok(()),
            Backing::File(file) => Ok(file.sync()?),
        }
    }

    fn check(&self, offset: u64, length: u64) -> Result<(), StoreError> {
        Ok(OutOfRange::check(offset, length, self.capacity)?)
    }
}

#[cfg(test)]
mod tests;
