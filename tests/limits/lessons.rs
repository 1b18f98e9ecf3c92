//! Lessons, courses and worksheets.

use super::room::{Room, SMALL, drawn, lesson, rows, words};
use super::{At, LITTLE, Over, over};

/// `things: [thing, thing, …]`.
fn many(key: &str, thing: &str, count: usize) -> String {
    format!("{key}:\n{}", format!("- {thing}\n").repeat(count))
}

/// A plot over these values.
fn plot(values: usize, shape: &str) -> String {
    let values: Vec<String> = (1..=values).map(|value| value.to_string()).collect();
    format!(
        "course:\n  - plot:\n      x: {{label: a, values: [{}]}}\n      \
         change: {{inputs: {{x: {{random: {{seed: $, shape: {shape}}}}}}}}}\n      \
         lines: [{{label: a, value: mean(weights)}}]\n",
        values.join(", ")
    )
}

fn claim(that: &str) -> String {
    format!("claims: [{{that: \"{that}\"}}]\n")
}

/// A stack of so many small layers.
fn stack(layers: usize) -> String {
    format!("{SMALL}layers: {{count: {layers}}}\n")
}

pub(crate) const OVER: &[Over] = &[
    over(
        "FAULTS",
        |room| {
            let keys: String = (0..150).map(|at| format!("key{at}: 1\n")).collect();
            room.traced(format!("{SMALL}{keys}"))
        },
        "50 faults more like these",
    ),
    over(
        "LESSON_BYTES",
        |room| {
            room.sparse("lesson.yaml", b"a: 1\n", (4 << 20) + 1);
            words("trace lesson.yaml")
        },
        "4194304",
    ),
    over(
        "LESSON_VALUES",
        |room| room.traced(format!("attention: {{}}\ninputs: {{x: [[{}1]]}}\n", "1,".repeat(500_000))),
        "the lesson holds more than 500000 values",
    ),
    over(
        "LESSON_VALUES",
        |room| room.traced("a\n".repeat(500_001)),
        "the lesson holds more than 500000 values",
    ),
    over(
        "LESSON_DEPTH",
        |room| room.traced(format!("a: {}", "[".repeat(100_000))),
        "lists and mappings are nested deeper than 32",
    ),
    over("LESSON_SIZE", |room| room.drawn("[2, 1000001]", ""), "1000000"),
    over(
        "MATRIX_NUMBERS",
        |room| room.drawn("[1000000, 1000000]", ""),
        "more than the 4194304 numbers that a matrix may have",
    ),
    over(
        "LESSON_HEADS",
        |room| room.drawn("[8193, 2, 4]", "num_heads: 2"),
        "are 16386 heads, more than the 16384 of the largest lesson",
    ),
    over("LESSON_LAYERS", |room| room.traced(stack(513)), "it must be between 1 and 512"),
    over(
        "KEPT_NUMBERS",
        |room| room.drawn("[100, 1000, 4]", "num_heads: 2"),
        "more than the 268435456 that are kept at once",
    ),
    over(
        "MASK_REACH",
        |room| room.drawn("[2, 2]", "num_heads: 1, mask: {causal: {offset: 1000000001}}"),
        "1000000000",
    ),
    over(
        "EXPRESSION_CHARACTERS",
        |room| room.validated(&claim(&format!("{}1 > 0", "1+".repeat(1_000)))),
        "it has more than 2000 characters",
    ),
    over(
        "EXPRESSION_DEPTH",
        |room| room.validated(&claim(&format!("{}1{} > 0", "(".repeat(65), ")".repeat(65)))),
        "it is nested more than 64 deep",
    ),
    over(
        "EXPRESSION_DEPTH",
        |room| room.validated(&claim(&format!("{}2 > 0", "2^".repeat(65)))),
        "it is nested more than 64 deep",
    ),
    over(
        "RANK_SIDE",
        |room| {
            room.write(
                "lesson.yaml",
                format!("{}claims: [{{that: \"rank(x) > 0\"}}]\n", drawn("[129, 2]", "num_heads: 1")),
            );
            words("lessons validate lesson.yaml")
        },
        "ranks are computed up to 128 × 128",
    )
    .ends_with(1),
    over("PLOT_VALUES", |room| room.validated(&plot(201, "[2, 4]")), "1 to 200 numbers"),
    over(
        "LESSON_ENTRIES",
        |room| room.validated(&many("quiz", "{ask: a, cell: \"q[1,1]\"}", 501)),
        "quiz has 501 entries, more than the 500 that are read",
    ),
    over(
        "COURSE_PARTS",
        |room| room.validated(&many("course", "time: {runs: []}", 11)),
        "the course has 11 parts of the kind time, more than the 10 that are read",
    ),
    over(
        "COURSE_WORK",
        |room| room.validated(&plot(1, "[2048, 512]")),
        "take more than 2147483648 operations in all",
    )
    .ends_with(1),
    over(
        "COURSE_MODELS",
        |room| {
            let claim = |heads| {
                format!("- {{that: 'count(\"--d-model {heads} --num-heads 1\", total_parameters) > 0'}}\n")
            };
            let claims: String = (1..=101).map(claim).collect();
            room.validated(&format!("claims:\n{claims}"))
        },
        "a lesson counts at most 100 models",
    )
    .ends_with(1),
    over(
        "COMMAND_BYTES",
        |room| {
            let large = drawn("[400, 4]", "num_heads: 1");
            room.write(
                "lesson.yaml",
                format!("{large}course:\n  - command: mha trace lesson.yaml --format csv\n"),
            );
            words("lessons validate lesson.yaml")
        },
        "it prints more than 4 MiB",
    )
    .ends_with(1),
    over(
        "PROGRESS_BYTES",
        |room| {
            room.sparse("progress/progress.json", b"{", (16 << 20) + 1);
            words("learn")
        },
        "it is too long",
    )
    .ends_with(0),
    over("DRAFT_SIZE", |_| words("lessons new --d-model 65"), "from 1 to 64"),
    over(
        "PAPER_SIDE",
        |room| {
            room.write("lesson.yaml", drawn("[17, 4]", "num_heads: 1"));
            words("worksheet lesson.yaml")
        },
        "a page holds tables of up to 16 × 16 numbers",
    ),
    over(
        "PAPER_STEPS",
        |room| {
            room.write("lesson.yaml", stack(100));
            words("worksheet lesson.yaml")
        },
        "up to 200 are computed by hand",
    ),
    over("DRAWN_TOKENS", |_| words("worksheet --random --tokens 9"), "from 2 to 8"),
    over("DRAWN_D_MODEL", |_| words("worksheet --random --d-model 18"), "from 2 to 16 wide"),
    over("EXERCISES", |_| words("trace random:seed=7,exercise=1001"), "a seed has 1000"),
    over("EXERCISES_A_FILE", |_| words("worksheet --random --count 101"), "a file holds up to 100"),
];

pub(crate) const AT: &[At] = &[
    ("a matrix of 256 × 256", |room| room.traced(lesson(&rows(256, 256), "num_heads: 8")), LITTLE),
    ("16,384 heads", |room| room.drawn("[8192, 1, 4]", "num_heads: 2"), LITTLE),
    (
        "512 layers",
        |room| {
            room.write("lesson.yaml", stack(512));
            words("trace lesson.yaml --steps layer.512.hidden")
        },
        LITTLE,
    ),
    ("64 deep", |room| room.validated(&claim(&format!("{}1{} > 0", "(".repeat(60), ")".repeat(60)))), LITTLE),
    ("a hundred exercises", |_: &Room| words("worksheet --random --count 100"), LITTLE),
];
