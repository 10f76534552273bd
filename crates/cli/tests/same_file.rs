//! Two outputs whose names become one file only when the first of them is created: the second is refused, and its data is
//! kept elsewhere.
#![cfg(target_os = "linux")]

use crate::support::Folder;
use crate::support::loops::{skipped, tool};
use crate::support::signals::{start, wait_until_under_way};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const JOB: &str = "[a]\nrw=randread\nbs=4k\nnumber_ios=100\n";

/// A mounted FAT file system in a file.
struct Fat(PathBuf);

impl Fat {
    /// Makes and mounts it; if that is not possible here, reports it and returns `None`.
    fn mount(folder: &Folder) -> Option<Fat> {
        let mount = folder.0.join("fat");
        let image = folder.file("fat.img", "");
        fs::create_dir(&mount).unwrap();
        let file = fs::File::options().write(true).open(&image).unwrap();
        file.set_len(8 << 20).unwrap();
        let (image, at) = (image.to_str().unwrap(), mount.to_str().unwrap());
        if tool("mkfs.vfat", &[image]).is_none() {
            skipped("mkfs.vfat is missing: scripts/install-tools.sh installs it");
            return None;
        }
        if tool("mount", &["-t", "vfat", "-o", "loop", image, at]).is_none() {
            skipped("a FAT file system cannot be mounted here; make test-vm has one");
            return None;
        }
        Some(Fat(mount))
    }
}

impl Drop for Fat {
    fn drop(&mut self) {
        tool("umount", &[self.0.to_str().unwrap()]);
    }
}

/// The only result that was kept elsewhere because its name was refused.
fn kept(folder: &Folder) -> Vec<u8> {
    let [kept] = &folder.kept()[..] else {
        panic!("kept: {:?}", folder.kept());
    };
    fs::read(kept).unwrap()
}

/// Whether a file is a whole result.
fn is_result(file: &Path) -> bool {
    nandscope_result::json::read(file).is_ok_and(|result| result.complete)
}

#[test]
fn names_that_are_one_file_on_fat_are_refused() {
    let folder = Folder::new("same-file-fat");
    folder.file("job.fio", JOB);
    let tiny = crate::support::tiny();
    let Some(fat) = Fat::mount(&folder) else {
        return;
    };
    let names = || fs::read_dir(&fat.0).unwrap().count();
    // A difference in case is seen before anything is measured.
    let run = ["run", "job.fio", &tiny, "--result"];
    let case = [&run[..], &["fat/Q.json", "--save", "fat/q.json"]].concat();
    folder
        .run(&case)
        .fails(2, &["--result fat/Q.json", "--save fat/q.json"]);
    assert_eq!(names(), 0);
    // FAT drops a dot at the end, and gives a long name a short one.
    for (first, second) in [("q.json", "q.json."), ("longresult.json", "LONGRE~1.JSO")] {
        let (first, second) = (format!("fat/{first}"), format!("fat/{second}"));
        let line = [&run[..], &[&first, "--save", &second]].concat();
        folder
            .run(&line)
            .fails(2, &[&first, &second, "the same file"]);
        assert!(is_result(&folder.0.join(&first)), "{first}");
        assert_eq!(names(), 1);
        fs::remove_file(folder.0.join(&first)).unwrap();
        let save = kept(&folder);
        assert!(!save.is_empty());
        fs::remove_dir_all(folder.state()).unwrap();
    }
}

#[test]
fn a_link_that_is_made_during_a_run_does_not_join_two_outputs() {
    let folder = Folder::new("same-file-link");
    folder.file(
        "job.fio",
        &JOB.replace("number_ios=100", "norandommap\nio_size=20g"),
    );
    let tiny = crate::support::tiny();
    for link in ["symbolic", "hard"] {
        let outputs = ["--result", "r.json", "--save", "used.dev"];
        // With an older file, a hard link joins both names until one of them is replaced.
        folder.file("r.json", "older");
        let child = start(
            &folder,
            &[&["run", "job.fio", &tiny], &outputs[..]].concat(),
        );
        wait_until_under_way(&child);
        match link {
            "symbolic" => symlink("r.json", folder.0.join("used.dev")).unwrap(),
            _ => fs::hard_link(folder.0.join("r.json"), folder.0.join("used.dev")).unwrap(),
        }
        let ran = crate::support::Ran::from(child.wait_with_output().unwrap());
        assert!(is_result(&folder.0.join("r.json")), "{link}: {ran:?}");
        if link == "symbolic" {
            ran.fails(2, &["used.dev", "r.json", "the same file"]);
            assert!(kept(&folder).starts_with(b"nandscope"), "{ran:?}");
        } else {
            ran.succeeds();
            assert!(fs::read(folder.0.join("used.dev")).unwrap() != b"older");
        }
        fs::remove_file(folder.0.join("used.dev")).unwrap();
    }
}
