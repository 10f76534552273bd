//! From the text of a requirement file to a [`Requirement`], with every fault at its place.

use super::check;
use super::fault::{Faults, RequirementFault};
use super::quantity::{self, WrittenRate};
use super::{Area, Deadline, Direction, FORMAT, Pattern, Requirement, Stream, Sync};
use nandscope_units::Bytes;
use serde::Deserialize;
use toml::Spanned;

/// A text and its place.
type Text = Spanned<String>;

/// The tables as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    format: Spanned<i64>,
    title: Text,
    pub(super) years: Option<Spanned<f64>>,
    pub(super) hours_per_day: Option<Spanned<f64>>,
    pub(super) temperature_c: Option<Spanned<Vec<f64>>>,
    power_cuts: Option<bool>,
    radiation: Option<Text>,
    vibration: Option<Text>,
    humidity: Option<Text>,
    #[serde(default)]
    pub(super) stream: Vec<Spanned<WrittenStream>>,
}

/// A `[[stream]]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenStream {
    pub(super) name: Text,
    pub(super) direction: Option<Text>,
    pub(super) rate: Text,
    pub(super) block: Text,
    pub(super) pattern: Text,
    pub(super) area: Option<Text>,
    pub(super) depth: Option<Spanned<i64>>,
    pub(super) sync: Option<Text>,
    pub(super) deadline: Option<Text>,
    pub(super) deadline_share: Option<Text>,
    pub(super) buffer: Option<Text>,
    pub(super) loss: Option<Text>,
}

/// Reads a requirement file; `file` is its name in messages.
///
/// # Errors
/// All faults: syntax and unknown keys (the first), or all values that are impossible by themselves or together.
pub fn parse(file: &str, text: &str) -> Result<Requirement, Vec<RequirementFault>> {
    let mut faults = Faults::new(file, text);
    let written: Written = match toml::from_str(text) {
        Ok(written) => written,
        Err(error) => {
            faults.syntax(&error);
            return Err(faults.all);
        }
    };
    if *written.format.get_ref() != i64::from(FORMAT) {
        faults.add(
            written.format.span(),
            "format",
            format!("this build reads format {FORMAT}"),
            "write `format = 1`",
        );
    }
    let mut streams = Vec::new();
    for stream in &written.stream {
        streams.extend(stream_of(stream.get_ref(), &mut faults));
    }
    let requirement = Requirement {
        title: written.title.get_ref().clone(),
        years: written.years.as_ref().map(|y| *y.get_ref()),
        hours_per_day: written
            .hours_per_day
            .as_ref()
            .map_or(24.0, |h| *h.get_ref()),
        temperature_c: written
            .temperature_c
            .as_ref()
            .and_then(|t| match t.get_ref()[..] {
                [low, high] => Some((low, high)),
                _ => None,
            }),
        power_cuts: written.power_cuts.unwrap_or(false),
        beyond: beyond(&written),
        streams,
    };
    check::whole(&written, &mut faults);
    match faults.all.is_empty() {
        true => Ok(requirement),
        false => Err(faults.all),
    }
}

/// The conditions that no model here describes.
fn beyond(written: &Written) -> Vec<(String, String)> {
    let all = [
        ("radiation", &written.radiation),
        ("vibration", &written.vibration),
        ("humidity", &written.humidity),
    ];
    let given = all.into_iter().filter_map(|(key, text)| {
        let text = text.as_ref()?;
        Some((key.to_string(), text.get_ref().clone()))
    });
    given.collect()
}

/// Reads one quantity; a fault is noted and gives `None`.
fn read<T>(
    text: &Text,
    key: &str,
    name: &str,
    faults: &mut Faults<'_>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    match parse(text.get_ref()) {
        Ok(value) => Some(value),
        Err(message) => {
            let key = format!("stream.{name}.{key}");
            faults.add(text.span(), &key, message, "correct the value");
            None
        }
    }
}

/// One of two words.
fn word<T: Copy>(choices: [(&'static str, T); 2]) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let found = choices.iter().find(|(word, _)| *word == text);
        let [(a, _), (b, _)] = choices;
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("`{text}` is unknown: write \"{a}\" or \"{b}\""))
    }
}

/// The stream, if each of its values can be read.
fn stream_of(w: &WrittenStream, faults: &mut Faults<'_>) -> Option<Stream> {
    let name = w.name.get_ref().as_str();
    let before = faults.all.len();
    let block = read(&w.block, "block", name, faults, quantity::size);
    let rate = read(&w.rate, "rate", name, faults, quantity::rate);
    let directions = [("write", Direction::Write), ("read", Direction::Read)];
    let patterns = [
        ("sequential", Pattern::Sequential),
        ("random", Pattern::Random),
    ];
    let direction = match &w.direction {
        Some(text) => read(text, "direction", name, faults, word(directions)),
        None => Some(Direction::Write),
    };
    let pattern = read(&w.pattern, "pattern", name, faults, word(patterns));
    let area = match &w.area {
        Some(text) => read(text, "area", name, faults, quantity::area),
        None => Some(Area::Rest),
    };
    let sync = match &w.sync {
        Some(text) => read(text, "sync", name, faults, quantity::sync),
        None => Some(Sync::Never),
    };
    let deadline = w.deadline.as_ref();
    let deadline = deadline.and_then(|t| read(t, "deadline", name, faults, quantity::time));
    let share = w.deadline_share.as_ref();
    let share = share.and_then(|t| read(t, "deadline_share", name, faults, quantity::share));
    let buffer = w.buffer.as_ref();
    let buffer = buffer.and_then(|t| read(t, "buffer", name, faults, quantity::size));
    let loss = w.loss.as_ref();
    let loss = loss.and_then(|t| read(t, "loss", name, faults, quantity::share));
    let stream = Stream {
        name: name.to_string(),
        direction: direction?,
        blocks_per_s: match rate? {
            WrittenRate::Blocks(blocks) => blocks,
            WrittenRate::Bytes(bytes) => bytes / block?.0 as f64,
        },
        block: block.unwrap_or(Bytes(512)),
        pattern: pattern?,
        area: area?,
        depth: w
            .depth
            .as_ref()
            .map_or(1, |d| u32::try_from(*d.get_ref()).unwrap_or(0)),
        sync: sync?,
        deadline: deadline.map(|time| Deadline {
            time,
            share: share.unwrap_or(1.0),
        }),
        buffer,
        loss: loss.unwrap_or(0.0),
    };
    if faults.all.len() > before {
        return None;
    }
    check::stream(w, &stream, faults);
    Some(stream)
}
