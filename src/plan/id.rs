//! Names of steps: a contract that files, flags, tests and lessons rely on.

use std::fmt;
use std::str::FromStr;

/// A query head, counted from 0 in code and from 1 wherever a person reads or types it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Head(pub usize);

/// The name of a step; in a batch also the sequence (from 0 in code) that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId {
    /// The sequence of a batch; `None` where the input had no batch axis, and for what all sequences share.
    pub sequence: Option<usize>,
    /// The name within the sequence.
    pub name: Name,
}

/// A step of one attention call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Name {
    /// Token embeddings (n_q × d_model).
    X,
    /// Where keys and values come from in cross-attention (n_kv × d_kv_model).
    XKv,
    /// A learned projection matrix.
    W(Projection),
    /// The bias of a projection (1 × width).
    B(Projection),
    /// Q, K, V packed into one matrix: [W_Q | W_K | W_V] (fused variant).
    WQkv,
    /// The packed biases [b_Q | b_K | b_V] (fused variant).
    BQkv,
    /// The packed product X · [W_Q | W_K | W_V] (fused variant).
    Qkv,
    /// All heads' queries (n_q × h·d_k).
    Q,
    /// All heads' keys (n_kv × g·d_k).
    K,
    /// All heads' values (n_kv × g·d_v).
    V,
    /// Queries after a norm over the whole row.
    QNorm,
    /// Keys after a norm over the whole row.
    KNorm,
    /// A step of one head.
    Head(Head, HeadStep),
    /// A step of one tile of keys in one head (flash variant); tiles count from 0 in code.
    Tile(Head, usize, TileStep),
    /// A step that holds all heads at once, one above the other (fused variant).
    Stack(Stack),
    /// Head outputs side by side (n_q × h·d_v).
    Concat,
    /// The mean of the heads' outputs (averaged variant).
    Average,
    /// What W_O gives (n_q × d_model).
    Output,
}

/// One of the four projections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Projection {
    /// W_Q (d_model × h·d_k)
    Q,
    /// W_K (d_kv_model × g·d_k)
    K,
    /// W_V (d_kv_model × g·d_v)
    V,
    /// W_O (h·d_v × d_model)
    O,
}

impl Projection {
    /// All four, in the paper's order.
    pub const ALL: [Self; 4] = [Self::Q, Self::K, Self::V, Self::O];

    /// `q`, `k`, `v`, `o`: as it stands in `w_q` and `b_q`.
    pub fn letter(self) -> char {
        match self {
            Self::Q => 'q',
            Self::K => 'k',
            Self::V => 'v',
            Self::O => 'o',
        }
    }
}

macro_rules! words {
    ($(#[$doc:meta])* $kind:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $kind { $($(#[$variant_doc])* $variant,)* }

        impl $kind {
            /// All of them, in the order of the computation.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The last part of the step id.
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }
    };
}

words! {
    /// A step inside a head.
    HeadStep {
        /// The head's queries (n_q × d_k)
        Q = "q",
        /// The keys this head reads (n_kv × d_k)
        K = "k",
        /// The values this head reads (n_kv × d_v)
        V = "v",
        /// Queries after the head's own norm
        QNorm = "q_norm",
        /// Keys after the head's own norm
        KNorm = "k_norm",
        /// Queries rotated by their positions
        QRot = "q_rot",
        /// Keys rotated by their positions
        KRot = "k_rot",
        /// Values rotated as well: a mistake
        VRot = "v_rot",
        /// Q · Kᵀ · scale (n_q × n_kv), before any mask
        Scores = "scores",
        /// c · tanh(scores / c)
        CappedScores = "capped_scores",
        /// scores + bias (ALiBi or an additive mask)
        BiasedScores = "biased_scores",
        /// −∞ where the mask hides; only with a mask
        MaskedScores = "masked_scores",
        /// softmax of the row (n_q × n_kv)
        Weights = "weights",
        /// What the sink takes of each row (n_q × 1)
        SinkWeight = "sink_weight",
        /// weights · V (n_q × d_v)
        Output = "output",
    }
}

words! {
    /// A step inside a tile of the flash variant.
    TileStep {
        /// The keys of the tile
        K = "k",
        /// The values of the tile
        V = "v",
        /// Scores against the tile's keys
        Scores = "scores",
        /// Scores after soft-capping
        CappedScores = "capped_scores",
        /// Scores after the bias
        BiasedScores = "biased_scores",
        /// Scores after the mask
        MaskedScores = "masked_scores",
        /// Running maximum m, running sum ℓ, running output o: one row a query
        State = "state",
    }
}

words! {
    /// A step of all heads at once; also the names under which files hold arrays.
    Stack {
        /// (h × n_q × d_k)
        QHeads = "q_heads",
        /// (g × n_kv × d_k)
        KHeads = "k_heads",
        /// (g × n_kv × d_v)
        VHeads = "v_heads",
        /// per-head norm of the queries
        QNorm = "q_norm_heads",
        /// per-head norm of the keys
        KNorm = "k_norm_heads",
        /// rotated queries
        QRot = "q_rot",
        /// rotated keys
        KRot = "k_rot",
        /// (h × n_q × n_kv)
        Scores = "scores",
        /// after soft-capping
        CappedScores = "capped_scores",
        /// after the bias
        BiasedScores = "biased_scores",
        /// after the mask
        MaskedScores = "masked_scores",
        /// attention weights
        Weights = "weights",
        /// (h × n_q × d_v)
        Heads = "heads",
    }
}

impl Stack {
    /// The step of one head that this is the stack of.
    pub fn of_a_head(self) -> HeadStep {
        match self {
            Self::QHeads => HeadStep::Q,
            Self::KHeads => HeadStep::K,
            Self::VHeads => HeadStep::V,
            Self::QNorm => HeadStep::QNorm,
            Self::KNorm => HeadStep::KNorm,
            Self::QRot => HeadStep::QRot,
            Self::KRot => HeadStep::KRot,
            Self::Scores => HeadStep::Scores,
            Self::CappedScores => HeadStep::CappedScores,
            Self::BiasedScores => HeadStep::BiasedScores,
            Self::MaskedScores => HeadStep::MaskedScores,
            Self::Weights => HeadStep::Weights,
            Self::Heads => HeadStep::Output,
        }
    }
}

impl Head {
    /// This head's step, in a problem without a batch axis.
    pub fn step(self, step: HeadStep) -> StepId {
        StepId::from(Name::Head(self, step))
    }
}

impl From<Name> for StepId {
    fn from(name: Name) -> Self {
        Self { sequence: None, name }
    }
}

impl StepId {
    /// The same name in sequence `sequence` of a batch.
    #[must_use]
    pub fn in_sequence(self, sequence: Option<usize>) -> Self {
        Self { sequence, ..self }
    }

    /// The head it belongs to, where it belongs to one.
    pub fn head(self) -> Option<Head> {
        match self.name {
            Name::Head(head, _) | Name::Tile(head, ..) => Some(head),
            _ => None,
        }
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::X => f.write_str("x"),
            Self::XKv => f.write_str("x_kv"),
            Self::W(p) => write!(f, "w_{}", p.letter()),
            Self::B(p) => write!(f, "b_{}", p.letter()),
            Self::WQkv => f.write_str("w_qkv"),
            Self::BQkv => f.write_str("b_qkv"),
            Self::Qkv => f.write_str("qkv"),
            Self::Q => f.write_str("q"),
            Self::K => f.write_str("k"),
            Self::V => f.write_str("v"),
            Self::QNorm => f.write_str("q_norm"),
            Self::KNorm => f.write_str("k_norm"),
            Self::Head(head, step) => write!(f, "head.{}.{}", head.0 + 1, step.word()),
            Self::Tile(head, tile, step) => {
                write!(f, "head.{}.tile.{}.{}", head.0 + 1, tile + 1, step.word())
            }
            Self::Stack(stack) => f.write_str(stack.word()),
            Self::Concat => f.write_str("concat"),
            Self::Average => f.write_str("average"),
            Self::Output => f.write_str("output"),
        }
    }
}

