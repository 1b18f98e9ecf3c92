//! Names of steps: a contract that files, flags, tests and lessons rely on.

mod text;

pub use text::NotAStep;

/// A query head, counted from 0 in code and from 1 wherever a person reads or types it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Head(pub usize);

/// The name of a step; in a batch also the sequence, and in a stack of layers the layer that it belongs to (both from 0
/// in code).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StepId {
    /// The sequence of a batch; `None` where the input had no batch axis, and for what all sequences share.
    pub sequence: Option<usize>,
    /// The layer of a stack; `None` where there is no stack, and for what stands before and after the layers.
    pub layer: Option<usize>,
    /// The name within the sequence and the layer.
    pub name: Name,
}

/// A step of one attention call, or of the layer around it.
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
    /// A part of what a stack of layers starts from.
    Embed(EmbedStep),
    /// What a stack of layers starts from (n × d_model).
    Embedding,
    /// What W_O gives, normalised before it is added (n × d_model).
    OutputNorm,
    /// A layer's attention, added to what the layer was given (n × d_model).
    AttentionResidual,
    /// The norm of that, where norms come after the sum (n × d_model).
    AttentionNorm,
    /// A step of a layer's feed-forward network.
    Ffn(FfnStep),
    /// What a layer hands on (n × d_model).
    Hidden,
    /// The norm after the last layer (n × d_model).
    Final,
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
    /// A step of the feed-forward network of a layer, FFN(x) = activation(x · W_1 + b_1) · W_2 + b_2 (Vaswani et al. 2017,
    /// Eq. 2).
    FfnStep {
        /// What it is given (n × d_model)
        X = "x",
        /// The matrix that widens (d_model × d_ff)
        W1 = "w_1",
        /// Its bias (1 × d_ff)
        B1 = "b_1",
        /// The matrix of a gate (d_model × d_ff)
        WGate = "w_gate",
        /// Its bias (1 × d_ff)
        BGate = "b_gate",
        /// x · W_gate + b_gate (n × d_ff)
        Gate = "gate",
        /// x · W_1 + b_1 (n × d_ff)
        Up = "up",
        /// After the activation (n × d_ff)
        Activation = "activation",
        /// With a gate: the gate after its activation times what W_1 gives, number by number (n × d_ff)
        Product = "product",
        /// The matrix that narrows (d_ff × d_model)
        W2 = "w_2",
        /// Its bias (1 × d_model)
        B2 = "b_2",
        /// What it gives (n × d_model)
        Output = "output",
        /// That, normalised before it is added (n × d_model)
        OutputNorm = "output_norm",
        /// That, added to what it was given (n × d_model)
        Residual = "residual",
    }
}

words! {
    /// A part of a model's embedding.
    EmbedStep {
        /// A row of the vocabulary's matrix for each token (n × d_model)
        Tokens = "tokens",
        /// A row for each position (n × d_model)
        Positions = "positions",
        /// A row for each token's segment: 1st or 2nd sentence of a pair (n × d_model)
        Segments = "segments",
        /// All of them added (n × d_model)
        Sum = "sum",
        /// That, scaled (n × d_model)
        Scaled = "scaled",
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
        Self { sequence: None, layer: None, name }
    }
}

impl StepId {
    /// The name in sequence `sequence` of a batch, outside any stack of layers.
    pub fn of(sequence: Option<usize>, name: Name) -> Self {
        Self { sequence, ..Self::from(name) }
    }

    /// The same name in layer `layer` of a stack.
    #[must_use]
    pub fn in_layer(self, layer: Option<usize>) -> Self {
        Self { layer, ..self }
    }

    /// Its name within its sequence: the same in every sequence of a batch.
    #[must_use]
    pub fn within(self) -> Self {
        Self { sequence: None, ..self }
    }

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
