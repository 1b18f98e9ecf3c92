//! Q · Kᵀ · scale.

use nalgebra::DMatrix;

use super::told::constant;
use super::{
    Arithmetic, Cost, Expr, Formula, Function, Layout, Operation, Real, Shape, Signs, Told, View, dot, equal,
    product, times,
};
use crate::words::t;

/// What scores are multiplied by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Scale {
    /// 1/√d_k (Vaswani et al. 2017, §3.2.1).
    RootOfDk,
    /// A number of the lesson's own.
    Given(f64),
}

impl Scale {
    /// The factor as a number, for queries of width d_k.
    pub fn value(self, d_k: usize) -> f64 {
        match self {
            Self::RootOfDk => 1.0 / (d_k as f64).sqrt(),
            Self::Given(scale) => scale,
        }
    }

    /// As it follows what it scales: ` / √d_k`, ` · 0.5`, or nothing for a factor of 1.
    pub(super) fn sign(self) -> String {
        match self {
            Self::RootOfDk => " / √d_k".to_owned(),
            Self::Given(1.0) => String::new(),
            Self::Given(scale) => format!(" · {}", constant(scale)),
        }
    }

    /// The factor as a part of an explanation: 1/√d_k, or the number.
    pub(super) fn explained(self, d_k: usize) -> Expr {
        match self {
            Self::RootOfDk => Expr::Number(1.0).over(Expr::Number(d_k as f64).apply(Function::Sqrt)),
            Self::Given(scale) => Expr::Number(scale),
        }
    }

    /// How many of `cells` numbers it takes a division (or a product) to scale.
    pub(super) fn cost(self, cells: u128) -> Cost {
        let divisions = if self == Self::Given(1.0) { 0 } else { cells };
        Cost { divisions, ..Cost::default() }
    }
}

/// How well each key answers each query: inputs q (n_q × d_k), k (n_kv × d_k); gives n_q × n_kv.
///
/// Vaswani et al. 2017, Eq. 1 up to the softmax. The sum is taken first, then scaled.
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// What the products are multiplied by.
    pub scale: Scale,
    /// Width of a query, for 1/√d_k.
    pub d_k: usize,
}

impl Operation for Scores {
    fn shape(&self, inputs: &[Shape]) -> Result<Shape, String> {
        let [q, k] = inputs else { return Err("scores need queries and keys".to_owned()) };
        equal("columns of queries and of keys", q.1, k.1)?;
        Ok((q.0, k.0))
    }

    fn compute<T: Real>(&self, inputs: &[View<'_, T>], arithmetic: Arithmetic) -> DMatrix<T> {
        let factor = T::of(self.scale.value(self.d_k));
        match arithmetic {
            Arithmetic::Ordered => {
                let mut scores = product(inputs[0], inputs[1].transpose().as_view(), arithmetic);
                scores.apply(|score| *score *= factor);
                scores
            }
            // Scaling the keys costs n_kv · d_k products in place of n_q · n_kv.
            Arithmetic::Fast { .. } => {
                let mut keys = inputs[1].transpose();
                keys.apply(|key| *key *= factor);
                product(inputs[0], keys.as_view(), arithmetic)
            }
        }
    }

    fn formula(&self, signs: &Signs) -> Formula {
        let [q, k] = [&signs.inputs[0], &signs.inputs[1]];
        let scale = self.scale.sign();
        let [q_shape, k_shape] = [signs.shapes[0], signs.shapes[1]];
        match signs.layout {
            Layout::Rows => {
                signs.formula(format!("{}ᵀ{scale}", times(q, k)), " · ", &[q_shape, (k_shape.1, k_shape.0)])
            }
            Layout::Columns => signs.formula(
                format!("{}{scale}", times(&format!("{k}ᵀ"), q)),
                " · ",
                &[k_shape, (q_shape.1, q_shape.0)],
            ),
        }
    }

    fn explain(&self, row: usize, column: usize, inputs: &[View<'_, f64>]) -> Expr {
        let sum = dot(0, row, 1, column, inputs[0].ncols(), true);
        Expr::Product(vec![sum, self.scale.explained(self.d_k)])
    }

    fn cost(&self, inputs: &[Shape]) -> Cost {
        let [q, k] = inputs else { return Cost::default() };
        Cost::product(q.0, q.1, k.0) + self.scale.cost(q.0 as u128 * k.0 as u128)
    }

    fn tell(&self, told: &Told<'_>) -> String {
        let way = match told.layout {
            Layout::Rows => t!("Rows ask, columns answer"),
            Layout::Columns => t!("Columns ask, rows answer"),
        };
        let (flat, telling): (Vec<usize>, Vec<usize>) =
            (0..told.value.nrows()).partition(|r| told.is_flat(*r));
        let mut words = match told.largest_of(&telling) {
            Some((best, r, c, tied)) => t!(
                "%{way}: %{key} answers %{query} best, %{score}%{others}.",
                way,
                key = told.column(c),
                query = told.row(r),
                score = told.number(best),
                others = if tied { t!(" (others tie)") } else { String::new() }
            ),
            None => t!("%{way}.", way),
        };
        if let Some(r) = flat.first() {
            let same = told.number(told.value[(*r, 0)]);
            let names = super::list(flat.iter().map(|r| told.row(*r)));
            words.push_str(&match flat.len() {
                1 => t!(" %{token} scores every key the same, %{score}.", token = names, score = same),
                _ => t!(" %{tokens} score every key the same.", tokens = names),
            });
        }
        words
    }
}
