//! The thread that reads the instruments while the target is measured, and the readings that it shares with the
//! measurement. Threads that do I/O never wait for an instrument.

use nandscope_inspect::telemetry::Reading as Answer;
use nandscope_inspect::telemetry::energy::PowerIntegral;
use nandscope_inspect::telemetry::hwmon::Thermometer;
use nandscope_inspect::telemetry::ina::PowerSensor;
use nandscope_inspect::telemetry::meter::{MeterFile, MeterSample};
use nandscope_inspect::telemetry::rapl::Domain;
use nandscope_inspect::telemetry::smart::Smartctl;
use nandscope_inspect::telemetry::transferred::Transfers;
use nandscope_measure::real::Instruments;
use nandscope_measure::target::{Reading, Transferred};
use nandscope_units::Nanos;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Time between two readings of power.
const PACE: Duration = Duration::from_millis(100);
/// Readings of power per reading of a temperature, for which an NVMe drive returns a log page.
const TEMPERATURE_EVERY: u32 = 10;
/// Readings of power per reading of a temperature for which smartctl must be started.
const SMART_EVERY: u32 = 100;
/// After this time without a reading, power counts as missing.
const LONGEST: Nanos = Nanos::from_secs(5);

/// Readings shared with the thread.
pub struct Shared {
    began: Instant,
    shown: Mutex<Shown>,
    stop: AtomicBool,
    /// Read directly, without the thread: the kernel has the counters in memory.
    transfers: Option<Transfers>,
}

#[derive(Default)]
struct Shown {
    device: Option<Energy>,
    host: Option<Energy>,
    temperature_c: Option<f64>,
}

/// Energy up to the instant `at`, and the power since then.
#[derive(Clone, Copy, Default)]
struct Energy {
    at: Nanos,
    joules: f64,
    watts: f64,
    /// Last energy returned; energy does not fall.
    given: f64,
}

impl Energy {
    /// Energy at `now`, J. Power is assumed constant since the last reading. Otherwise an interval of a series that is as
    /// long as the pace could contain no reading or two.
    fn at(&mut self, now: Nanos) -> Option<f64> {
        let since = now.saturating_sub(self.at);
        if since > LONGEST {
            return None;
        }
        let joules = self.joules + self.watts * since.as_secs_f64();
        self.given = joules.max(self.given);
        Some(self.given)
    }
}

impl Shared {
    /// Locks the readings. They are complete even if a thread panicked while it held the lock.
    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Asks the thread to end without waiting for it: it may be waiting for smartctl.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Instruments for Shared {
    fn read(&self) -> Reading {
        let now = self.now();
        let transferred = self.transfers.as_ref().and_then(|t| t.read().ok());
        let transferred = transferred.map(|t| Transferred {
            read: t.read,
            written: t.written,
            reads: t.reads,
            writes: t.writes,
        });
        let mut shown = self.shown();
        Reading {
            energy_j: shown.device.as_mut().and_then(|e| e.at(now)),
            host_energy_j: shown.host.as_mut().and_then(|e| e.at(now)),
            device_temperature_c: shown.temperature_c,
            transferred,
            ..Reading::default()
        }
    }
}

/// Source of power readings of the device.
pub enum Supply {
    /// A sensor of the machine.
    Sensor(PowerSensor),
    /// A file that a meter's program writes.
    Meter(MeterFile),
}

/// Sources that the thread reads.
#[derive(Default)]
pub struct Sources {
    /// Power of the device.
    pub supply: Option<Supply>,
    /// Power of the host's computing.
    pub packages: Vec<Domain>,
    /// Temperature of the device.
    pub thermometer: Option<Thermometer>,
    /// Temperature of the device from SMART, if there is no thermometer.
    pub smart: Option<Smartctl>,
    /// Counters of bytes transferred to and from the device.
    pub transfers: Option<Transfers>,
}

/// The sources with the energy integrated from them.
struct Sampler {
    sources: Sources,
    supplied: PowerIntegral,
    /// Offset from the meter's clock to the clock of the readings, seconds.
    offset: Option<f64>,
}

/// Starts the thread that reads the sources, if there are any.
pub fn start(mut sources: Sources) -> Arc<Shared> {
    let shared = Arc::new(Shared {
        began: Instant::now(),
        shown: Mutex::default(),
        stop: AtomicBool::new(false),
        transfers: sources.transfers.take(),
    });
    if sources.is_empty() {
        return shared;
    }
    let mut sampler = Sampler {
        sources,
        supplied: PowerIntegral::new(LONGEST),
        offset: None,
    };
    sampler.read(&shared, 0);
    let reading = shared.clone();
    let thread = std::thread::Builder::new().name("instruments".to_string());
    // The error is ignored: if no thread can be created, the measurement fails as well and reports it.
    let _ = thread.spawn(move || {
        let mut round = 1;
        while !reading.stop.load(Ordering::Relaxed) {
            std::thread::sleep(PACE);
            sampler.read(&reading, round);
            round = round.wrapping_add(1);
        }
    });
    shared
}

impl Sources {
    fn is_empty(&self) -> bool {
        self.supply.is_none()
            && self.packages.is_empty()
            && self.thermometer.is_none()
            && self.smart.is_none()
    }
}

impl Sampler {
    /// Reads the sources that are due in this round. A source that fails has no reading.
    fn read(&mut self, shared: &Shared, round: u32) {
        self.read_supply(shared);
        self.read_packages(shared);
        if round.is_multiple_of(TEMPERATURE_EVERY)
            && let Some(thermometer) = &self.sources.thermometer
        {
            let answer = thermometer.read().ok();
            shared.shown().temperature_c = answer;
        }
        if round.is_multiple_of(SMART_EVERY)
            && let Some(smart) = &self.sources.smart
        {
            let answer = smart.read().ok().and_then(|s| s.temperature_c);
            shared.shown().temperature_c = answer;
        }
    }

