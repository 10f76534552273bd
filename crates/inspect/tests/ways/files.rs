//! Through files that nandscope made, or that look as if it had.

use super::stage::{Stage, words};
use super::{Attempt, Cannot, MIB, Way, file, way};
use nandscope_inspect::Roots;
use nandscope_inspect::guard::{Guard, Opened};
use nandscope_units::Bytes;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

const FOREIGN: &[&str] = &["foreign-file"];

pub const WAYS: &[Way] = &[
    way("a file of somebody else", false, |s| {
        let own = foreign(s, "thesis");
        file(own.clone(), &[&own], FOREIGN)
    }),
    way("a file with holes of somebody else", false, |s| {
        let own = s.sized(&s.path("sparse"), 8)?;
        file(own.clone(), &[&own], FOREIGN)
    }),
    way("an old mark that copies carry", true, |s| {
        let own = foreign(s, "old");
        let value = b"nandscope made this file to measure on it";
        mark(&own, value)?;
        file(own.clone(), &[&own], FOREIGN)
    }),
    way("a mark that is no text", false, |s| {
        let own = foreign(s, "mark");
        mark(&own, b"\xff\0nandscope")?;
        file(own.clone(), &[&own], FOREIGN)
    }),
    way("a mark that is longer than any", false, |s| {
        let own = foreign(s, "mark");
        mark(&own, &[b'n'; 2000])?;
        file(own.clone(), &[&own], FOREIGN)
    }),
    way("a mark with half of what it needs", false, |s| {
        let own = foreign(s, "mark");
        let inode = std::fs::metadata(&own).unwrap().ino();
        let text = format!(
            "nandscope made this file to measure on it\ninode {inode}\nsize {}",
            8 * MIB
        );
        mark(&own, text.as_bytes())?;
        file(own.clone(), &[&own], FOREIGN)
    }),
    way("a copy with all attributes", true, |s| {
        copied(s, &["cp", "-a"])
    }),
    way("a copy with extended attributes", false, |s| {
        copied(s, &["cp", "--preserve=xattr,timestamps"])
    }),
    way("a copy that shares its blocks", false, |s| {
        s.new_file_system("mkfs.btrfs -q -f", 160)?;
        copied(s, &["cp", "-a", "--reflink=always"])
    }),
    way("a copy on another file system, moved there", false, |s| {
        let made = made(s, "made");
        let other = s.make_folder("other");
        s.tmpfs(&other)?;
        s.run(&words!["mv", made, other])?;
        let moved = other.join("made");
        if !has_mark(&moved) {
            return Err("tmpfs keeps no extended attributes of users".to_string());
        }
        file(moved.clone(), &[&moved], FOREIGN)
    }),
    way("a copy by tar", false, |s| {
        let made = made(s, "made");
        let archive = s.path("archive");
        let from = s.folder.clone();
        s.run(&words![
            "tar", "--xattrs", "-cf", archive, "-C", from, "made"
        ])?;
        let other = s.make_folder("other");
        let include = "--xattrs-include=user.*";
        s.run(&words![
            "tar", "--xattrs", include, "-xf", archive, "-C", other
        ])?;
        let copy = other.join("made");
        assert!(has_mark(&copy));
        file(copy.clone(), &[&copy, &made], FOREIGN)
    }),
    way("a copy with the inode of the first", true, |s| {
        same_inode(s)
    }),
    way(
        "a copy with the inode of the first, without times of birth",
        false,
        |s| {
            s.new_file_system("mkfs.ext4 -q -F -I 128", 64)?;
            same_inode(s)
        },
    ),
    way("a copy in the place of the first", false, |s| {
        let made = made(s, "made");
        let copy = s.path("copy");
        s.run(&words!["cp", "-a", made, copy])?;
        std::fs::File::options()
            .write(true)
            .open(&copy)
            .unwrap()
            .write_at(b"mine", 9)
            .unwrap();
        std::fs::rename(&copy, &made).unwrap();
        file(made.clone(), &[&made], FOREIGN)
    }),
    way("a file of ours that something else wrote over", true, |s| {
        let made = made(s, "made");
        let own = s.path("own");
        std::fs::write(&own, vec![7; 3 << 20]).unwrap();
        s.run(&words!["cp", own, made])?;
        assert!(has_mark(&made));
        file(made.clone(), &[&made], FOREIGN)
    }),
    way(
        "a foreign file that is bound onto one of ours",
        false,
        |s| {
            let made = made(s, "made");
            let own = foreign(s, "own");
            s.bind(&own, &made)?;
            file(made, &[&own], FOREIGN)
        },
    ),
    way("a file of ours with a second name", false, |s| {
        let made = made(s, "made");
        std::fs::hard_link(&made, s.path("other")).unwrap();
        file(made.clone(), &[&made], &["many-names"])
    }),
    way("a link to a file of ours", false, |s| {
        let made = made(s, "made");
        symlink(&made, s.path("link")).unwrap();
        file(s.path("link"), &[&made], &["link"])
    }),
    way("a descriptor of a file of ours", false, |s| {
        let made = made(s, "made");
        let through = s.hold(&made);
        file(through, &[&made], &["link"])
    }),
    way("a file of ours that is being measured on", false, |s| {
        let opened = open(&s.path("made"));
        let through = s.path("made");
        s.keep(opened.file);
        file(through.clone(), &[&through], &["held"])
    }),
    way("a file of ours with a loop device on it", false, |s| {
        let made = made(s, "made");
        s.attach(&made)?;
        file(made.clone(), &[&made], BEHIND)
    }),
    way(
        "a file of ours with a loop device on a name that is gone",
        true,
        |s| {
            let made = made(s, "made");
            let other = s.path("other");
            std::fs::hard_link(&made, &other).unwrap();
            s.attach(&other)?;
            std::fs::remove_file(&other).unwrap();
            file(made.clone(), &[&made], BEHIND)
        },
    ),
    way(
        "a file of ours with a loop device by a bind mount",
        false,
        |s| {
            let folder = s.make_folder("a");
            let made = made(s, "a/made");
            let other = s.make_folder("b");
            s.bind(&folder, &other)?;
            s.attach(&other.join("made"))?;
            file(made.clone(), &[&made], BEHIND)
        },
    ),
    way(
        "a file of ours with a strange name and a loop device",
        true,
        |s| {
            let made = made_at(s.bytes(b"\xff made \n"));
            s.attach(&made)?;
            file(made.clone(), &[&made], BEHIND)
        },
    ),
    way(
        "a file of ours that was renamed behind its loop device",
        false,
        |s| {
            let made = made(s, "made");
            s.attach(&made)?;
            let other = s.path("other");
            std::fs::rename(&made, &other).unwrap();
            foreign(s, "made");
            file(other.clone(), &[&other], BEHIND)
        },
    ),
    way(
        "a file of ours with a loop device in a folder that is mounted over",
        false,
        |s| {
            let folder = s.make_folder("a");
            let made = made(s, "a/made");
            s.attach(&made)?;
            let other = s.make_folder("b");
            s.bind(&folder, &other)?;
            s.tmpfs(&folder)?;
            let seen = other.join("made");
            file(seen.clone(), &[&seen], BEHIND)
        },
    ),
    way("a file of ours that is swapped to", false, |s| {
        let made = made(s, "made");
        s.swap_on(&made)?;
        file(made.clone(), &[&made], &["swap"])
    }),
    way(
        "a file of ours that is swapped to under another name",
        false,
        |s| {
            let folder = s.make_folder("a\x0c b");
            let made = made(s, "a\x0c b/made");
            let other = s.make_folder("b");
            s.bind(&folder, &other)?;
            s.swap_on(&other.join("made"))?;
            file(made.clone(), &[&made], &["swap"])
        },
    ),
    way(
        "a file of ours that is mounted without a loop device",
        false,
        |s| {
            let made = made(s, "made");
            let content = s.make_folder("content");
            let image = s.path("image");
            s.run(&words!["mkfs.erofs", "-q", image, content])?;
            let bytes = std::fs::read(&image).unwrap();
            let into = std::fs::File::options().write(true).open(&made).unwrap();
            into.write_at(&bytes, 0).unwrap();
            let point = s.make_folder("point");
            s.run(&words![
                "mount", "-i", "-t", "erofs", "-o", "ro", made, point
            ])?;
            s.undo_by(words!["umount", point]);
            file(made.clone(), &[&made], &["mounted", "behind-loop"])
        },
    ),
    way(
        "a file of ours without attributes, and another of its name",
        false,
        |s| {
            s.new_file_system("mkfs.vfat -F 32", 64)?;
            let made = made(s, "made");
            std::fs::remove_file(&made).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(2100));
            let own = foreign(s, "made");
            file(own.clone(), &[&own], FOREIGN)
        },
    ),
];

