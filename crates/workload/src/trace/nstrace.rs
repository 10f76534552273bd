//! Our own trace file, `.nstrace`: small enough to be kept in the repository and in the program.
//!
//! All numbers are little-endian; `varint` is LEB128 (seven bits per byte, lowest first).
//!
//! | bytes | what |
//! |---|---|
//! | 8 | `NSTRACE` and the version, 1 |
//! | 4 | CRC-32 (ISO-HDLC) of everything after it |
//! | varint, text | length of the name, the name in UTF-8 |
//! | varint, text | the title likewise |
//! | varint | capacity of the recorded device in bytes, 0 where unknown |
//! | 1 | bit 0: the times mean something; bit 1: there are times on the wall |
//! | varint | unit of time in nanoseconds |
//! | varint | unit of offsets and lengths in bytes |
//! | varint | number of records |
//! | varint | length of the columns before compression |
//! | the rest | the columns, raw DEFLATE |
//!
//! The columns follow each other: kinds (one byte each: 0 read, 1 write, 2 trim, 3 flush);
//! times as varint differences; lengths as varints; and for all records that are no flush the
//! offset as a zigzag varint difference from the end of the previous one, so that a sequential
//! run is a row of zeros; at last, where they are known, times on the wall in nanoseconds as zigzag
//! varint differences. Columns compress about twice as well as records in a row.

use super::{Record, Trace, TraceError};
use crate::OpKind;
use nandscope_units::{Bytes, Nanos, saturating_usize};

const MAGIC: &[u8; 7] = b"NSTRACE";
const VERSION: u8 = 1;
const CRC_START: usize = 8;
const BODY_START: usize = 12;
const LEVEL: u8 = 10;
const TIMED: u8 = 1;
const WALLS: u8 = 2;

/// Largest ratio of a column's length to its compressed length: DEFLATE cannot reach more.
const MOST_EXPANSION: u64 = 1100;
/// Length from which on columns must not exceed [`MOST_EXPANSION_OF_LARGE`], bytes: only a decompression bomb
/// would, since recorded programs do not repeat one request millions of times.
const LARGE: u64 = 32 << 20;
/// As [`MOST_EXPANSION`], for columns longer than [`LARGE`].
const MOST_EXPANSION_OF_LARGE: u64 = 32;
/// Least bytes of a record in the columns: kind, time and length.
const LEAST_OF_RECORD: u64 = 3;

/// The description of a trace in its file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// A short name, as on the command line: `photo-import`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// The size of the recorded device; `None` where unknown.
    pub capacity: Option<Bytes>,
    /// Number of records.
    pub records: u64,
}

