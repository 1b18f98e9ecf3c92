//! Attention problems with everything that people get wrong, drawn at random.

use std::sync::Arc;

use mha::plan::spec::{
    Alignment, FullyMaskedRows, Mask, Positions, RopeLayout, RopeSpec, Scale, alibi_slopes,
};
use mha::plan::{Attention, Call, Inputs, Name, Projection, StepId};
use nalgebra::DMatrix;
use proptest::prelude::*;
use proptest::sample::select;

use super::drawn::Numbers;

/// Where keys and values come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    /// From the queries' own input.
    Own,
    /// From another input (cross-attention), whose rows may be wider.
    Other,
    /// From the whole sequence, of which the queries are the last rows.
    Cache,
}

/// A mask given cell by cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cells {
    /// Cells hidden here and there.
    Random,
    /// The triangle of a causal mask.
    Triangle,
}

/// Numbers added to the scores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Added {
    /// ALiBi with the paper's slopes, in place of rotations.
    Alibi,
    /// A matrix of finite numbers.
    Matrix,
}

/// What a problem is drawn from.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    pub(crate) source: Source,
    /// Sequences; `None` without a batch axis.
    pub(crate) batch: Option<usize>,
    pub(crate) n_q: usize,
    pub(crate) n_kv: usize,
    pub(crate) num_heads: usize,
    pub(crate) num_kv_heads: usize,
    pub(crate) d_k: usize,
    pub(crate) d_v: usize,
    pub(crate) d_model: usize,
    pub(crate) d_context: usize,
    pub(crate) scale: Option<f64>,
    pub(crate) causal: Option<Alignment>,
    /// Padding before the real tokens, or after them.
    pub(crate) padding: Option<Side>,
    pub(crate) cells: Option<Cells>,
    /// Keys before the query's own that a window shows.
    pub(crate) window: Option<usize>,
    pub(crate) added: Option<Added>,
    pub(crate) rope: Option<(RopeLayout, f64)>,
    /// Where the first query stands; the cache's length in a cached problem.
    pub(crate) start: usize,
    pub(crate) biases: bool,
    /// How large the embeddings are: at 3 a softmax often puts nearly all weight on one key.
    pub(crate) size: f64,
    pub(crate) seed: u64,
}

/// Where padding stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// In front: under a causal mask the first rows then see nothing.
    Left,
    /// At the end.
    Right,
}

/// `None` as often as `none` times, else one of these.
fn maybe<T: Clone + std::fmt::Debug + 'static>(none: u32, some: Vec<T>) -> impl Strategy<Value = Option<T>> {
    prop_oneof![none => Just(None), 2 => select(some).prop_map(Some)]
}

prop_compose! {
    /// A problem; one in three has neither masks nor positions.
    pub(crate) fn task()(
        source in select(vec![Source::Own, Source::Own, Source::Other, Source::Cache]),
        batch in select(vec![None, None, Some(1), Some(2), Some(3)]),
        // From 13 rows on only a few are looked at first.
        lengths in (prop_oneof![5 => 3usize..7, 1 => 13usize..17], 1usize..4),
        heads in select(vec![(1, 1), (2, 2), (2, 2), (3, 3), (4, 4), (2, 1), (4, 2), (6, 3), (4, 1)]),
        widths in (select(vec![2usize, 4, 4, 6]), 1usize..6, 3usize..10),
        square in prop::bool::weighted(0.75),
        bare in prop::bool::weighted(0.33),
        scale in maybe(5, vec![0.3, 1.0]),
        causal in maybe(2, vec![Alignment::BottomRight, Alignment::TopLeft]),
        padding in maybe(3, vec![Side::Left, Side::Right]),
        cells in maybe(8, vec![Cells::Random, Cells::Triangle]),
        window in maybe(8, vec![1, 2]),
        added in maybe(10, vec![Added::Alibi, Added::Matrix]),
        rope in maybe(2, vec![
            (RopeLayout::HalfSplit, 10_000.0), (RopeLayout::HalfSplit, 100.0), (RopeLayout::Interleaved, 500.0),
        ]),
        (start, biases) in (0usize..3, any::<bool>()),
        size in select(vec![1.0, 1.0, 1.0, 3.0]),
        seed in any::<u64>(),
    ) -> Task {
        let (n_q, more) = lengths;
        let (num_heads, num_kv_heads) = heads;
        let (d_k, other_d_v, other_d_model) = widths;
        let d_model = if square { num_heads * d_k } else { other_d_model };
        Task {
            source, batch, n_q, num_heads, num_kv_heads, d_k, d_model, scale, biases, size, seed,
            n_kv: match source {
                Source::Own => n_q,
                Source::Other => 2 + more,
                Source::Cache => n_q + more,
            },
            d_v: if square { d_k } else { other_d_v },
            d_context: if source == Source::Other && !square { d_model + 1 } else { d_model },
            causal: causal.filter(|_| !bare),
            padding: padding.filter(|_| !bare),
            cells: cells.filter(|_| !bare),
            window: window.filter(|_| !bare),
            added: added.filter(|_| !bare),
            rope: rope.filter(|_| !bare && added != Some(Added::Alibi)),
            start: if source == Source::Cache { more } else { start },
        }
    }
}

