use super::*;
use crate::params::Dtype;

/// Every size differs: d_model 6, source 5, h 4, g 2, d_k 3, d_v 7.
fn lopsided() -> Layer {
    Layer {
        d_model: 6,
        d_kv_model: 5,
        num_heads: 4,
        num_kv_heads: 2,
        d_k: 3,
        d_v: 7,
        biases: Biases::ALL,
        output_projection: true,
    }
}

fn counts(layer: &Layer) -> Vec<(&'static str, u64)> {
    layer.parameters().unwrap().iter().map(|matrix| (matrix.name, matrix.count.value)).collect()
}

/// 4 · 512² = 1,048,576; the biases are 4 · 512 = 2,048 more (course, §5).
#[test]
fn the_paper_s_base_layer_has_four_square_matrices_whatever_the_heads() {
    for heads in [1, 4, 8, 16, 32] {
        let layer = Layer::multi_head(512, heads);
        assert_eq!(layer.parameter_count().unwrap(), 1_048_576, "{heads} heads");
        let with_biases = Layer { biases: Biases::ALL, ..layer };
        assert_eq!(with_biases.parameter_count().unwrap(), 1_050_624, "{heads} heads");
    }
}

/// W_Q 6·(4·3) = 72, W_K 5·(2·3) = 30, W_V 5·(2·7) = 70, W_O (4·7)·6 = 168;
/// b_Q 4·3 = 12, b_K 2·3 = 6, b_V 2·7 = 14, b_O 6.
#[test]
fn each_matrix_has_the_rows_of_what_it_reads_and_the_columns_of_its_heads() {
    let expected = [
        ("W_Q", 72),
        ("W_K", 30),
        ("W_V", 70),
        ("W_O", 168),
        ("b_Q", 12),
        ("b_K", 6),
        ("b_V", 14),
        ("b_O", 6),
    ];
    assert_eq!(counts(&lopsided()), expected);
    assert_eq!(lopsided().parameter_count().unwrap(), 378);
    let w_k = &lopsided().parameters().unwrap()[1];
    assert_eq!(w_k.shape, [5, 6]);
    assert_eq!((w_k.count.formula.as_str(), w_k.count.factors.as_str()), ("d_kv_model × g·d_k", "5 × 2·3"));
}

#[test]
fn without_an_output_projection_there_is_neither_w_o_nor_b_o() {
    let layer = Layer { output_projection: false, ..lopsided() };
    assert!(counts(&layer).iter().all(|(name, _)| !name.ends_with('O')));
    assert!(layer.multiplications(2, 3).unwrap().iter().all(|product| product.name != "concat·W_O"));
    // and a single bias can stand alone, as where only queries have one
    let only_q = Layer { biases: Biases { q: true, ..Biases::NONE }, ..lopsided() };
    assert_eq!(only_q.parameters().unwrap().iter().filter(|matrix| matrix.is_bias()).count(), 1);
}

/// n_q = 2, n_kv = 3: X·W_Q 2·72 = 144, X·W_K 3·30 = 90, X·W_V 3·70 = 210,
/// Q·Kᵀ 4·2·3·3 = 72, A·V 4·2·3·7 = 168, concat·W_O 2·168 = 336.
#[test]
fn each_product_multiplies_rows_by_inner_width_by_columns() {
    let products = lopsided().multiplications(2, 3).unwrap();
    let values: Vec<_> = products.iter().map(|product| (product.name, product.count.value)).collect();
    let expected =
        [("X·W_Q", 144), ("X·W_K", 90), ("X·W_V", 210), ("Q·Kᵀ", 72), ("A·V", 168), ("concat·W_O", 336)];
    assert_eq!(values, expected);
    assert_eq!(lopsided().multiplication_count(2, 3).unwrap(), 1020);
    assert_eq!(products[1].count.formula, "n_kv·d_kv_model·g·d_k");
    assert_eq!(products[3].count.factors, "4·2·3·3");
}

/// Course, §6: eight heads of 64 do 8·n²·64 = n²·512 multiplications, as one head of 512 does.
#[test]
fn eight_heads_multiply_as_much_as_one_but_take_eight_times_the_exponentials() {
    let eight = Layer::multi_head(512, 8);
    let one = eight.as_single_head().unwrap();
    assert_eq!(one, Layer::multi_head(512, 1));
    assert_eq!(eight.multiplication_count(100, 100).unwrap(), one.multiplication_count(100, 100).unwrap());
    // 8 · 100² against 100²
    assert_eq!(eight.exponentials(100, 100).unwrap().value, 80_000);
    assert_eq!(one.exponentials(100, 100).unwrap().value, 10_000);
}

/// Course, §11: LLaMA-2 70B keeps 2·80·8·128 = 163,840 numbers a token, 327,680 bytes in fp16; with 64
/// key/value heads it would be eight times as many.
#[test]
fn eight_key_value_heads_of_sixty_four_keep_an_eighth() {
    let gqa = Layer::multi_head(8192, 64).with_kv_heads(8);
    let numbers = gqa.kv_cache_numbers_per_token_of(80).unwrap();
    assert_eq!((numbers.formula.as_str(), numbers.factors.as_str()), ("2·layers·g·d_k", "2·80·8·128"));
    assert_eq!(numbers.stored_as(Dtype::Fp16).unwrap().value, 327_680);
    let mha = gqa.with_kv_heads(64).kv_cache_numbers_per_token_of(80).unwrap();
    assert_eq!(mha.value, 8 * numbers.value);
}

/// 2 heads of 3 + 7 numbers.
#[test]
fn keys_and_values_of_different_widths_are_cached_with_their_own() {
    let cached = lopsided().kv_cache_numbers_per_token().unwrap();
    assert_eq!((cached.formula.as_str(), cached.value), ("g·(d_k + d_v)", 20));
}

#[test]
fn the_number_of_key_value_heads_names_the_kind() {
    let kind = |h, g| Layer::multi_head(64, h).with_kv_heads(g).kind();
    assert_eq!(
        [kind(1, 1), kind(8, 8), kind(8, 2), kind(8, 1)],
        [Kind::SingleHead, Kind::MultiHead, Kind::GroupedQuery, Kind::MultiQuery]
    );
}

#[test]
fn sizes_that_make_no_layer_are_refused() {
    let refused = |layer: Layer| layer.check().unwrap_err().to_string();
    assert!(refused(Layer { d_v: 0, ..lopsided() }).contains("d_v is 0"));
    assert!(refused(lopsided().with_kv_heads(3)).contains("num_kv_heads to 2 or 4"));
    assert!(lopsided().check().is_ok());
}

/// d_model² alone is 2⁶⁴ here.
#[test]
fn a_layer_too_large_to_count_is_a_fault() {
    let layer = Layer::multi_head(1 << 32, 1);
    let faults = layer.parameter_count().unwrap_err();
    assert!(faults.to_string().contains("too large to count: d_model × h·d_k"), "{faults}");
    assert!(Layer::multi_head(512, 8).multiplications(1 << 32, 1 << 32).is_err());
    assert!(Layer::multi_head(512, 8).exponentials(1 << 31, 1 << 31).is_err()); // 8 · 2⁶²
    assert!(Layer { num_heads: u64::MAX, ..layer }.as_single_head().is_err());
}