const BEHIND: &[&str] = &["behind-loop"];
/// The attribute of the mark.
const ATTRIBUTE: &str = "user.nandscope.made";

fn open(path: &Path) -> Opened {
    let guard = Guard::new(Roots::default());
    guard.open_file(path, Bytes(8 * MIB)).unwrap()
}

/// A file that nandscope made, with data in it.
fn made(s: &Stage, name: &str) -> PathBuf {
    made_at(s.path(name))
}

fn made_at(path: PathBuf) -> PathBuf {
    let opened = open(&path);
    opened.file.write_at(&[3; 4096], 4096).unwrap();
    drop(opened);
    assert!(Guard::new(Roots::default()).judge_file(&path).is_empty());
    path
}

fn foreign(s: &Stage, name: &str) -> PathBuf {
    let path = s.path(name);
    std::fs::write(&path, vec![7; 8 << 20]).unwrap();
    path
}

fn mark(path: &Path, value: &[u8]) -> Result<(), Cannot> {
    let none = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(path, ATTRIBUTE, value, none).map_err(|e| e.to_string())
}

fn has_mark(path: &Path) -> bool {
    let mut value = [0u8; 4096];
    rustix::fs::getxattr(path, ATTRIBUTE, &mut value[..]).is_ok_and(|n| n > 0)
}

