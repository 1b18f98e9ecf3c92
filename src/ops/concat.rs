//! Matrices side by side.

use nalgebra::DMatrix;

use super::{
    Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Role, Shape, Signs, Told, View, equal,
};
use crate::words::t;

/// Its inputs side by side: n × a, n × b, … give n × (a + b + …).
///
/// Vaswani et al. 2017, §3.2.2: Concat(head₁, …, head_h); also the packing of [W_Q | W_K | W_V].
#[derive(Debug, Clone, PartialEq)]
pub struct Concat;

impl Operation for Concat {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [first, rest @ ..] = inputs else {
            return Err("there is nothing to lay side by side".to_owned());
        };
        for shape in rest {
            equal("rows of what is laid side by side", first.0, shape.0)?;
        }
        Ok((first.0, inputs.iter().map(|shape| shape.1).sum()))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let rows = inputs.first().map_or(0, |input| input.nrows());
        let columns = inputs.iter().map(|input| input.ncols()).sum();
        let mut whole = Vec::with_capacity(rows * columns);
        for column in inputs.iter().flat_map(|input| input.column_iter()) {
            whole.extend_from_slice(column.as_slice());
        }
        DMatrix::from_vec(rows, columns, whole)
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let (join, sizes) = match signs.layout {
            Layout::Rows => (" | ", " | "),
            Layout::Columns => (" ; ", " ; "),
        };
        let many = signs.inputs.len() > 4;
        let parts = |all: Vec<String>| match all.as_slice() {
            [first, second, .., last] if many => [first, second, "…", last].join(join),
            _ => all.join(join),
        };
        let shapes: Vec<String> = signs.facing_inputs().into_iter().map(super::size).collect();
        let shapes = if many {
            t!("%{count} of %{sizes}", count = shapes.len(), sizes = shapes[0])
        } else {
            shapes.join(sizes)
        };
        Formula {
            equation: format!("{} = [{}]", signs.out, parts(signs.inputs.clone())),
            sizes: format!("{shapes} → {}", super::size(signs.facing(signs.out_shape))),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let mut from = 0;
        for (input, view) in inputs.iter().enumerate() {
            if column < from + view.ncols() {
                return Expr::cell(input, row, column - from);
            }
            from += view.ncols();
        }
        Expr::Number(f64::NAN)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        match (told.role, told.inputs.len()) {
            (Role::Concat, 1) => t!("One head only: there is nothing to lay beside it."),
            (Role::Concat, heads) => match told.layout {
                Layout::Rows => {
                    t!("The %{heads} heads' outputs side by side: nothing is mixed yet.", heads)
                }
                Layout::Columns => {
                    t!("The %{heads} heads' outputs one above the other: nothing is mixed yet.", heads)
                }
            },
            _ => t!("Packed into one matrix, so that one product does for all."),
        }
    }
}
