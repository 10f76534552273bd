//! Options that select the operations: direction, block sizes, order of offsets, flushes.

use super::Kind::{Count, Flag, Number, Other};
use super::{AS_IN_FIO, JobOption, flag, number, option, word_of};
use crate::job::distribution;
use crate::job::error::Problem;
use crate::job::kinds::PerKind;
use crate::job::model::{Access, BlockSizes, RandomGenerator, Rw};
use crate::job::text::size_text;
use crate::job::value::Value;
use nandscope_units::saturating_u32;

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "rw",
        AS_IN_FIO,
        Other(
            "`read`, `write`, `trim`, `rw` or `trimwrite`, or with `rand` before it",
            |j, v| set_rw(&mut j.rw, v),
        ),
        |j| Some(rw_text(&j.rw)),
    ),
    option(
        "rw_sequencer",
        AS_IN_FIO,
        Other("`sequential` or `identical`", |j, v| {
            j.rw.identical = v.word(SEQUENCERS, "write sequential or identical")?;
            Ok(())
        }),
        |j| word_of(SEQUENCERS, j.rw.identical),
    ),
    option(
        "bs",
        "Whole sectors of 512 bytes",
        Other("size, by direction", |j, v| {
            v.by_kind(&mut j.bs, |t| Ok(BlockSizes::Fixed(v.block(t)?)))
        }),
        |j| blocks_text(&j.bs, "bs"),
    ),
    option(
        "bsrange",
        AS_IN_FIO,
        Other("`4k-64k`, by direction", |j, v| {
            v.by_kind(&mut j.bs, |t| block_range(v, t))
        }),
        |j| blocks_text(&j.bs, "bsrange"),
    ),
    option(
        "bssplit",
        AS_IN_FIO,
        Other("`4k/60:64k/40`, by direction", |j, v| {
            v.by_kind(&mut j.bs, |t| block_split(v, t))
        }),
        |j| blocks_text(&j.bs, "bssplit"),
    ),
    option(
        "bs_is_seq_rand",
        AS_IN_FIO,
        Flag(|j, on| j.sizes_by_order = on),
        |j| flag(j.sizes_by_order),
    ),
    option(
        "ba",
        AS_IN_FIO,
        Other("size, by direction", |j, v| {
            v.by_kind(&mut j.block_align, |t| Ok(Some(v.block(t)?)))
        }),
        |j| {
            let text = |align: &Option<u32>| align.map(|a| size_text(a.into())).unwrap_or_default();
            Some(j.block_align.text(text)).filter(|text| !text.is_empty())
        },
    ),
    option(
        "rwmixread",
        AS_IN_FIO,
        Count(0, 100, |j, n| j.rwmix_read = n),
        |j| number(j.rwmix_read),
    ),
    option(
        "rwmixwrite",
        AS_IN_FIO,
        Count(0, 100, |j, n| j.rwmix_read = 100 - n),
        |_| None,
    ),
    option(
        "percentage_random",
        AS_IN_FIO,
        Other("number from 0 to 100, by direction", |j, v| {
            v.by_kind(&mut j.percentage_random, |t| v.number_of(t, 0..=100))
        }),
        |j| Some(j.percentage_random.text(u32::to_string)),
    ),
    option(
        "random_distribution",
        AS_IN_FIO,
        Other(
            "`random`, `zipf:theta`, `pareto:h`, `normal:deviation`, `zoned:access/size:…`, `zoned_abs:access/bytes:…`",
            |j, v| {
                j.distribution = distribution::parse(v)?;
                Ok(())
            },
        ),
        |j| Some(distribution::show(&j.distribution)),
    ),
    option(
        "norandommap",
        AS_IN_FIO,
        Flag(|j, on| j.random_map = !on),
        |j| flag(!j.random_map),
    ),
    option(
        "randseed",
        "That of the run by default",
        Number(|j, n| j.rand_seed = Some(n)),
        |j| j.rand_seed.and_then(number),
    ),
    option(
        "random_generator",
        "Draw directions, sizes and uniform offsets from this generator, in fio's sequence; by default from xoshiro256++",
        Other("`tausworthe`, `tausworthe64` or `lfsr`", |j, v| {
            let fix = "write tausworthe, tausworthe64 or lfsr";
            j.generator = Some(v.word(GENERATORS, fix)?);
            Ok(())
        }),
        |j| {
            j.generator
                .and_then(|generator| word_of(GENERATORS, generator))
        },
    ),
    option(
        "randrepeat",
        "Applies with `random_generator` only; otherwise the seed always decides",
        Flag(|j, on| j.rand_repeat = on),
        |j| flag(j.rand_repeat),
    ),
    option("fsync", AS_IN_FIO, Number(|j, n| j.fsync = n), |j| {
        number(j.fsync)
    }),
    option(
        "fdatasync",
        AS_IN_FIO,
        Number(|j, n| j.fdatasync = n),
        |j| number(j.fdatasync),
    ),
    option(
        "sync",
        "`sync`, `dsync` and `1` make each write durable on completion (forced unit access)",
        Other("`none`, `0`, `sync`, `dsync` or `1`", |j, v| {
            j.pacing.sync = v.word(SYNCS, "write none, sync or dsync")?;
            Ok(())
        }),
        |j| word_of(SYNCS, j.pacing.sync),
    ),
    option(
        "writefua",
        "Makes each write durable on completion (forced unit access), as `sync` does",
        Flag(|j, on| j.write_fua = on),
        |j| flag(j.write_fua),
    ),
    option(
        "end_fsync",
        AS_IN_FIO,
        Flag(|j, on| j.end_fsync = on),
        |j| flag(j.end_fsync),
    ),
    option(
        "fsync_on_close",
        AS_IN_FIO,
        Flag(|j, on| j.fsync_on_close = on),
        |j| flag(j.fsync_on_close),
    ),
];

