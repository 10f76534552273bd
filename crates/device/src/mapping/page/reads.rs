//! Reads: map look-up, read-ahead, array reads, link.

use super::PageMapDevice;
use crate::command::Status;
use crate::convert::Narrow;
use crate::events::Event;
use crate::flash::Plane;
use crate::flash::blocks::State;
use crate::flash::reliability::PageRead;
use crate::flash::superblock_id::SuperblockId;
use crate::flash::{FlashOp, OpClass, Owner, PagesRead};
use crate::mapping::page::log::{PageRun, RefreshTarget, WantedPage};
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::map_fetches::MapWaiter;
use crate::mapping::page::ppn::Ppn;
use crate::mapping::page::readahead::{ReadRange, SegmentId};
use nandscope_units::Nanos;

/// Read retries of a page above which its data is rewritten.
const RETRIES_BEFORE_REFRESH: u32 = 2;

impl PageMapDevice {
    pub(super) fn begin_read(&mut self, index: u32) {
        let p = &self.commands[index];
        let (first, units) = (p.first, p.units);
        if units == 0 {
            return self.complete_at(index, self.schedule.now());
        }
        self.count_unmapped(index, first, units);
        if self.log.window.is_whole_map() {
            return self.dispatch_read(index);
        }
        let mut full = std::mem::take(&mut self.scratch.full);
        self.log
            .touch_for_read(first, units, self.schedule.now(), &mut full);
        let wanted = self.log.window.take_wanted();
        let wants = self.submit_host_programs(&mut full);
        self.run(wants);
        self.scratch.full = full;
        let waits = self.fetch_map(wanted, MapWaiter::Command(index), true);
        self.commands[index].waits = waits;
        if waits == 0 {
            self.dispatch_read(index);
        }
    }

    /// Fetches map pages, or joins fetches under way; returns the number of fetches that `waiter` waits for.
    #[inline]
    pub(super) fn fetch_map(
        &mut self,
        wanted: Vec<WantedPage>,
        waiter: MapWaiter,
        urgent: bool,
    ) -> u32 {
        if wanted.is_empty() {
            self.log.window.return_wanted(wanted);
            return 0;
        }
        self.fetch_map_pages(wanted, waiter, urgent)
    }

    fn fetch_map_pages(&mut self, wanted: Vec<WantedPage>, waiter: MapWaiter, urgent: bool) -> u32 {
        let mut waits = 0;
        for page in &wanted {
            self.counters.map_misses += u64::from(page.absent);
            let under_way = self.log.window.fetch_of(page.page);
            let Some(fetch) = under_way.or_else(|| self.begin_map_fetch(*page, waiter, urgent))
            else {
                continue;
            };
            self.map_fetches.join(fetch, waiter);
            waits += 1;
        }
        self.log.window.return_wanted(wanted);
        waits
    }

    /// Begins to fetch a map page; `None` if no fetch is needed because the page was never written to flash or is in
    /// the write buffer.
    fn begin_map_fetch(
        &mut self,
        wanted: WantedPage,
        waiter: MapWaiter,
        urgent: bool,
    ) -> Option<u32> {
        let page = wanted.page;
        let fetch = if wanted.absent {
            let run = self.log.map_page_run(page)?;
            let run = self.place_of(run)?;
            let fetch = self.map_fetches.begin(page);
            let command = match waiter {
                MapWaiter::Command(index) => Some(index),
                MapWaiter::Program(_) | MapWaiter::Job(_) | MapWaiter::Discard => None,
            };
            self.submit_read(run, urgent, Owner::MapRead { fetch }, command);
            fetch
        } else {
            let time = self.map_fetches.host_time()?;
            let fetch = self.map_fetches.begin(page);
            self.schedule
                .push(self.schedule.now() + time, Event::MapFetched(fetch));
            fetch
        };
        self.log.window.note_fetch(page, fetch);
        Some(fetch)
    }

    /// Handles the end of a map page's fetch.
    pub(super) fn on_map_fetched(&mut self, fetch: u32) {
        let mut waiters = std::mem::take(&mut self.scratch.map_waiters);
        let page = self.map_fetches.end(fetch, &mut waiters);
        self.log.window.note_fetched(page, fetch);
        for waiter in waiters.drain(..) {
            match waiter {
                MapWaiter::Command(index) => self.on_wait_over(index),
                MapWaiter::Program(sequence) => {
                    let wants = self.on_map_updated(sequence);
                    self.run(wants);
                }
                MapWaiter::Job(job) => self.on_relocation_read(job),
                MapWaiter::Discard => {
                    let wants = self.on_discard_fetched();
                    self.run(wants);
                }
            }
        }
        self.scratch.map_waiters = waiters;
    }