/// Whether bytes begin like an nstrace file of any version.
pub(super) fn is_nstrace(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Encodes `trace` as the bytes of a file, with the capacity of the trace.
pub fn write(name: &str, title: &str, trace: &Trace) -> Vec<u8> {
    let records = trace.records();
    let time_unit = common_unit(records.iter().map(|r| r.time.0), &[1_000_000, 1_000]);
    let byte_unit = common_unit(
        records
            .iter()
            .flat_map(|r| [r.offset.0, u64::from(r.length)]),
        &[4096, 512],
    );
    let mut columns = encode(records, time_unit, byte_unit);
    let mut before = 0;
    for wall in trace.walls() {
        put(&mut columns, zigzag(wall.0.wrapping_sub(before)));
        before = wall.0;
    }

    let mut body = Vec::new();
    for text in [name, title] {
        put(&mut body, text.len() as u64);
        body.extend_from_slice(text.as_bytes());
    }
    put(&mut body, trace.capacity().map_or(0, |c| c.0));
    let has_walls = !trace.walls().is_empty();
    body.push(u8::from(trace.is_timed()) * TIMED + u8::from(has_walls) * WALLS);
    for number in [
        time_unit,
        byte_unit,
        records.len() as u64,
        columns.len() as u64,
    ] {
        put(&mut body, number);
    }
    body.extend(miniz_oxide::deflate::compress_to_vec(&columns, LEVEL));

    let mut file = MAGIC.to_vec();
    file.push(VERSION);
    file.extend(crc32fast::hash(&body).to_le_bytes());
    file.extend(body);
    file
}

/// The largest of the units that divides all values; 1 if none does.
fn common_unit(values: impl Iterator<Item = u64> + Clone, units: &[u64]) -> u64 {
    let divides = |unit: u64| values.clone().all(|v| v.is_multiple_of(unit));
    units.iter().copied().find(|&u| divides(u)).unwrap_or(1)
}

fn encode(records: &[Record], time_unit: u64, byte_unit: u64) -> Vec<u8> {
    let mut columns: Vec<u8> = records.iter().map(|r| code_of(r.kind)).collect();
    let mut before = 0;
    for record in records {
        let time = record.time.0 / time_unit;
        put(&mut columns, time - before);
        before = time;
    }
    for record in records {
        put(&mut columns, u64::from(record.length) / byte_unit);
    }
    let mut end = 0u64;
    for record in records.iter().filter(|r| r.kind != OpKind::Flush) {
        let start = record.offset.0 / byte_unit;
        put(&mut columns, zigzag(start.wrapping_sub(end)));
        end = start.wrapping_add(u64::from(record.length) / byte_unit);
    }
    columns
}

/// Decodes a file. `name` is the file's name in errors.
///
/// # Errors
/// Returns [`TraceError`] if it is not an nstrace file, of another version, damaged or cut short.
pub fn read(name: &str, bytes: &[u8]) -> Result<(Header, Trace), TraceError> {
    parse(bytes).map_err(|what| TraceError::Binary {
        file: name.to_string(),
        what: what.to_string(),
    })
}

const CUT: &str = "is cut short; fetch it again";
const DAMAGED: &str = "is damaged; fetch it again";

fn parse(bytes: &[u8]) -> Result<(Header, Trace), &'static str> {
    if !is_nstrace(bytes) {
        return Err("is not an nstrace file: it does not begin with NSTRACE");
    }
    let version = *bytes.get(MAGIC.len()).ok_or(CUT)?;
    if version != VERSION {
        return Err("is an nstrace file of another version; this program reads version 1");
    }
    let crc: [u8; 4] = bytes
        .get(CRC_START..BODY_START)
        .and_then(|b| b.try_into().ok())
        .ok_or(CUT)?;
    let body = &bytes[BODY_START..];
    if crc32fast::hash(body) != u32::from_le_bytes(crc) {
        return Err("has a wrong checksum: it is damaged or cut short; fetch it again");
    }
    let mut body = Input(body);
    let name = body.text()?;
    let title = body.text()?;
    let capacity = Some(body.varint()?).filter(|&c| c > 0).map(Bytes);
    let flags = body.byte()?;
    if flags & !(TIMED | WALLS) != 0 {
        return Err(DAMAGED);
    }
    let (time_unit, byte_unit) = (body.varint()?, body.varint()?);
    let (count, columns_len) = (body.varint()?, body.varint()?);
    let compressed = body.0.len() as u64;
    let expansion = if columns_len > LARGE {
        MOST_EXPANSION_OF_LARGE
    } else {
        MOST_EXPANSION
    };
    if columns_len > compressed.saturating_mul(expansion) || count > columns_len / LEAST_OF_RECORD {
        return Err(DAMAGED);
    }
    let columns =
        miniz_oxide::inflate::decompress_to_vec_with_limit(body.0, saturating_usize(columns_len))
            .map_err(|_| DAMAGED)?;
    let mut columns = Input(&columns);
    let records = decode(&mut columns, saturating_usize(count), time_unit, byte_unit)?;
    let wanted = if flags & WALLS == 0 { 0 } else { records.len() };
    let walls = decode_walls(&mut columns, wanted)?;
    if !columns.0.is_empty() {
        return Err(DAMAGED);
    }
    let header = Header {
        name,
        title,
        capacity,
        records: count,
    };
    let trace = Trace::new(records, flags & TIMED != 0, capacity);
    let trace = if walls.is_empty() {
        trace
    } else {
        trace.with_walls(walls)
    };
    Ok((header, trace))
}

fn decode_walls(input: &mut Input<'_>, count: usize) -> Result<Vec<Nanos>, &'static str> {
    let mut wall = 0u64;
    let mut next = || -> Result<Nanos, &'static str> {
        wall = wall.wrapping_add(unzigzag(input.varint()?));
        Ok(Nanos(wall))
    };
    (0..count).map(|_| next()).collect()
}

fn decode(
    input: &mut Input<'_>,
    count: usize,
    time_unit: u64,
    byte_unit: u64,
) -> Result<Vec<Record>, &'static str> {
    let mut records = Vec::with_capacity(count.min(input.0.len()));
    for _ in 0..count {
        records.push(Record {
            time: Nanos::ZERO,
            offset: Bytes::ZERO,
            length: 0,
            kind: kind_of(input.byte()?).ok_or(DAMAGED)?,
        });
    }
    let mut time = 0u64;
    for record in &mut records {
        time = time.checked_add(input.varint()?).ok_or(DAMAGED)?;
        record.time = Nanos(time.checked_mul(time_unit).ok_or(DAMAGED)?);
    }
    for record in &mut records {
        let length = input.varint()?.checked_mul(byte_unit).ok_or(DAMAGED)?;
        record.length = u32::try_from(length).map_err(|_| DAMAGED)?;
        if (length == 0) != (record.kind == OpKind::Flush) {
            return Err(DAMAGED);
        }
    }
    let mut end = 0u64;
    for record in records.iter_mut().filter(|r| r.kind != OpKind::Flush) {
        let start = end.wrapping_add(unzigzag(input.varint()?));
        record.offset = Bytes(start.checked_mul(byte_unit).ok_or(DAMAGED)?);
        record
            .offset
            .0
            .checked_add(u64::from(record.length))
            .ok_or(DAMAGED)?;
        end = start.wrapping_add(u64::from(record.length).checked_div(byte_unit).unwrap_or(0));
    }
    Ok(records)
}

