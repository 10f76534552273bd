//! Parts of a target for the files of a job file. fio makes a file for each name, and one for each clone of a job
//! without names. On one target each file is a separate part, in the order of first use and with the size that its jobs
//! request.

use super::region::{fault, share};
use crate::job::{Extent, Job, JobError, JobFile, PlacedFile, PlacedFiles};
use nandscope_units::Bytes;
use std::collections::HashMap;

/// Alignments of file starts, bytes: whole MiB, or whole pages if that does not fit.
const ALIGNMENTS: [u64; 2] = [1 << 20, 4096];
/// Maximum number of files; each takes memory.
const MOST_FILES: u64 = 1 << 22;
/// Files that a notice names.
const MOST_NAMED: usize = 4;

/// Identity of a file in fio.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum File<'a> {
    /// `filename`, after `directory`.
    Named(String),
    /// A file of a job without names: name of the job, number of the clone, number of the file.
    Own(&'a str, u32, u32),
}

/// Files used by one job: their numbers among all files, per clone if clones have separate files.
struct Uses {
    numbers: Vec<usize>,
    is_per_clone: bool,
}

/// All files in the order of their first use.
#[derive(Default)]
struct Found<'a> {
    numbers: HashMap<File<'a>, usize>,
    files: Vec<Need<'a>>,
}

/// Size that a file needs.
struct Need<'a> {
    file: File<'a>,
    /// First job that uses the file.
    job: &'a Job,
    /// Size, bytes; `None` if no job sets it.
    bytes: Option<u64>,
}

/// The jobs with a part of a target of `capacity` bytes for each of their files, and a notice about that; `None` if
/// they have at most one file, which is the target. `target` is its name: a job that names it uses all of it.
///
/// A job without `filename` has a separate file if it has a `size` or `filesize` in bytes and no offset on the target
/// (`offset`, `offset_increment`); otherwise it works on the target itself.
///
/// # Errors
/// Returns [`JobError`] if the files do not fit.
pub fn lay_out(
    file: &JobFile,
    capacity: Bytes,
    target: &str,
) -> Result<Option<(JobFile, String)>, JobError> {
    let mut found = Found::default();
    let mut uses = Vec::with_capacity(file.jobs.len());
    for job in &file.jobs {
        uses.push(found.uses_of(job, target)?);
    }
    if found.files.len() < 2 || is_one_job(&uses) {
        return Ok(None);
    }
    let places = found.places(capacity)?;
    let notice = found.notice(&places);
    let mut placed = file.clone();
    for (job, uses) in placed.jobs.iter_mut().zip(uses) {
        let Some(uses) = uses else { continue };
        let own = uses.numbers.iter().map(|number| places[*number]).collect();
        job.files.places = Some(PlacedFiles::new(own, uses.is_per_clone));
    }
    Ok(Some((placed, notice)))
}

/// Whether one job uses all files, which then divide the target.
fn is_one_job(uses: &[Option<Uses>]) -> bool {
    let mut uses = uses.iter().flatten();
    uses.next().is_none_or(|first| !first.is_per_clone) && uses.next().is_none()
}

impl<'a> Found<'a> {
    /// The files of a job; `None` if it works on the target itself.
    fn uses_of(&mut self, job: &'a Job, target: &str) -> Result<Option<Uses>, JobError> {
        let Some(names) = Names::of(job, target) else {
            return Ok(None);
        };
        let is_per_clone = names.is_per_clone() && job.numjobs > 1;
        let clones = if is_per_clone { job.numjobs } else { 1 };
        let count = job.files.count();
        if u64::from(clones) * u64::from(count) + self.files.len() as u64 > MOST_FILES {
            return Err(fault(
                job,
                "nrfiles",
                format!("the jobs use more than {MOST_FILES} files"),
                "reduce nrfiles or numjobs, or give the jobs one filename",
            ));
        }
        let mut numbers = Vec::new();
        for clone in 0..clones {
            for number in 0..count {
                let file = names.file(job, clone, number);
                // The clone with the highest end decides the size of a shared file.
                let furthest = if is_per_clone { clone } else { job.numjobs - 1 };
                numbers.push(self.add(file, job, need(job, furthest, number)));
            }
        }
        Ok(Some(Uses {
            numbers,
            is_per_clone,
        }))
    }

