//! A Markdown page as text for a terminal: headings, paragraphs, lists, tables, examples. Links become their text; pictures
//! become their description.

use crate::console::{Console, lines_of};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The page, wrapped to the width of the console.
pub fn render(markdown: &str, console: &Console) -> String {
    let mut page = Page::new(console);
    for event in Parser::new_ext(markdown, Options::ENABLE_TABLES) {
        page.take(event);
    }
    page.out
}

struct Page<'a> {
    console: &'a Console,
    out: String,
    /// Text of the paragraph, heading, list item or cell that is being read.
    text: String,
    /// Per list that is open: the number of the next item, if the list is numbered.
    lists: Vec<Option<u64>>,
    /// The item that is being read has not been written yet: its first line gets the mark.
    item_begins: bool,
    in_example: bool,
    row: Vec<String>,
    table: Option<comfy_table::Table>,
}

impl<'a> Page<'a> {
    fn new(console: &'a Console) -> Self {
        Page {
            console,
            out: String::new(),
            text: String::new(),
            lists: Vec::new(),
            item_begins: false,
            in_example: false,
            row: Vec::new(),
            table: None,
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.in_example => {
                for line in text.lines() {
                    self.out.push_str(&format!("    {line}\n"));
                }
            }
            Event::Text(text) => self.text.push_str(&text),
            Event::Code(code) => self.text.push_str(&format!("`{code}`")),
            Event::SoftBreak | Event::HardBreak => self.text.push(' '),
            _ => {}
        }
    }

    fn start(&mut self, tag: &Tag) {
        match tag {
            Tag::List(first) => {
                self.flush();
                self.lists.push(*first);
            }
            Tag::Item => self.item_begins = true,
            Tag::CodeBlock(_) => {
                self.flush();
                self.in_example = true;
            }
            Tag::Table(_) => self.table = Some(self.console.table(&[])),
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                let heading = std::mem::take(&mut self.text).to_uppercase();
                self.out.push_str(&format!("{heading}\n\n"));
            }
            TagEnd::Paragraph => {
                self.flush();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
            }
            TagEnd::Item => self.flush(),
            TagEnd::List(_) => {
                self.lists.pop();
                if self.lists.is_empty() {
                    self.out.push('\n');
                }
            }
            TagEnd::CodeBlock => {
                self.in_example = false;
                self.out.push('\n');
            }
            TagEnd::TableCell => self.row.push(std::mem::take(&mut self.text)),
            TagEnd::TableHead | TagEnd::TableRow => self.end_row(tag == TagEnd::TableHead),
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.out.push_str(&lines_of(&table));
                    self.out.push('\n');
                }
            }
            _ => {}
        }
    }

    fn end_row(&mut self, is_head: bool) {
        let row = std::mem::take(&mut self.row);
        let Some(table) = &mut self.table else { return };
        match is_head {
            true if row.iter().all(String::is_empty) => {}
            true => drop(table.set_header(row.iter().map(|cell| cell.to_uppercase()))),
            false => drop(table.add_row(row)),
        }
    }

    /// Writes the text so far as a paragraph, in a list after the mark of its item.
    fn flush(&mut self) {
        let text = std::mem::take(&mut self.text);
        if text.trim().is_empty() {
            return;
        }
        let width = |list: &Option<u64>| if list.is_some() { 3 } else { 2 };
        let indent = " ".repeat(self.lists.iter().map(width).sum());
        let paragraph = self.console.paragraph(&text, &indent);
        let own = self.lists.last().map_or(0, width);
        match self.lists.last_mut() {
            Some(list) if std::mem::take(&mut self.item_begins) => {
                let mark = match list {
                    Some(number) => {
                        *number += 1;
                        format!("{}.", *number - 1)
                    }
                    None => "-".to_string(),
                };
                self.out.push_str(&indent[own..]);
                self.out.push_str(&format!("{mark:<own$}"));
                self.out.push_str(&paragraph[indent.len()..]);
            }
            _ => self.out.push_str(&paragraph),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_becomes_text() {
        let console = Console {
            width: 40,
            colour: false,
            verdicts: false,
        };
        let markdown = "# Title\n\nA [link](x.md) and `code` in a paragraph that is longer than a line.\n\n\
            - one\n- two\n  - inner\n\n1. first\n2. second\n\n```console\n$ command\nanswer\n```\n\n\
            | key | meaning |\n|---|---|\n| `a` | the first |\n<!-- not shown -->\n";
        let expected = "TITLE\n\nA link and `code` in a paragraph that is\nlonger than a line.\n\n\
            - one\n- two\n  - inner\n\n1. first\n2. second\n\n    $ command\n    answer\n\n\
            \x20KEY  MEANING\n `a`  the first\n\n";
        assert_eq!(render(markdown, &console), expected);
    }
}
