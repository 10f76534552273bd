//! The plots of the report as objects that notebooks show.

use crate::error::Failure;
use nandscope_files::Access;
use nandscope_report::Drawing;
use nandscope_result::ResultDocument;
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// One plot of a report, as SVG.
#[pyclass(frozen, module = "nandscope", name = "Plot")]
#[derive(Clone, Debug)]
pub struct Plot(Drawing);

#[pymethods]
impl Plot {
    /// Name that is fit for a file.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Heading.
    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// Id of the step; `None` if the plot is about several.
    #[getter]
    fn step(&self) -> Option<&str> {
        self.0.step.as_deref()
    }

    /// The SVG document.
    #[getter]
    fn svg(&self) -> &str {
        &self.0.svg
    }

    /// Writes the SVG document into a file.
    fn save(&self, path: PathBuf) -> PyResult<()> {
        let written = nandscope_files::write(&path, self.0.svg.as_bytes(), Access::Usual);
        Ok(written.map_err(|e| Failure::File(e.to_string()))?)
    }

    fn _repr_svg_(&self) -> &str {
        &self.0.svg
    }

    fn __repr__(&self) -> String {
        format!("<nandscope.Plot {}: {}>", self.0.name, self.0.title)
    }
}

/// The plots of a result, by number or name. A notebook shows all of them.
#[pyclass(frozen, module = "nandscope", name = "Plots")]
#[derive(Debug)]
pub struct Plots(Vec<Plot>);

impl Plots {
    /// The plots of a document, or of one of its steps.
    ///
    /// # Errors
    /// `Failure` if one cannot be drawn.
    pub fn of(document: &ResultDocument, step: Option<&str>) -> Result<Self, Failure> {
        let all = nandscope_report::drawings(document).map_err(Failure::internal)?;
        let wanted = all
            .into_iter()
            .filter(|d| step.is_none() || d.step.as_deref() == step);
        Ok(Plots(wanted.map(Plot).collect()))
    }
}

/// A number or a name.
#[derive(FromPyObject)]
enum Key {
    Number(isize),
    Name(String),
}

#[pymethods]
impl Plots {
    /// Names of the plots.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.iter().map(|plot| plot.0.name.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __getitem__(&self, key: Key) -> PyResult<Plot> {
        match key {
            Key::Number(number) => {
                let count = isize::try_from(self.0.len()).unwrap_or(isize::MAX);
                let index = if number < 0 {
                    number.saturating_add(count)
                } else {
                    number
                };
                let found = usize::try_from(index).ok().and_then(|i| self.0.get(i));
                found
                    .cloned()
                    .ok_or_else(|| PyIndexError::new_err(format!("plot {number} of {count}")))
            }
            Key::Name(name) => {
                let found = self.0.iter().find(|plot| plot.0.name == name);
                found.cloned().ok_or_else(|| {
                    let names = self.names().join(", ");
                    PyKeyError::new_err(format!("there is no plot `{name}`; there are {names}"))
                })
            }
        }
    }

    fn _repr_html_(&self) -> String {
        let figures = self.0.iter();
        figures
            .map(|plot| format!("<div>{}</div>", plot.0.svg))
            .collect()
    }

    fn __repr__(&self) -> String {
        format!("<nandscope.Plots: {}>", self.names().join(", "))
    }
}
