//! Through other nodes and names of a device, through its partitions and its disk, and through
//! loop devices over it.

use super::stage::{Stage, words};
use super::twins::{partition, partitioned};
use super::{Attempt, Cannot, Way, device, way};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const MOUNTED: &[&str] = &["mounted"];
const LINK: &[&str] = &["link"];

pub const WAYS: &[Way] = &[
    way("the mounted device itself", false, |s| {
        named(s, |_, below| Ok(below))
    }),
    way("another node", true, |s| {
        named(s, |s, below| s.node(&below, &s.path("node")))
    }),
    way("another node with a strange name", false, |s| {
        named(s, |s, below| s.node(&below, &s.bytes(b"\xff \n")))
    }),
    way("a hard link of another node", false, |s| {
        named(s, |s, below| {
            let node = s.node(&below, &s.path("node"))?;
            std::fs::hard_link(&node, s.path("other")).unwrap();
            Ok(s.path("other"))
        })
    }),
    way("a node that is bound onto a file", false, |s| {
        named(s, |s, below| {
            let other = s.sized(&s.path("other"), 1)?;
            s.bind(&below, &other)?;
            Ok(other)
        })
    }),
    way("the folder of devices at another place", false, |s| {
        named(s, |s, below| {
            let other = s.make_folder("dev");
            s.bind(Path::new("/dev"), &other)?;
            Ok(other.join(below.file_name().unwrap()))
        })
    }),
    way("a path that goes up and down", false, |s| {
        named(s, |_, below| {
            let name = below.file_name().unwrap().to_str().unwrap().to_string();
            Ok(PathBuf::from(format!("/dev/..//dev/./{name}")))
        })
    }),
    way("a link within the folder of devices", true, |s| {
        named(s, |s, below| link_in_dev(s, &below))
    }),
    way("a link outside the folder of devices", false, |s| {
        let (file, below) = s.mounted(&s.path("image"))?;
        symlink(below, s.path("link")).unwrap();
        device(s.path("link"), &[&file], LINK)
    }),
    way(
        "a link in the folder of devices to a node outside",
        false,
        |s| {
            let (file, below) = s.mounted(&s.path("image"))?;
            let node = s.node(&below, &s.path("node"))?;
            let link = link_in_dev(s, &node)?;
            device(link, &[&file], LINK)
        },
    ),
    way("a descriptor of its own under /proc", true, |s| {
        let (file, below) = s.mounted(&s.path("image"))?;
        let through = s.hold_to_read(&below);
        device(through, &[&file], LINK)
    }),
    way("a descriptor of its own under /dev/fd", false, |s| {
        let (file, below) = s.mounted(&s.path("image"))?;
        let through = s.hold_to_read(&below);
        let number = through.file_name().unwrap();
        device(Path::new("/dev/fd").join(number), &[&file], LINK)
    }),
    way("the root of another process", false, |s| {
        let (file, below) = s.mounted(&s.path("image"))?;
        let other = format!("/proc/{}/root{}", std::process::id(), below.display());
        device(other, &[&file], MOUNTED)
    }),
    way("a node in a chroot", false, |s| {
        named(s, |s, below| {
            let root = s.make_folder("root/dev");
            s.node(&below, &root.join("disk"))
        })
    }),
    way("mounted in another namespace", true, |s| {
        let (file, below) = s.attached()?;
        let point = s.make_folder("point");
        s.elsewhere(&format!(
            "mount -o ro {} {}",
            below.display(),
            point.display()
        ))?;
        device(below, &[&file], &["held"])
    }),
    way(
        "mounted in another namespace, by another node",
        false,
        |s| {
            let (file, below) = s.attached()?;
            let point = s.make_folder("point");
            s.elsewhere(&format!(
                "mount -o ro {} {}",
                below.display(),
                point.display()
            ))?;
            let node = s.node(&below, &s.path("node"))?;
            device(node, &[&file], &["held"])
        },
    ),
    way("mounted at a place with a strange name", false, |s| {
        let (file, below) = s.attached()?;
        let point = s.bytes(b"\xff \n\t\\040");
        std::fs::create_dir(&point).unwrap();
        s.mount_at(&below, &point)?;
        device(below, &[&file], MOUNTED)
    }),
    way("mounted through a node with a strange name", true, |s| {
        let (file, below) = s.attached()?;
        let node = s.node(&below, &s.bytes(b"\xff \n#"))?;
        s.mount(&node)?;
        device(below, &[&file], MOUNTED)
    }),
    way("mounted through a node that is gone", false, |s| {
        let (file, below) = s.attached()?;
        let node = s.node(&below, &s.path("node"))?;
        s.mount(&node)?;
        std::fs::remove_file(&node).unwrap();
        device(below, &[&file], MOUNTED)
    }),
    way("mounted below another mount", false, |s| {
        let (file, below) = s.attached()?;
        let point = s.mount(&below)?;
        s.tmpfs(&point)?;
        device(below, &[&file], MOUNTED)
    }),
    way("only a folder of it is mounted", false, |s| {
        let (file, below) = s.attached()?;
        let point = s.make_folder("point");
        s.run(&words!["mount", "-o", "ro", below, point])?;
        let other = s.make_folder("other");
        let bound = s.bind(&point.join("lost+found"), &other);
        s.run(&words!["umount", point])?;
        bound?;
        device(below, &[&file], MOUNTED)
    }),
    way("mounted at another place since", false, |s| {
        let (file, below) = s.attached()?;
        let around = s.make_folder("around");
        s.tmpfs(&around)?;
        s.run(&words!["mount", "--make-private", around])?;
        let (from, to) = (s.make_folder("around/from"), s.make_folder("around/to"));
        s.run(&words!["mount", "-o", "ro", below, from])?;
        s.undo_by(words!["umount", to]);
        s.run(&words!["mount", "--move", from, to])?;
        device(below, &[&file], MOUNTED)
    }),
    way(
        "mounted by a mount that made its own loop device",
        false,
        |s| {
            let file = s.image(&s.path("image"))?;
            let point = s.make_folder("point");
            s.run(&words!["mount", "-o", "ro,loop", file, point])?;
            s.undo_by(words!["umount", point]);
            let above = s.attach(&file)?;
            device(above, &[&file], &["behind-loop"])
        },
    ),
    way("swapped to, by another node", false, |s| {
        let file = s.full(&s.path("image"), 8)?;
        let below = s.attach(&file)?;
        s.swap_on(&below)?;
        let node = s.node(&below, &s.path("node"))?;
        device(node, &[&file], &["swap"])
    }),
    way("swapped to through a node that is gone", false, |s| {
        let file = s.full(&s.path("image"), 8)?;
        let below = s.attach(&file)?;
        let node = s.node(&below, &s.path("no de"))?;
        s.swap_on(&node)?;
        std::fs::rename(&node, s.path("renamed")).unwrap();
        s.node(&below, &node)?;
        device(below, &[&file], &["swap", "held"])
    }),
    way("the disk of a mounted partition", false, |s| {
        let (file, disk) = partitioned(s)?;
        device(disk, &[&file], MOUNTED)
    }),
    way(
        "the disk of a mounted partition, by another node",
        false,
        |s| {
            let (file, disk) = partitioned(s)?;
            let node = s.node(&disk, &s.path("node"))?;
            device(node, &[&file], MOUNTED)
        },
    ),
    way("a partition, by another node", false, |s| {
        let (file, disk) = partitioned(s)?;
        let first = partition(s, &disk, 1)?;
        let node = s.node(&first, &s.path("node"))?;
        device(node, &[&file], MOUNTED)
    }),
    way("a loop device over a mounted one", false, |s| {
        over(s, 1, |_, below| Ok(below))
    }),
    way(
        "a loop device over a loop device over a mounted one",
        false,
        |s| over(s, 2, |_, below| Ok(below)),
    ),
    way(
        "a loop device over another node of a mounted one",
        true,
        |s| over(s, 1, |s, below| s.node(&below, &s.path("node"))),
    ),
    way("a loop device over a node that is gone", false, |s| {
        let (file, below) = s.mounted(&s.path("image"))?;
        let node = s.node(&below, &s.path("node"))?;
        let above = s.attach(&node)?;
        std::fs::remove_file(&node).unwrap();
        device(above, &[&file], MOUNTED)
    }),
    way("a loop device over a mounted partition", false, |s| {
        let (file, disk) = partitioned(s)?;
        let first = partition(s, &disk, 1)?;
        let above = s.attach(&first)?;
        device(above, &[&file], MOUNTED)
    }),
    way("below a mounted loop device", false, |s| {
        let (file, below) = s.attached()?;
        let above = s.attach(&below)?;
        s.mount(&above)?;
        device(below, &[&file], MOUNTED)
    }),
    way("below a mounted loop device over another node", true, |s| {
        let (file, below) = s.attached()?;
        let node = s.node(&below, &s.bytes(b"node "))?;
        let above = s.attach(&node)?;
        s.mount(&above)?;
        device(below, &[&file], MOUNTED)
    }),
    way("twin of what is below a mounted loop device", false, |s| {
        let (file, below) = s.attached()?;
        let above = s.attach(&below)?;
        s.mount(&above)?;
        let twin = s.attach(&file)?;
        device(twin, &[&file], &["behind-loop"])
    }),
    way("a file in a file system in a file", false, |s| {
        let outer = s.sized(&s.path("outer"), 32)?;
        s.run(&words!["mkfs.ext4", "-q", "-F", outer])?;
        let below = s.attach(&outer)?;
        let point = s.make_folder("outer-point");
        s.run(&words!["mount", below, point])?;
        s.undo_by(words!["umount", point]);
        let (inner, _) = s.mounted(&point.join("inner"))?;
        let hidden = s.hold(&inner);
        std::fs::remove_file(&inner).unwrap();
        let above = s.attach(&hidden)?;
        device(above, &[&hidden], &["behind-loop"])
    }),
    way("a logical volume's disk", false, |s| {
        let file = s.sized(&s.path("image"), 32)?;
        let below = s.attach(&file)?;
        let group = format!("nandscope_ways_{}", std::process::id());
        // Not before it is known that there can be volumes: a group leaves its copy in /etc.
        s.run(&words!["dmsetup", "version"])?;
        s.run(&words!["vgcreate", "-q", "-An", group, below])?;
        s.run(&words![
            "lvcreate", "-q", "-An", "-n", "volume", "-L", "8M", group
        ])?;
        s.undo_by(words!["vgchange", "-q", "-an", group]);
        device(below, &[&file], &["holder"])
    }),
];

/// The device behind a mounted image, under the name that is made of it.
fn named(
    s: &mut Stage,
    name: fn(&mut Stage, PathBuf) -> Result<PathBuf, Cannot>,
) -> Result<Attempt, Cannot> {
    let (file, below) = s.mounted(&s.path("image"))?;
    let target = name(s, below)?;
    device(target, &[&file], MOUNTED)
}

/// So many loop devices, one over the other, over a mounted one.
fn over(
    s: &mut Stage,
    levels: usize,
    name: fn(&mut Stage, PathBuf) -> Result<PathBuf, Cannot>,
) -> Result<Attempt, Cannot> {
    let (file, below) = s.mounted(&s.path("image"))?;
    let mut top = name(s, below)?;
    for _ in 0..levels {
        top = s.attach(&top)?;
    }
    device(top, &[&file], MOUNTED)
}

fn link_in_dev(s: &mut Stage, to: &Path) -> Result<PathBuf, Cannot> {
    let link = PathBuf::from(format!("/dev/nandscope-ways-{}", std::process::id()));
    let _ = std::fs::remove_file(&link);
    symlink(to, &link).map_err(|e| e.to_string())?;
    s.remove_at_end(&link);
    Ok(link)
}