/// The mark must have come along, or the way would prove nothing.
fn copied(s: &mut Stage, by: &[&str]) -> Result<Attempt, Cannot> {
    let made = made(s, "made");
    let copy = s.path("copy");
    let mut words: Vec<_> = by.iter().map(std::ffi::OsString::from).collect();
    words.extend(words![made, copy]);
    s.run(&words)?;
    assert!(has_mark(&copy));
    file(copy.clone(), &[&copy, &made], FOREIGN)
}

/// The file goes, and its copy comes back; file systems give the inode again as a rule.
fn same_inode(s: &mut Stage) -> Result<Attempt, Cannot> {
    let made = made(s, "made");
    let inode = |path: &Path| std::fs::metadata(path).unwrap().ino();
    let first = inode(&made);
    let aside = s.make_folder("aside");
    s.tmpfs(&aside)?;
    let (copy, archive) = (s.path("copy"), aside.join("archive"));
    let from = s.folder.clone();
    s.run(&words![
        "tar", "--xattrs", "-cf", archive, "-C", from, "made"
    ])?;
    std::fs::remove_file(&made).unwrap();
    for _ in 0..50 {
        let include = "--xattrs-include=user.*";
        s.run(&words![
            "tar", "--xattrs", include, "-xf", archive, "-C", s.folder
        ])?;
        if inode(&made) == first {
            break;
        }
        std::fs::rename(&made, &copy).unwrap();
        std::fs::remove_file(&copy).unwrap();
    }
    if inode(&made) != first {
        return Err("the file system does not give the inode again".to_string());
    }
    assert!(has_mark(&made));
    file(made.clone(), &[&made], FOREIGN)
}
