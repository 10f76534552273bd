//! Recorded traces included in the program. `traces/README.md` describes their contents and origin;
//! `scripts/record-traces.sh` records them again.

use super::{Header, Trace, TraceError, nstrace};

/// A trace of the library, still packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedTrace {
    /// The name on the command line.
    pub name: &'static str,
    /// Title for lists.
    pub title: &'static str,
    /// The recorded activity, in a sentence or two.
    pub description: &'static str,
    /// Contents of the `.nstrace` file.
    pub bytes: &'static [u8],
}

impl NamedTrace {
    /// Unpacks the trace. It takes milliseconds; keep the result.
    ///
    /// # Errors
    /// Returns [`TraceError`] if the file is damaged, which for an unmodified program cannot be.
    pub fn load(&self) -> Result<(Header, Trace), TraceError> {
        nstrace::read(self.name, self.bytes)
    }
}

macro_rules! recorded {
    ($name:literal, $title:literal, $description:literal) => {
        NamedTrace {
            name: $name,
            title: $title,
            description: $description,
            bytes: include_bytes!(concat!("../../traces/", $name, ".nstrace")),
        }
    };
}

static LIBRARY: [NamedTrace; 5] = [
    recorded!(
        "browser-start",
        "Starting Chromium cold, then once more",
        "Chromium with its libraries, fonts and a new profile on the device opens a local page and \
         saves a picture of it; then the same with everything in memory."
    ),
    recorded!(
        "database",
        "SQLite under load, write-ahead log, full synchronisation",
        "3,500 transactions of inserts and updates on a table of 400,000 customers, each made durable \
         by an fsync, with look-ups by key between them."
    ),
    recorded!(
        "package-install",
        "Installing packages with dpkg",
        "dpkg unpacks and configures twelve Debian packages from archives on the same device, with \
         its own fsyncs."
    ),
    recorded!(
        "photo-import",
        "Copying photos in and making thumbnails",
        "150 photos of 4 to 8 MB are copied onto the device; then 60 of them are read back and \
         scaled down."
    ),
    recorded!(
        "source-build",
        "Unpacking and building a source tree with cargo",
        "The archives of this project's own dependencies are unpacked and a program is built on \
         them, sources, temporary files and results on the same device."
    ),
];

/// The recorded traces, in the order of their names.
pub fn library() -> &'static [NamedTrace] {
    &LIBRARY
}

/// The trace of a name.
pub fn find(name: &str) -> Option<&'static NamedTrace> {
    LIBRARY.iter().find(|t| t.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Fit, Replay, ReplayOptions};
    use crate::{OpKind, OpSource};
    use nandscope_units::Bytes;

    #[test]
    fn every_trace_loads_and_is_what_it_says() {
        for named in library() {
            let (header, trace) = named.load().unwrap();
            assert_eq!(
                (header.name.as_str(), header.title.as_str()),
                (named.name, named.title)
            );
            let count = trace.records().len();
            assert!(
                (500..=60_000).contains(&count),
                "{}: {count} records",
                named.name
            );
            assert!(trace.is_timed() && trace.duration().as_secs_f64() < 90.0);
            let capacity = trace.capacity().expect("the recorder writes it");
            assert!(trace.extent() <= capacity, "{}", named.name);
            for kind in [OpKind::Read, OpKind::Write, OpKind::Flush] {
                assert!(trace.total(kind).0 > 0, "{}: no {kind:?}", named.name);
            }
            let aligned = |r: &crate::trace::Record| {
                r.offset.0.is_multiple_of(512) && r.length.is_multiple_of(512)
            };
            assert!(trace.records().iter().all(aligned), "{}", named.name);
        }
    }

    #[test]
    fn the_library_stays_small() {
        let bytes: usize = library().iter().map(|t| t.bytes.len()).sum();
        assert!(bytes <= 3_000_000, "{bytes} bytes");
        assert_eq!(find("database").map(|t| t.name), Some("database"));
        assert_eq!(find("no-such"), None);
    }

    #[test]
    fn every_trace_fits_a_small_card_and_a_large_one() {
        for named in library() {
            let (_, trace) = named.load().unwrap();
            for capacity in [Bytes(4_000_000_000), Bytes(512_000_000_000)] {
                let options = ReplayOptions {
                    fit: Fit::Scale,
                    ..ReplayOptions::default()
                };
                let mut replay = Replay::new(&trace, &options, capacity).unwrap();
                let mut last = 0;
                while let Some(timed) = replay.next_op() {
                    let end = timed.op.offset.0 + u64::from(timed.op.length);
                    assert!(end <= capacity.0, "{}", named.name);
                    last = last.max(end);
                }
                // Spread as recorded: not only at the start of the large card.
                let share = trace.extent().0 as f64 / 8_589_934_592.0;
                assert!(
                    last as f64 > 0.8 * share * capacity.0 as f64,
                    "{}",
                    named.name
                );
            }
        }
    }
}
