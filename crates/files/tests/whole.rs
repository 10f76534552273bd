//! A regular file is the old one or the new one, with the right mode, whatever else is in its folder.
#![cfg(unix)]

use crate::support::{Folder, skip};
use nandscope_files::{
    Access, abandoned, abandoned_in, begin, begin_new, check, check_folder, create_folder,
    create_new, write,
};
use rustix::fs::{FlockOperation, flock};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::Command;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

#[test]
fn modes_are_those_of_the_umask_the_older_file_or_the_owner_alone() {
    let folder = Folder::new("modes");
    let (usual, owner) = (folder.path("usual"), folder.path("owner"));
    let by_system = folder.file("by-system", "");
    write(&usual, b"1", Access::Usual).unwrap();
    assert_eq!(mode(&usual), mode(&by_system));
    write(&owner, b"1", Access::Owner).unwrap();
    assert_eq!(mode(&owner), 0o600);
    for set in [0o640, 0o4755, 0o666] {
        fs::set_permissions(&usual, fs::Permissions::from_mode(set)).unwrap();
        write(&usual, b"2", Access::Usual).unwrap();
        assert_eq!(mode(&usual), set & 0o777);
    }
    // Replacing a file with `Access::Owner` removes the permissions of others.
    fs::set_permissions(&owner, fs::Permissions::from_mode(0o644)).unwrap();
    write(&owner, b"2", Access::Owner).unwrap();
    assert_eq!(mode(&owner), 0o600);
    for made in ["begun", "new"] {
        let path = folder.path(made);
        match made {
            "new" => drop(create_new(&path, Access::Owner).unwrap()),
            _ => drop(begin(&path, b"head", Access::Owner).unwrap()),
        }
        assert_eq!(mode(&path), 0o600);
    }
}

#[test]
fn a_replaced_file_keeps_its_owner() {
    let folder = Folder::new("owner");
    if !rustix::process::geteuid().is_root() {
        return skip("owner", "only root may give files away");
    }
    let path = folder.file("result.json", "old");
    chown(&path, Some(12345), Some(23456)).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    write(&path, b"new", Access::Usual).unwrap();
    let now = fs::metadata(&path).unwrap();
    assert_eq!((now.uid(), now.gid(), mode(&path)), (12345, 23456, 0o640));
    assert_eq!(folder.read("result.json"), "new");
}

/// Predictable names that other programs give to partial files, for this process.
fn guesses(name: &str) -> Vec<String> {
    let process = std::process::id();
    vec![
        format!(".{name}.{process}.partial"),
        format!(".{name}.partial"),
        format!("{name}.{process}.tmp"),
        format!("{name}.tmp"),
        format!(".nandscope.{process}.trial"),
        ".nandscope.trial".to_string(),
    ]
}

#[test]
fn links_at_guessed_names_lead_nowhere() {
    let folder = Folder::new("guessed");
    let foreign = folder.file("foreign", "foreign");
    let planted = guesses("r.json");
    for name in &planted {
        folder.link(name, &foreign);
    }
    let before = folder.names();
    let path = folder.path("r.json");
    check(&path).unwrap();
    check_folder(&folder.0).unwrap();
    assert_eq!(folder.names(), before);
    write(&path, b"new", Access::Usual).unwrap();
    let mut begun = begin(&path, b"head", Access::Owner).unwrap();
    begun.write_all(b" and more").unwrap();
    assert_eq!(folder.read("r.json"), "head and more");
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(folder.names().len(), before.len() + 1);
}

