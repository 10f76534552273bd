//! Output of commands in a pipe, as snapshots (`INSTA_UPDATE=always cargo test -p nandscope --test it terminal::`
//! writes them). Snapshots of long commands are with the other tests of their output.

use crate::support::Folder;

const JOB: &str = "\
[global]
bs=4k
size=1m
filename=x
[fill]
rw=write
numjobs=2
group_reporting
[load]
stonewall
rw=randrw
io_size=4m
iodepth=4
";

#[test]
fn devices_and_targets() {
    let folder = Folder::new("terminal-devices");
    folder.tiny();
    let own = folder.screen(&["devices", "show", "tiny.toml"]);
    insta::assert_snapshot!("devices_show_own", own);
    let board = folder.screen(&["devices", "show", "asus-z87-satae"]);
    insta::assert_snapshot!("devices_show_board", board);
    insta::assert_snapshot!("devices_hosts", folder.screen(&["devices", "hosts"]));
    let drive = folder.screen(&["inspect", "sim:sm2262en-2tb"]);
    insta::assert_snapshot!("inspect_drive", drive);
    let card = folder.screen(&["inspect", "sim:sandisk-extreme-uhs2-128gb"]);
    insta::assert_snapshot!("inspect_card", card);
}

#[test]
fn job_files() {
    let folder = Folder::new("terminal-jobs");
    folder.file("job.fio", JOB);
    folder.file("bad.fio", "[a]\nrw=sideways\nbs=(4*1024\niodept=3\n[b\n");
    let check = folder.screen(&["job", "check", "job.fio", "bad.fio"]);
    insta::assert_snapshot!("job_check", check);
    insta::assert_snapshot!("job_show", folder.screen(&["job", "show", "job.fio"]));
    insta::assert_snapshot!("job_emit", folder.screen(&["job", "emit-fio", "job.fio"]));
}

#[test]
fn runs_reports_and_comparisons() {
    let folder = Folder::new("terminal-runs");
    folder.file("job.fio", JOB);
    let tiny = folder.tiny();
    let run = ["run", "job.fio", tiny, "--result", "a.json"];
    insta::assert_snapshot!("run", folder.screen(&run));
    folder
        .run(&["run", "job.fio", tiny, "--seed", "2", "--result", "b.json"])
        .succeeds();
    let report = ["report", "a.json", "-o", "report"];
    insta::assert_snapshot!("report", folder.screen(&report));
    let compare = ["compare", "a.json", "b.json"];
    insta::assert_snapshot!("compare", folder.screen(&compare));
    let emit = ["job", "emit-fio", "a.json", "--step", "group-2"];
    insta::assert_snapshot!("job_emit_step", folder.screen(&emit));
}

#[test]
fn fakes_and_genuine_cards() {
    let folder = Folder::new("terminal-verify");
    let genuine = folder.screen(&["verify", "sim:kingston-8gb"]);
    insta::assert_snapshot!("verify_genuine", genuine);
    let fake = ["verify", "sim:kingston-8gb", "--fault", "fake 2GiB wrap"];
    insta::assert_snapshot!("verify_fake", folder.screen(&fake));
}

/// The worked examples of the SATA Express article.
#[test]
fn calculations() {
    let folder = Folder::new("terminal-calc");
    let calc = |line: &str| {
        let words: Vec<&str> = ["calc"].into_iter().chain(line.split(' ')).collect();
        folder.screen(&words)
    };
    let screens = [
        "link pcie-2.0-x2 --efficiency 78",
        "link sata-6 pcie-2.0-x2",
        "flash --page-kib 16 --read-us 115 --dies 16 --channels 8 --channel-mb-s 400 --link sata-6",
        "battery --wh 50 --use light:80:7:1:20 --use heavy:20:20:3:40 --idle-w 0.05",
        "video 3840x2160 --fps 24 --bits 12 --link sata-6",
    ];
    insta::assert_snapshot!("calc", screens.map(calc).join("\n"));
}
