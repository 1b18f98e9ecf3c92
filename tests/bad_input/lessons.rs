//! Lessons with one mistake each.

use super::text_refused;

/// Two tokens of two numbers, right but for its attention.
#[track_caller]
fn attention(promise: &str, keys: &str, first: &str, place: &str) {
    let text = format!(
        "attention: {{{keys}}}\ninputs: {{x: [[1, 2], [3, 4]]}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    );
    text_refused(promise, text, first, place);
}

/// The same, right but for its inputs.
#[track_caller]
fn inputs(promise: &str, keys: &str, first: &str, place: &str) {
    let text = format!(
        "attention: {{}}\ninputs: {{{keys}}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    );
    text_refused(promise, text, first, place);
}

/// Two tokens, d_model = 4 and two heads, right but for its projections.
#[track_caller]
fn projections(promise: &str, keys: &str, first: &str, place: &str) {
    let text = format!(
        "attention: {{num_heads: 2}}\ninputs: {{x: [[1, 2, 3, 4], [5, 6, 7, 8]]}}\nprojections: {{{keys}}}\n"
    );
    text_refused(promise, text, first, place);
}

#[test]
fn every_size_is_a_count_that_can_be_computed() {
    let case = attention;
    case(
        "no heads at all",
        "num_heads: 0",
        "attention.num_heads is 0, but it must be between 1 and 1000000",
        ":1:13 (attention.num_heads)",
    );
    case(
        "fewer than no heads",
        "num_heads: -2",
        "attention.num_heads is -2, but it must be between 1 and 1000000",
        ":1:13 (attention.num_heads)",
    );
    case(
        "a part of a head",
        "num_heads: 1.5",
        "attention.num_heads is 1.5, but it needs a whole number",
        ":1:13 (attention.num_heads)",
    );
    case(
        "a number in words",
        "num_heads: two",
        "attention.num_heads is \"two\", but it needs a whole number",
        ":1:13 (attention.num_heads)",
    );
    case(
        "a number in quotes",
        "num_heads: \"2\"",
        "attention.num_heads is \"2\", but it needs a whole number",
        ":1:13 (attention.num_heads)",
    );
    case(
        "a key without a value",
        "num_heads: ",
        "attention.num_heads is empty, but it needs a whole number",
        ":1:13 (attention.num_heads)",
    );
    for key in ["d_model", "num_heads", "num_kv_heads", "d_k", "d_v"] {
        for number in ["0", "-1", "1000000000", "1.0e+30"] {
            case(
                &format!("{key} = {number}"),
                &format!("{key}: {number}"),
                &format!(
                    "attention.{key} is {}, but it must be between 1 and 1000000",
                    number.replace("1.0e+30", "1e30")
                ),
                &format!(":1:13 (attention.{key})"),
            );
        }
        case(
            &format!("{key} with 31 digits"),
            &format!("{key}: 1000000000000000000000000000000"),
            "the whole number 1000000000000000000000000000000 is too large",
            &format!(":1:{}", 13 + key.len() + 2),
        );
        case(
            &format!("half of {key}"),
            &format!("{key}: 0.5"),
            &format!("attention.{key} is 0.5, but it needs a whole number"),
            &format!(":1:13 (attention.{key})"),
        );
    }
    case(
        "a million heads of one column each",
        "num_heads: 1000000, d_k: 1",
        "1000000 heads are more than the 16384 of the largest lesson",
        ":1:13 (attention.num_heads)",
    );
    case(
        "a head that is a million million numbers",
        "num_heads: 1000000, d_k: 1000000",
        "Q (n_q × num_heads · d_k) would have 2000000000000 numbers, more than the 4194304 of the largest matrix",
        ":1:1 (attention)",
    );
    case(
        "a window of no keys",
        "mask: {window: 0}",
        "attention.mask.window is 0, so no query would see a key",
        ":1:20 (attention.mask.window)",
    );
    case(
        "a diagonal shifted out of sight",
        "mask: {causal: {offset: 99999999999}}",
        "attention.mask.causal.offset is 99999999999, but it must be between -1000000000 and 1000000000",
        ":1:29 (attention.mask.causal.offset)",
    );
}

#[test]
fn heads_divide_what_they_share() {
    let case = attention;
    case(
        "d_model that the heads do not divide",
        "num_heads: 4",
        "num_heads = 4 does not divide d_model = 2",
        ":1:13 (attention.num_heads)",
    );
    case(
        "more key/value heads than heads",
        "num_heads: 2, num_kv_heads: 4",
        "num_heads = 2 cannot be shared out among num_kv_heads = 4",
        ":1:27 (attention.num_kv_heads)",
    );
    case(
        "key/value heads that do not divide the heads",
        "num_heads: 3, num_kv_heads: 2, d_k: 1",
        "num_heads = 3 cannot be shared out among num_kv_heads = 2",
        ":1:27 (attention.num_kv_heads)",
    );
    case(
        "d_model that is not the inputs' width",
        "d_model: 3",
        "inputs.x has 2 columns, but attention.d_model is 3",
        ":2:10 (inputs.x)",
    );
    case(
        "an odd number of columns to rotate in pairs",
        "num_heads: 2, positions: rope",
        "attention.positions cannot rotate all d_k = 1 columns: they rotate in pairs",
        ":1:27 (attention.positions)",
    );
    case(
        "more columns to rotate than there are",
        "positions: {rope: {dims: 4}}",
        "attention.positions.rope.dims is 4, but a head has only d_k = 2 columns",
        ":1:32 (attention.positions.rope.dims)",
    );
}

#[test]
fn a_query_that_may_attend_to_nothing_is_named_with_its_mask() {
    let case = attention;
    case(
        "a row of false",
        "mask: {allow: [[false, false], [true, true]]}",
        "query 1 may attend to nothing",
        ":1:13 (attention.mask)",
    );
    case(
        "a row of −∞",
        "num_heads: 2, mask: {add: [[0, 0], [-.inf, -.inf]]}",
        "query 2 may attend to nothing",
        ":1:27 (attention.mask)",
    );
    case(
        "masks that leave nothing together",
        "mask: [{causal: top-left}, {key_padding: [false, true]}]",
        "query 1 may attend to nothing",
        ":1:13 (attention.mask)",
    );
    case(
        "a window beyond the last key",
        "mask: {window: {left: 0, right: 0, offset: 5}}",
        "queries 1 and 2 may attend to nothing",
        ":1:13 (attention.mask)",
    );
    case(
        "one head that is blind",
        "num_heads: 2, mask: {allow: [[[1, 1], [1, 1]], [[1, 1], [0, 0]]]}",
        "query 2 of head 2 may attend to nothing",
        ":1:27 (attention.mask)",
    );
    text_refused(
        "one sequence that is padding only",
        "attention:\n  mask: {key_padding: [[true, true], [false, false]]}\n\
         inputs: {x: [[[1, 2], [3, 4]], [[1, 2], [3, 4]]]}\n\
         projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n",
        "queries 1 and 2 in sequence 2 may attend to nothing",
        ":2:3 (attention.mask)",
    );
}

#[test]
fn attention_takes_finite_numbers_and_known_words() {
    let case = attention;
    case(
        "scores that are all 0",
        "scale: 0",
        "attention.scale is 0, so every score would be 0",
        ":1:13 (attention.scale)",
    );
    case(
        "a scale that is no number",
        "scale: .nan",
        "attention.scale is .nan, but it needs a finite number",
        ":1:13 (attention.scale)",
    );
    case(
        "an infinite cap",
        "softcap: .inf",
        "attention.softcap is .inf, but it needs a finite number",
        ":1:13 (attention.softcap)",
    );
    case(
        "a sink that swallows everything",
        "sinks: [.inf]",
        "attention.sinks[1] is .inf, but it needs a finite number",
        ":1:21 (attention.sinks[1])",
    );
    case(
        "more sinks than heads",
        "sinks: [1, 2]",
        "attention.sinks has 2 numbers, but it needs 1",
        ":1:13 (attention.sinks)",
    );
    case(
        "a mistyped mask",
        "mask: casual",
        "attention.mask is \"casual\", but it needs a mask",
        ":1:13 (attention.mask)",
    );
    case(
        "a mask of another shape",
        "mask: {allow: [[true, false]]}",
        "attention.mask.allow is 1 × 2, but the scores are 2 × 2",
        ":1:20 (attention.mask.allow)",
    );
    case(
        "a flag that is neither",
        "mask: {key_padding: [1, 2]}",
        "attention.mask.key_padding[2] is 2, but it needs true or false",
        ":1:37 (attention.mask.key_padding[2])",
    );
    case(
        "unknown positions",
        "positions: rotary",
        "attention.positions is \"rotary\", but it must be none, rope or alibi",
        ":1:13 (attention.positions)",
    );
    case(
        "an unknown answer to blind rows",
        "fully_masked_rows: true",
        "attention.fully_masked_rows is true, but it must be error, zeros, nan or uniform",
        ":1:13 (attention.fully_masked_rows)",
    );
    case("an unknown key", "heads: 2", "attention has no key heads", ":1:13 (attention.heads)");
}

#[test]
fn inputs_are_rows_of_finite_numbers_of_one_length() {
    let case = inputs;
    case("no inputs", "", "inputs have no x", ":2:1 (inputs)");
    case(
        "one number",
        "x: 3",
        "inputs.x is 3, but it needs a list of numbers or of rows",
        ":2:10 (inputs.x)",
    );
    case(
        "one row",
        "x: [1, 2]",
        "inputs.x is a list of 2, but it needs a row for each token",
        ":2:10 (inputs.x)",
    );
    case("no rows", "x: []", "inputs.x holds no numbers", ":2:10 (inputs.x)");
    case("empty rows", "x: [[], []]", "inputs.x holds no numbers", ":2:10 (inputs.x)");
    case(
        "a short row",
        "x: [[1, 2], [3]]",
        "row 2 of inputs.x has 1 number, but the first has 2",
        ":2:22 (inputs.x[2])",
    );
    case(
        "a number without its row",
        "x: [[1, 2], 3]",
        "inputs.x[2] is 3, but the first of its kind is a list",
        ":2:22 (inputs.x[2])",
    );
    case(
        "a list too deep",
        "x: [[[[1]]]]",
        "inputs.x is nested 4 lists deep, and an array has at most 3",
        ":2:10 (inputs.x)",
    );
    case(
        "a word",
        "x: [[1, two], [3, 4]]",
        "inputs.x[1][2] is \"two\", but it needs a finite number",
        ":2:18 (inputs.x[1][2])",
    );
    case(
        "a quoted number",
        "x: [[1, \"2\"], [3, 4]]",
        "inputs.x[1][2] is \"2\", but it needs a finite number",
        ":2:18 (inputs.x[1][2])",
    );
    case(
        "not a number",
        "x: [[1, .nan], [3, 4]]",
        "inputs.x[1][2] is .nan, but it needs a finite number",
        ":2:18 (inputs.x[1][2])",
    );
    case(
        "infinity",
        "x: [[1, 2], [-.inf, 4]]",
        "inputs.x[2][1] is -.inf, but it needs a finite number",
        ":2:23 (inputs.x[2][1])",
    );
    case(
        "a number beyond all",
        "x: [[1, 1e400], [3, 4]]",
        "inputs.x[1][2] is \"1e400\", but it needs a finite number",
        ":2:18 (inputs.x[1][2])",
    );
    case(
        "numbers that overflow",
        "x: [[1.0e308, 1.0e308], [3, 4]]",
        "head.1.scores[1,1] is too large to compute",
        "",
    );
    case("queries without values", "q: [[1, 2]], k: [[1, 2]]", "inputs have no v", ":2:1 (inputs)");
    case(
        "both x and q",
        "x: [[1, 2]], q: [[1, 2]]",
        "inputs give both x and already projected q, k or v",
        ":2:1 (inputs)",
    );
    case(
        "a value too few",
        "q: [[1, 2]], k: [[1, 2], [3, 4]], v: [[1, 2]]",
        "inputs.v has 1 row, but inputs.k has 2",
        ":2:44 (inputs.v)",
    );
    case(
        "keys of another width than queries",
        "q: [[1, 2]], k: [[1, 2, 3]], v: [[1, 2]]",
        "inputs.k has 3 columns, but num_kv_heads · d_k is 1 · 2",
        ":2:23 (inputs.k)",
    );
    case(
        "another width in cross-attention",
        "x: [[1, 2]], x_kv: [[1, 2, 3]]",
        "projections.w_k is identity, but X_kv · W_K needs 3 × 2",
        ":3:30 (projections.w_k)",
    );
    case(
        "a batch of one input only",
        "x: [[[1, 2]], [[3, 4]]], x_kv: [[1, 2]]",
        "inputs.x_kv has no batch axis, but inputs.x has a batch of 2",
        ":2:35 (inputs.x_kv)",
    );
    case(
        "random numbers without end",
        "x: {random: {seed: 7, shape: [1000000000, 2]}}",
        "inputs.x.random.shape[1] is 1000000000, but it must be between 1 and 1000000",
        ":2:40 (inputs.x.random.shape[1])",
    );
    case(
        "more scores than a page could show",
        "x: {random: {seed: 7, shape: [3000, 2]}}",
        "the matrix of scores (n_q × n_kv) would have 9000000 numbers, more than the 4194304 of the largest matrix",
        ":1:1 (attention)",
    );
    case(
        "more sequences than can be computed",
        "x: {random: {seed: 7, shape: [1000000, 1, 1]}}",
        "1000000 sequences of 1 head are 1000000 heads, more than the 16384 of the largest lesson",
        ":2:1 (inputs)",
    );
    text_refused(
        "heads that are too many together",
        "attention: {num_heads: 64}\ninputs: {x: {random: {seed: 7, shape: [2048, 64]}}}\n\
         projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}\n",
        "the steps would have 538181632 numbers in all, more than the 268435456 that are kept at once",
        ":2:1 (inputs)",
    );
}

#[test]
fn projections_and_biases_fit_what_they_are_multiplied_with() {
    let case = projections;
    let others = |missing: &str| {
        ["w_q", "w_k", "w_v", "w_o"]
            .into_iter()
            .filter(|name| *name != missing)
            .fold(String::new(), |all, name| format!("{all}, {name}: identity"))
    };
    for (name, product) in
        [("w_q", "X · W_Q"), ("w_k", "X · W_K"), ("w_v", "X · W_V"), ("w_o", "Concat · W_O")]
    {
        case(
            &format!("{name} of another shape"),
            &format!("{name}: [[1, 2], [3, 4], [5, 6]]{}", others(name)),
            &format!("projections.{name} is 3 × 2, but {product} needs 4 × 4"),
            &format!(":3:15 (projections.{name})"),
        );
        let bias = name.replace('w', "b");
        case(
            &format!("{bias} of another length"),
            &format!("{bias}: [1, 2, 3]{}", others("")),
            &format!("projections.{bias} has 3 numbers, but {product} + {bias} needs 4"),
            &format!(":3:15 (projections.{bias})"),
        );
    }
    case(
        "a missing projection",
        "w_q: identity, w_k: identity, w_v: identity",
        "w_o is missing from projections",
        ":3:1 (projections)",
    );
    case(
        "a projection that is none",
        "w_q: none, w_k: identity, w_v: identity, w_o: identity",
        "projections.w_q is none, but X · W_Q needs 4 × 4",
        ":3:15 (projections.w_q)",
    );
    case(
        "a mistyped word",
        &format!("w_q: idntity{}", others("w_q")),
        "projections.w_q is \"idntity\", which is not an array",
        ":3:15 (projections.w_q)",
    );
    case(
        "a bias of what is not there",
        "b_o: [1, 2, 3, 4], w_q: identity, w_k: identity, w_v: identity, w_o: none",
        "b_o is given, but there is no w_o",
        ":3:15 (projections.b_o)",
    );
    case(
        "a packed projection without its layout",
        "in_proj: {file: qkv.npy}, w_o: none",
        "projections.in_proj has no layout",
        ":3:15 (projections.in_proj)",
    );
}

#[test]
fn a_lesson_is_one_plain_yaml_document() {
    text_refused("an empty file", "", "the lesson is empty", ":1:1");
    text_refused("only a comment", "# nothing\n", "the lesson is empty", ":1:1");
    text_refused("a text", "hello", "the lesson is a text, but it needs keys with values", ":1:1");
    text_refused("a list", "[1, 2]", "the lesson is a list, but it needs keys with values", ":1:1");
    text_refused("an open bracket", "a: [1, 2\n", "this is not YAML: a comma or a ] is missing", ":2:1");
    text_refused(
        "a deep nest",
        "[".repeat(200_000),
        "lists and mappings are nested deeper than 32",
        ":1:256",
    );
    text_refused(
        "deep mappings",
        "{a: ".repeat(100_000),
        "lists and mappings are nested deeper than 32",
        ":1:1021",
    );
    text_refused(
        "another version",
        "mha: 2\nattention: {}\ninputs: {x: [[1]]}\n",
        "this lesson is of version 2, and this program reads version 1",
        ":1:1 (mha)",
    );
    text_refused("no attention", "inputs: {x: [[1]]}\n", "the lesson has no attention", ":1:1");
    text_refused("a tag", "title: !!binary aGk=\n", "tags (!) are not used in lessons", ":1:8");
    text_refused("UTF-16", b"\xff\xfea\0:\0", "lesson.yaml is not a text in UTF-8", ":1:1");
    text_refused("Latin-1", b"title: x\ntitle2: \xe9t\xe9\n", "lesson.yaml is not a text in UTF-8", ":2:9");
    text_refused(
        "a binary file",
        b"\x7fELF\x02\x01\x01\0\0\0\0",
        "the lesson holds a control character (U+007F)",
        ":1:1",
    );
    text_refused(
        "an escape sequence",
        "title: \"a\x1b[2J\"\n",
        "the lesson holds a control character (U+001B)",
        ":1:10",
    );
    text_refused("a zero byte", "title: a\0\n", "the lesson holds a control character (U+0000)", ":1:9");
    text_refused(
        "a hidden line break",
        "title: a\u{2028}b\n",
        "the lesson holds a hidden line break (U+2028)",
        ":1:9",
    );
    text_refused(
        "an escape sequence in a key",
        "\"\\e[2J\\a\": 1\nattention: {}\ninputs: {x: [[1]]}\n",
        "the lesson has no key \\e[2J\\u{7}",
        ":1:1 (\\e[2J\\u{7})",
    );
    text_refused(
        "a text longer than is read",
        " ".repeat((4 << 20) + 1),
        "lesson.yaml is longer than the 4194304 bytes that are read",
        "",
    );
}

#[test]
fn names_fit_the_rows_and_steps_have_their_names() {
    let case = |promise: &str, more: &str, first: &str, place: &str| {
        let text = format!(
            "attention: {{}}\ninputs: {{x: [[1, 2], [3, 4]]}}\n\
             projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n{more}\n"
        );
        text_refused(promise, text, first, place);
    };
    case("a name too many", "tokens: [a, b, c]", "tokens has 3 names, but x has 2 rows", ":4:1 (tokens)");
    case(
        "names of keys that are the queries",
        "kv_tokens: [a, b]",
        "kv_tokens are given, but keys and values come from x as well",
        ":4:1 (kv_tokens)",
    );
    case(
        "a mistyped step",
        "story: [{at: head.1.score, say: x}]",
        "story[1].at is \"head.1.score\", which is not the name of a step",
        ":4:10 (story[1].at)",
    );
    case(
        "a cell that counts from 0",
        "story: [{at: q, say: \"{q[0,1]}\"}]",
        "story[1].say says {q[0,1]}, which names no row and column",
        ":4:17 (story[1].say)",
    );
    case(
        "an expression with a mistyped function",
        "story: [{at: q, say: \"{entropi(q[1])}\"}]",
        "story[1].say says {entropi(q[1])}: entropi is not a function at character 1",
        ":4:17 (story[1].say)",
    );
    case("a claim of nothing", "claims: [{step: q}]", "claims[1] has no equals", ":4:10 (claims[1])");
    case(
        "an answer that is not among the choices",
        "quiz: [{ask: why?, choices: [a, b], answer: 3}]",
        "quiz[1].answer is 3, but it must be between 1 and 2",
        ":4:37 (quiz[1].answer)",
    );
}
