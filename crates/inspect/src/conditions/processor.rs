//! The processors: how many, which, and who decides about their clock.

use crate::roots::{self, Roots};
use serde::Serialize;

/// Properties of the processors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Processor {
    /// Model, where `/proc/cpuinfo` names one.
    pub model: Option<String>,
    /// Processors that are on.
    pub count: usize,
    /// Distinct frequency governors; empty if the system does not set the clock.
    pub governors: Vec<String>,
    /// Times that a processor was throttled for its heat since the start of the system.
    pub throttled: Option<u64>,
}

impl Processor {
    pub(super) fn read(roots: &Roots) -> Self {
        let folder = roots.sys.join("devices/system/cpu");
        let info = roots::text(&roots.proc.join("cpuinfo")).unwrap_or_default();
        let field = |line: &str, names: &[&str]| {
            let (name, value) = line.split_once(':')?;
            names
                .contains(&name.trim())
                .then(|| value.trim().to_string())
        };
        let cpus: Vec<_> = roots::names(&folder)
            .into_iter()
            .filter(|n| {
                n.strip_prefix("cpu")
                    .is_some_and(|n| n.parse::<u32>().is_ok())
            })
            .map(|n| folder.join(n))
            .collect();
        let mut governors: Vec<_> = cpus
            .iter()
            .filter_map(|cpu| roots::text(&cpu.join("cpufreq/scaling_governor")))
            .collect();
        governors.sort();
        governors.dedup();
        let counts = cpus
            .iter()
            .filter_map(|cpu| roots::number(&cpu.join("thermal_throttle/core_throttle_count")));
        Processor {
            model: info
                .lines()
                .find_map(|l| field(l, &["model name", "Model"])),
            count: info
                .lines()
                .filter_map(|l| field(l, &["processor"]))
                .count(),
            governors,
            throttled: counts.reduce(u64::saturating_add),
        }
    }
}
