//! The choices behind a line: drawn from a seed, and kept, so that a line can be made again and made smaller.

/// Numbers that decide how a line is written. Where they end, every choice is the simplest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Choices(pub(crate) Vec<u32>);

/// Hands out choices.
pub(crate) struct Chooser {
    kept: Vec<u32>,
    at: usize,
    random: Option<Random>,
}

impl Chooser {
    /// Draws from a seed.
    pub(crate) fn drawing(seed: u64) -> Self {
        Self { kept: Vec::new(), at: 0, random: Some(Random::new(seed)) }
    }

    /// Repeats choices.
    pub(crate) fn repeating(choices: &Choices) -> Self {
        Self { kept: choices.0.clone(), at: 0, random: None }
    }

    /// A number below a bound; nought is the simplest.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        let chosen = match &mut self.random {
            Some(random) => {
                let chosen = random.next() % bound;
                self.kept.push(chosen);
                chosen
            }
            None => self.kept.get(self.at).map_or(0, |kept| kept % bound),
        };
        self.at += 1;
        chosen
    }

    /// What was chosen.
    pub(crate) fn choices(mut self) -> Choices {
        self.kept.truncate(self.at);
        Choices(self.kept)
    }
}

impl Choices {
    /// Simpler ones: without a part, or with a part at its simplest.
    pub(crate) fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        let mut size = self.0.len().div_ceil(2);
        while size > 0 {
            for start in (0..self.0.len()).step_by(size) {
                let end = (start + size).min(self.0.len());
                let (before, after) = (&self.0[..start], &self.0[end..]);
                all.push(Self([before, after].concat()));
                if self.0[start..end].iter().any(|choice| *choice > 0) {
                    let simplest = vec![0; end - start];
                    all.push(Self([before, &simplest, after].concat()));
                }
            }
            size /= 2;
        }
        all
    }
}

/// The xorshift64* generator: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Neighbouring seeds are spread out, and nought is avoided.
        Self(seed.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        u32::try_from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 32).unwrap()
    }
}
