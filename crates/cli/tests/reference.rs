//! The pages of the reference that are generated: options from the program's own help, the result document from its schema, figures
//! from quick reviews. `UPDATE=1` writes them.

use crate::support::Folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

#[track_caller]
fn is_current(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        there, text,
        "docs/{page} is out of date; run `UPDATE=1 cargo test -p nandscope reference -- --include-ignored`"
    );
}

/// The parsed help of one command: sections with their entries. Text after the options is only in `--help`.
struct Help {
    words: Vec<String>,
    about: String,
    usage: String,
    sections: Vec<(String, Vec<String>)>,
}

/// Heading of the help section with commands; the program itself has several groups of them.
const COMMANDS: &str = "Commands:";
/// Heading of the help section with options.
const OPTIONS: &str = "Options:";

impl Help {
    fn of(folder: &Folder, words: &[&str]) -> Help {
        let mut line = words.to_vec();
        line.push("--help");
        let mut command = folder.command(&line);
        command
            .env_remove("COLUMNS")
            .stdin(std::process::Stdio::null());
        let text = String::from_utf8(command.output().unwrap().stdout).unwrap();
        // A blank line inside of an entry has the entry's indentation.
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let text = lines.join("\n");
        let mut help = Help {
            words: words.iter().map(|w| w.to_string()).collect(),
            about: text.lines().next().unwrap().to_string(),
            usage: String::new(),
            sections: Vec::new(),
        };
        for paragraph in text.split("\n\n").skip(1) {
            let (first, rest) = paragraph.split_once('\n').unwrap_or((paragraph, ""));
            if let Some(usage) = paragraph.strip_prefix("Usage: ") {
                help.usage = usage.trim_end().to_string();
            } else if first.starts_with("Example")
                || !first.starts_with(' ') && !first.ends_with(':')
            {
                break;
            } else if has_groups(words, first) {
                help.sections.extend(groups(paragraph));
            } else {
                let lines = match first.starts_with(' ') {
                    true => paragraph,
                    false => {
                        help.sections.push((first.to_string(), Vec::new()));
                        rest
                    }
                };
                help.sections.last_mut().unwrap().1.extend(entries(lines));
            }
        }
        help.join_values();
        help
    }

    /// Joins lines that continue the previous entry, such as a default, to that entry.
    fn join_values(&mut self) {
        for (_, entries) in &mut self.sections {
            let mut joined: Vec<String> = Vec::new();
            for entry in entries.drain(..) {
                let goes_on = entry.starts_with("       ") && !entry.trim_start().starts_with('-');
                match joined.last_mut() {
                    Some(last) if goes_on => {
                        // A separate paragraph, or a default or list that belongs to the text.
                        let own = entry.trim_start();
                        let is_list = own.starts_with('[') || own.starts_with("Possible values");
                        let end = if is_list { "" } else { "." };
                        *last = format!("{last}{end}\n{entry}");
                    }
                    _ => joined.push(entry),
                }
            }
            joined.retain(|entry| !entry.trim_start().starts_with("-h, --help"));
            *entries = joined;
        }
    }

    fn below(&self) -> Vec<String> {
        let is_root = self.words.is_empty();
        let has_commands = |title: &str| title == COMMANDS || is_root && title != OPTIONS;
        let sections = self.sections.iter();
        let commands = sections.filter(|(title, _)| has_commands(title));
        let entries = commands.flat_map(|(_, entries)| entries);
        entries
            .filter_map(|entry| entry.split_whitespace().next())
            .filter(|name| self.words.is_empty() || *name != "help")
            .map(str::to_string)
            .collect()
    }
}

/// True if a paragraph of the program's own help has groups of commands.
fn has_groups(words: &[&str], first: &str) -> bool {
    words.is_empty() && first != OPTIONS && first.ends_with(':')
}

/// Headings with the entries below each.
fn groups(paragraph: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for line in paragraph.lines() {
        match found.last_mut() {
            Some((_, entries)) if line.starts_with(' ') => entries.push(line.to_string()),
            _ => found.push((line.to_string(), Vec::new())),
        }
    }
    found
}

