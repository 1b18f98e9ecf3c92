//! Every model of the reference, counted from its config, against what its class allocates: tensor by tensor, layer by
//! layer, cache and FLOPs. All of it is equal, but for the differences that [`KNOWN`] explains.

#![expect(clippy::unwrap_used, reason = "a reference that cannot be read has nothing to decide")]

#[path = "architectures/by_hand.rs"]
mod by_hand;
#[path = "architectures/compare.rs"]
mod compare;
#[path = "architectures/families.rs"]
mod families;
#[path = "architectures/golden.rs"]
mod golden;
#[path = "architectures/laws.rs"]
mod laws;

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::thread;

use mha::params::architecture::{Asked, Model, build, known_types};
use serde_json::Value;

use compare::Compared;
use golden::Entry;

/// Differences that are understood: model, field, reason. One that is gone must be taken off.
const KNOWN: [(&str, &str, &str); 18] = [
    // The reference measures what a class multiplies as it is written; here a pass is counted as it is defined.
    (
        "longt5-local-base",
        "FLOPs of scores",
        "16 tokens are padded to a block of 128, which looks at three blocks",
    ),
    ("longt5-local-base", "FLOPs of everything", "the same"),
    (
        "default-pegasus_x",
        "FLOPs of projections",
        "16 tokens are padded to a block of 512, beside global tokens",
    ),
    ("default-pegasus_x", "FLOPs of scores", "the same"),
    ("default-pegasus_x", "FLOPs of everything", "the same"),
    // Mixers: their projections are counted, the recurrence between them is no matrix product of the definition.
    ("lfm2-1.2b", "FLOPs of everything", "short convolutions count there, over two padded positions more"),
    (
        "recurrentgemma-2b",
        "FLOPs of everything",
        "short convolutions count there, over three padded positions more",
    ),
    ("bamba-9b", "FLOPs of everything", "the state-space scan is written as products over chunks of 256"),
    ("falcon-h1-default", "FLOPs of everything", "the state-space scan is written as products over chunks"),
    ("nemotron-h-56b", "FLOPs of everything", "the state-space scan is written as products over chunks"),
    ("default-zamba2", "FLOPs of everything", "the state-space scan is written as products over chunks"),
    ("default-olmo_hybrid", "FLOPs of everything", "the delta rule is written as products over chunks of 64"),
    (
        "default-qwen3_5_text",
        "FLOPs of everything",
        "the delta rule is written as products over chunks of 64",
    ),
    ("qwen3.5-27b-text", "FLOPs of everything", "the delta rule is written as products over chunks of 64"),
    ("gemma-3n-text", "FLOPs of everything", "AltUp mixes its four copies by products of activations"),
    // The measurement itself: a first try failed after the embeddings, and they were counted with the second try.
    ("electra-small-discriminator", "FLOPs of everything", "the projection of embeddings counts there twice"),
    ("mobilebert-uncased", "FLOPs of everything", "the projection of embeddings counts there twice"),
    ("default-roc_bert", "FLOPs of everything", "the layer that joins three embeddings counts there twice"),
];

/// What one config came to.
struct Outcome {
    name: String,
    file: String,
    fields: Vec<Compared>,
    /// Everything that the model consists of, to be compared with its other spelling.
    parts: Vec<String>,
    /// Laws that it breaks.
    broken: Vec<String>,
}

/// Every config of the reference, counted once for all tests of this file.
static OUTCOMES: LazyLock<Vec<Outcome>> = LazyLock::new(|| {
    let entries = golden::entries();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let of = |worker| entries.iter().skip(worker).step_by(workers).flat_map(outcomes).collect::<Vec<_>>();
        let running: Vec<_> = (0..workers).map(|worker| scope.spawn(move || of(worker))).collect();
        running.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    })
});

