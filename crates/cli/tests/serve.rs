//! `nandscope serve` with the NBD clients that people have: nbdinfo, nbdcopy, nbdsh, nbdfuse,
//! qemu-img, qemu-nbd, qemu-io and fio.

use crate::support;
use crate::support::block::can_mount;
use crate::support::serving::{Serving, attempt, have, run};
use crate::support::signals::wait_for;
use crate::support::{Folder, tiny};
use nandscope_units::random::SplitMix64;
use std::os::unix::fs::PermissionsExt;

const CARD: &str = "sim:kingston-8gb";

/// 2 MiB that repeat nowhere.
fn noise() -> Vec<u8> {
    let mut random = SplitMix64::new(1);
    (0..2 << 20).map(|_| random.below(256) as u8).collect()
}

#[test]
fn nbdinfo_sees_the_card() {
    if !have(&["nbdinfo"]) {
        return;
    }
    let folder = Folder::new("serve-nbdinfo");
    let serving = Serving::start(&folder, CARD, &["--speed", "max"]);
    let mode = std::fs::metadata(&serving.socket)
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let info = run(&folder, "nbdinfo", &[&serving.uri()]);
    for line in [
        "protocol: newstyle-fixed without TLS, using structured packets",
        "export=\"kingston-8gb\"",
        "is_read_only: false",
        "can_flush: true",
        "can_fua: true",
        "can_multi_conn: true",
        "can_trim: true",
        "can_zero: true",
        "can_cache: true",
        "block_size_minimum: 512",
    ] {
        assert!(info.contains(line), "no `{line}` in\n{info}");
    }
    let list = run(&folder, "nbdinfo", &["--list", &serving.uri()]);
    assert!(list.contains("export=\"kingston-8gb\""), "{list}");
    serving.finish();

    let serving = Serving::start(&folder, CARD, &["--write-protect"]);
    let info = run(&folder, "nbdinfo", &[&serving.uri()]);
    assert!(info.contains("is_read_only: true"), "{info}");
    assert!(info.contains("can_trim: false"), "{info}");
    let script = "h.pwrite(b'x' * 512, 0)";
    if have(&["nbdsh"]) {
        let denied = attempt(&folder, "nbdsh", &["-u", &serving.uri(), "-c", script]);
        assert!(!denied.status.success());
    }
    serving.finish();
}

#[test]
fn qemu_nbd_lists_it_and_nbdfuse_makes_a_file_of_it() {
    if !have(&["qemu-nbd", "nbdfuse"]) {
        return;
    }
    let folder = Folder::new("serve-others");
    let serving = Serving::start(&folder, CARD, &["--speed", "max"]);
    let socket = serving.socket.display().to_string();
    let list = run(&folder, "qemu-nbd", &["--list", "-k", &socket]);
    assert!(list.contains("exports available: 1"), "{list}");
    if can_mount() {
        let uri = serving.uri();
        let script = "dd if=/dev/urandom of=data bs=1M count=3 && dd if=data of=card/nbd bs=1M conv=notrunc && \
                      cmp -n 3145728 data card/nbd";
        std::fs::create_dir(folder.0.join("card")).unwrap();
        let mut child = std::process::Command::new("nbdfuse")
            .args(["card/nbd", &uri])
            .current_dir(&folder.0)
            .spawn()
            .unwrap();
        wait_for("file of the mounted card", || {
            folder.0.join("card/nbd").exists().then_some(())
        });
        run(&folder, "sh", &["-c", script]);
        run(&folder, "umount", &["card"]);
        assert!(child.wait().unwrap().success());
    }
    serving.finish();
}

