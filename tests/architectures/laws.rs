//! What holds for every model, whatever its sizes.

use std::collections::BTreeMap;

use mha::params::architecture::cache::{self, Kind};
use mha::params::architecture::change::changed;
use mha::params::architecture::flops::Products;
use mha::params::architecture::work::Run;
use mha::params::architecture::{Asked, Group, Model, Size, Tensor, build};
use mha::params::{Dtype, Key};
use serde_json::Value;

/// A law: nothing, or how it is broken.
type Law = Result<(), String>;

/// Every law that a model breaks.
pub(crate) fn broken(config: &Value, model: &Model) -> Vec<String> {
    let laws = [
        groups_add_up(model),
        layers_and_the_rest_add_up(model),
        no_token_uses_more_than_there_is(model),
        a_mask_only_saves(model),
        devices_together_hold_everything(model),
        the_cache_grows_by_its_two_slopes(model),
        key_value_heads_change_keys_and_values_only(config, model),
    ];
    laws.into_iter().filter_map(Law::err).collect()
}

fn holds(law: bool, broken: impl FnOnce() -> String) -> Law {
    if law { Ok(()) } else { Err(broken()) }
}

fn groups_add_up(model: &Model) -> Law {
    let groups: u64 = Group::ALL.iter().map(|group| model.sum(|t| t.group == *group).unwrap()).sum();
    let total = model.parameters().unwrap();
    holds(groups == total, || format!("groups come to {groups}, and all to {total}"))
}

/// Runs · each + what is in no layer, where no layer holds another's tensors.
fn layers_and_the_rest_add_up(model: &Model) -> Law {
    let shares = model.tensors.iter().any(|tensor| tensor.layer.is_some() && tensor.same_as.is_some());
    if shares {
        return Ok(());
    }
    let runs = model.stacks.iter().flat_map(|stack| model.runs(stack).unwrap());
    let layers: u64 = runs.map(|run| run.count() as u64 * run.parameters_each).sum();
    let rest = model.sum(|tensor| tensor.layer.is_none()).unwrap();
    let total = model.parameters().unwrap();
    holds(layers + rest == total, || format!("layers hold {layers}, the rest {rest}, and all {total}"))
}

fn no_token_uses_more_than_there_is(model: &Model) -> Law {
    let (active, total) = (model.active_parameters().unwrap(), model.parameters().unwrap());
    let routes = model.tensors.iter().filter_map(|t| t.experts).any(|routed| routed.active < routed.of);
    holds(if routes { active < total } else { active == total }, || format!("{active} of {total} are active"))
}

/// A causal mask and windows leave out pairs of positions, and nothing else; a token alone sees itself with and without.
fn a_mask_only_saves(model: &Model) -> Law {
    let reads_tokens_only = model.attention.iter().all(|attention| attention.product.positions.plus == 0);
    for seq_len in [1, 7, 1000, 100_000] {
        let run = run(seq_len);
        let (full, causal) = (model.prefill(&run, false).unwrap(), model.prefill(&run, true).unwrap());
        let rest = |of: &Products| (of.attention_linear, of.rest, of.head);
        let saves = causal.attention_scores <= full.attention_scores
            && causal.exponentials <= full.exponentials
            && rest(&full) == rest(&causal)
            && (seq_len > 1 || full == causal || !reads_tokens_only);
        holds(saves, || format!("{seq_len} tokens: {causal:?} with a mask, {full:?} without"))?;
    }
    Ok(())
}

fn devices_together_hold_everything(model: &Model) -> Law {
    let (total, plan) = (model.parameters().unwrap(), model.cache().unwrap_or_default());
    let cached = cache::numbers(&plan.own, 1).unwrap();
    for devices in [1, 2, 3, 4, 8, 1000] {
        let share = model.share(devices).unwrap();
        let least = if devices == 1 { total } else { share.replicated };
        let enough =
            |each: u64, all: u64| each <= all && u128::from(each) * u128::from(devices) >= u128::from(all);
        let holds_all = enough(share.parameters, total) && share.parameters >= least;
        holds(holds_all, || format!("{share:?} of {total}"))?;
        holds(enough(share.cache_numbers, cached), || format!("{share:?} of {cached} cached"))?;
    }
    Ok(())
}

