//! Hot and cold data in superblocks of their own. Writes of the host are counted per chunk; a chunk that is written at
//! more than twice the mean rate is hot. Counts are halved once per overwrite of the whole capacity, as Hsieh, Kuo and
//! Chang do ("Efficient Identification of Hot Data for Flash Memory Storage Systems", ACM Transactions on Storage 2,
//! 2006), but kept per chunk instead of hashed.
//!
//! Both the host's data and what relocation moves have a stream per pool, so that pools stay apart (Desnoyers,
//! "Analytic Models of SSD Write Performance", ACM Transactions on Storage 10, 2014). A victim's data goes where most
//! of it belongs. Hot units that are scattered among cold ones within chunks are not found.

use super::Log;
use crate::convert::Widen;
use crate::ftl::page_map::lpn::Lpn;
use crate::ftl::page_map::ppn::Ppn;
use crate::ftl::superblock_id::SuperblockId;
use crate::invariant::{Checked, ensure};
use serde::{Deserialize, Serialize};

/// Mapping units of a chunk.
const CHUNK_UNITS: u32 = 16;
/// Multiple of the mean write rate above which a chunk is hot.
const HOT_RATE: u64 = 2;

/// Which data shares superblocks. Without separation all of it is cold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Pool {
    #[default]
    Cold,
    Hot,
    /// Pages of a map of which only a part is loaded ([`super::map_blocks`]).
    Map,
}

impl Pool {
    pub(super) const COUNT: usize = 3;
    /// Pools of the host's data.
    pub(super) const HOST: [Pool; 2] = [Pool::Cold, Pool::Hot];
}

/// How often chunks are written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Heat {
    counts: Vec<u8>,
    /// Sum of the counts.
    total: u64,
    units: u32,
    /// Units written since the counts were halved.
    since_halving: u32,
}

/// Number of the chunk of a unit.
fn chunk_of(unit: Lpn) -> usize {
    (unit.0 / CHUNK_UNITS) as usize
}

impl Heat {
    pub(super) fn new(user_units: u32) -> Self {
        Heat {
            counts: vec![0; user_units.div_ceil(CHUNK_UNITS) as usize],
            total: 0,
            units: user_units,
            since_halving: 0,
        }
    }

    /// Whether the chunk of a logical unit is hot; metadata is not.
    fn is_hot(&self, unit: Lpn) -> bool {
        let count = self.counts.get(chunk_of(unit));
        let written = u64::from(count.copied().unwrap_or(0));
        written * self.counts.len().widen() > HOT_RATE * self.total
    }

    /// Units of one chunk are written.
    fn count(&mut self, first: Lpn, units: u32) {
        if let Some(count) = self.counts.get_mut(chunk_of(first)) {
            let before = *count;
            *count = before.saturating_add(u8::try_from(units).unwrap_or(u8::MAX));
            self.total += u64::from(*count - before);
        }
        self.since_halving += units;
        if self.since_halving >= self.units {
            self.since_halving = 0;
            self.counts.iter_mut().for_each(|count| *count /= 2);
            self.total = self.counts.iter().map(|count| u64::from(*count)).sum();
        }
    }

    pub(super) fn audit(&self, user_units: u32) -> Checked {
        let sum: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        ensure!(
            self.units == user_units
                && self.counts.len() == user_units.div_ceil(CHUNK_UNITS) as usize
                && self.since_halving < user_units.max(1)
                && sum == self.total,
            "writes of {} chunks are counted, {} in all and {} since the last halving",
            self.counts.len(),
            self.total,
            self.since_halving
        );
        Ok(())
    }
}

impl Log {
    /// The pool of host data that begins at a unit, and how many of `count` units go there.
    pub(super) fn pool_of_write(&self, first: Lpn, count: u32) -> (Pool, u32) {
        match &self.heat {
            None => (Pool::Cold, count),
            Some(heat) => {
                let in_chunk = CHUNK_UNITS - first.0 % CHUNK_UNITS;
                let hot = heat.is_hot(first);
                (
                    if hot { Pool::Hot } else { Pool::Cold },
                    count.min(in_chunk),
                )
            }
        }
    }

    /// Whether data is separated by heat.
    pub(crate) fn is_separated(&self) -> bool {
        self.heat.is_some()
    }

    /// The host wrote units of one chunk.
    pub(super) fn count_write(&mut self, first: Lpn, units: u32) {
        if let Some(heat) = &mut self.heat {
            heat.count(first, units);
        }
    }

    /// The pool to which most of the valid data of a superblock belongs now.
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
            hot += u32::from(heat.is_hot(self.map.owner(ppn)));
            all += 1;
        }
        if 2 * hot > all { Pool::Hot } else { Pool::Cold }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ftl::blocks::State;
    use crate::ftl::page_map::geometry::Geometry;
    use crate::ftl::page_map::small::{self, Small};
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
        // By superblock, the pool of what was moved there.
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
                let Some(victim) = log.current_victim(false).copied() else {
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

    /// Unit by unit, through the map of the other direction.
    fn pool_by_majority(log: &Log, superblock: SuperblockId) -> Pool {
        let heat = log.heat.as_ref().expect("separated");
        let mut units = [0u32; 2];
        for unit in (0..log.geometry.user_units).map(Lpn) {
            let place = log.map.lookup(unit);
            if place != Ppn::UNMAPPED && log.geometry.superblock_of(place) == superblock {
                units[usize::from(heat.is_hot(unit))] += 1;
            }
        }
        if units[1] > units[0] {
            Pool::Hot
        } else {
            Pool::Cold
        }
    }

    #[test]
    fn chunks_written_at_twice_the_mean_rate_are_hot() {
        let mut heat = Heat::new(160);
        for chunk in 0..10 {
            heat.count(Lpn(chunk * 16), 16);
        }
        assert!(
            (0..160).all(|unit| !heat.is_hot(Lpn(unit))),
            "all are alike"
        );
        for _ in 0..60 {
            heat.count(Lpn(32), 1);
        }
        let hot: Vec<u32> = (0..200).filter(|unit| heat.is_hot(Lpn(*unit))).collect();
        assert_eq!(hot, (32..48).collect::<Vec<_>>());
        heat.audit(160).expect("sound");
    }

    #[test]
    fn what_is_not_written_any_more_becomes_cold() {
        let mut heat = Heat::new(160);
        for _ in 0..255 {
            heat.count(Lpn(0), 1);
        }
        assert!(heat.is_hot(Lpn(0)));
        for round in 0..480 {
            heat.count(Lpn(16 + round % 144), 1);
        }
        assert!(!heat.is_hot(Lpn(0)));
        heat.audit(160).expect("sound");
    }
}
