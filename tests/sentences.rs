//! What a page says in words about what happened, and what it must never say. A sentence that is false, or that no
//! teacher would say, is a wrong number in another coat.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

use std::fs;

/// What `mha ARGS` writes for a lesson, without its tables, in one line.
#[track_caller]
fn words(lesson: &str, args: &[&str]) -> String {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), lesson).unwrap();
    let run = run::run(room.path(), args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "{lesson}");
    let is_table = |line: &&str| line.trim_start().starts_with(['┌', '│', '╞', '└']);
    let text: Vec<&str> = run.out.lines().filter(|line| !is_table(line)).collect();
    text.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands under one step of a lesson.
#[track_caller]
fn under(lesson: &str, step: &str) -> String {
    words(lesson, &["trace", "lesson.yaml", "--sequence", "all", "--steps", step])
}

/// Under the step stands every sentence of `says`, and nothing of `never`.
#[track_caller]
fn case(lesson: &str, step: &str, says: &[&str], never: &[&str]) {
    let text = under(lesson, step);
    for sentence in says {
        assert!(text.contains(sentence), "{step} should say: {sentence}\nbut says: {text}");
    }
    for sentence in never {
        assert!(!text.contains(sentence), "{step} should not say: {sentence}\nbut says: {text}");
    }
}

/// A lesson with one head of width d_model, identity everywhere, and no W_O.
fn one_head(attention: &str, x: &str) -> String {
    format!(
        "mha: 1\nattention: {{num_heads: 1, {attention}}}\ninputs: {{x: {x}}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: none}}\n"
    )
}

/// Tokens a, b, c; "a" is hidden from everything, b sees two keys, c all.
fn blind_a(meaning: &str) -> String {
    format!(
        "tokens: [a, b, c]\n{}",
        one_head(
            &format!(
                "d_model: 2, {meaning}, mask: {{allow: [[false, false, false], [true, true, false], [true, true, true]]}}"
            ),
            "[[1, 0], [0, 1], [1, 1]]"
        )
    )
}

#[test]
fn a_row_that_sees_nothing_is_not_said_to_sum_to_one() {
    let weights = "head.1.weights";
    // Spread evenly, even a row that sees nothing sums to 1; zeros and NaN do not.
    let (rest, all) = ("All remaining rows sum to 1.", "Every row sums to 1.");
    for (meaning, sums, other, words) in [
        ("zeros", rest, all, "zeros, as this lesson asks."),
        ("nan", rest, all, "0/0 is not a number, as in a plain softmax."),
        ("uniform", all, rest, "spread evenly over every key, as this lesson asks."),
    ] {
        let never = [other, "Even: a"];
        let common = format!("{sums} Nothing can be seen from a:");
        let lesson = blind_a(&format!("fully_masked_rows: {meaning}"));
        case(&lesson, weights, &[&format!("{common} {words}"), "Sharpest: b looks at b, 0.6698."], &never);
        case(
            &lesson,
            "head.1.masked_scores",
            &[
                "4 of 9 places are hidden:",
                "exactly 0 after it (where anything is left). Nothing is left for a.",
            ],
            &[],
        );
    }
}

/// Zeros and not-a-number blend nothing; an even row does.
#[test]
fn a_row_that_sees_nothing_blends_no_values() {
    let output = "head.1.output";
    let some = "each row that saw a key is a blend of the values";
    for meaning in ["zeros", "nan"] {
        case(&blind_a(&format!("fully_masked_rows: {meaning}")), output, &[some], &["each row is a blend"]);
    }
    case(
        &blind_a("fully_masked_rows: uniform"),
        output,
        &["each row is a blend of the values"],
        &["saw a key"],
    );
    case(&blind_a("sinks: [0]"), output, &[some], &["each row is a blend"]);
}

#[test]
fn where_no_row_sees_anything_there_is_no_other_row() {
    let lesson = |meaning: &str| {
        let allow = "mask: {allow: [[false, false], [false, false]]}";
        one_head(&format!("d_model: 2, fully_masked_rows: {meaning}, {allow}"), "[[1, 0], [0, 1]]")
    };
    let zeros = lesson("zeros");
    let never = ["sums to 1", "Sharpest", "Even"];
    case(&zeros, "head.1.weights", &["Nothing can be seen from token 1 and token 2: zeros"], &never);
    case(
        &zeros,
        "head.1.masked_scores",
        &["4 of 4 places are hidden. Nothing is left for token 1 and token 2."],
        &["becomes exactly 0", "where anything is left"],
    );
    case(
        &zeros,
        "head.1.output",
        &["No query saw anything: there is nothing to blend."],
        &["What this head found"],
    );
    case(&lesson("uniform"), "head.1.output", &["each row is a blend"], &["nothing to blend"]);
}

