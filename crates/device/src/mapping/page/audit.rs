//! Invariants of a page-mapped device, checked from the ground up, for tests and snapshots: everything that commands
//! and jobs wait for is counted in the queues and compared with their own counts. Slow: it examines every unit of the
//! flash.

use super::background::{JobFlow, JobState};
use super::{
    Discarding, MapFetches, PageMapDevice, Pending, SegmentId, buffer_units, read_ahead_units,
    unit_sectors,
};
use crate::command::{CommandKind, Status};
use crate::events::Event;
use crate::flash::blocks::State;
use crate::flash::superblock_id::SuperblockId;
use crate::flash::{ArrayTimes, FlashOp, Live, OpClass, Owner};
use crate::invariant::{Checked, InvalidState, check_near, check_sum, ensure};
use crate::mapping::page::map_fetches::MapWaiter;
use crate::mapping::page::program_id::ProgramId;
use crate::profile;
use crate::profile::schema::BufferRelease;
use std::collections::BTreeSet;

/// Operations and events under way for one command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Waits {
    firmware: u32,
    completion: u32,
    /// Parts of the map, from flash or host memory.
    map: u32,
    /// Data of a read, from flash or from read-ahead.
    data: u32,
    /// Units that wait for room in the write buffer.
    admission: u32,
    /// Units on the link.
    arriving: u32,
    /// Programs that a flush or forced write waits for.
    durable: u32,
}

/// Contents of all queues, counted by owner.
#[derive(Clone, Debug, Default)]
pub(super) struct Census {
    waits: Vec<Waits>,
    pub(super) transfers: Vec<u32>,
    writes_in_firmware: u32,
    /// Commands on their way to the cores.
    arriving: u32,
    /// Interrupts of an adapter for held completions.
    interrupts: u32,
    segments: BTreeSet<SegmentId>,
    /// Programs of host data under way: sequence number and superblock.
    pub(super) programs: Vec<(u32, SuperblockId)>,
    /// Units of the host's programs that have their places in the write buffer still.
    buffered_units: u64,
    parity_programs: u32,
    /// Programs of map pages under way.
    pub(super) map_programs: Vec<(SuperblockId, ProgramId)>,
    jobs: JobFlow,
    /// Fetches of map pages under way.
    map_fetches: Vec<u32>,
    discard_fetches: u32,
    /// Sequence numbers of the programs that wait for map fetches.
    pub(super) map_waits: Vec<u32>,
    /// Sequence numbers of the programs that wait for old data.
    pub(super) merges: Vec<u32>,
    /// Operations per superblock that erase it or prevent its erasure.
    programs_of: Vec<u32>,
    erases_of: Vec<u32>,
}

impl Census {
    fn of(&mut self, command: u32) -> Checked<&mut Waits> {
        let known = self.waits.get_mut(command as usize);
        known.ok_or_else(|| InvalidState(format!("command {command} does not exist")))
    }
}

fn count(list: &mut [u32], superblock: SuperblockId) -> Checked {
    let known = list.get_mut(superblock.index());
    ensure!(known.is_some(), "superblock {superblock} does not exist");
    if let Some(n) = known {
        *n += 1;
    }
    Ok(())
}

