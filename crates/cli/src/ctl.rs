//! `nandscope ctl`: injects a fault into a card that `nandscope serve --control` serves.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use clap::Args;
use nandscope_blockio::fault::{FaultCommand, GRAMMAR};
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// Longest wait for the server's answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The commands, indented as examples are.
fn help() -> String {
    let commands: Vec<String> = GRAMMAR.lines().map(|line| format!("  {line}")).collect();
    format!(
        "Fault commands:\n{}\n\ndocs/faults.md explains them.",
        commands.join("\n")
    )
}

/// Arguments of `nandscope ctl`.
#[derive(Debug, Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// Socket of `serve --control unix:SOCKET`
    #[arg(value_name = "SOCKET")]
    socket: PathBuf,
    /// Fault command
    #[arg(required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Sends the fault command and prints the answer.
///
/// # Errors
/// `Exit::File` if no server answers at the socket; `Exit::Usage` if the command is invalid or refused.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let command = arguments.command.join(" ");
    // Mistakes are found here, where they are named better.
    command.parse::<FaultCommand>().map_err(Failure::usage)?;
    let answer = ask(&arguments, &command)
        .map_err(|e| Failure::file(format!("{}: {e}", arguments.socket.display())))?;
    match answer.trim().split_once(": ") {
        Some(("ok", said)) => console.print(&format!("{said}\n"))?,
        Some(("error", why)) => return Err(Failure::usage(why)),
        _ => {
            return Err(Failure::file(format!(
                "{}: the server ended before it replied",
                arguments.socket.display()
            )));
        }
    }
    Ok(Exit::Done)
}

fn ask(arguments: &Arguments, command: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(&arguments.socket)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut answer = String::new();
    let read = BufReader::new(stream).read_line(&mut answer);
    read.map_err(|e| match e.kind() {
        ErrorKind::WouldBlock => {
            io::Error::other("the server does not answer; check that it is running")
        }
        _ => e,
    })?;
    Ok(answer)
}
