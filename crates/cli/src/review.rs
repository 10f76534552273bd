//! `nandscope review`: a whole review of a device, from the check of everything that can be wrong
//! to the report. The procedure itself is the suite crate's.

#[cfg(target_os = "linux")]
mod endurance;
#[cfg(target_os = "linux")]
mod plan;
mod suite;

use crate::claims::FileClaims;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::interrupt::Interrupt;
use crate::output::{self, Form};
use crate::run::progress::Line;
use crate::steps::{self, Asked, Keeper, Place};
use crate::{author, input, shelf, target};
use clap::Args;
use nandscope_report::compare::{self, Basis};
use nandscope_report::shelf::{Author, Drive, PageContext, price_of};
use nandscope_report::{ReportError, summary_json, terminal};
#[cfg(target_os = "linux")]
use nandscope_result::Notice;
use nandscope_result::ResultDocument;
use nandscope_suite::spec::attachments;
use nandscope_suite::{Earlier, Procedure, ReviewObserver, ReviewOptions, SimSpec, SuiteError};
#[cfg(target_os = "linux")]
use nandscope_suite::{Existing, review_folder};
use nandscope_units::Nanos;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
use suite::SuiteArguments;

const EXAMPLES: &str = "\
Examples:
  nandscope review sim:sm2708-250gb        every mode, in review-sm2708-250gb/
  nandscope review sim:sm2708-250gb --mode uhs-i -o uhs/
  nandscope review sim:./my-card.toml --host rtl9211ds --quick
  nandscope review ./test.img --size 8g --quick           on a new file
  nandscope review /mnt/card/              copies, reads and deletes folders
  nandscope review sim:plextor-m6e-256gb --suite iometer --host asus-z87-satae
  nandscope review sim:sm2708-250gb --suite speed-class
  nandscope review sim:hp-ex900-pro-1tb sim:hp-ex920-1tb --suite fill

The report is DIR/report.html, one file that needs no network. The folder also has result.json (all \
measurements), series.csv (every series, listed in series-index.csv) and plots/ (every plot as SVG; as PNG with \
`nandscope report --png`). Several \
targets are compared in DIR/compare.html.

Ctrl-C ends the review with an incomplete report and exit code 130. A second Ctrl-C ends the program at once. \
Every finished step is saved in DIR/result.steps at once; after any interruption the same command with \
--resume continues from there.";

/// Arguments of `nandscope review`.
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// sim:NAME, sim:./FILE.toml, or the path of a file, folder or block device; several are reviewed in turn and
    /// compared with the first
    #[arg(required = true, value_name = "TARGET")]
    targets: Vec<String>,
    /// The target under review.
    #[arg(skip)]
    target: String,
    /// Folder for the report and its data, created if missing [default: review-NAME]
    ///
    /// Each of several targets gets a folder in it [default: review-comparison].
    #[arg(short, long, value_name = "DIR", help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    #[command(flatten)]
    tests: SuiteArguments,
    /// Mode of the device, such as `UHS-I`; repeatable [default: all]
    #[arg(long, value_name = "MODE", help_heading = heading::SIMULATED)]
    mode: Vec<String>,
    /// Host of the device, at each port that fits [default: its profile's]
    #[arg(long, value_name = "NAME|FILE", conflicts_with = "mode", help_heading = heading::SIMULATED)]
    host: Option<String>,
    #[command(flatten)]
    params: target::ParamArguments,
    /// Seed of the random number generator
    #[arg(long, default_value_t = 1, help_heading = heading::SIMULATED)]
    seed: u64,
    /// Shorter: a tenth of the data, one pass
    #[arg(long)]
    quick: bool,
    /// Print the steps with their time and bytes, and end
    ///
    /// Reads are measured for 4 s. Writes are measured for 16 s where the target may be overwritten: on a file, or with
    /// --destroy-data.
    #[arg(long, conflicts_with_all = ["resume", "json", "author", "shelf"], help_heading = heading::REAL)]
    plan: bool,
    /// Continue an interrupted measurement
    ///
    /// Finished steps are kept in a journal beside the result.
    #[arg(long, help_heading = heading::OUTPUT)]
    resume: bool,
    /// Rank the drive among those of this shelf
    #[arg(long, value_name = "DIR", help_heading = heading::OUTPUT)]
    shelf: Option<PathBuf>,
    /// Drives among which a drive is ranked
    #[arg(long, value_enum, default_value_t, help_heading = heading::OUTPUT, hide_short_help = true)]
    ranks: shelf::Ranks,
    /// The drives of the shelf.
    #[arg(skip)]
    rivals: Vec<Drive>,
    /// Include introduction.md, conclusion.md (Markdown) and the photos of this folder
    #[arg(long, value_name = "DIR", help_heading = heading::OUTPUT, hide_short_help = true)]
    author: Option<PathBuf>,
    /// Texts and photo of that folder.
    #[arg(skip)]
    texts: Author,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
    /// The target is one of several, and its summary is printed with those of the others.
    #[arg(skip)]
    among_others: bool,
    #[command(flatten)]
    real: target::real::RealArguments,
}

