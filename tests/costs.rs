//! What a plan takes, counted by hand and by the formulas of `mha params`.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::sync::Arc;

use mha::ops::Cost;
use mha::params::{Biases, Layer};
use mha::plan::rewrites::Variant;
use mha::plan::spec::{Alignment, Mask, NormScope, Positions, QkNorm, RopeLayout, RopeSpec};
use mha::plan::{Attention, Call, Inputs, Name, Projection, StepId, attention};
use nalgebra::DMatrix;

/// A call of these sizes; what it costs does not depend on its numbers, so all are zero.
fn call(attention: Attention, n_q: usize, n_kv: usize, biases: bool) -> Call {
    let Attention { d_model, d_kv_model, num_heads: h, num_kv_heads: g, d_k, d_v, .. } = attention;
    let mut inputs = Inputs::new();
    let mut put = |name: Name, rows, columns| {
        inputs.insert(StepId::from(name), Arc::new(DMatrix::zeros(rows, columns)));
    };
    put(Name::X, n_q, d_model);
    if d_kv_model != d_model || n_q != n_kv {
        put(Name::XKv, n_kv, d_kv_model);
    }
    for (projection, rows, columns) in [
        (Projection::Q, d_model, h * d_k),
        (Projection::K, d_kv_model, g * d_k),
        (Projection::V, d_kv_model, g * d_v),
        (Projection::O, h * d_v, d_model),
    ] {
        put(Name::W(projection), rows, columns);
        if biases {
            put(Name::B(projection), 1, columns);
        }
    }
    Call { attention, layers: None, batch: None, inputs, elsewhere: mha::plan::Shapes::new() }
}

fn cost(call: &Call) -> Cost {
    attention::plan(call).unwrap().cost(None)
}

fn cost_as(variant: Variant, call: &Call) -> Cost {
    variant.apply(call).unwrap().1.cost(None)
}

/// Three tokens of five numbers, four query heads on two key/value heads, d_k = 4 and d_v = 2: no two sizes alike
/// that could stand for each other.
fn lopsided() -> Attention {
    Attention { num_kv_heads: 2, d_k: 4, d_v: 2, ..Attention::multi_head(5, 4) }
}

/// The products of [`lopsided`]:
/// X·W_Q 3·5·16 = 240, X·W_K 3·5·8 = 120, X·W_V 3·5·4 = 60,
/// Q·Kᵀ 4 heads · 3·4·3 = 144, A·V 4 heads · 3·3·2 = 72, concat·W_O 3·8·5 = 120.
const LOPSIDED_PRODUCTS: u128 = 240 + 120 + 60 + 144 + 72 + 120;

fn rope() -> Positions {
    Positions::Rope(RopeSpec {
        theta: 10000.0,
        layout: RopeLayout::HalfSplit,
        dims: 4,
        scaling: None,
        q_positions: vec![0.0, 1.0, 2.0],
        k_positions: vec![0.0, 1.0, 2.0],
    })
}

fn norm() -> Option<QkNorm> {
    Some(QkNorm { eps: 1e-6, q_gain: vec![2.0; 4], k_gain: vec![3.0; 4], scope: NormScope::Head })
}

/// Two independent counts: the steps of a plan one by one, and the closed formulas of `mha params`.
#[test]
fn a_plan_takes_what_the_formulas_of_params_say() {
    #[track_caller]
    fn case(layer: Layer, n_q: u64, n_kv: u64) {
        let size = |number: u64| usize::try_from(number).unwrap();
        let attention = Attention {
            d_kv_model: size(layer.d_kv_model),
            num_kv_heads: size(layer.num_kv_heads),
            d_k: size(layer.d_k),
            d_v: size(layer.d_v),
            ..Attention::multi_head(size(layer.d_model), size(layer.num_heads))
        };
        let call = call(attention, size(n_q), size(n_kv), layer.biases.any());
        let plan = attention::plan(&call).unwrap();
        let counted = plan.cost(None);
        assert_eq!(counted.multiplications, u128::from(layer.multiplication_count(n_q, n_kv).unwrap()));
        assert_eq!(counted.exponentials, u128::from(layer.exponentials(n_q, n_kv).unwrap().value));
        assert_eq!(plan.parameters(), u128::from(layer.parameter_count().unwrap()));
    }

    for (d_model, num_heads) in [(4, 1), (4, 2), (4, 4), (12, 3), (32, 8)] {
        for n in [1, 2, 3, 7, 16] {
            case(Layer::multi_head(d_model, num_heads), n, n);
        }
    }
    let shared = Layer { num_kv_heads: 2, d_k: 3, d_v: 5, ..Layer::multi_head(7, 4) };
    case(shared, 6, 6);
    case(Layer { d_kv_model: 9, biases: Biases::ALL, ..shared }, 2, 11);
    case(Layer { num_kv_heads: 1, ..shared }, 5, 3);
}

