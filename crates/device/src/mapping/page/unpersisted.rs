//! Writes of a page-mapped device that a power cut would destroy: each piece of a write, with the program that writes
//! it. Recorded only on request ([`crate::powercut`]).

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

/// Logical units of a write in one program.
#[derive(Clone, Copy, Debug)]
struct Piece {
    write: u64,
    /// Superblock and program unit of the piece.
    place: (SuperblockId, ProgramId),
    /// First sector of the piece, then the sector after its last; a write need not begin or end at a unit boundary.
    from: u64,
    to: u64,
    /// The program; `None` until the program unit is full.
    program: Option<Program>,
}

/// A program of host data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Program {
    sequence: u32,
    die: Die,
    /// Number of the word line on its die.
    word_line: u32,
    done: bool,
}

/// Pieces of writes that a power cut may damage.
#[derive(Clone, Debug, Default)]
pub(super) struct UnpersistedWrites {
    pub(super) numbers: Numbers,
    /// Pieces that a power cut would destroy, in order of the log. Removed are pieces programmed before the last
    /// completed flush, or with a complete word line.
    pieces: VecDeque<Piece>,
}

impl UnpersistedWrites {
    /// Whether a power cut now destroys a piece: it is not programmed, or shares its word line with a program under
    /// way. Each die programs in order, so that its first unfinished program is under way.
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

    /// Numbers a submitted command, if it is a write.
    pub(super) fn number(&mut self, index: u32, kind: CommandKind) {
        if let Some(unpersisted) = &mut self.unpersisted
            && matches!(kind, CommandKind::Write { .. })
        {
            unpersisted.numbers.submitted(index);
        }
    }

    /// Records units of a write that have arrived and were appended to the log.
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

    /// Records a part of a write that was merged into a buffered unit. It is programmed with that unit and takes no
    /// further place.
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

    /// Assigns the pieces that wait for a program unit to its program.
    pub(super) fn note_program(&mut self, unit: &ProgramUnit, sequence: u32) {
        let g = &self.log.geometry;
        let passes = g.mode(unit.slc).programs_per_word_line();
        let per_die = g.rows(unit.slc);
        // Counted across all superblocks, so that only passes of the same word line have equal numbers.
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

    /// Records the end of a program.
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
        // Programs at least this far back have complete word lines.
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

    /// Records a completion. A flush, a forced write, or any write acknowledged after its program guarantees that
    /// everything programmed by now survives, even if its word line is torn later.
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
            // Sectors that have not arrived, or the whole command if it was refused.
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
