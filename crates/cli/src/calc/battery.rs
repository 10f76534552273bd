//! `calc battery`: battery life from shares of use, and the gain of a faster drive: it does the same work in 1/(1 + x)
//! of the time and idles for the rest (race to idle). The rest of the computer is assumed to draw unchanged power,
//! which understates the gain.

use super::number::{NumberError, not_negative, percent, positive, short};
use super::{Row, row};
use crate::failure::Failure;
use clap::Args;
use thiserror::Error;

/// Arguments of `nandscope calc battery`.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Battery capacity, Wh
    #[arg(long, value_name = "WH", value_parser = positive)]
    wh: f64,
    /// Use: name, share of the time in percent, W of the computer, W of
    /// its drive, percent by which a faster drive is faster; repeatable
    #[arg(long = "use", value_name = "NAME:PERCENT:W:DRIVE_W[:FASTER]", required = true, value_parser = parse_use)]
    uses: Vec<Use>,
    /// Idle power of the faster drive, W
    #[arg(long, value_name = "W", default_value = "0", value_parser = not_negative)]
    idle_w: f64,
}

/// A kind of use.
#[derive(Clone, Debug, PartialEq)]
struct Use {
    name: String,
    /// Share of the time, 0 to 1.
    share: f64,
    computer_w: f64,
    drive_w: f64,
    /// Relative gain in speed: a faster drive does its work in 1 / (1 + `faster`) of the time.
    faster: f64,
}

/// Reason for which a use was rejected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
enum UseError {
    /// The number of its parts is wrong.
    #[error(
        "write NAME:PERCENT:W:DRIVE_W or NAME:PERCENT:W:DRIVE_W:FASTER, such as light:80:7:1:20"
    )]
    Form,
    /// A part is not a valid number.
    #[error("{0}: {1}; {form}", form = UseError::Form)]
    Part(&'static str, NumberError),
    /// The drive draws more power than the computer that contains it.
    #[error("the drive cannot draw more than the whole computer")]
    Drive,
}

fn parse_use(text: &str) -> Result<Use, UseError> {
    let parts: Vec<&str> = text.split(':').collect();
    let (name, share, computer, drive, faster) = match parts.as_slice() {
        [name, share, computer, drive] => (name, share, computer, drive, "0"),
        [name, share, computer, drive, faster] => (name, share, computer, drive, *faster),
        _ => return Err(UseError::Form),
    };
    let parsed = Use {
        name: (*name).to_string(),
        share: percent(share).map_err(|e| UseError::Part("PERCENT", e))? / 100.0,
        computer_w: positive(computer).map_err(|e| UseError::Part("W", e))?,
        drive_w: not_negative(drive).map_err(|e| UseError::Part("DRIVE_W", e))?,
        faster: not_negative(faster).map_err(|e| UseError::Part("FASTER", e))? / 100.0,
    };
    if parsed.drive_w > parsed.computer_w {
        return Err(UseError::Drive);
    }
    Ok(parsed)
}

/// Means over all use, W.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Means {
    computer: f64,
    drive: f64,
    faster_drive: f64,
}

fn means(uses: &[Use], idle_w: f64) -> Means {
    let mean = |of: &dyn Fn(&Use) -> f64| uses.iter().map(|u| u.share * of(u)).sum::<f64>();
    Means {
        computer: mean(&|u| u.computer_w),
        drive: mean(&|u| u.drive_w),
        faster_drive: mean(&|u| {
            let busy = 1.0 / (1.0 + u.faster);
            u.drive_w * busy + idle_w * (1.0 - busy)
        }),
    }
}

