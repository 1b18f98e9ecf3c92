//! Products of f32 matrices on the widest vector units: small tiles of the result, held in registers while they are summed.
//!
//! The way of Goto and van de Geijn (2008), for what a model multiplies: few rows (tokens) by a wide matrix that is used
//! once. Rows of A are copied into panels, so that a tile reads them one after the other from the nearest cache; the columns
//! of B are read where they are, since copying a weight matrix would take as long as multiplying 16 tokens by it.

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd, bytemuck};

use super::{View, team};

/// Vectors of rows in a tile, and its columns: 12 sums, which with 2 vectors of A and a number of B fill 15 of the 16
/// registers of AVX2.
const VECTORS: usize = 2;
const COLUMNS: usize = 6;

/// Terms of a sum that a tile adds before it moves on: a panel of them and the columns beside it fit the first cache.
const DEPTH: usize = 384;

/// Numbers of A whose panels are worked through together; with the rest they fit the second cache.
const TOGETHER: usize = 64 * 1024;

/// Rows of a matrix as panels: those of a panel side by side, term after term; the last panel is filled up with zeros.
struct Panels {
    numbers: Vec<f32>,
    /// Rows of a panel.
    height: usize,
    /// Which rows of the matrix.
    rows: Range<usize>,
    depth: usize,
}

/// A · B (m × k · k × n) into `c`, column after column, each plus its number of `bias` where there is one; whether the
/// processor has vector units for it.
pub(super) fn multiply(
    a: View<'_, f32>,
    b: View<'_, f32>,
    bias: Option<&[f32]>,
    c: &mut [f32],
    threads: usize,
) -> bool {
    let Some(height) = panel_height() else { return false };
    let (rows, depth) = a.shape();
    // One thread copies no more rows than it is about to read; several share all of them.
    let together = match threads {
        1 => (TOGETHER / (height * depth.clamp(1, DEPTH))).max(1) * height,
        _ => rows.max(1),
    };
    for from in (0..rows).step_by(together) {
        let panels = Panels::new(a, height, from..rows.min(from + together), threads);
        team::each_part(c, rows, threads, |first, c| {
            let b = b.columns(first, c.len() / rows);
            let bias = bias.map(|bias| &bias[first..]);
            Arch::new().dispatch(Times { panels: &panels, b, bias, c, rows });
        });
    }
    true
}

/// How many rows a panel has on this processor; `None` where it has no vector units that are worth a tile.
fn panel_height() -> Option<usize> {
    struct Height;
    impl WithSimd for Height {
        type Output = Option<usize>;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> Self::Output {
            (!S::IS_SCALAR).then_some(VECTORS * S::F32_LANES)
        }
    }
    Arch::new().dispatch(Height)
}

impl Panels {
    /// Copies rows of a matrix.
    fn new(a: View<'_, f32>, height: usize, rows: Range<usize>, threads: usize) -> Self {
        let depth = a.ncols();
        let size = (height * depth).max(1);
        let mut numbers = vec![0.0; rows.len().div_ceil(height) * size];
        team::each_part(&mut numbers, size, threads, |first, part| {
            let from = rows.start + first * height;
            let to = rows.end.min(from + part.len() / size * height);
            if depth > 0 {
                Arch::new().dispatch(Copy { a: a.rows(from, to - from), numbers: part });
            }
        });
        Self { numbers, height, rows, depth }
    }
}

/// Some rows of a matrix into panels: down each column in turn, as the numbers lie in memory.
struct Copy<'a> {
    a: View<'a, f32>,
    numbers: &'a mut [f32],
}

impl WithSimd for Copy<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let depth = self.a.ncols();
        let (vectors, _) = S::as_mut_simd_f32s(self.numbers);
        let (places, _) = vectors.as_chunks_mut::<VECTORS>();
        for (term, column) in self.a.column_iter().enumerate() {
            let (vectors, rest) = S::as_simd_f32s(column.as_slice());
            let (whole, more) = vectors.as_chunks::<VECTORS>();
            let mut places = places[term..].iter_mut().step_by(depth);
            // The numbers first: zip asks the left one first, and a place must not be passed over.
            for (numbers, place) in whole.iter().zip(&mut places) {
                *place = *numbers;
            }
            if let Some(place) = places.next() {
                let place: &mut [f32] = bytemuck::cast_slice_mut(place);
                let last = more
                    .iter()
                    .flat_map(|vector| bytemuck::cast_slice::<_, f32>(std::slice::from_ref(vector)));
                for (place, number) in place.iter_mut().zip(last.chain(rest)) {
                    *place = *number;
                }
            }
        }
    }
}

