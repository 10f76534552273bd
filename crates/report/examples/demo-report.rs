//! Writes the demonstration report into a folder: `cargo run --example demo-report -- DIR`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args()
        .nth(1)
        .ok_or("give the folder to write to")?;
    std::fs::create_dir_all(&dir)?;
    let document = fixture::document();
    std::fs::write(
        format!("{dir}/report.html"),
        nandscope_report::html::render(&document)?,
    )?;
    Ok(())
}
