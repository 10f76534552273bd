//! The invariants of the map of a card.

use super::{Map, UNMAPPED};
use crate::invariant::{Checked, check_sum, ensure};
use crate::mapping::au::geometry::CardGeometry;
use crate::mapping::au::shared_log::SharedLog;
use nandscope_units::Nanos;

impl Map {
    /// Checks every list and count, and that every physical AU is in exactly one place. `fresh` is the map of an unused
    /// card.
    pub(in crate::mapping::au) fn audit(&self, fresh: &Map, now: Nanos) -> Checked {
        ensure!(
            self.is_like(fresh),
            "the translation is not that of the profile"
        );
        let g = &self.geometry;
        self.physical.audit(g, now)?;
        self.audit_places()?;
        self.audit_shared_log(fresh)?;
        self.audit_owners()?;
        self.open
            .iter()
            .try_for_each(|(open, _)| open.audit(self.policy(open.au)))
    }

    /// Whether the lists have the lengths that the geometry requires.
    pub(in crate::mapping::au) fn fits(&self, geometry: &CardGeometry) -> bool {
        self.geometry == *geometry
            && self.table.len() == geometry.logical_aus as usize
            && self.physical.len() == geometry.physical_aus
    }

    /// Whether two maps are of cards with the same profile.
    fn is_like(&self, other: &Map) -> bool {
        let own = |m: &Map| {
            let limits = (m.data_open_most, m.states.most, m.deferred.most);
            let small = (m.clusters.up_to, m.clusters.pages);
            let wear = (m.wear.spread, m.wear.batch, m.wear.refresh_reads);
            (m.blocks_of_au, m.data_policy, limits, small, wear)
        };
        self.geometry == other.geometry
            && self.table.len() == other.table.len()
            && own(self) == own(other)
            && self.fat == other.fat
            && self.shared_log.is_some() == other.shared_log.is_some()
    }

    /// Checks that every listed AU exists, and that no list is longer than the card allows.
    fn audit_places(&self) -> Checked {
        let aus = self.geometry.logical_aus;
        let named = self
            .open_aus()
            .chain(self.states.aus.iter().copied())
            .chain(self.deferred.merges.iter().map(|merge| merge.au));
        for au in named {
            ensure!(au < aus, "AU {au} is not one of the {aus}");
        }
        let fat = self.open_aus().filter(|au| self.is_fat(*au)).count();
        let fat_most = self.fat.as_ref().map_or(0, |f| f.open_most as usize);
        ensure!(
            fat <= fat_most
                && self.open.len() - fat <= self.data_open_most as usize
                && self.states.aus.len() <= self.states.most
                && self.deferred.merges.len() <= self.deferred.most as usize,
            "{} AUs are open, {} AU states are in RAM and {} merges are deferred",
            self.open.len(),
            self.states.aus.len(),
            self.deferred.merges.len()
        );
        // Limit for counts of pages and of superblocks.
        let g = &self.geometry;
        let most = g
            .au_pages
            .saturating_add(g.au_superblocks)
            .saturating_mul(2);
        for merge in &self.deferred.merges {
            merge.ops.audit(most)?;
            ensure!(
                merge.at_once <= most,
                "{} pages of a merge cannot wait",
                merge.at_once
            );
        }
        let latest = self.open.iter().map(|(open, _)| open.last_used).max();
        ensure!(
            latest.unwrap_or(0) <= self.uses,
            "an AU was last used at count {}, beyond the number of uses",
            self.uses
        );
        ensure!(
            self.clusters.used <= self.geometry.au_pages
                && (self.clusters.au.is_none() || self.clusters.up_to > 0),
            "{} pages of an AU hold clusters",
            self.clusters.used
        );
        check_sum("uses", self.uses)
    }

    /// Checks that every AU in the shared log is a data AU that is not open.
    fn audit_shared_log(&self, fresh: &Map) -> Checked {
        let (Some(log), Some(fresh)) = (&self.shared_log, &fresh.shared_log) else {
            return Ok(());
        };
        for au in log.aus() {
            ensure!(
                au < self.geometry.logical_aus && !self.is_fat(au) && !self.is_open(au),
                "AU {au} cannot have data in the shared log"
            );
        }
        let mut sharers: Vec<u32> = log.aus().collect();
        sharers.sort_unstable();
        ensure!(
            sharers.is_sorted_by(|a, b| a < b),
            "an AU shares the log twice: {sharers:?}"
        );
        log.audit(fresh, self.uses)
    }

    fn audit_owners(&self) -> Checked {
        let physical_aus = self.physical.len();
        let mut owners = vec![0u32; physical_aus as usize];
        let held = self.table.iter().filter(|p| **p != UNMAPPED);
        let fresh = self.open.iter().map(|(_, fresh)| fresh);
        let log = self.shared_log.iter().flat_map(SharedLog::blocks);
        for physical in held.chain(fresh).chain(&self.clusters.au).chain(log) {
            let count = owners.get_mut(*physical as usize);
            ensure!(
                count.is_some() && !self.physical.is_out_of_use(*physical),
                "physical AU {physical} is in use, and free, retired or not there"
            );
            if let Some(count) = count {
                *count += 1;
            }
        }
        if let Some(twice) = owners.iter().position(|n| *n > 1) {
            ensure!(
                false,
                "physical AU {twice} is in use {} times",
                owners[twice]
            );
        }
        let mut open: Vec<u32> = self.open_aus().collect();
        open.sort_unstable();
        ensure!(
            open.is_sorted_by(|a, b| a < b),
            "an AU is open twice: {open:?}"
        );
        let used: u32 = owners.iter().sum();
        let (free, retired) = (self.physical.free(), self.physical.retired());
        ensure!(
            used + free + retired == physical_aus,
            "{used} physical AUs in use, {free} free and {retired} retired are not the {physical_aus} there are"
        );
        Ok(())
    }
}
