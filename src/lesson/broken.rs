//! Broken lessons, one mistake each, with the message that a person gets.

use std::path::Path;

use super::{Options, parse};

/// Line, column and first line of every fault.
fn faults(text: &str) -> Vec<String> {
    let faults = parse(text, "l.yaml", Path::new("."), &Options::default()).map(|_| ()).unwrap_err();
    faults
        .0
        .iter()
        .map(|fault| {
            let place = fault.place.as_ref().and_then(|place| place.line_column);
            let place = place.map_or("-".to_owned(), |(line, column)| format!("{line}:{column}"));
            format!("{place} {}", fault.what)
        })
        .collect()
}

#[track_caller]
fn case(text: &str, expected: &[&str]) {
    assert_eq!(faults(text), expected, "{text}");
}

/// A lesson of two tokens that is right but for its attention.
fn attention(keys: &str) -> String {
    format!(
        "attention: {{{keys}}}\ninputs: {{x: [[1, 2], [3, 4]]}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    )
}

/// A lesson of two tokens that is right but for its inputs.
fn inputs(keys: &str) -> String {
    format!(
        "attention: {{}}\ninputs: {{{keys}}}\nprojections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    )
}

/// A lesson of two tokens, d_model = 4 and 2 heads that is right but for its projections.
fn projections(keys: &str) -> String {
    format!(
        "attention: {{num_heads: 2}}\ninputs: {{x: [[1, 2, 3, 4], [5, 6, 7, 8]]}}\nprojections: {{{keys}}}\n"
    )
}

/// A right lesson and something beside it.
fn beside(more: &str) -> String {
    format!("{}{more}\n", attention(""))
}

#[test]
fn what_is_no_lesson_and_what_does_not_fit_together() {
    case("", &["1:1 the lesson is empty"]);
    case("# nothing\n", &["1:1 the lesson is empty"]);
    case("hello", &["1:1 the lesson is a text, but it needs keys with values"]);
    case("[1, 2]", &["1:1 the lesson is a list, but it needs keys with values"]);
    case("a: [1, 2\n", &["2:1 this is not YAML: a comma or a ] is missing"]);
    case("a: 1\n b: 2\n", &["2:3 this is not YAML: a colon stands where no key can be"]);
    case("title: \"x\n", &["1:8 this is not YAML: a quote is not closed"]);
    case("title: a\n---\ntitle: b\n", &["2:1 a second document starts here"]);
    case("title: a\ntitle: b\n", &["2:1 the key title stands twice"]);
    case("title: !!binary aGk=\n", &["1:8 tags (!) are not used in lessons"]);
    case("title: *a\n", &["1:8 anchors (&) and aliases (*) are not used in lessons"]);
    case("? [a, b]\n: 1\n", &["1:3 a key is a list or a mapping"]);
    case("inputs: {x: [[1]]}\n", &["1:1 the lesson has no attention"]);
    case("attention: {}\n", &["1:1 the lesson has no inputs"]);
    case(
        "attention: {num_heads: 2}\ninputs: {q: [[1, 2]], k: [[1, 2]], v: [[1, 2, 3]]}\n",
        &["2:36 inputs.v has 3 columns, which num_kv_heads = 2 does not divide"],
    );
    case(
        "attention: {num_heads: 2, d_k: 2}\ninputs: {q: [[1, 2]], k: [[1, 2]], v: [[1, 2]]}\n",
        &["2:10 inputs.q has 2 columns, but num_heads · d_k is 2 · 2"],
    );
    case(
        "attention: {}\ninputs: {q: [[1, 2]], k: [[1, 2], [3, 4]], v: [[1, 2]]}\n",
        &["2:44 inputs.v has 1 row, but inputs.k has 2"],
    );
    case(
        "attention: {d_k: 3}\ninputs: {x: [[1, 2], [3, 4]]}\nprojections: {w_q: identity, w_k: [[1, 2, 3], [4, 5, 6]], w_v: [[1, 2], [3, 4], [5, 6]], w_o: identity}",
        &[
            "3:15 projections.w_q is identity, but X · W_Q needs 2 × 3",
            "3:59 projections.w_v is 3 × 2, but X · W_V needs 2 × 3",
            "3:90 projections.w_o is identity, but Concat · W_O needs 3 × 2",
        ],
    );
    case(
        "attention: {}\ninputs: {x: [[1, 2], [3, 4]], x_kv: [[1, 2, 3]]}\nprojections: {w_q: identity, w_k: identity, w_v: [[1, 2], [3, 4], [5, 6]], w_o: identity}",
        &["3:30 projections.w_k is identity, but X_kv · W_K needs 3 × 2"],
    );
    case(
        "attention:\n  num_heads: 3\n  mask: casual\n  softcap: 0\ninputs:\n  x: [[1, 2], [3]]\nprojections:\n  w_q: [[1, a]]\nstory: 3\n",
        &[
            "3:3 attention.mask is \"casual\", but it needs a mask",
            "4:3 attention.softcap is 0, but it must be more than 0",
            "6:15 row 2 of inputs.x has 1 number, but the first has 2",
            "8:13 projections.w_q[1][2] is \"a\", but it needs a finite number",
            "9:1 story is 3, but it needs a list",
        ],
    );
}

#[test]
fn names_story_claims_and_quiz() {
    case(&beside("mha: 2"), &["4:1 this lesson is of version 2, and this program reads version 1"]);
    case(&beside("titel: x"), &["4:1 the lesson has no key titel"]);
    case(&beside("title: 3"), &["4:1 title is 3, but it needs a text"]);
    case(&beside("title: {fr: x}"), &["4:9 title has no key fr"]);
    case(&beside("title:"), &["4:1 title is empty, but it needs a text"]);
    case(&beside("1: x"), &["4:1 the lesson has no key 1"]);
    case(&beside("tokens: [a, b, c]"), &["4:1 tokens has 3 names, but x has 2 rows"]);
    case(&beside("tokens: a"), &["4:1 tokens is \"a\", but it needs a list of names"]);
    case(&beside("tokens: [a, [b]]"), &["4:13 tokens[2] is a list of 1, but it needs a name"]);
    case(&beside("kv_tokens: [a, b]"), &["4:1 kv_tokens are given, but keys and values come from x as well"]);
    case(
        &beside("story: [{at: head.1.score, say: x}]"),
        &["4:10 story[1].at is \"head.1.score\", which is not the name of a step"],
    );
    case(&beside("story: [{at: head.1.scores}]"), &["4:9 story[1] has no say"]);
    case(
        &beside("story: [{at: q, say: \"{head.1.weight[1,1]}\"}]"),
        &["4:17 story[1].say says {head.1.weight[1,1]}, and head.1.weight is not the name of a step"],
    );
    case(
        &beside("story: [{at: q, say: \"{head.1.weights[0,1]}\"}]"),
        &["4:17 story[1].say says {head.1.weights[0,1]}, which names no row and column"],
    );
    case(
        &beside("story: [{at: q, say: \"{head.1.weights}\"}]"),
        &["4:17 story[1].say says {head.1.weights} without a row and a column"],
    );
    case(&beside("claims: [{step: q}]"), &["4:10 claims[1] has no equals"]);
    case(
        &beside("claims:\n  - step: q\n    row: 0\n    equals: [1]"),
        &["6:5 claims[1].row is 0, but it must be between 1 and 1000000"],
    );
    case(
        &beside("claims: [{step: q, row: 1, column: 1, equals: [1, 2]}]"),
        &[
            "4:39 claims[1].equals is a list of 2, but it needs one number for the cell at this row and column",
        ],
    );
    case(
        &beside("claims: [{step: q, equals: x}]"),
        &["4:20 claims[1].equals is \"x\", but it needs a number, a list or rows of numbers"],
    );
    case(&beside("quiz: [{ask: why?}]"), &["4:8 quiz[1] has no cell and no choices"]);
    case(
        &beside("quiz: [{ask: why?, cell: 'q[1,1]', answer: 2}]"),
        &["4:36 quiz[1] gives an answer to a question that asks for a number"],
    );
    case(
        &beside("quiz: [{ask: why?, choices: [a, b], answer: 3}]"),
        &["4:37 quiz[1].answer is 3, but it must be between 1 and 2"],
    );
    case(&beside("quiz: [{ask: why?, choices: [a, b]}]"), &["4:8 quiz[1] has choices but no answer"]);
    case(&beside("quiz: [{ask: why?, cell: \"q\"}]"), &["4:20 quiz[1].cell is \"q\", which is not a cell"]);
    case(&beside("quiz: [{cell: \"q[1,1]\"}]"), &["4:8 quiz[1] has no question"]);
}

#[test]
fn attention_keys() {
    case(&attention("num_head: 2"), &["1:13 attention has no key num_head"]);
    case(&attention("num_heads: two"), &["1:13 attention.num_heads is \"two\", but it needs a whole number"]);
    case(
        &attention("num_heads: 0"),
        &["1:13 attention.num_heads is 0, but it must be between 1 and 1000000"],
    );
    case(
        &attention("num_heads: -1"),
        &["1:13 attention.num_heads is -1, but it must be between 1 and 1000000"],
    );
    case(
        &attention("num_heads: 1000000000"),
        &["1:13 attention.num_heads is 1000000000, but it must be between 1 and 1000000"],
    );
    case(
        &attention("num_heads: 100000000000000000000"),
        &["1:24 the whole number 100000000000000000000 is too large"],
    );
    case(&attention("num_heads: 4"), &["1:13 num_heads = 4 does not divide d_model = 2"]);
    case(
        &attention("num_heads: 2, num_kv_heads: 4"),
        &["1:27 num_heads = 2 cannot be shared out among num_kv_heads = 4"],
    );
    case(&attention("d_model: 3"), &["2:10 inputs.x has 2 columns, but attention.d_model is 3"]);
    case(
        &attention("d_k: 1000000"),
        &[
            "3:15 projections.w_q is identity, but X · W_Q needs 2 × 1000000",
            "3:30 projections.w_k is identity, but X · W_K needs 2 × 1000000",
            "3:45 projections.w_v is identity, but X · W_V needs 2 × 1000000",
            "3:60 projections.w_o is identity, but Concat · W_O needs 1000000 × 2",
        ],
    );
    case(
        &attention("num_heads: 1000000, d_k: 1000000"),
        &[
            "1:1 Q (n_q × num_heads · d_k) would have 2000000000000 numbers, more than the 4194304 of the largest matrix",
        ],
    );
    case(&attention("scale: 0"), &["1:13 attention.scale is 0, so every score would be 0"]);
    case(&attention("scale: .inf"), &["1:13 attention.scale is .inf, but it needs a finite number"]);
    case(&attention("softcap: -1"), &["1:13 attention.softcap is -1, but it must be more than 0"]);
    case(&attention("mask: casual"), &["1:13 attention.mask is \"casual\", but it needs a mask"]);
    case(
        &attention("mask: {causal: left}"),
        &["1:20 attention.mask.causal is \"left\", but it must be top-left or bottom-right"],
    );
    case(&attention("mask: {window: 0}"), &["1:20 attention.mask.window is 0, so no query would see a key"]);
    case(
        &attention("mask: {window: {}}"),
        &["1:20 attention.mask.window is open on both sides, so it hides nothing"],
    );
    case(
        &attention("mask: {causal: top-left, window: 3}"),
        &["1:13 attention.mask holds 2 masks in one item"],
    );
    case(
        &attention("mask: [causal, {key_padding: [true]}]"),
        &["1:29 attention.mask[2].key_padding is a list of 1, but it needs 2 flags"],
    );
    case(
        &attention("mask: {key_padding: [1, 2]}"),
        &["1:37 attention.mask.key_padding[2] is 2, but it needs true or false"],
    );
    case(
        &attention("mask: {allow: [[true, false]]}"),
        &["1:20 attention.mask.allow is 1 × 2, but the scores are 2 × 2"],
    );
    case(
        &attention("mask: {allow: [[true, maybe], [true, true]]}"),
        &["1:35 attention.mask.allow[1][2] is \"maybe\", but it needs true or false"],
    );
    case(
        &attention("mask: {add: [[0, .inf], [0, .nan]]}"),
        &[
            "1:30 attention.mask.add[1][2] is .inf, but it needs a finite number or -.inf",
            "1:41 attention.mask.add[2][2] is .nan, but it needs a finite number or -.inf",
        ],
    );
    case(
        &attention("mask: {add: [[[0, 0], [0, 0]], [[0, 0], [0, 0]]]}"),
        &["1:20 attention.mask.add has 2 matrices for 1 head"],
    );
    case(
        &attention("positions: rotary"),
        &["1:13 attention.positions is \"rotary\", but it must be none, rope or alibi"],
    );
    case(
        &attention("positions: {rope: {dims: 3}}"),
        &["1:32 attention.positions.rope.dims is 3, but columns rotate in pairs"],
    );
    case(
        &attention("positions: {rope: {dims: 4}}"),
        &["1:32 attention.positions.rope.dims is 4, but a head has only d_k = 2 columns"],
    );
    case(
        &attention("num_heads: 2, positions: rope"),
        &["1:27 attention.positions cannot rotate all d_k = 1 columns: they rotate in pairs"],
    );
    case(
        &attention("positions: {rope: {layout: half}}"),
        &["1:32 attention.positions.rope.layout is \"half\", but it must be half-split or interleaved"],
    );
    case(
        &attention("positions: {rope: {q_positions: [0, 1, 2]}}"),
        &["1:32 attention.positions.rope.q_positions has 3 numbers, but it needs 2"],
    );
    case(
        &attention("positions: {rope: {q_start: 1, q_positions: [0, 1]}}"),
        &["1:44 attention.positions.rope.q_positions is given twice: by q_start and by q_positions"],
    );
    case(
        &attention("positions: {rope: {}, alibi: {}}"),
        &["1:13 attention.positions names both rope and alibi"],
    );
    case(
        &attention("positions: {alibi: {slopes: [1, 2]}}"),
        &["1:33 attention.positions.alibi.slopes has 2 numbers, but it needs 1"],
    );
    case(&attention("qk_norm: {q: [1]}"), &["1:23 attention.qk_norm.q has 1 number, but it needs 2"]);
    case(
        &attention("qk_norm: {scope: heads}"),
        &["1:23 attention.qk_norm.scope is \"heads\", but it must be head or full"],
    );
    case(
        &attention("qk_norm: {eps: -1}"),
        &["1:23 attention.qk_norm.eps is -1, but it must not be negative"],
    );
    case(&attention("sinks: [1, 2]"), &["1:13 attention.sinks has 2 numbers, but it needs 1"]);
    case(&attention("sinks: 1"), &["1:13 attention.sinks is 1, but it needs a list of numbers or of rows"]);
    case(
        &attention("fully_masked_rows: zero"),
        &["1:13 attention.fully_masked_rows is \"zero\", but it must be error, zeros, nan or uniform"],
    );
}

#[test]
fn input_arrays() {
    case(&inputs(""), &["2:1 inputs have no x"]);
    case(&inputs("x: []"), &["2:10 inputs.x holds no numbers"]);
    case(&inputs("x: [1, 2]"), &["2:10 inputs.x is a list of 2, but it needs a row for each token"]);
    case(&inputs("x: [[1, 2], [3]]"), &["2:22 row 2 of inputs.x has 1 number, but the first has 2"]);
    case(
        &inputs("x: [[1, oops], [3, 4]]"),
        &["2:18 inputs.x[1][2] is \"oops\", but it needs a finite number"],
    );
    case(
        &inputs("x: [[1, .nan], [1e400, NaN]]"),
        &[
            "2:18 inputs.x[1][2] is .nan, but it needs a finite number",
            "2:26 inputs.x[2][1] is \"1e400\", but it needs a finite number",
            "2:33 inputs.x[2][2] is \"NaN\", but it needs a finite number",
        ],
    );
    case(
        &inputs("x: identity"),
        &["2:10 inputs.x must be numbers: a word does not say how many rows it has"],
    );
    case(&inputs("x: {random: {seed: 7}}"), &["2:10 inputs.x is random, but nothing says how large it is"]);
    case(
        &inputs("x: {random: {seed: -7, shape: [2, 2]}}"),
        &["2:23 inputs.x.random.seed is -7, but it needs a whole number from 0 on"],
    );
    case(
        &inputs("x: {random: {seed: 7, shape: [1000000000, 1000000000]}}"),
        &[
            "2:40 inputs.x.random.shape[1] is 1000000000, but it must be between 1 and 1000000",
            "2:52 inputs.x.random.shape[2] is 1000000000, but it must be between 1 and 1000000",
        ],
    );
    case(
        &inputs("x: {file: missing.npy}"),
        &["2:14 inputs.x.file names missing.npy, which cannot be opened"],
    );
    case(
        &inputs("x: {file: /etc/hosts}"),
        &["2:14 inputs.x.file names /etc/hosts, which lies outside the lesson's folder"],
    );
    case(&inputs("x: {file: src}"), &["2:14 inputs.x.file names src, which is not a file"]);
    case(&inputs("x: x.npy"), &["2:10 inputs.x is \"x.npy\", which is not an array"]);
    case(&inputs("x: {path: x.npy}"), &["2:10 inputs.x names no file", "2:14 inputs.x has no key path"]);
    case(
        "attention: {}\ninputs:\n  x:\n",
        &["3:3 inputs.x is empty, but it needs a list of numbers or of rows"],
    );
    case(
        &inputs("x: [[1, 2], [3, 4]], q: [[1, 2]]"),
        &["2:1 inputs give both x and already projected q, k or v"],
    );
    case(&inputs("q: [[1, 2]]"), &["2:1 inputs have no k and no v"]);
    case(
        &inputs("q: [[1, 2]], k: [[1, 2]], v: [[1, 2]]"),
        &["3:15 projections give w_q, w_k, w_v, but q, k and v are given already projected"],
    );
    case(
        &inputs("x: [[[1, 2]], [[3, 4]]], x_kv: [[1, 2]]"),
        &["2:35 inputs.x_kv has no batch axis, but inputs.x has a batch of 2"],
    );
}

#[test]
fn projection_matrices() {
    case(&projections(""), &["3:1 w_q, w_k, w_v, w_o are missing from projections"]);
    case(
        &projections("w_q: identity, w_k: identity, w_v: identity"),
        &["3:1 w_o is missing from projections"],
    );
    case(
        &projections(
            "w_q: [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]], w_k: identity, w_v: identity, w_o: identity",
        ),
        &["3:15 projections.w_q is 4 × 3, but X · W_Q needs 4 × 4"],
    );
    case(
        &projections("w_q: [[1, 0, 0, 0], [0, 1, 0, 0]], w_k: none, w_v: eye, w_o: [[1, 2]]"),
        &[
            "3:15 projections.w_q is 2 × 4, but X · W_Q needs 4 × 4",
            "3:50 projections.w_k is none, but X · W_K needs 4 × 4",
            "3:61 projections.w_v is \"eye\", which is not an array",
            "3:71 projections.w_o is 1 × 2, but Concat · W_O needs 4 × 4",
        ],
    );
    case(
        &projections("w_q: identity, w_k: identity, w_v: identity, w_o: none, b_o: [1, 2, 3, 4]"),
        &["3:71 b_o is given, but there is no w_o"],
    );
    case(
        &projections("w_q: identity, w_k: identity, w_v: identity, w_o: none, b_q: [1, 2], b_k: identity"),
        &[
            "3:71 projections.b_q has 2 numbers, but X · W_Q + b_q needs 4",
            "3:84 projections.b_k is identity, but a bias is one row",
        ],
    );
    case(
        &projections("in_proj: {array: [[1]], layout: torch}, w_q: identity, w_o: none"),
        &[
            "3:15 projections.in_proj is 1 × 1, but its layout needs 12 × 4",
            "3:55 w_q is given twice: here and in in_proj",
        ],
    );
    case(&projections("in_proj: {array: [[1]]}, w_o: none"), &["3:15 projections.in_proj has no layout"]);
    case(
        &projections("in_proj: {array: [[1]], layout: pytorch}, w_o: none"),
        &[
            "3:39 projections.in_proj.layout is \"pytorch\", but it must be torch, gpt2, neox, bloom or falcon",
        ],
    );
}

/// The whole page for one fault: what, where (with the line and a caret), why, and what to try.
#[test]
fn a_fault_is_shown_with_its_line_its_reason_and_a_remedy() {
    let text = "attention: {num_heads: 2}\ninputs:\n  x: [[1, 2, 3, 4]]\nprojections:\n  w_q: [[1, 0, 0], [0, 1, 0], \
                [0, 0, 1], [0, 0, 0]]\n  w_k: identity\n  w_v: identity\n  w_o: none\n";
    let faults = parse(text, "my-lesson.yaml", Path::new("."), &Options::default()).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "error: projections.w_q is 4 × 3, but X · W_Q needs 4 × 4
  --> my-lesson.yaml:5:3 (projections.w_q)
   |
 5 |   w_q: [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
   |   ^
  why: d_model = 4 rows, num_heads · d_k = 2 · 2 columns
  try: give w_q 4 columns, or set attention.d_k
"
    );
}

#[test]
fn a_mistyped_key_is_answered_with_the_nearest_known_one() {
    let faults = parse(&attention("num_head: 2"), "l.yaml", Path::new("."), &Options::default()).unwrap_err();
    assert!(faults.0[0].remedy.starts_with("did you mean num_heads? Known: d_model, num_heads"), "{faults}");
}

/// Each of these claims sizes that no memory holds; all of them together must be refused before any is made.
#[test]
fn absurd_sizes_are_refused_at_once() {
    let started = std::time::Instant::now();
    for text in [
        attention("num_heads: 1000000000"),
        attention("num_heads: 1000000, d_k: 1000000"),
        attention("d_v: 1000000, num_heads: 1000000, d_k: 1"),
        attention("qk_norm: {scope: full}, num_heads: 1000000, d_k: 1000000"),
        attention("mask: {causal: {offset: 1000000000000}}"),
        inputs("x: {random: {seed: 1, shape: [1000000000, 4]}}"),
        inputs("x: {random: {seed: 1, shape: [1000000, 1000000]}}"),
    ] {
        faults(&text);
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(2));
}

/// 10,000 unknown keys in one lesson: the first hundred are told, the others counted.
#[test]
fn a_hopeless_file_is_not_a_flood() {
    let keys: String = (0..10_000).map(|number| format!("k{number}: 1\n")).collect();
    let faults = faults(&beside(&keys));
    assert_eq!(faults.len(), 101);
    assert_eq!(faults[100], "- 9900 faults more like these");
}

proptest::proptest! {
    /// Whatever a slip of the hand makes of a lesson, it is read or refused; nothing panics.
    #[test]
    fn no_slip_of_the_hand_makes_it_panic(
        lesson in 0..6usize,
        at in proptest::prelude::any::<proptest::sample::Index>(),
        length in 0..8usize,
        typed in "[\\[\\]{}:,\"'#&*!|>?%@` \n\t0-9a-z.\\-]{0,6}",
    ) {
        let chars: Vec<char> = super::builtin::all()[lesson].text.chars().collect();
        let from = at.index(chars.len());
        let to = (from + length).min(chars.len());
        let text: String =
            chars[..from].iter().copied().chain(typed.chars()).chain(chars[to..].iter().copied()).collect();
        if let Err(faults) = parse(&text, "l.yaml", Path::new("."), &Options::default()) {
            proptest::prop_assert!(!faults.0.is_empty());
            proptest::prop_assert!(!faults.to_string().is_empty());
        }
    }
}

#[test]
fn text_from_a_lesson_is_shown_and_not_obeyed() {
    let text = attention("\"num\u{1b}[2J\": 2").replace('\u{1b}', "\\e");
    let shown = parse(&text, "l.yaml", Path::new("."), &Options::default()).unwrap_err().to_string();
    assert!(shown.starts_with("error: attention has no key num\\e[2J\n"), "{shown}");
    assert!(!shown.contains('\u{1b}'));
}
