//! The journal of finished steps next to the result: its contents after a measurement was killed, and how `--resume`
//! continues from it.

#![cfg(target_os = "linux")]

use crate::support::loops::{Loop, skipped, tool};
use crate::support::{Folder, Ran, tiny};
use nandscope_measure::steps;
use nandscope_result::json;
use nandscope_result::{ResultDocument, WallClock};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time limit of every wait.
const LIMIT: Duration = Duration::from_secs(120);

fn start(folder: &Folder, arguments: &[&str]) -> Child {
    let mut command = folder.command(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Number of finished steps in a journal.
fn finished(journal: &Path) -> usize {
    let bytes = std::fs::read(journal).unwrap_or_default();
    steps::read(&bytes).map_or(0, |contents| contents.steps())
}

/// Waits until the journal holds `steps` steps.
fn wait_for(child: &mut Child, journal: &Path, steps: usize) {
    let begin = Instant::now();
    while finished(journal) < steps {
        if child.try_wait().unwrap().is_some() {
            let mut said = String::new();
            let _ = child.stderr.as_mut().map(|e| e.read_to_string(&mut said));
            panic!("it ended before {steps} steps: {said}");
        }
        assert!(
            begin.elapsed() < LIMIT,
            "no {steps} steps in {}",
            journal.display()
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Starts a command and kills it once the journal holds `steps` steps; returns the number that it holds afterwards.
fn killed_after(folder: &Folder, arguments: &[&str], journal: &str, steps: usize) -> usize {
    let path = folder.0.join(journal);
    let mut child = start(folder, arguments);
    wait_for(&mut child, &path, steps);
    child.kill().unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, None, "it was not killed: {ran:?}");
    finished(&path)
}

/// Waits until no process has the device open: io_uring closes it a little after the end of a killed process.
fn wait_until_free(device: &str) {
    let begin = Instant::now();
    let exclusive = i32::try_from(rustix::fs::OFlags::EXCL.bits()).unwrap();
    while std::fs::OpenOptions::new()
        .read(true)
        .custom_flags(exclusive)
        .open(device)
        .is_err()
    {
        assert!(begin.elapsed() < LIMIT, "{device} stays in use");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs a command once the target is free: io_uring closes the files of a killed process a little after its end.
fn run_when_free(folder: &Folder, arguments: &[&str]) -> Ran {
    let begin = Instant::now();
    loop {
        let ran = folder.run(arguments);
        if !ran.err.contains("another process has it open") {
            return ran;
        }
        assert!(begin.elapsed() < LIMIT, "{}", ran.err);
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn read(folder: &Folder, name: &str) -> ResultDocument {
    json::read(&folder.0.join(name)).unwrap()
}

/// The text of a result without its wall-clock times.
fn text(folder: &Folder, name: &str) -> String {
    let mut document = read(folder, name);
    document.wall = WallClock::default();
    json::to_json(&document).unwrap()
}

/// Checks the report made from a journal: the same number of steps, marked as incomplete.
fn recovers(folder: &Folder, journal: &str, whole: &ResultDocument) {
    let steps = finished(&folder.0.join(journal));
    let _ = std::fs::remove_dir_all(folder.0.join("recovered"));
    let before = std::fs::read(folder.0.join(journal)).unwrap();
    let ran = folder.run(&["report", "--recover", journal, "-o", "recovered"]);
    ran.succeeds();
    assert_eq!(before, std::fs::read(folder.0.join(journal)).unwrap());
    let recovered = read(folder, "recovered/result.json");
    assert!(!recovered.complete && recovered.wall.started.is_some());
    assert_eq!(recovered.steps, whole.steps[..steps]);
    assert_eq!(
        (&recovered.title, recovered.seed),
        (&whole.title, whole.seed)
    );
    let notice = recovered.notices.last().unwrap();
    assert!(
        notice.text.contains("recovered from the step journal"),
        "{notice:?}"
    );
    let page = folder.read("recovered/report.html");
    assert!(page.contains(&recovered.steps.last().unwrap().title));
    folder.run(&["report", "recovered/result.json"]).succeeds();
}

fn interrupt(child: &Child) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", "INT", &id]).status();
    assert!(sent.unwrap().success());
}

const REVIEW: [&str; 5] = [
    "review",
    "sim:sm2708-250gb",
    "--quick",
    "--mode",
    "SD Express",
];

fn review<'a>(more: &[&'a str]) -> Vec<&'a str> {
    REVIEW.iter().chain(more).copied().collect()
}

#[test]
fn a_review_that_is_killed_twice_ends_as_one_that_never_was() {
    let folder = Folder::new("resume-review");
    folder.run(&review(&["-o", "whole"])).succeeds();
    let whole = read(&folder, "whole/result.json");
    assert!(!folder.0.join("whole/result.steps").exists());
    let journal = "out/result.steps";
    let first = killed_after(&folder, &review(&["-o", "out"]), journal, 1);
    recovers(&folder, journal, &whole);
    let resume = review(&["-o", "out", "--resume"]);
    let second = killed_after(&folder, &resume, journal, (first + 1).max(9));
    assert!(second > first);
    recovers(&folder, journal, &whole);
    let ran = folder.run(&["compare", "whole/result.json", "recovered/result.json"]);
    ran.succeeds();
    let ran = folder.run(&resume);
    ran.succeeds();
    assert!(ran.err.contains("finished steps"), "{}", ran.err);
    assert!(
        text(&folder, "out/result.json") == text(&folder, "whole/result.json"),
        "the resumed review differs from the uninterrupted one"
    );
    assert!(!folder.0.join(journal).exists());
    assert!(folder.0.join("out/report.html").exists());
}

#[test]
fn parts_of_a_procedure_that_are_done_are_skipped() {
    let folder = Folder::new("resume-parts");
    let fill = [
        "review",
        "sim:sm2708-250gb",
        "--suite",
        "fill",
        "--quick",
        "-o",
    ];
    let fill = |more: &[&'static str]| [&fill[..], more].concat();
    folder.run(&fill(&["whole"])).succeeds();
    // Two modes of two steps each: after three steps the first mode is finished.
    killed_after(&folder, &fill(&["out"]), "out/result.steps", 3);
    let ran = folder.run(&fill(&["out", "--resume"]));
    ran.succeeds();
    assert!(
        ran.err.contains("resuming after 2 finished steps"),
        "{}",
        ran.err
    );
    assert!(text(&folder, "out/result.json") == text(&folder, "whole/result.json"));
}

#[test]
#[ignore = "slow: steps of a review in real time"]
fn slow_a_review_of_a_real_device_goes_on_after_the_step_that_is_done() {
    let folder = Folder::new("resume-device");
    let Some(device) = Loop::new(&folder, 64) else {
        return;
    };
    let name = device.name();
    let destroy = format!("--destroy-data={name}");
    let yes = ["--yes", name, "--quick", "-o", "out"];
    let review = [&["review", &device.device, &destroy][..], &yes].concat();
    let journal = "out/result.steps";
    let done = killed_after(&folder, &review, journal, 1);
    let bytes = std::fs::read(folder.0.join(journal)).unwrap();
    let earlier = steps::read(&bytes).unwrap();
    let resume = [&review[..], &["--resume"]].concat();
    wait_until_free(&device.device);
    // The second run is interrupted as soon as it has added a step.
    let mut child = start(&folder, &resume);
    wait_for(&mut child, &folder.0.join(journal), done + 1);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let result = read(&folder, "out/result.json");
    assert!(result.steps.len() > done && !result.complete);
    assert_eq!(
        result.steps[..done],
        earlier.recovered("here").steps[..done]
    );
}

fn job(last: &str) -> String {
    format!(
        "[global]\nbs=4k\nsize=4m\nfilename=x\n[a]\nrw=write\nwrite_lat_log=first\n[b]\nstonewall\nrw=randread\n[c]\nstonewall\nrw=randread\nrate_iops=100\n{last}"
    )
}

#[test]
fn a_run_on_a_file_goes_on_after_the_groups_that_are_done() {
    let folder = Folder::new("resume-run");
    folder.file("job.fio", &job("number_ios=300\n"));
    let run = [
        "run", "job.fio", "./t.img", "--size", "8m", "--result", "r.json",
    ];
    assert_eq!(killed_after(&folder, &run, "r.json.steps", 2), 2);
    let ran = folder.run(&["report", "--recover", "r.json.steps", "-o", "recovered"]);
    ran.succeeds();
    let recovered = read(&folder, "recovered/result.json");
    // Without --resume the command is refused, and the journal is kept.
    let journal = std::fs::read(folder.0.join("r.json.steps")).unwrap();
    let refused = folder.run(&run);
    refused.fails(
        2,
        &["r.json.steps", "2 finished steps", "--resume", "--recover"],
    );
    let ran = run_when_free(&folder, &[&run[..], &["--resume"]].concat());
    ran.succeeds();
    assert!(!journal.is_empty() && !folder.0.join("r.json.steps").exists());
    let document = read(&folder, "r.json");
    assert!(document.complete);
    assert_eq!(document.steps.len(), 3);
    assert_eq!(document.steps[..2], recovered.steps[..]);
    // The clock continues, and the result says that it was stopped.
    assert!(document.steps[2].start_s >= document.steps[1].end_s);
    let told =
        |n: &&nandscope_result::Notice| n.text.contains("was interrupted after the step \"b\"");
    assert_eq!(
        document.notices.iter().filter(told).count(),
        1,
        "{:?}",
        document.notices
    );
    // The log of the first group was restored from the journal.
    assert_eq!(folder.read("first_lat.1.log").lines().count(), 1024);
}

#[test]
fn a_simulated_run_that_is_killed_ends_as_one_that_never_was() {
    let folder = Folder::new("resume-simulated-run");
    folder.file(
        "job.fio",
        "[a]\nrw=randwrite\nbs=4k\nnumber_ios=2000\n[b]\nstonewall\nrw=randread\nbs=4k\nnumber_ios=4000000\nnorandommap\ntime_based\nruntime=40\n[c]\nstonewall\nrw=read\n",
    );
    let run = |out: &'static str| {
        vec![
            "run",
            "job.fio",
            TARGET,
            "--precondition",
            "random:60",
            "--result",
            out,
        ]
    };
    const TARGET: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny.toml");
    folder.run(&run("whole.json")).succeeds();
    killed_after(&folder, &run("r.json"), "r.json.steps", 1);
    let mut resume = run("r.json");
    resume.push("--resume");
    folder.run(&resume).succeeds();
    assert!(text(&folder, "r.json") == text(&folder, "whole.json"));
    assert_eq!(folder.names(), ["job.fio", "r.json", "whole.json"]);
}

#[test]
fn what_cannot_be_resumed_is_refused_and_stays_as_it_is() {
    let folder = Folder::new("resume-refused");
    let last = "number_ios=100000\n";
    folder.file("job.fio", &job(last));
    let run = [
        "run", "job.fio", "./t.img", "--size", "8m", "--result", "r.json",
    ];
    killed_after(&folder, &run, "r.json.steps", 2);
    let path = folder.0.join("r.json.steps");
    let journal = std::fs::read(&path).unwrap();
    let refuse = |more: &[&str], parts: &[&str]| {
        run_when_free(&folder, &[&run[..], more].concat()).fails(2, parts);
    };
    refuse(&["--resume", "--seed", "5"], &["seed: was `1`, is `5`"]);
    folder.file("job.fio", &job("number_ios=7\n"));
    refuse(&["--resume"], &["job file: not the same"]);
    let other = [
        "run",
        "job.fio",
        "./t.img",
        "--result",
        "other.json",
        "--resume",
    ];
    folder
        .run(&other)
        .fails(2, &["nothing to resume", "other.json.steps"]);
    folder
        .run(&["run", "job.fio", "./t.img", "--resume"])
        .fails(2, &["--result"]);
    assert_eq!(std::fs::read(&path).unwrap(), journal);
    // Damage in the middle: the journal is kept, and its readable steps can be recovered.
    folder.file("job.fio", &job(last));
    let mut damaged = journal.clone();
    let at = damaged
        .windows(9)
        .position(|w| w == b"\"group-1\"")
        .unwrap();
    damaged[at] ^= 1;
    std::fs::write(&path, &damaged).unwrap();
    refuse(&["--resume"], &["damaged in the middle", "--recover"]);
    let ran = folder.run(&["report", "--recover", "r.json.steps", "-o", "recovered"]);
    ran.succeeds();
    assert!(ran.err.contains("damaged"), "{}", ran.err);
    assert_eq!(
        read(&folder, "recovered/result.json").steps[0].id,
        "group-2"
    );
    // An incomplete last entry is dropped and reported.
    std::fs::write(&path, &journal[..journal.len() - 5]).unwrap();
    let ran = folder.run(&["report", "--recover", "r.json.steps", "-o", "torn"]);
    ran.succeeds();
    assert!(ran.err.contains("not written to its end"), "{}", ran.err);
    assert_eq!(read(&folder, "torn/result.json").steps.len(), 1);
    // Files that are not journals are neither read as such nor written.
    for (name, text) in [("f.json.steps", "a letter"), ("g.json.steps", "")] {
        folder.file(name, text);
        let out = name.trim_end_matches(".steps");
        let ran = folder.run(&["run", "job.fio", &tiny(), "--result", out]);
        ran.fails(2, &["is not a step journal", "move it"]);
        assert_eq!(folder.read(name), text);
    }
    folder.file("foreign", "foreign");
    for (link, said) in [
        ("foreign", "is not a regular file"),
        ("job.fio", "are the same file"),
    ] {
        let place = folder.0.join("l.json.steps");
        std::os::unix::fs::symlink(link, &place).unwrap();
        let ran = folder.run(&["run", "job.fio", &tiny(), "--result", "l.json"]);
        ran.fails(2, &[said]);
        std::fs::remove_file(place).unwrap();
    }
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(folder.read("job.fio"), job(last));
}

/// A file of another size is another target: it is refused before it is opened, and is not changed.
#[test]
fn a_refused_resumption_leaves_the_target_as_it_is() {
    let folder = Folder::new("resume-target");
    folder.file("job.fio", &job("number_ios=100000\n"));
    let run = |size: &'static str, more: &[&'static str]| {
        let run = [
            "run", "job.fio", "./t.img", "--result", "r.json", "--size", size,
        ];
        [&run[..], more].concat()
    };
    killed_after(&folder, &run("8m", &[]), "r.json.steps", 2);
    let target = folder.0.join("t.img");
    let before = std::fs::read(&target).unwrap();
    let same = || assert!(std::fs::read(&target).unwrap() == before, "it was changed");
    let ran = run_when_free(&folder, &run("4m", &["--resume"]));
    ran.fails(2, &["capacity: was `8388608`, is `4194304`"]);
    same();
    let ran = run_when_free(&folder, &run("16m", &["--resume", "--seed", "5"]));
    ran.fails(2, &["seed: was `1`, is `5`"]);
    same();
    // A file of an unexpected size is not resized, and a missing file is not created.
    let moved = folder.0.join("moved.img");
    std::fs::rename(&target, &moved).unwrap();
    let ran = folder.run(&run("8m", &["--resume"]));
    ran.fails(3, &["./t.img does not exist any more"]);
    assert!(!target.exists());
    std::fs::write(&target, "another file").unwrap();
    let ran = folder.run(&run("8m", &["--resume"]));
    ran.fails(2, &["t.img has 12 bytes, but --size says 8388608"]);
    assert_eq!(folder.read("t.img"), "another file");
    std::fs::rename(&moved, &target).unwrap();
    let ran = folder.run(&run("8m", &[]));
    ran.fails(2, &["--resume"]);
    same();
}

#[test]
fn after_ctrl_c_a_run_can_go_on_or_begin_again() {
    let folder = Folder::new("resume-interrupted");
    folder.file("job.fio", &job("number_ios=100000\n"));
    let run = [
        "run", "job.fio", "./t.img", "--size", "8m", "--result", "r.json",
    ];
    let mut child = start(&folder, &run);
    wait_for(&mut child, &folder.0.join("r.json.steps"), 2);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.fails(130, &["partial result is kept in r.json", "--resume"]);
    let before = read(&folder, "r.json");
    assert!(!before.complete);
    // With --resume, the interrupted step starts again from its beginning.
    let mut child = start(&folder, &[&run[..], &["--resume"]].concat());
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    while !said.contains("resuming after 2 finished steps") {
        assert!(stderr.read_line(&mut said).unwrap() > 0, "it ended: {said}");
    }
    interrupt(&child);
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130), "{said}");
    let again = read(&folder, "r.json");
    assert!(!again.complete);
    assert_eq!(again.steps[..2], before.steps[..2]);
    // Without --resume, a new run may replace the journal: its steps are in the partial result already.
    folder.file("job.fio", &job("number_ios=20\n"));
    folder.run(&run).succeeds();
    assert!(!folder.0.join("r.json.steps").exists());
    assert!(read(&folder, "r.json").complete);
}

#[test]
fn a_result_that_is_no_file_has_no_journal() {
    let folder = Folder::new("resume-pipe");
    folder.file("job.fio", "[a]\nrw=read\nnumber_ios=10\n");
    let ran = folder.run(&["run", "job.fio", &tiny(), "--result", "r.json"]);
    ran.succeeds();
    assert_eq!(folder.names(), ["job.fio", "r.json"]);
    folder
        .run(&["report", "--recover", "r.json", "-o", "x"])
        .fails(2, &["is not a step journal"]);
    folder
        .run(&["report", "--recover", "nothing", "-o", "x"])
        .fails(3, &["nothing"]);
    assert!(!folder.0.join("x").exists());
}

/// A card that was replaced by an empty one of the same size, in the same reader: the data of the finished steps is missing.
#[test]
fn another_empty_device_of_the_same_size_is_not_taken_for_the_first() {
    let folder = Folder::new("resume-another");
    let Some(device) = Loop::new(&folder, 16) else {
        return;
    };
    folder.file("job.fio", &job("number_ios=100000\n"));
    let (name, destroy) = (device.name(), format!("--destroy-data={}", device.name()));
    let run = ["run", "job.fio", &device.device, &destroy, "--yes", name];
    let run = [&run[..], &["--result", "r.json"]].concat();
    killed_after(&folder, &run, "r.json.steps", 1);
    wait_until_free(&device.device);
    let attach = |file: &Path| {
        let detached = Command::new("losetup")
            .args(["-d", &device.device])
            .status();
        assert!(detached.unwrap().success());
        let mut losetup = Command::new("losetup");
        let attached = losetup
            .arg("--direct-io=on")
            .arg(&device.device)
            .arg(file)
            .status();
        assert!(attached.unwrap().success());
    };
    let other = device.mount.join("other");
    std::fs::File::create(&other)
        .unwrap()
        .set_len(16 << 20)
        .unwrap();
    attach(&other);
    let resume = [&run[..], &["--resume"]].concat();
    let journal = std::fs::read(folder.0.join("r.json.steps")).unwrap();
    run_when_free(&folder, &resume).fails(2, &["is empty", "another one"]);
    assert_eq!(
        std::fs::read(folder.0.join("r.json.steps")).unwrap(),
        journal
    );
    assert!(std::fs::read(&other).unwrap().iter().all(|byte| *byte == 0));
    // A card with other data may be the same one, overwritten by the interrupted step: the result says that this is
    // unknown.
    let noise: Vec<u8> = (0..16u32 << 20)
        .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    std::fs::write(&other, noise).unwrap();
    attach(&other);
    let mut child = start(&folder, &resume);
    let journal = folder.0.join("r.json.steps");
    wait_for(&mut child, &journal, 2);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(ran.err.contains("cannot check whether"), "{ran:?}");
    let told = |n: &nandscope_result::Notice| n.text.contains("cannot check whether");
    assert!(read(&folder, "r.json").notices.iter().any(told));
    // The first card again.
    std::fs::remove_file(folder.0.join("r.json")).unwrap();
    std::fs::remove_file(&journal).unwrap();
    attach(&device.backing());
    killed_after(&folder, &run, "r.json.steps", 1);
    wait_until_free(&device.device);
    let mut child = start(&folder, &resume);
    wait_for(&mut child, &journal, 2);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(!ran.err.contains("cannot check whether"), "{ran:?}");
}

/// A file that was replaced by another one of the same size.
#[test]
fn another_file_of_the_same_size_is_not_taken_for_the_first() {
    let folder = Folder::new("resume-another-file");
    folder.file("job.fio", &job("number_ios=100000\n"));
    folder.file("read.fio", "[a]\nrw=read\nbs=4k\nsize=4k\n");
    let run = [
        "run", "job.fio", "./t.img", "--size", "8m", "--result", "r.json",
    ];
    killed_after(&folder, &run, "r.json.steps", 1);
    folder
        .run(&["run", "read.fio", "./other.img", "--size", "8m"])
        .succeeds();
    std::fs::rename(folder.0.join("other.img"), folder.0.join("t.img")).unwrap();
    let resume = [&run[..], &["--resume"]].concat();
    let ran = run_when_free(&folder, &resume);
    ran.fails(2, &["belongs to another measurement", "file: was `inode"]);
}

/// A review of the folder `card`, killed after its first step.
fn killed_in_the_folder(folder: &Folder) -> Vec<&'static str> {
    let review = vec!["review", "./card", "--quick", "-o", "out"];
    killed_after(folder, &review, "out/result.steps", 1);
    [&review[..], &["--resume"]].concat()
}