/// The 3×4 example by hand. Products: three projections of 3·4·4 = 48, in each of 2 heads Q·Kᵀ and A·V of
/// 3·2·3 = 18, and W_O 48: 144 + 72 + 48 = 264. Softmax: 2 heads · 9 scores. Divisions: each score once by √d_k
/// and each power once by the sum: 2 · (9 + 9).
#[test]
fn the_example_of_three_tokens_takes_264_multiplications() {
    let cost = cost(&call(Attention::multi_head(4, 2), 3, 3, false));
    assert_eq!((cost.multiplications, cost.exponentials, cost.divisions), (264, 18, 36));
    // Products of k terms add k − 1 times: 4 · 3·3·4 in the projections and W_O, 2 · 3·1·3 in the scores,
    // 2 · 3·2·2 in the mix; the softmax subtracts the largest (9) and sums (3·2), twice.
    assert_eq!(cost.additions, 4 * 36 + 2 * 9 + 2 * 12 + 2 * (9 + 6));
    assert_eq!((cost.other_multiplications, cost.other_functions), (0, 0));
}

/// A rotated matrix of 3 rows and 4 columns takes 12 cells · 2 products, 12 additions, and 12 sines and cosines
/// (two pairs a row, both functions of each). Four query heads and two key/value heads: six of them, not eight.
#[test]
fn shared_keys_are_rotated_once_for_the_heads_that_share_them() {
    let plain = call(lopsided(), 3, 3, false);
    let turned = call(Attention { positions: rope(), ..lopsided() }, 3, 3, false);
    let (before, after) = (cost(&plain), cost(&turned));
    assert_eq!(before.multiplications, LOPSIDED_PRODUCTS);
    assert_eq!(after.multiplications, LOPSIDED_PRODUCTS);
    assert_eq!(after.other_multiplications, 6 * 12 * 2);
    assert_eq!(after.other_functions, 6 * 12);
    assert_eq!(after.additions - before.additions, 6 * 12);

    let repeated: Vec<String> = attention::plan(&turned)
        .unwrap()
        .steps()
        .iter()
        .filter(|step| step.repeats)
        .map(|step| step.id.to_string())
        .collect();
    assert_eq!(repeated, ["head.2.k_rot", "head.4.k_rot"]);
}

/// A norm of 3 rows and 4 columns: 12 squares and 12 gains; 4 additions a row (three for the sum, one for ε);
/// a division a cell, and a mean and a root a row. Six of them, keys once for each key/value head.
#[test]
fn shared_keys_are_normalised_once_for_the_heads_that_share_them() {
    let before = cost(&call(lopsided(), 3, 3, false));
    let after = cost(&call(Attention { qk_norm: norm(), ..lopsided() }, 3, 3, false));
    assert_eq!(after.other_multiplications, 6 * (12 + 12));
    assert_eq!(after.additions - before.additions, 6 * 3 * 4);
    assert_eq!(after.divisions - before.divisions, 6 * (12 + 3 + 3));
}

/// An addition for each number of Q, K, V and the output: 3·16 + 3·8 + 3·4 + 3·5 = 99.
#[test]
fn biases_are_additions_and_nothing_else() {
    let before = cost(&call(lopsided(), 3, 3, false));
    let after = cost(&call(lopsided(), 3, 3, true));
    assert_eq!(after, Cost { additions: before.additions + 99, ..before });
}

/// Each of 4 · 9 scores is divided by the cap, goes through tanh, and is multiplied by the cap.
#[test]
fn a_cap_takes_a_tanh_a_score() {
    let before = cost(&call(lopsided(), 3, 3, false));
    let after = cost(&call(Attention { softcap: Some(50.0), ..lopsided() }, 3, 3, false));
    let capped =
        Cost { other_multiplications: 36, divisions: before.divisions + 36, other_functions: 36, ..before };
    assert_eq!(after, capped);
}

/// A fourth logit in each of 4 · 3 rows: 12 more exponentials, subtractions, additions; and one division a row for
/// the sink's own share.
#[test]
fn a_sink_is_one_more_logit_a_row() {
    let before = cost(&call(lopsided(), 3, 3, false));
    let after = cost(&call(Attention { sinks: Some(vec![0.0; 4]), ..lopsided() }, 3, 3, false));
    let with_sink = Cost {
        exponentials: before.exponentials + 12,
        additions: before.additions + 12 + 12,
        divisions: before.divisions + 12,
        ..before
    };
    assert_eq!(after, with_sink);
}

