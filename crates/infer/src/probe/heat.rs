//! Thermal throttling: reports the device's thermometer and, on request, reads without a pause until the rate falls as the
//! temperature rises. Twenty minutes of light load hardly make a device throttle.

use super::Probing;
use super::confidence::Strength;
use super::finding::{Finding, Value};
use super::link::places;
use super::question::Question;
use crate::flashbench::median;
use crate::timed::ProbeError;
use nandscope_measure::target::Target;
use nandscope_result::Curve;
use nandscope_units::{Bytes, Nanos};
use nandscope_workload::OpKind;

const PIECE: u64 = 512 << 10;
const DEPTH: u32 = 8;
/// Reads per sample of the rate.
const TOGETHER: usize = 64;
/// Share of the first rates below which the rate has fallen.
const FALLEN: f64 = 0.85;
/// Share of the first rates below which the rate begins to fall.
const BEGINS: f64 = 0.97;
/// Consecutive low samples that make a fall.
const STAYS: usize = 8;
/// Least warming, K, from which a fall of the rate counts as throttling because of heat.
const WARMER: f64 = 5.0;

/// Reads for the requested time; if no time was requested, reports only the temperatures.
pub(super) fn throttling<T: Target>(
    probing: &mut Probing<'_, T>,
    span: Bytes,
    coolest: Option<f64>,
) -> Result<(), ProbeError> {
    let question = Question::Throttling;
    let now = probing.target.reading().device_temperature_c;
    let Some((before, now)) = coolest.zip(now) else {
        let why = "the device reports no temperature";
        probing.add(question.unknown(why));
        return Ok(());
    };
    let heat = probing.options.heat;
    if heat == Nanos::ZERO {
        let why = format!(
            "it was at {before:.0} °C at first and at {now:.0} °C in the end; `--heat 10m` reads without a pause for 10 minutes"
        );
        probing.add(question.unknown(why));
        return Ok(());
    }
    let (mut rates, mut temperatures, mut times) = (Vec::new(), Vec::new(), Vec::new());
    let began = probing.target.now();
    while probing.target.now().saturating_sub(began) < heat {
        if probing.interrupted() {
            return Err(ProbeError::Stopped);
        }
        let seed = probing.options.seed + rates.len() as u64;
        let at = places(span.0, PIECE, TOGETHER, seed);
        let ends = probing
            .target
            .many(OpKind::Read, &at, PIECE as u32, DEPTH)?;
        let spent = ends.last().map_or(0.0, |t| t.as_secs_f64());
        rates.push(at.len() as f64 * PIECE as f64 / spent.max(1e-9));
        let reading = probing.target.reading();
        temperatures.push(reading.device_temperature_c.unwrap_or(now));
        times.push(probing.target.now().saturating_sub(began).as_secs_f64());
        if fallen(&rates).is_some() {
            break;
        }
    }
    let end = onset(&rates);
    probing.add(said(&rates, &temperatures, end));
    for (name, unit, y) in [
        (
            "rate",
            "MB/s of reads",
            rates.iter().map(|r| r / 1e6).collect(),
        ),
        ("temperature", "°C", temperatures),
    ] {
        probing.report.curves.push(Curve {
            name: format!("read without a pause: {name}"),
            x_name: "time".to_string(),
            x_unit: "s".to_string(),
            y_name: name.to_string(),
            y_unit: unit.to_string(),
            x: times.clone(),
            y,
            threshold: end.and_then(|i| times.get(i).copied()),
            ..Curve::default()
        });
    }
    Ok(())
}

/// First sample of a lasting fall: throttling sets in gradually.
fn onset(rates: &[f64]) -> Option<usize> {
    let end = fallen(rates)?;
    let first = median(&rates[..STAYS.min(end)]);
    // Median over several samples, as single ones scatter.
    let smooth = |i: &usize| median(&rates[*i..(i + STAYS).min(rates.len())]);
    (0..end)
        .rev()
        .find(|i| smooth(i) >= BEGINS * first)
        .map(|i| (i + 1).min(end))
}

/// First sample from which the rate stays below `FALLEN`.
fn fallen(rates: &[f64]) -> Option<usize> {
    let first = median(&rates[..rates.len().min(STAYS)]);
    let low = |r: &f64| *r < FALLEN * first;
    let from = rates.iter().rposition(|r| !low(r)).map_or(0, |i| i + 1);
    (from > 0 && rates.len() - from >= STAYS).then_some(from)
}

fn said(rates: &[f64], temperatures: &[f64], end: Option<usize>) -> Finding {
    let question = Question::Throttling;
    let (first, last) = temperatures
        .first()
        .zip(temperatures.last())
        .unwrap_or((&0.0, &0.0));
    match end.and_then(|i| temperatures.get(i).map(|t| (i, *t))) {
        Some((i, at)) if at - first >= WARMER => question.answer(Value::Celsius(at), format!("{at:.0} °C"), Strength::Strong, format!(
                "read without a pause from {first:.0} °C on, the rate of {:.0} MB/s began to fall at {at:.0} °C, and was at {:.0} MB/s at {last:.0} °C",
                median(&rates[..i]) / 1e6,
                median(&rates[rates.len() - STAYS.min(rates.len())..]) / 1e6
            )),
        Some((_, at)) => question.unknown(format!(
                "the rate fell, but the device had warmed up from {first:.0} to {at:.0} °C only"
            )),
        None => question.unknown(format!(
                "read without a pause from {first:.0} to {last:.0} °C, and the rate did not fall: it starts above {last:.0} °C, if at all"
            )),
    }
}

#[cfg(test)]
mod tests {
    use super::fallen;

    #[test]
    fn a_rate_has_fallen_where_it_stays_low() {
        let mut rates = vec![500e6; 30];
        assert_eq!(fallen(&rates), None);
        rates.extend(vec![300e6; 7]);
        assert_eq!(fallen(&rates), None);
        rates.push(300e6);
        assert_eq!(fallen(&rates), Some(30));
        rates.push(500e6);
        assert_eq!(fallen(&rates), None);
        assert_eq!(fallen(&[]), None);
    }
}
