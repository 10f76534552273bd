//! Names of the documents of a comparison: the title, and whatever distinguishes it from the others.

use nandscope_result::ResultDocument;
use std::collections::BTreeMap;

/// A name for each document; two have the same name only if no property in a name distinguishes them. A quick run among
/// whole runs is marked, because its figures are not comparable.
pub fn names(documents: &[&ResultDocument], modes: &[Option<String>]) -> Vec<String> {
    let quick = documents.iter().filter(|d| d.quick).count();
    let title = |document: &&ResultDocument| match document.quick {
        true if quick < documents.len() => format!("{}, quick run", document.title),
        _ => document.title.clone(),
    };
    let mut names: Vec<String> = documents.iter().map(title).collect();
    let parts: [&dyn Fn(usize) -> String; 7] = [
        &|i| modes.get(i).cloned().flatten().unwrap_or_default(),
        &|i| documents[i].target.name.clone(),
        &|i| documents[i].procedure.clone(),
        &|i| short_hash(documents[i]),
        &|i| format!("seed {}", documents[i].seed),
        &|i| documents[i].generator.clone(),
        &|i| documents[i].wall.started.clone().unwrap_or_default(),
    ];
    for part in parts {
        let mut same: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (i, name) in names.iter().enumerate() {
            same.entry(name).or_default().push(i);
        }
        let groups: Vec<Vec<usize>> = same.into_values().filter(|g| g.len() > 1).collect();
        for group in groups {
            let values: Vec<String> = group.iter().map(|i| part(*i)).collect();
            if values.iter().all(|v| *v == values[0]) {
                continue;
            }
            for (i, value) in group.into_iter().zip(values) {
                if !value.is_empty() {
                    names[i] = format!("{}, {value}", names[i]);
                }
            }
        }
    }
    names
}

/// The first digits of the hash of a simulated device's profile.
fn short_hash(document: &ResultDocument) -> String {
    let hash = document.target.profile_sha256.as_deref();
    hash.map_or(String::new(), |hash| {
        let digits: String = hash.chars().take(8).collect();
        format!("profile {digits}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_tells_documents_apart() {
        let document = |profile: &str, seed: u64| {
            let mut document = crate::blank::document();
            document.title = "Card".into();
            document.seed = seed;
            document.target.profile_sha256 = Some(profile.into());
            document
        };
        let (a, b, c) = (
            document("0123456789", 1),
            document("fedcba9876", 1),
            document("fedcba9876", 2),
        );
        assert_eq!(
            names(&[&a, &b, &c], &[None, None, None]),
            [
                "Card, profile 01234567",
                "Card, profile fedcba98, seed 1",
                "Card, profile fedcba98, seed 2"
            ]
        );
        assert_eq!(names(&[&a, &a], &[None, None]), ["Card", "Card"]);
        let mut other = a.clone();
        other.title = "Other".into();
        assert_eq!(names(&[&a, &other], &[None, None]), ["Card", "Other"]);
        let mut quick = a.clone();
        quick.quick = true;
        assert_eq!(
            names(&[&a, &quick], &[None, None]),
            ["Card", "Card, quick run"]
        );
        assert_eq!(names(&[&quick, &quick], &[None, None]), ["Card", "Card"]);
        let modes = [Some("UHS-I".to_string()), Some("SD".to_string())];
        assert_eq!(names(&[&a, &a], &modes), ["Card, UHS-I", "Card, SD"]);
    }
}
