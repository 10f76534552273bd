//! Short runs of workloads on small simulated devices.

use crate::miniature::{self, Miniature};
use crate::observation::{Cell, Direction, Figures, Pattern, State};
use nandscope_device::profile::{HostProfile, Profile};
use nandscope_device::{Afterwards, Command, CommandKind, Device, Fill, Status, break_if};
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Lba, Nanos, SECTOR_BYTES};
use std::collections::BTreeMap;

/// Share of a small device that is written in the state `filled`. The rest leaves free blocks, as a device has that is not
/// full.
const FILLED: f64 = 0.8;
/// Capacities that are overwritten for the state `steady`.
const OVERWRITTEN: f64 = 2.5;
/// Least and greatest number of measured operations of a run.
const OPERATIONS: (u64, u64) = (400, 6000);
/// Bytes that a run reads at most.
const MOST_READ: u64 = 96 << 20;
/// Share of the free space of a small device that a run writes at most.
const WRITTEN: f64 = 0.6;

/// Figures of each cell on a device of this profile, in the order of the cells; `None` for a cell that the device cannot
/// run, or for all if the profile is impossible. Cells of one mixed workload share a run.
pub fn figures(
    profile: &Profile,
    host: &HostProfile,
    cells: &[Cell],
    seed: u64,
) -> Vec<Option<Figures>> {
    if nandscope_device::profile::check_profile(profile).is_err() {
        return vec![None; cells.len()];
    }
    let small = miniature::of(profile);
    let mut states: BTreeMap<State, Option<Device>> = BTreeMap::new();
    let mut runs: BTreeMap<Cell, [Option<Figures>; 2]> = BTreeMap::new();
    let run = |cell: &Cell| {
        let workload = cell.workload();
        let both = runs.entry(workload).or_insert_with(|| {
            let device = states
                .entry(cell.state)
                .or_insert_with(|| in_state(&small, host, cell.state, seed));
            let device = device.clone();
            device.map_or([None, None], |device| {
                Run::new(device, &small, &workload, seed).map_or([None, None], Run::run)
            })
        });
        match cell.direction {
            Direction::Read => both[0],
            Direction::Write => both[1],
        }
    };
    cells.iter().map(run).collect()
}

/// A small device in a state; `None` if the profile is impossible.
fn in_state(small: &Miniature, host: &HostProfile, state: State, seed: u64) -> Option<Device> {
    nandscope_device::profile::check_profile(&small.profile).ok()?;
    let mut device = Device::new(&small.profile, host, seed).ok()?;
    match state {
        State::Fresh => {}
        State::Filled => {
            device.precondition(FILLED, Fill::Sequential);
        }
        State::Steady => {
            device.precondition(1.0, Fill::Sequential);
            let units = device.capacity().0 / device.overwrite_unit().0.max(1);
            let count = (units as f64 * OVERWRITTEN) as u64;
            let done = device.overwrite(count, seed, Afterwards::Load, &mut |_| break_if(false));
            done.ok()?;
        }
    }
    if device.telemetry().read_only_since.is_some() {
        return None;
    }
    device.share();
    Some(device)
}

/// Start of the first AU that is written in turn with others, bytes, and distance of two of them, AUs: as flashbench.
const FIRST_AU: u64 = 16 << 20;
const AU_DISTANCE: u64 = 12;

/// A run of one workload.
struct Run {
    device: Device,
    cell: Cell,
    /// Order of the pieces of an AU, if AUs are written in turn.
    pieces: Vec<u32>,
    /// Operations so far.
    issued: u64,
    random: SplitMix64,
    /// Blocks of the region.
    blocks: u64,
    /// Next block of each job in a sequential workload.
    next: Vec<u64>,
    /// Operations before the measured ones: the pipeline and the write buffer are full then.
    warm_up: u64,
    /// Measured operations.
    measured: u64,
}

