//! The use of a disk of the system in fio's formats, beside fio 3.33 on the same loop device.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::Loop;
use crate::support::serving::{have, run};
use serde_json::Value;

/// 500 reads and 300 writes that the kernel cannot merge, in more than a second: fio looks at the disk every 250 ms.
const JOBS: &str = "\
[global]
ioengine=libaio
direct=1
iodepth=4
rate_iops=500
[read]
rw=randread
bs=4k
number_ios=500
[write]
stonewall
rw=randwrite
bs=8k
number_ios=300
";
/// Requests of other programs, such as udev, that look at the device.
const OTHERS: u64 = 64;

fn by_fio(folder: &Folder, device: &Loop, words: &[&str]) -> String {
    let name = format!("--filename={}", device.device);
    run(folder, "fio", &[&["jobs.fio", &name][..], words].concat())
}

fn by_us(folder: &Folder, device: &Loop, words: &[&str]) -> String {
    let named = format!("--destroy-data={}", device.name());
    let first = [
        "run",
        "jobs.fio",
        &device.device,
        &named,
        "--yes",
        device.name(),
    ];
    folder
        .run(&[&first[..], words].concat())
        .succeeds()
        .out
        .clone()
}

/// Reads and writes that a disk has completed; asserts that its other numbers can be.
fn completed(disk: &Value, name: &str) -> [u64; 2] {
    assert_eq!(disk["name"], name);
    assert!(
        (0.0..=100.0).contains(&disk["util"].as_f64().unwrap()),
        "{disk}"
    );
    ["read_ios", "write_ios"].map(|key| disk[key].as_u64().unwrap())
}

#[test]
fn json_has_the_requests_of_the_disk() {
    let folder = Folder::new("fio-disks-json");
    let Some(device) = Loop::new(&folder, 64) else {
        return;
    };
    folder.file("jobs.fio", JOBS);
    let words = ["--output-format=json", "--result", "r.json"];
    let ours: Value = serde_json::from_str(&by_us(&folder, &device, &words)).unwrap();
    let [disk] = &ours["disk_util"].as_array().unwrap()[..] else {
        panic!("{}", ours["disk_util"]);
    };
    let [reads, writes] = completed(disk, device.name());
    assert!((500..500 + OTHERS).contains(&reads), "{disk}");
    assert!((300..300 + OTHERS).contains(&writes), "{disk}");
    let result: Value = serde_json::from_str(&folder.read("r.json")).unwrap();
    assert_eq!(result["disks"][0]["reads"], disk["read_ios"]);
    if !have(&["fio"]) {
        return;
    }
    let fios = by_fio(&folder, &device, &["--output-format=json"]);
    let fios: Value = serde_json::from_str(&fios).unwrap();
    let theirs = &fios["disk_util"][0];
    let [reads, writes] = completed(theirs, device.name());
    assert!((1..500 + OTHERS).contains(&reads), "{theirs}");
    assert!(writes < 300 + OTHERS, "{theirs}");
    let keys =
        |disk: &Value| -> Vec<String> { disk.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(disk), keys(theirs));
}

/// A text with `#` in place of each number.
fn masked(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('#') => {}
            '0'..='9' => out.push('#'),
            c => out.push(c),
        }
    }
    out
}

#[test]
fn other_formats_show_the_disk_as_fio_does() {
    let folder = Folder::new("fio-disks-shown");
    let Some(device) = Loop::new(&folder, 64) else {
        return;
    };
    folder.file("jobs.fio", JOBS);
    // With the blank line before it.
    let end = |text: &str| text[text.find("\nDisk stats (read/write):\n").unwrap()..].to_string();
    let lines = |text: &str| -> Vec<String> {
        let ends = text.lines().map(|line| line.split(';').skip(121));
        ends.map(|fields| masked(&fields.collect::<Vec<_>>().join(";")))
            .collect()
    };
    let normal = end(&by_us(&folder, &device, &["--output-format=normal"]));
    assert!(
        normal.contains(&format!("  {}: ios=5", device.name())),
        "{normal}"
    );
    let terse = lines(&by_us(&folder, &device, &["--minimal"]));
    assert!(terse[0].starts_with("loop#;#;#;#;"), "{terse:?}");
    if have(&["fio"]) {
        let fios = by_fio(&folder, &device, &["--output-format=normal"]);
        assert_eq!(masked(&normal), masked(&end(&fios)));
        assert_eq!(terse, lines(&by_fio(&folder, &device, &["--minimal"])));
    }
}

/// No disk of the system is used by a simulated device.
#[test]
fn a_simulated_device_has_no_disk() {
    let folder = Folder::new("fio-disks-none");
    folder.file("jobs.fio", JOBS);
    let run = |format: &str| {
        let words = ["run", "jobs.fio", "sim:kingston-8gb", format];
        folder.run(&words).succeeds().out.clone()
    };
    let json: Value = serde_json::from_str(&run("--output-format=json")).unwrap();
    assert_eq!(json["disk_util"], Value::Array(Vec::new()));
    assert!(!run("--output-format=normal").contains("Disk stats"));
}
