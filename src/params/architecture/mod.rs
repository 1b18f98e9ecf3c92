//! Whole models, counted to the last parameter from a `config.json`.
//!
//! An architecture is data: one YAML file a family in `families/`, which lists the tensors that the family's classes
//! allocate, under the names that checkpoints use, with shapes written as formulas over the config's own keys. This
//! module reads such a file, evaluates it with a config, and gives a [`Model`]: every tensor with its shape, group
//! and layer, every attention module with its heads, window and cache. Everything that `mha params` shows follows from
//! that.
//!
//! # A family file
//!
//! ```yaml
//! types: [llama, some_other]     # every model_type that is built by this file; the first names the file
//! like: decoder                  # another file to start from; what stands here is laid over it
//! name: Llama                    # class names begin with it: LlamaModel, LlamaForCausalLM
//! let:                           # names for formulas, in the field's words
//!   d_k: head_dim ?? d_model / h
//!   has_bias: attention_bias
//! defaults: {some_key: 4}        # only what `defaults.json` lacks
//! blocks:                        # modules with parameters, to be used below
//!   gated(d, f, bias=false):
//!     gate_proj: linear(d, f, bias)
//!     up_proj: linear(d, f, bias)
//!     down_proj: linear(f, d, bias)
//! prefix: model                  # where the base model sits inside the classes that have a head
//! tree:                          # the base model (LlamaModel): modules in their order
//!   embed_tokens: embedding(vocab_size, d_model)
//!   layers[num_hidden_layers]:   # a list of modules 0, 1, …; inside, `i` is the index
//!     self_attn:
//!       $attention: {}           # an attention module: h, g, d_k, d_v are looked up by these names
//!       q_proj: linear(d_model, h * d_k, has_bias)
//!       q_norm if use_qk_norm: rms_norm(d_k)          # a module that is there only on a condition
//!       o_proj: linear(h * d_v, d_model)
//!     mlp: moe(…) if i >= first_k_dense_replace else gated(d_model, intermediate_size)
//!   norm: rms_norm(d_model)
//! classes:                       # what each class adds beside the base model
//!   base: {}
//!   causal-lm: {lm_head: linear(d_model, vocab_size)}
//!   sequence-classification: {score: linear(d_model, num_labels)}
//! names: {causal-lm: LlamaLMHeadModel}                # class names that do not follow the rule
//! tied: {lm_head.weight: embed_tokens.weight if tie_word_embeddings}
//! ```
//!
//! **Keys of a tree** are module names, dotted where that is shorter (`self.query`); `{name}` inside one is the value of a
//! local name. `name[count]` repeats the module
//! with index `i`; `name[j < count]` names the index `j`; `name[i = from .. to]` starts elsewhere, `name[x in list]` takes every item. ` if condition` at
//! the end leaves it out. Keys that begin with `$` say something about the module they stand in:
//!
//! | key | meaning |
//! | --- | --- |
//! | `$let: {name: formula}` | local names, for this module and what is inside |
//! | `$attention: {heads, kv_heads, d_k, d_v, window, cache, cross, side, scores, extra}` | this module attends. Absent entries: `h`, `g`, `d_k` and `d_v` of the surroundings (`g` = `h` and `d_v` = `d_k` where there is no such name), no window, `cache: cached` (a family-wide name, `true` for decoders), `cross: false`. `scores` are further multiplications for each pair of positions (an indexer's), `extra` for each position. `cache` may be `false`, `true`, or `latent` (then `rank` and `rope` give the two widths, and `nope` the width of the unrotated part). Everything inside is grouped as attention, also norms, except `residual_norm(…)` |
//! | `$group: word` | the group of what is inside: `embedding`, `attention`, `feed-forward`, `experts`, `shared experts`, `router`, `mixer` (linear attention, state space, convolution inside a layer), `norm`, `pooler`, `head`, `projector`, `features` (patches, convolutions before the first layer), `other`. Short form at the end of a key: `router @router: linear(d, E)`. Where nothing is said: what `embedding(…)` holds is `embedding`, norms are `norm`, anything else in a list of layers is `feed-forward`, in `classes` it is `head`, elsewhere `other` |
//! | `$module: call` | the tensors of this call stand here, before the children: for a call that needs `$` keys beside it |
//! | `$frozen: true`, `name @frozen: …` | training leaves it as it is |
//! | `$experts: {of: E, active: k}` | what is inside is routed: k of E are used for a token |
//! | `$side: encoder` or `decoder` | which tokens go through it (encoder–decoder models; `decoder` unless said) |
//! | `$positions: 1` | it is applied to so many positions, not to all of a sequence (a pooler, a classification head); may name the sequence's own, `tokens`, linearly; 0 keeps it out of the work |
//! | `$applied: formula` | the same weights are applied so many times, one after another (ALBERT) |
//! | `$shared: formula` | modules of the same path pattern and the same value here are one module: its tensors count once |
//!
//! **Values of a tree** are modules: a map, a call of a block, a call of a built-in, `null` (nothing), or
//! `… if … else …` of those. Built-in modules, with the tensors they hold:
//!
//! | call | tensors |
//! | --- | --- |
//! | `linear(in, out, bias=false)` | `weight` out × in, `bias` out |
//! | `transposed_linear(in, out, bias=true)` | `weight` in × out (GPT-2's Conv1D), `bias` out |
//! | `embedding(count, width)` | `weight` count × width |
//! | `layer_norm(width, bias=true)` · `rms_norm(width)` | `weight`, `bias` · `weight` |
//! | `residual_norm(width, bias=true)` | a layer norm that some classes keep inside the attention module; grouped as norm |
//! | `conv(in, out, [k, …], groups=1, bias=true)` | `weight` out × in/groups × k…, `bias` out |
//! | `tensor(n, …)` | the tensor itself, no suffix; `tensor()` is one number |
//! | `matrix(n, …)` | the same, and it is multiplied with each token (stacked experts, a projection without a module) |
//! | `family(config, 'type', class='base')` | another family's model with a config inside the config (`text_config`); the type is what its `model_type` is when absent |
//!
//! **Formulas** are written as in Python: `+ - * / // % **`, comparisons (chains are not), `and or not`, `a if c else b`,
//! `in`, `[list, items]`, `list[i]` (negative from the end), `'text'`, `null true false`, `config.key`. Besides:
//! `a ?? b` is b where a is null; `/` must come out whole for whole numbers (a fault names both otherwise), `//` rounds
//! down, `**` is power. A name may stand for nothing at the left of `??` only. Functions: `len(x)`, `sum(x)`, `min(…)`, `max(…)`, `round_up(x, multiple)`, `ceil_div(a, b)`,
//! `int(x)` (of a float, toward zero), `round(x)`, `range(n)`, `given('key')` (whether the config states it, null or not),
//! `list(x, n)` (x itself where it is a list, else n times x), `count(list, x)` (how many items equal x), `fault('text')`
//! (refuses the config), `[formula for x in list]`, `starts_with(text, part)`, `contains(text, part)`.
//! A name is looked up as: index or block parameter, `$let`, the family's `let`, then the config's key (through the type's
//! aliases; what is absent is the type's default, and what has none is a fault). `class` is the kind of class being built
//! (`'base'`, `'causal-lm'`), `class_name` its name, `model_type` the config's, `config` the whole config. Of the names in `let`
//! the report itself reads `d_model`, `cached`, `usual_length` and `usual_source` (lengths that are always the same: patches of
//! a picture) and `counts_work` (false where stages shrink the sequence). `num_labels` follows `id2label`.
//!
//! **Laying over** (`like`): maps are merged by module name; a key without `[…]` or ` if …` keeps the parent's; a value of
//! `null` takes the parent's module away; anything else replaces it, keeping its place. `let`, `blocks`, `classes`,
//! `names` and `tied` are merged by name. Names in `let` are evaluated when used, so a child's `d_k` reaches the
//! parent's tree.