impl PageMapDevice {
    /// Checks all invariants; valid at any time.
    pub(crate) fn audit(&self) -> Checked {
        profile::audit(&self.profile)?;
        let (Some(ftl), Some(controller)) = (&self.profile.ftl, &self.profile.controller) else {
            return Err(InvalidState("its profile has no translation layer".into()));
        };
        let now = self.schedule.now();
        self.schedule.audit()?;
        self.attachment.audit(&self.profile)?;
        self.power.audit(&self.profile, self.flash_use(), now)?;
        self.counters.audit()?;
        self.log.audit(&self.profile, ftl, self.schedule.now())?;
        let g = &self.log.geometry;
        self.errors.audit(
            &self.profile.nand.reliability,
            g.native.cycles,
            self.schedule.now(),
        )?;
        ensure!(
            self.controller == *controller
                && self.map_fetches.host_time() == MapFetches::new(ftl).host_time(),
            "the controller is not that of the profile"
        );
        for at in self.link.ends().into_iter().chain([self.awake]) {
            check_near("the end of work", at, self.schedule.now())?;
        }
        let times = ArrayTimes::new(&self.profile.nand);
        let live = self.array.audit(
            &times,
            (g.channels, g.dies),
            self.clock(),
            self.schedule.now(),
            self.schedule.events(),
        )?;
        let census = self.census(&live)?;
        self.audit_commands(&census)?;
        self.cores
            .audit(controller, census.arriving, self.schedule.now())?;
        self.decoders
            .audit(controller.ecc_engines, self.schedule.now())?;
        self.pace.audit()?;
        ensure!(
            census.parity_programs == self.parity.count(),
            "{} programs of parity are under way, {} were counted",
            census.parity_programs,
            self.parity.count()
        );
        Discarding::audit(
            self.discarding.as_ref(),
            g.user_units,
            census.discard_fetches,
        )?;
        ensure!(
            census.writes_in_firmware == self.writes.in_firmware,
            "{} writes are in firmware, {} were counted",
            census.writes_in_firmware,
            self.writes.in_firmware
        );
        self.writes.audit(
            buffer_units(controller, g),
            &census,
            self.log.gathered_host_units() > 0,
            self.log.blocks.len(),
        )?;
        let JobState {
            emptied,
            units,
            sources,
        } = self
            .background
            .audit(ftl, self.schedule.now(), &census.jobs)?;
        self.log.audit_sources(&sources)?;
        self.log.audit_emptied(&emptied)?;
        for unit in &units {
            ensure!(
                unit.superblock.0 < self.log.blocks.len() && unit.die.0 < g.dies && !unit.slc,
                "relocation programs {unit:?}"
            );
        }
        for (unit, sources) in self.background.jobs.moves() {
            self.log.audit_move(&unit, sources)?;
        }
        self.audit_blocks(&census, units.iter().map(|u| u.superblock))?;
        self.audit_buffer(&census)
    }

    /// Counts the events and the flash operations by owner.
    fn census(&self, live: &[Live]) -> Checked<Census> {
        let superblocks = self.log.blocks.len() as usize;
        let mut census = Census {
            waits: vec![Waits::default(); self.commands.table_len()],
            programs_of: vec![0; superblocks],
            erases_of: vec![0; superblocks],
            ..Census::default()
        };
        for (_, event) in self.schedule.events().iter() {
            match event {
                Event::Firmware(index) | Event::Arrived(index) => {
                    census.arriving += u32::from(matches!(event, Event::Arrived(_)));
                    census.of(index)?.firmware += 1;
                    let kind = self.commands[index].request.command.kind;
                    census.writes_in_firmware += u32::from(kind.is_write());
                }
                Event::MapFetched(fetch) => census.map_fetches.push(fetch),
                Event::RelocationDecoded(job) => census.jobs.reads.push(job),
                Event::MergeDecoded(sequence) => census.merges.push(sequence),
                Event::Complete(index) => census.of(index)?.completion += 1,
                Event::Interrupt => census.interrupts += 1,
                Event::DataIn(transfer) => {
                    census.transfers.push(transfer);
                    let Some(transfer) = self.writes.transfers.get(transfer) else {
                        continue;
                    };
                    let waits = census.of(transfer.command)?;
                    waits.arriving = waits.arriving.saturating_add(transfer.units);
                }
                Event::Relocated(job) => census.jobs.handled.push(job),
                Event::Idle => census.jobs.idle_timers += 1,
                Event::Array(_) | Event::PlaneRead(_) | Event::Bus(_) | Event::RefreshDue => {}
            }
        }
        for Live { op, is_in_die } in live {
            self.count_operation(op, *is_in_die, &mut census)?;
        }
        for unit in self.writes.programs.staged() {
            census.buffered_units += u64::from(unit.host_units);
            count(&mut census.programs_of, unit.superblock)?;
        }
        self.count_map_waiters(&mut census)?;
        self.adapter.audit(
            &self.attachment.chain,
            census.interrupts,
            self.schedule.now(),
        )?;
        for index in self.adapter.held() {
            census.of(*index)?.completion += 1;
        }
        self.packed.audit(self.attachment.packed_writes)?;
        for index in self.packed.done() {
            census.of(*index)?.completion += 1;
        }
        let (admission, durable) = self.writes.waiting();
        for index in admission {
            census.of(index)?.admission += 1;
        }
        for index in durable {
            census.of(index)?.durable += 1;
        }
        let g = &self.log.geometry;
        let ahead = read_ahead_units(&self.controller, g);
        let waiters =
            self.read_ahead
                .audit(ahead, unit_sectors(g), g.user_units, &census.segments)?;
        for index in waiters {
            census.of(index)?.data += 1;
        }
        Ok(census)
    }

