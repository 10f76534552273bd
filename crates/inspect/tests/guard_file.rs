//! The rules about files: made in free space, taken again, and never over what somebody else made.

use crate::support;
use crate::support::{Folder, Loop, Undo, must, run, skip};
use nandscope_inspect::Roots;
use nandscope_inspect::guard::{Guard, Opened, Refusal, margin};
use nandscope_units::Bytes;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

const SIZE: Bytes = Bytes::mib(8);

fn open(path: &Path, size: Bytes) -> Result<Opened, Refusal> {
    Guard::new(Roots::default()).open_file(path, size)
}

fn rule(result: Result<Opened, Refusal>) -> &'static str {
    result.expect_err("it should have been refused").reasons[0].rule()
}

#[test]
fn a_new_file_has_its_room_and_is_known_again() {
    let folder = Folder::new("file-new");
    let path = folder.path("target.img");
    let opened = open(&path, SIZE).unwrap();
    assert_eq!(opened.path, path);
    let about = path.metadata().unwrap();
    assert_eq!(about.len(), SIZE.0);
    if opened.notes.is_empty() {
        assert!(about.blocks() * 512 >= SIZE.0, "no room was taken");
    }
    assert_eq!(rule(open(&path, SIZE)), "held");
    opened.file.write_at(b"kept", 100).unwrap();
    drop(opened);
    let again = open(&path, Bytes::mib(4)).unwrap();
    let mut read = [0; 4];
    again.file.read_at(&mut read, 100).unwrap();
    assert_eq!(&read, b"kept");
    assert_eq!(path.metadata().unwrap().len(), 4 << 20);
}

#[test]
fn what_somebody_else_made_stays_as_it_is() {
    let folder = Folder::new("file-foreign");
    let path = folder.path("thesis.odt");
    std::fs::write(&path, "years of work").unwrap();
    std::fs::write(folder.path("thesis.odt.nandscope-made"), "").unwrap();
    assert_eq!(rule(open(&path, SIZE)), "foreign-file");
    let link = folder.path("link");
    symlink(&path, &link).unwrap();
    assert_eq!(rule(open(&link, SIZE)), "link");
    let dangling = folder.path("dangling");
    symlink(folder.path("nothing"), &dangling).unwrap();
    assert_eq!(rule(open(&dangling, SIZE)), "link");
    assert!(!folder.path("nothing").exists());
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "years of work");
    assert_eq!(rule(open(&folder.0, SIZE)), "no-target");
    must(&format!("mkfifo {}", folder.path("fifo").display()));
    assert_eq!(rule(open(&folder.path("fifo"), SIZE)), "no-target");
    assert_eq!(rule(open(Path::new("/"), SIZE)), "no-target");
    assert_eq!(rule(open(&folder.path("no/such/folder"), SIZE)), "system");
}

#[test]
fn a_file_of_ours_with_a_second_name() {
    let folder = Folder::new("file-names");
    let path = folder.path("target");
    drop(open(&path, SIZE).unwrap());
    std::fs::hard_link(&path, folder.path("other")).unwrap();
    assert_eq!(rule(open(&path, SIZE)), "many-names");
}

#[test]
fn a_file_that_cannot_be_marked_is_not_left_behind() {
    let test = "a_file_that_cannot_be_marked";
    let folder = Folder::new("file-unmarked");
    let point = folder.path("point");
    std::fs::create_dir(&point).unwrap();
    // One inode for the folder and one for the file: a mark finds no room, as attribute or as file.
    let at = point.display();
    let options = "size=64m,nr_inodes=2";
    if !run(&format!("mount -t tmpfs -o {options} none {at}"))
        .status
        .success()
    {
        return skip(test, "mounting is not allowed here");
    }
    let _mount = Undo(format!("umount {at}"));
    let path = point.join("target");
    assert_eq!(rule(open(&path, SIZE)), "unmarked");
    assert_eq!(std::fs::read_dir(&point).unwrap().count(), 0);
    must(&format!("mount -o remount,size=64m,nr_inodes=20 {at}"));
    drop(open(&path, SIZE).unwrap());
}