/// Calculates the rows of the answer.
///
/// # Errors
/// `Exit::Usage` if the shares do not add up to the whole time.
pub fn answer(arguments: &Arguments) -> Result<Vec<Row>, Failure> {
    let whole: f64 = arguments.uses.iter().map(|u| u.share).sum();
    if (whole - 1.0).abs() > 1e-6 {
        return Err(Failure::usage(format!(
            "the shares of use add up to {} %; give shares that add up to 100 %",
            short(whole * 100.0)
        )));
    }
    let means = means(&arguments.uses, arguments.idle_w);
    let hours = arguments.wh / means.computer;
    let sum = |of: &dyn Fn(&Use) -> f64| {
        let parts = arguments.uses.iter().map(|u| {
            format!(
                "{} % {} at {} W",
                short(u.share * 100.0),
                u.name,
                short(of(u))
            )
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    let mut rows = vec![
        row(
            "mean power",
            format!("{} W", short(means.computer)),
            sum(&|u| u.computer_w),
        ),
        row(
            "battery life",
            format!("{} h", short(hours)),
            format!("{} Wh / {} W", short(arguments.wh), short(means.computer)),
        ),
        row(
            "mean power of the drive",
            format!("{} W", short(means.drive)),
            sum(&|u| u.drive_w),
        ),
    ];
    if arguments.uses.iter().any(|u| u.faster > 0.0) {
        gain(arguments, means, hours, &mut rows);
    }
    Ok(rows)
}

fn gain(arguments: &Arguments, means: Means, hours: f64, rows: &mut Vec<Row>) {
    let faster = arguments
        .uses
        .iter()
        .map(|u| format!("{} % faster in {} use", short(u.faster * 100.0), u.name));
    rows.push(row(
        "mean power of the faster drive",
        format!("{} W", short(means.faster_drive)),
        format!(
            "{}, then idle at {} W",
            faster.collect::<Vec<_>>().join(", "),
            short(arguments.idle_w)
        ),
    ));
    let saved = means.drive - means.faster_drive;
    rows.push(row(
        "saved",
        format!("{} W", short(saved)),
        "by the drive alone".to_string(),
    ));
    let computer = means.computer - saved;
    let longer = arguments.wh / computer;
    rows.push(row(
        "battery life with it",
        format!("{} h", short(longer)),
        format!("{} Wh / {} W", short(arguments.wh), short(computer)),
    ));
    rows.push(row(
        "gain",
        format!("{} min", short((longer - hours) * 60.0)),
        "of battery life".to_string(),
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn article() -> Arguments {
        Arguments {
            wh: 50.0,
            uses: vec![
                parse_use("light:80:7:1:20").unwrap(),
                parse_use("heavy:20:20:3:40").unwrap(),
            ],
            idle_w: 0.05,
        }
    }

    #[test]
    fn the_published_example_comes_out() {
        // Facts S2-124 to S2-132: 9.6 W, about 5.2 h, 1.4 W, 1.1 W, 0.3 W, about 10 min.
        let rows = answer(&article()).unwrap();
        assert_eq!(
            super::super::values(&rows),
            [
                "9.6 W",
                "5.208 h",
                "1.4 W",
                "1.105 W",
                "0.2952 W",
                "5.374 h",
                "9.916 min"
            ]
        );
    }

    #[test]
    fn a_drive_that_is_not_faster_gains_nothing() {
        let mut a = article();
        for u in &mut a.uses {
            u.faster = 0.0;
        }
        assert_eq!(answer(&a).unwrap().len(), 3);
        let m = means(&a.uses, a.idle_w);
        assert!((m.drive - m.faster_drive).abs() < 1e-12);
    }

    #[test]
    fn an_infinitely_fast_drive_only_idles() {
        let mut a = article();
        for u in &mut a.uses {
            u.faster = 1e12;
        }
        assert!((means(&a.uses, 0.05).faster_drive - 0.05).abs() < 1e-9);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (text, part) in [
            ("", "write NAME:PERCENT"),
            ("light:80:7", "write NAME:PERCENT"),
            ("light:x:7:1", "PERCENT: not a number"),
            ("light:101:7:1", "PERCENT: give a percentage above 0"),
            ("light:80:0:1", "W: give a number above 0"),
            ("light:80:7:8", "cannot draw more"),
            ("light:80:7:1:-3", "FASTER: give a number of 0 or more"),
            ("a:80:7:1:2:3", "write NAME:PERCENT"),
        ] {
            let error = parse_use(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let mut a = article();
        a.uses.truncate(1);
        assert!(answer(&a).unwrap_err().text.contains("add up to 80 %"));
    }
}
