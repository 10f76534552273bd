//! Signals at random moments of every command: it ends soon, with the code that docs/exit-codes.md gives, and leaves no partial
//! file and no child process, and a block device as it was.
//!
//! What is asserted is processor time after the signal; on a busy machine the time of the wall says nothing, and has a limit that
//! no command should come near.
#![cfg(target_os = "linux")]

use crate::support::loops::Loop;
use crate::support::signals::{stat, ticks_at_the_end};
use crate::support::{Folder, tiny};
use nandscope_result::json;
use nandscope_units::random::SplitMix64;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::net::UnixListener;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

/// Processor time after the signal, in ticks of a hundredth of a second: 0.2 s on each of two processors, as `sweep` runs two
/// points at once, and four for the count of the system, which rounds the times of a process in user mode and in the kernel before
/// and after.
const TICKS: u64 = 44;
/// Time of the wall after the signal.
const WALL: Duration = Duration::from_secs(20);
/// Earliest moment after the start, seconds.
const FIRST_S: f64 = 0.002;
/// Number of doublings of the moment of the signal, up to 1 s, and up to 0.06 s for commands that end at once.
const OCTAVES: u64 = 9;
const SHORT_OCTAVES: u64 = 5;

/// A load that takes longer than any moment here.
const JOB: &str = "[a]\nrw=randrw\nbs=4k\niodepth=4\nnorandommap\nnumber_ios=100000000\n";
const CELLS: &str = "[a]\nrw=randwrite\nbs=4k\nnorandommap\nnumber_ios=3000000\n";

/// Commands that work for a while, by the name of their folder.
const WORKING: &str = "\
run: run job.fio sim:reference-nvme-64gb --result r.json
run-steady: run job.fio sim:sm2708-250gb --precondition steady --result r.json
run-random: run job.fio sim:sm2708-250gb --precondition random --result r.json
run-emmc: run job.fio sim:samsung-emmc51-64gb --precondition overwritten
run-large: run job.fio sim:sm2262en-2tb --precondition sequential
run-card-random: run job.fio sim:sandisk-extreme-uhs2-128gb --precondition random
run-card-steady: run job.fio sim:sandisk-extreme-uhs2-128gb --precondition steady
run-window-steady: run job.fio sim:sandisk-extreme-a2-64gb --precondition steady
run-large-steady: run job.fio sim:sm2262en-2tb --precondition steady
lifetime-overwritten: lifetime job.fio sim:sm2708-250gb --per-day 20GB --precondition overwritten
run-contents: run job.fio TINY --contents --result r.json
review-card: review sim:kingston-8gb -o out
review-ssd: review sim:sm2708-250gb --quick -o out
probe: probe sim:reference-nvme-64gb -o out
probe-self-test: probe --self-test --devices 100000
advise: advise sim:kingston-8gb --for rootfs
verify: verify sim:samsung-pro-32gb -o out
serve: serve TINY --nbd unix:card.sock --store card.img
serve-steady: serve sim:sm2708-250gb --nbd unix:card.sock --precondition steady
sweep: sweep cells.fio sim:reference-nvme-64gb --job bs=4k,8k --precondition random -o out
sweep-fullness: sweep fullness sim:sm2262en-2tb -o out
validate: validate
report: report r.json -o out --png
compare: compare r.json r.json --html page.html
shelf: shelf site -o out
qualify: qualify sim:samsung-evo-16gb --for dashcam -o out
fit: fit sim:kingston-8gb --base kingston-8gb -o out.toml
fs: fs sim:kingston-8gb -o out
predict: predict card.toml job.fio
kernel: kernel build --force --source linux.tar --sha256 ZEROS
ctl: ctl silent.sock slow 0 1
run-block: run job.fio DEVICE --destroy-data=NAME --yes NAME --result r.json
verify-block: verify DEVICE --yes NAME -o out
purge-block: purge DEVICE --destroy-data=NAME --yes NAME
";

/// Commands that end at once.
const SHORT: &str = "\
job: job emit-fio job.fio
trace: trace list
devices: devices show sm2708-250gb
inspect: inspect sim:kingston-8gb
health: health sim:kingston-8gb
calc: calc link pcie-2.0-x2 sata-6
completions: completions bash
help: help jobs
";

