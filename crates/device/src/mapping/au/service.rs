//! Path of a command through the card: firmware, link, buffer, flash.

use super::AuMapDevice;
use super::buffer::Held;
use super::map::MapContext;
use super::op_counts::OpCounts;
use super::times::{Extent, FlashCost};
use crate::command::{CommandKind, Status};
use crate::convert::Narrow;
use crate::flash::reliability::PageRead;
use crate::flash::{Plane, PlaneSet};
use crate::host::attachment::link_time;
use nandscope_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// Position of a sequential write.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct WriteStream {
    /// Sector after the last write.
    pub(super) next: u64,
    /// No other command came since the last write.
    pub(super) unbroken: bool,
    /// The host keeps the write open.
    open: bool,
}

impl AuMapDevice {
    /// Serves a command from `begin` on; returns when it is done.
    pub(super) fn serve(&mut self, index: u32, begin: Nanos) -> Nanos {
        let p = &self.commands[index];
        if p.status != Status::Ok {
            return begin;
        }
        let command = p.command;
        let (first, sectors) = (command.lba.0, command.sectors);
        match command.kind {
            CommandKind::Read => self.read(index, begin, first, sectors),
            CommandKind::Write { fua } => self.write(index, begin, first, sectors, fua),
            CommandKind::Flush => self.flush(index, begin),
            CommandKind::Discard => self.discard(index, begin, first, sectors),
            CommandKind::Identify | CommandKind::Health => begin + self.times.read_command,
        }
    }

    /// Splits a range as the host's driver does, into transfers of at most its maximum size.
    fn in_transfers(&self, first: u64, sectors: u32) -> impl Iterator<Item = (u64, u32)> + use<> {
        let most = self.attachment.chain.max_transfer.0 / nandscope_units::SECTOR_BYTES;
        let most = most.max(1).clamp_u32();
        let transfers = if sectors <= most {
            u32::from(sectors > 0)
        } else {
            sectors.div_ceil(most)
        };
        (0..transfers).map(move |i| {
            let at = i * most;
            (first + u64::from(at), (sectors - at).min(most))
        })
    }

    /// Time between two transfers of one command: the host's driver sees the end of the first and sends the second.
    fn between_transfers(&self) -> Nanos {
        self.attachment.chain.command + self.attachment.chain.completion
    }

    fn link(&mut self, sectors: u32) -> Nanos {
        let bytes = u64::from(sectors) * nandscope_units::SECTOR_BYTES;
        self.power.meter.count_link(bytes);
        self.time_on_link(bytes)
    }

    #[inline]
    fn time_on_link(&mut self, bytes: u64) -> Nanos {
        self.recent.link.of(bytes, self.attachment.chain.rate.0)
    }

    // ---- reads ---------------------------------------------------------------------------------

    fn read(&mut self, index: u32, begin: Nanos, first: u64, sectors: u32) -> Nanos {
        let mut at = begin;
        self.writing.unbroken = false;
        // A read ends a write that the host path kept open.
        if !self.buffer.write_back || self.overlaps_buffer(first, sectors) {
            at = self.write_out_buffer(at);
        }
        at = at.max(self.flash_free);
        let mut gap = Nanos::ZERO;
        for (sector, count) in self.in_transfers(first, sectors) {
            at = self.read_transfer(index, at + gap, sector, count);
            gap = self.between_transfers();
        }
        self.refresh(first, at)
    }

    fn overlaps_buffer(&self, first: u64, sectors: u32) -> bool {
        !self.buffer.is_empty() && self.buffer.touches(first, first + u64::from(sectors))
    }

