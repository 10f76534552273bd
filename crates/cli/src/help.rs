//! `nandscope help`: the help of a command, or a page of the documentation as text. The man pages have the same two
//! sources: the definition of the command line and the pages in docs/.

mod man;
mod page;
mod topics;

use crate::console::Console;
use crate::failure::{Exit, Failure};
use clap::Args;
use std::path::PathBuf;
use topics::TOPICS;

/// Most letters in which a misspelt word differs.
const MISSPELT: usize = 3;

/// Arguments of `nandscope help`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  nandscope help             commands and topics\n  nandscope help jobs        every option of job files\n  nandscope help shelf add   the help of a command"
)]
pub struct Arguments {
    /// Command or topic; without it, all of them are listed
    #[arg(value_name = "COMMAND|TOPIC")]
    words: Vec<String>,
    /// Write the man pages of all commands and topics to this folder
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    man: Option<PathBuf>,
}

/// Prints the help, or writes the man pages.
///
/// # Errors
/// `Exit::Usage` if there is no such command or topic; `Exit::File` if the output cannot be written.
pub fn run(arguments: Arguments, console: &Console) -> Result<Exit, Failure> {
    let command = || crate::command().term_width(console.width);
    if let Some(folder) = arguments.man {
        man::write(crate::command(), &folder)?;
    } else if arguments.words.is_empty() {
        let mut text = command().render_help().to_string();
        text.push_str("\nTopics (`nandscope help TOPIC`):\n");
        text.push_str(&topics::list());
        console.print(&text)?;
    } else if let [word] = arguments.words.as_slice()
        && let Some(topic) = TOPICS.iter().find(|t| t.name == word)
    {
        console.print(&page::render(topic.markdown, console))?;
    } else {
        console.print(&of_command(command(), &arguments.words)?)?;
    }
    Ok(Exit::Done)
}

/// The help of the command that the words name, such as `shelf add`.
fn of_command(mut root: clap::Command, words: &[String]) -> Result<String, Failure> {
    root.build();
    let mut found = &mut root;
    for word in words {
        let mut names: Vec<String> = found
            .get_subcommands()
            .map(|c| c.get_name().to_string())
            .collect();
        let Some(next) = found.find_subcommand_mut(word) else {
            names.extend(TOPICS.iter().map(|t| t.name.to_string()));
            let others = names.iter().map(String::as_str).filter(|name| name != word);
            let meant = match nandscope_units::nearest(word, others, MISSPELT).first() {
                Some(name) => format!(" (did you mean `{name}`?)"),
                None => String::new(),
            };
            return Err(Failure::usage(format!(
                "no command or topic `{}`{meant}; list them with `nandscope help`",
                words.join(" ")
            )));
        };
        found = next;
    }
    Ok(found.render_long_help().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_topic_has_the_name_of_a_command() {
        let root = crate::command();
        for (place, topic) in TOPICS.iter().enumerate() {
            let also = root.get_subcommands().any(|c| c.get_name() == topic.name);
            assert!(!also, "{} is a command", topic.name);
            let again = TOPICS[..place].iter().any(|t| t.name == topic.name);
            assert!(!again, "{} is there twice", topic.name);
        }
    }

    #[test]
    fn the_help_of_a_command_below_a_command_is_found() {
        let words = ["shelf".to_string(), "add".to_string()];
        let text = of_command(crate::command(), &words).unwrap();
        assert!(text.contains("nandscope shelf add"), "{text}");
        let wrong = of_command(crate::command(), &["jbos".to_string()]).unwrap_err();
        assert!(wrong.text.contains("jobs"), "{}", wrong.text);
    }

    /// Commands to be copied stay on one line at 80 columns; a paragraph is one line of the source, which clap wraps
    /// once at the terminal's width.
    #[test]
    fn examples_fit_80_columns_and_paragraphs_wrap_once() {
        let mut commands = vec![crate::command()];
        while let Some(command) = commands.pop() {
            commands.extend(command.get_subcommands().cloned());
            let long = command.get_after_long_help();
            let text = command.get_after_help().or(long).map(ToString::to_string);
            let text = text.unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            for (line, next) in lines.iter().zip(lines.iter().skip(1).chain([&""])) {
                let width = line.chars().count();
                if line.starts_with(' ') {
                    assert!(width <= 80, "{}: {line}", command.get_name());
                } else {
                    let ends = line.is_empty()
                        || next.is_empty()
                        || line.ends_with(':')
                        || next.starts_with(' ');
                    assert!(ends, "{}: {line}", command.get_name());
                }
            }
        }
    }
}
