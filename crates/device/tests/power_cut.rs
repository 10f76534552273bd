//! Writes after a power cut: flushed writes always survive, buffered writes are lost.

use crate::support;
use crate::support::{bare, device, discard, one, profile, sound, write};
use nandscope_device::profile::Profile;
use nandscope_device::profile::schema::Acknowledge;
use nandscope_device::{Command, CommandKind, Cut, Device, Status};
use nandscope_units::Nanos;
use proptest::prelude::*;
use std::collections::BTreeMap;

const KIB: u64 = 1024;
/// Size of the area of random writes, bytes: small enough that they overlap.
const AREA: u64 = 4 << 20;

fn card() -> Profile {
    profile("kingston-8gb")
}

/// A card that acknowledges writes from its buffer.
fn buffered_card() -> Profile {
    let mut card = card();
    for link in &mut card.interface {
        link.acknowledge = Acknowledge::Buffered;
    }
    card
}

fn drive() -> Profile {
    profile("reference-nvme-64gb")
}

/// A drive whose cells are programmed in two passes.
fn mlc_drive() -> Profile {
    profile("plextor-m6e-256gb")
}

fn tracked(profile: &Profile) -> Device {
    let mut device = device(profile, "direct");
    device.track_writes();
    device
}

#[derive(Clone, Debug)]
pub enum Step {
    Write { at: u64, kib: u32, fua: bool },
    Discard { at: u64, kib: u64 },
    Flush,
    Read { at: u64, kib: u32 },
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0..AREA / (4 * KIB) - 64;
    prop_oneof![
        6 => (at.clone(), 1..65u32, 0..8u8)
            .prop_map(|(at, kib, fua)| Step::Write { at: at * 4 * KIB, kib, fua: fua == 0 }),
        1 => (at.clone(), 1..65u64).prop_map(|(at, kib)| Step::Discard { at: at * 4 * KIB, kib }),
        1 => Just(Step::Flush),
        1 => (at, 1..65u32).prop_map(|(at, kib)| Step::Read { at: at * 4 * KIB, kib }),
        4 => (0..3_000_000u64).prop_map(Step::Pass),
    ]
}

/// Guarantee given by the acknowledgement of a write on a host path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acknowledged {
    /// The data is in the write buffer.
    Buffered,
    /// The data is programmed. A later torn page of the same word line may still destroy it.
    Programmed,
    /// As `Programmed`, for each run of writes that the host path keeps open as one long write.
    AtEndOfRun,
    /// The data survives a power cut.
    Durable,
}

/// Drives a device and records the writes that its flushes and acknowledgements guarantee.
pub struct Host {
    device: Device,
    acknowledged: Acknowledged,
    /// Every write, by number.
    writes: Vec<Command>,
    /// Whether each write is complete.
    complete: Vec<bool>,
    /// Whether each write is guaranteed to survive.
    promised: Vec<bool>,
    /// Whether each write is programmed; it is then lost only together with its word line.
    programmed: Vec<bool>,
    /// Outstanding commands, by tag.
    under_way: BTreeMap<u64, Under>,
    tags: u64,
}

enum Under {
    Write(usize, bool),
    Flush(Vec<bool>),
    Read(Vec<bool>),
    Discard,
}

/// Sets every mark whose entry in `among` is set.
fn mark(marks: &mut [bool], among: &[bool]) {
    marks.iter_mut().zip(among).for_each(|(m, a)| *m |= a);
}

impl Host {
    fn new(device: Device, acknowledged: Acknowledged) -> Self {
        Host {
            device,
            acknowledged,
            writes: Vec::new(),
            complete: Vec::new(),
            promised: Vec::new(),
            programmed: Vec::new(),
            under_way: BTreeMap::new(),
            tags: 0,
        }
    }

    fn submit(&mut self, command: Command, under: Under) {
        let command = Command {
            tag: self.tags,
            ..command
        };
        self.under_way.insert(self.tags, under);
        self.tags += 1;
        if matches!(command.kind, CommandKind::Write { .. }) {
            self.writes.push(command);
            self.complete.push(false);
            self.promised.push(false);
            self.programmed.push(false);
        }
        let now = self.device.now();
        self.pass_to(now);
        self.device.submit(command, now).unwrap();
    }