    fn read_transfer(&mut self, index: u32, begin: Nanos, first: u64, sectors: u32) -> Nanos {
        let end = first + u64::from(sectors);
        let streaming = self.reads.continues(first);
        let ready = begin + self.times.read_command;
        let extent = self.extent(first, end);
        let lookups = self.look_up(index, first, end, streaming);
        let link = self.link(sectors);
        let ahead = u64::from(self.card.controller.read_ahead_kib) * 2;
        let continues = streaming && ahead > 0;
        let cost = self.times.reading(&extent, continues);
        // With read-ahead, the flash begins before the command arrives: at most as long before as it takes to fill the
        // read-ahead RAM.
        let flash_begin = if continues {
            let head_start = self.times.reading(&self.extent(0, ahead), true).time;
            self.reads
                .flash_done()
                .max(ready.saturating_sub(head_start))
                .min(ready)
        } else {
            ready
        };
        self.use_flash(&cost, flash_begin);
        let flash_done = flash_begin + lookups + cost.time;
        let page = u64::from(self.map.geometry.page_sectors);
        let head = self.extent(first, end.min((first / page + 1) * page));
        let link_begin =
            ready.max(flash_begin + lookups + self.times.reading(&head, continues).time);
        let most = self.card.controller.read_ahead_streams as usize;
        self.reads.read((first, end), most, flash_done);
        // The last sector crosses the link after the flash has delivered it.
        let last_sector = link_time(nandscope_units::SECTOR_BYTES, self.attachment.chain.rate.0);
        if self.buffer.overlaps {
            (link_begin + link).max(flash_done + last_sector)
        } else {
            flash_done.max(ready) + link
        }
    }

    /// Pages and stripes of sectors `from..to`.
    pub(super) fn extent(&self, from: u64, to: u64) -> Extent {
        if from >= to {
            return Extent::default();
        }
        let g = &self.map.geometry;
        let across = |size: u64| ((to - 1) / size - from / size + 1).narrow();
        Extent {
            pages: across(u64::from(g.page_sectors)),
            stripes: across((u64::from(g.stripe_bytes) / nandscope_units::SECTOR_BYTES).max(1)),
            bytes: (to - from) * nandscope_units::SECTOR_BYTES,
        }
    }

    /// Finds the AUs of a read and draws whether its pages can be read; returns the time that
    /// firmware and read retries take.
    fn look_up(&mut self, index: u32, first: u64, end: u64, streaming: bool) -> Nanos {
        let stripe = u64::from(self.map.geometry.stripe_bytes) / nandscope_units::SECTOR_BYTES;
        let size = u64::from(self.map.geometry.au_sectors);
        let page = u64::from(self.map.geometry.page_sectors);
        let mut time = Nanos::ZERO;
        let mut at = first;
        while at < end {
            let au = (at / size).narrow();
            // The firmware time of a command includes the first AU, unless that is known already.
            if at > first || (streaming && at.is_multiple_of(size)) {
                time += self.times.au_lookup;
            }
            let to = end.min((u64::from(au) + 1) * size);
            while at < to {
                let place = self.map.locate(au, ((at % size) / page).narrow());
                if let Some(physical) = place {
                    let row = self.map.geometry.row_of((at % size).narrow());
                    time += self.read_page(index, physical, row);
                }
                at = ((at / stripe + 1) * stripe).min(to);
            }
        }
        time
    }

    fn read_page(&mut self, index: u32, physical: u32, row: u32) -> Nanos {
        self.flash_counters.page_reads += 1;
        let bytes = self.map.geometry.stripe_bytes;
        let disturbed =
            self.map
                .physical
                .reads
                .count(physical as usize, row, PlaneSet::of(Plane(0)), 0);
        let block = self.map.physical.get_mut(physical);
        let read = PageRead {
            reads: disturbed.most_reads,
            bytes,
            page: 0,
        };
        let verdict = self.errors.read(block, read, self.schedule.now());
        if verdict.retries == 0 && !verdict.uncorrectable {
            return Nanos::ZERO;
        }
        self.counters.read_retries += u64::from(verdict.retries);
        if verdict.uncorrectable {
            self.counters.uncorrectable_reads += 1;
            self.commands[index].status = Status::UncorrectableRead;
        }
        let again = Extent {
            pages: 0,
            stripes: verdict.retries,
            bytes: u64::from(verdict.retries) * u64::from(bytes),
        };
        self.times.reading(&again, false).time
    }