/// The entries of a paragraph: each begins with two to six spaces, its further lines with more.
fn entries(paragraph: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in paragraph.lines().map(str::trim_end) {
        let is_first = line.len() - line.trim_start().len() <= 6;
        match found.last_mut() {
            Some(last) if !is_first => *last = format!("{last}\n{line}"),
            _ => found.push(line.to_string()),
        }
    }
    found
}

/// Name of an option, such as `--seed <SEED>`, and its help text in one line.
fn option(entry: &str) -> (String, String) {
    let text = entry.trim();
    let end = text.find("  ").or(text.find('\n')).unwrap_or(text.len());
    let (name, meaning) = text.split_at(text.find('\n').unwrap_or(end).min(end));
    let meaning: Vec<&str> = meaning.split_whitespace().collect();
    let mut meaning = meaning.join(" ");
    if meaning.contains("Possible values:") {
        meaning = meaning
            .replace(" Possible values: - ", "; ")
            .replace(" - ", "; ");
    }
    (name.trim().to_string(), meaning)
}

fn collect(folder: &Folder, words: &[&str], all: &mut Vec<Help>) {
    let help = Help::of(folder, words);
    let below = help.below();
    if !words.is_empty() {
        all.push(help);
    }
    for name in &below {
        collect(folder, &[words, &[name.as_str()]].concat(), all);
    }
}

/// Options with the same text in several commands, by name.
fn shared(all: &[Help]) -> BTreeMap<String, String> {
    let mut count: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (title, entries) in all.iter().flat_map(|help| &help.sections) {
        for entry in entries.iter().filter(|_| title != COMMANDS) {
            *count.entry(option(entry)).or_default() += 1;
        }
    }
    let mut found: Vec<_> = count.into_iter().filter(|(_, times)| *times > 1).collect();
    found.sort_by_key(|(_, times)| *times);
    found.into_iter().map(|(option, _)| option).collect()
}

fn list_item(name: &str, meaning: &str) -> String {
    format!("- `{name}`: {meaning}\n")
}

fn describe(help: &Help, shared: &BTreeMap<String, String>) -> String {
    let usage = help
        .usage
        .replace("\n       ", "\n")
        .replace(" [OPTIONS]", "");
    let title = help.words.join(" ");
    // Arguments are listed below; options that are required are not marked there.
    let usage: Vec<String> = usage
        .lines()
        .filter(|line| line.contains(" --"))
        .map(|line| format!("`{line}`"))
        .collect();
    let usage = match usage.is_empty() {
        true => String::new(),
        false => format!(" Usage: {}", usage.join(", ")),
    };
    let mut text = format!("## {title}\n\n{}.{usage}\n\n", help.about);
    let mut elsewhere: Vec<String> = Vec::new();
    let mut own = String::new();
    for (title, entries) in &help.sections {
        if title == COMMANDS {
            continue;
        }
        for entry in entries {
            let (name, meaning) = option(entry);
            // Fault commands have a separate page.
            if !name.starts_with(['-', '<', '[']) {
                continue;
            }
            match shared.get(&name) {
                Some(known) if *known == meaning => {
                    let short = name.split([' ', '[', '=']).find(|w| w.starts_with("--"));
                    elsewhere.push(format!("`{}`", short.unwrap_or(&name)));
                }
                _ => own.push_str(&list_item(&name, &meaning)),
            }
        }
    }
    if own.is_empty() && elsewhere == ["`--json`"] {
        return String::new();
    }
    if !own.is_empty() {
        text.push_str(&format!("{own}\n"));
    }
    let real = ["`--yes`", "`--poll`"];
    if real.iter().all(|name| elsewhere.iter().any(|e| e == name)) {
        elsewhere.retain(|name| !REAL_TARGETS.contains(&name.trim_matches('`')));
        elsewhere.push("[real targets](#real-targets)".to_string());
    }
    if !elsewhere.is_empty() {
        text.push_str(&format!("Shared: {}.\n\n", elsewhere.join(", ")));
    }
    text
}

/// Options that all commands for real targets have.
const REAL_TARGETS: [&str; 7] = [
    "--destroy-data",
    "--yes",
    "--size",
    "--power",
    "--sync-files",
    "--engine",
    "--poll",
];

