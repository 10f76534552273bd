//! What cells need of the system: a kernel and programs. The error names all that is missing, and one command that
//! installs it.

use super::plan::Plan;
use crate::failure::Failure;
use crate::kernel;
use nandscope_uml::build::{self, Kernel};
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::native;
use nandscope_uml::workload::Workload;
use std::collections::BTreeSet;
use std::path::Path;

/// A program, and the Debian package that has it.
type Program = (&'static str, &'static str);

/// Programs of every run: they start and measure the workload in the kernel.
const ALWAYS: [Program; 3] = [
    ("setpriv", "util-linux"),
    ("bash", "bash"),
    ("perl", "perl-base"),
];

/// Programs that cells need.
pub fn of_cells(plans: &[Plan]) -> BTreeSet<Program> {
    let mut programs = BTreeSet::from(ALWAYS);
    for plan in plans {
        programs.insert(plan.fs.tool());
        programs.extend(&plan.workload.tools);
        if plan.settings.cleaner_s.is_some() && plan.fs == FileSystem::Nilfs2 {
            programs.insert(("nilfs_cleanerd", "nilfs-tools"));
        }
        if plan.settings.partition_start.is_some() {
            programs.insert(("sfdisk", "fdisk"));
        }
    }
    programs
}

/// Programs that power cuts need: they run a program of their own, not a workload.
pub fn of_cuts(file_systems: &[FileSystem]) -> BTreeSet<Program> {
    let tools = file_systems.iter().map(|fs| fs.tool());
    tools.chain(ALWAYS).collect()
}

/// Programs that cells of real devices need.
pub fn of_real(file_systems: &[FileSystem], workloads: &[Workload]) -> BTreeSet<Program> {
    let mut programs = BTreeSet::from(native::PROGRAMS);
    for fs in file_systems {
        let (maker, package) = fs.tool();
        programs.insert((maker, package));
        let checker = fs.check().and_then(|c| c.split_whitespace().next());
        programs.insert(checker.map_or(("tar", "tar"), |checker| (checker, package)));
    }
    for workload in workloads {
        programs.extend(&workload.tools);
    }
    programs
}

/// Programs, kernel and rights without which the cells cannot run.
#[derive(Debug, Default)]
pub struct Needs {
    /// Programs of the system.
    pub programs: BTreeSet<Program>,
    /// The kernel of virtual time.
    pub kernel: bool,
    /// Root's rights.
    pub root: bool,
}

/// The kernel to run, `named` or that of the cache folder, if it is needed.
///
/// # Errors
/// `Exit::File` if `named` does not exist, or if something is missing; then the message names all of it.
pub fn check(named: Option<&Path>, needs: &Needs) -> Result<Option<Kernel>, Failure> {
    let kernel = match needs.kernel {
        true => kernel::existing(named)?,
        false => None,
    };
    let missing = absent(&needs.programs, &build::in_path);
    let has_root = !needs.root || rustix::process::geteuid().is_root();
    let has_kernel = !needs.kernel || kernel.is_some();
    if missing.is_empty() && has_kernel && has_root {
        return Ok(kernel);
    }
    let to_build = (!has_kernel).then(|| absent(&build::PROGRAMS.into(), &build::in_path));
    let text = message(&missing, to_build.as_ref(), !has_root);
    Err(Failure::file(text))
}

fn absent(programs: &BTreeSet<Program>, is_there: &dyn Fn(&str) -> bool) -> BTreeSet<Program> {
    let absent = programs.iter().filter(|(name, _)| !is_there(name));
    absent.copied().collect()
}