/// With a sink a blind row is settled: the sink takes all of it. Two keys of score 0 and a sink of 0: a third each.
#[test]
fn a_sink_is_part_of_every_sum() {
    let lesson = blind_a("sinks: [0.5]");
    case(
        &lesson,
        "head.1.weights",
        &[
            "Every row sums to 1 together with what the sink takes.",
            "Nothing can be seen from a: the sink takes all.",
            "with a sink of 0.5",
        ],
        &["All remaining", "Even: a", "as this lesson asks", "sums to 1. "],
    );
    case(&lesson, "head.1.sink_weight", &["its largest share is 1.0000, of a."], &[]);
    let flat = one_head("d_model: 1, sinks: [0]", "[[0], [0]]");
    case(
        &flat,
        "head.1.weights",
        &["Even: token 1 and token 2 (0.3333 each)."],
        &["Sharpest", "Nothing can"],
    );
}

/// a · a = b · b = 1 and a · b = 0: two scores are the largest, and two weights.
#[test]
fn a_tie_is_said_to_be_one() {
    let tied = format!("tokens: [a, b]\n{}", one_head("d_model: 2", "[[1, 0], [0, 1]]"));
    case(&tied, "head.1.scores", &["a answers a best, 0.7071 (others tie)."], &["same"]);
    case(&tied, "head.1.weights", &["Sharpest: a looks at a, 0.6698 (others tie)."], &["Even"]);
    // 4 · 4 = 16 is alone at the top: b asks, b answers.
    let alone = format!("tokens: [a, b]\n{}", one_head("d_model: 2", "[[1, 0], [0, 4]]"));
    case(&alone, "head.1.scores", &["b answers b best, 11.3137."], &["others"]);
    case(&alone, "head.1.weights", &["Sharpest: b looks at b, 1.0000."], &["others"]);
}

#[test]
fn rows_of_equal_scores_are_even_and_not_sharp() {
    let flat = format!("tokens: [a, b, c]\n{}", one_head("d_model: 2", "[[1, 0], [1, 0], [0, 0]]"));
    // a and b score each other 1/√2 and c 0; c is the zero vector and scores everything 0.
    case(&flat, "head.1.scores", &["c scores every key the same, 0.0000."], &["c score every"]);
    case(&flat, "head.1.weights", &["Even: c (0.3333 each).", "Sharpest: a looks at a"], &[]);
    case(&flat, "head.1.q", &["Head 1 owns columns 1 to 2. Here c is the zero vector."], &["All zero"]);

    let all = format!("tokens: [a, b, c]\n{}", one_head("d_model: 2", "[[1, 0], [1, 0], [1, 0]]"));
    case(&all, "head.1.scores", &["a, b and c score every key the same."], &["best"]);
    case(&all, "head.1.weights", &["Even: a, b and c (0.3333 each)."], &["Sharpest"]);
}

/// Equal scores, then a slope of ½: each token prefers itself by e^½ over a neighbour, so nothing is even any more.
#[test]
fn distances_break_equal_scores() {
    let alibi = |slope: &str| {
        let attention = format!("d_model: 2, positions: {{alibi: {{slopes: [{slope}]}}}}");
        format!("tokens: [a, b, c]\n{}", one_head(&attention, "[[1, 0], [1, 0], [1, 0]]"))
    };
    let lesson = alibi("0.5");
    case(&lesson, "head.1.scores", &["a, b and c score every key the same."], &["best"]);
    case(
        &lesson,
        "head.1.biased_scores",
        &["S₁ − 0.5 · |row − column|", "every step of distance between query and key costs 0.5."],
        &[],
    );
    // Row a: e^0 : e^−½ : e^−1 = 1 : 0.6065 : 0.3679, so 1 / 1.9744 = 0.5065; row c is its mirror image.
    case(&lesson, "head.1.weights", &["Sharpest: a looks at a, 0.5065 (others tie)."], &["Even"]);
    // A slope below zero rewards distance.
    case(
        &alibi("-1"),
        "head.1.biased_scores",
        &["S₁ + 1 · |row − column|", "adds 1."],
        &["- -1", "− -1", "costs"],
    );
}