/// Reviews the device and writes the report.
///
/// # Errors
/// `Exit::Usage` if options or the target do not fit; `Exit::File` if the target cannot be opened or the report cannot
/// be written; `Exit::Interrupted`.
pub fn run(mut arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    arguments.rivals = shelf::rivals(arguments.shelf.as_deref())?;
    let mut targets = std::mem::take(&mut arguments.targets);
    if let Some(folder) = &arguments.author {
        if targets.len() > 1 {
            return Err(Failure::usage(
                "--author applies to one target; add texts to each report with `nandscope report RESULT.json -o DIR --author DIR`",
            ));
        }
        arguments.texts = author::read(folder)?;
    }
    if targets.len() == 1 {
        arguments.target = targets.remove(0);
        return one(&arguments, console);
    }
    let folder = arguments.output.clone();
    let folder = folder.unwrap_or_else(|| PathBuf::from("review-comparison"));
    let mut folders: Vec<PathBuf> = Vec::new();
    for target in &targets {
        let inside = PathBuf::from(folder_name(target));
        if folders.contains(&inside) {
            return Err(Failure::usage(format!(
                "{target} is named twice; name each target once"
            )));
        }
        folders.push(inside);
    }
    arguments.among_others = true;
    let mut exit = Exit::Done;
    let mut results: Vec<PathBuf> = Vec::new();
    for (target, inside) in targets.into_iter().zip(&folders) {
        arguments.target = target;
        arguments.output = Some(folder.join(inside));
        let _made = output::check_folder_in(&folder, inside)?;
        let place = folder.join(inside);
        let before = output::is_complete(&place.join(output::RESULT));
        let ended = one(&arguments, console)?;
        // An incomplete result does not replace a complete one.
        let apart = before && ended != Exit::Done;
        results.push(match apart {
            true => place.join(output::INCOMPLETE).join(output::RESULT),
            false => place.join(output::RESULT),
        });
        if ended != Exit::Done {
            exit = Exit::Partial;
        }
    }
    let documents = results.iter().map(|path| input::result(path));
    let documents = documents.collect::<Result<Vec<_>, _>>()?;
    let documents: Vec<&ResultDocument> = documents.iter().collect();
    let prices: Vec<_> = documents
        .iter()
        .map(|d| price_of(d, &arguments.rivals))
        .collect();
    let summaries = documents.iter().map(|d| {
        let context = nandscope_report::shelf::among(d, &arguments.rivals, arguments.ranks.into());
        summary_json::of(d, &context.ranks)
    });
    let summaries: Vec<_> = summaries.collect();
    let basis = Basis {
        prices: &prices,
        ..Basis::default()
    };
    let page = match compare::html(&documents, &basis) {
        // The reviews succeeded, so a missing comparison is not an error.
        Err(e @ ReportError::NoSharedHost(_)) => {
            console.note(&format!("no comparison: {e}"));
            if arguments.json {
                let answer = json!({ "results": summaries, "comparison": null });
                output::print_json(&answer, console)?;
            }
            return Ok(exit);
        }
        page => page.map_err(|e| output::report_failure(&e))?,
    };
    let place = folder.join("compare.html");
    output::write(&place, page.as_bytes())?;
    console.note(&format!("comparison: {}", place.display()));
    if arguments.json {
        let comparison = crate::compare::json(&documents, &basis, &results)?;
        let answer = json!({ "results": summaries, "comparison": comparison });
        output::print_json(&answer, console)?;
        return Ok(exit);
    }
    let options = terminal::Options {
        width: console.width,
        ..Default::default()
    };
    let text =
        compare::text(&documents, &basis, &options).map_err(|e| output::report_failure(&e))?;
    console.print(&format!("\n{text}"))?;
    Ok(exit)
}

