//! Results of a verification as a step of the result document, and as one flat record for scripts.

use super::full::Full;
use super::left::Kept;
use super::sampling::Reading;
use super::tag::Seen;
use super::verdict::{Behaviour, Finding, Verdict};
use crate::registers::{Sign, Weight};
use nandscope_inspect::decimal_size;
use nandscope_result::{
    BlockState, Conclusion, Curve, DataColumn, DataRow, DataTable, Figure, StateCode, StepResult,
    step_id,
};
use nandscope_units::Bytes;
use serde::Serialize;
use std::collections::BTreeSet;

/// Result of a verification for scripts; sizes in bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Overall verdict.
    pub verdict: Verdict,
    /// Reasons for the verdict, one sentence each.
    pub reasons: Vec<String>,
    /// Claimed capacity.
    pub claimed_bytes: u64,
    /// Real capacity, if known exactly.
    pub real_bytes: Option<u64>,
    /// Lower limit of the real capacity.
    pub at_least_bytes: u64,
    /// Upper limit of the real capacity.
    pub at_most_bytes: u64,
    /// Behaviour past the real capacity.
    pub behaviour: Option<Behaviour>,
    /// Number of tagged blocks written.
    pub written_blocks: u32,
    /// Number of blocks written to restore the data.
    pub restored_blocks: u32,
    /// Number of blocks whose data could not be restored yet; the journal is kept.
    pub lost_blocks: u64,
    /// Whether every block was read back and has its former contents.
    pub data_restored: bool,
    /// Number of failed operations, including those of the restore.
    pub io_errors: u32,
    /// Bytes read in all passes.
    pub read_bytes: u64,
    /// Elapsed time on the device's clock, s.
    pub elapsed_s: f64,
    /// Probability of detection if 1 % of the blocks, scattered at random, lose data.
    pub detection_of_one_percent: f64,
    /// Probability of detection if 1 % of the allocation units lose data.
    pub detection_of_one_percent_of_units: f64,
    /// Number of windows read in the sampling pass.
    pub windows_read: u64,
    /// Number of blocks left tagged for a check after a power cycle.
    pub left_tagged_blocks: u64,
    /// Signs of a fake in the registers.
    #[serde(rename = "marks")]
    pub signs: Vec<Sign>,
}

/// The summary of a finding, with the verdict adjusted by signs in the registers.
pub fn summary(finding: &Finding, signs: &[Sign]) -> Summary {
    let block = finding.block_bytes as u64;
    let suspicious = signs.iter().any(|m| m.weight == Weight::Suspicious);
    let verdict = match finding.verdict() {
        Verdict::Genuine if suspicious => Verdict::Suspicious,
        _ if lost(finding) > 0 && finding.behaviour.is_none() => Verdict::Failing,
        verdict => verdict,
    };
    let mut reasons = reasons(finding);
    let suspicious_signs = signs.iter().filter(|m| m.weight == Weight::Suspicious);
    reasons.extend(suspicious_signs.map(|m| m.text.clone()));
    Summary {
        verdict,
        reasons,
        claimed_bytes: finding.blocks * block,
        real_bytes: finding.real.exact().map(|blocks| blocks * block),
        at_least_bytes: finding.real.at_least * block,
        at_most_bytes: finding.real.at_most * block,
        behaviour: finding.behaviour,
        written_blocks: finding.written,
        restored_blocks: finding.restored.written,
        lost_blocks: lost(finding),
        data_restored: finding.left.is_empty() && finding.restored.is_complete(),
        io_errors: finding.errors.all(),
        read_bytes: finding.read_bytes,
        elapsed_s: finding.elapsed.as_secs_f64(),
        detection_of_one_percent: finding.detection(0.01),
        detection_of_one_percent_of_units: finding.detection_in_units(0.01),
        windows_read: finding.sampling.windows,
        left_tagged_blocks: finding.left.len() as u64,
        signs: signs.to_vec(),
    }
}

