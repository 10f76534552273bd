//! The page of a verdict on a device and an application: the verdict, a bar of the margin of each requirement, the operation that
//! decided, and the commands. It is given texts, which the crate `cli` also prints.

use crate::encode;
use crate::error::Result;
use crate::html::{SCRIPT, STYLE, THEME_SCRIPT};
use askama::Template;

/// A verdict, in words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Qualification {
    /// Name of the application.
    pub application: String,
    /// Name of the device, with its host.
    pub device: String,
    /// The whole verdict.
    pub verdict: Met,
    /// The requirement that decides, in a sentence.
    pub decides: String,
    /// The longest operation of the stream that decides, in a sentence; may be empty.
    pub stall: String,
    /// Length and temperature of the recordings, in a sentence.
    pub circumstances: String,
    /// The requirements.
    pub findings: Vec<Line>,
    /// Heads of the table of streams, and its rows.
    pub streams: (Vec<String>, Vec<Vec<String>>),
    /// Commands that repeat the examination, and go on from it.
    pub commands: Vec<String>,
    /// Remarks and warnings.
    pub notes: Vec<String>,
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Met {
    /// The requirement is met.
    Yes,
    /// The requirement is not met.
    No,
    /// The model or the recording cannot tell.
    #[default]
    NotKnown,
}

impl Met {
    /// Class of the style.
    fn class(self) -> &'static str {
        match self {
            Met::Yes => "met",
            Met::No => "missed",
            Met::NotKnown => "tag",
        }
    }

    fn word(self) -> &'static str {
        match self {
            Met::Yes => "yes",
            Met::No => "no",
            Met::NotKnown => "not known",
        }
    }

    fn headline(self) -> &'static str {
        match self {
            Met::Yes => "Fit",
            Met::No => "Not fit",
            Met::NotKnown => "Not known",
        }
    }
}

/// One requirement.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Name of the requirement, such as `video: buffer`.
    pub requirement: String,
    /// Whether the requirement is met.
    pub met: Met,
    /// Required value.
    pub limit: String,
    /// Value found.
    pub found: String,
    /// Distance from the limit as a share of it; negative beyond it.
    pub margin: Option<f64>,
    /// State of the device that decided.
    pub state: String,
    /// Reason, and what would be met.
    pub remark: String,
}

impl Line {
    /// Left end and width of the bar, percent of the track: the limit is in the middle, the ends are 100 % from it.
    fn bar(&self) -> Option<(f64, f64)> {
        let margin = self.margin.filter(|m| m.is_finite())?.clamp(-1.0, 1.0);
        let width = margin.abs() * 50.0;
        Some((50.0 - if margin < 0.0 { width } else { 0.0 }, width))
    }

    fn percent(&self) -> String {
        match self.margin {
            Some(m) if m < -9.99 => "below -999 %".to_string(),
            Some(m) if m > 9.99 => "over 999 %".to_string(),
            Some(m) => format!("{:.0} %", m * 100.0),
            None => String::new(),
        }
    }
}

#[derive(Template)]
#[template(path = "qualification.html")]
struct Page<'a> {
    q: &'a Qualification,
    style: &'static str,
    script: &'static str,
    theme_script: &'static str,
}

/// The verdict as one self-contained page.
///
/// # Errors
/// If the template cannot be filled in.
pub fn html(qualification: &Qualification) -> Result<String> {
    let page = Page {
        q: qualification,
        style: STYLE,
        script: SCRIPT,
        theme_script: THEME_SCRIPT,
    };
    Ok(encode::for_markup(page.render()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_on_the_side_of_the_margin_and_texts_are_escaped() {
        let line = |margin| Line {
            requirement: "v: <buffer>".to_string(),
            margin: Some(margin),
            ..Line::default()
        };
        assert_eq!(line(0.5).bar(), Some((50.0, 25.0)));
        assert_eq!(line(-0.5).bar(), Some((25.0, 25.0)));
        assert_eq!(line(-80.0).bar(), Some((0.0, 50.0)));
        assert_eq!(line(f64::NAN).bar(), None);
        let page = html(&Qualification {
            findings: vec![line(0.5)],
            commands: vec!["nandscope <x>".to_string()],
            verdict: Met::No,
            ..Qualification::default()
        })
        .unwrap();
        assert!(page.contains("Not fit") && page.contains("width:25%"));
        assert!(!page.contains("<buffer>") && !page.contains("<x>"));
    }
}