fn outcomes(entry: &Entry) -> Vec<Outcome> {
    let of = |(file, config): &(String, Value)| {
        let (name, file) = (entry.name.clone(), file.clone());
        match build(config, &Asked::default()) {
            Ok(model) => {
                let fields = compare::all(&entry.golden, &model, || base(config));
                Outcome { name, file, fields, parts: parts(&model), broken: laws::broken(config, &model) }
            }
            Err(faults) => {
                let fields = vec![("class", Some(faults.to_string()))];
                Outcome { name, file, fields, parts: Vec::new(), broken: Vec::new() }
            }
        }
    };
    entry.configs.iter().map(of).collect()
}

fn base(config: &Value) -> Result<Model, String> {
    build(config, &Asked { class: Some("base".into()), family: None }).map_err(|faults| faults.to_string())
}

/// Everything that the model consists of, a line each.
fn parts(model: &Model) -> Vec<String> {
    let tensors = model.tensors.iter().map(|tensor| {
        let shape: Vec<u64> = tensor.shape.iter().map(|size| size.value()).collect();
        let (same_as, experts) = (&tensor.same_as, tensor.experts);
        format!("{} {shape:?} {} {:?} {same_as:?} {experts:?}", tensor.name, tensor.group, tensor.product)
    });
    let attention = model.attention.iter().map(|attention| {
        let (h, g) = (attention.num_heads.value(), attention.num_kv_heads.value());
        let (d_k, d_v) = (attention.d_k.value(), attention.d_v.value());
        let (window, cache) = (attention.window, attention.cache);
        format!("{} {h} {g} {d_k} {d_v} {window:?} {cache:?} {}", attention.path, attention.cross)
    });
    tensors.chain(attention).collect()
}

fn known(name: &str, field: &str) -> bool {
    KNOWN.iter().any(|(model, known, _)| (*model, *known) == (name, field))
}

#[test]
#[expect(clippy::print_stderr, reason = "how many are exact is what the report is about")]
fn every_config_gives_what_its_class_allocates() {
    let mut exact: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for outcome in OUTCOMES.iter() {
        for (field, differs) in &outcome.fields {
            let (equal, of) = exact.entry(field).or_default();
            *of += 1;
            *equal += usize::from(differs.is_none());
            match differs {
                Some(how) if !known(&outcome.name, field) => {
                    let how: String = how.chars().take(300).collect();
                    wrong.push(format!("{}: {field}: {how}", outcome.file));
                }
                None if known(&outcome.name, field) => {
                    wrong.push(format!("{}: {field} is right now: take it off the list", outcome.file));
                }
                _ => {}
            }
        }
    }
    for (field, (equal, of)) in exact {
        eprintln!("{field}: {equal} of {of} exact");
    }
    assert_eq!(OUTCOMES.len(), 405);
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_known_difference_is_one_of_the_reference() {
    for (name, field, reason) in KNOWN {
        let is_compared = |outcome: &Outcome| outcome.fields.iter().any(|(compared, _)| *compared == field);
        assert!(OUTCOMES.iter().any(|o| o.name == name && is_compared(o)), "{name}, {field}: {reason}");
    }
}

#[test]
fn every_model_keeps_the_laws_that_hold_for_all() {
    let broken: Vec<String> =
        OUTCOMES.iter().flat_map(|o| o.broken.iter().map(|law| format!("{}: {law}", o.file))).collect();
    assert!(broken.is_empty(), "{} laws broken:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn both_spellings_of_a_config_give_the_same_model() {
    let mut pairs = 0;
    for pair in OUTCOMES.windows(2).filter(|pair| pair[0].name == pair[1].name) {
        pairs += 1;
        let differs = pair[0].parts.iter().zip(&pair[1].parts).find(|(one, other)| one != other);
        assert_eq!(differs, None, "{} and {}", pair[0].file, pair[1].file);
        assert_eq!(pair[0].parts.len(), pair[1].parts.len(), "{} and {}", pair[0].file, pair[1].file);
    }
    assert_eq!(pairs, 158);
}

#[test]
fn every_model_type_of_the_reference_is_known() {
    let known = known_types();
    for entry in golden::entries() {
        let model_type = entry.golden["model_type"].as_str().unwrap();
        assert!(known.contains(&model_type), "{model_type}");
    }
}