struct Times<'a> {
    panels: &'a Panels,
    b: View<'a, f32>,
    bias: Option<&'a [f32]>,
    c: &'a mut [f32],
    /// How many rows the result has.
    rows: usize,
}

impl WithSimd for Times<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { panels: Panels { numbers, height, rows, depth }, b, bias, c, rows: all } = self;
        let (height, depth) = (*height, *depth);
        let together = (TOGETHER / (height * depth.clamp(1, DEPTH))).max(1);
        let size = (height * depth).max(1);
        for (group, panels) in numbers.chunks(size * together).enumerate() {
            for term in (0..depth).step_by(DEPTH) {
                let terms = term..depth.min(term + DEPTH);
                let mut column = 0;
                while column < b.ncols() {
                    // The last columns in tiles of 4, 2 and 1.
                    let width = match b.ncols() - column {
                        COLUMNS.. => COLUMNS,
                        4.. => 4,
                        2.. => 2,
                        _ => 1,
                    };
                    for (panel, numbers) in panels.chunks_exact(size).enumerate() {
                        let from = rows.start + (group * together + panel) * height;
                        let tile = Tile {
                            panel: &numbers[terms.start * height..terms.end * height],
                            rows: from..rows.end.min(from + height),
                            height: all,
                            start: if term == 0 { Start::Bias(bias) } else { Start::Sums },
                        };
                        let from = (column, terms.start);
                        match width {
                            COLUMNS => tile.add::<S, COLUMNS>(simd, b, from, c),
                            4 => tile.add::<S, 4>(simd, b, from, c),
                            2 => tile.add::<S, 2>(simd, b, from, c),
                            _ => tile.add::<S, 1>(simd, b, from, c),
                        }
                    }
                    column += width;
                }
            }
        }
    }
}

/// What a tile's sums are added to.
#[derive(Clone, Copy)]
enum Start<'a> {
    /// Nothing, or the number of each column.
    Bias(Option<&'a [f32]>),
    /// What the terms before these gave.
    Sums,
}

struct Tile<'a> {
    /// Terms of the panel's rows.
    panel: &'a [f32],
    /// Which rows of the result.
    rows: Range<usize>,
    /// How many rows the result has.
    height: usize,
    start: Start<'a>,
}

impl Tile<'_> {
    /// Adds the products with `N` columns of B from `column` on, and from the row `term` on.
    #[inline(always)]
    fn add<S: Simd, const N: usize>(
        &self,
        simd: S,
        b: View<'_, f32>,
        (column, term): (usize, usize),
        c: &mut [f32],
    ) {
        let sums = self.sums::<S, N>(simd, b, (column, term));
        for j in 0..N {
            let at = (column + j) * self.height;
            let place = &mut c[at + self.rows.start..at + self.rows.end];
            let bias = match self.start {
                Start::Bias(bias) => Some(bias.map_or(0.0, |bias| bias[column + j])),
                Start::Sums => None,
            };
            let sums = sums[j];
            if let ([whole], []) = S::as_mut_simd_f32s(place).0.as_chunks_mut::<VECTORS>() {
                for v in 0..VECTORS {
                    let before = bias.map_or(whole[v], |bias| simd.splat_f32s(bias));
                    whole[v] = simd.add_f32s(sums[v], before);
                }
            } else {
                let sums: &[f32] = bytemuck::cast_slice(&sums);
                for (place, sum) in place.iter_mut().zip(sums) {
                    *place = *sum + bias.unwrap_or(*place);
                }
            }
        }
    }

    /// The products alone. They never leave their registers: nothing here refers to them by a place that is known only at
    /// run time.
    #[inline(always)]
    fn sums<S: Simd, const N: usize>(
        &self,
        simd: S,
        b: View<'_, f32>,
        (column, term): (usize, usize),
    ) -> [[S::f32s; VECTORS]; N] {
        let (vectors, _) = S::as_simd_f32s(self.panel);
        let (terms, _) = vectors.as_chunks::<VECTORS>();
        let columns: [_; N] = std::array::from_fn(|j| b.column(column + j));
        // One length for all, and no place beyond it: a check inside the loop would keep the sums in memory.
        let depth = terms.len();
        let b: [&[f32]; N] = std::array::from_fn(|j| &columns[j].as_slice()[term..][..depth]);
        let mut sums = [[simd.splat_f32s(0.0); VECTORS]; N];
        for k in 0..depth {
            for j in 0..N {
                let factor = simd.splat_f32s(b[j][k]);
                for v in 0..VECTORS {
                    sums[j][v] = simd.mul_add_e_f32s(terms[k][v], factor, sums[j][v]);
                }
            }
        }
        sums
    }
}
