//! The blind test of inference: devices drawn from every profile of the library on every host that it fits, changed far
//! beyond it, used before, and measured with disturbances of every kind. This module does not know how conclusions are
//! drawn; it compares every stated conclusion with the truth. The tables of docs/inference.md are its results.

mod calibration;
mod card;
mod dice;
mod disturbed;
mod drive;
mod error;
mod groups;
mod part;
mod score;
mod truth;
mod undisturbed;
mod visible;

pub use calibration::{Class, Half, Row, Table};
pub use disturbed::{Disturbance, Disturbed};
pub use error::BlindError;
pub use groups::Groups;
pub use score::{Judged, Outcome, judge};
pub use truth::Truth;
pub use visible::Visible;

use dice::Dice;
use nandscope_device::Device;
use nandscope_device::profile::{HostProfile, Profile, library};
use nandscope_infer::probe::{Options, Report, probe};
use nandscope_infer::timed::ProbeError;
use nandscope_measure::sim::SimTarget;
use nandscope_measure::target::{Request, Target};
use nandscope_result::StopReason;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;
use part::Part;

/// A drawn device.
#[derive(Debug)]
pub struct Drawn {
    /// Profile of the device.
    pub profile: Profile,
    /// The host to which it is attached.
    pub host: HostProfile,
    /// Disturbance of the measurement.
    pub disturbance: Disturbance,
    /// Start of the probed part of the device, as of a partition, bytes.
    pub begin: u64,
    /// Requests of 1 MiB written before the probe, at random places.
    pub used: u32,
    /// True answers.
    pub truth: Truth,
}

/// A drawn and probed device.
#[derive(Debug)]
pub struct Tried {
    /// Drawn device with its true answers.
    pub drawn: Drawn,
    /// Report of the probe.
    pub report: Report,
    /// Judgement of each conclusion.
    pub judged: Vec<Judged>,
}

/// One device in this many is an unchanged profile of the library.
const PLAIN_EVERY: u64 = 4;
/// One device in this many is a drive with a page map; the others are cards.
const DRIVE_EVERY: u64 = 5;
/// Number of draws; if no draw fits a host, the unchanged profile is taken.
const ATTEMPTS: u32 = 12;
/// The longest prior use, in requests of 1 MiB.
const USED_MAX: u64 = 200;
/// Of this many successive devices, the first two, one with heavy noise and one without, are probed a second time without
/// disturbances: the second probe gives the truth of plain measurements.
const TWICE_EVERY: u64 = 8;

/// The device with that number in the series of a seed.
///
/// # Errors
/// [`BlindError`] if a profile of the library is faulty or fits no host.
pub fn draw(number: u64, seed: u64) -> Result<Drawn, BlindError> {
    let mut dice = Dice::new(seed, number);
    let cards = number % DRIVE_EVERY != DRIVE_EVERY - 1;
    let fitting = |profile: &Profile| profile.card.is_some() == cards;
    let profiles = library::DEVICES.iter().filter_map(|e| e.profile().ok());
    let profiles: Vec<Profile> = profiles.filter(fitting).collect();
    let base = dice.one_of(&profiles).ok_or(BlindError::NoDevice)?;
    let plain = dice.below(PLAIN_EVERY) == 0;
    let mut found = None;
    for attempt in 0..ATTEMPTS {
        let mut profile = base.clone();
        if !plain && attempt + 1 < ATTEMPTS {
            match cards {
                true => card::change(&mut profile, &mut dice),
                false => drive::change(&mut profile, &mut dice),
            }
        } else if !cards {
            drive::shrink(&mut profile);
        }
        if let Some(host) = host(&profile, &mut dice) {
            found = Some((profile, host));
            break;
        }
    }
    let (profile, host) =
        found.ok_or_else(|| BlindError::NoFittingHost(base.device.name.clone()))?;
    let begin = match cards && dice.below(4) == 0 {
        true => begin(&profile, &mut dice),
        false => 0,
    };
    let used = match dice.below(2) {
        0 => 0,
        _ => dice.below(USED_MAX) as u32,
    };
    // Half of all are measured through heavy-tailed noise.
    let disturbance = Disturbance::draw(&mut dice, number.is_multiple_of(2));
    let truth = Truth::of(&profile, &host, begin);
    Ok(Drawn {
        profile,
        host,
        disturbance,
        begin,
        used,
        truth,
    })
}

/// Draws the ambient temperature, 15 °C to `warmest`; one device in six throttles within 30 °C above it.
fn throttle(profile: &mut Profile, warmest: f64, dice: &mut Dice) {
    let thermal = &mut profile.thermal;
    thermal.ambient_c = dice.between(15.0, warmest);
    if dice.below(6) == 0 {
        thermal.throttle_start_c = thermal.ambient_c + dice.between(1.0, 30.0);
        thermal.throttle_full_c = thermal.throttle_start_c + dice.between(1.0, 15.0);
        thermal.throttle_clock = dice.between(0.1, 0.8);
        thermal.warning_c = thermal.warning_c.min(thermal.throttle_start_c);
    }
}

/// A host to which a device of this profile can be attached.
fn host(profile: &Profile, dice: &mut Dice) -> Option<HostProfile> {
    let hosts = library::HOSTS.iter().filter_map(|e| e.host_profile().ok());
    let mut hosts: Vec<HostProfile> = hosts.collect();
    dice.shuffle(&mut hosts);
    hosts
        .into_iter()
        .find(|host| Device::new(profile, host, 1).is_ok())
}

