#!/usr/bin/env python3
"""Plants one deliberate fault at a time into a copy of the device crate and checks that its tests notice.

    scripts/planted-bugs.py            all faults
    scripts/planted-bugs.py fua map    those whose description contains one of the words
    scripts/planted-bugs.py --some 20  so many; which ones changes with the sources of the device
    scripts/planted-bugs.py --check    none; only looks whether each place is there

Each fault is a place in a source file and what is put there instead. A place that is no longer there fails the
script: correct the table below along with the code. The tree itself is never touched. There are as many copies, each
with a target directory, as processors (at most four), so that each fault costs a build of one crate and the tests that
should notice it.
"""

import hashlib
import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = "crates/device/src/"
# A fault may also make the device loop for ever: that counts as noticed. Seconds of processor time, so that a busy machine
# does not make a test that passes look endless; the sound tests of a file take less than half of it.
CPU_SECONDS_MAX = 60

# (file, old text, new text, description, the file of tests that should notice and, after a space, the beginning of a
# test's name)
FAULTS = [
    ("mapping/page/map.rs", "            self.clear(old);\n        }\n        debug_assert", "        }\n        debug_assert",
     "map: the old place of an overwritten unit stays valid", "conservation"),
    ("mapping/page/map.rs", "*self.inverse.slot(ppn.index()) = logical.0;", "*self.inverse.slot(ppn.index()) = logical.0 ^ 1;",
     "map: the inverse points at the neighbour", "conservation"),
    ("mapping/page/map.rs", "            self.mapped -= 1;", "",
     "map: a discard is not counted", "conservation"),
    ("table.rs", "Page::Shared(page) => (page.numbers(), place),", "Page::Shared(_) => (self.base.numbers(), index),",
     "map: a clone of a clone forgets what the first one wrote", "determinism clones_that_share"),
    ("mapping/page/map.rs", "                    *word ^= bit;", "",
     "map: what was collected stays valid", "conservation"),
    ("policy/victims.rs", "self.list(superblock, valid - units);", "self.list(superblock, valid);",
     "collection: valid counts of victims never fall", "conservation"),
    ("policy/victims.rs", "self.iter().min_by_key(rank)", "self.iter().max_by_key(rank)",
     "collection: greedy takes the fullest block", "write_amplification timed_random"),
    ("policy/victim.rs", "closed.iter().min_by_key(|c| Reverse(c.age()))", "closed.iter().max_by_key(|c| Reverse(c.age()))",
     "collection: FIFO takes the newest block", "write_amplification fifo_collection"),
    ("policy/victim.rs", "Policy::Greedy | Policy::Missing(_) => closed.victims.least(),", "Policy::Greedy | Policy::Missing(_) => closed.victims.iter().next(),",
     "collection: greedy takes any block", "write_amplification timed_random"),
    ("mapping/page/log/life.rs", "block.valid -= units;", "block.valid = block.valid.saturating_sub(units + 1);",
     "collection: valid data is counted off twice", "conservation"),
    ("mapping/page/log/accounts.rs", "self.programmed.padding += u64::from(padding);", "",
     "accounting: padding is not counted", "conservation whole_units"),
    ("mapping/page/log/accounts.rs", "        self.programmed.metadata += u64::from(units);", "        let _ = units;",
     "accounting: metadata is not counted", "write_amplification every_program"),
    ("mapping/page/log/accounts.rs", "        *count += u64::from(units);", "        *count += u64::from(units.min(1));",
     "accounting: one unit of a relocated page is counted", "write_amplification every_program"),
    ("mapping/page/background/erase.rs", "|superblock| jobs.moves_from(Ppn(superblock.0 * units), units)", "|superblock| jobs.moves_from(Ppn(superblock.0), 0)",
     "collection: a victim is erased before its data is programmed", "relocation a_victim_stays"),
    ("flash/channel.rs", "self.reads_until = start + time;", "self.reads_until = now + time;",
     "timing: transfers of a channel overlap", "arithmetic"),
    ("flash/array.rs", "self.energy_pj += u64::from(op.array_ns) * self.times.read_mw;", "",
     "power: array reads cost nothing", "power"),
    ("flash/array.rs", "        self.bus_bytes += bytes;\n", "        let _ = bytes;\n",
     "power: the bus costs nothing", "power"),
    ("flash/array.rs", "ChannelId(self.by_channels.remainder(die.0))", "ChannelId(die.0 * 0)",
     "timing: every die hangs on the first channel", "arithmetic"),
    ("flash/channel.rs", "let mut start = current.boundary(from);", "let mut start = self.free.max(current.boundary(from));",
     "timing: a read waits for the whole transfer of a program", "lib a_read_waits_for_a_page"),
    ("flash/channel.rs", "                program.end += time;", "",
     "timing: a read on the channel does not delay the program that it interrupts", "lib a_read_waits_for_a_page"),
    ("flash/array/suspend.rs", "let until = now + lead + d.suspended.left;", "let until = now + lead;",
     "timing: a suspended program is done at once when resumed", "arithmetic"),
    ("flash/array/suspend.rs", "d.array_until.saturating_sub(now) >= self.times.suspend_threshold", "d.array_until.saturating_sub(now) <= self.times.suspend_threshold",
     "timing: what is nearly done is suspended, and nothing else", "arithmetic"),
    ("mapping/page/packing.rs", "        if self.packed.done.len() < self.packed.members as usize {", "        if false {",
     "link: each packed write ends on its own", "card_commands"),
    ("host/attachment.rs", "if is_card && host.host.cache_off {", "if is_card && host.host.cache_off && false {",
     "cards: the cache is on although the host leaves it off", "card_commands the_host_decides"),
    ("mapping/page/packing.rs", "        self.receive(SECTOR_BYTES, sent);", "        let _ = sent;",
     "link: the list of packed writes takes no time", "card_commands"),
    ("mapping/page/log/journal.rs", "            return u64::from(written) + unnamed;", "            return u64::from(written);",
     "power: what the journal does not name yet is known after a cut", "power_cut the_journal"),
    ("mapping/page/log/journal.rs", "        self.checkpoint_with(page, now, full);", "        let _ = page;",
     "map: a map in DRAM is never checkpointed", "write_amplification a_round_of"),
    ("mapping/page/log/checkpoint.rs", "                *word ^= bit;\n", "",
     "map: the checkpoint writes a page that has not changed again", "write_amplification a_round_of"),
    ("mapping/page/decoding.rs", "        self.background.jobs.note_decoded(job, ready);\n", "        let _ = ready;\n",
     "engines: relocation does not wait for its pages", "decoding collection_is_bounded"),
    ("mapping/page/decoding.rs", "        if ready > self.schedule.now() {\n            self.schedule.push(ready, Event::MapFetched(fetch));", "        if false {\n            self.schedule.push(ready, Event::MapFetched(fetch));",
     "engines: a page of the map is used before it is decoded", "decoding a_miss_of_the_map"),
    ("mapping/page/decoding.rs", "page * u64::from(read.failed)", "page * 0",
     "engines: failed attempts take none", "decoding failed_attempts"),
    ("mapping/page/decoding.rs", "now.max(*free) + page", "now + page",
     "timing: an engine of the ECC decodes any number of pages at once", "arithmetic engines_of_the_ecc"),
    ("flash/array.rs", "op.transfers) * attempts;", "op.transfers);",
     "timing: a retry transfers nothing", "reliability a_retry_takes"),
    ("flash/array.rs", "if !self.times.cache_read {\n                    self.dies[d]", "if self.times.cache_read {\n                    self.dies[d]",
     "timing: cache reads the wrong way round", "arithmetic"),
    ("mapping/page/parity_rows.rs", "let place = self.by_data_dies.remainder(program.0);", "let place = program.0 - program.0;",
     "timing: only one die is ever read", "arithmetic"),
    ("mapping/page/cores.rs", "self.free_at[self.next].max(from) + time", "from + time",
     "timing: a core handles any number of commands at once", "arithmetic"),
    ("mapping/page/cores.rs", "            self.sort_in(place);", "",
     "timing: cores are not kept in the order in which they are free", "lib work_gets_the_core"),
    ("mapping/page/read_plan/submit.rs", "            && units == 1\n", "",
     "timing: large reads are planned as small ones", "lib planned_reads"),
    ("mapping/page/read_plan/submit.rs", " || firmware < self.plan.last_firmware {", " {",
     "timing: reads are planned out of the order of the firmware", "lib planned_reads"),
    ("mapping/page/log/append.rs", "units.len().narrow().min(self.entries_to_journal_page())", "units.len().narrow()",
     "accounting: a fill writes pages of the journal late", "lib units_written_together"),
    ("mapping/page/log/append.rs", "self.invalidated(self.geometry.superblock_of(*old), 1);", "",
     "collection: a starting state counts replaced units as valid", "lib units_written_together"),
    ("mapping/page/cores.rs", "let in_order = self.commands_only && splits == Nanos::ZERO && self.expected == 0;", "let in_order = self.commands_only && self.expected == 0;",
     "timing: a command that is split keeps a core from those that overtake it", "arithmetic a_core_serves"),
    ("mapping/page/cores.rs", "let in_order = self.commands_only && splits", "let in_order = splits",
     "timing: a core rests for a command that is on its way", "arithmetic relocation_uses"),
    ("mapping/page/background/handling.rs", "(per_unit_ns, (POLL_NS / per_unit_ns).floor_u32().max(1))", "(per_unit_ns, u32::MAX)",
     "timing: relocation keeps a core for a whole program unit", "gc_pacing a_command_waits"),
    ("mapping/page/background.rs", "u64::from(moved) * gain;", "u64::from(moved) * gain / CREDIT_PER_UNIT * CREDIT_PER_UNIT;",
     "collection: victims that yield little earn the host nothing", "gc_pacing a_write_waits"),
    ("mapping/page/writes/admission.rs", "affordable.min(space).clamp", "affordable.min(if self.pace.is_active() { space } else { u64::MAX }).clamp",
     "collection: the host does not wait for erasures", "exact the_host_waits"),
    ("mapping/page/log/layout.rs", "checkpoint_burst: geometry.checkpoint_burst(ftl),", "checkpoint_burst: 0,",
     "collection: no room is kept for checkpoints", "exact collection_makes_room"),
    ("mapping/page/log/journal.rs", "room * entries / (entries + 1 + u64::from(checkpoint.due_max()))", "room",
     "collection: the host takes the room of its checkpoints", "exact collection_makes_room"),
    ("policy/pacing.rs", "u128::from(grants) * u128::from(free - last) / u128::from((start - last).max(1))", "u128::from(grants) / u128::from((start - last).max(1)) * u128::from(free - last)",
     "collection: less than a unit per job earns the host nothing", "gc_pacing a_write_waits_for_its_share_of_collection_after"),
    ("mapping/page/log/choice.rs", "(Cause::Refresh, _) | (Cause::Collect, Pool::Map) => self.loan_per_move(),", "(Cause::Refresh, _) | (Cause::Collect, Pool::Map) => 0,",
     "collection: the host waits while a superblock is levelled", "gc_pacing a_write_does_not"),
    ("mapping/page/writes/buffer.rs", "        self.reserve(units);", "",
     "buffer: it has no end", "conservation"),
    ("mapping/page/writes/buffer.rs", "self.used = self.used.saturating_sub(units);", "self.used = self.used.saturating_sub(units / 2);",
     "buffer: half of the places never come back", "conservation"),
    ("mapping/page/writes/durable.rs", "        let sequence = self.writes.programs.next_sequence();\n        self.writes.wait_for_programs", "        let sequence = self.writes.programs.programmed;\n        self.writes.wait_for_programs",
     "buffer: a flush waits for one program only", "durability"),
    ("mapping/page/writes/admission.rs", "        if fua && !self.controller", "        if false && fua && !self.controller",
     "buffer: FUA is acknowledged from the buffer", "durability"),
    ("mapping/page/discards.rs", "        let first = Lpn(start.div_ceil(unit).narrow());", "        let first = Lpn((start / unit).narrow());",
     "map: a discard takes the unit that it covers in part", "durability"),
    ("mapping/page/log/slc.rs", "self.slc.count < self.layout.slc.most && self.blocks.free_count() > self.slc_floor()", "self.slc.count < self.layout.slc.most",
     "SLC: the cache eats the over-provisioning", "slc_cache"),
    ("mapping/page/log/life.rs", "        if slc {\n            self.slc.erased();\n        }", "",
     "SLC: erased blocks stay in the count", "slc_cache"),
    ("mapping/page/log/slc.rs", "        !self.slc.is_empty()\n    }", "        false\n    }",
     "SLC: nothing is folded in idle time", "slc_cache"),
    ("mapping/page/map_cache.rs", "            slot.referenced = true;\n", "",
     "map: the window gives every page the same chance", "map_window"),
    ("mapping/page/reads.rs", "let under_way = self.log.window.fetch_of(page.page);", "let under_way: Option<u32> = None;",
     "map: reads that come meanwhile fetch the same page again", "map_window reads_that_come"),
    ("mapping/page/log/relocation.rs", "            self.touch_for_move(to, moved, now, written);\n", "            let _ = (to, &written);\n",
     "map: what is moved finds its map page for free", "map_window random_writes"),
    ("mapping/page/writes/in_flight.rs", "Some(program) if program.map_waits > 0 =>", "Some(program) if program.map_waits > 9 =>",
     "map: a write finds its map page for free", "map_window a_write_beyond"),
    ("mapping/page/log/window.rs", "(is_remote && !is_near)", "is_remote",
     "map: every read fetches its page from host memory again", "map_window a_fetch_from_host_memory"),
    ("mapping/page/log/window.rs", "(is_remote && !is_near)", "(is_remote && !is_near && !change)",
     "map: a write finds its page in host memory for free", "map_window writes_fetch"),
    ("mapping/page/discards.rs", "        self.writes.wait_for_admission(index);\n        self.run(Wants::Admission);\n", "        self.admit_discard(index);\n",
     "discards: one takes effect before the writes that came first", "discards a_discard_does_not_pass"),
    ("mapping/page/writes/durable.rs", "        self.log.flush_journal(self.schedule.now(), &mut full);\n", "",
     "buffer: a flush leaves the journal as it is", "durability a_flush_completes_the_journal"),
    ("mapping/page/log/discard.rs", "                if self.covers_map_page(page, at, until) {", "                if self.covers_map_page(page, at, until + 1) {",
     "discards: pages of the map are kept that hold nothing", "discards a_discard_of_everything"),
    ("mapping/page/reads.rs", "            at = *sources.get(self.log.place_in_program(at) as usize)?;", "            at = *sources.get(usize::MAX)?;",
     "relocation: what is being moved is read for free", "relocation"),
    ("mapping/page/log/partial.rs", "            {\n                reads.push(self.run_at(old));", "            {\n                let _ = (self.run_at(old), &reads);",
     "small writes: nothing is read around them", "small_io a_program"),
    ("mapping/page/writes/admission.rs", "if partial && self.log.takes_parts(first) {", "if partial && units > 1 {",
     "small writes: neighbours do not join in the buffer", "small_io halves"),
    ("mapping/page/readahead.rs", "const STREAMS: usize = 4;", "const STREAMS: usize = 1;",
     "read-ahead: a second stream ends the first", "small_io read_ahead"),
    ("power/thermal.rs", "let to_ambient_w = (self.case_c - s.ambient_c) / s.case_to_ambient_k_per_w;", "let to_ambient_w = 0.0;",
     "power: no heat leaves the case", "power"),
    ("power/meter.rs", "+ a.idle_w * idle_s", "",
     "power: idling costs nothing", "power"),
    ("power/states.rs", "state.reached().saturating_sub(idle) + state.exit", "state.exit",
     "power states: the rest of an entry takes no time", "power_states the_first_read"),
    ("power/meter.rs", "\n            - self.saved_since_step(end, a);", ";",
     "power states: sleeping saves nothing", "power_states each_state"),
    ("mapping/page/power.rs", "        arrival.max(self.awake)", "        arrival",
     "power states: no command waits for the exit", "power_states what_comes"),
    ("flash/retention.rs", "1.0 / (STATED_C + KELVIN) - 1.0 / kelvin", "1.0 / kelvin - 1.0 / (STATED_C + KELVIN)",
     "errors: data keeps longer in the heat", "lib the_acceleration"),
    ("flash/retention.rs", "from.aged_s + passed_s * self.rate", "from.aged_s + passed_s",
     "errors: data ages at one rate in any heat", "reliability data_ages"),
    ("flash/reliability.rs", "rber * self.page_factor(block, Some(page))", "rber",
     "errors: all pages of a word line are alike", "reliability pages_of_a_word_line"),
    ("flash/array/planes.rs", "            .all(|plane| self.planes[plane].read == NONE)", "            .all(|plane| self.planes[plane].read == NONE || index == NONE) && self.dies[self.slots[index as usize].op.die].reading == 0",
     "timing: planes that could read on their own wait for one another", "plane_reads each_plane"),
    ("flash/array/planes.rs", "        if self.dies[die].reading > 0 || self.start_work", "        if self.start_work",
     "timing: a program begins while planes of its die read", "plane_reads a_mixed_load"),
    ("host/attachment.rs", "chain.queue_depth = chain.queue_depth.min(interface.command_queue.unwrap_or(1));", "chain.queue_depth = chain.queue_depth.min(1);",
     "cards: nothing is ever queued", "card_commands a_queue_hides"),
    ("host/attachment.rs", "        self.stop * bytes.div_ceil(self.chain.max_transfer.0)", "        self.stop",
     "cards: one stop command for many transfers", "card_commands a_stop_command_follows"),
    ("snapshot.rs", "if checksum(content).to_le_bytes() != sum {", "if content.len() == sum.len() {",
     "snapshots: the checksum is not looked at", "determinism"),
    ("mapping/au/map.rs", "same().min_by_key(|i| self.open[*i].0.last_used)", "same().max_by_key(|i| self.open[*i].0.last_used)",
     "card: the AU that was written to last is closed", "cards"),
    ("mapping/au/map.rs", "if same().count() >= most as usize", "if same().count() > most as usize",
     "card: one AU more is open than there may be", "cards"),
    ("mapping/au/map.rs", "        if old != UNMAPPED {\n            self.physical.release(old);\n        }\n        let ops", "        let ops",
     "card: the old AU of a merge never becomes free", "cards"),
    ("mapping/au/map.rs", "n.is_multiple_of(self.apart) && n / self.apart < self.aus", "n < self.aus",
     "card: the AUs of a FAT area lie side by side", "cards"),
    ("mapping/au/read_streams.rs", "self.next.truncate(most.saturating_sub(1));", "self.next.clear();",
     "card: reads side by side are not followed", "cards"),
    ("mapping/au/map.rs", "Some(fat) if class => fat.open_most,", "Some(fat) if class => fat.open_most + 1,",
     "card: the FAT area has one open AU more", "cards"),
    ("mapping/au/map.rs", "if !continues && sectors <= self.clusters.up_to", "if sectors <= self.clusters.up_to",
     "card: small writes in a row are small writes too", "cards"),
    ("mapping/au/map.rs", "(sector.div_ceil(size), end / size)", "(sector / size, end.div_ceil(size))",
     "card: a discard takes AUs that it covers in part", "cards"),
    ("mapping/au/map.rs", "            ops.add(merge.ops);\n        }\n        let is_fat", "        }\n        let is_fat",
     "card: a merge that was put off is forgotten when the AU is opened again", "cards"),
    ("mapping/au/map.rs", "        ops.add(merge.ops.split_merged(merge.at_once));", "        merge.ops.split_merged(merge.at_once);",
     "card: emptying the block that waits costs nothing", "cards"),
    ("mapping/au/map.rs", ".relocate(au, WearChoice::MostWorn, context, ops)", ".relocate(au, WearChoice::LeastWorn, context, ops)",
     "card: cold data goes to the least worn AUs", "lib static_wear"),
    ("mapping/au/shared_log/mod.rs", "let crowded = self.sharers.len() >= self.limits.aus as usize && !self.shares(au);", "let crowded = false;",
     "card: any number of AUs share the log", "cards::sharing"),
    ("mapping/au/shared_log/writes.rs", "                    self.physical.release(old);\n                    self.geometry.au_pages\n", "                    self.physical.release(old);\n                    held\n",
     "card: a reclaimed log leaves behind what was not in it", "cards::sharing"),
    ("mapping/au/shared_log/mod.rs", "std::mem::replace(&mut sharer.places[page as usize], place)", "sharer.places[page as usize].min(place)",
     "card: the shared log forgets where a page is", "lib every_page_is"),
    ("mapping/au/shared_log/writes.rs", "        log.since[1] = log.since[0];\n", "",
     "card: open AUs that rest are never closed with the shared log", "cards::sharing"),
    ("mapping/au/open.rs", "ops.merged = rest + self.logged_count;", "ops.merged = rest;",
     "card: a partial merge leaves the log behind", "cards"),
    ("mapping/au/open.rs", "                    ops.merged = all;\n                    ops.erases", "                    ops.merged = rest;\n                    ops.erases",
     "card: a full merge copies only what was not written", "cards"),
    ("mapping/au/open.rs", "OutOfOrder::Map if policy.log_pages - self.log_used >= rest", "OutOfOrder::Map if rest > 0",
     "card: a mapped AU without room is merged in place", "cards"),
    ("mapping/au/open.rs", "        ops.merged += left;", "",
     "card: what is left in the oldest block is not moved", "cards"),
    ("mapping/au/open.rs", "            *word &= !bit;\n        }\n", "        }\n",
     "card: a rewritten page stays in the oldest block", "cards"),
    ("mapping/au/open.rs", "        ops.fills += u32::from(self.filled == 0 && from > 0 && self.has_old);", "",
     "card: what lies before a part of a page is not read", "cards"),
    ("mapping/au/open.rs", "            && self.parts < policy.partial_programs;\n        if !in_order", ";\n        if !in_order",
     "card: a page takes any number of programs", "cards"),
    ("mapping/au/physical.rs", "                self.retired += 1;", "",
     "card: retired AUs are not counted", "cards"),
    ("mapping/au/service.rs", "        if !(continues && open && self.writing.open) {", "        if !continues {",
     "card: every write in a row is kept open", "cards"),
    ("mapping/au/service.rs", "            at = self.flush(index, at);", "",
     "card: FUA leaves a part of a page in the buffer", "cards"),
    ("mapping/au/service.rs", "            at = self.write_out_buffer(at);", "",
     "card: a read does not end a write that was kept open", "cards"),
    ("mapping/au/buffer.rs", "        self.held.retain(|h| h.to <= from || h.from >= to);", "",
     "card: the buffer keeps what was discarded", "cards"),
    ("mapping/au/times.rs", "            + f64::from(ops.switches) * self.switch_ns;", "            ;",
     "card: going from one AU to another takes no time", "cards"),
    ("mapping/au/times.rs", "let period = (self.bus_ns / self.channels).max(on_die / self.dies);", "let period = (self.bus_ns / self.channels).max(on_die);",
     "card: programs do not overlap on different dies", "cards"),
    ("mapping/au/times.rs", "f64::from(extent.stripes.div_ceil(r.dies) - 1)", "stripes - 1.0",
     "card: reads do not overlap on different dies", "cards"),
    ("mapping/page/background/idle.rs", "        if !self.pending {", "        if true {",
     "events: every write leaves an idle timer behind", "idle_timer idle_events_do_not_pile_up_in_a_drive"),
    ("mapping/au/mod.rs", "        if self.idle_timer.is_none() {", "        if true {",
     "events: every command of a card leaves an idle timer behind", "idle_timer idle_events_do_not_pile_up_in_a_card"),
    ("events.rs", "self.sequence += 1;", "self.sequence = (self.sequence + 1) & 7;",
     "events: the order breaks when the sequence numbers run out", "lib the_order_is_that"),
    ("events.rs", "            self.fetch_from_beyond();\n", "",
     "events: the ring reaches an event and leaves it in the heap", "lib the_order_is_that"),
    ("mapping/page/writes/admission.rs", "Acknowledge::Programmed => self.complete_when_programmed(index),", "Acknowledge::Programmed => self.complete_after_programs(index),",
     "buffer: a write is acknowledged while its program unit is filled in part", "acknowledged what_the_library"),
    ("mapping/page/unpersisted.rs", "self.attachment.acknowledge == Acknowledge::Programmed,", "false,",
     "power cut: an acknowledged page goes with its word line", "acknowledged what_a_random_drive"),
    ("flash/array.rs", "d.overtakes += u32::from(work_waits);", "d.overtakes += 1;",
     "timing: host reads overtake when nothing waits", "lib reads_with_nothing_waiting"),
    ("flash/array.rs", "        self.dies[die].overtakes = 0;\n        self.start_read(die, index", "        self.start_read(die, index",
     "timing: background reads keep their turn", "lib one_background_read"),
    ("flash/array.rs", "return self.dies[die].staged_ready && self.start_staged(die, now, events);", "return !self.dies[die].staged_ready || self.start_staged(die, now, events);",
     "timing: a die rests while the data of its program is on the channel", "lib reads_go_on"),
    ("flash/array/queues.rs", "let queue = if op.urgent {", "let queue = if op.urgent && op.class != crate::flash::OpClass::Read {",
     "timing: host reads queue behind those of collection", "priority a_host_read_passes"),
    ("flash/array.rs", "(op.die, op.bus_bytes, op.transfers.max(1));", "(op.die, op.bus_bytes, 1);",
     "timing: a program unit goes over its channel as a whole", "priority a_read_waits_for_a_page"),
    ("flash/blocks.rs", "let reads = &mut self.reads[start + plane.index()];", "let reads = &mut self.reads[start - first as usize];",
     "errors: reads are counted for a superblock", "reliability reads_are_counted"),
    ("mapping/page/log/choice.rs", "(target.superblock, Cause::Refresh, target.block)", "(target.superblock, Cause::Refresh, None)",
     "errors: a refresh rewrites blocks that were not disturbed", "reliability reads_are_counted"),
    ("mapping/page/log/relocation.rs", "planes.insert(self.plane_at(next, superblock));", "",
     "timing: collection reads the page of one plane only", "lib valid_units_on_two_planes"),
    ("flash/reliability.rs", "(s.retention_factor_year - 1.0) * libm", "(s.retention_factor_year - 1.0) * worn * libm",
     "errors: a block without wear keeps its data for ever", "lib retention_multiplies"),
    ("flash/blocks.rs", "        if slc { self.slc } else { NATIVE_CYCLE }", "        if slc { NATIVE_CYCLE } else { NATIVE_CYCLE }",
     "errors: SLC cycles wear like native ones", "lib each_mode_uses_up"),
    ("flash/blocks.rs", "        block.slc = slc;\n        block.opened_at = now;\n", "        block.slc = slc;\n",
     "errors: an open block keeps the age of its former data", "reliability data_of_an_open_block"),
    ("host/counters.rs", "self.power_ups += 1;", "",
     "health: a power cycle is not counted", "power_cut health_counts"),
    ("host/counters.rs", "self.unsafe_shutdowns += u64::from(!with_notice);", "",
     "health: a power cut is no unsafe shutdown", "power_cut health_counts"),
    ("host/counters.rs", "        let hot = thermal.is_above_warning();", "        let hot = thermal.clock() < 1.0;",
     "health: the warning is that of throttling", "power the_warning"),
    ("mapping/au/map.rs", "            if self.clusters.au.is_none() || room == 0 {", "            if self.clusters.au.is_none() {",
     "card: small writes never erase", "cards::wearing small_writes_wear"),
    ("mapping/page/log/accounts.rs", "        self.appended += u64::from(padding);", "",
     "accounting: programs and their causes differ", "exact counters"),
    ("mapping/page/geometry.rs", "            + u64::from(self.collection_start(ftl))\n            + u64::from(open_superblocks(ftl))\n", "            + u64::from(self.collection_start(ftl))\n",
     "collection: the check of a profile accepts too little spare area", "exact collection_ends"),
    ("mapping/page/reads.rs", "let ready = self.decode(pages);\n        let end = self.send(u64::from(bytes), ready);", "let ready = self.commands[index].request.submitted;\n        let end = self.send(u64::from(bytes), ready);",
     "timing: a read leaves before its data is there", "exact reads_take"),
    ("mapping/page/background.rs", "!self.pace.has_credit(self.background.burst_units);", "!self.pace.has_credit(1);",
     "collection: a burst ends with the first free unit", "gc_pacing collection_in_bursts"),
    ("mapping/page/log/choice.rs", "        free < self.layout.gc.idle_free\n", "        free > self.layout.gc.idle_free\n",
     "collection: idle time makes no room", "gc_pacing collection_in_idle_time"),
    ("mapping/page/log/choice.rs", "valid <= self.geometry.native.superblock_units / 2", "valid <= self.geometry.native.superblock_units",
     "collection: idle time moves more than it gains", "gc_pacing collection_in_idle_time"),
    ("registers.rs", "crc7(&register[..15]) << 1 | 1", "crc7(&register[..15])",
     "registers: the checksum lacks its last bit", "registers an_sd_card_says"),
    ("registers.rs", "(profile.device.capacity_bytes >> 19).saturating_sub(1)", "profile.device.capacity_bytes >> 19",
     "registers: the CSD claims 512 KiB too much", "registers an_sd_card_says"),
    ("registers.rs", "&(controller.write_buffer_kib * 8).to_le_bytes()", "&controller.write_buffer_kib.to_le_bytes()",
     "registers: the cache size is not in kilobits", "registers an_emmc_reports_its_modes"),
    ("registers.rs", "let life = 1 + health.percentage_used.min(100) / 10;", "let life = 1 + health.percentage_used.min(0) / 10;",
     "registers: no life is used up", "registers an_emmc_reports_how_much"),
    ("mapping/au/mod.rs", "            self.controller_free = self.schedule.now() + cost.time;\n", "",
     "card: merges in idle time hold nobody up", "cards"),
    ("mapping/page/parity.rs", "        for die in g.parity_dies_after(unit.slc, unit.program) {", "        for die in g.parity_dies_after(unit.slc, unit.program).take(0) {",
     "parity: its programs take no time", "parity the_dies_write"),
    ("mapping/page/log/accounts.rs", "            self.programmed.parity += u64::from(units);", "            self.programmed.parity += u64::from(units.min(1));",
     "parity: one unit of a program is counted", "parity full_rows"),
    ("mapping/page/parity_rows.rs", "        let ends = self.row_of(program.next()) > row;", "        let ends = program.0 > 0;",
     "parity: a row gets it after each program", "parity the_dies_write"),
    ("mapping/page/parity_rows.rs", "let turn = u64::from(row / passes.max(1)) * u64::from(self.parity);", "let turn = u64::from(row) * u64::from(self.parity);",
     "parity: passes of a word line are on different sides", "lib passes_of_a_word_line"),
    ("mapping/page/background/handling.rs", "            self.program_parity(&unit);\n", "",
     "parity: relocation programs none", "parity each_program"),
    ("mapping/page/parity.rs", "            self.log.blocks.get_mut(superblock).programs_pending += 1;\n", "            let _ = superblock;\n",
     "parity: a superblock is erased while it is programmed", "conservation"),
    ("policy/heat.rs", "written * self.counts.len().widen() > HOT_RATE * self.total", "written > HOT_RATE * self.total",
     "heat: nothing is hot", "write_amplification hot_and_cold_data_in"),
    ("mapping/page/log/pools.rs", "if 2 * hot > all { Pool::Hot } else { Pool::Cold }", "if 2 * hot > 3 * all { Pool::Hot } else { Pool::Cold }",
     "heat: relocation mixes the pools", "write_amplification hot_and_cold_data_in"),
    ("mapping/page/background/jobs.rs", "job.is_some_and(|job| job.pool != pool)", "job.is_some_and(|job| job.pool != pool && false)",
     "pools: a program of relocation takes data of both", "relocation a_relocation_program"),
    ("mapping/page/log/relocation.rs", "let stream = Writer::Relocation(pool);", "let stream = Writer::Relocation(Pool::Cold);",
     "pools: both are moved into one superblock", "lib moved_data_is_in"),
    ("policy/heat.rs", "self.counts.iter_mut().for_each(|count| *count /= 2);", "",
     "heat: what was hot stays hot", "lib what_is_not_written"),
    ("mapping/page/unpersisted.rs", ".filter(|p| p.program.is_none() && p.place == place);", ".filter(|p| p.program.is_none());",
     "heat: a program of one pool makes data of the other durable", "power_cut what_waits_in_the_other_pool"),
    ("host/adapter.rs", "self.holds = follows && self.ended > moderation.most;", "self.holds = follows && self.ended > moderation.most && now.is_zero();",
     "host: an adapter never holds completions", "adapters held_completions"),
    ("host/adapter.rs", "self.free = passed + chain.gap;", "self.free = passed;",
     "host: an adapter passes commands on at any rate", "adapters the_firmware"),
    ("mapping/page/commands.rs", "let single = further.min(c.single_units.unwrap_or(1) - 1);", "let single = further.min(c.single_units.unwrap_or(1));",
     "timing: firmware handles one unit more of a command by itself", "arithmetic short_commands"),
]


