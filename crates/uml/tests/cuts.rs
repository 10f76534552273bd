//! Power cuts in virtual time, then fsck, mount, and everything whose fsync had returned must be there, on an honest
//! card. On a card that tears pages or lies about flushes things may be lost; there it must be possible to say
//! what. Needs a kernel (`nandscope kernel build`). `NANDSCOPE_CUTS` is the number of points per file system
//! and card, 3 without it; docs/power-cuts.md has the table of more.

#![cfg(target_os = "linux")]
use nandscope_device::Device;
use nandscope_device::profile::library;
use nandscope_uml::build;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::powercut::{FlushSemantics, Series};
use std::io::Write;
use std::path::PathBuf;

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

fn cuts(fs: FileSystem) {
    let Some(kernel) = kernel() else { return };
    let points = std::env::var("NANDSCOPE_CUTS").map_or(3, |n| n.parse().unwrap());
    for flush in FlushSemantics::ALL {
        let series = Series {
            kernel: &kernel,
            fs,
            flush,
            points,
            lines: 40,
        };
        let outcomes = series.run(&device(), &|| false).unwrap();
        assert_eq!(outcomes.len(), points as usize);
        for o in &outcomes {
            println!(
                "{} {} {}: lines {}/{} files {}/{} repair {:?} mounted {} check {:?}",
                fs.name(),
                flush.name(),
                o.at,
                o.kept.lines,
                o.promised.lines,
                o.kept.files,
                o.promised.files,
                o.repair,
                o.mounted,
                o.check
            );
            if !o.is_kept() || !o.is_clean() {
                println!("{}", o.said);
            }
        }
        if flush == FlushSemantics::Honest {
            assert!(
                outcomes.iter().all(|o| o.is_kept()),
                "{}: promises broken",
                fs.name()
            );
            assert!(
                outcomes.iter().all(|o| o.is_clean()),
                "{}: not clean",
                fs.name()
            );
        }
        let most = outcomes.last().unwrap().promised;
        assert!(most.lines > 20 && most.files > 4, "{most:?}");
    }
}

macro_rules! file_systems {
    ($($name:ident $fs:ident)*) => {
        $(#[test]
        #[ignore = "slow: minutes of power cuts"]
        fn $name() {
            cuts(FileSystem::$fs);
        })*
    };
}

file_systems! {
    slow_cuts_on_ext4 Ext4
    slow_cuts_on_f2fs F2fs
    slow_cuts_on_nilfs2 Nilfs2
    slow_cuts_on_vfat Vfat
    slow_cuts_on_exfat Exfat
    slow_cuts_on_btrfs Btrfs
    slow_cuts_on_xfs Xfs
}