    fn add(&mut self, file: File<'a>, job: &'a Job, bytes: Option<u64>) -> usize {
        let next = self.files.len();
        let number = *self.numbers.entry(file.clone()).or_insert(next);
        match self.files.get_mut(number) {
            Some(known) => known.bytes = known.bytes.max(bytes),
            None => self.files.push(Need { file, job, bytes }),
        }
        number
    }

    /// The part of each file. Files without a size in any job divide the rest of the target equally.
    fn places(&self, capacity: Bytes) -> Result<Vec<PlacedFile>, JobError> {
        let known: u128 = self
            .files
            .iter()
            .filter_map(|f| f.bytes)
            .map(u128::from)
            .sum();
        let mut failed = None;
        for alignment in ALIGNMENTS {
            match self.places_at(alignment, capacity.0) {
                Ok(places) => return Ok(places),
                Err(first) => failed = Some(first),
            }
        }
        let need = failed.map_or(&self.files[0], |number| &self.files[number]);
        let key = ["filesize", "size", "filename"]
            .into_iter()
            .find(|key| need.job.origin.options.contains_key(*key));
        let wanted = Bytes(u64::try_from(known).unwrap_or(u64::MAX));
        Err(fault(
            need.job,
            key.unwrap_or("size"),
            format!(
                "the {} files of the jobs take {wanted} ({} bytes) together, each in a separate part of the target as in fio, but the target has {capacity} ({} bytes): there is no room for {}",
                self.files.len(),
                wanted.0,
                capacity.0,
                need.file.name()
            ),
            "reduce size or numjobs, or give the jobs the same filename, so that they use the same part",
        ))
    }

    /// As `places`, with files that begin at multiples of `alignment`; on failure, the number of the first file without
    /// room.
    fn places_at(&self, alignment: u64, capacity: u64) -> Result<Vec<PlacedFile>, usize> {
        let begin_after = |end: u64, bytes: u64| {
            let alignment = if bytes < alignment {
                ALIGNMENTS[1]
            } else {
                alignment
            };
            end.checked_next_multiple_of(alignment)
        };
        let sized = self.files.iter().enumerate();
        let sized = sized.filter_map(|(number, need)| Some((number, need.bytes?)));
        let mut end = 0u64;
        for (number, bytes) in sized {
            let begin = begin_after(end, bytes).ok_or(number)?;
            end = begin
                .checked_add(bytes)
                .filter(|end| *end <= capacity)
                .ok_or(number)?;
        }
        let others = self
            .files
            .iter()
            .filter(|need| need.bytes.is_none())
            .count() as u64;
        let left = capacity - end;
        let each = left.checked_div(others).unwrap_or(0);
        let each = each
            - each
                % if each < 2 * alignment {
                    ALIGNMENTS[1]
                } else {
                    alignment
                };
        let mut places = Vec::with_capacity(self.files.len());
        let mut end = 0u64;
        for (number, need) in self.files.iter().enumerate() {
            let length = need.bytes.unwrap_or(each);
            let begin = begin_after(end, length).ok_or(number)?;
            end = begin
                .checked_add(length)
                .filter(|end| *end <= capacity)
                .ok_or(number)?;
            if length == 0 {
                return Err(number);
            }
            places.push(PlacedFile {
                start: begin,
                length,
            });
        }
        Ok(places)
    }

