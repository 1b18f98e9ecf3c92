//! What steps are called in a title and in a formula, and what their rows and columns stand for.

use super::{Axis, EmbedStep, FfnStep, Head, HeadStep, Name, Projection, Stack, StepId, TileStep};
use crate::ops::Role;
use crate::words::t;

/// A step's name in words, for a title: `scores of head 1`, in a stack of layers `scores of head 1, layer 2`.
pub fn title(id: impl Into<StepId>) -> String {
    let id = id.into();
    match (id.layer, id.name) {
        (None, name) => title_of(name),
        (Some(layer), Name::X) => t!("what attention is given, layer %{layer}", layer = layer + 1),
        (Some(layer), name) => t!("%{title}, layer %{layer}", title = title_of(name), layer = layer + 1),
    }
}

fn title_of(name: Name) -> String {
    let upper = |projection: Projection| projection.letter().to_ascii_uppercase();
    match name {
        Name::X => t!("the input tokens"),
        Name::XKv => t!("the other sequence, source of keys and values"),
        Name::W(projection) => t!("the projection W_%{letter}", letter = upper(projection)),
        Name::B(projection) => t!("the bias b_%{letter}", letter = upper(projection)),
        Name::WQkv => t!("W_Q, W_K, W_V packed"),
        Name::BQkv => t!("b_Q, b_K, b_V packed"),
        Name::Qkv => t!("queries, keys and values in one product"),
        Name::Q => t!("queries of all heads"),
        Name::K => t!("keys of all heads"),
        Name::V => t!("values of all heads"),
        Name::QNorm => t!("queries, normalised over the whole row"),
        Name::KNorm => t!("keys, normalised over the whole row"),
        Name::Head(Head(head), step) => t!("%{kind} of head %{head}", kind = of_head(step), head = head + 1),
        Name::Tile(Head(head), tile, step) => {
            t!(
                "%{kind} of head %{head}, tile %{tile}",
                kind = of_tile(step),
                head = head + 1,
                tile = tile + 1
            )
        }
        Name::Stack(stack) => t!("%{kind} of all heads", kind = of_stack(stack)),
        Name::Concat => t!("head outputs side by side"),
        Name::Average => t!("the mean of the heads' outputs"),
        Name::Output => t!("the output, after W_O"),
        Name::Embed(step) => of_embedding(step),
        Name::Embedding => t!("what the layers start from"),
        Name::OutputNorm => t!("what attention gives, normalised"),
        Name::AttentionResidual => t!("the residual stream after attention"),
        Name::AttentionNorm => t!("the residual stream after attention, normalised"),
        Name::Ffn(step) => of_ffn(step),
        Name::Hidden => t!("what the layer hands on"),
        Name::Final => t!("the result, after the last norm"),
    }
}

/// What a matrix is, whichever head it belongs to: `scores`.
pub fn kind(name: Name) -> String {
    match name {
        Name::Head(_, step) => of_head(step),
        Name::Tile(_, _, step) => of_tile(step),
        Name::Stack(stack) => of_stack(stack),
        other => title_of(other),
    }
}

fn of_head(step: HeadStep) -> String {
    match step {
        HeadStep::Q => t!("queries"),
        HeadStep::K => t!("keys"),
        HeadStep::V => t!("values"),
        HeadStep::QNorm => t!("normalised queries"),
        HeadStep::KNorm => t!("normalised keys"),
        HeadStep::QRot => t!("rotated queries"),
        HeadStep::KRot => t!("rotated keys"),
        HeadStep::VRot => t!("rotated values"),
        HeadStep::Scores => t!("scores"),
        HeadStep::CappedScores => t!("capped scores"),
        HeadStep::BiasedScores => t!("biased scores"),
        HeadStep::MaskedScores => t!("masked scores"),
        HeadStep::Weights => t!("attention weights"),
        HeadStep::SinkWeight => t!("the sink's share"),
        HeadStep::Output => t!("output"),
    }
}

