//! Each block of numbers by a block of the projection: what "split, then project" computes.

use nalgebra::DMatrix;

use super::project::{WITHOUT, add_bias, bias_cost, bias_fits, bias_sign, with_bias};
use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View, equal, product,
};
use crate::words::t;

/// A projection of which only the blocks on the diagonal count: inputs x (n × a), w (a × b), and perhaps a bias (1 × b);
/// gives n × b. Block i of the result is x[:, block i] · w[block i, block i].
///
/// Tokens that are cut into heads before the projection and not after it.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectBlocks {
    /// How many blocks; a and b are divisible by it.
    pub blocks: usize,
}

impl Operation for ProjectBlocks {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [x, w, bias @ ..] = inputs else { return Err(WITHOUT.to_owned()) };
        equal("columns of the input and rows of the projection", x.1, w.0)?;
        bias_fits(bias, w.1)?;
        if self.blocks == 0 || !w.0.is_multiple_of(self.blocks) || !w.1.is_multiple_of(self.blocks) {
            return Err(format!("{} × {} cannot be cut into {} equal blocks", w.0, w.1, self.blocks));
        }
        Ok((x.0, w.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let (x, w) = (inputs[0], inputs[1]);
        let (height, width) = (w.nrows() / self.blocks, w.ncols() / self.blocks);
        let mut result = DMatrix::zeros(x.nrows(), w.ncols());
        for block in 0..self.blocks {
            let own = w.view((block * height, block * width), (height, width));
            let part = product(x.columns(block * height, height), own, arithmetic);
            result.columns_mut(block * width, width).copy_from(&part);
        }
        add_bias(&mut result, inputs);
        result
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [x, w] = [&signs.inputs[0], &signs.inputs[1]];
        let blocks = match self.blocks {
            1 => t!("1 block on the diagonal"),
            blocks => t!("%{blocks} blocks on the diagonal", blocks),
        };
        let after = format!("{}, {blocks}", bias_sign(signs));
        let sizes = signs.facing_inputs();
        match signs.layout {
            Layout::Rows => signs.formula(format!("{x} blockdiag({w}){after}"), " · ", &[sizes[0], sizes[1]]),
            Layout::Columns => {
                signs.formula(format!("blockdiag({w}) {x}{after}"), " · ", &[sizes[1], sizes[0]])
            }
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let (height, width) = (inputs[1].nrows() / self.blocks, inputs[1].ncols() / self.blocks);
        let from = column / width * height;
        let term = |k| Expr::Product(vec![Expr::cell(0, row, k), Expr::cell(1, k, column)]);
        with_bias(Expr::Sum((from..from + height).map(term).collect()), column, inputs)
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [x, w, ..] = inputs else { return Cost::default() };
        let blocks = self.blocks.max(1);
        let one = |_| Cost::product(x.0, w.0 / blocks, w.1 / blocks);
        (0..blocks).map(one).sum::<Cost>() + bias_cost(inputs, (x.0, w.1))
    }

    fn tell(&self, _: &Told<'_>) -> String {
        t!(
            "Each of %{blocks} parts of a token sees its own block of the matrix only: what stands off the diagonal is \
             never used.",
            blocks = self.blocks
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (1 2) in two blocks of one column: 1·3 and 2·6; the 4 and the 5 off the diagonal count for nothing.
    #[test]
    fn only_blocks_on_the_diagonal_count() {
        let x = DMatrix::from_row_slice(1, 2, &[1.0, 2.0]);
        let w = DMatrix::from_row_slice(2, 2, &[3.0, 4.0, 5.0, 6.0]);
        let two = ProjectBlocks { blocks: 2 };
        let result = two.compute(&[x.as_view(), w.as_view()], Arithmetic::Ordered);
        assert_eq!(result, DMatrix::from_row_slice(1, 2, &[3.0, 12.0]));
    }

    /// Blocks that are not square, with a bias: (1 2 | 3 4) by blocks 2 × 1, (5 6)ᵀ and (7 8)ᵀ:
    /// 1·5 + 2·6 + 100 = 117 and 3·7 + 4·8 + 200 = 253.
    #[test]
    fn blocks_may_be_taller_than_wide() {
        let x = DMatrix::from_row_slice(1, 4, &[1.0, 2.0, 3.0, 4.0]);
        let w = DMatrix::from_row_slice(4, 2, &[5.0, 9.0, 6.0, 9.0, 9.0, 7.0, 9.0, 8.0]);
        let b = DMatrix::from_row_slice(1, 2, &[100.0, 200.0]);
        let two = ProjectBlocks { blocks: 2 };
        let result = two.compute(&[x.as_view(), w.as_view(), b.as_view()], Arithmetic::Ordered);
        assert_eq!(result, DMatrix::from_row_slice(1, 2, &[117.0, 253.0]));
    }

    #[test]
    fn blocks_that_do_not_divide_are_refused() {
        for blocks in [0, 2, 4] {
            assert!(ProjectBlocks { blocks }.shape(&[(1, 3), (3, 4)]).is_err(), "{blocks}");
        }
        assert_eq!(ProjectBlocks { blocks: 3 }.shape(&[(2, 3), (3, 6), (1, 6)]), Ok((2, 6)));
    }
}
