//! The end of a run: its output files, the printed summary, and the exit code.

use super::Arguments;
use super::printer::Printer;
use super::target::CommandTarget;
use crate::console::Console;
use crate::failure::{Exit, Failure};
use crate::output::{self, Form};
use crate::steps::Keeper;
use nandscope_experiment::run::{Ending, Run};
use nandscope_report::summary::step_summary;
use nandscope_result::ResultDocument;
use nandscope_result::json::to_json;
use std::path::{Path, PathBuf};

/// Writes the outputs, prints the summary, and returns the exit code.
///
/// # Errors
/// `Exit::File` if an output cannot be written; `Exit::Partial` or `Exit::Interrupted` if the run ended early.
pub fn finish<T: CommandTarget>(
    arguments: &Arguments,
    run: Run,
    target: &T,
    keeper: Keeper,
    mut printer: Printer,
    console: &Console,
) -> Result<Exit, Failure> {
    // The summary comes last: a closed pipe must not prevent the result.
    let is_apart = arguments
        .result
        .as_deref()
        .is_some_and(|path| output::replaces_complete(&run.document, path));
    let kept = write(arguments, &run, target, is_apart);
    let is_written = kept.iter().all(|(_, written)| written.is_ok());
    let is_saved = kept.iter().all(|(_, written)| match written {
        Ok(()) => true,
        Err(failure) => failure.saved,
    });
    // The journal of a complete saved result is not needed. An incomplete result needs it to be resumed.
    let is_whole = is_saved && run.document.complete;
    let resumable = match is_written || is_whole {
        true => keeper.finish(run.document.complete),
        false => None,
    };
    let printed = print(&run.document, arguments.json, &mut printer, console);
    for (what, _) in kept.iter().filter(|(_, written)| written.is_ok()) {
        console.note(what);
    }
    let written = kept.into_iter().map(|(_, written)| written);
    output::all(written.chain([printed]))?;
    match &run.ending {
        Ending::Complete if run.has_errors() => Ok(Exit::Partial),
        Ending::Complete => Ok(Exit::Done),
        Ending::Failed(why) => Err(Failure::new(Exit::Partial, why)),
        Ending::Interrupted => {
            let what = match &arguments.result {
                Some(path) if is_apart => format!(
                    "the partial result is kept in {}, since {} is complete",
                    output::apart(path).display(),
                    path.display()
                ),
                Some(path) => format!("the partial result is kept in {}", path.display()),
                None => "the partial result is printed above; with --result FILE it is kept".into(),
            };
            let resumable = resumable.map(|text| format!("; {text}"));
            let resumable = resumable.unwrap_or_default();
            Err(Failure::new(
                Exit::Interrupted,
                format!("interrupted; {what}{resumable}"),
            ))
        }
    }
}

/// Name of an output of this run: another one if an incomplete result would replace a complete one.
fn place(path: &Path, is_apart: bool) -> PathBuf {
    match is_apart {
        true => output::apart(path),
        false => path.to_path_buf(),
    }
}

/// Writes result, logs and device, each even if another failed. Returns a description and the outcome of each.
fn write<T: CommandTarget>(
    arguments: &Arguments,
    run: &Run,
    target: &T,
    is_apart: bool,
) -> Vec<(String, Result<(), Failure>)> {
    let mut kept = Vec::new();
    let put = |path: &Path, bytes: &[u8]| match is_apart {
        true => output::write_or_keep_beside(&output::apart(path), bytes),
        false => output::write_or_keep(path, bytes),
    };
    if let Some(path) = &arguments.result {
        let text = to_json(&run.document).map_err(Failure::internal);
        let written = text.and_then(|text| put(path, text.as_bytes()));
        kept.push((
            format!("result: {}", place(path, is_apart).display()),
            written,
        ));
    }
    let logs = run.logs.iter();
    let logs = logs.map(|(name, text)| ("log", name, text.as_bytes()));
    let dumps = run.dumps.iter();
    let dumps = dumps.map(|dump| ("data", &dump.name, &dump.bytes[..]));
    for (what, name, bytes) in logs.chain(dumps) {
        let name = place(Path::new(name), is_apart);
        let path = arguments.log_dir.join(&name);
        let written = output::write_or_keep_in(&arguments.log_dir, &name.to_string_lossy(), bytes);
        kept.push((format!("{what}: {}", path.display()), written));
    }
    if let Some(path) = &arguments.save {
        let written = target.save().and_then(|bytes| put(path, &bytes));
        let contents = match arguments.contents {
            true => ", without the contents, which no file keeps",
            false => "",
        };
        kept.push((
            format!("device: {}{contents}", place(path, is_apart).display()),
            written,
        ));
    }
    kept
}

/// Prints the result as JSON, in the formats of fio, or as a summary. Programs that read a format find nothing else in
/// it: notices go to standard error then.
fn print(
    document: &ResultDocument,
    as_json: bool,
    printer: &mut Printer,
    console: &Console,
) -> Result<(), Failure> {
    let notices = document.notices.iter();
    let notices = notices.map(|n| console.paragraph(&format!("{}: {}", n.level, n.text), ""));
    if !printer.prints() && !as_json {
        let mut text: String = document.steps.iter().map(step_summary).collect();
        text.extend(notices);
        return console.print(&text);
    }
    notices.for_each(|notice| console.note(notice.trim_end()));
    if as_json {
        return output::print_summary(document, &[], Form::Json, console);
    }
    printer.print(document, console)
}
