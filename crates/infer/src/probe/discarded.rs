//! Contents of a discarded block. Times do not show them: the target must store contents, which a simulated device in virtual
//! time does not.

use super::confidence::Strength;
use super::finding::Finding;
use super::question::Question;
use super::{Probing, Value};
use crate::timed::ProbeError;
use nandscope_measure::target::{Target, TargetError};
use nandscope_units::Bytes;
use nandscope_workload::OpKind;

/// Bytes read in the middle of a discarded range; devices may not discard its edges.
const LENGTH: u32 = 64 << 10;

/// Contents read after a discard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    Zeroes,
    Ones,
    /// The data before the discard.
    Old,
    /// Different contents at each read.
    Changing,
    Other,
}

impl Reads {
    fn of(before: &[u8], first: &[u8], second: &[u8]) -> Self {
        let all = |byte: u8| first.iter().all(|b| *b == byte);
        match () {
            () if first != second => Reads::Changing,
            () if all(0) => Reads::Zeroes,
            () if all(0xff) => Reads::Ones,
            () if first == before => Reads::Old,
            () => Reads::Other,
        }
    }

    fn told(self) -> &'static str {
        match self {
            Reads::Zeroes => "zeroes",
            Reads::Ones => "ones (FF)",
            Reads::Old => "what was there before",
            Reads::Changing => "other data each time",
            Reads::Other => "other data",
        }
    }
}

/// Contents of the middle of a range before its discard.
pub(super) struct Look {
    at: Bytes,
    before: Option<Vec<u8>>,
}

fn failed(error: TargetError) -> ProbeError {
    ProbeError::Failed(error.to_string())
}

impl Look {
    /// Writes a range that will be discarded, and reads its middle.
    pub(super) fn before<T: Target>(
        probing: &mut Probing<'_, T>,
        offset: u64,
        length: u64,
    ) -> Result<Self, ProbeError> {
        let at = Bytes(offset + length / 2 / 4096 * 4096);
        let length = u32::try_from(length).unwrap_or(1 << 20);
        if length < LENGTH * 2 {
            return Ok(Look { at, before: None });
        }
        let there = probing.target.contents(at, 4096).map_err(failed)?;
        if there.is_some() {
            probing.target.many(OpKind::Write, &[offset], length, 1)?;
            probing.target.flush()?;
        }
        let before = probing.target.contents(at, LENGTH).map_err(failed)?;
        Ok(Look { at, before })
    }

    /// Reads the middle twice after the discard and compares.
    pub(super) fn after<T: Target>(
        self,
        probing: &mut Probing<'_, T>,
    ) -> Result<Finding, ProbeError> {
        let mut again = || match self.before {
            Some(_) => probing.target.contents(self.at, LENGTH).map_err(failed),
            None => Ok(None),
        };
        let (first, second) = (again()?, again()?);
        let (Some(before), Some(first), Some(second)) = (self.before, first, second) else {
            let why = "a simulated device in virtual time keeps no contents; serve the device with `nandscope serve`, and probe the block device";
            return Ok(Question::DiscardReads.unknown(why));
        };
        let reads = Reads::of(&before, &first, &second);
        Ok(Question::DiscardReads.answer(
            Value::Flag(reads == Reads::Zeroes),
            reads.told().to_string(),
            Strength::Strong,
            format!(
                "64 KiB in the middle of 1 MiB that was written, discarded, and read twice: it begins with {}, and began with {} before the discard",
                beginning(&first),
                beginning(&before)
            ),
        ))
    }
}

fn beginning(bytes: &[u8]) -> String {
    let few = bytes.iter().take(8).map(|b| format!("{b:02x}"));
    few.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_discarded_is_told_from_what_was_there() {
        let old = [1u8, 2, 3, 4];
        assert_eq!(Reads::of(&old, &[0; 4], &[0; 4]), Reads::Zeroes);
        assert_eq!(Reads::of(&old, &[0xff; 4], &[0xff; 4]), Reads::Ones);
        assert_eq!(Reads::of(&old, &old, &old), Reads::Old);
        assert_eq!(Reads::of(&old, &[9, 2, 3, 4], &[9, 2, 3, 4]), Reads::Other);
        assert_eq!(Reads::of(&old, &old, &[0; 4]), Reads::Changing);
    }
}