/// The file system of another card that is mounted at the same place has another root, which was created at another time.
#[test]
#[ignore = "slow: steps of a review in real time"]
fn slow_another_folder_of_the_same_name_is_not_taken_for_the_first() {
    let folder = Folder::new("resume-another-folder");
    std::fs::create_dir(folder.0.join("card")).unwrap();
    let resume = killed_in_the_folder(&folder);
    let journal = std::fs::read(folder.0.join("out/result.steps")).unwrap();
    std::fs::rename(folder.0.join("card"), folder.0.join("first")).unwrap();
    std::fs::create_dir(folder.0.join("card")).unwrap();
    let ran = folder.run(&resume);
    ran.fails(2, &["belongs to another measurement", "folder created at"]);
    assert!(std::fs::read(folder.0.join("out/result.steps")).unwrap() == journal);
    assert_eq!(
        std::fs::read_dir(folder.0.join("card")).unwrap().count(),
        0,
        "something was written"
    );
    // The first folder again.
    std::fs::remove_dir(folder.0.join("card")).unwrap();
    std::fs::rename(folder.0.join("first"), folder.0.join("card")).unwrap();
    let mut child = start(&folder, &resume);
    wait_for(&mut child, &folder.0.join("out/result.steps"), 2);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(!ran.err.contains("cannot check whether"), "{ran:?}");
}