/// Folder of one of several targets, within the folder for all.
fn folder_name(target: &str) -> String {
    let name = target.strip_prefix("sim:").unwrap_or(target);
    let stem = Path::new(name).file_name().unwrap_or(name.as_ref());
    stem.to_string_lossy().trim_end_matches(".toml").to_string()
}

/// Reviews one target and writes its report.
fn one(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let procedure = arguments.tests.procedure()?;
    if target::real::is_real(&arguments.target) {
        return review_real(arguments, procedure, console);
    }
    arguments.real.refuse(&arguments.target)?;
    if arguments.plan {
        return Err(Failure::usage(format!(
            "--plan works with files and block devices only, and {0} is simulated; `nandscope review {0}` ends sooner than a real device would, and its result has the time of each step",
            arguments.target
        )));
    }
    let spec = specify(arguments, console)?;
    let folder = arguments
        .output
        .clone()
        .unwrap_or_else(|| default_folder(&spec.profile.device.name));
    arguments.claim(&folder)?;
    let _made = output::check_folder(&folder)?;
    let place = Place::look(
        Some(folder.join(steps::IN_FOLDER)),
        arguments.resume,
        console,
    )?;
    let hosts: Vec<String> = spec.modes.iter().map(|m| format!("{:?}", m.host)).collect();
    let asked = arguments
        .asked(procedure)
        .on(&spec.target_info())
        .and("modes", arguments.mode.join(", ").to_lowercase())
        .and("host", arguments.host.as_deref().unwrap_or_default())
        .and("profiles of hosts", hosts.join("\n"));
    let mut keeper = place.begin(asked)?;
    let options = ReviewOptions {
        modes: arguments.mode.clone(),
        ..arguments.options(&mut keeper)
    };
    let interrupt = Interrupt::listen()?;
    let measure = |watch: &mut Watch| procedure.run(&spec, &options, watch, &|| interrupt.asked());
    let watch = Watch {
        line: Line::new("review"),
        keeper,
        in_place: false,
    };
    carry_out(watch, measure, (&folder, arguments), &interrupt, console)
}

impl Arguments {
    fn form(&self) -> Form {
        match (self.json, self.among_others) {
            (true, true) => Form::Silent,
            (json, _) => Form::of(json),
        }
    }

    /// Claims all files of the review of one target into this folder.
    fn claim(&self, folder: &Path) -> Result<(), Failure> {
        let mut files = FileClaims::default();
        files.target(&self.target)?;
        files.host(self.host.as_deref())?;
        self.real.claim(&mut files)?;
        if let Some(texts) = &self.author {
            let names = ["introduction.md", "conclusion.md"];
            files.inputs("the author's", &names.map(|name| texts.join(name)))?;
        }
        files.result(folder)
    }

    /// Options on which the result depends, besides the target.
    fn asked(&self, procedure: Procedure) -> Asked {
        Asked::new("review")
            .and("suite", procedure.name())
            .and("seed", self.seed)
            .and("quick", self.quick)
    }

    /// Options that all kinds of review share.
    fn options(&self, keeper: &mut Keeper) -> ReviewOptions {
        let earlier = keeper.earlier();
        ReviewOptions {
            modes: Vec::new(),
            seed: self.seed,
            quick: self.quick,
            earlier: earlier.map(|earlier| Earlier {
                document: earlier.document,
                parts: earlier.parts,
            }),
        }
    }
}

/// Shows the progress of a review, and keeps its finished steps.
struct Watch {
    line: Line,
    keeper: Keeper,
    /// Whether the target keeps its state, so that a review can continue after every step.
    in_place: bool,
}

#[cfg(target_os = "linux")]
impl Watch {
    /// Watcher of a review in real time, on a target with persistent state.
    fn in_place(keeper: Keeper) -> Watch {
        Watch {
            line: Line::new("review").in_real_time(),
            keeper,
            in_place: true,
        }
    }
}

impl ReviewObserver for Watch {
    fn progress(&mut self, fraction: f64, mode: &str, step: &str, at: Nanos) {
        self.line.progress(fraction, mode, step, at);
    }

    fn step_done(&mut self, document: &ResultDocument) {
        let steps = document.steps.len() as u64;
        let resume = self.in_place.then_some(steps);
        self.keeper.record(document, &[], resume);
    }

    fn part_done(&mut self, document: &ResultDocument, parts: u64) {
        self.keeper.record(document, &[], Some(parts));
    }
}

