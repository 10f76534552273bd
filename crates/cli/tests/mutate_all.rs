//! The long form of `mutate.rs`: 20,000 mutated inputs for every fuzz body, in child processes with an
//! address space of 1 GiB and 2 s of processor time for each input. An input follows from the name of its
//! body and its number; both are printed for each failure.
//!
//! `NANDSCOPE_MUTATE_COUNT` sets the number of inputs, `NANDSCOPE_MUTATE_BODY` names the only body to
//! run (then an input `N` alone with `NANDSCOPE_MUTATE_FIRST=N NANDSCOPE_MUTATE_COUNT=1`).

#![cfg(target_os = "linux")]
use crate::bodies;
use crate::support::mutation;
use std::io::{BufRead, BufReader, Write};
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Address space of a child, KiB.
const MEMORY_KIB: u64 = 1 << 20;
/// Maximum processor time of one input, in ticks of the kernel (1/100 s).
const MOST_TICKS: u64 = 200;
/// Maximum wall time of one input that waits instead of computing.
const LONGEST: Duration = Duration::from_secs(60);
/// Inputs per child process.
const PIECE: u64 = 5000;
/// Number of failures of a body after which its remaining inputs are skipped.
const MOST_FAILURES: usize = 20;

/// Inputs of one body from `first` until before `end`.
#[derive(Clone, Copy)]
struct Piece {
    body: &'static str,
    first: u64,
    end: u64,
}

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().expect("a number"))
}

fn pieces() -> Vec<Piece> {
    let first = number("NANDSCOPE_MUTATE_FIRST", 0);
    let end = first + number("NANDSCOPE_MUTATE_COUNT", 20_000);
    let only = std::env::var("NANDSCOPE_MUTATE_BODY").ok();
    let chosen = |name: &&str| only.as_deref().is_none_or(|only| only == *name);
    let names = bodies::ALL.iter().map(|(name, _)| *name).filter(chosen);
    let of_body = |body| {
        let starts = (first..end).step_by(PIECE as usize);
        starts.map(move |first| Piece {
            body,
            first,
            end: end.min(first + PIECE),
        })
    };
    // Pieces are taken from the end.
    let mut all: Vec<Piece> = names.flat_map(of_body).collect();
    all.reverse();
    all
}

/// Runs in the child process: prints the number of each input before running it, and of each panic.
#[test]
#[ignore = "slow: a part of the test below, which starts it"]
fn child() {
    let Ok(name) = std::env::var("NANDSCOPE_MUTATE_CHILD") else {
        return;
    };
    let (_, body) = bodies::ALL.into_iter().find(|(n, _)| *n == name).unwrap();
    let seeds = mutation::seeds(&name);
    let (first, end) = (
        number("NANDSCOPE_MUTATE_FROM", 0),
        number("NANDSCOPE_MUTATE_TO", 0),
    );
    let mut out = std::io::stderr();
    std::panic::set_hook(Box::new(|info| {
        let message = info.to_string().replace('\n', " ");
        let mut text: String = message.chars().take(600).collect();
        text.push('\n');
        let _ = std::fs::write(panic_file(std::process::id()), text);
    }));
    for number in first..end {
        writeln!(out, "\n@ {number}").unwrap();
        let input = mutation::input(&name, &seeds, number);
        if catch_unwind(|| body(&input)).is_err() {
            let message = std::fs::read_to_string(panic_file(std::process::id()));
            writeln!(out, "\n! {}", message.unwrap_or_default().trim_end()).unwrap();
        }
    }
    writeln!(out, "\n@ done").unwrap();
    let _ = std::fs::remove_file(panic_file(std::process::id()));
}

fn panic_file(process: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mutate-panic-{process}"))
}

/// A line that a child printed, or the end of its output.
enum Said {
    Line(String),
    End,
}