/// Number of real blocks that do not have their former contents, or cannot be read.
fn lost(finding: &Finding) -> u64 {
    finding.restored.missing() as u64
}

/// A capacity as on labels, and to the byte.
fn exactly(capacity: u64) -> String {
    format!("{} ({capacity} bytes)", decimal_size(Bytes(capacity)))
}

fn reasons(finding: &Finding) -> Vec<String> {
    let sampling = &finding.sampling;
    let block = finding.block_bytes as u64;
    let shown = |blocks: u64| exactly(blocks * block);
    let mut reasons = Vec::new();
    if let Some(behaviour) = finding.behaviour {
        reasons.push(match behaviour {
            Behaviour::Wrap { period } => format!(
                "writes past the end alias to addresses {} lower: {} tagged blocks were found at another address",
                shown(period),
                sampling.aliases.len()
            ),
            Behaviour::Drop => "writes past the end are lost".to_string(),
            Behaviour::Stale => "reads past the end return old contents".to_string(),
            Behaviour::Cached { blocks } => format!(
                "past the end only a cache of {blocks} blocks holds data, and loses it"
            ),
            Behaviour::Errors => "past the end every operation fails".to_string(),
        });
        reasons.push(match finding.real.exact() {
            Some(real) => format!("the end is at {}", shown(real)),
            None => format!(
                "the end lies between {} and {}",
                shown(finding.real.at_least),
                shown(finding.real.at_most)
            ),
        });
    } else if !finding.errors.is_empty() {
        reasons.push(failing_operations(finding));
        if finding.keeps_nothing() {
            reasons.push(
                "no tagged block was kept: the device is write-protected, worn out or has a bad contact"
                    .to_string(),
            );
        }
    } else if !finding.tagged_before.is_empty() && sampling.is_clean() {
        reasons.push(format!(
            "{} blocks held the tag of another block before they were written: the device answers with stale contents, or blocks share their memory",
            finding.tagged_before.len()
        ));
    } else if finding.wrong_places.is_empty() && sampling.is_clean() {
        reasons.push(format!(
            "{} tagged blocks all over the device were right, and none came up elsewhere",
            sampling.readings.len()
        ));
    } else if finding.keeps_nothing() {
        reasons.push(format!(
            "not one of {} tagged blocks was kept, although every write was acknowledged: worn out or locked cards ignore writes",
            sampling.readings.len()
        ));
    } else if finding.tampers() {
        reasons.push(format!(
            "{} blocks gave other contents when they were read again, as a device does that tampers with data",
            sampling.changed.len()
        ));
    } else {
        let wrong = finding.wrong_places.len();
        reasons.push(format!(
            "{wrong} of {} tagged blocks were wrong, {} changed when they were read again; the device has good blocks at higher addresses",
            sampling.readings.len(),
            sampling.unstable.len()
        ));
        if !sampling.unreadable.is_empty() {
            reasons.push(format!(
                "{} of {} sampled places cannot be read",
                sampling.unreadable.len(),
                sampling.windows
            ));
        }
    }
    let lost = lost(finding);
    if lost > 0 {
        reasons.push(format!("the data of {lost} blocks is not restored yet"));
    } else if finding.restored.unsettled {
        reasons.push(
            "the device did not confirm that the restored data is durable (flush failed)"
                .to_string(),
        );
    }
    reasons
}

/// Failed operations show that a device or its contact fails, and say nothing about its capacity.
fn failing_operations(finding: &Finding) -> String {
    let errors = &finding.errors;
    format!(
        "{} reads, {} writes and {} flushes failed ({})",
        errors.reads,
        errors.writes,
        errors.flushes,
        errors.first.as_deref().unwrap_or("no reason given")
    )
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Genuine => "genuine",
        Verdict::Fake => "fake",
        Verdict::Failing => "failing",
        Verdict::Suspicious => "suspicious",
    }
}

