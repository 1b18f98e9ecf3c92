//! The functions that an expression may use, by name.

use crate::lesson::reader::near;

/// What a function is applied to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    /// Each cell by itself: the shape stays.
    EachCell,
    /// All cells of one value.
    Cells,
    /// One value, of which rows and columns matter.
    Matrix,
    /// Attention weights: a row is a distribution over positions, and it matters which row it is.
    Weights,
    /// Two values.
    Two,
}

macro_rules! functions {
    ($($(#[$doc:meta])* $variant:ident = $word:literal $takes:ident,)*) => {
        /// A function of slices or of numbers.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Function { $($(#[$doc])* $variant,)* }

        impl Function {
            /// All of them.
            pub(super) const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// As it is typed.
            pub(super) fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }

            /// What it is applied to.
            pub(super) fn takes(self) -> Takes {
                match self { $(Self::$variant => Takes::$takes),* }
            }
        }
    };
}

functions! {
    /// √x
    Sqrt = "sqrt" EachCell,
    /// e^x
    Exp = "exp" EachCell,
    /// Logarithm to the base e
    Ln = "ln" EachCell,
    /// Logarithm to the base 2
    Log2 = "log2" EachCell,
    /// Without its sign
    Abs = "abs" EachCell,
    /// To the nearest whole number, halves away from zero
    Round = "round" EachCell,
    /// Down to a whole number
    Floor = "floor" EachCell,
    /// Sum of all cells
    Sum = "sum" Cells,
    /// Mean of all cells
    Mean = "mean" Cells,
    /// The least cell
    Min = "min" Cells,
    /// The greatest cell
    Max = "max" Cells,
    /// Mean squared distance from the mean (of the population: over n, not n − 1)
    Variance = "variance" Cells,
    /// Root of the variance
    Std = "std" Cells,
    /// Root of the sum of squares
    Norm = "norm" Cells,
    /// Root of the mean of squares
    Rms = "rms" Cells,
    /// How many different values
    Distinct = "distinct" Cells,
    /// How many cells are −∞
    Hidden = "hidden" Cells,
    /// Entropy in bits, the mean over rows
    Entropy = "entropy" Matrix,
    /// How many rows are independent
    Rank = "rank" Matrix,
    /// Number of rows
    Rows = "rows" Matrix,
    /// Number of columns
    Columns = "columns" Matrix,
    /// Where the greatest cell of a row or column is, from 1
    Argmax = "argmax" Matrix,
    /// Where the least cell of a row or column is, from 1
    Argmin = "argmin" Matrix,
    /// Mean attention to the own position
    Own = "self" Weights,
    /// Mean attention to the position before
    Previous = "previous" Weights,
    /// Mean attention to the position after
    Next = "next" Weights,
    /// Mean attention to the first position
    First = "first" Weights,
    /// Mean of |i − j|, weighted by attention
    Distance = "distance" Weights,
    /// Largest absolute difference
    Difference = "difference" Two,
    /// Sum of the products of cells
    Dot = "dot" Two,
    /// Cosine of the angle between two rows or columns
    Cosine = "cosine" Two,
}

impl Function {
    /// How many values it takes.
    pub(super) fn arity(self) -> usize {
        if self.takes() == Takes::Two { 2 } else { 1 }
    }

    /// Whether it gives as many numbers as it takes.
    pub(super) fn is_cell_by_cell(self) -> bool {
        self.takes() == Takes::EachCell
    }
}

/// A figure of a run as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Learned numbers that are used.
    Parameters,
    /// Multiplications of two numbers in matrix products, for one sequence.
    Multiplications,
    /// Additions and subtractions, for one sequence.
    Additions,
    /// e^x of softmaxes, for one sequence.
    Exponentials,
    /// Numbers that a token takes in the cache of keys and values.
    Cached,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Parameters, Self::Multiplications, Self::Additions, Self::Exponentials, Self::Cached];

    /// As it is typed, before `()`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Multiplications => "multiplications",
            Self::Additions => "additions",
            Self::Exponentials => "exponentials",
            Self::Cached => "cached",
        }
    }
}

/// The number of a model that `mha params` gives: `count("llama-2-70b", total_parameters)`.
pub(super) const COUNT: &str = "count";

/// How fast a step changes with an input: `slope(final, embedding)`.
pub(super) const SLOPE: &str = "slope";

/// The names of everything that is written with parentheses.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let functions = Function::ALL.iter().map(|function| function.word());
    functions.chain(Figure::ALL.iter().map(|figure| figure.word())).chain([COUNT, SLOPE])
}

/// How something with parentheses is written.
pub(super) fn example(name: &str) -> String {
    match name {
        COUNT => "count(\"llama-2-7b\", total_parameters)".to_owned(),
        SLOPE => "slope(output, x)".to_owned(),
        "difference" | "dot" | "cosine" => format!("{name}(head.1.q[1], head.1.k[1])"),
        _ if Figure::ALL.iter().any(|figure| figure.word() == name) => format!("{name}()"),
        _ => format!("{name}(head.1.weights[1])"),
    }
}

/// What to try for a function that is none.
pub(super) fn no_function(name: &str) -> String {
    let known: Vec<&str> = names().collect();
    match near(name, known.iter().copied()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("known: {}", known.join(", ")),
    }
}
