//! What is asked for on a page: digits, widths, figures, explanations, exact numbers.

use super::room::{Room, drawn, words};
use super::{At, LITTLE, Over, over};

fn explained(room: &Room, what: &[&str]) -> Vec<String> {
    room.write("lesson.yaml", drawn("[21, 20]", "num_heads: 1"));
    let mut asked = words("trace lesson.yaml");
    asked.extend(what.iter().flat_map(|what| ["--explain".to_owned(), (*what).to_owned()]));
    asked
}

pub(crate) const OVER: &[Over] = &[
    over("PRECISION", |_| words("trace --precision 18"), "18 is not in 0..=17"),
    over("WIDTH", |_| words("trace --width 10001"), "10001 is not in 20..=10000"),
    over("EXPLAINED_NUMBERS", |room| explained(room, &["q"]), "a page explains at most 400 numbers"),
    over("EXPLAINED_NUMBERS", |room| {
        let rows: Vec<String> = (1..=21).map(|row| format!("q[{row}]")).collect();
        explained(room, &rows.iter().map(String::as_str).collect::<Vec<_>>())
    }, "420 numbers are too much to explain"),
    over("FIGURE_PIXELS", |room| {
        let projections = "w_q: {random: {seed: 1}}, w_k: {random: {seed: 2}}, w_v: {random: {seed: 3}}, w_o: none";
            let attention = "{num_heads: 500, d_k: 1}";
            let x = "{random: {seed: 1, shape: [8, 2]}}";
            room.write("lesson.yaml", format!("attention: {attention}
inputs: {{x: {x}}}
projections: {{{projections}}}
"));
        words("trace lesson.yaml --steps * --format svg --output a.svg")
    }, "12 million pixels are the most that a figure may have"),
    over("EXACT_WORK", |room| {
        room.write("lesson.yaml", format!("attention: {{num_heads: 1}}\ninputs: {{x: [{}]}}\nprojections: {{w_q: identity, w_k: identity, w_v: identity, w_o: identity}}\n", vec![format!("[{}1]", "2,".repeat(63)); 64].join(",")));
        words("trace lesson.yaml --exact --steps output")
    }, "300000 sums and products").ends_with(0),
    over("TREE_DERIVATIONS", |room| {
        room.write("lesson.yaml", drawn("[200, 4]", "num_heads: 1"));
        words("trace lesson.yaml --explain output[1,1] --depth 9")
    }, "").ends_with(0),
];

pub(crate) const AT: &[At] = &[(
    "a glob of many stars",
    |_: &Room| vec!["trace".to_owned(), "--steps".to_owned(), format!("{}*", "*?".repeat(1_000))],
    LITTLE,
)];
