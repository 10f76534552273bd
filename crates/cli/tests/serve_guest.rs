//! A Debian kernel in QEMU with a served card as its disk, by vhost-user. It is slow (a minute
//! where there is no KVM), and runs with `--ignored`.

#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::serving::{Serving, attempt, have};
use std::path::Path;

#[test]
#[ignore = "slow: boots a kernel"]
fn slow_a_guest_uses_the_card_as_its_disk() {
    let tools = ["qemu-system-x86_64", "apt-get", "dpkg-deb", "mke2fs"];
    if !cfg!(target_arch = "x86_64") || !have(&tools) {
        return;
    }
    let folder = Folder::new("guest");
    let text = include_str!("../../../profiles/kingston-8gb.toml");
    let line = text.lines().find(|l| l.starts_with("capacity_bytes"));
    let text = text.replace(line.unwrap(), "capacity_bytes = 268435456");
    let card = format!("sim:{}", folder.file("card.toml", &text).display());
    let socket = ["--vhost-user", "unix:vm.sock"];
    let more = [
        "--speed",
        "max",
        "--record",
        "seen.nstrace",
        "--store",
        "card.img",
    ];
    let mut serving = Serving::with(&folder, &[&["serve", &card], &socket[..], &more].concat());
    serving.wait_for("vhost-user");

    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/guest/boot.sh");
    let script = script.display().to_string();
    // Packages are kept for the next run.
    let packages = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guest-packages");
    let socket = folder.0.join("vm.sock").display().to_string();
    let arguments = [&*script, &socket, packages.to_str().unwrap()];
    let output = attempt(&folder, "bash", &arguments);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.contains("SKIPPED") {
        eprintln!("{said}");
        return;
    }
    let wrong = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("GUEST: all is well"), "{said}\n{wrong}");
    // The card's topology: sectors, pages, allocation unit, discard, a cache to be flushed.
    for line in [
        "logical_block_size 512",
        "physical_block_size 4096",
        "optimal_io_size 4194304",
        "discard_max_bytes 2147483648",
        "write_cache write back",
        "sectors 524288",
    ] {
        assert!(said.contains(line), "no `{line}` in {said}");
    }
    serving.finish();
    let info = folder.run(&["trace", "info", "seen.nstrace"]);
    info.succeeds();
    for part in ["writes", "trims", "flushes"] {
        let line = info.out.lines().find(|l| l.trim_start().starts_with(part));
        assert!(line.is_some_and(|l| !l.ends_with(" 0")), "{}", info.out);
    }
    // The store contains the file system that the guest wrote.
    let check = attempt(&folder, "fsck.ext4", &["-f", "-n", "card.img"]);
    assert!(
        check.status.success(),
        "{}",
        String::from_utf8_lossy(&check.stdout)
    );
}
