//! Signals at random moments of every command that works for a while: it ends soon, with the code that
//! docs/exit-codes.md gives, and leaves no partial file and no child process.
//!
//! The limit for the end of a command is 0.2 s. What is asserted is processor time after the signal, for one thread of each of
//! two processors and two ticks of the system's clock; on a busy machine the time of the wall says nothing, and has a limit that
//! no command should come near.
#![cfg(target_os = "linux")]

use crate::support::signals::send;
use crate::support::{Folder, tiny};
use nandscope_result::json;
use nandscope_units::random::SplitMix64;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Processor time after the signal, in ticks of a hundredth of a second: 0.2 s of two threads, and two ticks.
const TICKS: u64 = 42;
/// Time of the wall after the signal.
const WALL: Duration = Duration::from_secs(20);
/// Earliest moment after the start, seconds.
const FIRST_S: f64 = 0.002;
/// Number of doublings of the moment of the signal, up to 1 s.
const OCTAVES: u64 = 9;

/// A load that takes longer than any moment here.
const JOB: &str = "[a]\nrw=randrw\nbs=4k\niodepth=4\nnorandommap\nnumber_ios=100000000\n";
const CELLS: &str = "[a]\nrw=randwrite\nbs=4k\nnorandommap\nnumber_ios=3000000\n";

/// Commands by the name of their folder.
fn commands(tiny: &str) -> Vec<(&'static str, Vec<String>)> {
    let lines = [
        ("run", "run job.fio sim:reference-nvme-64gb --result r.json"),
        (
            "run-steady",
            "run job.fio sim:sm2708-250gb --precondition steady --result r.json",
        ),
        (
            "run-random",
            "run job.fio sim:sm2708-250gb --precondition random --result r.json",
        ),
        (
            "run-emmc",
            "run job.fio sim:samsung-emmc51-64gb --precondition overwritten",
        ),
        (
            "run-large",
            "run job.fio sim:sm2262en-2tb --precondition sequential",
        ),
        (
            "run-card-random",
            "run job.fio sim:sandisk-extreme-uhs2-128gb --precondition random",
        ),
        (
            "run-card-steady",
            "run job.fio sim:sandisk-extreme-uhs2-128gb --precondition steady",
        ),
        (
            "run-window-steady",
            "run job.fio sim:sandisk-extreme-a2-64gb --precondition steady",
        ),
        (
            "run-large-steady",
            "run job.fio sim:sm2262en-2tb --precondition steady",
        ),
        (
            "lifetime-overwritten",
            "lifetime job.fio sim:sm2708-250gb --per-day 20GB --precondition overwritten",
        ),
        (
            "run-contents",
            "run job.fio TINY --contents --result r.json",
        ),
        ("review-card", "review sim:kingston-8gb -o out"),
        ("review-ssd", "review sim:sm2708-250gb --quick -o out"),
        ("probe", "probe sim:reference-nvme-64gb -o out"),
        ("probe-self-test", "probe --self-test --devices 100000"),
        ("advise", "advise sim:kingston-8gb --for rootfs"),
        ("verify", "verify sim:samsung-pro-32gb -o out"),
        ("serve", "serve TINY --nbd unix:card.sock --store card.img"),
        (
            "serve-steady",
            "serve sim:sm2708-250gb --nbd unix:card.sock --precondition steady",
        ),
        (
            "sweep",
            "sweep cells.fio sim:reference-nvme-64gb --job bs=4k,8k --precondition random -o out",
        ),
        ("sweep-fullness", "sweep fullness sim:sm2262en-2tb -o out"),
        ("validate", "validate"),
        ("report", "report r.json -o out --png"),
        ("compare", "compare r.json r.json --html page.html"),
        ("shelf", "shelf site -o out"),
        ("job", "job emit-fio job.fio"),
        ("trace", "trace list"),
        ("devices", "devices show sm2708-250gb"),
        ("inspect", "inspect sim:kingston-8gb"),
        (
            "qualify",
            "qualify sim:samsung-evo-16gb --for dashcam -o out",
        ),
        (
            "fit",
            "fit sim:kingston-8gb --base kingston-8gb -o out.toml",
        ),
        ("fs", "fs sim:kingston-8gb -o out"),
    ];
    let words = |line: &str| {
        line.replace("TINY", tiny)
            .split(' ')
            .map(str::to_string)
            .collect()
    };
    lines
        .into_iter()
        .map(|(name, line)| (name, words(line)))
        .collect()
}

/// State of a process in `/proc/PID/stat`, and its processor time in ticks.
fn stat(process: u32) -> Option<(char, u64)> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let mut fields = text.rsplit(')').next()?.split_whitespace();
    let state = fields.next()?.chars().next()?;
    let mut times = fields
        .skip(10)
        .map(|field| field.parse::<u64>().unwrap_or(0));
    Some((state, times.next()? + times.next()?))
}

/// Waits until a process is a zombie; gives its processor time.
fn ticks_at_the_end(child: &Child, what: &str) -> u64 {
    let began = Instant::now();
    loop {
        match stat(child.id()) {
            Some(('Z', ticks)) => return ticks,
            None => return 0,
            _ => {}
        }
        assert!(began.elapsed() < WALL, "{what}: no end within {WALL:?}");
        sleep(Duration::from_millis(2));
    }
}