    fn pass_to(&mut self, until: Nanos) {
        let mut done = Vec::new();
        while self.device.next_event().is_some_and(|e| e <= until) {
            self.device.advance(until, &mut done);
        }
        self.device.advance(until, &mut done);
        for completion in done {
            let under = self.under_way.remove(&completion.tag).unwrap();
            let refused =
                matches!(under, Under::Discard) && completion.status == Status::Unsupported;
            assert!(refused || completion.status == Status::Ok, "{completion:?}");
            match under {
                Under::Write(number, fua) => {
                    self.acknowledge(number);
                    self.promised[number] |= fua;
                }
                Under::Flush(complete) => mark(&mut self.promised, &complete),
                Under::Read(complete) if self.acknowledged == Acknowledged::AtEndOfRun => {
                    mark(&mut self.programmed, &complete);
                }
                Under::Read(_) | Under::Discard => {}
            }
        }
    }

    fn acknowledge(&mut self, number: usize) {
        self.complete[number] = true;
        match self.acknowledged {
            Acknowledged::Buffered => {}
            Acknowledged::Programmed => self.programmed[number] = true,
            Acknowledged::Durable => self.promised[number] = true,
            Acknowledged::AtEndOfRun => {
                let before = number.checked_sub(1).map(|n| self.writes[n]);
                let end = before.map(|c| c.lba.0 + u64::from(c.sectors));
                if end.is_some_and(|end| end != self.writes[number].lba.0) {
                    let earlier = self.complete[..number].to_vec();
                    mark(&mut self.programmed, &earlier);
                }
            }
        }
    }

    /// The address, in units of 4 KiB, wrapped to the device's capacity.
    fn within(&self, at: u64) -> u64 {
        at % (self.device.capacity().0 - 64 * KIB) / (4 * KIB) * (4 * KIB)
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Write { at, kib, fua } => {
                let command = write(0, self.within(at), kib * 1024);
                let kind = CommandKind::Write { fua };
                let number = self.writes.len();
                self.submit(Command { kind, ..command }, Under::Write(number, fua));
            }
            Step::Discard { at, kib } => {
                let command = discard(0, self.within(at), kib * KIB);
                self.submit(command, Under::Discard);
            }
            Step::Flush => {
                let complete = self.complete.clone();
                self.submit(bare(0, CommandKind::Flush), Under::Flush(complete));
            }
            Step::Read { at, kib } => {
                let command = support::read(0, self.within(at), kib * 1024);
                let complete = self.complete.clone();
                self.submit(command, Under::Read(complete));
            }
            Step::Pass(ns) => self.pass_to(self.device.now() + Nanos(ns)),
        }
    }

    /// Checks the damage of a power cut: only writes without a guarantee are damaged, each within its range.
    fn check(&self, cut: &Cut, durable: u64) {
        for damage in &cut.damage {
            let number = damage.write as usize;
            let command = &self.writes[number];
            assert!(
                damage.write >= durable,
                "{damage:?} was durable up to {durable}"
            );
            assert!(!self.promised[number], "{damage:?} was promised to stay");
            let programmed = self.programmed[number];
            assert!(damage.torn || !programmed, "{damage:?} was acknowledged");
            assert!(damage.sectors > 0);
            assert!(damage.first >= command.lba, "{damage:?} of {command:?}");
            let end = damage.first.0 + u64::from(damage.sectors);
            assert!(
                end <= command.lba.0 + u64::from(command.sectors),
                "{damage:?} of {command:?}"
            );
        }
    }
}

fn holds(profile: &Profile, steps: &[Step]) {
    sound(&survives(
        device(profile, "direct"),
        Acknowledged::Buffered,
        steps,
    ));
}

/// Cuts the power after `steps` and checks that the guaranteed data is there. Returns the device, which has
/// gone on and been cut off again.
pub fn survives(mut device: Device, acknowledged: Acknowledged, steps: &[Step]) -> Device {
    device.track_writes();
    let mut host = Host::new(device, acknowledged);
    let mut durable = 0;
    for step in steps {
        host.take(step);
        let now = host.device.durable_writes();
        assert!(now >= durable && now <= host.writes.len() as u64);
        durable = now;
    }
    let before = host.device.now();
    let cut = host.device.cut_power();
    host.check(&cut, durable);
    assert!(cut.ready > before && host.device.now() == cut.ready);
    // The device continues, and all earlier writes are settled.
    assert_eq!(host.device.durable_writes(), host.writes.len() as u64);
    assert_eq!(host.device.cut_power().damage, []);
    one(&mut host.device, write(9, 0, 4096));
    one(&mut host.device, bare(9, CommandKind::Flush));
    assert_eq!(host.device.cut_power().damage, []);
    host.device
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_was_flushed_stays_on_a_card(steps in prop::collection::vec(step(), 1..80)) {
        holds(&card(), &steps);
        holds(&buffered_card(), &steps);
    }

    #[test]
    fn what_was_flushed_stays_on_a_drive(steps in prop::collection::vec(step(), 1..80)) {
        holds(&drive(), &steps);
        holds(&mlc_drive(), &steps);
    }
}

