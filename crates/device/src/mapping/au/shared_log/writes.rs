//! Writes to the shared log, and its reclaim.

use super::SharedLog;
use crate::mapping::au::map::{Map, MapContext, NoSpare, UNMAPPED};
use crate::mapping::au::op_counts::OpCounts;

impl Map {
    /// Whether a write to an AU goes to the shared log: for a data AU that is in the log already, or finds no free open
    /// AU.
    pub(in crate::mapping::au) fn goes_to_shared_log(&self, au: u32) -> bool {
        let Some(log) = &self.shared_log else {
            return false;
        };
        if self.is_fat(au) || self.is_open(au) {
            return false;
        }
        let open = self.open_aus().filter(|au| !self.is_fat(*au)).count();
        log.shares(au) || open >= self.data_open_most as usize
    }

    /// Writes sectors `from..to` of an AU to the shared log.
    pub(in crate::mapping::au) fn write_to_shared_log(
        &mut self,
        au: u32,
        from: u32,
        to: u32,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<(), NoSpare> {
        let size = self.geometry.page_sectors;
        let mut at = from;
        while at < to {
            let page = at / size;
            let head = at % size;
            let tail = (to - page * size).min(size);
            at = page * size + tail;
            let Some(log) = &mut self.shared_log else {
                return Ok(());
            };
            ops.programs += 1;
            if head > 0 && log.continues(au, page, head, tail) {
                continue;
            }
            // A page that takes only one program is completed with its old data, as in an open AU.
            let along = head > 0 || (tail < size && log.limits.partial_programs == 1);
            let has_old = log.locate(au, page).is_some() || self.is_mapped(au);
            ops.fills += u32::from(along && has_old);
            self.make_room_in_shared_log(au, context, ops)?;
            let uses = self.uses;
            if let Some(log) = &mut self.shared_log {
                if log.used == 0 {
                    log.since[0] = uses;
                }
                log.append(au, page, tail);
            }
        }
        Ok(())
    }

    fn make_room_in_shared_log(
        &mut self,
        au: u32,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<(), NoSpare> {
        if self.shared_log.as_ref().is_some_and(|log| log.is_due(au)) {
            self.reclaim_shared_log(context, ops)?;
        }
        if self.shared_log.as_ref().is_some_and(SharedLog::needs_block) {
            let block = self.take_fresh(false, context, ops)?;
            if let Some(log) = &mut self.shared_log {
                log.blocks.push(block);
            }
        }
        Ok(())
    }

    /// Merges every AU with data in the log, frees the log's blocks, and closes the open AUs that were not written
    /// since the last reclaim.
    ///
    /// # Errors
    /// [`NoSpare`] if no AU is left to merge into; AUs that were not merged stay in the log.
    pub(in crate::mapping::au) fn reclaim_shared_log(
        &mut self,
        context: &mut MapContext,
        ops: &mut OpCounts,
    ) -> Result<(), NoSpare> {
        while let Some((au, held)) = self.first_sharer() {
            let fresh = self.take_fresh(false, context, ops)?;
            let old = std::mem::replace(&mut self.table[au as usize], fresh);
            ops.merged += match old {
                UNMAPPED => held,
                old => {
                    self.physical.release(old);
                    self.geometry.au_pages
                }
            };
            // The merge already moves the pages of a deferred merge of this AU.
            self.forget_deferred_merge(au);
            if let Some(log) = &mut self.shared_log {
                log.forget(au);
            }
        }
        let Some(log) = &mut self.shared_log else {
            return Ok(());
        };
        log.used = 0;
        let since = log.since[1];
        log.since[1] = log.since[0];
        for block in std::mem::take(&mut log.blocks) {
            self.physical.release(block);
        }
        self.close_data_aus_unused_since(since, ops);
        Ok(())
    }

    /// Whether an AU has data in a log with a block that has reached the read limit of refresh.
    pub(in crate::mapping::au) fn is_shared_log_worn_by_reads(&self, au: u32) -> bool {
        let log = self.shared_log.as_ref().filter(|log| log.shares(au));
        let worn =
            |block: &u32| self.physical.reads.most(*block as usize) >= self.wear.refresh_reads;
        self.wear.refresh_reads > 0 && log.is_some_and(|log| log.blocks.iter().any(worn))
    }

    fn first_sharer(&self) -> Option<(u32, u32)> {
        let first = self.shared_log.as_ref()?.sharers.first()?;
        Some((first.au, first.held))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::au::AuMapDevice;
    use crate::profile::card::SharedLogSection;
    use crate::random::Random;

    /// A small card with two open AUs, and a log of one block that three AUs share.
    fn small() -> AuMapDevice {
        AuMapDevice::small(|card| {
            card.fat = None;
            card.open_aus = 2;
            card.shared_log = Some(SharedLogSection { blocks: 1, aus: 3 });
        })
    }

    fn write(d: &mut AuMapDevice, au: u32, page: u32, pages: u32) {
        let (size, au_size) = (d.map.geometry.page_sectors, d.map.geometry.au_sectors);
        let mut context = MapContext {
            reliability: &d.errors.model,
            random: &mut d.errors.random,
            now: d.schedule.now(),
        };
        let first = u64::from(au) * u64::from(au_size) + u64::from(page * size);
        let ops = &mut OpCounts::default();
        let wrote = d.map.write(first, pages * size, true, &mut context, ops);
        assert!(wrote.is_ok());
    }

    /// After each of 3000 random writes to eight AUs, the log finds every page where a list of the appended pages has
    /// it.
    #[test]
    fn every_page_is_where_it_was_written() {
        let mut d = small();
        let log_pages = d.map.geometry.au_pages;
        let mut random = Random::new(5);
        // Expected log contents in order: AU and page.
        let mut appended: Vec<(u32, u32)> = Vec::new();
        let (mut logged, mut reclaims) = (0, 0);
        for _ in 0..3000 {
            let au = random.below(8) as u32;
            let pages = 1 + random.below(8) as u32;
            let page = random.below(u64::from(log_pages - pages)) as u32;
            let shares = d.map.goes_to_shared_log(au);
            write(&mut d, au, page, pages);
            for page in (page..page + pages).filter(|_| shares) {
                let mut aus: Vec<u32> = appended.iter().map(|(au, _)| *au).collect();
                aus.sort_unstable();
                aus.dedup();
                let crowded = aus.len() == 3 && !aus.contains(&au);
                if crowded || appended.len() == log_pages as usize {
                    appended.clear();
                    reclaims += 1;
                }
                appended.push((au, page));
                logged += 1;
            }
            let log = d.map.shared_log.as_ref().expect("a log");
            assert_eq!(log.used as usize, appended.len());
            for au in 0..8 {
                for page in 0..log_pages {
                    let in_log = appended.contains(&(au, page)).then(|| log.blocks[0]);
                    assert_eq!(log.locate(au, page), in_log, "AU {au}, page {page}");
                    let place = d.map.locate(au, page);
                    if in_log.is_some() {
                        assert_eq!(place, in_log);
                    } else {
                        assert!(place.is_some() && place != log.blocks.first().copied());
                    }
                }
            }
            d.audit().expect("sound");
        }
        assert!(logged > 1000 && reclaims > 100, "{logged}, {reclaims}");
    }
}
