//! The one source of chance: a seeded splitmix64, so that a seed tells the same story everywhere.

/// Seeded chance.
pub(in crate::engine::operation::tests) struct Chance(u64);

impl Chance {
    pub(in crate::engine::operation::tests) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub(in crate::engine::operation::tests) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub(in crate::engine::operation::tests) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of several, where there are any.
    pub(in crate::engine::operation::tests) fn pick<'a, T>(
        &mut self,
        items: &'a [T],
    ) -> Option<&'a T> {
        match items.len() {
            0 => None,
            len => Some(&items[self.below(len)]),
        }
    }

    /// One of several words.
    pub(in crate::engine::operation::tests) fn word(
        &mut self,
        words: &[&'static str],
    ) -> &'static str {
        self.pick(words).copied().unwrap_or_default()
    }

    /// An index, as often as its weight says.
    pub(in crate::engine::operation::tests) fn weighed(&mut self, weights: &[usize]) -> usize {
        let mut left = self.below(weights.iter().sum::<usize>().max(1));
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        0
    }
}
