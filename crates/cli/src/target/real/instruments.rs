//! The instruments that observe a real target: those found, and the reason for each absent one.
//!
//! Temperature comes from hwmon, or else from SMART; power from the sensor or the meter's file that
//! the user names, as only its owner knows what it feeds; the power of the host's computing from
//! RAPL.

use super::sampler::{self, Shared, Sources, Supply};
use nandscope_inspect::identity::Identity;
use nandscope_inspect::telemetry::hwmon::Thermometer;
use nandscope_inspect::telemetry::ina::PowerSensor;
use nandscope_inspect::telemetry::meter::MeterFile;
use nandscope_inspect::telemetry::rapl::Domain;
use nandscope_inspect::telemetry::smart::{Smart, Smartctl};
use nandscope_inspect::telemetry::transferred::Transfers;
use nandscope_inspect::telemetry::{Absent, Reading as Answer};
use nandscope_inspect::{DeviceNumber, Roots};
use nandscope_measure::real::Instruments;
use nandscope_result::series;
use std::path::Path;
use std::sync::Arc;

/// The instruments of one target.
pub struct Panel {
    shared: Arc<Shared>,
    smart: Option<Smartctl>,
    before: Option<Smart>,
    /// Name of each instrument, and its description or the reason why it is absent.
    pub found: Vec<(String, String)>,
}

impl Panel {
    /// Finds the instruments of a device and begins to read them. `power` names the monitor or the
    /// meter's file that shows the power of the device.
    ///
    /// # Errors
    /// A message if `power` names neither.
    pub fn begin(roots: &Roots, device: Option<&Identity>, power: Option<&str>) -> Answer<Panel> {
        let mut found = Vec::new();
        let mut note = |name: &str, what: Answer<String>| {
            let what = what.unwrap_or_else(|why| format!("none: {why}"));
            found.push((name.to_string(), what));
        };
        let number = device.map(|d| d.number);
        let thermometer = thermometer(roots, number);
        let smart = smartctl(roots, device);
        let before = smart.as_ref().map_err(Clone::clone);
        let before = before.and_then(Smartctl::read);
        note(
            "SMART",
            before.as_ref().map(smart_words).map_err(Clone::clone),
        );
        let before = before.ok();
        let by_smart = before.as_ref().is_some_and(|s| s.temperature_c.is_some());
        note(
            series::DEVICE_TEMPERATURE,
            match &thermometer {
                Ok(t) => Ok(format!("hwmon, {}", t.label)),
                Err(_) if by_smart => Ok("SMART, every 10 s".to_string()),
                Err(why) => Err(why.clone()),
            },
        );
        let supply = power.map(|name| supply(roots, name)).transpose()?;
        note(
            series::POWER,
            match &supply {
                Some((name, _)) => Ok(name.clone()),
                None => Err(Absent(no_power(roots))),
            },
        );
        let packages = Domain::packages(roots);
        let packages = packages.and_then(|mut all| {
            // The first reading also shows whether the counters may be read.
            let first: Answer<f64> = all.iter_mut().map(Domain::read).sum();
            first.map(|_| all)
        });
        let names = |all: &Vec<Domain>| {
            let names: Vec<_> = all.iter().map(|d| d.name.as_str()).collect();
            format!("RAPL, {}", names.join(", "))
        };
        note(
            series::HOST_POWER,
            packages.as_ref().map(names).map_err(Clone::clone),
        );
        let transfers = number.ok_or_else(no_device);
        let transfers = transfers.and_then(|n| Transfers::of(roots, n));
        let counted = transfers
            .as_ref()
            .map(|_| "counted by the kernel".to_string());
        note("transfers", counted.map_err(Clone::clone));
        let smart = smart.ok().filter(|_| before.is_some());
        let sources = Sources {
            supply: supply.map(|(_, s)| s),
            packages: packages.unwrap_or_default(),
            smart: smart.clone().filter(|_| by_smart && thermometer.is_err()),
            thermometer: thermometer.ok(),
            transfers: transfers.ok(),
        };
        Ok(Panel {
            shared: sampler::start(sources),
            smart,
            before,
            found,
        })
    }

    /// The readings, which the target includes in its results.
    pub fn instruments(&self) -> Arc<dyn Instruments> {
        self.shared.clone()
    }

