//! Readings of health: from a device of this machine, from a file of smartctl, from a simulated device.

use crate::console::Console;
use crate::failure::Failure;
use crate::input;
use crate::target::{self, ParamArguments};
use nandscope_fitness::health::HealthReading;
use nandscope_inspect::Roots;
use nandscope_inspect::identity::{Identity, Transport};
use nandscope_inspect::place::{Kind, Place};
use nandscope_inspect::registers::{ExtCsd, Registers};
use nandscope_inspect::telemetry::smart::{self, Smart, Smartctl};
use serde_json::Value;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bits of NVMe's critical warning that concern the medium: spare, reliability, read-only, backup of memory.
const WARNINGS: [(u64, &str); 4] = [
    (1, "spare blocks are below the threshold"),
    (1 << 2, "reliability is degraded"),
    (1 << 3, "the medium is read-only"),
    (1 << 4, "the backup of the volatile memory failed"),
];

/// The health in a file of smartctl, at the time that is in the file.
///
/// # Errors
/// `Exit::Usage` if it is not such a file; `Exit::File` if it cannot be read.
pub fn recorded(file: &Path) -> Result<HealthReading, Failure> {
    let bytes = input::bytes(file, "the recorded health")?;
    let wrong = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let smart = smart::parse(&bytes).map_err(|e| wrong(e.to_string()))?;
    let root: Value = serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
    let time = root.pointer("/local_time/time_t").and_then(Value::as_i64);
    let time = time.filter(|t| *t >= 0).ok_or_else(|| {
        wrong("it has no `local_time`; record it with `smartctl --json -a`".to_string())
    })?;
    Ok(of_smart(&smart, time))
}

/// The health of a simulated device, at its own time.
///
/// # Errors
/// As [`target::open_with`].
pub fn simulated(
    name: &str,
    params: &ParamArguments,
    console: &Console,
) -> Result<HealthReading, Failure> {
    let (_, device) = target::open_with(name, &params.options(None, 1), console)?;
    let (identity, health) = (device.identity(), device.health());
    let critical = u64::from(health.critical_warning);
    Ok(HealthReading {
        time: device.now().as_secs_f64() as i64,
        device: format!("{} {}", identity.model, identity.serial),
        used_percent: Some(f64::from(health.percentage_used)),
        step_percent: Some(1.0),
        spare_percent: Some(f64::from(health.available_spare_percent)),
        host_written: Some(device.counters().host_written.0),
        media_errors: Some(health.media_errors),
        temperature_c: Some(f64::from(health.composite_temperature_k) - 273.0),
        power_on_hours: Some(health.power_on_hours),
        alarms: critical_alarms(critical),
    })
}

/// The health of a device of this machine, and why values are missing.
///
/// # Errors
/// `Exit::File` if there is no such device; `Exit::Usage` if it is a file or folder.
pub fn real(name: &str) -> Result<(HealthReading, Vec<String>), Failure> {
    let roots = Roots::default();
    let identity = identity(&roots, name)?;
    let time = now();
    let registers = Registers::read(&roots, identity.number);
    if let Some(registers) = &registers {
        return Ok(of_card(&identity, registers, time));
    }
    if !identity.transport.can_have_smart() {
        let why = format!("a {} reports no health", identity.transport);
        return Ok((named(&identity, time), vec![why]));
    }
    let node = roots.dev.join(&identity.name);
    match Smartctl::new(Path::new("smartctl"), &node).read() {
        Ok(smart) => Ok((of_smart(&smart, time), Vec::new())),
        Err(absent) => Ok((named(&identity, time), vec![absent.to_string()])),
    }
}

