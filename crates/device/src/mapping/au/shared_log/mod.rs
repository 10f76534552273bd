//! The log that several AUs share. Data AUs that find no open AU free write their pages to it, in the order in
//! which they come. When it is full, or one more AU needs it, it is **reclaimed**: each AU of which it holds data is
//! merged with its old block into a fresh one, and the log is erased. With `k` AUs in a log of `b` blocks, a page costs
//! `k / b` copies, however long or short the writes are (Lee et al., "A log buffer-based flash translation layer using
//! fully-associative sector translation", ACM TECS 6(3), 2007: log block associativity).
//!
//! An AU is open or in the log, never both. Left out: reclaiming block by block, and a switch merge of a log that one
//! AU filled in order.

mod writes;

use crate::convert::{Narrow, Widen};
use crate::invariant::{Checked, ensure};
use crate::mapping::au::geometry::CardGeometry;
use crate::profile::card::CardSection;
use serde::{Deserialize, Serialize};

/// Log position of a page that is not in the log.
const NOWHERE: u32 = u32::MAX;

/// The shared log. Its blocks are physical AUs, taken as the log grows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct SharedLog {
    limits: Limits,
    /// AUs with data in the log, in the order of their first write to it.
    sharers: Vec<Sharer>,
    blocks: Vec<u32>,
    /// Pages used since the last reclaim.
    used: u32,
    /// The last used log page if it was programmed in part: its AU and page, its sectors and its programs so far.
    last: Option<Begun>,
    /// Use counts of the map at the log's first page and before the last reclaim: an open AU unused since the latter is
    /// closed when the log is reclaimed. A round of long writes may fill one log, but seldom two.
    since: [u64; 2],
}

/// Sizes of the log in the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Limits {
    pages: u32,
    aus: u32,
    au_pages: u32,
    page_sectors: u32,
    partial_programs: u32,
}

/// An AU with data in the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Sharer {
    au: u32,
    /// Log page with the newest data of each page of the AU, or [`NOWHERE`].
    places: Vec<u32>,
    /// Number of the AU's pages in the log.
    held: u32,
}

/// A log page that was programmed in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Begun {
    au: u32,
    page: u32,
    filled: u32,
    parts: u32,
}

impl SharedLog {
    /// An empty log, if the card has one.
    pub(super) fn new(card: &CardSection, geometry: &CardGeometry) -> Option<Self> {
        let section = card.shared_log.as_ref()?;
        Some(SharedLog {
            limits: Limits {
                pages: section.blocks.saturating_mul(geometry.au_pages),
                aus: section.aus,
                au_pages: geometry.au_pages,
                page_sectors: geometry.page_sectors,
                partial_programs: card.partial_programs,
            },
            sharers: Vec::new(),
            blocks: Vec::new(),
            used: 0,
            last: None,
            since: [0; 2],
        })
    }

    /// Physical AUs that the log occupies.
    pub(super) fn blocks(&self) -> &[u32] {
        &self.blocks
    }

    /// Whether the log has data of an AU.
    pub(super) fn shares(&self, au: u32) -> bool {
        self.sharers.iter().any(|s| s.au == au)
    }

    /// Physical AU of the log with the newest data of a page.
    pub(super) fn locate(&self, au: u32, page: u32) -> Option<u32> {
        let sharer = self.sharers.iter().find(|s| s.au == au)?;
        let place = *sharer.places.get(page as usize)?;
        let block = place / self.limits.au_pages.max(1);
        (place != NOWHERE).then(|| self.blocks.get(block as usize).copied())?
    }

    /// Removes the data of an AU; returns whether there was any.
    pub(super) fn forget(&mut self, au: u32) -> bool {
        let before = self.sharers.len();
        self.sharers.retain(|s| s.au != au);
        self.last = self.last.filter(|begun| begun.au != au);
        self.sharers.len() < before
    }

