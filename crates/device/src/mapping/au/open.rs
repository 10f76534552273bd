//! One open AU: what has been written to it since it was opened, and what closing it costs.
//!
//! Pages written in order fill a new block from its beginning. A page out of order is treated as
//! the open-AU policy says: a linear AU copies what lies between or is closed and reopened; a log takes pages out of order until it is full and is then merged into page order; a
//! page-mapped AU takes pages in any order.
//!
//! Closing is a **switch merge** (nothing to copy), a **partial merge** (the rest is copied after
//! what was written in order) or a **full merge** (all pages are copied to another block).

use super::op_counts::OpCounts;
use crate::invariant::{Checked, ensure};
use crate::profile::card::OutOfOrder;
use serde::{Deserialize, Serialize};

/// Open-AU policy of one class of AUs (data, FAT area): what happens to a page that is not the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpenAuPolicy {
    pub(super) out_of_order: OutOfOrder,
    /// Capacity of the log of an open AU in pages; that of the AU if it is page-mapped.
    pub(super) log_pages: u32,
    /// True if sequential pages go to the log as well.
    pub(super) log_first: bool,
    /// True if a page-mapped AU keeps a full block besides the old one until most of the old one is overwritten.
    pub(super) full_block_waits: bool,
    pub(super) partial_programs: u32,
    pub(super) au_pages: u32,
    pub(super) page_sectors: u32,
    pub(super) au_superblocks: u32,
    pub(super) log_superblocks: u32,
}

impl OpenAuPolicy {
    /// True if sequential pages go to their place in a new block, and other pages to a log.
    fn goes_in_order(&self) -> bool {
        self.out_of_order == OutOfOrder::Log && !self.log_first
    }
}

/// An open AU.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct OpenAu {
    pub(super) au: u32,
    /// The AU held data before it was opened, so that unwritten pages must be copied.
    pub(super) has_old: bool,
    /// Next sequential page.
    next: u32,
    /// Sectors of page `next` that are programmed already, and the number of programs that took; in a page-mapped AU,
    /// those of the page `filling`.
    filled: u32,
    parts: u32,
    filling: u32,
    /// Pages whose newest data is in the log, one bit each; then their number.
    logged: Vec<u64>,
    logged_count: u32,
    /// Used pages of the log.
    log_used: u32,
    /// Pages of a page-mapped AU whose newest data is in the block before the last full one, one bit each; then their
    /// number.
    older: Vec<u64>,
    older_count: u32,
    pub(super) last_used: u64,
}

impl OpenAu {
    pub(super) fn new(au: u32, has_old: bool, policy: &OpenAuPolicy, last_used: u64) -> Self {
        let words = if policy.out_of_order == OutOfOrder::Rewrite {
            0
        } else {
            policy.au_pages.div_ceil(64)
        };
        let older = if policy.out_of_order == OutOfOrder::Map {
            words
        } else {
            0
        };
        OpenAu {
            au,
            has_old,
            next: 0,
            filled: 0,
            parts: 0,
            filling: 0,
            logged: vec![0; words as usize],
            logged_count: 0,
            log_used: 0,
            older: vec![0; older as usize],
            older_count: 0,
            last_used,
        }
    }

    /// Writes sectors `from..to` of the AU.
    pub(super) fn write(&mut self, from: u32, to: u32, policy: &OpenAuPolicy, ops: &mut OpCounts) {
        let size = policy.page_sectors;
        let (first, last) = (from / size, (to - 1) / size);
        let (head, tail) = (from % size, (to - 1) % size + 1);
        if first == last && (head > 0 || tail < size) {
            return self.write_part(first, head, tail, policy, ops);
        }
        let mut begin = first;
        if head > 0 {
            self.write_part(first, head, size, policy, ops);
            begin += 1;
        }
        let end = if tail < size { last } else { last + 1 };
        if end > begin {
            self.write_pages(begin, end - begin, policy, ops);
        }
        if tail < size {
            self.write_part(last, 0, tail, policy, ops);
        }
    }

    /// True if all pages were written in order and the log is empty: closing changes only a map entry.
    pub(super) fn is_complete(&self, policy: &OpenAuPolicy) -> bool {
        match policy.out_of_order {
            OutOfOrder::Map => {
                self.logged_count == policy.au_pages && self.log_used == policy.au_pages
            }
            _ => self.next == policy.au_pages && self.logged_count == 0,
        }
    }

