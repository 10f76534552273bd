//! A report as files in a folder: the page, every plot as SVG or PNG, all series in one table with an index, and in
//! Parquet. Each file appears complete or not at all. The measuring command writes the result document itself.

use crate::drawings;
use crate::error::Result;
use crate::shelf::{RankScope, among};
use crate::view::page_context::PageContext;
use crate::{columns, csv, html};
use nandscope_files::{Access, create_folder, create_folder_in, write_in};
use nandscope_result::ResultDocument;
use std::path::{Path, PathBuf};

/// Writes `report.html`, `plots/<step>-<name>.svg`, `series.csv`, `series-index.csv` and `series.parquet` into `dir`,
/// which is created if missing; returns the paths written, in order. The page ranks the drive among the simulated
/// devices of the library that are of its kind.
///
/// # Errors
/// `ReportError::Template`, `Encode` or `Draw` if something cannot be rendered; `Write` or `Folder` if it cannot be
/// written. Files written before remain.
pub fn write_all(document: &ResultDocument, dir: &Path) -> Result<Vec<PathBuf>> {
    write_among(document, &among(document, &[], RankScope::Kind), dir)
}

/// As [`write_all`], with the given ranks of the drive among others on the page ([`crate::shelf::among`]).
///
/// # Errors
/// As [`write_all`].
pub fn write_among(
    document: &ResultDocument,
    context: &PageContext,
    dir: &Path,
) -> Result<Vec<PathBuf>> {
    let mut report = Writer {
        dir,
        written: Vec::new(),
    };
    report.write("", "report.html", &html::render_among(document, context)?)?;
    let tables = csv::of_document(document);
    if !tables.index.is_empty() {
        report.write("", "series.csv", &tables.values)?;
        report.write("", "series-index.csv", &tables.index)?;
    }
    if let Some(table) = columns::of_document(document) {
        report.write_bytes("", "series.parquet", &table.parquet())?;
    }
    for drawn in drawings::all(document) {
        report.write(PLOTS, &format!("{}.svg", drawn.name), &drawn.svg()?)?;
    }
    Ok(report.written)
}

/// Folder of the plots in that of a report.
const PLOTS: &str = "plots";

/// Writes every plot of the report into `dir` as PNG, next to its SVG file; returns the paths written.
///
/// # Errors
/// As [`write_all`].
pub fn write_pictures(document: &ResultDocument, dir: &Path) -> Result<Vec<PathBuf>> {
    let mut report = Writer {
        dir,
        written: Vec::new(),
    };
    for drawn in drawings::all(document) {
        report.write_bytes(PLOTS, &format!("{}.png", drawn.name), &drawn.png()?)?;
    }
    Ok(report.written)
}

/// A report that is being written.
struct Writer<'a> {
    dir: &'a Path,
    written: Vec<PathBuf>,
}

impl Writer<'_> {
    /// Writes a file of the report, in its own folder or in the folder of this kind of files.
    ///
    /// # Errors
    /// `ReportError` if the folder cannot be made or the file not be written.
    fn write(&mut self, kind: &str, name: &str, text: &str) -> Result<()> {
        self.write_bytes(kind, name, text.as_bytes())
    }

    fn write_bytes(&mut self, kind: &str, name: &str, bytes: &[u8]) -> Result<()> {
        create_folder(self.dir)?;
        create_folder_in(self.dir, Path::new(kind))?;
        let inside = Path::new(kind).join(name);
        write_in(self.dir, &inside, bytes, Access::Usual)?;
        self.written.push(self.dir.join(inside));
        Ok(())
    }
}
