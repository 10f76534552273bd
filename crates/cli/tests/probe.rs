//! `nandscope probe` and `nandscope advise` from outside.

use crate::support::Folder;

fn probed(folder: &Folder, arguments: &[&str]) -> serde_json::Value {
    let mut all = vec!["probe"];
    all.extend(arguments);
    all.push("--json");
    let output = folder.command(&all).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn answer<'a>(json: &'a serde_json::Value, id: &str) -> &'a serde_json::Value {
    let findings = json["findings"].as_array().unwrap();
    findings.iter().find(|f| f["id"] == id).unwrap()
}

#[test]
fn a_card_is_probed_within_its_budget_and_advice_follows() {
    let folder = Folder::new("probe-card");
    let json = probed(&folder, &["sim:talk-mmcblk1-8gb", "-o", "report"]);
    assert_eq!(answer(&json, "unit")["value"]["value"], 4 << 20);
    assert!(json["written_bytes"].as_u64().unwrap() <= 4_000_000_000);
    assert!(json["elapsed_s"].as_f64().unwrap() <= 1200.0);
    let page = folder.read("report/report.html");
    assert!(page.contains("Inference") && page.contains("Allocation unit"));
    let output = folder
        .command(&[
            "advise",
            "report/result.json",
            "--for",
            "rootfs",
            "--on",
            "/dev/sdq",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(
        text.contains("parted -s /dev/sdq mklabel msdos mkpart primary 4194304B 100%"),
        "{text}"
    );
    assert!(text.contains("mkfs.f2fs -s 2 /dev/sdq1"), "{text}");
    // One file system is made, and mounted somewhere.
    let made = text.lines().filter(|l| l.starts_with("mkfs"));
    assert_eq!(made.count(), 1, "{text}");
    assert!(
        text.contains("\nmount -o noatime,lazytime /dev/sdq1 /mnt\n"),
        "{text}"
    );
    // Everything but the commands is a comment.
    let plain = |line: &&str| !line.is_empty() && !line.starts_with('#');
    assert!(
        text.lines()
            .filter(plain)
            .all(|l| l.starts_with("mkfs") || l.starts_with("parted") || l.starts_with("mount")),
        "{text}"
    );
}

#[test]
fn advice_can_probe_the_target_itself_and_answers_fit_a_screen() {
    let folder = Folder::new("probe-advise");
    let output = folder
        .command(&[
            "advise",
            "sim:talk-mmcblk1-8gb",
            "--for",
            "log",
            "--on",
            "/dev/mmcblk3",
        ])
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("mkfs.f2fs -s 2 /dev/mmcblk3p1"), "{text}");
    let screen = folder.screen(&["probe", "sim:talk-mmcblk1-8gb"]);
    assert!(screen.lines().count() <= 25, "{screen}");
    insta::assert_snapshot!("probe", screen);
}

#[test]
fn reading_only_writes_nothing_and_asks_less() {
    let folder = Folder::new("probe-read-only");
    let json = probed(&folder, &["sim:talk-mmcblk1-8gb", "--read-only"]);
    assert_eq!(json["written_bytes"], 0);
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.iter().any(|f| f["id"] == "overhead"));
    assert!(findings.iter().all(|f| f["id"] != "open-linear"));
}

/// The result has both the measured values and those of the card's registers.
#[test]
fn the_registers_of_a_simulated_card_are_in_the_result() {
    let folder = Folder::new("probe-registers");
    let stated = |target: &str| {
        probed(&folder, &[target, "--read-only", "-o", "report"]);
        let json: serde_json::Value =
            serde_json::from_str(&folder.read("report/result.json")).unwrap();
        std::fs::remove_dir_all(folder.0.join("report")).unwrap();
        json["environment"].clone()
    };
    let card = stated("sim:sandisk-extreme-uhs2-128gb");
    assert_eq!(card["card: product"], "SU128, revision 8.0");
    assert_eq!(card["card: made"], "09/2016");
    let emmc = stated("sim:samsung-emmc51-64gb");
    assert_eq!(emmc["card: product"], "CJNB4R, revision 0.7");
    // A device on an NVMe link has no registers.
    let drive = stated("sim:reference-nvme-64gb");
    assert!(drive["card: product"].is_null(), "{drive}");
}

#[test]
fn a_recorded_table_of_flashbench_is_judged() {
    let folder = Folder::new("probe-recorded");
    let row = |align: u64, diff: &str| {
        format!("align {align}\tpre 1.01ms\ton 1.4ms\tpost 1.01ms\tdiff {diff}\n")
    };
    let text: String = (13..=25)
        .rev()
        .map(|k| {
            row(
                1 << k,
                if k >= 22 {
                    "858µs"
                } else if k >= 14 {
                    "378µs"
                } else {
                    "2µs"
                },
            )
        })
        .collect();
    folder.file("align.txt", &text);
    let json = probed(&folder, &["--from-flashbench", "align.txt"]);
    assert_eq!(answer(&json, "unit")["value"]["value"], 4 << 20);
    let wrong = folder
        .command(&["probe", "--from-flashbench", "nothing"])
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(3));
    folder.file("other.txt", "hello\n");
    let wrong = folder
        .command(&["probe", "--from-flashbench", "other.txt"])
        .output()
        .unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn a_used_device_is_probed_and_verified_from_its_present_on() {
    let folder = Folder::new("probe-saved");
    folder.file("w.fio", "[w]\nrw=write\nbs=256k\nsize=64m\n");
    let fill = ["run", "w.fio", "sim:talk-mmcblk1-8gb", "--save", "used.dev"];
    folder.run(&fill).succeeds();
    let target = "sim:saved:used.dev";
    let json = probed(&folder, &[target, "--read-only"]);
    assert!(
        answer(&json, "overhead")["value"]["value"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert_eq!(json["cut_short"], serde_json::Value::Null);
    folder.run(&["verify", target]).succeeds();
}

#[test]
fn the_self_test_writes_json() {
    let folder = Folder::new("probe-self-test");
    let json = probed(&folder, &["--self-test", "--devices", "2"]);
    assert!(json["rows"]["unit"]["asked"].as_u64().is_some(), "{json}");
}
