//! What is asked for on a page: digits, widths, figures, explanations, exact numbers.

use super::room::{Room, drawn, lesson, rows, words};
use super::{At, LITTLE, Over, over};

fn explained(room: &Room, what: &[&str]) -> Vec<String> {
    room.write("lesson.yaml", drawn("[21, 20]", "num_heads: 1"));
    let mut asked = words("trace lesson.yaml");
    asked.extend(what.iter().flat_map(|what| ["--explain".to_owned(), (*what).to_owned()]));
    asked
}

pub(crate) const OVER: &[Over] = &[
    over("PRECISION", |_| words("trace --precision 18"), "a whole number from 0 to 17"),
    over("WIDTH", |_| words("trace --width 10001"), "a whole number from 20 to 10000"),
    over("EXPLAINED_NUMBERS", |room| explained(room, &["q"]), "a page explains at most 400 numbers"),
    over(
        "EXPLAINED_NUMBERS",
        |room| {
            let rows: Vec<String> = (1..=21).map(|row| format!("q[{row}]")).collect();
            explained(room, &rows.iter().map(String::as_str).collect::<Vec<_>>())
        },
        "420 numbers are too much to explain",
    ),
    over(
        "FIGURE_PIXELS",
        |room| {
            let projections =
                "w_q: {random: {seed: 1}}, w_k: {random: {seed: 2}}, w_v: {random: {seed: 3}}, w_o: none";
            let attention = "{num_heads: 500, d_k: 1}";
            let x = "{random: {seed: 1, shape: [8, 2]}}";
            room.write(
                "lesson.yaml",
                format!(
                    "attention: {attention}
inputs: {{x: {x}}}
projections: {{{projections}}}
"
                ),
            );
            words("trace lesson.yaml --steps * --format svg --output a.svg")
        },
        "12 million pixels are the most that a figure may have",
    ),
    over(
        "EXACT_WORK",
        |room| {
            room.write("lesson.yaml", lesson(&rows(64, 64), "num_heads: 1").replace("identity", "ones"));
            words("trace lesson.yaml --exact --width 1000")
        },
        "300000 sums and products",
    )
    .ends_with(0),
    // Through four layers nearly every number of one stands behind nearly every number of the next.
    over(
        "TREE_DERIVATIONS",
        |room| {
            let stack = format!("{}layers: {{count: 4}}\n", drawn("[50, 4]", "num_heads: 1"));
            room.write("lesson.yaml", stack);
            words("trace lesson.yaml --explain layer.4.output[1,1] --depth 99 --width 1000")
        },
        "The tree stops where it was asked to",
    )
    .ends_with(0),
];

pub(crate) const AT: &[At] = &[(
    "a glob of many stars",
    |_: &Room| vec!["trace".to_owned(), "--steps".to_owned(), "*".repeat(1_000)],
    LITTLE,
)];