def run(tree, tests, seconds_max=CPU_SECONDS_MAX):
    """Builds the test targets in any time, and runs these tests in at most `seconds_max` of processor time."""
    inner = [t for t in tests if t.startswith("lib ")]
    targets = ["--lib"] * bool(inner) + ["--test", "it"] * (len(inner) < len(tests))
    filters = [t.removeprefix("lib ") if t in inner else f"{t} ".replace(" ", "::", 1).strip() for t in tests]
    command = ["cargo", "test", "-q", "-p", "nandscope-device"] + targets
    environment = dict(os.environ, RUST_BACKTRACE="0", CARGO_INCREMENTAL="1", CARGO_PROFILE_DEV_DEBUG="0",
                       CARGO_TARGET_DIR=str(tree / "target"))
    both = dict(cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    build = subprocess.run(command + ["--no-run"], **both)
    if build.returncode != 0:
        return build.returncode, build.stdout

    def limit():
        if seconds_max:
            resource.setrlimit(resource.RLIMIT_CPU, (seconds_max, seconds_max))

    process = subprocess.run(command + ["--"] + filters, preexec_fn=limit, **both)
    endless = re.search(r"signal: (9|24)\b", process.stdout)
    return process.returncode, "endless" if endless else process.stdout


def copy(tree):
    skip = shutil.ignore_patterns("target", ".git", "node_modules")
    for name in ("Cargo.toml", "Cargo.lock", "clippy.toml"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, tree / name)
    for name in ("crates/units", "crates/device", "profiles"):
        shutil.copytree(ROOT / name, tree / name, ignore=skip, copy_function=shutil.copy)
    manifest = (tree / "Cargo.toml").read_text().replace('default-members = ["crates/cli"]\n', "")
    manifest = re.sub(r"(?m)^members = \[[^]]*\]", 'members = ["crates/*"]', manifest)
    (tree / "Cargo.toml").write_text(manifest)


def some(number):
    """So many faults. Each change of the device draws others."""
    sources = hashlib.sha256()
    for path in sorted((ROOT / SRC).rglob("*.rs")):
        sources.update(path.read_bytes())
    seed = sources.digest()
    return sorted(FAULTS, key=lambda fault: hashlib.sha256(seed + fault[3].encode()).digest())[:number]


def main():
    words = sys.argv[1:]
    if "--help" in words or "-h" in words:
        print(__doc__.strip())
        return 0
    if words[:1] == ["--some"]:
        chosen = some(int(words[1]))
    else:
        chosen = [f for f in FAULTS if not words or any(w in f[3] for w in words)]
    texts = {file: path.read_text() for file, *_ in FAULTS if (path := ROOT / SRC / file).exists()}
    gone = [f"{file}: {old.strip()!r}" for file, old, *_ in FAULTS if texts.get(file, "").count(old) != 1]
    for place in gone:
        print(f"no longer there exactly once, correct the table: {place}")
    if gone or words == ["--check"]:
        return 1 if gone else 0
    if not chosen:
        print("no fault has one of these words in its description: " + " ".join(words))
        return 1
    with tempfile.TemporaryDirectory(prefix="planted-bugs-") as folder:
        trees = [Path(folder) / str(number) for number in range(min(4, os.cpu_count() or 1))]
        with ThreadPoolExecutor(len(trees)) as pool:
            prepared = [prepare(trees[0], chosen, None)]
            prepared += pool.map(lambda tree: prepare(tree, chosen, trees[0]), trees[1:])
            for status, output in prepared:
                if status != 0:
                    print("the tests fail without any fault:\n" + output[-3000:])
                    return 1
            free = queue.SimpleQueue()
            for tree in trees:
                free.put(tree)
            caught = sum(pool.map(lambda fault: plant(free, fault), chosen))
    print(f"{caught} of {len(chosen)} planted faults were caught")
    return 0 if caught == len(chosen) else 1


def prepare(tree, chosen, built):
    """A copy with all tests built, which pass; the libraries are those of the copy `built`."""
    tree.mkdir()
    copy(tree)
    if built:
        subprocess.run(["cp", "-a", str(built / "target"), str(tree)], check=True)
    return run(tree, sorted({fault[4] for fault in chosen}), seconds_max=None)


def plant(free, fault):
    """Whether the tests notice the fault, in a copy that is free."""
    file, old, new, description, test = fault
    begin = time.monotonic()
    tree = free.get()
    path = tree / SRC / file
    sound = path.read_text()
    path.write_text(sound.replace(old, new))
    status, output = run(tree, [test])
    path.write_text(sound)
    free.put(tree)
    unbuilt = "could not compile" in output
    ran = output == "endless" or re.search(r"^running [1-9]", output, re.MULTILINE)
    verdict = "DOES NOT BUILD" if unbuilt else "NO TEST RAN" if not ran else "caught" if status else "MISSED"
    how = "endless, " if output == "endless" else ""
    print(f"{verdict:8} {description} ({test}, {how}{time.monotonic() - begin:.0f} s)", flush=True)
    return verdict == "caught"


if __name__ == "__main__":
    sys.exit(main())
