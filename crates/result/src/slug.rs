/// Text as a part of an identifier of steps and figures, such as the name of a mode: ASCII letters in lower case and
/// digits; any other characters between them become one hyphen.
#[must_use]
pub fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_become_single_hyphens() {
        assert_eq!(slug("UHS-I, SR2 (µSD) "), "uhs-i-sr2-sd");
        assert_eq!(slug("…"), "");
    }
}