/// Up to the smallest window every token costs the same; beyond the largest only layers without one grow.
fn the_cache_grows_by_its_two_slopes(model: &Model) -> Law {
    let own = model.cache().unwrap_or_default().own;
    let window = |row: &cache::Row| match row.kind {
        Kind::Sliding(window) => Some(window),
        Kind::Full | Kind::Latent => None,
    };
    let of = |tokens: u64| cache::numbers(&own, tokens).unwrap();
    let smallest = own.iter().filter_map(window).min().unwrap_or(1 << 20);
    let largest = own.iter().filter_map(window).max().unwrap_or(1 << 20);
    let beyond = cache::numbers_beyond_windows(&own).unwrap();
    holds(of(0) == 0 && of(smallest) == smallest * of(1), || {
        format!("{smallest} tokens keep {}", of(smallest))
    })?;
    holds(beyond <= of(1), || format!("{beyond} beyond windows, {} before", of(1)))?;
    let growth = of(largest + 1000) - of(largest);
    holds(growth == 1000 * beyond, || {
        format!("1000 tokens beyond {largest} keep {growth}, not 1000 · {beyond}")
    })
}

/// More key/value heads make K and V wider, and leave every other tensor as it was. (Some types refuse another number of
/// them, and some make their query heads from it: nothing is said of those.)
fn key_value_heads_change_keys_and_values_only(config: &Value, model: &Model) -> Law {
    let asked = Asked::default();
    let Some(main) = model.main_attention() else { return Ok(()) };
    let (h, g) = (main.num_heads.value(), main.num_kv_heads.value());
    let wanted = if g == h { 1 } else { h };
    let other = changed(config, &asked, Key::NumKvHeads, wanted).and_then(|other| build(&other, &asked));
    let Ok(other) = other else { return Ok(()) };
    if other.main_attention().is_none_or(|main| main.num_heads.value() != h) {
        return Ok(());
    }
    let (before, after) = (shapes(model), shapes(&other));
    for name in before.keys().chain(after.keys()) {
        let (one, two) = (before.get(name), after.get(name));
        let shape = |of: Option<&Shaped>| of.map(|(shape, _)| shape.clone());
        holds(shape(one) == shape(two) || belongs_to_keys_or_values(name, &model.model_type), || {
            format!("{g} → {wanted} key/value heads: {name} {one:?} → {two:?}")
        })?;
        let is_projection = [".k_proj.weight", ".v_proj.weight"].iter().any(|end| name.ends_with(end));
        if let (true, Some((old, heads)), Some((new, new_heads))) = (is_projection, one, two) {
            let (rows, new_rows) = (old[0], new[0]);
            holds(rows * new_heads == new_rows * heads, || {
                format!("{name} has {rows} rows for {heads} heads, {new_rows} for {new_heads}")
            })?;
        }
    }
    Ok(())
}

/// A tensor's shape, and the key/value heads of its attention (0 outside).
type Shaped = (Vec<u64>, u64);

fn shapes(model: &Model) -> BTreeMap<&str, Shaped> {
    let described = |tensor: &Tensor| {
        let heads = tensor.attention.map_or(0, |at| model.attention[at].num_kv_heads.value());
        (tensor.shape.iter().map(Size::value).collect(), heads)
    };
    model.tensors.iter().map(|tensor| (tensor.name.as_str(), described(tensor))).collect()
}

/// Projections, biases and norms of keys and values, alone or fused with the queries'; Doge also masks by the values.
fn belongs_to_keys_or_values(name: &str, model_type: &str) -> bool {
    let is_theirs = |part: &str| {
        let part = part.to_lowercase();
        part.starts_with(['k', 'v']) || part.contains("kv") || part == "query_key_value"
    };
    let masks = |part: &str| model_type == "doge" && ["A", "dt_proj"].contains(&part);
    name.split('.').any(|part| is_theirs(part) || masks(part))
}

fn run(seq_len: u64) -> Run {
    Run {
        seq_len,
        source_len: seq_len,
        batch: 1,
        dtype: Dtype::Fp16,
        kv_dtype: Dtype::Fp16,
        memory: None,
        devices: 1,
    }
}
