//! Kinds of photo that reports and shelves take.

/// Kinds of photo that every browser shows: their first bytes, and their ending.
pub const KINDS: [(&[u8], &str); 3] = [
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpg"),
    (b"RIFF", "webp"),
];

/// File name ending of a photo, found by its first bytes; `None` if it is not one of [`KINDS`].
pub fn photo_kind(bytes: &[u8]) -> Option<&'static str> {
    let kind = KINDS.iter().find(|k| bytes.starts_with(k.0));
    kind.map(|k| k.1)
}
