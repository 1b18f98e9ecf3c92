//! How far two matrices of hidden states are apart, token by token.

use nalgebra::DMatrix;

use crate::ops::Real;

/// How far a matrix (tokens × features) has moved. Over all tokens, sizes are root mean squares of the tokens' norms.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// One a token.
    pub tokens: Vec<Moved>,
    /// All of them together; its cosine is the mean of the tokens'.
    pub all: Moved,
}

/// How far one row has moved, or all of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moved {
    /// ‖before‖
    pub before: f64,
    /// ‖after − before‖
    pub change: f64,
    /// The cosine of the angle between before and after; `None` where one of them is all zero.
    pub cosine: Option<f64>,
}

impl Moved {
    /// ‖after − before‖ / ‖before‖; `None` where there was nothing before.
    pub fn relative(&self) -> Option<f64> {
        if self.change == 0.0 {
            return Some(0.0);
        }
        (self.before != 0.0).then(|| self.change / self.before)
    }
}

impl Change {
    /// From one matrix to another of its shape; sums are those of f64.
    pub fn of<T: Real>(before: &DMatrix<T>, after: &DMatrix<T>) -> Self {
        let tokens: Vec<Moved> = (0..before.nrows()).map(|row| moved(before, after, row)).collect();
        let cosines: Vec<f64> = tokens.iter().filter_map(|token| token.cosine).collect();
        let all = Moved {
            before: root_mean_square(tokens.iter().map(|token| token.before)),
            change: root_mean_square(tokens.iter().map(|token| token.change)),
            cosine: (!cosines.is_empty()).then(|| cosines.iter().sum::<f64>() / cosines.len() as f64),
        };
        Self { tokens, all }
    }
}

fn moved<T: Real>(before: &DMatrix<T>, after: &DMatrix<T>, row: usize) -> Moved {
    let (mut of_before, mut of_after, mut both, mut change) = (0.0, 0.0, 0.0, 0.0);
    let mut equal = true;
    for (b, a) in before.row(row).iter().zip(after.row(row).iter()) {
        let (b, a) = (b.value(), a.value());
        of_before += b * b;
        of_after += a * a;
        both += b * a;
        change += (a - b) * (a - b);
        equal &= a == b;
    }
    let cosine = match (of_before, of_after) {
        (b, a) if b == 0.0 || a == 0.0 => None,
        _ if equal => Some(1.0),
        (b, a) => Some((both / (b.sqrt() * a.sqrt())).clamp(-1.0, 1.0)),
    };
    Moved { before: of_before.sqrt(), change: change.sqrt(), cosine }
}

/// √(mean of squares); 0 of nothing.
pub(super) fn root_mean_square(norms: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = norms.len().max(1) as f64;
    (norms.map(|norm| norm * norm).sum::<f64>() / count).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (3, 4) turns into (4, 3): ‖(1, −1)‖ = √2 of 5, and the cosine is 24/25. (0, 2) stays. (0, 0) has no direction.
    #[test]
    fn rows_are_compared_one_by_one_and_together() {
        let before = DMatrix::from_row_slice(3, 2, &[3.0, 4.0, 0.0, 2.0, 0.0, 0.0]);
        let after = DMatrix::from_row_slice(3, 2, &[4.0, 3.0, 0.0, 2.0, 1.0, 0.0]);
        let change = Change::of(&before, &after);
        assert_eq!(change.tokens[0], Moved { before: 5.0, change: 2f64.sqrt(), cosine: Some(0.96) });
        assert_eq!(change.tokens[1].relative(), Some(0.0));
        assert_eq!(change.tokens[1].cosine, Some(1.0));
        assert_eq!((change.tokens[2].relative(), change.tokens[2].cosine), (None, None));
        // √((2 + 0 + 1) / 3) = 1, and the cosine is the mean of 0.96 and 1.
        assert!((change.all.change - 1.0).abs() < 1e-15);
        assert!((change.all.cosine.unwrap() - 0.98).abs() < 1e-15);
    }
}
