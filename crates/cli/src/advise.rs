//! `nandscope advise`: partition, file system and mount options for a device, from what a probe found.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::input;
use clap::Args;
use nandscope_infer::probe::advice::advice;
use nandscope_infer::probe::from_document;
use std::path::PathBuf;

/// Arguments of `nandscope advise`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  nandscope probe /dev/sdb --destroy-data -o probed/\n  nandscope advise probed/result.json --device /dev/sdb"
)]
pub struct Arguments {
    /// The result of a probe (`nandscope probe -o DIR` writes DIR/result.json)
    #[arg(value_name = "RESULT.json")]
    result: PathBuf,
    /// The device as it shall stand in the commands
    #[arg(long, value_name = "DEVICE", default_value = "/dev/sdX")]
    device: String,
    /// Write JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Says what follows from the result.
///
/// # Errors
/// Where the result cannot be read, or is none of a probe.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let document = input::result(&arguments.result)?;
    let report = from_document(&document).ok_or_else(|| {
        Failure::usage(format!(
            "{} is no result of a probe; `nandscope probe TARGET -o DIR` writes one",
            arguments.result.display()
        ))
    })?;
    let all = advice(&report, &arguments.device);
    if arguments.json {
        let text = serde_json::to_string_pretty(&all).map_err(Failure::internal)?;
        console.print(&format!("{text}\n"))?;
        return Ok(Exit::Done);
    }
    let mut text = String::new();
    for advice in &all {
        // A comment and a command, so that the whole can be pasted.
        for line in console
            .paragraph(&format!("{}: {}", advice.about, advice.reason), "")
            .lines()
        {
            text.push_str(&format!("# {line}\n"));
        }
        if let Some(command) = &advice.command {
            text.push_str(&format!("{command}\n"));
        }
        text.push('\n');
    }
    console.print(&text)?;
    Ok(Exit::Done)
}
