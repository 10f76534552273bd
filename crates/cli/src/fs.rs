//! `nandscope fs`: Linux file systems on simulated devices, in virtual time, and on real ones. Reads the arguments, runs
//! the cells, and writes the results.

mod board;
mod cells;
mod cuts;
mod kept;
mod needs;
mod options;
mod page;
mod plan;
mod prepare;
mod real;
mod rows;
mod subject;
mod variants;

use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::interrupt::Interrupt;
use crate::target::ParamArguments;
use crate::threads::ThreadArguments;
use crate::{output, target};
use cells::Measured;
use clap::Args;
use kept::Kept;
use nandscope_report::summary_json;
use nandscope_result::recording::LATE_MAX_S;
use nandscope_result::{Figure, Notice, ResultDocument, StepResult, procedure};
use nandscope_uml::build::Kernel;
use nandscope_uml::cell::Cell;
use nandscope_uml::{document, recording, variant_comparison};
use nandscope_workload::trace::write_nstrace;
use options::Chosen;
use plan::Plan;
use prepare::{claim, open, prepare, refuse};
use real::RealDevice;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
pub use subject::Subject;

/// File of the results of `--cuts`.
const CUTS: &str = "cuts.json";

const EXAMPLES: &str = "\
Examples:
  nandscope fs sim:toshiba-class10-16gb
  nandscope fs sim:samsung-evo-16gb --host sabrelite --fs f2fs,nilfs2 \\
    --workload dbench -o evo-fs
  nandscope fs sim:kingston-8gb --fs f2fs --mkfs 'f2fs:-s 2' \\
    --partition 4MiB --partition-size 2GiB --fullness 80
  nandscope fs sim:kingston-8gb --fs f2fs,exfat --workload untar --sweep
  nandscope fs sim:kingston-8gb --script my-load.sh --record traces/
  nandscope fs sim:kingston-8gb /dev/sdX --destroy-data --fs ext4,vfat

Simulated devices: build the kernel first (`nandscope kernel build`). Real devices: run it \
as root. docs/fs.md explains workloads and results.";

/// Arguments of `nandscope fs`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Simulated devices, sim:NAME or sim:./FILE.toml; block devices; files
    #[arg(required = true)]
    targets: Vec<String>,
    #[command(flatten)]
    chosen: options::Options,
    #[command(flatten)]
    real: real::RealOptions,
    /// Host of the device [default: direct, or that of a saved device]
    #[arg(long, value_name = "NAME|FILE", help_heading = heading::SIMULATED)]
    host: Option<String>,
    #[command(flatten)]
    params: ParamArguments,
    /// Folder for the report and its data, created if missing
    ///
    /// Each of several targets gets a folder in it.
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Continue an interrupted measurement
    ///
    /// Finished steps are kept in a journal beside the result.
    #[arg(long, requires = "output", conflicts_with = "cuts", help_heading = heading::OUTPUT)]
    resume: bool,
    /// Record the requests as a trace for replay
    ///
    /// The folder gets a file for each cell.
    #[arg(long, value_name = "DIR", help_heading = heading::OUTPUT, hide_short_help = true)]
    record: Option<PathBuf>,
    /// Write the page with all tables; more rows in a .csv file beside it
    #[arg(long, value_name = "FILE.md", hide_short_help = true, help_heading = heading::OUTPUT)]
    page: Option<PathBuf>,
    /// Cut the power at this many moments of a program that calls fsync, on an
    /// honest, a tearing and a lying card
    #[arg(
        long,
        value_name = "POINTS",
        value_parser = clap::value_parser!(u32).range(1..=10_000),
        conflicts_with_all = ["record", "workload", "script"],
        hide_short_help = true
    )]
    cuts: Option<u32>,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Kernel to run [default: that of `nandscope kernel build`]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    kernel: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

