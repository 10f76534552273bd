//! Many drives as a site of static pages: an index with a chart of each test over all drives, the report of every
//! result, and a page that compares two drives. The pages need no server and fetch nothing but the photos beside them.

mod among;
mod charts;
mod drive_page;
mod index;
mod index_of_speed;
mod library;
mod pair;
mod ranks;
mod tests_of;
mod unusual;

use crate::error::Result;
use crate::names::{Unique, valid_name};
use nandscope_files::{Access, create_folder, create_folder_in, write_in};
use nandscope_result::ResultDocument;
use std::path::{Path, PathBuf};

pub use crate::compare::Price;
pub use crate::view::author::{Author, Photo};
pub use crate::view::page_context::{PageContext, Rank, RankBar, Rivals, SpeedIndex, Wider};
pub use among::{RankScope, among};
pub use library::{LIBRARY_TESTS, LibraryTest, fastest_mode, library_table};

/// A drive of a shelf with its results, at most one of each procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// Unique in the shelf; fit for a file name.
    pub name: String,
    /// Description by the owner of the shelf.
    pub about: About,
    /// Results of the drive, in the order of their links.
    pub results: Vec<ResultDocument>,
}

/// Description of a drive by the owner of a shelf.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Title, in place of the title of the results.
    pub title: Option<String>,
    /// Link to a photo, relative to the index.
    pub photo: Option<String>,
    /// Price of the drive.
    pub price: Option<Price>,
    /// Notes; empty lines part paragraphs.
    pub notes: Option<String>,
    /// Texts and photo of the author of the first result's report.
    pub author: Author,
}

impl Drive {
    /// Title of the drive: the owner's, otherwise that of its first result.
    pub fn title(&self) -> &str {
        let of_result = self.results.first().map_or(&self.name, |r| &r.title);
        self.about.title.as_ref().unwrap_or(of_result)
    }

    /// Whether the drive is simulated, by its first result.
    pub fn is_simulated(&self) -> bool {
        self.results
            .first()
            .is_some_and(|r| r.target.is_simulated())
    }

    /// Addressable bytes, by its first result.
    pub fn capacity_bytes(&self) -> u64 {
        self.results.first().map_or(0, |r| r.target.capacity_bytes)
    }

    /// Price per 10^9 bytes; `None` without a price or a capacity.
    fn price_per_gb(&self) -> Option<f64> {
        self.about.price.as_ref()?.per_gb(self.capacity_bytes())
    }
}

/// Default name of a drive, from a result: that of the simulated device, or the model.
pub fn drive_name(document: &ResultDocument) -> String {
    let target = &document.target;
    let text = match target.name.strip_prefix("sim:") {
        Some(name) => {
            let file = Path::new(name).file_name().unwrap_or(name.as_ref());
            let file = file.to_string_lossy();
            file.trim_end_matches(".toml").to_string()
        }
        None if target.model.is_empty() => target.name.clone(),
        None => target.model.clone(),
    };
    valid_name(&text)
}

/// Price of the target of a result; `None` if it is not on the shelf, or has no price.
pub fn price_of(document: &ResultDocument, shelf: &[Drive]) -> Option<Price> {
    let same = |r: &ResultDocument| {
        (&r.target.name, &r.target.model) == (&document.target.name, &document.target.model)
    };
    let drive = shelf.iter().find(|d| d.results.iter().any(same))?;
    drive.about.price.clone()
}

/// Text as the name of a drive: lower-case letters, digits and hyphens.
pub fn name_of(text: &str) -> String {
    valid_name(text)
}

/// File name, without its ending, of a drive's result of a procedure.
pub fn procedure_name(document: &ResultDocument) -> String {
    valid_name(&document.procedure)
}

/// Titles of the drives; a title that several share is followed by the name.
fn titles(drives: &[Drive]) -> Vec<String> {
    let same = |drive: &Drive| drives.iter().filter(|d| d.title() == drive.title()).count() > 1;
    drives
        .iter()
        .map(|d| match same(d) {
            true => format!("{} ({})", d.title(), d.name),
            false => d.title().to_string(),
        })
        .collect()
}

/// Links to the reports of each drive, relative to the index, in the order of its results.
fn links(drives: &[Drive]) -> Vec<Vec<String>> {
    let mut names = Unique::default();
    drives
        .iter()
        .map(|drive| {
            let name = |r| format!("{} {}", drive.name, procedure_name(r));
            let pages = drive.results.iter().map(|r| names.unique(&name(r)));
            pages.map(|page| format!("drives/{page}.html")).collect()
        })
        .collect()
}

/// Link to the page of all drives.
const INDEX: &str = "index.html";
/// Link to the page that compares two drives.
const COMPARISON: &str = "compare.html";

/// Writes `index.html`, `compare.html` and `drives/*.html` into `dir`, which is created if missing. Returns the paths,
/// the index first. Each report ranks its drive among those of `scope`. Photos are written by the caller.
///
/// # Errors
/// `ReportError` if a page cannot be rendered or written; pages written before stay.
pub fn write_site(drives: &[Drive], dir: &Path, scope: RankScope) -> Result<Vec<PathBuf>> {
    create_folder(dir)?;
    create_folder_in(dir, Path::new("drives"))?;
    let (titles, links, sets) = (titles(drives), links(drives), tests_of::sets(drives));
    let mut written = Vec::new();
    let mut write = |link: &str, page: String| -> Result<()> {
        write_in(dir, Path::new(link), page.as_bytes(), Access::Usual)?;
        written.push(dir.join(link));
        Ok(())
    };
    write(INDEX, index::page(drives, &titles, &links, &sets)?)?;
    write(COMPARISON, pair::page(drives, &titles, &links, &sets)?)?;
    for (i, (drive, own)) in drives.iter().zip(&links).enumerate() {
        for (j, (document, link)) in drive.results.iter().zip(own).enumerate() {
            let context = drive_page::context(drive, (i, j), &links, &titles, &sets, scope);
            write(link, crate::html::render_among(document, &context)?)?;
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests;
