//! `nandscope advise`: partition, file system and mount options for a device, from what a probe found.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::input;
use crate::probe::{How, measured};
use clap::Args;
use nandscope_infer::probe::advice::advice;
use nandscope_infer::probe::from_document;
use std::path::Path;

/// Arguments of `nandscope advise`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nandscope probe /dev/sdb --destroy-data=sdb -o probed/\n  nandscope advise probed/result.json --device /dev/sdb\n  nandscope advise sim:talk-mmcblk1-8gb       probes it first"
)]
pub struct Arguments {
    /// result.json of `nandscope probe -o DIR`, or a target to probe first
    #[arg(value_name = "RESULT.json|TARGET")]
    result: String,
    /// Device for the commands [default: the probed device or /dev/sdX]
    #[arg(long, value_name = "DEVICE")]
    device: Option<String>,
    #[command(flatten)]
    how: How,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// Says what follows from the result.
///
/// # Errors
/// `Exit::Usage` if the file is not the result of a probe; as [`input::result`] if it cannot be read, or as `nandscope
/// probe` if the target cannot be probed.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let name = arguments.result.as_str();
    let stored = Path::new(name);
    let is_document = stored.extension().is_some_and(|e| e == "json");
    let report = if is_document {
        from_document(&input::result(stored)?).ok_or_else(|| {
            Failure::usage(format!(
                "{name} is not the result of a probe; `nandscope probe TARGET -o DIR` writes one"
            ))
        })?
    } else {
        measured(name, &arguments.how, None, console)?.0
    };
    let probed = Some(name).filter(|n| n.starts_with("/dev/"));
    let device = arguments.device.as_deref().or(probed).unwrap_or("/dev/sdX");
    let all = advice(&report, device);
    if arguments.json {
        let text = serde_json::to_string_pretty(&all).map_err(Failure::internal)?;
        console.print_json(&text)?;
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
            // Pasted as a whole, it makes one file system.
            let comment = if advice.alternative {
                "# instead: "
            } else {
                ""
            };
            text.push_str(&format!("{comment}{command}\n"));
        }
        text.push('\n');
    }
    console.print(&text)?;
    Ok(Exit::Done)
}