/// Start of a partition: after a track of 63 sectors, at a MiB, or at any sector of the first units.
fn begin(profile: &Profile, dice: &mut Dice) -> u64 {
    let unit = profile
        .card
        .as_ref()
        .map_or(1 << 20, |c| u64::from(c.au_kib) << 10);
    let begin = match dice.below(3) {
        0 => 63 * 512,
        1 => (1 + dice.below(16)) << 20,
        _ => 512 * (1 + dice.below(unit / 512)),
    };
    begin.min(profile.device.capacity_bytes / 8 / 512 * 512)
}

/// Every library profile on every host that it fits, without disturbances; drives are cut to 64 GB, cards are
/// unchanged.
///
/// # Errors
/// [`BlindError`] if a profile of the library is faulty.
pub fn library_pairs() -> Result<Vec<Drawn>, BlindError> {
    let mut pairs = Vec::new();
    for entry in library::DEVICES {
        let mut profile = entry
            .profile()
            .map_err(|_| BlindError::FaultyProfile(entry.name))?;
        if profile.card.is_none() {
            drive::shrink(&mut profile);
        }
        for host in library::HOSTS {
            let host = host
                .host_profile()
                .map_err(|_| BlindError::FaultyHost(host.name))?;
            if Device::new(&profile, &host, 1).is_err() {
                continue;
            }
            pairs.push(Drawn {
                truth: Truth::of(&profile, &host, 0),
                profile: profile.clone(),
                host,
                disturbance: Disturbance::default(),
                begin: 0,
                used: 0,
            });
        }
    }
    Ok(pairs)
}

/// Draws and probes the device with this number. `None` if it was interrupted.
///
/// # Errors
/// [`BlindError`] if the device cannot be drawn, made or measured.
pub fn try_out(
    number: u64,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Tried>, BlindError> {
    let fault = |error: BlindError| error.of(number, seed);
    let drawn = draw(number, seed).map_err(fault)?;
    let Some(mut tried) = try_drawn(drawn, seed ^ number, stop).map_err(fault)? else {
        return Ok(None);
    };
    if number % TWICE_EVERY < 2 {
        let quiet = Disturbance::default();
        let again = report_of(&tried.drawn, quiet, seed ^ number, stop).map_err(fault)?;
        let Some(again) = again else { return Ok(None) };
        let known = undisturbed::Known {
            link_bytes_per_s: tried.drawn.truth.link_bytes_per_s,
            disturbed: tried.drawn.disturbance.stops(),
        };
        let measured = undisturbed::judge(&tried.report, &again, &known);
        tried.judged.extend(measured);
    }
    Ok(Some(tried))
}

/// Probes a device. `None` if it was interrupted.
///
/// # Errors
/// [`BlindError`] if it cannot be made or measured.
pub fn try_drawn(
    drawn: Drawn,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Tried>, BlindError> {
    let report = report_of(&drawn, drawn.disturbance, seed, stop)?;
    let visible = visible::visible(&drawn)?;
    Ok(report.map(|report| Tried {
        judged: judge(&drawn.truth, &report, &visible),
        drawn,
        report,
    }))
}

/// Report of a probe with disturbances; `None` if prior use wore the device out.
fn report_of(
    drawn: &Drawn,
    disturbance: Disturbance,
    seed: u64,
    stop: &dyn Fn() -> bool,
) -> Result<Option<Report>, BlindError> {
    let device = Device::new(&drawn.profile, &drawn.host, seed)?;
    let mut target = SimTarget::new(device);
    use_before(&mut target, drawn.used, seed)?;
    let part = Part::new(target, Bytes(drawn.begin));
    let target = Disturbed::new(part, disturbance, seed ^ 0x5eed);
    let options = Options {
        seed,
        ..Options::for_capacity(target.capacity())
    };
    match probe(target, &options, stop, &mut |_, _| {}) {
        Ok(_) if stop() => Ok(None),
        Ok(report) => Ok(Some(report)),
        Err(ProbeError::Stopped) => Ok(None),
        Err(ProbeError::Failed(why)) => Ok(Some(Report {
            cut_short: Some(StopReason::Failed(why)),
            ..Report::default()
        })),
    }
}

/// Writes at random places, as prior use of the device.
fn use_before(target: &mut SimTarget, requests: u32, seed: u64) -> Result<(), BlindError> {
    let mut dice = Dice::new(seed, 0x05ed);
    let slots = (target.capacity().0 >> 20).max(1);
    let mut replies = Vec::new();
    for _ in 0..requests {
        let request = Request {
            tag: 0,
            kind: OpKind::Write,
            offset: Bytes(dice.below(slots) << 20),
            length: 1 << 20,
            durable: false,
            thread: 0,
        };
        target.submit(request)?;
        replies.clear();
        target.wait(Nanos::MAX, &mut replies)?;
    }
    Ok(())
}

/// Tests `count` devices; `tell` is called with each. `None` if it was interrupted.
///
/// # Errors
/// As [`try_out`].
pub fn run(
    count: u64,
    seed: u64,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(u64, &Tried),
) -> Result<Option<Table>, BlindError> {
    let mut table = Table::default();
    for number in 0..count {
        let Some(tried) = try_out(number, seed, stop)? else {
            return Ok(None);
        };
        tell(number, &tried);
        table.add(Half::of(number), &tried);
    }
    Ok(Some(table))
}