/// The block device of that name.
///
/// # Errors
/// As [`real`].
pub fn identity(roots: &Roots, name: &str) -> Result<Identity, Failure> {
    let cannot = |e: std::io::Error| {
        Failure::file(format!(
            "cannot examine {name}: {e}; check the name and the permissions"
        ))
    };
    let place = Place::find(roots, Path::new(name)).map_err(cannot)?;
    match (place.kind, place.device) {
        (Kind::BlockDevice, Some(number)) => Identity::read(roots, number).map_err(cannot),
        _ => Err(Failure::usage(format!(
            "{name} is not a block device; name the device on which it is, such as /dev/sda"
        ))),
    }
}

/// The present time, seconds since 1970 UTC.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| i64::try_from(d.as_secs()).unwrap_or(0))
}

/// A reading with a name only.
pub fn named(identity: &Identity, time: i64) -> HealthReading {
    let parts = [identity.model.clone(), identity.serial.clone()];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    HealthReading {
        time,
        device: match parts.is_empty() {
            true => identity.name.clone(),
            false => parts.join(" "),
        },
        ..HealthReading::default()
    }
}

fn of_smart(smart: &Smart, time: i64) -> HealthReading {
    let parts = [smart.model.clone(), smart.serial.clone()];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut alarms = critical_alarms(smart.critical_warning.unwrap_or(0));
    if smart.passed == Some(false) {
        alarms.insert(0, "the device reports that it fails".to_string());
    }
    HealthReading {
        time,
        device: parts.join(" "),
        used_percent: smart.used_percent,
        step_percent: smart.used_percent.map(|_| 1.0),
        spare_percent: smart.spare_percent,
        host_written: smart.host_written.map(|b| b.0),
        media_errors: smart.media_errors,
        temperature_c: smart.temperature_c,
        power_on_hours: smart.power_on_hours,
        alarms,
    }
}

fn critical_alarms(bits: u64) -> Vec<String> {
    let set = WARNINGS.iter().filter(|(bit, _)| bits & bit != 0);
    set.map(|(_, text)| (*text).to_string()).collect()
}

/// An eMMC has its wear in EXT_CSD; an SD card has no standard register for it.
fn of_card(identity: &Identity, registers: &Registers, time: i64) -> (HealthReading, Vec<String>) {
    let mut reading = named(identity, time);
    let Some(register) = &registers.ext_csd else {
        let why = match identity.transport {
            Transport::Sd => {
                "an SD card has no standard register of its health; some makers have a command of their own (--vendor)"
            }
            _ => "EXT_CSD cannot be read; it is in debugfs, which only root may read",
        };
        return (reading, vec![why.to_string()]);
    };
    of_ext_csd(register, &mut reading);
    let absent = match reading.used_percent {
        Some(_) => Vec::new(),
        None => vec!["this eMMC reports no wear: it is older than version 5.0".to_string()],
    };
    (reading, absent)
}

/// JESD84-B51: a value n of `DEVICE_LIFE_TIME_EST` is up to 10n % of the life, 11 is beyond it.
fn of_ext_csd(register: &ExtCsd, reading: &mut HealthReading) {
    let life = register.life_a.max(register.life_b);
    reading.used_percent = life.map(|life| f64::from(life.min(11)) * 10.0);
    reading.step_percent = life.map(|_| 10.0);
    match register.spare {
        Some("warning") => reading
            .alarms
            .push("80 % of the spare blocks are used".to_string()),
        Some("urgent") => reading
            .alarms
            .push("90 % of the spare blocks are used".to_string()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_emmc_reports_the_more_worn_part_and_its_spare() {
        let mut digits = vec!['0'; 1024];
        for (at, value) in [(192, "08"), (267, "03"), (268, "02"), (269, "05")] {
            for (i, digit) in value.chars().enumerate() {
                digits[at * 2 + i] = digit;
            }
        }
        let text: String = digits.into_iter().collect();
        let register = ExtCsd::from_hex(&text).unwrap();
        let mut reading = HealthReading::default();
        of_ext_csd(&register, &mut reading);
        assert_eq!(reading.used_percent, Some(50.0));
        assert_eq!(reading.step_percent, Some(10.0));
        assert_eq!(reading.alarms, ["90 % of the spare blocks are used"]);
    }
}