#[test]
fn an_identity_and_a_matrix_of_zeros_are_known() {
    let lesson = "mha: 1\ntokens: [a, b]\nattention: {d_model: 2, num_heads: 1}\n\
                  inputs: {x: [[1, 2], [3, 5]]}\n\
                  projections: {w_q: identity, w_k: [[1, 2], [0, 1]], w_v: zeros, w_o: zeros}\n";
    case(lesson, "w_q", &["The identity: W_Q passes its input through unchanged."], &["as given"]);
    case(lesson, "w_k", &["W_K as given: one row for each number that goes in"], &["identity"]);
    case(lesson, "w_v", &["All zeros: W_V lets nothing through."], &["as given"]);
    case(lesson, "head.1.v", &["All zero: nothing of these tokens is left here."], &[]);
    case(
        lesson,
        "output",
        &["W_O is all zeros here: nothing of what the heads found comes through."],
        &["combines"],
    );
    let identity = lesson.replace("w_o: zeros", "w_o: identity");
    case(&identity, "output", &["it is the identity here, and hands on what it gets."], &["combines"]);
    let mixing = lesson.replace("w_o: zeros", "w_o: [[1, 1], [0, 1]]");
    case(&mixing, "output", &["W_O combines what the heads found"], &["identity", "zeros"]);
}

/// A single token of a single number: no plural, no comparison with others.
#[test]
fn one_token_is_spoken_of_as_one() {
    let lesson = one_head("d_model: 1, mask: causal", "[[0]]");
    case(&lesson, "x", &["1 token: token 1; a row of 1 number."], &["each", "numbers"]);
    case(
        &lesson,
        "head.1.q",
        &["Head 1 owns column 1. All zero: nothing of the token is left here."],
        &["these"],
    );
    case(&lesson, "head.1.scores", &["token 1 answers token 1 best, 0."], &["others", "same"]);
    case(&lesson, "head.1.masked_scores", &["Nothing is hidden here"], &["0 of 1", "exactly 0"]);
    case(&lesson, "head.1.weights", &["Every row sums to 1."], &["Sharpest", "Even", "others"]);
    case(&lesson, "concat", &["One head only: there is nothing to lay beside it."], &["heads' outputs"]);
    let turned = one_head("d_model: 2, positions: rope", "[[1, 0]]");
    case(&turned, "head.1.q_rot", &["Position 0. Turned together: columns 1 and 2"], &["Positions"]);
}

#[test]
fn a_single_hidden_place_is_one_of_many() {
    let lesson = one_head("d_model: 1, mask: causal", "[[1], [2]]");
    case(
        &lesson,
        "head.1.masked_scores",
        &["1 of 4 places is hidden: −∞"],
        &["place is", "are hidden", "left"],
    );
}

#[test]
fn shared_keys_say_whose_they_are() {
    let lesson = "mha: 1\nattention: {d_model: 4, num_heads: 4, num_kv_heads: 2, d_k: 1}\n\
                  inputs: {x: [[1, 2, 3, 4], [4, 3, 2, 1]]}\n\
                  projections: {w_q: identity, w_k: {random: {seed: 1}}, w_v: {random: {seed: 2}}, w_o: identity}\n";
    let first = "This is key/value head 1, shared by query heads 1 and 2.";
    let second = "This is key/value head 2, shared by query heads 3 and 4.";
    for (head, says, never) in
        [(1, first, second), (2, first, second), (3, second, first), (4, second, first)]
    {
        case(lesson, &format!("head.{head}.k"), &[says], &[never]);
        case(lesson, &format!("head.{head}.v"), &[says], &[never]);
        case(lesson, &format!("head.{head}.q"), &[&format!("Head {head} owns column {head}.")], &["shared"]);
    }
    let own = lesson.replace("num_kv_heads: 2", "num_kv_heads: 4");
    case(&own, "head.1.k", &["Head 1 reads column 1."], &["shared"]);
}

#[test]
fn a_lesson_without_w_o_says_where_it_ends() {
    let note = "There is no W_O: this is the result.";
    let without = one_head("d_model: 2", "[[1, 0], [0, 1]]");
    case(&without, "concat", &[note], &[]);
    case(&without.replace("w_o: none", "w_o: identity"), "concat", &[], &[note]);
}

