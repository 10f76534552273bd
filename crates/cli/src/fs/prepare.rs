//! What happens before cells are measured: options that do not fit the targets are refused, all that is missing is named, the
//! files of the command are claimed, and real targets are opened.

use super::needs::{self, Needs};
use super::options::Chosen;
use super::real::{self, RealDevice};
use super::subject::{Subject, short_name};
use super::{Arguments, CUTS, plans};
use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::{output, target};
use nandscope_uml::build::Kernel;
use nandscope_uml::filesystem::FileSystem;
use nandscope_uml::workload::Workload;
use std::path::{Path, PathBuf};

/// Workloads whose programs name system calls by their numbers on x86-64.
const SYSTEM_CALLS: [&str; 2] = ["camera", "create"];

/// Refuses options that do not apply to the targets.
///
/// # Errors
/// `Exit::Usage` with the first of them.
pub fn refuse(arguments: &Arguments, chosen: &Chosen) -> Result<(), Failure> {
    let (real, simulated) = arguments.names();
    let Some(first) = real.first() else {
        let named = simulated.first().copied().unwrap_or_default();
        return arguments.real.arguments().refuse(named);
    };
    let given = [
        (arguments.cuts.is_some(), "--cuts"),
        (arguments.page.is_some(), "--page"),
        (
            simulated.is_empty() && arguments.kernel.is_some(),
            "--kernel",
        ),
        (simulated.is_empty() && arguments.host.is_some(), "--host"),
    ];
    if let Some((_, option)) = given.iter().find(|(given, _)| *given) {
        return Err(Failure::usage(format!(
            "{option} works with simulated devices only, and {first} is a real target; omit it"
        )));
    }
    if simulated.is_empty() {
        arguments.params.refuse(first)?;
    }
    let numbered = |w: &&Workload| SYSTEM_CALLS.contains(&w.name.as_str());
    let numbered = chosen.workloads().iter().find(numbered);
    if let Some(workload) = numbered.filter(|_| !cfg!(target_arch = "x86_64")) {
        return Err(Failure::usage(format!(
            "the workload {} calls the system by numbers of x86-64; choose others with --workload",
            workload.name
        )));
    }
    arguments
        .chosen
        .refuse_on_real(first, !simulated.is_empty())
}

/// Checked targets, file systems and kernel, before a real target is opened.
pub struct Prepared {
    /// The simulated targets, in their order.
    pub simulated: Vec<Subject>,
    /// The file systems that the running kernel has, if there are real targets.
    pub systems: Vec<FileSystem>,
    /// The kernel of virtual time, if there are simulated targets.
    pub kernel: Option<Kernel>,
}

/// Opens the simulated targets, and checks, before anything else is opened or written, that all programs, root's rights and
/// the kernel of virtual time are there.
///
/// # Errors
/// `Exit::Usage` if a simulated target is invalid; `Exit::File` with all that is missing.
pub fn prepare(
    arguments: &Arguments,
    chosen: &Chosen,
    console: &Console,
) -> Result<Prepared, Failure> {
    let (real, simulated) = arguments.names();
    let options = arguments.params.options(arguments.host.as_deref(), 1);
    let subjects: Vec<Subject> = simulated
        .iter()
        .map(|name| Subject::simulated(name, &options, console))
        .collect::<Result<_, _>>()?;
    let (systems, lacking) = match real.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => real::in_kernel(chosen.file_systems()),
    };
    let mut needs = Needs {
        kernel: !simulated.is_empty(),
        root: !real.is_empty(),
        ..Needs::default()
    };
    if !simulated.is_empty() {
        needs.programs = match arguments.cuts {
            Some(_) => needs::of_cuts(chosen.file_systems()),
            None => needs::of_cells(&plans(arguments, chosen, &subjects)),
        };
    }
    if !real.is_empty() {
        let programs = needs::of_real(&systems, chosen.workloads());
        needs.programs.extend(programs);
    }
    let kernel = needs::check(arguments.kernel.as_deref(), &needs)?;
    if !lacking.is_empty() {
        let names: Vec<_> = lacking.iter().map(|fs| fs.name()).collect();
        let text = format!("the kernel of this machine lacks {}", names.join(", "));
        if systems.is_empty() && simulated.is_empty() {
            return Err(Failure::file(format!(
                "{text}; choose others with --fs, or load their modules"
            )));
        }
        console.note(&format!("{text}: left out on real devices"));
    }
    Ok(Prepared {
        simulated: subjects,
        systems,
        kernel,
    })
}

/// All targets in their order, the real ones opened; asks before a block device is written.
///
/// # Errors
/// As [`RealDevice::open`].
pub fn open(
    arguments: &Arguments,
    prepared: Prepared,
    interrupt: &Interrupt,
) -> Result<(Vec<Subject>, Option<Kernel>), Failure> {
    let real = arguments.real.arguments();
    let page = arguments.page.iter().filter_map(|page| page.parent());
    let outputs = arguments.output.iter().chain(&arguments.record);
    let outputs: Vec<PathBuf> = outputs
        .cloned()
        .chain(page.map(Path::to_path_buf))
        .collect();
    let mut simulated = prepared.simulated.into_iter();
    let mut subjects = Vec::new();
    for name in &arguments.targets {
        if target::real::is_real(name) {
            let (resumed, systems) = (arguments.resume, prepared.systems.clone());
            let device = RealDevice::open(name, &real, &outputs, resumed, systems, interrupt)?;
            subjects.push(Subject::real(device));
        } else {
            subjects.extend(simulated.next());
        }
    }
    Ok((subjects, prepared.kernel))
}

/// Claims all files of the command.
///
/// # Errors
/// As [`FileClaims::input`].
pub fn claim(arguments: &Arguments, simulated: &[Subject]) -> Result<FileClaims, Failure> {
    let mut files = FileClaims::default();
    for target in &arguments.targets {
        files.target(target)?;
    }
    files.host(arguments.host.as_deref())?;
    files.inputs("--kernel", &arguments.kernel)?;
    files.inputs("--script", arguments.chosen.scripts())?;
    let mut simulated = simulated.iter();
    for target in &arguments.targets {
        let short = match target::real::is_real(target) {
            true => short_name(target),
            false => simulated.next().map_or("", Subject::short).to_string(),
        };
        if let Some(folder) = arguments.folder(&short) {
            files.result(&folder)?;
            files.file("the table of power cuts", &folder.join(CUTS))?;
        }
    }
    if let Some(page) = &arguments.page {
        files.output("--page", page)?;
        files.beside("the rows of the page,", &output::rows_beside(page)?)?;
    }
    Ok(files)
}
