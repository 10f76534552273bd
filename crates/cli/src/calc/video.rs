//! `calc video`: bandwidth and space of video of any format, and whether a link carries it. A
//! codec is a factor here and nothing more.

use super::link::find;
use super::number::{bytes, positive, rate, short};
use super::{Row, row};
use crate::failure::Failure;
use clap::{Args, ValueEnum};
use thiserror::Error;

/// Formats that have a name.
const FORMATS: [(&str, u32, u32); 7] = [
    ("720p", 1280, 720),
    ("1080p", 1920, 1080),
    ("2k-dci", 2048, 1080),
    ("1440p", 2560, 1440),
    ("4k", 3840, 2160),
    ("4k-dci", 4096, 2160),
    ("8k", 7680, 4320),
];

/// Arguments of `nandscope calc video`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// WIDTHxHEIGHT, 720p, 1080p, 2k-dci, 1440p, 4k, 4k-dci, 8k
    #[arg(value_name = "FORMAT", value_parser = parse_format)]
    format: (u32, u32),
    /// Frames per second
    #[arg(long, value_name = "N", value_parser = positive)]
    fps: f64,
    /// Bits per component (colour channel)
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=64))]
    bits: u32,
    /// Components per pixel
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=16))]
    components: u32,
    /// Chroma subsampling of two components
    #[arg(long, value_enum, default_value_t = Chroma::Full)]
    chroma: Chroma,
    /// Compression factor of the codec
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = positive)]
    compression: f64,
    /// Length of the recording, hours
    #[arg(long, value_name = "H", default_value = "1", value_parser = positive)]
    hours: f64,
    /// Link to compare with; repeatable
    #[arg(long, value_name = "LINK")]
    link: Vec<String>,
    /// Device capacity for the recording time, GB
    #[arg(long, value_name = "GB", value_parser = positive)]
    capacity_gb: Option<f64>,
}

/// Chroma subsampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Chroma {
    /// None.
    #[value(name = "4:4:4")]
    Full,
    /// Half of the columns.
    #[value(name = "4:2:2")]
    Half,
    /// Half of the columns and of the rows.
    #[value(name = "4:2:0")]
    Quarter,
}

impl Chroma {
    /// Share of the chroma samples that remains after subsampling.
    const fn share(self) -> f64 {
        match self {
            Chroma::Full => 1.0,
            Chroma::Half => 0.5,
            Chroma::Quarter => 0.25,
        }
    }
}

/// A text that is not a picture format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("write WIDTHxHEIGHT, such as 3840x2160, or one of {names}", names = FORMATS.map(|(name, ..)| name).join(", "))]
struct FormatError;

fn parse_format(text: &str) -> Result<(u32, u32), FormatError> {
    if let Some((_, width, height)) = FORMATS.iter().find(|(name, ..)| *name == text) {
        return Ok((*width, *height));
    }
    let (width, height) = text.split_once('x').ok_or(FormatError)?;
    match (width.parse(), height.parse()) {
        (Ok(width), Ok(height)) if width > 0 && height > 0 => Ok((width, height)),
        _ => Err(FormatError),
    }
}

fn bits_per_pixel(arguments: &Arguments) -> f64 {
    let thinned = f64::from(arguments.components.saturating_sub(1).min(2));
    let full = f64::from(arguments.components) - thinned;
    f64::from(arguments.bits) * (full + thinned * arguments.chroma.share())
}

/// Calculates the rows of the answer.
///
/// # Errors
/// `Exit::Usage` if a link is unknown.
pub fn answer(arguments: &Arguments) -> Result<Vec<Row>, Failure> {
    let (width, height) = arguments.format;
    let bits = bits_per_pixel(arguments);
    let frame = f64::from(width) * f64::from(height) * bits / 8.0 / arguments.compression;
    let bandwidth = frame * arguments.fps;
    let space = bandwidth * 3600.0 * arguments.hours;
    let compressed = if arguments.compression == 1.0 {
        String::new()
    } else {
        format!(", {} times smaller", short(arguments.compression))
    };
    let mut rows = vec![
        row(
            "a frame",
            bytes(frame),
            format!("{width} × {height} × {} bits{compressed}", short(bits)),
        ),
        row(
            "bandwidth",
            rate(bandwidth / 1e6),
            format!(
                "{} frames a second; {} Gbit/s",
                short(arguments.fps),
                short(bandwidth * 8.0 / 1e9)
            ),
        ),
        row(
            "space",
            bytes(space),
            format!("{} h", short(arguments.hours)),
        ),
    ];
    for name in &arguments.link {
        let carries = find(name)?.rate.as_mb_per_s() * 1e6;
        let (answer, how) = if carries >= bandwidth {
            ("carries it", carries / bandwidth)
        } else {
            ("is too slow", bandwidth / carries)
        };
        rows.push(row(
            name,
            answer.to_string(),
            format!("{}, {} times", rate(carries / 1e6), short(how)),
        ));
    }
    if let Some(gb) = arguments.capacity_gb {
        rows.push(row(
            "recording time",
            format!("{} min", short(gb * 1e9 / bandwidth / 60.0)),
            format!("on {} GB", short(gb)),
        ));
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article() -> Arguments {
        Arguments {
            format: parse_format("4k").unwrap(),
            fps: 24.0,
            bits: 12,
            components: 3,
            chroma: Chroma::Full,
            compression: 1.0,
            hours: 1.0,
            link: vec!["sata-6".to_string(), "pcie-3.0-x2".to_string()],
            capacity_gb: None,
        }
    }

    #[test]
    fn the_published_example_comes_out() {
        // Facts S2-133 to S2-136: about 900 MB/s, 3.22 TB an hour, more than SATA carries.
        let rows = answer(&article()).unwrap();
        assert_eq!(
            super::super::values(&rows),
            [
                "37.32 MB",
                "895.8 MB/s",
                "3.225 TB",
                "is too slow",
                "carries it"
            ]
        );
    }

    #[test]
    fn subsampling_and_codecs_make_it_smaller() {
        let mut a = article();
        for (chroma, bits) in [
            (Chroma::Full, 36.0),
            (Chroma::Half, 24.0),
            (Chroma::Quarter, 18.0),
        ] {
            a.chroma = chroma;
            assert_eq!(bits_per_pixel(&a), bits);
        }
        // One component has no chroma to subsample; four are luma, two chroma, and alpha.
        (a.components, a.chroma) = (1, Chroma::Quarter);
        assert_eq!(bits_per_pixel(&a), 12.0);
        (a.components, a.chroma) = (4, Chroma::Half);
        assert_eq!(bits_per_pixel(&a), 36.0);
        a = article();
        a.compression = 10.0;
        a.capacity_gb = Some(64.0);
        let rows = answer(&a).unwrap();
        assert_eq!(rows[1][1], "89.58 MB/s");
        assert_eq!(rows[5][1], "11.91 min");
    }

    #[test]
    fn formats_are_names_or_sizes() {
        assert_eq!(parse_format("1080p"), Ok((1920, 1080)));
        assert_eq!(parse_format("100x50"), Ok((100, 50)));
        for text in ["", "5k", "x", "100x", "0x100", "-1x5", "99999999999x1"] {
            assert!(
                parse_format(text)
                    .unwrap_err()
                    .to_string()
                    .contains("3840x2160"),
                "{text}"
            );
        }
    }
}
