//! A config beside its weights: where their counts differ, and why.

use std::collections::HashMap;

use super::{StoredTensor, WeightFile};
use crate::params::architecture::Model;

/// One reason why a file holds more or fewer numbers than its config's class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Why.
    pub reason: Reason,
    /// Numbers that the file has more (or, below 0, fewer).
    pub more: i128,
    /// How many tensors.
    pub tensors: usize,
    /// The first of them.
    pub example: String,
}

/// Why a count differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A tied tensor is stored under its other name too.
    TiedTwice,
    /// A table has more or fewer rows: a padded vocabulary, added tokens.
    Rows,
    /// Another shape altogether.
    Shape,
    /// Positions, masks and the like, which are stored but not learned.
    Buffer,
    /// The file has none: the class's pooler or head was never trained.
    Lacking,
    /// The file has more than this class: a head or pooler of another class.
    Beside,
    /// The file lacks parts of layers.
    LayersLacking,
    /// The file has parts of layers that the class has not.
    LayersBeside,
}

impl Reason {
    /// In words.
    pub fn says(self) -> &'static str {
        match self {
            Self::TiedTwice => "a tied tensor is stored under its second name as well",
            Self::Rows => {
                "a table has another number of rows than the config says (a padded vocabulary, added tokens)"
            }
            Self::Shape => "a tensor has another shape than the config says",
            Self::Buffer => "buffers, which are stored but are no parameters",
            Self::Lacking => "the class has tensors that the file lacks: they would start untrained",
            Self::LayersLacking => "layers of the class have tensors that the file lacks",
            Self::LayersBeside => {
                "layers of the file have tensors that this class has not (further layers, or another architecture)"
            }
            Self::Beside => {
                "the file has tensors that this class has not (the head or pooler of another class)"
            }
        }
    }
}

/// What a comparison found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// Every reason for a difference; empty where both hold the same.
    pub differences: Vec<Difference>,
    /// Tensors of the class that the file has cut another way, so that only the sums of their modules were compared.
    pub regrouped: usize,
}

/// Everything that a file holds differently.
///
/// What is listed adds up to the whole difference.
pub fn differences(model: &Model, file: &WeightFile) -> Compared {
    let mut wanted: HashMap<String, (u64, Vec<u64>)> = HashMap::new();
    let mut aliases: HashMap<&str, &str> =
        model.tied.iter().map(|(alias, tensor)| (alias.as_str(), tensor.as_str())).collect();
    for tensor in &model.tensors {
        if let Some(same) = &tensor.same_as {
            aliases.insert(&tensor.name, same);
            continue;
        }
        let shape = tensor.shape.iter().map(|size| size.value()).collect();
        wanted.insert(tensor.name.clone(), (tensor.count, shape));
    }
    let prefixes = prefixes(model);
    let mut found: Vec<(Reason, i128, String)> = Vec::new();
    let mut left: Vec<(String, u64)> = Vec::new();
    let mut twice: Vec<(&StoredTensor, String)> = Vec::new();
    for stored in &file.tensors {
        let name = modern(&stored.name);
        let names = spellings(&name, &prefixes);
        let Some(known) = names.iter().find(|name| wanted.contains_key(*name)) else {
            if let Some(tensor) = names.iter().find_map(|name| aliases.get(name.as_str())) {
                twice.push((stored, (*tensor).to_owned()));
            } else if is_buffer(&name) {
                found.push((Reason::Buffer, i128::from(stored.count), stored.name.clone()));
            } else {
                left.push((stored.name.clone(), stored.count));
            }
            continue;
        };
        let Some((count, shape)) = wanted.remove(known) else { continue };
        if shape == stored.shape || (count == stored.count && shape.len() != stored.shape.len()) {
            continue;
        }
        let same_rest = shape.len() == stored.shape.len() && shape.get(1..) == stored.shape.get(1..);
        let is_table = shape.len() == 2 && !in_layer(known);
        let reason = if same_rest && is_table { Reason::Rows } else { Reason::Shape };
        found.push((reason, i128::from(stored.count) - i128::from(count), stored.name.clone()));
    }
    for (stored, tensor) in twice {
        // stored under its second name only, it is the tensor itself
        if wanted.remove(&tensor).is_none() {
            found.push((Reason::TiedTwice, i128::from(stored.count), stored.name.clone()));
        }
    }
    let (lacking, beside, regrouped) = without_regrouped(wanted, left, &prefixes);
    found.extend(lacking.into_iter().map(|(name, count)| {
        let reason = if in_layer(&name) { Reason::LayersLacking } else { Reason::Lacking };
        (reason, -i128::from(count), name)
    }));
    found.extend(beside.into_iter().map(|(name, count)| {
        let reason = if in_layer(&name) { Reason::LayersBeside } else { Reason::Beside };
        (reason, i128::from(count), name)
    }));
    let mut all: Vec<Difference> = Vec::new();
    for (reason, more, example) in found {
        match all.iter_mut().find(|one| one.reason == reason) {
            Some(one) => {
                one.more += more;
                one.tensors += 1;
            }
            None => all.push(Difference { reason, more, tensors: 1, example }),
        }
    }
    all.sort_by_key(|one| one.reason);
    Compared { differences: all, regrouped }
}

