//! Whole lessons, worked through.

use std::path::Path;

use nalgebra::DMatrix;

use super::{Answer, Language, Listed, Options, Problem, Said, builtin, parse};
use crate::plan::StepId;
use crate::plan::spec::{
    Alignment, FullyMaskedRows, Mask, NormScope, Positions, RopeLayout, Scale, alibi_slopes,
};

/// A matrix, row by row.
macro_rules! dmatrix {
    ($($($cell:expr),+);+) => {{
        let rows = [$(vec![$($cell),+]),+];
        DMatrix::from_row_slice(rows.len(), rows[0].len(), &rows.concat())
    }};
}

fn lesson(text: &str) -> Problem {
    parse(text, "lesson.yaml", Path::new("."), &Options::default())
        .unwrap_or_else(|faults| panic!("{faults}"))
}

/// Two tokens, d_model = 4, two heads, and whatever else attention is given.
fn two_heads(attention: &str) -> Problem {
    lesson(&format!(
        "attention: {{num_heads: 2, {attention}}}\ninputs: {{x: [[1, 2, 3, 4], [5, 6, 7, 8]]}}\n\
         projections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n"
    ))
}

fn matrix<'p>(problem: &'p Problem, step: &str) -> &'p DMatrix<f64> {
    &problem.inputs[&step.parse::<StepId>().unwrap()]
}

fn names(problem: &Problem) -> Vec<String> {
    problem.inputs.keys().map(StepId::to_string).collect()
}

#[test]
fn the_first_lesson_is_the_articles_example() {
    let problem = lesson(builtin::all()[0].text);
    assert_eq!(*matrix(&problem, "x"), dmatrix![1.0, 0.0, 1.0, 0.0; 0.0, 1.0, 0.0, 1.0; 1.0, 1.0, 0.0, 0.0]);
    let attention = &problem.attention;
    assert_eq!((attention.d_model, attention.num_heads, attention.d_k, attention.d_v), (4, 2, 2, 2));
    assert_eq!(*matrix(&problem, "w_o"), DMatrix::identity(4, 4));
    assert_eq!(names(&problem), ["x", "w_q", "w_k", "w_v", "w_o"]);
}

#[test]
fn what_is_left_out_takes_its_default() {
    let problem = two_heads("");
    let attention = &problem.attention;
    assert_eq!((attention.num_kv_heads, attention.d_k, attention.d_v, attention.d_kv_model), (2, 2, 2, 4));
    assert_eq!(attention.scale, Scale::RootOfDk);
    assert_eq!(attention.positions, Positions::None);
    assert_eq!(attention.fully_masked_rows, FullyMaskedRows::Error);
    assert!(attention.masks.is_empty() && attention.qk_norm.is_none() && attention.sinks.is_none());
    assert_eq!(problem.labels.queries, ["1", "2"]);
    assert_eq!(problem.labels.keys, ["1", "2"]);
    assert_eq!(problem.batch, None);
}

/// Lopsided on purpose: n_q 2, n_kv 3, d_model 2, the source 3 wide, 2 query heads on 1 key head, d_k 2, d_v 1.
#[test]
fn cross_attention_has_sizes_of_its_own() {
    let problem = lesson(
        "tokens: [a, b]\nkv_tokens: [no, 2, true]\n\
         attention: {num_heads: 2, num_kv_heads: 1, d_k: 2, d_v: 1}\n\
         inputs: {x: [[1, 2], [3, 4]], x_kv: [[1, 2, 3], [4, 5, 6], [7, 8, 9]]}\n\
         projections:\n  w_q: [[1, 0, 0, 1], [0, 1, 1, 0]]\n  w_k: [[1, 0], [0, 1], [1, 1]]\n  w_v: [[1], [2], [3]]\n\
         \x20 w_o: [[1, 2], [3, 4]]\n  b_v: [5]\n  b_o: none\n",
    );
    let attention = &problem.attention;
    assert_eq!((attention.d_model, attention.d_kv_model), (2, 3));
    assert_eq!((attention.num_heads, attention.num_kv_heads, attention.d_k, attention.d_v), (2, 1, 2, 1));
    assert_eq!(problem.labels.keys, ["no", "2", "true"]);
    assert_eq!(names(&problem), ["x", "x_kv", "w_q", "w_k", "w_v", "w_o", "b_v"]);
    assert_eq!(*matrix(&problem, "b_v"), dmatrix![5.0]);
}

