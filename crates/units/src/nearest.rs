//! The spelling that was meant.

/// The names that differ from `word` in at most `edits` letters, nearest first; equally near names keep their order.
/// Two swapped neighbouring letters count as one edit.
pub fn nearest<'a>(
    word: &str,
    names: impl IntoIterator<Item = &'a str>,
    edits: usize,
) -> Vec<&'a str> {
    let distances = names
        .into_iter()
        .map(|name| (strsim::osa_distance(word, name), name));
    let mut near: Vec<(usize, &str)> = distances
        .filter(|(distance, _)| *distance <= edits)
        .collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_comes_first_and_far_ones_do_not_come() {
        let names = ["bsrange", "rw", "bs", "ba"];
        assert_eq!(nearest("wr", names, 1), ["rw"]);
        assert_eq!(nearest("bs", names, 1), ["bs", "ba"]);
        assert_eq!(nearest("iodepth", names, 3), [""; 0]);
    }
}
