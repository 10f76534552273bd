//! Writing on systems other than Unix: the same names and order, by path.

use crate::{ATTEMPTS, Access, Refusal, WriteError, folder_of, name_of, partial_name};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

pub fn write(path: &Path, bytes: &[u8], _access: Access) -> Result<(), WriteError> {
    replace(path, bytes).map(drop)
}

pub fn write_in(
    folder: &Path,
    inside: &Path,
    bytes: &[u8],
    access: Access,
) -> Result<(), WriteError> {
    write(&join(folder, inside)?, bytes, access)
}

pub fn check_in(folder: &Path, inside: &Path) -> Result<(), WriteError> {
    join(folder, inside).map(drop)
}

fn join(folder: &Path, inside: &Path) -> Result<PathBuf, WriteError> {
    let path = folder.join(inside);
    let stays = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    match inside.components().all(stays) {
        true => Ok(path),
        false => Err(WriteError::refused(&path)(Refusal::Outside)),
    }
}

/// Here files have no number by which two names could be compared.
pub fn refuse_other_names() {}

/// Here a partial file cannot be assigned to a running process, so none counts as abandoned.
pub fn is_abandoned(_: &Path) -> bool {
    false
}

pub fn create_folder(folder: &Path) -> Result<(), WriteError> {
    fs::create_dir_all(folder).map_err(WriteError::io(folder, "make this folder"))
}

pub fn create_folder_in(folder: &Path, inside: &Path) -> Result<(), WriteError> {
    create_folder(&join(folder, inside)?)
}

/// On the usual file systems of these systems, names that differ in case only are one name.
pub fn ignores_case(_: &Path) -> bool {
    true
}

pub fn begin_unsynced(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    begin_new(path, head, access)
}

pub fn begin(path: &Path, head: &[u8], _access: Access) -> Result<File, WriteError> {
    replace(path, head)
}

pub fn begin_new(path: &Path, head: &[u8], access: Access) -> Result<File, WriteError> {
    let mut file = create_new(path, access)?;
    file.write_all(head)
        .and_then(|()| file.sync_all())
        .map_err(WriteError::io(path, "write its contents"))?;
    Ok(file)
}

fn replace(path: &Path, bytes: &[u8]) -> Result<File, WriteError> {
    let name = name_of(path).map_err(WriteError::refused(path))?;
    if path.is_dir() {
        return Err(WriteError::refused(path)(Refusal::Directory));
    }
    let (partial, mut file) =
        create(path, name).map_err(WriteError::io(path, "make a file beside it"))?;
    let done = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&partial, path));
    if done.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&partial);
    }
    done.map_err(WriteError::io(path, "write its contents"))?;
    Ok(file)
}

fn create(path: &Path, name: &std::ffi::OsStr) -> io::Result<(PathBuf, File)> {
    for _ in 0..ATTEMPTS {
        let partial = folder_of(path).join(partial_name(name));
        match File::create_new(&partial) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (partial, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

pub fn create_new(path: &Path, _access: Access) -> Result<File, WriteError> {
    name_of(path).map_err(WriteError::refused(path))?;
    OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .open(path)
        .map_err(WriteError::io(path, "make it"))
}

/// Files that are open cannot be replaced on the usual systems here.
pub fn lock(_: &File) {}

/// Elsewhere than on Unix a folder cannot be opened.
pub fn sync_folder_of(_path: &Path) -> io::Result<()> {
    Ok(())
}

pub fn check(path: &Path) -> Result<(), WriteError> {
    let name = name_of(path).map_err(WriteError::refused(path))?;
    if path.is_dir() {
        return Err(WriteError::refused(path)(Refusal::Directory));
    }
    try_out(path, name).map_err(WriteError::io(path, "make a file beside it"))
}

pub fn check_folder(folder: &Path) -> Result<(), WriteError> {
    let name = "nandscope";
    try_out(&folder.join(name), name.as_ref())
        .map_err(WriteError::io(folder, "make a file in this folder"))
}

fn try_out(path: &Path, name: &std::ffi::OsStr) -> io::Result<()> {
    let (partial, mut file) = create(path, name)?;
    let written = file.write_all(&[0; 512]);
    drop(file);
    fs::remove_file(partial).and(written)
}
