//! The address range of a device as a strip of fields, each with the state of its tagged blocks. Page, files and terminal
//! show it.

use crate::number::{short, with_unit};
use nandscope_result::{BlockState, Curve, StepResult};

/// Fields of a strip on a page: each is still a few pixels wide on a phone.
const FIELDS: usize = 100;

/// Heading of a strip.
pub const HEADING: &str = "States of the address range";

/// State of a field, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Reads or writes fail.
    Unreadable,
    /// Holds something else than what was written.
    Lost,
    /// Shares memory with another address.
    Aliased,
    /// Holds what was written.
    Genuine,
    /// No block was written there.
    NotTested,
}

impl State {
    const ALL: [State; 5] = [
        State::Genuine,
        State::Aliased,
        State::Lost,
        State::Unreadable,
        State::NotTested,
    ];

    /// In words; also the class of its colour, with hyphens.
    pub fn name(self) -> &'static str {
        match self {
            State::Unreadable => "unreadable",
            State::Lost => "lost",
            State::Aliased => "aliased",
            State::Genuine => "genuine",
            State::NotTested => "not tested",
        }
    }

    /// Sign in a terminal.
    fn sign(self) -> char {
        match self {
            State::Unreadable => 'U',
            State::Lost => 'L',
            State::Aliased => 'A',
            State::Genuine => '=',
            State::NotTested => '.',
        }
    }

    /// Class of its colour.
    pub fn class(self) -> String {
        self.name().replace(' ', "-")
    }

    /// The state of a tagged block; `None` for one that this version does not know.
    fn of_block(state: &BlockState) -> Option<State> {
        match state {
            BlockState::Genuine => Some(State::Genuine),
            BlockState::Aliased => Some(State::Aliased),
            BlockState::Lost => Some(State::Lost),
            BlockState::Unreadable => Some(State::Unreadable),
            BlockState::Other(_) => None,
        }
    }
}

/// A part of the address range.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The worst state of its blocks.
    pub state: State,
    /// Its range, and its blocks by state.
    pub text: String,
}

/// The strip of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Title of the step.
    pub title: String,
    /// Fields from the first address to the last.
    pub fields: Vec<Field>,
    /// States that occur, with the number of blocks, or of fields that were not tested.
    pub key: Vec<(State, String)>,
    /// Place in percent and text of the real end, if it is below the claimed one.
    pub end: Option<(String, String)>,
    /// Place in percent and text of the ticks.
    pub ticks: Vec<(String, String)>,
    /// Meaning of a field, in a sentence.
    pub meaning: String,
}

/// Whether a curve has states instead of quantities.
pub fn has_states(curve: &Curve) -> bool {
    !curve.states.is_empty()
}

/// The strips of a step of a device of this capacity in bytes.
pub fn of_step(step: &StepResult, capacity_bytes: u64) -> Vec<Strip> {
    let curves = step
        .curves
        .iter()
        .filter(|c| has_states(c) && c.x_unit == "GB");
    curves
        .filter_map(|c| of_curve(c, &step.title, capacity_bytes as f64 / 1e9, FIELDS))
        .collect()
}

/// A curve of states as a line of `count` signs for a terminal, with a legend before it; `None` for other curves.
pub fn in_terminal(curve: &Curve, capacity_bytes: u64, count: usize) -> Option<(String, String)> {
    let strip = of_curve(curve, "", capacity_bytes as f64 / 1e9, count.max(1))?;
    let line = strip.fields.iter().map(|field| field.state.sign());
    let key = strip
        .key
        .iter()
        .map(|(state, _)| format!("{} {}", state.sign(), state.name()));
    let end = strip.end.map(|(_, text)| format!("; {text}"));
    let legend = format!(
        "Address range, {} a sign: {}{}",
        with_unit(capacity_bytes as f64 / 1e6 / count.max(1) as f64, "MB"),
        key.collect::<Vec<_>>().join(", "),
        end.unwrap_or_default()
    );
    Some((legend, line.collect()))
}

