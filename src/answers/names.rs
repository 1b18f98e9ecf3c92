//! What people call the steps.
//!
//! Capitals do not count, and `-`, a blank and `.` are as good as `_`. Our own names come first, then those that are
//! widespread in code and papers. One head's tensors (`head.2.scores`) and one sequence's (`batch.1.output`) are known
//! by the place that stands in front.

use super::ORDER;
use crate::plan::{HeadStep, Name, Stack, StepId};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A step, or one head's or one sequence's part of it.
    Step(Part, Claim),
    /// The heads' outputs, stacked or side by side: the rank tells.
    Context,
    /// Something that the computation starts from.
    Input,
    /// No known name.
    Unknown,
}

/// A step as a file may hold it: whole, or in pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Part {
    pub(super) name: Name,
    /// The sequence, as it was counted.
    pub(super) sequence: Option<usize>,
    /// The head, as it was counted.
    pub(super) head: Option<usize>,
}

/// How sure it is that a name means a step; the surest of several wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Claim {
    /// The person said so with `--map`.
    Mapped,
    /// Our own name, letter by letter.
    Own,
    /// Our own name, in other letters: `Q`, `Masked-Scores`.
    Spelled,
    /// Another name for it.
    Alias,
}

/// Widespread names that are not ours, written as [`folded`] writes them.
const ALIASES: &[(Name, &[&str])] = &[
    (Name::Q, &["queries", "query", "xq"]),
    (Name::K, &["keys", "key", "xk"]),
    (Name::V, &["values", "value", "xv"]),
    (
        Name::Stack(Stack::QHeads),
        &["qh", "q_h", "q_split", "q_head", "query_heads", "queries_heads", "query_layer", "split_q"],
    ),
    (
        Name::Stack(Stack::KHeads),
        &["kh", "k_h", "k_split", "k_head", "key_heads", "keys_heads", "key_layer", "split_k"],
    ),
    (
        Name::Stack(Stack::VHeads),
        &["vh", "v_h", "v_split", "v_head", "value_heads", "values_heads", "value_layer", "split_v"],
    ),
    (
        Name::Stack(Stack::QRot),
        &["q_rope", "q_rotated", "q_rotary", "query_rot", "query_rotated", "rotated_q"],
    ),
    (Name::Stack(Stack::KRot), &["k_rope", "k_rotated", "k_rotary", "key_rot", "key_rotated", "rotated_k"]),
    (
        Name::Stack(Stack::Scores),
        &[
            "score",
            "attn_scores",
            "attention_scores",
            "logits",
            "attn_logits",
            "attention_logits",
            "qk",
            "scaled_scores",
            "energy",
        ],
    ),
    (
        Name::Stack(Stack::MaskedScores),
        &["masked_logits", "scores_masked", "masked_attn_scores", "attn_masked", "masked"],
    ),
    (
        Name::Stack(Stack::Weights),
        &[
            "attn_weights",
            "attention_weights",
            "attn_weight",
            "attn_output_weights",
            "attentions",
            "attn",
            "attention",
            "probs",
            "attn_probs",
            "attention_probs",
            "alpha",
            "a",
            "softmax",
            "p_attn",
        ],
    ),
    (Name::Stack(Stack::Heads), &["head_outputs", "head_output", "head_out", "heads_out", "z", "ctx"]),
    (Name::Concat, &["concatenated", "merged", "concat_heads", "context_layer"]),
    (Name::Output, &["out", "outputs", "y", "result", "final", "attn_output", "attention_output"]),
];

/// Names of what people leave in the same file.
const INPUTS: &[&str] = &[
    "x",
    "x_kv",
    "x_q",
    "x_k",
    "x_v",
    "input",
    "inputs",
    "memory",
    "tokens",
    "embeddings",
    "embedding",
    "mask",
    "masks",
    "attn_mask",
    "attention_mask",
    "causal_mask",
    "key_mask",
    "key_keep",
    "mask_keep",
    "key_padding",
    "key_padding_mask",
    "padding_mask",
    "bias",
    "positions",
    "sinks",
    "cos",
    "sin",
    "freqs",
    "scale",
    "in_proj_weight",
    "in_proj_bias",
    "out_proj_weight",
    "out_proj_bias",
];

