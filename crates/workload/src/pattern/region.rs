//! Region of the target in which a clone of a job works: converts sizes and percentages to bytes.

use super::Random;
use crate::job::{Extent, Fault, Files, Job, JobError, PlacedFile};
use nandscope_units::Bytes;

/// A clone's part of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Offset of the first byte.
    pub start: u64,
    /// Length, bytes.
    pub length: u64,
    /// Bytes to transfer in one pass: `size`.
    pub size: u64,
    /// Bytes to transfer in one run: `io_size`, or `size`.
    pub budget: u64,
}

impl Region {
    /// Region of clone number `clone` on a target of `capacity` bytes. With several files, it extends from the start of
    /// the first to the end of the last.
    ///
    /// # Errors
    /// Returns [`JobError`] if the job reaches beyond the target, or not one block fits.
    pub fn of(job: &Job, clone: u32, capacity: Bytes) -> Result<Region, JobError> {
        if job.files.count() < 2 && job.files.places.is_none() {
            return one(job, clone, capacity);
        }
        let mut random = Random::new(0, &[]);
        let mut files = Region::of_files(job, clone, capacity, &mut random)?;
        if let [(only, _)] = files[..] {
            return Ok(only);
        }
        files.sort_by_key(|(region, _)| region.start);
        let (first, last) = (files[0].0, files[files.len() - 1].0);
        Ok(Region {
            start: first.start,
            length: last.start + job.files.largest().unwrap_or(last.length) - first.start,
            size: Region::pass(job, &files),
            budget: Region::budget(job, &files),
        })
    }

    /// Parts of the target in which a clone works, in order: one, unless other files lie between its own.
    ///
    /// # Errors
    /// As [`Region::of`].
    pub fn parts(job: &Job, clone: u32, capacity: Bytes) -> Result<Vec<Region>, JobError> {
        if job.files.count() < 2 || job.files.places.is_none() {
            return Region::of(job, clone, capacity).map(|region| vec![region]);
        }
        let files = Region::of_files(job, clone, capacity, &mut Random::new(0, &[]))?;
        let mut regions: Vec<Region> = files.into_iter().map(|(region, _)| region).collect();
        regions.sort_by_key(|region| region.start);
        Ok(regions)
    }

    /// The regions of the files of a clone, each with the bytes from its start to the end of its
    /// file (or of the target); `random` draws their sizes where the job gives a range.
    ///
    /// # Errors
    /// As [`Region::of`].
    pub(super) fn of_files(
        job: &Job,
        clone: u32,
        capacity: Bytes,
        random: &mut Random,
    ) -> Result<Vec<(Region, u64)>, JobError> {
        let count = u64::from(job.files.count());
        let block = u64::from(job.min_block().max(1));
        if let Some(places) = &job.files.places {
            let places = places.of_clone(clone, job.files.count());
            let files = places.iter().zip(0..);
            let files = files.map(|(place, number)| placed(job, clone, number, *place, random));
            return files.collect();
        }
        if count < 2 {
            let region = one(job, clone, capacity)?;
            return Ok(vec![(region, capacity.0 - region.start)]);
        }
        let pitch = pitch(job, capacity.0, block);
        if pitch.saturating_mul(count) > capacity.0 {
            return Err(fault(
                job,
                "nrfiles",
                format!(
                    "job `{}` has {count} files of {pitch} bytes, but the target has {} ({} bytes)",
                    job.name, capacity, capacity.0
                ),
                "reduce nrfiles, filesize or size",
            ));
        }
        let mut files = Vec::new();
        for number in 0..count {
            let place = PlacedFile {
                start: number * pitch,
                length: pitch,
            };
            files.push(placed(job, clone, number, place, random)?);
        }
        Ok(files)
    }

    /// Bytes to transfer in one pass over these regions.
    pub(super) fn pass(job: &Job, files: &[(Region, u64)]) -> u64 {
        let total = files.iter().map(|(region, _)| region.length).sum::<u64>();
        if files.len() < 2 {
            return files.first().map_or(total, |(region, _)| region.size);
        }
        match job.size {
            Some(Extent::Bytes(size)) => size.0.min(total),
            _ => total,
        }
    }

    /// Bytes to transfer in one run over these regions.
    pub(super) fn budget(job: &Job, files: &[(Region, u64)]) -> u64 {
        let size = Region::pass(job, files);
        job.io_size.map_or(size, |amount| amount.of(size))
    }
}

/// The region of one of a job's files, and the bytes from its start to the end of the file.
fn placed(
    job: &Job,
    clone: u32,
    number: u64,
    place: PlacedFile,
    random: &mut Random,
) -> Result<(Region, u64), JobError> {
    let (mut region, size) = match job.files.count() {
        0 | 1 => (one(job, clone, Bytes(place.length))?, None),
        _ => {
            let block = u64::from(job.min_block().max(1));
            let size = job.files.draw_size(block, random);
            let single = Job {
                files: Files::of_size(size),
                size: share(job, number, block),
                ..job.clone()
            };
            (one(&single, clone, Bytes(place.length))?, size)
        }
    };
    let end = size
        .unwrap_or(place.length)
        .max(region.start + region.length)
        - region.start;
    region.start += place.start;
    Ok((region, end))
}

