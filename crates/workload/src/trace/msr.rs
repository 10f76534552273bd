//! The block traces of Microsoft Research Cambridge (SNIA IOTTA, "MSR Cambridge Traces"):
//! `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`. The timestamp is a Windows file
//! time in units of 100 ns, offset and size are bytes; the response time is not used.

use super::TraceError;
use super::builder::Builder;
use super::lines::{Line, lines, shortened};
use crate::OpKind;
use nandscope_units::Nanos;

const FIELDS: usize = 7;

pub(super) fn is_record(text: &str) -> bool {
    let fields: Vec<&str> = text.split(',').collect();
    fields.len() == FIELDS && kind(fields[3]).is_some() && fields[0].trim().parse::<u64>().is_ok()
}

fn kind(field: &str) -> Option<OpKind> {
    match field.trim() {
        "Read" => Some(OpKind::Read),
        "Write" => Some(OpKind::Write),
        _ => None,
    }
}

pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    builder: &mut Builder<'_>,
) -> Result<bool, TraceError> {
    // File times count from 1601 and would not fit 64 bits of nanoseconds.
    let mut first = None;
    for line in lines(name, bytes) {
        let line = line?;
        builder.count_line();
        if line.text.trim_start().starts_with("Timestamp") {
            builder.pass_over("headings");
            continue;
        }
        parse_line(&line, &mut first, builder)?;
    }
    Ok(true)
}

fn parse_line(
    line: &Line<'_>,
    first: &mut Option<u64>,
    builder: &mut Builder<'_>,
) -> Result<(), TraceError> {
    let fields: Vec<&str> = line.text.split(',').collect();
    let [stamp, _host, disk, kind_field, offset, size, _response] = fields[..] else {
        return Err(line.error(format!(
            "has {} fields; expected Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime",
            fields.len()
        )));
    };
    if !builder.takes_device(line, disk.trim())? {
        return Ok(());
    }
    let kind = kind(kind_field).ok_or_else(|| {
        line.error(format!(
            "type `{}` is neither Read nor Write",
            shortened(kind_field)
        ))
    })?;
    let stamp = line.number(stamp, "the timestamp")?;
    let start = *first.get_or_insert(stamp.saturating_sub(MARGIN));
    let time = Nanos(stamp.saturating_sub(start).saturating_mul(100));
    let offset = line.number(offset, "the offset")?;
    let size = line.number(size, "the size")?;
    builder.push(line, time, kind, offset, size)
}

/// Room for records that are earlier than the first one, when the file is to be sorted: a day.
const MARGIN: u64 = 24 * 3600 * 10_000_000;
