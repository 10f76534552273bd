//! Options of the contents of writes. They take effect if contents are stored: on real targets, and on simulated
//! devices with `--contents`.

use super::Kind::{Count, Flag, Other};
use super::{AS_IN_FIO, JobOption, flag, number, option, word_of};
use crate::job::data::{DataPattern, Repetition};
use crate::job::text::size_text;

const REPETITIONS: &[(&str, Repetition)] = &[
    ("repeat", Repetition::Previous),
    ("working_set", Repetition::WorkingSet),
];

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "zero_buffers",
        AS_IN_FIO,
        Flag(|j, on| j.data.zeros = on),
        |j| flag(j.data.zeros),
    ),
    option(
        "buffer_pattern",
        AS_IN_FIO,
        Other(
            "`0xdeadface`, `\"abcd\"`, `-12`, `'file'`, in any order",
            |j, v| {
                j.data.pattern = Some(DataPattern::parse(v, false)?);
                Ok(())
            },
        ),
        |j| j.data.pattern.as_ref().map(DataPattern::show),
    ),
    option(
        "refill_buffers",
        AS_IN_FIO,
        Flag(|j, on| j.data.refill = on),
        |j| flag(j.data.refill),
    ),
    option(
        "scramble_buffers",
        AS_IN_FIO,
        Flag(|j, on| j.data.scramble = on),
        |j| flag(j.data.scramble),
    ),
    option(
        "buffer_compress_percentage",
        AS_IN_FIO,
        Count(0, 100, |j, n| j.data.compressible = n),
        |j| number(j.data.compressible),
    ),
    option(
        "buffer_compress_chunk",
        AS_IN_FIO,
        Other("size", |j, v| {
            let bytes = v.number_of(v.text()?, 0..=u32::MAX)?;
            j.data.chunk = Some(bytes).filter(|bytes| *bytes > 0);
            Ok(())
        }),
        |j| j.data.chunk.map(|bytes| size_text(bytes.into())),
    ),
    option(
        "dedupe_percentage",
        AS_IN_FIO,
        Count(0, 100, |j, n| j.data.repeated = n),
        |j| number(j.data.repeated),
    ),
    option(
        "dedupe_mode",
        AS_IN_FIO,
        Other("`repeat` or `working_set`", |j, v| {
            j.data.repetition = v.word(REPETITIONS, "write repeat or working_set")?;
            Ok(())
        }),
        |j| word_of(REPETITIONS, j.data.repetition),
    ),
    option(
        "dedupe_working_set_percentage",
        AS_IN_FIO,
        Count(0, 100, |j, n| j.data.working_set = n),
        |j| number(j.data.working_set),
    ),
    option(
        "dedupe_global",
        AS_IN_FIO,
        Flag(|j, on| j.data.is_global = on),
        |j| flag(j.data.is_global),
    ),
];

/// Names of the options that change the contents of writes.
pub fn data_options() -> impl Iterator<Item = &'static str> {
    let names = OPTIONS.iter().map(|option| option.name);
    // `scramble_buffers` is on by default, and other options imply `refill_buffers`: neither needs stored contents.
    names.filter(|name| !matches!(*name, "refill_buffers" | "scramble_buffers"))
}
