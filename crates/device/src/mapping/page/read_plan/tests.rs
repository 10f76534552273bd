//! A device that plans reads behaves exactly as one that does not, at every step.

use crate::command::{Command, CommandKind, Completion};
use crate::device::Device;
use crate::fill::Fill;
use crate::mapping::page::PageMapDevice;
use crate::mapping::page::small::{self, Small};
use crate::profile::library;
use crate::profile::schema::Profile;
use crate::random::Random;
use nandscope_units::{Lba, Nanos};

/// Two copies of a device, one of which never plans reads.
struct Pair {
    planned: PageMapDevice,
    plain: PageMapDevice,
    /// Steps of the test during which reads were planned.
    planned_steps: u32,
}

impl Pair {
    fn submit(&mut self, command: Command, at: Nanos) {
        assert_eq!(
            self.planned.submit(command, at),
            self.plain.submit(command, at)
        );
        self.compare();
    }

    /// Advances both copies; returns the number of completions.
    fn advance(&mut self, until: Nanos) -> usize {
        let (mut done, mut expected): (Vec<Completion>, Vec<Completion>) = Default::default();
        let reached = self.planned.advance(until, &mut done);
        assert_eq!(reached, self.plain.advance(until, &mut expected));
        assert_eq!(done, expected);
        self.compare();
        done.len()
    }

    fn compare(&mut self) {
        self.planned_steps += u32::from(self.planned.plan.is_active());
        assert_eq!(self.planned.now(), self.plain.now());
        assert_eq!(self.planned.next_event(), self.plain.next_event());
        assert_eq!(self.planned.telemetry(), self.plain.telemetry());
    }

    /// Abandons the plan.
    fn leave(&mut self) {
        if let Some(device) = self.planned.without_plan() {
            assert_eq!(device.audit(), Ok(()));
            self.planned = device;
        }
        self.compare();
    }
}

/// A small drive with random properties that affect reads; few distinct times, so that many events coincide.
fn profile(random: &mut Random) -> Profile {
    let size = Small {
        word_lines: 8,
        blocks_per_plane: 40,
        superblocks: 24,
    };
    let mut profile = size.profile("reference-nvme-64gb", |nand| {
        nand.channels = 1 + random.below(4) as u32;
        nand.dies_per_channel = 1 + random.below(4) as u32;
        nand.planes = 1 + random.below(2) as u32;
    });
    let nand = &mut profile.nand;
    if let Some(native) = nand.native.as_mut() {
        native.read_us = match random.below(3) {
            0 => vec![50.0; 3],
            1 => vec![50.0, 60.0, 70.0],
            _ => vec![10.0, 20.48, 30.72],
        };
    }
    match random.below(6) {
        0 => (nand.reliability.rber_fresh, nand.reliability.rber_rated) = (7e-3, 8e-3),
        1 => nand.reliability.retry_transfers = true,
        _ => {}
    }
    if let Some(controller) = profile.controller.as_mut() {
        controller.cores = 1 + random.below(4) as u32;
        controller.read_us = [0.0, 1.0, 5.12][random.below(3) as usize];
        controller.decode_us = [0.0, 2.0, 5.12][random.below(3) as usize];
        controller.read_ahead_kib = [0, 64][random.below(2) as usize];
    }
    if let Some(ftl) = profile.ftl.as_mut() {
        ftl.refresh_reads = [0, 40, 500_000][random.below(3) as usize];
    }
    profile
}

fn device(profile: &Profile, random: &mut Random) -> PageMapDevice {
    let mut host = small::host("direct");
    host.stage[0].command_us = [0.0, 3.0][random.below(2) as usize];
    host.stage[0].completion_us = [0.0, 2.0][random.below(2) as usize];
    let mut device = small::attached(profile, &host);
    let share = [1.0, 1.0, 0.9][random.below(3) as usize];
    let seed = random.bits();
    let whole = &mut |_| std::ops::ControlFlow::Continue(());
    device
        .precondition(share, Fill::Random { seed }, whole)
        .unwrap();
    device
}

