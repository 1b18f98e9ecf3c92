//! The same numbers in other places.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Operation, Real, Shape, Signs, Told, View, equal, size};
use crate::words::{say, t};

/// Where a number is copied from; all counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Which input.
    pub input: u32,
    /// Its row.
    pub row: u32,
    /// Its column.
    pub column: u32,
}

impl Place {
    /// The same from sizes; what does not fit 32 bits lies outside every input.
    pub fn of(input: usize, row: usize, column: usize) -> Self {
        let narrow = |size: usize| u32::try_from(size).unwrap_or(u32::MAX);
        Self { input: narrow(input), row: narrow(row), column: narrow(column) }
    }
}

/// Copies numbers of its inputs to other places: a reshape where a transpose was due, heads in another order.
#[derive(Debug, Clone, PartialEq)]
pub struct Rearrange {
    /// The result's rows and columns.
    pub shape: Shape,
    /// Where each cell comes from, row by row.
    pub from: Arc<[Place]>,
    /// The right-hand side of the formula: `{0}` and `{1}` stand for the first and the second input's sign, `{*}` for
    /// all of them.
    pub said: &'static str,
}

impl Rearrange {
    /// `rows` × `columns` cells, of which (r, c) comes from `place(r, c)`. The caller has checked that so many fit.
    pub fn new(
        rows: usize,
        columns: usize,
        said: &'static str,
        place: impl Fn(usize, usize) -> Place,
    ) -> Self {
        let place = &place;
        let from = (0..rows).flat_map(|r| (0..columns).map(move |c| place(r, c))).collect();
        Self { shape: (rows, columns), from, said }
    }
}

/// All signs, or of more than four the first two and the last.
fn all(signs: &[String]) -> String {
    match signs {
        [first, second, .., last] if signs.len() > 4 => format!("{first}, {second}, …, {last}"),
        _ => signs.join(", "),
    }
}

impl Operation for Rearrange {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let (rows, columns) = self.shape;
        let cells =
            rows.checked_mul(columns).ok_or_else(|| format!("{rows} × {columns} cells are too many"))?;
        equal("cells and the places that they come from", cells, self.from.len())?;
        let is_inside = |place: &Place| {
            let within = |at: u32, size: usize| usize::try_from(at).is_ok_and(|at| at < size);
            let input = usize::try_from(place.input).ok().and_then(|input| inputs.get(input));
            input.is_some_and(|shape| within(place.row, shape.0) && within(place.column, shape.1))
        };
        match self.from.iter().find(|place| !is_inside(place)) {
            None => Ok(self.shape),
            Some(place) => Err(format!(
                "row {} and column {} of input {} are not there",
                u64::from(place.row) + 1,
                u64::from(place.column) + 1,
                u64::from(place.input) + 1
            )),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        let (rows, columns) = self.shape;
        DMatrix::from_fn(rows, columns, |r, c| {
            let place = self.from[r * columns + c];
            inputs[place.input as usize][(place.row as usize, place.column as usize)]
        })
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let mut right = say(self.said).replace("{*}", &all(&signs.inputs));
        for (at, sign) in signs.inputs.iter().enumerate().take(2) {
            right = right.replace(["{0}", "{1}"][at], sign);
        }
        let shapes = signs.facing_inputs();
        match shapes.as_slice() {
            [first, ..] if shapes.len() > 4 => {
                let mut formula = signs.formula(right, "", &[*first]);
                formula.sizes = t!("%{count} of %{sizes}", count = shapes.len(), sizes = formula.sizes);
                formula
            }
            _ => signs.formula(right, ", ", &shapes),
        }
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        let place = self.from[row * self.shape.1 + column];
        Expr::cell(place.input as usize, place.row as usize, place.column as usize)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let shape = match told.layout {
            super::Layout::Rows => self.shape,
            super::Layout::Columns => (self.shape.1, self.shape.0),
        };
        t!("%{size} numbers, copied to other places: nothing is computed.", size = size(shape))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::Layout;

    fn place(input: u32, row: u32, column: u32) -> Place {
        Place { input, row, column }
    }

    /// [[1, 2, 3], [4, 5, 6]] read row by row into three rows of two: 1 2 | 3 4 | 5 6, where a transpose has 1 4 | 2 5 |
    /// 3 6.
    #[test]
    fn a_reshape_is_no_transpose() {
        let x = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let reshape = Rearrange::new(3, 2, "reshape({0}, (3, 2))", |r, c| {
            let at = (2 * r + c) as u32;
            place(0, at / 3, at % 3)
        });
        assert_eq!(reshape.shape(&[(2, 3)]), Ok((3, 2)));
        let result = reshape.compute(&[x.as_view()], Arithmetic::Ordered);
        assert_eq!(result, DMatrix::from_row_slice(3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]));
        assert_eq!(reshape.explain(2, 1, &[x.as_view()]), Expr::cell(0, 1, 2));
    }

    #[test]
    fn several_inputs_are_drawn_from() {
        let (a, b) = (DMatrix::from_element(1, 1, 1.0), DMatrix::from_element(1, 1, 2.0));
        let swapped = Rearrange::new(1, 2, "[{1} | {0}]", |_, c| place(1 - c as u32, 0, 0));
        let result = swapped.compute(&[a.as_view(), b.as_view()], Arithmetic::Ordered);
        assert_eq!(result, DMatrix::from_row_slice(1, 2, &[2.0, 1.0]));
    }

    #[test]
    fn places_that_are_not_there_are_refused() {
        for wrong in [place(1, 0, 0), place(0, 2, 0), place(0, 0, 3), place(u32::MAX, u32::MAX, u32::MAX)] {
            let one = Rearrange::new(1, 1, "{0}", |_, _| wrong);
            assert!(one.shape(&[(2, 3)]).is_err(), "{wrong:?}");
        }
        assert!(Rearrange::new(1, 1, "{0}", |_, _| place(0, 1, 2)).shape(&[(2, 3)]).is_ok());
        for shape in [(1, 2), (2, 1), (usize::MAX, 2)] {
            let short = Rearrange { shape, from: [place(0, 0, 0)].into(), said: "{0}" };
            assert!(short.shape(&[(2, 3)]).is_err(), "{shape:?}");
        }
    }

    #[test]
    fn a_formula_names_all_inputs_or_the_ends_of_many() {
        let formula = |said, count: usize| {
            let inputs = (1..=count).map(|head| format!("H{head}")).collect();
            let signs = Signs {
                out: "C".to_owned(),
                inputs,
                out_shape: (1, 1),
                shapes: vec![(3, 2); count],
                layout: Layout::Rows,
            };
            Rearrange::new(1, 1, said, |_, _| place(0, 0, 0)).formula(&signs)
        };
        assert_eq!(formula("[{1} | {0}]", 2).equation, "C = [H2 | H1]");
        assert_eq!(formula("stack({*})", 4).equation, "C = stack(H1, H2, H3, H4)");
        let many = formula("stack({*})", 5);
        assert_eq!(many.equation, "C = stack(H1, H2, …, H5)");
        assert_eq!(many.sizes, "5 of 3×2 → 1×1");
    }
}