/// Distance between the starts of two successive files, bytes.
fn pitch(job: &Job, capacity: u64, block: u64) -> u64 {
    if let Some(size) = job.files.largest() {
        return size;
    }
    let count = u64::from(job.files.count());
    let even = capacity / count / block * block;
    let (Some(Extent::Bytes(size)), Extent::Bytes(offset), Extent::Bytes(increment)) =
        (job.size, job.offset, job.offset_increment)
    else {
        return even;
    };
    let before = offset.0
        + increment
            .0
            .saturating_mul(u64::from(job.numjobs.saturating_sub(1)));
    let whole = before.saturating_add(size.0.div_ceil(count));
    whole.div_ceil(block).saturating_mul(block)
}

/// The part of `size` that a file has. As in fio, blocks that do not divide evenly go to the first files.
pub(super) fn share(job: &Job, number: u64, block: u64) -> Option<Extent> {
    let Some(Extent::Bytes(size)) = job.size else {
        return job.size;
    };
    if job.files.largest().is_some() {
        return None;
    }
    let count = u64::from(job.files.count());
    let each = size.0 / count;
    let extra = (size.0 - each * count) / block;
    Some(Extent::Bytes(Bytes(
        each + if number < extra { block } else { 0 },
    )))
}

/// The region of a clone of a job without further files.
fn one(job: &Job, clone: u32, capacity: Bytes) -> Result<Region, JobError> {
    let capacity = capacity.0;
    let block = u64::from(job.min_block().max(1));
    let size = job.files.largest();
    if let Some(size) = size.filter(|size| *size > capacity) {
        return Err(fault(
            job,
            "filesize",
            format!(
                "job `{}` has a file of {size} bytes ({}), but the target has {} ({capacity} bytes)",
                job.name,
                Bytes(size),
                Bytes(capacity)
            ),
            "reduce filesize",
        ));
    }
    let start = start(
        job,
        clone,
        size.map_or(capacity, |size| size.min(capacity)),
        block,
    );
    if start >= u128::from(capacity) {
        return Err(fault(
            job,
            "offset",
            format!(
                "job `{}` begins at byte {start} (clone {clone}), but the target has {} ({capacity} bytes)",
                job.name,
                Bytes(capacity)
            ),
            "reduce offset, offset_increment or numjobs",
        ));
    }
    let start = start as u64;
    let rest = capacity - start;
    // As in fio, the offset belongs to the file.
    let file = size.map(|size| size.saturating_sub(start).min(rest));
    let length = match (job.size, file) {
        (None, None) => rest,
        // fio takes a percentage of the whole target, and cuts it at the end.
        (Some(size @ Extent::Percent(_)), _) => {
            let part = file.map_or_else(|| size.of(capacity).min(rest), |file| size.of(file));
            part - part % block
        }
        // As in fio, `size` in a file of a given size is only the amount.
        (_, Some(file)) => file,
        (Some(Extent::Bytes(bytes)), None) => bytes.0,
    };
    let amount = match job.size {
        Some(Extent::Bytes(bytes)) => bytes.0.min(length),
        _ => length,
    };
    if length > rest {
        return Err(fault(
            job,
            "size",
            format!(
                "job `{}` wants {length} bytes ({}) from byte {start} on, but the target has only {rest} bytes ({}) there",
                job.name,
                Bytes(length),
                Bytes(rest)
            ),
            "reduce size, or give it as a percentage such as `size=100%`",
        ));
    }
    if length < block {
        return Err(fault(
            job,
            "size",
            format!(
                "job `{}` has {length} bytes to work on, but its smallest block has {block}",
                job.name
            ),
            "enlarge size, or use smaller blocks",
        ));
    }
    Ok(Region {
        start,
        length,
        size: amount,
        budget: job.io_size.map_or(amount, |size| size.of(amount)),
    })
}

/// fio rounds a percentage up to whole blocks, and leaves a number of bytes as it is.
fn start(job: &Job, clone: u32, capacity: u64, block: u64) -> u128 {
    let increment = u128::from(clone) * u128::from(job.offset_increment.of(capacity));
    let offset = u128::from(job.offset.of(capacity)) + increment;
    let percent = |e| matches!(e, Extent::Percent(_));
    if !percent(job.offset) && !percent(job.offset_increment) {
        return offset;
    }
    let align = u128::from(job.offset_align.map_or(block, u64::from).max(1));
    offset.div_ceil(align) * align
}

/// A fault of a job that shows only once the target is known.
pub(crate) fn fault(job: &Job, key: &str, message: String, remedy: &str) -> JobError {
    let line = job
        .origin
        .options
        .get(key)
        .copied()
        .unwrap_or(job.origin.line);
    let file = match job.origin.file.as_str() {
        "" => format!("job `{}`", job.name),
        file => file.to_string(),
    };
    Fault {
        file,
        line,
        span: 0..0,
        key: key.to_string(),
        message,
        remedy: remedy.to_string(),
    }
    .into()
}