fn of_embedding(step: EmbedStep) -> String {
    match step {
        EmbedStep::Tokens => t!("the embeddings of the tokens"),
        EmbedStep::Positions => t!("the embeddings of the positions"),
        EmbedStep::Segments => t!("the embeddings of the segments"),
        EmbedStep::Sum => t!("all embeddings added"),
        EmbedStep::Scaled => t!("all embeddings added, and scaled"),
    }
}

fn of_ffn(step: FfnStep) -> String {
    match step {
        FfnStep::X => t!("what the feed-forward network is given"),
        FfnStep::W1 => t!("the feed-forward matrix W_1"),
        FfnStep::B1 => t!("the feed-forward bias b_1"),
        FfnStep::WGate => t!("the feed-forward matrix W_gate"),
        FfnStep::BGate => t!("the feed-forward bias b_gate"),
        FfnStep::Gate => t!("the gate of the feed-forward network"),
        FfnStep::Product => t!("the feed-forward network, times its gate"),
        FfnStep::OutputNorm => t!("what the feed-forward network gives, normalised"),
        FfnStep::Up => t!("the feed-forward network, after W_1"),
        FfnStep::Activation => t!("the feed-forward network, after its activation"),
        FfnStep::W2 => t!("the feed-forward matrix W_2"),
        FfnStep::B2 => t!("the feed-forward bias b_2"),
        FfnStep::Output => t!("what the feed-forward network gives, after W_2"),
        FfnStep::Residual => t!("the residual stream after the feed-forward network"),
    }
}

/// Whether a matrix of that name is learned: a projection or a bias.
pub fn is_learned(name: Name) -> bool {
    let of_ffn = matches!(
        name,
        Name::Ffn(FfnStep::W1 | FfnStep::B1 | FfnStep::W2 | FfnStep::B2 | FfnStep::WGate | FfnStep::BGate)
    );
    of_ffn || matches!(name, Name::W(_) | Name::B(_))
}

fn of_tile(step: TileStep) -> String {
    match step {
        TileStep::K => t!("keys"),
        TileStep::V => t!("values"),
        TileStep::Scores => t!("scores"),
        TileStep::CappedScores => t!("capped scores"),
        TileStep::BiasedScores => t!("biased scores"),
        TileStep::MaskedScores => t!("masked scores"),
        TileStep::State => t!("running state"),
    }
}

fn of_stack(stack: Stack) -> String {
    match stack {
        Stack::QHeads => t!("queries"),
        Stack::KHeads => t!("keys"),
        Stack::VHeads => t!("values"),
        Stack::QNorm => t!("normalised queries"),
        Stack::KNorm => t!("normalised keys"),
        Stack::QRot => t!("rotated queries"),
        Stack::KRot => t!("rotated keys"),
        Stack::Scores => t!("scores"),
        Stack::CappedScores => t!("capped scores"),
        Stack::BiasedScores => t!("biased scores"),
        Stack::MaskedScores => t!("masked scores"),
        Stack::Weights => t!("attention weights"),
        Stack::Heads => t!("outputs"),
    }
}

/// What a step is to attention, for an operation to speak of.
pub fn role(name: Name) -> Role {
    match name {
        Name::X | Name::Embedding => Role::Input,
        Name::XKv => Role::Source,
        Name::W(projection) => Role::Projection(projection.letter().to_ascii_uppercase()),
        Name::Ffn(FfnStep::W1) => Role::Projection('1'),
        Name::Ffn(FfnStep::W2) => Role::Projection('2'),
        Name::Ffn(FfnStep::WGate) => Role::Projection('g'),
        Name::B(_) | Name::BQkv | Name::Ffn(FfnStep::B1 | FfnStep::B2 | FfnStep::BGate) => Role::Bias,
        Name::Ffn(FfnStep::Up | FfnStep::Gate) => Role::Widened,
        Name::Ffn(FfnStep::Output) => Role::Narrowed,
        Name::Q => Role::Queries,
        Name::K => Role::Keys,
        Name::V => Role::Values,
        Name::Qkv => Role::Packed,
        Name::Head(Head(head), HeadStep::Q) => Role::HeadQueries(head),
        Name::Head(Head(head), HeadStep::K) => Role::HeadKeys(head),
        Name::Head(Head(head), HeadStep::V) => Role::HeadValues(head),
        Name::Concat => Role::Concat,
        Name::Output => Role::Output,
        _ => Role::Other,
    }
}