/// Measures all cells and writes the outputs.
///
/// # Errors
/// `Exit::Usage` or `Exit::File` if an option or an output is refused before the first cell; `Exit::Partial` if cells
/// failed; `Exit::Interrupted`; `Exit::File` if the results cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let chosen = Chosen::of(&arguments.chosen)?;
    if !nandscope_uml::confine::is_supported() {
        console.note(
            "this system has no Landlock: programs in the kernel can change every file that you can change",
        );
    }
    refuse(&arguments, &chosen)?;
    let interrupt = Interrupt::listen()?;
    let prepared = prepare(&arguments, &chosen, console)?;
    let files = claim(&arguments, &prepared.simulated)?;
    let folders = arguments.output.iter().chain(&arguments.record);
    let _made: Vec<output::Made> = folders
        .map(|folder| output::check_folder(folder))
        .collect::<Result<_, _>>()?;
    files.check()?;
    let (mut subjects, kernel) = open(&arguments, prepared, &interrupt)?;
    if let Some(points) = arguments.cuts {
        let kernel = kernel.as_ref().ok_or_else(|| Failure::usage(CUTS_NEED))?;
        return cut(
            &arguments, points, kernel, &subjects, &chosen, &interrupt, console,
        );
    }
    let plans = plans(&arguments, &chosen, &subjects);
    let mut kept = Kept::all(&arguments, &chosen, &subjects, kernel.as_ref(), console)?;
    let began = Instant::now();
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let measured = cells::measure_all(
        kernel.as_ref().map(|kernel| kernel.path.as_path()),
        &subjects,
        &plans,
        &mut kept,
        arguments.threads,
        &interrupt,
        console,
    );
    // Before anything is written: real devices are free as soon as they are measured.
    for subject in &mut subjects {
        subject.release(console);
    }
    // A failed output must not prevent the outputs of other targets.
    let mut outputs = Vec::new();
    let mut summaries = Vec::new();
    for ((number, subject), kept) in subjects.iter().enumerate().zip(kept) {
        let mine: Vec<&Measured> = measured
            .iter()
            .filter(|m| m.plan.subject == number && m.plan.group.is_empty())
            .collect();
        if !arguments.json {
            outputs.push(console.print(&if chosen.sweep() {
                variants::tables(subject, &mine, console)
            } else {
                table(subject, &mine, console)
            }));
        }
        let version = version_of(subject, kernel.as_ref());
        let mut result = result_document(subject, &mine, &chosen, &version);
        result.complete &= measured.len() == plans.len();
        result.wall.started = Some(started.clone());
        result.wall.elapsed_s = Some(began.elapsed().as_secs_f64());
        summaries.push(summary_json::of(&result, &[]));
        if let Some(folder) = arguments.folder(subject.short()) {
            let written = keep(&result, &arguments, &folder, console);
            if written.is_ok() {
                kept.finish(result.complete);
            }
            outputs.push(written);
        }
        if let Some(folder) = &arguments.record {
            outputs.push(keep_traces(subject, &mine, folder));
        }
    }
    if let Some(path) = &arguments.page {
        let rows_path = output::rows_beside(path)?;
        let link = link_to(&rows_path);
        let version = kernel.as_ref().map_or("", |kernel| &kernel.version);
        let (text, rows) = if chosen.sweep() {
            variants::page(&subjects, &measured, version, &link)
        } else {
            page::write(&subjects, &measured, version, &link)
        };
        let written = output::write_or_keep(path, text.as_bytes())
            .and_then(|()| output::write_or_keep_beside(&rows_path, rows.into_text().as_bytes()));
        if written.is_ok() {
            console.note(&format!("page: {}", path.display()));
        }
        outputs.push(written);
    }
    if arguments.json {
        outputs.push(output::print_json(&summaries, console));
    }
    output::all(outputs)?;
    console.note(&format!(
        "{} in {:.0} s",
        match measured.len() {
            1 => "1 cell".to_string(),
            cells => format!("{cells} cells"),
        },
        began.elapsed().as_secs_f64()
    ));
    if interrupt.asked() {
        let text = match arguments.output {
            Some(_) => "interrupted; unfinished cells are missing; --resume continues with them",
            None => "interrupted; unfinished cells are missing",
        };
        return Err(Failure::new(Exit::Interrupted, text));
    }
    let failed: Vec<String> = measured.iter().filter_map(Measured::complaint).collect();
    if failed.is_empty() {
        Ok(Exit::Done)
    } else {
        Err(Failure::new(Exit::Partial, failed.join("\n")))
    }
}