/// Commands of which one uses a block device.
const ON_BLOCK: [&str; 3] = ["run-block", "verify-block", "purge-block"];
/// Size of that device, MiB: `verify` needs longer for it than any moment here.
const DEVICE_MIB: usize = 256;

/// Files that the tested commands read; all commands use the same.
struct Inputs {
    result: String,
    /// A fitted profile and its ensemble by the names of their files, if a command needs them.
    twin: BTreeMap<String, String>,
}

impl Inputs {
    fn make(commands: &[Case], seed: u64) -> Inputs {
        let folder = Folder::new(&format!("signal-moments-inputs-{seed}"));
        folder.file("job.fio", "[a]\nrw=randrw\nbs=4k\nnumber_ios=20000\n");
        folder
            .run(&["run", "job.fio", &tiny(), "--result", "r.json"])
            .succeeds();
        let result = folder.read("r.json");
        let mut twin = BTreeMap::new();
        if commands.iter().any(|case| case.name == "predict") {
            let fit = "fit sim:kingston-8gb --base kingston-8gb --evaluations 50 -o card.toml";
            folder.run(&fit.split(' ').collect::<Vec<_>>()).succeeds();
            let names = folder.names().into_iter();
            let made = names.filter(|name| name.starts_with("card."));
            twin = made
                .map(|name| (name.clone(), folder.read(&name)))
                .collect();
        }
        Inputs { result, twin }
    }
}

/// A command line.
struct Case {
    name: &'static str,
    words: &'static str,
    /// It works for a while.
    works: bool,
}

/// The commands that `chosen` takes by name.
fn commands(chosen: impl Fn(&str) -> bool) -> Vec<Case> {
    let cases = |lines: &'static str, works| {
        let lines = lines.lines().filter_map(|line| line.split_once(": "));
        lines.map(move |(name, words)| Case { name, words, works })
    };
    let all = cases(WORKING, true).chain(cases(SHORT, false));
    all.filter(|case| chosen(case.name)).collect()
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
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.flat_map(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => files(&entry.path()),
        _ => vec![entry.path().display().to_string()],
    });
    below.collect()
}

/// A folder with all that a command reads.
fn prepared(case: &Case, inputs: &Inputs) -> Folder {
    let folder = Folder::new(&format!("signal-moments-{}", case.name));
    folder.file("job.fio", JOB);
    folder.file("cells.fio", CELLS);
    folder.file("result.json", &inputs.result);
    for (name, text) in &inputs.twin {
        folder.file(name, text);
    }
    match case.name {
        "report" | "compare" => drop(folder.file("r.json", &inputs.result)),
        "shelf" => drop(folder.run(&["shelf", "add", "result.json"]).succeeds()),
        // Holes, whose checksum takes a while.
        "kernel" => {
            let source = fs::File::create(folder.0.join("linux.tar")).unwrap();
            source.set_len(8 << 30).unwrap();
        }
        _ => {}
    }
    folder
}

/// The words of a command line.
fn words(case: &Case, device: Option<&Loop>) -> Vec<String> {
    let (path, name) = device.map_or(("", ""), |device| (&device.device, device.name()));
    let word = |word: &str| match word {
        "TINY" => tiny(),
        "DEVICE" => path.to_string(),
        "NAME" => name.to_string(),
        "ZEROS" => "0".repeat(64),
        _ => word.replace("=NAME", &format!("={name}")),
    };
    case.words.split(' ').map(word).collect()
}

