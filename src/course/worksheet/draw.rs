//! Small friendly numbers for an exercise that is computed by hand, the same on every machine.
//!
//! The generator is ChaCha8: the key is the seed as 8 little-endian bytes and 24 zeros, the nonce 2³² + the number of the
//! exercise (lessons' own arrays have small nonces). Its 32-bit words are taken one after the other; below(n) is a word
//! modulo n.
//!
//! 1. X, row by row: each number is `ENTRIES[below(16)]`; a row of zeros is drawn again.
//! 2. For each head a block of W_Q, of W_K and of W_V, column by column: row below(d_model) gets `SIGNS[below(4)]`, and
//!    where below(2) is 1 a second time. Blocks that are not friendly (`is_friendly`) are drawn again, all three; after
//!    `BLOCKS` of them everything is, from X on.
//! 3. W_O: the identity; each column but the last gets, where below(2) is 1, a sign below its diagonal (how far, then
//!    which); then rows are shuffled from the last to the second, each with row below(its number from 1). Its determinant is
//!    ±1, so that no output is lost in it.
//!
//! What is friendly is decided in whole numbers, so that no rounding can decide otherwise.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use nalgebra::DMatrix;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::drawing::{Drawing, Masked};
use crate::fault::{Fault, Outcome};
use crate::lesson::{self, Options, Problem};

/// Mostly 0 and ±1.
const ENTRIES: [i32; 16] = [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, -1, -1, -1, 2, -2];
const SIGNS: [i32; 4] = [1, 1, 1, -1];
/// How often a head's blocks are drawn for one X.
const BLOCKS: usize = 256;
/// How often X is drawn. Over all sizes and many seeds 15 was the most that was needed.
const INPUTS: usize = 1000;
/// Largest number of a head's queries, keys and values.
const LARGEST: i32 = 4;
/// Largest score before the scaling.
const LARGEST_SCORE: i32 = 12;
/// So many different rows of scores, and of values, a head has at least, or one for each token where there are fewer.
const DIFFERENT_SCORES: usize = 4;
const DIFFERENT_VALUES: usize = 3;
/// 100 · ln² 19: where the second-largest score of a row is closer to the largest than ln 19, no weight exceeds
/// 1 / (1 + 1/19) = 0.95.
const CLOSE: i32 = 866;

/// The numbers of an exercise.
struct Numbers {
    x: DMatrix<i32>,
    /// W_Q, W_K, W_V, W_O.
    projections: [DMatrix<i32>; 4],
}

/// Draws an exercise.
///
/// # Errors
/// None is known: a bound on the search that no drawing has come near to.
pub fn problem(drawing: &Drawing, options: &Options) -> Outcome<Problem> {
    let source = drawing.to_string();
    lesson::parse(&text(drawing)?, &source, Path::new("."), options)
}

/// The lesson file of an exercise.
///
/// # Errors
/// As [`problem`].
pub fn text(drawing: &Drawing) -> Outcome<String> {
    let numbers = numbers(drawing).ok_or_else(|| {
        let why = format!("{INPUTS} attempts gave none with friendly numbers");
        Fault::new(format!("{drawing} cannot be drawn"), why, "take another seed").in_source("LESSON")
    })?;
    let letters: Vec<String> = ('a'..).take(drawing.tokens).map(String::from).collect();
    let mask = match drawing.mask {
        Masked::None => "",
        Masked::Causal => ", mask: causal",
    };
    let mut text = format!(
        "mha: 1\ntitle: {{en: \"Exercise {label}\", zh: \"练习 {label}\"}}\ntokens: [{}]\n\
         attention: {{d_model: {}, num_heads: {}{mask}}}\ninputs:\n  x: {}\nprojections:\n",
        letters.join(", "),
        drawing.d_model,
        drawing.heads,
        rows(&numbers.x),
        label = drawing.label(),
    );
    for (name, matrix) in ["w_q", "w_k", "w_v", "w_o"].iter().zip(&numbers.projections) {
        // Writing to a text cannot fail.
        let _ = writeln!(text, "  {name}: {}", rows(matrix));
    }
    Ok(text)
}

