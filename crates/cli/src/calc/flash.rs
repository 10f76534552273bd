//! `calc flash`: throughput of a die, of all dies, of the channels and of a drive on its link, from the times of the
//! flash. Assumes that dies are never idle: no firmware, no errors, no collection; the simulator has those.

use super::link::find;
use super::number::{positive, rate, short};
use super::{Row, row};
use crate::failure::Failure;
use clap::Args;

/// Arguments of `nandscope calc flash`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Page size without spare bytes, KiB
    #[arg(long, value_name = "KIB", value_parser = positive)]
    page_kib: f64,
    /// Array read time of a page (tR), µs
    #[arg(long, value_name = "US", value_parser = positive)]
    read_us: Option<f64>,
    /// Mean program time of a page (tPROG), µs
    #[arg(long, value_name = "US", value_parser = positive)]
    program_us: Option<f64>,
    /// Planes per die that work in parallel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    planes: u32,
    /// Number of dies
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65536))]
    dies: u32,
    /// Number of channels
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    channels: u32,
    /// Channel bandwidth, MB/s (MT/s on an eight-bit bus) [default: no limit]
    #[arg(long, value_name = "MB/S", value_parser = positive)]
    channel_mb_s: Option<f64>,
    /// Link of the drive, such as sata-6 [default: no limit]
    #[arg(long, value_name = "LINK")]
    link: Option<String>,
}

/// MB/s of one die whose planes move pages of `page_kib` in `us` each.
fn die(page_kib: f64, planes: u32, us: f64) -> f64 {
    page_kib * 1024.0 * f64::from(planes) / us
}

/// Calculates the rows of the answer.
///
/// # Errors
/// `Exit::Usage` if no time is given, or the link is unknown.
pub fn answer(arguments: &Arguments) -> Result<Vec<Row>, Failure> {
    if arguments.read_us.is_none() && arguments.program_us.is_none() {
        return Err(Failure::usage(
            "no flash timing given; use --read-us, --program-us or both",
        ));
    }
    let link = arguments.link.as_deref().map(find).transpose()?;
    let link = link.map(|mode| (mode.name.clone(), mode.rate.as_mb_per_s()));
    let mut rows = Vec::new();
    for (what, time) in [
        ("read", arguments.read_us),
        ("program", arguments.program_us),
    ] {
        if let Some(us) = time {
            direction(arguments, what, us, link.as_ref(), &mut rows);
        }
    }
    Ok(rows)
}

fn direction(
    arguments: &Arguments,
    what: &str,
    us: f64,
    link: Option<&(String, f64)>,
    rows: &mut Vec<Row>,
) {
    let one = die(arguments.page_kib, arguments.planes, us);
    let planes = if arguments.planes == 1 {
        String::new()
    } else {
        format!("{} × ", arguments.planes)
    };
    rows.push(row(
        &format!("{what}, a die"),
        rate(one),
        format!(
            "{planes}{} KiB in {} µs",
            short(arguments.page_kib),
            short(us)
        ),
    ));
    let all = one * f64::from(arguments.dies);
    rows.push(row(
        &format!("{what}, all dies"),
        rate(all),
        format!("{} dies", arguments.dies),
    ));
    let mut bounds = vec![("the dies".to_string(), all)];
    if let Some(channel) = arguments.channel_mb_s {
        let channels = channel * f64::from(arguments.channels);
        rows.push(row(
            &format!("{what}, channels"),
            rate(channels),
            format!("{} × {} MB/s", arguments.channels, short(channel)),
        ));
        bounds.push(("the channels".to_string(), channels));
    }
    if let Some((name, mb_per_s)) = link {
        rows.push(row(
            &format!("{what}, link"),
            rate(*mb_per_s),
            format!(
                "{name}; the dies could do {} times that",
                short(all / mb_per_s)
            ),
        ));
        bounds.push((format!("the link {name}"), *mb_per_s));
    }
    let least = bounds.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    if let Some((by, mb_per_s)) = least {
        rows.push(row(
            &format!("{what}, the drive"),
            rate(*mb_per_s),
            format!("bounded by {by}"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article() -> Arguments {
        Arguments {
            page_kib: 16.0,
            read_us: Some(115.0),
            program_us: None,
            planes: 1,
            dies: 16,
            channels: 8,
            channel_mb_s: Some(400.0),
            link: Some("sata-6".to_string()),
        }
    }

    #[test]
    fn the_published_example_comes_out() {
        // Facts S2-091, S2-093, S2-094, S2-096: about 140 MB/s, over 2.2 GB/s, about four times
        // SATA, 3.2 GB/s.
        let rows = answer(&article()).unwrap();
        assert_eq!(
            super::super::values(&rows),
            [
                "142.5 MB/s",
                "2.28 GB/s",
                "3.2 GB/s",
                "560 MB/s",
                "560 MB/s"
            ]
        );
        assert!(rows[3][2].contains("4.071 times"), "{}", rows[3][2]);
        assert!(rows[4][2].contains("bounded by the link sata-6"));
    }

    #[test]
    fn the_narrowest_place_bounds_the_drive() {
        let mut a = article();
        a.link = None;
        assert!(answer(&a).unwrap()[3][2].contains("the dies"));
        a.channels = 4;
        assert!(answer(&a).unwrap()[3][2].contains("the channels"));
        // Twice the planes, twice the rate; twice the time, half of it.
        assert_eq!(die(16.0, 2, 115.0), 2.0 * die(16.0, 1, 115.0));
        assert_eq!(die(16.0, 1, 230.0), 0.5 * die(16.0, 1, 115.0));
    }

    #[test]
    fn reads_and_programs_stand_beside_each_other() {
        let mut a = article();
        a.program_us = Some(1300.0);
        assert_eq!(answer(&a).unwrap().len(), 10);
        (a.read_us, a.program_us) = (None, None);
        assert!(answer(&a).unwrap_err().text.contains("--read-us"));
    }
}