    /// True if a page is in the new block or the log, rather than in the old block.
    pub(super) fn holds(&self, page: u32) -> bool {
        page < self.next || self.is_logged(page)
    }

    /// The merge that closes the AU.
    pub(super) fn close(&self, policy: &OpenAuPolicy) -> OpCounts {
        let written = self.written(policy);
        let all = if self.has_old {
            policy.au_pages
        } else {
            written
        };
        let rest = all - written;
        let mut ops = OpCounts::default();
        match policy.out_of_order {
            OutOfOrder::Rewrite => ops.merged = rest,
            OutOfOrder::Log => {
                if self.logged_below_next() {
                    ops.merged = all;
                    ops.erases = policy.au_superblocks;
                } else {
                    // Pages from the log and the old block follow the sequential ones.
                    ops.merged = rest + self.logged_count;
                }
                if self.log_used > 0 {
                    ops.erases += policy.log_superblocks;
                }
            }
            OutOfOrder::Map if policy.log_pages - self.log_used >= rest => ops.merged = rest,
            OutOfOrder::Map => {
                ops.merged = all;
                ops.erases = policy.au_superblocks;
            }
        }
        ops
    }

    /// Pages of the closing merge that are moved even if it is deferred: a waiting full block is emptied
    /// first, so that the AU keeps only two blocks.
    pub(super) fn moves_at_once(&self, policy: &OpenAuPolicy) -> u32 {
        if self.older_count <= policy.log_pages - self.log_used {
            self.older_count
        } else {
            policy.au_pages
        }
    }

    /// Distinct pages written since the AU was opened. A partly filled page counts as not written if old
    /// data can fill it up.
    fn written(&self, policy: &OpenAuPolicy) -> u32 {
        match policy.out_of_order {
            OutOfOrder::Map => self.logged_count,
            _ => {
                let begun = u32::from(self.filled > 0 && !self.has_old);
                (self.next + begun + self.logged_count - self.logged_in(0, self.next))
                    .min(policy.au_pages)
            }
        }
    }

    /// Writes sectors `from..to`, a part of one page.
    fn write_part(
        &mut self,
        page: u32,
        from: u32,
        to: u32,
        policy: &OpenAuPolicy,
        ops: &mut OpCounts,
    ) {
        if policy.out_of_order == OutOfOrder::Rewrite {
            let again = page == self.next && self.filled > 0 && self.filled != from;
            self.move_to(page, again, policy, ops);
        }
        if policy.out_of_order == OutOfOrder::Map {
            return self.write_mapped_part(page, from, to, policy, ops);
        }
        let in_order = !policy.log_first
            && page == self.next
            && (self.filled == from || self.filled == 0)
            && self.parts < policy.partial_programs;
        if !in_order {
            let continues = page == self.next && self.filled > 0 && self.filled == from;
            ops.fills += u32::from(self.has_old || self.holds(page) || self.filled > 0);
            self.write_out_of_order(page, 1, policy, ops);
            if continues && policy.goes_in_order() && page == self.next {
                self.continue_in_log(to, policy, ops);
            }
            return;
        }
        // A page started in its middle is completed with the old data before that.
        ops.fills += u32::from(self.filled == 0 && from > 0 && self.has_old);
        ops.programs += 1;
        self.filled = to;
        self.parts += 1;
        if to == policy.page_sectors {
            self.advance(1, policy);
        }
    }

    /// Writes a part of a page of a page-mapped AU: in the page of the previous part if that page takes another
    /// program, otherwise in a new page.
    fn write_mapped_part(
        &mut self,
        page: u32,
        from: u32,
        to: u32,
        policy: &OpenAuPolicy,
        ops: &mut OpCounts,
    ) {
        let continues = self.filled > 0
            && (page, from) == (self.filling, self.filled)
            && self.parts < policy.partial_programs;
        if continues {
            ops.programs += 1;
            self.parts += 1;
        } else {
            // If the page allows only one program, its rest is programmed with it.
            let along = from > 0 || policy.partial_programs == 1;
            ops.fills += u32::from(along && (self.has_old || self.holds(page)));
            self.write_out_of_order(page, 1, policy, ops);
            self.filling = page;
            self.parts = 1;
        }
        self.filled = to % policy.page_sectors;
    }

