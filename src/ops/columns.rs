//! The columns that belong to one head.

use nalgebra::DMatrix;

use super::{Arithmetic, Cost, Expr, Formula, Layout, Operation, Real, Shape, Signs, Told, View};
use crate::plan::{HeadStep, Name};

/// A block of columns of its input, not copied: head i owns columns i·d_k to (i+1)·d_k.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// The first column, from 0.
    pub from: usize,
    /// How many.
    pub width: usize,
}

impl Operation for Columns {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        match inputs {
            [(rows, columns)] if self.from + self.width <= *columns => Ok((*rows, self.width)),
            [(_, columns)] => {
                Err(format!("columns {} to {} of {columns}", self.from + 1, self.from + self.width))
            }
            _ => Err("a block of columns is taken from one matrix".to_owned()),
        }
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], _: Arithmetic) -> DMatrix<T> {
        inputs[0].columns(self.from, self.width).into_owned()
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let whole = &signs.inputs[0];
        let block = match self.width {
            1 => format!("{}", self.from + 1),
            width => format!("{}…{}", self.from + 1, self.from + width),
        };
        let block = match signs.layout {
            Layout::Rows => format!("{whole}[:, {block}]"),
            Layout::Columns => format!("{whole}[{block}, :]"),
        };
        signs.formula(block, "", &signs.facing_inputs())
    }

    fn explain(&self, row: usize, column: usize, _: &[View<'_, f64>]) -> Expr {
        Expr::cell(0, row, self.from + column)
    }

    fn cost(&self, _: &[Shape]) -> Cost {
        Cost::default()
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let lines = match told.layout {
            Layout::Rows => "columns",
            Layout::Columns => "rows",
        };
        let (from, to) = (self.from + 1, self.from + self.width);
        let block = if from == to {
            format!("{} {from}", &lines[..lines.len() - 1])
        } else {
            format!("{lines} {from} to {to}")
        };
        let own = told.value.iter().all(|v| *v == 0.0);
        let nothing = if own { " All zero: this head sees nothing of these tokens." } else { "" };
        let blank =
            (!own).then(|| (0..told.value.nrows()).find(|r| told.value.row(*r).iter().all(|v| *v == 0.0)));
        let zero = match (blank.flatten(), told.id.name) {
            (Some(r), Name::Head(..)) if told.value.nrows() > 1 => {
                format!(" Token {} is the zero vector here.", told.rows.get(r).map_or("", String::as_str))
            }
            _ => String::new(),
        };
        match told.id.name {
            Name::Head(head, HeadStep::Q) => format!("Head {} owns {block} of Q.{nothing}{zero}", head.0 + 1),
            Name::Head(head, step) => {
                let sign = if step == HeadStep::K { 'K' } else { 'V' };
                format!("Head {} reads {block} of {sign}.{nothing}{zero}", head.0 + 1)
            }
            _ => format!("A view of {block}: nothing is copied."),
        }
    }
}