#[test]
fn options_are_those_of_the_program() {
    let folder = Folder::new("reference-options");
    let mut all = Vec::new();
    collect(&folder, &[], &mut all);
    let shared = shared(&all);
    let is_real = |name: &str| {
        let mut words = name.split([' ', '[', '=']);
        words.any(|word| REAL_TARGETS.contains(&word))
    };
    let items = |real: bool| -> String {
        let chosen = shared.iter().filter(|(name, _)| is_real(name) == real);
        chosen
            .map(|(name, meaning)| list_item(name, meaning))
            .collect()
    };
    let mut text = format!(
        "# Options\n\nGenerated from the program. `nandscope COMMAND --help` adds examples; [Commands](cli.md) lists the commands, also those that take only `--json`.\n\n## Shared options\n\n{}\n### Real targets\n\n{}\n",
        items(false),
        items(true)
    );
    let has_options = |help: &&Help| {
        let mut sections = help.sections.iter();
        sections.any(|(title, entries)| title != COMMANDS && !entries.is_empty())
    };
    for help in all.iter().filter(has_options) {
        text.push_str(&describe(help, &shared));
    }
    is_current("options.md", &format!("{}\n", text.trim_end()));
}

/// Types that few programs read: the schema describes them.
const IN_SCHEMA_ALONE: [&str; 5] = ["Curve", "DataTable", "LatencyStages", "Notice", "Published"];

/// The definition that a property refers to, as a link; nothing for a plain value.
fn reference(schema: &Value, types: &Value) -> String {
    if let Some(path) = schema["$ref"].as_str() {
        let name = path.rsplit('/').next().unwrap();
        return match small(&types[name]) {
            Some(fields) => fields.join(", "),
            None if IN_SCHEMA_ALONE.contains(&name) => format!("`{name}`"),
            None => format!("[{name}](#{})", name.to_lowercase()),
        };
    }
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    let mut links = choices
        .chain(schema.get("items"))
        .map(|s| reference(s, types));
    links.find(|link| !link.is_empty()).unwrap_or_default()
}

/// Fields of a type that are named where it is used, instead of in a section: few, of no other type, and without a list
/// of values.
fn small(definition: &Value) -> Option<Vec<String>> {
    const MOST: usize = 4;
    let fields = definition["properties"].as_object()?;
    let is_plain =
        |field: &Value| reference(field, &Value::Null).is_empty() && !cell(field).contains("`, `");
    let small = fields.len() <= MOST && fields.values().all(is_plain);
    small.then(|| fields.keys().map(|name| format!("`{name}`")).collect())
}

/// A description in one line, as the text of a cell.
fn cell(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace('\n', " ")
        .replace('|', "\\|")
        .replace("[`", "`")
        .replace("`]", "`")
}

fn fields(schema: &Value, types: &Value, out: &mut String) {
    let Some(properties) = schema["properties"].as_object() else {
        let choices = schema["enum"].as_array().or(schema["oneOf"].as_array());
        for choice in choices.into_iter().flatten() {
            let name = choice
                .as_str()
                .or(choice["const"].as_str())
                .unwrap_or_default();
            out.push_str(format!("- `{name}`: {}", cell(choice)).trim_end_matches(": "));
            out.push('\n');
        }
        return out.push('\n');
    };
    let mut plain = Vec::new();
    for (name, property) in properties {
        let link = reference(property, types);
        if link.is_empty() && says_its_name(&cell(property)) {
            plain.push(format!("`{name}`"));
            continue;
        }
        out.push_str(&format!("- `{name}`"));
        if !link.is_empty() {
            out.push_str(&format!(" ({link})"));
        }
        out.push_str(&format!(": {}\n", cell(property)));
    }
    if !plain.is_empty() {
        out.push_str(&format!("- {}\n", plain.join(", ")));
    }
    out.push('\n');
}

/// Whether a description says hardly more than the name, which the schema has as well.
fn says_its_name(description: &str) -> bool {
    description.split_whitespace().count() <= 4 && !description.contains('`')
}

