//! The plots of a document as SVG texts with names that are fit for files.

use crate::error::Result;
use crate::names::Unique;
use crate::view::{chapter, fill};
use crate::{svg, svg_bars};
use nandscope_result::{ResultDocument, StepResult};

/// A plot, drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawing {
    /// Unique among the drawings of a document, fit for a file name.
    pub name: String,
    /// Heading, with the step or chapter.
    pub title: String,
    /// Id of the step; `None` if it is about several.
    pub step: Option<String>,
    /// The SVG document.
    pub svg: String,
}

/// All plots of a document: those of the steps in their order, then those about several steps.
///
/// # Errors
/// If the drawing library fails.
pub fn drawings(document: &ResultDocument) -> Result<Vec<Drawing>> {
    let mut names = Unique::default();
    let mut all = of_steps(document, &mut names)?;
    all.extend(overviews(document, &mut names)?);
    Ok(all)
}

/// The plots of the steps.
pub(crate) fn of_steps(document: &ResultDocument, names: &mut Unique) -> Result<Vec<Drawing>> {
    let mut drawings = Vec::new();
    for step in &document.steps {
        for plot in chapter::plots_for_files(step, names) {
            let title = format!("{}: {}", heading(step), plot.title);
            drawings.push(Drawing {
                svg: svg::plot(&plot, &title)?,
                name: plot.id,
                title,
                step: Some(step.id.clone()),
            });
        }
    }
    Ok(drawings)
}

/// The drawings that belong to no single step: the long writes, and the bars of every chapter.
pub(crate) fn overviews(document: &ResultDocument, names: &mut Unique) -> Result<Vec<Drawing>> {
    let mut drawings = Vec::new();
    let mut add = |name: String, title: String, svg: String| {
        drawings.push(Drawing {
            name,
            title,
            step: None,
            svg,
        });
    };
    if let Some(fill) = fill::of(document) {
        for plot in [&fill.over_data, &fill.over_time] {
            let svg = svg::plot(plot, &plot.title)?;
            add(names.slug(&plot.id), plot.title.clone(), svg);
        }
    }
    for chapter in chapter::all(document) {
        for chart in chapter.glance.iter().chain(&chapter.charts) {
            let title = format!("{}: {}", chapter.title, chart.title);
            let name = names.slug(&format!("{} {} {}", chapter.title, chart.title, chart.unit));
            let svg = svg_bars::chart(chart, &title)?;
            add(name, title, svg);
        }
    }
    Ok(drawings)
}

fn heading(step: &StepResult) -> String {
    match &step.mode {
        Some(mode) => format!("{}, {mode}", step.title),
        None => step.title.clone(),
    }
}