    fn notice(&self, places: &[PlacedFile]) -> String {
        let named = self.files.iter().zip(places).take(MOST_NAMED);
        let mut named: Vec<String> = named
            .map(|(need, place)| {
                format!(
                    "{} from {} ({})",
                    need.file.name(),
                    Bytes(place.start),
                    Bytes(place.length)
                )
            })
            .collect();
        if places.len() > MOST_NAMED {
            named.push(format!("and {} more", places.len() - MOST_NAMED));
        }
        format!(
            "the jobs use {} files, and each uses a separate part of the target, as in fio: {}. Jobs with the same `filename` use the same part",
            places.len(),
            named.join(", ")
        )
    }
}

impl File<'_> {
    /// fio's name of the file.
    fn name(&self) -> String {
        match self {
            File::Named(name) => name.clone(),
            File::Own(job, clone, number) => format!("{job}.{clone}.{number}"),
        }
    }
}

/// Bytes that a file must have for a clone; `None` if the job does not set its size.
fn need(job: &Job, clone: u32, number: u32) -> Option<u64> {
    if let Some(largest) = job.files.largest() {
        return Some(largest);
    }
    let (Extent::Bytes(offset), Extent::Bytes(increment)) = (job.offset, job.offset_increment)
    else {
        return None;
    };
    let block = u64::from(job.min_block().max(1));
    let Some(Extent::Bytes(size)) = share(job, number.into(), block) else {
        return None;
    };
    let before = increment.0.saturating_mul(clone.into());
    Some(
        offset
            .0
            .saturating_add(before)
            .saturating_add(size.0)
            .max(block),
    )
}

/// Names of the files of a job.
struct Names {
    /// Names in `filename`; empty if the job has none.
    given: Vec<String>,
    /// `filename_format`, if it differs from fio's default.
    format: Option<String>,
    /// Folders in `directory`, with a slash at the end; clones use them in rotation.
    folders: Vec<String>,
}

impl Names {
    /// `None` if the job works on the target itself.
    fn of(job: &Job, target: &str) -> Option<Names> {
        let is_of_device = job.files.number == 1 && job.name.starts_with("/dev/");
        let mut given = job.files.list();
        if given.is_empty() && is_of_device {
            given.push(job.name.clone());
        }
        let is_sized = job.files.largest().is_some() || matches!(job.size, Some(Extent::Bytes(_)));
        let is_placed = job.offset != Extent::ZERO || job.offset_increment != Extent::ZERO;
        let option = |key: &str| job.without_effect.get(key).filter(|text| !text.is_empty());
        let is_targets = given.iter().any(|name| is_same(name, target));
        if job.trace.is_some() || is_targets || (given.is_empty() && (!is_sized || is_placed)) {
            return None;
        }
        let folders = option("directory").map_or_else(Vec::new, |text| {
            let folders = text.split(':').filter(|folder| !folder.is_empty());
            folders
                .map(|folder| format!("{}/", folder.trim_end_matches('/')))
                .collect()
        });
        let format = option("filename_format").cloned();
        Some(Names {
            given,
            format,
            folders,
        })
    }

    fn is_per_clone(&self) -> bool {
        self.given.is_empty() || self.folders.len() > 1
    }

    fn file<'a>(&self, job: &'a Job, clone: u32, number: u32) -> File<'a> {
        let folder = self.folders.get(clone as usize % self.folders.len().max(1));
        let name = match (self.given.get(number as usize), &self.format) {
            (Some(name), _) => name.clone(),
            (None, Some(format)) => format
                .replace("$jobname", &job.name)
                .replace("$jobnum", &clone.to_string())
                .replace("$filenum", &number.to_string()),
            (None, None) if folder.is_none() => return File::Own(&job.name, clone, number),
            (None, None) => format!("{}.{clone}.{number}", job.name),
        };
        File::Named(format!("{}{name}", folder.map_or("", String::as_str)))
    }
}

/// Whether a file name of a job is that of the target.
fn is_same(name: &str, target: &str) -> bool {
    let plain = |name: &str| name.trim_start_matches("./").to_string();
    plain(name) == plain(target)
}
