//! A victim policy that takes the better of two random superblocks: its erases under random writes, beside greedy's.

use nandscope_device::policy::{Candidate, Closed, Random, VictimPolicy};
use nandscope_device::profile::{library, schema::VictimPolicyName};
use nandscope_device::{Device, DeviceError, Fill};
use nandscope_units::Nanos;
use std::sync::Arc;

#[derive(Debug)]
struct BestOfTwo;

impl VictimPolicy for BestOfTwo {
    fn name(&self) -> &str {
        "best-of-two"
    }

    fn choose<'a>(&self, of: &'a Closed<'a>, _: Nanos, r: &mut Random) -> Option<Candidate<'a>> {
        let count = of.iter().count() as u64;
        let drawn = [(); 2].map(|()| of.iter().nth(r.below(count) as usize));
        drawn.into_iter().flatten().min_by_key(|c| c.valid_units())
    }
}

fn main() -> Result<(), DeviceError> {
    let profile = library::device("reference-nvme-64gb").map(|entry| entry.profile());
    let mut profile = profile.expect("is in the library").expect("is valid");
    let host = library::host("direct").map(|entry| entry.host_profile());
    let host = host.expect("is in the library").expect("is valid");
    let greedy = Device::new(&profile, &host, 1)?;
    let ftl = profile.ftl.as_mut().expect("is page-mapped");
    ftl.collection = VictimPolicyName::Supplied("best-of-two".into());
    let own = Device::with_victim_policy(&profile, &host, 1, &(Arc::new(BestOfTwo) as _))?;
    for (name, mut drive) in [("greedy", greedy), ("best of two", own)] {
        drive.precondition(1.0, Fill::Random { seed: 1 });
        drive.overwrite_randomly(30_000_000, 2);
        println!("{name}: {} erases", drive.counters().erases);
    }
    Ok(())
}