/// The step of the result document for a verification.
pub fn step(finding: &Finding, summary: &Summary) -> StepResult {
    let mut verdict = Conclusion::new(
        "verify.verdict",
        "Is it what it claims to be?",
        word(summary.verdict).to_string(),
        summary.reasons.join("; "),
    );
    verdict.passed = Some(summary.verdict == Verdict::Genuine);
    let real = match summary.real_bytes {
        Some(real) => exactly(real),
        None => format!(
            "between {} and {}",
            decimal_size(Bytes(summary.at_least_bytes)),
            decimal_size(Bytes(summary.at_most_bytes))
        ),
    };
    let evidence = format!(
        "claimed: {} bytes; {} blocks of {} bytes written, {} read, in {:.1} s of the device's time",
        summary.claimed_bytes,
        finding.written,
        finding.block_bytes,
        decimal_size(Bytes(finding.read_bytes)),
        summary.elapsed_s
    );
    let sampling = &finding.sampling;
    let detection = format!(
        "an end below the claimed capacity is always detected, unless a cache holds more than {} blocks beyond it; single bad blocks by {} tagged blocks: {:.0} % if 1 % are bad, {:.0} % if 5 % are; whole bad units by {} places: {:.0} % and {:.0} %",
        sampling.places.largest_cache(),
        finding.tags(),
        100.0 * finding.detection(0.01),
        100.0 * finding.detection(0.05),
        sampling.sampled_places + 1,
        100.0 * finding.detection_in_units(0.01),
        100.0 * finding.detection_in_units(0.05)
    );
    let noticed = format!(
        "any false capacity; 5 % bad blocks (probability {})",
        probability(finding.detection(0.05))
    );
    let restored = &finding.restored;
    let data = if finding.left.is_empty() {
        format!(
            "{} blocks were saved before they were written; {} differed afterwards and were restored",
            restored.blocks, restored.written
        )
    } else {
        format!(
            "{} blocks stay tagged until they are checked after a power cycle",
            finding.left.len()
        )
    };
    let kept = match summary.lost_blocks {
        _ if !finding.left.is_empty() => "in the journal".to_string(),
        0 if !restored.is_complete() => "in the journal; not confirmed by the device".to_string(),
        0 if restored.written == 0 => "unchanged".to_string(),
        0 => "restored".to_string(),
        n => format!("{n} blocks not restored; they are in the journal"),
    };
    StepResult {
        id: step_id::VERIFY.to_string(),
        title: "Is it what it claims to be?".to_string(),
        section: "Authenticity".to_string(),
        description: "Tagged blocks are written all over the device and read back in random order. A sampling pass reads windows all over the device in search of tags of other blocks.".to_string(),
        end_s: summary.elapsed_s,
        conclusions: vec![
            verdict,
            Conclusion::new("verify.capacity", "Real capacity", real, evidence),
            Conclusion::new("verify.detection", "What would be detected", noticed, detection),
            Conclusion::new("verify.data", "The data on the device", kept, data),
        ],
        tables: tables(finding, summary),
        curves: vec![map(finding)],
        figures: figures(summary),
        ..StepResult::default()
    }
}

/// Probability in percent, at most "> 99 %".
fn probability(share: f64) -> String {
    match share {
        p if p >= 0.995 => "> 99 %".to_string(),
        p => format!("{:.0} %", 100.0 * p),
    }
}

fn figures(summary: &Summary) -> Vec<Figure> {
    let figure = |id: &str, title: &str, value: f64, unit: &str| Figure {
        id: id.to_string(),
        title: title.to_string(),
        value,
        unit: unit.to_string(),
        ..Figure::default()
    };
    let mut figures = vec![figure(
        "verify.claimed",
        "Claimed capacity",
        summary.claimed_bytes as f64 / 1e9,
        "GB",
    )];
    if let Some(real) = summary.real_bytes {
        figures.push(figure(
            "verify.real",
            "Real capacity",
            real as f64 / 1e9,
            "GB",
        ));
    }
    figures.push(figure(
        "verify.time",
        "Time of the verification",
        summary.elapsed_s,
        "s",
    ));
    figures
}

