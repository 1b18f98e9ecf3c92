//! A whole model: every tensor, every attention module, every list of layers.

use std::fmt;

use super::config::Source;
use super::value::Whole;
use crate::fault::{Fault, Outcome};
use crate::params::Figure;

/// A model as its class allocates it.
#[derive(Debug, Clone)]
pub struct Model {
    /// The config's `model_type`.
    pub model_type: String,
    /// The family file that describes it.
    pub family: String,
    /// `base`, `causal-lm`.
    pub kind: String,
    /// `LlamaForCausalLM`.
    pub class: String,
    /// Every tensor in the order of the class, also those that are another under a second name.
    pub tensors: Vec<Tensor>,
    /// Names of tensors that are another tensor: the name, and the tensor's own name.
    pub tied: Vec<(String, String)>,
    /// Every attention module.
    pub attention: Vec<Attention>,
    /// The lists of layers, in order.
    pub stacks: Vec<Stack>,
    /// Keys of the config that were used, in the order of use.
    pub facts: Vec<Fact>,
    /// Tokens that the config itself says it was made for, where it does.
    pub context: Option<u64>,
    /// Width of what layers hand on, where the whole model has one.
    pub d_model: Option<u64>,
    /// How long its sequences always are: the patches of a picture.
    pub usual_length: Option<u64>,
    /// How long its encoder's sequences always are: half a minute of sound.
    pub usual_source: Option<u64>,
    /// What the config says its numbers are stored in (`bfloat16`), and how they are packed (`awq`), where it does.
    pub stored_as: (Option<String>, Option<String>),
    /// Whether the work of a pass can be told from matrices and positions; not for stages that shrink their sequence.
    pub counts_work: bool,
}

/// A key of the config that was used.
#[derive(Debug, Clone)]
pub struct Fact {
    /// The key, with the config it stands in where that is not the outermost (`text_config.hidden_size`).
    pub key: String,
    /// Its value, as JSON would show it.
    pub value: String,
    /// Stated, or the type's default.
    pub source: Source,
}

/// One tensor.
#[derive(Debug, Clone)]
pub struct Tensor {
    /// As a checkpoint names it: `model.layers.0.self_attn.q_proj.weight`.
    pub name: String,
    /// Rows, columns, …; empty for a single number.
    pub shape: Vec<Size>,
    /// How many numbers it holds.
    pub count: u64,
    /// What it is for.
    pub group: Group,
    /// The layer it stands in, from 1 over all stacks.
    pub layer: Option<usize>,
    /// The attention module it stands in: an index into [`Model::attention`].
    pub attention: Option<usize>,
    /// Where it holds routed experts.
    pub experts: Option<Routed>,
    /// The tensor that it is, where that is another one; it is then counted there.
    pub same_as: Option<String>,
    /// How often its numbers are multiplied; `None` where they are not (norms, biases, tables).
    pub product: Option<Product>,
    /// Whether training leaves it as it is.
    pub frozen: bool,
}

/// How often a matrix is multiplied in one pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Product {
    /// Which positions go through it.
    pub positions: Positions,
    /// How often one after another.
    pub applied: u64,
}

/// Which positions go through a module: so many times those of a sequence, and so many more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Positions {
    /// The sequence.
    pub side: Side,
    /// How many for each of its positions: 1 usually, 0 where the sequence does not matter (the patches of a picture).
    pub times: u64,
    /// How many more, whatever the sequence: 1 for a pooler (with `times` 0).
    pub plus: u64,
}

/// The sequences of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The sequence; in an encoder–decoder model, the decoder's.
    Target,
    /// The encoder's.
    Source,
}

impl Positions {
    /// All positions of a sequence.
    pub fn of(side: Side) -> Self {
        Self { side, times: 1, plus: 0 }
    }

    /// Whether nothing ever goes through.
    pub fn never(self) -> bool {
        self.times == 0 && self.plus == 0
    }
}

/// Routed experts: how many there are, and how many a token uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Routed {
    /// E
    pub of: u64,
    /// k
    pub active: u64,
}

/// A size of a tensor, with the formula it came from.
#[derive(Debug, Clone)]
pub struct Size(pub(super) Whole);

impl Size {
    /// How many.
    pub fn value(&self) -> u64 {
        u64::try_from(self.0.value).unwrap_or_default()
    }

    /// With its formula in names (`h·d_k`) and in numbers (`32·128`).
    pub fn figure(&self) -> Figure {
        self.0.figure()
    }
}

impl PartialEq for Size {
    fn eq(&self, other: &Self) -> bool {
        self.value() == other.value()
    }
}

/// What a tensor is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// Tables that tokens, positions and types are looked up in.
    Embedding,
    /// Everything before the first layer that is no table: patches, convolutions.
    Features,
    /// Projections, biases and norms of attention.
    Attention,
    /// Linear attention, state spaces, convolutions inside layers.
    Mixer,
    /// Feed-forward layers that every token goes through.
    FeedForward,
    /// Decides which experts a token goes to.
    Router,
    /// Experts of which each token uses a few.
    Experts,
    /// Experts that every token uses.
    SharedExperts,
    /// Norms outside attention.
    Norm,
    /// From one modality to another.
    Projector,
    /// One vector for a whole sequence.
    Pooler,
    /// What the class adds to the base model.
    Head,
    /// Anything else.
    Other,
}

