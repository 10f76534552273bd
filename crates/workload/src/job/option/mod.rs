//! The options of fio 3.33 in one table: differences from fio, parsing of the value into a job, and writing. Parsing,
//! writing, suggestions and the tables of docs/jobs.md are derived from it.

mod accepted;
mod data;
mod ending;
mod files;
mod pace;
mod pattern;
mod refused;
mod region;
mod report;
mod trace;
mod verify;

pub use accepted::{ACCEPTED, Accepted};
pub use data::data_options;
pub use refused::{REFUSED, Refused};

use super::error::Problem;
use super::extent::Extent;
use super::model::Job;
use super::value::Value;
use nandscope_units::Nanos;

const SECOND: Nanos = Nanos::from_secs(1);
const MICROSECOND: Nanos = Nanos::from_micros(1);

/// Meaning of options that fio's manual describes completely.
pub const AS_IN_FIO: &str = "";

/// An option that takes effect.
pub struct JobOption {
    /// fio's name for it, or `nandscope_…` for an extension.
    pub name: &'static str,
    /// Additions to fio's manual, in Markdown; [`AS_IN_FIO`] for none.
    pub meaning: &'static str,
    kind: Kind,
    show: fn(&Job) -> Option<String>,
}

/// How an option's value is parsed, and the field that it sets.
enum Kind {
    Flag(fn(&mut Job, bool)),
    Count(u32, u32, fn(&mut Job, u32)),
    Number(fn(&mut Job, u64)),
    /// A time, with the unit of a number without one.
    Time(Nanos, fn(&mut Job, Nanos)),
    Extent(fn(&mut Job, Extent)),
    Text(fn(&mut Job, String)),
    /// With the form of the value, in Markdown.
    Other(&'static str, fn(&mut Job, Value<'_>) -> Result<(), Problem>),
}

const fn option(
    name: &'static str,
    meaning: &'static str,
    kind: Kind,
    show: fn(&Job) -> Option<String>,
) -> JobOption {
    JobOption {
        name,
        meaning,
        kind,
        show,
    }
}

impl JobOption {
    /// Form of the option's value, in Markdown.
    #[must_use]
    pub fn form(&self) -> String {
        match self.kind {
            Kind::Flag(_) => "`0` or `1`".to_string(),
            Kind::Count(low, u32::MAX, _) => format!("number from {low}"),
            Kind::Count(low, high, _) => format!("number from {low} to {high}"),
            Kind::Number(_) => "number".to_string(),
            Kind::Time(MICROSECOND, _) => "time (µs)".to_string(),
            Kind::Time(..) => "time (s)".to_string(),
            Kind::Extent(_) => "size or percentage".to_string(),
            Kind::Text(_) => "text".to_string(),
            Kind::Other(form, _) => form.to_string(),
        }
    }

    /// Default value of the option as text; `None` if it cannot be written.
    #[must_use]
    pub fn default(&self) -> Option<String> {
        self.show(&Job::new(""))
    }

    /// Value of the option in a job as text; `None` if it cannot be written.
    pub(crate) fn show(&self, job: &Job) -> Option<String> {
        (self.show)(job)
    }

    fn set(&self, job: &mut Job, v: Value<'_>) -> Result<(), Problem> {
        match self.kind {
            Kind::Flag(set) => set(job, v.flag()?),
            Kind::Count(low, high, set) => set(job, v.number_of(v.text()?, low..=high)?),
            Kind::Number(set) => set(job, v.number_of(v.text()?, 0..=u64::MAX)?),
            Kind::Time(unit, set) => set(job, v.time(unit)?),
            Kind::Extent(set) => set(job, v.extent()?),
            Kind::Text(set) => set(job, v.text()?.to_string()),
            Kind::Other(_, set) => set(job, v)?,
        }
        Ok(())
    }
}

