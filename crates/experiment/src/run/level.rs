//! Whether write amplification was measured at level free space and over enough collections, where a steady state was
//! asked for.

use nandscope_device::Device;
use nandscope_device::telemetry::Counters;
use nandscope_measure::runner::GroupOutcome;
use nandscope_result::Notice;
use nandscope_units::Bytes;

/// Share by which write amplification may differ from that at level free space without a notice.
const TOLERANCE: f64 = 0.05;

/// Write amplification at a constant amount of free space, from bytes: `host` written by the host, `programmed` by
/// the flash, `room` taken from the free space. Writes into free space have not caused relocation yet. `None` if
/// nearly all writes went there.
fn level(host: f64, programmed: f64, room: f64) -> Option<f64> {
    let paid = host - room;
    (paid > 0.1 * host).then(|| (paid + programmed - host) / paid)
}

/// Free space of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes that the host can write before collection must relocate more.
    free: Bytes,
    /// Erase blocks that are collected together.
    blocks_per_superblock: u32,
}

impl Room {
    /// The free space of a device; `None` for cards, which relocate with each write.
    pub fn of(device: &Device) -> Option<Self> {
        let (free, blocks_per_superblock) =
            device.free_room().zip(device.blocks_per_superblock())?;
        Some(Room {
            free,
            blocks_per_superblock,
        })
    }
}

/// A notice if write amplification over a longer time would differ: a group of jobs changed the free space, or collected
/// few superblocks. `room` is the free space before and after it.
pub(super) fn notice(outcome: &GroupOutcome, room: (Option<Room>, Option<Room>)) -> Option<Notice> {
    let (Some(before), Some(after)) = room else {
        return None;
    };
    let (Some(first), Some(last)) = (
        outcome.first_reading.counters.as_ref(),
        outcome.last_reading.counters.as_ref(),
    ) else {
        return None;
    };
    let run = last.since(first);
    let text = text(&run, before.free, after.free);
    text.or_else(|| few(&run, before.blocks_per_superblock))
        .map(Notice::warning)
}

/// A run that ends anywhere between two collections counts up to one too many or too few. `None` if that does not matter.
fn few(run: &Counters, blocks_per_superblock: u32) -> Option<String> {
    let collected = run.erases / u64::from(blocks_per_superblock.max(1));
    let measured = run.write_amplification();
    let share = (measured - 1.0) / measured / collected.max(1) as f64;
    (share > TOLERANCE).then(|| {
        let superblocks = match collected {
            1 => "superblock",
            _ => "superblocks",
        };
        format!(
            "write amplification rests on {collected} collected {superblocks}, and one more or less is {:.0} % of it; write more to measure it",
            share * 100.0
        )
    })
}

fn text(run: &Counters, before: Bytes, after: Bytes) -> Option<String> {
    let (host, programmed) = (run.host_written.0 as f64, run.flash_programmed.0 as f64);
    if host == 0.0 {
        return None;
    }
    let measured = run.write_amplification();
    let room = before.0 as f64 - after.0 as f64;
    let change = match room > 0.0 {
        true => "fell",
        false => "rose",
    };
    let beginning = format!(
        "write amplification was not level: the free space {change} by {:.2} GB while {:.2} GB were written",
        room.abs() / 1e9,
        host / 1e9
    );
    if run.slc_limit > Bytes::ZERO {
        // A byte in the SLC cache takes several from the free space, and is folded later.
        let is_large = room.abs() > TOLERANCE * host;
        return is_large.then(|| format!("{beginning}; write more to measure it"));
    }
    match level(host, programmed, room) {
        None => Some(format!("{beginning}; write more to measure it")),
        Some(level) if (level / measured - 1.0).abs() > TOLERANCE => Some(format!(
            "{beginning}; at level free space it would be {level:.2} and not {measured:.2}"
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentence for 1,000 MB written and `programmed` MB programmed, while the free space changed from `before` to
    /// `after` MB.
    fn said(programmed: u64, before: u64, after: u64) -> Option<String> {
        let mb = |n: u64| Bytes(n * 1_000_000);
        let run = Counters {
            host_written: mb(1000),
            flash_programmed: mb(programmed),
            ..Counters::default()
        };
        text(&run, mb(before), mb(after))
    }

    #[test]
    fn a_change_of_the_free_space_is_said_where_it_matters() {
        assert_eq!(said(4000, 500, 500), None);
        // Victims that are three quarters full give a quarter: each MB from the free space spares three that are moved.
        assert_eq!(said(4000, 500, 490), None);
        let text = said(3400, 700, 500).unwrap();
        assert!(
            text.contains("fell by 0.20 GB while 1.00 GB were written"),
            "{text}"
        );
        assert!(text.ends_with("it would be 4.00 and not 3.40"), "{text}");
        let text = said(4600, 500, 700).unwrap();
        assert!(text.contains("rose by 0.20 GB"), "{text}");
        assert!(text.ends_with("it would be 4.00 and not 4.60"), "{text}");
        assert!(
            said(1000, 1500, 500)
                .unwrap()
                .ends_with("write more to measure it")
        );
        assert_eq!(text_of_nothing(), None);
    }

    #[test]
    fn few_collections_are_said_where_they_matter() {
        let said = |programmed: u64, blocks: u64| {
            let run = Counters {
                host_written: Bytes(1_000_000_000),
                flash_programmed: Bytes(programmed * 1_000_000),
                erases: blocks,
                ..Counters::default()
            };
            few(&run, 4)
        };
        // Three superblocks: one is a third of the three quarters that were relocated.
        let text = said(4000, 12).unwrap();
        assert!(
            text.contains("on 3 collected superblocks, and one more or less is 25 % of it"),
            "{text}"
        );
        assert_eq!(said(4000, 64), None);
        assert_eq!(said(1010, 4), None);
    }

    fn text_of_nothing() -> Option<String> {
        text(&Counters::default(), Bytes(5), Bytes(5))
    }
}