/// Measures, writes the report, and returns the outcome.
fn carry_out(
    mut watch: Watch,
    measure: impl FnOnce(&mut Watch) -> Result<ResultDocument, SuiteError>,
    (folder, arguments): (&Path, &Arguments),
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let began = Instant::now();
    let started = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let result = measure(&mut watch);
    watch.line.clear();
    let mut document = result.map_err(|e| suite_failure(&e))?;
    document.wall.started = Some(started);
    document.wall.elapsed_s = Some(began.elapsed().as_secs_f64());
    let place = output::report_folder(&document, folder);
    let written = output::write_result_in(&document, folder);
    let resumable = match written {
        Ok(()) => watch.keeper.finish(document.complete),
        // The journal of a complete saved result is not needed. An incomplete result needs it to be resumed.
        Err(ref failure) if failure.saved && document.complete => watch.keeper.finish(true),
        Err(_) => None,
    };
    if interrupt.asked() {
        // After an interruption no page is made, which would take too long.
        let printed = output::print_summary(&document, &[], arguments.form(), console);
        output::all([written, printed])?;
        let resumable = resumable.map(|text| format!("; {text}"));
        let result = place.join(output::RESULT);
        let text = format!(
            "interrupted; the incomplete result is in {0} (`nandscope report {0} -o DIR` makes its report){1}",
            result.display(),
            resumable.unwrap_or_default()
        );
        return Err(Failure::new(Exit::Interrupted, text));
    }
    interrupt.end_at_once();
    let context = PageContext {
        author: arguments.texts.clone(),
        ..nandscope_report::shelf::among(&document, &arguments.rivals, arguments.ranks.into())
    };
    let written = written
        .and_then(|()| output::write_pages(&document, &place, &context))
        .map(drop);
    output::show(
        &document,
        &place,
        written,
        &context.ranks,
        arguments.form(),
        console,
    )?;
    Ok(if document.complete {
        Exit::Done
    } else {
        Exit::Partial
    })
}

/// Default folder of a report: in the current folder, whatever name a profile gives its device.
fn default_folder(name: &str) -> PathBuf {
    PathBuf::from(format!("review-{}", name.replace(['/', '\0'], "-")))
}

/// The review of a file or block device.
#[cfg(target_os = "linux")]
fn review_real(
    arguments: &Arguments,
    procedure: Procedure,
    console: &Console,
) -> Result<Exit, Failure> {
    arguments.params.refuse(&arguments.target)?;
    let path = Path::new(&arguments.target);
    if procedure == Procedure::SsdPeers {
        return Err(Failure::usage(format!(
            "refusing to review {}: --peers compares simulated drives; omit it",
            arguments.target
        )));
    }
    if path.is_dir() && procedure != Procedure::Card {
        return Err(Failure::usage(format!(
            "refusing to review {1}: --suite {0} measures files, block devices and simulated devices; a folder has `card` only",
            procedure.name(),
            arguments.target
        )));
    }
    if !arguments.mode.is_empty() || arguments.host.is_some() {
        return Err(Failure::usage(
            "--mode and --host work with simulated devices only; omit them",
        ));
    }
    if arguments.plan {
        return plan::print(arguments, procedure, console);
    }
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let folder = arguments
        .output
        .clone()
        .unwrap_or_else(|| default_folder(&name));
    arguments.claim(&folder)?;
    let _made = output::check_folder(&folder)?;
    let place = Place::look(
        Some(folder.join(steps::IN_FOLDER)),
        arguments.resume,
        console,
    )?;
    let known = match path.is_dir() {
        true => arguments.asked(procedure).and("target", &arguments.target),
        false => arguments
            .real
            .asked(&arguments.target, arguments.asked(procedure)),
    };
    place.check(&known)?;
    let interrupt = Interrupt::listen()?;
    let access = nandscope_measure::real::Access::Write;
    if path.is_dir() {
        return review_in(arguments, &folder, place, &interrupt, console);
    }
    let asks = arguments.real.destroy_data.is_some() && arguments.real.confirmation.yes.is_none();
    if asks && !place.resumes() && Console::can_ask() {
        plan::announce(arguments, procedure, &interrupt, console)?;
    }
    let outputs = [folder.clone()];
    let mut real = target::real::open_real(
        &arguments.target,
        access,
        &arguments.real,
        &outputs,
        place.resumes(),
        &interrupt,
    )?;
    let mut environment = real.environment();
    let cost = target::real::generator_cost(32, &interrupt);
    environment.extend(cost.map(|cost| ("generator cost".to_string(), cost)));
    let info = real.info();
    let asked = real.asked(arguments.asked(procedure));
    let mut keeper = place.begin(asked)?;
    keeper.recognize(real.target.volume())?;
    let said = std::mem::take(&mut real.warnings)
        .into_iter()
        .map(Notice::warning)
        .chain(real.remarks.drain(..).map(Notice::info))
        .collect::<Vec<_>>();
    if let Some(earlier) = keeper.interrupted() {
        real.target.set_clock(earlier.end());
    }
    let options = arguments.options(&mut keeper);
    let measure = |watch: &mut Watch| {
        let stop = || interrupt.asked();
        let existing = Existing {
            target: real.target,
            info,
            environment,
        };
        let mut document = existing.review(procedure, &options, watch, &stop)?;
        document.environment.extend(real.panel.since_then());
        document.notices.extend(said);
        Ok(document)
    };
    let watch = Watch::in_place(keeper);
    carry_out(watch, measure, (&folder, arguments), &interrupt, console)
}

