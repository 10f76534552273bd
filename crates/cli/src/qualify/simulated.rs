//! Examines a simulated device in its states, at the highest temperature that is required.

use super::{Arguments, Examined, failure};
use crate::console::Console;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use crate::target::{device_source, open_with};
use nandscope_experiment::{OpenOptions, ProfileOverride, Simulated};
use nandscope_fitness::lifetime::Rating;
use nandscope_fitness::qualify::{AS_IT_IS, Measured, QualifyOptions, STATES, State, measure};
use nandscope_fitness::requirement::Requirement;
use nandscope_fitness::verdict::{Facts, Verdict, judge};

/// Key of the ambient temperature in a profile.
const AMBIENT: &str = "thermal.ambient_c";

/// Examines the device of that name.
///
/// # Errors
/// As `qualify`.
pub fn examine(
    arguments: &Arguments,
    target: &str,
    requirement: &Requirement,
    console: &Console,
) -> Result<Examined, Failure> {
    let is_saved = target.starts_with("sim:saved:");
    if is_saved && !arguments.state.is_empty() {
        return Err(Failure::usage(
            "--state prepares a new device, and a saved one keeps its state; omit it",
        ));
    }
    let states: Vec<State> = match (is_saved, &arguments.state[..]) {
        (true, _) => vec![AS_IT_IS],
        (false, []) => STATES.to_vec(),
        (false, some) => some.iter().map(|s| s.state()).collect(),
    };
    let options = match is_saved {
        true => arguments
            .params
            .options(arguments.host.as_deref(), arguments.seed),
        false => heated(arguments, target, requirement, console)?,
    };
    let (about, mut device) = open_with(target, &options, console)?;
    device.share();
    let interrupt = Interrupt::listen()?;
    let mut line = Line::new("qualify");
    let options = arguments.options();
    let mut measured = Vec::new();
    for state in states {
        let mut progress = |share: f64| {
            line.tell(Some(share), state.name.to_string(), console);
            !interrupt.asked()
        };
        let result = measure(&device, requirement, state, &options, &mut progress);
        measured.push(result.map_err(|error| failure(&error))?);
        line.begin_part();
    }
    line.clear();
    Ok(Examined {
        device: about.device_source.profile.device.title.clone(),
        host: Some(about.host_source.profile.host.name.clone()),
        ambient_c: Some(about.device_source.profile.thermal.ambient_c),
        verdict: verdict(requirement, &about, &measured),
        measured,
        remarks: Vec::new(),
    })
}

/// Options for opening the device at the highest temperature that is required.
///
/// # Errors
/// As [`device_source`].
pub fn heated(
    arguments: &Arguments,
    target: &str,
    requirement: &Requirement,
    console: &Console,
) -> Result<OpenOptions, Failure> {
    let mut options = arguments
        .params
        .options(arguments.host.as_deref(), arguments.seed);
    if options.overrides.iter().any(|o| o.key == AMBIENT) {
        return Ok(options);
    }
    let hottest = requirement.temperature_c.map(|(_, high)| high.max(0.0));
    // Above the device's warning temperature the verdict is "not known": the model is not asked.
    let limit = match target.strip_prefix("sim:") {
        Some(place) => device_source(place, console)?.profile.thermal.warning_c,
        None => f64::NEG_INFINITY,
    };
    if let Some(hottest) = hottest.filter(|high| *high <= limit) {
        options
            .overrides
            .push(ProfileOverride::new(AMBIENT, format!("{hottest:.2}")));
    }
    Ok(options)
}

/// The verdict on measurements of a simulated device.
pub fn verdict(requirement: &Requirement, about: &Simulated, measured: &[Measured]) -> Verdict {
    let profile = &about.device_source.profile;
    let rating = Rating::of(profile, &about.device_source.text);
    let facts = Facts {
        profile,
        rating: &rating,
        ambient_c: profile.thermal.ambient_c,
    };
    judge(requirement, Some(&facts), measured)
}

impl Arguments {
    /// Length and seed of the recordings.
    pub(super) fn options(&self) -> QualifyOptions {
        QualifyOptions {
            duration: self.length,
            seed: self.seed,
        }
    }
}
