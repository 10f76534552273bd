//! [`Pool`], data that shares superblocks: hot and cold data of the host in superblocks of their own, and pages of the map.
//!
//! Both the host's data and what relocation moves have a stream per pool, so that pools stay apart (Desnoyers,
//! "Analytic Models of SSD Write Performance", ACM Transactions on Storage 10, 2014). A victim's data goes where most
//! of it belongs. Which data is hot is decided by [`Heat`](crate::policy::heat::Heat).

use super::Log;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::ppn::Ppn;
use crate::policy::heat::Heat;
use serde::{Deserialize, Serialize};

/// Kind of data that shares superblocks. Without separation by heat, all host data is cold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pool {
    #[default]
    Cold,
    Hot,
    /// Pages of a map that is only partly loaded ([`super::map_blocks`]).
    Map,
}

impl Pool {
    pub(super) const COUNT: usize = 3;
    /// Pools of the host's data.
    pub(super) const HOST: [Pool; 2] = [Pool::Cold, Pool::Hot];
}

impl Log {
    /// Pool of the unit `first`, and the number of following units, at most `count`, for the same pool.
    pub(super) fn pool_of_write(&self, first: Lpn, count: u32) -> (Pool, u32) {
        match &self.heat {
            None => (Pool::Cold, count),
            Some(heat) => {
                let hot = heat.is_hot(first.0);
                let pool = if hot { Pool::Hot } else { Pool::Cold };
                (pool, Heat::units_in_chunk(first.0, count))
            }
        }
    }

    /// Whether data is separated by heat.
    pub(crate) fn is_separated(&self) -> bool {
        self.heat.is_some()
    }

    /// Counts units of one chunk written by the host.
    pub(super) fn count_write(&mut self, first: Lpn, units: u32) {
        if let Some(heat) = &mut self.heat {
            heat.count(first.0, units);
        }
    }

    /// Pool of most of the valid data of a superblock.
    pub(super) fn pool_of_victim(&self, superblock: SuperblockId) -> Pool {
        if self.holds_map_pages(superblock) {
            return Pool::Map;
        }
        let Some(heat) = &self.heat else {
            return Pool::Cold;
        };
        let start = self.geometry.ppn(superblock, 0);
        let end = start + self.geometry.native.superblock_units;
        let next = |from: Ppn| self.map.next_valid(from, end);
        let valid = std::iter::successors(next(start), |ppn| next(*ppn + 1));
        let (mut hot, mut all) = (0u32, 0u32);
        for ppn in valid {
            hot += u32::from(heat.is_hot(self.map.owner(ppn).0));
            all += 1;
        }
        if 2 * hot > all { Pool::Hot } else { Pool::Cold }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flash::blocks::State;
    use crate::mapping::page::geometry::Geometry;
    use crate::mapping::page::small::{self, Small};
    use crate::random::Random;
    use nandscope_units::Nanos;

    /// Moved units go to the pool of most units of their victim, and a superblock takes data of one pool only until it is
    /// erased.
    #[test]
    fn moved_data_is_in_the_pool_that_its_heat_says() {
        let size = Small {
            word_lines: 4,
            blocks_per_plane: 64,
            superblocks: 44,
        };
        let profile = size.profile("reference-nvme-64gb", |nand| {
            (nand.channels, nand.dies_per_channel) = (1, 2);
            nand.factory_bad_percent = 0.0;
        });
        let mut ftl = small::ftl(&profile);
        ftl.separate_by_heat = true;
        ftl.journal_entries = 0;
        let geometry = Geometry::new(&profile, &ftl);
        let user_units = u64::from(geometry.user_units);
        let mut log = Log::new(&profile, &ftl, geometry, &mut Random::new(1));
        let mut random = Random::new(7);
        let now = Nanos::ZERO;
        let mut full = Vec::new();
        // Pool of the data moved to each superblock.
        let mut pools: Vec<Option<Pool>> = vec![None; log.blocks.len() as usize];
        let mut moved_to = [0u64; 2];
        for i in 0..20 * user_units {
            let among = if random.below(10) < 8 {
                user_units / 5
            } else {
                user_units
            };
            let unit = if i < user_units {
                i
            } else {
                random.below(among)
            };
            let unit = Lpn(unit as u32);
            assert_eq!(log.write(unit, 1, now, &mut full), 1);
            let written = log.geometry.superblock_of(log.map.lookup(unit));
            assert_eq!(
                pools[written.index()],
                None,
                "the host writes among moved data"
            );
            full.drain(..)
                .for_each(|unit| log.program_done(unit.superblock));
            log.erase_invalid_instantly(now);
            while log.needs_relocation() {
                let begins = !log.relocating();
                let Some(victim) = log.current_victim(false, now).copied() else {
                    break;
                };
                if begins {
                    assert_eq!(victim.pool, pool_by_majority(&log, victim.superblock));
                }
                let mut sources = Vec::new();
                let mut unit = None;
                let (moved, exhausted) = log.relocate(now, &mut sources, &mut full, &mut unit);
                moved_to[victim.pool as usize] += u64::from(moved);
                for from in sources {
                    let to = log.map.lookup(log.map.owner(from));
                    let pool = &mut pools[log.geometry.superblock_of(to).index()];
                    assert!(
                        pool.is_none_or(|pool| pool == victim.pool),
                        "pools are mixed"
                    );
                    *pool = Some(victim.pool);
                }
                let programs = full.drain(..).chain(unit);
                programs.for_each(|unit| log.program_done(unit.superblock));
                if exhausted {
                    log.finish_victim(victim.superblock);
                }
                log.erase_invalid_instantly(now);
                for (superblock, block) in log.blocks.iter() {
                    if block.state == State::Free {
                        pools[superblock.index()] = None;
                    }
                }
            }
        }
        assert!(moved_to.iter().all(|units| *units > 1_000), "{moved_to:?}");
        assert_eq!(
            moved_to.iter().sum::<u64>(),
            log.accounts.programmed().gc_writes
        );
    }

    /// Reference: counts the units one by one, by looking up the owner of each.
    fn pool_by_majority(log: &Log, superblock: SuperblockId) -> Pool {
        let heat = log.heat.as_ref().expect("separated");
        let mut units = [0u32; 2];
        for unit in (0..log.geometry.user_units).map(Lpn) {
            let place = log.map.lookup(unit);
            if place != Ppn::UNMAPPED && log.geometry.superblock_of(place) == superblock {
                units[usize::from(heat.is_hot(unit.0))] += 1;
            }
        }
        if units[1] > units[0] {
            Pool::Hot
        } else {
            Pool::Cold
        }
    }
}
