//! `nandscope health`: the health that a device reports, over time, with a forecast of the end of its rated life, for people and for
//! monitoring.

mod card;
mod metrics;
pub mod source;
mod text;

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::target::ParamArguments;
use crate::{heading, input, output};
use clap::Args;
use nandscope_fitness::health::{Forecast, HealthReading, forecast, line, read};
use nandscope_units::{Nanos, parse_duration};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Used part at which the rated life is over, percent.
const END: f64 = 100.0;

const EXAMPLES: &str = "\
Examples:
  nandscope health /dev/nvme0n1
  nandscope health /dev/mmcblk0 --log emmc.jsonl     once a day, from a timer
  nandscope health /dev/sda --log a.jsonl --prometheus /var/lib/node/a.prom
  smartctl --json -a /dev/sda > sda.json; nandscope health --smart sda.json
  nandscope health /dev/mmcblk0 --vendor             an industrial SD card

Exit codes: 0 healthy, 14 at its end or close to it, 15 not known.";

/// Arguments of `nandscope health`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Block device, or simulated device (sim:NAME, sim:saved:FILE)
    #[arg(required_unless_present_any = ["smart", "card_page"])]
    target: Option<String>,
    /// Health recorded with `smartctl --json -a`
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    smart: Option<PathBuf>,
    /// Health page of an industrial SD card: 512 bytes, or their hexadecimal digits
    #[arg(long, value_name = "FILE", conflicts_with_all = ["target", "smart"])]
    card_page: Option<PathBuf>,
    /// Layout of a page that carries no signature
    #[arg(long, value_name = "MAKER", value_parser = ["apacer"], requires = "card_page")]
    layout: Option<String>,
    /// Ask an SD card for its health page with its maker's command (CMD56)
    #[arg(long, requires = "target", help_heading = heading::REAL)]
    vendor: bool,
    /// Add the reading to this log, and forecast from all of them
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Alarm if the rated life may end in this time
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = time)]
    within: Nanos,
    #[command(flatten)]
    params: ParamArguments,
    /// File for metrics in the text format of Prometheus
    #[arg(long, value_name = "FILE", help_heading = heading::OUTPUT)]
    prometheus: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

fn time(text: &str) -> Result<Nanos, &'static str> {
    const SECOND: u64 = 1_000_000_000;
    parse_duration(text, SECOND).map_err(|_| "give a time such as 90d or 12h")
}

/// A reading with its forecast and alarms.
struct Health {
    reading: HealthReading,
    /// Why values are missing; may be empty.
    absent: Vec<String>,
    forecast: Option<Forecast>,
    /// Reasons for an alarm; empty without one.
    alarms: Vec<String>,
}

impl Health {
    fn exit(&self) -> Exit {
        match () {
            () if !self.alarms.is_empty() => Exit::Unfit,
            () if self.reading.used_percent.is_none() => Exit::NotKnown,
            () => Exit::Done,
        }
    }
}

/// Reads the health, keeps it in the log, and prints it.
///
/// # Errors
/// `Exit::Usage` if the target is no device, the log is damaged or of another device; `Exit::File` if there is no such device
/// or an output cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    claim(&arguments)?;
    let (reading, absent) = read_health(&arguments, console)?;
    let readings = kept(&arguments, &reading)?;
    let forecast = forecast(&readings);
    let alarms = alarms(&reading, forecast.as_ref(), arguments.within);
    let health = Health {
        reading,
        absent,
        forecast,
        alarms,
    };
    if let Some(file) = &arguments.prometheus {
        output::write(file, metrics::metrics(&health).as_bytes())?;
    }
    match arguments.json {
        true => {
            let document = json!({
                "format": 1,
                "reading": health.reading,
                "absent": health.absent,
                "forecast": health.forecast,
                "alarms": health.alarms,
            });
            output::print_json(&document, console)?;
        }
        false => console.print(&text::words(&health, console))?,
    }
    Ok(health.exit())
}

/// The reading, and why values of it are missing or contradict each other.
fn read_health(
    arguments: &Arguments,
    console: &Console,
) -> Result<(HealthReading, Vec<String>), Failure> {
    if let Some(file) = &arguments.smart {
        return Ok((source::recorded(file)?, Vec::new()));
    }
    if let Some(file) = &arguments.card_page {
        return card::recorded(file, arguments.layout.is_some());
    }
    let name = arguments.target.as_deref().unwrap_or_default();
    if name.starts_with("sim:") {
        if arguments.vendor {
            return Err(Failure::usage(format!(
                "--vendor works with SD cards in a slot of this machine only, and {name} is simulated; omit it"
            )));
        }
        let reading = source::simulated(name, &arguments.params, console)?;
        return Ok((reading, Vec::new()));
    }
    arguments.params.refuse(name)?;
    match arguments.vendor {
        true => card::asked(name),
        false => source::real(name),
    }
}

fn claim(arguments: &Arguments) -> Result<(), Failure> {
    let mut files = FileClaims::default();
    if let Some(target) = &arguments.target {
        files.target(target)?;
    }
    files.inputs("the recorded health", &arguments.smart)?;
    files.inputs("the health page", &arguments.card_page)?;
    if let Some(log) = &arguments.log {
        files.output("--log", log)?;
    }
    if let Some(file) = &arguments.prometheus {
        files.output("--prometheus", file)?;
    }
    files.check()
}

/// The readings of the log with this one, which is added to it.
fn kept(arguments: &Arguments, reading: &HealthReading) -> Result<Vec<HealthReading>, Failure> {
    let Some(log) = arguments.log.as_deref() else {
        return Ok(vec![reading.clone()]);
    };
    let mut text = match log.exists() {
        true => input::regular_text(log, "the log")?,
        false => String::new(),
    };
    // A line that an interrupted program left unfinished.
    text.truncate(text.rfind('\n').map_or(0, |end| end + 1));
    text.push_str(&line(reading));
    let readings = read(&shown(log), &text).map_err(Failure::usage)?;
    output::write(log, text.as_bytes())?;
    Ok(readings)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Reasons for an alarm: what the device itself reports, and the forecast.
fn alarms(reading: &HealthReading, forecast: Option<&Forecast>, within: Nanos) -> Vec<String> {
    let mut all = reading.alarms.clone();
    let is_over = reading.used_percent.is_some_and(|used| used >= END);
    if is_over {
        all.push("the rated life is used up".to_string());
    }
    if let Some(forecast) = forecast.filter(|_| !is_over) {
        let left = forecast.earliest.saturating_sub(reading.time);
        if (left as f64) < within.as_secs_f64() {
            all.push(format!(
                "the rated life may end in {} days",
                (left / 86_400).max(0)
            ));
        }
    }
    all
}
