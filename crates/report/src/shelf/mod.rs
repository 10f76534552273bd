//! Many drives as a site of static pages: an index with a chart of each test over all drives, the report of every
//! result, and a page that compares two drives. The pages need no server and fetch nothing but the photos beside them.

mod charts;
mod drive_page;
mod index;
mod pair;
mod ranks;
mod tests_of;

use crate::error::Result;
use crate::names::{Unique, slug};
use nandscope_files::{Access, create_folder, write_in};
use nandscope_result::ResultDocument;
use std::path::{Path, PathBuf};

pub use crate::view::around::Rank;
pub use ranks::ranks;

/// A drive of a shelf with its results, at most one of each procedure.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// Unique in the shelf; fit for a file name.
    pub name: String,
    /// What the owner of the shelf says of it.
    pub about: About,
    /// Its results, the one that is linked first first.
    pub results: Vec<ResultDocument>,
}

/// What the owner of a shelf says of a drive.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Title, in place of the title of the results.
    pub title: Option<String>,
    /// Link to a photo, relative to the index.
    pub photo: Option<String>,
    /// What the drive costs.
    pub price: Option<Price>,
    /// Notes; empty lines part paragraphs.
    pub notes: Option<String>,
}

/// An amount of money.
#[derive(Clone, Debug, PartialEq)]
pub struct Price {
    /// Units of the currency; finite and positive.
    pub amount: f64,
    /// Code or sign of the currency, such as `EUR`.
    pub currency: String,
}

impl Drive {
    /// Its title: the owner's, or else that of its first result.
    pub fn title(&self) -> &str {
        let of_result = self.results.first().map_or(&self.name, |r| &r.title);
        self.about.title.as_ref().unwrap_or(of_result)
    }

    /// Whether it is simulated, by its first result.
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
        let price = self.about.price.as_ref()?;
        let gb = self.capacity_bytes() as f64 / 1e9;
        (gb > 0.0).then(|| price.amount / gb)
    }
}

/// The name under which a result is kept where the user gives none: that of the simulated device, or the model.
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
    slug(&text)
}

/// Text as the name of a drive: lower-case letters, digits and hyphens.
pub fn name_of(text: &str) -> String {
    slug(text)
}

/// The file name, without its ending, under which a drive keeps its result of a procedure.
pub fn procedure_name(document: &ResultDocument) -> String {
    slug(&document.procedure)
}

/// Titles of the drives; those that several share have their name behind them.
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
            let pages = drive.results.iter().map(|r| names.slug(&name(r)));
            pages.map(|page| format!("drives/{page}.html")).collect()
        })
        .collect()
}

/// Writes `index.html`, `compare.html` and `drives/*.html` into `dir`, which is made where it is missing, and gives
/// the paths written, the index first. Photos are written by whoever has them.
///
/// # Errors
/// Where a page cannot be rendered or written; what was written before stays.
pub fn write_site(drives: &[Drive], dir: &Path) -> Result<Vec<PathBuf>> {
    create_folder(&dir.join("drives"))?;
    let mut written = Vec::new();
    let mut write = |name: &str, text: &str| -> Result<()> {
        write_in(dir, Path::new(name), text.as_bytes(), Access::Usual)?;
        written.push(dir.join(name));
        Ok(())
    };
    let sets = tests_of::sets(drives);
    let (titles, links) = (titles(drives), links(drives));
    write("index.html", &index::page(drives, &titles, &links, &sets)?)?;
    write("compare.html", &pair::page(drives, &titles, &links, &sets)?)?;
    for (i, drive) in drives.iter().enumerate() {
        for (j, link) in links.get(i).into_iter().flatten().enumerate() {
            let around = drive_page::around(drive, i, j, &links, &titles, &sets);
            if let Some(document) = drive.results.get(j) {
                write(link, &crate::html::render_among(document, &around)?)?;
            }
        }
    }
    Ok(written)
}

#[cfg(test)]
mod tests;