    /// Whether the log must be reclaimed before it takes another page of this AU.
    fn is_due(&self, au: u32) -> bool {
        let crowded = self.sharers.len() >= self.limits.aus as usize && !self.shares(au);
        self.used == self.limits.pages || crowded
    }

    /// Whether the next page needs another block.
    fn needs_block(&self) -> bool {
        self.used == self.blocks.len().narrow() * self.limits.au_pages
    }

    /// Programs this part into the last page, if it continues that page and the page takes another program.
    fn continues(&mut self, au: u32, page: u32, head: u32, tail: u32) -> bool {
        let limits = self.limits;
        let Some(begun) = &mut self.last else {
            return false;
        };
        let fits = (begun.au, begun.page, begun.filled) == (au, page, head)
            && begun.parts < limits.partial_programs;
        if fits {
            begun.filled = tail;
            begun.parts += 1;
            self.last = self.last.filter(|b| b.filled < limits.page_sectors);
        }
        fits
    }

    /// Appends a page of an AU, of which sectors up to `tail` are written.
    fn append(&mut self, au: u32, page: u32, tail: u32) {
        let place = self.used;
        self.used += 1;
        self.last = (tail < self.limits.page_sectors).then_some(Begun {
            au,
            page,
            filled: tail,
            parts: 1,
        });
        let index = self.sharers.iter().position(|s| s.au == au);
        let index = index.unwrap_or_else(|| {
            self.sharers.push(Sharer {
                au,
                places: vec![NOWHERE; self.limits.au_pages as usize],
                held: 0,
            });
            self.sharers.len() - 1
        });
        let sharer = &mut self.sharers[index];
        let old = std::mem::replace(&mut sharer.places[page as usize], place);
        sharer.held += u32::from(old == NOWHERE);
    }

    /// Checks lists and counts. `fresh` is the log of an unused card.
    pub(super) fn audit(&self, fresh: &SharedLog, uses: u64) -> Checked {
        let limits = &self.limits;
        ensure!(
            *limits == fresh.limits,
            "the shared log is not that of the profile"
        );
        ensure!(
            self.used <= limits.pages
                && self.blocks.len().widen() >= u64::from(self.used.div_ceil(limits.au_pages))
                && self.blocks.len().widen() <= u64::from(limits.pages.div_ceil(limits.au_pages))
                && self.sharers.len() <= limits.aus as usize
                && self.since[1] <= self.since[0]
                && self.since[0] <= uses,
            "{} pages of the shared log are used, in {} blocks by {} AUs",
            self.used,
            self.blocks.len(),
            self.sharers.len()
        );
        let mut taken = vec![false; self.used as usize];
        for sharer in &self.sharers {
            let held = sharer.places.iter().filter(|p| **p != NOWHERE);
            ensure!(
                sharer.places.len() == limits.au_pages as usize
                    && held.clone().count() == sharer.held as usize
                    && sharer.held > 0,
                "AU {} does not have {} pages in the shared log",
                sharer.au,
                sharer.held
            );
            for place in held {
                let place = taken.get_mut(*place as usize);
                ensure!(
                    place.is_some_and(|taken| !std::mem::replace(taken, true)),
                    "AU {} has data in a page of the shared log that is unused or another's",
                    sharer.au
                );
            }
        }
        if let Some(begun) = &self.last {
            let place = self.sharers.iter().find(|s| s.au == begun.au);
            let place = place.and_then(|s| s.places.get(begun.page as usize));
            ensure!(
                place.is_some_and(|p| p.checked_add(1) == Some(self.used))
                    && (1..limits.page_sectors).contains(&begun.filled)
                    && (1..=limits.partial_programs.max(1)).contains(&begun.parts),
                "{} sectors of the last page of the shared log are filled in {} parts",
                begun.filled,
                begun.parts
            );
        }
        Ok(())
    }

    /// AUs with data in the log, in the order of their first write to it.
    pub(super) fn aus(&self) -> impl Iterator<Item = u32> + '_ {
        self.sharers.iter().map(|s| s.au)
    }
}
