//! Did you mean: the known word that is nearest to an unknown one.

/// The nearest of some words, if one is near enough to be meant; of several as near the first in
/// the alphabet, so that the order in which they are known says nothing.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    let allowed = 1 + plain.len() / 4;
    known
        .into_iter()
        .filter_map(|candidate| {
            let known = self::plain(candidate);
            if plain.len() >= BEGINNING && known.starts_with(&plain) {
                // The beginning of a longer word: meant, but anything nearer is meant more.
                return Some((allowed, candidate));
            }
            let comparable = candidate.len().abs_diff(word.len()) <= allowed + 2;
            comparable.then(|| (distance(&plain, &known), candidate))
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
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

/// Pairs of characters that are compared to tell how near two words are, and about a hundred for
/// looking at them at all.
pub(in crate::engine::routine) fn effort(one: &str, other: &str) -> usize {
    100 + one.len().min(LOOKED_AT) * other.len().min(LOOKED_AT)
}

/// From so many characters on the beginning of a word stands for the word.
const BEGINNING: usize = 4;
/// Characters of a word that are looked at.
const LOOKED_AT: usize = 64;

/// Case, hyphens and underscores are what people mix up first.
fn plain(word: &str) -> Vec<char> {
    word.chars()
        .filter(|c| *c != '_' && *c != '-')
        .flat_map(char::to_lowercase)
        .take(LOOKED_AT)
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

    #[test]
    fn the_beginning_of_a_longer_word_means_it_unless_another_is_nearer() {
        let known = ["handoff_instructions", "handoff_schema", "purpose"];
        assert_eq!(nearest("handoff", known), Some("handoff_instructions"));
        assert_eq!(nearest("hand", ["handoff", "band"]), Some("band"));
        assert_eq!(nearest("pur", known), None);
    }

    #[test]
    fn of_words_as_near_the_same_one_is_meant_whatever_their_order() {
        assert_eq!(nearest("oolk", ["look", "talk"]), Some("look"));
        assert_eq!(nearest("oolk", ["talk", "look"]), Some("look"));
    }
}
