//! A measured cell as bytes, so that what was measured before an interruption need not be measured again.

use crate::access_pattern::AccessPattern;
use crate::cell::{Cell, Known};
use crate::filesystem::FileSystem;
use crate::job::Settings;
use crate::layout::Kind;
use crate::recording::Event;
use nandscope_device::Counters;
use nandscope_units::Nanos;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The fields of a [`Cell`] that its plan does not determine.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    time: Nanos,
    sync: Nanos,
    known: Known,
    pattern: AccessPattern,
    counters: Counters,
    events: Vec<Event>,
    kinds: Vec<Kind>,
    values: Vec<(String, f64)>,
    fingerprint: u32,
    took: Duration,
    messages: u64,
}

impl Cell {
    /// Serialises the measurements.
    ///
    /// # Errors
    /// `postcard::Error` if memory is insufficient.
    pub fn to_bytes(&self) -> Result<Vec<u8>, postcard::Error> {
        let kept = Kept {
            time: self.time,
            sync: self.sync,
            known: self.known,
            pattern: self.pattern.clone(),
            counters: self.counters,
            events: self.events.clone(),
            kinds: self.kinds.clone(),
            values: self.values.clone(),
            fingerprint: self.fingerprint,
            took: self.took,
            messages: self.messages,
        };
        postcard::to_stdvec(&kept)
    }

    /// Restores the cell of `fs` and `workload`, run with `settings`, from [`Cell::to_bytes`].
    ///
    /// # Errors
    /// `postcard::Error` if the bytes are invalid.
    pub fn from_bytes(
        bytes: &[u8],
        fs: FileSystem,
        workload: &str,
        settings: Settings,
    ) -> Result<Cell, postcard::Error> {
        let kept: Kept = postcard::from_bytes(bytes)?;
        Ok(Cell {
            fs,
            workload: workload.to_string(),
            settings,
            time: kept.time,
            sync: kept.sync,
            known: kept.known,
            pattern: kept.pattern,
            counters: kept.counters,
            events: kept.events,
            kinds: kept.kinds,
            values: kept.values,
            fingerprint: kept.fingerprint,
            took: kept.took,
            messages: kept.messages,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access_pattern::Window;
    use crate::cell::Card;
    use crate::document::step;
    use crate::layout::Layout;
    use nandscope_units::Bytes;
    use nandscope_workload::OpKind;

    /// Four writes in a row, each 1 ms long.
    fn cell() -> Cell {
        let events: Vec<Event> = (0..4)
            .map(|n| Event {
                kind: OpKind::Write,
                offset: n << 20,
                length: 4096,
                submitted: Nanos::from_millis(n * 2),
                completed: Nanos::from_millis(n * 2 + 1),
                done: true,
            })
            .collect();
        let window = Window {
            from: Nanos::ZERO,
            to: Nanos::from_secs(1),
        };
        let layout = Layout::default();
        let mut pattern = AccessPattern::of(window, &events, &[], &layout, Bytes::mib(4), 2);
        pattern.longest = Some(("fsync", Nanos::from_millis(7)));
        Cell {
            fs: FileSystem::Ext4,
            workload: "log".to_string(),
            settings: Settings::default(),
            time: window.length(),
            sync: Nanos::from_millis(3),
            known: Known::ALL,
            pattern,
            counters: Counters::default(),
            kinds: vec![Kind::Journal; events.len()],
            values: vec![("lines".to_string(), 0.1)],
            fingerprint: 7,
            took: Duration::from_millis(1500),
            messages: 9,
            events,
        }
    }

    #[test]
    fn a_cell_reads_back_as_it_was() {
        let cell = cell();
        let bytes = cell.to_bytes().unwrap();
        let settings = cell.settings.clone();
        let back = Cell::from_bytes(&bytes, cell.fs, "log", settings).unwrap();
        let card = Card {
            unit: Bytes::mib(4),
            open: 2,
        };
        assert_eq!(step(&back, card, 1), step(&cell, card, 1));
        assert_eq!(back.pattern.longest, cell.pattern.longest);
        assert_eq!((back.took, back.fingerprint), (cell.took, cell.fingerprint));
        // The histogram's own bounds may be rounded to its buckets; all that is made of it is in the step.
        let plain = |c: &Cell| {
            format!(
                "{:?}",
                (&c.events, &c.kinds, &c.values, &c.counters, c.messages)
            )
        };
        assert_eq!(plain(&back), plain(&cell));
    }

    #[test]
    fn bytes_of_something_else_are_refused() {
        let bytes = cell().to_bytes().unwrap();
        let read = |bytes: &[u8]| {
            Cell::from_bytes(bytes, FileSystem::Ext4, "log", Settings::default()).map(|_| ())
        };
        for length in [0, 1, bytes.len() / 2, bytes.len() - 1] {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
        assert!(read(b"a letter").is_err());
    }
}