/// d_k = 6 with theta 100: pair t turns by position · 100^(−2t/dims); with dims = 4 that is 1 and 0.1.
#[test]
fn rope_names_the_columns_that_turn_together() {
    let lesson = |rope: &str| {
        one_head(
            &format!("d_model: 6, positions: {{rope: {{theta: 100, {rope}}}}}"),
            "[[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1], [1, 1, 1, 1, 1, 2]]",
        )
    };
    let half = lesson("layout: half-split, dims: 4");
    case(
        &half,
        "head.1.q_rot",
        &[
            "Positions 0, 1 and 2.",
            "Turned together: columns 1 and 3 by position · 1.0000, 2 and 4 by position · 0.1000; the others stay.",
            "(half-split)",
        ],
        &["and so on"],
    );
    let interleaved = lesson("layout: interleaved, dims: 4");
    case(
        &interleaved,
        "head.1.k_rot",
        &[
            "columns 1 and 2 by position · 1.0000, 3 and 4 by position · 0.1000; the others stay.",
            "(interleaved)",
        ],
        &["1 and 3"],
    );
    // All six columns: three pairs, and nothing stays.
    let whole = lesson("layout: half-split, dims: 6");
    case(
        &whole,
        "head.1.q_rot",
        &["columns 1 and 4 by", "2 and 5 by", "3 and 6 by"],
        &["stay.", "and so on"],
    );
    let placed = lesson("q_start: 5");
    case(&placed, "head.1.q_rot", &["Positions 5, 6 and 7."], &[]);
    case(&placed, "head.1.k_rot", &["Positions 0, 1 and 2."], &[]);
}

/// The other layout speaks of rows where this one speaks of columns.
#[test]
fn words_face_the_way_of_the_layout() {
    let lesson = one_head("d_model: 2, positions: rope", "[[1, 0], [0, 1]]");
    let turned = |step| words(&lesson, &["trace", "lesson.yaml", "--layout", "columns", "--steps", step]);
    assert!(turned("head.1.q").contains("Head 1 owns rows 1 to 2."));
    assert!(turned("head.1.q_rot").contains("Turned together: rows 1 and 2"));
    assert!(turned("head.1.scores").contains("Columns ask, rows answer: token 1 answers"));
    assert!(turned("head.1.weights").contains("Every column sums to 1."));
    assert!(turned("x").contains("each a column of 2 numbers"));
}

#[test]
fn a_norm_speaks_of_a_gain_where_there_is_one() {
    let lesson = one_head("d_model: 2, qk_norm: {q: [1, 1], k: [1, 2]}", "[[3, 4], [4, 3]]");
    case(&lesson, "head.1.q_norm", &["Each token's row is divided by its root mean square."], &["gain"]);
    case(&lesson, "head.1.k_norm", &["root mean square, then multiplied by the gain.", "· gain"], &[]);
}

/// Three queries on two keys (or two on three): which corner the diagonal starts from has to be said.
#[test]
fn a_diagonal_says_which_corner_it_starts_from() {
    let lesson = |mask: &str, kv: &str| {
        format!(
            "mha: 1\nattention: {{d_model: 1, num_heads: 1, fully_masked_rows: zeros, mask: {mask}}}\n\
             inputs: {{x: [[1], [2]], x_kv: {kv}}}\n\
             projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
        )
    };
    let (three, two) = ("[[1], [2], [3]]", "[[1], [2]]");
    let step = "head.1.masked_scores";
    // Bottom-right: query 1 stands at key 2, so one of six places is hidden; top-left: three are.
    case(
        &lesson("causal", three),
        step,
        &["causal, bottom-right aligned: the last query sees up to the last key", "1 of 6 places is hidden"],
        &["top-left"],
    );
    case(
        &lesson("{causal: top-left}", three),
        step,
        &["causal, top-left aligned: the first query sees up to the first key", "3 of 6 places are hidden"],
        &["bottom-right"],
    );
    case(&lesson("causal", two), step, &["(causal)", "1 of 4 places is hidden"], &["aligned"]);
    case(&lesson("{causal: {offset: 1}}", three), step, &["causal, offset 1", "1 of 6"], &["aligned"]);
    // Query i sees keys i − 1 and i, counted from its place at the end: 1,2 and 2,3 of three.
    case(
        &lesson("{window: 2}", three),
        step,
        &["window: 1 before, 0 after, bottom-right aligned", "2 of 6 places are hidden"],
        &[],
    );
    case(&lesson("{window: {left: 1, right: 1}}", two), step, &["window: 1 before, 1 after"], &["aligned"]);
}

