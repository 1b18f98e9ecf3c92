//! What `mha` shows of a stack, in every format, and what it refuses with a reason.

use std::fs;

use crate::run::{self, Run};

const STACK: &str = "
title: Two layers
tokens: [a, b, c]
attention: {d_model: 4, num_heads: 2, mask: causal}
inputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]]}
projections: {w_q: identity, w_k: identity, w_v: {random: {seed: 3}}, w_o: {random: {seed: 4}}}
layers: {count: 2, ffn: {d_ff: 6, w_1: {random: {seed: 1}}, w_2: {random: {seed: 2}}, b_1: ones}}
story: [{at: layer.1.head.1.weights, say: 'a sees itself: {layer.1.head.1.weights[1,1]}'}]
claims: [{step: layer.2.head.2.weights, row: 1, equals: [1, 0, 0]}]
";

fn with(lesson: &str, args: &[&str]) -> Run {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("stack.yaml"), lesson).unwrap();
    run::run(room.path(), args)
}

fn trace(args: &[&str]) -> Run {
    let words: Vec<&str> = ["trace", "stack.yaml"].iter().chain(args).copied().collect();
    with(STACK, &words)
}

#[track_caller]
fn shown(args: &[&str]) -> String {
    let run = trace(args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{args:?}");
    run.out
}

#[track_caller]
fn shows(args: &[&str], words: &[&str]) {
    let out = shown(args);
    for word in words {
        assert!(out.contains(word), "{args:?} should show {word}, but shows\n{out}");
    }
}

#[test]
fn steps_titles_and_signs_tell_the_layer() {
    shows(
        &["--steps", "layer.2.head.1.scores,layer.2.ffn.x,final,embedding"],
        &[
            "layer.2.head.1.scores · scores of head 1, layer 2",
            "S₁⁽²⁾ = Q₁⁽²⁾K₁⁽²⁾ᵀ / √d_k",
            "F⁽²⁾ = (R⁽²⁾ − mean(R⁽²⁾)) / √(variance(R⁽²⁾) + ε)",
            "final = (H⁽²⁾ − mean(H⁽²⁾))",
            "embedding · what the layers start from",
            "3 tokens: a, b and c",
        ],
    );
    shows(&["--steps", "layer.1.head.1.scores", "--ascii"], &["S1^(1) = Q1^(1)K1^(1)^T / sqrt(d_k)"]);
    shows(&["--steps", "layer.1.head.1.weights"], &["» a sees itself: 1.0000"]);
}

/// A name without its layer is that of every layer; heads are chosen in all of them.
#[test]
fn steps_are_chosen_by_layer_and_head() {
    let names = |args: &[&str]| {
        let args: Vec<&str> = args.iter().chain(&["--summary"]).copied().collect();
        let out = shown(&args);
        let lines = out.lines().filter(|line| line.starts_with('│'));
        let names: Vec<String> = lines
            .filter_map(|line| line.trim_matches(['│', ' ']).split(' ').next().map(str::to_owned))
            .collect();
        names.into_iter().filter(|name| name.starts_with("layer")).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&["--steps", "layer.2.head.*.weights"]),
        ["layer.2.head.1.weights", "layer.2.head.2.weights"]
    );
    assert_eq!(
        names(&["--steps", "weights", "--heads", "2"]),
        ["layer.1.head.2.weights", "layer.2.head.2.weights"]
    );
    assert_eq!(names(&["--steps", "layer.1.heads"]), ["layer.1.head.1.output", "layer.1.head.2.output"]);
    assert_eq!(names(&["--steps", "hidden"]), ["layer.1.hidden", "layer.2.hidden"]);
    let typo = trace(&["--steps", "layer.2.head.1.score"]);
    assert!(typo.err.contains("did you mean layer.2.head.1.scores?"), "{}", typo.err);
}

/// A number of the second layer goes back to the embedding.
#[test]
fn a_number_of_the_last_layer_is_followed_back_to_the_embedding() {
    shows(
        &["--explain", "layer.2.hidden[1,1]", "--depth", "40", "--width", "160"],
        &[
            "= layer.2.ffn.residual[1,1]",
            "= attention_residual[1,1] + ffn.output[1,1]",
            "layer.2.attention_residual[1,1] = layer.1.hidden[1,1] + output[1,1]",
            "layer.1.x[1,1] = (embedding[1,1] − mean(embedding[1])) /",
            "embedding, layer.1.w_q",
            "In the arithmetic of a layer's step, names without a layer are that layer's own.",
        ],
    );
    // (1 − ½) / √(¼ + 0.00001), and GELU, each line one reduction.
    shows(
        &["--explain", "layer.1.x[1,1]"],
        &["= (1 − mean(1, 0, 1, 0)) / √(variance(1, 0, 1, 0) + 1e-5)", "= (1 − 0.5) / √(0.25 + 1e-5)"],
    );
    shows(
        &["--explain", "layer.1.ffn.activation[1,1]"],
        &["= 0.5 · ffn.up[1,1] · (1 + erf(ffn.up[1,1]/√2))"],
    );
}

#[test]
fn json_and_csv_have_every_step_of_every_layer() {
    let json: serde_json::Value = serde_json::from_str(&shown(&["--format", "json"])).unwrap();
    let steps = json["steps"].as_array().unwrap();
    assert_eq!(json["config"]["num_layers"], 2);
    let ids: Vec<&str> = steps.iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!((ids[0], ids[1], ids[ids.len() - 1]), ("embedding", "layer.1.x", "final"));
    let residual = steps.iter().find(|step| step["id"] == "layer.2.ffn.residual").unwrap();
    assert_eq!(residual["inputs"], serde_json::json!(["layer.2.attention_residual", "layer.2.ffn.output"]));
    let csv = shown(&["--format", "csv", "--steps", "layer.2.hidden"]);
    assert_eq!(csv.lines().filter(|line| line.starts_with("layer.2.hidden,")).count(), 12, "{csv}");
}

