//! Structures of a file system on a device.

use nandscope_blockio::image::Image;

/// A file system on a device.
pub(super) struct Volume<'a> {
    pub(super) contents: &'a Image,
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
            .read(self.start.checked_add(offset)?, &mut bytes)
            .ok()?;
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