/// Submits commands, most of them small reads, at a random depth; returns the number of steps with planned reads.
fn compare(seed: u64) -> u32 {
    let mut random = Random::new(seed);
    let profile = profile(&mut random);
    let planned = device(&profile, &mut random);
    let mut plain = planned.clone();
    plain.plan.refused = true;
    let mut pair = Pair {
        planned,
        plain,
        planned_steps: 0,
    };
    let sectors = profile.device.capacity_bytes / 512;
    let depth = 1 + random.below(48) as usize;
    let odd = [0, 20, 200][random.below(3) as usize];
    let (mut open, mut last) = (0, 0);
    for tag in 0..600 {
        let is_odd = odd > 0 && random.below(odd) == 0;
        let kind = match random.below(6) {
            0 if is_odd => CommandKind::Write { fua: false },
            1 if is_odd => CommandKind::Flush,
            2 if is_odd => CommandKind::Discard,
            _ => CommandKind::Read,
        };
        let length = match kind {
            CommandKind::Flush => 0,
            _ if is_odd => 1 + random.below(64),
            _ => [8, 8, 8, 3][random.below(4) as usize],
        };
        let place = random.below(sectors / 8 - 16) * 8;
        let lba = if is_odd { last } else { place };
        last = lba + length;
        let command = Command {
            tag,
            kind,
            lba: Lba(lba.min(sectors - 64)),
            sectors: length as u32,
        };
        let ahead = if is_odd { random.below(3) * 700 } else { 0 };
        pair.submit(command, pair.plain.now());
        if ahead > 0 {
            // At a time before or after the next event.
            let command = Command {
                tag: tag + 10_000,
                ..command
            };
            let at = pair.plain.now() + Nanos(ahead);
            open += usize::from(pair.plain.next_event().is_none_or(|next| next >= at));
            pair.submit(command, at);
        }
        open += 1;
        while open >= depth {
            let until = match random.below(8) {
                0 => pair.plain.now() + Nanos(random.below(30_000)),
                1 if tag == 300 => pair.plain.now() + Nanos::from_millis(120),
                _ => Nanos::MAX,
            };
            open -= pair.advance(until);
        }
        if random.below(150) == 0 {
            pair.leave();
        }
        if random.below(40) == 0 {
            while open > 0 {
                open -= pair.advance(Nanos::MAX);
            }
            // Waits until the work caused by writes has ended.
            while pair.plain.next_event().is_some() {
                pair.advance(Nanos::MAX);
            }
        }
    }
    while open > 0 {
        open -= pair.advance(Nanos::MAX);
    }
    let end = pair.plain.now() + Nanos::from_millis(300);
    while pair.plain.now() < end {
        pair.advance(end);
    }
    pair.planned_steps
}

#[test]
fn planned_reads_are_those_of_one_event_per_step() {
    let planned = (0..150).filter(|seed| compare(*seed) > 50).count();
    assert!(planned > 75, "reads were planned in {planned}");
}

#[test]
#[ignore = "slow: 10,000 streams of commands"]
fn slow_10_000_streams_of_planned_reads_are_those_of_one_event_per_step() {
    for seed in 1_000..11_000 {
        compare(seed);
    }
}

/// A step of power and heat while reads are under way, and a device saved at that time.
#[test]
fn planned_reads_go_on_over_steps_of_power_and_in_a_saved_device() {
    let profile = library::device("reference-nvme-64gb").expect("in the library");
    let mut profile = profile.profile().expect("valid");
    profile.nand.blocks_per_plane = 24;
    profile.device.capacity_bytes = 1 << 32;
    let mut device = Device::new(&profile, &small::host("direct"), 1).expect("attaches");
    assert!(device.precondition(1.0, Fill::Sequential));
    let mut random = Random::new(9);
    let mut pair = [device.clone(), device];
    let (mut tag, mut open) = (0, 0);
    while pair[0].now() < Nanos::from_millis(350) {
        while open < 40 {
            let command = Command {
                tag,
                kind: CommandKind::Read,
                lba: Lba(random.below(1 << 20) * 8),
                sectors: 8,
            };
            for device in &mut pair {
                device.submit(command, device.now()).expect("in order");
            }
            (tag, open) = (tag + 1, open + 1);
        }
        let mut done = [Vec::new(), Vec::new()];
        for (device, done) in pair.iter_mut().zip(&mut done) {
            device.advance(Nanos::MAX, done);
        }
        assert_eq!(done[0], done[1]);
        assert_eq!(pair[0].telemetry(), pair[1].telemetry());
        open -= done[0].len();
        if tag % 10_000 < 3 {
            let saved = pair[1].save().expect("saves");
            pair[1] = Device::load(&saved).expect("loads");
        }
    }
}

