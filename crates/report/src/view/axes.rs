//! Axes of a plot: ranges, ticks with texts, and names at marks, decided once for the page and the SVG files.
//! Independent of pixels except the minimum width of a plot, so that texts do not overlap.

use super::plot::{Kind, Limit, Mark, Plot};
use crate::number::tick_step;
use nandscope_units::number::round_significant;

/// Width available for texts in a wide and in a narrow plot, pixels.
const WIDE: f64 = 410.0;
const NARROW: f64 = 260.0;
/// Width of a character, and least distance of two texts.
const CHARACTER: f64 = 6.6;
const DISTANCE: f64 = 8.0;
/// Ticks of a horizontal and a vertical axis, about.
const ACROSS: usize = 7;
const UP: usize = 5;
/// Decades with a text on a logarithmic axis.
const MOST_DECADES: i32 = 7;
/// Exponent of the greatest power of ten that is written with all of its zeros.
const LONGEST_PLAIN: i32 = 4;
/// Number of ticks from which on a narrow plot labels only every second one.
const MANY: usize = 4;
/// Least room around temperatures, kelvins.
const AROUND_TEMPERATURES: f64 = 1.0;
/// Percentiles with a tick, in nines.
const NINES: [(f64, &str); 8] = [
    (0.0, "0"),
    (std::f64::consts::LOG10_2, "50"),
    (1.0, "90"),
    (2.0, "99"),
    (3.0, "99.9"),
    (4.0, "99.99"),
    (5.0, "99.999"),
    (6.0, "99.9999"),
];

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Place, in the unit of the axis.
    pub at: f64,
    /// Text of the tick; empty for a line without text.
    pub text: String,
    /// Whether a narrow plot names it, too.
    pub in_narrow: bool,
}

/// The range of an axis with its ticks.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// Whether equal distances are equal ratios.
    pub is_logarithmic: bool,
    /// Start, in the unit of the axis.
    pub from: f64,
    /// End; greater than the start.
    pub to: f64,
    /// Ascending.
    pub ticks: Vec<Tick>,
}

/// Label of a mark, as short as the width of the plot requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkName {
    /// Text in a wide plot; empty if it would overlap another.
    pub wide: String,
    /// In a plot of less than full width.
    pub narrow: String,
    /// Whether the text ends at the mark; otherwise it begins there.
    pub is_before: bool,
}

/// Least distance of two limits that have their names at the same end of their lines, as a share of the vertical axis.
const NAME_HEIGHT: f64 = 0.08;

/// Both axes of a plot, and the places of the names of its marks and limits.
#[derive(Clone, Debug, PartialEq)]
pub struct Axes {
    /// Horizontal.
    pub x: Scale,
    /// Vertical.
    pub y: Scale,
    /// Name of each mark of a curve; empty for other plots, whose marks are named under the pointer.
    pub marks: Vec<MarkName>,
    /// Whether the name of each limit is at the left end of its line; otherwise it is at the right one.
    pub limits_at_left: Vec<bool>,
}

impl Axes {
    /// The axes on which all values of a plot can be seen.
    pub fn of(plot: &Plot) -> Axes {
        let (least, greatest) = plot.range().unwrap_or((0.0, 1.0));
        let limits = plot.limits.iter().map(|l| l.y);
        let greatest = limits.fold(greatest, f64::max);
        let first = plot.table.xs.first().copied().unwrap_or(0.0);
        let last = plot.table.xs.last().copied().unwrap_or(1.0);
        let (x, y) = match plot.kind {
            Kind::Percentile => (percentiles(last), decades(least, greatest)),
            _ => (
                linear(first, last, ACROSS),
                upright(least, greatest, &plot.y.unit),
            ),
        };
        let marks = match plot.kind {
            Kind::Curve => mark_names(&plot.marks, &x),
            _ => Vec::new(),
        };
        Axes {
            limits_at_left: at_left(&plot.limits, &y),
            x,
            y,
            marks,
        }
    }
}