/// `nbdcopy` writes data to the card and reads it back; after a restart of the server `qemu-img` reads the same data, and
/// the state of the device was saved.
#[test]
fn copies_survive_a_restart() {
    if !have(&["nbdcopy", "qemu-img"]) {
        return;
    }
    let folder = Folder::new("serve-restart");
    std::fs::write(folder.0.join("in.img"), noise()).unwrap();
    let more = ["--speed", "max", "--store", "card.img"];
    let serving = Serving::start(&folder, &tiny(), &more);
    run(&folder, "nbdcopy", &["in.img", &serving.uri()]);
    run(&folder, "nbdcopy", &[&serving.uri(), "out1.img"]);
    serving.finish();
    assert!(!folder.0.join("card.sock").exists());

    let serving = Serving::start(&folder, &tiny(), &more);
    let convert = ["convert", "-O", "raw", &serving.uri(), "out2.img"];
    run(&folder, "qemu-img", &convert);
    serving.finish();
    for name in ["out1.img", "out2.img", "card.img"] {
        assert!(
            std::fs::read(folder.0.join(name)).unwrap() == noise(),
            "{name}"
        );
    }
    let saved = folder.run(&["inspect", "sim:saved:card.img.device", "--json"]);
    saved.succeeds();
    let other = folder.run(&["serve", CARD, "--nbd", "unix:x.sock", "--store", "card.img"]);
    other.fails(2, &["card.img.device", "another --store"]);
}

#[test]
fn nbdsh_trims_zeroes_and_flushes() {
    if !have(&["nbdsh"]) {
        return;
    }
    let folder = Folder::new("serve-nbdsh");
    let script = folder.file(
        "script.py",
        "h.pwrite(b'\\x55' * 65536, 0, nbd.CMD_FLAG_FUA)
h.zero(4096, 8192)
h.zero(4096, 16384, nbd.CMD_FLAG_NO_HOLE)
h.trim(8192, 32768)
h.cache(65536, 0)
h.flush()
got = h.pread(65536, 0)
for i in range(0, 65536, 4096):
    zero = i in (8192, 16384, 32768, 36864)
    assert got[i:i+4096] == (b'\\0' if zero else b'\\x55') * 4096, i
try:
    h.pread(512, h.get_size())
    assert False, 'read beyond the end'
except nbd.Error as e:
    pass
cookies = [h.aio_pread(nbd.Buffer(4096), 4096 * (i % 16)) for i in range(200)]
while h.aio_in_flight() > 0:
    h.poll(-1)
assert all(h.aio_command_completed(c) for c in cookies)
",
    );
    let serving = Serving::start(&folder, CARD, &["--speed", "max"]);
    let run_it = format!("exec(open('{}').read())", script.display());
    run(&folder, "nbdsh", &["-u", &serving.uri(), "-c", &run_it]);
    serving.finish();
}

/// qemu's own checks of a block device: patterns over borders, discard, two connections.
#[test]
fn qemu_io_finds_what_it_wrote() {
    if !have(&["qemu-io"]) {
        return;
    }
    let folder = Folder::new("serve-qemu");
    let serving = Serving::start(&folder, CARD, &["--speed", "max"]);
    let commands = [
        "write -P 0x11 0 1M",
        "write -P 0x22 1048064 1024",
        "discard 512k 64k",
        "write -z 256k 4k",
        "flush",
        "read -P 0x11 0 256k",
        "read -P 0 256k 4k",
        "read -P 0 512k 64k",
        "read -P 0x22 1048064 1024",
    ];
    let uri = serving.uri();
    let mut arguments = vec!["-f", "raw", "-d", "unmap", "-t", "none"];
    commands.iter().for_each(|c| arguments.extend(["-c", c]));
    arguments.push(&uri);
    let said = run(&folder, "qemu-io", &arguments);
    assert!(
        !said.contains("failed") && !said.contains("error"),
        "{said}"
    );
    serving.finish();
}

#[test]
fn fio_verifies_and_the_trace_is_replayed() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("serve-fio");
    let serving = Serving::start(
        &folder,
        CARD,
        &["--speed", "max", "--record", "seen.nstrace"],
    );
    let uri = format!("--uri={}", serving.uri());
    let arguments = [
        "--name=a",
        "--ioengine=nbd",
        &uri,
        "--rw=randrw",
        "--bsrange=512-64k",
        "--size=32m",
        "--iodepth=16",
        "--verify=crc32c",
        "--verify_backlog=64",
        "--randseed=5",
        "--fsync=50",
    ];
    run(&folder, "fio", &arguments);
    let ran = serving.finish();
    assert!(ran.err.contains("requests are in seen.nstrace"), "{ran:?}");
    let info = folder.run(&["trace", "info", "seen.nstrace"]);
    info.succeeds();
    for part in ["read", "write", "flush"] {
        assert!(info.out.contains(part), "{}", info.out);
    }
    folder.file(
        "replay.fio",
        "[r]\nread_iolog=seen.nstrace\nreplay_no_stall=1\n",
    );
    folder.run(&["run", "replay.fio", CARD]).succeeds();
}

