//! Recognizes the format of a trace file and reads it.

use super::builder::Builder;
use super::format::{Format, ParseOptions, ParseReport};
use super::{Trace, TraceError, blkparse, blktrace, csv, iolog, lines, nstrace};
use std::collections::BTreeMap;

impl Format {
    /// Format of a file, from its first meaningful line; `None` if no format fits.
    pub fn detect(bytes: &[u8]) -> Option<Format> {
        if nstrace::is_nstrace(bytes) {
            return Some(Format::Nstrace);
        }
        if blktrace::is_blktrace(bytes) {
            return Some(Format::Blktrace);
        }
        // The first lines only: blkparse may begin with a message, a CSV with its headings.
        lines::lines("", bytes)
            .take(16)
            .filter_map(Result::ok)
            .find_map(|line| {
                let text = line.text;
                if iolog::is_header(text) {
                    Some(Format::FioIolog)
                } else if blkparse::is_event(text) {
                    Some(Format::Blkparse)
                } else if csv::MSR.is_record(text) {
                    Some(Format::MsrCambridge)
                } else if csv::ALIBABA.is_record(text) {
                    Some(Format::Alibaba)
                } else if csv::SPC.is_record(text) {
                    Some(Format::Spc)
                } else if csv::SYSTOR.is_record(text) {
                    Some(Format::Systor)
                } else {
                    None
                }
            })
    }

    /// As [`Format::detect`], with an error for users if no format fits.
    ///
    /// # Errors
    /// Returns [`TraceError`] if no known format fits.
    pub fn detect_or_error(name: &str, bytes: &[u8]) -> Result<Format, TraceError> {
        Format::detect(bytes).ok_or_else(|| TraceError::UnknownFormat {
            file: name.to_string(),
        })
    }
}

pub(super) fn parse(
    format: Format,
    name: &str,
    bytes: &[u8],
    options: &ParseOptions,
) -> Result<(Trace, ParseReport), TraceError> {
    let mut builder = Builder::new(options);
    let timed = match format {
        Format::FioIolog => iolog::parse(name, bytes, &mut builder)?,
        Format::Blkparse => blkparse::parse(name, bytes, options.event, &mut builder)?,
        Format::Blktrace => blktrace::parse(name, bytes, options.event, &mut builder)?,
        Format::MsrCambridge => csv::MSR.parse(name, bytes, &mut builder)?,
        Format::Alibaba => csv::ALIBABA.parse(name, bytes, &mut builder)?,
        Format::Spc => csv::SPC.parse(name, bytes, &mut builder)?,
        Format::Systor => csv::SYSTOR.parse(name, bytes, &mut builder)?,
        Format::Nstrace => {
            let (_, trace) = nstrace::read(name, bytes)?;
            let report = ParseReport {
                format,
                lines: 0,
                records: trace.records().len() as u64,
                passed_over: BTreeMap::new(),
                notes: BTreeMap::new(),
                warnings: Vec::new(),
            };
            return Ok((trace, report));
        }
    };
    builder.finish(format, name, timed)
}
