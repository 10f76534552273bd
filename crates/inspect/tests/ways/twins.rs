//! Through a second loop device over the same storage, whatever its backing file is called.

use super::stage::{Stage, words};
use super::{Attempt, Cannot, Way, device, way};
use std::path::{Path, PathBuf};

const TWIN: &[&str] = &["behind-loop"];

pub const WAYS: &[Way] = &[
    way("twin by the same path", true, |s| plain(s, b"image")),
    way("twin, a name with a blank at its end", true, |s| {
        plain(s, b"image ")
    }),
    way("twin, a name with a line end at its end", true, |s| {
        plain(s, b"image\n")
    }),
    way("twin, a name with a tab at its end", false, |s| {
        plain(s, b"image\t")
    }),
    way("twin, a name that looks escaped", false, |s| {
        plain(s, b"a\\040b\\")
    }),
    way("twin, a name that says deleted", false, |s| {
        plain(s, b"image (deleted)")
    }),
    way("twin, a name that is no UTF-8", false, |s| {
        plain(s, b"\xff\xfeimage")
    }),
    way("twin, a folder that is no UTF-8", true, |s| {
        plain(s, b"\xff\xfe\n /image")
    }),
    way("twin by a hard link", true, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let other = s.path("other");
        std::fs::hard_link(&file, &other).unwrap();
        twin(s, &other, &file)
    }),
    way("twin by a symbolic link", false, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let other = s.path("other");
        std::os::unix::fs::symlink(&file, &other).unwrap();
        twin(s, &other, &file)
    }),
    way("twin by a bind mount of the folder", true, |s| {
        let (file, _) = s.mounted(&s.path("a/image"))?;
        let other = s.make_folder("b");
        s.bind(&s.path("a"), &other)?;
        twin(s, &other.join("image"), &file)
    }),
    way("twin by a bind mount of the file", false, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let other = s.sized(&s.path("other"), 1)?;
        s.bind(&file, &other)?;
        twin(s, &other, &file)
    }),
    way("twin of a renamed file", false, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let other = s.path("other");
        std::fs::rename(&file, &other).unwrap();
        twin(s, &other, &other)
    }),
    way("twin in a renamed folder", false, |s| {
        s.mounted(&s.path("a/image"))?;
        std::fs::rename(s.path("a"), s.path("b")).unwrap();
        let other = s.path("b/image");
        twin(s, &other, &other)
    }),
    way(
        "twin of a renamed file with another one in its place",
        false,
        |s| {
            let (file, _) = s.mounted(&s.path("image"))?;
            let other = s.path("other");
            std::fs::rename(&file, &other).unwrap();
            s.image(&file)?;
            twin(s, &other, &other)
        },
    ),
    way("twin of a deleted file by its descriptor", true, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let through = s.hold(&file);
        std::fs::remove_file(&file).unwrap();
        twin(s, &through, &through)
    }),
    way("twin of a deleted name by a hard link", false, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let other = s.path("other");
        std::fs::hard_link(&file, &other).unwrap();
        std::fs::remove_file(&file).unwrap();
        twin(s, &other, &other)
    }),
    way("twin in a folder that is mounted over", true, |s| {
        let (file, _) = s.mounted(&s.path("a/image"))?;
        let other = s.path("other");
        std::fs::hard_link(&file, &other).unwrap();
        s.tmpfs(&s.path("a"))?;
        twin(s, &other, &other)
    }),
    way(
        "twin in a folder that is mounted over, with a decoy",
        false,
        |s| {
            let (file, _) = s.mounted(&s.path("a/image"))?;
            let other = s.path("other");
            std::fs::hard_link(&file, &other).unwrap();
            s.tmpfs(&s.path("a"))?;
            s.image(&file)?;
            twin(s, &other, &other)
        },
    ),
    way(
        "twin of a file whose path is too long to be shown",
        false,
        |s| {
            let deep = deep(s)?;
            let through = s.hold(&deep);
            let below = s.attach(&through)?;
            s.mount(&below)?;
            twin(s, &through, &through)
        },
    ),
    way("twin of a file in another mount namespace", false, |s| {
        let inside = s.make_folder("inside");
        let id = s.elsewhere(&format!(
            "mount -t tmpfs -o size=16m none {0}; truncate -s 8M {0}/image; mkfs.ext4 -q -F {0}/image",
            inside.display()
        ))?;
        let file = PathBuf::from(format!("/proc/{id}/root{}/image", inside.display()));
        let below = s.attach(&file)?;
        s.mount(&below)?;
        let hidden = s.hold(&file);
        twin(s, &hidden, &hidden)
    }),
    way("twin of what is mounted in another namespace", false, |s| {
        let (file, below) = s.attached()?;
        let point = s.make_folder("point");
        s.elsewhere(&format!(
            "mount -o ro {} {}",
            below.display(),
            point.display()
        ))?;
        twin(s, &file, &file)
    }),
    way(
        "twin of a loop device that was set up in a chroot",
        false,
        |s| {
            let file = s.image(&s.path("image"))?;
            let root = s.make_folder("root");
            s.bind(Path::new("/"), &root)?;
            s.bind(Path::new("/dev"), &root.join("dev"))?;
            s.bind(Path::new("/sys"), &root.join("sys"))?;
            let below = s.run(&words!["chroot", root, "losetup", "--find", "--show", file])?;
            s.undo_by(words!["losetup", "-d", below]);
            s.mount(Path::new(&below))?;
            twin(s, &file, &file)
        },
    ),
    way("twin of one that is read-only", false, |s| {
        let file = s.image(&s.path("image"))?;
        let below = s.attach_with(&file, &["--read-only"])?;
        s.mount(&below)?;
        twin(s, &file, &file)
    }),
    way("twin with direct I/O", false, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let above = s.attach_with(&file, &["--direct-io=on"])?;
        device(above, &[&file], TWIN)
    }),
    way("twin of a part, by its offset", false, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let above = s.attach_with(&file, &["--offset", "4194304"])?;
        device(above, &[&file], TWIN)
    }),
    way("twin of a part, by its length", false, |s| {
        let (file, _) = s.mounted(&s.path("image"))?;
        let above = s.attach_with(&file, &["--sizelimit", "4194304"])?;
        device(above, &[&file], TWIN)
    }),
    way(
        "the whole of which a part is mounted by its offset",
        false,
        |s| {
            let inner = s.image(&s.path("inner"))?;
            let file = s.sized(&s.path("image"), 1)?;
            let mut whole = vec![0; 1 << 20];
            whole.extend(std::fs::read(inner).unwrap());
            std::fs::write(&file, whole).unwrap();
            let below = s.attach_with(&file, &["--offset", "1048576"])?;
            s.mount(&below)?;
            twin(s, &file, &file)
        },
    ),
    way("twin of a disk with a mounted partition", false, |s| {
        let (file, _) = partitioned(s)?;
        twin(s, &file, &file)
    }),
    way("the same partition of a twin", true, |s| {
        let (file, _) = partitioned(s)?;
        let above = s.attach_with(&file, &["--partscan"])?;
        device(partition(s, &above, 1)?, &[&file], TWIN)
    }),
    way("another partition of a twin", false, |s| {
        let (file, _) = partitioned(s)?;
        let above = s.attach_with(&file, &["--partscan"])?;
        device(partition(s, &above, 2)?, &[&file], TWIN)
    }),
    way("twin of swap", false, |s| {
        let file = s.full(&s.path("image"), 8)?;
        let below = s.attach(&file)?;
        s.swap_on(&below)?;
        twin(s, &file, &file)
    }),
    way("a loop device over a swap file", false, |s| {
        let file = s.full(&s.path("swap"), 8)?;
        s.swap_on(&file)?;
        let above = s.attach(&file)?;
        device(above, &[&file], &["swap"])
    }),
    way(
        "a loop device over a swap file with a strange name, by a hard link",
        false,
        |s| {
            let file = s.full(&s.bytes(b"a \x0c\r\\\xff\nswap"), 8)?;
            let other = s.path("other");
            s.swap_on(&file)?;
            std::fs::hard_link(&file, &other).unwrap();
            let above = s.attach(&other)?;
            device(above, &[&other], &["swap"])
        },
    ),
    way("twin of what was unmounted lazily", false, |s| {
        let (file, _, _) = lazily(s)?;
        twin(s, &file, &file)
    }),
    way("what was unmounted lazily", false, |s| {
        let (file, below, _) = lazily(s)?;
        device(below, &[&file], &["held"])
    }),
    way("twin of a device that somebody has open", false, |s| {
        let (file, below) = s.attached()?;
        s.beside(&format!("exec 3<> {}", below.display()))?;
        twin(s, &file, &file)
    }),
    way("the journal of a mounted ext4", false, |s| {
        let (_, journal) = with_journal(s)?;
        let file = s.path("journal");
        device(journal, &[&file], &["held", "holder", "mounted"])
    }),
    way("twin of the journal of a mounted ext4", true, |s| {
        with_journal(s)?;
        let file = s.path("journal");
        twin(s, &file, &file)
    }),
    way("twin of the second device of a mounted btrfs", false, |s| {
        let mut devices = Vec::new();
        for name in ["one", "two"] {
            let file = s.sized(&s.path(name), 160)?;
            devices.push(s.attach(&file)?);
        }
        let (one, two) = (devices[0].clone(), devices[1].clone());
        s.run(&words![
            "mkfs.btrfs",
            "-q",
            "-f",
            "-d",
            "raid1",
            "-m",
            "raid1",
            one,
            two
        ])?;
        s.run(&words!["btrfs", "device", "scan", one, two])?;
        s.mount(&one)?;
        let file = s.path("two");
        twin(s, &file, &file)
    }),
    way("twin of a device under device mapper", false, |s| {
        let (file, below) = s.attached()?;
        let name = format!("nandscope-ways-{}", std::process::id());
        let table = format!("0 16384 linear {} 0", below.display());
        s.run(&words!["dmsetup", "create", name, "--table", table])?;
        s.undo_by(words!["dmsetup", "remove", name]);
        s.mount(&Path::new("/dev/mapper").join(&name))?;
        twin(s, &file, &file)
    }),
    way("twin of a member of a RAID array", false, |s| {
        let file = s.sized(&s.path("image"), 32)?;
        let below = s.attach(&file)?;
        let array = format!("/dev/md/nandscope-ways-{}", std::process::id());
        let create = words![
            "mdadm",
            "--create",
            array,
            "--run",
            "--force",
            "--level=1",
            "--raid-devices=1",
            below
        ];
        s.run(&create)?;
        s.undo_by(words!["mdadm", "--stop", array]);
        twin(s, &file, &file)
    }),
];

