//! Markdown and LaTeX of a trace: the numbers by hand, and text from a lesson that stays text.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

use std::fs;
use std::path::Path;

#[path = "common/latex.rs"]
mod latex;
#[path = "common/run.rs"]
#[expect(dead_code, reason = "no shell is needed here")]
mod run;

#[track_caller]
fn said(folder: &Path, args: &[&str]) -> String {
    let run = run::run(folder, args);
    assert_eq!((run.status, run.err.as_str()), (Some(0), ""), "mha {}", args.join(" "));
    run.out
}

/// Head 2 owns columns 3 and 4 of x: a is (1, 0), b is (0, 1), c is (0, 0). So a answers a with 1, b answers b with 1,
/// and over √2 that is 0.7071; everything else is 0.
#[test]
fn a_step_in_markdown_is_a_heading_a_formula_and_a_table() {
    let page = said(Path::new("."), &["trace", "--steps", "head.2.scores", "--format", "markdown"]);
    let step = page.split_once("\n## ").unwrap().1;
    assert_eq!(
        step.split_once("\n\nRows ask").unwrap().0,
        "17. `head.2.scores`: scores of head 2\n\n\
         ```math\nS_2 = \\frac{Q_2K_2^{\\top}}{\\sqrt{d_k}}\n```\n\n\
         3×2 · 2×3 → 3×3\n\n\
         |  | a | b | c |\n\
         | --- | ---: | ---: | ---: |\n\
         | a | 0.7071 | 0.0000 | 0.0000 |\n\
         | b | 0.0000 | 0.7071 | 0.0000 |\n\
         | c | 0.0000 | 0.0000 | 0.0000 |"
    );
}

/// The same numbers; in LaTeX the names of the columns stand in a first row that takes no height.
#[test]
fn a_step_in_latex_is_a_matrix_after_its_formula() {
    let page = said(Path::new("."), &["trace", "--steps", "head.2.scores", "--format", "latex"]);
    assert!(page.contains("\n\\section*{Head 2}\n"), "{page}");
    let step = page.split_once("\n\\[\n").unwrap().1;
    assert_eq!(
        step.split_once("\n\\]").unwrap().0,
        r"S_2 = \frac{Q_2K_2^{\top}}{\sqrt{d_k}} =
\headroom{3}
\begin{array}{r@{\,}} \rowname{a} \\ \rowname{b} \\ \rowname{c} \end{array}
\begin{bmatrix}
  \colname{a} & \colname{b} & \colname{c} \\[-\rowheight]
  0.7071 & 0.0000 & 0.0000 \\
  0.0000 & 0.7071 & 0.0000 \\
  0.0000 & 0.0000 & 0.0000
\end{bmatrix}"
    );
}

/// One head of width 1 with x = (1, −10, 2): a score is the product of two of them. Causal hides what comes later, and a minus or a
/// tens digit that a number lacks is left as room before it.
const LOPSIDED: &str = "
title: Lopsided
tokens: [a, b, c]
attention: {d_model: 1, num_heads: 1, mask: causal, scale: 1}
inputs: {x: [[1], [-10], [2]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: none}
";

#[test]
fn hidden_scores_are_minus_infinity_and_numbers_stand_below_each_other() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), LOPSIDED).unwrap();
    let args = ["trace", "lesson.yaml", "--steps", "masked_scores", "--format"];
    let latex = said(room.path(), &[&args[..], &["latex"]].concat());
    let rows = [
        r"\phantom{-0}1 & -\infty & -\infty \\",
        r"-10 & \phantom{-}100 & -\infty \\",
        r"\phantom{-0}2 & \phantom{0}{-20} & 4",
    ];
    assert!(latex.contains(&rows.join("\n  ")), "{latex}");
    // A sentence in a formula has a line of its own.
    assert!(latex.contains(
        "\\begin{gather*}\nS_1^{\\mathrm{m}} = S_1\\text{ where allowed, else }{-}\\infty\\text{ (causal)} \\\\\n"
    ));
    let markdown = said(room.path(), &[&args[..], &["markdown"]].concat());
    assert!(
        markdown.contains("| a | 1 | −∞ | −∞ |\n| b | -10 | 100 | −∞ |\n| c | 2 | -20 | 4 |\n"),
        "{markdown}"
    );
}