/// A step's sign in a formula: `S₁`, in layer 2 of a stack `S₁⁽²⁾`.
pub fn sign(id: impl Into<StepId>) -> String {
    let id = id.into();
    let layer = id.layer.map(|layer| format!("⁽{}⁾", superscript(layer + 1)));
    sign_of(id.name) + &layer.unwrap_or_default()
}

fn sign_of(name: Name) -> String {
    let upper = |projection: Projection| projection.letter().to_ascii_uppercase();
    match name {
        Name::X => "X".to_owned(),
        Name::XKv => "X_kv".to_owned(),
        Name::W(projection) => format!("W_{}", upper(projection)),
        Name::B(projection) => format!("b_{}", upper(projection)),
        Name::WQkv => "W_QKV".to_owned(),
        Name::BQkv => "b_QKV".to_owned(),
        Name::Qkv => "QKV".to_owned(),
        Name::Q => "Q".to_owned(),
        Name::K => "K".to_owned(),
        Name::V => "V".to_owned(),
        Name::QNorm => "Qⁿ".to_owned(),
        Name::KNorm => "Kⁿ".to_owned(),
        Name::Head(Head(head), step) => {
            let number = subscript(head + 1);
            match step {
                HeadStep::Q => format!("Q{number}"),
                HeadStep::K => format!("K{number}"),
                HeadStep::V => format!("V{number}"),
                HeadStep::QNorm => format!("Q{number}ⁿ"),
                HeadStep::KNorm => format!("K{number}ⁿ"),
                HeadStep::QRot => format!("Q{number}ʳ"),
                HeadStep::KRot => format!("K{number}ʳ"),
                HeadStep::VRot => format!("V{number}ʳ"),
                HeadStep::Scores => format!("S{number}"),
                HeadStep::CappedScores => format!("S{number}ᶜ"),
                HeadStep::BiasedScores => format!("S{number}ᵇ"),
                HeadStep::MaskedScores => format!("S{number}ᵐ"),
                HeadStep::Weights => format!("A{number}"),
                HeadStep::SinkWeight => format!("a{number}"),
                HeadStep::Output => format!("head{number}"),
            }
        }
        Name::Tile(Head(head), tile, step) => {
            let number = format!("{}₋{}", subscript(head + 1), subscript(tile + 1));
            match step {
                TileStep::K => format!("K{number}"),
                TileStep::V => format!("V{number}"),
                TileStep::Scores => format!("S{number}"),
                TileStep::CappedScores => format!("S{number}ᶜ"),
                TileStep::BiasedScores => format!("S{number}ᵇ"),
                TileStep::MaskedScores => format!("S{number}ᵐ"),
                TileStep::State => format!("state{number}"),
            }
        }
        Name::Stack(stack) => match stack {
            Stack::QHeads => "Q_heads",
            Stack::KHeads => "K_heads",
            Stack::VHeads => "V_heads",
            Stack::QNorm => "Q_headsⁿ",
            Stack::KNorm => "K_headsⁿ",
            Stack::QRot => "Q_headsʳ",
            Stack::KRot => "K_headsʳ",
            Stack::Scores => "S",
            Stack::CappedScores => "Sᶜ",
            Stack::BiasedScores => "Sᵇ",
            Stack::MaskedScores => "Sᵐ",
            Stack::Weights => "A",
            Stack::Heads => "heads",
        }
        .to_owned(),
        Name::Concat => "concat".to_owned(),
        Name::Average => "average".to_owned(),
        Name::Output => "output".to_owned(),
        Name::Embed(step) => match step {
            EmbedStep::Tokens => "E_tokens",
            EmbedStep::Positions => "E_positions",
            EmbedStep::Segments => "E_segments",
            EmbedStep::Sum => "E_sum",
            EmbedStep::Scaled => "E_scaled",
        }
        .to_owned(),
        Name::Embedding => "E".to_owned(),
        Name::OutputNorm => "outputⁿ".to_owned(),
        Name::AttentionResidual => "R".to_owned(),
        Name::AttentionNorm => "N".to_owned(),
        Name::Ffn(step) => match step {
            FfnStep::X => "F",
            FfnStep::W1 => "W_1",
            FfnStep::B1 => "b_1",
            FfnStep::WGate => "W_gate",
            FfnStep::BGate => "b_gate",
            FfnStep::Gate => "Γ",
            FfnStep::Product => "P",
            FfnStep::OutputNorm => "Dⁿ",
            FfnStep::Up => "U",
            FfnStep::Activation => "G",
            FfnStep::W2 => "W_2",
            FfnStep::B2 => "b_2",
            FfnStep::Output => "D",
            FfnStep::Residual => "T",
        }
        .to_owned(),
        Name::Hidden => "H".to_owned(),
        Name::Final => "final".to_owned(),
    }
}