#[test]
fn the_result_document_is_that_of_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/result.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut text = "# The result document\n\nGenerated from the schema, [result.schema.json](result.schema.json), which has every type and description. Every measurement \
        writes one such JSON document; reports, comparisons and the shelf read nothing else.\n\n## ResultDocument\n\n"
        .to_string();
    let types = &schema["$defs"];
    fields(&schema, types, &mut text);
    let sections = types.as_object().unwrap().iter();
    let is_shown = |name: &str| !IN_SCHEMA_ALONE.contains(&name);
    for (name, definition) in sections.filter(|(n, d)| is_shown(n) && small(d).is_none()) {
        text.push_str(&format!("## {name}\n\n{}\n\n", cell(definition)));
        fields(definition, types, &mut text);
    }
    is_current("result.md", &format!("{}\n", text.trim_end()));
}

/// A device and a suite whose quick review has the figures of that suite.
const REVIEWS: [(&str, &str); 7] = [
    ("sim:kingston-8gb", "card"),
    ("sim:kingston-8gb", "flashbench"),
    ("sim:kingston-8gb", "speed-class"),
    ("sim:kingston-8gb", "plain"),
    ("sim:plextor-m6e-256gb", "iometer"),
    ("sim:reference-nvme-64gb", "fill"),
    ("sim:sm2262en-2tb", "ssd"),
];

/// Figures whose identifiers differ in single segments: `cdm.{fresh,used}.{read,write}`.
#[derive(Clone, Debug)]
struct Family {
    segments: Vec<String>,
    title: String,
    unit: String,
}

impl Family {
    fn row(&self) -> String {
        let id = self.segments.join(".");
        format!("| `{id}` | {} | {} |\n", self.title, self.unit)
    }

    fn fits(&self, other: &Family, place: usize) -> bool {
        let is_same = |at: usize| at == place || self.segments[at] == other.segments[at];
        self.segments.len() == other.segments.len() && (0..self.segments.len()).all(is_same)
    }
}

/// Merges families that differ in one segment only, from the last segment to the first.
fn families(mut all: Vec<Family>) -> Vec<Family> {
    let longest = all.iter().map(|f| f.segments.len()).max().unwrap_or(0);
    for place in (0..longest).rev() {
        let mut rest = std::mem::take(&mut all);
        while !rest.is_empty() {
            let first = rest.remove(0);
            let fits = |f: &Family| place < first.segments.len() && first.fits(f, place);
            let (mut group, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(fits);
            rest = others;
            group.insert(0, first);
            group.sort_by_key(|f| {
                let segment = f.segments.get(place)?;
                let number = segment.trim_start_matches(|c: char| !c.is_ascii_digit());
                number.parse::<u64>().ok()
            });
            match joined(&group, place) {
                Some(family) => all.push(family),
                None => all.extend(group),
            }
        }
    }
    all
}

fn joined(group: &[Family], place: usize) -> Option<Family> {
    let first = group.first().filter(|_| group.len() > 1)?;
    let titles: Vec<Vec<&str>> = group.iter().map(|f| f.title.split(' ').collect()).collect();
    let shortest = titles.iter().map(Vec::len).min()?;
    let before = (0..shortest).take_while(|i| titles.iter().all(|t| t[*i] == titles[0][*i]));
    let before = before.count();
    let after = (0..shortest - before).take_while(|i| {
        titles
            .iter()
            .all(|t| t[t.len() - 1 - i] == titles[0][titles[0].len() - 1 - i])
    });
    let after = after.count();
    let middles: Vec<String> = titles
        .iter()
        .map(|t| t[before..t.len() - after].join(" "))
        .collect();
    if middles.iter().any(String::is_empty) {
        return None;
    }
    let comma = middles.iter().all(|m| m.ends_with(','));
    let plain: Vec<&str> = middles.iter().map(|m| m.trim_end_matches(',')).collect();
    let words = &titles[0];
    let mut title = words[..before].to_vec();
    let middle = listed(
        &plain,
        if plain.iter().any(|m| m.contains(' ')) {
            " / "
        } else {
            "/"
        },
    );
    let middle = if comma { format!("{middle},") } else { middle };
    title.push(&middle);
    title.extend(&words[words.len() - after..]);
    let unit = |f: &'_ Family| match f.unit.as_str() {
        "" => "–".to_string(),
        unit => unit.to_string(),
    };
    let mut units: Vec<String> = group.iter().map(unit).collect();
    units.dedup();
    let names: Vec<&str> = group.iter().map(|f| f.segments[place].as_str()).collect();
    let mut segments = first.segments.clone();
    segments[place] = format!("{{{}}}", listed(&names, ","));
    Some(Family {
        segments,
        title: title.join(" "),
        unit: units.join(", "),
    })
}

