//! Measurements from the printed output of flashbench: reads of `-a`, writes of `--open-au` and `--find-fat`, and the size of
//! the allocation unit that follows from `-a`.

use crate::clues::Clues;
use crate::observation::{Cell, Direction, Figures, Interleaved, Observation, Pattern, State};
use nandscope_infer::flashbench::{Order, RecordError, median};
use nandscope_infer::probe::transcript::{DEFAULT_UNIT, Transcript, read as read_transcript};
use nandscope_infer::probe::{Question, from_flashbench};
use nandscope_units::{Bytes, SECTOR_BYTES};
use std::collections::BTreeMap;

/// Most cells of `--open-au`: each costs a run in every simulation. Long tables are thinned to every second length.
const MOST_OPEN: usize = 48;

/// Measurements of a file of flashbench.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Rates of reads and writes; flashbench prints no percentiles.
    pub observations: Vec<Observation>,
    /// Sizes of the allocation unit and of the page, if `-a` shows them.
    pub clues: Clues,
    /// Parts that are not used, with the reason.
    pub findings: Vec<String>,
}

/// Reads flashbench's output; `file` is for messages, `state` is that of the card.
///
/// # Errors
/// [`RecordError`] if no line of flashbench is found, or with the line that cannot be read.
pub fn read(file: &str, text: &str, state: State) -> Result<Recording, RecordError> {
    let all = read_transcript(file, text)?;
    let mut recording = Recording::default();
    let cells = Cells { file, state };
    cells.reads(&all, &mut recording);
    cells.writes(&all, &mut recording);
    cells.first_units(&all, &mut recording);
    let answers = from_flashbench(file, text)?;
    recording.clues.page = answers.whole_page().map(Bytes);
    recording.clues.au = answers.bytes(Question::Unit).map(Bytes);
    Ok(recording)
}

/// Makes observations of one file.
struct Cells<'a> {
    file: &'a str,
    state: State,
}

impl Cells<'_> {
    fn observation(&self, cell: Cell, what: &str, bytes_per_s: f64) -> Option<Observation> {
        let iops = bytes_per_s / cell.block.0 as f64;
        (iops.is_finite() && iops > 0.0).then(|| Observation {
            place: format!("{}, {what}", self.file),
            cell,
            figures: Figures {
                iops,
                ..Figures::default()
            },
            mb_per_s: None,
            order: None,
        })
    }

    fn cell(&self, direction: Direction, pattern: Pattern, block: u64) -> Cell {
        Cell {
            direction,
            pattern,
            block: Bytes(block),
            depth: 1,
            jobs: 1,
            read_percent: None,
            region: None,
            interleaved: None,
            state: self.state,
        }
    }

    /// Reads before and after a boundary are random reads at depth 1.
    fn reads(&self, all: &Transcript, recording: &mut Recording) {
        let mut times: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        let mut unknown = 0;
        for (row, length) in all.align.iter().zip(&all.align_lengths) {
            let Some(length) = length.filter(|length| is_block(*length)) else {
                unknown += 1;
                continue;
            };
            let both = [row.pre_us, row.post_us];
            let both = both.into_iter().filter(|us| us.is_finite() && *us > 0.0);
            times.entry(length).or_default().extend(both);
        }
        if unknown > 0 {
            recording.findings.push(format!(
                "{}: {unknown} rows of -a have no command line with --blocksize above them, so that the size of the reads is unknown; they are used for boundaries only",
                self.file
            ));
        }
        for (length, times) in times.into_iter().filter(|(_, times)| !times.is_empty()) {
            let cell = self.cell(Direction::Read, Pattern::Random, length);
            let rate = length as f64 * 1e6 / median(&times);
            recording
                .observations
                .extend(self.observation(cell, "-a", rate));
        }
    }

    /// Writes into AUs in turn. Repeated tables become repeated cells.
    fn writes(&self, all: &Transcript, recording: &mut Recording) {
        let fits = |r: &&nandscope_infer::probe::transcript::OpenRate| {
            is_block(r.length) && is_block(r.unit) && r.length <= r.unit
        };
        let usable: Vec<_> = all.open.iter().filter(fits).collect();
        let mut lengths: Vec<u64> = usable.iter().map(|r| r.length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let is_long = usable.len() > MOST_OPEN;
        for rate in usable {
            let number = lengths.binary_search(&rate.length).unwrap_or(0);
            if is_long && number % 2 == 1 {
                continue;
            }
            let pattern = match rate.order {
                Order::Linear => Pattern::Sequential,
                Order::Random => Pattern::Random,
            };
            let cell = Cell {
                interleaved: Some(Interleaved {
                    units: rate.units,
                    unit: Bytes(rate.unit),
                }),
                ..self.cell(Direction::Write, pattern, rate.length)
            };
            let found = self.observation(cell, "--open-au", rate.bytes_per_s);
            recording.observations.extend(found);
        }
    }

    /// Writes of whole AUs in order: the later ones of `--find-fat`, as the first may be treated differently.
    fn first_units(&self, all: &Transcript, recording: &mut Recording) {
        if !all.open.is_empty() {
            return;
        }
        for (length, rates) in all.fat.iter().flatten() {
            let later = rates.get(rates.len() / 2..).unwrap_or_default();
            if later.is_empty() || !is_block(*length) || *length > DEFAULT_UNIT {
                continue;
            }
            let cell = Cell {
                interleaved: Some(Interleaved {
                    units: 1,
                    unit: Bytes(DEFAULT_UNIT),
                }),
                ..self.cell(Direction::Write, Pattern::Sequential, *length)
            };
            let found = self.observation(cell, "--find-fat", median(later));
            recording.observations.extend(found);
        }
    }
}

fn is_block(bytes: u64) -> bool {
    bytes > 0 && bytes <= 1 << 30 && bytes.is_multiple_of(SECTOR_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "$ flashbench -a /dev/sdb --blocksize=1024\n\
        align 8388608\tpre 1.4ms\ton 1.8ms\tpost 1.3ms\tdiff 429µs\n\
        align 4194304\tpre 1.4ms\ton 1.8ms\tpost 1.3ms\tdiff 440µs\n\
        $ flashbench -O --erasesize=4194304 --open-au-nr=2 --random /dev/sdb\n\
        4MiB 5.15M/s\n64KiB 912K/s\n";

    #[test]
    fn reads_and_writes_in_turn_become_cells() {
        let found = read("f.txt", TEXT, State::Filled).unwrap();
        let cells: Vec<String> = found
            .observations
            .iter()
            .map(|o| format!("{}: {:.1}", o.cell, o.figures.iops))
            .collect();
        assert_eq!(
            cells,
            [
                "random read 1 KiB, QD 1, filled: 740.7",
                "random write 4 MiB, QD 1, 2 AUs of 4 MiB in turn, filled: 1.2",
                "random write 64 KiB, QD 1, 2 AUs of 4 MiB in turn, filled: 13.9",
            ]
        );
    }

    #[test]
    fn reads_of_unknown_size_are_named() {
        let text: String = TEXT.lines().skip(1).map(|l| format!("{l}\n")).collect();
        let found = read("f.txt", &text, State::Filled).unwrap();
        assert_eq!(found.observations.len(), 2);
        assert!(
            found.findings[0].contains("2 rows of -a"),
            "{:?}",
            found.findings
        );
        assert!(read("f.txt", "hello\n", State::Filled).is_err());
    }
}
