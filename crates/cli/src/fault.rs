//! Shows faults of profiles, jobs and requirements at their place: the source line, the problem, and the remedy. The crates that
//! parse these files find the faults.

use crate::console::Console;
use crate::failure::Failure;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use nandscope_device::profile::ProfileError;
use nandscope_fitness::RequirementFault;
use nandscope_units::printable;
use nandscope_workload::job::{Fault, JobError};
use std::borrow::Cow;
use std::ops::Range;

/// More faults than this are counted, not shown.
const MOST_SHOWN: usize = 20;

/// One fault in a text.
struct Place<'a> {
    file: Cow<'a, str>,
    text: &'a str,
    span: Range<usize>,
    /// The fault belongs to no line.
    nowhere: bool,
    message: String,
    remedy: Cow<'a, str>,
}

/// Faults of a profile.
pub fn of_profile(console: &Console, text: &str, faults: &[ProfileError]) -> Failure {
    let places = faults.iter().map(|f| {
        let key = if f.key.is_empty() {
            String::new()
        } else {
            format!("{}: ", f.key)
        };
        Place {
            file: printable(&f.file),
            text,
            span: f.span.clone(),
            nowhere: f.span.is_empty() && text.is_empty(),
            message: format!("{key}{}", f.message),
            remedy: printable(&f.remedy),
        }
    });
    show(console, places, faults.len())
}

/// Faults of a requirement file.
pub fn of_requirement(console: &Console, text: &str, faults: &[RequirementFault]) -> Failure {
    let places = faults.iter().map(|f| {
        let key = match f.key.is_empty() {
            true => String::new(),
            false => format!("{}: ", f.key),
        };
        Place {
            file: printable(&f.file),
            text,
            span: f.span.clone(),
            nowhere: text.is_empty(),
            message: format!("{key}{}", f.message),
            remedy: printable(&f.remedy),
        }
    });
    show(console, places, faults.len())
}

/// Faults of a job file.
pub fn of_job(console: &Console, text: &str, error: &JobError) -> Failure {
    let places = error.faults.iter().map(|f| Place {
        file: printable(&f.file),
        text,
        span: span_in_text(text, f),
        nowhere: f.line == 0,
        message: f.message.clone(),
        remedy: printable(&f.remedy),
    });
    show(console, places, error.faults.len())
}

/// Byte range in the text: a job's fault counts bytes within its line; without a range, the whole line is meant.
fn span_in_text(text: &str, fault: &Fault) -> Range<usize> {
    let before = text
        .split_inclusive('\n')
        .take(fault.line.saturating_sub(1));
    let start: usize = before.map(str::len).sum();
    let line = text.get(start..).and_then(|rest| rest.lines().next());
    let line = line.unwrap_or_default();
    if fault.span.is_empty() || fault.span.end > line.len() {
        let indent = line.len() - line.trim_start().len();
        return start + indent..start + line.trim_end().len().max(indent);
    }
    start + fault.span.start..start + fault.span.end
}

fn show<'a>(console: &Console, places: impl Iterator<Item = Place<'a>>, count: usize) -> Failure {
    let renderer = if console.colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let mut shown: Vec<String> = places
        .take(MOST_SHOWN)
        .map(|place| one(&renderer, &place))
        .collect();
    if count > MOST_SHOWN {
        shown.push(format!("and {} more", count - MOST_SHOWN));
    }
    Failure::shown(shown.join("\n\n"))
}

fn one(renderer: &Renderer, place: &Place<'_>) -> String {
    let message = printable(&place.message);
    let title = Level::ERROR.primary_title(&*message);
    let help = (!place.remedy.is_empty()).then(|| Level::HELP.message(&*place.remedy));
    if place.nowhere || !fits(place) {
        let text = format!("{}: {message}", place.file);
        let title = Level::ERROR.primary_title(&*text);
        let mut group = annotate_snippets::Group::with_title(title);
        if let Some(help) = help {
            group = group.element(help);
        }
        return renderer.render(&[group]);
    }
    let snippet = Snippet::source(place.text)
        .path(&*place.file)
        .annotation(AnnotationKind::Primary.span(place.span.clone()));
    let mut group = title.element(snippet);
    if let Some(help) = help {
        group = group.element(help);
    }
    renderer.render(&[group])
}

/// The snippet's library counts on spans at the borders of characters.
fn fits(place: &Place<'_>) -> bool {
    place.text.get(place.span.clone()).is_some()
}