fn is_documented(status: ExitStatus, is_over: bool, name: &str) -> bool {
    match (status.code(), status.signal()) {
        // By the signal's usual effect, or as a command that was interrupted; servers end in order.
        (None, Some(2 | 15)) | (Some(130), None) => true,
        (Some(0), None) => true,
        // The command ended by itself, or `fs` found no kernel.
        (Some(2), None) => false,
        (Some(code), None) => is_over || (name == "fs" && code == 3),
        _ => false,
    }
}

/// Files below a folder.
fn files(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => vec![entry.path().display().to_string()],
    });
    below.collect()
}

/// A result for commands that read a result.
fn result() -> String {
    let folder = Folder::new("signal-moments-result");
    folder.file("job.fio", "[a]\nrw=randrw\nbs=4k\nnumber_ios=20000\n");
    folder
        .run(&["run", "job.fio", &tiny(), "--result", "r.json"])
        .succeeds();
    folder.read("r.json")
}

/// Sends a signal at a moment, and checks how the command ends.
fn interrupt(name: &str, arguments: &[String], result: &str, (at, signal): (f64, &str)) {
    let what = format!("{name}, {signal} after {at:.3} s");
    let folder = Folder::new(&format!("signal-moments-{name}"));
    folder.file("job.fio", JOB);
    folder.file("cells.fio", CELLS);
    folder.file("result.json", result);
    if matches!(name, "report" | "compare") {
        folder.file("r.json", result);
    }
    if name == "shelf" {
        folder.run(&["shelf", "add", "result.json"]).succeeds();
    }
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command: Command = folder.command(&words);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.process_group(0).spawn().unwrap();
    sleep(Duration::from_secs_f64(at));
    let (state, before) = stat(child.id()).unwrap();
    let is_over = state == 'Z';
    if !is_over {
        send(signal, &[child.id().into()]);
    }
    let after = ticks_at_the_end(&child, &what);
    let status = child.wait().unwrap();
    assert!(is_documented(status, is_over, name), "{what}: {status}");
    let spent = after.saturating_sub(before);
    assert!(
        is_over || spent <= TICKS,
        "{what}: {spent} hundredths of a second of processor time"
    );
    let group = format!("-{}", child.id());
    let group = Command::new("kill")
        .args(["-s", "0", "--", &group])
        .stderr(Stdio::null())
        .status();
    assert!(!group.unwrap().success(), "{what}: a child process is left");
    for file in files(&folder.0) {
        assert!(!file.ends_with(".partial"), "{what}: {file} is left");
        if file.ends_with("/r.json") || file.ends_with("/out/result.json") {
            assert!(
                json::read(Path::new(&file)).is_ok(),
                "{what}: {file} is not whole"
            );
        }
    }
}

/// Sends `count` signals, spread over the commands that `chosen` takes, at moments evenly spread on a logarithmic scale.
fn campaign(seed: u64, count: u64, chosen: impl Fn(&str) -> bool) {
    println!("seed {seed}");
    let (result, tiny) = (result(), tiny());
    let commands = commands(&tiny);
    let commands: Vec<_> = commands.iter().filter(|(name, _)| chosen(name)).collect();
    let mut random = SplitMix64::new(seed);
    for number in 0..count {
        let (name, arguments) = commands[number as usize % commands.len()];
        let share = random.below(1 << 20) as f64 / f64::from(1 << 20);
        let octave = (1u32 << random.below(OCTAVES)) as f64;
        let at = FIRST_S * octave * (1.0 + share);
        let signal = ["INT", "TERM"][random.below(2) as usize];
        interrupt(name, arguments, &result, (at, signal));
    }
}

#[test]
fn a_signal_ends_what_takes_longest() {
    let longest = [
        "run-steady",
        "run-emmc",
        "review-card",
        "report",
        "serve-steady",
    ];
    campaign(1, 10, |name| longest.contains(&name));
}

/// A command that is refused at once would pass no other test of this module, but only where it is chosen.
#[test]
fn each_command_works_for_a_while() {
    let (result, tiny) = (result(), tiny());
    for (name, arguments) in &commands(&tiny) {
        interrupt(name, arguments, &result, (0.1, "TERM"));
    }
}

/// Each state of `--precondition`, on cards and drives whose map is in RAM or in the flash.
#[test]
#[ignore = "slow: 64 signals, half a minute"]
fn slow_a_signal_ends_each_preparation() {
    let preparations = [
        "run-large",
        "run-random",
        "run-emmc",
        "run-steady",
        "run-card-random",
        "run-card-steady",
        "run-window-steady",
        "run-large-steady",
    ];
    campaign(2, 64, |name| preparations.contains(&name));
}

#[test]
#[ignore = "slow: 200 signals, a minute"]
fn slow_a_signal_at_any_moment_ends_any_command() {
    let seed = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(1, |t| t.as_secs());
    campaign(seed, 200, |_| true);
}
