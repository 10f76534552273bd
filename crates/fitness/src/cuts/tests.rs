//! Flushes that are acknowledged but not performed, below the target that cuts the power.

use super::*;
use crate::recording::{Limit, RecordingOptions, record};
use crate::requirement::parse;
use nandscope_experiment::{device_source, host_source};

/// Acknowledges flushes at once without passing them on.
struct Lying {
    target: SimTarget<Device>,
    acknowledged: Vec<Reply>,
}

impl Cuttable for Lying {
    fn device(&self) -> &Device {
        self.target.device()
    }

    fn into_device(self) -> Device {
        self.target.into_device()
    }
}

impl Target for Lying {
    fn now(&self) -> Nanos {
        self.target.now()
    }

    fn capacity(&self) -> Bytes {
        self.target.capacity()
    }

    fn longest_wait(&self) -> Nanos {
        Nanos::MAX
    }

    fn submit(&mut self, request: Request) -> Result<(), TargetError> {
        if request.kind != OpKind::Flush {
            return self.target.submit(request);
        }
        let now = self.now();
        self.acknowledged.push(Reply {
            tag: request.tag,
            submitted: now,
            completed: now,
            outcome: Outcome::Done,
        });
        Ok(())
    }

    fn wait(&mut self, until: Nanos, replies: &mut Vec<Reply>) -> Result<(), TargetError> {
        match self.acknowledged.is_empty() {
            true => self.target.wait(until, replies),
            false => {
                replies.append(&mut self.acknowledged);
                Ok(())
            }
        }
    }

    fn reading(&mut self) -> Reading {
        Reading::default()
    }
}

fn found<T: Cuttable>(target: T) -> Cuts {
    let text = "format = 1\ntitle = \"t\"\n[[stream]]\nname = \"s\"\nrate = \"400/s\"\nblock = \"4 KiB\"\npattern = \"random\"\nsync = \"64 KiB\"\n";
    let requirement = parse("t.toml", text).unwrap();
    let duration = Nanos::from_secs(4);
    let mut target = CutTarget::with(target, duration);
    let options = RecordingOptions {
        duration,
        seed: 1,
        limit: Limit::None,
    };
    record(&mut target, &requirement, &options, &mut |_| true).unwrap();
    target.found
}

#[test]
fn a_lying_flush_loses_data_and_an_honest_one_does_not() {
    for (name, seed) in [("reference-nvme-64gb", 2), ("samsung-860-pro-512gb", 4)] {
        let (source, host) = (device_source(name).unwrap(), host_source("direct").unwrap());
        let mut device = Device::new(&source.profile, &host.profile, seed).unwrap();
        device.track_writes();
        let honest = found(SimTarget::new(device.clone()));
        assert!(honest.cuts > 10 && honest.losses == 0, "{name} {honest:?}");
        let lying = found(Lying {
            target: SimTarget::new(device),
            acknowledged: Vec::new(),
        });
        assert!(lying.losses > 0, "{name} {lying:?}");
    }
}
