//! What has the name of a file already and is not a regular file: devices, FIFOs, links, folders.
#![cfg(unix)]

use crate::support::{Folder, is_block_device, is_character_device, is_link, skip};
use nandscope_files::{
    Access, Refusal, WriteError, begin, check, check_in, create_new, write, write_in,
};
use rustix::fs::FileType;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;

#[track_caller]
fn refused(path: &Path, refusal: Refusal) {
    for done in [check(path), write(path, b"new", Access::Usual)] {
        match done {
            Err(WriteError::Refused { refusal: found, .. }) => assert_eq!(found, refusal),
            other => panic!("{}: {other:?}", path.display()),
        }
    }
}

#[test]
fn character_devices_are_written_to_and_stay() {
    let folder = Folder::new("character");
    let Some(null) = folder.node("null", FileType::CharacterDevice, 1, 3) else {
        return;
    };
    check(&null).unwrap();
    write(&null, b"new", Access::Usual).unwrap();
    let link = folder.link("link", &null);
    write(&link, b"new", Access::Owner).unwrap();
    assert!(is_character_device(&null) && is_link(&link));
    // The device of the full disk.
    let full = folder
        .node("full", FileType::CharacterDevice, 1, 7)
        .unwrap();
    let error = write(&full, b"new", Access::Usual).unwrap_err();
    assert!(error.to_string().contains("No space left"), "{error}");
    assert!(is_character_device(&full));
    assert_eq!(folder.names(), ["full", "link", "null"]);
}

#[test]
fn block_devices_are_refused_and_stay() {
    let folder = Folder::new("block");
    // A loop device without a backing file.
    let Some(node) = folder.node("node", FileType::BlockDevice, 7, 250) else {
        return;
    };
    refused(&node, Refusal::BlockDevice);
    refused(&folder.link("link", "node"), Refusal::BlockDevice);
    assert!(is_block_device(&node));
}

#[test]
fn a_reader_of_a_fifo_gets_the_file() {
    let folder = Folder::new("fifo");
    let fifo = folder.fifo("fifo");
    let text = "x".repeat(300_000);
    let reader = {
        let fifo = fifo.clone();
        std::thread::spawn(move || fs::read_to_string(fifo).unwrap())
    };
    check(&fifo).unwrap();
    write(&fifo, text.as_bytes(), Access::Usual).unwrap();
    assert_eq!(reader.join().unwrap(), text);
    assert_eq!(folder.names(), ["fifo"]);
}

#[test]
fn an_open_pipe_is_written_to_and_an_open_file_is_refused() {
    let folder = Folder::new("open");
    let (mut reader, writer) = std::io::pipe().unwrap();
    let path = format!("/proc/self/fd/{}", writer.as_raw_fd());
    write(Path::new(&path), b"through", Access::Usual).unwrap();
    drop(writer);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "through");
    let file = File::create(folder.path("file")).unwrap();
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    refused(Path::new(&path), Refusal::OpenFile);
}

#[test]
fn folders_and_paths_of_folders_are_refused() {
    let folder = Folder::new("folders");
    fs::create_dir(folder.path("a")).unwrap();
    refused(&folder.path("a"), Refusal::Directory);
    refused(&folder.path("b/"), Refusal::Directory);
    refused(&folder.link("link", "a/"), Refusal::Directory);
    refused(&folder.link("up", ".."), Refusal::Directory);
    assert_eq!(folder.names(), ["a", "link", "up"]);
}

#[test]
fn the_target_of_a_link_is_replaced_and_the_link_stays() {
    let folder = Folder::new("links");
    fs::create_dir_all(folder.path("deep/er")).unwrap();
    let target = folder.file("deep/er/target", "old");
    let other_name = folder.path("deep/other-name");
    fs::hard_link(&target, &other_name).unwrap();
    let inner = folder.link("deep/inner", "er/target");
    let outer = folder.link("outer", "deep/inner");
    check(&outer).unwrap();
    write(&outer, b"new", Access::Usual).unwrap();
    assert!(is_link(&outer) && is_link(&inner));
    assert_eq!(folder.read("deep/er/target"), "new");
    assert_eq!(fs::read_to_string(other_name).unwrap(), "old", "in place");
    // A link that leads nowhere yet.
    let dangling = folder.link("dangling", "deep/made");
    write(&dangling, b"made", Access::Usual).unwrap();
    assert!(is_link(&dangling));
    assert_eq!(folder.read("deep/made"), "made");
    let round = folder.link("round", "round");
    refused(&round, Refusal::Links);
}

