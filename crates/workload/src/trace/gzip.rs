//! Files packed by gzip (RFC 1952), possibly of several members.

use super::TraceError;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};
use std::borrow::Cow;

/// Bytes that are unpacked at once.
const PIECE: usize = 64 << 10;
/// Size of a header without its optional fields, and of the checksums at the end, bytes.
const HEADER: usize = 10;
const TRAILER: usize = 8;

/// The contents of a file: unpacked if gzip has packed it, otherwise as it is. `None` if there are more than `most` bytes.
///
/// # Errors
/// Returns [`TraceError`] if packed contents are damaged or cut short.
pub fn unpacked<'a>(
    name: &str,
    bytes: &'a [u8],
    most: u64,
) -> Result<Option<Cow<'a, [u8]>>, TraceError> {
    if !is_packed(bytes) {
        return Ok(Some(Cow::Borrowed(bytes)));
    }
    let wrong = |what: &str| TraceError::Binary {
        file: name.to_string(),
        what: format!("is damaged: {what}; unpack it with `gzip -t` to see where"),
    };
    let mut contents = Vec::new();
    let mut rest = bytes;
    while is_packed(rest) {
        let body = after_header(rest).ok_or_else(|| wrong("its gzip header is cut short"))?;
        let begin = contents.len();
        let Some(used) = member(body, &mut contents, most).map_err(wrong)? else {
            return Ok(None);
        };
        let sums = body.get(used..used + TRAILER);
        let sums = sums.ok_or_else(|| wrong("it is cut short"))?;
        let found = crc32fast::hash(&contents[begin..]).to_le_bytes();
        if found != sums[..4] {
            return Err(wrong("its checksum is wrong"));
        }
        rest = &body[used + TRAILER..];
    }
    Ok(Some(Cow::Owned(contents)))
}

fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b, 8])
}

/// The packed data, after the header and its optional fields; `None` if the header is cut short.
fn after_header(bytes: &[u8]) -> Option<&[u8]> {
    let flags = bytes.get(3)?;
    let mut rest = bytes.get(HEADER..)?;
    if flags & 4 != 0 {
        let (length, after) = rest.split_first_chunk::<2>()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    // File name and comment, each ended by a zero.
    for flag in [8, 16] {
        if flags & flag != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    match flags & 2 {
        0 => Some(rest),
        _ => rest.get(2..),
    }
}

/// Unpacks one member; returns its packed length in bytes, or `None` if the contents would exceed `most`.
fn member(body: &[u8], contents: &mut Vec<u8>, most: u64) -> Result<Option<usize>, &'static str> {
    let mut state = InflateState::new_boxed(DataFormat::Raw);
    let mut piece = vec![0; PIECE];
    let mut used = 0;
    loop {
        let step = inflate(&mut state, &body[used..], &mut piece, MZFlush::None);
        used += step.bytes_consumed;
        contents.extend_from_slice(&piece[..step.bytes_written]);
        if contents.len() as u64 > most {
            return Ok(None);
        }
        match step.status {
            Ok(MZStatus::StreamEnd) => return Ok(Some(used)),
            Ok(_) if step.bytes_consumed > 0 || step.bytes_written > 0 => {}
            Ok(_) | Err(MZError::Buf) => return Err("it is cut short"),
            Err(_) => return Err("its contents cannot be unpacked"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `gzip -n` packs it.
    fn packed(contents: &[u8], flags: u8, fields: &[u8]) -> Vec<u8> {
        let mut file = vec![0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3];
        file.extend(fields);
        file.extend(miniz_oxide::deflate::compress_to_vec(contents, 6));
        file.extend(crc32fast::hash(contents).to_le_bytes());
        file.extend((contents.len() as u32).to_le_bytes());
        file
    }

    fn read(bytes: &[u8], most: u64) -> Option<Vec<u8>> {
        unpacked("t", bytes, most).unwrap().map(Cow::into_owned)
    }

    #[test]
    fn packed_files_are_unpacked_and_others_are_as_they_are() {
        let long: Vec<u8> = (0..300_000u32).map(|n| (n / 7) as u8).collect();
        assert_eq!(read(&packed(&long, 0, &[]), 1 << 20), Some(long.clone()));
        let named = packed(b"abc", 4 | 8 | 16 | 2, b"\x02\0xytrace\0comment\0\0\0");
        assert_eq!(read(&named, 9), Some(b"abc".to_vec()));
        let two = [named.clone(), packed(b"def", 0, &[])].concat();
        assert_eq!(read(&two, 9), Some(b"abcdef".to_vec()));
        assert_eq!(read(b"plain", 1), Some(b"plain".to_vec()));
        assert_eq!(read(&packed(&long, 0, &[]), 1000), None, "a limit");
    }

    #[test]
    fn damaged_files_are_errors() {
        let whole = packed(b"abcdefgh", 8, b"name\0");
        for length in 3..whole.len() {
            let error = unpacked("t", &whole[..length], 99).unwrap_err();
            assert!(error.to_string().starts_with("t: is damaged"), "{error}");
        }
        let mut wrong = whole;
        let last = wrong.len() - 5;
        wrong[last] ^= 1;
        assert!(
            unpacked("t", &wrong, 99)
                .unwrap_err()
                .to_string()
                .contains("checksum")
        );
    }
}