/// The card of the talk reads 1 KiB in 1.77 ms. A client at queue depth 1 never sees a shorter latency, and the server reports
/// how late its replies were. How close both latencies are depends on the load of this machine, so that twice the latency is
/// allowed here; `serve_fio` demands 3 % on a quiet machine.
#[test]
fn no_reply_comes_before_the_card_has_it() {
    if !have(&["fio"]) {
        return;
    }
    let folder = Folder::new("serve-pace");
    let card = "sim:talk-mmcblk1-8gb";
    let job = "[a]\nrw=randread\nbs=1k\nsize=1g\nnumber_ios=600\nrandrepeat=1\n";
    folder.file("job.fio", job);
    let virtual_run = folder.run(&["run", "job.fio", card, "--result", "virtual.json"]);
    virtual_run.succeeds();
    let expected = p50_of(
        &folder.read("virtual.json"),
        "/steps/0/jobs/0/directions/0/latency/percentiles/6/1",
    );
    let serving = Serving::start(&folder, card, &[]);
    let uri = format!("--uri={}", serving.uri());
    let arguments = [
        "--output-format=json",
        "--output=fio.json",
        "--ioengine=nbd",
        &uri,
        "job.fio",
    ];
    run(&folder, "fio", &arguments);
    let seen = p50_of(
        &folder.read("fio.json"),
        "/jobs/0/read/clat_ns/percentile/50.000000",
    );
    let ran = serving.finish();
    let ratio = seen / expected;
    assert!(
        (0.95..2.0).contains(&ratio),
        "{seen} ns for {expected} ns; {}",
        ran.out
    );
    assert!(
        ran.out.contains("600 completions; late by p50"),
        "{}",
        ran.out
    );
}

fn p50_of(json: &str, pointer: &str) -> f64 {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
    let found = value.pointer(pointer).and_then(serde_json::Value::as_f64);
    found.unwrap_or_else(|| panic!("no {pointer} in {value}"))
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = Folder::new("serve-wrong");
    let nbd = ["--nbd", "unix:card.sock"];
    let serve = |more: &[&str]| folder.run(&[&["serve", &tiny()], more].concat());
    serve(&[]).fails(2, &["--nbd"]);
    serve(&["--nbd", "card.sock"]).fails(2, &["unix:PATH or tcp:PORT"]);
    serve(&["--nbd", "tcp:70000"]).fails(2, &["not a port"]);
    serve(&[&nbd[..], &["--speed", "0"]].concat()).fails(2, &["not a speed"]);
    serve(&["--nbd", "unix:no/such/folder/s"]).fails(3, &["cannot listen at unix:no/such"]);
    folder.file("small.img", "x");
    serve(&[&nbd[..], &["--store", "small.img"]].concat()).fails(2, &["another device"]);
    let serving = Serving::start(&folder, &tiny(), &[]);
    serve(&nbd).fails(3, &["another server uses"]);
    serving.finish();
}

/// While it serves, a server can open only the files that it was given (crates/cli/src/confine.rs tests the confinement
/// itself).
#[cfg(target_os = "linux")]
#[test]
fn it_is_confined_while_it_serves() {
    let folder = Folder::new("serve-confined");
    let confined = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        status.lines().any(|line| line == "NoNewPrivs:\t1")
    };
    let serving = Serving::start(&folder, CARD, &["--store", "card.img", "--record", "seen"]);
    if !confined(&serving.pid()) {
        support::loops::skipped("this kernel has no Landlock, servers are not confined here");
    }
    // The confined server can still write its files at the end.
    serving.finish();
    assert_eq!(folder.names(), ["card.img", "card.img.device", "seen"]);
}