    /// Counts the bytes of a read that are unmapped: never written, or discarded since.
    fn count_unmapped(&mut self, index: u32, first: Lpn, units: u32) {
        if self.log.map.are_mapped(first, units) {
            return;
        }
        for unit in first.and_next(units) {
            if !self.log.is_mapped(unit) {
                self.counters.unmapped_bytes += self.bytes_in(index, unit, 1);
            }
        }
    }

    /// Reads the parts of a command that read-ahead does not cover; the map pages are loaded.
    pub(super) fn dispatch_read(&mut self, index: u32) {
        let p = &self.commands[index];
        let (first, units) = (p.first, p.units);
        let from = p.request.command.lba.0;
        let covered = self.read_ahead.take(&ReadRange {
            command: index,
            sectors: (from, from + u64::from(p.request.command.sectors)),
            first,
            units,
        });
        let mut waits = covered.waits;
        if covered.ready > 0 {
            self.send_units(index, first, covered.ready, self.schedule.now());
        }
        let behind = covered.ready + covered.coming;
        waits += self.read_flash(index, first + behind, units - behind);
        if let Some(stream) = covered.stream {
            self.extend_read_ahead(stream);
        }
        self.commands[index].waits = waits;
        if waits == 0 {
            self.complete_at(index, self.commands[index].link_done);
        }
    }

    /// Reads units of a command from flash; returns the number of array reads that it waits for.
    fn read_flash(&mut self, index: u32, first: Lpn, units: u32) -> u32 {
        if units == 1 {
            // A single unit, the common case, needs no list of runs.
            let run = self.log.run_of(first).and_then(|run| self.place_of(run));
            return self.read_run(index, first, 1, run);
        }
        let mut runs = std::mem::take(&mut self.scratch.runs);
        self.runs_now(first, units, &mut runs);
        let (mut at, mut waits) = (first, 0);
        for (run, n) in runs.drain(..) {
            waits += self.read_run(index, at, n, run);
            at += n;
        }
        self.scratch.runs = runs;
        waits
    }

    /// Reads one run of a command; returns 1 if the command waits for it, else 0.
    fn read_run(&mut self, index: u32, first: Lpn, units: u32, run: Option<PageRun>) -> u32 {
        let Some(run) = run else {
            // The units are unmapped or still in the write buffer: no flash read is needed.
            self.send_units(index, first, units, self.schedule.now());
            return 0;
        };
        let owner = Owner::HostRead {
            command: index,
            bytes: self.bytes_in(index, first, units).narrow(),
        };
        self.submit_read(run, true, owner, Some(index));
        1
    }

    pub(super) fn on_host_read(&mut self, index: u32, bytes: u32, pages: PagesRead) {
        let ready = self.decode(pages);
        let end = self.send(u64::from(bytes), ready);
        self.part_read(index, end);
    }

    pub(super) fn on_read_ahead(&mut self, segment: SegmentId, pages: PagesRead) {
        let ready = self.decode(pages);
        for waiter in self.read_ahead.arrived(segment) {
            let bytes = self.bytes_in(waiter.command, waiter.first, waiter.units);
            let end = self.send(bytes, ready);
            self.part_read(waiter.command, end);
        }
    }

    fn part_read(&mut self, index: u32, link_end: Nanos) {
        let p = &mut self.commands[index];
        p.link_done = p.link_done.max(link_end);
        p.waits -= 1;
        if p.waits == 0 {
            let done = p.link_done;
            self.complete_at(index, done);
        }
    }

    fn send_units(&mut self, index: u32, first: Lpn, units: u32, ready: Nanos) {
        let bytes = self.bytes_in(index, first, units);
        let end = self.send(bytes, ready);
        let p = &mut self.commands[index];
        p.link_done = p.link_done.max(end);
    }

