//! Attention calls with every feature on or off, drawn at random.

use std::sync::Arc;

use mha::plan::spec::{
    Alignment, FullyMaskedRows, Mask, NormScope, Positions, QkNorm, RopeLayout, RopeSpec, Scale, alibi_slopes,
};
use mha::plan::{Attention, Call, Inputs, Name, Projection, StepId};
use nalgebra::DMatrix;
use proptest::prelude::*;

/// What a problem is drawn from: sizes, and a choice for every feature.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    pub(crate) n_q: usize,
    pub(crate) n_kv: usize,
    pub(crate) d_model: usize,
    pub(crate) group: usize,
    pub(crate) kv_heads: usize,
    pub(crate) d_k: usize,
    pub(crate) d_v: usize,
    pub(crate) cross: bool,
    pub(crate) biases: bool,
    pub(crate) masks: Vec<u8>,
    pub(crate) positions: u8,
    pub(crate) softcap: bool,
    pub(crate) norm: u8,
    pub(crate) sinks: bool,
    pub(crate) scale: bool,
    pub(crate) seed: u64,
}

prop_compose! {
    pub(crate) fn drawn()(
        sizes in (1usize..7, 1usize..7, 1usize..7, 1usize..4, 1usize..4, 1usize..4, 1usize..5),
        flags in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        masks in prop::collection::vec(0u8..5, 0..3),
        positions in 0u8..4,
        norm in 0u8..3,
        seed in any::<u64>(),
    ) -> Drawn {
        let (n_q, n_kv, d_model, group, kv_heads, half_d_k, d_v) = sizes;
        let (cross, biases, softcap, sinks, scale) = flags;
        let n_kv = if cross { n_kv } else { n_q };
        Drawn {
            n_q, n_kv, d_model, group, kv_heads, d_k: 2 * half_d_k, d_v, cross, biases, masks, positions, softcap,
            norm, sinks, scale, seed,
        }
    }
}

/// Numbers from −1 to 1, the same from the same seed.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub(crate) fn matrix(&mut self, rows: usize, columns: usize) -> DMatrix<f64> {
        DMatrix::from_fn(rows, columns, |_, _| self.next())
    }

    pub(crate) fn list(&mut self, length: usize) -> Vec<f64> {
        (0..length).map(|_| self.next()).collect()
    }
}

impl Drawn {
    pub(crate) fn call(&self) -> Call {
        let mut numbers = Numbers(self.seed);
        let (h, g) = (self.group * self.kv_heads, self.kv_heads);
        let d_source = if self.cross { self.d_model + 1 } else { self.d_model };
        let mut inputs = Inputs::new();
        let mut put = |name: Name, value: DMatrix<f64>| inputs.insert(StepId::from(name), Arc::new(value));
        put(Name::X, numbers.matrix(self.n_q, self.d_model));
        if self.cross {
            put(Name::XKv, numbers.matrix(self.n_kv, d_source));
        }
        let sizes = [
            (Projection::Q, self.d_model, h * self.d_k),
            (Projection::K, d_source, g * self.d_k),
            (Projection::V, d_source, g * self.d_v),
            (Projection::O, h * self.d_v, self.d_model),
        ];
        for (projection, rows, columns) in sizes {
            put(Name::W(projection), numbers.matrix(rows, columns));
            if self.biases {
                put(Name::B(projection), numbers.matrix(1, columns));
            }
        }
        let attention = Attention {
            d_model: self.d_model,
            d_kv_model: d_source,
            num_heads: h,
            num_kv_heads: g,
            d_k: self.d_k,
            d_v: self.d_v,
            scale: if self.scale { Scale::Given(0.7) } else { Scale::RootOfDk },
            masks: self.masks.iter().map(|kind| self.mask(*kind, h, &mut numbers)).collect(),
            positions: self.positions(h),
            softcap: self.softcap.then_some(1.5),
            qk_norm: self.norm(h, g, &mut numbers),
            sinks: self.sinks.then(|| numbers.list(h)),
            fully_masked_rows: FullyMaskedRows::Zeros,
        };
        Call { attention, layers: None, batch: None, inputs, elsewhere: mha::plan::Shapes::new() }
    }

    fn mask(&self, kind: u8, h: usize, numbers: &mut Numbers) -> Mask {
        let (n_q, n_kv) = (self.n_q, self.n_kv);
        match kind {
            0 => Mask::Causal(Alignment::BottomRight),
            1 => Mask::Window { left: Some(1), right: Some(1), alignment: Alignment::BottomRight },
            2 => Mask::KeyPadding(vec![(0..n_kv).map(|c| c == 0 || numbers.next() > -0.5).collect()]),
            3 => Mask::Allow((0..h).map(|_| numbers.matrix(n_q, n_kv).map(|v| v > -0.5)).collect()),
            _ => Mask::Add(vec![
                numbers.matrix(n_q, n_kv).map(|v| if v < -0.7 { f64::NEG_INFINITY } else { v }),
            ]),
        }
    }

    fn positions(&self, h: usize) -> Positions {
        let rope = |layout, dims| {
            Positions::Rope(RopeSpec {
                theta: 100.0,
                layout,
                dims,
                scaling: None,
                q_positions: (0..self.n_q).map(|p| p as f64 + 2.0).collect(),
                k_positions: (0..self.n_kv).map(|p| p as f64).collect(),
            })
        };
        match self.positions {
            0 => Positions::None,
            1 => rope(RopeLayout::HalfSplit, self.d_k),
            2 => rope(RopeLayout::Interleaved, 2),
            _ => Positions::Alibi { slopes: alibi_slopes(h), alignment: Alignment::BottomRight },
        }
    }

    fn norm(&self, h: usize, g: usize, numbers: &mut Numbers) -> Option<QkNorm> {
        let (scope, q, k) = match self.norm {
            0 => return None,
            1 => (NormScope::Head, self.d_k, self.d_k),
            _ => (NormScope::Full, h * self.d_k, g * self.d_k),
        };
        Some(QkNorm { eps: 1e-6, q_gain: numbers.list(q), k_gain: numbers.list(k), scope })
    }
}
