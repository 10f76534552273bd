//! Where the source of Linux comes from: Debian's package, a tarball, or a tree.

use super::{BuildError, Step, check_tools, run};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The package of Debian 12.
const PACKAGE: &str = "linux-source-6.1";

/// A source of Linux.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// Debian's package `linux-source-6.1`, by Debian's package manager, without root.
    Debian,
    /// A tarball of the kernel.
    Tarball(PathBuf),
    /// An unpacked source; it is copied, and stays as it is.
    Tree(PathBuf),
}

impl Source {
    /// The source that a path given by a user is.
    pub fn at(path: &Path) -> Source {
        if path.is_dir() {
            Source::Tree(path.to_path_buf())
        } else {
            Source::Tarball(path.to_path_buf())
        }
    }

    /// A fresh tree of the source in `work`.
    ///
    /// # Errors
    /// Where it cannot be fetched or unpacked, or is no source of Linux.
    pub(super) fn tree(
        &self,
        work: &Path,
        progress: &mut dyn FnMut(Step),
    ) -> Result<PathBuf, BuildError> {
        let tree = work.join("tree");
        std::fs::create_dir_all(&tree).map_err(|source| BuildError::Io {
            place: tree.display().to_string(),
            source,
        })?;
        match self {
            Source::Debian => {
                progress(Step::Fetch);
                let tarball = fetch(work)?;
                progress(Step::Unpack);
                unpack(&tarball, &tree)?;
            }
            Source::Tarball(tarball) => {
                progress(Step::Unpack);
                unpack(tarball, &tree)?;
            }
            Source::Tree(from) => {
                // Before anything is copied or run in it.
                version(from)?;
                progress(Step::Unpack);
                let contents = from.join(".");
                run(
                    Command::new("cp").arg("-a").arg(contents).arg(&tree),
                    "copying the source",
                )?;
                run(
                    Command::new("make")
                        .args(["-s", "ARCH=um", "mrproper"])
                        .current_dir(&tree),
                    "cleaning the copy of the source",
                )?;
            }
        }
        Ok(tree)
    }
}

/// Gets the package and takes the tarball out of it.
fn fetch(work: &Path) -> Result<PathBuf, BuildError> {
    check_tools(&[("apt-get", "apt"), ("dpkg-deb", "dpkg")])?;
    let what = format!(
        "getting Debian's package {PACKAGE} (are its lists there? `apt-get update` as root; \
         or give a tarball or tree of Linux 6.1 with --source)"
    );
    run(
        Command::new("apt-get")
            .args(["-qq", "download", PACKAGE])
            .current_dir(work),
        &what,
    )?;
    let package = only(work, ".deb")?;
    run(
        Command::new("dpkg-deb")
            .arg("-x")
            .arg(&package)
            .arg(work.join("package")),
        "unpacking the package",
    )?;
    let _ = std::fs::remove_file(&package);
    only(&work.join("package/usr/src"), ".tar.xz")
}

/// The file in a folder whose name ends so.
fn only(folder: &Path, ending: &str) -> Result<PathBuf, BuildError> {
    std::fs::read_dir(folder)
        .map_err(|source| BuildError::Io {
            place: folder.display().to_string(),
            source,
        })?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| path.to_string_lossy().ends_with(ending))
        .ok_or_else(|| BuildError::NoSource {
            place: folder.display().to_string(),
            what: format!("there is no file *{ending} in it"),
        })
}

/// Unpacks without the folder that everything stands in; documentation and the drivers' largest
/// folders of headers are left out, which halves the time.
fn unpack(tarball: &Path, tree: &Path) -> Result<(), BuildError> {
    run(
        Command::new("tar")
            .arg("-xf")
            .arg(tarball)
            .arg("-C")
            .arg(tree)
            .arg("--strip-components=1")
            .args([
                "--exclude=*/drivers/gpu/drm/amd/include",
                "--exclude=*/tools/testing",
                "--exclude=*/arch/*/boot/dts",
            ]),
        "unpacking the source",
    )
}

/// The version that a tree's Makefile says.
///
/// # Errors
/// Where there is no such Makefile, or no user mode.
pub(super) fn version(tree: &Path) -> Result<String, BuildError> {
    let no_source = |what: &str| BuildError::NoSource {
        place: tree.display().to_string(),
        what: what.to_string(),
    };
    let makefile = std::fs::read_to_string(tree.join("Makefile"))
        .map_err(|_| no_source("there is no Makefile at its top"))?;
    if !tree.join("arch/um").is_dir() {
        return Err(no_source("there is no arch/um in it"));
    }
    let field = |name: &str| {
        makefile.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == name).then(|| value.trim().to_string())
        })
    };
    match (field("VERSION"), field("PATCHLEVEL"), field("SUBLEVEL")) {
        (Some(a), Some(b), Some(c)) => Ok(format!("{a}.{b}.{c}")),
        _ => Err(no_source("its Makefile says no version")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_kernel_is_no_source() {
        let folder = std::env::temp_dir().join(format!("nandscope-source-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("arch/um")).unwrap();
        let text = version(&folder).unwrap_err().to_string();
        assert!(text.contains("no Makefile"), "{text}");
        std::fs::write(
            folder.join("Makefile"),
            "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\nEXTRAVERSION =\n",
        )
        .unwrap();
        assert_eq!(version(&folder).unwrap(), "6.1.7");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
