//! Verification of every device of the library, genuine and fake, in virtual time with contents: the simulated device says how
//! long everything takes.

use crate::support::{Device, Fault, Folder, salt};
use nandscope_device::profile::library::{self, Entry};
use nandscope_device::profile::{Profile, parse_profile};
use nandscope_device::{Device as Simulated, Fill};
use nandscope_infer::authenticity::{
    Finding, JournaledDevice, Medium, MediumError, Options, Stage, UndoJournal, Verdict, verify,
};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Reply, Request, Target as _};
use nandscope_units::random::SplitMix64;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

/// A device with contents, whose times are those of a simulated device.
struct Timed {
    contents: Device,
    time: SimTarget,
    replies: Vec<Reply>,
}

impl Timed {
    fn new(profile: &Profile, fault: impl Fn(u64) -> Fault, seed: u64) -> Self {
        Self::with(profile, fault, seed, seed.is_multiple_of(2))
    }

    fn with(profile: &Profile, fault: impl Fn(u64) -> Fault, seed: u64, blank: bool) -> Self {
        let host = library::host(DEFAULT_HOST).unwrap().host_profile().unwrap();
        let mut device = Simulated::new(profile, &host, seed).unwrap();
        if !blank {
            device.precondition(1.0, Fill::Sequential);
        }
        let blocks = device.capacity().0 / 512;
        Timed {
            contents: Device::new(blocks, fault(blocks), seed),
            time: SimTarget::new(device),
            replies: Vec::new(),
        }
    }

    fn spend(&mut self, kind: OpKind, first: u64, bytes: usize) {
        let mut at = 0;
        loop {
            // As the kernel of a real host cuts requests.
            let length = (bytes - at).min(512 << 10);
            let request = Request {
                tag: 0,
                kind,
                offset: Bytes(first * 512 + at as u64),
                length: length as u32,
                durable: false,
                thread: 0,
            };
            self.time.submit(request).unwrap();
            self.replies.clear();
            self.time.wait(Nanos::MAX, &mut self.replies).unwrap();
            at += length;
            if at >= bytes {
                return;
            }
        }
    }
}

const DEFAULT_HOST: &str = "direct";

impl Medium for Timed {
    fn blocks(&self) -> u64 {
        self.contents.claims
    }

    fn block_bytes(&self) -> usize {
        512
    }

    fn read(&mut self, first: u64, into: &mut [u8]) -> Result<(), MediumError> {
        self.spend(OpKind::Read, first, into.len());
        self.contents.read(first, into)
    }

    fn write(&mut self, first: u64, data: &[u8]) -> Result<(), MediumError> {
        self.spend(OpKind::Write, first, data.len());
        self.contents.write(first, data)
    }

    fn settle(&mut self) -> Result<(), MediumError> {
        self.spend(OpKind::Flush, 0, 0);
        self.contents.settle()
    }

    fn now(&self) -> Nanos {
        self.time.now()
    }
}

/// Verifies a device; also returns the time of the last progress report of each stage.
fn run(device: &mut Timed, seed: u64) -> (Finding, Vec<(Stage, Nanos)>) {
    let folder = Folder::new();
    let journaled = JournaledDevice {
        identity: "a test".into(),
        blocks: device.blocks(),
        block_bytes: 512,
    };
    let path = folder.0.join("journal");
    let mut journal = UndoJournal::create(&path, journaled, salt(seed)).unwrap();
    let before = device.contents.snapshot();
    let mut stages: Vec<(Stage, Nanos)> = Vec::new();
    let mut tell = |stage, _, now| {
        match stages.last_mut() {
            Some(last) if last.0 == stage => last.1 = now,
            _ => stages.push((stage, now)),
        };
    };
    let options = Options::default();
    let finding = verify(device, &mut journal, &options, &|| false, &mut tell).unwrap();
    device.contents.same_as(&before);
    (finding, stages)
}

/// Number of devices per profile; the environment variable NANDSCOPE_VERIFY_DEVICES sets another number, and the first
/// device of each profile then has its whole capacity.
const DEVICES: u64 = 4;

/// The profile with a capacity that no one would choose, from 1 to 3.5 GiB.
fn cut(entry: &Entry, random: &mut SplitMix64) -> Profile {
    let own = |line: &&str| line.starts_with("capacity_bytes");
    let line = entry.text.lines().find(own).unwrap();
    // A whole number of mapping units, and of pages of cards.
    let units = (1 << 14) + random.below(5 << 13);
    let text = entry
        .text
        .replace(line, &format!("capacity_bytes = {}", units << 16));
    let parsed = parse_profile(entry.name, &text);
    parsed.unwrap_or_else(|e| panic!("{}: {e:?}", entry.name))
}

#[test]
fn no_genuine_device_of_any_profile_is_accused() {
    let given = std::env::var("NANDSCOPE_VERIFY_DEVICES").ok();
    let given: Option<u64> = given.and_then(|n| n.parse().ok());
    let mut random = SplitMix64::new(8);
    let mut count = 0;
    for entry in library::DEVICES {
        for seed in 0..given.unwrap_or(DEVICES) {
            let profile = match (given, seed) {
                (Some(_), 0) => entry.profile().unwrap(),
                _ => cut(entry, &mut random),
            };
            let mut device = Timed::new(&profile, |_| Fault::None, seed);
            let (finding, _) = run(&mut device, seed);
            assert_eq!(finding.verdict(), Verdict::Genuine, "{} {seed}", entry.name);
            assert!(finding.restored.lost.is_empty());
            let all = finding.written + finding.restored.written;
            assert!(all < 2000, "{} {all}", entry.name);
            count += 1;
        }
    }
    println!("{count} genuine devices, none accused");
    assert!(count >= 100, "{count}");
}

/// f3probe takes 144 s for a card of 2 GiB of the first profile, and 197 s for the second.
#[test]
fn cards_that_merge_whole_units_are_verified_in_seconds() {
    for name in ["kingston-8gb", "kingston-class10-32gb", "tlc-card-3mib-au"] {
        let profile = library::device(name).unwrap().profile().unwrap();
        for (number, blank) in (0..6).map(|n| (n % 3, n < 3)) {
            let fault = |blocks: u64| match number {
                0 => Fault::None,
                1 => Fault::Wrap {
                    real: blocks / 3 + 77,
                },
                _ => Fault::Drop {
                    real: blocks / 3 + 77,
                    byte: Some(0),
                },
            };
            let mut device = Timed::with(&profile, fault, 1, blank);
            let (finding, stages) = run(&mut device, 1);
            let contents = &device.contents;
            let expected = contents.fault.real().unwrap_or(contents.claims);
            assert_eq!(finding.real.exact(), Some(expected));
            assert!(finding.elapsed < Nanos(28_000_000_000), "{name} {stages:?}");
        }
    }
}
