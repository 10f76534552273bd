//! Joins the parts of a step into one time line and one sum. The runner ([`crate::step_runner`]) chooses the parts.

use nandscope_result::{Series, StepResult, counter};

/// Appends a part to a step: its jobs, and its series to those of the same name.
pub(crate) fn join(step: &mut StepResult, part: StepResult) {
    step.end_s = part.end_s;
    step.jobs.extend(part.jobs);
    step.incomplete = part.incomplete;
    for (name, value) in part.counters {
        if name != counter::WRITE_AMPLIFICATION {
            *step.counters.entry(name).or_insert(0.0) += value;
        }
    }
    if let (Some(flash), Some(host)) = (
        step.counters.get(counter::FLASH_PROGRAMMED),
        step.counters.get(counter::HOST_WRITTEN),
    ) && *host > 0.0
    {
        let factor = flash / host;
        step.counters
            .insert(counter::WRITE_AMPLIFICATION.to_string(), factor);
    }
    for series in part.series {
        match step.series.iter_mut().find(|s| s.name == series.name) {
            Some(known) if known.unit == "W" => append_power(known, series, part.start_s),
            Some(known) => append(known, series),
            None => step.series.push(series),
        }
    }
}

/// Shortest interval of a power series, s; a shorter one depends mainly on the time of a flush, and is averaged into
/// the previous one.
const POWER_INTERVAL_MIN_S: f64 = 0.5;

fn append_power(known: &mut Series, more: Series, start_s: f64) {
    known.interval_s = 0.0;
    let mut before = start_s;
    for (t, watts) in more.t_s.into_iter().zip(more.v) {
        let length = t - before;
        before = t;
        let earlier = known.t_s.len().checked_sub(2).map_or(0.0, |i| known.t_s[i]);
        match (known.t_s.last_mut(), known.v.last_mut()) {
            (Some(end), Some(v)) if length < POWER_INTERVAL_MIN_S && *end > earlier => {
                let known_length = *end - earlier;
                *v = (*v * known_length + watts * length) / (known_length + length);
                *end = t;
            }
            _ => {
                known.t_s.push(t);
                known.v.push(watts);
            }
        }
    }
}

fn append(known: &mut Series, more: Series) {
    // The last interval of a phase is shorter, so the joined series is not regular.
    known.interval_s = 0.0;
    known.t_s.extend(more.t_s);
    known.v.extend(more.v);
}
