//! What an operation is given to write its formula, and to say in words what happened.

use super::View;
use crate::words::t;

/// Which way round matrices are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Layout {
    /// A token is a row: X · W, Q · Kᵀ, softmax along each row.
    #[default]
    Rows,
    /// A token is a column: W · X, Kᵀ · Q, softmax down each column. The same numbers, transposed.
    Columns,
}

/// Rows and columns.
pub type Shape = (usize, usize);

/// A formula with the actual sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Formula {
    /// `S₁ = Q₁K₁ᵀ / √d_k`
    pub equation: String,
    /// `3×2 · 2×3 → 3×3`; empty for what was given.
    pub sizes: String,
}

/// The signs that a formula is written with.
#[derive(Debug, Clone)]
pub struct Signs {
    /// The result's sign, as `S₁`.
    pub out: String,
    /// The inputs' signs.
    pub inputs: Vec<String>,
    /// The result's shape, tokens in rows.
    pub out_shape: Shape,
    /// The inputs' shapes, tokens in rows.
    pub shapes: Vec<Shape>,
    /// Whether tokens are rows or columns.
    pub layout: Layout,
}

impl Signs {
    /// `out = right`, with sizes of the operands as written, joined by `join`.
    pub fn formula(&self, right: impl AsRef<str>, join: &str, operands: &[Shape]) -> Formula {
        let operands: Vec<String> = operands.iter().map(|shape| size(*shape)).collect();
        let sizes = format!("{} → {}", operands.join(join), size(self.facing(self.out_shape)));
        Formula { equation: format!("{} = {}", self.out, right.as_ref()), sizes }
    }

    /// A shape as this layout shows it.
    pub fn facing(&self, shape: Shape) -> Shape {
        match self.layout {
            Layout::Rows => shape,
            Layout::Columns => (shape.1, shape.0),
        }
    }

    /// The shapes of the inputs as this layout shows them.
    pub fn facing_inputs(&self) -> Vec<Shape> {
        self.shapes.iter().map(|shape| self.facing(*shape)).collect()
    }
}

/// Two signs multiplied: `Q₁K₁`, and a blank between where a sign is a word.
pub(super) fn times(a: &str, b: &str) -> String {
    let is_a_word = |sign: &str| sign.chars().filter(|c| c.is_alphabetic()).count() > 2;
    if is_a_word(a) || is_a_word(b) { format!("{a} {b}") } else { format!("{a}{b}") }
}

/// A constant of a formula: at most six digits, which is enough to recognise it by.
pub(super) fn constant(value: f64) -> String {
    let full = value.to_string();
    if full.len() <= 8 {
        return full;
    }
    let short = format!("{value:.6}");
    match short.trim_end_matches('0').trim_end_matches('.') {
        "0" | "-0" => format!("{value:.3e}"),
        short => short.to_owned(),
    }
}

/// `3×2`
pub fn size(shape: Shape) -> String {
    format!("{}×{}", shape.0, shape.1)
}

/// What a step is to attention: an operation says different things about a product that makes queries and one that
/// makes the output. Heads count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// X
    Input,
    /// X_kv
    Source,
    /// A projection, by its letter: Q, K, V, O.
    Projection(char),
    /// A bias.
    Bias,
    /// Queries of all heads.
    Queries,
    /// Keys of all heads.
    Keys,
    /// Values of all heads.
    Values,
    /// Queries, keys and values in one matrix.
    Packed,
    /// A head's own queries.
    HeadQueries(usize),
    /// The keys that a head reads.
    HeadKeys(usize),
    /// The values that a head reads.
    HeadValues(usize),
    /// Heads side by side.
    Concat,
    /// What W_O gives.
    Output,
    /// What W_1 of a feed-forward network gives.
    Widened,
    /// What W_2 of a feed-forward network gives.
    Narrowed,
    /// Anything else.
    Other,
}

/// A step with its values, for an operation to say what happened.
pub struct Told<'a> {
    /// What the step is to attention.
    pub role: Role,
    /// The result.
    pub value: View<'a, f64>,
    /// What it was made from.
    pub inputs: Vec<View<'a, f64>>,
    /// Names of the result's rows (tokens in rows).
    pub rows: &'a [String],
    /// Names of the result's columns.
    pub columns: &'a [String],
    /// Whether tokens are shown as rows or as columns.
    pub layout: Layout,
    /// How the page writes a number.
    pub write: &'a dyn Fn(f64) -> String,
}

impl Told<'_> {
    /// What one line of a token is called in this layout: `row` or `column`.
    pub fn line(&self) -> String {
        match self.layout {
            Layout::Rows => t!("row"),
            Layout::Columns => t!("column"),
        }
    }

    /// A number as the table shows it.
    pub fn number(&self, value: f64) -> String {
        (self.write)(value)
    }

    /// Whether a row of several numbers holds one number only, but for rounding.
    pub fn is_flat(&self, row: usize) -> bool {
        let row = self.value.row(row);
        let (least, most) = row
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| (v.min(least), v.max(most)));
        row.len() > 1 && row.iter().all(|v| v.is_finite()) && most - least <= 1e-12 * most.abs().max(1.0)
    }

    /// The name of a row of the result.
    pub fn row(&self, row: usize) -> &str {
        self.rows.get(row).map_or("", String::as_str)
    }

    /// The name of a column of the result.
    pub fn column(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", String::as_str)
    }

    /// The largest number in some rows, where it first stands, and whether it stands elsewhere too (but for rounding).
    pub fn largest_of(&self, rows: &[usize]) -> Option<(f64, usize, usize, bool)> {
        let cells = || rows.iter().flat_map(|r| (0..self.value.ncols()).map(move |c| (*r, c)));
        let finite =
            |(r, c): (usize, usize)| Some((self.value[(r, c)], r, c)).filter(|(v, ..)| v.is_finite());
        let (best, row, column) =
            cells().filter_map(finite).reduce(|best, next| if next.0 > best.0 { next } else { best })?;
        let near = |v: f64| (best - v).abs() <= 1e-12 * best.abs().max(1.0);
        let tied = cells().filter_map(finite).filter(|(v, ..)| near(*v)).nth(1).is_some();
        Some((best, row, column, tied))
    }
}

/// Names in a row, shortened after a few: `a, b, c and 5 more`.
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    const MOST: usize = 4;
    let names: Vec<&str> = names.into_iter().collect();
    match names.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [before @ .., last] if names.len() <= MOST => {
            t!("%{names} and %{last}", names = before.join(&t!(", ")), last)
        }
        _ => t!(
            "%{names} and %{count} more",
            names = names[..MOST - 1].join(&t!(", ")),
            count = names.len() - MOST + 1
        ),
    }
}
