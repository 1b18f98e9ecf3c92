//! What an operation takes, counted as a person would on paper.

/// Elementary operations of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cost {
    /// Multiplications of two numbers in matrix products.
    pub multiplications: u128,
    /// Multiplications elsewhere: gains, rotations, slopes, rescaling.
    pub other_multiplications: u128,
    /// Additions and subtractions.
    pub additions: u128,
    /// e^x of softmaxes.
    pub exponentials: u128,
    /// tanh, sin, cos, erf.
    pub other_functions: u128,
    /// Divisions (by √d_k too) and square roots.
    pub divisions: u128,
}

impl Cost {
    /// A product m × k · k × n: m·k·n multiplications, m·(k−1)·n additions.
    pub fn product(m: usize, k: usize, n: usize) -> Self {
        let [m, k, n] = [m, k, n].map(|size| size as u128);
        Self { multiplications: m * k * n, additions: m * k.saturating_sub(1) * n, ..Self::default() }
    }
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            multiplications: self.multiplications + other.multiplications,
            other_multiplications: self.other_multiplications + other.other_multiplications,
            additions: self.additions + other.additions,
            exponentials: self.exponentials + other.exponentials,
            other_functions: self.other_functions + other.other_functions,
            divisions: self.divisions + other.divisions,
        }
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |a, b| a + b)
    }
}