/// q is 2 × 4 for 2 heads, so d_k = 2; v is 3 × 2 for 1 key/value head, so d_v = 2; without W_O it stops at concat.
#[test]
fn already_projected_inputs_imply_their_sizes() {
    let problem = lesson(
        "attention: {num_heads: 2, num_kv_heads: 1}\n\
         inputs:\n  q: [[1, 2, 3, 4], [5, 6, 7, 8]]\n  k: [[1, 2], [3, 4], [5, 6]]\n  v: [[1, 2], [3, 4], [5, 6]]\n",
    );
    assert_eq!((problem.attention.d_k, problem.attention.d_v, problem.attention.d_model), (2, 2, 4));
    assert_eq!(names(&problem), ["q", "k", "v"]);
    assert_eq!(problem.labels.queries, ["1", "2"]);
    assert_eq!(problem.labels.keys, ["1", "2", "3"]);
}

#[test]
fn w_o_tells_the_width_of_the_output() {
    let problem = lesson(
        "attention: {}\ninputs: {q: [[1, 2]], k: [[1, 2]], v: [[1, 2, 3]]}\n\
         projections: {w_o: [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]], b_o: ones}\n",
    );
    assert_eq!((problem.attention.d_k, problem.attention.d_v, problem.attention.d_model), (2, 3, 5));
    assert_eq!(matrix(&problem, "b_o").shape(), (1, 5));
}

#[test]
fn a_batch_is_several_sequences_under_the_same_projections() {
    let problem = lesson(
        "attention: {mask: {key_padding: [[true, false], [true, true]]}}\n\
         inputs: {x: [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]}\n\
         projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}\n",
    );
    assert_eq!(problem.batch, Some(2));
    assert_eq!(names(&problem), ["w_q", "w_k", "w_v", "batch.1.x", "batch.2.x"]);
    assert_eq!(*matrix(&problem, "batch.2.x"), dmatrix![5.0, 6.0; 7.0, 8.0]);
    assert_eq!(problem.attention.masks, [Mask::KeyPadding(vec![vec![true, false], vec![true, true]])]);
    // a batch of one stays a batch
    let one = lesson("attention: {}\ninputs: {q: [[[1]]], k: [[[1]]], v: [[[1]]]}\n");
    assert_eq!(
        (one.batch, names(&one)),
        (Some(1), vec!["batch.1.q".into(), "batch.1.k".into(), "batch.1.v".into()])
    );
}

#[test]
fn every_form_of_a_mask_is_understood() {
    #[track_caller]
    fn case(mask: &str, expected: &[Mask]) {
        assert_eq!(
            two_heads(&format!("mask: {mask}, fully_masked_rows: zeros")).attention.masks,
            expected,
            "{mask}"
        );
    }
    let window = |left, right, alignment| Mask::Window { left, right, alignment };
    let bottom = Alignment::BottomRight;
    case("causal", &[Mask::Causal(bottom)]);
    case("[causal]", &[Mask::Causal(bottom)]);
    case("{causal: top-left}", &[Mask::Causal(Alignment::TopLeft)]);
    case("{causal: {offset: -2}}", &[Mask::Causal(Alignment::Offset(-2))]);
    case("[causal, {window: 3}]", &[Mask::Causal(bottom), window(Some(2), Some(0), bottom)]);
    case("{window: {left: 2}}", &[window(Some(2), None, bottom)]);
    case("{window: {right: 0, offset: 1}}", &[window(None, Some(0), Alignment::Offset(1))]);
    case("{key_padding: [true, false]}", &[Mask::KeyPadding(vec![vec![true, false]])]);
    case("{allow: [[1, 0], [true, true]]}", &[Mask::Allow(vec![dmatrix![true, false; true, true]])]);
    let hidden = f64::NEG_INFINITY;
    case("{add: [[0, -.inf], [0.5, \"-Infinity\"]]}", &[Mask::Add(vec![dmatrix![0.0, hidden; 0.5, hidden]])]);
    case(
        "{add: [[[0, 1], [2, 3]], [[4, 5], [6, 7]]]}",
        &[Mask::Add(vec![dmatrix![0.0, 1.0; 2.0, 3.0], dmatrix![4.0, 5.0; 6.0, 7.0]])],
    );
    case("[]", &[]);
}