/// Error if `--cuts` is given with a real target.
const CUTS_NEED: &str = "--cuts: power cuts need a simulated device; give one target";

/// Version of the kernel that runs the cells of a target.
fn version_of(subject: &Subject, kernel: Option<&Kernel>) -> String {
    match (subject.as_real(), kernel) {
        (Some(_), _) => real::release(),
        (None, kernel) => kernel.map_or(String::new(), |kernel| kernel.version.clone()),
    }
}

impl Arguments {
    /// Names of the real and of the simulated targets.
    fn names(&self) -> (Vec<&str>, Vec<&str>) {
        let names = self.targets.iter().map(String::as_str);
        names.partition(|name| target::real::is_real(name))
    }

    /// The folder for the result of the target with this short name: `--output`, or a folder in it if there are several
    /// targets.
    fn folder(&self, short: &str) -> Option<PathBuf> {
        let folder = self.output.as_ref()?;
        Some(match self.targets.len() {
            1 => folder.clone(),
            _ => folder.join(short),
        })
    }
}

/// Link to a file in the folder of the page, in Markdown.
fn link_to(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    format!("[{name}]({name})")
}

/// All cells to measure: those chosen by the options, and those of the page.
fn plans(arguments: &Arguments, chosen: &Chosen, subjects: &[Subject]) -> Vec<Plan> {
    let mut plans = Vec::new();
    for (number, subject) in subjects.iter().enumerate() {
        plans.extend(chosen.plans(number, subject));
    }
    if arguments.page.is_some() && !chosen.sweep() {
        plans.extend(page::plans(subjects, chosen));
        plans.extend(variants::plans(subjects, chosen));
    }
    if chosen.topology() {
        for plan in &mut plans {
            let (page, unit) = plan::topology(&subjects[plan.subject]);
            (plan.settings.minimum_io, plan.settings.optimal_io) = (page, unit);
        }
    }
    plans
}