/// The options that take effect, with the extensions of nandscope.
pub fn supported() -> impl Iterator<Item = &'static JobOption> {
    [
        report::OPTIONS,
        pattern::OPTIONS,
        region::OPTIONS,
        files::OPTIONS,
        pace::OPTIONS,
        ending::OPTIONS,
        data::OPTIONS,
        verify::OPTIONS,
        trace::OPTIONS,
    ]
    .into_iter()
    .flatten()
}

/// Second names of options, and their main names.
pub const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("blocksize", "bs"),
    ("blocksize_range", "bsrange"),
    ("blocksize_unaligned", "bs_unaligned"),
    ("blockalign", "ba"),
    ("io_limit", "io_size"),
    ("fileoffset", "offset"),
    ("wait_for_previous", "stonewall"),
    ("timeout", "runtime"),
    ("iodepth_batch_submit", "iodepth_batch"),
    ("iodepth_batch_complete", "iodepth_batch_complete_min"),
    ("nr_files", "nrfiles"),
    ("iomem", "mem"),
    ("ss", "steadystate"),
    ("ss_dur", "steadystate_duration"),
    ("ss_ramp", "steadystate_ramp_time"),
    ("mem_align", "iomem_align"),
    ("ratemin", "rate_min"),
    ("fill_fs", "fill_device"),
    ("disable_bw", "disable_bw_measurement"),
    ("ratecycle", "rate_cycle"),
];

/// The main name of an option.
pub(crate) fn main_name(key: &str) -> &str {
    ALIASES
        .iter()
        .find(|(alias, _)| *alias == key)
        .map_or(key, |(_, main)| main)
}

/// Sets the option `v.key` (a main name) on `job`; `written` is the name in the file.
///
/// # Errors
/// [`Problem`] if the option is unknown or refused, or its value is invalid.
pub(crate) fn set(job: &mut Job, v: Value<'_>, written: &str) -> Result<(), Problem> {
    if let Some(option) = supported().find(|option| option.name == v.key) {
        return option.set(job, v);
    }
    if let Some(group) = ACCEPTED.iter().find(|group| group.contains(v.key)) {
        return group.set(job, v);
    }
    if let Some(group) = REFUSED.iter().find(|group| group.contains(v.key)) {
        return Err(Problem::new(
            format!("option `{written}` of fio is not supported"),
            group.remedy,
        ));
    }
    let remedy = match nearest(written) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "docs/jobs.md lists the options that are supported".to_string(),
    };
    Err(Problem::new(format!("unknown option `{written}`"), remedy))
}

/// The accepted option with the spelling nearest to `key`, if it is near enough.
fn nearest(key: &str) -> Option<&'static str> {
    if key.len() > 64 {
        return None;
    }
    let allowed = (key.chars().count() / 3).clamp(1, 3);
    nandscope_units::nearest(key, accepted_names(), allowed)
        .first()
        .copied()
}

/// Names of the options that are not refused, second names included.
fn accepted_names() -> impl Iterator<Item = &'static str> {
    supported()
        .map(|option| option.name)
        .chain(ALIASES.iter().map(|alias| alias.0))
        .chain(ACCEPTED.iter().flat_map(Accepted::names))
}

/// Names of all options that are known, refused ones included.
pub(crate) fn known_names() -> impl Iterator<Item = &'static str> {
    let refused = REFUSED.iter().flat_map(Refused::names);
    accepted_names().chain(refused)
}

/// Whether an option has that name.
pub(crate) fn is_known(name: &str) -> bool {
    known_names().any(|known| known == name)
}

/// Text of a flag's value, `1` or `0`.
fn flag(on: bool) -> Option<String> {
    Some(u8::from(on).to_string())
}

/// Text of a number as an option's value.
fn number(n: impl ToString) -> Option<String> {
    Some(n.to_string())
}

/// The first word of a table with this value.
fn word_of<T: PartialEq>(words: &[(&str, T)], value: T) -> Option<String> {
    let (word, _) = words.iter().find(|(_, meaning)| *meaning == value)?;
    Some((*word).to_string())
}
