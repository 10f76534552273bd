//! Structures of a file system on a device.

use nandscope_blockio::image::Image;

/// Contents of a device, from which structures are read.
pub trait Contents {
    /// Size of the device, bytes.
    fn capacity(&self) -> u64;

    /// Fills `to` with the bytes from `offset` on; `None` if they cannot be read.
    fn read(&self, offset: u64, to: &mut [u8]) -> Option<()>;
}

impl Contents for Image {
    fn capacity(&self) -> u64 {
        Image::capacity(self)
    }

    fn read(&self, offset: u64, to: &mut [u8]) -> Option<()> {
        Image::read(self, offset, to).ok()
    }
}

/// A file system on a device.
pub(super) struct Volume<'a> {
    pub(super) contents: &'a dyn Contents,
    pub(super) start: u64,
}

impl Volume<'_> {
    pub(super) fn bytes(&self, offset: u64, length: usize) -> Option<Vec<u8>> {
        // A damaged size must not ask for all memory.
        if length > 16 << 20 {
            return None;
        }
        let mut bytes = vec![0; length];
        self.contents
            .read(self.start.checked_add(offset)?, &mut bytes)?;
        Some(bytes)
    }
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 2)?;
    Some(u64::from(u16::from_le_bytes(field.try_into().ok()?)))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 4)?;
    Some(u64::from(u32::from_le_bytes(field.try_into().ok()?)))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 8)?;
    Some(u64::from_le_bytes(field.try_into().ok()?))
}
