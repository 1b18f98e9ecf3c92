//! Every operation's formula, in both layouts, written out by hand in TeX.

use super::formula;
use crate::ops::{
    Alibi, Average, Batched, Bias, Columns, Concat, FinishSoftmax, FullyMaskedRows, Given, Layout, Mask,
    MaskTimes, MergeHeads, Mix, MixTransposed, OnlineSoftmax, Op, Operation, Place, Project, ProjectBlocks,
    ProjectMean, ProjectTransposed, Rearrange, Reweighed, RmsNorm, Rope, RopeLayout, RopeWide, RowShare,
    Rows, Scale, Scores, ScoresInHalf, Shape, Signs, SinkWeight, Softcap, Softmax, SoftmaxDown,
    SoftmaxInTwos, SoftmaxOverHeads, SplitHeads, Times,
};
use nalgebra::DMatrix;

/// The formula of an operation with these signs, in rows and in columns, as TeX.
#[track_caller]
fn case(op: impl Into<Op>, out: &str, inputs: &[&str], rows: &str, columns: &str) {
    let op = op.into();
    for (layout, expected) in [(Layout::Rows, rows), (Layout::Columns, columns)] {
        let signs = Signs {
            out: out.to_owned(),
            inputs: inputs.iter().map(ToString::to_string).collect(),
            out_shape: (3, 3),
            shapes: vec![Shape::from((3, 3)); inputs.len()],
            layout,
        };
        let equation = op.formula(&signs).equation;
        assert_eq!(formula(&equation), expected, "{equation}");
    }
}

#[test]
fn projections_and_heads() {
    case(
        Given { shape: (3, 4) },
        "X_kv",
        &[],
        r"X_{\mathrm{kv}}\text{ given}",
        r"X_{\mathrm{kv}}\text{ given}",
    );
    case(Project, "Q", &["X", "W_Q", "b_Q"], "Q = X W_Q + b_Q", "Q = W_Q X + b_Q");
    case(
        Project,
        "output",
        &["concat", "W_O"],
        r"\mathrm{output} = \mathrm{concat}\,W_O",
        r"\mathrm{output} = W_O\,\mathrm{concat}",
    );
    case(
        Project,
        "QKV",
        &["X", "W_QKV"],
        r"\mathrm{QKV} = X W_{\mathrm{QKV}}",
        r"\mathrm{QKV} = W_{\mathrm{QKV}} X",
    );
    case(Columns { from: 2, width: 2 }, "Q₂", &["Q"], r"Q_2 = Q[{:}, 3\ldots4]", r"Q_2 = Q[3\ldots4, {:}]");
    case(Rows { from: 0, height: 1 }, "K₁₋₁", &["K₁"], r"K_{1,1} = K_1[1, {:}]", r"K_{1,1} = K_1[{:}, 1]");
    case(
        Concat,
        "concat",
        &["head₁", "head₂"],
        r"\mathrm{concat} = [\mathrm{head}_1 \mid \mathrm{head}_2]",
        r"\mathrm{concat} = [\mathrm{head}_1 ; \mathrm{head}_2]",
    );
    case(
        Average,
        "average",
        &["head₁", "head₂", "head₃"],
        r"\mathrm{average} = \frac{\mathrm{head}_1 + \ldots + \mathrm{head}_3}{3}",
        r"\mathrm{average} = \frac{\mathrm{head}_1 + \ldots + \mathrm{head}_3}{3}",
    );
    let split = r"Q_{\mathrm{heads}} = Q.\mathrm{reshape}(n, h, d).\mathrm{transpose}(0, 1)";
    case(SplitHeads { heads: 2 }, "Q_heads", &["Q"], split, split);
    let merged = r"\mathrm{concat} = \mathrm{heads}.\mathrm{transpose}(0, 1).\mathrm{reshape}(n, h\cdot d)";
    case(MergeHeads { heads: 2 }, "concat", &["heads"], merged, merged);
}

