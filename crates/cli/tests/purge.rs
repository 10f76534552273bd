//! `nandscope purge` on loop devices, whose only method is the discard; NVMe, SD and USB are tried in the virtual machine
//! (tests/vm).

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::{Loop, tool};
use serde_json::Value;
use std::os::unix::fs::FileExt;

fn blocks_of_backing(device: &Loop) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(device.backing()).unwrap().blocks()
}

#[test]
fn a_purged_device_holds_nothing_of_what_was_written() {
    let folder = Folder::new("purge-loop");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    let full = blocks_of_backing(&device);
    let name = device.name().to_string();
    let destroy = format!("--destroy-data={name}");
    let listed = folder
        .run(&["purge", &device.device])
        .succeeds()
        .out
        .clone();
    assert!(listed.contains("discard"), "{listed}");
    assert!(listed.contains("yes, the default"), "{listed}");
    assert_eq!(blocks_of_backing(&device), full, "listing changes nothing");

    let purge = [
        "purge",
        &device.device,
        &destroy,
        "--yes",
        &name,
        "--no-speed",
    ];
    let text = folder.run(&purge).succeeds().out.clone();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("(256 zeros)"), "{text}");
    assert_eq!(blocks_of_backing(&device), 0);
    let mut data = vec![1; 8 << 20];
    let disk = std::fs::File::open(&device.device).unwrap();
    disk.read_exact_at(&mut data, 0).unwrap();
    assert!(data.iter().all(|b| *b == 0));
}

#[test]
fn the_speed_is_measured_before_and_after() {
    let folder = Folder::new("purge-speed");
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    let name = device.name().to_string();
    let destroy = format!("--destroy-data={name}");
    let purge = ["purge", &device.device, &destroy, "--yes", &name, "--json"];
    let document: Value = serde_json::from_str(&folder.run(&purge).succeeds().out).unwrap();
    let purged = &document["purged"];
    assert_eq!(purged["method"], "discard");
    assert_eq!(purged["contents"]["kept"], 0);
    for when in ["before", "after"] {
        let speed = &purged[when];
        assert!(
            speed["sequential_bytes_per_s"].as_f64().unwrap() > 1e6,
            "{speed}"
        );
        assert!(speed["random_us"].as_f64().unwrap() > 0.0, "{speed}");
    }
    // The device is discarded again after the second measurement, which writes to it.
    assert_eq!(purged["clean"], true);
    assert_eq!(blocks_of_backing(&device), 0);
}

#[test]
fn what_cannot_be_purged_is_refused_with_a_reason() {
    let folder = Folder::new("purge-refused");
    folder
        .run(&["purge", "sim:kingston-8gb"])
        .fails(2, &["simulated"]);
    std::fs::write(folder.0.join("file"), [0; 4096]).unwrap();
    folder
        .run(&["purge", "file"])
        .fails(2, &["no block device"]);
    folder
        .run(&["purge", "/dev/nandscope-none"])
        .fails(3, &["unknown device"]);
    folder.run(&["purge", "/dev/null"]).fails(2, &[]);
    let Some(device) = Loop::new(&folder, 8) else {
        return;
    };
    let name = device.name().to_string();
    let destroy = format!("--destroy-data={name}");
    let mut purge = vec!["purge", &device.device, &destroy, "--yes", &name];
    purge.extend(["--method", "format"]);
    folder
        .run(&purge)
        .fails(2, &["--method format", "lists the methods"]);
    let wrong = [
        "purge",
        &device.device,
        "--destroy-data=sda",
        "--yes",
        &name,
    ];
    folder.run(&wrong).fails(2, &[]);
    if tool("mkfs.ext4", &["-q", &device.device]).is_some() {
        let mount = folder.0.join("mounted");
        std::fs::create_dir_all(&mount).unwrap();
        if tool("mount", &[&device.device, mount.to_str().unwrap()]).is_some() {
            let purge = ["purge", &device.device, &destroy, "--yes", &name];
            let ran = folder.run(&purge);
            tool("umount", &[mount.to_str().unwrap()]);
            ran.fails(2, &["mounted"]);
        }
    }
}