/// Runs power cuts instead of cells.
fn cut(
    arguments: &Arguments,
    points: u32,
    kernel: &Kernel,
    subjects: &[Subject],
    chosen: &Chosen,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let [subject] = subjects else {
        return Err(Failure::usage("--cuts: give one target"));
    };
    let (systems, threads) = (chosen.file_systems(), arguments.threads);
    let rows = cuts::run(
        &kernel.path,
        subject,
        systems,
        points,
        threads,
        interrupt,
        console,
    );
    if interrupt.asked() {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    let text = cuts::records(&rows).map_err(Failure::internal)?;
    let mut kept = vec![match arguments.json {
        true => console.print_json(text.trim_end()),
        false => console.print(&cuts::table(subject, &rows, console)),
    }];
    if let Some(folder) = &arguments.output {
        kept.push(output::write_or_keep_in(folder, CUTS, text.as_bytes()));
    }
    if let Some(path) = &arguments.page {
        let rows_path = output::rows_beside(path)?;
        let link = link_to(&rows_path);
        let text = cuts::page(subject, &rows, points, &kernel.version, &link);
        kept.push(output::write_or_keep(path, text.as_bytes()));
        kept.push(output::write_or_keep_beside(
            &rows_path,
            cuts::csv(&rows).as_bytes(),
        ));
    }
    output::all(kept)?;
    let complaints: Vec<String> = rows.iter().filter_map(cuts::Row::complaint).collect();
    if complaints.is_empty() {
        Ok(Exit::Done)
    } else {
        Err(Failure::new(Exit::Partial, complaints.join("\n")))
    }
}

/// `yes` or `no`, and how late the latest piece of video was. Short, as the row has to fit into 80 columns.
fn keeps_up(late_s: f64) -> String {
    let word = if late_s <= LATE_MAX_S { "yes" } else { "no" };
    let decimals = usize::from(late_s < 100.0);
    format!("{word} {late_s:.decimals$}s")
}

/// The table of a target: a row for each cell. If there are recordings, a column says whether they keep up, and how late they
/// were.
fn table(subject: &Subject, measured: &[&Measured], console: &Console) -> String {
    let cells = || measured.iter().filter_map(|m| m.cell.as_ref().ok());
    let mut heads = vec![
        "WORKLOAD", "FS", "TIME", "WRITES", "MB", "FLUSH", "WA", "CARD", "AUs", "STALL",
    ];
    let records = cells().any(|cell| cell.late_s().is_some());
    heads.extend(records.then_some("KEEPS UP"));
    let mut table = console.table(&heads);
    // With recordings, a column of spaces at the end would be the 81st.
    let last = heads.len() - 1;
    table.column_mut(last).map(|c| c.set_padding((1, 0)));
    let known = |known: bool, text: String| if known { text } else { "-".to_string() };
    for cell in cells() {
        let c = &cell.pattern;
        let mut row = vec![
            cell.workload.clone(),
            cell.fs.name().to_string(),
            cell.time.to_string(),
            known(cell.known.commands, c.writes.commands.to_string()),
            known(
                cell.known.commands,
                format!("{:.1}", c.writes.bytes as f64 / 1e6),
            ),
            known(cell.known.commands, c.flushes.to_string()),
            c.write_amplification()
                .filter(|_| cell.known.commands)
                .map_or("-".to_string(), |f| format!("{f:.2}")),
            known(
                cell.known.flash,
                format!("{:.2}", cell.counters.write_amplification()),
            ),
            known(cell.known.trace, c.units_needed.to_string()),
            c.longest
                .map_or("-".to_string(), |(_, time)| time.to_string()),
        ];
        row.extend(records.then(|| cell.late_s().map_or("-".to_string(), keeps_up)));
        table.add_row(row);
    }
    let mut legend = "WA: bytes to the card per byte of the programs; CARD: bytes in flash per byte to\nthe card; AUs: open allocation units needed; STALL: longest call of a program.\n".to_string();
    if records {
        legend.push_str(&format!(
            "KEEPS UP: whether each piece of video is written at most {LATE_MAX_S:.0} s late, and the\nlongest delay.\n"
        ));
    }
    if subject.as_real().is_some() {
        legend.push_str("-: not known on this device.\n");
    }
    format!("{}\n{}\n{legend}\n", subject.heading(), lines_of(&table))
}

/// Notice about cells of a real device whose requests are not known.
const UNRECORDED: &str = "the requests of some cells were not recorded, or not all of them: their allocation units and latencies are not known";

fn result_document(
    subject: &Subject,
    measured: &[&Measured],
    chosen: &Chosen,
    version: &str,
) -> ResultDocument {
    let cells: Vec<&Cell> = measured
        .iter()
        .filter_map(|m| m.cell.as_ref().ok())
        .collect();
    let mut steps: Vec<_> = cells
        .iter()
        .map(|cell| document::step(cell, subject.card, chosen.seed()))
        .collect();
    for workload in chosen.workload_names() {
        let ranking = document::ranking(&workload, &cells, subject.card);
        if let Some(step) = steps
            .iter_mut()
            .find(|s| s.section == format!("Workload {workload}"))
        {
            step.conclusions = ranking;
        }
    }
    let mut figures: Vec<_> = steps.iter().flat_map(|s| s.figures.clone()).collect();
    let mut ids: Vec<String> = cells.iter().map(|cell| cell.id()).collect();
    ids.dedup();
    for id in ids {
        let same: Vec<&Cell> = cells.iter().filter(|c| c.id() == id).copied().collect();
        figures.extend(document::spread(&same));
    }
    for group in variants::groups(measured.iter().copied()) {
        figures.extend(swept(&group, &mut steps));
    }
    let real = subject.as_real();
    let hint = match real {
        Some(_) => format!(
            "Linux {version} in real time; programs take processor time, and share the machine with others."
        ),
        None => {
            format!("Linux {version} in virtual time; processor time is zero without `--cpu`.")
        }
    };
    let conditions = real.map(RealDevice::notices).unwrap_or_default();
    let unrecorded = cells.iter().any(|cell| !cell.known.trace);
    let unrecorded = (unrecorded && real.is_some()).then(|| Notice::warning(UNRECORDED));
    let complaints = measured.iter().filter_map(|m| m.complaint());
    let errors = complaints.map(Notice::error);
    let environment = match real {
        Some(device) => device.environment(),
        None => [("kernel".to_string(), format!("Linux {version}, user mode"))].into(),
    };
    ResultDocument {
        environment,
        complete: cells.len() == measured.len(),
        steps,
        figures,
        notices: [Notice::info(hint)]
            .into_iter()
            .chain(conditions.iter().cloned())
            .chain(unrecorded)
            .chain(errors)
            .collect(),
        ..ResultDocument::begin(
            procedure::FILE_SYSTEMS,
            format!("File systems on {}", subject.title()),
            chosen.seed(),
            subject.info(chosen.seed()),
        )
    }
}

/// Adds the comparison of a file system's variants to its first step, and a conclusion before the ranking of the workload.
/// Returns the figures of the comparison.
fn swept(group: &variants::Group, steps: &mut [StepResult]) -> Vec<Figure> {
    let (workload, fs) = (group.workload, group.fs);
    let section = format!("Workload {workload}");
    let conclusion = variant_comparison::conclusion(workload, fs, &group.rows);
    if let Some(first) = steps.iter_mut().find(|s| s.section == section) {
        let earlier = first
            .conclusions
            .iter()
            .filter(|c| c.id.ends_with(".options"));
        let at = earlier.count();
        first.conclusions.splice(at..at, conclusion);
    }
    let id = format!("{workload}-{}", fs.name());
    let figures = variant_comparison::figures(workload, fs, &group.rows);
    // The first step with this prefix is that of the default, or of a variant if the default failed.
    if let Some(step) = steps.iter_mut().find(|s| s.id.starts_with(&id)) {
        step.tables
            .insert(0, variant_comparison::table(&group.rows));
        step.figures.extend(figures.iter().cloned());
    }
    figures
}

fn keep(
    result: &ResultDocument,
    arguments: &Arguments,
    folder: &Path,
    console: &Console,
) -> Result<(), Failure> {
    // With several targets, each has its own folder inside `--output`, which existed at the start.
    if let Some(output) = &arguments.output
        && let Ok(inside) = folder.strip_prefix(output)
    {
        // If the folder cannot be created, `write_report` reports it and saves the result elsewhere.
        let _ = nandscope_files::create_folder_in(output, inside);
    }
    let place = output::report_folder(result, folder);
    output::write_report(result, folder)?;
    console.note(&format!("report: {}", place.join("report.html").display()));
    Ok(())
}

fn keep_traces(subject: &Subject, measured: &[&Measured], folder: &Path) -> Result<(), Failure> {
    for Measured { plan, cell } in measured {
        let Ok(cell) = cell else { continue };
        let variant = cell.variant_suffix();
        let fs = cell.fs.name();
        let name = format!("{}-{fs}-{}{variant}", subject.short(), cell.workload);
        let title = format!("{} on {}, {}", cell.workload, cell.title(), subject.title());
        if !cell.known.trace {
            continue;
        }
        let trace = recording::trace(&cell.events, subject.capacity());
        let seed = match plan.settings.seed {
            1 => String::new(),
            seed => format!("-seed{seed}"),
        };
        let file = format!("{name}{seed}.nstrace");
        output::write_in(folder, &file, &write_nstrace(&name, &title, &trace))?;
    }
    Ok(())
}
