//! Files with one role in a command, files that other programs have locked, and files that are found.
#![cfg(unix)]

use crate::support::Folder;
use nandscope_files::{
    Access, Claims, FollowLinks, ReadError, Refusal, WriteError, begin, check, check_in,
    create_folder_in, lock, open_regular, read_regular, write, write_in,
};
use rustix::fs::FileType;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Whether two outputs of these names collide.
fn collide(one: &Path, other: &Path) -> bool {
    let mut claims = Claims::default();
    claims.write("one", one).unwrap();
    let refused = claims.write("other", other);
    if let Err(collision) = &refused {
        let text = collision.to_string();
        let named = |path: &Path| text.contains(&path.display().to_string());
        assert!(named(one) && named(other), "{text}");
    }
    refused.is_err()
}

#[test]
fn one_file_has_one_role_whatever_leads_to_it() {
    let folder = Folder::new("claims");
    let at = |name: &str| folder.0.join(name);
    fs::create_dir_all(at("in/side")).unwrap();
    fs::write(at("there"), "x").unwrap();
    fs::hard_link(at("there"), at("hard")).unwrap();
    symlink("there", at("soft")).unwrap();
    symlink("new", at("dangling")).unwrap();
    symlink("dangling", at("twice")).unwrap();
    symlink("in", at("folder")).unwrap();
    symlink("a", at("b")).unwrap();
    symlink("b", at("a")).unwrap();
    for (one, other) in [
        ("there", "there"),
        ("there", "hard"),
        ("there", "soft"),
        ("hard", "soft"),
        ("new", "new"),
        ("new", "dangling"),
        ("dangling", "twice"),
        ("in/new", "folder/new"),
        ("in/side/../new", "folder/new"),
        ("missing/deep/new", "missing/deep/new"),
    ] {
        assert!(collide(&at(one), &at(other)), "{one} {other}");
        assert!(collide(&at(other), &at(one)), "{other} {one}");
    }
    for (one, other) in [
        ("there", "new"),
        ("new", "New"),
        ("in/new", "new"),
        ("missing/deep/new", "missing/new"),
        // A circle of links is not an error of the claims, but of the writing.
        ("a", "there"),
    ] {
        assert!(!collide(&at(one), &at(other)), "{one} {other}");
    }
    assert!(!collide(Path::new("/dev/null"), Path::new("/dev/null")));
}

#[test]
fn folders_and_numbered_files_are_claimed_whole() {
    let folder = Folder::new("claims-whole");
    let at = |name: &str| folder.0.join(name);
    fs::create_dir_all(at("there")).unwrap();
    for place in ["there", "missing"] {
        let mut claims = Claims::default();
        claims.write_inside("the plots in", &at(place)).unwrap();
        claims.read("", &at("a")).unwrap();
        claims.read("", &at(&format!("{place}/deep/a"))).unwrap();
        assert!(
            claims.read("", &at(&format!("{place}/a"))).is_err(),
            "{place}"
        );
        assert!(claims.write_inside("", &at(place)).is_err(), "{place}");
        let mut claims = Claims::default();
        claims.read("", &at(&format!("{place}/a"))).unwrap();
        assert!(claims.write_inside("", &at(place)).is_err(), "{place}");
    }
    let mut claims = Claims::default();
    claims
        .write_beginning("the journals", &at("x.journal."))
        .unwrap();
    claims.write("", &at("x.journal")).unwrap();
    claims.write("", &at("there/x.journal.1")).unwrap();
    assert!(claims.write("", &at("x.journal.12")).is_err());
    // Reading twice is no collision, reading and writing is.
    claims.read("", &at("in")).unwrap();
    claims.read("", &at("in")).unwrap();
    assert!(claims.write("", &at("in")).is_err());
}

#[test]
fn files_that_others_have_locked_are_not_replaced() {
    let folder = Folder::new("claims-locked");
    let path = folder.0.join("state");
    let held = begin(&path, b"state", Access::Owner).unwrap();
    lock(&held);
    let inside = Path::new("state");
    for done in [
        check(&path),
        write(&path, b"new", Access::Usual),
        check_in(&folder.0, inside),
        write_in(&folder.0, inside, b"new", Access::Usual),
    ] {
        let refused = |e: &WriteError| {
            matches!(
                e,
                WriteError::Refused {
                    refusal: Refusal::Locked,
                    ..
                }
            )
        };
        assert!(done.as_ref().is_err_and(refused), "{done:?}");
    }
    assert_eq!(fs::read(&path).unwrap(), b"state");
    // The program that holds the lock may replace the file.
    begin(&path, b"later", Access::Owner).unwrap();
    drop(held);
    write(&path, b"new", Access::Usual).unwrap();
}

#[test]
fn folders_are_made_through_no_link() {
    let folder = Folder::new("claims-folders");
    create_folder_in(&folder.0, Path::new("a/b/c")).unwrap();
    create_folder_in(&folder.0, Path::new("a/b/c")).unwrap();
    assert!(folder.0.join("a/b/c").is_dir());
    symlink("a", folder.0.join("link")).unwrap();
    for inside in ["link/new", "a/../new", "/tmp/new"] {
        let refused = create_folder_in(&folder.0, Path::new(inside));
        let outside = |e: &WriteError| {
            matches!(
                e,
                WriteError::Refused {
                    refusal: Refusal::Outside,
                    ..
                }
            )
        };
        assert!(
            refused.as_ref().is_err_and(outside),
            "{inside}: {refused:?}"
        );
    }
    assert_eq!(folder.names(), ["a", "link"]);
    assert_eq!(fs::read_dir(folder.0.join("a")).unwrap().count(), 1);
}

#[test]
fn only_regular_files_are_read() {
    let folder = Folder::new("claims-regular");
    let file = folder.0.join("file");
    fs::write(&file, "text").unwrap();
    symlink("file", folder.0.join("link")).unwrap();
    let link = folder.0.join("link");
    assert_eq!(read_regular(&file, FollowLinks::No, 4).unwrap(), b"text");
    assert_eq!(read_regular(&link, FollowLinks::Yes, 4).unwrap(), b"text");
    let long = read_regular(&file, FollowLinks::No, 3);
    assert!(matches!(long, Err(ReadError::TooLarge(3))));
    let linked = open_regular(&link, FollowLinks::No);
    assert!(matches!(linked, Err(ReadError::NotRegular)));
    if let Some(fifo) = folder.node("fifo", FileType::Fifo, 0, 0) {
        assert!(matches!(
            open_regular(&fifo, FollowLinks::Yes),
            Err(ReadError::NotRegular)
        ));
    }
}
