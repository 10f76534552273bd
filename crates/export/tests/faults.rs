//! Faults of a served card, without sockets: what power cuts leave of the contents, and what
//! fault commands do.

use nandscope_blockio::store::Store;
use nandscope_device::Device;
use nandscope_device::FixedLatencyDevice;
use nandscope_device::profile::library;
use nandscope_device::profile::schema::Acknowledge;
use nandscope_export::clock::Speed;
use nandscope_export::request::{Action, Done, Origin, Refusal, Request};
use nandscope_export::service::Service;
use nandscope_export::service::faults::Effect;
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Nanos};
use std::collections::BTreeMap;

const NOW: Nanos = Nanos::ZERO;

fn origin(cookie: u64) -> Origin {
    Origin {
        connection: 0,
        cookie,
    }
}

fn request(action: Action, offset: u64, length: u32) -> Request {
    let data = if action == Action::Write {
        vec![0; length as usize]
    } else {
        Vec::new()
    };
    Request {
        action,
        offset,
        length,
        data,
        durable: false,
    }
}

/// Cards and drives, by name; those with `+` acknowledge writes from their buffer.
fn device(name: &str) -> Device {
    let (name, buffered) = name.strip_suffix('+').map_or((name, false), |n| (n, true));
    let mut profile = library::device(name).unwrap().profile().unwrap();
    if buffered {
        profile
            .interface
            .iter_mut()
            .for_each(|i| i.acknowledge = Acknowledge::Buffered);
    }
    let host = library::host("direct").unwrap().host_profile().unwrap();
    Device::new(&profile, &host, 1).unwrap()
}

fn service(device: Device) -> Service<Device> {
    let store = Store::memory(device.capacity());
    Service::new(device, store, Speed::Max).with_faults(7)
}

/// Sectors of the area in which the writes of [`cuts`] meet.
const SECTORS: usize = 512;

/// Writes at random with flushes in between, and cuts the power in the middle, repeatedly. Data on the card at the
/// start of an acknowledged flush must survive, except in sectors written since. Returns the number of sectors with
/// lost writes, and of those that violate a flush.
fn cuts(name: &str, seed: u64, lies: bool) -> (u64, u64) {
    let mut service = service(device(name));
    if lies {
        service.inject("lie on".parse().unwrap(), NOW).unwrap();
    }
    let mut random = SplitMix64::new(seed);
    let mut newest = vec![0u32; SECTORS];
    let (mut lost, mut broken, mut version) = (0, 0, 0u32);
    for _ in 0..40 {
        // Contents that each sector may hold: those flushed last, or, if written since, later ones.
        let mut flushed = newest.clone();
        let mut since = vec![false; SECTORS];
        let mut under_way: BTreeMap<u64, Request> = BTreeMap::new();
        let mut flushes: BTreeMap<u64, (Vec<u32>, Vec<bool>)> = BTreeMap::new();
        for cookie in 0..random.below(120) {
            let mut done = Vec::new();
            if random.below(12) == 0 {
                // Only what is done when it begins is covered.
                let uncertain = (0..SECTORS)
                    .map(|s| under_way.values().any(|r| covers(r, s)))
                    .collect();
                flushes.insert(cookie, (newest.clone(), uncertain));
                service.submit(origin(cookie), request(Action::Flush, 0, 0), NOW);
            } else {
                let length = 1 + random.below(40);
                let first = random.below(SECTORS as u64 - length);
                if under_way.values().any(|r| meets(r, first, length)) {
                    continue;
                }
                version += 1;
                let mut write = request(Action::Write, first * 512, length as u32 * 512);
                write.data = version.to_le_bytes().repeat(write.length as usize / 4);
                for sector in first..first + length {
                    newest[sector as usize] = version;
                    since[sector as usize] = true;
                }
                under_way.insert(cookie, write.clone());
                service.submit(origin(cookie), write, NOW);
            }
            if random.below(3) > 0 {
                service.run(NOW, &mut done);
            }
            for Done {
                origin, outcome, ..
            } in done
            {
                outcome.unwrap();
                under_way.remove(&origin.cookie);
                if let Some((state, uncertain)) = flushes.remove(&origin.cookie) {
                    for s in 0..SECTORS {
                        let changed = newest[s] != state[s] || uncertain[s];
                        flushed[s] = if uncertain[s] { flushed[s] } else { state[s] };
                        since[s] = changed;
                    }
                }
            }
        }
        service.inject("power off".parse().unwrap(), NOW).unwrap();
        let mut refused = Vec::new();
        service.run(NOW, &mut refused);
        assert!(refused.iter().all(|d| d.outcome.is_err()) && service.outstanding() == 0);
        service.inject("power on".parse().unwrap(), NOW).unwrap();
        for s in 0..SECTORS {
            let mut bytes = Vec::new();
            service
                .store()
                .append_to(&mut bytes, s as u64 * 512, 4)
                .unwrap();
            let holds = u32::from_le_bytes(bytes.try_into().unwrap());
            lost += u64::from(holds != newest[s]);
            broken += u64::from(!since[s] && holds != flushed[s]);
            newest[s] = holds;
        }
    }
    (lost, broken)
}