#[test]
fn scores_and_what_changes_them() {
    let scores = |scale| Scores { scale, d_k: 3 };
    case(
        scores(Scale::RootOfDk),
        "S₁",
        &["Q₁", "K₁"],
        r"S_1 = \frac{Q_1K_1^{\top}}{\sqrt{d_k}}",
        r"S_1 = \frac{K_1^{\top}Q_1}{\sqrt{d_k}}",
    );
    case(
        scores(Scale::Given(0.5)),
        "S₁₂",
        &["Q₁₂ʳ", "K₁₂ʳ"],
        r"S_{12} = Q_{12}^{\mathrm{r}}K_{12}^{\mathrm{r}\top} \cdot 0.5",
        r"S_{12} = K_{12}^{\mathrm{r}\top} Q_{12}^{\mathrm{r}} \cdot 0.5",
    );
    let norm =
        r"Q_1^{\mathrm{n}} = \frac{Q_1}{\sqrt{\mathrm{mean}(Q_1^2) + \varepsilon}} \cdot \mathrm{gain}";
    case(RmsNorm { eps: 1e-6, gain: vec![2.0; 3] }, "Q₁ⁿ", &["Q₁"], norm, norm);
    let rope = Rope {
        theta: 10000.0,
        layout: RopeLayout::HalfSplit,
        dims: 4,
        scaling: None,
        positions: vec![0.0; 3].into(),
    };
    let turned = r"Q_1^{\mathrm{r}} = Q_1,\text{ pair }t = 0, 1, \ldots\text{ turned by position} \cdot 10000^{-2t/4}\text{ (half-split)}";
    case(rope, "Q₁ʳ", &["Q₁"], turned, turned);
    let capped = r"S_1^{\mathrm{c}} = 50 \cdot \tanh\left(\frac{S_1}{50}\right)";
    case(Softcap { cap: 50.0 }, "S₁ᶜ", &["S₁"], capped, capped);
    case(
        Bias { alibi: Some(Alibi { slope: 0.25, offset: 2 }), add: Some(DMatrix::zeros(3, 3).into()) },
        "S₁ᵇ",
        &["S₁"],
        r"S_1^{\mathrm{b}} = S_1 - 0.25 \cdot \lvert \text{row} + 2 - \text{column} \rvert + \mathrm{bias}",
        r"S_1^{\mathrm{b}} = S_1 - 0.25 \cdot \lvert \text{column} + 2 - \text{row} \rvert + \mathrm{bias}",
    );
    let masked = r"S_1^{\mathrm{m}} = S_1\text{ where allowed, else }{-}\infty\text{ (window: 3 before, 0 after, offset 2)}";
    let reasons = "window: 3 before, 0 after, offset 2".to_owned();
    case(
        Mask {
            allowed: DMatrix::from_element(3, 3, true).into(),
            reasons,
            hidden_by: DMatrix::from_element(3, 3, 0).into(),
        },
        "S₁ᵐ",
        &["S₁"],
        masked,
        masked,
    );
}

#[test]
fn weights_and_what_they_mix() {
    let softmax = |sink| Softmax { empty_rows: FullyMaskedRows::Error, sink };
    case(
        softmax(None),
        "A₁",
        &["S₁ᵐ"],
        r"A_1 = \mathrm{softmax}(S_1^{\mathrm{m}}),\text{ row by row}",
        r"A_1 = \mathrm{softmax}(S_1^{\mathrm{m}}),\text{ column by column}",
    );
    case(
        softmax(Some(-0.5)),
        "A₁",
        &["S₁"],
        r"A_1 = \mathrm{softmax}(S_1),\text{ row by row, with a sink of }{-}0.5",
        r"A_1 = \mathrm{softmax}(S_1),\text{ column by column, with a sink of }{-}0.5",
    );
    let sink = r"a_1 = \frac{e^{-0.5}}{e^{-0.5} + \sum e^{S_1^{\mathrm{m}}}}";
    case(SinkWeight { sink: -0.5 }, "a₁", &["S₁ᵐ"], sink, sink);
    case(Mix, "head₁", &["A₁", "V₁"], r"\mathrm{head}_1 = A_1V_1", r"\mathrm{head}_1 = V_1A_1");
    case(
        Mix,
        "heads",
        &["A", "V_heads"],
        r"\mathrm{heads} = A V_{\mathrm{heads}}",
        r"\mathrm{heads} = V_{\mathrm{heads}} A",
    );
    let tile = r"m \leftarrow \max(m, S_{1,2}); \ell, o \leftarrow \ell, o \cdot e^{m\text{ before} - m} + \sum e^{S_{1,2} - m} \cdot 1, V_{1,2}";
    let online = formula(
        &Op::from(OnlineSoftmax { sink: None })
            .formula(&Signs {
                out: "state₁₋₂".to_owned(),
                inputs: ["S₁₋₂", "V₁₋₂", "state₁₋₁"].map(String::from).to_vec(),
                out_shape: (3, 5),
                shapes: vec![(3, 3), (3, 3), (3, 5)],
                layout: Layout::Rows,
            })
            .equation,
    );
    assert_eq!(online, format!(r"\mathrm{{state}}_{{1,2}} = {tile}"));
    let last = r"\mathrm{head}_1 = \frac{o}{\ell}";
    case(FinishSoftmax { empty_rows: FullyMaskedRows::Error }, "head₁", &["state₁₋₂"], last, last);
    let ops = [0.25, 0.5].map(|cap| Op::from(Softcap { cap })).to_vec();
    let each = r"S^{\mathrm{c}} = 0.25 \cdot \tanh\left(\frac{S}{0.25}\right)\text{ (head 1's; each head has its own)}";
    case(Batched { ops, sheets: vec![2] }, "Sᶜ", &["S"], each, each);
}

