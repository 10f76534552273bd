//! The report as one HTML file: styles, scripts and data inside, nothing fetched. Every text of the
//! document is escaped by the template; only the drawing, the plots' data and the page's own
//! assets, none of which can hold foreign markup, are set in as they are.

use crate::encode;
use crate::error::Result;
use crate::names::valid_name;
use crate::number;
use crate::view::chapter::{self, Chapter};
use crate::view::diagram::{self, Diagram};
use crate::view::long_writes::{self, LongWrites};
use crate::view::matrix::{self, Matrix};
use crate::view::notice::{self, Notice};
use crate::view::overview;
use crate::view::page_context::PageContext;
use crate::view::published::{self, PublishedRow};
use crate::view::statements::Overview;
use askama::Template;
use nandscope_result::{Figure, Parameter, ResultDocument};

/// Styles of the page, after those of the plotting library.
pub(crate) const STYLE: &str = concat!(
    include_str!("../assets/uplot/uPlot.min.css"),
    include_str!("../assets/report.css"),
    include_str!("../assets/print.css")
);
/// The plotting library, then the page's own script.
pub(crate) const SCRIPT: &str = concat!(
    include_str!("../assets/uplot/uPlot.iife.min.js"),
    "\n",
    include_str!("../assets/plots.js"),
    include_str!("../assets/export.js"),
    include_str!("../assets/print.js"),
    include_str!("../assets/page.js")
);

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    document: &'a ResultDocument,
    context: &'a PageContext,
    style: &'static str,
    script: &'static str,
    theme_script: &'static str,
    capacity: String,
    elapsed: Option<String>,
    notices: Vec<Notice>,
    notes: Vec<Notice>,
    overview: Overview,
    key_figures: Option<Matrix>,
    fill: Option<LongWritesView>,
    diagram: Option<Diagram>,
    chapters: Vec<ChapterView>,
    published: Vec<PublishedRow>,
    sources: Vec<String>,
    verb: &'static str,
    groups: Vec<(String, Vec<&'a Parameter>)>,
    reduced: bool,
}

/// Sets the theme before the first paint, so that a dark page does not flash white.
pub(crate) const THEME_SCRIPT: &str = include_str!("../assets/theme.js");

/// A chapter with the data of its plots encoded.
struct ChapterView {
    chapter: Chapter,
    data: std::collections::BTreeMap<String, String>,
}

impl ChapterView {
    /// Data of the plot with this identifier.
    fn data(&self, id: &str) -> &str {
        self.data.get(id).map_or("{}", String::as_str)
    }

    /// Heading of a part's tab.
    fn tabs(&self) -> bool {
        self.chapter.parts.len() > 1
    }
}

/// Renders a document as one self-contained page. The same document gives the same text.
///
/// # Errors
/// `ReportError::Template` or `ReportError::Encode` if the template or the data of a plot cannot be rendered.
pub fn render(document: &ResultDocument) -> Result<String> {
    render_among(document, &PageContext::default())
}

/// The page of a drive with its ranks among others.
///
/// # Errors
/// As [`render`].
pub(crate) fn render_among(document: &ResultDocument, context: &PageContext) -> Result<String> {
    let most_values = match context.index {
        Some(_) => chapter::VALUES_ON_A_SITE,
        None => chapter::VALUES_OF_A_PAGE,
    };
    let chapters = chapter::within(document, most_values);
    let reduced = chapters
        .iter()
        .flat_map(|c| &c.parts)
        .flat_map(|p| {
            p.time_lines
                .iter()
                .chain(p.steps.iter().flat_map(|s| &s.plots))
        })
        .any(|p| p.reduced());
    let published = published::rows(document);
    let sources = published::sources(&published);
    let sources = sources.into_iter().map(str::to_string).collect();
    let (notices, notes) = notice::apart(document);
    let page = Page {
        document,
        context,
        style: STYLE,
        script: SCRIPT,
        theme_script: THEME_SCRIPT,
        capacity: number::bytes(document.target.capacity_bytes),
        elapsed: document.wall.elapsed_s.map(number::duration),
        notices,
        notes,
        overview: overview::of(document, &context.ranks),
        key_figures: key_figures(document),
        fill: long_writes::of(document)
            .map(LongWritesView::new)
            .transpose()?,
        diagram: diagram::of_target(&document.target),
        chapters: chapters.into_iter().map(encoded).collect::<Result<_>>()?,
        published,
        sources,
        verb: published::verb(document),
        groups: groups(&document.target.parameters),
        reduced,
    };
    Ok(encode::for_markup(page.render()?))
}

/// The plots of the long writes with their data encoded.
struct LongWritesView {
    fill: LongWrites,
    data: std::collections::BTreeMap<String, String>,
}

impl LongWritesView {
    fn new(fill: LongWrites) -> Result<Self> {
        let mut data = std::collections::BTreeMap::new();
        for plot in [&fill.over_data, &fill.over_time] {
            data.insert(plot.id.clone(), encode::plot(plot)?);
        }
        Ok(LongWritesView { fill, data })
    }

    /// Data of the plot with this identifier.
    fn data(&self, id: &str) -> &str {
        self.data.get(id).map_or("{}", String::as_str)
    }
}