fn covers(request: &Request, sector: usize) -> bool {
    meets(request, sector as u64, 1)
}

fn meets(request: &Request, first: u64, length: u64) -> bool {
    let (from, to) = (
        request.offset / 512,
        request.offset / 512 + u64::from(request.length) / 512,
    );
    from < first + length && first < to
}

#[test]
fn power_cuts_take_what_was_not_flushed_and_nothing_else() {
    for name in [
        "kingston-8gb",
        "kingston-8gb+",
        "reference-nvme-64gb",
        "plextor-m6e-256gb",
    ] {
        let mut all = 0;
        for seed in 0..6 {
            let (lost, broken) = cuts(name, seed, false);
            assert_eq!(
                broken, 0,
                "{name}, seed {seed}: flushed sectors are not as they were"
            );
            all += lost;
        }
        assert!(all > 100, "{name}: the cuts lost only {all} sectors");
    }
}

#[test]
fn a_flush_that_lies_loses_what_it_promised() {
    for name in ["kingston-8gb+", "reference-nvme-64gb"] {
        let broken: u64 = (0..6).map(|seed| cuts(name, seed, true).1).sum();
        assert!(broken > 50, "{name}: {broken}");
    }
}

/// A card that takes a millisecond for everything, with faults.
struct Card(Service<FixedLatencyDevice>, u64);

impl Card {
    fn new(speed: Speed) -> Self {
        let capacity = Bytes::mib(1);
        let model = FixedLatencyDevice::new(capacity, Nanos(1_000_000));
        let service = Service::new(model, Store::memory(capacity), speed);
        Card(service.with_faults(1), 0)
    }

    fn inject(&mut self, text: &str) -> Effect {
        self.0.inject(text.parse().unwrap(), NOW).unwrap()
    }

    fn ask(&mut self, request: Request) -> Result<(), Refusal> {
        self.1 += 1;
        self.0.submit(origin(self.1), request, NOW);
        let mut done = Vec::new();
        self.0.drain(usize::MAX, &mut done);
        assert_eq!(done.len(), 1);
        done.remove(0).outcome
    }

    fn read(&mut self, offset: u64) -> Result<(), Refusal> {
        self.ask(request(Action::Read, offset, 4096))
    }

    fn write(&mut self, offset: u64) -> Result<(), Refusal> {
        self.ask(request(Action::Write, offset, 4096))
    }
}

#[test]
fn faults_last_until_they_are_cleared() {
    let mut card = Card::new(Speed::Max);
    card.inject("unreadable 8192 1");
    assert_eq!(card.read(8192), Err(Refusal::Unreadable));
    assert_eq!(card.read(4096), Ok(()));
    assert_eq!(card.write(8192), Ok(()));
    card.inject("read-only on");
    assert_eq!(card.write(0), Err(Refusal::ReadOnly));
    card.inject("clear");
    assert_eq!((card.read(8192), card.write(0)), (Ok(()), Ok(())));

    card.inject("power off");
    assert!(card.read(0).is_err() && card.write(0).is_err());
    card.inject("clear");
    assert!(card.read(0).is_err(), "clearing faults does not give power");
    card.inject("power on");
    assert_eq!(card.read(0), Ok(()));

    card.inject("after 3 writes power off");
    assert_eq!([card.write(0), card.write(0)], [Ok(()), Ok(())]);
    assert!(card.write(0).is_err());
    card.inject("insert");

    let too_much = card
        .0
        .inject("fake 1MiB wrap".parse().unwrap(), NOW)
        .unwrap_err();
    assert!(too_much.to_string().contains("not less than"), "{too_much}");
    let mut honest = Service::new(
        FixedLatencyDevice::new(Bytes::mib(1), NOW),
        Store::memory(Bytes::mib(1)),
        Speed::Max,
    );
    assert!(honest.inject("clear".parse().unwrap(), NOW).is_err());
}

#[test]
fn chance_is_as_likely_as_it_was_set() {
    let mut card = Card::new(Speed::Max);
    card.inject("read-errors 0.1");
    let failed = (0..2000).filter(|_| card.read(0).is_err()).count();
    assert!((140..260).contains(&failed), "{failed}");
    card.inject("clear");
    card.inject("corrupt 0.1");
    let mut changed = 0;
    for _ in 0..2000 {
        card.write(0).unwrap();
        let mut bytes = Vec::new();
        card.0.store().append_to(&mut bytes, 0, 4096).unwrap();
        let ones: u32 = bytes.iter().map(|b| b.count_ones()).sum();
        assert!(ones <= 1);
        changed += ones;
    }
    assert!((140..260).contains(&changed), "{changed}");
}

