//! The text that `blkparse` prints by default (`man blkparse`, OUTPUT FORMAT):
//! `8,0  1  17  0.000581000  4711  D  WS 274432 + 8 [cp]` - device, processor, sequence number,
//! seconds, process, event, what it does (RWBS), first sector, sectors, process name.
//! Its summary at the end, and events other than the chosen one, are counted and passed over.

use super::TraceError;
use super::builder::Builder;
use super::format::BlockEvent;
use super::lines::{Line, lines, shortened};
use crate::OpKind;
use nandscope_units::{Nanos, SECTOR_BYTES};

impl BlockEvent {
    pub(super) const fn letter(self) -> &'static str {
        match self {
            BlockEvent::Queue => "Q",
            BlockEvent::Issue => "D",
            BlockEvent::Complete => "C",
        }
    }
}

/// Whether a line begins as an event does: with `major,minor`.
pub(super) fn is_event(text: &str) -> bool {
    let mut fields = text.split_whitespace();
    fields.next().is_some_and(is_device) && fields.next().is_some_and(is_whole)
}

fn is_device(field: &str) -> bool {
    field
        .split_once(',')
        .is_some_and(|(major, minor)| is_whole(major) && is_whole(minor))
}

fn is_whole(field: &str) -> bool {
    !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit())
}

pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    event: BlockEvent,
    builder: &mut Builder<'_>,
) -> Result<bool, TraceError> {
    for line in lines(name, bytes) {
        let line = line?;
        builder.count_line();
        if is_event(line.text) {
            parse_event(&line, event, builder)?;
        } else {
            builder.pass_over("summary line");
        }
    }
    Ok(true)
}

fn parse_event(
    line: &Line<'_>,
    event: BlockEvent,
    builder: &mut Builder<'_>,
) -> Result<(), TraceError> {
    let mut fields = line.text.split_whitespace();
    let device = fields.next().unwrap_or_default();
    let (time, action) = (fields.nth(2), fields.nth(1));
    let (Some(time), Some(action)) = (time, action) else {
        return Err(line.error(
            "an event has `device cpu sequence seconds pid event rwbs sector + sectors [process]`; this line ends early",
        ));
    };
    if action != event.letter() {
        builder.pass_over(format!("event {}", shortened(action)));
        return Ok(());
    }
    if !builder.takes_device(line, device)? {
        return Ok(());
    }
    let time = seconds(line, time)?;
    let rwbs = fields.next().unwrap_or_default();
    let Some(what) = Rwbs::parse(rwbs) else {
        return Err(line.error(format!(
            "`{}` is not an RWBS field (F, then R, W, D, F or N, then F, A, S, M)",
            shortened(rwbs)
        )));
    };
    // Without a range the line continues with the process name in brackets.
    let range = match fields.next().filter(|f| !f.starts_with('[')) {
        None => None,
        Some(first) => match (fields.next(), fields.next()) {
            // A passed-through SCSI command: its length and its bytes in parentheses.
            (Some(command), _) if command.starts_with('(') => {
                builder.pass_over("passed-through command");
                return Ok(());
            }
            (plus, sectors) => Some(range(line, first, plus, sectors)?),
        },
    };
    push(line, time, what, range, builder)
}

/// The meaning of the RWBS letters (`fill_rwbs` in the kernel's blktrace.c and in blkparse_fmt.c).
#[derive(Clone, Copy)]
pub(super) struct Rwbs {
    /// A flush precedes the request.
    pub(super) preflush: bool,
    pub(super) kind: Option<OpKind>,
    /// The request has forced unit access.
    pub(super) fua: bool,
}

impl Rwbs {
    fn parse(text: &str) -> Option<Rwbs> {
        let (preflush, rest) = match text.strip_prefix('F') {
            // A lone F, or F before flags only, is the flush itself.
            Some(rest) if rest.starts_with(['R', 'W', 'D', 'F', 'N']) => (true, rest),
            _ => (false, text),
        };
        let mut letters = rest.chars();
        let kind = match letters.next()? {
            'R' => Some(OpKind::Read),
            'W' => Some(OpKind::Write),
            'D' => Some(OpKind::Trim),
            'F' => Some(OpKind::Flush),
            'N' => None,
            _ => return None,
        };
        let flags = letters.as_str();
        // E: secure erase, U: atomic write.
        if !flags.chars().all(|c| "FASMBEU".contains(c)) {
            return None;
        }
        Some(Rwbs {
            preflush,
            kind,
            fua: flags.contains('F'),
        })
    }
}

/// Adds a request, with the flushes that belong to it.
pub(super) fn push(
    line: &Line<'_>,
    time: Nanos,
    what: Rwbs,
    range: Option<(u64, u64)>,
    builder: &mut Builder<'_>,
) -> Result<(), TraceError> {
    let flushes = what.preflush || what.kind == Some(OpKind::Flush);
    if flushes {
        builder.push(line, time, OpKind::Flush, 0, 0)?;
    }
    let data = match (what.kind, range) {
        (Some(kind), Some((offset, length))) if kind != OpKind::Flush && length > 0 => {
            Some((kind, offset, length))
        }
        _ => None,
    };
    let Some((kind, offset, length)) = data else {
        if !flushes {
            builder.pass_over("command without data");
        }
        return Ok(());
    };
    builder.push(line, time, kind, offset, length)?;
    if what.fua && kind == OpKind::Write {
        // Operations know no FUA. Linux itself does this on a device without FUA.
        builder.note("forced unit access, as a flush after the write");
        builder.push(line, time, OpKind::Flush, 0, 0)?;
    }
    Ok(())
}

/// `274432 + 8`, in bytes.
fn range(
    line: &Line<'_>,
    sector: &str,
    plus: Option<&str>,
    sectors: Option<&str>,
) -> Result<(u64, u64), TraceError> {
    let (Some("+"), Some(sectors)) = (plus, sectors) else {
        return Err(line.error("expected `sector + sectors` after the RWBS field"));
    };
    let in_bytes = |field: &str, meaning: &str| {
        line.number(field, meaning)?
            .checked_mul(SECTOR_BYTES)
            .ok_or_else(|| line.error(format!("{meaning} is beyond 2^64 bytes")))
    };
    Ok((
        in_bytes(sector, "the sector")?,
        in_bytes(sectors, "the number of sectors")?,
    ))
}

/// `12.000581000`, exactly: a float would lose nanoseconds.
pub(super) fn seconds(line: &Line<'_>, field: &str) -> Result<Nanos, TraceError> {
    let wrong = || line.error(format!("the time `{}` is not in seconds", shortened(field)));
    let (whole, fraction) = field.split_once('.').unwrap_or((field, "0"));
    if !is_whole(whole) || !is_whole(fraction) || fraction.len() > 9 {
        return Err(wrong());
    }
    let seconds: u64 = whole.parse().map_err(|_| wrong())?;
    let digits: u64 = fraction.parse().map_err(|_| wrong())?;
    let ns = digits * 10u64.pow(9 - fraction.len() as u32);
    seconds
        .checked_mul(1_000_000_000)
        .and_then(|s| s.checked_add(ns))
        .map(Nanos)
        .ok_or_else(wrong)
}
