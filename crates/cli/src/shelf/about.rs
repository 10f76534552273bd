//! The owner's description of a drive: `drive.toml` in its folder, and the photo beside it.

use crate::failure::Failure;
use crate::photo::{KINDS, photo_kind};
use crate::{author, input, output};
use clap::Args;
use nandscope_report::shelf::{About, Author, Price};
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Name of the file in the folder of a drive.
pub const FILE: &str = "drive.toml";
/// Folder of the author's texts and photos in the folder of a drive.
const AUTHOR: &str = "author";
/// Largest photo: the pages of a site are looked at on phones.
const MOST_PHOTO_BYTES: usize = 8 << 20;
/// Options of the command line that describe a drive.
#[derive(Debug, Args)]
pub struct Options {
    /// Title of the drive [default: that of its first result]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Photo of the drive: PNG, JPEG or WebP, up to 8 MiB
    #[arg(long, value_name = "FILE")]
    photo: Option<PathBuf>,
    /// Price of the drive, such as 59.90
    #[arg(long, value_name = "AMOUNT", requires = "currency")]
    price: Option<f64>,
    /// Currency of the price, such as EUR
    #[arg(long, value_name = "CODE", requires = "price")]
    currency: Option<String>,
    /// Notes; an empty line starts a paragraph
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
    /// Include introduction.md, conclusion.md (Markdown) and the photos of this folder
    #[arg(long, value_name = "DIR")]
    author: Option<PathBuf>,
}

/// `drive.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DriveFile {
    title: Option<String>,
    photo: Option<String>,
    price: Option<f64>,
    currency: Option<String>,
    notes: Option<String>,
}

impl Options {
    /// Whether no description is given.
    pub fn is_empty(&self) -> bool {
        let texts = [&self.title, &self.currency, &self.notes];
        self.photo.is_none() && self.author.is_none() && texts.iter().all(|t| t.is_none())
    }

    /// The files and folders that are read.
    pub fn sources(&self) -> impl Iterator<Item = &PathBuf> {
        self.photo.iter().chain(&self.author)
    }

    /// Checks that the author's texts and photos can be shown.
    ///
    /// # Errors
    /// As [`author::read`].
    pub fn check_author(&self) -> Result<(), Failure> {
        self.author
            .as_deref()
            .map_or(Ok(()), |folder| author::read(folder).map(drop))
    }

    /// Bytes of the photo, and the name under which it is stored.
    ///
    /// # Errors
    /// As [`input::bytes`]; `Exit::Usage` if it is too large, or not a photo that browsers show.
    pub fn read_photo(&self) -> Result<Option<(&'static str, Vec<u8>)>, Failure> {
        if let Some(price) = self.price {
            check_price(price)?;
        }
        let Some(path) = &self.photo else {
            return Ok(None);
        };
        let bytes = input::regular(path, "the photo")?;
        match photo_kind(&bytes) {
            Some(ending) if bytes.len() <= MOST_PHOTO_BYTES => Ok(Some((ending, bytes))),
            Some(_) => Err(Failure::usage(format!(
                "the photo {} is larger than 8 MiB; scale it down",
                path.display()
            ))),
            None => Err(Failure::usage(format!(
                "{} is not a PNG, JPEG or WebP photo; convert it",
                path.display()
            ))),
        }
    }

    /// Writes `drive.toml`, keeping its values that are not given now, the photo, and the author's texts.
    ///
    /// # Errors
    /// `Exit::Usage` if the present `drive.toml` has faults; `Exit::File` if a file cannot be read or written.
    pub fn keep(
        &self,
        shelf: &Path,
        drive: &str,
        photo: Option<(&'static str, Vec<u8>)>,
    ) -> Result<(), Failure> {
        let mut file = parse(&shelf.join(drive))?;
        if let Some(texts) = &self.author {
            author::copy(texts, shelf, &Path::new(drive).join(AUTHOR))?;
        }
        if let Some((ending, bytes)) = photo {
            let name = format!("photo.{ending}");
            output::write_in(shelf, &format!("{drive}/{name}"), &bytes)?;
            file.photo = Some(name);
        }
        file.title = self.title.clone().or(file.title);
        file.price = self.price.or(file.price);
        file.currency = self.currency.clone().or(file.currency);
        file.notes = self.notes.clone().or(file.notes);
        output::write_in(shelf, &format!("{drive}/{FILE}"), file.text().as_bytes())
    }
}

impl DriveFile {
    /// The file as TOML.
    fn text(&self) -> String {
        let mut text = String::new();
        let strings = [
            ("title", &self.title),
            ("photo", &self.photo),
            ("currency", &self.currency),
            ("notes", &self.notes),
        ];
        for (key, value) in strings {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "{key} = {}", quoted(value));
            }
        }
        if let Some(price) = self.price {
            let _ = writeln!(text, "price = {price:?}");
        }
        text
    }
}