/// A second loop device over this path, and the contents that must stay.
fn twin(s: &mut Stage, path: &Path, precious: &Path) -> Result<Attempt, Cannot> {
    let above = s.attach(path)?;
    device(above, &[precious], TWIN)
}

fn plain(s: &mut Stage, name: &[u8]) -> Result<Attempt, Cannot> {
    let (file, _) = s.mounted(&s.bytes(name))?;
    twin(s, &file, &file)
}

/// An image in folders whose names together are longer than a page.
fn deep(s: &mut Stage) -> Result<PathBuf, Cannot> {
    let image = s.image(&s.path("image"))?;
    let (bottom, top) = (s.path("deep"), s.path("deep"));
    std::fs::create_dir(&bottom).unwrap();
    std::fs::rename(&image, bottom.join("image")).unwrap();
    // From the bottom up: a path that is too long cannot be named.
    for _ in 0..20 {
        let above = s.path("above");
        std::fs::create_dir(&above).unwrap();
        std::fs::rename(&top, above.join("d".repeat(250))).unwrap();
        std::fs::rename(&above, &top).unwrap();
    }
    let mut folder = std::fs::File::open(&top).unwrap();
    for _ in 0..20 {
        let flags = rustix::fs::OFlags::RDONLY;
        let next = rustix::fs::openat(&folder, "d".repeat(250), flags, rustix::fs::Mode::empty());
        folder = std::fs::File::from(next.map_err(|e| e.to_string())?);
    }
    use std::os::fd::AsRawFd;
    let place = format!("/proc/self/fd/{}/image", folder.as_raw_fd());
    let held = s.hold(Path::new(&place));
    Ok(held)
}

