//! How much memory a simulated device takes, from its profile alone, before it is made.

use crate::convert::Widen;
use crate::flash::blocks::Superblock;
use crate::mapping::au::CardGeometry;
use crate::mapping::page::geometry::Geometry;
use crate::profile::schema::Profile;
use nandscope_units::Bytes;

/// Memory for the state of an allocation unit and its map entry, bytes, rounded up.
const PER_AU: u64 = 128;
/// Memory for a superblock in the lists of free and full superblocks, bytes, rounded up.
const PER_SUPERBLOCK_IN_LISTS: u64 = 64;
/// Memory for queues, buffers and tables that hardly depend on the profile, bytes.
const FIXED: u64 = 8 << 20;

/// Memory of a device of this profile once all of it was written to. A fresh device reserves as much
/// address space, but takes real memory only where it is written.
pub fn memory_estimate(profile: &Profile) -> Bytes {
    let own = match &profile.ftl {
        Some(ftl) => {
            let geometry = Geometry::new(profile, ftl);
            let bad = profile.nand.factory_bad_percent;
            let superblocks = u64::from(geometry.expected_good_superblocks(bad));
            let physical = superblocks.saturating_mul(geometry.native.superblock_units.into());
            // The map takes 4 bytes per logical unit, and 4 bytes and a bit per physical unit.
            let map = u64::from(geometry.user_units) * 4;
            let inverse = physical.saturating_mul(4).saturating_add(physical / 8);
            // Each block has a read counter of 4 bytes.
            let reads = u64::from(geometry.blocks_per_superblock()) * 4;
            let lists =
                superblocks * (size_of::<Superblock>().widen() + PER_SUPERBLOCK_IN_LISTS + reads);
            map.saturating_add(inverse).saturating_add(lists)
        }
        None => profile.card.as_ref().map_or(0, |card| {
            let geometry = CardGeometry::new(profile, card);
            let aus = u64::from(geometry.logical_aus) + u64::from(geometry.physical_aus);
            let sharers = card.shared_log.as_ref().map_or(0, |log| log.aus);
            // Each AU in the shared log has the log position of each of its pages, 4 bytes each.
            let places = u64::from(sharers) * u64::from(geometry.au_pages) * 4;
            aus * PER_AU
                + u64::from(geometry.physical_aus) * u64::from(geometry.au_rows()) * 4
                + places
        }),
    };
    Bytes(own.saturating_add(FIXED))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::library;

    #[test]
    fn large_drives_need_gigabytes_and_cards_megabytes() {
        let estimate = |name: &str| {
            let profile = library::device(name).unwrap().profile().unwrap();
            memory_estimate(&profile).0
        };
        let drive = estimate("sm2262en-2tb");
        assert!((3 << 30..6 << 30).contains(&drive), "{drive}");
        let card = estimate("kingston-class10-32gb");
        assert!((8 << 20..64 << 20).contains(&card), "{card}");
    }
}