#[test]
fn wrong_projections_and_places() {
    case(ProjectTransposed, "Q", &["X", "W_Q", "b_Q"], r"Q = X W_Q^{\top} + b_Q", r"Q = W_Q^{\top} X + b_Q");
    case(
        ProjectBlocks { blocks: 2 },
        "Q",
        &["X", "W_Q", "b_Q"],
        r"Q = X\,\mathrm{blockdiag}(W_Q) + b_Q, 2\text{ blocks on the diagonal}",
        r"Q = \mathrm{blockdiag}(W_Q)\,X + b_Q, 2\text{ blocks on the diagonal}",
    );
    case(
        ProjectMean { heads: 4 },
        "output",
        &["concat", "W_O", "b_O"],
        r"\mathrm{output} = \frac{\mathrm{concat}\,W_O}{4} + b_O",
        r"\mathrm{output} = \frac{W_O\,\mathrm{concat}}{4} + b_O",
    );
    let places = |said| Rearrange::new(3, 3, said, |_, _| Place { input: 0, row: 0, column: 0 });
    let reshaped = r"Q_1 = \mathrm{reshape}(Q, (h, n, d_k))[1]";
    case(places("reshape({0}, (h, n, d_k))[1]"), "Q₁", &["Q"], reshaped, reshaped);
    let stacked =
        r"\mathrm{concat} = \mathrm{interleave}(\mathrm{head}_1, \mathrm{head}_2, \ldots, \mathrm{head}_5)";
    let heads = ["head₁", "head₂", "head₃", "head₄", "head₅"];
    case(places("interleave({*})"), "concat", &heads, stacked, stacked);
}

#[test]
fn wrong_scores() {
    case(
        ScoresInHalf { scale: Scale::RootOfDk, d_k: 3 },
        "S₁",
        &["Q₁ʳ", "K₁ʳ"],
        r"S_1 = \frac{\mathrm{float16}(Q_1^{\mathrm{r}}K_1^{\mathrm{r}\top})}{\sqrt{d_k}}",
        r"S_1 = \frac{\mathrm{float16}(K_1^{\mathrm{r}\top} Q_1^{\mathrm{r}})}{\sqrt{d_k}}",
    );
    let masked = r"S_1^{\mathrm{m}} = S_1\text{ where allowed, else }0\text{ (causal)}";
    let allowed = DMatrix::from_element(3, 3, true).into();
    case(MaskTimes { allowed, reasons: "causal".to_owned() }, "S₁ᵐ", &["S₁"], masked, masked);
    let scaled = r"Q_1 = \frac{Q_1}{\sqrt{d_k}}";
    case(Times { factor: Scale::RootOfDk, d_k: 3 }, "Q₁", &["Q₁"], scaled, scaled);
    let scaled = r"Q_1 = Q_1 \cdot 0.5";
    case(Times { factor: Scale::Given(0.5), d_k: 3 }, "Q₁", &["Q₁"], scaled, scaled);
    let rope = Rope {
        theta: 10000.0,
        layout: RopeLayout::HalfSplit,
        dims: 4,
        scaling: None,
        positions: vec![0.0; 3].into(),
    };
    let turned = r"Q_2^{\mathrm{r}} = Q,\text{ pair }t = 0, 1, \ldots\text{ turned by position} \cdot 10000^{-2t/4}\text{ (half-split)}";
    case(
        RopeWide { rope, from: 2, width: 2 },
        "Q₂ʳ",
        &["Q"],
        &format!(r"{turned},\text{{ then columns }}3\ldots4"),
        &format!(r"{turned},\text{{ then rows }}3\ldots4"),
    );
}