#[test]
fn what_is_buffered_is_lost() {
    for profile in [buffered_card(), drive(), mlc_drive()] {
        let mut d = tracked(&profile);
        one(&mut d, write(1, 0, 4096));
        one(&mut d, bare(2, CommandKind::Flush));
        assert_eq!(d.durable_writes(), 1);
        one(&mut d, write(3, 4096, 4096));
        assert_eq!(d.durable_writes(), 1);
        let damage = d.cut_power().damage;
        assert_eq!(damage.len(), 1, "{damage:?}");
        assert_eq!(
            (damage[0].write, damage[0].first.0, damage[0].sectors),
            (1, 8, 8)
        );
        assert!(!damage[0].torn);
    }
}

/// A chunk is cold at its first write and hot at the next: hot data is programmed, cold data waits for more data.
#[test]
fn what_waits_in_the_other_pool_is_lost() {
    let mut p = drive();
    let ftl = p.ftl.as_mut().unwrap();
    ftl.slc_cache = None;
    ftl.separate_by_heat = true;
    let mut d = tracked(&p);
    one(&mut d, write(0, 1 << 20, 4096));
    one(&mut d, write(1, 0, 4096));
    for i in 2..40 {
        one(&mut d, write(i, 0, 65_536));
    }
    support::rest(&mut d, Nanos::from_millis(20));
    let damage = d.cut_power().damage;
    let lost: Vec<u64> = damage.iter().map(|d| d.write).collect();
    assert_eq!(lost[..2], [0, 1], "{damage:?}");
    assert!(!lost.contains(&2) && lost.len() < 12, "{damage:?}");
}

#[test]
fn capacitors_lose_only_what_has_not_come() {
    let mut p = drive();
    p.controller.as_mut().unwrap().power_fail_hold_up = true;
    let mut d = tracked(&p);
    for i in 0..50 {
        one(&mut d, write(i, i * 4096, 4096));
    }
    let now = d.now();
    d.submit(write(99, 1 << 20, 4096), now).unwrap();
    let damage = d.cut_power().damage;
    assert_eq!(damage.len(), 1, "{damage:?}");
    assert_eq!((damage[0].write, damage[0].sectors), (50, 8));
}

/// A card that acknowledges programmed writes loses the rest of the write under way, and tears the page being
/// programmed.
#[test]
fn a_write_under_way_is_torn_where_the_card_was() {
    let page = 32; // sectors
    let mut d = tracked(&card());
    let whole = one(&mut d, write(1, 0, 1 << 20)).latency();
    let now = d.now();
    d.submit(write(2, 1 << 20, 1 << 20), now).unwrap();
    d.advance(now + Nanos(whole.0 / 2), &mut Vec::new());
    let damage = d.cut_power().damage;
    let torn: Vec<_> = damage.iter().filter(|d| d.torn).collect();
    assert!(
        !torn.is_empty() && torn.iter().all(|d| d.write == 1),
        "{damage:?}"
    );
    let at = torn.iter().map(|d| d.first.0).max().unwrap() - 2048;
    assert!(
        (800..1300).contains(&at) && at.is_multiple_of(page),
        "{damage:?}"
    );
    let end = damage
        .iter()
        .map(|d| d.first.0 + u64::from(d.sectors))
        .max();
    assert_eq!(end, Some(4096), "everything after it is lost: {damage:?}");
}