    fn read_supply(&mut self, shared: &Shared) {
        let Some(supply) = &mut self.sources.supply else {
            return;
        };
        let now = shared.now();
        let samples = match supply {
            Supply::Sensor(sensor) => sensor.read().map(|s| vec![(now, s.watts)]),
            Supply::Meter(meter) => meter
                .poll()
                .map(|samples| on_our_clock(&samples, now, &mut self.offset)),
        };
        for (at, watts) in samples.unwrap_or_default() {
            self.supplied.add(at, watts);
            let mut shown = shared.shown();
            let given = shown.device.map_or(0.0, |e| e.given);
            shown.device = Some(Energy {
                at,
                joules: self.supplied.joules(),
                watts,
                given,
            });
        }
    }

    fn read_packages(&mut self, shared: &Shared) {
        if self.sources.packages.is_empty() {
            return;
        }
        let now = shared.now();
        let joules: Answer<f64> = self.sources.packages.iter_mut().map(Domain::read).sum();
        let Ok(joules) = joules else { return };
        let mut shown = shared.shown();
        let last = shown.host.unwrap_or_default();
        let time = now.saturating_sub(last.at).as_secs_f64();
        shown.host = Some(Energy {
            at: now,
            joules,
            watts: if time > 0.0 {
                (joules - last.joules).max(0.0) / time
            } else {
                0.0
            },
            given: last.given,
        });
    }
}

/// Converts times of a meter's samples to the clock of the readings. A sample arrives after it was measured, so the
/// smallest difference seen between arrival and the meter's time is the offset of the clocks. Of a table without times only
/// the last sample of each poll is used.
fn on_our_clock(
    samples: &[MeterSample],
    now: Nanos,
    offset: &mut Option<f64>,
) -> Vec<(Nanos, f64)> {
    let now_s = now.as_secs_f64();
    let timed = samples.iter().filter_map(|s| Some((s.seconds?, s.watts)));
    let timed: Vec<_> = timed.collect();
    let Some((latest, _)) = timed.last() else {
        return samples.last().map(|s| (now, s.watts)).into_iter().collect();
    };
    let distance = now_s - latest;
    let least = offset.map_or(distance, |known| known.min(distance));
    *offset = Some(least);
    let place = |seconds: f64| Nanos::from_secs_f64((seconds + least).max(0.0));
    timed.iter().map(|(s, watts)| (place(*s), *watts)).collect()
}
