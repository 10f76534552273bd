//! Writes the demonstration report into a folder: `cargo run --example demo-report -- DIR`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = std::env::args()
        .nth(1)
        .ok_or("give the folder to write to")?;
    let document = fixture::document();
    let written = nandscope_report::write_all(&document, std::path::Path::new(&dir))?;
    print!(
        "{}",
        nandscope_report::terminal::summary(&document, &[], &Default::default())
    );
    println!("{} files in {dir}", written.len());
    Ok(())
}
