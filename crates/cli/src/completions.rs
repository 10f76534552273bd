//! `nandscope completions`: completion scripts for shells.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use clap::Args;
use clap_complete::Shell;

/// Arguments of `nandscope completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  nandscope completions bash > /etc/bash_completion.d/nandscope")]
pub struct Arguments {
    /// Shell to complete for
    shell: Shell,
}

/// Writes the completions to standard output.
///
/// # Errors
/// `Exit::File` if standard output cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let mut bytes = Vec::new();
    let mut command = crate::command();
    clap_complete::generate(arguments.shell, &mut command, "nandscope", &mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    console.print_data(&text)?;
    Ok(Exit::Done)
}
