//! Options that divide the target among the files of a job.

use super::Kind::{Count, Other};
use super::{AS_IN_FIO, JobOption, number, option};
use crate::job::error::Problem;
use crate::job::files::FileService;
use crate::job::model::Job;
use crate::job::text::size_text;
use crate::job::value::Value;

/// Maximum number of files; each takes memory.
const MOST_FILES: u32 = 65_536;

pub(super) const OPTIONS: &[JobOption] = &[
    option(
        "filename",
        "Each name is a part of the target; see [below](#files-of-jobs)",
        Other("names, separated by `:`", |j, v| {
            j.files.names = Some(v.text()?.to_string());
            if j.files.count() > MOST_FILES {
                return Err(v.bad("too many names", format!("give at most {MOST_FILES}")));
            }
            Ok(())
        }),
        |j| j.files.names.clone(),
    ),
    option(
        "nrfiles",
        "Parts of the target of the same size, for each clone",
        Count(0, MOST_FILES, |j, n| j.files.number = n.max(1)),
        |j| number(j.files.number),
    ),
    option(
        "filesize",
        "Without `size` a job uses its files wholly, each from `offset` on. More than the target is an error",
        Other("size, or a range such as `1m-4m`", |j, v| {
            j.files.size = file_size(v)?;
            Ok(())
        }),
        |j| {
            let (smallest, largest) = j.files.size?;
            Some(match smallest == largest {
                true => size_text(smallest),
                false => format!("{}-{}", size_text(smallest), size_text(largest)),
            })
        },
    ),
    option(
        "file_service_type",
        AS_IN_FIO,
        Other(
            "`roundrobin:1`, `random:1`, `sequential`, `zipf:1.1`, `pareto:0.2`, `normal:10`",
            |j, v| {
                j.files.service = service(v)?;
                Ok(())
            },
        ),
        |j| Some(service_text(j)),
    ),
];

fn file_size(v: Value<'_>) -> Result<Option<(u64, u64)>, Problem> {
    let text = v.text()?;
    let range = text.split_once('-').filter(|_| !text.starts_with('('));
    let (low, high) = range.unwrap_or((text, text));
    let (low, high) = (v.size_of(low)?.0, v.size_of(high)?.0);
    if high < low {
        return Err(v.bad("the range is reversed", "put the smaller size first"));
    }
    if range.is_some() && low == 0 {
        return Err(v.bad("a file of no bytes", "begin the range at one block"));
    }
    Ok((high > 0).then_some((low, high)))
}

fn service(v: Value<'_>) -> Result<FileService, Problem> {
    let text = v.text()?;
    let (word, parameter) = match text.split_once(':') {
        Some((word, parameter)) => (word, Some(parameter)),
        None => (text, None),
    };
    let operations = || match parameter {
        Some(text) => v.number_of(text, 1..=u32::MAX),
        None => Ok(1),
    };
    let law = |default: f64, low: f64, high: f64| match parameter {
        Some(text) => v.float(text, low, high),
        None => Ok(default),
    };
    Ok(match word {
        "roundrobin" => FileService::RoundRobin(operations()?),
        "random" => FileService::Random(operations()?),
        "sequential" => FileService::Sequential,
        // The defaults are those of fio; its Zipf law is not defined at 1.
        "zipf" => match law(1.1, f64::MIN_POSITIVE, 10_000.0)? {
            1.0 => return Err(v.bad("Zipf's law is not defined at 1", "write such as zipf:1.1")),
            theta => FileService::Zipf(theta),
        },
        "pareto" => FileService::Pareto(law(0.2, f64::MIN_POSITIVE, 1.0 - f64::EPSILON)?),
        "normal" | "gauss" => FileService::Normal(law(0.0, 0.0, 100.0)?),
        _ => {
            return Err(v.bad(
                "no such order of files",
                "write roundrobin, sequential, random, zipf, pareto or normal",
            ));
        }
    })
}

fn service_text(job: &Job) -> String {
    match job.files.service {
        FileService::RoundRobin(1) => "roundrobin".to_string(),
        FileService::RoundRobin(n) => format!("roundrobin:{n}"),
        FileService::Random(n) => format!("random:{n}"),
        FileService::Sequential => "sequential".to_string(),
        FileService::Zipf(theta) => format!("zipf:{theta}"),
        FileService::Pareto(h) => format!("pareto:{h}"),
        FileService::Normal(deviation) => format!("normal:{deviation}"),
    }
}