/// `[[1, 0], [0, 1]]`
fn rows(matrix: &DMatrix<i32>) -> String {
    let rows: Vec<String> = matrix
        .row_iter()
        .map(|row| format!("[{}]", row.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")))
        .collect();
    format!("[{}]", rows.join(", "))
}

/// Words of the generator.
struct Words(ChaCha8Rng);

impl Words {
    fn of(drawing: &Drawing) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&drawing.seed.to_le_bytes());
        let mut chacha = ChaCha8Rng::from_seed(key);
        chacha.set_stream((1 << 32) + u64::from(drawing.exercise));
        Self(chacha)
    }

    /// From 0 to n − 1; n is small, so that what is left over of 2³² matters to no one.
    fn below(&mut self, n: usize) -> usize {
        (u64::from(self.0.next_u32()) % n as u64) as usize
    }

    fn sign(&mut self) -> i32 {
        SIGNS[self.below(SIGNS.len())]
    }

    fn x(&mut self, drawing: &Drawing) -> DMatrix<i32> {
        let mut x = DMatrix::zeros(drawing.tokens, drawing.d_model);
        for mut row in x.row_iter_mut() {
            while row.iter().all(|number| *number == 0) {
                for number in row.iter_mut() {
                    *number = ENTRIES[self.below(ENTRIES.len())];
                }
            }
        }
        x
    }

    fn block(&mut self, height: usize, width: usize) -> DMatrix<i32> {
        let mut block = DMatrix::zeros(height, width);
        for mut column in block.column_iter_mut() {
            let row = self.below(height);
            column[row] = self.sign();
            if self.below(2) == 1 {
                let row = self.below(height);
                column[row] = self.sign();
            }
        }
        block
    }

    fn output_projection(&mut self, d_model: usize) -> DMatrix<i32> {
        let mut w_o = DMatrix::identity(d_model, d_model);
        for column in 0..d_model.saturating_sub(1) {
            if self.below(2) == 1 {
                let row = column + 1 + self.below(d_model - column - 1);
                w_o[(row, column)] = self.sign();
            }
        }
        for row in (1..d_model).rev() {
            let other = self.below(row + 1);
            w_o.swap_rows(row, other);
        }
        w_o
    }
}

fn numbers(drawing: &Drawing) -> Option<Numbers> {
    let Drawing { d_model, heads, mask, .. } = *drawing;
    let d_k = d_model / heads;
    let mut words = Words::of(drawing);
    for _ in 0..INPUTS {
        let x = words.x(drawing);
        let blocks: Option<Vec<[DMatrix<i32>; 3]>> = (0..heads)
            .map(|_| {
                let mut drawn = (0..BLOCKS).map(|_| [(); 3].map(|()| words.block(d_model, d_k)));
                drawn.find(|blocks| is_friendly(blocks.each_ref().map(|block| &x * block), mask))
            })
            .collect();
        let Some(blocks) = blocks else { continue };
        let side_by_side = |which: usize| {
            let columns: Vec<_> = blocks.iter().flat_map(|block| block[which].column_iter()).collect();
            DMatrix::from_columns(&columns)
        };
        let [w_q, w_k, w_v] = [0, 1, 2].map(side_by_side);
        return Some(Numbers { x, projections: [w_q, w_k, w_v, words.output_projection(d_model)] });
    }
    None
}

/// Whether a head's queries, keys and values make an exercise: no large number anywhere; no row of scores all alike, few
/// rows that are the same, and not all of them one row but for a constant, which gives the same weights; no weight above
/// 0.95 where there are keys to choose from; values that differ, no column of them all zeros, and one without two signs,
/// which no weights can average to nothing.
fn is_friendly([q, k, v]: [DMatrix<i32>; 3], mask: Masked) -> bool {
    let largest = |matrix: &DMatrix<i32>| matrix.iter().map(|number| number.abs()).max().unwrap_or(0);
    let alike = |numbers: &[i32]| numbers.iter().all(|number| *number == numbers[0]);
    if [&q, &k, &v].into_iter().any(|matrix| largest(matrix) > LARGEST) {
        return false;
    }
    let scores = &q * k.transpose();
    let d_k = i32::try_from(q.ncols()).unwrap_or(i32::MAX);
    let is_one_to_choose = |(at, row): (usize, Vec<i32>)| {
        let seen = match mask {
            Masked::None => row.len(),
            Masked::Causal => at + 1,
        };
        let mut visible = row[..seen].to_vec();
        visible.sort_unstable_by(|a, b| b.cmp(a));
        !alike(&row)
            && match visible.as_slice() {
                [first, second, ..] => {
                    !alike(&visible) && 100 * (first - second).pow(2) < CLOSE.saturating_mul(d_k)
                }
                _ => true,
            }
    };
    let different = |matrix: &DMatrix<i32>| {
        let rows: BTreeSet<Vec<i32>> = matrix.row_iter().map(|row| row.iter().copied().collect()).collect();
        rows.len()
    };
    let row = |at: usize| scores.row(at).iter().copied().collect::<Vec<i32>>();
    let beside_the_first =
        |at: usize| scores.row(at).iter().zip(scores.row(0).iter()).map(|(a, b)| a - b).collect::<Vec<i32>>();
    largest(&scores) <= LARGEST_SCORE
        && (0..scores.nrows()).map(|at| (at, row(at))).all(is_one_to_choose)
        && (0..scores.nrows()).any(|at| !alike(&beside_the_first(at)))
        && different(&scores) >= scores.nrows().min(DIFFERENT_SCORES)
        && different(&v) >= v.nrows().min(DIFFERENT_VALUES)
        && v.column_iter().all(|column| column.iter().any(|number| *number != 0))
        && v.column_iter().any(|column| {
            let has = |sign: i32| column.iter().any(|number| number.signum() == sign);
            has(1) != has(-1)
        })
}

#[cfg(test)]
#[path = "draw_tests.rs"]
mod tests;
