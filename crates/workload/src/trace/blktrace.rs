//! The binary records of blktrace (`struct blk_io_trace` of linux/blktrace_api.h, version 7), in either order of bytes:
//! a file of one processor (`sda.blktrace.0`), or all of them as `blkparse -d` merges them. Each record has 48 bytes and
//! may have data after it. The requests are those of one event, as in blkparse's text.

use super::TraceError;
use super::blkparse::{Rwbs, push};
use super::builder::Builder;
use super::format::BlockEvent;
use super::lines::Line;
use crate::OpKind;
use nandscope_units::{Nanos, SECTOR_BYTES};

/// Bytes of a record without its data.
const RECORD: usize = 48;
/// First number of a record; the lowest byte is the version.
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;

/// Letters of the events, from 1 on, as blkparse prints them.
const EVENTS: [&str; 17] = [
    "Q", "M", "F", "G", "S", "R", "D", "C", "P", "U", "UT", "I", "X", "B", "A", "abort", "m",
];

/// Bits of the category in the upper half of the action.
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const PASSED_THROUGH: u32 = 1 << 9;
const NOTIFY: u32 = 1 << 10;
const DISCARD: u32 = 1 << 13;
const FORCED: u32 = 1 << 15;

/// Order of the bytes of a number.
#[derive(Clone, Copy)]
struct Order {
    is_big: bool,
}

impl Order {
    fn of(bytes: &[u8]) -> Option<Order> {
        let [big, little] = [true, false].map(|is_big| Order { is_big });
        [little, big]
            .into_iter()
            .find(|order| bytes.len() >= RECORD && order.u32(bytes, 0) & !0xff == MAGIC)
    }

    /// The number of `width` bytes at `at`, which the caller knows to be there.
    fn number(self, bytes: &[u8], at: usize, width: usize) -> u64 {
        let push = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        let bytes = &bytes[at..at + width];
        match self.is_big {
            true => bytes.iter().fold(0, push),
            false => bytes.iter().rev().fold(0, push),
        }
    }

    fn u32(self, bytes: &[u8], at: usize) -> u32 {
        self.number(bytes, at, 4) as u32
    }
}

/// Whether the file begins with a record.
pub(super) fn is_blktrace(bytes: &[u8]) -> bool {
    Order::of(bytes).is_some()
}

pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    event: BlockEvent,
    builder: &mut Builder<'_>,
) -> Result<bool, TraceError> {
    let wrong = |what: String| TraceError::Binary {
        file: name.to_string(),
        what,
    };
    let Some(order) = Order::of(bytes) else {
        return Err(wrong(
            "does not begin with a record of blktrace".to_string(),
        ));
    };
    let mut rest = bytes;
    for number in 1.. {
        if rest.is_empty() {
            break;
        }
        if rest.len() < RECORD {
            builder.note("record cut off at the end of the file");
            break;
        }
        let magic = order.u32(rest, 0);
        if magic != MAGIC | VERSION {
            return Err(wrong(format!(
                "record {number} begins with {magic:#010x}, and a record of blktrace version {VERSION} with {:#010x}",
                MAGIC | VERSION
            )));
        }
        let place = Line {
            file: name,
            number,
            text: "",
        };
        record(&place, order, &rest[..RECORD], event, builder)?;
        let data = order.number(rest, 46, 2) as usize;
        rest = rest.get(RECORD + data..).unwrap_or_default();
    }
    Ok(true)
}

/// Reads one record; `place` has its number.
fn record(
    place: &Line<'_>,
    order: Order,
    bytes: &[u8],
    event: BlockEvent,
    builder: &mut Builder<'_>,
) -> Result<(), TraceError> {
    let action = order.u32(bytes, 28);
    let category = action >> 16;
    if category & NOTIFY != 0 {
        builder.pass_over("message");
        return Ok(());
    }
    let known = (action as usize & 0xff).checked_sub(1);
    let letter = known.and_then(|n| EVENTS.get(n)).unwrap_or(&"unknown");
    if *letter != event.letter() {
        builder.pass_over(format!("event {letter}"));
        return Ok(());
    }
    let device = order.u32(bytes, 36);
    if !builder.takes_device(place, &format!("{},{}", device >> 20, device & 0xf_ffff))? {
        return Ok(());
    }
    if category & PASSED_THROUGH != 0 {
        builder.pass_over("passed-through command");
        return Ok(());
    }
    let length = u64::from(order.u32(bytes, 24));
    let kind = match category {
        c if c & DISCARD != 0 => OpKind::Trim,
        c if c & WRITE != 0 => OpKind::Write,
        _ => OpKind::Read,
    };
    let what = Rwbs {
        preflush: category & FLUSH != 0,
        kind: (length > 0).then_some(kind),
        fua: category & FORCED != 0,
    };
    let offset = order.number(bytes, 16, 8).checked_mul(SECTOR_BYTES);
    let offset = offset.ok_or_else(|| place.error("the request begins beyond 2^64 bytes"))?;
    let time = Nanos(order.number(bytes, 8, 8));
    push(place, time, what, Some((offset, length)), builder)
}