    /// Appends to the log the rest of a page that was begun in its place; when the page is complete, it is moved to its
    /// place.
    fn continue_in_log(&mut self, to: u32, policy: &OpenAuPolicy, ops: &mut OpCounts) {
        self.filled = to;
        if to == policy.page_sectors {
            ops.merged += 1;
            self.advance(1, policy);
        }
    }

    fn write_pages(&mut self, first: u32, count: u32, policy: &OpenAuPolicy, ops: &mut OpCounts) {
        if policy.out_of_order == OutOfOrder::Map || policy.log_first {
            return self.write_out_of_order(first, count, policy, ops);
        }
        if first == self.next + 1 && self.filled > 0 {
            // The partly written page is completed with its old data.
            ops.merged += 1;
            self.advance(1, policy);
        }
        if first == self.next && self.filled == 0 {
            ops.programs += count;
            return self.advance(count, policy);
        }
        self.write_out_of_order(first, count, policy, ops);
    }

    /// Advances past `count` sequential pages just programmed: their copies in the log become invalid.
    fn advance(&mut self, count: u32, policy: &OpenAuPolicy) {
        debug_assert!(self.next + count <= policy.au_pages);
        if self.logged_count > 0 {
            for page in self.next..self.next + count {
                self.unlog(page);
            }
        }
        self.next += count;
        self.filled = 0;
        self.parts = 0;
    }

    fn write_out_of_order(
        &mut self,
        first: u32,
        count: u32,
        policy: &OpenAuPolicy,
        ops: &mut OpCounts,
    ) {
        if policy.out_of_order == OutOfOrder::Rewrite {
            self.move_to(first, first == self.next && self.filled > 0, policy, ops);
            ops.programs += count;
            return self.advance(count, policy);
        }
        if policy.out_of_order == OutOfOrder::Map {
            self.filled = 0;
        }
        if count <= policy.log_pages - self.log_used {
            self.log_run(first, count, ops);
        } else {
            self.write_beyond_log(first, count, policy, ops);
        }
    }

    /// Appends pages to the log, which must have room for them.
    #[inline]
    fn log_run(&mut self, first: u32, count: u32, ops: &mut OpCounts) {
        for page in first..first + count {
            self.log(page);
        }
        self.log_used += count;
        ops.programs += count;
    }

    /// As [`OpenAu::write_out_of_order`], for more pages than the log has room for.
    fn write_beyond_log(
        &mut self,
        first: u32,
        count: u32,
        policy: &OpenAuPolicy,
        ops: &mut OpCounts,
    ) {
        let (mut page, mut left) = (first, count);
        while left > 0 {
            let room = policy.log_pages - self.log_used;
            if room == 0 && self.continue_in_fresh_block(policy, ops) {
                continue;
            }
            if room == 0 {
                ops.add(self.close(policy));
                ops.erases += policy.au_superblocks;
                self.reopen(true);
                continue;
            }
            let some = left.min(room);
            self.log_run(page, some, ops);
            (page, left) = (page + some, left - some);
        }
    }

    /// The new block of a page-mapped AU is full: a fresh one takes further writes. If the card has
    /// spare AUs, the full one waits beside the block before it until most of that block has been
    /// overwritten; only what a third block back still holds is moved. Otherwise everything left in the
    /// old block is moved. If so much is left that a full merge is cheaper, nothing is done and the
    /// result is false.
    fn continue_in_fresh_block(&mut self, policy: &OpenAuPolicy, ops: &mut OpCounts) -> bool {
        let unwritten = if self.has_old {
            policy.au_pages - self.logged_count
        } else {
            0
        };
        let left = if policy.full_block_waits {
            self.older_count
        } else {
            unwritten
        };
        if policy.out_of_order != OutOfOrder::Map || left >= policy.au_pages.div_ceil(2) {
            return false;
        }
        ops.merged += left;
        ops.erases += policy.au_superblocks;
        let mut pages = policy.au_pages;
        for (logged, older) in self.logged.iter_mut().zip(&mut self.older) {
            let all = u64::MAX >> (64 - pages.clamp(1, 64));
            let rest = if self.has_old {
                !(*logged | *older) & all
            } else {
                0
            };
            if policy.full_block_waits {
                *logged = std::mem::replace(older, rest);
            } else {
                *logged = rest;
            }
            pages = pages.saturating_sub(64);
        }
        self.older_count = self.older.iter().map(|w| w.count_ones()).sum();
        self.logged_count = left;
        self.log_used = left;
        self.has_old = true;
        true
    }

