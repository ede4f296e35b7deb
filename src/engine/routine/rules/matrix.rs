//! Which step reaches which: a square of bits that stays closed while edges are added.

/// A reachability relation over steps. A step doesn't reach itself unless a path says so.
#[derive(Debug, Clone)]
pub(in crate::engine::routine) struct Reach {
    words: usize,
    bits: Vec<u64>,
}

impl Reach {
    /// Nothing reaches anything.
    pub(in crate::engine::routine) fn of(steps: usize) -> Self {
        let words = steps.div_ceil(64);
        Self {
            words,
            bits: vec![0; words * steps],
        }
    }

    /// Whether there is a path from one step to another.
    pub(in crate::engine::routine) fn has(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] & 1 << (to % 64) != 0
    }

    /// Adds an edge and what follows from it. Each row changes at most once for each step that it
    /// gains, so building a whole relation stays near the square of its size.
    pub(in crate::engine::routine) fn add(&mut self, from: usize, to: usize) {
        if self.has(from, to) {
            return;
        }
        let steps = self.bits.len() / self.words.max(1);
        for row in 0..steps {
            if row == from || (self.has(row, from) && !self.has(row, to)) {
                self.follow(row, to);
            }
        }
    }

    /// Adds an edge where everything behind `to` is known and nothing lies before `from` yet.
    pub(in crate::engine::routine) fn follow(&mut self, from: usize, to: usize) {
        self.bits[from * self.words + to / 64] |= 1 << (to % 64);
        if from == to {
            return;
        }
        for word in 0..self.words {
            self.bits[from * self.words + word] |= self.bits[to * self.words + word];
        }
    }

    /// Every step that a step reaches, in file order.
    pub(in crate::engine::routine) fn row(&self, from: usize) -> impl Iterator<Item = usize> {
        let row = &self.bits[from * self.words..(from + 1) * self.words];
        row.iter().enumerate().flat_map(|(word, &bits)| {
            std::iter::successors((bits != 0).then_some(bits), |bits| {
                let rest = bits & (bits - 1);
                (rest != 0).then_some(rest)
            })
            .map(move |bits| word * 64 + bits.trailing_zeros() as usize)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_an_edge_closes_every_path_through_it() {
        let mut reach = Reach::of(130);
        reach.add(2, 129);
        reach.add(0, 1);
        reach.add(1, 2);
        assert!(reach.has(0, 129) && reach.has(1, 129) && !reach.has(129, 0));
        assert_eq!(reach.row(0).collect::<Vec<_>>(), [1, 2, 129]);
        assert_eq!(reach.row(129).count(), 0);
    }
}
