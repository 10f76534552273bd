//! Building the kernel: the source fetched or given, patched, configured with the least that is
//! needed, built for user mode, and kept in the user's cache folder under a name that changes with
//! version, configuration and patch. None of it needs root.

mod source;

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use thiserror::Error;

pub use source::Source;

/// The options, over a base of `allnoconfig`.
const CONFIG: &str = include_str!("kernel.config");
/// Pinned random numbers, the cost of calls, the record of calls, children that end with their kernel.
const PATCH: &str = include_str!("virtual-time.patch");
/// Name of the executable in its folder.
const EXECUTABLE: &str = "linux";
/// Lines that `make` says in a whole build of 6.1; for the progress only.
const LINES: u32 = 1250;

/// Programs that a build needs, and the Debian packages that have them.
const TOOLS: [(&str, &str); 8] = [
    ("gcc", "gcc"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// Why there is no kernel.
#[derive(Debug, Error)]
pub enum BuildError {
    /// Programs that are needed are missing.
    #[error("a build of the kernel needs {missing}; on Debian: apt-get install {packages}")]
    Tools {
        /// Their names.
        missing: String,
        /// The packages that have them.
        packages: String,
    },
    /// A program failed.
    #[error("{what} failed ({status}); the last that it said:\n{said}")]
    Failed {
        /// What was being done.
        what: String,
        /// How it ended.
        status: String,
        /// Its last lines.
        said: String,
    },
    /// A file or folder.
    #[error("{place}: {source}")]
    Io {
        /// Which.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// What was given is no source.
    #[error("{place} is no source of Linux: {what}")]
    NoSource {
        /// What was given.
        place: String,
        /// What is wrong, and what to do.
        what: String,
    },
    /// Options that the source does not have in this form.
    #[error("this version of Linux does not take the options {0}; 6.1 is known to do")]
    Options(String),
    /// Where to keep it is not known.
    #[error("neither XDG_CACHE_HOME nor HOME is set: nowhere to keep the kernel")]
    NoCache,
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// What is being done, for showing progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The package comes from Debian's servers.
    Fetch,
    /// The source is unpacked (400 MB less what is not needed).
    Unpack,
    /// Patch and options.
    Configure,
    /// So many lines of about so many.
    Compile(u32, u32),
}

/// A kernel that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The executable.
    pub path: PathBuf,
    /// Its version, such as `6.1.192`.
    pub version: String,
}

/// Eight digits that change with configuration and patch.
pub fn recipe() -> String {
    let mut sum = crc32fast::Hasher::new();
    sum.update(CONFIG.as_bytes());
    sum.update(PATCH.as_bytes());
    format!("{:08x}", sum.finalize())
}

/// The folder that holds kernels of all versions and recipes.
///
/// # Errors
/// Where no environment variable says where caches are.
pub fn cache() -> Result<PathBuf, BuildError> {
    let set = |name| {
        std::env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    let base = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    Ok(base
        .ok_or(BuildError::NoCache)?
        .join("nandscope")
        .join("kernel"))
}

/// The kernel of this build's recipe in a cache folder; of several versions the last by name.
pub fn find(cache: &Path) -> Option<Kernel> {
    let suffix = format!("-{}", recipe());
    let mut found: Vec<Kernel> = std::fs::read_dir(cache)
        .ok()?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let version = name.strip_suffix(&suffix)?.to_string();
            let path = entry.path().join(EXECUTABLE);
            path.is_file().then_some(Kernel { path, version })
        })
        .collect();
    found.sort_by(|a, b| a.version.cmp(&b.version));
    found.pop()
}

/// Builds the kernel into `cache` with `jobs` compilers at once.
///
/// # Errors
/// See [`BuildError`]; the folder of a failed build is removed.
pub fn build(
    source: &Source,
    cache: &Path,
    jobs: usize,
    progress: &mut dyn FnMut(Step),
    stop: &dyn Fn() -> bool,
) -> Result<Kernel, BuildError> {
    check_tools(&TOOLS)?;
    let place = |path: &Path| {
        let place = path.display().to_string();
        move |source| BuildError::Io { place, source }
    };
    std::fs::create_dir_all(cache).map_err(place(cache))?;
    let work = Work(cache.join(format!("building-{}", std::process::id())));
    std::fs::create_dir_all(&work.0).map_err(place(&work.0))?;

    let tree = source.tree(&work.0, progress)?;
    if stop() {
        return Err(BuildError::Interrupted);
    }
    progress(Step::Configure);
    let version = source::version(&tree)?;
    let patch = work.0.join("virtual-time.patch");
    std::fs::write(&patch, PATCH).map_err(place(&patch))?;
    run(
        Command::new("patch")
            .args(["-p1", "--forward", "--batch", "-i"])
            .arg(&patch)
            .current_dir(&tree),
        "patching the source (6.1 is known to fit)",
    )?;
    configure(&tree, &work.0)?;
    compile(&tree, jobs, progress, stop)?;

    let folder = cache.join(format!("{version}-{}", recipe()));
    std::fs::create_dir_all(&folder).map_err(place(&folder))?;
    let path = folder.join(EXECUTABLE);
    // The rename is within the cache folder, so that the kernel appears whole or not at all.
    std::fs::rename(tree.join(EXECUTABLE), &path).map_err(place(&path))?;
    Ok(Kernel { path, version })
}

/// The folder of a build, removed with what is in it.
struct Work(PathBuf);

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// # Errors
/// Where programs are not in the search path; names them and their packages.
pub fn check_tools(tools: &[(&str, &str)]) -> Result<(), BuildError> {
    let missing: Vec<_> = tools.iter().filter(|(name, _)| !in_path(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let join = |words: Vec<&str>, by: &str| words.join(by);
    Err(BuildError::Tools {
        missing: join(missing.iter().map(|(name, _)| *name).collect(), ", "),
        packages: join(missing.iter().map(|(_, package)| *package).collect(), " "),
    })
}

/// Whether there is such a program; system programs count although a user's path may lack them.
pub fn in_path(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/sbin", "/usr/bin", "/bin"].map(PathBuf::from))
        .any(|folder| folder.join(name).is_file())
}

fn configure(tree: &Path, work: &Path) -> Result<(), BuildError> {
    let io = |path: &Path| {
        let place = path.display().to_string();
        move |source| BuildError::Io { place, source }
    };
    let options = work.join("kernel.config");
    std::fs::write(&options, CONFIG).map_err(io(&options))?;
    let mut all: std::ffi::OsString = "KCONFIG_ALLCONFIG=".into();
    all.push(&options);
    run(
        Command::new("make")
            .args(["-s", "ARCH=um"])
            .arg(all)
            .arg("allnoconfig")
            .current_dir(tree),
        "configuring",
    )?;
    let config = tree.join(".config");
    let got = std::fs::read_to_string(&config).map_err(io(&config))?;
    let missing = not_taken(CONFIG, &got);
    if missing.is_empty() {
        Ok(())
    } else {
        Err(BuildError::Options(missing.join(", ")))
    }
}

/// The options of `wanted` that a configuration has otherwise.
fn not_taken(wanted: &str, got: &str) -> Vec<String> {
    let has = |line: &str| got.lines().any(|l| l == line);
    wanted
        .lines()
        .filter(|line| match line.strip_suffix("=n") {
            Some(name) => got.lines().any(|l| {
                l.strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with('='))
            }),
            None => !line.is_empty() && !has(line),
        })
        .map(str::to_string)
        .collect()
}

fn compile(
    tree: &Path,
    jobs: usize,
    progress: &mut dyn FnMut(Step),
    stop: &dyn Fn() -> bool,
) -> Result<(), BuildError> {
    let log = tree.join("build.log");
    let io = |source| BuildError::Io {
        place: "make".to_string(),
        source,
    };
    let errors = std::fs::File::create(&log).map_err(io)?;
    let mut child = Command::new("make")
        .arg(format!("-j{jobs}"))
        .args(["ARCH=um", "linux"])
        // The kernel mixes its own version line, with the time of its build, into its random numbers.
        .env("KBUILD_BUILD_TIMESTAMP", "2026-01-01 00:00:00 UTC")
        .env("KBUILD_BUILD_USER", "nandscope")
        .env("KBUILD_BUILD_HOST", "nandscope")
        .env("KBUILD_BUILD_VERSION", "1")
        .current_dir(tree)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(io)?;
    let mut lines = 0;
    if let Some(said) = child.stdout.take() {
        for line in BufReader::new(said).lines() {
            if line.is_err() || stop() {
                break;
            }
            lines += 1;
            progress(Step::Compile(lines, LINES.max(lines)));
        }
    }
    if stop() {
        let _ = child.kill();
        let _ = child.wait();
        return Err(BuildError::Interrupted);
    }
    let status = child.wait().map_err(io)?;
    if status.success() {
        return Ok(());
    }
    let said = std::fs::read_to_string(&log).unwrap_or_default();
    Err(failed("compiling the kernel", &status.to_string(), &said))
}

fn failed(what: &str, status: &str, said: &str) -> BuildError {
    let lines: Vec<_> = said.lines().collect();
    BuildError::Failed {
        what: what.to_string(),
        status: status.to_string(),
        said: lines[lines.len().saturating_sub(12)..].join("\n"),
    }
}

/// Runs a program to its end; what it said becomes part of the error where it fails.
fn run(command: &mut Command, what: &str) -> Result<(), BuildError> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|source| BuildError::Io {
            place: OsStr::to_string_lossy(command.get_program()).into_owned(),
            source,
        })?;
    if output.status.success() {
        return Ok(());
    }
    let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.push_str(&String::from_utf8_lossy(&output.stderr));
    Err(failed(what, &output.status.to_string(), &said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_were_not_taken_are_named() {
        let got = "CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_D=m\nCONFIG_NN=y\n";
        let wanted = "CONFIG_A=y\nCONFIG_B=y\nCONFIG_C=n\nCONFIG_D=n\nCONFIG_N=n";
        assert_eq!(not_taken(wanted, got), ["CONFIG_B=y", "CONFIG_D=n"]);
    }

    #[test]
    fn only_a_kernel_of_this_recipe_is_found() {
        let cache = std::env::temp_dir().join(format!("nandscope-find-{}", std::process::id()));
        assert_eq!(find(&cache), None);
        for name in ["6.1.9-00000000".to_string(), format!("6.1.10-{}", recipe())] {
            std::fs::create_dir_all(cache.join(&name)).unwrap();
            std::fs::write(cache.join(&name).join(EXECUTABLE), "").unwrap();
        }
        let found = find(&cache).unwrap();
        std::fs::remove_dir_all(&cache).unwrap();
        assert_eq!(found.version, "6.1.10");
    }

    #[test]
    fn missing_tools_are_named_with_their_packages() {
        let error = check_tools(&[("sh", "dash"), ("no-such-tool", "its-package")]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("no-such-tool") && text.contains("its-package"),
            "{text}"
        );
        assert!(!text.contains("dash"), "{text}");
    }
}
