//! Traces with a request on each line, in fields with commas between them: those of Microsoft Research
//! Cambridge and of Alibaba Cloud. They differ in which field is where, and in how they count time.

use super::TraceError;
use super::builder::Builder;
use super::lines::{Line, lines, shortened};
use crate::OpKind;
use nandscope_units::Nanos;

/// Format of such a trace.
pub(super) struct Form {
    /// The names of the fields, as a heading has them.
    fields: &'static [&'static str],
    /// Name of the field of the kind, and its words for reads and writes.
    kind: (&'static str, &'static str, &'static str),
    /// Positions of the fields that are used.
    device_at: usize,
    kind_at: usize,
    offset_at: usize,
    length_at: usize,
    stamp_at: usize,
    /// Name of the length in messages.
    length: &'static str,
    /// Nanoseconds of a unit of the timestamp.
    tick: u64,
    /// Whether the timestamps are too great for 64 bits of nanoseconds, and count from the first one.
    from_first: bool,
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
    tick: 100,
    from_first: true,
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
    tick: 1000,
    from_first: false,
};

/// Room for records that are earlier than the first one, when the file is to be sorted: a day.
const MARGIN_NS: u64 = 24 * 3600 * 1_000_000_000;

impl Form {
    pub(super) fn is_record(&self, text: &str) -> bool {
        let fields: Vec<&str> = text.split(',').collect();
        fields.len() == self.fields.len()
            && self.kind(fields[self.kind_at]).is_some()
            && fields[self.stamp_at].trim().parse::<u64>().is_ok()
    }

    fn kind(&self, field: &str) -> Option<OpKind> {
        let (_, read, write) = self.kind;
        match field.trim() {
            word if word == read => Some(OpKind::Read),
            word if word == write => Some(OpKind::Write),
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
        if fields.len() != self.fields.len() {
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
        let stamp = number(self.stamp_at, "the timestamp")?;
        let start = if self.from_first {
            *first.get_or_insert(stamp.saturating_sub(MARGIN_NS / self.tick))
        } else {
            0
        };
        let time = Nanos(stamp.saturating_sub(start).saturating_mul(self.tick));
        let offset = number(self.offset_at, "the offset")?;
        let length = number(self.length_at, self.length)?;
        builder.push(line, time, kind, offset, length)
    }
}