/// What `called` stands for.
pub(super) fn meaning(called: &str) -> Meaning {
    let word = folded(called);
    let (sequence, rest) = counted(&word, "batch");
    let (head, rest) = counted(rest, "head");
    let own = ORDER.iter().find(|name| name.to_string() == rest).copied();
    let alias = || ALIASES.iter().find(|(_, aliases)| aliases.contains(&rest)).map(|(name, _)| *name);
    let found = match own.or_else(alias) {
        None if rest == "context" && head.is_some() => Some(Name::Stack(Stack::Heads)),
        None if rest == "context" && sequence.is_none() => return Meaning::Context,
        None if is_input(rest) => return Meaning::Input,
        found => found,
    };
    let name = match head {
        None => found,
        Some(_) => found.and_then(of_one_head),
    };
    let claim = match own {
        // one head's tensors have dots in their own names: head.2.scores
        Some(_) if head.is_some() || sequence.is_some() || rest == called => Claim::Own,
        Some(_) => Claim::Spelled,
        None => Claim::Alias,
    };
    name.map_or(Meaning::Unknown, |name| Meaning::Step(Part { name, sequence, head }, claim))
}

/// The stack to which one head's tensor belongs: `head.2.q` to q_heads.
fn of_one_head(name: Name) -> Option<Name> {
    Some(Name::Stack(match name {
        Name::Stack(stack) => stack,
        Name::Q => Stack::QHeads,
        Name::K => Stack::KHeads,
        Name::V => Stack::VHeads,
        Name::QNorm => Stack::QNorm,
        Name::KNorm => Stack::KNorm,
        Name::Output => Stack::Heads,
        _ => return None,
    }))
}

/// The step of our own name, whatever its capitals: what stands on the right of `--map`.
pub(super) fn own(word: &str) -> Option<Part> {
    match meaning(word) {
        Meaning::Step(part, Claim::Own | Claim::Spelled) => Some(part),
        _ => None,
    }
}

/// The whole step that a name of a plan belongs to, where it can be handed over: `head.1.q` belongs to q_heads.
pub(super) fn whole(name: Name) -> Option<Name> {
    match name {
        Name::Head(_, HeadStep::SinkWeight) => None,
        Name::Head(..) => own(&name.to_string()).map(|part| part.name),
        other => ORDER.contains(&other).then_some(other),
    }
}

/// What the name of a file says of the one tensor in it: `c029.output` and `weights` as they stand, `my_weights` by how
/// it ends. That a file has to do with attention (`self_attention`) says nothing of the step.
pub(super) fn in_a_stem(stem: &str) -> Meaning {
    let last = stem.rsplit('.').next().unwrap_or_default();
    if let Some(found) = [stem, last].map(meaning).into_iter().find(|found| *found != Meaning::Unknown) {
        return found;
    }
    let folded = folded(stem);
    // only what is left after a mark (`layout` ends with no `out`), and no single letter (`part_k`)
    let ends = folded.match_indices('_').map(|(at, _)| &folded[at + 1..]);
    let mut ends = ends.filter(|end| end.len() > 1 && !["attention", "attn"].contains(end));
    ends.find_map(|end| match meaning(end) {
        Meaning::Step(part, _) => Some(Meaning::Step(part, Claim::Alias)),
        Meaning::Context => Some(Meaning::Context),
        Meaning::Input | Meaning::Unknown => None,
    })
    .unwrap_or(Meaning::Unknown)
}

/// Whether it names a step that has no place among the answers: `average`, `sink_weight`, `head.1.tile.2.scores`.
pub(super) fn is_another_step(called: &str) -> bool {
    [called.to_owned(), format!("head.1.{called}")].iter().any(|id| id.parse::<StepId>().is_ok())
}

/// Small letters, and `_` for every `-`, blank and `.`.
pub(super) fn folded(called: &str) -> String {
    let mark = |c: char| if matches!(c, '-' | ' ' | '.' | '/') { '_' } else { c };
    called.trim().to_lowercase().chars().map(mark).collect()
}

/// The number after `kind` in front of a folded name, and what follows: 2 and `scores` of `head_2_scores`.
fn counted<'a>(word: &'a str, kind: &str) -> (Option<usize>, &'a str) {
    let parts = || {
        let rest = word.strip_prefix(kind)?;
        let rest = rest.strip_prefix('_').unwrap_or(rest);
        let (digits, rest) = rest.split_once('_')?;
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        Some((plain.then(|| digits.parse().ok())??, rest))
    };
    match parts() {
        Some((number, rest)) => (Some(number), rest),
        None => (None, word),
    }
}