    /// Rewrites an AU that has been read often.
    fn refresh(&mut self, sector: u64, at: Nanos) -> Nanos {
        if self.read_only_since.is_some() {
            return at;
        }
        let au = (sector / u64::from(self.map.geometry.au_sectors)).narrow();
        let mut context = MapContext {
            reliability: &self.errors.model,
            random: &mut self.errors.random,
            now: self.schedule.now(),
        };
        match self.map.refresh_if_due(au, &mut context) {
            Some(ops) => at + self.charge(&ops, at).time,
            None => at,
        }
    }

    // ---- writes --------------------------------------------------------------------------------

    fn write(&mut self, index: u32, begin: Nanos, first: u64, sectors: u32, fua: bool) -> Nanos {
        if self.read_only_since.is_some() {
            self.commands[index].status = Status::ReadOnly;
            return begin + self.times.write_command;
        }
        self.reads.clear();
        let mut at = begin;
        let mut gap = Nanos::ZERO;
        for (sector, count) in self.in_transfers(first, sectors) {
            at = self.write_transfer(index, at + gap, sector, count);
            gap = self.between_transfers();
        }
        if fua {
            at = self.flush(index, at);
        }
        at
    }

    fn write_transfer(&mut self, index: u32, begin: Nanos, first: u64, sectors: u32) -> Nanos {
        let end = first + u64::from(sectors);
        let continues = first == self.writing.next && self.writing.unbroken;
        let open = u64::from(sectors) * nandscope_units::SECTOR_BYTES
            <= self.attachment.chain.open_write_most.0;
        let mut ready = begin;
        if !(continues && open && self.writing.open) {
            if !self.buffer.write_back {
                // The card is busy until the data of the previous write is programmed.
                ready = self.write_out_buffer(ready).max(self.flash_free);
            }
            ready += self.times.write_command;
        }
        let streams = open || self.buffer.write_back;
        let new = Held {
            from: first,
            to: end,
            continues,
        };
        let parts = self.buffer.take(new, streams);
        let mut ops = OpCounts::default();
        let mut kept = true;
        for held in parts.into_iter().flatten() {
            if self.write_to_map(held, &mut ops) {
                continue;
            }
            kept = false;
            // The part before this write was acknowledged and stays in the buffer.
            let acknowledged = Held {
                to: if held.to == end { first } else { held.to },
                ..held
            };
            if acknowledged.from < acknowledged.to {
                self.buffer.keep(acknowledged);
            }
        }
        if !kept {
            self.commands[index].status = Status::ReadOnly;
        }
        self.writing = WriteStream {
            next: end,
            unbroken: true,
            open,
        };
        let link = self.link(sectors);
        let page = self.map.geometry.page_sectors;
        let first_page =
            self.time_on_link(u64::from(sectors.min(page)) * nandscope_units::SECTOR_BYTES);
        let cost = self.charge(&ops, ready);
        let flash_begin = if self.buffer.overlaps {
            ready + first_page
        } else {
            ready + link
        };
        let from = if streams {
            self.flash_free.max(flash_begin)
        } else {
            flash_begin
        };
        if kept {
            self.note_write(index, new, parts, from, cost.time);
        }
        if !streams {
            return (ready + link).max(flash_begin + cost.time);
        }
        self.flash_free = from + cost.time;
        let slack = Nanos(self.times.page_period().0 * u64::from(self.buffer.pages));
        (ready + link).max(self.flash_free.saturating_sub(slack))
    }

    /// Records a write for power cuts: the evicted page is programmed first, then the part of the write in `now`.
    fn note_write(
        &mut self,
        index: u32,
        write: Held,
        [evicted, now]: [Option<Held>; 2],
        begin: Nanos,
        time: Nanos,
    ) {
        let Some(unpersisted) = &mut self.unpersisted else {
            return;
        };
        if let Some(held) = evicted {
            unpersisted.programmed(held, begin, begin + time);
        }
        if let Some(number) = unpersisted.numbers.of(index) {
            unpersisted.taken(number, write.from, write.to, self.schedule.now());
        }
        if let Some(held) = now {
            unpersisted.programmed(held, begin, begin + time);
        }
    }

