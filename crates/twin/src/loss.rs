//! Distance between measured and simulated figures.

use crate::observation::{Figure, Figures, Observation};

/// Largest distance of one figure: e^2, a factor of 7.4. One wild figure cannot outweigh all others.
pub const CAP: f64 = 2.0;

/// Natural logarithms of simulated divided by measured, for each figure that was measured. A figure that the device did not
/// have counts as [`CAP`].
pub fn residuals(observation: &Observation, simulated: Option<&Figures>) -> Vec<(Figure, f64)> {
    let mut found = Vec::new();
    for figure in Figure::ALL {
        let Some(measured) = observation.figures.get(figure) else {
            continue;
        };
        let simulated = simulated.and_then(|s| s.get(figure)).filter(|s| *s > 0.0);
        let off = simulated.map_or(CAP, |simulated| libm::log(simulated / measured));
        found.push((figure, off.clamp(-CAP, CAP)));
    }
    found
}

/// Mean over the cells of the absolute residuals; in each cell the rate weighs as much as all percentiles together. 0.1 is
/// a typical error of 10 %.
pub fn loss(observations: &[Observation], simulated: &[Option<Figures>]) -> f64 {
    let mut sum = 0.0;
    for (observation, simulated) in observations.iter().zip(simulated) {
        let (mut rate, mut latency) = (0.0, Vec::new());
        for (figure, off) in residuals(observation, simulated.as_ref()) {
            match figure {
                Figure::Iops => rate = off.abs(),
                _ => latency.push(off.abs()),
            }
        }
        sum += match latency.len() {
            0 => rate,
            n => (rate + latency.iter().sum::<f64>() / n as f64) / 2.0,
        };
    }
    sum / observations.len().max(1) as f64
}

/// A loss as a mean relative error: 0.1 is 0.105.
pub fn as_error(loss: f64) -> f64 {
    libm::exp(loss) - 1.0
}

/// Root mean square of the residuals of rates and of percentiles, enlarged for the number of parameters that were chosen by
/// them (as the standard error of a regression). At least `floor`.
pub fn spread(
    observations: &[Observation],
    simulated: &[Option<Figures>],
    parameters: usize,
    floor: f64,
) -> (f64, f64) {
    let (mut rates, mut latencies) = ((0.0, 0.0), (0.0, 0.0));
    for (observation, simulated) in observations.iter().zip(simulated) {
        for (figure, off) in residuals(observation, simulated.as_ref()) {
            let sum = match figure {
                Figure::Iops => &mut rates,
                _ => &mut latencies,
            };
            *sum = (sum.0 + off * off, sum.1 + 1.0);
        }
    }
    let all = rates.1 + latencies.1;
    // No more than half of the figures count as used up.
    let free = (all - parameters as f64).max(all / 2.0).max(1.0);
    let rms = |(squares, count): (f64, f64)| libm::sqrt(squares / count * all / free).max(floor);
    let rate = if rates.1 > 0.0 { rms(rates) } else { floor };
    (
        rate,
        if latencies.1 > 0.0 {
            rms(latencies)
        } else {
            rate
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv;
    use crate::observation::State;

    #[test]
    fn a_rate_weighs_as_much_as_all_percentiles() {
        let text = "op,pattern,block,depth,iops,p50_us,p99_us\nread,random,4k,1,1000,100,200\n";
        let rows = csv::read("a", text, State::Filled).unwrap();
        let simulated = Figures {
            iops: 2000.0,
            p50_us: Some(100.0),
            p90_us: Some(1.0),
            p99_us: Some(100.0),
        };
        let expected = (libm::log(2.0) + libm::log(2.0) / 2.0) / 2.0;
        assert!((loss(&rows, &[Some(simulated)]) - expected).abs() < 1e-12);
        assert_eq!(loss(&rows, &[None]), CAP);
        let (rate, latency) = spread(&rows, &[Some(simulated)], 0, 0.01);
        assert!((rate - libm::log(2.0)).abs() < 1e-12);
        assert!((latency - libm::log(2.0) / 2f64.sqrt()).abs() < 1e-12);
    }
}
