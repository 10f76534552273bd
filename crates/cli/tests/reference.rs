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
        "docs/{page} is out of date; run `UPDATE=1 cargo test -p nandscope reference`"
    );
}

/// The help of a command and of those below it, each under a heading.
fn describe(folder: &Folder, words: &[&str], out: &mut String) {
    let mut line = words.to_vec();
    line.push("--help");
    let mut command = folder.command(&line);
    command
        .env_remove("COLUMNS")
        .stdin(std::process::Stdio::null());
    let help = String::from_utf8(command.output().unwrap().stdout).unwrap();
    if !words.is_empty() {
        let text: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
        let title = words.join(" ");
        out.push_str(&format!(
            "## {title}\n\n```text\n{}\n```\n\n",
            text.join("\n")
        ));
    }
    let Some(below) = help.split("Commands:\n").nth(1) else {
        return;
    };
    for line in below.lines().take_while(|l| !l.is_empty()) {
        let is_name = line.starts_with("  ") && !line.starts_with("   ");
        let name = line.split_whitespace().next().filter(|_| is_name);
        if let Some(name) = name.filter(|name| words.is_empty() || *name != "help") {
            describe(folder, &[words, &[name]].concat(), out);
        }
    }
}

#[test]
fn options_are_those_of_the_program() {
    let folder = Folder::new("reference-options");
    let mut text = "# Options\n\nGenerated from the program: `nandscope COMMAND --help` of every command. [Commands](cli.md) explains them.\n\n"
        .to_string();
    describe(&folder, &[], &mut text);
    is_current("options.md", &format!("{}\n", text.trim_end()));
}

/// The type of a property in a few words.
fn kind(schema: &Value) -> String {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().unwrap();
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let kinds: Vec<String> = choices.iter().map(kind).collect();
        return kinds.join(" or ");
    }
    match &schema["type"] {
        Value::Array(kinds) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            kinds.join(" or ")
        }
        Value::String(name) if name == "array" => format!("list of {}", kind(&schema["items"])),
        Value::String(name) => name.clone(),
        _ => "any".to_string(),
    }
}

/// A description in one line, as the text of a cell.
fn cell(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.replace('\n', " ")
        .replace('|', "\\|")
        .replace("[`", "`")
        .replace("`]", "`")
}

fn fields(schema: &Value, out: &mut String) {
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
    out.push_str("| field | type | meaning |\n|---|---|---|\n");
    for (name, property) in properties {
        out.push_str(&format!(
            "| `{name}` | {} | {} |\n",
            kind(property),
            cell(property)
        ));
    }
    out.push('\n');
}

#[test]
fn the_result_document_is_that_of_the_schema() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/result.schema.json");
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut text = "# The result document\n\nGenerated from the schema, [result.schema.json](result.schema.json). Every measurement writes one such \
        JSON document; reports, comparisons and the shelf read nothing else.\n\n## ResultDocument\n\n"
        .to_string();
    fields(&schema, &mut text);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        text.push_str(&format!("## {name}\n\n{}\n\n", cell(definition)));
        fields(definition, &mut text);
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

#[test]
fn figures_are_those_of_quick_reviews() {
    let folder = Folder::new("reference-figures");
    let mut text = "# Figures\n\nGenerated from quick reviews of simulated devices. A figure is a number that follows from a step; programs find it under \
        its identifier in the [result document](result.md). Modes begin the identifier where a device has several; they are left out here.\n\n"
        .to_string();
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
            let row = format!("| `{id}` | {} | {} |\n", word("title"), word("unit"));
            rows.insert(id.to_string(), row);
        }
        text.push_str(&format!(
            "## Suite `{suite}`\n\n| identifier | figure | unit |\n|---|---|---|\n"
        ));
        text.extend(rows.into_values());
        text.push('\n');
    }
    is_current("figures.md", &format!("{}\n", text.trim_end()));
}