/// A file system of 64 KiB in memory.
struct SmallDisk(std::path::PathBuf);

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_keeps_the_older_file() {
    let folder = Folder::new("full");
    let at = folder.path("disk");
    fs::create_dir(&at).unwrap();
    let mount = ["-t", "tmpfs", "-o", "size=64k", "nandscope-test"];
    let mounted = Command::new("mount").args(mount).arg(&at).output();
    if !mounted.is_ok_and(|o| o.status.success()) {
        return skip("a full disk", "only root may mount");
    }
    let disk = SmallDisk(at);
    let path = disk.0.join("r.json");
    write(&path, b"old", Access::Usual).unwrap();
    let error = write(&path, &[0; 1 << 20], Access::Usual).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("No space left") && text.contains("free some space"),
        "{text}"
    );
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 1);
    // Filled to the last byte it takes no trial either.
    fs::write(disk.0.join("filler"), vec![0; 1 << 20]).unwrap_err();
    assert!(check(&path).is_err() && check_folder(&disk.0).is_err());
    assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 2);
}

#[test]
fn a_folder_that_is_gone_or_no_folder_is_an_error() {
    let folder = Folder::new("gone");
    folder.file("file", "");
    for (path, part) in [
        ("gone/r.json", "No such file"),
        ("file/r.json", "Not a directory"),
    ] {
        let path = folder.path(path);
        for error in [
            check(&path).unwrap_err(),
            write(&path, b"x", Access::Usual).unwrap_err(),
        ] {
            let text = error.to_string();
            assert!(
                text.contains(part) && text.contains("create its folder first"),
                "{text}"
            );
        }
    }
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn what_a_killed_writer_left_is_found() {
    let folder = Folder::new("abandoned");
    let path = folder.path("card.img.device");
    let half = folder.file(".card.img.device.0123456789abcdef.partial", "half");
    for other in [
        ".card.img.0123456789abcdef.partial",
        ".card.img.device.0123.partial",
        "card.img.device",
        ".card.img.device.0123456789abcdef.partial.txt",
    ] {
        folder.file(other, "");
    }
    assert_eq!(abandoned(&path), [half]);
}

#[test]
fn what_a_killed_writer_left_goes_with_the_next_one() {
    let folder = Folder::new("leftovers");
    for (begin, name) in [(false, "journal"), (true, "result")] {
        let path = folder.path(name);
        let left = folder.file(&format!(".{name}.0123456789abcdef.partial"), "half");
        let writing = folder.file(&format!(".{name}.fedcba9876543210.partial"), "half");
        let lock = fs::File::open(&writing).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        match begin {
            true => drop(begin_new(&path, b"head", Access::Owner).unwrap()),
            false => write(&path, b"whole", Access::Usual).unwrap(),
        }
        assert!(!left.exists(), "{name}");
        // A partial file that another process is writing is not removed.
        assert!(writing.exists(), "{name}");
        drop(lock);
        assert_eq!(abandoned(&path), [writing]);
    }
    // Complete files are not locked.
    for name in ["journal", "result"] {
        let file = fs::File::open(folder.path(name)).unwrap();
        flock(&file, FlockOperation::NonBlockingLockExclusive).unwrap();
    }
}

#[test]
fn partial_files_are_found_by_the_names_of_their_files() {
    let folder = Folder::new("families");
    for number in [0, 17] {
        folder.file(
            &format!(".card.img.journal.{number}.0123456789abcdef.partial"),
            "",
        );
    }
    folder.file(".other.journal.0.0123456789abcdef.partial", "");
    let found = abandoned_in(&folder.0, |name| name.starts_with(b"card.img.journal."));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn folders_are_made_with_those_above_them() {
    let folder = Folder::new("folders");
    let deep = folder.path("a/b/c");
    create_folder(&deep).unwrap();
    assert!(deep.is_dir());
    create_folder(&deep).unwrap();
    folder.file("file", "");
    let error = create_folder(&folder.path("file/b")).unwrap_err();
    assert!(error.to_string().contains("make this folder"), "{error}");
}

#[test]
fn names_may_be_as_long_as_the_system_allows() {
    let folder = Folder::new("long");
    for name in ["x".repeat(255), "ä".repeat(127)] {
        let path = folder.path(&name);
        check(&path).unwrap();
        write(&path, b"new", Access::Usual).unwrap();
        assert_eq!(folder.read(&name), "new");
    }
}