const fn code_of(kind: OpKind) -> u8 {
    match kind {
        OpKind::Read => 0,
        OpKind::Write => 1,
        OpKind::Trim => 2,
        OpKind::Flush => 3,
    }
}

const fn kind_of(code: u8) -> Option<OpKind> {
    match code {
        0 => Some(OpKind::Read),
        1 => Some(OpKind::Write),
        2 => Some(OpKind::Trim),
        3 => Some(OpKind::Flush),
        _ => None,
    }
}

fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Zigzag encoding: maps small differences of either sign to small numbers.
const fn zigzag(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

const fn unzigzag(coded: u64) -> u64 {
    (coded >> 1) ^ (coded & 1).wrapping_neg()
}

/// The bytes still to be read.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> Result<u8, &'static str> {
        let (&first, rest) = self.0.split_first().ok_or(CUT)?;
        self.0 = rest;
        Ok(first)
    }

    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(DAMAGED);
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DAMAGED)
    }

    fn text(&mut self) -> Result<String, &'static str> {
        let length = usize::try_from(self.varint()?).map_err(|_| DAMAGED)?;
        let (text, rest) = self.0.split_at_checked(length).ok_or(CUT)?;
        self.0 = rest;
        std::str::from_utf8(text)
            .map(str::to_string)
            .map_err(|_| DAMAGED)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        (0..1u64 << 40, 0..u64::MAX / 2, 1..u32::MAX, 0..4u8).prop_map(
            |(time, offset, length, code)| {
                let kind = kind_of(code).unwrap();
                let flush = kind == OpKind::Flush;
                Record {
                    time: Nanos(time),
                    offset: Bytes(if flush { 0 } else { offset }),
                    length: if flush { 0 } else { length },
                    kind,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in proptest::collection::vec(record(), 0..50), capacity in 0..u64::MAX) {
            let capacity = Some(Bytes(capacity)).filter(|c| c.0 > 0);
            let trace = Trace::new(records, true, capacity);
            let (header, back) = read("t", &write("a-name", "A title", &trace)).unwrap();
            prop_assert_eq!(&header.name, "a-name");
            prop_assert_eq!(&header.title, "A title");
            prop_assert_eq!(header.records, trace.records().len() as u64);
            prop_assert_eq!(&back, &trace);
            let walls = trace.records().iter().map(|r| Nanos(r.offset.0 ^ r.time.0)).collect();
            let walled = trace.with_walls(walls);
            let (_, back) = read("t", &write("a-name", "A title", &walled)).unwrap();
            prop_assert_eq!(back, walled);
        }

        #[test]
        fn one_wrong_bit_is_found(bit in 0..800usize) {
            let records = (0..40).map(|i| Record { time: Nanos(i * 7919), offset: Bytes((i * 37) << 12), length: 4096, kind: OpKind::Write }).collect();
            let mut file = write("n", "t", &Trace::new(records, true, None));
            let at = bit % (file.len() * 8);
            file[at / 8] ^= 1 << (at % 8);
            prop_assert!(read("t", &file).is_err());
        }

        /// With a valid checksum, too, no contents may panic or exhaust the memory.
        #[test]
        fn any_body_is_refused_or_read(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut file = b"NSTRACE\x01".to_vec();
            file.extend(crc32fast::hash(&body).to_le_bytes());
            file.extend(body);
            if let Err(error) = read("t", &file) {
                prop_assert!(error.to_string().starts_with("t: "));
            }
        }
    }

    #[test]
    fn a_bomb_is_refused_before_it_is_unpacked() {
        let columns = vec![0; (LARGE + 1) as usize];
        let mut body = vec![0, 0, 0, TIMED];
        for number in [1, 1, LARGE / 3, LARGE + 1] {
            put(&mut body, number);
        }
        body.extend(miniz_oxide::deflate::compress_to_vec(&columns, 6));
        let mut file = b"NSTRACE\x01".to_vec();
        file.extend(crc32fast::hash(&body).to_le_bytes());
        file.extend(body);
        let message = read("t", &file).unwrap_err().to_string();
        assert!(message.contains("is damaged"), "{message}");
    }

    #[test]
    fn says_what_is_wrong() {
        let file = write("n", "t", &Trace::new(Vec::new(), false, None));
        let mut newer = file.clone();
        newer[7] = 2;
        for (bytes, part) in [
            (&b"fio version 2 iolog"[..], "does not begin with NSTRACE"),
            (&newer, "another version"),
            (&file[..10], "cut short"),
            (&file[..file.len() - 1], "wrong checksum"),
        ] {
            let message = read("x.nstrace", bytes).unwrap_err().to_string();
            assert!(
                message.starts_with("x.nstrace: ") && message.contains(part),
                "{message}"
            );
        }
    }
}