    /// Differences of SMART counters since the beginning: name and value.
    pub fn since_then(&self) -> Vec<(String, String)> {
        let (Some(smart), Some(before)) = (&self.smart, &self.before) else {
            return Vec::new();
        };
        let Ok(after) = smart.read() else {
            return vec![("SMART afterwards".to_string(), "not answered".to_string())];
        };
        let mut all = Vec::new();
        let mut add = |name: &str, before: Option<u64>, after: Option<u64>, unit: &str| {
            if let (Some(before), Some(after)) = (before, after) {
                let grown = after.saturating_sub(before);
                all.push((format!("{name} (SMART)"), format!("{grown}{unit}")));
            }
        };
        let bytes = |b: Option<nandscope_units::Bytes>| b.map(|b| b.0);
        add(
            "read meanwhile",
            bytes(before.host_read),
            bytes(after.host_read),
            " bytes",
        );
        add(
            "written meanwhile",
            bytes(before.host_written),
            bytes(after.host_written),
            " bytes",
        );
        add(
            "media errors meanwhile",
            before.media_errors,
            after.media_errors,
            "",
        );
        add(
            "link errors meanwhile",
            before.link_errors,
            after.link_errors,
            "",
        );
        add(
            "minutes of thermal warning meanwhile",
            before.warning_minutes,
            after.warning_minutes,
            "",
        );
        all
    }
}