/// Unmounts on drop.
struct Unmount<'a>(&'a str);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        tool("umount", &["-l", self.0]);
    }
}

/// A file system with inodes of 128 bytes, like FAT, stores no time of creation for its root.
#[test]
#[ignore = "slow: steps of a review in real time"]
fn slow_a_folder_without_a_time_of_creation_is_resumed_with_a_warning() {
    let folder = Folder::new("resume-no-birth");
    let Some(device) = Loop::new(&folder, 256) else {
        return;
    };
    let mount = folder.0.join("card");
    std::fs::create_dir(&mount).unwrap();
    let mount = mount.to_str().unwrap();
    let made = tool("mkfs.ext4", &["-q", "-F", "-I", "128", &device.device]);
    if made
        .and_then(|_| tool("mount", &[&device.device, mount]))
        .is_none()
    {
        skipped("an ext4 file system cannot be made and mounted here");
        return;
    }
    let _mounted = Unmount(mount);
    let resume = killed_in_the_folder(&folder);
    let mut child = start(&folder, &resume);
    wait_for(&mut child, &folder.0.join("out/result.steps"), 2);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    assert!(ran.err.contains("cannot check whether"), "{ran:?}");
    let told = |n: &nandscope_result::Notice| n.text.contains("records no creation times");
    assert!(read(&folder, "out/result.json").notices.iter().any(told));
}