fn map(finding: &Finding) -> Curve {
    let sampling = &finding.sampling;
    let aliased: BTreeSet<u64> = sampling.aliases.iter().map(|a| a.written).collect();
    state_curve(
        &sampling.readings,
        finding.block_bytes,
        end_of(finding),
        &aliased,
    )
}

/// Real end of a device with less capacity than it claims, if known exactly.
fn end_of(finding: &Finding) -> Option<u64> {
    finding.real.exact().filter(|real| *real < finding.blocks)
}

/// Whether the device itself keeps a tag. A right tag past the end was kept by memory of a lower address, or by a cache.
fn is_kept(reading: &Reading, end: Option<u64>) -> bool {
    reading.seen.right() && end.is_none_or(|end| reading.place < end)
}

/// Number of tags below and past the end, and of right ones; `None` if the end is not known exactly.
fn by_place(finding: &Finding) -> Option<DataTable> {
    let end = end_of(finding)?;
    let row = |label: &str, wanted: &dyn Fn(u64) -> bool| {
        let readings = finding.sampling.readings.iter();
        let there: Vec<_> = readings.filter(|r| wanted(r.place)).collect();
        let right = there.iter().filter(|r| r.seen.right()).count();
        let kept = there.iter().filter(|r| is_kept(r, Some(end))).count();
        DataRow {
            label: label.to_string(),
            cells: [there.len(), right, kept].map(|n| Some(n as f64)).into(),
        }
    };
    let column = |name: &str| DataColumn {
        name: name.to_string(),
        unit: String::new(),
    };
    Some(DataTable {
        title: "Tagged blocks by place; a right one beyond the end was answered by memory of a lower address, or by a cache"
            .to_string(),
        corner: "Place".to_string(),
        columns: vec![column("tagged blocks"), column("right"), column("kept")],
        rows: vec![
            row("below the real end", &|place| place < end),
            row("beyond the real end", &|place| place >= end),
        ],
    })
}

/// Codes of the states of a block.
const GENUINE: f64 = 3.0;
const ALIASED: f64 = 2.0;
const LOST: f64 = 1.0;
const UNREADABLE: f64 = 0.0;
const CODES: [(f64, BlockState); 4] = [
    (GENUINE, BlockState::Genuine),
    (ALIASED, BlockState::Aliased),
    (LOST, BlockState::Lost),
    (UNREADABLE, BlockState::Unreadable),
];
/// Name of the curve of states, with the meaning of its values for readers of a table.
const STATES: &str = "state of the block (3 genuine, 2 aliased, 1 lost, 0 unreadable)";

/// State of a tagged block. A block is aliased if its tag was found at another address, or the tag of another block in it;
/// if tags are, a right one past the end was answered by memory of a lower address.
fn state(reading: &Reading, end: Option<u64>, aliased: &BTreeSet<u64>) -> f64 {
    let holds_other = matches!(reading.seen, Seen::Tag { place, .. } if place != reading.place);
    let answered_below = reading.seen.right() && !aliased.is_empty();
    if is_kept(reading, end) {
        GENUINE
    } else if reading.seen.failed() {
        UNREADABLE
    } else if holds_other || answered_below || aliased.contains(&reading.place) {
        ALIASED
    } else {
        LOST
    }
}