impl Group {
    /// All of them, in the order of pages.
    pub const ALL: [Self; 13] = [
        Self::Embedding,
        Self::Features,
        Self::Attention,
        Self::Mixer,
        Self::FeedForward,
        Self::Router,
        Self::Experts,
        Self::SharedExperts,
        Self::Norm,
        Self::Projector,
        Self::Pooler,
        Self::Head,
        Self::Other,
    ];

    /// The word on pages and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Embedding => "embedding",
            Self::Features => "features",
            Self::Attention => "attention",
            Self::Mixer => "mixer",
            Self::FeedForward => "feed-forward",
            Self::Router => "router",
            Self::Experts => "experts",
            Self::SharedExperts => "shared experts",
            Self::Norm => "norm",
            Self::Projector => "projector",
            Self::Pooler => "pooler",
            Self::Head => "head",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A list of layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// `model.layers`
    pub path: String,
    /// The number of its first layer, from 1 over all stacks.
    pub first: usize,
    /// How many layers.
    pub layers: usize,
}

/// One attention module.
#[derive(Debug, Clone)]
pub struct Attention {
    /// `model.layers.0.self_attn`
    pub path: String,
    /// The same for all modules of its kind: `model.layers.*.self_attn`.
    pub pattern: String,
    /// The layer it stands in, from 1 over all stacks.
    pub layer: Option<usize>,
    /// h
    pub num_heads: Size,
    /// g
    pub num_kv_heads: Size,
    /// Width of a head's queries and keys.
    pub d_k: Size,
    /// Width of a head's values.
    pub d_v: Size,
    /// The most keys that a query sees, itself included; `None` where it sees all.
    pub window: Option<u64>,
    /// What it keeps of each token.
    pub cache: Cache,
    /// Whether keys and values come from another sequence.
    pub cross: bool,
    /// Whether a position sees only those up to its own.
    pub causal: bool,
    /// Multiplications for each pair of positions beside Q·Kᵀ and A·V, such as an indexer's.
    pub scores: u64,
    /// Multiplications for each position that asks, beside those: with a table of relative positions, say.
    pub extra: u64,
    /// Which positions ask, and how often the module is applied.
    pub product: Product,
}

/// What an attention module keeps of each token while decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// Nothing: an encoder, or a layer that reads another's.
    None,
    /// Keys and values of every key/value head.
    Full,
    /// Multi-head latent attention (DeepSeek-AI 2024): one vector for all heads, and the rotated part of the keys.
    Latent {
        /// Width of the latent.
        rank: u64,
        /// Width of the rotated part.
        rope: u64,
        /// Width of the part of a head's keys that is not rotated, once expanded.
        nope: u64,
    },
    /// Something that is not modelled here.
    Unknown,
}

impl Model {
    /// All parameters, each tensor once.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn parameters(&self) -> Outcome<u64> {
        self.sum(|_| true)
    }

    /// The parameters of tensors that are wanted, each tensor once.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn sum(&self, wanted: impl Fn(&Tensor) -> bool) -> Outcome<u64> {
        let counts = self.tensors.iter().filter(|tensor| tensor.same_as.is_none() && wanted(tensor));
        crate::params::figure::sum(counts.map(|tensor| tensor.count), "the model's parameters")
    }

    /// Parameters that one token uses: all − routed + routed·k/E, or all where nothing is routed.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn active_parameters(&self) -> Outcome<u64> {
        let mut kinds: Vec<(Routed, u64)> = Vec::new();
        for tensor in self.tensors.iter().filter(|tensor| tensor.same_as.is_none()) {
            let Some(routed) = tensor.experts else { continue };
            match kinds.iter_mut().find(|(known, _)| *known == routed) {
                Some((_, count)) => *count += tensor.count,
                None => kinds.push((routed, tensor.count)),
            }
        }
        let mut active = self.parameters()?;
        for (Routed { of, active: used }, count) in kinds {
            let part = u128::from(count) * u128::from(used.min(of)) / u128::from(of.max(1));
            active = active - count + u64::try_from(part).unwrap_or(count);
        }
        Ok(active)
    }

    /// How many layers all stacks have.
    pub fn num_layers(&self) -> usize {
        self.stacks.iter().map(|stack| stack.layers).sum()
    }

    /// Attention parameters of each layer, from the first stack to the last.
    ///
    /// # Errors
    /// They do not fit in 64 bits.
    pub fn attention_parameters_by_layer(&self) -> Outcome<Vec<u64>> {
        let mut all = vec![0u64; self.num_layers()];
        let counted = self.tensors.iter().filter(|t| t.same_as.is_none() && t.group == Group::Attention);
        for tensor in counted {
            if let Some(sum) = tensor.layer.and_then(|layer| all.get_mut(layer - 1)) {
                *sum = sum.checked_add(tensor.count).ok_or_else(too_many)?;
            }
        }
        Ok(all)
    }
}

fn too_many() -> crate::fault::Faults {
    Fault::new("the parameters are too large to count", "counts are kept in 64 bits", "give smaller sizes")
        .into()
}
