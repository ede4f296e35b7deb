//! Did you mean: the known word that is nearest to an unknown one.

/// The nearest of some words, if one is near enough to be meant.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    let allowed = 1 + plain.len() / 4;
    known
        .into_iter()
        .filter(|candidate| candidate.len().abs_diff(word.len()) <= allowed + 2)
        .map(|candidate| (distance(&plain, &self::plain(candidate)), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean X?` or nothing.
pub(in crate::engine::routine) fn hint<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> String {
    match nearest(word, known) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => String::new(),
    }
}

/// Case, hyphens and underscores are what people mix up first.
fn plain(word: &str) -> Vec<char> {
    word.chars()
        .filter(|c| *c != '_' && *c != '-')
        .flat_map(char::to_lowercase)
        .take(64)
        .collect()
}

fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let known = ["instructions", "max_attempts", "from", "to"];
        assert_eq!(nearest("instuctions", known), Some("instructions"));
        assert_eq!(nearest("maxAttempts", known), Some("max_attempts"));
        assert_eq!(nearest("form", known), Some("from"));
        assert_eq!(nearest("colour", known), None);
    }
}
