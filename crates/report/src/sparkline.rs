//! A time line in one line of text: eight heights of blocks, or ASCII where a terminal has
//! no others.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', '-', '=', '+', '*', '%', '#'];

/// One character for each of `width` equal time intervals: the mean of its values, between zero and the greatest of
/// these means. A value applies since the previous one; an interval without values is a blank.
pub fn draw(times: &[f64], values: &[f64], width: usize, ascii: bool) -> String {
    let signs = if ascii { ASCII } else { BLOCKS };
    let means = means(times, values, width);
    let greatest = means.iter().flatten().copied().fold(0.0, f64::max);
    means
        .iter()
        .map(|mean| match mean {
            None => ' ',
            Some(_) if greatest <= 0.0 => signs[0],
            Some(v) => signs[((v / greatest * 8.0) as usize).min(7)],
        })
        .collect()
}

/// Usual distances of two values from which on values are missing between them.
const MISSING: f64 = 3.5;
/// Smallest number of distances from which a usual one is derived.
const FEWEST_DISTANCES: usize = 3;

fn means(times: &[f64], values: &[f64], width: usize) -> Vec<Option<f64>> {
    let all = times.iter().copied().zip(values.iter().copied());
    let pairs: Vec<(f64, f64)> = all
        .filter(|(t, v)| t.is_finite() && v.is_finite())
        .collect();
    let first = pairs.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let last = pairs.iter().map(|p| p.0).fold(f64::NEG_INFINITY, f64::max);
    let place = |t: f64| {
        let share = if last > first {
            (t - first) / (last - first)
        } else {
            0.0
        };
        ((share * width as f64) as usize).min(width.saturating_sub(1))
    };
    let mut distances: Vec<f64> = pairs.windows(2).map(|w| w[1].0 - w[0].0).collect();
    distances.sort_by(f64::total_cmp);
    let usual = match distances.len() {
        0..FEWEST_DISTANCES => 0.0,
        n => distances[n / 2],
    };
    let mut sums = vec![(0.0, 0usize); width];
    let mut before: Option<f64> = None;
    for (t, v) in &pairs {
        let follows = before.filter(|b| (0.0..=MISSING * usual).contains(&(t - b)));
        let start = follows.map_or(place(*t), |b| (place(b) + 1).min(place(*t)));
        for sum in sums.get_mut(start..=place(*t)).into_iter().flatten() {
            sum.0 += v;
            sum.1 += 1;
        }
        before = Some(*t);
    }
    sums.into_iter()
        .map(|(sum, n)| (n > 0).then(|| sum / n as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_follow_the_values() {
        let times: Vec<f64> = (0..8).map(f64::from).collect();
        let values: Vec<f64> = (1..=8).map(f64::from).collect();
        assert_eq!(draw(&times, &values, 8, false), "▂▃▄▅▆▇██");
        assert_eq!(draw(&times, &values, 8, true), ".-=+*%##");
    }

    #[test]
    fn holes_are_blank_and_nothing_is_flat() {
        assert_eq!(draw(&[0.0, 9.0], &[1.0, 1.0], 4, true), "#  #");
        assert_eq!(draw(&[0.0, 1.0], &[0.0, 0.0], 2, true), "__");
        // A few values of a long line cover it, but for what is missing.
        let times: Vec<f64> = (1..=6).map(f64::from).collect();
        assert_eq!(draw(&times, &[1.0; 6], 12, true), "############");
        let times = [1.0, 2.0, 3.0, 4.0, 11.0, 12.0, 13.0];
        assert_eq!(draw(&times, &[1.0; 7], 13, true), "####      ###");
        assert_eq!(draw(&[], &[], 3, true), "   ");
        assert_eq!(draw(&[1.0], &[f64::NAN], 3, true), "   ");
        assert_eq!(draw(&[1.0], &[1.0], 0, true), "");
    }
}