/// A basic string of TOML. The escapes are those of JSON, and DEL.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.replace('\u{7f}', "\\u007f")
}

fn check_price(price: f64) -> Result<f64, Failure> {
    match price.is_finite() && price > 0.0 {
        true => Ok(price),
        false => Err(Failure::usage(format!(
            "a price of {price} makes no sense; name a positive amount"
        ))),
    }
}

/// Reads the file with the notes in a drive's folder; without one, returns an empty `DriveFile`.
fn parse(folder: &Path) -> Result<DriveFile, Failure> {
    let path = folder.join(FILE);
    if !path.exists() {
        return Ok(DriveFile::default());
    }
    let text = input::regular_text(&path, "the notes of a drive")?;
    toml::from_str(&text).map_err(|e: toml::de::Error| {
        let before = e
            .span()
            .map_or("", |span| text.get(..span.start).unwrap_or_default());
        let line = before.matches('\n').count() + 1;
        Failure::usage(format!(
            "{}, line {line}: {}; the keys are title, photo, price, currency and notes",
            path.display(),
            e.message()
        ))
    })
}

/// Name of the photo's file, which is in the folder of the drive.
///
/// # Errors
/// `Exit::Usage` if `drive.toml` has faults.
pub fn photo_file(folder: &Path) -> Result<Option<String>, Failure> {
    Ok(parse(folder)?.photo)
}

/// Reads the description of the drive in `folder`; the photo is the name of a file in it.
///
/// # Errors
/// `Exit::File` if the file cannot be read; `Exit::Usage` if it has faults.
pub fn read(folder: &Path) -> Result<About, Failure> {
    let file = parse(folder)?;
    let fault = |text: &str| Failure::usage(format!("{}: {text}", folder.join(FILE).display()));
    let price = match (file.price, file.currency) {
        (Some(amount), Some(currency)) => Some(Price {
            amount: check_price(amount).map_err(|e| fault(&e.text))?,
            currency,
        }),
        (Some(_), None) => {
            return Err(fault("the price has no currency; add `currency = \"EUR\"`"));
        }
        (None, _) => None,
    };
    let is_photo = |name: &str| {
        let ending = name
            .rsplit_once('.')
            .map(|(stem, ending)| (stem.is_empty(), ending));
        let known =
            KINDS.iter().any(|k| ending == Some((false, k.1))) || ending == Some((false, "jpeg"));
        known && !name.contains(['/', '\\'])
    };
    if file.photo.as_deref().is_some_and(|name| !is_photo(name)) {
        return Err(fault(
            "the photo is not a file of the same folder that ends in .png, .jpg or .webp",
        ));
    }
    Ok(About {
        title: file.title,
        photo: file.photo,
        price,
        notes: file.notes,
        author: match folder.join(AUTHOR) {
            texts if texts.exists() => author::read(&texts)?,
            _ => Author::default(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let file = DriveFile {
            title: Some("A \"card\" \\ with = signs # and \u{7f} \u{1} µ".into()),
            photo: None,
            price: Some(59.9),
            currency: Some("EUR".into()),
            notes: Some("one\n\ntwo\ttabs".into()),
        };
        let read: DriveFile = toml::from_str(&file.text()).unwrap();
        assert_eq!((read.title, read.notes), (file.title, file.notes));
        assert_eq!((read.price, read.currency), (file.price, file.currency));
        assert_eq!(read.photo, None);
    }
}