/// The error. `to_build` has the missing programs of a kernel build if the kernel is missing; `root` says that root's
/// rights are.
fn message(
    missing: &BTreeSet<Program>,
    to_build: Option<&BTreeSet<Program>>,
    root: bool,
) -> String {
    let names = |programs: &BTreeSet<Program>| {
        let names: Vec<_> = programs.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    };
    let mut parts = Vec::new();
    if root {
        parts.push("root (real devices are formatted and mounted)".to_string());
    }
    if !missing.is_empty() {
        parts.push(names(missing));
    }
    if let Some(programs) = to_build {
        parts.push(match programs.is_empty() {
            true => "the kernel".to_string(),
            false => format!("the kernel, and to build it {}", names(programs)),
        });
    }
    let packages: BTreeSet<&str> = missing
        .iter()
        .chain(to_build.into_iter().flatten())
        .map(|(_, package)| *package)
        .collect();
    let mut commands = Vec::new();
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.into_iter().collect();
        commands.push(format!("apt-get install {}", packages.join(" ")));
    }
    if to_build.is_some() {
        commands.push("nandscope kernel build".to_string());
    }
    if commands.is_empty() {
        return format!(
            "missing for these file systems and workloads: {}\nrun it as root",
            parts.join("; ")
        );
    }
    let remarks = match (commands.len(), to_build) {
        (1, None) => " on Debian",
        (1, Some(_)) => " (some minutes, no root)",
        _ => " on Debian (apt-get as root; the build takes some minutes)",
    };
    format!(
        "missing for these file systems and workloads: {}\ninstall{remarks}:\n  {}",
        parts.join("; "),
        commands.join(" && ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_uml::job::Settings;
    use nandscope_uml::workload;

    fn plan(fs: FileSystem, workload: &str) -> Plan {
        let workload = workload::named(workload).unwrap();
        Plan::new(0, fs, workload, Settings::default())
    }

    fn names(programs: &BTreeSet<Program>) -> Vec<&'static str> {
        let other = programs.iter().filter(|p| !ALWAYS.contains(p));
        other.map(|(name, _)| *name).collect()
    }

    #[test]
    fn cells_need_the_programs_of_their_file_systems_and_workloads() {
        let mut plans = vec![
            plan(FileSystem::F2fs, "sqlite"),
            plan(FileSystem::Nilfs2, "postmark"),
        ];
        let needed = ["mkfs.f2fs", "mkfs.nilfs2", "postmark", "sqlite3"];
        assert_eq!(names(&of_cells(&plans)), needed);
        plans.truncate(1);
        plans[0].settings.cleaner_s = Some(0);
        plans[0].settings.partition_start = Some(nandscope_units::Bytes::mib(4));
        assert_eq!(names(&of_cells(&plans)), ["mkfs.f2fs", "sfdisk", "sqlite3"]);
        assert_eq!(names(&of_cuts(&[FileSystem::Xfs])), ["mkfs.xfs"]);
    }

    #[test]
    fn one_message_names_all_that_is_missing_and_one_command() {
        let programs = of_cells(&[plan(FileSystem::F2fs, "postmark")]);
        let missing = absent(&programs, &|name| name != "postmark" && name != "mkfs.f2fs");
        let text = message(&missing, None, false);
        assert!(text.contains(": mkfs.f2fs, postmark\n"), "{text}");
        assert!(
            text.ends_with("\n  apt-get install f2fs-tools postmark"),
            "{text}"
        );
        let to_build = BTreeSet::from([("flex", "flex")]);
        let text = message(&missing, Some(&to_build), false);
        assert!(
            text.contains("postmark; the kernel, and to build it flex\n"),
            "{text}"
        );
        let command = "apt-get install f2fs-tools flex postmark && nandscope kernel build";
        assert!(text.ends_with(command), "{text}");
        let text = message(&BTreeSet::new(), Some(&BTreeSet::new()), false);
        assert!(text.contains("workloads: the kernel\n"), "{text}");
        assert!(text.ends_with(":\n  nandscope kernel build"), "{text}");
        let text = message(&missing, None, true);
        assert!(
            text.contains("root (real devices are formatted and mounted); mkfs.f2fs, postmark\n"),
            "{text}"
        );
        let text = message(&BTreeSet::new(), None, true);
        assert!(text.ends_with("\nrun it as root"), "{text}");
    }

    #[test]
    fn real_devices_need_the_makers_and_checkers_of_their_file_systems() {
        let workloads = [workload::named("sqlite").unwrap()];
        let systems = [FileSystem::Btrfs, FileSystem::Nilfs2];
        let own: Vec<_> = of_real(&systems, &workloads)
            .into_iter()
            .filter(|program| !native::PROGRAMS.contains(program))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            own,
            ["btrfs", "mkfs.btrfs", "mkfs.nilfs2", "sqlite3", "tar"]
        );
    }
}