#[test]
fn a_full_file_system_keeps_its_margin_and_no_file() {
    let test = "a_full_file_system";
    let folder = Folder::new("file-room");
    let point = folder.path("point");
    std::fs::create_dir(&point).unwrap();
    let mounted = run(&format!(
        "mount -t tmpfs -o size=64m none {}",
        point.display()
    ));
    if !mounted.status.success() {
        return skip(test, "mounting is not allowed here");
    }
    let _mount = Undo(format!("umount {}", point.display()));
    let path = point.join("target");
    let refused = open(&path, Bytes::mib(62));
    assert_eq!(rule(refused), "room");
    assert_eq!(std::fs::read_dir(&point).unwrap().count(), 0);
    drop(open(&path, Bytes::mib(40)).unwrap());
    // Only space beyond the file's present blocks is required.
    drop(open(&path, Bytes::mib(40)).unwrap());
    assert_eq!(rule(open(&path, Bytes::mib(62))), "room");
    assert_eq!(path.metadata().unwrap().len(), 40 << 20);
}

#[test]
fn the_margin_has_bounds() {
    assert_eq!(margin(Bytes::mib(2)), Bytes::mib(1));
    assert_eq!(margin(Bytes::gib(20)), Bytes::gib(1));
    assert_eq!(margin(Bytes::gib(2000)), Bytes::gib(4));
}

#[test]
fn a_file_that_became_swap_or_a_disk() {
    let test = "a_file_that_became_swap";
    let folder = Folder::new("file-swap");
    let Some(device) = Loop::new(test, &folder, "image", 64) else {
        return;
    };
    must(&format!("mkfs.ext4 -q -F {}", device.show()));
    let point = folder.path("point");
    std::fs::create_dir(&point).unwrap();
    must(&format!("mount {} {}", device.show(), point.display()));
    let _mount = Undo(format!("umount {}", point.display()));
    let path = point.join("target");
    drop(open(&path, SIZE).unwrap());
    must(&format!("mkswap {}", path.display()));
    if run(&format!("swapon {}", path.display())).status.success() {
        assert_eq!(rule(open(&path, SIZE)), "swap");
        must(&format!("swapoff {}", path.display()));
    } else {
        skip(test, "swapon does not work here");
    }
    let above = must(&format!("losetup --find --show {}", path.display()));
    let undo = Undo(format!("losetup -d {above}"));
    assert_eq!(rule(open(&path, SIZE)), "behind-loop");
    drop(undo);
    open(&path, SIZE).unwrap();
}

/// A name that means a file of ours in one moment and somebody else's in the next.
#[test]
fn a_file_that_is_exchanged_between_check_and_open() {
    let folder = Folder::new("file-race");
    let (ours, foreign, name) = (
        folder.path("ours"),
        folder.path("foreign"),
        folder.path("name"),
    );
    drop(open(&ours, Bytes(4096)).unwrap());
    std::fs::write(&foreign, [7u8; 4096]).unwrap();
    std::fs::rename(&ours, &name).unwrap();
    let stop = AtomicBool::new(false);
    let (mut opened, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            while !stop.load(Ordering::Relaxed) {
                renameat_with(CWD, &foreign, CWD, &name, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let _stop = support::Stop(&stop);
        let began = Instant::now();
        while support::race_goes_on(began, 2, opened, refused) {
            match open(&name, Bytes(4096)) {
                Ok(target) => {
                    target.file.write_at(&[1; 4096], 0).unwrap();
                    opened += 1;
                }
                Err(_) => refused += 1,
            }
        }
    });
    assert!(
        opened > 0 && refused > 0,
        "{opened} opened, {refused} refused: no race took place"
    );
    let contents = [&foreign, &name].map(|p| std::fs::read(p).unwrap());
    assert!(
        contents.contains(&vec![7; 4096]),
        "somebody else's file was written"
    );
}