/// Names of neighbours that would overlap are at different ends of their lines.
fn at_left(limits: &[Limit], y: &Scale) -> Vec<bool> {
    let (mut before, mut left) = (f64::NEG_INFINITY, true);
    let place = |limit: &Limit| {
        let is_near = limit.y - before < NAME_HEIGHT * (y.to - y.from);
        left = is_near && !left;
        before = limit.y;
        left
    };
    limits.iter().map(place).collect()
}

/// A range that holds more than a point.
fn widened(from: f64, to: f64) -> (f64, f64) {
    if to > from {
        (from, to)
    } else {
        // Adding one does not change large numbers.
        (from, from + from.abs().max(1.0))
    }
}

/// From the first to the last place, with ticks at round numbers.
fn linear(first: f64, last: f64, count: usize) -> Scale {
    let (from, to) = widened(first, last);
    let step = tick_step(to - from, count);
    scale(from, to, step)
}

/// Starts at zero for quantities that cannot be negative, and ends at a tick; temperatures have room around them.
fn upright(least: f64, greatest: f64, unit: &str) -> Scale {
    if unit == "°C" {
        let room = ((greatest - least) * 0.08).max(AROUND_TEMPERATURES);
        return linear(libm::floor(least - room), libm::ceil(greatest + room), UP);
    }
    if least == 0.0 && greatest == 0.0 {
        // The axis would hide a line of zeros.
        return scale(-0.05, 1.0, 0.2);
    }
    let step = tick_step(greatest.max(0.0) - least.min(0.0), UP);
    let from = rounded(libm::floor(least.min(0.0) / step) * step);
    let end = rounded(libm::ceil(greatest.max(0.0) * 1.02 / step) * step);
    let (from, to) = widened(from, end);
    scale(from, to, step)
}

fn scale(from: f64, to: f64, step: f64) -> Scale {
    let start = libm::ceil(from / step - 1e-9);
    let places: Vec<f64> = (0..=3 * ACROSS)
        .map(|i| rounded((start + i as f64) * step))
        .take_while(|at| *at <= to + 1e-9 * step)
        .collect();
    let many = places.len() >= MANY;
    let texts = texts(&places);
    let ticks = places.iter().zip(texts).enumerate();
    let ticks = ticks.map(|(i, (at, text))| Tick {
        at: *at,
        text,
        in_narrow: !many || i % 2 == 0,
    });
    Scale {
        is_logarithmic: false,
        from,
        to,
        ticks: ticks.collect(),
    }
}

/// A multiple of a step without rounding errors in its digits.
fn rounded(multiple: f64) -> f64 {
    round_significant(multiple, 12)
}

/// The numbers of one axis, all in the same unit: long ones would not fit beside it.
fn texts(places: &[f64]) -> Vec<String> {
    let most = places.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    let (divisor, suffix) = match most {
        m if m >= 1e12 => (1.0, ""),
        m if m >= 1e6 => (1e6, " M"),
        m if m >= 1e5 => (1e3, " k"),
        _ => (1.0, ""),
    };
    let is_plain = (1e-4..1e12).contains(&most);
    let text = |v: &f64| match round_significant(v / divisor, 6) {
        0.0 => "0".to_string(),
        v if is_plain => format!("{v}{suffix}"),
        v => format!("{v:e}"),
    };
    places.iter().map(text).collect()
}

fn percentiles(last: f64) -> Scale {
    let (from, to) = widened(0.0, last);
    // With few operations, only low percentiles are known: the median is labelled too then.
    let to = to.max(std::f64::consts::LOG10_2);
    let is_short = to < 1.0 - 1e-6;
    let shown = NINES.iter().filter(|n| n.0 <= to + 1e-6);
    let ticks = shown.map(|(at, text)| Tick {
        at: *at,
        text: (*text).to_string(),
        in_narrow: *text != "50" || is_short,
    });
    Scale {
        is_logarithmic: false,
        from,
        to,
        ticks: ticks.collect(),
    }
}

/// Whole decades around the values, each with a tick.
fn decades(least: f64, greatest: f64) -> Scale {
    let exponent = |v: f64| libm::log10(v.max(1e-9));
    let low = libm::floor(exponent(least)) as i32;
    let high = (libm::ceil(exponent(greatest)) as i32).max(low + 1);
    let every = ((high - low) / MOST_DECADES + 1).max(1);
    let ticks = (low..=high).map(|e| Tick {
        at: ten_to(e),
        text: match (e - low) % every {
            0 => decade(e, high),
            _ => String::new(),
        },
        in_narrow: true,
    });
    Scale {
        is_logarithmic: true,
        from: ten_to(low),
        to: ten_to(high),
        ticks: ticks.collect(),
    }
}

