//! Runs system programs with a time limit and reads their output.

use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Between looks whether it is done.
const PAUSE: Duration = Duration::from_millis(5);
/// More than this is read from none.
const MOST_BYTES: u64 = 16 << 20;

/// Runs a program, kills it after `longest`, and returns its status and output.
///
/// # Errors
/// `io::Error` if it cannot be started or read, or does not end in time.
pub(crate) fn run(command: &mut Command, longest: Duration) -> io::Result<(ExitStatus, Vec<u8>)> {
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    let mut stdout = child.stdout.take();
    // Read in parallel: a full pipe would keep the program from ending.
    let reader = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout
            .as_mut()
            .map(|out| out.take(MOST_BYTES).read_to_end(&mut bytes));
        read.transpose().map(|_| bytes)
    });
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if began.elapsed() > longest {
            child.kill()?;
            child.wait()?;
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "it did not end in time",
            ));
        }
        std::thread::sleep(PAUSE);
    };
    let bytes = reader.join();
    let bytes = bytes.unwrap_or_else(|_| Err(io::Error::other("its output could not be read")))?;
    Ok((status, bytes))
}