mod arithmetic;
mod built_in;
pub mod cache;
pub mod change;
pub(crate) mod config;
mod expand;
mod family;
pub mod figures;
pub mod flops;
mod formula;
mod functions;
pub mod model;
pub mod parallel;
pub mod presets;
pub mod runs;
mod scope;
mod spot;
mod tree;
mod value;
pub mod variants;
pub mod work;

use serde_json::Value as Json;

pub use config::Source;
pub use model::{Attention, Cache, Fact, Group, Model, Positions, Side, Size, Stack, Tensor};

use crate::fault::{Fault, Faults, Outcome, Place};
use config::Config;
use family::Family;
use scope::Scope;
use value::Map;

/// What is asked of a config.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// The kind (`causal-lm`) or the name (`LlamaForCausalLM`) of the class, where not the one that the config names.
    pub class: Option<String>,
    /// The family to read the config as, where not the one of its `model_type`.
    pub family: Option<String>,
}

/// Counts a config: every tensor that its class allocates.
///
/// # Errors
/// It is no config, its type or class is not known, or its values make no model; the fault has the key's path.
pub fn build(config: &Json, asked: &Asked) -> Outcome<Model> {
    let Json::Object(given) = config else {
        let why = "its keys say what to build";
        return Err(Fault::new(
            "a config is a JSON object of keys and values",
            why,
            "see whether it is the right file",
        )
        .into());
    };
    let at = |path: &str| Place { path: path.to_owned(), ..Place::default() };
    let model_type = match (&asked.family, given.get("model_type")) {
        (Some(family), _) => family.clone(),
        (None, Some(Json::String(model_type))) => model_type.clone(),
        (None, Some(_)) => {
            let remedy = "a type in quotation marks; `mha params --list families` names them";
            return Err(Fault::new("model_type is no text", "it names the architecture", remedy)
                .at(at("model_type"))
                .into());
        }
        (None, None) => {
            return Err(Fault::new(
                "the config has no model_type",
                "it names the architecture, and what is not known is not guessed",
                "add it, or say --as TYPE with a type that `mha params --list families` names",
            )
            .into());
        }
    };
    let unknown = || match &asked.family {
        Some(_) => Faults(
            unknown_type(&model_type)
                .0
                .into_iter()
                .map(|fault| fault.at(Place { source: "--as".into(), ..Place::default() }))
                .collect(),
        ),
        None => unknown_type(&model_type),
    };
    let family = Family::of_type(&model_type).unwrap_or_else(|| Err(unknown()))?;
    let (kind, class) = class(&family, &model_type, given, asked)?;
    let map = Map { given: given.clone(), ..Map::default() };
    let config = Config::new(map, &model_type, &family.defaults);
    let mut scope = Scope::new(config, family, &kind, &class);
    scope.insisted = asked.family.is_some();
    let mut found = expand::Found::default();
    expand::class(&mut scope, &mut found)?;
    if !scope.insisted {
        understood(&scope)?;
    }
    let model = finish(scope, found)?;
    // whoever counts further may rely on a total that fits
    model.parameters()?;
    Ok(model)
}

