//! A time line in one line of text: eight heights of blocks, or ASCII where a terminal has
//! no others.

const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII: [char; 8] = ['_', '.', '-', '=', '+', '*', '%', '#'];

/// One sign for each of `width` equal stretches of time: the mean of its values, between zero and
/// the greatest of these means. A stretch without values is a blank.
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

fn means(times: &[f64], values: &[f64], width: usize) -> Vec<Option<f64>> {
    let pairs = || {
        times
            .iter()
            .zip(values)
            .filter(|(t, v)| t.is_finite() && v.is_finite())
    };
    let first = pairs().map(|p| *p.0).fold(f64::INFINITY, f64::min);
    let last = pairs().map(|p| *p.0).fold(f64::NEG_INFINITY, f64::max);
    let mut sums = vec![(0.0, 0usize); width];
    for (t, v) in pairs() {
        let share = if last > first {
            (t - first) / (last - first)
        } else {
            0.0
        };
        let place = ((share * width as f64) as usize).min(width.saturating_sub(1));
        if let Some(sum) = sums.get_mut(place) {
            sum.0 += v;
            sum.1 += 1;
        }
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
        assert_eq!(draw(&[], &[], 3, true), "   ");
        assert_eq!(draw(&[1.0], &[f64::NAN], 3, true), "   ");
        assert_eq!(draw(&[1.0], &[1.0], 0, true), "");
    }
}
