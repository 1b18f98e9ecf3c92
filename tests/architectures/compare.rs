//! A model beside its entry in the reference, field by field.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use mha::params::architecture::cache::{self, Kind, Row};
use mha::params::architecture::flops::Lengths;
use mha::params::architecture::{Group, Model, Size, Tensor};
use serde_json::Value;

use super::golden::{layers, tensors};

/// A field's name, and where it differs how.
pub(crate) type Compared = (&'static str, Option<String>);

/// Everything that the entry says, compared. `base` is the same config's model without a head.
pub(crate) fn all(
    golden: &Value,
    model: &Model,
    base: impl FnOnce() -> Result<Model, String>,
) -> Vec<Compared> {
    let number = |key: &str| golden[key].as_u64();
    let mut all = vec![
        ("class", same(model.class.as_str(), golden["cls"].as_str().unwrap())),
        ("total", same(model.parameters().unwrap(), number("total_params").unwrap())),
        ("frozen", same(count(model, |t| t.frozen), number("non_trainable_params").unwrap_or(0))),
        (
            "attention total",
            same(count(model, |t| t.group == Group::Attention), number("attention_params_total").unwrap()),
        ),
        ("attention modules", attention_modules(golden, model)),
        ("layers", layer_by_layer(golden, model)),
        ("outside layers", outside_layers(golden, model)),
    ];
    if let Some(active) = number("active_params") {
        all.push(("active", same(model.active_parameters().unwrap(), active)));
    }
    if golden["base_model"].is_object() {
        all.push(("base class", without_head(&golden["base_model"], base)));
    }
    caches(golden, model, &mut all);
    if golden["flops"].is_object() {
        flops(&golden["flops"], model, &mut all);
    }
    all
}

fn same<T: PartialEq + Debug>(ours: T, golden: T) -> Option<String> {
    (ours != golden).then(|| format!("{ours:?}, but it is {golden:?}"))
}

/// The first key whose values differ.
fn same_maps<K: Ord + Debug, V: PartialEq + Debug>(
    ours: &BTreeMap<K, V>,
    golden: &BTreeMap<K, V>,
) -> Option<String> {
    let key = golden.keys().chain(ours.keys()).find(|key| ours.get(key) != golden.get(key))?;
    let shown = |value: Option<&V>| value.map_or("nothing".to_owned(), |value| format!("{value:?}"));
    Some(format!("{key:?}: {}, but it is {}", shown(ours.get(key)), shown(golden.get(key))))
}

fn count(model: &Model, wanted: impl Fn(&Tensor) -> bool) -> u64 {
    model.sum(wanted).unwrap()
}

fn shape(tensor: &Tensor) -> Vec<u64> {
    tensor.shape.iter().map(Size::value).collect()
}

/// A path with `*` for each index, and the first index: the layer, from 0.
fn pattern(path: &str) -> (String, u64) {
    let mut layer = None;
    let part = |part: &str| match part.parse::<u64>() {
        Ok(index) => {
            layer.get_or_insert(index);
            "*".to_owned()
        }
        Err(_) => part.to_owned(),
    };
    let parts: Vec<String> = path.split('.').map(part).collect();
    (parts.join("."), layer.unwrap_or(0))
}

/// Modules of one path and layer: the parameters of each and the tensors of each.
type Modules = BTreeMap<(String, u64), Vec<(u64, BTreeMap<String, Vec<u64>>)>>;

/// Every attention module with its tensors, layer by layer.
fn attention_modules(golden: &Value, model: &Model) -> Option<String> {
    let mut wanted = Modules::new();
    for row in golden["attention"].as_array().unwrap() {
        let at = layers(&row["layers"]);
        let each = (row["params_each"].as_u64().unwrap(), tensors(&row["tensors"]));
        // a layer with two such modules stands once in `layers`
        let times = row["count"].as_u64().unwrap() as usize / at.len();
        for layer in at {
            let modules = wanted.entry((row["module"].as_str().unwrap().to_owned(), layer)).or_default();
            modules.extend(std::iter::repeat_n(each.clone(), times));
        }
    }
    let mut ours = Modules::new();
    for (index, attention) in model.attention.iter().enumerate() {
        let inside = format!("{}.", attention.path);
        let held = model.tensors.iter().filter_map(|t| Some((t.name.strip_prefix(&inside)?, t)));
        let held: BTreeMap<String, Vec<u64>> = held.map(|(name, t)| (name.to_owned(), shape(t))).collect();
        let own = model.tensors.iter().filter(|t| t.attention == Some(index) && t.group == Group::Attention);
        ours.entry(pattern(&attention.path)).or_default().push((own.map(|t| t.count).sum(), held));
    }
    for modules in ours.values_mut().chain(wanted.values_mut()) {
        modules.sort();
    }
    same_maps(&ours, &wanted)
}

/// The parameters of every layer of every list of layers.
fn layer_by_layer(golden: &Value, model: &Model) -> Option<String> {
    let mut wanted: BTreeMap<(&str, u64), u64> = BTreeMap::new();
    for (path, runs) in golden["layer_stacks"].as_object().unwrap() {
        for run in runs.as_array().unwrap() {
            let (at, each) = (&run["layers"], run["params_each"].as_u64().unwrap());
            wanted.extend(
                (at[0].as_u64().unwrap()..=at[1].as_u64().unwrap()).map(|at| ((path.as_str(), at), each)),
            );
        }
    }
    let mut ours = BTreeMap::new();
    for stack in &model.stacks {
        for run in model.runs(stack).unwrap() {
            let layers = (run.from..=run.to).map(|layer| layer as u64 - 1);
            ours.extend(layers.map(|layer| ((stack.path.as_str(), layer), run.parameters_each)));
        }
    }
    same_maps(&ours, &wanted)
}

/// Every tensor that is in no layer; a tied one may go by any of its names.
fn outside_layers(golden: &Value, model: &Model) -> Option<String> {
    let outside = model.tensors.iter().filter(|tensor| tensor.layer.is_none() && tensor.same_as.is_none());
    if !golden["outside_layers"].is_object() {
        return same(outside.map(|t| t.count).sum(), golden["outside_layers_params"].as_u64().unwrap());
    }
    let wanted = tensors(&golden["outside_layers"]);
    let names = other_names(golden, model);
    let known_as = |name: &str| {
        let others = names.get(name).into_iter().flatten();
        std::iter::once(name)
            .chain(others.map(String::as_str))
            .find(|name| wanted.contains_key(*name))
            .unwrap_or(name)
            .to_owned()
    };
    let ours = outside.map(|tensor| (known_as(&tensor.name), shape(tensor))).collect();
    same_maps(&ours, &wanted)
}

/// For each tensor all the names that it goes by, here or there.
fn other_names(golden: &Value, model: &Model) -> HashMap<String, Vec<String>> {
    let theirs = golden["tied"].as_array().into_iter().flatten();
    let theirs = theirs.filter_map(|pair| Some((pair[0].as_str()?.to_owned(), pair[1].as_str()?.to_owned())));
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    for (one, other) in model.tied.iter().cloned().chain(theirs) {
        let mut all = names.get(&one).cloned().unwrap_or_else(|| vec![one]);
        all.extend(names.get(&other).cloned().unwrap_or_else(|| vec![other]));
        for name in &all {
            names.insert(name.clone(), all.clone());
        }
    }
    names
}

fn without_head(golden: &Value, base: impl FnOnce() -> Result<Model, String>) -> Option<String> {
    match base() {
        Ok(base) => same(
            (base.class.as_str(), base.parameters().unwrap()),
            (golden["cls"].as_str().unwrap(), golden["params"].as_u64().unwrap()),
        ),
        Err(fault) => Some(fault),
    }
}

/// Generative classes: `null` means there that nobody has modelled their cache.
const WRITERS: [&str; 4] = ["CausalLM", "LMHead", "ForConditionalGeneration", "GenerationDecoder"];

fn caches(golden: &Value, model: &Model, all: &mut Vec<Compared>) {
    let wanted = &golden["kv_cache"];
    let plan = model.cache();
    if wanted.is_null() {
        let class = golden["cls"].as_str().unwrap();
        if !WRITERS.iter().any(|word| class.contains(word)) {
            all.push(("no cache", same(plan.is_some(), false)));
        }
        return;
    }
    let plan = plan.unwrap_or_default();
    let bytes = |numbers: mha::fault::Outcome<u64>| 2 * numbers.unwrap(); // float16
    let number = |key: &str| wanted[key].as_u64();
    let of_a_token = number("bytes_per_token_fp16").unwrap();
    let beyond = number("bytes_per_token_fp16_beyond_window").unwrap_or(of_a_token);
    let cross = number("cross_bytes_per_encoder_token_fp16").unwrap_or(0);
    let all_of = |tokens: u64| wanted["bytes_fp16_batch1"][tokens.to_string()].as_u64().unwrap();
    all.extend([
        ("cache rows", cache_rows(&wanted["layers"], &plan.own)),
        ("cross cache rows", cache_rows(&wanted["cross_layers"], &plan.cross)),
        ("cache a token", same(bytes(cache::numbers(&plan.own, 1)), of_a_token)),
        ("cache beyond windows", same(bytes(cache::numbers_beyond_windows(&plan.own)), beyond)),
        ("cache of 1024", same(bytes(cache::numbers(&plan.own, 1024)), all_of(1024))),
        ("cache of 32768", same(bytes(cache::numbers(&plan.own, 32768)), all_of(32768))),
        ("cross cache a token", same(bytes(cache::numbers(&plan.cross, 1)), cross)),
    ]);
    if let Some(expanded) = number("expanded_bytes_per_token_fp16") {
        all.push(("latent expanded", same(bytes(cache::expanded_numbers(&plan.own)), expanded)));
    }
}

/// Heads and width.
type Width = (u64, u64);

/// What is kept as keys and as values. The rotated part of a latent may be told apart from the rest or not.
fn widths(kind: &str, k: Width, v: Width) -> (Width, Width) {
    if kind == "latent" { ((1, k.0 * k.1 + v.0 * v.1), (0, 0)) } else { (k, v) }
}

/// A kind of cache (keys, values, window) and how many layers keep it; the layers too, where they are known.
fn cache_rows(golden: &Value, ours: &[Row]) -> Option<String> {
    let pair =
        |value: &Value| value.as_array().map_or((0, 0), |p| (p[0].as_u64().unwrap(), p[1].as_u64().unwrap()));
    let golden = golden.as_array().map_or(&[][..], Vec::as_slice);
    let cached = golden.iter().filter(|row| row["kind"] != "none");
    let mut wanted = BTreeMap::new();
    for row in cached.clone() {
        let (kind, window) = (row["kind"].as_str().unwrap(), row["window"].as_u64());
        let (k, v) = widths(kind, pair(&row["k"]), pair(&row["v"]));
        let (count, at): &mut (u64, Vec<u64>) = wanted.entry((kind, k, v, window)).or_default();
        *count += row["count"].as_u64().unwrap();
        at.extend(row.get("layers").map(layers).unwrap_or_default());
        at.sort_unstable();
    }
    let layers_known = cached.clone().all(|row| row.get("layers").is_some());
    let mut have = BTreeMap::new();
    for row in ours {
        let window = match row.kind {
            Kind::Sliding(window) => Some(window),
            Kind::Full | Kind::Latent => None,
        };
        let (k, v) = widths(row.kind.name(), row.k, row.v);
        let (count, at): &mut (u64, Vec<u64>) = have.entry((row.kind.name(), k, v, window)).or_default();
        *count += row.layers.len() as u64;
        if layers_known {
            at.extend(row.layers.iter().map(|layer| *layer as u64 - 1));
            at.sort_unstable();
        }
    }
    same_maps(&have, &wanted)
}

fn flops(wanted: &Value, model: &Model, all: &mut Vec<Compared>) {
    let source = wanted["seq"].as_u64().unwrap();
    let target = wanted["decoder_seq"].as_u64().unwrap_or(source);
    let lengths = Lengths { target, context: target, source, source_context: source };
    let products = model.products(lengths).unwrap();
    let number = |key: &str| wanted[key].as_u64().unwrap();
    all.push(("FLOPs of projections", same(2 * products.attention_linear, number("attention_linear"))));
    all.push(("FLOPs of scores", same(2 * products.attention_scores, number("attention_matmul"))));
    if wanted["whole_model_matmul"].is_u64() {
        all.push(("FLOPs of everything", same(2 * products.all().unwrap(), number("whole_model_matmul"))));
    }
}