/// Heads are stacked in each layer, under its prefix; biases are lists.
#[test]
fn npz_has_the_stacked_names_of_each_layer() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("stack.yaml"), STACK).unwrap();
    let written = run::run(room.path(), &["trace", "stack.yaml", "--format", "npz", "--output", "t.npz"]);
    assert_eq!(written.status, Some(0), "{}", written.err);
    let shape = |name: &str| mha::arrays::shape(&room.path().join("t.npz"), Some(name)).unwrap().unwrap();
    assert_eq!(shape("embedding"), [3, 4]);
    assert_eq!(shape("layer.1.weights"), [2, 3, 3]);
    assert_eq!(shape("layer.2.q_heads"), [2, 3, 2]);
    assert_eq!(shape("layer.2.ffn.b_1"), [6]);
    assert_eq!(shape("layer.2.ffn.up"), [3, 6]);
    assert_eq!(shape("final"), [3, 4]);
}

/// The second layer shares keys otherwise than the first: its file holds one sheet of them, and two in the first.
#[test]
fn npz_has_shared_keys_once_in_each_layer() {
    let lesson = STACK.replace(
        "count: 2",
        "stack: [{}, {attention: {num_kv_heads: 1}, projections: {w_k: [[1, 0], [0, 1], [0, 0], [0, 0]]}}]",
    );
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("stack.yaml"), lesson).unwrap();
    let written =
        run::run(room.path(), &["trace", "stack.yaml", "--format", "npz", "--output", "t.npz", "--quiet"]);
    assert_eq!(written.status, Some(0), "{}", written.err);
    let shape = |name: &str| mha::arrays::shape(&room.path().join("t.npz"), Some(name)).unwrap().unwrap();
    assert_eq!((shape("layer.1.k_heads"), shape("layer.2.k_heads")), (vec![2, 3, 2], vec![1, 3, 2]));
    assert_eq!((shape("layer.2.v_heads"), shape("layer.2.scores")), (vec![1, 3, 2], vec![2, 3, 3]));
}

#[test]
fn pages_are_ordered_by_layer() {
    shows(
        &["--format", "html"],
        &[
            "Before the first layer",
            "From tokens to queries, keys and values, layer 1",
            "Each head, layer 2",
            "The feed-forward network, layer 2",
            "After the last layer",
        ],
    );
    shows(
        &["--format", "markdown"],
        &["S_1^{(2)} = \\frac{Q_1^{(2)}K_1^{(2)\\top}}{\\sqrt{d_k}}", "W_1^{(1)}"],
    );
    shows(&["--format", "latex"], &["\\section*{Head 2 (layer 2)}", "\\section*{Last norm}"]);
    shows(&["--format", "heatmap"], &["layer.1.head.1.weights", "layer.2.head.2.weights"]);
    shows(&["--format", "svg"], &["layer 2, head 1"]);
}

#[test]
fn what_is_of_one_attention_call_says_so() {
    for (args, words) in [
        (
            ["trace", "stack.yaml", "--format", "python"].as_slice(),
            "a stack of layers is not written as a program",
        ),
        (&["trace", "stack.yaml", "--format", "ipynb"], "a stack of layers is not written as a program"),
        (&["trace", "stack.yaml", "--mistake", "scale-missing"], "a stack of layers is not computed wrongly"),
        (&["compare", "stack.yaml"], "stack.yaml is a stack of layers"),
    ] {
        let run = with(STACK, args);
        assert_eq!(run.status, Some(2), "{args:?}");
        assert!(run.err.contains(words), "{args:?}: {}", run.err);
        assert!(run.err.contains("why: ") && run.err.contains("of one attention call"), "{}", run.err);
    }
}

#[test]
fn claims_and_sentences_about_layers_are_checked() {
    let validated = with(STACK, &["lessons", "validate", "stack.yaml"]);
    assert_eq!(validated.out, "✓ stack.yaml: 1 claim true, 0 answers computed, 1 sentence told\n");
    let false_claim = STACK.replace("equals: [1, 0, 0]", "equals: [0, 1, 0]");
    let validated = with(&false_claim, &["lessons", "validate", "stack.yaml"]);
    assert_eq!(validated.status, Some(1));
    assert!(validated.out.contains("the lesson claims layer.2.head.2.weights[1,1] = 0, but it is 1"));
    let no_layer = STACK.replace("at: layer.1", "at: layer.3");
    let validated = with(&no_layer, &["lessons", "validate", "stack.yaml"]);
    assert!(validated.out.contains("this lesson has no step layer.3.head.1.weights"), "{}", validated.out);
}

/// (1, 0, 1, 0) has mean ½ and variance ¼; with eps ¼ the root is √½, and ½ / √½ = 1/√2.
#[test]
fn a_norm_is_exact_where_its_root_is() {
    let lesson = STACK.replace("count: 2", "count: 2, eps: 0.25");
    let run = with(&lesson, &["trace", "stack.yaml", "--exact", "--steps", "layer.1.x"]);
    let row = run.out.lines().find(|line| line.starts_with("│ a")).unwrap();
    assert_eq!(
        row.split(['│', '┆']).map(str::trim).collect::<Vec<_>>(),
        ["", "a", "1/√2", "−1/√2", "1/√2", "−1/√2", ""]
    );
    // GELU has no exact form, and says so.
    let run = with(&lesson, &["trace", "stack.yaml", "--exact", "--steps", "layer.1.ffn.activation"]);
    assert!(run.out.contains("Decimals: "), "{}", run.out);
}