#[test]
fn files_that_nobody_named_are_no_links() {
    let folder = Folder::new("unnamed");
    let foreign = folder.file("foreign", "foreign");
    let link = folder.link("journal", &foreign);
    let dangling = folder.link("dangling", "nowhere");
    for path in [&link, &dangling] {
        let error = begin(path, b"head", Access::Owner).unwrap_err();
        assert!(error.to_string().contains("not a regular file"), "{error}");
        let error = create_new(path, Access::Owner).unwrap_err();
        assert!(error.to_string().contains("File exists"), "{error}");
    }
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(folder.names(), ["dangling", "foreign", "journal"]);
}

#[test]
fn entries_of_others_in_a_folder_for_all_are_refused() {
    let folder = Folder::new("sticky");
    if !rustix::process::geteuid().is_root() {
        return skip("sticky", "only root may give files away");
    }
    let foreign = folder.file("foreign", "foreign");
    let sticky = folder.path("sticky");
    fs::create_dir(&sticky).unwrap();
    fs::set_permissions(&sticky, fs::Permissions::from_mode(0o1777)).unwrap();
    let planted = folder.link("sticky/result.json", &foreign);
    std::os::unix::fs::lchown(&planted, Some(12345), None).unwrap();
    let file = folder.file("sticky/file", "theirs");
    chown(&file, Some(12345), None).unwrap();
    let fifo = folder.fifo("sticky/fifo");
    chown(&fifo, Some(12345), None).unwrap();
    for path in [&planted, &file, &fifo] {
        refused(path, Refusal::ForeignEntry);
    }
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(fs::metadata(&file).unwrap().uid(), 12345);
    // Links of the user's own in that folder are followed as usual.
    let own = folder.link("sticky/own", &foreign);
    write(&own, b"new", Access::Usual).unwrap();
    assert_eq!(folder.read("foreign"), "new");
}

#[test]
fn nothing_outside_a_folder_is_written() {
    let folder = Folder::new("inside");
    fs::create_dir_all(folder.path("logs/sub")).unwrap();
    let foreign = folder.file("foreign", "foreign");
    folder.link("logs/link", &foreign);
    folder.link("logs/out", "..");
    folder.fifo("logs/fifo");
    let logs = folder.path("logs");
    let absolute = foreign.to_str().unwrap().to_string();
    for (inside, refusal) in [
        ("../foreign", Refusal::Outside),
        ("sub/../../foreign", Refusal::Outside),
        ("sub/../new", Refusal::Outside),
        (&absolute, Refusal::Outside),
        ("out/foreign", Refusal::Outside),
        ("link", Refusal::NotRegular),
        ("fifo", Refusal::NotRegular),
        ("sub", Refusal::NotRegular),
        ("sub/", Refusal::Directory),
        ("..", Refusal::Directory),
    ] {
        let inside = Path::new(inside);
        for done in [
            check_in(&logs, inside),
            write_in(&logs, inside, b"new", Access::Usual),
        ] {
            match done {
                Err(WriteError::Refused { refusal: found, .. }) => assert_eq!(found, refusal),
                other => panic!("{}: {other:?}", inside.display()),
            }
        }
    }
    for inside in ["a", "./b", "sub/c"] {
        check_in(&logs, Path::new(inside)).unwrap();
        write_in(&logs, Path::new(inside), b"new", Access::Usual).unwrap();
        assert_eq!(folder.read(&format!("logs/{inside}")), "new");
    }
    assert_eq!(folder.read("foreign"), "foreign");
    assert_eq!(folder.names(), ["foreign", "logs"]);
}