/// ALiBi: a product and an addition for each of 4 · 9 scores. A mask only looks.
#[test]
fn alibi_takes_a_product_a_score_and_a_mask_nothing() {
    let before = cost(&call(lopsided(), 3, 3, false));
    let alibi = Positions::Alibi { slopes: vec![0.5; 4], alignment: Alignment::BottomRight };
    let after = cost(&call(Attention { positions: alibi, ..lopsided() }, 3, 3, false));
    assert_eq!(after, Cost { other_multiplications: 36, additions: before.additions + 36, ..before });

    let masks = vec![Mask::Causal(Alignment::BottomRight)];
    assert_eq!(cost(&call(Attention { masks, ..lopsided() }, 3, 3, false)), before);
}

/// Three keys in tiles of two make two tiles. Each of 4 · 3 rows takes an exponential a score, and one more for
/// every tile after the first, by which ℓ and the d_v = 2 numbers of o shrink.
#[test]
fn flash_rescales_once_for_every_tile_after_the_first() {
    let cost = cost_as(Variant::Flash(Some(2)), &call(lopsided(), 3, 3, false));
    assert_eq!(cost.multiplications, LOPSIDED_PRODUCTS);
    assert_eq!(cost.exponentials, 4 * (9 + 3));
    assert_eq!(cost.other_multiplications, 4 * 3 * (1 + 2));
    // √d_k of every score; then only the 3·2 outputs of a head are divided, not its 3·3 weights.
    assert_eq!(cost.divisions, 4 * 9 + 4 * 6);
}

/// With a sink the sum starts at 1 before the first tile, so that tile shrinks it as well.
#[test]
fn flash_with_sinks_rescales_once_for_every_tile() {
    let call = call(Attention { sinks: Some(vec![0.0; 4]), ..lopsided() }, 3, 3, false);
    let two_tiles = cost_as(Variant::Flash(Some(2)), &call);
    assert_eq!(two_tiles.exponentials, 4 * (9 + 2 * 3));
    assert_eq!(two_tiles.other_multiplications, 4 * 2 * 3 * (1 + 2));
    // One tile that holds all keys: as many exponentials as the softmax with its sink, 4 · 3 · (3 + 1).
    let one_tile = cost_as(Variant::Flash(Some(3)), &call);
    assert_eq!(one_tile.exponentials, 48);
    assert_eq!(one_tile.exponentials, cost(&call).exponentials);
}

/// Any tile width: n_q · (n_kv + tiles − 1) exponentials a head.
#[test]
fn flash_takes_fewer_exponentials_with_larger_tiles() {
    let call = call(lopsided(), 7, 7, false);
    for (tile, tiles) in [(1, 7), (2, 4), (3, 3), (4, 2), (7, 1), (99, 1)] {
        let cost = cost_as(Variant::Flash(Some(tile)), &call);
        assert_eq!(cost.exponentials, 4 * 7 * (7 + tiles - 1), "tiles of {tile}");
    }
}

/// One head of width 4 run twice on the 3×4 example: projections and W_O as before, 4 · 48 = 192; each run scores
/// 3·4·3 = 36 and mixes 36, so 144 for both. The mean adds one 3×4 output to the other and divides 12 numbers.
#[test]
fn averaging_repeats_the_work_of_a_wide_head() {
    let call = call(Attention::multi_head(4, 2), 3, 3, false);
    let averaged = cost_as(Variant::Averaged, &call);
    assert_eq!(averaged.multiplications, 192 + 144);
    assert_eq!(averaged.exponentials, 2 * 9);
    assert_eq!(averaged.divisions, 2 * (9 + 9) + 12);
    let once = cost_as(Variant::SingleHead, &call);
    assert_eq!((once.multiplications, once.exponentials), (192 + 72, 9));
}

/// Batching changes the order in memory, and counts nothing twice: shared keys are turned once.
#[test]
fn fused_takes_what_the_loop_takes() {
    for biases in [false, true] {
        let features = Attention { positions: rope(), qk_norm: norm(), softcap: Some(5.0), ..lopsided() };
        for attention in [Attention::multi_head(4, 2), lopsided(), features] {
            let call = call(attention, 3, 3, biases);
            assert_eq!(cost_as(Variant::Fused, &call), cost(&call));
        }
    }
}

/// Cross-attention by hand: 2 queries of 4 numbers, 5 keys of 3, two heads of 2.
/// Q 2·4·4 = 32, K and V 5·3·4 = 60 each, scores and mix 2 · 2·2·5 = 40 each, W_O 2·4·4 = 32.
#[test]
fn the_other_sequence_pays_for_its_own_keys() {
    let attention = Attention { d_kv_model: 3, ..Attention::multi_head(4, 2) };
    let cost = cost(&call(attention, 2, 5, false));
    assert_eq!(cost.multiplications, 32 + 2 * 60 + 2 * 40 + 32);
    assert_eq!(cost.exponentials, 2 * 2 * 5);
}