#[test]
fn every_form_of_positions_is_understood() {
    let positions = |keys: &str| two_heads(&format!("positions: {keys}")).attention.positions;
    assert_eq!(positions("none"), Positions::None);
    let alibi = |slopes, alignment| Positions::Alibi { slopes, alignment };
    assert_eq!(positions("alibi"), alibi(alibi_slopes(2), Alignment::BottomRight));
    assert_eq!(
        positions("{alibi: {slopes: [1, 0.5], offset: 2}}"),
        alibi(vec![1.0, 0.5], Alignment::Offset(2))
    );
    let Positions::Rope(rope) = positions("rope") else { panic!("rope is rope") };
    assert_eq!((rope.theta, rope.layout, rope.dims), (10000.0, RopeLayout::HalfSplit, 2));
    assert_eq!((rope.q_positions, rope.k_positions), (vec![0.0, 1.0], vec![0.0, 1.0]));
    let keys = "{rope: {theta: 100, layout: interleaved, dims: 2, q_start: 3, k_positions: [0, 7]}}";
    let Positions::Rope(rope) = positions(keys) else { panic!("rope is rope") };
    assert_eq!((rope.theta, rope.layout, rope.dims), (100.0, RopeLayout::Interleaved, 2));
    assert_eq!((rope.q_positions, rope.k_positions), (vec![3.0, 4.0], vec![0.0, 7.0]));
}

#[test]
fn the_smaller_keys_of_attention_are_understood() {
    let attention = two_heads(
        "scale: 0.25, softcap: 50, sinks: [0.1, 0.2], fully_masked_rows: nan, \
         qk_norm: {eps: 1e-05, k: [1, 2, 3, 4], scope: full}",
    )
    .attention;
    assert_eq!(attention.scale, Scale::Given(0.25));
    assert_eq!(attention.softcap, Some(50.0));
    assert_eq!(attention.sinks, Some(vec![0.1, 0.2]));
    assert_eq!(attention.fully_masked_rows, FullyMaskedRows::Nan);
    let norm = attention.qk_norm.unwrap();
    assert_eq!((norm.eps, norm.scope), (1e-5, NormScope::Full));
    assert_eq!((norm.q_gain, norm.k_gain), (vec![1.0; 4], vec![1.0, 2.0, 3.0, 4.0]));
    let norm = two_heads("qk_norm: {}").attention.qk_norm.unwrap();
    assert_eq!((norm.eps, norm.scope), (1e-6, NormScope::Head));
    assert_eq!((norm.q_gain, norm.k_gain), (vec![1.0; 2], vec![1.0; 2]));
}

/// w_q [d_model 2][h 2][d_k 1] is 2 × 2, w_o [h 2][d_v 1][d_model 2] is 2 × 2, b_q [h 2][d_k 1] is 1 × 2.
#[test]
fn arrays_as_keras_stores_them_are_flattened() {
    let problem = lesson(
        "attention: {num_heads: 2}\ninputs: {x: [[1, 2]]}\n\
         projections: {w_q: [[[1], [2]], [[3], [4]]], w_k: identity, w_v: identity, w_o: [[[1, 2]], [[3, 4]]], \
         b_q: [[5], [6]]}\n",
    );
    assert_eq!(*matrix(&problem, "w_q"), dmatrix![1.0, 2.0; 3.0, 4.0]);
    assert_eq!(*matrix(&problem, "w_o"), dmatrix![1.0, 2.0; 3.0, 4.0]);
    assert_eq!(*matrix(&problem, "b_q"), dmatrix![5.0, 6.0]);
}

/// One row of the packed matrix (out × in) is one column of a projection. Rows 1 to 4 in head order q1 k1 v1 …:
/// torch takes them as q1 q2 | k1 k2 | v1 v2, GPT-NeoX as q1 k1 v1 | q2 k2 v2; GPT-2 stores the transpose of torch's.
#[test]
fn packed_projections_are_shared_out_as_the_library_does() {
    #[track_caller]
    fn case(in_proj: &str, q: [f64; 2], k: [f64; 2], v: [f64; 2]) {
        let problem = lesson(&format!(
            "attention: {{num_heads: 2, d_k: 1}}\ninputs: {{x: [[1]]}}\n\
             projections: {{in_proj: {{{in_proj}}}, w_o: none}}\n"
        ));
        for (name, expected) in [("w_q", q), ("w_k", k), ("w_v", v), ("b_q", q), ("b_k", k), ("b_v", v)] {
            assert_eq!(matrix(&problem, name).as_slice(), expected, "{in_proj}: {name}");
        }
    }
    let bias = "bias: [1, 2, 3, 4, 5, 6]";
    let rows = format!("array: [[1], [2], [3], [4], [5], [6]], {bias}");
    case(&format!("layout: torch, {rows}"), [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]);
    case(&format!("layout: gpt2, array: [[1, 2, 3, 4, 5, 6]], {bias}"), [1.0, 2.0], [3.0, 4.0], [5.0, 6.0]);
    case(&format!("layout: neox, {rows}"), [1.0, 4.0], [2.0, 5.0], [3.0, 6.0]);
    case(&format!("layout: bloom, {rows}"), [1.0, 4.0], [2.0, 5.0], [3.0, 6.0]);
    case(&format!("layout: falcon, {rows}"), [1.0, 4.0], [2.0, 5.0], [3.0, 6.0]);
}

