//! Where in a stack of layers a name says that an array belongs.

use super::super::names::folded;
use crate::arrays::Array;
use crate::plan::{EmbedStep, Name};

/// A place in a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Spot {
    /// In a layer, as it was counted; and the rest of the name.
    Layer(usize, String),
    /// Before the first layer or after the last.
    Outside(Name),
    /// What transformers returns for all layers; or one of them, from 0.
    Returned(Returned, Option<usize>),
    /// The name says nothing of a place.
    Nowhere,
}

/// What transformers returns for all layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    /// The embedding, and what each layer hands on; the last after the last norm.
    HiddenStates,
    /// The attention weights of each layer.
    Attentions,
}

impl Returned {
    /// How many axes the part of one layer has.
    pub(super) fn axes(self) -> usize {
        match self {
            Self::HiddenStates => 2,
            Self::Attentions => 3,
        }
    }
}

/// Words that stand before the layer in the names of modules.
const MODULES: [&str; 6] = ["model", "encoder", "decoder", "transformer", "bert", "gpt_neox"];
/// What a layer is called, the longer words first.
const LAYERS: [&str; 6] = ["layers", "layer", "blocks", "block", "h", "l"];

/// Names of what stands outside of the layers, written as [`folded`] writes them.
const OUTSIDE: &[(Name, &[&str])] = &[
    (Name::Embedding, &["embedding", "embeddings", "inputs_embeds", "embed"]),
    (
        Name::Final,
        &[
            "final",
            "last_hidden_state",
            "last_hidden_states",
            "final_norm",
            "norm",
            "ln_f",
            "final_layer_norm",
        ],
    ),
    (Name::Embed(EmbedStep::Tokens), &["embedding_tokens", "word_embeddings", "token_embeddings"]),
    (Name::Embed(EmbedStep::Positions), &["embedding_positions", "position_embeddings"]),
    (Name::Embed(EmbedStep::Segments), &["embedding_segments", "token_type_embeddings"]),
    (Name::Embed(EmbedStep::Sum), &["embedding_sum"]),
    (Name::Embed(EmbedStep::Scaled), &["embedding_scaled"]),
];

impl Spot {
    /// The place that a name says.
    pub(super) fn of(called: &str) -> Self {
        if let Some((layer, rest)) = layer_of(called) {
            return Self::Layer(layer, rest.to_owned());
        }
        let word = folded(called);
        if let Some((name, _)) = OUTSIDE.iter().find(|(_, words)| words.contains(&word.as_str())) {
            return Self::Outside(*name);
        }
        let stacks = [
            ("hidden_states", Returned::HiddenStates),
            ("hidden_state", Returned::HiddenStates),
            ("attentions", Returned::Attentions),
        ];
        for (start, what) in stacks {
            match word.strip_prefix(start) {
                Some("") => return Self::Returned(what, None),
                Some(rest) => {
                    let digits = rest.trim_matches(['_', '[', ']']);
                    if let Ok(number) = digits.parse::<usize>() {
                        return Self::Returned(what, Some(number));
                    }
                }
                None => {}
            }
        }
        Self::Nowhere
    }
}

/// The number of the layer in a name, and what follows: 4 and `scores` of `layer.4.scores`, `model_layers_4_scores`.
fn layer_of(called: &str) -> Option<(usize, &str)> {
    let is_mark = |c: char| matches!(c, '.' | '_' | '-' | ' ' | '/');
    if !called.is_ascii() {
        return None;
    }
    let without = |text: &'_ str, word: &str| -> Option<usize> {
        text.get(..word.len()).filter(|start| start.eq_ignore_ascii_case(word)).map(str::len)
    };
    let mut rest = called.trim();
    while let Some(after) = MODULES.iter().find_map(|word| {
        let after = &rest[without(rest, word)?..];
        after.strip_prefix(is_mark)
    }) {
        rest = after;
    }
    let after = LAYERS.iter().find_map(|word| {
        Some(&rest[without(rest, word)?..]).filter(|after| {
            let after = after.strip_prefix(is_mark).unwrap_or(after);
            after.starts_with(|c: char| c.is_ascii_digit())
        })
    })?;
    let after = after.strip_prefix(is_mark).unwrap_or(after);
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let number = after[..digits].parse().ok()?;
    let name = after[digits..].strip_prefix(is_mark)?;
    (!name.is_empty()).then_some((number, name))
}