/// Sequence 1 hides its third key from three queries, sequence 2 the last two from each.
#[test]
fn each_sequence_speaks_of_its_own_padding() {
    let lesson = "mha: 1\n\
                  attention: {d_model: 1, num_heads: 1, mask: {key_padding: [[true, true, false], [true, false, false]]}}\n\
                  inputs: {x: [[[1], [2], [3]], [[4], [5], [6]]]}\n\
                  projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n";
    case(lesson, "batch.1.head.1.masked_scores", &["(key padding)", "3 of 9 places are hidden"], &["6 of 9"]);
    case(lesson, "batch.2.head.1.masked_scores", &["(key padding)", "6 of 9 places are hidden"], &["3 of 9"]);
    case(lesson, "batch.2.head.1.weights", &["Every row sums to 1."], &["Sharpest", "Even"]);
}

#[test]
fn tokens_are_set_apart_from_the_sentence() {
    let numbered = one_head("d_model: 1", "[[1], [2]]");
    case(&numbered, "x", &["2 tokens: token 1 and token 2; each a row of 1 number."], &[]);
    case(&numbered, "head.1.scores", &["token 2 answers token 2 best, 4."], &["2 answers 2"]);
    let named = |tokens: &str| format!("tokens: {tokens}\n{numbered}");
    case(&named("[the, cat]"), "head.1.scores", &["“cat” answers “cat” best"], &[]);
    case(&named("[a, b]"), "head.1.scores", &["b answers b best"], &["“b”"]);
    // Years are tokens, not counts; a comma alone would read as punctuation.
    case(&named("[\"1984\", \"2001\"]"), "head.1.scores", &["token 2001 answers token 2001 best"], &[]);
    case(&named("[a, \",\"]"), "x", &["a and “,”;"], &[]);
}

/// Two heads with slopes of their own, one with keys of its own: the batched formula can show one of them.
#[test]
fn a_batched_formula_says_where_heads_differ() {
    let lesson = |features: &str| {
        format!(
            "mha: 1\nattention: {{d_model: 2, num_heads: 2, {features}}}\n\
             inputs: {{x: [[1, 2], [2, 1], [0, 1]]}}\n\
             projections: {{w_q: identity, w_k: [[1, 0], [1, 1]], w_v: identity, w_o: identity}}\n"
        )
    };
    let fused = |features: &str| words(&lesson(features), &["compare", "lesson.yaml", "--variants", "fused"]);
    let own = "(head 1's; each head has its own)";
    assert!(
        fused("positions: {alibi: {slopes: [0.5, 0.25]}}").contains(&format!("0.5 · |row − column| {own}"))
    );
    assert!(fused("sinks: [0.5, 0.25]").contains(&format!("with a sink of 0.5 {own}")));
    assert!(!fused("sinks: [0.5, 0.5]").contains(own));
    assert!(!fused("mask: causal").contains(own));

    let shared = "mha: 1\nattention: {d_model: 2, num_heads: 2, num_kv_heads: 1, d_k: 1}\n\
                  inputs: {x: [[1, 2], [2, 1]]}\n\
                  projections: {w_q: identity, w_k: [[1], [1]], w_v: [[1], [0]], w_o: identity}\n";
    let text = words(shared, &["compare", "lesson.yaml", "--variants", "fused"]);
    assert!(text.contains("(the one key/value sheet is read by 2 heads)"), "{text}");
}

/// Scores of query 1 are 1, 2, 3 and so on: every tile brings a larger one. Reversed, none does.
#[test]
fn flash_says_whether_a_larger_score_was_met() {
    let flash = |x: &str, tile: &str| {
        words(&one_head("d_model: 1", x), &["compare", "lesson.yaml", "--variants", &format!("flash:{tile}")])
    };
    let rising = flash("[[1], [2], [3]]", "1");
    assert!(
        rising.contains("The first tile: running maximum m, running sum ℓ, running output o of each query.")
    );
    assert!(rising.contains("3 queries met a larger score: what they had summed shrinks"));
    assert!(rising.contains("(1 key a tile)"), "{rising}");
    let falling = flash("[[3], [2], [1]]", "2");
    assert!(falling.contains("No query that had summed anything met a larger score: the sums just go on."));
    assert!(
        falling.contains("(2 keys a tile)") && !falling.contains("met a larger score: what"),
        "{falling}"
    );
    // x = −1, 1: the first query's scores are 1, −1, the second's −1, 1.
    let one = flash("[[-1], [1]]", "1");
    assert!(one.contains("One query met a larger score: what it had summed shrinks"), "{one}");
}

