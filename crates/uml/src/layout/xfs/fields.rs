//! Big-endian numbers in structures.

pub(super) fn be16_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 2)?;
    Some(u64::from(u16::from_be_bytes(field.try_into().ok()?)))
}

pub(super) fn be32_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 4)?;
    Some(u64::from(u32::from_be_bytes(field.try_into().ok()?)))
}

pub(super) fn be64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let field = bytes.get(at..at + 8)?;
    Some(u64::from_be_bytes(field.try_into().ok()?))
}