impl Run {
    /// `None` if the block does not fit into the region.
    fn new(device: Device, small: &Miniature, cell: &Cell, seed: u64) -> Option<Run> {
        if cell.interleaved.is_some() {
            return Run::in_turn(device, cell, seed);
        }
        let capacity = device.capacity().0;
        let share = match cell.state {
            State::Steady => 1.0,
            _ => FILLED,
        };
        let used = (capacity as f64 * share) as u64;
        let wanted = cell.region.map(|region| match small.profile.card {
            // The number of open allocation units counts, not a share of them.
            Some(_) => region.0,
            None => (region.0 as f64 * small.ratio) as u64,
        });
        // A region below some blocks per operation would always hit data in the write buffer.
        let least = cell.block.0.saturating_mul(64).max(16 << 20);
        let region = wanted.map_or(used, |bytes| bytes.max(least)).min(used);
        let blocks = region / cell.block.0;
        if blocks < 2 {
            return None;
        }
        let outstanding = u64::from(cell.outstanding());
        let writes = cell.direction == Direction::Write || cell.read_percent.is_some();
        let buffer = match (&small.profile.controller, &small.profile.card) {
            (Some(controller), _) => u64::from(controller.write_buffer_kib) * 1024,
            (_, Some(card)) => u64::from(card.controller.buffer_kib) * 1024,
            _ => 0,
        };
        let buffered = if writes { 2 * buffer / cell.block.0 } else { 0 };
        let mut measured = (6 * outstanding).clamp(OPERATIONS.0, OPERATIONS.1);
        let mut warm_up = 2 * outstanding + buffered + 8;
        let budget = match writes {
            true => ((capacity - used.min(capacity)) as f64 * WRITTEN) as u64,
            false => MOST_READ,
        };
        let budget = if cell.state == State::Steady || small.profile.card.is_some() {
            MOST_READ
        } else {
            budget
        };
        let most = (budget / cell.block.0).max(48);
        warm_up = warm_up.min(most.max(outstanding));
        measured = measured.min(most.max(2 * outstanding));
        let jobs = u64::from(cell.jobs).clamp(1, blocks);
        let next = (0..jobs).map(|job| blocks / jobs * job).collect();
        Some(Run {
            device,
            cell: *cell,
            random: SplitMix64::new(seed ^ 0x7716_15aa),
            blocks,
            next,
            warm_up,
            measured,
            pieces: Vec::new(),
            issued: 0,
        })
    }

    /// Writes into AUs in turn; `None` if they do not fit the device.
    fn in_turn(device: Device, cell: &Cell, seed: u64) -> Option<Run> {
        let turn = cell.interleaved?;
        let count = u32::try_from(turn.unit.0 / cell.block.0).ok()?;
        let units = u64::from(turn.units);
        if count == 0 || units == 0 {
            return None;
        }
        let mut random = SplitMix64::new(seed ^ 0x7716_15aa);
        let mut pieces: Vec<u32> = (0..count).collect();
        if cell.pattern == Pattern::Random {
            for at in (1..pieces.len()).rev() {
                pieces.swap(at, random.below(at as u64 + 1) as usize);
            }
        }
        let whole = u64::from(count) * units;
        let most = (MOST_READ / cell.block.0).max(3 * units).min(OPERATIONS.1);
        Some(Run {
            blocks: device.capacity().0 / cell.block.0,
            next: Vec::new(),
            warm_up: units.min(whole / 2),
            measured: (whole - units.min(whole / 2)).min(most).max(1),
            device,
            cell: *cell,
            random,
            pieces,
            issued: 0,
        })
    }

    /// Number of the block of the next write into AUs in turn.
    fn block_in_turn(&mut self, unit: Bytes, units: u64) -> u64 {
        let number = self.issued % units;
        let piece = self.pieces[(self.issued / units) as usize % self.pieces.len()];
        self.issued += 1;
        let unit = unit.0;
        let wanted = FIRST_AU.next_multiple_of(unit) + number * AU_DISTANCE * unit;
        // Many AUs exceed a small device: the others lie between.
        let places = (self.device.capacity().0 / unit).max(1);
        let place = wanted / unit;
        let begin = (place % places + place / places) % places * unit;
        (begin + u64::from(piece) * self.cell.block.0) / self.cell.block.0
    }

    fn command(&mut self, tag: u64) -> Command {
        let block = match (self.cell.pattern, self.cell.interleaved) {
            (_, Some(turn)) => self.block_in_turn(turn.unit, u64::from(turn.units)),
            (Pattern::Random, None) => self.random.below(self.blocks),
            (Pattern::Sequential, None) => {
                let job = (tag % self.next.len() as u64) as usize;
                let block = self.next[job];
                self.next[job] = (block + 1) % self.blocks;
                block
            }
        };
        let reads = match (self.cell.read_percent, self.cell.direction) {
            (Some(percent), _) => self.random.below(100) < u64::from(percent),
            (None, direction) => direction == Direction::Read,
        };
        let sectors = self.cell.block.0 / SECTOR_BYTES;
        Command {
            tag,
            kind: match reads {
                true => CommandKind::Read,
                false => CommandKind::Write { fua: false },
            },
            lba: Lba(block * sectors),
            sectors: sectors as u32,
        }
    }