impl Task {
    /// The problem itself: embeddings of one size, projections that keep it.
    pub(crate) fn call(&self) -> Call {
        let mut numbers = Numbers(self.seed);
        let mut inputs = Inputs::new();
        let mut put = |id: StepId, value: DMatrix<f64>| inputs.insert(id, Arc::new(value));
        let sequences: Vec<Option<usize>> =
            self.batch.map_or(vec![None], |count| (0..count).map(Some).collect());
        for sequence in sequences {
            let own = |name: Name| StepId::of(sequence, name);
            match self.source {
                Source::Own => {
                    put(own(Name::X), bell(&mut numbers, self.n_q, self.d_model, self.size));
                }
                Source::Other => {
                    put(own(Name::X), bell(&mut numbers, self.n_q, self.d_model, self.size));
                    put(own(Name::XKv), bell(&mut numbers, self.n_kv, self.d_context, self.size));
                }
                Source::Cache => {
                    let whole = bell(&mut numbers, self.n_kv, self.d_model, self.size);
                    put(own(Name::X), whole.rows(self.n_kv - self.n_q, self.n_q).into_owned());
                    put(own(Name::XKv), whole);
                }
            }
        }
        let (h, g) = (self.num_heads, self.num_kv_heads);
        for (projection, rows, columns) in [
            (Projection::Q, self.d_model, h * self.d_k),
            (Projection::K, self.d_context, g * self.d_k),
            (Projection::V, self.d_context, g * self.d_v),
            (Projection::O, h * self.d_v, self.d_model),
        ] {
            let size = 1.0 / (rows as f64).sqrt();
            put(Name::W(projection).into(), bell(&mut numbers, rows, columns, size));
            if self.biases {
                put(Name::B(projection).into(), bell(&mut numbers, 1, columns, 0.5));
            }
        }
        let attention = Attention {
            d_kv_model: self.d_context,
            num_kv_heads: g,
            d_k: self.d_k,
            d_v: self.d_v,
            scale: self.scale.map_or(Scale::RootOfDk, Scale::Given),
            masks: self.masks(&mut numbers),
            positions: self.positions(),
            fully_masked_rows: FullyMaskedRows::Zeros,
            ..Attention::multi_head(self.d_model, h)
        };
        Call { attention, layers: None, batch: self.batch, inputs, elsewhere: mha::plan::Shapes::new() }
    }

    fn masks(&self, numbers: &mut Numbers) -> Vec<Mask> {
        let (n_q, n_kv) = (self.n_q, self.n_kv);
        let mut masks: Vec<Mask> = self.causal.map(Mask::Causal).into_iter().collect();
        if let Some(side) = self.padding {
            // The first sequence has one padded token, the second two, the third one again.
            let padded = |sequence: usize| 1 + sequence % 2;
            let real = |sequence: usize, key: usize| match side {
                Side::Left => key >= padded(sequence),
                Side::Right => key < n_kv - padded(sequence),
            };
            let rows = (0..self.batch.unwrap_or(1))
                .map(|sequence| (0..n_kv).map(|key| real(sequence, key)).collect());
            masks.push(Mask::KeyPadding(rows.collect()));
        }
        masks.extend(self.cells.map(|cells| match cells {
            Cells::Random => Mask::Allow(vec![numbers.matrix(n_q, n_kv).map(|number| number > -0.5)]),
            Cells::Triangle => Mask::Allow(vec![DMatrix::from_fn(n_q, n_kv, |r, c| c + n_q <= r + n_kv)]),
        }));
        masks.extend(self.window.map(|left| Mask::Window {
            left: Some(left),
            right: Some(0),
            alignment: Alignment::BottomRight,
        }));
        if self.added == Some(Added::Matrix) {
            masks.push(Mask::Add(vec![numbers.matrix(n_q, n_kv)]));
        }
        masks
    }

    fn positions(&self) -> Positions {
        if self.added == Some(Added::Alibi) {
            let slopes = alibi_slopes(self.num_heads);
            return Positions::Alibi { slopes, alignment: Alignment::BottomRight };
        }
        self.rope.map_or(Positions::None, |(layout, theta)| {
            let from = |start: usize, count: usize| (start..start + count).map(|p| p as f64).collect();
            Positions::Rope(RopeSpec {
                theta,
                layout,
                dims: self.d_k,
                scaling: None,
                q_positions: from(self.start, self.n_q),
                k_positions: from(0, self.n_kv),
            })
        })
    }
}

/// Numbers around 0 in the shape of a bell (three even ones added up), of standard deviation `size`.
fn bell(numbers: &mut Numbers, rows: usize, columns: usize, size: f64) -> DMatrix<f64> {
    DMatrix::from_fn(rows, columns, |_, _| (0..3).map(|_| numbers.next()).sum::<f64>() * size)
}
