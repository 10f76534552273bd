//! `nandscope calc`: arithmetic of storage reviews for any numbers. Each kind of calculation is a module that computes
//! from plain numbers and returns its results as rows; nothing here measures or simulates.

mod battery;
mod flash;
mod link;
mod number;
mod video;

use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use clap::{Args, Subcommand};
use serde::Serialize;

const EXAMPLES: &str = "\
Examples, with the numbers of AnandTech's article on SATA Express:
  nandscope calc link pcie-2.0-x2 sata-6
  nandscope calc link pcie-3.0-x2 --efficiency 79
  nandscope calc flash --page-kib 16 --read-us 115 --dies 16 --channels 8 \\
    --channel-mb-s 400 --link sata-6
  nandscope calc battery --wh 50 --use light:80:7:1:20 \\
    --use heavy:20:20:3:40 --idle-w 0.05
  nandscope calc video 3840x2160 --fps 24 --bits 12 --link sata-6";

/// Arguments of `nandscope calc`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    what: What,
    /// Print JSON instead of text
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Bandwidth and efficiency of links, from the wire to user data
    Link(link::Arguments),
    /// Throughput of dies, channels and a drive, from flash timings
    Flash(flash::Arguments),
    /// Battery life, and the gain of a faster drive (race to idle)
    Battery(battery::Arguments),
    /// Bandwidth and storage for video
    Video(video::Arguments),
}

/// A line of an answer: name, value and calculation.
type Row = [String; 3];

fn row(what: &str, value: String, how: String) -> Row {
    [what.to_string(), value, how]
}

/// The values of an answer.
#[cfg(test)]
fn values(rows: &[Row]) -> Vec<&str> {
    rows.iter().map(|row| row[1].as_str()).collect()
}

/// Computes and prints.
///
/// # Errors
/// `Exit::Usage` if a number or a name is invalid; `Exit::File` if standard output cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let found = match arguments.what {
        What::Link(link) if arguments.json => {
            let links = link::links(&link)?;
            let json = serde_json::to_string_pretty(&links).map_err(Failure::internal)?;
            console.print_json(&json)?;
            return Ok(Exit::Done);
        }
        What::Link(link) => {
            console.print(&link::answer(&link, console)?)?;
            return Ok(Exit::Done);
        }
        What::Flash(flash) => flash::answer(&flash)?,
        What::Battery(battery) => battery::answer(&battery)?,
        What::Video(video) => video::answer(&video)?,
    };
    if arguments.json {
        let lines: Vec<Line> = found.iter().map(Line::of).collect();
        let json = serde_json::to_string_pretty(&lines).map_err(Failure::internal)?;
        console.print_json(&json)?;
    } else {
        console.print(&rows(&found, console))?;
    }
    Ok(Exit::Done)
}

/// A line of an answer, for programs.
#[derive(Debug, Serialize)]
struct Line<'a> {
    name: &'a str,
    /// The number as shown; `null` if the answer is words.
    value: Option<f64>,
    /// Unit of the number, or the answer in words.
    unit: &'a str,
    how: &'a str,
}

impl Line<'_> {
    fn of([name, value, how]: &Row) -> Line<'_> {
        let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
        let number = number.parse::<f64>().ok();
        Line {
            name,
            value: number,
            unit: if number.is_some() { unit } else { value },
            how,
        }
    }
}

fn rows(rows: &[Row], console: &Console) -> String {
    let mut table = console.table(&[]);
    for row in rows {
        table.add_row(row);
    }
    lines_of(&table)
}