/// Curve of the states of tagged blocks by address; the threshold is the real end.
fn state_curve(
    readings: &[Reading],
    block_bytes: usize,
    end: Option<u64>,
    aliased: &BTreeSet<u64>,
) -> Curve {
    let mut readings: Vec<_> = readings.iter().collect();
    readings.sort_by_key(|r| r.place);
    let gb = |place: u64| place as f64 * block_bytes as f64 / 1e9;
    Curve {
        name: "tagged blocks".to_string(),
        x_name: "place".to_string(),
        x_unit: "GB".to_string(),
        y_name: STATES.to_string(),
        y_unit: String::new(),
        x: readings.iter().map(|r| gb(r.place)).collect(),
        y: readings.iter().map(|r| state(r, end, aliased)).collect(),
        threshold: end.map(gb),
        states: CODES
            .map(|(value, state)| StateCode { value, state })
            .into(),
    }
}

fn tables(finding: &Finding, summary: &Summary) -> Vec<DataTable> {
    let mut tables: Vec<DataTable> = by_place(finding).into_iter().collect();
    if !finding.sampling.aliases.is_empty() {
        let names = ["written to block", "found in block", "distance"];
        let columns = names.map(|name| DataColumn {
            name: name.to_string(),
            unit: String::new(),
        });
        let rows = finding.sampling.aliases.iter().take(20).enumerate();
        tables.push(DataTable {
            title: "Tagged blocks found at another address".to_string(),
            corner: "tagged block".to_string(),
            columns: columns.into(),
            rows: rows
                .map(|(i, a)| DataRow {
                    label: (i + 1).to_string(),
                    cells: [a.written, a.found, a.written.abs_diff(a.found)]
                        .map(|n| Some(n as f64))
                        .into(),
                })
                .collect(),
        });
    }
    if !summary.signs.is_empty() {
        tables.push(DataTable {
            title: "Signs in the registers (1: suspicious)".to_string(),
            corner: "sign".to_string(),
            columns: vec![DataColumn {
                name: "weight".to_string(),
                unit: String::new(),
            }],
            rows: summary
                .signs
                .iter()
                .map(|m| DataRow {
                    label: m.text.clone(),
                    cells: vec![Some(f64::from(u8::from(m.weight == Weight::Suspicious)))],
                })
                .collect(),
        });
    }
    tables
}

/// Result of a check after a power cycle, for scripts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptSummary {
    /// Overall verdict.
    pub verdict: Verdict,
    /// Reasons for the verdict, one sentence each.
    pub reasons: Vec<String>,
    /// Number of tags that had been left.
    pub tagged_blocks: u64,
    /// Number of tags that were right in every reading.
    pub right: u64,
    /// Time since the tags were left, by the clock of the machine, s.
    pub left_for_s: u64,
    /// Duration of the check on the device's clock, s.
    pub elapsed_s: f64,
}

/// Summary of a check of tags that were left `left_for_s` seconds ago.
pub fn kept_summary(kept: &Kept, left_for_s: u64) -> KeptSummary {
    let right = kept.readings.iter().filter(|r| r.seen.right()).count();
    KeptSummary {
        verdict: kept.verdict(),
        reasons: kept.reasons(),
        tagged_blocks: kept.readings.len() as u64,
        right: right.saturating_sub(kept.unstable.len()) as u64,
        left_for_s,
        elapsed_s: kept.elapsed.as_secs_f64(),
    }
}

/// The step of the result document for a check after a power cycle.
pub fn kept_step(kept: &Kept, summary: &KeptSummary, block_bytes: usize) -> StepResult {
    let mut answer = Conclusion::new(
        "verify.kept.verdict",
        "Does it keep data without power?",
        word(summary.verdict).to_string(),
        format!(
            "{}; they were left {:.1} hours ago",
            summary.reasons.join("; "),
            summary.left_for_s as f64 / 3600.0
        ),
    );
    answer.passed = Some(summary.verdict == Verdict::Genuine);
    StepResult {
        id: step_id::VERIFY_KEPT.to_string(),
        title: "Does it keep data without power?".to_string(),
        section: "Authenticity".to_string(),
        description:
            "Tagged blocks that were left on the device are read again after a power cycle."
                .to_string(),
        end_s: summary.elapsed_s,
        conclusions: vec![answer],
        curves: vec![state_curve(
            &kept.readings,
            block_bytes,
            None,
            &BTreeSet::new(),
        )],
        ..StepResult::default()
    }
}