/// Where a base model may stand inside a class: the first words of the names.
fn prefixes(model: &Model) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for tensor in &model.tensors {
        if let Some((first, _)) = tensor.name.split_once('.')
            && !all.iter().any(|known| known == first)
        {
            all.push(first.to_owned());
        }
    }
    for common in ["model", "transformer", "bert", "roberta", "model.language_model"] {
        if !all.iter().any(|known| known == common) {
            all.push(common.to_owned());
        }
    }
    all
}

/// The names that a stored tensor may go by: its own, with a base model's prefix, and without.
fn spellings(name: &str, prefixes: &[String]) -> Vec<String> {
    let mut all = vec![name.to_owned()];
    for prefix in prefixes {
        all.push(format!("{prefix}.{name}"));
        if let Some(rest) = name.strip_prefix(prefix.as_str()).and_then(|rest| rest.strip_prefix('.')) {
            all.push(rest.to_owned());
        }
    }
    all
}

/// Old checkpoints call a norm's weight and bias gamma and beta.
fn modern(name: &str) -> String {
    match (name.strip_suffix(".gamma"), name.strip_suffix(".beta")) {
        (Some(stem), _) => format!("{stem}.weight"),
        (_, Some(stem)) => format!("{stem}.bias"),
        _ => name.to_owned(),
    }
}

fn is_buffer(name: &str) -> bool {
    const ENDS: [&str; 7] = [
        "position_ids",
        "token_type_ids",
        "masked_bias",
        "attn.bias",
        "attention.bias",
        "inv_freq",
        "num_batches_tracked",
    ];
    ENDS.iter().any(|end| name.ends_with(end))
        || name.ends_with("running_mean")
        || name.ends_with("running_var")
}

type Named = Vec<(String, u64)>;

/// Tensors that hold the same numbers cut another way are no difference: experts one by one or stacked, q, k and v apart or
/// fused. They are compared module by module, from the innermost outwards; how many were only matched so is the third result.
fn without_regrouped(
    wanted: HashMap<String, (u64, Vec<u64>)>,
    left: Named,
    prefixes: &[String],
) -> (Named, Named, usize) {
    let mut lacking: Named = wanted.into_iter().map(|(name, (count, _))| (name, count)).collect();
    lacking.sort();
    let mut beside = left;
    let mut regrouped = 0;
    for depth in 1..=4 {
        let mut sums: HashMap<String, (u64, u64)> = HashMap::new();
        for (name, count) in &lacking {
            if let Some(module) = module(name, depth) {
                let sum = &mut sums.entry(module.to_owned()).or_default().0;
                *sum = sum.saturating_add(*count);
            }
        }
        if sums.is_empty() {
            break;
        }
        for (name, count) in &beside {
            if let Some(stored) = enclosing(name, &sums, prefixes).and_then(|module| sums.get_mut(&module)) {
                stored.1 = stored.1.saturating_add(*count);
            }
        }
        sums.retain(|_, (wanted, stored)| wanted == stored);
        let before = lacking.len();
        lacking.retain(|(name, _)| module(name, depth).is_none_or(|module| !sums.contains_key(module)));
        beside.retain(|(name, _)| enclosing(name, &sums, prefixes).is_none());
        regrouped += before - lacking.len();
    }
    (lacking, beside, regrouped)
}

/// The module around a tensor, so many words further out; none outside the layers.
fn module(name: &str, depth: usize) -> Option<&str> {
    let (end, _) = name.rmatch_indices('.').nth(depth - 1)?;
    let module = &name[..end];
    let in_layer = module.split('.').any(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    in_layer.then_some(module)
}

/// The known module that a stored tensor stands in, by any spelling of its name.
fn enclosing(name: &str, known: &HashMap<String, (u64, u64)>, prefixes: &[String]) -> Option<String> {
    for spelling in spellings(name, prefixes) {
        for (end, _) in spelling.rmatch_indices('.') {
            if known.contains_key(&spelling[..end]) {
                return Some(spelling[..end].to_owned());
            }
        }
    }
    None
}

/// Whether a name tells a layer by its number.
fn in_layer(name: &str) -> bool {
    name.split('.').any(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}
