//! RAM of a card's controller: partly written pages that are buffered because the next write may
//! complete them. If writes are acknowledged only after programming, nothing is buffered, unless the
//! host keeps one long write open.

use super::geometry::CardGeometry;
use crate::convert::Narrow;
use crate::host::attachment::Attachment;
use crate::invariant::{Checked, ensure};
use crate::profile::card::CardSection;
use crate::profile::schema::Acknowledge;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Buffered sectors `from..to` of one page, the rest of which may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Held {
    pub(super) from: u64,
    pub(super) to: u64,
    /// The first buffered write of the page followed the previous write without a gap.
    pub(super) continues: bool,
}

/// The buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Buffer {
    /// Maximum number of partly written pages.
    pages_most: usize,
    held: VecDeque<Held>,
    /// Whether writes are acknowledged when their data is in the buffer.
    pub(super) write_back: bool,
    /// Whether there is room for two pages, so that link and flash work at the same time.
    pub(super) overlaps: bool,
    pub(super) pages: u32,
    page_sectors: u64,
}

impl Buffer {
    pub(super) fn new(
        attachment: &Attachment,
        card: &CardSection,
        geometry: &CardGeometry,
    ) -> Self {
        let pages =
            (u64::from(card.controller.buffer_kib) * 1024 / geometry.page_bytes()).clamp_u32();
        let write_back = attachment.acknowledge == Acknowledge::Buffered;
        Buffer {
            pages_most: if write_back {
                pages.max(1) as usize
            } else {
                usize::from(attachment.chain.open_write_most.0 > 0)
            },
            held: VecDeque::new(),
            write_back,
            overlaps: pages >= 2,
            pages,
            page_sectors: u64::from(geometry.page_sectors),
        }
    }

    /// Adds sectors; buffers their last page only if `hold` is set. Returns the pages to program now:
    /// first a page evicted to make room, then the complete pages (and those that cannot be buffered) of
    /// the write.
    pub(super) fn take(&mut self, new: Held, hold: bool) -> [Option<Held>; 2] {
        let Held { from, to, .. } = new;
        if self.pages_most == 0 || !hold {
            return [None, Some(new)];
        }
        let page = |sector: u64| sector / self.page_sectors;
        let mut all = new;
        let mut evicted = None;
        if let Some(i) = self.held.iter().position(|h| h.to == from) {
            if let Some(held) = self.held.remove(i) {
                all = Held { to, ..held };
            }
        } else if let Some(i) = self.held.iter().position(|h| page(h.from) == page(from)) {
            // The write does not continue the buffered part of its page: that part is evicted first.
            evicted = self.held.remove(i);
        }
        let whole_end = to / self.page_sectors * self.page_sectors;
        if whole_end == to {
            return [evicted, Some(all)];
        }
        if self.held.len() >= self.pages_most {
            evicted = evicted.or_else(|| self.held.pop_front());
        }
        if whole_end <= all.from {
            self.held.push_back(all);
            return [evicted, None];
        }
        self.held.push_back(Held {
            from: whole_end,
            to,
            continues: true,
        });
        let now = Held {
            to: whole_end,
            ..all
        };
        [evicted, Some(now)]
    }

    /// Returns data to the buffer that could not be programmed; it stays as long as there is power.
    pub(super) fn keep(&mut self, held: Held) {
        self.held.push_back(held);
    }

    /// Checks that the buffer has the sizes of `fresh` and holds parts of pages of this card.
    pub(super) fn audit(&self, fresh: &Buffer, sectors: u64) -> Checked {
        let own = |b: &Buffer| {
            (
                b.pages_most,
                b.write_back,
                b.overlaps,
                b.pages,
                b.page_sectors,
            )
        };
        ensure!(
            own(self) == own(fresh),
            "the card's RAM is not that of its profile"
        );
        let possible = |h: &Held| h.from < h.to && h.to <= sectors;
        ensure!(
            self.held.len() <= self.pages_most + 2 && self.held.iter().all(possible),
            "{} pieces of pages are in RAM",
            self.held.len()
        );
        Ok(())
    }

    /// Empties the buffer; returns the partly written pages.
    pub(super) fn drain(&mut self) -> Vec<Held> {
        self.held.drain(..).collect()
    }

    /// Drops buffered data in a discarded range.
    pub(super) fn forget(&mut self, from: u64, to: u64) {
        self.held.retain(|h| h.to <= from || h.from >= to);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// True if part of a range is buffered.
    pub(super) fn touches(&self, from: u64, to: u64) -> bool {
        self.held.iter().any(|h| h.from < to && h.to > from)
    }
}