    fn extend_read_ahead(&mut self, stream: u32) {
        let user_units = self.log.geometry.user_units;
        let Some((from, units)) = self.read_ahead.wanted(stream, user_units) else {
            return;
        };
        let mut runs = std::mem::take(&mut self.scratch.runs);
        self.runs_now(from, units, &mut runs);
        let mut at = from;
        for (run, n) in runs.drain(..) {
            let segment = self.read_ahead.push(stream, at, n, run.is_none());
            if let Some(run) = run {
                let readable = self.submit_read(run, true, Owner::ReadAhead { segment }, None);
                if !readable {
                    // The host's own read of the page will report the error.
                    self.read_ahead.spoil(segment);
                }
            }
            at += n;
        }
        self.scratch.runs = runs;
    }

    /// Array reads of a logical range at its present places, in order; `None` with a number of units that need no read.
    fn runs_now(&self, first: Lpn, count: u32, runs: &mut Vec<(Option<PageRun>, u32)>) {
        self.log.runs(first, count, |run, n| match run {
            Some(run) => self.resolve(run, runs),
            None => runs.push((None, n)),
        });
    }

    /// Adds the array reads needed now for a run at its final place: none while the write buffer holds its data. A unit
    /// under relocation is read at its old place until its program is done.
    #[inline(always)]
    pub(super) fn resolve(&self, run: PageRun, runs: &mut Vec<(Option<PageRun>, u32)>) {
        if self.is_settled(&run) {
            return runs.push((Some(run), run.units));
        }
        self.resolve_unsettled(run, runs);
    }

    /// As [`PageMapDevice::resolve`], for a superblock that is being written.
    fn resolve_unsettled(&self, run: PageRun, runs: &mut Vec<(Option<PageRun>, u32)>) {
        // Page whose units are joined into one read, and its end.
        let mut page: Option<(Ppn, PageRun)> = None;
        for i in 0..run.units {
            let Some(ppn) = self.unit_place(run.first + i) else {
                runs.extend(page.take().map(|(_, run)| (Some(run), run.units)));
                runs.push((None, 1));
                continue;
            };
            match &mut page {
                Some((end, run)) if ppn < *end && run.first + run.units <= ppn => {
                    run.units += 1;
                    run.planes.insert(self.log.plane_at(ppn, run.superblock));
                }
                _ => {
                    runs.extend(page.take().map(|(_, run)| (Some(run), run.units)));
                    page = Some(self.log.first_of_page(ppn));
                }
            }
        }
        runs.extend(page.map(|(_, run)| (Some(run), run.units)));
    }

    /// As [`PageMapDevice::resolve`], for a run of one unit.
    pub(super) fn place_of(&self, run: PageRun) -> Option<PageRun> {
        if self.is_settled(&run) {
            return Some(run);
        }
        let ppn = self.unit_place(run.first)?;
        Some(self.log.unit_run(ppn))
    }

    /// Whether the superblock of the run is closed and has no programs pending.
    #[inline]
    pub(super) fn is_settled(&self, run: &PageRun) -> bool {
        let block = self.log.blocks.get(run.superblock);
        block.programs_pending == 0 && block.state != State::Open
    }

    /// Present place of a unit in the flash; `None` while the write buffer has it.
    fn unit_place(&self, ppn: Ppn) -> Option<Ppn> {
        let mut at = ppn;
        // The source of a move may itself be the target of an unfinished move; such a chain is at most as long as the
        // number of jobs.
        for _ in 0..self.background.jobs.len() {
            let run = self.log.unit_run(at);
            let (superblock, program) = (run.superblock, run.program);
            if self.is_settled(&run) {
                return Some(at);
            }
            if self.log.is_filling(superblock, program)
                || self.writes.programs.is_in_flight(superblock, program)
            {
                return None;
            }
            let sources = if self.log.is_moving_into(superblock, program) {
                self.background.jobs.filling_sources()
            } else {
                self.background.jobs.sources(superblock, program)
            };
            let Some(sources) = sources else {
                return Some(at);
            };
            at = *sources.get(self.log.place_in_program(at) as usize)?;
        }
        Some(at)
    }

    /// Submits an array read, with as many retries as the errors of its block require. Returns false if the data is
    /// lost nevertheless.
    pub(super) fn submit_read(
        &mut self,
        run: PageRun,
        urgent: bool,
        owner: Owner,
        command: Option<u32>,
    ) -> bool {
        let (op, readable) = self.read_operation(run, urgent, owner, command);
        self.submit_flash(op);
        readable
    }

