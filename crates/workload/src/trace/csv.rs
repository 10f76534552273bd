//! Traces with one request per line in comma-separated fields: those of Microsoft Research Cambridge, of Alibaba Cloud,
//! of the Storage Performance Council and of Systor '17. They differ in the order of fields and in the units of time
//! and address.

use super::TraceError;
use super::blkparse::seconds;
use super::builder::Builder;
use super::lines::{Line, lines, shortened};
use crate::OpKind;
use nandscope_units::{Nanos, SECTOR_BYTES};

/// Format of such a trace.
pub(super) struct Form {
    /// Names of the fields, as in a heading.
    fields: &'static [&'static str],
    /// Name of the field with the kind; then its words for reads and for writes.
    kind: (&'static str, &'static str, &'static str),
    /// Positions of the fields that are used.
    device_at: usize,
    kind_at: usize,
    offset_at: usize,
    length_at: usize,
    stamp_at: usize,
    /// Name of the length in messages.
    length: &'static str,
    clock: Clock,
    /// Bytes of a unit of the offset.
    unit: u64,
    /// Whether further fields may follow.
    has_more: bool,
}

/// Meaning of a timestamp.
#[derive(Clone, Copy)]
enum Clock {
    /// Integers; the unit is this number of nanoseconds.
    Ticks(u64),
    /// Ticks beyond 64 bits of nanoseconds, counted from the first one.
    TicksFromFirst(u64),
    /// Seconds with decimals.
    Seconds,
}

/// Microsoft Research Cambridge (SNIA IOTTA, "MSR Cambridge Traces"). The timestamp is a Windows file time
/// in units of 100 ns, which counts from 1601; offset and size are bytes; the response time is not used.
pub(super) const MSR: Form = Form {
    fields: &[
        "Timestamp",
        "Hostname",
        "DiskNumber",
        "Type",
        "Offset",
        "Size",
        "ResponseTime",
    ],
    kind: ("type", "Read", "Write"),
    device_at: 2,
    kind_at: 3,
    offset_at: 4,
    length_at: 5,
    stamp_at: 0,
    length: "the size",
    clock: Clock::TicksFromFirst(100),
    unit: 1,
    has_more: false,
};

/// Alibaba Cloud (github.com/alibaba/block-traces). Offset and length are bytes, the time counts microseconds
/// from 1970: too long for 64 bits of nanoseconds only after 2554.
pub(super) const ALIBABA: Form = Form {
    fields: &["device_id", "opcode", "offset", "length", "timestamp"],
    kind: ("opcode", "R", "W"),
    device_at: 0,
    kind_at: 1,
    offset_at: 2,
    length_at: 3,
    stamp_at: 4,
    length: "the length",
    clock: Clock::Ticks(1000),
    unit: 1,
    has_more: false,
};

/// Storage Performance Council (SPC Trace File Format Specification 1.0.1; the UMass repository's OLTP and search traces).
/// The address counts blocks of 512 bytes within a storage unit (ASU), the time seconds. Further fields may follow.
pub(super) const SPC: Form = Form {
    fields: &["ASU", "LBA", "Size", "Opcode", "Timestamp"],
    kind: ("opcode", "R", "W"),
    device_at: 0,
    kind_at: 3,
    offset_at: 1,
    length_at: 2,
    stamp_at: 4,
    length: "the size",
    clock: Clock::Seconds,
    unit: SECTOR_BYTES,
    has_more: true,
};

/// Systor '17 (SNIA IOTTA 4964, "Understanding Storage Traffic Characteristics on Enterprise Virtual Desktop
/// Infrastructure"). Offset and size are bytes, the time counts seconds from 1970; the response time is not used.
pub(super) const SYSTOR: Form = Form {
    fields: &["Timestamp", "Response", "IOType", "LUN", "Offset", "Size"],
    kind: ("type", "R", "W"),
    device_at: 3,
    kind_at: 2,
    offset_at: 4,
    length_at: 5,
    stamp_at: 0,
    length: "the size",
    clock: Clock::Seconds,
    unit: 1,
    has_more: false,
};

/// Time reserved for records earlier than the first one, if the file is to be sorted: a day.
const MARGIN_NS: u64 = 24 * 3600 * 1_000_000_000;

impl Form {
    pub(super) fn is_record(&self, text: &str) -> bool {
        let fields: Vec<&str> = text.split(',').collect();
        let stamp = |text: &str| match self.clock {
            Clock::Seconds => text.contains('.') && text.parse::<f64>().is_ok(),
            Clock::Ticks(_) | Clock::TicksFromFirst(_) => text.parse::<u64>().is_ok(),
        };
        self.has_fields(&fields)
            && self.kind(fields[self.kind_at]).is_some()
            && stamp(fields[self.stamp_at].trim())
    }

    fn has_fields(&self, fields: &[&str]) -> bool {
        let expected = self.fields.len();
        fields.len() == expected || (self.has_more && fields.len() > expected)
    }

    fn kind(&self, field: &str) -> Option<OpKind> {
        let (_, read, write) = self.kind;
        match field.trim() {
            word if word.eq_ignore_ascii_case(read) => Some(OpKind::Read),
            word if word.eq_ignore_ascii_case(write) => Some(OpKind::Write),
            _ => None,
        }
    }

    pub(super) fn parse(
        &self,
        name: &str,
        bytes: &[u8],
        builder: &mut Builder<'_>,
    ) -> Result<bool, TraceError> {
        let mut first = None;
        for line in lines(name, bytes) {
            let line = line?;
            builder.count_line();
            if line.text.trim_start().starts_with(self.fields[0]) {
                builder.pass_over("headings");
                continue;
            }
            self.parse_line(&line, &mut first, builder)?;
        }
        Ok(true)
    }

    fn parse_line(
        &self,
        line: &Line<'_>,
        first: &mut Option<u64>,
        builder: &mut Builder<'_>,
    ) -> Result<(), TraceError> {
        let fields: Vec<&str> = line.text.split(',').collect();
        if !self.has_fields(&fields) {
            return Err(line.error(format!(
                "has {} fields; expected {}",
                fields.len(),
                self.fields.join(",")
            )));
        }
        if !builder.takes_device(line, fields[self.device_at].trim())? {
            return Ok(());
        }
        let kind = self.kind(fields[self.kind_at]).ok_or_else(|| {
            let (called, read, write) = self.kind;
            let found = shortened(fields[self.kind_at]);
            line.error(format!("{called} `{found}` is neither {read} nor {write}"))
        })?;
        let number = |at: usize, meaning: &str| line.number(fields[at], meaning);
        let stamp = || number(self.stamp_at, "the timestamp");
        let time = match self.clock {
            Clock::Ticks(tick) => Nanos(stamp()?.saturating_mul(tick)),
            Clock::TicksFromFirst(tick) => {
                let stamp = stamp()?;
                let start = *first.get_or_insert(stamp.saturating_sub(MARGIN_NS / tick));
                Nanos(stamp.saturating_sub(start).saturating_mul(tick))
            }
            Clock::Seconds => seconds(line, fields[self.stamp_at].trim())?,
        };
        let offset = number(self.offset_at, "the offset")?;
        let offset = offset.checked_mul(self.unit);
        let offset = offset.ok_or_else(|| line.error("the request begins beyond 2^64 bytes"))?;
        let length = number(self.length_at, self.length)?;
        builder.push(line, time, kind, offset, length)
    }
}
