//! Victim policies that a program supplies: they decide, have a name in the profile, and outlast a snapshot.

use crate::acknowledged::made_small;
use crate::support::{closed_loop, profile, write};
use nandscope_device::policy::{Candidate, Closed, Random, VictimPolicy};
use nandscope_device::profile::library;
use nandscope_device::profile::schema::VictimPolicyName;
use nandscope_device::profile::{HostProfile, Profile};
use nandscope_device::{Device, DeviceError, Fill, SnapshotError};
use nandscope_units::Nanos;
use std::cmp::Reverse;
use std::sync::Arc;

/// Does as the device's own greedy or FIFO policy does, by what a program sees.
#[derive(Debug)]
struct Imitated(&'static str);

impl VictimPolicy for Imitated {
    fn name(&self) -> &str {
        self.0
    }

    fn choose<'a>(
        &self,
        closed: &'a Closed<'a>,
        now: Nanos,
        _: &mut Random,
    ) -> Option<Candidate<'a>> {
        for c in closed.iter() {
            assert!(c.valid_units() <= c.units() && c.age() >= 1 && c.opened_at() <= now);
        }
        match self.0 {
            "oldest" => closed.iter().min_by_key(|c| Reverse(c.age())),
            _ => None,
        }
    }
}

/// Any superblock.
#[derive(Debug)]
struct AtRandom;

impl VictimPolicy for AtRandom {
    fn name(&self) -> &str {
        "random"
    }

    fn choose<'a>(
        &self,
        closed: &'a Closed<'a>,
        _: Nanos,
        random: &mut Random,
    ) -> Option<Candidate<'a>> {
        let count = closed.iter().count() as u64;
        closed.iter().nth(random.below(count) as usize)
    }
}

fn with(collection: VictimPolicyName) -> (Profile, HostProfile) {
    let mut p = made_small(profile("reference-nvme-64gb"));
    p.ftl.as_mut().expect("page-mapped").collection = collection;
    let host = library::host("direct").expect("is there");
    (p, host.host_profile().expect("valid"))
}

fn supplied(policy: Arc<dyn VictimPolicy>) -> Device {
    let (p, host) = with(VictimPolicyName::Supplied(policy.name().to_string()));
    Device::with_victim_policy(&p, &host, 1, &policy).expect("named by the profile")
}

fn own(name: VictimPolicyName) -> Device {
    let (p, host) = with(name);
    Device::new(&p, &host, 1).expect("valid")
}

/// Time of random writes, the sum of their latencies, and the longest latency.
type Times = (Nanos, Nanos, Nanos);

/// Fills the device, overwrites it at random, and measures writes; returns their times and the erases.
fn worn(d: &mut Device) -> (Times, u64) {
    d.precondition(1.0, Fill::Random { seed: 1 });
    d.overwrite_randomly(2_000_000, 2);
    let times = written(d);
    (times, d.counters().erases)
}

fn written(d: &mut Device) -> Times {
    let units = d.capacity().0 / 4096;
    let mut at = 1;
    let run = closed_loop(d, 8, |i| {
        at = (at * 75_161 + 74) % units;
        (i < 20_000).then(|| write(i, at * 4096, 4096))
    });
    (run.elapsed, run.latency_sum, run.latency_max)
}

#[test]
fn a_supplied_policy_that_imitates_one_of_the_device_does_the_same() {
    let oldest = worn(&mut supplied(Arc::new(Imitated("oldest"))));
    assert!(oldest == worn(&mut own(VictimPolicyName::Fifo)));
    // One that never chooses leaves the choice to the least valid data.
    let none = worn(&mut supplied(Arc::new(Imitated("none"))));
    assert!(none == worn(&mut own(VictimPolicyName::Greedy)));
    assert!(oldest.1 > none.1, "{} {}", oldest.1, none.1);
}

#[test]
fn a_supplied_policy_goes_on_after_a_snapshot() {
    let policy: Arc<dyn VictimPolicy> = Arc::new(AtRandom);
    let mut d = supplied(policy.clone());
    worn(&mut d);
    let bytes = d.save().expect("serializable");
    let mut again = Device::load_with_victim_policy(&bytes, &policy).expect("sound");
    assert_eq!(again.audit(), Ok(()));
    assert!(written(&mut d) == written(&mut again));
    // Neither without the policy nor with another one.
    let missing = DeviceError::NoVictimPolicy {
        name: "random".to_string(),
    };
    let refused = Device::load(&bytes).expect_err("lacks the policy");
    assert_eq!(refused, SnapshotError::Policy(missing));
    let other: Arc<dyn VictimPolicy> = Arc::new(Imitated("oldest"));
    assert!(Device::load_with_victim_policy(&bytes, &other).is_err());
}

#[test]
fn the_profile_names_the_policy() {
    let (p, host) = with(VictimPolicyName::Supplied("random".to_string()));
    let refused = Device::new(&p, &host, 1).expect_err("lacks the policy");
    assert!(refused.to_string().contains("program:random"), "{refused}");
    let (p, host) = with(VictimPolicyName::Greedy);
    let policy: Arc<dyn VictimPolicy> = Arc::new(AtRandom);
    let refused = Device::with_victim_policy(&p, &host, 1, &policy);
    assert!(refused.is_err_and(|e| e.to_string().contains("program:random")));
    for name in ["greedy", "fifo", "cost-benefit", "program:warm-first"] {
        let read = VictimPolicyName::try_from(name.to_string()).expect("a policy");
        assert_eq!(read.to_string(), name);
    }
    for name in ["", "Greedy", "program:", "warm-first"] {
        let fault = VictimPolicyName::try_from(name.to_string()).expect_err("no policy");
        assert!(fault.contains("cost-benefit"), "{fault}");
    }
}
