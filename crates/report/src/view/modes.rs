//! The modes of a document.

use nandscope_result::ResultDocument;

/// Modes in the document's order, followed by undeclared modes of steps.
pub fn modes(document: &ResultDocument) -> Vec<Option<String>> {
    let mut modes: Vec<Option<String>> = Vec::new();
    let declared = document.target.modes.iter().map(|m| Some(m.name.clone()));
    let used = document.steps.iter().map(|s| s.mode.clone());
    for mode in declared.chain(used) {
        let ran = document.steps.iter().any(|s| s.mode == mode);
        if ran && !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}