fn ten_to(exponent: i32) -> f64 {
    round_significant(libm::pow(10.0, f64::from(exponent)), 3)
}

/// A power of ten on an axis that ends at another: in one style for the whole axis, as short as its largest requires.
fn decade(exponent: i32, last: i32) -> String {
    let (less, suffix) = match exponent {
        _ if last <= LONGEST_PLAIN => (0, ""),
        12.. => return format!("1e{exponent}"),
        9.. => (9, " G"),
        6.. => (6, " M"),
        3.. => (3, " k"),
        _ => (0, ""),
    };
    format!("{}{suffix}", ten_to(exponent - less))
}

/// Names of marks: up to the colon if there is room, otherwise only the place, otherwise nothing.
fn mark_names(marks: &[Mark], x: &Scale) -> Vec<MarkName> {
    let share = |mark: &Mark| (mark.x - x.from) / (x.to - x.from);
    let named = |field: f64| -> Vec<String> {
        let mut end = f64::NEG_INFINITY;
        let fit = |mark: &Mark| {
            let whole = mark.name.split(':').next().unwrap_or_default();
            let place = whole.rsplit(' ').next().unwrap_or_default();
            let at = share(mark) * field;
            let choices = [whole, place].into_iter().find_map(|text| {
                let length = text.chars().count() as f64 * CHARACTER;
                let (left, right) = match share(mark) > 0.5 {
                    true => (at - length, at),
                    false => (at, at + length),
                };
                let is_clear = left >= end + DISTANCE && left >= 0.0 && right <= field;
                is_clear.then_some((text, right))
            });
            let (text, right) = choices.unwrap_or(("", end));
            end = right;
            text.to_string()
        };
        marks.iter().map(fit).collect()
    };
    let pairs = named(WIDE).into_iter().zip(named(NARROW));
    let names = marks
        .iter()
        .zip(pairs)
        .map(|(mark, (wide, narrow))| MarkName {
            wide,
            narrow,
            is_before: share(mark) > 0.5,
        });
    names.collect()
}

