//! Parts of a job's writes with separate headers, and whether the header fits into them.

use super::error::Problem;
use super::model::{BlockSizes, Job};
use super::verify::VerifyMethod::Sha512;
use crate::OpKind;
use num_integer::gcd;

impl Job {
    /// Size of the parts of the job's writes with separate headers, bytes: `verify_interval`, if the block sizes are
    /// multiples of it; otherwise, as in fio, the largest size of which they are multiples.
    pub fn verify_interval(&self) -> u32 {
        let writes = self.bs.get(OpKind::Write);
        let (least, most) = (writes.min(), writes.max());
        let mut interval = match self.verify.interval {
            0 if least != most => least,
            interval => interval,
        };
        if interval > least {
            interval = least;
        } else if self.rw.kinds().contains(&OpKind::Read) {
            interval = interval.min(self.bs.get(OpKind::Read).min());
        }
        match interval {
            0 => gcd(least, most),
            n if !least.is_multiple_of(n) || !most.is_multiple_of(n) => gcd(least, most),
            n => n,
        }
    }

    /// Greatest common divisor of the sizes of the job's writes and of their parts with a header, bytes; with
    /// sectors if other options than block size and offset place the writes.
    pub fn verify_unit(&self) -> u32 {
        let sizes = match self.bs.get(OpKind::Write) {
            BlockSizes::Split(parts) => parts.iter().map(|(size, _)| *size).collect(),
            sizes => vec![sizes.min(), sizes.max()],
        };
        let is_plain = self.trace.is_none()
            && self.files.count() < 2
            && self.strides.is_none()
            && self.block_align.get(OpKind::Write).is_none()
            && (self.rw.random || self.rw.modifier.is_none());
        let placed = if is_plain { 0 } else { SECTOR };
        sizes
            .into_iter()
            .chain([placed])
            .fold(self.verify_interval(), gcd)
    }
}

/// Size of a sector, bytes.
const SECTOR: u32 = 512;

/// Checks that the header and data of a part fit into it; returns the option that is wrong.
pub(super) fn check(job: &Job) -> Option<(&'static str, Problem)> {
    let method = job.verify.method?;
    let (overhead, interval, offset) =
        (method.overhead(), job.verify_interval(), job.verify.offset);
    if overhead == 0 {
        return None;
    }
    // fio's sha512 cannot be compared where there is less data than its buffer has.
    let least = overhead
        + if method == Sha512 {
            Sha512.checksum_length()
        } else {
            1
        };
    if interval < least {
        let message = format!(
            "`verify={}` needs parts of at least {least} bytes, and these have {interval}",
            method.name()
        );
        let key = if job.verify.interval == 0 {
            "verify"
        } else {
            "verify_interval"
        };
        return Some((
            key,
            Problem::new(message, "use a larger verify_interval or block size"),
        ));
    }
    let fits = offset >= overhead
        && interval
            .checked_sub(overhead)
            .is_some_and(|most| offset <= most);
    (offset > 0 && !fits).then(|| {
        let most = interval - overhead;
        let message = format!(
            "`verify_offset={offset}`: the header of {overhead} bytes overlaps the place from which it is moved, or the end of its part of {interval} bytes; fio fails to verify what it writes so"
        );
        let remedy = match most >= overhead {
            true => format!("use 0, or {overhead} to {most}"),
            false => "remove it".to_string(),
        };
        ("verify_offset", Problem::new(message, remedy))
    })
}
