//! Builds the kernel: fetches or takes the source, patches it, configures a minimal kernel for user
//! mode, and stores it in the user's cache folder under a name made of version, configuration and patch.
//! None of this requires root.

mod checksum;
mod error;
mod source;
mod tool;

use crate::scratch::Scratch;
use nandscope_files::{
    Access, FollowLinks, begin_unsynced, create_folder, create_folder_in, open_regular,
    sync_folder_of,
};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use tool::{Tools, check_tools};

pub use checksum::Checksum;
pub use error::{BuildError, Step};
pub use source::Source;
pub use tool::in_path;

/// The kernel's options, as a list of changes to `allnoconfig`.
const CONFIG: &str = include_str!("kernel.config");
/// Patch of the kernel for reproducible virtual time: fixed random numbers, processor time of system calls, a log of these
/// calls, child processes that end with the kernel, and a fix for processors with AMX.
const PATCH: &str = include_str!("virtual-time.patch");
/// Name of the folders of builds in the cache folder.
const WORK: &str = "building";
/// Name of the executable in its folder.
const EXECUTABLE: &str = "linux";
/// Number of lines that `make` prints in a whole build of 6.1, for the progress bar.
const LINES: u32 = 1250;

/// Programs that a build needs, and the Debian packages that have them.
pub const PROGRAMS: [(&str, &str); 8] = [
    ("gcc", "gcc"),
    ("make", "make"),
    ("flex", "flex"),
    ("bison", "bison"),
    ("bc", "bc"),
    ("patch", "patch"),
    ("tar", "tar"),
    ("xz", "xz-utils"),
];

/// A kernel that is ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Executable of the kernel.
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

/// Folder of all kernels.
///
/// # Errors
/// `BuildError::NoCache` if no environment variable gives the cache folder.
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

/// The kernel of this build's recipe in a cache folder; of several versions the newest.
pub fn find(cache: &Path) -> Option<Kernel> {
    let suffix = format!("-{}", recipe());
    let found = std::fs::read_dir(cache).ok()?.filter_map(|entry| {
        let name = entry.ok()?.file_name().into_string().ok()?;
        find_version(cache, name.strip_suffix(&suffix)?)
    });
    found.max_by_key(|kernel| {
        let numbers = kernel.version.split('.').map(|n| n.parse::<u32>().ok());
        numbers.collect::<Vec<_>>()
    })
}

/// The kernel of this build's recipe and of this version in a cache folder.
pub fn find_version(cache: &Path, version: &str) -> Option<Kernel> {
    let path = folder(cache, version).join(EXECUTABLE);
    let version = version.to_string();
    path.is_file().then_some(Kernel { path, version })
}

/// Folder of a kernel, named after version, configuration and patch.
fn folder(cache: &Path, version: &str) -> PathBuf {
    cache.join(format!("{version}-{}", recipe()))
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
    check_tools(&PROGRAMS)?;
    create_folder(cache)?;
    let work = Scratch::new(cache, WORK).map_err(io_error(cache))?;
    let tools = Tools {
        work: work.path(),
        stop,
    };

    let tree = source.tree(&tools, progress)?;
    progress(Step::Configure);
    let version = source::version(&tree)?;
    let patch = work.path().join("virtual-time.patch");
    begin_unsynced(&patch, PATCH.as_bytes(), Access::Owner)?;
    tools.run(
        Command::new("patch")
            .args(["-p1", "--forward", "--batch", "-i"])
            .arg(&patch)
            .current_dir(&tree),
        "patching the source (tested with 6.1)",
    )?;
    configure(&tree, &tools)?;
    compile(&tree, jobs, &tools, progress)?;

    let path = install(&tree.join(EXECUTABLE), cache, &version)?;
    Ok(Kernel { path, version })
}

/// Makes an error of the system, for `map_err`.
fn io_error(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let place = path.display().to_string();
    move |source| BuildError::Io { place, source }
}