/// A torn page destroys the page before it on the same word line, unless that page was flushed.
#[test]
fn pages_of_one_word_line_go_together() {
    for flushed in [false, true] {
        let p = card();
        assert!(p.nand.cell.bits() > 1);
        let mut d = tracked(&p);
        let page = 32 * 512;
        // The first page of a word line (of an even number of pages), and then the next.
        one(&mut d, write(1, 0, page));
        if flushed {
            one(&mut d, bare(2, CommandKind::Flush));
        }
        let now = d.now();
        d.submit(write(3, u64::from(page), page), now).unwrap();
        let end = d.next_event().unwrap();
        d.advance(end.saturating_sub(Nanos(20_000)), &mut Vec::new());
        let damage = d.cut_power().damage;
        assert!(damage.iter().any(|d| d.write == 1 && d.torn), "{damage:?}");
        assert_eq!(
            damage.iter().any(|d| d.write == 0 && d.torn),
            !flushed,
            "{damage:?}"
        );
    }
}

/// SMART counts power cycles, and among them those without notice.
#[test]
fn health_counts_power_cycles_and_unsafe_shutdowns() {
    for profile in [card(), drive()] {
        let mut d = tracked(&profile);
        let counts = |d: &Device| (d.health().power_cycles, d.health().unsafe_shutdowns);
        assert_eq!(counts(&d), (1, 0));
        d.attach(&profile, &support::host("direct")).unwrap();
        assert_eq!(counts(&d), (2, 0));
        d.cut_power();
        d.cut_power();
        assert_eq!(counts(&d), (4, 2));
    }
}

/// Eight dies on two channels, with a journal page for every `journal_entries` units.
fn plain_drive(journal_entries: u32) -> Profile {
    let mut p = support::plain::EIGHT_DIES.profile(8);
    p.ftl.as_mut().expect("page-mapped").journal_entries = journal_entries;
    p
}

/// Recovery time of a drive after a power cut, without its boot time, after `writes` flushed writes of 4 KiB.
fn recovery(p: &Profile, writes: u64) -> Nanos {
    let mut d = support::device_on(p, support::plain::FAST_LINK);
    for i in 0..writes {
        one(&mut d, write(i, i * 4 * KIB, 4096));
    }
    one(&mut d, bare(writes, CommandKind::Flush));
    support::rest(&mut d, Nanos::from_secs(1));
    let before = d.now();
    let cut = d.cut_power();
    let boot = p.controller.as_ref().expect("page-mapped").boot_ms;
    sound(&d);
    cut.ready - before - Nanos::from_micros_f64(boot * 1e3)
}

#[test]
fn the_journal_is_replayed_after_a_power_cut() {
    // Every die reads a page of 4 KiB, and the four dies of a channel transfer theirs in turn.
    let round = Nanos(100_000 + 4 * 1_024);
    let journaled = plain_drive(16);
    assert_eq!(recovery(&journaled, 0), Nanos::ZERO);
    // 24 journal pages, and 10 units in 3 pages not named by the journal: 27 pages on eight dies.
    assert_eq!(recovery(&journaled, 394), round * 4);
    // The journal has gone round, which completed a checkpoint, and has 4 pages since.
    assert_eq!(recovery(&journaled, 16 * 260), round);
    // 22 journal pages and the tags of 4 pages, since the flush does not complete the journal.
    assert_eq!(recovery(&journaled, 367), round * 4);
    let mut completed = journaled.clone();
    completed
        .ftl
        .as_mut()
        .expect("page-mapped")
        .journal_on_flush = true;
    assert_eq!(recovery(&completed, 367), round * 3);
    // Without a journal, the tags of 99 pages of four units.
    assert_eq!(recovery(&plain_drive(0), 394), round * 13);
    // With power-loss protection, nothing is read. 332 units are whole pages, so that none is left to program at the
    // cut.
    let mut held_up = journaled;
    let controller = held_up.controller.as_mut().expect("page-mapped");
    controller.power_fail_hold_up = true;
    assert_eq!(recovery(&held_up, 332), Nanos::ZERO);
}

#[test]
fn a_rolling_checkpoint_leaves_one_round_of_the_journal_to_replay() {
    let round = Nanos(100_000 + 4 * 1_024);
    let mut p = plain_drive(16);
    p.ftl.as_mut().expect("page-mapped").journal_pages = Some(64);
    // 20 journal pages and 3 pages not named by the journal, as without a checkpoint.
    assert_eq!(recovery(&p, 330), round * 3);
    // The journal has gone round four times: 64 pages.
    assert_eq!(recovery(&p, 16 * 260), round * 8);
}