#[test]
fn a_seed_gives_the_same_projections_every_time_and_different_ones_for_each() {
    let text = "attention: {}\ntokens: [a, b]\ninputs: {x: {random: {seed: 3, shape: [2, 4]}}}\n\
                projections: {w_q: {random: {seed: 7}}, w_k: {random: {seed: 7}}, w_v: identity, w_o: none}\n";
    let (once, again) = (lesson(text), lesson(text));
    assert_eq!(once.inputs, again.inputs);
    assert_ne!(matrix(&once, "w_q"), matrix(&once, "w_k"));
    // 4 rows, so the standard deviation is 1/√4: half of the first number of seed 7, nonce 2 (see random.rs)
    approx::assert_abs_diff_eq!(matrix(&once, "w_q")[(0, 0)], 0.05073612731458718 / 2.0, epsilon = 1e-15);
}

#[test]
fn a_random_x_takes_its_rows_from_the_tokens() {
    let text = "attention: {d_model: 4}\ntokens: [a, b, c]\ninputs: {x: {random: {seed: 3}}}\n\
                projections: {w_q: ones, w_k: ones, w_v: zeros, w_o: none}\n";
    assert_eq!(matrix(&lesson(text), "x").shape(), (3, 4));
}

#[test]
fn story_claims_and_quiz_count_from_one_in_the_file_and_from_zero_inside() {
    let problem = two_heads("");
    assert!(problem.story.is_empty() && problem.claims.is_empty() && problem.quiz.is_empty());
    let problem = lesson(
        "attention: {}\ninputs: {q: [[1, 2]], k: [[1, 2]], v: [[1, 2]]}\n\
         story:\n  - {at: q, say: {en: 'look at {q[1,2]}', zh: '看 {q[1,2]}'}}\n\
         claims:\n\
         \x20 - {step: q, row: 1, equals: [0.333, 0.33]}\n\
         \x20 - {step: q, row: 1, column: 2, equals: 2}\n\
         \x20 - {step: q, column: 2, equals: [1.5e-3, 2]}\n\
         \x20 - step: q\n    equals: [[1, 2], [3, -.inf]]\n    tolerance: 0.5\n\
         quiz:\n\
         \x20 - {ask: which?, choices: [1, two], answer: 2, because: so}\n\
         \x20 - {ask: how much?, cell: 'q[1,2]'}\n",
    );
    let step = |name: &str| name.parse::<StepId>().unwrap();
    assert_eq!((problem.story[0].at, problem.story[0].say.as_str()), (step("q"), "look at {q[1,2]}"));
    let places: Vec<_> = problem.claims.iter().map(|claim| claim.place).collect();
    let claims: Vec<&Listed> = problem
        .claims
        .iter()
        .filter_map(|claim| match &claim.said {
            Said::Numbers(listed) => Some(listed),
            Said::That(_) => None,
        })
        .collect();
    assert_eq!((claims[0].row, claims[0].column), (Some(0), None));
    assert_eq!(claims[0].equals, [vec![0.333, 0.33]]);
    // half a unit of the third decimal, the longest typed; a whole number is meant exactly; 1.5e-3 has four decimals
    approx::assert_abs_diff_eq!(claims[0].tolerance, 0.0005, epsilon = 1e-12);
    approx::assert_abs_diff_eq!(claims[1].tolerance, 1e-9, epsilon = 1e-18);
    approx::assert_abs_diff_eq!(claims[2].tolerance, 0.00005, epsilon = 1e-12);
    assert_eq!(claims[2].equals, [vec![0.0015], vec![2.0]]);
    assert_eq!(claims[3].tolerance, 0.5);
    assert_eq!(claims[3].equals, [vec![1.0, 2.0], vec![3.0, f64::NEG_INFINITY]]);
    assert_eq!(places[0], Some((6, 5)));
    assert_eq!(places[3], Some((9, 5)));
    assert_eq!(problem.quiz[0].answer, Answer::Choice(vec!["1".into(), "two".into()], 1));
    assert_eq!(problem.quiz[1].answer, Answer::Cell(step("q"), 0, 1));
}

#[test]
fn texts_come_in_the_language_asked_for() {
    let text = "title: {en: Two heads, zh: 两个头}\nattention: {}\ninputs: {q: [[1]], k: [[1]], v: [[1]]}\n";
    let options = Options { language: Language::Zh, ..Options::default() };
    assert_eq!(parse(text, "l.yaml", Path::new("."), &options).unwrap().title, "两个头");
    assert_eq!(lesson(text).title, "Two heads");
}