fn start(piece: Piece) -> (Child, Receiver<Said>) {
    let script = format!("ulimit -v {MEMORY_KIB} && exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap())
        .args([
            "mutate_all::child",
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env("NANDSCOPE_MUTATE_CHILD", piece.body)
        .env("NANDSCOPE_MUTATE_FROM", piece.first.to_string())
        .env("NANDSCOPE_MUTATE_TO", piece.end.to_string())
        .env("RUST_BACKTRACE", "0")
        // An arena per thread would take 64 MiB of the address space each.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap());
    let (to, from) = channel();
    std::thread::spawn(move || {
        for line in lines.split(b'\n') {
            let Ok(line) = line else { break };
            let line = String::from_utf8_lossy(&line).into_owned();
            if to.send(Said::Line(line)).is_err() {
                return;
            }
        }
        let _ = to.send(Said::End);
    });
    (child, from)
}

/// Processor time of a process, ticks of 1/100 s.
fn ticks(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let at = |i: usize| fields.get(i).and_then(|f| f.parse::<u64>().ok());
    Some(at(11)? + at(12)?)
}

/// Watches one child until it ends. Returns the number of the input after which to continue, and adds the failures.
fn watch(piece: Piece, failures: &mut Vec<(u64, String)>) -> u64 {
    let (mut child, said) = start(piece);
    let (mut current, mut last_words) = (None, String::new());
    let (mut since, mut used) = (Instant::now(), ticks(child.id()));
    loop {
        match said.recv_timeout(Duration::from_millis(100)) {
            Ok(Said::Line(line)) => match line.split_once(' ') {
                Some(("@", "done")) => {
                    let _ = child.wait();
                    return piece.end;
                }
                Some(("@", number)) => {
                    current = number.parse().ok();
                    (since, used) = (Instant::now(), None);
                }
                Some(("!", message)) => {
                    failures.push((current.unwrap_or(piece.first), message.to_string()));
                    if failures.len() >= MOST_FAILURES {
                        let _ = child.kill();
                        let _ = child.wait();
                        return piece.end;
                    }
                }
                _ if line.trim().is_empty() => {}
                _ => last_words = line,
            },
            Err(RecvTimeoutError::Timeout) => {
                // Read only after an input has taken 100 ms, which are not counted.
                let now = ticks(child.id());
                let before = *used.get_or_insert(now.unwrap_or(0));
                let computed = now.unwrap_or(0).saturating_sub(before);
                if computed > MOST_TICKS || since.elapsed() > LONGEST {
                    let _ = child.kill();
                    let _ = child.wait();
                    let number = current.unwrap_or(piece.first);
                    failures.push((number, format!("no end after {:.1?}", since.elapsed())));
                    return number + 1;
                }
            }
            Ok(Said::End) | Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait().unwrap();
                let number = current.unwrap_or(piece.first);
                failures.push((number, format!("{status}: {last_words}")));
                return number + 1;
            }
        }
    }
}

fn run_piece(mut piece: Piece) -> Vec<(u64, String)> {
    let mut failures = Vec::new();
    while piece.first < piece.end && failures.len() < MOST_FAILURES {
        piece.first = watch(piece, &mut failures);
    }
    failures
}

/// Saves the input of a failure.
fn keep(body: &str, number: u64) -> PathBuf {
    let input = mutation::input(body, &mutation::seeds(body), number);
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("mutate-{body}-{number}"));
    std::fs::write(&path, input).unwrap();
    path
}

#[test]
#[ignore = "slow: hundreds of thousands of inputs"]
fn slow_mutated_inputs_end_in_time_within_a_gigabyte() {
    let pieces = Mutex::new(pieces());
    let failed = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let piece = pieces.lock().unwrap().pop();
                    let Some(piece) = piece else { break };
                    let began = Instant::now();
                    let failures = run_piece(piece);
                    println!(
                        "{} from {}: {:.1} s, {} failures",
                        piece.body,
                        piece.first,
                        began.elapsed().as_secs_f64(),
                        failures.len()
                    );
                    for (number, what) in failures {
                        let path = keep(piece.body, number);
                        let text = format!("{} {number}: {what} ({})", piece.body, path.display());
                        failed.lock().unwrap().push(text);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(
        failed.is_empty(),
        "{} failed:\n{}",
        failed.len(),
        failed.join("\n")
    );
}
