//! The plots of a document, with names that are fit for files.

use crate::error::Result;
use crate::names::Unique;
use crate::picture;
use crate::view::bars::BarChart;
use crate::view::plot::Plot;
use crate::view::strip::{self, Strip};
use crate::view::{chapter, long_writes, step};
use nandscope_result::{ResultDocument, StepResult};

/// A plot, drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Unique among the drawings of a document, fit for a file name.
    pub name: String,
    /// Heading, with the step or chapter.
    pub title: String,
    /// Identifier of the step; `None` for a plot over several steps.
    pub step: Option<String>,
    /// The SVG document.
    pub svg: String,
}

/// Content of a drawing.
enum Content {
    Plot(Plot),
    Bars(BarChart),
    Strip(Strip),
}

/// A plot that is drawn on demand, as SVG or PNG.
pub(crate) struct Drawn {
    pub(crate) name: String,
    title: String,
    step: Option<String>,
    content: Content,
}

impl Drawn {
    /// As an SVG document.
    ///
    /// # Errors
    /// `ReportError` if the drawing library fails.
    pub(crate) fn svg(&self) -> Result<String> {
        match &self.content {
            Content::Plot(plot) => picture::svg(plot, &self.title),
            Content::Bars(chart) => picture::svg(chart, &self.title),
            Content::Strip(strip) => picture::svg(strip, &self.title),
        }
    }

    /// As a PNG file.
    ///
    /// # Errors
    /// `ReportError` if the drawing library fails.
    pub(crate) fn png(&self) -> Result<Vec<u8>> {
        match &self.content {
            Content::Plot(plot) => picture::png(plot, &self.title),
            Content::Bars(chart) => picture::png(chart, &self.title),
            Content::Strip(strip) => picture::png(strip, &self.title),
        }
    }
}

/// All plots of a document: those of the steps in their order, then those about several steps.
///
/// # Errors
/// `ReportError` if the drawing library fails.
pub fn drawings(document: &ResultDocument) -> Result<Vec<Drawing>> {
    let drawn = all(document).into_iter();
    drawn
        .map(|drawn| {
            Ok(Drawing {
                svg: drawn.svg()?,
                name: drawn.name,
                title: drawn.title,
                step: drawn.step,
            })
        })
        .collect()
}

/// All plots of a document, not yet drawn.
pub(crate) fn all(document: &ResultDocument) -> Vec<Drawn> {
    let mut names = Unique::default();
    let mut all = of_steps(document, &mut names);
    all.extend(overviews(document, &mut names));
    all
}

/// The plots of the steps.
fn of_steps(document: &ResultDocument, names: &mut Unique) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    for step in &document.steps {
        for plot in step::plots_for_files(step, names) {
            drawn.push(Drawn {
                name: plot.id.clone(),
                title: format!("{}: {}", heading(step), plot.title),
                step: Some(step.id.clone()),
                content: Content::Plot(plot),
            });
        }
        for strip in strip::of_step(step, document.target.capacity_bytes) {
            drawn.push(Drawn {
                name: names.unique(&format!("{} {}", step.id, strip::HEADING)),
                title: format!("{}: {}", strip::HEADING, heading(step)),
                step: Some(step.id.clone()),
                content: Content::Strip(strip),
            });
        }
    }
    drawn
}

/// The drawings that belong to no single step: the long writes, and the bars of every chapter.
fn overviews(document: &ResultDocument, names: &mut Unique) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    let mut add = |name: String, title: String, content: Content| {
        drawn.push(Drawn {
            name,
            title,
            step: None,
            content,
        });
    };
    if let Some(fill) = long_writes::of(document) {
        for plot in [fill.over_data, fill.over_time] {
            let (name, title) = (names.unique(&plot.id), plot.title.clone());
            add(name, title, Content::Plot(plot));
        }
    }
    for chapter in chapter::all(document) {
        for chart in chapter.glance.into_iter().chain(chapter.charts) {
            let title = format!("{}: {}", chapter.title, chart.title);
            let name = names.unique(&format!("{} {} {}", chapter.title, chart.title, chart.unit));
            add(name, title, Content::Bars(chart));
        }
    }
    drawn
}

fn heading(step: &StepResult) -> String {
    match &step.mode {
        Some(mode) => format!("{}, {mode}", step.title),
        None => step.title.clone(),
    }
}
