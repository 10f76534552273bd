//! What `probe` asks of a device: of each question its name for programs, its wording, and whether to answer it takes writes.
//! How the answers are found is up to the modules that ask.

use super::confidence::{Basis, Strength, confidence};
use super::finding::{Finding, Value};
use serde::ser::{Serialize, SerializeStruct, Serializer};

/// A question, in the order in which they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// Size of the SLC cache.
    Slc,
    /// Pauses while writing in order.
    Stalls,
    /// Rates of writing in order, before and after an SLC cache.
    Plateaus,
    /// Whether idle time empties the SLC cache.
    SlcIdle,
    /// Whether the size of the SLC cache depends on the data that the device holds.
    SlcKind,
    /// Time of a read command without its data.
    Overhead,
    /// Rate at which more data adds to the time of a read.
    Rate,
    /// Whether sequential reads are read ahead.
    ReadAhead,
    /// Queue depth from which on random reads become no faster.
    Depth,
    /// Number of random reads that are done at once.
    Parallelism,
    /// Size of the RAM that gathers writes.
    Buffer,
    /// Number of parts that read independently.
    Dies,
    /// Range whose map the controller holds at a time.
    MapSpan,
    /// Page, as reads see it.
    Page,
    /// Allocation unit.
    Unit,
    /// Where the first allocation unit begins.
    Offset,
    /// Temperature at which reads become slower.
    Throttling,
    /// Whether discards are taken.
    Discard,
    /// Contents of a discarded block.
    DiscardReads,
    /// Allocation units that stay open when each is written in order.
    OpenLinear,
    /// The same where each is written at random.
    OpenRandom,
    /// Whether some of the first allocation units are treated as those of a file allocation table are.
    Fat,
    /// Whether discards restore speed.
    DiscardSpeed,
    /// The slowest pattern.
    Worst,
}

impl Question {
    /// Every question, in the order in which they are asked.
    pub const ALL: [Question; 24] = [
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

    /// Name, wording, and whether it takes writes.
    const fn about(self) -> (&'static str, &'static str, bool) {
        match self {
            Question::Slc => ("slc", "SLC cache", true),
            Question::Stalls => ("stalls", "Stalls while writing in order", true),
            Question::Plateaus => ("plateaus", "Rates of writing in order", true),
            Question::SlcIdle => ("slc-idle", "SLC cache, left alone", true),
            Question::SlcKind => ("slc-kind", "SLC cache of a fixed size", true),
            Question::Overhead => ("overhead", "Cost of a read command", false),
            Question::Rate => ("rate", "Rate at which more data adds to a read", false),
            Question::ReadAhead => ("read-ahead", "Read-ahead of sequential reads", false),
            Question::Depth => ("depth", "Queue depth at which it saturates", false),
            Question::Parallelism => ("parallelism", "Reads that the device does at once", false),
            Question::Buffer => ("buffer", "RAM that gathers writes", true),
            Question::Dies => ("dies", "Parts that read independently", false),
            Question::MapSpan => ("map-span", "Range covered by the map cache", false),
            Question::Page => ("page", "Page, as reads see it", false),
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
            Question::Fat => ("fat", "First units treated otherwise", true),
            Question::DiscardSpeed => ("discard-speed", "Discards restore speed", true),
            Question::Worst => ("worst", "The pattern to avoid", true),
        }
    }

    /// Stable name for programs, such as `unit`.
    pub const fn id(self) -> &'static str {
        self.about().0
    }

    /// The question in words, as reports show it.
    pub const fn wording(self) -> &'static str {
        self.about().1
    }

    /// Whether to answer it takes writes: it is not asked where nothing may be written.
    pub const fn writes(self) -> bool {
        self.about().2
    }

    /// An answer; its confidence follows from the question and the strength of the evidence.
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

    /// No answer, and why there is none.
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
