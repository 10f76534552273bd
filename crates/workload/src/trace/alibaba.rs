//! The block traces of Alibaba Cloud (github.com/alibaba/block-traces):
//! `device_id,opcode,offset,length,timestamp`, offset and length in bytes, the time in
//! microseconds, opcode `R` or `W`.

use super::TraceError;
use super::builder::Builder;
use super::lines::{Line, lines, shortened};
use crate::OpKind;
use nandscope_units::Nanos;

const FIELDS: usize = 5;

pub(super) fn is_record(text: &str) -> bool {
    let fields: Vec<&str> = text.split(',').collect();
    fields.len() == FIELDS && kind(fields[1]).is_some() && fields[4].trim().parse::<u64>().is_ok()
}

fn kind(field: &str) -> Option<OpKind> {
    match field.trim() {
        "R" => Some(OpKind::Read),
        "W" => Some(OpKind::Write),
        _ => None,
    }
}

pub(super) fn parse(
    name: &str,
    bytes: &[u8],
    builder: &mut Builder<'_>,
) -> Result<bool, TraceError> {
    // The published files count from 1970: too long for 64 bits of nanoseconds only after 2554.
    for line in lines(name, bytes) {
        let line = line?;
        builder.count_line();
        if line.text.trim_start().starts_with("device_id") {
            builder.pass_over("headings");
            continue;
        }
        parse_line(&line, builder)?;
    }
    Ok(true)
}

fn parse_line(line: &Line<'_>, builder: &mut Builder<'_>) -> Result<(), TraceError> {
    let fields: Vec<&str> = line.text.split(',').collect();
    let [device, opcode, offset, length, stamp] = fields[..] else {
        return Err(line.error(format!(
            "has {} fields; expected device_id,opcode,offset,length,timestamp",
            fields.len()
        )));
    };
    if !builder.takes_device(line, device.trim())? {
        return Ok(());
    }
    let kind = kind(opcode)
        .ok_or_else(|| line.error(format!("opcode `{}` is neither R nor W", shortened(opcode))))?;
    let time = Nanos::from_micros(line.number(stamp, "the timestamp")?);
    let offset = line.number(offset, "the offset")?;
    let length = line.number(length, "the length")?;
    builder.push(line, time, kind, offset, length)
}