impl Drop for Panel {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

fn thermometer(roots: &Roots, number: Option<DeviceNumber>) -> Answer<Thermometer> {
    let number = number.ok_or_else(no_device)?;
    let mut sensors = Thermometer::of(roots, number)?.into_iter();
    let first = sensors.next().ok_or_else(|| Absent::new("no sensor"))?;
    first.read().map(|_| first)
}

fn no_device() -> Absent {
    Absent::new("no block device is known")
}

/// Finds smartctl for a device whose transport can have SMART.
fn smartctl(roots: &Roots, device: Option<&Identity>) -> Answer<Smartctl> {
    let device = device.ok_or_else(no_device)?;
    if !device.transport.can_have_smart() {
        return Err(Absent(format!(
            "a device of this kind ({}) has none",
            device.transport
        )));
    }
    let node = roots.dev.join(&device.name);
    Ok(Smartctl::new(Path::new("smartctl"), &node))
}

fn smart_words(smart: &Smart) -> String {
    let mut words = Vec::new();
    words.extend(smart.protocol.clone());
    words.extend(
        smart
            .passed
            .map(|p| if p { "healthy" } else { "failing" }.to_string()),
    );
    words.extend(
        smart
            .used_percent
            .map(|p| format!("{p} % of the endurance used")),
    );
    words.extend(smart.power_on_hours.map(|h| format!("{h} h of operation")));
    words.join(", ")
}

/// The monitor or the meter's file of that name.
fn supply(roots: &Roots, name: &str) -> Answer<(String, Supply)> {
    let sensors = PowerSensor::find(roots).unwrap_or_default();
    let is_it = |s: &PowerSensor| s.name == name || s.name.ends_with(&format!("({name})"));
    if let Some(sensor) = sensors.iter().find(|s| is_it(s)) {
        return Ok((sensor.name.clone(), Supply::Sensor(sensor.clone())));
    }
    let path = Path::new(name);
    if path.is_file() {
        let mut meter = MeterFile::new(path);
        // Skips the samples from before the measurement.
        meter.poll()?;
        return Ok((format!("meter, {name}"), Supply::Meter(meter)));
    }
    let known: Vec<_> = sensors.iter().map(|s| s.name.as_str()).collect();
    let known = if known.is_empty() {
        "this machine has no power sensors".to_string()
    } else {
        format!("the sensors are {}", known.join(", "))
    };
    Err(Absent(format!(
        "--power {name} is neither a sensor nor a file; {known}"
    )))
}

fn no_power(roots: &Roots) -> String {
    match PowerSensor::find(roots) {
        Ok(sensors) => {
            let names: Vec<_> = sensors.iter().map(|s| s.name.as_str()).collect();
            format!(
                "select the sensor of the device with --power: {}",
                names.join(", ")
            )
        }
        Err(why) => format!("{why}; --power FILE reads the table of a USB meter"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;
    use std::time::Duration;

    /// A machine of files.
    struct Machine(PathBuf);

    impl Machine {
        fn new(name: &str) -> Self {
            let folder = std::env::temp_dir().join(format!("{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).unwrap();
            Machine(folder)
        }

        fn file(&self, name: &str, text: &str) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        }

        fn begin(&self, power: Option<&str>) -> Answer<Panel> {
            Panel::begin(&Roots::under(&self.0), None, power)
        }
    }

    impl Drop for Machine {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn said<'a>(panel: &'a Panel, name: &str) -> &'a str {
        let found = panel.found.iter().find(|(n, _)| n == name);
        found.map(|(_, what)| what.as_str()).unwrap()
    }

    #[test]
    fn a_machine_without_instruments_says_so_of_each_and_shows_nothing() {
        let machine = Machine::new("instruments-none");
        let panel = machine.begin(None).unwrap();
        for name in [
            "SMART",
            series::DEVICE_TEMPERATURE,
            series::POWER,
            series::HOST_POWER,
            "transfers",
        ] {
            assert!(said(&panel, name).starts_with("none: "), "{name}");
        }
        assert_eq!(panel.instruments().read(), Default::default());
        assert!(panel.since_then().is_empty());
        let error = machine.begin(Some("hwmon9")).err().unwrap().to_string();
        assert!(
            error.contains("hwmon9") && error.contains("no power sensors"),
            "{error}"
        );
    }

    #[test]
    fn a_sensor_of_constant_power_gives_energy_in_step_with_time() {
        let machine = Machine::new("instruments-ina");
        machine.file("sys/class/hwmon/hwmon3/name", "ina226\n");
        machine.file("sys/class/hwmon/hwmon3/power1_input", "2500000\n");
        assert!(said(&machine.begin(None).unwrap(), "power").contains("select the sensor"));
        let panel = machine.begin(Some("hwmon3")).unwrap();
        assert_eq!(said(&panel, "power"), "ina226 (hwmon3)");
        let instruments = panel.instruments();
        // The energy, and the seconds before and after it was read.
        let begin = std::time::Instant::now();
        let read = || {
            let before = begin.elapsed().as_secs_f64();
            let joules = instruments.read().energy_j.unwrap();
            (joules, before, begin.elapsed().as_secs_f64())
        };
        let is_constant = |from: (f64, f64, f64), to: (f64, f64, f64)| {
            let (joules, least, most) = (to.0 - from.0, to.1 - from.2, to.2 - from.1);
            assert!(
                (2.45 * least..2.55 * most).contains(&joules),
                "{joules} J in {least} to {most} s at 2.5 W"
            );
        };
        let first = read();
        // Sleeps less than the pace of the sensor, so that some intervals lie between two readings.
        let mut last = first;
        for _ in 0..30 {
            std::thread::sleep(Duration::from_millis(30));
            let now = read();
            is_constant(last, now);
            last = now;
        }
        is_constant(first, last);
    }

    /// The first reading of at least `joules`.
    fn reached(joules: f64, read: impl Fn() -> Option<f64>) -> f64 {
        let began = std::time::Instant::now();
        loop {
            let now = read().unwrap();
            if now >= joules {
                return now;
            }
            assert!(began.elapsed().as_secs() < 30, "{now} J, not {joules} J");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn the_table_of_a_meter_is_put_on_our_clock_and_what_stood_there_is_left_out() {
        let machine = Machine::new("instruments-meter");
        let table = machine.file("meter.csv", "time_s,power_W\n1,1000\n2,1000\n");
        let panel = machine.begin(Some(table.to_str().unwrap())).unwrap();
        let instruments = panel.instruments();
        assert_eq!(instruments.read().energy_j, None, "nothing is shown yet");
        let mut meter = fs::File::options().append(true).open(&table).unwrap();
        let begin = std::time::Instant::now();
        for step in 0..8 {
            writeln!(meter, "{:.1},4", 100.0 + 0.1 * f64::from(step)).unwrap();
            std::thread::sleep(Duration::from_millis(100));
        }
        // 0.7 s between the first and the last sample at 4 W, and what has passed since then.
        let joules = reached(2.7, || instruments.read().energy_j);
        let most = 4.0 * (begin.elapsed().as_secs_f64() + 0.4);
        assert!(joules < most, "{joules} J, at most {most} J");
    }

    #[test]
    fn the_counters_of_the_processor_become_power_of_the_host() {
        let machine = Machine::new("instruments-rapl");
        let zone = "sys/class/powercap/intel-rapl:0";
        machine.file(&format!("{zone}/name"), "package-0\n");
        machine.file(&format!("{zone}/max_energy_range_uj"), "1000000\n");
        machine.file(&format!("{zone}/energy_uj"), "900000\n");
        let panel = machine.begin(None).unwrap();
        assert_eq!(said(&panel, "host power"), "RAPL, package-0");
        // Over the end of the counter: 0.1 J and a step to zero, and 0.4 J from there.
        machine.file(&format!("{zone}/energy_uj"), "400000\n");
        let joules = reached(0.5, || panel.instruments().read().host_energy_j);
        assert!(joules < 1.1, "{joules}");
    }
}