    /// Makes `page` the next page of a linear AU: forward by copying the pages in between, back (or to
    /// the same page, `again`) by closing and reopening it.
    fn move_to(&mut self, page: u32, again: bool, policy: &OpenAuPolicy, ops: &mut OpCounts) {
        if page < self.next || again {
            ops.add(self.close(policy));
            ops.erases += policy.au_superblocks;
            self.reopen(true);
        }
        if page > self.next {
            if self.has_old {
                ops.merged += page - self.next;
            }
            self.advance(page - self.next, policy);
        }
    }

    /// Resets the AU after a merge, as if it had just been opened.
    fn reopen(&mut self, has_old: bool) {
        self.has_old = has_old;
        self.next = 0;
        self.filled = 0;
        self.parts = 0;
        self.logged.fill(0);
        self.logged_count = 0;
        self.log_used = 0;
        self.older.fill(0);
        self.older_count = 0;
    }

    fn is_logged(&self, page: u32) -> bool {
        self.logged
            .get((page / 64) as usize)
            .is_some_and(|word| word >> (page % 64) & 1 == 1)
    }

    fn log(&mut self, page: u32) {
        let word = &mut self.logged[(page / 64) as usize];
        let bit = 1 << (page % 64);
        self.logged_count += u32::from(*word & bit == 0);
        *word |= bit;
        if let Some(word) = self.older.get_mut((page / 64) as usize) {
            self.older_count -= u32::from(*word & bit != 0);
            *word &= !bit;
        }
    }

    fn unlog(&mut self, page: u32) {
        let word = &mut self.logged[(page / 64) as usize];
        let bit = 1 << (page % 64);
        self.logged_count -= u32::from(*word & bit != 0);
        *word &= !bit;
    }

    fn logged_in(&self, from: u32, to: u32) -> u32 {
        if self.logged_count == 0 {
            return 0;
        }
        (from..to).map(|page| u32::from(self.is_logged(page))).sum()
    }

    fn logged_below_next(&self) -> bool {
        self.logged_in(0, self.next) > 0
    }

    /// Checks the invariants.
    pub(super) fn audit(&self, policy: &OpenAuPolicy) -> Checked {
        let fresh = OpenAu::new(self.au, self.has_old, policy, self.last_used);
        ensure!(
            self.logged.len() == fresh.logged.len() && self.older.len() == fresh.older.len(),
            "AU {} has page marks for another number of pages",
            self.au
        );
        let counted: u32 = self.logged.iter().map(|w| w.count_ones()).sum();
        ensure!(
            counted == self.logged_count && counted <= self.log_used,
            "AU {}: {counted} pages are marked as logged, {} counted, {} pages of the log used",
            self.au,
            self.logged_count,
            self.log_used
        );
        let both = self.logged.iter().zip(&self.older).any(|(a, b)| a & b != 0);
        let older: u32 = self.older.iter().map(|w| w.count_ones()).sum();
        ensure!(
            !both && older == self.older_count && older + counted <= policy.au_pages,
            "AU {}: {older} pages are marked as older, {} counted, beside {counted} in the log",
            self.au,
            self.older_count
        );
        let beyond = |marks: &[u64]| {
            let rest = policy.au_pages % 64;
            rest > 0 && marks.last().is_some_and(|word| word >> rest != 0)
        };
        ensure!(
            !beyond(&self.logged) && !beyond(&self.older),
            "AU {}: pages beyond its end are marked",
            self.au
        );
        ensure!(
            self.next <= policy.au_pages && self.log_used <= policy.log_pages,
            "AU {}: {} pages in order and {} in the log are more than it holds",
            self.au,
            self.next,
            self.log_used
        );
        let room = self.next < policy.au_pages || policy.out_of_order == OutOfOrder::Map;
        ensure!(
            self.filled < policy.page_sectors
                && self.parts <= policy.partial_programs.max(1)
                && self.filling < policy.au_pages.max(1)
                && (self.filled == 0 || room),
            "AU {}: {} sectors of a page are filled in {} parts",
            self.au,
            self.filled,
            self.parts
        );
        Ok(())
    }
}