    /// The flash operation of an array read, and whether its data can be corrected. Counts the read of the block.
    #[inline(always)]
    pub(super) fn read_operation(
        &mut self,
        run: PageRun,
        urgent: bool,
        owner: Owner,
        command: Option<u32>,
    ) -> (FlashOp, bool) {
        let bytes = run.units * self.log.geometry.unit_bytes;
        let due = self.background.refresh_reads();
        let first_block = self.log.geometry.block_of(run.die, Plane(0));
        let disturbed = self
            .log
            .blocks
            .disturb(run.superblock, first_block, run.planes, due);
        let page = if self.errors.has_page_types() {
            self.log.page_type(&run)
        } else {
            0
        };
        let read = PageRead {
            reads: disturbed.most_reads,
            bytes,
            page,
        };
        let block = self.log.blocks.get_mut(run.superblock);
        let verdict = self.errors.read(block, read, self.schedule.now());
        let mut array_ns = run.array_ns.saturating_mul(1 + verdict.retries);
        let mut retransfers = 0;
        if verdict.retries > 0 {
            self.counters.read_retries += u64::from(verdict.retries);
            if self.profile.nand.reliability.retry_transfers {
                retransfers = u16::try_from(verdict.retries).unwrap_or(u16::MAX);
                let decoding = self.decode_time() * u64::from(verdict.retries);
                array_ns = array_ns.saturating_add(decoding.0.clamp_u32());
            }
        }
        if verdict.uncorrectable {
            self.counters.uncorrectable_reads += 1;
            if let Some(index) = command {
                self.commands[index].request.status = Status::UncorrectableRead;
            }
        }
        if matches!(owner, Owner::RelocationRead { .. }) {
            // The data is being relocated already.
        } else if verdict.retries > RETRIES_BEFORE_REFRESH {
            self.ask_refresh(run.superblock, None);
        } else if !disturbed.due.is_empty() {
            for plane in disturbed.due.iter() {
                let block = self.log.geometry.block_of(run.die, plane);
                self.ask_refresh(run.superblock, Some(block));
            }
        }
        let op = FlashOp {
            class: OpClass::Read,
            urgent,
            die: run.die,
            array_ns,
            bus_bytes: bytes,
            transfers: run.planes.len(),
            retransfers,
            planes: run.planes,
            owner,
        };
        (op, !verdict.uncorrectable)
    }

    /// Requests a refresh of a block that was read too often, or of a superblock with too many bit errors.
    #[cold]
    fn ask_refresh(&mut self, superblock: SuperblockId, block: Option<u32>) {
        if self.log.ask_refresh(RefreshTarget { superblock, block }) {
            self.schedule.push(self.schedule.now(), Event::RefreshDue);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Command, CommandKind};
    use crate::mapping::page::small::{self, Small};
    use crate::random::Random;
    use nandscope_units::Lba;

    /// Looking up one unit gives what the list of runs gives, at any stage of writes and relocation.
    #[test]
    fn one_unit_is_found_where_the_list_of_runs_has_it() {
        let size = Small {
            word_lines: 16,
            blocks_per_plane: 60,
            superblocks: 40,
        };
        let profile = size.profile("sm2708-250gb", |nand| nand.factory_bad_percent = 0.0);
        let mut device = small::attached(&profile, &small::host("rtl9211ds"));
        let user_units = u64::from(device.log.geometry.user_units);
        let mut random = Random::new(5);
        let (mut done, mut found) = (Vec::new(), [0u32; 3]);
        let mut unit = 0;
        for tag in 0..3_000 {
            unit = match random.below(3) {
                0 => unit + 1,
                _ => random.below(user_units - 40) as u32,
            };
            let command = Command {
                tag,
                kind: CommandKind::Write { fua: false },
                lba: Lba(u64::from(unit) * 8 + random.below(2) * 3),
                sectors: 8 * (1 + random.below(32) as u32),
            };
            device.submit(command, device.now()).expect("in order");
            if random.below(3) > 0 {
                device.advance(Nanos::MAX, &mut done);
            }
            for near in (unit.saturating_sub(3)..unit + 12).map(Lpn) {
                let mut runs = Vec::new();
                device.runs_now(near, 1, &mut runs);
                let run = device.log.run_of(near);
                let placed = run.and_then(|run| device.place_of(run));
                assert_eq!(runs, [(placed, 1)], "unit {near} after command {tag}");
                found[usize::from(run.is_some()) + usize::from(placed.is_some())] += 1;
            }
        }
        // Number of units found unmapped, in the write buffer, and in flash.
        assert!(found.iter().all(|count| *count > 50), "{found:?}");
    }
}
