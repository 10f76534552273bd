//! `run --contents`: jobs that verify on a simulated device, with and without faults.

use crate::support::{Folder, tiny};
use nandscope_result::{ResultDocument, json};

/// Writes 1 MiB, reads it back, and reads it once more in a separate group.
const VERIFY: &str = "\
[global]
ioengine=libaio
direct=1
bs=4k
iodepth=4
size=1m
filename=x
verify=crc32c
continue_on_error=all
[write]
rw=randwrite
[read]
stonewall
rw=read
";

/// A run with faults, and its result.
fn verified(name: &str, faults: &[&str]) -> (i32, ResultDocument) {
    let folder = Folder::new(&format!("contents-{name}"));
    folder.file("job.fio", VERIFY);
    let device = tiny();
    let mut arguments = vec![
        "run",
        "job.fio",
        &device,
        "--contents",
        "--result",
        "r.json",
    ];
    for fault in faults {
        arguments.extend(["--fault", fault]);
    }
    let ran = folder.run(&arguments);
    let document = json::read(&folder.0.join("r.json")).unwrap();
    (ran.code.unwrap(), document)
}

/// Failed operations of each step, by reason.
fn errors(document: &ResultDocument) -> Vec<String> {
    let jobs = document.steps.iter().flat_map(|s| &s.jobs);
    jobs.flat_map(|job| job.errors.iter().map(|(reason, n)| format!("{n} {reason}")))
        .collect()
}

#[test]
fn what_was_written_is_verified() {
    let (code, document) = verified("right", &[]);
    assert_eq!((code, errors(&document)), (0, Vec::new()));
    let operations: Vec<u64> = document
        .steps
        .iter()
        .map(|step| step.jobs[0].directions[0].operations)
        .collect();
    assert_eq!(operations, [256, 256, 256], "written, read back, read");
    assert_eq!(document.environment["contents"], "stored");
}

#[test]
fn faults_of_the_card_are_found() {
    // The second half of the region overwrites the first, whose blocks then hold the data of other addresses.
    let (code, document) = verified("fake", &["fake 512k wrap"]);
    assert_eq!(code, 1);
    let found = errors(&document).join(", ");
    assert!(
        found.contains("128 verify: data of another place"),
        "{found}"
    );
    assert!(document.environment["contents"].contains("fake 512k wrap"));
    let (code, document) = verified("corrupt", &["after 100 writes corrupt 1"]);
    assert_eq!(code, 1);
    let found = errors(&document).join(", ");
    // The writes that are in flight when the fault begins are damaged as well.
    let wrong = |n: u32| found.contains(&format!("{n} verify: wrong data"));
    assert!((156..=160).any(wrong), "{found}");
    let (code, document) = verified("unreadable", &["unreadable 8k 4k"]);
    assert_eq!(code, 1);
    assert!(errors(&document).contains(&"1 unreadable".to_string()));
}

/// The device, not the store, decides how long everything takes.
#[test]
fn contents_take_no_time() {
    let folder = Folder::new("contents-time");
    folder.file("job.fio", &VERIFY.replace("verify=crc32c\n", ""));
    let device = tiny();
    let steps = |more: &[&str]| {
        let mut arguments = vec!["run", "job.fio", &device, "--result", "r.json"];
        arguments.extend(more);
        folder.run(&arguments).succeeds();
        json::read(&folder.0.join("r.json")).unwrap().steps
    };
    assert_eq!(steps(&[]), steps(&["--contents"]));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = Folder::new("contents-refused");
    folder.file("job.fio", VERIFY);
    let device = &tiny()[..];
    for (arguments, parts) in [
        (&[device][..], &["add --contents"][..]),
        (&[device, "--fault", "corrupt 1"], &["--contents"]),
        (
            &[device, "--contents", "--fault", "power cycle"],
            &["power cycle", "nandscope serve"],
        ),
        (
            &[device, "--contents", "--fault", "fake 2m wrap"],
            &["fake 2m wrap", "reported capacity"],
        ),
    ] {
        let mut all = vec!["run", "job.fio"];
        all.extend(arguments);
        folder.run(&all).fails(2, parts);
    }
}