#[test]
fn delayed_commands_come_later_and_do_not_hold_up_the_others() {
    let mut card = Card::new(Speed::Times(1.0));
    card.inject("slow 0.5 100");
    for cookie in 0..200 {
        card.0
            .submit(origin(cookie), request(Action::Read, 0, 512), NOW);
    }
    let mut done = Vec::new();
    card.0.run(Nanos(2_000_000), &mut done);
    let quick = done.len();
    assert!((60..140).contains(&quick), "{quick}");
    let due = card.0.due().unwrap();
    assert_eq!(due, Nanos(101_000_000));
    done.clear();
    card.0.run(due, &mut done);
    assert_eq!(done.len() + quick, 200);
    assert!(done.iter().all(|d| d.latency == Nanos(101_000_000)));
}

#[test]
fn a_card_without_time_cannot_be_slow() {
    let mut card = service(device("kingston-8gb"));
    for command in ["slow 0.5 100", "after 3 writes slow 1 5"] {
        let refused = card.inject(command.parse().unwrap(), NOW).unwrap_err();
        assert!(refused.to_string().contains("--speed max"), "{refused}");
    }
    card.inject("slow 0 0".parse().unwrap(), NOW).unwrap();
}

/// Most memory that this process had at a time, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
    let kib = line.split_whitespace().nth(1).unwrap();
    kib.parse::<u64>().unwrap() * 1024
}

#[test]
#[cfg(target_os = "linux")]
fn the_longest_range_of_zeroes_takes_little_memory_and_others_are_served() {
    let mut service = service(device("reference-nvme-64gb"));
    // Some of the range has contents, most of it has none.
    for part in 0..64u64 {
        let mut write = request(Action::Write, part * (61 << 20), 1 << 20);
        write.data.fill(0xa5);
        service.submit(origin(part), write, NOW);
    }
    let mut done = Vec::new();
    while !service.drain(10_000, &mut done) {}
    let before = peak_memory();
    service.submit(
        origin(100),
        request(Action::WriteZeroes, 512, u32::MAX - 511),
        NOW,
    );
    let mut reads = 0;
    while service.outstanding() > 0 {
        service.submit(origin(200 + reads), request(Action::Read, 0, 4096), NOW);
        let mut done = Vec::new();
        // The read is done within a few turns, whatever is left of the zeroes.
        for _ in 0..4 {
            service.run(NOW, &mut done);
        }
        assert!(done.iter().any(|d| d.origin == origin(200 + reads)));
        reads += 1;
    }
    assert!(reads > 3, "{reads} reads beside the zeroes");
    let growth = peak_memory() - before;
    assert!(growth < 64 << 20, "{growth} bytes");
    let mut bytes = Vec::new();
    for part in 0..64u64 {
        let store = service.store();
        store
            .append_to(&mut bytes, part * (61 << 20), 1 << 20)
            .unwrap();
    }
    assert!(bytes[..512].iter().all(|b| *b == 0xa5));
    assert!(bytes[512..].iter().all(|b| *b == 0));
}

#[test]
fn a_power_cut_amid_zeroes_leaves_the_rest_as_it_was() {
    for name in ["kingston-8gb+", "reference-nvme-64gb"] {
        let mut service = service(device(name));
        let mut write = request(Action::Write, 0, 16 << 20);
        write.data.fill(0xa5);
        let mut done = Vec::new();
        for (cookie, first) in (0..).zip([write, request(Action::Flush, 0, 0)]) {
            service.submit(origin(cookie), first, NOW);
            while !service.drain(10_000, &mut done) {}
        }
        let zeroes = request(Action::WriteZeroes, 0, 16 << 20);
        service.submit(origin(2), zeroes, NOW);
        let holds = |service: &Service<Device>, mib: u64| {
            let mut byte = Vec::new();
            service.store().append_to(&mut byte, mib << 20, 1).unwrap();
            byte[0]
        };
        while holds(&service, 4) != 0 {
            service.drain(1, &mut done);
        }
        assert_eq!(holds(&service, 5), 0xa5, "{name}: one command at a time");
        assert_eq!(service.outstanding(), 1);
        service.inject("power cycle".parse().unwrap(), NOW).unwrap();
        service.drain(1, &mut done);
        assert!(done.last().unwrap().outcome.is_err());
        let mut bytes = Vec::new();
        service.store().append_to(&mut bytes, 0, 16 << 20).unwrap();
        // Commands after the one under way were not given yet.
        assert!(bytes[6 << 20..].iter().all(|b| *b == 0xa5), "{name}");
    }
}