/// A lesson without a title is called by its file, as everywhere else.
#[test]
fn a_comparison_without_a_title_begins_with_the_file() {
    let lesson = one_head("d_model: 2", "[[1, 0], [0, 1]]");
    let text = words(&lesson, &["compare", "lesson.yaml", "--variants", "multi-head,gqa:1"]);
    assert!(text.starts_with("lesson.yaml: multi-head, gqa:1 side by side"), "{text}");
    assert!(text.contains("1 key/value head, mean-pooled"), "{text}");
}

#[test]
fn a_story_is_told_with_whatever_its_lesson_computes() {
    // Scores are 1/√2 on the diagonal: e^0.7071 = 2.0281, so a token gives itself 2.0281 / 3.0281 = 0.6698.
    // 0.6698 · log₂(1/0.6698) + 0.3302 · log₂(1/0.3302) = 0.3873 + 0.5279. W_Q, W_K and W_V have 2 · 2 numbers each.
    let lesson = one_head("d_model: 2", "[[1, 0], [0, 1]]")
        + "story: [{at: head.1.weights, say: \"{entropy(head.1.weights):2} bits, {self(weights):%} each, \\
           {rows(q) * 5000} or {parameters()}, {max(head.1.scores)}; {nothing} {to: say}\"}]\n";
    case(
        &lesson,
        "head.1.weights",
        &["» 0.92 bits, 67.0% each, 10,000 or 12, 0.7071; {nothing} {to: say}"],
        &["?"],
    );
}

/// One head over two tokens in a stack of layers.
fn stack(x: &str, layers: &str) -> String {
    format!("{}layers: {{{layers}}}\n", one_head("d_model: 2", x).replace("w_o: none", "w_o: identity"))
}

/// (2, 2) is all mean; (3, 1) is not.
#[test]
fn a_norm_tells_which_rows_it_leaves_nothing_of() {
    let flat = stack("[[2, 2], [3, 1]]", "count: 1");
    let nothing = "All numbers of token 1 are equal: less their mean, nothing is left.";
    case(
        &flat,
        "layer.1.x",
        &["Each token's row, less its mean, over its standard deviation.", nothing],
        &["shift"],
    );
    let lively = stack("[[2, 0], [3, 1]]", "count: 1, gain: [1, 2], shift: [0, 1]");
    let then = "over its standard deviation, then multiplied by the gain, and the shift is added.";
    case(&lively, "layer.1.x", &[then], &["nothing is left"]);
    case(
        &stack("[[2, 2], [3, 1]]", "count: 1, norm: post"),
        "layer.1.x",
        &["handed on as they are"],
        &["norm"],
    );
}

#[test]
fn an_activation_tells_how_many_numbers_it_changes() {
    let bent = |activation: &str, w_1: &str| {
        let ffn = format!("ffn: {{activation: {activation}, w_1: {w_1}, w_2: identity}}");
        stack("[[1, 2], [3, 4]]", &format!("count: 1, norm: none, {ffn}"))
    };
    let step = "layer.1.ffn.activation";
    case(
        &bent("relu", "[[1, -1], [0, 0]]"),
        step,
        &["ReLU sets what is below 0 to 0: 2 of 4 are."],
        &["nothing"],
    );
    case(&bent("relu", "identity"), step, &["ReLU sets what is below 0 to 0; nothing is."], &["of 4"]);
    case(&bent("gelu", "[[1, -1], [0, 0]]"), step, &["fades out what is below 0: 2 of 4 are."], &["ReLU"]);
    case(&bent("identity", "identity"), step, &["There is no activation"], &["below 0"]);
    let lesson = bent("relu", "zeros");
    case(&lesson, "layer.1.ffn.w_1", &["All zeros: W_1 lets nothing through."], &[]);
    case(&lesson, "layer.1.ffn.up", &["Every token by itself: W_1 makes 2 numbers of its 2."], &[]);
    case(
        &lesson,
        "layer.1.ffn.residual",
        &["All that is added here is 0: the residual stream goes on as it was."],
        &[],
    );
    case(
        &bent("relu", "identity"),
        "layer.1.ffn.residual",
        &["What was found is added to what was there"],
        &["is 0"],
    );
}
