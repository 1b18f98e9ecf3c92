//! A config beside its weights: where their counts differ, and why.

use std::collections::{HashMap, HashSet};

use super::WeightFile;
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
            Self::Beside => {
                "the file has tensors that this class has not (the head or pooler of another class)"
            }
        }
    }
}

/// Everything that a file holds differently; empty where both are equal, tensor by tensor.
///
/// What is listed adds up to the whole difference.
pub fn differences(model: &Model, file: &WeightFile) -> Vec<Difference> {
    let mut wanted: HashMap<String, (u64, Vec<u64>)> = HashMap::new();
    let mut aliases: HashSet<&str> = model.tied.iter().map(|(alias, _)| alias.as_str()).collect();
    for tensor in &model.tensors {
        if tensor.same_as.is_some() {
            aliases.insert(&tensor.name);
            continue;
        }
        let shape = tensor.shape.iter().map(|size| size.value()).collect();
        wanted.insert(tensor.name.clone(), (tensor.count, shape));
    }
    let prefixes = prefixes(model);
    let mut found: Vec<(Reason, i128, String)> = Vec::new();
    let mut left: Vec<(String, u64)> = Vec::new();
    for stored in &file.tensors {
        let name = modern(&stored.name);
        let names = spellings(&name, &prefixes);
        let Some(known) = names.iter().find(|name| wanted.contains_key(*name)) else {
            if names.iter().any(|name| aliases.contains(name.as_str())) {
                found.push((Reason::TiedTwice, i128::from(stored.count), stored.name.clone()));
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
        let reason = if same_rest { Reason::Rows } else { Reason::Shape };
        found.push((reason, i128::from(stored.count) - i128::from(count), stored.name.clone()));
    }
    let (lacking, beside) = without_regrouped(wanted, left, &prefixes);
    found.extend(lacking.into_iter().map(|(name, count)| (Reason::Lacking, -i128::from(count), name)));
    found.extend(beside.into_iter().map(|(name, count)| (Reason::Beside, i128::from(count), name)));
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
    all
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
    const ENDS: [&str; 8] = [
        "position_ids",
        "token_type_ids",
        "masked_bias",
        "attn.bias",
        "attention.bias",
        "rotary_emb.inv_freq",
        "inv_freq",
        "num_batches_tracked",
    ];
    ENDS.iter().any(|end| name.ends_with(end))
        || name.ends_with("running_mean")
        || name.ends_with("running_var")
}

type Named = Vec<(String, u64)>;

/// Tensors that hold the same numbers cut another way are no difference: experts one by one or stacked, q, k and v apart or
/// fused. They are compared module by module, from the innermost outwards.
fn without_regrouped(
    wanted: HashMap<String, (u64, Vec<u64>)>,
    left: Named,
    prefixes: &[String],
) -> (Named, Named) {
    let mut lacking: Named = wanted.into_iter().map(|(name, (count, _))| (name, count)).collect();
    lacking.sort();
    let mut beside = left;
    for depth in 1..=4 {
        let outer = |name: &str| {
            let parts: Vec<&str> = name.split('.').collect();
            let kept = parts.len().saturating_sub(depth);
            let last_number =
                parts[..kept].iter().rposition(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
            (kept > 0 && last_number.is_some()).then(|| parts[..kept].join("."))
        };
        let mut sums: HashMap<String, u64> = HashMap::new();
        for (name, count) in &lacking {
            if let Some(module) = outer(name) {
                *sums.entry(module).or_default() += count;
            }
        }
        let inside = |name: &str, module: &str| {
            spellings(name, prefixes)
                .iter()
                .any(|name| name.strip_prefix(module).is_some_and(|rest| rest.starts_with('.')))
        };
        let mut equal: Vec<String> = Vec::new();
        for (module, sum) in &sums {
            let stored: u64 =
                beside.iter().filter(|(name, _)| inside(name, module)).map(|(_, count)| count).sum();
            if stored == *sum {
                equal.push(module.clone());
            }
        }
        if !equal.is_empty() {
            lacking.retain(|(name, _)| !equal.iter().any(|module| inside(name, module)));
            beside.retain(|(name, _)| !equal.iter().any(|module| inside(name, module)));
        }
    }
    (lacking, beside)
}