/// A disk with two partitions, of which the first is mounted: the file and the device.
pub fn partitioned(s: &mut Stage) -> Result<(PathBuf, PathBuf), Cannot> {
    let file = s.sized(&s.path("disk"), 32)?;
    s.run(&words!["sgdisk", "-n", "1:0:+10M", "-n", "2:0:+10M", file])?;
    let disk = s.attach_with(&file, &["--partscan"])?;
    let first = partition(s, &disk, 1)?;
    s.run(&words!["mkfs.ext4", "-q", "-F", first])?;
    s.mount(&first)?;
    Ok((file, disk))
}

pub fn partition(s: &Stage, disk: &Path, number: u32) -> Result<PathBuf, Cannot> {
    // `partx` registers the partitions with kernels that cannot read the table.
    s.run(&words!["partx", "--update", disk])?;
    let path = PathBuf::from(format!("{}p{number}", disk.display()));
    let appears = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        path.exists()
    });
    match appears {
        true => Ok(path),
        false => Err("no partitions appear on loop devices".to_string()),
    }
}

/// A file system that is in use, and in no list of mounts: its file, device and an open folder.
fn lazily(s: &mut Stage) -> Result<(PathBuf, PathBuf, PathBuf), Cannot> {
    let file = s.image(&s.path("image"))?;
    let below = s.attach(&file)?;
    let point = s.make_folder("point");
    s.run(&words!["mount", "-o", "ro", below, point])?;
    let inside = s.beside(&format!("cd {}", point.display()));
    s.run(&words!["umount", "-l", point])?;
    inside?;
    Ok((file, below, point))
}

/// A mounted ext4 with its journal on another device: both devices.
fn with_journal(s: &mut Stage) -> Result<(PathBuf, PathBuf), Cannot> {
    let journal = s.sized(&s.path("journal"), 8)?;
    let journal = s.attach(&journal)?;
    s.run(&words![
        "mke2fs",
        "-q",
        "-F",
        "-b",
        "1024",
        "-O",
        "journal_dev",
        journal
    ])?;
    let file = s.sized(&s.path("image"), 16)?;
    let below = s.attach(&file)?;
    let external = format!("device={}", journal.display());
    s.run(&words![
        "mkfs.ext4",
        "-q",
        "-F",
        "-b",
        "1024",
        "-J",
        external,
        below
    ])?;
    s.mount(&below)?;
    Ok((below, journal))
}