/// A complete result is only replaced by a complete one: the output of an interrupted run with the same name gets
/// another name.
#[test]
fn an_interrupted_run_does_not_replace_a_complete_result() {
    let folder = Folder::new("resume-complete");
    folder.file(
        "short.fio",
        "[a]\nrw=randread\nbs=4k\nnumber_ios=100\nwrite_bw_log\n",
    );
    folder.file("long.fio", "[a]\nrw=randread\nbs=4k\nnumber_ios=100\nwrite_bw_log\n[b]\nstonewall\nrw=randread\nbs=4k\nnorandommap\ntime_based\nruntime=100d\n");
    let run = |job: &'static str| {
        [
            "run", job, TARGET, "--result", "r.json", "--save", "used.dev",
        ]
    };
    const TARGET: &str = concat!("sim:", env!("CARGO_MANIFEST_DIR"), "/tests/data/tiny.toml");
    folder.run(&run("short.fio")).succeeds();
    let names = ["a_bw.1.log", "r.json", "used.dev"];
    let whole = names.map(|name| std::fs::read(folder.0.join(name)).unwrap());
    let mut child = start(&folder, &run("long.fio"));
    wait_for(&mut child, &folder.0.join("r.json.steps"), 1);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.fails(130, &["r.incomplete.json", "since r.json is complete"]);
    let now = names.map(|name| std::fs::read(folder.0.join(name)).unwrap());
    assert!(now == whole);
    assert!(!read(&folder, "r.incomplete.json").complete && read(&folder, "r.json").complete);
    for name in [
        "a_bw.1.incomplete.log",
        "used.incomplete.dev",
        "r.json.steps",
    ] {
        assert!(folder.0.join(name).exists(), "{name}");
    }
}

#[test]
fn an_interrupted_review_does_not_replace_a_complete_report() {
    let folder = Folder::new("resume-complete-review");
    let fill = [
        "review",
        "sim:sm2708-250gb",
        "--suite",
        "fill",
        "--quick",
        "-o",
        "out",
    ];
    folder.run(&fill).succeeds();
    let files = ["report.html", "result.json", "series.csv"];
    let bytes = || files.map(|name| std::fs::read(folder.0.join("out").join(name)).unwrap());
    let whole = bytes();
    let mut child = start(&folder, &fill);
    wait_for(&mut child, &folder.0.join("out/result.steps"), 1);
    interrupt(&child);
    let ran = Ran::from(child.wait_with_output().unwrap());
    ran.fails(130, &["out/incomplete"]);
    assert!(bytes() == whole);
    assert!(!read(&folder, "out/incomplete/result.json").complete);
    folder.run(&[&fill[..], &["--resume"]].concat()).succeeds();
    assert!(read(&folder, "out/result.json").complete);
}
