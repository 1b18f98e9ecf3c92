//! Each stacked step's formula as LaTeX, for a notebook.

use super::groups::Group;
use super::literal::exact;
use crate::ops::{Op, RopeLayout, Scale};
use crate::plan::{Attention, HeadStep, Name, Projection};

/// The formula of a step for head i.
pub(super) fn of(group: &Group<'_>, attention: &Attention) -> String {
    let step = group.first();
    let out = sign(step.id.name);
    let signs: Vec<String> = step
        .inputs
        .iter()
        .enumerate()
        .map(|(place, _)| {
            group.steps.iter().max_by_key(|step| step.inputs.get(place)).map_or(String::new(), |last| {
                last.inputs.get(place).map_or(String::new(), |input| sign(input.name))
            })
        })
        .collect();
    let input = |place: usize| signs.get(place).cloned().unwrap_or_default();
    // Query head i reads the keys and values of head j.
    let shared = attention.num_kv_heads != attention.num_heads;
    let group_size = attention.num_heads / attention.num_kv_heads.max(1);
    let of_kv = |sign: String| if shared { sign.replacen("_i", "_j", 1) } else { sign };
    let which = format!(r"\qquad j = \lceil i / {group_size} \rceil");
    let note = if shared { which.as_str() } else { "" };
    match &step.op {
        Op::Project(_) => {
            let bias = if step.inputs.len() > 2 { format!(" + {}", input(2)) } else { String::new() };
            format!("{out} = {} {}{bias}", input(0), input(1))
        }
        Op::Columns(columns) => {
            let i = if matches!(step.id.name, Name::Head(_, HeadStep::Q)) { "i" } else { "j" };
            let i = if shared { i } else { "i" };
            let heads = if i == "i" { attention.num_heads } else { attention.num_kv_heads };
            let block = match columns.width {
                _ if heads == 1 => return format!("{} = {}", out.replacen("_i", "_1", 1), input(0)),
                1 => i.to_owned(),
                w => format!(r"{w}({i}-1)+1 \ldots {w}{i}"),
            };
            format!(r"{} = {}_{{:,\ {block}}}", out.replacen("_i", &format!("_{i}"), 1), input(0))
        }
        Op::RmsNorm(norm) => {
            let gain = if norm.gain.iter().any(|gain| *gain != 1.0) { r" \odot \text{gain}" } else { "" };
            let x = input(0);
            format!(r"{out} = \frac{{{x}}}{{\sqrt{{\operatorname{{mean}}({x}^2) + \varepsilon}}}}{gain}")
        }
        Op::Rope(rope) => {
            let (first, second) = match rope.layout {
                RopeLayout::HalfSplit => ("t".to_owned(), format!("t+{}", rope.dims / 2)),
                RopeLayout::Interleaved => ("2t".to_owned(), "2t+1".to_owned()),
            };
            let (theta, dims) = (exact(rope.theta), rope.dims);
            format!(
                r"\begin{{pmatrix}} y_{{{first}}} \\ y_{{{second}}} \end{{pmatrix}} = \begin{{pmatrix}} \cos\varphi & -\sin\varphi \\ \sin\varphi & \cos\varphi \end{{pmatrix}} \begin{{pmatrix}} x_{{{first}}} \\ x_{{{second}}} \end{{pmatrix}}, \qquad \varphi = p \cdot {theta}^{{-2t/{dims}}}, \quad t = 0, 1, \ldots"
            )
        }
        Op::Scores(scores) => {
            let product = format!(r"{} {}^\top", input(0), of_kv(input(1)));
            match scores.scale {
                Scale::RootOfDk => format!(r"{out} = \frac{{{product}}}{{\sqrt{{d_k}}}}{note}"),
                Scale::Given(1.0) => format!("{out} = {product}{note}"),
                Scale::Given(scale) => format!(r"{out} = {product} \cdot {}{note}", exact(scale)),
            }
        }
        Op::Softcap(cap) => {
            format!(r"{out} = {0} \cdot \tanh\left(\frac{{{1}}}{{{0}}}\right)", exact(cap.cap), input(0))
        }
        Op::Bias(bias) => {
            let add = if bias.add.is_some() { r" + \text{add}" } else { "" };
            let alibi = if bias.alibi.is_some() { r" - \text{slope}_i \cdot \text{distance}" } else { "" };
            format!("{out} = {}{add}{alibi}", input(0))
        }
        Op::Mask(_) => format!(
            r"{out} = \begin{{cases}} {} & \text{{where the query may look}} \\ -\infty & \text{{elsewhere}} \end{{cases}}",
            input(0)
        ),
        Op::Softmax(softmax) => {
            let sink = if softmax.sink.is_some() { r"\;\text{sink}_i" } else { "" };
            format!(
                r"{out} = \operatorname{{softmax}}({}{})",
                input(0),
                if sink.is_empty() { String::new() } else { format!(",{sink}") }
            )
        }
        Op::SinkWeight(_) => format!(
            r"{out} = \frac{{e^{{\text{{sink}}_i}}}}{{e^{{\text{{sink}}_i}} + \sum_j e^{{({})_j}}}}",
            input(0)
        ),
        Op::Mix(_) => format!("{out} = {} {}{note}", input(0), of_kv(input(1))),
        Op::Concat(_) => format!(
            r"{out} = \left[\,\text{{head}}_1 \;\ldots\; \text{{head}}_{{{}}}\,\right]",
            attention.num_heads
        ),
        _ => out,
    }
}

/// A step's sign, for head i where it belongs to one.
fn sign(name: Name) -> String {
    let of = |projection: Projection| projection.letter().to_ascii_uppercase();
    match name {
        Name::X => "X".to_owned(),
        Name::XKv => "X_{kv}".to_owned(),
        Name::W(projection) => format!("W_{}", of(projection)),
        Name::B(projection) => format!("b_{}", of(projection)),
        Name::Q => "Q".to_owned(),
        Name::K => "K".to_owned(),
        Name::V => "V".to_owned(),
        Name::QNorm => r"\hat Q".to_owned(),
        Name::KNorm => r"\hat K".to_owned(),
        Name::Head(_, step) => match step {
            HeadStep::Q => "Q_i",
            HeadStep::K => "K_i",
            HeadStep::V => "V_i",
            HeadStep::QNorm => r"\hat Q_i",
            HeadStep::KNorm => r"\hat K_i",
            HeadStep::QRot => "Q_i^{rot}",
            HeadStep::KRot => "K_i^{rot}",
            HeadStep::Scores => "S_i",
            HeadStep::CappedScores => "S_i^{cap}",
            HeadStep::BiasedScores => "S_i^{bias}",
            HeadStep::MaskedScores => "S_i^{mask}",
            HeadStep::Weights => "A_i",
            HeadStep::SinkWeight => "a_i",
            HeadStep::Output => r"\text{head}_i",
        }
        .to_owned(),
        Name::Concat => r"\text{concat}".to_owned(),
        Name::Output => r"\text{output}".to_owned(),
        other => format!(r"\text{{{other}}}"),
    }
}
