//! `nandscope verify --full`: every block, with a state on disk so that it continues after an
//! interruption.

use super::{Arguments, document, exit, open, store, write};
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupt;
use crate::run::progress::Line;
use nandscope_files::Access;
use nandscope_infer::authenticity::{Full, Medium, Pass, Verdict, VerifyError, full_step};
use nandscope_result::Notice;
use std::path::Path;
use std::time::SystemTime;

/// Verifies every block, or continues an interrupted verification, and reports.
///
/// # Errors
/// `Exit::Usage` or `Exit::File` if the target cannot be opened or its saved state does not fit; `Exit::File` if the
/// device goes away; `Exit::Interrupted`.
pub fn run(arguments: &Arguments, console: &Console) -> Result<Exit, Failure> {
    let interrupt = Interrupt::listen()?;
    let mut target = open::open(arguments, console)?;
    let place = store::full_place(arguments.journal.as_deref(), &target.journaled)?;
    let mut full = match saved(&place)? {
        Some(full) if full.identity == target.journaled.identity => {
            let share = 100.0 * full.share();
            console.note(&format!("continuing an earlier run at {share:.0} %"));
            full
        }
        Some(full) => {
            return Err(Failure::usage(format!(
                "{} is the state of another device ({}); name another file by --journal",
                place.display(),
                full.identity
            )));
        }
        None => Full::new(
            target.journaled.identity.clone(),
            target.medium.blocks(),
            target.medium.block_bytes(),
            target.salt()?,
        ),
    };
    let started = SystemTime::now();
    let line = Line::new("verify");
    let began = target.medium.now();
    let done = full.go_on(&mut target.medium, &|| interrupt.asked(), &mut |state| {
        let what = match state.pass {
            Pass::Writing => "every block is written",
            Pass::Reading | Pass::Done => "every block is read",
        };
        line.show(Some(state.share()), what.to_string());
        let text = serde_json::to_vec(state).map_err(|e| VerifyError::Journal(e.into()))?;
        nandscope_files::write(&place, &text, Access::Owner)
            .map_err(|e| VerifyError::Journal(e.into_io()))
    });
    line.clear();
    match done {
        Ok(()) => {}
        Err(VerifyError::Stopped) => {
            return Err(Failure::new(
                Exit::Interrupted,
                format!(
                    "interrupted at {:.0} %; the same command continues",
                    100.0 * full.share()
                ),
            ));
        }
        Err(other) => {
            let text = format!("{other} (state: {})", place.display());
            return Err(match other {
                VerifyError::Unfit(_) => Failure::usage(text),
                _ => Failure::file(text),
            });
        }
    }
    let elapsed = target.medium.now().saturating_sub(began).as_secs_f64();
    let mut document = document(arguments, &target, started);
    document.steps.push(full_step(&full, elapsed));
    let mut verdict = full.verdict();
    if let Some(printed) = arguments.printed_speed
        && let Some(slow) = slower(&full, printed)
    {
        document.notices.push(slow);
        if verdict == Verdict::Genuine {
            verdict = Verdict::Suspicious;
        }
    }
    let json = serde_json::to_string_pretty(&full).map_err(Failure::internal)?;
    write(arguments, &document, &json, console)?;
    // The state is removed last: if the report cannot be written, hours of verification must not be lost.
    forget(&place, console);
    Ok(exit(verdict))
}

/// Removes the state of a finished run. If that fails, a note asks the user to remove it.
fn forget(place: &Path, console: &Console) {
    match std::fs::remove_file(place) {
        Ok(()) => {}
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
        Err(e) => console.note(&format!(
            "cannot remove {}: {e}; remove it before the device is verified again",
            place.display()
        )),
    }
}

fn saved(place: &Path) -> Result<Option<Full>, Failure> {
    let text = match store::read_own(place) {
        Ok(text) => text,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) if e.kind() == std::io::ErrorKind::Other => {
            return Err(Failure::usage(format!(
                "{}: {e}; name another file with --journal",
                place.display()
            )));
        }
        Err(e) => {
            return Err(Failure::file(format!(
                "cannot read {}: {e}",
                place.display()
            )));
        }
    };
    let full = serde_json::from_slice(&text).map_err(|e| {
        Failure::usage(format!(
            "{} is not the state of a `verify --full`: {e}; it is left as it is: name another file with --journal, or move it away",
            place.display()
        ))
    })?;
    Ok(Some(full))
}

/// A notice if the slowest part of the device is slower than the printed speed, MB/s.
fn slower(full: &Full, printed: f64) -> Option<Notice> {
    let rates = full.write_rates.iter().map(|(_, rate)| rate / 1e6);
    let slowest = rates.fold(f64::INFINITY, f64::min);
    (slowest < printed).then(|| {
        let text = format!("the slowest part was written at {slowest:.1} MB/s, and {printed} MB/s are printed on it");
        Notice::warning(text)
    })
}