fn encoded(chapter: Chapter) -> Result<ChapterView> {
    let mut data = std::collections::BTreeMap::new();
    for part in &chapter.parts {
        for plot in part
            .time_lines
            .iter()
            .chain(part.steps.iter().flat_map(|s| &s.plots))
        {
            data.insert(plot.id.clone(), encode::plot(plot)?);
        }
    }
    Ok(ChapterView { chapter, data })
}

/// Figures of the whole document that are not in a chapter.
fn key_figures(document: &ResultDocument) -> Option<Matrix> {
    let in_steps: std::collections::BTreeSet<&str> = document
        .steps
        .iter()
        .flat_map(|s| &s.figures)
        .map(|f| f.id.as_str())
        .collect();
    let own: Vec<&Figure> = document
        .figures
        .iter()
        .filter(|f| f.id.is_empty() || !in_steps.contains(f.id.as_str()))
        .collect();
    matrix::of_figures("Key figures", &own)
}

/// Heading of the list of compared drives.
fn rivals_in_words(count: usize) -> String {
    match count {
        1 => "The other drive".to_string(),
        _ => format!("The {count} other drives"),
    }
}

/// Sentence on the number of published figures that are met.
fn met(rows: &[PublishedRow]) -> String {
    let met = rows.iter().filter(|r| r.met).count();
    format!(
        "{met} of {} figures met within their tolerances",
        rows.len()
    )
}

impl Page<'_> {
    /// True where a chapter has a chart for the first page.
    fn has_glances(&self) -> bool {
        self.chapters.iter().any(|c| c.chapter.glance.is_some())
    }

    /// Number of a source in the list beneath the table, from 1.
    fn source_number(&self, source: &str) -> String {
        let at = self.sources.iter().position(|s| s == source);
        at.map_or(String::new(), |i| format!("[{}]", i + 1))
    }
}

/// Parameters by group, in the order in which the groups first appear.
fn groups(parameters: &[Parameter]) -> Vec<(String, Vec<&Parameter>)> {
    let mut groups: Vec<(String, Vec<&Parameter>)> = Vec::new();
    for p in parameters {
        match groups.iter_mut().find(|g| g.0 == p.group) {
            Some(group) => group.1.push(p),
            None => groups.push((p.group.clone(), vec![p])),
        }
    }
    groups
}

/// Element identifier that does not clash with those of chapters and steps.
fn group_anchor(name: &str) -> String {
    valid_name(&format!("parameters {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::{Series, StepResult};

    #[test]
    fn assets_cannot_end_their_elements() {
        assert!(!SCRIPT.to_ascii_lowercase().contains("</script"));
        assert!(!THEME_SCRIPT.to_ascii_lowercase().contains("</script"));
        assert!(!STYLE.to_ascii_lowercase().contains("</style"));
    }

    #[test]
    fn control_characters_reach_no_page_and_no_plot() {
        let hostile = "a\u{1b}[2J\u{202e}\u{0}\u{7}\u{ffff}\u{85}\u{c}b";
        let mut document = crate::blank::document();
        document.title = hostile.to_string();
        document.target.model = hostile.to_string();
        document.steps.push(StepResult {
            id: "s".into(),
            title: hostile.into(),
            mode: Some(hostile.into()),
            end_s: 3.0,
            series: vec![Series {
                name: hostile.into(),
                unit: hostile.into(),
                interval_s: 1.0,
                t_s: vec![1.0, 2.0, 3.0],
                v: vec![1.0, 2.0, 3.0],
            }],
            figures: vec![Figure {
                id: "f".into(),
                title: hostile.into(),
                unit: hostile.into(),
                value: 1.0,
                ..Figure::default()
            }],
            ..StepResult::default()
        });
        let mut texts = vec![
            render(&document).unwrap(),
            crate::compare::html(&[&document, &document], &Default::default()).unwrap(),
        ];
        for plot in crate::view::step::plots_for_files(
            &document.steps[0],
            &mut crate::names::Unique::default(),
        ) {
            texts.push(crate::picture::svg(&plot, hostile).unwrap());
        }
        assert!(texts.len() > 2, "no plot");
        let allowed = |c: char| {
            c == '\n' || c == '\t' || !(c.is_control() || matches!(c, '\u{202e}' | '\u{ffff}'))
        };
        for text in texts {
            assert!(text.contains("\\u{1b}[2J\\u{202e}"), "the name is missing");
            let bad = text.char_indices().find(|(_, c)| !allowed(*c));
            assert_eq!(bad, None);
        }
        let assets = [STYLE, SCRIPT, THEME_SCRIPT];
        assert!(
            assets
                .iter()
                .all(|text| nandscope_units::printable(text) == *text)
        );
    }

    #[test]
    fn assets_fetch_nothing() {
        let own = [
            include_str!("../assets/plots.js"),
            include_str!("../assets/export.js"),
            include_str!("../assets/print.js"),
            include_str!("../assets/page.js"),
            THEME_SCRIPT,
            STYLE,
        ];
        for text in own {
            for sign in [
                "http://",
                "https://",
                "fetch(",
                "XMLHttpRequest",
                "import ",
                "@import",
                "url(",
            ] {
                assert!(!text.contains(sign), "{sign}");
            }
        }
    }
}