fn of_curve(curve: &Curve, title: &str, capacity: f64, count: usize) -> Option<Strip> {
    let state = |v: f64| {
        let code = curve.states.iter().find(|code| code.value == v)?;
        State::of_block(&code.state)
    };
    let blocks: Vec<(f64, State)> = (curve.x.iter().zip(&curve.y))
        .filter_map(|(x, y)| Some((*x, state(*y)?)))
        .collect();
    if blocks.is_empty() || capacity <= 0.0 {
        return None;
    }
    let width = capacity / count as f64;
    let mut members: Vec<Vec<State>> = vec![Vec::new(); count];
    for (place, state) in &blocks {
        let at = ((place / width) as usize).min(count - 1);
        members[at].push(*state);
    }
    let fields: Vec<Field> = members
        .iter()
        .enumerate()
        .map(|(i, states)| field(i, states, width))
        .collect();
    let untested = fields
        .iter()
        .filter(|f| f.state == State::NotTested)
        .count();
    let counted = |state: State| match state {
        State::NotTested => (untested, "fields"),
        _ => (blocks.iter().filter(|b| b.1 == state).count(), "blocks"),
    };
    let key = State::ALL.into_iter().filter_map(|state| {
        let (count, of) = counted(state);
        let of = if count == 1 {
            of.trim_end_matches('s')
        } else {
            of
        };
        (count > 0).then(|| (state, format!("{}: {count} {of}", state.name())))
    });
    let percent = |v: f64| format!("{:.2}", (v / capacity * 100.0).clamp(0.0, 100.0));
    Some(Strip {
        title: title.to_string(),
        fields,
        key: key.collect(),
        end: curve.threshold.map(|end| {
            (
                percent(end),
                format!("real end at {}", with_unit(end, "GB")),
            )
        }),
        ticks: (0..=4)
            .map(|i| capacity * f64::from(i) / 4.0)
            .map(|v| (percent(v), short(v)))
            .collect(),
        meaning: format!(
            "Each field is 1/{count} of the claimed capacity, {}, in the worst state of the {} tagged blocks that were written there.",
            with_unit(width * 1e3, "MB"),
            blocks.len()
        ),
    })
}

fn field(i: usize, states: &[State], width: f64) -> Field {
    let counts = State::ALL.into_iter().filter_map(|state| {
        let count = states.iter().filter(|s| **s == state).count();
        (count > 0).then(|| format!("{count} {}", state.name()))
    });
    let counts: Vec<String> = counts.collect();
    let counts = match counts.is_empty() {
        true => State::NotTested.name().to_string(),
        false => counts.join(", "),
    };
    let from = i as f64 * width;
    Field {
        state: states.iter().min().copied().unwrap_or(State::NotTested),
        text: format!(
            "{} to {}: {counts}",
            short(from),
            with_unit(from + width, "GB")
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nandscope_result::StateCode;

    fn step(x: &[f64], y: &[f64]) -> StepResult {
        StepResult {
            title: "Is it genuine?".into(),
            curves: vec![Curve {
                name: "tagged blocks".into(),
                x_name: "place".into(),
                x_unit: "GB".into(),
                y_name: "state of the block".into(),
                y_unit: String::new(),
                x: x.to_vec(),
                y: y.to_vec(),
                threshold: Some(4.0),
                states: ["unreadable", "lost", "aliased", "genuine"]
                    .into_iter()
                    .zip(0..)
                    .map(|(state, value)| StateCode {
                        value: f64::from(value),
                        state: state.into(),
                    })
                    .collect(),
            }],
            ..StepResult::default()
        }
    }

    #[test]
    fn a_field_has_the_worst_state_of_its_blocks() {
        let step = step(&[0.0, 0.01, 3.95, 7.99, 8.0], &[3.0, 1.0, 3.0, 2.0, 0.0]);
        let strip = of_step(&step, 8_000_000_000).remove(0);
        let tested: Vec<(usize, State)> = strip
            .fields
            .iter()
            .enumerate()
            .filter(|(_, f)| f.state != State::NotTested)
            .map(|(i, f)| (i, f.state))
            .collect();
        assert_eq!(
            tested,
            [
                (0, State::Lost),
                (49, State::Genuine),
                (99, State::Unreadable)
            ]
        );
        assert_eq!(
            strip.fields[0].text,
            "0 to 0.0800\u{202f}GB: 1 genuine, 1 lost"
        );
        let key: Vec<&str> = strip.key.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(
            key,
            [
                "genuine: 2 blocks",
                "aliased: 1 block",
                "lost: 1 block",
                "unreadable: 1 block",
                "not tested: 97 fields"
            ]
        );
        assert_eq!(
            strip.end,
            Some(("50.00".into(), "real end at 4.00\u{202f}GB".into()))
        );
    }

    #[test]
    fn unknown_states_and_other_curves_have_no_strip() {
        let mut step = step(&[1.0, 7.0], &[3.0, 1.0]);
        assert!(of_step(&step, 0).is_empty());
        step.curves[0].states.truncate(3);
        step.curves[0].states[1].state = "worn".into();
        assert!(of_step(&step, 8_000_000_000).is_empty());
        step.curves[0].states.clear();
        assert!(of_step(&step, 8_000_000_000).is_empty());
    }

    #[test]
    fn a_terminal_shows_a_sign_for_each_part_of_the_range() {
        let step = step(&[0.5, 3.5, 4.5, 7.9], &[3.0, 3.0, 2.0, 1.0]);
        let (legend, line) = in_terminal(&step.curves[0], 8_000_000_000, 8).expect("has states");
        assert_eq!(line, "=..=A..L");
        assert_eq!(
            legend.replace('\u{202f}', " "),
            "Address range, 1000 MB a sign: = genuine, A aliased, L lost, . not tested; real end at 4.00 GB"
        );
    }
}
