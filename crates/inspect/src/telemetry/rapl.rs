//! Energy of the processor's packages from RAPL (`/sys/class/powercap`). It is the power of the
//! host's computing, not of the device: for comparing what the same work costs the host.

use super::energy::WrappingCounter;
use super::{Absent, Reading, integer};
use crate::roots::{self, Roots};
use std::path::PathBuf;

/// One domain: a package, its cores, its memory.
#[derive(Clone, Debug)]
pub struct Domain {
    /// The kernel's name, such as `package-0`.
    pub name: String,
    file: PathBuf,
    counter: WrappingCounter,
}

impl Domain {
    /// The packages, without their inner domains, which would count twice.
    ///
    /// # Errors
    /// `Absent` without such counters: processors of other makers, virtual machines.
    pub fn packages(roots: &Roots) -> Reading<Vec<Self>> {
        let folder = roots.sys.join("class/powercap");
        let domain = |zone: String| {
            // A package is `intel-rapl:0`, a domain within it `intel-rapl:0:1`.
            if zone.matches(':').count() != 1 || !zone.contains("rapl") {
                return None;
            }
            let place = folder.join(zone);
            let range = roots::number(&place.join("max_energy_range_uj"))?;
            Some(Domain {
                name: roots::text(&place.join("name"))?,
                file: place.join("energy_uj"),
                counter: WrappingCounter::new(range),
            })
        };
        let found: Vec<_> = roots::names(&folder)
            .into_iter()
            .filter_map(domain)
            .collect();
        if found.is_empty() {
            return Err(Absent::new("this machine has no RAPL counters"));
        }
        Ok(found)
    }

    /// Joules since the first reading. Call it at least once a minute.
    ///
    /// # Errors
    /// `Absent` if the counter cannot be read; since Linux 5.10 only root may.
    pub fn read(&mut self) -> Reading<f64> {
        let value = integer(&self.file)?;
        let value = u64::try_from(value)
            .map_err(|_| Absent::new(format!("{}: below zero", self.file.display())))?;
        Ok(self.counter.read(value) as f64 / 1e6)
    }
}