/// A count in superscript digits: 12 → ¹².
fn superscript(number: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().bytes().filter_map(|digit| DIGITS.get(usize::from(digit - b'0'))).collect()
}

/// A count in subscript digits: 12 → ₁₂.
pub fn subscript(number: usize) -> String {
    number
        .to_string()
        .bytes()
        .filter_map(|digit| char::from_u32('₀' as u32 + u32::from(digit - b'0')))
        .collect()
}

/// What rows and columns of a step stand for, where its name alone tells.
pub fn axes(name: Name) -> (Axis, Axis) {
    match name {
        Name::X | Name::Q | Name::QNorm | Name::Qkv | Name::Concat | Name::Average | Name::Output => {
            (Axis::Queries, Axis::Features)
        }
        Name::Ffn(FfnStep::W1 | FfnStep::W2 | FfnStep::WGate) => (Axis::Features, Axis::Features),
        Name::Ffn(FfnStep::B1 | FfnStep::B2 | FfnStep::BGate) => (Axis::One, Axis::Features),
        Name::Embed(_) | Name::Embedding | Name::OutputNorm => (Axis::Queries, Axis::Features),
        Name::AttentionResidual | Name::AttentionNorm | Name::Ffn(_) => (Axis::Queries, Axis::Features),
        Name::Hidden | Name::Final => (Axis::Queries, Axis::Features),
        Name::XKv | Name::K | Name::V | Name::KNorm => (Axis::Keys, Axis::Features),
        Name::W(_) | Name::WQkv | Name::Stack(_) => (Axis::Features, Axis::Features),
        Name::B(_) | Name::BQkv => (Axis::One, Axis::Features),
        Name::Head(_, step) => match step {
            HeadStep::Q | HeadStep::QNorm | HeadStep::QRot | HeadStep::Output => {
                (Axis::Queries, Axis::Features)
            }
            HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot | HeadStep::VRot => {
                (Axis::Keys, Axis::Features)
            }
            HeadStep::SinkWeight => (Axis::Queries, Axis::One),
            HeadStep::Scores
            | HeadStep::CappedScores
            | HeadStep::BiasedScores
            | HeadStep::MaskedScores
            | HeadStep::Weights => (Axis::Queries, Axis::Keys),
        },
        Name::Tile(_, _, step) => match step {
            TileStep::K | TileStep::V => (Axis::KeysFrom(0), Axis::Features),
            TileStep::State => (Axis::Queries, Axis::State),
            _ => (Axis::Queries, Axis::KeysFrom(0)),
        },
    }
}