/// Other names of the steps around a layer's attention, written as [`folded`] writes them.
const AROUND: &[(&str, &str)] = &[
    ("hidden_state", "hidden"),
    ("hidden_states", "hidden"),
    ("layer_output", "hidden"),
    ("block_output", "hidden"),
    ("out_hidden", "hidden"),
    ("resid_mid", "attention_residual"),
    ("resid_post", "hidden"),
    ("mlp", "ffn_output"),
    ("ffn", "ffn_output"),
    ("ffn_act", "ffn_activation"),
];

/// The step around a layer's attention that the rest of a name says.
pub(super) fn around(rest: &str, known: &[Name]) -> Option<Name> {
    let mut word = folded(rest);
    if let Some(step) = word.strip_prefix("mlp_") {
        word = format!("ffn_{step}");
    }
    let own = AROUND.iter().find(|(alias, _)| *alias == word).map_or(word.as_str(), |(_, own)| own);
    known.iter().copied().find(|name| folded(&name.to_string()) == own)
}

/// The parts of an array that holds one a layer, each with so many axes; a batch of one may stand before the layers, or
/// before the axes of each.
pub(super) fn parts(array: &Array, count: usize, axes: usize) -> Option<Vec<Array>> {
    let shape = match array.shape.as_slice() {
        [1, shape @ ..] if shape.len() == axes + 1 => shape,
        shape => shape,
    };
    let (first, of_each) = shape.split_first()?;
    let inner = match of_each {
        [1, inner @ ..] if inner.len() == axes => inner,
        inner => inner,
    };
    if *first != count || inner.len() != axes {
        return None;
    }
    let size: usize = inner.iter().product();
    if size == 0 {
        return None;
    }
    let part = |numbers: &[f64]| Array::new(inner.to_vec(), numbers.to_vec(), array.kind).ok();
    array.data.chunks_exact(size).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::Kind;
    use crate::plan::FfnStep;

    #[test]
    fn a_layer_is_called_many_things() {
        for name in [
            "layer.4.scores",
            "layers_4_scores",
            "Layer 4 scores",
            "h.4.scores",
            "L4.scores",
            "model.layers.4.scores",
            "bert.encoder.layer.4.scores",
            "blocks.4/scores",
        ] {
            assert_eq!(Spot::of(name), Spot::Layer(4, "scores".to_owned()), "{name}");
        }
        assert_eq!(Spot::of("layer.2.head.3.q"), Spot::Layer(2, "head.3.q".to_owned()));
        for name in ["head.1.scores", "layer.scores", "layer.4", "layer.4.", "层.4.scores", "", "logits.4.x"]
        {
            assert_eq!(Spot::of(name), Spot::Nowhere, "{name}");
        }
    }

    #[test]
    fn what_transformers_returns_is_known_whole_and_in_parts() {
        assert_eq!(Spot::of("hidden_states"), Spot::Returned(Returned::HiddenStates, None));
        assert_eq!(Spot::of("hidden_states.3"), Spot::Returned(Returned::HiddenStates, Some(3)));
        assert_eq!(Spot::of("attentions[0]"), Spot::Returned(Returned::Attentions, Some(0)));
        assert_eq!(Spot::of("last_hidden_state"), Spot::Outside(Name::Final));
    }

    #[test]
    fn steps_around_attention_go_by_our_names_and_by_others() {
        let known = [Name::X, Name::Ffn(FfnStep::Up), Name::Ffn(FfnStep::Output), Name::Hidden];
        let found = |rest: &str| around(rest, &known);
        assert_eq!(found("x"), Some(Name::X));
        assert_eq!(found("ffn.up"), Some(Name::Ffn(FfnStep::Up)));
        assert_eq!(found("mlp_up"), Some(Name::Ffn(FfnStep::Up)));
        assert_eq!(found("MLP"), Some(Name::Ffn(FfnStep::Output)));
        assert_eq!(found("hidden_states"), Some(Name::Hidden));
        assert_eq!((found("scores"), found("ffn.gate")), (None, None));
    }

    #[test]
    fn a_stack_is_cut_into_layers_wherever_a_batch_of_one_stands() {
        for shape in [vec![3, 2, 2], vec![1, 3, 2, 2], vec![3, 1, 2, 2]] {
            let data = (0..12).map(f64::from).collect();
            let array = Array::new(shape.clone(), data, Kind::F32).unwrap();
            let cut = parts(&array, 3, 2).unwrap();
            assert_eq!(
                (cut.len(), &cut[2].shape, &cut[2].data),
                (3, &vec![2, 2], &vec![8.0, 9.0, 10.0, 11.0])
            );
            assert_eq!(parts(&array, 4, 2), None, "{shape:?}");
        }
    }
}
