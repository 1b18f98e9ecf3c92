//! What is wrong with a stack is said with its place, its reason and what to try.

use std::path::Path;

use mha::lesson::{Options, parse};

const X: &str = "inputs: {x: [[1, 0], [0, 1]]}";
const PROJECTIONS: &str = "projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}";

#[track_caller]
fn refused(inputs: &str, projections: &str, layers: &str) -> String {
    let text = format!("attention: {{num_heads: 1}}\n{inputs}\n{projections}\nlayers: {{{layers}}}\n");
    parse(&text, "stack.yaml", Path::new("."), &Options::default()).unwrap_err().to_string()
}

/// The lesson with these layers is refused with these words, once.
#[track_caller]
fn case(layers: &str, words: &[&str]) {
    let text = refused(X, PROJECTIONS, layers);
    for word in words {
        assert_eq!(text.matches(word).count(), 1, "{word} in\n{text}");
    }
}

#[test]
fn keys_of_layers_are_checked_as_they_are_read() {
    case("count: 2, norms: pre", &["layers has no key norms", "did you mean norm?"]);
    case("norm: pre", &["layers do not say how many there are", "write count: 2, or stack: [{}, {}]"]);
    case("count: 2, stack: [{}, {}]", &["layers have both count and stack", "remove count"]);
    case("count: 0", &["layers.count is 0, but it must be between 1 and 512"]);
    case("stack: []", &["layers.stack has 0 layers, but there must be from 1 to 512"]);
    case("count: 1, norm: before", &["layers.norm is \"before\", but it must be pre, post or none"]);
    case("count: 1, eps: -1", &["layers.eps is -1, but it must not be negative"]);
    case("count: 1, residual: 1", &["layers.residual is 1, but it needs true or false"]);
    case("count: 1, gain: [1, 2, 3]", &["layers.gain has 3 numbers, but it needs 2"]);
    case("count: 1, norm: none, gain: ones", &["layers.gain is given, but there is no norm"]);
    case("stack: [{attention: {head: 1}}]", &["layers.stack[1].attention has no key head"]);
    case("count: 1, ffn: {activation: swish}", &["it must be gelu, relu or identity"]);
}

#[test]
fn a_feed_forward_network_needs_matrices_that_fit() {
    case(
        "count: 3, ffn: {d_ff: 3, w_1: {random: {seed: 1}}}",
        &["w_2 is missing from layers.ffn", "write w_2: {random: {seed: 7}}, or a matrix of 3 × 2"],
    );
    case(
        "count: 3, ffn: {d_ff: 3, w_1: [[1, 2], [3, 4], [5, 6]], w_2: zeros}",
        &[
            "layers.ffn.w_1 is 3 × 2, but X · W_1 needs 2 × 3",
            "d_model = 2, d_ff = 3",
            "it may be transposed",
        ],
    );
    case(
        "count: 1, ffn: {w_1: [[1, 2, 3], [4, 5, 6]], w_2: identity}",
        &["layers.ffn.w_2 is identity, but … · W_2 needs 3 × 2"],
    );
    case(
        "count: 1, ffn: {w_1: identity, w_2: identity, b_1: [1, 2, 3]}",
        &["layers.ffn.b_1 has 3 numbers, but it needs 2"],
    );
}

#[test]
fn what_all_layers_share_is_told_once() {
    let text = refused(X, "projections: {w_q: [[1, 2]], w_k: identity, w_v: identity}", "count: 5");
    assert_eq!(text.matches("projections.w_q is 1 × 2, but X · W_Q needs 2 × 2").count(), 1, "{text}");
    assert_eq!(text.matches("w_o is missing from projections").count(), 1, "{text}");
}

#[test]
fn a_stack_has_no_cross_attention_no_batch_and_starts_from_x() {
    let cross = refused("inputs: {x: [[1, 0]], x_kv: [[1, 0]]}", PROJECTIONS, "count: 1");
    assert!(cross.contains("inputs.x_kv is given, but a stack of layers has no cross-attention"), "{cross}");
    assert!(cross.contains("each layer attends to what the one before hands on"), "{cross}");
    let batch = refused("inputs: {x: [[[1, 0]], [[0, 1]]]}", PROJECTIONS, "count: 1");
    assert!(batch.contains("inputs.x has a batch axis, and a stack of layers takes one sequence"), "{batch}");
    let projected = refused("inputs: {q: [[1]], k: [[1]], v: [[1]]}", "projections: {}", "count: 1");
    assert!(projected.contains("inputs.q is given, but a stack of layers starts from x"), "{projected}");
}

#[test]
fn what_attention_gives_is_as_wide_as_the_layers() {
    let text = "attention: {num_heads: 1, d_k: 2, d_v: 3}\ninputs: {x: [[1, 0], [0, 1]]}\n\
                projections: {w_q: identity, w_k: identity, w_v: {random: {seed: 1}}, w_o: none}\nlayers: {count: 1}\n";
    let fault = parse(text, "stack.yaml", Path::new("."), &Options::default()).unwrap_err().to_string();
    let words = "projections.w_o is none, so attention gives num_heads · d_v = 1 · 3 numbers a token, but the layers hand on";
    assert!(fault.contains(words), "{fault}");
    // As wide as the layers, it may stop at concat.
    let text = text.replace("d_v: 3", "d_v: 2");
    assert!(parse(&text, "stack.yaml", Path::new("."), &Options::default()).is_ok());
}

/// 512 layers with a network of 2 · 2 · 1,000,000 numbers each: 2 billion, refused before anything is made.
#[test]
fn absurd_stacks_are_refused_before_anything_is_made() {
    let ffn = "ffn: {d_ff: 1000000, w_1: zeros, w_2: zeros}";
    let text = refused(X, PROJECTIONS, &format!("count: 512, {ffn}"));
    assert!(text.contains("512 layers would have"), "{text}");
    assert!(text.contains("every layer has steps and matrices of its own"), "{text}");
    let wide = refused(
        "inputs: {x: {random: {seed: 1, shape: [2, 2000]}}}",
        PROJECTIONS,
        &format!("count: 1, {ffn}"),
    );
    assert!(wide.contains("W_1 and W_2 (d_model × d_ff) would have 2000000000 numbers"), "{wide}");
    let heads = "inputs: {x: {random: {seed: 1, shape: [1, 512]}}}";
    let text = format!("attention: {{num_heads: 64}}\n{heads}\n{PROJECTIONS}\nlayers: {{count: 512}}\n");
    let many = parse(&text, "stack.yaml", Path::new("."), &Options::default()).unwrap_err().to_string();
    assert!(many.contains("512 layers have 32768 heads, more than the 16384"), "{many}");
}

/// A row of equal numbers has no variance, and eps is 0: 0/0.
#[test]
fn a_norm_of_equal_numbers_without_eps_says_why_it_has_no_value() {
    let room = tempfile::tempdir().unwrap();
    let text = format!(
        "attention: {{num_heads: 1}}\ninputs: {{x: [[1, 1], [0, 1]]}}\n{PROJECTIONS}\nlayers: {{count: 1, eps: 0}}\n"
    );
    std::fs::write(room.path().join("stack.yaml"), text).unwrap();
    let run = crate::run::run(room.path(), &["trace", "stack.yaml"]);
    assert_eq!(run.status, Some(2));
    assert!(run.err.contains("layer.1.x[1,1] has no value"), "{}", run.err);
    assert!(run.err.contains("all numbers of its row are equal and eps is 0"), "{}", run.err);
    assert!(run.err.contains("try: give layers an eps above 0"), "{}", run.err);
}
