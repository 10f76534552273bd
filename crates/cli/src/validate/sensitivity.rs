//! `nandscope validate --sensitivity`: which published figures depend on assumed parameters, and how much.

use crate::console::{Console, lines_of};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::output::{self, Form};
use crate::review::suite_failure;
use crate::run::progress::Line;
use nandscope_suite::facts::sensitivity::{Assumed, Reaction, assumed, moved, reactions};
use nandscope_suite::facts::{Comparison, Validation};
use nandscope_suite::{SuiteError, at_once};
use serde_json::{Value, json};

/// Smallest change of a figure that counts as a reaction, percent.
const LEAST: f64 = 0.5;

/// A run of a procedure, with the profile unchanged or with one parameter at an end of its range.
struct Piece<'a> {
    validation: &'a Validation,
    moved: Option<(&'a Assumed, f64)>,
}

/// Result of a procedure with moved parameters.
pub struct Sensitivity<'a> {
    pub validation: &'a Validation,
    /// Each parameter with the figures that changed, the greatest change first.
    pub parameters: Vec<(Assumed, Vec<Reaction>)>,
    /// Parameters that cannot be moved alone, with the reason.
    pub impossible: Vec<String>,
    /// Whether the procedure can be carried out with the unchanged profile.
    feasible: bool,
}

/// Varies every assumed parameter of the devices, or only those in `only`, and prints a table for each procedure.
///
/// # Errors
/// `Exit::Usage` if `only` names a parameter that is not assumed; `Exit::Interrupted`.
pub fn run(
    list: &[Validation],
    only: &[String],
    threads: usize,
    (interrupt, form): (&Interrupt, Form),
    console: &Console,
) -> Result<Exit, Failure> {
    let mut all = Vec::new();
    for validation in list {
        let parameters = chosen(validation, only)?;
        let outcomes = measure(validation, &parameters, threads, interrupt)?;
        let found = sensitivity(validation, parameters, &outcomes);
        if form == Form::Text {
            console.print(&table(&found, console))?;
        }
        all.push(found);
    }
    if form == Form::Json {
        output::print_json(&json(&all), console)?;
    }
    Ok(Exit::Done)
}

/// The sensitivities as JSON.
fn json(found: &[Sensitivity]) -> Value {
    let of_procedure = |s: &Sensitivity| {
        let parameters = s.parameters.iter().map(|(parameter, reactions)| {
            let reactions = reactions
                .iter()
                .map(|r| json!({ "fact": r.fact, "figure": r.figure, "percent": r.percent }));
            json!({
                "name": parameter.name,
                "now": parameter.now,
                "range": parameter.ends,
                "reactions": reactions.collect::<Vec<_>>(),
            })
        });
        json!({
            "device": s.validation.device,
            "procedure": s.validation.procedure,
            "parameters": parameters.collect::<Vec<_>>(),
            "impossible": s.impossible,
        })
    };
    found.iter().map(of_procedure).collect()
}

fn chosen(validation: &Validation, only: &[String]) -> Result<Vec<Assumed>, Failure> {
    let mut all = assumed(validation).map_err(|e| suite_failure(&e))?;
    for name in only {
        if all.iter().all(|a| a.name != *name) {
            let text = format!(
                "`{name}` is not an assumed parameter of {}; `nandscope devices show {}` names them",
                validation.device, validation.device
            );
            return Err(Failure::new(Exit::Usage, text));
        }
    }
    all.retain(|a| only.is_empty() || only.contains(&a.name));
    Ok(all)
}

/// The comparison of a piece, or the reason why its profile is invalid.
type Outcome = Result<Comparison, SuiteError>;

