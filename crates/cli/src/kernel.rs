//! `nandscope kernel`: the Linux in which `nandscope fs` runs file systems.

use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::threads::ThreadArguments;
use clap::{Args, Subcommand};
use nandscope_uml::build::{self, BuildError, Checksum, Kernel, Source, Step};
use std::path::{Path, PathBuf};

/// Arguments of `nandscope kernel`.
#[derive(Debug, Args)]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Build the kernel in the user's cache folder (no root, some minutes)
    Build {
        /// Tarball or source tree of Linux 6.1 [default: Debian's package]
        #[arg(long, value_name = "TARBALL|FOLDER")]
        source: Option<PathBuf>,
        /// Expected SHA-256 of the tarball; on a mismatch it is not used
        #[arg(long, value_name = "HEX", requires = "source")]
        sha256: Option<String>,
        #[command(flatten)]
        threads: ThreadArguments,
        /// Build again even if it exists
        #[arg(long)]
        force: bool,
    },
    /// Print the path of the kernel
    Path {
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
}

/// Runs one of the actions.
///
/// # Errors
/// `Exit::File` if there is no kernel or it cannot be built; `Exit::Usage` if the source or its checksum is wrong;
/// `Exit::Interrupted`.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let cache = build::cache().map_err(|e| failure(&e))?;
    match arguments.action {
        Action::Path { json: false } => {
            let kernel = find()?;
            console.print(&format!("{}\n", kernel.path.display()))?;
        }
        Action::Path { json: true } => {
            let kernel = find()?;
            let answer = serde_json::json!({ "path": kernel.path, "version": kernel.version });
            console.print_json(&format!("{answer:#}"))?;
        }
        Action::Build {
            source,
            sha256,
            threads,
            force,
        } => {
            let source = checked(source.as_deref(), sha256.as_deref(), console)?;
            let there = match source.version().map_err(|e| failure(&e))? {
                Some(version) => build::find_version(&cache, &version),
                None => build::find(&cache),
            };
            if let Some(kernel) = there.filter(|_| !force) {
                console.note(&format!(
                    "Linux {} exists: {} (--force builds it again)",
                    kernel.version,
                    kernel.path.display()
                ));
                return Ok(Exit::Done);
            }
            let kernel = build_it(&source, &cache, threads, console)?;
            console.note(&format!(
                "Linux {}: {}",
                kernel.version,
                kernel.path.display()
            ));
        }
    }
    Ok(Exit::Done)
}

/// The source to build from; checks a tarball's checksum, or prints a note about it.
fn checked(
    source: Option<&Path>,
    sha256: Option<&str>,
    console: &Console,
) -> Result<Source, Failure> {
    let Some(path) = source else {
        return Ok(Source::Debian);
    };
    let expected = sha256.map(Checksum::parse).transpose();
    let expected = expected.map_err(|e| failure(&e))?;
    let (source, sum) = Source::at(path, expected.as_ref()).map_err(|e| failure(&e))?;
    if let Some(sum) = sum {
        let name = path.display();
        console.note(&match (sum.known(), &expected) {
            (Some(known), _) => format!("{name} is {known} (SHA-256 {sum})"),
            (None, Some(_)) => format!("{name} has the expected SHA-256"),
            (None, None) => {
                format!("{name}: SHA-256 {sum} is unknown to nandscope; compare it with the publisher's, or give the expected one with --sha256")
            }
        });
    }
    Ok(source)
}

fn build_it(
    source: &Source,
    cache: &Path,
    threads: ThreadArguments,
    console: &Console,
) -> Result<Kernel, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut line = Line::new("kernel");
    let mut progress = |step: Step| {
        let (share, text) = match step {
            Step::Fetch => (None, "getting the source".to_string()),
            Step::Unpack => (None, "unpacking".to_string()),
            Step::Configure => (None, "configuring".to_string()),
            Step::Compile(done, all) => {
                let share = f64::from(done) / f64::from(all.max(1));
                (Some(share), format!("compiling {done} of about {all}"))
            }
        };
        line.tell(share, text, console);
    };
    let built = build::build(source, cache, threads.wanted(), &mut progress, &|| {
        interrupt.asked()
    });
    line.clear();
    built.map_err(|e| failure(&e))
}

/// The kernel in the cache.
///
/// # Errors
/// `Exit::File` if no kernel for file systems has been built; the message names the command that builds it.
fn find() -> Result<Kernel, Failure> {
    let cache = build::cache().map_err(|e| failure(&e))?;
    build::find(&cache).ok_or_else(|| {
        Failure::file(format!(
            "no kernel in {}; build it with `nandscope kernel build` (some minutes, no root)",
            cache.display()
        ))
    })
}

/// The kernel to run: `named`, or else the one in the cache; `None` if the cache has none.
///
/// # Errors
/// `Exit::File` if `named` does not exist or the cache folder is unknown.
pub fn existing(named: Option<&Path>) -> Result<Option<Kernel>, Failure> {
    let Some(path) = named else {
        let cache = build::cache().map_err(|e| failure(&e))?;
        return Ok(build::find(&cache));
    };
    if !path.is_file() {
        return Err(Failure::file(format!("{}: no such file", path.display())));
    }
    Ok(Some(Kernel {
        path: std::path::absolute(path).map_err(Failure::file)?,
        version: "given by --kernel".to_string(),
    }))
}

fn failure(error: &BuildError) -> Failure {
    match error {
        BuildError::Interrupted => Failure::new(Exit::Interrupted, error),
        BuildError::NoSource { .. }
        | BuildError::Options(_)
        | BuildError::Checksum { .. }
        | BuildError::NoChecksum(_) => Failure::usage(error),
        _ => Failure::file(error),
    }
}