    /// Figures of reads and of writes. A closed loop: each completion submits the next operation of its place in the queue.
    fn run(mut self) -> [Option<Figures>; 2] {
        let outstanding = u64::from(self.cell.outstanding());
        let mut is_read = vec![false; outstanding as usize];
        for tag in 0..outstanding {
            let command = self.command(tag);
            is_read[tag as usize] = command.kind == CommandKind::Read;
            if self.device.submit(command, self.device.now()).is_err() {
                return [None, None];
            }
        }
        let mut latencies: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
        let (mut done, mut began) = (0, self.device.now());
        let mut completions = Vec::new();
        while done < self.warm_up + self.measured {
            completions.clear();
            self.device.advance(Nanos::MAX, &mut completions);
            if completions.is_empty() && self.device.next_event().is_none() {
                return [None, None];
            }
            for completion in &completions {
                if completion.status != Status::Ok {
                    return [None, None];
                }
                done += 1;
                let at = completion.tag as usize;
                if done > self.warm_up {
                    let kind = usize::from(!is_read[at]);
                    latencies[kind].push(completion.latency().0);
                } else {
                    began = completion.completed;
                }
                let command = self.command(completion.tag);
                is_read[at] = command.kind == CommandKind::Read;
                let at = self.device.now().max(completion.completed);
                if self.device.submit(command, at).is_err() {
                    return [None, None];
                }
            }
        }
        let seconds = self.device.now().saturating_sub(began).as_secs_f64();
        latencies.map(|of_kind| summary(of_kind, seconds))
    }
}

fn summary(mut latencies: Vec<u64>, seconds: f64) -> Option<Figures> {
    if latencies.is_empty() || seconds <= 0.0 {
        return None;
    }
    latencies.sort_unstable();
    let count = latencies.len();
    let quantile = |share: f64| {
        let at = (share * count as f64).ceil() as usize;
        Some(latencies[at.clamp(1, count) - 1] as f64 / 1e3)
    };
    Some(Figures {
        iops: count as f64 / seconds,
        p50_us: quantile(0.5),
        p90_us: quantile(0.9),
        p99_us: quantile(0.99),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_device::profile::library;

    pub(crate) fn cell(direction: Direction, block: u64, depth: u32) -> Cell {
        Cell {
            direction,
            pattern: Pattern::Random,
            block: Bytes(block),
            depth,
            jobs: 1,
            read_percent: None,
            region: None,
            interleaved: None,
            state: State::Filled,
        }
    }

    #[test]
    fn a_single_read_takes_the_sum_of_its_steps() {
        let profile = library::device("reference-nvme-64gb")
            .unwrap()
            .profile()
            .unwrap();
        let host = library::host("direct").unwrap().host_profile().unwrap();
        let cells = [
            cell(Direction::Read, 4096, 1),
            cell(Direction::Read, 4096, 32),
        ];
        let found = figures(&profile, &host, &cells, 1);
        let [one, many] = [found[0].unwrap(), found[1].unwrap()];
        // 50, 60 or 70 µs in the array, 5 µs on the bus, 3 µs in the controller.
        assert!((64.0..72.0).contains(&(1e6 / one.iops)), "{one:?}");
        let p50 = one.p50_us.unwrap();
        assert!((64.0..72.0).contains(&p50), "{one:?}");
        assert!(
            many.iops > 18.0 * one.iops && many.iops < 32.0 * one.iops,
            "{many:?}"
        );
    }

    #[test]
    fn the_small_device_is_as_fast_as_the_large_one() {
        let profile = library::device("samsung-860-pro-512gb")
            .unwrap()
            .profile()
            .unwrap();
        let host = library::host("lsi-sas2008")
            .unwrap()
            .host_profile()
            .unwrap();
        let cells = [
            cell(Direction::Read, 4096, 32),
            cell(Direction::Write, 4096, 32),
        ];
        let found = figures(&profile, &host, &cells, 1);
        let rates: Vec<f64> = found.iter().map(|f| f.unwrap().iops).collect();
        // Published facts D-023 and D-029, to which the large device is fitted.
        assert!((rates[0] / 74_000.0 - 1.0).abs() < 0.06, "{rates:?}");
        assert!((rates[1] / 60_000.0 - 1.0).abs() < 0.06, "{rates:?}");
    }

    #[test]
    fn all_states_and_mixes_run_on_every_base() {
        let host = library::host("direct").unwrap().host_profile().unwrap();
        for base in crate::structure::BASES {
            let profile = library::device(base).unwrap().profile().unwrap();
            let mixed = |direction| Cell {
                read_percent: Some(70),
                ..cell(direction, 4096, 4)
            };
            let sequential = Cell {
                pattern: Pattern::Sequential,
                ..cell(Direction::Write, 131_072, 2)
            };
            let steady = Cell {
                state: State::Steady,
                ..cell(Direction::Write, 4096, 4)
            };
            let cells = [
                mixed(Direction::Read),
                mixed(Direction::Write),
                sequential,
                steady,
            ];
            let found = figures(&profile, &host, &cells, 1);
            assert!(
                found.iter().all(|f| f.is_some_and(|f| f.iops > 0.0)),
                "{base}: {found:?}"
            );
            let share = found[0].unwrap().iops / (found[0].unwrap().iops + found[1].unwrap().iops);
            assert!((share - 0.7).abs() < 0.08, "{base}: {share}");
        }
    }
}
