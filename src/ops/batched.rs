//! One operation over all heads at once.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Op, Operation, Real, Shape, Signs, Told, View};
use crate::words::t;

/// The same operation on every sheet of its stacked inputs, as a batched product does (torch.bmm).
///
/// Inputs are stacks (heads, rows, columns), one above the other; an input with fewer sheets than heads is shared
/// (grouped-query attention): head i reads sheet ⌊i · sheets / heads⌋.
#[derive(Debug, Clone, PartialEq)]
pub struct Batched {
    /// One a head: they differ where heads do (ALiBi's slopes, sinks, masks of one head).
    pub ops: Vec<Op>,
    /// How many sheets each input has.
    pub sheets: Vec<usize>,
}

impl Batched {
    /// The shape of one sheet of each input.
    fn sheet_shapes(&self, inputs: &[Shape]) -> Vec<Shape> {
        inputs.iter().zip(&self.sheets).map(|(shape, sheets)| (shape.0 / (*sheets).max(1), shape.1)).collect()
    }

    /// The sheet of input `input` that head `head` reads.
    fn sheet(&self, head: usize, input: usize) -> usize {
        head * self.sheets[input] / self.ops.len()
    }

    /// What head `head` reads of each input.
    fn sheets_of<'a, T: Real>(&self, head: usize, inputs: &'a [View<'_, T>]) -> Vec<View<'a, T>> {
        let of = |(index, input): (usize, &'a View<'_, T>)| {
            let rows = input.nrows() / self.sheets[index];
            input.rows(self.sheet(head, index) * rows, rows)
        };
        inputs.iter().enumerate().map(of).collect()
    }
}

impl Operation for Batched {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let heads = self.ops.len();
        for (shape, sheets) in inputs.iter().zip(&self.sheets) {
            if *sheets == 0 || !shape.0.is_multiple_of(*sheets) || !heads.is_multiple_of(*sheets) {
                return Err(format!("{} rows are no stack of {sheets} for {heads} heads", shape.0));
            }
        }
        let one = self.ops.first().ok_or("no heads")?.shape(&self.sheet_shapes(inputs))?;
        Ok((one.0 * heads, one.1))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let sheets: Vec<DMatrix<T>> = (0..self.ops.len())
            .map(|head| self.ops[head].compute(&self.sheets_of(head, inputs), arithmetic))
            .collect();
        let (rows, columns) = sheets.first().map_or((0, 0), DMatrix::shape);
        let mut stack = DMatrix::zeros(rows * sheets.len(), columns);
        for (head, sheet) in sheets.iter().enumerate() {
            stack.rows_mut(head * rows, rows).copy_from(sheet);
        }
        stack
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let heads = self.ops.len().max(1);
        let inner = Signs {
            shapes: self.sheet_shapes(&signs.shapes),
            out_shape: (signs.out_shape.0 / heads, signs.out_shape.1),
            ..signs.clone()
        };
        let mut formula = self.ops.first().map_or_else(
            || Formula { equation: String::new(), sizes: String::new() },
            |op| op.formula(&inner),
        );
        // Heads may differ in a slope, a sink or a mask; the formula can show one.
        if self.ops.windows(2).any(|pair| pair[0] != pair[1]) {
            formula.equation.push_str(&t!(" (head 1's; each head has its own)"));
        }
        formula.sizes = t!("%{heads} at once: %{sizes}", heads, sizes = formula.sizes);
        if let Some(shared) = self.sheets.iter().find(|sheets| **sheets < heads && **sheets > 0) {
            let each = heads / shared;
            formula.sizes.push_str(&match shared {
                1 => t!(" (the one key/value sheet is read by %{each} heads)", each),
                _ => t!(" (each of %{shared} key/value sheets is read by %{each} heads)", shared, each),
            });
        }
        formula
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let shapes: Vec<Shape> =
            self.sheet_shapes(&inputs.iter().map(|input| input.shape()).collect::<Vec<_>>());
        let height = self.ops.first().and_then(|op| op.shape(&shapes).ok()).map_or(1, |shape| shape.0.max(1));
        let head = row / height;
        self.ops[head].explain(row % height, column, &self.sheets_of(head, inputs)).with_cells(
            &|input, row, column| Expr::cell(input, self.sheet(head, input) * shapes[input].0 + row, column),
        )
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let shapes = self.sheet_shapes(inputs);
        self.ops.iter().map(|op| op.cost(&shapes)).sum()
    }

    fn tell(&self, _: &Told<'_>) -> String {
        match self.ops.len() {
            1 => t!("One head, in one call."),
            heads => t!("All %{heads} heads in one call; no head knows of another.", heads),
        }
    }
}