    /// Writes sectors from the buffer. Returns false if the card has no AU left, which makes it read-only; such a write
    /// counts no operations.
    fn write_to_map(&mut self, held: Held, ops: &mut OpCounts) -> bool {
        let mut context = MapContext {
            reliability: &self.errors.model,
            random: &mut self.errors.random,
            now: self.schedule.now(),
        };
        let sectors = (held.to - held.from).narrow();
        let before = *ops;
        let wrote = self
            .map
            .write(held.from, sectors, held.continues, &mut context, ops);
        if wrote.is_err() {
            *ops = before;
            self.read_only_since.get_or_insert(self.schedule.now());
        }
        wrote.is_ok()
    }

    fn flush(&mut self, index: u32, begin: Nanos) -> Nanos {
        let end = self.write_out_buffer(begin).max(self.flash_free);
        if !self.buffer.is_empty() {
            self.commands[index].status = Status::ReadOnly;
            return end;
        }
        if let Some(unpersisted) = &mut self.unpersisted {
            unpersisted.flushed(end);
        }
        end
    }

    /// Writes all buffered data and waits for it. Data that finds no AU stays in RAM.
    pub(super) fn write_out_buffer(&mut self, begin: Nanos) -> Nanos {
        self.writing.unbroken = false;
        if self.buffer.is_empty() {
            return begin;
        }
        let mut ops = OpCounts::default();
        let mut drained = self.buffer.drain();
        drained.retain(|held| {
            let written = self.write_to_map(*held, &mut ops);
            if !written {
                self.buffer.keep(*held);
            }
            written
        });
        if ops.is_none() {
            return begin;
        }
        let from = begin.max(self.flash_free);
        let end = from + self.charge(&ops, from).time;
        self.flash_free = end;
        if let Some(unpersisted) = &mut self.unpersisted {
            for held in drained {
                unpersisted.programmed(held, from, end);
            }
        }
        end
    }

    fn discard(&mut self, index: u32, begin: Nanos, first: u64, sectors: u32) -> Nanos {
        self.writing.unbroken = false;
        let ready = begin + self.times.write_command;
        if !self.attachment.chain.discard {
            self.commands[index].status = Status::Unsupported;
            return begin;
        }
        if self.read_only_since.is_some() {
            self.commands[index].status = Status::ReadOnly;
            return ready;
        }
        self.buffer.forget(first, first + u64::from(sectors));
        if let Some(unpersisted) = &mut self.unpersisted {
            unpersisted.forget(first, first + u64::from(sectors));
        }
        self.map.discard(first, sectors);
        ready
    }

    // ---- accounts ------------------------------------------------------------------------------

    /// Counts flash operations that begin at `begin`, and returns their cost.
    pub(super) fn charge(&mut self, ops: &OpCounts, begin: Nanos) -> FlashCost {
        if ops.is_none() {
            return FlashCost::default();
        }
        if self.recent.cost.0 != *ops {
            self.recent.cost = (*ops, self.times.ops(ops));
        }
        let cost = self.recent.cost.1;
        self.use_flash(&cost, begin);
        let page = self.map.geometry.page_bytes();
        let of = |pages: u32| Bytes(u64::from(pages) * page);
        let c = &mut self.flash_counters;
        c.flash_programmed += of(ops.programs + ops.moved() + ops.clusters);
        c.gc_writes += of(ops.merged + ops.clusters);
        c.refreshed += of(ops.relocated);
        c.erases += u64::from(ops.erases) * u64::from(self.map.geometry.dies * self.planes);
        c.page_reads += u64::from(ops.fills + ops.moved() + ops.clusters);
        cost
    }

    fn use_flash(&mut self, cost: &FlashCost, begin: Nanos) {
        self.spans.add(begin, cost);
    }
}
