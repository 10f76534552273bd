//! Sources of Linux: Debian's package, a tarball, or a tree.

use super::checksum::Checksum;
use super::error::{BuildError, Step};
use super::tool::{Tools, check_tools};
use nandscope_files::create_folder;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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
    /// The source at a path given by the user. Returns the checksum of a tarball after comparing it with
    /// `expected`, if given.
    ///
    /// # Errors
    /// `BuildError::Checksum` if the checksums differ, `NoChecksum` if one is given for a folder, `Io` if the tarball
    /// cannot be read.
    pub fn at(
        path: &Path,
        expected: Option<&Checksum>,
    ) -> Result<(Source, Option<Checksum>), BuildError> {
        if path.is_dir() {
            return match expected {
                None => Ok((Source::Tree(path.to_path_buf()), None)),
                Some(_) => Err(BuildError::NoChecksum(
                    "a folder has no checksum; give a tarball with --source",
                )),
            };
        }
        // To open a FIFO or a device would wait, or do something to it.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(BuildError::NoSource {
                place: path.display().to_string(),
                what: "it is neither a regular file nor a folder".to_string(),
            });
        }
        let found = Checksum::of(path)?;
        match expected {
            Some(expected) if *expected != found => Err(BuildError::Checksum {
                place: path.display().to_string(),
                found: found.to_string(),
                expected: expected.to_string(),
            }),
            _ => Ok((Source::Tarball(path.to_path_buf()), Some(found))),
        }
    }

    /// Version of the source, if known before it is fetched.
    ///
    /// # Errors
    /// `BuildError::NoSource` if it is not a source of Linux.
    pub fn version(&self) -> Result<Option<String>, BuildError> {
        match self {
            Source::Debian => Ok(None),
            Source::Tree(tree) => version(tree).map(Some),
            Source::Tarball(tarball) => version_of_tarball(tarball).map(Some),
        }
    }

    /// A fresh tree of the source in the folder of a build.
    ///
    /// # Errors
    /// `BuildError` if it cannot be fetched or unpacked, or is not a source of Linux.
    pub(super) fn tree(
        &self,
        tools: &Tools,
        progress: &mut dyn FnMut(Step),
    ) -> Result<PathBuf, BuildError> {
        let tree = tools.work.join("tree");
        create_folder(&tree)?;
        match self {
            Source::Debian => {
                progress(Step::Fetch);
                let tarball = fetch(tools)?;
                progress(Step::Unpack);
                unpack(&tarball, &tree, tools)?;
            }
            Source::Tarball(tarball) => {
                progress(Step::Unpack);
                unpack(tarball, &tree, tools)?;
            }
            Source::Tree(from) => {
                // Before anything is copied or run in it.
                version(from)?;
                progress(Step::Unpack);
                let contents = from.join(".");
                tools.run(
                    Command::new("cp").arg("-a").arg(contents).arg(&tree),
                    "copying the source",
                )?;
                tools.run(
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
fn fetch(tools: &Tools) -> Result<PathBuf, BuildError> {
    let work = tools.work;
    check_tools(&[("apt-get", "apt"), ("dpkg-deb", "dpkg")])?;
    let what = format!(
        "downloading Debian's package {PACKAGE} (requires `apt-get update` as root; \
         or give a tarball or tree of Linux 6.1 with --source)"
    );
    tools.run(
        Command::new("apt-get")
            // Overrides the machine's settings: only a package signed by Debian is used.
            .args(["-o", "APT::Get::AllowUnauthenticated=false"])
            .args(["-o", "Acquire::AllowInsecureRepositories=false"])
            .args(["-o", "Acquire::AllowWeakRepositories=false"])
            .args(["-qq", "download", PACKAGE])
            .current_dir(work),
        &what,
    )?;
    let package = only(work, ".deb")?;
    tools.run(
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
            what: format!("it contains no file *{ending}"),
        })
}

/// Unpacks without the top folder. Omits documentation and the drivers' largest folders of headers,
/// which halves the time.
fn unpack(tarball: &Path, tree: &Path, tools: &Tools) -> Result<(), BuildError> {
    tools.run(
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

/// The version in a tree's Makefile.
///
/// # Errors
/// `BuildError` if the Makefile or the user-mode architecture is missing.
pub(super) fn version(tree: &Path) -> Result<String, BuildError> {
    let no_source = |what: &str| BuildError::NoSource {
        place: tree.display().to_string(),
        what: what.to_string(),
    };
    let makefile = tree.join("Makefile");
    if !makefile.is_file() {
        return Err(no_source("it has no top-level Makefile"));
    }
    let makefile =
        std::fs::read_to_string(makefile).map_err(|_| no_source("it has no top-level Makefile"))?;
    if !tree.join("arch/um").is_dir() {
        return Err(no_source("it has no arch/um"));
    }
    version_in(&makefile).ok_or_else(|| no_source("its Makefile has no version"))
}

/// The version that the Makefile at the top of a tarball says.
fn version_of_tarball(tarball: &Path) -> Result<String, BuildError> {
    check_tools(&[("tar", "tar"), ("xz", "xz-utils")])?;
    let output = Command::new("tar")
        .args([
            "--wildcards",
            "--no-wildcards-match-slash",
            "--occurrence=1",
        ])
        .arg("-xOf")
        .arg(tarball)
        .arg("*/Makefile")
        .stdin(Stdio::null())
        .output()
        .map_err(|source| BuildError::Io {
            place: "tar".to_string(),
            source,
        })?;
    let makefile = String::from_utf8_lossy(&output.stdout);
    version_in(&makefile).ok_or_else(|| BuildError::NoSource {
        place: tarball.display().to_string(),
        what: "it has no top-level Makefile with a version".to_string(),
    })
}

fn version_in(makefile: &str) -> Option<String> {
    let field = |name: &str| {
        makefile.lines().find_map(|line| {
            let (key, value) = line.split_once('=')?;
            // It becomes the name of a folder.
            let number = value.trim();
            let is_number = number.bytes().all(|b| b.is_ascii_digit()) && !number.is_empty();
            (key.trim() == name && is_number).then(|| number.to_string())
        })
    };
    let (a, b, c) = (field("VERSION")?, field("PATCHLEVEL")?, field("SUBLEVEL")?);
    Some(format!("{a}.{b}.{c}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_a_kernel_is_no_source() {
        let folder = std::env::temp_dir().join(format!("nandscope-source-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("arch/um")).unwrap();
        let text = version(&folder).unwrap_err().to_string();
        assert!(text.contains("no top-level Makefile"), "{text}");
        std::fs::write(
            folder.join("Makefile"),
            "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 7\nEXTRAVERSION =\n",
        )
        .unwrap();
        assert_eq!(version(&folder).unwrap(), "6.1.7");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