/// Refuses a config with a key that changes models and that its class does not know.
fn understood(scope: &Scope) -> Outcome<()> {
    let is_read = |key: &str| scope.read_keys().any(|read| read == key);
    let path = &scope.config.map.path;
    let inside = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let read: Vec<&str> = scope.read_keys().collect();
    if let Some((typed, near)) = config::misspelt(&scope.config, read.iter().copied()) {
        let why =
            format!("a model of type {} has no such key, and {near} is not stated", scope.config.model_type);
        let fault = Fault::new(
            format!("{typed} is not known"),
            why,
            format!("{near}? If it is meant as it stands, state {near} too"),
        );
        return Err(fault.at(Place { path: inside(typed), ..Place::default() }).into());
    }
    let Some(key) = config::not_understood(&scope.config, is_read) else { return Ok(()) };
    let model_type = &scope.config.model_type;
    let remedy = match config::type_with(key, model_type) {
        Some(near) => format!("the nearest type that has it is {near}; --as {model_type} counts without it"),
        None => format!("--as {model_type} counts without it"),
    };
    Err(Fault::new(
        format!("a model of type {model_type} has no {key}"),
        "the key gives a model parts that the class named here does not build",
        remedy,
    )
    .at(Place { path: key.to_owned(), ..Place::default() })
    .into())
}