const GENERATORS: &[(&str, RandomGenerator)] = &[
    ("tausworthe", RandomGenerator::Tausworthe),
    ("tausworthe64", RandomGenerator::Tausworthe64),
    ("lfsr", RandomGenerator::Lfsr),
];

const SYNCS: &[(&str, bool)] = &[
    ("none", false),
    ("dsync", true),
    ("sync", true),
    ("0", false),
    ("1", true),
];

const SEQUENCERS: &[(&str, bool)] = &[("sequential", false), ("identical", true)];

const ACCESSES: &[(&str, Access)] = &[
    ("read", Access::Read),
    ("write", Access::Write),
    ("trim", Access::Trim),
    ("rw", Access::ReadWrite),
    ("readwrite", Access::ReadWrite),
    ("trimwrite", Access::TrimWrite),
];

fn set_rw(rw: &mut Rw, v: Value<'_>) -> Result<(), Problem> {
    let text = v.text()?;
    let (word, modifier) = match text.split_once(':') {
        Some((word, modifier)) => (word, Some(modifier)),
        None => (text, None),
    };
    let (random, direction) = match word.strip_prefix("rand") {
        // fio has no `randreadwrite`.
        Some(direction) if direction != "readwrite" => (true, direction),
        _ => (false, word),
    };
    let Some((_, access)) = ACCESSES.iter().find(|(name, _)| *name == direction) else {
        return Err(v.bad(
            "no such access",
            "write read, write, trim, rw, trimwrite, or the same with `rand` before it",
        ));
    };
    rw.modifier = match modifier {
        None => None,
        Some(text) if random => Some(v.number_of(text, 1..=u64::from(u32::MAX))?),
        Some(text) => match v.size_of(text.trim_start_matches('-'))?.0 {
            n if n.is_multiple_of(512) => Some(n).filter(|n| *n > 0),
            _ => return Err(v.bad("not a whole number of sectors", "use a multiple of 512")),
        },
    };
    rw.backwards = rw.modifier.is_some() && modifier.is_some_and(|text| text.starts_with('-'));
    (rw.access, rw.random) = (*access, random);
    Ok(())
}

