//! Options that verify contents.

use super::Kind::{Count, Flag, Number, Other};
use super::{AS_IN_FIO, JobOption, flag, number, option};
use crate::job::data::DataPattern;
use crate::job::error::Problem;
use crate::job::text::size_text;
use crate::job::value::Value;
use crate::job::verify::{VERIFY_HEADER, VerifyMethod};

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "verify",
        "See [below](#verification); a simulated device needs `--contents`",
        Other(
            "`none`, `pattern`, `meta`, `null`, `crc32c`, `md5`, …",
            |j, v| {
                j.verify.method = verify_method(v)?;
                Ok(())
            },
        ),
        |j| j.verify.method.map(|method| method.name().to_string()),
    ),
    option(
        "verify_pattern",
        AS_IN_FIO,
        Other("as `buffer_pattern`, and `%o`", |j, v| {
            j.verify.pattern = Some(DataPattern::parse(v, true)?);
            Ok(())
        }),
        |j| j.verify.pattern.as_ref().map(DataPattern::show),
    ),
    option(
        "verify_interval",
        AS_IN_FIO,
        Other("size", |j, v| {
            // fio accepts no interval smaller than two headers.
            let least = 2 * VERIFY_HEADER;
            j.verify.interval = match v.number_of::<u32>(v.text()?, 0..=u32::MAX)? {
                n if n > 0 && n < least => {
                    return Err(v.bad("smaller than two headers", format!("use {least} or more")));
                }
                n => n,
            };
            Ok(())
        }),
        |j| size(j.verify.interval),
    ),
    option(
        "verify_offset",
        AS_IN_FIO,
        Other("size", |j, v| {
            j.verify.offset = v.number_of(v.text()?, 0..=u32::MAX)?;
            Ok(())
        }),
        |j| size(j.verify.offset),
    ),
    option(
        "do_verify",
        AS_IN_FIO,
        Flag(|j, on| j.verify.read_back = on),
        |j| flag(j.verify.read_back),
    ),
    option(
        "verify_only",
        AS_IN_FIO,
        Flag(|j, on| j.verify.only = on),
        |j| flag(j.verify.only),
    ),
    option(
        "verify_backlog",
        AS_IN_FIO,
        Number(|j, n| j.verify.backlog.after = n),
        |j| number(j.verify.backlog.after),
    ),
    option(
        "verify_backlog_batch",
        AS_IN_FIO,
        Number(|j, n| j.verify.backlog.batch = n),
        |j| number(j.verify.backlog.batch),
    ),
    option(
        "verify_dump",
        "Files of the first 16 mismatches ([below](#verification))",
        Flag(|j, on| j.verify.dump = on),
        |j| flag(j.verify.dump),
    ),
    option(
        "trim_percentage",
        AS_IN_FIO,
        Count(0, 100, |j, n| j.verify.trim_percent = n),
        |j| number(j.verify.trim_percent),
    ),
    option(
        "trim_backlog",
        AS_IN_FIO,
        Number(|j, n| j.verify.trim_backlog.after = n),
        |j| number(j.verify.trim_backlog.after),
    ),
    option(
        "trim_backlog_batch",
        AS_IN_FIO,
        Number(|j, n| j.verify.trim_backlog.batch = n),
        |j| number(j.verify.trim_backlog.batch),
    ),
    option(
        "trim_verify_zero",
        AS_IN_FIO,
        Flag(|j, on| j.verify.trim_zero = on),
        |j| flag(j.verify.trim_zero),
    ),
];

fn size(bytes: u32) -> Option<String> {
    (bytes > 0).then(|| size_text(bytes.into()))
}

fn verify_method(v: Value<'_>) -> Result<Option<VerifyMethod>, Problem> {
    let name = v.text()?;
    if matches!(name, "0" | "none") {
        return Ok(None);
    }
    VerifyMethod::find(name).map(Some).ok_or_else(|| {
        let names: Vec<&str> = VerifyMethod::all().map(VerifyMethod::name).collect();
        v.bad(
            "not a method that is supported",
            format!("write one of {}", names.join(", ")),
        )
    })
}