    fn count_map_waiters(&self, census: &mut Census) -> Checked {
        let page_of = |fetch: u32| {
            let under_way = census.map_fetches.contains(&fetch);
            self.map_fetches.page_of(fetch).filter(|_| under_way)
        };
        let pages = self.log.audit_coming(page_of)?;
        for waiter in self.map_fetches.audit(&census.map_fetches, pages)? {
            match waiter {
                MapWaiter::Command(index) => census.of(index)?.map += 1,
                MapWaiter::Program(sequence) => census.map_waits.push(sequence),
                MapWaiter::Job(job) => census.jobs.reads.push(job),
                MapWaiter::Discard => census.discard_fetches += 1,
            }
        }
        Ok(())
    }

    fn count_operation(&self, op: &FlashOp, is_in_die: bool, census: &mut Census) -> Checked {
        let class = match op.owner {
            Owner::HostRead { command, bytes } => {
                census.of(command)?.data += 1;
                ensure!(bytes <= 1 << 24, "a page of {bytes} bytes");
                OpClass::Read
            }
            Owner::MapRead { fetch } => {
                census.map_fetches.push(fetch);
                OpClass::Read
            }
            Owner::MergeRead { sequence } => {
                census.merges.push(sequence);
                OpClass::Read
            }
            Owner::ReadAhead { segment } => {
                census.segments.insert(segment);
                OpClass::Read
            }
            Owner::HostProgram {
                sequence,
                superblock,
                host_units,
            } => {
                census.programs.push((sequence, superblock));
                if !(is_in_die && self.controller.buffer_release == BufferRelease::Transferred) {
                    census.buffered_units += u64::from(host_units);
                }
                count(&mut census.programs_of, superblock)?;
                OpClass::Program
            }
            Owner::MapProgram {
                superblock,
                program,
            } => {
                census.map_programs.push((superblock, program));
                count(&mut census.programs_of, superblock)?;
                OpClass::Program
            }
            Owner::RelocationRead { job } => {
                census.jobs.reads.push(job);
                OpClass::Read
            }
            Owner::RelocationProgram { job } => {
                census.jobs.programs.push(job);
                OpClass::Program
            }
            Owner::ParityProgram { superblock } => {
                census.parity_programs += 1;
                count(&mut census.programs_of, superblock)?;
                OpClass::Program
            }
            Owner::Erase { superblock } => {
                count(&mut census.erases_of, superblock)?;
                OpClass::Erase
            }
        };
        ensure!(op.class == class, "a {:?} is for {:?}", op.class, op.owner);
        Ok(())
    }

    /// Checks that every command is free, queued at the host, or waits for an operation under way.
    fn audit_commands(&self, census: &Census) -> Checked {
        let depth = self.attachment.chain.queue_depth;
        let started = self.commands.audit(depth, self.packed.beyond_depth())?;
        let kinds = || self.commands.iter().map(|(_, p)| p.request.command.kind);
        let changing = kinds().filter(|kind| kind.changes_data()).count();
        ensure!(
            changing == self.writes.outstanding as usize,
            "{changing} writes and discards are outstanding, {} were counted",
            self.writes.outstanding
        );
        for (index, pending) in self.commands.iter() {
            self.audit_command(index, pending)?;
        }
        for (index, (started, waits)) in (0..).zip(started.iter().zip(&census.waits)) {
            if *started {
                self.audit_waits(index, waits)?;
            } else {
                ensure!(
                    *waits == Waits::default(),
                    "an operation belongs to command {index}, which has not started"
                );
            }
        }
        Ok(())
    }

    fn audit_command(&self, index: u32, p: &Pending) -> Checked {
        let in_range = p.request.command.is_within(self.capacity().0);
        let (first, units) = self.units_of(&p.request.command);
        // A queued discard has the units that it covers completely.
        let within = p.first >= first && p.first + p.units <= first + units;
        let is_discard = p.request.command.kind == CommandKind::Discard;
        ensure!(
            ((p.first, p.units) == (first, units) || (is_discard && within))
                && (in_range || p.request.status == Status::LbaOutOfRange)
                && (!in_range || p.request.status != Status::LbaOutOfRange)
                && p.request.submitted <= self.schedule.now(),
            "command {index} is not the one that was submitted"
        );
        check_near("the end of a transfer", p.link_done, self.schedule.now())
    }

