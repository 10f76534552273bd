//! `nandscope sweep JOB.fio TARGET`: arguments, page and table of a sweep. Points, threads and the store are the business
//! of the sweep crate.

use super::run_points;
use super::space::SpaceArguments;
use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::heading;
use crate::input;
use crate::output::{self, Form};
use crate::target::Precondition;
use crate::threads::ThreadArguments;
use clap::Args;
use nandscope_report::sweep::{SweepMetric, SweepReport, SweepRow};
use nandscope_sweep::metric::Direction;
use nandscope_sweep::space::Key;
use nandscope_sweep::table::{Row, Summary};
use nandscope_sweep::{Parameter, Plan, Sampling, SweepSpec, SweepTable};
use nandscope_units::number::short;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Rows of the table on the terminal; with more, only the Pareto front is shown.
const MOST_ROWS: usize = 40;

/// Arguments of a sweep of points.
#[derive(Debug, Args)]
pub struct PointArguments {
    /// Job file in fio's grammar
    #[arg(value_name = "JOB.fio", required = true)]
    job: Option<PathBuf>,
    /// Simulated device: sim:NAME or sim:./FILE.toml
    #[arg(value_name = "TARGET", required = true)]
    target: Option<String>,
    #[command(flatten)]
    space: SpaceArguments,
    /// Runs with seeds SEED, SEED + 1, …; reports the spread
    #[arg(long, value_name = "N", default_value_t = 1)]
    seeds: u32,
    /// Seed of the random number generator
    #[arg(long, value_delimiter = ',', default_value = "1", help_heading = heading::SIMULATED)]
    seed: Vec<u64>,
    /// Metrics (comma-separated)
    #[arg(
        long = "metric",
        value_name = "NAMES",
        value_delimiter = ',',
        default_value = "iops,p99"
    )]
    metrics: Vec<String>,
    /// Points to run: grid (all), random:N or lhs:N (Latin hypercube)
    #[arg(long, value_name = "HOW", default_value = "grid")]
    sample: Sampling,
    /// Host of the device [default: direct, or that of a saved device]
    #[arg(long, value_name = "NAME|FILE", value_delimiter = ',', help_heading = heading::SIMULATED)]
    host: Vec<String>,
    /// Initial state: none, sequential, random, overwritten or steady
    ///
    /// The amount follows a colon: sequential:PERCENT and random:PERCENT of the
    /// capacity, overwritten:TIMES the capacity.
    #[arg(
        long,
        value_name = "STATE",
        value_delimiter = ',',
        default_value = "none",
        value_parser = state,
        help_heading = heading::SIMULATED
    )]
    precondition: Vec<String>,
    #[command(flatten)]
    threads: ThreadArguments,
    /// Folder for the report and its data, created if missing
    #[arg(short, long, value_name = "DIR", required = true, help_heading = heading::OUTPUT)]
    output: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = heading::OUTPUT)]
    json: bool,
}

/// Runs the points that are not in the folder yet and writes table and report.
///
/// # Errors
/// `Exit::Usage` if the job, the device or a parameter is invalid; `Exit::File` if a point or a table cannot be
/// written; as [`run_points::ending`] if points failed.
pub fn run(arguments: &PointArguments, console: &Console) -> Result<Exit, Failure> {
    let (Some(job), Some(target), Some(folder)) =
        (&arguments.job, &arguments.target, &arguments.output)
    else {
        return Err(Failure::internal("the arguments of a sweep are incomplete"));
    };
    let spec = spec(arguments, job, target)?;
    let mut files = run_points::claim(Some(job), target, &arguments.host, folder)?;
    let plan = Plan::new(&spec).map_err(|error| run_points::plan_failure(&error, console))?;
    for point in &plan.points {
        files.traces(&point.jobs.file)?;
    }
    let ran = run_points::run(&plan, folder, arguments.threads, console)?;
    if run_points::done(&ran) > 0 {
        let table = SweepTable::new(&plan, &ran.outcomes);
        let place = run_points::table_folder(&ran, folder);
        let json = run_points::write_tables(&plan, &ran, folder, &place)?;
        let report = place.join("report.html");
        let page = page(&spec, &plan, &table)?;
        output::write_in(folder, &report.to_string_lossy(), page.as_bytes())?;
        match Form::of(arguments.json) {
            Form::Json => console.print_json(json.trim_end())?,
            Form::Text | Form::Silent => console.print(&shown(&table, console))?,
        }
        run_points::note_done(&plan, &ran, console);
        console.note(&format!("report: {}", folder.join(report).display()));
    }
    run_points::ending(&plan, &ran, folder)
}

/// A state before a run, as it was written.
fn state(text: &str) -> Result<String, <Precondition as FromStr>::Err> {
    text.parse::<Precondition>()?;
    Ok(text.to_string())
}

/// The varied parameters: of profile and jobs, then options of the command with several values.
fn parameters(arguments: &PointArguments) -> Result<Vec<Parameter>, Failure> {
    let mut all = arguments.space.parameters.clone();
    let seeds = arguments.seed.iter().map(ToString::to_string);
    for (key, values) in [
        (Key::Host, arguments.host.clone()),
        (Key::Precondition, arguments.precondition.clone()),
        (Key::Seed, seeds.collect()),
    ] {
        if values.len() > 1 {
            all.push(Parameter::listed(key, values).map_err(Failure::usage)?);
        }
    }
    Ok(all)
}

