//! `nandscope ctl`: injects a fault into a card that `nandscope serve --control` serves.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use clap::Args;
use nandscope_blockio::fault::{FaultCommand, GRAMMAR};
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Longest wait for the server's answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer that is read, bytes.
const LONGEST_ANSWER: u64 = 64 << 10;

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
    // Checked here, because the client's message is more specific than the server's.
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

/// Sends a request to the server and returns its answer within [`PATIENCE`], even if the server accepts no connection,
/// is silent, or never stops sending.
fn ask(arguments: &Arguments, command: &str) -> io::Result<String> {
    let (answered, wait) = channel();
    let (socket, command) = (arguments.socket.clone(), command.to_string());
    // If the server does not answer, the thread stays until the process ends.
    std::thread::Builder::new().spawn(move || answered.send(converse(&socket, &command)))?;
    wait.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        Err(io::Error::other(format!(
            "the server does not answer within {seconds} s; check that it is running"
        )))
    })
}

fn converse(socket: &Path, command: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream.take(LONGEST_ANSWER)).read_line(&mut answer)?;
    Ok(answer)
}