/// Measures the unchanged profile first, then both ends of each parameter's range.
fn measure(
    validation: &Validation,
    parameters: &[Assumed],
    threads: usize,
    interrupt: &Interrupt,
) -> Result<Vec<Outcome>, Failure> {
    let mut pieces = vec![Piece {
        validation,
        moved: None,
    }];
    for parameter in parameters {
        pieces.extend(parameter.ends.map(|to| Piece {
            validation,
            moved: Some((parameter, to)),
        }));
    }
    let title = format!("{} {}", validation.device, validation.procedure);
    let line = Line::new(&title);
    let outcomes = at_once::run(
        pieces.len(),
        threads,
        &|| interrupt.asked(),
        |number| pieces[number].run(interrupt),
        |done| {
            let name = pieces[done.number]
                .moved
                .map_or("the profile as it is", |m| &m.0.name);
            line.show(Some(done.share(pieces.len())), name.to_string());
        },
    );
    line.clear();
    if interrupt.asked() {
        return Err(Failure::new(Exit::Interrupted, "interrupted"));
    }
    Ok(outcomes.into_iter().flatten().collect())
}

impl Piece<'_> {
    fn run(&self, interrupt: &Interrupt) -> Outcome {
        let spec = match self.moved {
            None => self.validation.spec()?,
            Some((parameter, to)) => moved(self.validation, parameter, to)?,
        };
        self.validation.measure(&spec, &|| interrupt.asked())
    }
}

/// Derives sensitivities from the outcomes of [`measure`].
fn sensitivity<'a>(
    validation: &'a Validation,
    parameters: Vec<Assumed>,
    outcomes: &[Outcome],
) -> Sensitivity<'a> {
    let mut all = Sensitivity {
        validation,
        parameters: Vec::new(),
        impossible: Vec::new(),
        feasible: false,
    };
    let Some((Ok(now), ends)) = outcomes.split_first() else {
        return all;
    };
    all.feasible = true;
    for (parameter, ends) in parameters.into_iter().zip(ends.chunks(2)) {
        let at = |end: usize| ends.get(end).and_then(|e| e.as_ref().ok());
        for fault in ends.iter().filter_map(|e| e.as_ref().err()) {
            all.impossible.push(format!("{}: {fault}", parameter.name));
        }
        let mut found = reactions(now, [at(0), at(1)]);
        found.retain(|r| r.greatest() >= LEAST);
        found.sort_by(|a, b| b.greatest().total_cmp(&a.greatest()));
        all.parameters.push((parameter, found));
    }
    all
}

fn table(found: &Sensitivity, console: &Console) -> String {
    let mut text = format!(
        "{}, procedure {}\n",
        found.validation.device, found.validation.procedure
    );
    if !found.feasible {
        return text + "  cannot be carried out with the profile as it is\n";
    }
    let mut rows = console.table(&[
        "PARAMETER",
        "NOW",
        "RANGE",
        "FACT",
        "FIGURE",
        "AT LOW",
        "AT HIGH",
    ]);
    let mut still = Vec::new();
    for (parameter, reactions) in &found.parameters {
        if reactions.is_empty() {
            still.push(parameter.name.as_str());
        }
        for reaction in reactions {
            rows.add_row(cells(parameter, reaction));
        }
    }
    if rows.row_count() > 0 {
        text.push_str(&lines_of(&rows));
    }
    if !still.is_empty() {
        let line = format!("No figure changes by {LEAST} % with: {}", still.join(", "));
        text.push_str(&console.paragraph(&line, "  "));
    }
    for fault in &found.impossible {
        text.push_str(&console.paragraph(&format!("Not possible alone: {fault}"), "  "));
    }
    text.push('\n');
    text
}

fn cells(parameter: &Assumed, reaction: &Reaction) -> Vec<String> {
    let change = |percent: Option<f64>| percent.map_or("–".to_string(), |p| format!("{p:+.1} %"));
    let [low, high] = parameter.ends;
    let mut cells = vec![
        parameter.name.clone(),
        parameter.now.to_string(),
        format!("{low} to {high}"),
        reaction.fact.clone(),
        reaction.figure.clone(),
    ];
    cells.extend(reaction.percent.map(change));
    cells
}
