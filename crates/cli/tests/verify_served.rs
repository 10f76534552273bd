//! `nandscope verify` on served cards, genuine and fake, as block devices: what it says, how much it
//! writes, and how long it takes beside f3probe.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![cfg(target_os = "linux")]

#[path = "support/block.rs"]
mod block;
#[path = "support/serving.rs"]
mod serving;
mod support;

use block::{Mounted, can_mount};
use serving::{attempt, have};
use std::time::Instant;
use support::Folder;

/// A card of 2 GiB.
fn card(folder: &Folder) -> String {
    let text = include_str!("../../../profiles/kingston-8gb.toml");
    let own = |line: &str| line.starts_with("capacity_bytes");
    let line = text.lines().find(|line| own(line)).unwrap();
    let text = text.replace(line, &format!("capacity_bytes = {}", 2_u64 << 30));
    format!("sim:{}", folder.file("card.toml", &text).display())
}

/// Verifies a served card; the exit code and the record.
fn verified(folder: &Folder, device: &str) -> (Option<i32>, serde_json::Value) {
    let name = device.trim_start_matches("/dev/");
    let output = folder
        .command(&["verify", device, "--yes", name, "--json"])
        .env("XDG_STATE_HOME", folder.0.join("state"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_slice(&output.stdout);
    (
        output.status.code(),
        json.unwrap_or_else(|_| panic!("{said}")),
    )
}

#[test]
fn served_fakes_are_found_with_their_capacity_and_a_genuine_card_is_not_accused() {
    if !can_mount() || !have(&["losetup"]) {
        return;
    }
    let cases = [
        ("", 0, "genuine", "", 2_u64 << 30),
        ("fake 512MiB wrap", 10, "fake", "wrap", 512 << 20),
        // Neither a power of two nor a whole number of MiB.
        ("fake 786434560 wrap", 10, "fake", "wrap", 786_434_560),
        ("fake 2146959360 wrap", 10, "fake", "wrap", 2_146_959_360),
        ("fake 512MiB drop", 10, "fake", "drop", 512 << 20),
        ("fake 786434560 stale", 10, "fake", "stale", 786_434_560),
    ];
    for (number, (fault, code, verdict, kind, real)) in cases.into_iter().enumerate() {
        let folder = Folder::new(&format!("verify-served-{number}"));
        let mut more = vec!["--speed", "max"];
        if !fault.is_empty() {
            more.extend(["--fault", fault]);
        }
        let mounted = Mounted::start(&folder, &card(&folder), &more);
        let device = mounted.block();
        let (exit, json) = verified(&folder, &device.0);
        drop(device);
        mounted.finish();
        assert_eq!(json["verdict"], verdict, "{fault}: {json}");
        assert_eq!(exit, Some(code), "{fault}: {json}");
        assert_eq!(json["real_bytes"], real, "{fault}: {json}");
        if !kind.is_empty() {
            assert_eq!(json["behaviour"]["kind"], kind, "{fault}: {json}");
        }
        let blocks = |key: &str| json[key].as_u64().unwrap();
        assert!(
            blocks("written_blocks") + blocks("restored_blocks") < 2000,
            "{fault}: {json}"
        );
    }
}

/// At the speed of the card; takes as long as f3probe takes, a minute or two each.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "takes minutes; runs with the feature `slow`"
)]
fn verify_is_faster_than_f3probe_beside_it() {
    if !can_mount() || !have(&["f3probe", "losetup"]) {
        return;
    }
    for fault in ["", "fake 786434560 wrap"] {
        let folder = Folder::new(&format!("verify-f3probe-{}", fault.len()));
        let more = if fault.is_empty() {
            vec![]
        } else {
            vec!["--fault", fault]
        };
        let mounted = Mounted::start(&folder, &card(&folder), &more);
        let device = mounted.block();
        let began = Instant::now();
        let (_, json) = verified(&folder, &device.0);
        let ours = began.elapsed();
        let began = Instant::now();
        let output = attempt(&folder, "f3probe", &["--destructive", &device.0]);
        let theirs = began.elapsed();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        drop(device);
        mounted.finish();
        println!(
            "{fault}: {ours:?} {} and f3probe {theirs:?}: {said}",
            json["verdict"]
        );
        assert!(theirs > ours, "{fault}: {ours:?}, f3probe {theirs:?}");
    }
}