impl fmt::Display for StepId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sequence) = self.sequence {
            write!(f, "batch.{}.", sequence + 1)?;
        }
        self.name.fmt(f)
    }
}

/// Text that names no step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAStep(pub String);

impl fmt::Display for NotAStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not the name of a step", self.0)
    }
}

impl FromStr for StepId {
    type Err = NotAStep;

    fn from_str(text: &str) -> Result<Self, NotAStep> {
        let wrong = || NotAStep(text.to_owned());
        let counted = |word: &str| match word.parse::<usize>() {
            Ok(number) if number >= 1 && !word.starts_with('+') => Ok(number - 1),
            _ => Err(wrong()),
        };
        let mut parts: Vec<&str> = text.split('.').collect();
        let sequence = match parts.as_slice() {
            ["batch", number, ..] => {
                let sequence = counted(number)?;
                parts.drain(..2);
                Some(sequence)
            }
            _ => None,
        };
        let name = match parts.as_slice() {
            ["head", head, word] => {
                let step = HeadStep::ALL.iter().find(|step| step.word() == *word).ok_or_else(wrong)?;
                Name::Head(Head(counted(head)?), *step)
            }
            ["head", head, "tile", tile, word] => {
                let step = TileStep::ALL.iter().find(|step| step.word() == *word).ok_or_else(wrong)?;
                Name::Tile(Head(counted(head)?), counted(tile)?, *step)
            }
            [word] => plain(word).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
        Ok(Self { sequence, name })
    }
}

fn plain(word: &str) -> Option<Name> {
    let plain = [
        Name::X,
        Name::XKv,
        Name::WQkv,
        Name::BQkv,
        Name::Qkv,
        Name::Q,
        Name::K,
        Name::V,
        Name::QNorm,
        Name::KNorm,
        Name::Concat,
        Name::Average,
        Name::Output,
    ];
    let projections = Projection::ALL.iter().flat_map(|p| [Name::W(*p), Name::B(*p)]);
    let stacks = Stack::ALL.iter().map(|stack| Name::Stack(*stack));
    plain.into_iter().chain(projections).chain(stacks).find(|name| name.to_string() == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_reads_back_as_itself() {
        let head = HeadStep::ALL.iter().map(|step| Name::Head(Head(2), *step));
        let tile = TileStep::ALL.iter().map(|step| Name::Tile(Head(0), 4, *step));
        let stack = Stack::ALL.iter().map(|stack| Name::Stack(*stack));
        for name in head.chain(tile).chain(stack).chain([Name::X, Name::W(Projection::O), Name::Concat]) {
            for sequence in [None, Some(3)] {
                let id = StepId { sequence, name };
                assert_eq!(id.to_string().parse(), Ok(id), "{id}");
            }
        }
    }

    #[test]
    fn people_count_heads_and_sequences_from_one() {
        let id = Head(1).step(HeadStep::Scores).in_sequence(Some(0));
        assert_eq!(id.to_string(), "batch.1.head.2.scores");
        for wrong in ["head.0.scores", "head.1.score", "head.+1.q", "batch.0.x", "scores.1", ""] {
            assert!(wrong.parse::<StepId>().is_err(), "{wrong}");
        }
    }
}