fn is_input(word: &str) -> bool {
    let projection = |start: &str| {
        let rest = word.strip_prefix(start).map(|rest| rest.strip_prefix('_').unwrap_or(rest));
        rest.is_some_and(|rest| {
            ["q", "k", "v", "o", "qkv", "kv", "query", "key", "value", "out"].contains(&rest)
        })
    };
    INPUTS.contains(&word)
        || projection("w")
        || projection("b")
        || word.ends_with("_proj_weight")
        || word.ends_with("_proj_bias")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn step(called: &str, name: &str, head: Option<usize>, sequence: Option<usize>, claim: Claim) {
        let Meaning::Step(part, found) = meaning(called) else { panic!("{called}: {:?}", meaning(called)) };
        assert_eq!(
            (part.name.to_string().as_str(), part.head, part.sequence, found),
            (name, head, sequence, claim)
        );
    }

    #[test]
    fn capitals_and_marks_do_not_count() {
        step("scores", "scores", None, None, Claim::Own);
        step("Q", "q", None, None, Claim::Spelled);
        step("Masked-Scores", "masked_scores", None, None, Claim::Spelled);
        step("A", "weights", None, None, Claim::Alias);
        step("Attention Weights", "weights", None, None, Claim::Alias);
        step("attn.output", "output", None, None, Claim::Alias);
    }

    #[test]
    fn a_place_in_front_makes_it_one_heads_or_one_sequences() {
        step("head.2.scores", "scores", Some(2), None, Claim::Own);
        step("head.1.q", "q_heads", Some(1), None, Claim::Own);
        step("head.3.output", "heads", Some(3), None, Claim::Own);
        step("head_0_attn", "weights", Some(0), None, Claim::Alias);
        step("batch.2.head.1.k_norm", "k_norm_heads", Some(1), Some(2), Claim::Own);
        step("batch.1.concat", "concat", None, Some(1), Claim::Own);
        step("head_out", "heads", None, None, Claim::Alias);
        assert_eq!(meaning("head.1.concat"), Meaning::Unknown, "concat has no heads");
        assert_eq!(meaning("head.99999999999999999999.q"), Meaning::Unknown);
    }

    #[test]
    fn inputs_are_told_from_names_that_nobody_knows() {
        for input in
            ["x", "x_kv", "w_q", "W_O", "wq", "b_v", "out_proj.weight", "mask", "key_keep", "q_proj.bias"]
        {
            assert_eq!(meaning(input), Meaning::Input, "{input}");
        }
        for unknown in ["", "qkv", "foo", "head", "batch.1", "weight_s", "😀"] {
            assert_eq!(meaning(unknown), Meaning::Unknown, "{unknown}");
        }
        assert_eq!(meaning("Context"), Meaning::Context);
    }

    #[test]
    fn steps_that_are_not_compared_are_known() {
        for step in ["sink_weight", "average", "qkv", "head.1.tile.2.scores", "batch.1.head.3.sink_weight"] {
            assert!(is_another_step(step), "{step}");
        }
        assert!(!is_another_step("wieghts"));
    }

    #[test]
    fn no_name_means_two_things() {
        let mut words: Vec<&str> = ALIASES.iter().flat_map(|(_, aliases)| aliases.iter().copied()).collect();
        words.extend(INPUTS);
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
        assert!(ORDER.iter().all(|name| !words.contains(&name.to_string().as_str())));
    }

    #[test]
    fn a_files_name_ends_with_the_step() {
        let named = |stem: &str| match in_a_stem(stem) {
            Meaning::Step(part, _) => part.name.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(named("c029.output"), "output");
        assert_eq!(named("my_weights"), "weights");
        assert_eq!(named("run.masked_scores"), "masked_scores");
        assert_eq!(named("run.1.q"), "q");
        assert_eq!(named("q"), "q");
        assert_eq!(named("run.Attn-Weights"), "weights");
        assert_eq!(named("problem.mask"), "Input");
        assert_eq!(named("multi_head_attention"), "Unknown");
        assert_eq!(named("part_k"), "Unknown");
        assert_eq!(named("layout"), "Unknown");
        assert_eq!(named("c007"), "Unknown");
    }
}
