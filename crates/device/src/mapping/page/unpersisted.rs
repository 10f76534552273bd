//! Which writes of a page-mapped device are on the medium, for power cuts: each piece of a write
//! waits for the program that takes it. Kept only where somebody asked ([`crate::powercut`]).

use super::PageMapDevice;
use crate::command::{CommandKind, Status};
use crate::flash::Die;
use crate::flash::superblock_id::SuperblockId;
use crate::mapping::page::log::ProgramUnit;
use crate::mapping::page::lpn::Lpn;
use crate::mapping::page::program_id::ProgramId;
use crate::powercut::{Cut, Damage, Numbers};
use crate::profile::schema::Acknowledge;
use nandscope_units::{Nanos, SECTOR_BYTES};
use std::collections::VecDeque;

/// Logical units of a write that one program takes.
#[derive(Clone, Copy, Debug)]
struct Piece {
    write: u64,
    /// Superblock and program unit of its units.
    place: (SuperblockId, ProgramId),
    /// Its sectors: the ends of a write need not be those of units.
    from: u64,
    to: u64,
    /// Set when the program unit is full.
    program: Option<Program>,
}

/// A program of host data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Program {
    sequence: u32,
    die: Die,
    /// Word line of the die.
    word_line: u32,
    done: bool,
}

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(super) struct UnpersistedWrites {
    pub(super) numbers: Numbers,
    /// Pieces that a power cut would destroy, in order of the log. Those are removed that were programmed before the last
    /// completed flush, or whose word line is complete.
    pieces: VecDeque<Piece>,
}

impl UnpersistedWrites {
    /// Not programmed, or on a word line of which another page is being programmed. Each die
    /// programs in order, so that it is at work on the first of its programs.
    fn is_lost(&self, piece: &Piece) -> bool {
        let Some(own) = piece.program.filter(|p| p.done) else {
            return true;
        };
        let programs = self.pieces.iter().filter_map(|p| p.program);
        let under_way = programs
            .filter(|p| !p.done && p.die == own.die)
            .min_by_key(|p| p.sequence.wrapping_sub(own.sequence));
        under_way.is_some_and(|p| p.word_line == own.word_line)
    }
}

impl PageMapDevice {
    pub(crate) fn track_writes(&mut self) {
        self.unpersisted.get_or_insert_default();
    }

    /// A write is submitted.
    pub(super) fn number(&mut self, index: u32, kind: CommandKind) {
        if let Some(unpersisted) = &mut self.unpersisted
            && matches!(kind, CommandKind::Write { .. })
        {
            unpersisted.numbers.submitted(index);
        }
    }

    /// Units of a write have come and were appended to the log.
    pub(super) fn note_arrival(&mut self, index: u32, (first, units): (Lpn, u32)) {
        let per_unit = self.unit_bytes() / SECTOR_BYTES;
        let command = self.commands[index].request.command;
        let (begin, end) = (command.lba.0, command.lba.0 + u64::from(command.sectors));
        let Some(unpersisted) = &mut self.unpersisted else {
            return;
        };
        let Some(write) = unpersisted.numbers.of(index) else {
            return;
        };
        for unit in first.and_next(units) {
            let place = self.log.program_of(unit);
            let from = (u64::from(unit) * per_unit).max(begin);
            let to = (u64::from(unit + 1) * per_unit).min(end);
            match unpersisted.pieces.back_mut() {
                Some(last) if unit > first && last.place == place => last.to = to,
                _ => unpersisted.pieces.push_back(Piece {
                    write,
                    place,
                    from,
                    to,
                    program: None,
                }),
            }
        }
    }

    /// A part of a write has joined a unit that is in the buffer already. It is programmed with that unit and takes no
    /// place of its own.
    pub(super) fn note_merged(&mut self, index: u32, unit: Lpn) {
        let place = self.log.program_of(unit);
        let per_unit = self.unit_bytes() / SECTOR_BYTES;
        let (start, next) = (u64::from(unit) * per_unit, u64::from(unit + 1) * per_unit);
        let command = self.commands[index].request.command;
        let (begin, end) = (command.lba.0, command.lba.0 + u64::from(command.sectors));
        let Some(unpersisted) = &mut self.unpersisted else {
            return;
        };
        let Some(write) = unpersisted.numbers.of(index) else {
            return;
        };
        // The unit's program may be full already, and wait for this part.
        let in_unit = |p: &&Piece| p.from < next && p.to > start;
        let program = unpersisted.pieces.iter().rev().find(in_unit);
        let program = program.and_then(|p| p.program);
        unpersisted.pieces.push_back(Piece {
            write,
            place,
            from: start.max(begin),
            to: next.min(end),
            program,
        });
    }