/// While the device cools, a read takes less firmware time than reads planned before it, and would overtake them on
/// another core.
#[test]
fn planned_reads_keep_the_order_of_the_firmware_while_the_clock_rises() {
    let profile = library::device("reference-nvme-64gb").expect("in the library");
    let mut profile = profile.profile().expect("valid");
    let nand = &mut profile.nand;
    (nand.word_lines, nand.blocks_per_plane) = (8, 40);
    let superblock = u64::from(nand.channels * nand.dies_per_channel * nand.planes) * 8 * 3 * 16;
    profile.device.capacity_bytes = 24 * superblock * 1024;
    let sectors = profile.device.capacity_bytes / 512;
    profile.nand.energy.bus_pj_per_byte = 1e5;
    let controller = profile.controller.as_mut().expect("page-mapped");
    (controller.cores, controller.read_us) = (4, 30.0);
    controller.read_ahead_kib = 0;
    let thermal = &mut profile.thermal;
    (thermal.controller_j_per_k, thermal.case_j_per_k) = (0.5, 1e3);
    thermal.throttle_start_c = thermal.ambient_c + 60.0;
    thermal.throttle_full_c = thermal.ambient_c + 90.0;
    thermal.throttle_clock = 0.125;
    let host = library::host("direct").expect("in the library");
    let host = host.host_profile().expect("valid");
    let ftl = profile.ftl.clone().expect("page-mapped");
    let controller = profile.controller.clone().expect("page-mapped");
    let mut hot = PageMapDevice::new(&profile, &ftl, &controller, &host, 1).expect("attaches");
    let whole = &mut |_| std::ops::ControlFlow::Continue(());
    hot.precondition(1.0, Fill::Sequential, whole).unwrap();
    let reading = |tag, place, sectors| Command {
        tag,
        kind: CommandKind::Read,
        lba: Lba(place),
        sectors,
    };
    let (mut tag, mut done) = (0, Vec::new());
    while hot.telemetry().throttle > 0.2 {
        hot.submit(reading(tag, tag * 2048 % (sectors - 2048), 2048), hot.now())
            .expect("in order");
        hot.advance(Nanos::MAX, &mut done);
        tag += 1;
        assert!(tag < 20_000, "{:?}", hot.telemetry());
    }
    while hot.next_event().is_some() {
        hot.advance(Nanos::MAX, &mut done);
    }
    let mut plain = hot.clone();
    plain.plan.refused = true;
    let mut pair = Pair {
        planned: hot,
        plain,
        planned_steps: 0,
    };
    let (mut random, mut open) = (Random::new(5), 0);
    while pair.plain.telemetry().throttle < 1.0 {
        (tag, open) = (tag + 1, open + 1);
        let place = random.below(sectors / 8) * 8;
        pair.submit(reading(tag, place, 8), pair.plain.now());
        // The cores become free at different times.
        open -= pair.advance(pair.plain.now() + Nanos(random.below(60_000)));
        // A plan begins with a single read.
        let most = if tag % 4_096 == 0 { 1 } else { 16 };
        while open >= most {
            open -= pair.advance(Nanos::MAX);
        }
        assert!(tag < 2_000_000, "{:?}", pair.plain.telemetry());
    }
    assert!(pair.planned_steps > 1_000, "{}", pair.planned_steps);
}
