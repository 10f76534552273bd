//! Groups of drawn devices whose answers are counted apart, since probes of the like were once wrong more often than the
//! confidences said: cards behind readers, cards that share a log, and small AUs. A device may be in several groups.

use super::Drawn;
use super::calibration::Class;
use super::score::{Judged, Outcome};
use nandscope_device::profile::card::OutOfOrder;
use nandscope_infer::probe::Question;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Questions about cards that are shown by group.
const SHOWN: [Question; 6] = [
    Question::Unit,
    Question::Offset,
    Question::Page,
    Question::Fat,
    Question::OpenLinear,
    Question::OpenRandom,
];
/// AUs up to this number of pages count as small.
const SMALL_PAGES: u32 = 8;
/// Probability with which any line of the tables may fail by chance.
const BY_CHANCE: f64 = 0.05;

impl Drawn {
    /// Groups to which a card belongs; none for drives.
    pub fn groups(&self) -> Vec<&'static str> {
        let Some(card) = &self.profile.card else {
            return Vec::new();
        };
        let stages = self.host.stage.iter();
        let usb = stages
            .filter_map(|s| s.link.as_deref())
            .any(|link| link.starts_with("usb"));
        let mut groups = vec![if usb { "USB reader" } else { "slot" }];
        groups.extend(card.shared_log.as_ref().map(|log| match log.aus {
            1 => "log shared by 1 AU",
            2..=4 => "log shared by 2 to 4 AUs",
            _ => "log shared by 5 AUs or more",
        }));
        let page_kib = card.page_kib.unwrap_or(self.profile.nand.page_kib);
        let small = card.au_kib <= SMALL_PAGES * page_kib;
        if small && card.out_of_order == OutOfOrder::Map {
            groups.push("mapped AUs of up to 8 pages");
        }
        groups
    }
}

/// Answers by group, question and stated confidence in percent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Groups(BTreeMap<String, BTreeMap<String, BTreeMap<u32, Class>>>);

impl Groups {
    /// Adds the answers of a device.
    pub(super) fn add(&mut self, drawn: &Drawn, judged: &[Judged]) {
        for group in drawn.groups() {
            for one in judged.iter().filter(|j| SHOWN.contains(&j.question)) {
                if one.strength.is_none() {
                    continue;
                }
                let right = u32::from(one.outcome == Outcome::Right);
                let percent = (100.0 * one.confidence).round() as u32;
                self.class(group, one.question.id(), percent)
                    .add(Class { stated: 1, right });
            }
        }
    }

    fn class(&mut self, group: &str, question: &str, percent: u32) -> &mut Class {
        let questions = self.0.entry(group.to_string()).or_default();
        let classes = questions.entry(question.to_string()).or_default();
        classes.entry(percent).or_default()
    }

    /// Adds the counts of other devices.
    pub(super) fn join(&mut self, other: &Groups) {
        for (group, questions) in &other.0 {
            for (question, classes) in questions {
                for (percent, class) in classes {
                    self.class(group, question, *percent).add(*class);
                }
            }
        }
    }

    /// Classes of answers that are right too rarely for their confidence, in words: all classes of all groups together show one
    /// by chance with a probability of 5 %.
    pub fn overstated(&self) -> Vec<String> {
        let of_group = |(group, questions): (&String, &BTreeMap<String, BTreeMap<u32, Class>>)| {
            let lines = questions.iter().flat_map(|(question, classes)| {
                classes
                    .iter()
                    .map(move |(percent, class)| (question.clone(), *percent, *class))
            });
            lines
                .map(|(question, percent, class)| (group.clone(), question, percent, class))
                .collect::<Vec<_>>()
        };
        let lines: Vec<_> = self.0.iter().flat_map(of_group).collect();
        let least = BY_CHANCE / lines.len().max(1) as f64;
        let wrong = lines
            .into_iter()
            .filter(|(.., percent, class)| class.chance(f64::from(*percent) / 100.0) < least);
        wrong
            .map(|(group, question, percent, class)| {
                let Class { stated, right } = class;
                format!("{group}, {question} at {percent} %: {right} of {stated} right")
            })
            .collect()
    }

    /// The table of docs/inference.md: right and stated answers of each group.
    pub(super) fn markdown(&self) -> String {
        let mut text = "| cards |".to_string();
        for question in SHOWN {
            // Writing to a string cannot fail.
            let _ = write!(text, " {} |", question.id());
        }
        text.push_str(&format!("\n|---|{}\n", "---|".repeat(SHOWN.len())));
        for (group, questions) in &self.0 {
            let _ = write!(text, "| {group} |");
            for question in SHOWN {
                let mut all = Class::default();
                let classes = questions.get(question.id());
                let classes = classes.into_iter().flat_map(BTreeMap::values);
                classes.for_each(|class| all.add(*class));
                let _ = write!(text, " {}/{} |", all.right, all.stated);
            }
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_wrong_too_often_is_named() {
        let mut groups = Groups::default();
        // Behind USB readers, 229 of 248 answers about the FAT area were right at 99 %; elsewhere 797 of 800.
        *groups.class("USB reader", "fat", 99) = Class {
            stated: 248,
            right: 229,
        };
        *groups.class("slot", "fat", 99) = Class {
            stated: 800,
            right: 797,
        };
        assert_eq!(
            groups.overstated(),
            ["USB reader, fat at 99 %: 229 of 248 right"]
        );
    }
}