/// The step of the result document for a full write and read.
pub fn full_step(full: &Full, elapsed_s: f64) -> StepResult {
    let block = full.block_bytes as u64;
    let real = full.real_blocks() * block;
    let verdict = full.verdict();
    let mut answer = Conclusion::new(
        "verify.full.verdict",
        "Does every block keep its data?",
        word(verdict).to_string(),
        format!(
            "of {} blocks {} were right, {} held another block's data, {} had wrong bits, {} held other data, {} could not be read, {} could not be written",
            full.blocks,
            full.right,
            full.elsewhere,
            full.damaged,
            full.foreign,
            full.unreadable,
            full.refused
        ),
    );
    answer.passed = Some(verdict == Verdict::Genuine);
    let curve = |name: &str, rates: &[(u64, f64)]| Curve {
        name: name.to_string(),
        x_name: "place".to_string(),
        x_unit: "GB".to_string(),
        y_name: "speed".to_string(),
        y_unit: "MB/s".to_string(),
        x: rates.iter().map(|(at, _)| *at as f64 / 1e9).collect(),
        y: rates.iter().map(|(_, rate)| rate / 1e6).collect(),
        threshold: None,
        ..Curve::default()
    };
    StepResult {
        id: step_id::VERIFY_FULL.to_string(),
        title: "Every block written and read".to_string(),
        section: "Authenticity".to_string(),
        description: "Each block is written with a tag of its own, then each is read.".to_string(),
        end_s: elapsed_s,
        conclusions: vec![
            answer,
            Conclusion::new(
                "verify.full.capacity",
                "Real capacity",
                exactly(real),
                "blocks that held what was written to them last".to_string(),
            ),
        ],
        curves: vec![
            curve("write", &full.write_rates),
            curve("read", &full.read_rates),
        ],
        ..StepResult::default()
    }
}

impl Full {
    /// Verdict from all blocks: a fake has data of other blocks, or loses data from some address on. Errors, and a device that
    /// keeps nothing at all, do not prove a false capacity.
    pub fn verdict(&self) -> Verdict {
        let wrong = self.blocks - self.right.min(self.blocks);
        let rest = self.first_wrong.map_or(0, |first| self.blocks - first);
        let errors = self.unreadable + self.refused;
        match wrong {
            0 if self.refused == 0 => Verdict::Genuine,
            _ if self.elsewhere > 0 => Verdict::Fake,
            _ if errors == 0 && self.right > 0 && wrong * 2 > rest => Verdict::Fake,
            _ => Verdict::Failing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_has_the_state_that_its_contents_show() {
        let state = |place, seen, aliased: &[u64]| {
            let reading = Reading {
                place,
                seen,
                as_before: false,
                constant: false,
            };
            state(&reading, Some(100), &aliased.iter().copied().collect())
        };
        let other = Seen::Tag {
            place: 7,
            generation: 1,
        };
        assert_eq!(state(50, Seen::Right, &[]), GENUINE);
        assert_eq!(state(50, other, &[]), ALIASED);
        assert_eq!(state(150, Seen::Foreign, &[150]), ALIASED);
        assert_eq!(state(150, Seen::Right, &[160]), ALIASED);
        // A cache answered.
        assert_eq!(state(150, Seen::Right, &[]), LOST);
        assert_eq!(state(50, Seen::Foreign, &[]), LOST);
        assert_eq!(state(50, Seen::Damaged { bits: 1 }, &[]), LOST);
        assert_eq!(state(50, Seen::Unreadable, &[]), UNREADABLE);
        assert_eq!(state(150, Seen::Refused, &[]), UNREADABLE);
    }
}