/// Value of an option that is equal at all points.
fn only<T: Clone>(values: &[T]) -> Option<T> {
    match values {
        [value] => Some(value.clone()),
        _ => None,
    }
}

fn spec(arguments: &PointArguments, job: &Path, target: &str) -> Result<SweepSpec, Failure> {
    let name = job.file_name().unwrap_or(job.as_os_str());
    Ok(SweepSpec {
        target: target.to_string(),
        host: only(&arguments.host),
        precondition: only(&arguments.precondition)
            .map_or(Ok(Precondition::None), |text| text.parse())
            .map_err(Failure::usage)?,
        job_file: job.display().to_string(),
        job_name: name.to_string_lossy().into_owned(),
        job_text: input::text(job, "the job file")?,
        parameters: parameters(arguments)?,
        sampling: arguments.sample,
        seed: arguments.seed.first().copied().unwrap_or(1),
        seeds: arguments.seeds,
        metrics: arguments.metrics.clone(),
    })
}

fn shown(table: &SweepTable, console: &Console) -> String {
    let names = table.parameters.iter().map(|name| name.as_str());
    let metrics: Vec<String> = table
        .metrics
        .iter()
        .map(|m| {
            let arrow = match m.direction() {
                Direction::Down => " ↓",
                Direction::Up => " ↑",
                Direction::Neither => "",
            };
            match m.unit() {
                "" => format!("{m}{arrow}"),
                unit => format!("{m} ({unit}){arrow}"),
            }
        })
        .collect();
    let header: Vec<&str> = names
        .chain(metrics.iter().map(String::as_str))
        .chain([""])
        .collect();
    let mut out = console.table(&header);
    let is_short = table.rows.len() <= MOST_ROWS;
    for row in table.rows.iter().filter(|row| is_short || row.is_pareto) {
        let metrics = row.metrics.iter().map(cell);
        let mark = match (&row.failure, row.is_pareto) {
            (Some(_), _) => "failed",
            (None, true) => "*",
            (None, false) => "",
        };
        let mark = mark.to_string();
        out.add_row(
            row.values
                .iter()
                .map(|v| value(v))
                .chain(metrics)
                .chain([mark]),
        );
    }
    let count = match is_short {
        true => String::new(),
        false => format!(
            " Of {} configurations only these are shown; points.csv has all.",
            table.rows.len()
        ),
    };
    let text = format!(
        "* Pareto front: no other configuration is better in one metric and as good in all others (↓ lower, ↑ higher is better). Metrics are means over the seeds.{count}"
    );
    format!("{}\n{}", lines_of(&out), console.paragraph(&text, ""))
}

/// A sampled number with four digits; other text unchanged.
fn value(text: &str) -> String {
    match text.parse::<f64>() {
        Ok(number) if text.len() > 8 && number.is_finite() => {
            nandscope_units::number::short4(number)
        }
        _ => text.to_string(),
    }
}

fn cell(summary: &Option<Summary>) -> String {
    match summary {
        None => "–".to_string(),
        Some(s) if s.low == s.high => short(s.mean),
        Some(s) => format!("{} ±{}", short(s.mean), short((s.high - s.low) / 2.0)),
    }
}

fn page(spec: &SweepSpec, plan: &Plan, table: &SweepTable) -> Result<String, Failure> {
    let device = plan.points.first();
    let device = device.map(|p| p.about.device_source.profile.device.title.clone());
    let device = device.unwrap_or_default();
    let report = SweepReport {
        title: format!("{} on {device}", spec.job_name),
        description: format!(
            "{} configurations of {} ({}), {} points in all.",
            plan.configurations,
            device,
            spec.target,
            plan.points.len()
        ),
        parameters: table.parameters.clone(),
        metrics: table.metrics.iter().map(page_metric).collect(),
        rows: table.rows.iter().map(page_row).collect(),
        facts: vec![
            (
                "Written by".to_string(),
                concat!("nandscope ", env!("CARGO_PKG_VERSION")).to_string(),
            ),
            ("Sampling".to_string(), spec.sampling.to_string()),
            (
                "Seeds".to_string(),
                format!("{} from {}", spec.seeds, spec.seed),
            ),
            (
                "Precondition".to_string(),
                spec.precondition.describe().unwrap_or("none".to_string()),
            ),
        ],
    };
    nandscope_report::sweep::html(&report).map_err(|e| output::report_failure(&e))
}

fn page_metric(metric: &nandscope_sweep::Metric) -> SweepMetric {
    SweepMetric {
        name: metric.name.clone(),
        unit: metric.unit().to_string(),
        better: match metric.direction() {
            Direction::Down => Some("lower"),
            Direction::Up => Some("higher"),
            Direction::Neither => None,
        },
    }
}

fn page_row(row: &Row) -> SweepRow {
    SweepRow {
        values: row.values.clone(),
        metrics: row
            .metrics
            .iter()
            .map(|s| s.map(|s| [s.mean, s.low, s.high]))
            .collect(),
        is_pareto: row.is_pareto,
        note: row.failure.clone().unwrap_or_else(|| match row.points {
            (done, all) if done < all => format!("{done} of {all} points"),
            _ => String::new(),
        }),
    }
}