/// The review of a folder: files are copied into it.
#[cfg(target_os = "linux")]
fn review_in(
    arguments: &Arguments,
    folder: &Path,
    place: Place,
    interrupt: &Interrupt,
    console: &Console,
) -> Result<Exit, Failure> {
    let mut opened = target::real::folder::open(&arguments.target, &arguments.real)?;
    let asked = arguments
        .asked(Procedure::Card)
        .here()
        .on(&opened.info)
        .and("--sync-files", arguments.real.sync_files);
    let asked = match &opened.created {
        Some(created) => asked.and("folder created at", created),
        None => asked,
    };
    let mut keeper = place.begin(asked)?;
    if opened.created.is_none() {
        keeper.doubt(&format!(
            "cannot check whether {} is the folder of the interrupted run: its file system records no creation times",
            arguments.target
        ));
    }
    if let Some(earlier) = keeper.interrupted() {
        let set = opened.target.set_clock(earlier.end());
        set.map_err(Failure::file)?;
    }
    let options = arguments.options(&mut keeper);
    let made = opened.made;
    let measure = |watch: &mut Watch| {
        let stop = || interrupt.asked();
        let (info, environment) = (opened.info, opened.environment);
        let mut document = review_folder(opened.target, info, environment, &options, watch, &stop)?;
        document.environment.extend(opened.panel.since_then());
        let warnings = opened.warnings.into_iter();
        document.notices.extend(warnings.map(Notice::warning));
        Ok(document)
    };
    let watch = Watch::in_place(keeper);
    let exit = carry_out(watch, measure, (folder, arguments), interrupt, console);
    drop(made);
    exit
}

#[cfg(not(target_os = "linux"))]
fn review_real(arguments: &Arguments, _: Procedure, _: &Console) -> Result<Exit, Failure> {
    Err(target::real::absent(&arguments.target))
}

/// The device with the hosts to which it will be attached.
fn specify(arguments: &Arguments, console: &Console) -> Result<SimSpec, Failure> {
    let Some(place) = arguments.target.strip_prefix("sim:") else {
        return Err(Failure::usage(format!(
            "unknown target `{}`; a simulated device is named sim:NAME (see `nandscope devices`) or sim:./FILE.toml, a file or device of this machine by its path, such as ./FILE or /dev/sdX",
            arguments.target
        )));
    };
    let source = target::device_source_with(place, &arguments.params, console)?;
    nandscope_experiment::memory::check(&arguments.target, &source.profile)?;
    let mut spec = SimSpec::new(&arguments.target, &source.text, source.profile)
        .map_err(|e| suite_failure(&e))?;
    if let Some(host) = &arguments.host {
        let host = target::host_source(host, console)?.profile;
        spec.modes = attachments(&host.host.title, &host, &spec.profile);
    }
    Ok(spec)
}

/// A procedure that could not be carried out.
pub fn suite_failure(error: &SuiteError) -> Failure {
    match error {
        SuiteError::Target(_) | SuiteError::Step { .. } | SuiteError::Recorded(_) => {
            Failure::usage(error)
        }
        SuiteError::Facts(_) => Failure::internal(error),
    }
}

impl ReviewObserver for Line {
    fn progress(&mut self, fraction: f64, mode: &str, step: &str, at: Nanos) {
        let mode = if mode.is_empty() {
            String::new()
        } else {
            format!("{mode}: ")
        };
        self.show(Some(fraction), format!("{mode}{step}, {}", self.time(at)));
    }
}