/// `p99.9`, of a place in nines.
pub fn percentile_name(nines: f64) -> String {
    let percent = 100.0 * (1.0 - libm::pow(10.0, -nines));
    let decimals = (libm::ceil(nines - 1e-6).max(1.0) as usize).min(12);
    let text = format!("{percent:.decimals$}");
    format!("p{}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|t| t.text.as_str()).collect()
    }

    #[test]
    fn rates_start_at_zero_and_end_at_a_tick() {
        let y = upright(310.0, 878.0, "MB/s");
        assert_eq!((y.from, y.to), (0.0, 1000.0));
        assert_eq!(shown(&y), ["0", "200", "400", "600", "800", "1000"]);
        assert_eq!(upright(0.0, 1.0, "").to, 1.2);
        let y = upright(-3.0, 4.0, "");
        assert!(y.from <= -3.0 && y.to >= 4.0);
        let y = upright(0.0, 0.0, "MB/s");
        assert!(y.from < 0.0 && shown(&y)[0] == "0");
    }

    #[test]
    fn names_of_close_limits_are_at_different_ends() {
        let limit = |y: f64| Limit {
            y,
            name: String::new(),
        };
        let y = upright(0.0, 100.0, "MB/s");
        let limits = [2.0, 4.0, 6.0, 30.0].map(limit);
        assert_eq!(at_left(&limits, &y), [false, true, false, false]);
    }

    #[test]
    fn temperatures_have_room_around_them() {
        let y = upright(26.2, 26.2, "°C");
        assert_eq!((y.from, y.to), (25.0, 28.0));
        assert!(y.ticks.len() > 1);
    }

    #[test]
    fn numbers_of_an_axis_have_one_unit() {
        assert_eq!(texts(&[0.0, 80_000.0]), ["0", "80000"]);
        assert_eq!(texts(&[0.0, 80_000.0, 120_000.0]), ["0", "80 k", "120 k"]);
        assert_eq!(texts(&[0.0, 500_000.0, 1e6]), ["0", "0.5 M", "1 M"]);
        assert_eq!(texts(&[0.0, 0.1, 0.3]), ["0", "0.1", "0.3"]);
        assert_eq!(texts(&[2e-6, 1e-5]), ["2e-6", "1e-5"]);
    }

    #[test]
    fn places_have_few_round_ticks_and_a_narrow_plot_half_of_them() {
        let x = linear(1.0, 93.4, ACROSS);
        assert_eq!((x.from, x.to), (1.0, 93.4));
        assert_eq!(shown(&x), ["20", "40", "60", "80"]);
        let narrow: Vec<bool> = x.ticks.iter().map(|t| t.in_narrow).collect();
        assert_eq!(narrow, [true, false, true, false]);
        for end in [1.0, 1.9, 7.3, 99.0, 1234.5, 1e9, 1e-7] {
            let x = linear(0.0, end, ACROSS);
            assert!((3..=9).contains(&x.ticks.len()), "{end}: {x:?}");
        }
    }

    #[test]
    fn one_place_and_no_value_still_have_axes() {
        for (from, to) in [(5.0, 5.0), (1e18, 1e18), (0.0, 0.0)] {
            let x = linear(from, to, ACROSS);
            assert!(x.to > x.from && !x.ticks.is_empty(), "{x:?}");
        }
        assert!(decades(1.0, 1.0).to > 1.0);
        assert_eq!(percentiles(0.0).to, 1.0);
    }

    #[test]
    fn latencies_have_whole_decades() {
        let y = decades(7.5, 23_000.0);
        assert!(y.is_logarithmic);
        assert_eq!(shown(&y), ["1", "10", "100", "1 k", "10 k", "100 k"]);
        assert_eq!(shown(&decades(900.0, 1200.0)), ["100", "1000", "10000"]);
        let y = decades(1e-3, 1e12);
        assert_eq!(y.ticks.len(), 16);
        let named = shown(&y).iter().filter(|t| !t.is_empty()).count();
        assert!((3..=8).contains(&named), "{named}");
    }

    #[test]
    fn percentiles_have_ticks_at_nines() {
        let x = percentiles(3.0);
        assert_eq!(shown(&x), ["0", "50", "90", "99", "99.9"]);
        assert!(!x.ticks[1].in_narrow && x.ticks[2].in_narrow);
        for last in [0.1, 0.9] {
            let x = percentiles(last);
            assert_eq!(shown(&x), ["0", "50"]);
            assert!(x.ticks.iter().all(|t| t.in_narrow));
        }
        for (percentile, name) in [
            (50.0, "p50"),
            (90.0, "p90"),
            (95.0, "p95"),
            (99.5, "p99.5"),
            (99.99, "p99.99"),
            (1.0, "p1"),
        ] {
            let nines = crate::view::percentile::nines_of(percentile);
            assert_eq!(percentile_name(nines), name);
        }
    }

    #[test]
    fn names_of_marks_do_not_overlap() {
        let mark = |x: f64| Mark {
            x,
            name: format!("Threshold at {x}\u{202f}%: a; b"),
        };
        let x = linear(0.0, 100.0, ACROSS);
        let of = |places: &[f64]| {
            let marks: Vec<Mark> = places.iter().map(|x| mark(*x)).collect();
            mark_names(&marks, &x)
        };
        let names = of(&[20.0, 85.0]);
        assert_eq!(names[0].wide, "Threshold at 20\u{202f}%");
        assert!(!names[0].is_before && names[1].is_before);
        // Three close marks: the last one has only its place, or nothing.
        let names = of(&[80.0, 85.0, 90.0]);
        assert_eq!(names[0].wide, "Threshold at 80\u{202f}%");
        assert_eq!(
            (names[1].wide.as_str(), names[2].wide.as_str()),
            ("", "90\u{202f}%")
        );
        assert!(names.iter().all(|n| n.narrow.len() <= n.wide.len()));
    }
}
