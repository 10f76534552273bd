//! Tasks of this project that no user needs: `cargo xtask TASK`.

mod cards;

use anyhow::{Context as _, bail};
use std::path::Path;

const HELP: &str = "\
cargo xtask cards            write docs/cards.md: simulated cards beside recorded flashbench runs
cargo xtask cards --check    fail if docs/cards.md is out of date";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["cards"] => cards_page(false),
        ["cards", "--check"] => cards_page(true),
        _ => bail!("unknown task `{}`; the tasks are\n{HELP}", words.join(" ")),
    }
}

/// The root of the project.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

fn cards_page(check: bool) -> anyhow::Result<()> {
    let compared = cards::compared(&root().join("facts"))?;
    let page = cards::page(&compared);
    let path = root().join("docs/cards.md");
    if !check {
        std::fs::write(&path, page).with_context(|| path.display().to_string())?;
    } else if std::fs::read_to_string(&path)? != page {
        bail!("{} is out of date; run `cargo xtask cards`", path.display());
    }
    if let Some(card) = cards::unexplained(&compared).first() {
        bail!(
            "facts/cards.toml: {} misses its record without a stated reason, or states one and misses nothing",
            card.profile
        );
    }
    Ok(())
}
