//! The questions of `probe`: name for programs, wording, and whether the answer needs writes. Other modules find the answers.

use super::confidence::{Basis, Strength, confidence};
use super::finding::{Finding, Value};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A question, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// Size of the SLC cache.
    Slc,
    /// Stalls in sequential writes.
    Stalls,
    /// Rates of sequential writes, before and after the end of an SLC cache.
    Plateaus,
    /// Whether idle time empties the SLC cache.
    SlcIdle,
    /// Whether the size of the SLC cache depends on the data that the device holds.
    SlcKind,
    /// Command overhead of a read.
    Overhead,
    /// Transfer rate of reads.
    Rate,
    /// Read-ahead of sequential reads.
    ReadAhead,
    /// Queue depth at which random reads saturate.
    Depth,
    /// Number of random reads executed at once.
    Parallelism,
    /// Size of the write buffer.
    Buffer,
    /// Number of independent dies.
    Dies,
    /// Range covered by the map cache.
    MapSpan,
    /// The page as reads show it: the smallest size at whose boundaries they take longer.
    Page,
    /// A page of several program units, smaller than the AU: reads across its boundaries take longer than across those of the
    /// smallest page.
    LargePage,
    /// Size of the allocation unit.
    Unit,
    /// Start of the first allocation unit.
    Offset,
    /// Temperature at which the device throttles.
    Throttling,
    /// Whether discards are accepted.
    Discard,
    /// Contents of a discarded block.
    DiscardReads,
    /// Number of open AUs in sequential order.
    OpenLinear,
    /// Number of open AUs in random order.
    OpenRandom,
    /// Whether the card treats some of the first AUs specially, as a FAT area.
    Fat,
    /// Whether discards restore the write rate.
    DiscardSpeed,
    /// The slowest access pattern.
    Worst,
}

impl Question {
    /// Every question, in the order of reports.
    pub const ALL: [Question; 25] = [
        Question::Slc,
        Question::Stalls,
        Question::Plateaus,
        Question::SlcIdle,
        Question::SlcKind,
        Question::Overhead,
        Question::Rate,
        Question::ReadAhead,
        Question::Depth,
        Question::Parallelism,
        Question::Buffer,
        Question::Dies,
        Question::MapSpan,
        Question::Page,
        Question::LargePage,
        Question::Unit,
        Question::Offset,
        Question::Throttling,
        Question::Discard,
        Question::DiscardReads,
        Question::OpenLinear,
        Question::OpenRandom,
        Question::Fat,
        Question::DiscardSpeed,
        Question::Worst,
    ];

    /// Name for programs, wording, and whether the answer needs writes.
    const fn about(self) -> (&'static str, &'static str, bool) {
        match self {
            Question::Slc => ("slc", "SLC cache", true),
            Question::Stalls => ("stalls", "Stalls while writing in order", true),
            Question::Plateaus => ("plateaus", "Rates of writing in order", true),
            Question::SlcIdle => ("slc-idle", "SLC cache, left alone", true),
            Question::SlcKind => ("slc-kind", "SLC cache of a fixed size", true),
            Question::Overhead => ("overhead", "Overhead of a read command", false),
            Question::Rate => ("rate", "Transfer rate of a read", false),
            Question::ReadAhead => ("read-ahead", "Read-ahead of sequential reads", false),
            Question::Depth => ("depth", "Queue depth at which it saturates", false),
            Question::Parallelism => ("parallelism", "Reads in parallel", false),
            Question::Buffer => ("buffer", "Write buffer in RAM", true),
            Question::Dies => ("dies", "Dies or planes that read independently", false),
            Question::MapSpan => ("map-span", "Range covered by the map cache", false),
            Question::Page => ("page", "Page, the smallest that reads show", false),
            Question::LargePage => ("large-page", "Larger page, of several program units", false),
            Question::Unit => ("unit", "Allocation unit", false),
            Question::Offset => ("offset", "Where the first boundary lies", false),
            Question::Throttling => (
                "throttling",
                "Temperature at which throttling starts",
                false,
            ),
            Question::Discard => ("discard", "Discards", true),
            Question::DiscardReads => ("discard-reads", "A discarded block reads as", true),
            Question::OpenLinear => (
                "open-linear",
                "Open allocation units, written in order",
                true,
            ),
            Question::OpenRandom => (
                "open-random",
                "Open allocation units, written at random",
                true,
            ),
            Question::Fat => ("fat", "FAT area", true),
            Question::DiscardSpeed => ("discard-speed", "Discards restore speed", true),
            Question::Worst => ("worst", "Slowest write pattern", true),
        }
    }

    /// Stable name for programs, such as `unit`.
    pub const fn id(self) -> &'static str {
        self.about().0
    }

    /// The wording in reports.
    pub const fn wording(self) -> &'static str {
        self.about().1
    }

    /// Whether the answer needs writes; such a question is skipped if writing is forbidden.
    pub const fn writes(self) -> bool {
        self.about().2
    }

    /// A finding with an answer; its confidence follows from the question and the strength of the evidence.
    pub fn answer(
        self,
        value: Value,
        answer: String,
        strength: Strength,
        evidence: String,
    ) -> Finding {
        Finding {
            question: self,
            value: Some(value),
            answer,
            confidence: confidence(Basis::Simulated, self, strength),
            strength: Some(strength),
            evidence,
        }
    }

    /// A finding without an answer, with the reason.
    pub fn unknown(self, why: impl Into<String>) -> Finding {
        Finding {
            question: self,
            value: None,
            answer: "cannot tell".to_string(),
            confidence: 0.0,
            strength: None,
            evidence: why.into(),
        }
    }
}

impl Serialize for Question {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut both = serializer.serialize_struct("Question", 2)?;
        both.serialize_field("id", self.id())?;
        both.serialize_field("question", self.wording())?;
        both.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_listed_once_in_its_order() {
        assert!(Question::ALL.is_sorted());
        for (i, question) in Question::ALL.iter().enumerate() {
            assert!(Question::ALL[..i].iter().all(|q| q.id() != question.id()));
            assert_eq!(*question as usize, i);
        }
    }
}
