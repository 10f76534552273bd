//! Substitutions that fio makes before it parses a value: environment variables, facts about the machine, files of
//! patterns.

use super::arithmetic::evaluate;
use super::data::with_files;
use super::error::Problem;
use super::surroundings::Surroundings;

/// The value after all substitutions; expressions with facts about the machine are computed.
pub(super) fn substitute(
    name: &str,
    text: &str,
    around: &dyn Surroundings,
) -> Result<String, Problem> {
    let text = variables(name, text, around)?;
    match name {
        "buffer_pattern" | "verify_pattern" => with_files(name, &text, around),
        _ => facts(name, &text, around),
    }
}

fn variables(name: &str, text: &str, around: &dyn Surroundings) -> Result<String, Problem> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((variable, tail)) = after.split_once('}') else {
            return Err(Problem::new(
                format!("`{name}={text}`: `${{` is not closed"),
                "write `${NAME}`",
            ));
        };
        let Some(value) = around.variable(variable) else {
            return Err(Problem::new(
                format!("`{name}={text}`: the environment variable `{variable}` is not set"),
                format!("set it (`{variable}=… nandscope …`), or write the value itself"),
            ));
        };
        out.push_str(before);
        out.push_str(&value);
        rest = tail;
    }
    out.push_str(rest);
    Ok(out)
}

fn facts(name: &str, text: &str, around: &dyn Surroundings) -> Result<String, Problem> {
    let words = ["$ncpus", "$mb_memory", "$pagesize"];
    if !words.iter().any(|word| text.contains(word)) {
        return Ok(text.to_string());
    }
    let Some(machine) = around.machine() else {
        return Err(Problem::new(
            format!("`{name}={text}`: there is no machine to ask here"),
            "write the number itself, so that the job means the same everywhere",
        ));
    };
    let text = text
        .replace("$ncpus", &machine.processors.to_string())
        .replace("$mb_memory", &machine.memory_mib.to_string())
        .replace("$pagesize", &machine.page_bytes.to_string());
    if !text.contains(['+', '-', '*', '/', '%', '^']) {
        return Ok(text);
    }
    let number = |token: &str| token.parse().ok();
    match evaluate(&text, &number) {
        Ok(value) => Ok(value.to_string()),
        // Not arithmetic: a list or a name.
        Err(_) => Ok(text),
    }
}
