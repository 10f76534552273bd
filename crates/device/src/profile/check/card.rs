//! Conditions between the values of a card with allocation units.

use super::Faults;
use crate::mapping::au::CardGeometry;
use crate::profile::card::{CardSection, OutOfOrder};
use crate::profile::schema::Profile;

pub(super) fn check(profile: &Profile, card: &CardSection, faults: &mut Faults) {
    if profile.nand.suspend {
        faults.add(
            "nand.suspend",
            "a card executes one flash operation at a time, so no operation is suspended"
                .to_string(),
            "set it to false",
        );
    }
    log("card", card.out_of_order, card.log_kib, card, faults);
    if let Some(fat) = &card.fat {
        log("card.fat", fat.out_of_order, fat.log_kib, card, faults);
        if fat.log_first && fat.out_of_order != OutOfOrder::Log {
            faults.add(
                "card.fat.log_first",
                "there is no log".to_string(),
                "set out_of_order to `log`, or remove the key",
            );
        }
        if fat.open_aus >= card.open_aus {
            faults.add(
                "card.fat.open_aus",
                format!(
                    "{} of {} open AUs for the FAT area leave none for data",
                    fat.open_aus, card.open_aus
                ),
                "give fewer than card.open_aus",
            );
        }
    }
}

fn log(
    table: &str,
    out_of_order: OutOfOrder,
    log_kib: Option<u32>,
    card: &CardSection,
    faults: &mut Faults,
) {
    match (out_of_order, log_kib) {
        (OutOfOrder::Log, None) => faults.add(
            table,
            "the size of the log is missing".to_string(),
            "add log_kib",
        ),
        (OutOfOrder::Log, Some(kib)) => {
            faults.count(&format!("{table}.log_kib"), kib, 1, card.au_kib);
        }
        (_, Some(_)) => faults.add(
            &format!("{table}.log_kib"),
            "only open AUs with a log have one".to_string(),
            "remove the key, or set out_of_order to `log`",
        ),
        (_, None) => {}
    }
}

pub(super) fn capacity(profile: &Profile, card: &CardSection, faults: &mut Faults) {
    let geometry = CardGeometry::new(profile, card);
    let bytes = profile.device.capacity_bytes;
    if bytes == 0 || !bytes.is_multiple_of(nandscope_units::SECTOR_BYTES) {
        faults.add(
            "device.capacity_bytes",
            format!("{bytes} is not a whole number of sectors"),
            "give a positive multiple of 512",
        );
        return;
    }
    let page_kib = geometry.page_bytes() / 1024;
    let unit_kib = geometry.unit_bytes() / 1024;
    if !page_kib.is_multiple_of(unit_kib.max(1)) || page_kib < unit_kib {
        faults.add(
            "card.page_kib",
            format!("{page_kib} KiB is not a whole number of program units of {unit_kib} KiB"),
            "a program unit is nand.page_kib × nand.planes, × bits per cell where one program time is given",
        );
        return;
    }
    if !u64::from(card.au_kib).is_multiple_of(page_kib.max(1)) || geometry.au_pages < 2 {
        faults.add(
            "card.au_kib",
            format!(
                "{} KiB is not a whole number of pages of {page_kib} KiB, at least two",
                card.au_kib
            ),
            "give a multiple of the page",
        );
        return;
    }
    for (key, kib) in [
        ("card.log_kib", card.log_kib),
        (
            "card.fat.log_kib",
            card.fat.as_ref().and_then(|f| f.log_kib),
        ),
    ] {
        if kib.is_some_and(|kib| u64::from(kib) < page_kib) {
            faults.add(
                key,
                format!("a log must hold a page of {page_kib} KiB"),
                "give more",
            );
        }
    }
    let needed = u64::from(geometry.logical_aus) + spare(card);
    if u64::from(geometry.physical_aus) < needed {
        faults.add(
            "device.capacity_bytes",
            format!(
                "{bytes} bytes do not fit: the flash makes {} good AUs of {} KiB, and {needed} are needed with open AUs and spares",
                geometry.physical_aus, card.au_kib
            ),
            "lower the capacity, add blocks, or lower factory_bad_percent, open_aus, deferred_merges or shared_log.blocks",
        );
    }
}

/// Number of AUs required beyond the capacity: a new block for each open AU and each deferred merge, their logs, the
/// shared log, one for the clusters of small writes, and two that are erased while others are in use.
fn spare(card: &CardSection) -> u64 {
    let log_aus = card
        .log_kib
        .map_or(0, |kib| kib.div_ceil(card.au_kib.max(1)));
    let clusters = u64::from(card.small_writes.is_some());
    u64::from(card.open_aus + card.deferred_merges) * u64::from(1 + log_aus)
        + u64::from(card.shared_log_aus())
        + 2
        + clusters
}
