//! Verdicts on devices whose fitness is known.

use nandscope_device::Device;
use nandscope_experiment::{DeviceSource, ProfileOverride, device_source, host_source, overrides};
use nandscope_fitness::lifetime::Rating;
use nandscope_fitness::qualify::{QualifyOptions, STATES, measure};
use nandscope_fitness::requirement::parse;
use nandscope_fitness::verdict::{Answer, Facts, Verdict, judge};
use nandscope_units::Nanos;

fn source(name: &str, changes: &[(&str, &str)]) -> DeviceSource {
    let source = device_source(name).unwrap();
    let changes: Vec<ProfileOverride> = changes
        .iter()
        .map(|(k, v)| ProfileOverride::new(*k, v))
        .collect();
    overrides::apply(source, &changes).unwrap()
}

fn judged(source: &DeviceSource, requirement: &str, seconds: u64) -> Verdict {
    let requirement = parse(
        "t.toml",
        &format!("format = 1\ntitle = \"t\"\n{requirement}"),
    )
    .unwrap();
    let host = host_source("direct").unwrap();
    let device = Device::new(&source.profile, &host.profile, 1).unwrap();
    let options = QualifyOptions {
        duration: Some(Nanos::from_secs(seconds)),
        seed: 1,
    };
    let states = STATES.iter().take(3);
    let measured =
        states.map(|s| measure(&device, &requirement, *s, &options, &mut |_| true).unwrap());
    let measured: Vec<_> = measured.collect();
    let rating = Rating::of(&source.profile, &source.text);
    let facts = Facts {
        profile: &source.profile,
        rating: &rating,
        ambient_c: source.profile.thermal.ambient_c,
    };
    judge(&requirement, Some(&facts), &measured)
}

fn answer(verdict: &Verdict, requirement: &str) -> Answer {
    let found = verdict
        .findings
        .iter()
        .find(|f| f.requirement == requirement);
    found
        .unwrap_or_else(|| panic!("{requirement}: {verdict:?}"))
        .answer
}

const VIDEO: &str = "[[stream]]\nname = \"video\"\nrate = \"RATE\"\nblock = \"256 KiB\"\npattern = \"sequential\"\n";

#[test]
fn a_card_holds_a_third_of_its_rate_and_not_three_times_its_rate() {
    // A Class 4 card that writes 10 MB/s in order.
    let card = source("kingston-8gb", &[]);
    let slow = judged(&card, &VIDEO.replace("RATE", "3 MB/s"), 60);
    assert_eq!(slow.answer, Answer::Yes, "{slow:?}");
    assert!(slow.streams.iter().all(|s| s.buffer.is_some()));
    let fast = judged(&card, &VIDEO.replace("RATE", "30 MB/s"), 60);
    assert_eq!(fast.answer, Answer::No);
    assert_eq!(answer(&fast, "video: rate"), Answer::No);
    assert!(fast.streams.iter().all(|s| s.buffer.is_none()));
    let decides = &fast.findings[fast.decides.unwrap()];
    // It keeps about a third of the rate.
    let margin = decides.margin.unwrap();
    assert!((-0.8..-0.5).contains(&margin), "{margin}");
}

#[test]
fn a_buffer_or_deadline_that_is_too_small_is_named_and_a_loss_may_be_allowed() {
    let card = source("kingston-8gb", &[]);
    let stream = format!(
        "{}[[stream]]\nname = \"log\"\nrate = \"1/s\"\nblock = \"4 KiB\"\npattern = \"random\"\narea = \"64 MiB\"\n",
        VIDEO
            .replace("RATE", "1 MB/s")
            .replace("sequential\"", "sequential\"\nEXTRA")
    );
    let with = |extra: &str| judged(&card, &stream.replace("EXTRA", extra), 120);
    let tight = with("buffer = \"257 KiB\"\ndeadline = \"1 ms\"");
    assert_eq!(answer(&tight, "video: rate"), Answer::Yes, "{tight:?}");
    assert_eq!(answer(&tight, "video: buffer"), Answer::No);
    assert_eq!(answer(&tight, "video: deadline"), Answer::No);
    assert_eq!(tight.answer, Answer::No);
    let wide = with("buffer = \"8 MB\"\ndeadline = \"10 s\"");
    assert_eq!(wide.answer, Answer::Yes, "{wide:?}");
    assert_eq!(
        answer(
            &with("buffer = \"257 KiB\"\nloss = \"90 %\""),
            "video: buffer"
        ),
        Answer::Yes
    );
}

#[test]
fn what_no_model_describes_is_not_known() {
    let card = source("kingston-8gb", &[("thermal.ambient_c", "40")]);
    let video = VIDEO.replace("RATE", "1 MB/s");
    let with = |line: &str| judged(&card, &format!("{line}\n{video}"), 20);
    for (line, requirement, expected) in [
        ("temperature_c = [0, 40]", "temperature", Answer::Yes),
        ("temperature_c = [-20, 40]", "temperature", Answer::NotKnown),
        ("temperature_c = [0, 200]", "temperature", Answer::NotKnown),
        ("temperature_c = [0, 60]", "temperature", Answer::NotKnown),
        ("radiation = \"10 krad\"", "radiation", Answer::NotKnown),
        ("vibration = \"20 g\"", "vibration", Answer::NotKnown),
        ("humidity = \"95 %\"", "humidity", Answer::NotKnown),
    ] {
        let verdict = with(line);
        assert_eq!(answer(&verdict, requirement), expected, "{line}");
        assert_eq!(verdict.answer, expected, "{line}");
    }
}

#[test]
fn years_follow_from_the_rating_and_the_duty() {
    // In order, 3 MB/s are a cycle of the whole card of 8 GB in 0.74 h: 11.9 cycles in a day of 24 hours.
    let video = VIDEO.replace("RATE", "3 MB/s");
    let years = |cycles: &str, line: &str| {
        let card = source("kingston-8gb", &[("nand.native.cycles", cycles)]);
        judged(&card, &format!("{line}\n{video}"), 120)
    };
    let day = years("3000", "years = 0.05\nhours_per_day = 24");
    let rated = day.years.unwrap().rated;
    let even = 3000.0 / (3e6 * 86_400.0 / 7.9e9) / 365.25;
    assert!((0.5 * even..1.1 * even).contains(&rated), "{rated} {even}");
    let hour = years("3000", "years = 0.05\nhours_per_day = 1");
    assert!((hour.years.unwrap().rated / rated / 24.0 - 1.0).abs() < 1e-6);
    assert_eq!(answer(&hour, "years"), Answer::Yes);
    assert_eq!(
        answer(&years("3000", "years = 50\nhours_per_day = 24"), "years"),
        Answer::No
    );
}
