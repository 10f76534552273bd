//! A mounted, swapped, held or foreign target is refused under whatever name it is reached: the
//! quick ones of the ways; all of them are a campaign of the slow tests.

use crate::support::{Folder, skip};
use crate::ways;

/// Goes these ways; how many could be gone, and why the others could not.
fn go(test: &str, ways: impl Iterator<Item = &'static ways::Way>) -> (usize, Vec<String>) {
    if !rustix::process::geteuid().is_root() || !std::path::Path::new("/dev/loop-control").exists()
    {
        let demanded = std::env::var_os("NANDSCOPE_DEMAND_TOOLS").is_some();
        assert!(!demanded, "loop devices need root and /dev/loop-control");
        skip(test, "loop devices need root and /dev/loop-control");
        return (usize::MAX, Vec::new());
    }
    let folder = Folder::new(test);
    let (mut gone, mut cannot) = (0, Vec::new());
    for way in ways {
        match way.go(&folder) {
            Ok(()) => gone += 1,
            Err(why) => {
                skip(way.name, &why);
                cannot.push(way.name.to_string());
            }
        }
    }
    (gone, cannot)
}

#[test]
fn other_names_lead_nowhere() {
    let (gone, cannot) = go("other_names_lead_nowhere", ways::all().filter(|w| w.quick));
    assert!(gone >= 18, "{gone} ways; not {cannot:?}");
}

/// Every way there is. What a machine may lack: device mapper, RAID, LVM, FAT, the tools for EROFS.
#[test]
#[ignore = "slow: a hundred names"]
fn slow_every_other_name_leads_nowhere() {
    let (gone, cannot) = go("every_other_name_leads_nowhere", ways::all());
    println!(
        "{gone} ways led nowhere; {} could not be gone",
        cannot.len()
    );
    assert!(gone >= 100, "{gone} ways; not {cannot:?}");
}
