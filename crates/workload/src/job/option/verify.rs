//! Options that verify contents.

use super::Kind::{Count, Flag, Number, Other};
use super::{JobOption, flag, number, option};
use crate::job::data::DataPattern;
use crate::job::error::Problem;
use crate::job::value::Value;

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "verify",
        "How contents are verified; on a simulated device with `--contents`. `pattern` compares with `verify_pattern`, `meta` checks labels, `null` nothing, the others labels and data (see below)",
        Other(
            "`none`, `pattern`, `meta`, `null`, `crc32c`, `md5`, …",
            |j, v| {
                j.verify.method = verify_method(v)?;
                Ok(())
            },
        ),
        |j| j.verify.method.clone(),
    ),
    option(
        "verify_pattern",
        "What the blocks carry. With `verify=pattern` that is all, otherwise it stands between what the method needs; `%o` is the offset of the block",
        Other("as `buffer_pattern`, and `%o`", |j, v| {
            j.verify.pattern = Some(DataPattern::parse(v, true)?);
            Ok(())
        }),
        |j| j.verify.pattern.as_ref().map(DataPattern::show),
    ),
    option(
        "do_verify",
        "Read back after the group what it wrote",
        Flag(|j, on| j.verify.read_back = on),
        |j| flag(j.verify.read_back),
    ),
    option(
        "verify_only",
        "Write nothing: read and compare what an earlier run of the same job with the same seed wrote",
        Flag(|j, on| j.verify.only = on),
        |j| flag(j.verify.only),
    ),
    option(
        "verify_backlog",
        "Read back within the job: after this many writes; 0 does so after the group",
        Number(|j, n| j.verify.backlog.after = n),
        |j| number(j.verify.backlog.after),
    ),
    option(
        "verify_backlog_batch",
        "Blocks that `verify_backlog` reads back at once; 0 is as many as it waits for",
        Number(|j, n| j.verify.backlog.batch = n),
        |j| number(j.verify.backlog.batch),
    ),
    option(
        "trim_percentage",
        "Trim this percentage of the written blocks again, where the job verifies and has a `trim_backlog`",
        Count(0, 100, |j, n| j.verify.trim_percent = n),
        |j| number(j.verify.trim_percent),
    ),
    option(
        "trim_backlog",
        "Trim after this many writes; 0 is never",
        Number(|j, n| j.verify.trim_backlog.after = n),
        |j| number(j.verify.trim_backlog.after),
    ),
    option(
        "trim_backlog_batch",
        "Blocks that `trim_backlog` trims at once; 0 is as many as it waits for",
        Number(|j, n| j.verify.trim_backlog.batch = n),
        |j| number(j.verify.trim_backlog.batch),
    ),
    option(
        "trim_verify_zero",
        "Trimmed blocks must read as zeros",
        Flag(|j, on| j.verify.trim_zero = on),
        |j| flag(j.verify.trim_zero),
    ),
];

const VERIFY_METHODS: &[&str] = &[
    "null",
    "meta",
    "pattern",
    "md5",
    "crc64",
    "crc32",
    "crc32c",
    "crc32c-intel",
    "crc16",
    "crc7",
    "xxhash",
    "sha256",
    "sha512",
    "sha1",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
];

fn verify_method(v: Value<'_>) -> Result<Option<String>, Problem> {
    match v.text()? {
        "0" | "none" => Ok(None),
        name if VERIFY_METHODS.contains(&name) => Ok(Some(name.to_string())),
        _ => Err(v.bad(
            "not a method that is supported",
            format!("write one of {}", VERIFY_METHODS.join(", ")),
        )),
    }
}