/// Head 1 of the article: token a answers itself with 1 over √2. So the weights of row a are e^(1/√2), 1 and e^(1/√2) over
/// their sum, and c, which shares a number with both others and two with itself, scores 2/√2 there.
#[test]
fn exact_forms_are_maths_in_both_formats() {
    let page =
        |format, step| said(Path::new("."), &["trace", "--exact", "--steps", step, "--format", format]);
    let markdown = page("markdown", "head.1.scores");
    let row = "| c | $`\\frac{1}{\\sqrt{2}}`$ | $`\\frac{1}{\\sqrt{2}}`$ | $`\\frac{2}{\\sqrt{2}}`$ |\n";
    assert!(markdown.contains(row), "{markdown}");
    let latex = page("latex", "head.1.weights");
    let row = r"\frac{e^{1/\sqrt{2}}}{2e^{1/\sqrt{2}}+1} & \frac{1}{2e^{1/\sqrt{2}}+1} & \frac{e^{1/\sqrt{2}}}{2e^{1/\sqrt{2}}+1} \\";
    assert!(latex.contains(row), "{latex}");
    // Where the numbers are not exact, the page says why.
    let why =
        said(Path::new("."), &["trace", "telltale", "--exact", "--steps", "output", "--format", "latex"]);
    assert!(why.contains("\nDecimals: "), "{why}");
}

#[test]
fn columns_heads_precision_and_quiet_are_heeded() {
    let page = |more: &[&str]| said(Path::new("."), &[&["trace", "--format", "markdown"], more].concat());
    let turned = page(&["cross-attention", "--layout", "columns", "--steps", "head.1.scores"]);
    assert!(
        turned.contains("S_1 = \\frac{K_1^{\\top}Q_1}{\\sqrt{d_k}}")
            && turned.contains("a token is a column")
    );
    let second = page(&["--heads", "2", "--steps", "weights", "--precision", "2", "--quiet"]);
    assert_eq!(
        second,
        "# Two heads, one input\n\n## 18. `head.2.weights`: attention weights of head 2\n\n\
         |  | a | b | c |\n| --- | ---: | ---: | ---: |\n\
         | a | 0.50 | 0.25 | 0.25 |\n| b | 0.25 | 0.50 | 0.25 |\n| c | 0.33 | 0.33 | 0.33 |\n"
    );
    // 3·3 scores, each a product of 2 numbers: 18 multiplications.
    assert!(page(&["--steps", "head.1.scores", "--verbose"]).contains("\nCost: 18 multiplications"));
    let ascii = page(&["masks", "--ascii"]);
    assert!(ascii.is_ascii(), "{:?}", ascii.lines().find(|line| !line.is_ascii()));
    let ascii = said(Path::new("."), &["trace", "masks", "--ascii", "--format", "latex"]);
    assert!(ascii.is_ascii(), "{:?}", ascii.lines().find(|line| !line.is_ascii()));
}

#[test]
fn a_wide_matrix_loses_its_middle_and_says_so() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), LARGE).unwrap();
    let args = ["trace", "lesson.yaml", "--steps", "head.1.scores", "--format"];
    for (format, down) in [("markdown", "| ⋮ |"), ("latex", "\\vdots")] {
        let page = said(room.path(), &[&args[..], &[format]].concat());
        // 40 = 8 + 24 + 8 rows, 6 + 28 + 6 columns
        assert!(page.contains("24 of 40 rows and 28 of 40 columns left out here"), "{page}");
        assert!(page.contains(down), "{page}");
    }
}

/// Forty tokens, three heads, and everything that has a formula of its own.
const LARGE: &str = "
title: Forty tokens
attention: {d_model: 24, num_heads: 3, mask: [causal, {window: 12}], softcap: 5, qk_norm: {}, sinks: [0.5, -1, 0.25],
  positions: rope}
inputs: {x: {random: {seed: 3, std: 40, shape: [40, 24]}}}
projections: {w_q: {random: {seed: 1}}, w_k: {random: {seed: 2}}, w_v: {random: {seed: 4}}, w_o: {random: {seed: 5}}}
";

/// Everything that has a meaning in Markdown, HTML or TeX, control characters, emoji, and letters of other scripts.
const HOSTILE: &str = r##"
title: "# <script>alert(1)</script> | $x$ \\input{x} [l](http://e.vil) ![i](j) `c` *b* __i__ & % ~ ^^5c \e[2J"
summary: "- 中文标题没有空格也没有断行的地方所以它必须能够在任何地方断行才不会跑出页面 ``` $$ \\end{document} www.example.com"
source: "1. aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa &lt; Привет"
tokens: ["a|b", "\\end{document}", "注意力机制", "👩‍🔬", "שלום", "\u202Eevil\a\n", "~#%&{}_^\"'`--<>", "``` $$"]
attention: {d_model: 2, num_heads: 1, mask: causal}
inputs: {x: [[1, 0], [0, 1], [1, 1], [0, 0], [1, 0], [0, 1], [1, 1], [0, 0]]}
projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}
story:
  - {at: head.1.scores, say: "> @octocat <img src=x onerror=alert(1)> $\\write18{ls}$ | {head.1.scores[1,1]} ` _x_ 中"}
