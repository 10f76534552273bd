//! The man pages: section 1 from the definition of the command line, section 7 from the pages of the documentation.

use super::{page, topics::TOPICS};
use crate::console::Console;
use crate::failure::Failure;
use crate::output;
use roff::{Roff, roman};
use std::path::Path;

/// Columns of the text of a topic: man indents it.
const COLUMNS: usize = 72;

/// Writes `nandscope.1`, one page of section 1 per command, and one page of section 7 per topic.
///
/// # Errors
/// `Exit::File` if a file cannot be written.
pub fn write(root: clap::Command, folder: &Path) -> Result<(), Failure> {
    let _made = output::check_folder(folder)?;
    let mut root = root.name("nandscope");
    root.build();
    write_command(&root, "nandscope", folder)?;
    for topic in &TOPICS {
        let name = format!("nandscope-{}", topic.name);
        let text = of_topic(&name, topic.about, topic.markdown);
        output::write_in(folder, &format!("{name}.7"), text.as_bytes())?;
    }
    Ok(())
}

fn write_command(command: &clap::Command, name: &str, folder: &Path) -> Result<(), Failure> {
    let mut bytes = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut bytes)
        .map_err(Failure::internal)?;
    output::write_in(folder, &format!("{name}.1"), &bytes)?;
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        write_command(below, &format!("{name}-{}", below.get_name()), folder)?;
    }
    Ok(())
}

/// A page of the documentation as a man page: its text as on a terminal, unfilled.
fn of_topic(name: &str, about: &str, markdown: &str) -> String {
    let console = Console {
        width: COLUMNS,
        colour: false,
        verdicts: false,
    };
    let version = concat!("nandscope ", env!("CARGO_PKG_VERSION"));
    let mut roff = Roff::new();
    roff.control(
        "TH",
        [name.to_uppercase().as_str(), "7", "", version, "nandscope"],
    );
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("{name} - {about}"))]);
    roff.control("SH", ["DESCRIPTION"]);
    roff.control("nf", []);
    for line in page::render(markdown, &console).lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
    roff.render()
}
