//! Options that select the region of the target and the amount of data.

use super::Kind::{Extent as Size, Number, Other};
use super::{AS_IN_FIO, JobOption, number, option};
use crate::job::extent::Extent;
use crate::job::model::{Job, StridedZones};
use crate::job::text::{extent_text, size_text};

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "size",
        "A percentage is one of the target. More than the target is an error",
        Size(|j, size| j.size = Some(size)),
        |j| j.size.map(extent_text),
    ),
    option(
        "io_size",
        AS_IN_FIO,
        Size(|j, size| j.io_size = Some(size)),
        |j| j.io_size.map(extent_text),
    ),
    option(
        "offset",
        "A percentage is one of the target, rounded up to blocks",
        Size(|j, size| j.offset = size),
        |j| Some(extent_text(j.offset)),
    ),
    option(
        "offset_align",
        AS_IN_FIO,
        Other("size", |j, v| {
            j.offset_align = v.block_or_none()?;
            Ok(())
        }),
        |j| j.offset_align.map(|align| size_text(align.into())),
    ),
    option(
        "offset_increment",
        AS_IN_FIO,
        Size(|j, size| j.offset_increment = size),
        |j| Some(extent_text(j.offset_increment)),
    ),
    option(
        "zonemode",
        "Other modes are refused",
        Other("`none` or `strided`", |j, v| {
            match v.text()? {
                "none" => zones(j).is_on = false,
                "strided" => zones(j).is_on = true,
                _ => {
                    return Err(v.bad(
                        "zoned block devices are not supported",
                        "write none or strided",
                    ));
                }
            }
            Ok(())
        }),
        |j| {
            let strides = j.strides.filter(|zones| zones.is_on);
            strides.map(|_| "strided".to_string())
        },
    ),
    option(
        "zonesize",
        "With `zonemode=strided` only",
        Other("size", |j, v| {
            zones(j).size = v.size_of(v.text()?)?.0;
            Ok(())
        }),
        |j| j.strides.map(|zones| size_text(zones.size)),
    ),
    option(
        "zonerange",
        AS_IN_FIO,
        Other("size", |j, v| {
            let range = v.size_of(v.text()?)?.0;
            zones(j).range = Some(range).filter(|range| *range > 0);
            Ok(())
        }),
        |j| j.strides.and_then(|zones| zones.range).map(size_text),
    ),
    option(
        "zoneskip",
        AS_IN_FIO,
        Other("size", |j, v| {
            zones(j).skip = v.size_of(v.text()?)?.0;
            Ok(())
        }),
        |j| j.strides.map(|zones| size_text(zones.skip)),
    ),
    option(
        "number_ios",
        AS_IN_FIO,
        Number(|j, n| j.number_ios = Some(n).filter(|n| *n > 0)),
        |j| j.number_ios.and_then(number),
    ),
    option(
        "nandscope_fullness",
        "Fill the device to this percentage before the job",
        Other("`80%`", |j, v| {
            let text = v.text()?;
            let percent = text.strip_suffix('%').unwrap_or(text);
            j.fullness_percent = Some(v.number_of(percent, 0..=100)?);
            Ok(())
        }),
        |j| j.fullness_percent.map(Extent::Percent).map(extent_text),
    ),
];

fn zones(job: &mut Job) -> &mut StridedZones {
    job.strides.get_or_insert_default()
}