#[test]
fn a_lesson_may_be_json_and_begin_with_a_byte_order_mark() {
    let text = "\u{feff}{\n\t\"title\": \"\\ud83d\\ude00 \\u00e9\",\n\t\"attention\": {\"scale\": 1e-05, \
                \"mask\": {\"add\": [[\"-Infinity\", -0.0]]}},\n\t\"inputs\": {\"q\": [[1, 2]], \
                \"k\": [[1, 2], [3, 4]], \"v\": [[1], [2.5]]}\n}\n";
    let problem = lesson(text);
    assert_eq!(problem.title, "😀 é");
    assert_eq!(problem.attention.scale, Scale::Given(1e-5));
    assert_eq!(problem.attention.masks, [Mask::Add(vec![dmatrix![f64::NEG_INFINITY, 0.0]])]);
}

#[test]
fn a_lesson_is_read_from_a_file_and_its_arrays_from_beside_it() {
    let room = tempfile::tempdir().unwrap();
    let path = room.path().join("lesson.yaml");
    std::fs::write(room.path().join("x.csv"), "1,2\n3,4\n").unwrap();
    std::fs::write(
        &path,
        "attention: {}\ninputs: {x: {file: x.csv}}\n\
         projections: {w_q: {file: x.csv, transpose: true}, w_k: identity, w_v: identity, w_o: none}\n",
    )
    .unwrap();
    let problem = super::load(&path, &Options::default()).unwrap();
    assert_eq!(*matrix(&problem, "x"), dmatrix![1.0, 2.0; 3.0, 4.0]);
    assert_eq!(*matrix(&problem, "w_q"), dmatrix![1.0, 3.0; 2.0, 4.0]);
}

#[test]
fn what_is_wrong_with_an_array_file_is_told_where_the_lesson_names_it() {
    let room = tempfile::tempdir().unwrap();
    std::fs::write(room.path().join("x.csv"), "1,2\n3\n").unwrap();
    std::fs::write(room.path().join("y.json"), "{\"a\": [[1, 2]], \"b\": [[1, NaN]]}").unwrap();
    let case = |array: &str, what: &str, why: &str| {
        let text = format!("attention: {{}}\ninputs: {{x: {{file: {array}}}}}\nprojections: {{w_o: none}}\n");
        let fault = parse(&text, "l.yaml", room.path(), &Options::default()).unwrap_err().0.remove(0);
        assert_eq!((fault.place.unwrap().line_column, fault.what.as_str()), (Some((2, 10)), what));
        assert!(fault.why.contains(why), "{}", fault.why);
    };
    case("x.csv", "inputs.x: row 2 has 1 number, but row 1 has 2", "x.csv:2:2");
    case("y.json", "inputs.x: the file holds 2 arrays, and none is named", "it holds a, b");
    case("y.json, array: c", "inputs.x: the file has no array c", "it holds a, b");
    case("y.json, array: b", "inputs.x holds NaN in row 1, column 2", "spread into every number");
    case("y.json, array: a, tensor: a", "inputs.x names both an array and a tensor", "the same");
    case("y.json, array: a, rows: [1, 2]", "inputs.x asks for rows 1 to 2, but the array has 1", "");
}

#[test]
fn a_file_that_is_no_lesson_is_refused_by_name() {
    let room = tempfile::tempdir().unwrap();
    let what = |name: &str, bytes: &[u8]| {
        let path = room.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let fault = super::load(&path, &Options::default()).unwrap_err().0.remove(0);
        (fault.what.replace(&path.display().to_string(), name), fault.why)
    };
    assert_eq!(
        what("b", &[0xff, 0xfe, b'a', 0]),
        (
            "b is not a text in UTF-8".into(),
            "it seems to be UTF-16, which > in Windows PowerShell writes".into()
        )
    );
    assert_eq!(what("c", b"ab\xff"), ("c is not a text in UTF-8".into(), "byte 3 is not UTF-8".into()));
    assert_eq!(what("d", &vec![b' '; (4 << 20) + 1]).0, "d is longer than the 4194304 bytes that are read");
    assert!(what("e", b"a: \0").0.starts_with("the lesson holds a control character (U+0000)"));
    let folder = super::load(room.path(), &Options::default()).unwrap_err();
    assert!(folder.0[0].what.ends_with("is a folder"), "{folder}");
    let typo = super::load(Path::new("two-head"), &Options::default()).unwrap_err();
    assert_eq!(typo.0[0].remedy, "did you mean the built-in lesson two-heads?");
}