fn rw_text(rw: &Rw) -> String {
    let direction = word_of(ACCESSES, rw.access).unwrap_or_default();
    let random = if rw.random { "rand" } else { "" };
    match rw.modifier {
        None => format!("{random}{direction}"),
        Some(n) if rw.random => format!("{random}{direction}:{n}"),
        Some(n) if rw.backwards => format!("{direction}:-{}", size_text(n)),
        Some(n) => format!("{direction}:{}", size_text(n)),
    }
}

fn block_range(v: Value<'_>, text: &str) -> Result<BlockSizes, Problem> {
    let Some((low, high)) = text.split_once(['-', ':']) else {
        return Ok(BlockSizes::Fixed(v.block(text)?));
    };
    let (min, max) = (v.block(low)?, v.block(high)?);
    match min.cmp(&max) {
        std::cmp::Ordering::Less => Ok(BlockSizes::Range { min, max }),
        std::cmp::Ordering::Equal => Ok(BlockSizes::Fixed(min)),
        std::cmp::Ordering::Greater => Err(v.bad("the range is reversed", "put the smaller first")),
    }
}

/// Reads `4k/60:64k/40`; parts without a share divide the rest equally, as in fio.
fn block_split(v: Value<'_>, text: &str) -> Result<BlockSizes, Problem> {
    let mut parts: Vec<(u32, Option<u32>)> = Vec::new();
    for part in text.split(':') {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = match share.trim() {
            "" => None,
            share => Some(v.number_of(share, 0..=100)?),
        };
        parts.push((v.block(size)?, share));
    }
    let given = parts
        .iter()
        .filter_map(|p| p.1)
        .fold(0_u32, u32::saturating_add);
    let open = parts.iter().filter(|p| p.1.is_none()).count();
    let mut waiting = saturating_u32(open as u64);
    if given > 100 || (waiting == 0 && given == 0) {
        return Err(v.bad(
            format!("the shares sum to {given} percent"),
            "make them sum to 100",
        ));
    }
    let mut left = 100_u32.saturating_sub(given);
    let mut shares = Vec::with_capacity(parts.len());
    for (size, share) in parts {
        let share = share.unwrap_or_else(|| {
            let part = left / waiting.max(1);
            left = left.saturating_sub(part);
            waiting -= 1;
            part
        });
        shares.push((size, share));
    }
    // The largest share gets the unassigned percentage, as in fio.
    if let Some(largest) = shares.iter_mut().max_by_key(|(_, share)| *share) {
        largest.1 += left;
    }
    shares.retain(|(_, share)| *share > 0);
    match shares[..] {
        [(size, _)] => Ok(BlockSizes::Fixed(size)),
        [] => Err(v.bad("no size has a share", "write such as 4k/60:64k/40")),
        _ => Ok(BlockSizes::Split(shares)),
    }
}

/// The text of the block sizes under the one of the three options that can express them.
fn blocks_text(bs: &PerKind<BlockSizes>, key: &str) -> Option<String> {
    let size = |n: u32| size_text(n.into());
    let split = |b: &BlockSizes| match b {
        BlockSizes::Split(parts) => parts
            .iter()
            .map(|(bytes, share)| format!("{}/{share}", size(*bytes)))
            .collect::<Vec<_>>()
            .join(":"),
        other => format!("{}/100", size(other.min())),
    };
    let range = |b: &BlockSizes| format!("{}-{}", size(b.min()), size(b.max()));
    let needed = if bs.iter().any(|b| matches!(b, BlockSizes::Split(_))) {
        "bssplit"
    } else if bs.iter().any(|b| matches!(b, BlockSizes::Range { .. })) {
        "bsrange"
    } else {
        "bs"
    };
    (needed == key).then(|| match key {
        "bssplit" => bs.text(split),
        "bsrange" => bs.text(range),
        _ => bs.text(|b| size(b.min())),
    })
}
