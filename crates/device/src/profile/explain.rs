//! An annotated profile: every key with its value and its remark. In the library's profiles, the remark is the source
//! or reasoning of the number; a test requires this.

use super::Provenance;

/// One key of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// Line on which the value ends, from 1.
    pub line: usize,
    /// Table, such as `nand.native`.
    pub table: String,
    /// Key within the table.
    pub key: String,
    /// Value as written in the text.
    pub value: String,
    /// Remark on the same line, or on the lines right above.
    pub remark: String,
}

impl Explained {
    /// Value as a number, or all values of a list of numbers; empty otherwise.
    pub fn numbers(&self) -> Vec<f64> {
        let list = self.value.trim_start_matches('[').trim_end_matches(']');
        let numbers = list.split(',').map(|n| n.trim().parse::<f64>().ok());
        numbers.collect::<Option<Vec<f64>>>().unwrap_or_default()
    }

    /// Source of the value, and the rest of the remark; `None` if the remark names no source.
    pub fn provenance(&self) -> Option<(Provenance, &str)> {
        Provenance::read(&self.remark)
    }
}

/// Reads keys, values and remarks of a profile's text, in order. The text must be valid
/// TOML in which each value is on one line, except for lists of strings.
pub fn explain(text: &str) -> Vec<Explained> {
    let mut rows = Vec::new();
    let mut table = String::new();
    let mut above = String::new();
    let mut open_list: Option<(String, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some((key, value)) = open_list.as_mut() {
            value.push_str(trimmed);
            if trimmed.ends_with(']') {
                rows.push(Explained {
                    line: number + 1,
                    table: table.clone(),
                    key: key.clone(),
                    value: value.clone(),
                    remark: above.clone(),
                });
                above.clear();
                open_list = None;
            }
            continue;
        }
        if let Some(remark) = trimmed.strip_prefix('#') {
            if !above.is_empty() {
                above.push(' ');
            }
            above.push_str(remark.trim());
        } else if trimmed.starts_with('[') {
            table = trimmed
                .split(']')
                .next()
                .unwrap_or_default()
                .trim_start_matches('[')
                .to_string();
            above.clear();
        } else if let Some((key, rest)) = trimmed.split_once('=') {
            let (value, remark) = split_remark(rest.trim());
            if value.starts_with('[') && !value.ends_with(']') {
                open_list = Some((key.trim().to_string(), value.to_string()));
                continue;
            }
            let remark = if remark.is_empty() {
                std::mem::take(&mut above)
            } else {
                remark.to_string()
            };
            rows.push(Explained {
                line: number + 1,
                table: table.clone(),
                key: key.trim().to_string(),
                value: value.to_string(),
                remark,
            });
            above.clear();
        } else {
            above.clear();
        }
    }
    rows
}

/// Splits `value # remark`, except within quotes.
fn split_remark(text: &str) -> (&str, &str) {
    let mut quoted = false;
    for (i, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '#' if !quoted => return (text[..i].trim(), text[i + 1..].trim()),
            _ => {}
        }
    }
    (text.trim(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values_and_their_remarks() {
        let text = "# a\nformat = 1 # version\n[nand.slc]\n# from the\n# data sheet\nread_us = [25]\nname = \"a # b\"\n[[interface]]\nlist = [\n \"x\",\n]\n";
        let rows = explain(text);
        let found: Vec<_> = rows
            .iter()
            .map(|r| {
                (
                    r.table.as_str(),
                    r.key.as_str(),
                    r.value.as_str(),
                    r.remark.as_str(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("", "format", "1", "version"),
                ("nand.slc", "read_us", "[25]", "from the data sheet"),
                ("nand.slc", "name", "\"a # b\"", ""),
                ("interface", "list", "[\"x\",]", ""),
            ]
        );
    }
}
