//! The known word nearest to an unknown one.

/// Finds the word that was probably meant, if one is near enough.
pub(super) fn nearest<'a>(unknown: &str, known: &[&'a str]) -> Option<&'a str> {
    // Two characters that changed places are two changes.
    let tolerance = (unknown.chars().count() / 3).max(2);
    known
        .iter()
        .map(|word| (distance(unknown, word), *word))
        .filter(|(distance, _)| *distance <= tolerance)
        .min()
        .map(|(_, word)| word)
}

/// How many characters must be added, taken away or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let known = ["model", "permissions", "limits"];
        assert_eq!(nearest("modle", &known), Some("model"));
        assert_eq!(nearest("permission", &known), Some("permissions"));
        assert_eq!(nearest("colour", &known), None);
        assert_eq!(nearest("", &known), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