/// Gives an executable in the cache folder its final name.
fn install(made: &Path, cache: &Path, version: &str) -> Result<PathBuf, BuildError> {
    let folder = folder(cache, version);
    // A link in place of the folder would lead the kernel out of the cache folder.
    let name = folder.strip_prefix(cache).unwrap_or(&folder);
    create_folder_in(cache, name)?;
    let path = folder.join(EXECUTABLE);
    // Synced, and renamed within the cache folder, so that the kernel appears whole or not at all, also after a power cut.
    let made_whole = open_regular(made, FollowLinks::No).map_err(io::Error::other);
    let synced = made_whole.and_then(|file| file.sync_all());
    synced.map_err(io_error(made))?;
    std::fs::rename(made, &path).map_err(io_error(&path))?;
    sync_folder_of(&path).map_err(io_error(&path))?;
    Ok(path)
}

fn configure(tree: &Path, tools: &Tools) -> Result<(), BuildError> {
    let options = tools.work.join("kernel.config");
    begin_unsynced(&options, CONFIG.as_bytes(), Access::Owner)?;
    let mut all: std::ffi::OsString = "KCONFIG_ALLCONFIG=".into();
    all.push(&options);
    tools.run(
        Command::new("make")
            .args(["-s", "ARCH=um"])
            .arg(all)
            .arg("allnoconfig")
            .current_dir(tree),
        "configuring",
    )?;
    let config = tree.join(".config");
    let got = std::fs::read_to_string(&config).map_err(io_error(&config))?;
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
    tools: &Tools,
    progress: &mut dyn FnMut(Step),
) -> Result<(), BuildError> {
    let mut make = Command::new("make");
    make.arg(format!("-j{jobs}"))
        .args(["ARCH=um", "linux"])
        // The kernel mixes its own version line, with the time of its build, into its random numbers.
        .env("KBUILD_BUILD_TIMESTAMP", "2026-01-01 00:00:00 UTC")
        .env("KBUILD_BUILD_USER", "nandscope")
        .env("KBUILD_BUILD_HOST", "nandscope")
        .env("KBUILD_BUILD_VERSION", "1")
        .current_dir(tree);
    let mut lines = |lines: u32| progress(Step::Compile(lines, LINES.max(lines)));
    tools.run_counting(&mut make, "compiling the kernel", &mut lines)
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
        for version in ["6.1.9", "6.1.10", "6.1.10-rc"] {
            std::fs::create_dir_all(folder(&cache, version)).unwrap();
        }
        let recipe = recipe();
        let others = ["6.1.11-00000000".to_string(), format!("6.2.1-{recipe}-x")];
        let ours = [format!("6.1.9-{recipe}"), format!("6.1.10-{recipe}")];
        for name in others.into_iter().chain(ours) {
            std::fs::create_dir_all(cache.join(&name)).unwrap();
            std::fs::write(cache.join(&name).join(EXECUTABLE), "").unwrap();
        }
        let found = find(&cache).unwrap();
        let older = find_version(&cache, "6.1.9").unwrap();
        let none = find_version(&cache, "6.1.11");
        std::fs::remove_dir_all(&cache).unwrap();
        assert_eq!(found.version, "6.1.10");
        assert_eq!(older.version, "6.1.9");
        assert_eq!(none, None);
    }

    #[test]
    fn a_kernel_is_not_led_out_of_the_cache_folder_by_a_link() {
        let base = Scratch::new(&std::env::temp_dir(), "nandscope-install").unwrap();
        let [cache, elsewhere, made] = ["cache", "elsewhere", "made"].map(|n| base.path().join(n));
        std::fs::create_dir(&cache).unwrap();
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::write(&made, "a kernel").unwrap();
        std::os::unix::fs::symlink(&elsewhere, folder(&cache, "6.1.9")).unwrap();
        let error = install(&made, &cache, "6.1.9").unwrap_err();
        assert!(error.to_string().contains("out of its folder"), "{error}");
        assert_eq!(std::fs::read_dir(&elsewhere).unwrap().count(), 0);
        let path = install(&made, &cache, "6.1.10").unwrap();
        assert_eq!(std::fs::read(path).unwrap(), b"a kernel");
        assert_eq!(find(&cache).unwrap().version, "6.1.10");
        // An executable that is a link is no kernel.
        std::os::unix::fs::symlink("/bin/true", &made).unwrap();
        install(&made, &cache, "6.1.11").unwrap_err();
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