    fn audit_waits(&self, index: u32, waits: &Waits) -> Checked {
        let p = &self.commands[index];
        let is_read = matches!(p.request.command.kind, CommandKind::Read);
        let is_write = matches!(p.request.command.kind, CommandKind::Write { .. });
        let is_discard = matches!(p.request.command.kind, CommandKind::Discard);
        let flushes = matches!(p.request.command.kind, CommandKind::Flush);
        let one = Waits {
            firmware: 1,
            ..Waits::default()
        };
        let sound = if *waits == one {
            true
        } else if waits.completion > 0 || waits.durable > 0 {
            let done = Waits {
                completion: waits.completion,
                durable: waits.durable,
                ..Waits::default()
            };
            *waits == done
                && waits.completion + waits.durable == 1
                && (waits.durable == 0 || is_write || flushes)
        } else if is_read {
            let of = Waits {
                map: waits.map,
                data: waits.data,
                ..Waits::default()
            };
            *waits == of && (waits.map == 0 || waits.data == 0) && p.waits > 0
        } else if is_discard {
            let of = Waits {
                admission: 1,
                ..Waits::default()
            };
            *waits == of && p.to_admit == p.units && p.to_arrive == p.units && p.units > 0
        } else {
            let of = Waits {
                admission: waits.admission,
                arriving: waits.arriving,
                ..Waits::default()
            };
            is_write
                && *waits == of
                && waits.admission == u32::from(p.to_admit > 0)
                && p.to_admit <= p.units
                && waits.arriving.checked_add(p.to_admit) == Some(p.to_arrive)
                && p.to_arrive > 0
        };
        // The count that a command keeps must be the number of map fetches and reads that refer to it, for every kind of command.
        ensure!(
            sound && p.waits == waits.map + waits.data,
            "command {index} waits for operations that do not exist: {p:?}, {waits:?}"
        );
        Ok(())
    }

    /// Checks that superblocks with programs or erases under way cannot be reused.
    fn audit_blocks(
        &self,
        census: &Census,
        relocation: impl Iterator<Item = SuperblockId>,
    ) -> Checked {
        let mut programs_of = census.programs_of.clone();
        for superblock in relocation {
            count(&mut programs_of, superblock)?;
        }
        for (superblock, block) in self.log.blocks.iter() {
            let (programs, erases) = (
                programs_of[superblock.index()],
                census.erases_of[superblock.index()],
            );
            ensure!(
                block.programs_pending == programs + erases
                    && (erases == 0 || (programs == 0 && block.state == State::Erasing)),
                "superblock {superblock} waits for {} operations, and {programs} programs and {erases} erases are under way",
                block.programs_pending
            );
            let listed = self.log.waits_for_erase(superblock);
            ensure!(
                listed == (block.state == State::Erasing && erases == 0),
                "superblock {superblock} is never erased, or twice"
            );
        }
        Ok(())
    }

    /// Checks that the used places of the write buffer match its contents.
    fn audit_buffer(&self, census: &Census) -> Checked {
        let g = &self.log.geometry;
        let gathered = u64::from(self.log.gathered_host_units());
        let jobs = u64::from(self.background.buffer_units(g.native.program_units));
        let rest = gathered
            + u64::from(self.writes.buffer.in_transit())
            + jobs
            + self.writes.programs.held();
        let units = rest + census.buffered_units;
        check_sum("units in the write buffer", units)?;
        ensure!(
            units == u64::from(self.writes.buffer.used()),
            "{} places of the write buffer are taken, and {units} units are in it",
            self.writes.buffer.used()
        );
        for index in &census.transfers {
            let Some(transfer) = self.writes.transfers.get(*index) else {
                continue;
            };
            let (command, first, units) = (transfer.command, transfer.first, transfer.units);
            let p = &self.commands[command];
            let end = first.checked_add(units);
            ensure!(
                first >= p.first && end.is_some_and(|end| end <= p.first + p.units),
                "a transfer of command {command} reaches beyond it"
            );
        }
        Ok(())
    }
}
