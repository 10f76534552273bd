//! `nandscope inspect`: what it shows of each kind of target.

use crate::support::Folder;

fn json(folder: &Folder, target: &str) -> serde_json::Value {
    let out = folder
        .command(&["inspect", target, "--json"])
        .output()
        .unwrap();
    assert!(
        out.status.success(),
        "{}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).unwrap()
}

#[test]
fn a_simulated_device_answers_for_itself() {
    let folder = Folder::new("inspect-sim");
    let found = json(&folder, "sim:sm2708-250gb");
    assert_eq!(found["simulated"]["capacity_bytes"], 250_059_350_016u64);
    assert_eq!(found["simulated"]["used_percent"], 0);
    assert!(found["refused"].is_null() && found["conditions"].is_null());
    assert_eq!(found["simulated"]["power_states"], serde_json::json!([]));
}

#[test]
fn a_file_and_its_folder_lie_on_the_same_device() {
    let folder = Folder::new("inspect-file");
    folder.file("target", "x");
    let (file, around) = (json(&folder, "target"), json(&folder, "."));
    assert_eq!(
        (&file["kind"], &around["kind"]),
        (&"file".into(), &"folder".into())
    );
    assert_eq!(file["identity"], around["identity"]);
    let options = &file["conditions"]["mount"]["options"];
    assert!(
        options.as_array().is_some_and(|o| !o.is_empty()),
        "{options}"
    );
    let shown = folder.command(&["inspect", "target"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("\nConditions\n"), "{shown}");
    for line in shown.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_file_says_whether_it_may_be_written() {
    let folder = Folder::new("inspect-writing");
    folder.file("thesis", "years of work");
    let rule = |target: &str| json(&folder, target)["refused"][0]["rule"].clone();
    assert_eq!(rule("thesis"), "foreign-file");
    let guard = nandscope_inspect::guard::Guard::new(nandscope_inspect::Roots::default());
    let size = nandscope_units::Bytes::mib(1);
    let made = guard.open_file(&folder.0.join("made"), size).unwrap();
    assert_eq!(rule("made"), "held");
    drop(made);
    assert_eq!(json(&folder, "made")["refused"], serde_json::json!([]));
    let shown = folder.command(&["inspect", "made"]).output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("Allowed without confirmation"), "{shown}");
}

#[test]
fn what_is_no_target() {
    let folder = Folder::new("inspect-none");
    for target in ["/dev/null", "nothing-here"] {
        let out = folder.command(&["inspect", target]).output().unwrap();
        assert_eq!(out.status.code(), Some(3));
        let said = String::from_utf8(out.stderr).unwrap();
        assert!(
            said.contains(target) && said.contains("check the name"),
            "{said}"
        );
    }
}

#[test]
fn a_file_that_would_not_be_written_is_said_to_be_refused_first() {
    let folder = Folder::new("inspect-refused");
    folder.file("mine.img", "data");
    let ran = folder.run(&["inspect", "./mine.img"]);
    let lines: Vec<&str> = ran.succeeds().out.lines().collect();
    assert_eq!(lines[2], "Writing would be refused", "{}", ran.out);
    assert!(ran.out.contains("nandscope did not make it"), "{}", ran.out);
}

/// A simulated card returns registers, which are decoded like those of a real one.
#[test]
fn the_registers_of_simulated_cards() {
    let folder = Folder::new("inspect-registers");
    let found = json(&folder, "sim:sandisk-extreme-uhs2-128gb");
    let registers = &found["registers"];
    assert_eq!(registers["faults"].as_array().unwrap().len(), 0);
    assert_eq!(registers["cid"]["maker"], "SanDisk");
    assert_eq!(registers["cid"]["product"], "SU128");
    assert_eq!(registers["cid"]["checksum"], "right");
    assert_eq!(registers["csd"]["capacity"], 127_865_454_592u64);
    assert_eq!(registers["scr"]["version"], "3.0X");
    assert_eq!(registers["ssr"]["speed_class"], 10);
    assert_eq!(registers["ssr"]["uhs_grade"], 3);
    assert_eq!(registers["ssr"]["allocation_unit"], 16 << 20);
    assert_eq!(registers["ssr"]["uhs_allocation_unit"], 16 << 20);
    let found = json(&folder, "sim:samsung-emmc51-64gb");
    let registers = &found["registers"];
    assert_eq!(registers["faults"].as_array().unwrap().len(), 0);
    assert_eq!(registers["cid"]["maker"], "Samsung");
    assert_eq!(registers["cid"]["year"], 2016);
    let ext = &registers["ext_csd"];
    assert_eq!(ext["version"], "5.1");
    assert_eq!(ext["capacity"], 62_537_072_640u64);
    assert_eq!(
        (&ext["timing"], &ext["bus"]),
        (&"HS400".into(), &"8 bit DDR".into())
    );
    assert_eq!(
        (&ext["cache"], &ext["cache_on"]),
        (&(512 << 10).into(), &true.into())
    );
    assert_eq!(ext["life_a"], 1);
    assert_eq!(ext["spare"], "normal");
    assert_eq!(
        ext["background_operations"],
        serde_json::json!([true, true])
    );
    // A device on an NVMe link has no registers.
    assert!(json(&folder, "sim:sm2708-250gb")["registers"].is_null());
}

#[test]
fn recorded_registers_of_a_card_are_judged() {
    let folder = Folder::new("inspect-recorded");
    let fields = "manfid 0x000000\noemid 0x0000\nname SD8G\nserial 0x12345678\ndate 11/2020\nsize 31116288\n";
    folder.file("card.txt", fields);
    let out = folder
        .command(&["inspect", "--registers", "card.txt", "--json"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let signs = found["signs"].as_array().unwrap();
    let of = |id: &str| {
        signs
            .iter()
            .any(|s| s["id"] == id && s["weight"] == "suspicious")
    };
    assert!(
        of("maker") && of("name-capacity") && !of("serial"),
        "{found}"
    );
    folder.file(
        "card.txt",
        "cid 035054534c31364730da0a5d93010101\ncsd 400e00325b59000073a77f800a400001\n",
    );
    let screen = folder.screen(&["inspect", "--registers", "card.txt"]);
    assert!(
        screen.contains("Nothing in the registers is suspicious"),
        "{screen}"
    );
    folder.file("card.txt", "type SD\nhello\n");
    let out = folder
        .command(&["inspect", "--registers", "card.txt"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(
        said.contains("card.txt, line 2: `hello` is no register"),
        "{said}"
    );
}

/// A loop device is listed with its file, and with whether it may be written.
#[test]
#[cfg(target_os = "linux")]
fn loop_devices_are_listed_with_their_files() {
    let folder = Folder::new("devices-loop");
    let Some(device) = crate::support::loops::Loop::new(&folder, 4) else {
        return;
    };
    let listed = folder.run(&["devices", "--json"]);
    let all: serde_json::Value = serde_json::from_str(&listed.succeeds().out).unwrap();
    let disks = all["block_devices"].as_array().unwrap();
    let own = disks
        .iter()
        .find(|d| d["path"] == device.device.as_str())
        .unwrap();
    let file = own["backing_file"].as_str().unwrap();
    assert_eq!(
        std::path::Path::new(file),
        device.backing().canonicalize().unwrap()
    );
    assert_eq!(own["refused"][0]["rule"], "carries-data");
    // Free loop devices are no disks.
    let is_used = |d: &serde_json::Value| d["transport"] != "loop" || d["backing_file"].is_string();
    assert!(disks.iter().all(is_used), "{disks:?}");
    let text = folder.run(&["devices"]);
    assert!(
        text.succeeds().out.contains("MODEL OR FILE"),
        "{}",
        text.out
    );
}

#[test]
fn properties_without_a_value_have_no_row() {
    let folder = Folder::new("inspect-empty");
    for target in [
        "sim:kingston-8gb",
        "sim:samsung-emmc51-64gb",
        "sim:sm2708-250gb",
    ] {
        let shown = folder.run(&["inspect", target]);
        let rows = shown
            .succeeds()
            .out
            .lines()
            .filter(|l| l.starts_with("   "));
        for row in rows {
            assert!(row.trim().contains("  "), "{target}: `{row}`");
        }
    }
}
