//! Parses and writes the text of `random_distribution`. [`crate::pattern`] draws the offsets.

use super::error::Problem;
use super::extent::Extent;
use super::model::{Distribution, Zone};
use super::text::extent_text;
use super::value::Value;

/// Maximum number of zones, as in fio.
const MAX_ZONES: usize = 256;

pub(crate) fn parse(v: Value<'_>) -> Result<Distribution, Problem> {
    let text = v.text()?;
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    if rest.is_some_and(|rest| rest.contains(',')) {
        return Err(v.bad(
            "different distributions by direction are not supported",
            "give one for all, or split the job in two",
        ));
    }
    match word {
        "random" if rest.is_none() => Ok(Distribution::Uniform),
        "zipf" => zipf(v, rest),
        "pareto" => pareto(v, rest),
        "normal" => normal(v, rest),
        "zoned" => zones(v, rest, false),
        "zoned_abs" => zones(v, rest, true),
        _ => Err(v.bad(
            "no such distribution",
            "write random, zipf:theta, pareto:h, normal:deviation, zoned:… or zoned_abs:…",
        )),
    }
}

fn zipf(v: Value<'_>, rest: Option<&str>) -> Result<Distribution, Problem> {
    let (theta, centre) = shape(v, rest, 1.1, 0.0, 100.0)?;
    if theta == 1.0 {
        return Err(v.bad("fio takes no theta of 1", "use 1.001"));
    }
    Ok(Distribution::Zipf { theta, centre })
}

fn normal(v: Value<'_>, rest: Option<&str>) -> Result<Distribution, Problem> {
    let (deviation, centre) = shape(v, rest, 0.0, 0.0, 100.0)?;
    if deviation == 100.0 {
        return Err(v.bad("fio takes no deviation of 100 percent", "use less"));
    }
    Ok(Distribution::Normal { deviation, centre })
}

fn pareto(v: Value<'_>, rest: Option<&str>) -> Result<Distribution, Problem> {
    let (h, centre) = shape(v, rest, 0.2, 0.0, 1.0)?;
    if h == 0.0 || h == 1.0 {
        return Err(v.bad("h must lie between 0 and 1", "use 0.2 for 80/20"));
    }
    Ok(Distribution::Pareto { h, centre })
}

/// Reads `number[:centre]`.
fn shape(
    v: Value<'_>,
    rest: Option<&str>,
    default: f64,
    low: f64,
    high: f64,
) -> Result<(f64, Option<f64>), Problem> {
    let Some(rest) = rest else {
        return Ok((default, None));
    };
    let (number, centre) = match rest.split_once(':') {
        Some((number, centre)) => (number, Some(v.float(centre, 0.0, 1.0)?)),
        None => (rest, None),
    };
    Ok((v.float(number, low, high)?, centre))
}

/// Parses `access/size:…` up to its end or the first empty zone. As in fio, zones without a size divide the rest of the
/// region equally, in whole percent, and no zone at all is a uniform distribution.
fn zones(v: Value<'_>, rest: Option<&str>, absolute: bool) -> Result<Distribution, Problem> {
    let Some(rest) = rest else {
        return Err(v.bad("no zones", "write such as zoned:60/10:40/90"));
    };
    let mut parts: Vec<(u32, Option<Extent>)> = Vec::new();
    for part in rest.split(':').take_while(|part| !part.is_empty()) {
        let (access, size) = part.split_once('/').unwrap_or((part, ""));
        if access.is_empty() {
            return Err(v.bad(
                "a zone without a share of the accesses",
                "write the share before the slash, such as 60/10",
            ));
        }
        let size = match size {
            "" if absolute => {
                return Err(v.bad(
                    "a zone without a size",
                    "write such as zoned_abs:90/1g:10/9g",
                ));
            }
            "" => None,
            text if absolute => Some(Extent::Bytes(v.size_of(text)?)),
            text => Some(Extent::Percent(v.number_of(text, 0..=100)?)),
        };
        parts.push((v.number_of(access, 0..=100)?, size));
    }
    if parts.is_empty() {
        return Ok(Distribution::Uniform);
    }
    let given = parts
        .iter()
        .filter_map(|(_, size)| size.map(percent))
        .sum::<u32>();
    let open = parts.iter().filter(|(_, size)| size.is_none()).count() as u32;
    let share = 100_u32.saturating_sub(given) / open.max(1);
    let zones = parts.into_iter().map(|(access, size)| Zone {
        access,
        extent: size.unwrap_or(Extent::Percent(share)),
    });
    let mut zones: Vec<Zone> = zones.collect();
    check_zones(v, &zones)?;
    // Drops zones without accesses and without size.
    zones.retain(|zone| zone.access > 0 || zone.extent.of(u64::MAX) > 0);
    Ok(Distribution::Zoned(zones))
}

fn percent(extent: Extent) -> u32 {
    match extent {
        Extent::Percent(p) => p,
        Extent::Bytes(_) => 0,
    }
}

fn check_zones(v: Value<'_>, zones: &[Zone]) -> Result<(), Problem> {
    let access: u64 = zones.iter().map(|z| u64::from(z.access)).sum();
    if access != 100 {
        return Err(v.bad(
            format!("the shares of accesses sum to {access} percent"),
            "make them sum to 100",
        ));
    }
    let sizes: u64 = zones.iter().map(|z| u64::from(percent(z.extent))).sum();
    if sizes > 100 {
        return Err(v.bad(
            format!("the zones take {sizes} percent of the region"),
            "make them take 100 at most",
        ));
    }
    if zones
        .iter()
        .any(|z| z.access > 0 && z.extent.of(u64::MAX) == 0)
    {
        return Err(v.bad(
            "a zone of no size has a share of the accesses",
            "give it a size, or no accesses",
        ));
    }
    if zones.len() > MAX_ZONES {
        return Err(v.bad("more than 256 zones", "join some of them"));
    }
    Ok(())
}

pub(crate) fn show(distribution: &Distribution) -> String {
    let shape = |word: &str, number: f64, centre: Option<f64>| match centre {
        Some(centre) => format!("{word}:{number}:{centre}"),
        None => format!("{word}:{number}"),
    };
    match distribution {
        Distribution::Uniform => "random".to_string(),
        Distribution::Zipf { theta, centre } => shape("zipf", *theta, *centre),
        Distribution::Pareto { h, centre } => shape("pareto", *h, *centre),
        Distribution::Normal { deviation, centre } => shape("normal", *deviation, *centre),
        Distribution::Zoned(zones) => {
            let absolute = zones.iter().any(|z| matches!(z.extent, Extent::Bytes(_)));
            let list: Vec<String> = zones
                .iter()
                .map(|z| {
                    format!(
                        "{}/{}",
                        z.access,
                        extent_text(z.extent).trim_end_matches('%')
                    )
                })
                .collect();
            let word = if absolute { "zoned_abs" } else { "zoned" };
            format!("{word}:{}", list.join(":"))
        }
    }
}
