//! Devices on which a probe was almost certain of a wrong answer. An answer may be missing; it must not be wrong.

use nandscope_device::Device;
use nandscope_device::profile::{Profile, library};
use nandscope_infer::probe::{Options, Report, Value, probe};
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::Target as _;

fn profile_of(name: &str) -> Profile {
    library::device(name).unwrap().profile().unwrap()
}

fn probed(profile: &Profile, host: &str, seed: u64) -> Report {
    let host = library::host(host).unwrap().host_profile().unwrap();
    let target = SimTarget::new(Device::new(profile, &host, seed).unwrap());
    let options = Options {
        seed,
        ..Options::for_capacity(target.capacity())
    };
    probe(target, &options, &|| false, &mut |_, _| {}).unwrap()
}

#[test]
fn no_rate_is_above_what_the_link_carries() {
    for name in ["reference-nvme-64gb", "samsung-emmc51-64gb"] {
        let profile = profile_of(name);
        let links: Vec<&str> = profile.interface.iter().map(|i| i.link.as_str()).collect();
        let hosts = library::HOSTS.iter().filter_map(|h| {
            let (_, chain) = h.host_profile().ok()?.attach(&links).ok()?;
            Some((h.name, chain.rate.as_mb_per_s() * 1e6))
        });
        for (host, carried) in hosts {
            let report = probed(&profile, host, 1);
            for finding in &report.findings {
                if let Some(Value::BytesPerS(rate)) = finding.value {
                    assert!(rate <= 1.01 * carried, "{host}, {carried}: {finding:?}");
                }
            }
        }
    }
}