"##;

#[test]
fn text_from_a_lesson_stays_text_in_markdown() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), HOSTILE).unwrap();
    let page = said(room.path(), &["trace", "lesson.yaml", "--format", "markdown"]);
    assert!(!page.contains(|c: char| c.is_control() && c != '\n'), "{page}");
    assert!(!page.contains('\u{202e}') && !page.contains('<') && !page.contains("http://"), "{page}");
    assert!(
        page.starts_with("# \\# &lt;script&gt;alert(1)&lt;/script&gt; \\| &#36;x&#36; &#92;input{x} \\[l\\]"),
        "{page}"
    );
    assert!(page.contains("\n\\- 中文"), "a paragraph is no list: {page}");
    let mut fences = 0;
    for line in page.lines() {
        fences += usize::from(line.starts_with("```"));
        // Scores have eight columns beside the names: ten pipes that are not escaped.
        if line.starts_with("| a\\|b | ") && line.contains("0.7071") {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 10, "{line}");
        }
    }
    // Steps that are computed: q, k, v, seven of the head (q, k, v, scores, masked, weights, output), concat, output.
    assert_eq!(fences, 2 * (3 + 7 + 2), "{page}");
    assert_eq!(page.matches("\n> ").count(), 1);
    assert!(page.contains(
        "\n> &gt; @&#8203;octocat &lt;img src=x onerror=alert(1)&gt; &#36;&#92;write18{ls}&#36; \\| 0.7071 \\` \\_x\\_ 中\n"
    ));
}

#[test]
fn text_from_a_lesson_stays_text_in_latex() {
    let room = tempfile::tempdir().unwrap();
    fs::write(room.path().join("lesson.yaml"), HOSTILE).unwrap();
    let page = said(room.path(), &["trace", "lesson.yaml", "--format", "latex"]);
    assert!(!page.contains(|c: char| c.is_control() && c != '\n'), "{page}");
    assert_eq!(page.matches("\\end{document}").count(), 1, "{page}");
    assert!(page.ends_with("\n\\end{document}\n"));
    assert!(!page.contains("\\input") && !page.contains("\\write") && !page.contains("^^"), "{page}");
    assert!(page.contains(r"\rowname{\textbackslash{}end\{document\}}"), "{page}");
    assert!(page.contains(
        r"\rowname{\letter{6CE8}{注}\letter{610F}{意}\letter{529B}{力}\letter{673A}{机}\letter{5236}{制}}"
    ));
    assert!(page.contains(r"\textbackslash{}u\{202e\}evil"), "{page}");
}

#[test]
#[ignore = "needs pdflatex: apt-get install texlive-latex-base"]
fn every_document_compiles_and_nothing_runs_off_the_page() {
    let room = tempfile::tempdir().unwrap();
    let batch = LOPSIDED.replace("[[1], [-10], [2]]", "[[[1], [-10], [2]], [[3], [0], [0.5]]]");
    for (name, lesson) in [("hostile.yaml", HOSTILE), ("large.yaml", LARGE), ("batch.yaml", &batch)] {
        fs::write(room.path().join(name), lesson).unwrap();
    }
    let names = said(room.path(), &["lessons", "--ascii", "--width", "200"]);
    let names = names.lines().filter_map(|line| line.strip_prefix("| ")?.split(' ').next());
    let mut compiled = 0;
    for lesson in names.filter(|name| *name != "lesson").chain(["hostile.yaml", "large.yaml"]) {
        latex::compiles(room.path(), "trace", &[lesson]);
        compiled += 1;
    }
    assert!(compiled >= 35, "thirty-four lessons come with mha");
    for lesson in ["two-heads", "masks", "telltale", "rope", "induction", "hostile.yaml", "large.yaml"] {
        latex::compiles(
            room.path(),
            "trace",
            &[lesson, "--layout", "columns", "--verbose", "--precision", "12"],
        );
        latex::compiles(room.path(), "trace", &[lesson, "--exact"]);
    }
    latex::compiles(room.path(), "trace", &["telltale", "--quiet", "--heads", "2"]);
    latex::compiles(room.path(), "trace", &["batch.yaml", "--sequence", "all"]);
    latex::compiles(room.path(), "trace", &["masks", "--ascii"]);
}
