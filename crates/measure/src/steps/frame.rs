//! Frames of a step journal: how records are laid out in the file, and how they are found again in a
//! file that is torn or damaged.
//!
//! A frame is a head of 32 bytes and a payload, integers little-endian:
//!
//! | bytes | |
//! |---|---|
//! | 4 | `NSJF` |
//! | 4 | kind of the record |
//! | 8 | number of the frame, from 0 |
//! | 8 | length of the payload |
//! | 4 | CRC-32 of the payload |
//! | 4 | CRC-32 of the 28 bytes before |
//!
//! The head has a checksum of its own so that a damaged payload can be skipped by its length; after a
//! damaged head, reading continues at the next valid one.

/// First bytes of every frame.
const MARK: &[u8; 4] = b"NSJF";
/// Length of a head.
const HEAD: usize = 32;

/// A record in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame<'a> {
    /// Kind of the payload.
    pub(super) kind: u32,
    /// Offset of the first byte in the file.
    pub(super) start: usize,
    /// Offset of the byte after the last.
    pub(super) end: usize,
    /// Number of the frame.
    pub(super) number: u64,
    /// Contents of the record.
    pub(super) payload: &'a [u8],
}

/// Range of bytes without a valid frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset of the byte after the last.
    pub end: usize,
    /// Whether no valid frame follows, as after a crash in the middle of an append.
    pub torn: bool,
}

/// Appends a frame to `out`.
pub(super) fn put(out: &mut Vec<u8>, kind: u32, number: u64, payload: &[u8]) {
    let mut head = [0; HEAD - 4];
    head[..4].copy_from_slice(MARK);
    head[4..8].copy_from_slice(&kind.to_le_bytes());
    head[8..16].copy_from_slice(&number.to_le_bytes());
    head[16..24].copy_from_slice(&(payload.len() as u64).to_le_bytes());
    head[24..28].copy_from_slice(&crc32fast::hash(payload).to_le_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
    out.extend_from_slice(payload);
}

/// A valid head.
struct Head {
    kind: u32,
    number: u64,
    length: u64,
    crc: u32,
}

/// The valid head at the start of `bytes`, if there is one.
fn head(bytes: &[u8]) -> Option<Head> {
    let bytes = bytes.get(..HEAD).filter(|b| b.starts_with(MARK))?;
    let u32_at = |at: usize| {
        let mut value = [0; 4];
        value.copy_from_slice(&bytes[at..at + 4]);
        u32::from_le_bytes(value)
    };
    let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
    (crc32fast::hash(&bytes[..HEAD - 4]) == u32_at(HEAD - 4)).then(|| Head {
        kind: u32_at(4),
        number: u64_at(8),
        length: u64_at(16),
        crc: u32_at(24),
    })
}

/// All valid frames from offset `from` on, and the damage between them. Frame numbers ascend: a frame copied to another
/// place in the file counts as damage.
pub(super) fn scan(bytes: &[u8], from: usize) -> (Vec<Frame<'_>>, Vec<Damage>) {
    let (mut frames, mut damages) = (Vec::new(), Vec::<Damage>::new());
    let mut damaged = |start: usize, end: usize| match damages.last_mut() {
        Some(last) if last.end == start => last.end = end,
        _ => damages.push(Damage {
            start,
            end,
            torn: false,
        }),
    };
    let (mut at, mut next) = (from.min(bytes.len()), 0);
    while at < bytes.len() {
        let Some(head) = head(&bytes[at..]) else {
            let found = (at + 1..bytes.len())
                .find(|i| bytes[*i..].starts_with(MARK) && head(&bytes[*i..]).is_some());
            let end = found.unwrap_or(bytes.len());
            damaged(at, end);
            at = end;
            continue;
        };
        let start = at + HEAD;
        let length = usize::try_from(head.length).unwrap_or(usize::MAX);
        let Some(payload) = bytes.get(start..start.saturating_add(length)) else {
            damaged(at, bytes.len());
            break;
        };
        let end = start + length;
        if head.number >= next && crc32fast::hash(payload) == head.crc {
            next = head.number.saturating_add(1);
            frames.push(Frame {
                kind: head.kind,
                start: at,
                end,
                number: head.number,
                payload,
            });
        } else {
            damaged(at, end);
        }
        at = end;
    }
    if let Some(last) = damages.last_mut() {
        last.torn = last.end == bytes.len();
    }
    (frames, damages)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<u8> {
        let mut bytes = Vec::new();
        for (number, text) in ["one", "two", "three"].iter().enumerate() {
            put(&mut bytes, 7, number as u64, text.as_bytes());
        }
        bytes
    }

    fn texts(bytes: &[u8]) -> Vec<&str> {
        let frames = scan(bytes, 0).0;
        let texts = frames.iter().map(|f| std::str::from_utf8(f.payload));
        texts.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn frames_read_back() {
        let bytes = three();
        let (frames, damages) = scan(&bytes, 0);
        assert_eq!(texts(&bytes), ["one", "two", "three"]);
        assert!(damages.is_empty());
        assert!(frames.iter().all(|f| f.kind == 7));
        assert_eq!(frames[2].end, bytes.len());
    }

    #[test]
    fn a_file_that_ends_anywhere_keeps_the_frames_before() {
        let bytes = three();
        let ends = scan(&bytes, 0).0.iter().map(|f| f.end).collect::<Vec<_>>();
        for length in 0..=bytes.len() {
            let (frames, damages) = scan(&bytes[..length], 0);
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(frames.len(), whole, "{length}");
            let torn = length > 0 && !ends.contains(&length);
            assert_eq!(damages.len(), usize::from(torn), "{length}");
            assert!(damages.iter().all(|d| d.torn));
        }
    }

    #[test]
    fn any_flipped_bit_costs_one_frame_and_is_noticed() {
        let bytes = three();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let (frames, damages) = scan(&flipped, 0);
            assert_eq!((frames.len(), damages.len()), (2, 1), "bit {bit}");
            assert_eq!(damages[0].torn, damages[0].end == bytes.len());
        }
    }

    #[test]
    fn a_frame_at_another_place_is_not_taken() {
        let bytes = three();
        let second = scan(&bytes, 0).0[1];
        let mut twice = bytes.clone();
        twice.extend_from_slice(&bytes[second.start..second.end]);
        assert_eq!(texts(&twice), ["one", "two", "three"]);
        assert_eq!(scan(&twice, 0).1.len(), 1);
    }
}