/// The items; of many, the first two and the last.
fn listed(items: &[&str], separator: &str) -> String {
    match items {
        [first, second, .., last] if items.len() > 12 => [first, second, "…", last].join(separator),
        _ => items.join(separator),
    }
}

#[test]
fn figures_of_a_family_share_a_row() {
    let of = |id: &str, title: &str| Family {
        segments: id.split('.').map(str::to_string).collect(),
        title: title.to_string(),
        unit: "MB/s".to_string(),
    };
    let mut all = Vec::new();
    for state in ["fresh", "used"] {
        for kind in ["read", "write"] {
            all.push(of(
                &format!("cdm.{state}.{kind}"),
                &format!("SEQ {kind}, {state}"),
            ));
        }
    }
    all.push(of("fill.low", "Fill, slowest"));
    let rows: String = families(all).iter().map(Family::row).collect();
    let expected = "| `cdm.{fresh,used}.{read,write}` | SEQ read/write, fresh/used | MB/s |\n\
        | `fill.low` | Fill, slowest | MB/s |\n";
    assert_eq!(rows, expected);
}

/// Titles and units of figures, by identifier.
type Titles = BTreeMap<String, (String, String)>;

#[test]
#[ignore = "slow: a quick review by every suite"]
fn slow_figures_are_those_of_quick_reviews() {
    let folder = Folder::new("reference-figures");
    let mut suites: Vec<(&str, Titles)> = Vec::new();
    for (device, suite) in REVIEWS {
        folder.run(&["review", device, "--suite", suite, "--quick", "-o", suite]);
        let result: Value =
            serde_json::from_str(&folder.read(&format!("{suite}/result.json"))).unwrap();
        let mut rows = BTreeMap::new();
        let steps = result["steps"].as_array().unwrap().iter();
        let all = steps.chain([&result]).map(|part| &part["figures"]);
        for figure in all.flat_map(|figures| figures.as_array().unwrap()) {
            let word = |key: &str| figure[key].as_str().unwrap_or_default();
            let mode = word("mode").to_lowercase().replace(' ', "-");
            let id = word("id");
            let id = id.strip_prefix(&format!("{mode}.")).unwrap_or(id);
            rows.insert(
                id.to_string(),
                (word("title").to_string(), word("unit").to_string()),
            );
        }
        suites.push((suite, rows));
    }
    let mut common = suites[0].1.clone();
    common.retain(|id, row| {
        suites[1..]
            .iter()
            .any(|(_, rows)| rows.get(id) == Some(row))
    });
    for (_, rows) in &mut suites {
        rows.retain(|id, _| !common.contains_key(id));
    }
    suites.insert(0, ("", common));
    let mut text = "# Figures\n\nGenerated from quick reviews of simulated devices. A figure is a number derived from a step, with an identifier in \
        the [result document](result.md). Braces list choices, as in a shell. With several modes, the mode precedes the identifier.\n\n"
        .to_string();
    for (suite, rows) in suites {
        let title = match suite {
            "" => "Several suites".to_string(),
            suite => format!("Suite `{suite}`"),
        };
        text.push_str(&format!(
            "## {title}\n\n| identifier | figure | unit |\n|---|---|---|\n"
        ));
        let all = rows.into_iter().map(|(id, (title, unit))| Family {
            segments: id.split('.').map(str::to_string).collect(),
            title,
            unit,
        });
        text.extend(families(all.collect()).iter().map(Family::row));
        text.push('\n');
    }
    is_current("figures.md", &format!("{}\n", text.trim_end()));
}