#[test]
fn wrong_weights_and_what_they_mix() {
    let scores = &["S₁ᵐ"];
    case(
        SoftmaxDown { empty: FullyMaskedRows::Error },
        "A₁",
        scores,
        r"A_1 = \mathrm{softmax}(S_1^{\mathrm{m}}),\text{ column by column}",
        r"A_1 = \mathrm{softmax}(S_1^{\mathrm{m}}),\text{ row by row}",
    );
    let in_twos = |sink| SoftmaxInTwos { softmax: Softmax { empty_rows: FullyMaskedRows::Error, sink } };
    case(
        in_twos(None),
        "A₁",
        scores,
        r"A_1 = \frac{2^{S_1^{\mathrm{m}}}}{\sum 2^{S_1^{\mathrm{m}}}},\text{ row by row}",
        r"A_1 = \frac{2^{S_1^{\mathrm{m}}}}{\sum 2^{S_1^{\mathrm{m}}}},\text{ column by column}",
    );
    case(
        in_twos(Some(0.5)),
        "A₁",
        &["S₁"],
        r"A_1 = \frac{2^{S_1}}{\sum 2^{S_1} + 2^{0.5}},\text{ row by row}",
        r"A_1 = \frac{2^{S_1}}{\sum 2^{S_1} + 2^{0.5}},\text{ column by column}",
    );
    case(
        RowShare,
        "A₁",
        scores,
        r"A_1 = \frac{S_1^{\mathrm{m}}}{\sum S_1^{\mathrm{m}}},\text{ row by row}",
        r"A_1 = \frac{S_1^{\mathrm{m}}}{\sum S_1^{\mathrm{m}}},\text{ column by column}",
    );
    let heads = r"A_2 = \frac{e^{S_2}}{e^{S_1} + e^{S_2}}";
    case(SoftmaxOverHeads { head: 1 }, "A₂", &["S₁", "S₂"], heads, heads);
    let heads = r"A_1 = \frac{e^{S_1}}{e^{S_1} + \ldots + e^{S_4}}";
    case(SoftmaxOverHeads { head: 0 }, "A₁", &["S₁", "S₂", "S₃", "S₄"], heads, heads);
    let reweighed = |sink| Reweighed {
        softmax: Softmax { empty_rows: FullyMaskedRows::Error, sink },
        factors: DMatrix::zeros(3, 3).into(),
        said: "keep",
    };
    let late = r"A_1 = \mathrm{softmax}(S_1) \odot \text{keep}";
    case(reweighed(None), "A₁", &["S₁"], late, late);
    let late = r"A_1 = \mathrm{softmax}(S_1) \odot \text{keep, with a sink of }0.5";
    case(reweighed(Some(0.5)), "A₁", &["S₁"], late, late);
    case(
        MixTransposed,
        "head₁",
        &["A₁", "V₁"],
        r"\mathrm{head}_1 = A_1^{\top}V_1",
        r"\mathrm{head}_1 = V_1A_1^{\top}",
    );
}

#[test]
fn whatever_it_is_given_it_answers() {
    for strange in
        ["((((", "))", "a / ", " / b", "√", "^", "_", "[|[|", "|", "e^", "é ∑ 中", "x_", "- / -", ""]
    {
        let _ = formula(strange);
    }
    let _ = formula(&"(".repeat(100_000));
    let _ = formula(&"a^".repeat(100_000));
    let _ = formula(&"√√".repeat(100_000));
    // Braces stay in pairs whatever comes in.
    let tex = formula("{50% & more}");
    assert_eq!(tex, r"\text{\{}50\text{\% }\text{\& }\text{more}\text{\}}");
}