/// Every model type that can be counted.
pub fn known_types() -> Vec<&'static str> {
    Family::known_types()
}

/// The kinds of classes that a model type has.
pub fn kinds_of(model_type: &str) -> Vec<String> {
    match Family::of_type(model_type) {
        Some(Ok(family)) => family.kinds().map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

fn unknown_type(model_type: &str) -> Faults {
    let shown: String = model_type.chars().take(60).collect();
    let known = Family::known_types();
    let near = config::nearest_type(&shown, known.iter().copied());
    let remedy = match near {
        Some(near) => format!("the nearest known type is {near}; add --as {near} if it is built like one"),
        None => {
            "add --as TYPE if it is built like a type that is known; `mha params --list families` names those"
                .to_owned()
        }
    };
    Fault::new(format!("the model type {shown} is not known"), "what is not known is not guessed", remedy)
        .at(Place { path: "model_type".into(), ..Place::default() })
        .into()
}

/// The kind and the name of the class that is asked for.
fn class(
    family: &Family,
    model_type: &str,
    given: &serde_json::Map<String, Json>,
    asked: &Asked,
) -> Outcome<(String, String)> {
    let named = match (&asked.class, given.get("architectures")) {
        (Some(class), _) => class.clone(),
        (None, Some(Json::Array(classes))) if classes.first().is_some_and(Json::is_string) => {
            classes[0].as_str().unwrap_or_default().to_owned()
        }
        (None, Some(_)) => {
            return Err(Fault::new(
                "architectures is no list of names",
                "its first entry is the class to count",
                format!(
                    "for example [\"{}\"]",
                    family.class_names(family.kinds().last().unwrap_or("base"), model_type).join(" or ")
                ),
            )
            .at(Place { path: "architectures".into(), ..Place::default() })
            .into());
        }
        (None, None) => {
            return Err(Fault::new(
                "the config names no class in architectures",
                "classes of one architecture have different heads, so their counts differ",
                format!("say --class with one of: {}", family.kinds().collect::<Vec<_>>().join(", ")),
            )
            .into());
        }
    };
    if family.kinds().any(|kind| kind == named) {
        let class = family.class_names(&named, model_type).into_iter().next().unwrap_or_default();
        return Ok((named, class));
    }
    // read as another family, a class is that family's of the same kind
    let own_type = given.get("model_type").and_then(Json::as_str).unwrap_or_default();
    let of_own_family = || match Family::of_type(own_type) {
        Some(Ok(own)) => own.kind_of(&named, own_type).map(str::to_owned),
        _ => family.kinds().find(|kind| named.ends_with(&family::suffix(kind))).map(str::to_owned),
    };
    if asked.family.is_some()
        && family.kind_of(&named, model_type).is_none()
        && let Some(kind) = of_own_family().filter(|kind| family.kinds().any(|known| known == kind))
    {
        let class = family.class_names(&kind, model_type).into_iter().next().unwrap_or_default();
        return Ok((kind, class));
    }
    match family.kind_of(&named, model_type) {
        Some(kind) => Ok((kind.to_owned(), named)),
        None => {
            let known: Vec<String> = family
                .kinds()
                .map(|kind| format!("{kind} ({})", family.class_names(kind, model_type).join(", ")))
                .collect();
            let what = format!(
                "the class {} of type {model_type} is not known",
                named.chars().take(60).collect::<String>()
            );
            let remedy = format!("say --class with one of: {}", known.join(", "));
            let fault = Fault::new(
                what,
                "classes of one architecture have different heads, so their counts differ",
                remedy,
            );
            let place = if asked.class.is_some() {
                Place { source: "--class".into(), ..Place::default() }
            } else {
                Place { path: "architectures".into(), ..Place::default() }
            };
            Err(fault.at(place).into())
        }
    }
}

/// Numbers the layers: lists that hold attention are stacks; where nothing attends, lists of mixers, or else all lists.
fn finish(mut scope: Scope, mut found: expand::Found) -> Outcome<Model> {
    let any_mixer = found.tensors.iter().any(|tensor| tensor.group == Group::Mixer);
    let holds = |list: usize| {
        let attends = found.attention_lists.iter().any(|at| at.is_some_and(|(l, _)| l == list));
        let mixes = found
            .tensors
            .iter()
            .zip(&found.tensor_lists)
            .any(|(tensor, at)| tensor.group == Group::Mixer && at.is_some_and(|(l, _)| l == list));
        attends || (found.attention.is_empty() && (mixes || !any_mixer))
    };
    let mut stacks: Vec<Stack> = Vec::new();
    let mut firsts: Vec<Option<usize>> = Vec::new();
    let mut next = 1;
    for (list, (path, count)) in found.lists.iter().enumerate() {
        if !holds(list) {
            firsts.push(None);
            continue;
        }
        let layers = usize::try_from(*count).unwrap_or(usize::MAX);
        firsts.push(Some(next));
        stacks.push(Stack { path: path.clone(), first: next, layers });
        next += layers;
    }
    let number = |at: &Option<(usize, u64)>| {
        let (list, index) = (*at)?;
        Some(firsts.get(list).copied().flatten()? + usize::try_from(index).ok()?)
    };
    for (tensor, at) in found.tensors.iter_mut().zip(&found.tensor_lists) {
        tensor.layer = number(at);
    }
    for (attention, at) in found.attention.iter_mut().zip(&found.attention_lists) {
        attention.layer = number(at);
    }
    if stacks.iter().all(|stack| stack.layers == 0) {
        return Err(no_layers(&scope));
    }
    let context = ["max_position_embeddings", "n_positions", "max_target_positions", "max_seq_len"]
        .iter()
        .find_map(|key| match scope.config.get(key) {
            Ok(Some((value::Value::Whole(whole), Source::Stated))) => u64::try_from(whole.value).ok(),
            _ => None,
        });
    let mut named = |name: &str| match scope.named(name) {
        Ok(Some(value::Value::Whole(whole))) => u64::try_from(whole.value).ok().filter(|value| *value > 0),
        _ => None,
    };
    let (d_model, usual_length, usual_source) =
        (named("d_model"), named("usual_length"), named("usual_source"));
    let counts_work = !matches!(scope.named("counts_work"), Ok(Some(value::Value::Bool(false))));
    let given = &scope.config.map.given;
    let text = |value: Option<&Json>| value.and_then(Json::as_str).map(str::to_owned);
    let dtype = text(given.get("dtype").or(given.get("torch_dtype")));
    let packed = text(given.get("quantization_config").and_then(|map| map.get("quant_method")));
    let facts = scope
        .facts
        .iter()
        .map(|(key, value, source)| Fact { key: key.to_string(), value: value.to_string(), source: *source })
        .collect();
    Ok(Model {
        model_type: scope.config.model_type.clone(),
        family: scope.family.name.clone(),
        kind: scope.kind.clone(),
        class: scope.class_name.clone(),
        tensors: found.tensors,
        tied: found.tied,
        attention: found.attention,
        stacks,
        facts,
        context,
        d_model,
        usual_length,
        usual_source,
        stored_as: (dtype, packed),
        counts_work,
    })
}

fn no_layers(scope: &Scope) -> Faults {
    let nothing = |value: &value::Value| matches!(value, value::Value::Whole(whole) if whole.value == 0);
    let key = scope.facts.iter().find(|(key, value, source)| {
        *source == Source::Stated && (key.contains("layer") || key.contains("depth")) && nothing(value)
    });
    let path = key.map_or_else(String::new, |(key, ..)| key.to_string());
    Fault::new("the model has no layers", "there is nothing to count in it", "give at least one layer")
        .at(Place { path, ..Place::default() })
        .into()
}