/// Sends a signal at a moment, checks how the command ends, and gives its processor time after the signal, in ticks; `None` if it
/// had ended.
fn interrupt(
    case: &Case,
    inputs: &Inputs,
    device: Option<&Loop>,
    (at, signal): (f64, Signal),
) -> Option<u64> {
    let what = format!("{}, {signal:?} after {at:.3} s", case.name);
    let folder = prepared(case, inputs);
    // It accepts no connection, so that its client waits.
    let _silent = UnixListener::bind(folder.0.join("silent.sock"));
    let words = words(case, device);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
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
        // By a call, not by the program `kill`: what the command does until that has started would count.
        kill_process(Pid::from_child(&child), signal).unwrap();
    }
    let after = ticks_at_the_end(child.id(), WALL, &what);
    let status = child.wait().unwrap();
    assert!(
        is_documented(status, is_over, case.name),
        "{what}: {status}"
    );
    let group = format!("-{}", child.id());
    let group = Command::new("kill")
        .args(["-s", "0", "--", &group])
        .stderr(Stdio::null())
        .status();
    assert!(!group.unwrap().success(), "{what}: a child process is left");
    assert_whole(&folder, &what);
    if case.name == "verify-block"
        && let Some(device) = device
    {
        let bytes = fs::read(device.backing()).unwrap();
        assert!(
            bytes.iter().all(|byte| *byte == 0xa5),
            "{what}: data is not back"
        );
    }
    let spent = after.saturating_sub(before);
    assert!(
        is_over || spent <= TICKS,
        "{what}: {spent} hundredths of a second of processor time"
    );
    (!is_over).then_some(spent)
}

/// No partial file is left, and results are whole.
fn assert_whole(folder: &Folder, what: &str) {
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

/// Sends `count` signals to a command, at moments evenly spread on a logarithmic scale; gives the processor times after them.
fn interrupt_often(case: &Case, inputs: &Inputs, seed: u64, count: u64) -> Vec<u64> {
    let home = Folder::new(&format!("signal-moments-device-{}", case.name));
    let is_on_block = ON_BLOCK.contains(&case.name);
    let device = is_on_block.then(|| Loop::new(&home, DEVICE_MIB)).flatten();
    if is_on_block && device.is_none() {
        return Vec::new();
    }
    let mut random = SplitMix64::new(seed);
    let octaves = if case.works { OCTAVES } else { SHORT_OCTAVES };
    let spent = (0..count).filter_map(|_| {
        let share = random.below(1 << 20) as f64 / f64::from(1 << 20);
        let octave = (1u32 << random.below(octaves)) as f64;
        let at = FIRST_S * octave * (1.0 + share);
        let signal = [Signal::INT, Signal::TERM][random.below(2) as usize];
        interrupt(case, inputs, device.as_ref(), (at, signal))
    });
    spent.collect()
}

/// Sends `count` signals to each of the commands, on two threads, and prints how many took how long.
fn campaign(seed: u64, count: u64, cases: Vec<Case>) {
    println!("seed {seed}");
    let inputs = Inputs::make(&cases, seed);
    let left = Mutex::new((seed..).zip(cases));
    let spent = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let next = left.lock().unwrap().next();
                    let Some((seed, case)) = next else { return };
                    let ticks = interrupt_often(&case, &inputs, seed, count);
                    println!("{}: {ticks:?}", case.name);
                    spent.lock().unwrap().extend(ticks);
                }
            });
        }
    });
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for ticks in spent.into_inner().unwrap() {
        *counts.entry(ticks).or_default() += 1;
    }
    println!("signals by hundredths of a second of processor time: {counts:?}");
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
    campaign(1, 2, commands(|name| longest.contains(&name)));
}

/// A command that is refused at once would pass no other test of this module, but only where it is chosen.
#[test]
fn each_command_works_for_a_while() {
    let cases = commands(|_| true);
    let inputs = Inputs::make(&cases, 0);
    for case in &cases {
        let home = Folder::new(&format!("signal-moments-device-{}", case.name));
        let is_on_block = ON_BLOCK.contains(&case.name);
        let device = is_on_block.then(|| Loop::new(&home, DEVICE_MIB)).flatten();
        if is_on_block && device.is_none() {
            continue;
        }
        interrupt(case, &inputs, device.as_ref(), (0.1, Signal::TERM));
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
    campaign(2, 8, commands(|name| preparations.contains(&name)));
}

/// Of 1005 signals on two busy cores, 709 ended a command within a hundredth of a second of processor time, 994 within 0.05 s, and
/// all within 0.18 s. It took 2 min 40 s; 200 signals to each command would take 18 minutes.
#[test]
#[ignore = "slow: 30 signals to each of 42 commands, three minutes"]
fn slow_a_signal_at_any_moment_ends_any_command() {
    let seed = std::time::SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(1, |t| t.as_secs());
    campaign(seed, 30, commands(|_| true));
}