/// A group that writes and a group that reads and compares, on stored contents; the errors of both.
fn written_and_read(name: &str, write: &str, read: &str) -> Vec<String> {
    let folder = Folder::new(&format!("contents-data-{name}"));
    let job = format!(
        "[global]\nioengine=libaio\ndirect=1\nbs=4k\nsize=256k\nfilename=x\ncontinue_on_error=all\n[w]\nrw=write\n{write}\n[r]\nstonewall\nrw=read\n{read}\n"
    );
    folder.file("job.fio", &job);
    folder.run(&[
        "run",
        "job.fio",
        &tiny(),
        "--contents",
        "--result",
        "r.json",
    ]);
    errors(&json::read(&folder.0.join("r.json")).unwrap())
}

#[test]
fn patterns_are_written_and_compared() {
    let all_wrong = ["64 verify: wrong data"];
    let pattern = "verify=pattern\nverify_pattern=0xaabb";
    for (name, write, read, wrong) in [
        ("buffer", "buffer_pattern=0xaabb", pattern, &[][..]),
        ("other", "buffer_pattern=0xaabc", pattern, &all_wrong),
        (
            "zeros",
            "zero_buffers",
            "verify=pattern\nverify_pattern=0",
            &[],
        ),
        ("random", "", pattern, &all_wrong),
        ("verified", pattern, pattern, &[]),
        (
            "offsets",
            "verify=pattern\nverify_pattern=%o",
            "verify=pattern\nverify_pattern=%o",
            &[],
        ),
        ("sums", "verify=crc32c", pattern, &all_wrong),
        ("nothing", "buffer_pattern=1", "verify=null", &[]),
        (
            "compressible",
            "buffer_compress_percentage=100\nbuffer_pattern=0xaabb",
            pattern,
            &[],
        ),
    ] {
        assert_eq!(written_and_read(name, write, read), wrong, "{name}");
    }
}

/// The card damages blocks from the 100th write on: the files contain the data that it returned and the data written.
#[test]
fn contents_of_mismatches_are_written_to_files() {
    let folder = Folder::new("contents-dumps");
    let job = "[w]\nioengine=libaio\ndirect=1\nrw=write\nbs=4k\nsize=1m\nverify=pattern\nverify_pattern=0x5a\ncontinue_on_error=verify\nverify_dump=1\n";
    folder.file("job.fio", job);
    std::fs::create_dir(folder.0.join("logs")).unwrap();
    let device = tiny();
    let fault = ["--contents", "--fault", "after 100 writes corrupt 1"];
    let run = ["run", "job.fio", &device, "--log-dir", "logs"];
    let ran = folder.run(&[&run[..], &fault].concat());
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.err.contains("data: logs/tiny.toml.405504.received"),
        "{}",
        ran.err
    );
    let logs = std::fs::read_dir(folder.0.join("logs")).unwrap();
    assert_eq!(logs.count(), 32, "two files of each of the first 16");
    for block in 99..115 {
        let file = |kind| {
            std::fs::read(
                folder
                    .0
                    .join(format!("logs/tiny.toml.{}.{kind}", block * 4096)),
            )
        };
        let (received, expected) = (file("received").unwrap(), file("expected").unwrap());
        assert!(expected == [0x5a; 4096]);
        let differences = received.iter().zip(&expected).filter(|(a, b)| a != b);
        assert!(received.len() == 4096 && differences.count() > 0);
    }
    // Without `verify_dump` no dump files are written.
    folder.file("job.fio", &job.replace("verify_dump=1", ""));
    let before = folder.names();
    folder.run(&[&run[..3], &fault].concat());
    assert_eq!(folder.names(), before);
}