    /// A program unit of the host is handed to the array: it takes the pieces that wait for it.
    pub(super) fn note_program(&mut self, unit: &ProgramUnit, sequence: u32) {
        let g = &self.log.geometry;
        let passes = g.mode(unit.slc).programs_per_word_line();
        let per_die = g.rows(unit.slc);
        // Counted through all superblocks, so that it is the same for the passes of one only.
        let word_line = unit.superblock.0 * per_die + g.row_of(unit.program) / passes;
        let Some(unpersisted) = &mut self.unpersisted else {
            return;
        };
        let place = (unit.superblock, unit.program);
        let waiting = unpersisted
            .pieces
            .iter_mut()
            .filter(|p| p.program.is_none() && p.place == place);
        for piece in waiting {
            piece.program = Some(Program {
                sequence,
                die: unit.die,
                word_line,
                done: false,
            });
        }
    }

    /// A program is done.
    pub(super) fn note_programmed(&mut self, sequence: u32) {
        let Some(unpersisted) = &mut self.unpersisted else {
            return;
        };
        for piece in &mut unpersisted.pieces {
            if let Some(program) = &mut piece.program
                && program.sequence == sequence
            {
                program.done = true;
            }
        }
        // The word lines of what lies so far back are complete.
        let g = &self.log.geometry;
        let passes = g.mode(false).programs_per_word_line();
        let window = if passes == 1 { 0 } else { passes * g.dies };
        let is_old = |p: Program| p.done && sequence.wrapping_sub(p.sequence) >= window;
        while let Some(piece) = unpersisted.pieces.front()
            && piece.program.is_some_and(is_old)
        {
            unpersisted.pieces.pop_front();
        }
    }

    /// The host hears of a completion. Of a flush or FUA, and of any write that is acknowledged only when it
    /// is programmed, it means that what is programmed by now stays, whatever its word lines do.
    pub(super) fn note_completed(&mut self, index: u32) {
        let p = &self.commands[index];
        let Some(unpersisted) = &mut self.unpersisted else {
            return;
        };
        unpersisted.numbers.completed(index);
        let flushed = match p.request.command.kind {
            CommandKind::Flush | CommandKind::Write { fua: true } => true,
            CommandKind::Write { .. } => self.attachment.acknowledge == Acknowledge::Programmed,
            _ => false,
        };
        if flushed && p.request.status == Status::Ok {
            unpersisted
                .pieces
                .retain(|p| !p.program.is_some_and(|program| program.done));
        }
    }

    pub(crate) fn durable_writes(&mut self) -> u64 {
        self.unpersisted.as_ref().map_or(0, |unpersisted| {
            let incomplete = unpersisted.numbers.first_incomplete();
            let first = unpersisted.pieces.iter().map(|p| p.write).min();
            first.map_or(incomplete, |first| first.min(incomplete))
        })
    }

    pub(crate) fn cut_power(&mut self) -> Cut {
        let damage = self.damage();
        let recovery = self.recovery();
        let mut dropped = Vec::new();
        while self.commands.outstanding() > 0 && self.next_event().is_some() {
            self.advance(Nanos::MAX, &mut dropped);
        }
        self.flush_for_power_off();
        self.read_ahead.drop_all();
        self.counters.power_cycled(false);
        let boot = Nanos::from_micros_f64(self.controller.boot_ms * 1e3);
        let ready = self.schedule.now() + boot + recovery;
        while self.schedule.now() < ready {
            self.advance(ready, &mut dropped);
        }
        if let Some(unpersisted) = &mut self.unpersisted {
            unpersisted.pieces.clear();
        }
        Cut { damage, ready }
    }

    fn damage(&self) -> Vec<Damage> {
        let Some(unpersisted) = &self.unpersisted else {
            return Vec::new();
        };
        let mut damage = Vec::new();
        if !self.controller.power_fail_hold_up {
            let lost = unpersisted.pieces.iter().filter(|p| unpersisted.is_lost(p));
            damage.extend(lost.map(|p| Damage::new(p.write, p.from, p.to, false)));
        }
        let per_unit = self.unit_bytes() / SECTOR_BYTES;
        for (index, write) in unpersisted.numbers.pending() {
            let p = &self.commands[index];
            let (begin, end) = (
                p.request.command.lba.0,
                p.request.command.lba.0 + u64::from(p.request.command.sectors),
            );
            // The sectors that have not come over the link, or the whole command if it was refused.
            let arrived = p.units - p.to_arrive.min(p.units);
            let from = if p.request.status == Status::Ok {
                (u64::from(p.first + arrived) * per_unit).max(begin)
            } else {
                begin
            };
            if from < end {
                damage.push(Damage::new(write, from, end, false));
            }
        }
        damage.sort_by_key(|d| (d.write, d.first));
        damage
    }
}
