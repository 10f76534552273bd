//! `nandscope verify` from the outside: on a simulated device, and on loop devices, where it is killed during the run.
//! Loop devices need root; without it those tests report that they are skipped.

use nandscope_units::random::SplitMix64;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

const NANDSCOPE: &str = env!("CARGO_BIN_EXE_nandscope");

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("verify-{name}"));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn verify(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(NANDSCOPE);
    command
        .arg("verify")
        .args(arguments)
        .env("XDG_STATE_HOME", folder.join("state"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn done(output: &Output, code: i32) -> String {
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{out}\n{err}");
    out
}

#[test]
fn a_simulated_card_is_genuine_within_seconds_of_its_time() {
    let folder = folder("simulated");
    let report = folder.join("report");
    let arguments = [
        "sim:kingston-class10-32gb",
        "--json",
        "-o",
        report.to_str().unwrap(),
    ];
    let output = verify(&folder, &arguments).output().unwrap();
    let json: serde_json::Value = serde_json::from_str(&done(&output, 0)).unwrap();
    assert_eq!(json["verdict"], "genuine");
    assert_eq!(json["real_bytes"], json["claimed_bytes"]);
    assert!(json["elapsed_s"].as_f64().unwrap() < 60.0, "{json}");
    let page = std::fs::read_to_string(report.join("report.html")).unwrap();
    assert!(page.contains("Authenticity") && page.contains("genuine"));
    assert!(report.join("result.json").exists());
    // No journal is left.
    let state = std::fs::read_dir(folder.join("state/nandscope")).unwrap();
    assert_eq!(state.count(), 0);
}

#[test]
fn the_registers_of_a_simulated_card_count() {
    let folder = folder("registers");
    let profile = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../profiles/sandisk-extreme-uhs2-128gb.toml"
    );
    let profile = std::fs::read_to_string(profile).unwrap();
    for (change, code, id) in [
        (("manufacturer = 3 ", "manufacturer = 3 "), 0, ""),
        (
            ("manufacturer = 3 ", "manufacturer = 0 "),
            12,
            "manufacturer",
        ),
        (("\"SU128\"", "\"SD8G\""), 12, "SD8G"),
    ] {
        let changed = profile.replace(change.0, change.1);
        std::fs::write(folder.join("card.toml"), changed).unwrap();
        let mut command = verify(&folder, &["sim:./card.toml"]);
        let output = command.current_dir(&folder).output().unwrap();
        let said = done(&output, code);
        assert!(said.contains(id), "{said}");
    }
}

#[test]
fn faults_of_contents_are_injected_into_simulated_devices() {
    let folder = folder("faults");
    let verdict = |fault: &str, code: i32| {
        let arguments = ["sim:kingston-8gb", "--json", "--fault", fault];
        let output = verify(&folder, &arguments).output().unwrap();
        let json: serde_json::Value = serde_json::from_str(&done(&output, code)).unwrap();
        json
    };
    for (fault, bytes) in [
        ("fake 2GiB wrap", 2_u64 << 30),
        ("fake 3000MiB drop", 3000 << 20),
        ("fake 1GiB stale", 1 << 30),
    ] {
        let json = verdict(fault, 10);
        assert_eq!(json["verdict"], "fake", "{fault}");
        assert_eq!(json["real_bytes"], bytes, "{fault}");
    }
    assert_eq!(verdict("corrupt 0.2", 11)["verdict"], "failing");
    for (target, fault, part) in [
        ("sim:kingston-8gb", "power off", "only"),
        ("sim:kingston-8gb", "break", "unknown fault command"),
        ("./absent", "fake 2GiB wrap", "simulated devices only"),
    ] {
        let output = verify(&folder, &[target, "--fault", fault]).output();
        let output = output.unwrap();
        assert!(text(&output.stderr).contains(part), "{output:?}");
        done(&output, 2);
    }
}

/// A loop device over a file full of noise; detached at the end.
struct Loop {
    device: String,
    file: PathBuf,
}

impl Loop {
    fn new(test: &str, folder: &Path, mib: u64) -> Option<Self> {
        let file = folder.join("image");
        let mut random = SplitMix64::new(1);
        let noise = (0..mib << 17).flat_map(|_| random.bits().to_le_bytes());
        std::fs::write(&file, noise.collect::<Vec<u8>>()).unwrap();
        let losetup = Command::new("losetup")
            .args(["-f", "--show"])
            .arg(&file)
            .output();
        match losetup {
            Ok(output) if output.status.success() => Some(Loop {
                device: text(&output.stdout).trim().to_string(),
                file,
            }),
            _ => {
                let line = format!("SKIPPED {test}: no loop device can be made here\n");
                let told = std::fs::File::options().write(true).open("/proc/self/fd/2");
                let _ = told.and_then(|mut out| out.write_all(line.as_bytes()));
                None
            }
        }
    }

    fn name(&self) -> &str {
        self.device.trim_start_matches("/dev/")
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

#[test]
fn a_killed_verification_is_made_good_by_the_next_one() {
    let folder = folder("killed");
    let Some(device) = Loop::new("a_killed_verification", &folder, 64) else {
        return;
    };
    let before = std::fs::read(&device.file).unwrap();
    let arguments = [device.device.as_str(), "--yes", device.name(), "--json"];
    let (mut left, mut restored) = (0, 0);
    for round in 0..30_u64 {
        let mut child = verify(&folder, &arguments).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(3 + round * 7 % 120));
        child.kill().unwrap();
        child.wait().unwrap();
        let state = std::fs::read_dir(folder.join("state/nandscope"));
        let is_journal = |name: &Path| name.extension().is_some_and(|e| e == "journal");
        let journal = state.is_ok_and(|mut files| files.any(|f| is_journal(&f.unwrap().path())));
        left += u32::from(journal);
        let restore = [device.device.as_str(), "--yes", device.name(), "--restore"];
        let output = verify(&folder, &restore).output().unwrap();
        // If the run was killed before it created a journal, --restore finds none and fails.
        // If it was killed between the first journal record and the first tag, this could also be a copy of the
        // device; --restore says so and keeps the journal.
        let untagged = text(&output.stderr).contains("every block holds its old contents");
        match (journal, untagged) {
            (false, _) => drop(done(&output, 3)),
            (true, false) => drop(done(&output, 0)),
            (true, true) => {
                done(&output, 13);
                std::fs::remove_dir_all(folder.join("state")).unwrap();
            }
        }
        restored += u32::from(text(&output.stderr).contains("were restored"));
        assert!(
            std::fs::read(&device.file).unwrap() == before,
            "round {round}"
        );
    }
    assert!(
        left > 0 && restored > 0,
        "no kill came in time: {left} {restored}"
    );
    let output = verify(&folder, &arguments).output().unwrap();
    assert!(done(&output, 0).contains("\"genuine\""));
    assert!(std::fs::read(&device.file).unwrap() == before);
}

#[test]
fn data_is_put_back_in_another_reader_and_a_missing_journal_is_said() {
    let folder = folder("reader");
    let Some(first) = Loop::new("data_is_put_back_in_another_reader", &folder, 16) else {
        return;
    };
    let before = std::fs::read(&first.file).unwrap();
    let other = self::folder("reader-other");
    let Some(second) = Loop::new("data_is_put_back_in_another_reader", &other, 16) else {
        return;
    };
    // The card is moved from one reader to the other.
    let moved = |from: &Loop, to: &Loop| {
        let contents = std::fs::read(&from.file).unwrap();
        let mut file = std::fs::File::options().write(true).open(&to.file).unwrap();
        file.write_all(&contents).unwrap();
        file.sync_all().unwrap();
    };
    let run = |device: &Loop, more: &[&str]| {
        let start = [device.device.as_str(), "--yes", device.name()];
        let arguments = [&start[..], more].concat();
        verify(&folder, &arguments).output().unwrap()
    };
    let named = folder.join("undo");
    let named = ["--journal", named.to_str().unwrap()];
    for journal in [&[][..], &named[..]] {
        let restore = [&["--restore"], journal].concat();
        let missing = run(&second, &restore);
        done(&missing, 3);
        assert!(text(&missing.stderr).contains("no journal"), "{missing:?}");
        done(
            &run(&first, &[&["--leave-tagged-blocks"], journal].concat()),
            0,
        );
        assert!(std::fs::read(&first.file).unwrap() != before);
        moved(&first, &second);
        done(&run(&second, &restore), 0);
        assert!(std::fs::read(&second.file).unwrap() == before);
        moved(&second, &first);
        done(&run(&second, &restore), 3);
    }
}

#[test]
fn a_full_disk_for_the_answer_does_not_hide_that_the_data_is_not_back() {
    let folder = folder("answer-lost");
    let Some(device) = Loop::new("a_full_disk_for_the_answer", &folder, 16) else {
        return;
    };
    let arguments = [device.device.as_str(), "--yes", device.name(), "--json"];
    let leave = [&arguments[..], &["--leave-tagged-blocks"]].concat();
    done(&verify(&folder, &leave).output().unwrap(), 0);
    // Another program writes to one of the blocks.
    let last = std::fs::metadata(&device.file).unwrap().len() - 512;
    let file = std::fs::File::options().write(true).open(&device.file);
    std::os::unix::fs::FileExt::write_all_at(&file.unwrap(), &[7; 512], last).unwrap();
    let check = [&arguments[..], &["--after-power-cycle"]].concat();
    let mut command = verify(&folder, &check);
    let full = std::fs::File::options().write(true).open("/dev/full");
    let output = command.stdout(full.unwrap()).output().unwrap();
    done(&output, 13);
    let said = text(&output.stderr);
    assert!(said.contains("--restore --journal"), "{said}");
    assert!(said.contains("No space left"), "{said}");
}

#[test]
fn nothing_is_written_without_an_answer_or_without_destroy_data() {
    let folder = folder("answer");
    let Some(device) = Loop::new("nothing_is_written", &folder, 8) else {
        return;
    };
    let before = std::fs::read(&device.file).unwrap();
    let output = verify(&folder, &[&device.device]).output().unwrap();
    done(&output, 2);
    assert!(text(&output.stderr).contains("--yes"));
    let wrong = verify(&folder, &[&device.device, "--yes", "another"])
        .output()
        .unwrap();
    done(&wrong, 2);
    let full = verify(&folder, &[&device.device, "--full", "--yes", device.name()])
        .output()
        .unwrap();
    done(&full, 2);
    assert!(std::fs::read(&device.file).unwrap() == before);
    let named = format!("--destroy-data={}", device.name());
    let arguments = [
        &device.device,
        "--full",
        &named,
        "--yes",
        device.name(),
        "--printed-speed",
        "1",
        "--json",
    ];
    let output = verify(&folder, &arguments).output().unwrap();
    assert!(done(&output, 0).contains("\"pass\": \"done\""));
    assert!(std::fs::read(&device.file).unwrap() != before);
}
