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

/// Weighted residuals, the same number for any simulation of these cells: a rate weighs as much as all percentiles of its
/// cell together.
pub fn terms(observations: &[Observation], simulated: &[Option<Figures>]) -> Vec<f64> {
    let mut terms = Vec::new();
    for (observation, simulated) in observations.iter().zip(simulated) {
        let residuals = residuals(observation, simulated.as_ref());
        let percentiles = residuals.iter().filter(|(f, _)| *f != Figure::Iops).count();
        for (figure, off) in residuals {
            let weight = match (figure, percentiles) {
                (Figure::Iops, 0) => 1.0,
                (Figure::Iops, _) => 0.5,
                (_, count) => 0.5 / count as f64,
            };
            terms.push(weight * off);
        }
    }
    terms
}

/// Mean over the cells of the absolute residuals; in each cell the rate weighs as much as all percentiles together. 0.1 is
/// a typical error of 10 %.
pub fn loss(observations: &[Observation], simulated: &[Option<Figures>]) -> f64 {
    let sum: f64 = terms(observations, simulated).iter().map(|t| t.abs()).sum();
    sum / observations.len().max(1) as f64
}

/// A loss as a mean relative error: 0.1 is 0.105.
pub fn as_error(loss: f64) -> f64 {
    libm::exp(loss) - 1.0
}

/// Root mean square of rates and of percentiles among weighted residuals ([`terms`]). At least `floor`.
pub fn spread(observations: &[Observation], terms: &[f64], floor: f64) -> (f64, f64) {
    let (mut rates, mut latencies) = ((0.0, 0.0), (0.0, 0.0));
    for (range, observation) in cells(observations).into_iter().zip(observations) {
        let count = range.len();
        let of_cell = residuals(observation, None).into_iter();
        for ((figure, _), term) in of_cell.zip(terms.get(range).unwrap_or_default()) {
            let (sum, weight) = match (figure, count) {
                (Figure::Iops, 1) => (&mut rates, 1.0),
                (Figure::Iops, _) => (&mut rates, 0.5),
                _ => (&mut latencies, 0.5 / (count - 1) as f64),
            };
            let off = term / weight;
            *sum = (sum.0 + off * off, sum.1 + 1.0);
        }
    }
    let rms = |(squares, count): (f64, f64)| libm::sqrt(squares / count).max(floor);
    let rate = if rates.1 > 0.0 { rms(rates) } else { floor };
    let has_latencies = latencies.1 > 0.0;
    (rate, if has_latencies { rms(latencies) } else { rate })
}

/// Places of the figures of each cell in [`terms`].
pub fn cells(observations: &[Observation]) -> Vec<std::ops::Range<usize>> {
    let mut begin = 0;
    let range = |observation: &Observation| {
        let end = begin + residuals(observation, None).len();
        let range = begin..end;
        begin = end;
        range
    };
    observations.iter().map(range).collect()
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
        let (rate, latency) = spread(&rows, &terms(&rows, &[Some(simulated)]), 0.01);
        assert!((rate - libm::log(2.0)).abs() < 1e-12);
        assert!((latency - libm::log(2.0) / 2f64.sqrt()).abs() < 1e-12);
    }
}
