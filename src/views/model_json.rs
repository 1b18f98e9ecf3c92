//! `mha params CONFIG --format json`: the contract of other programs; counts are whole numbers, never rounded.

use serde_json::{Value, json};

use crate::fault::Outcome;
use crate::params::Dtype;
use crate::params::architecture::cache::{self, Kind, Row};
use crate::params::architecture::flops::Lengths;
use crate::params::architecture::model::Tensor;
use crate::params::architecture::{Group, Model};

/// The whole report as one object.
///
/// # Errors
/// A count does not fit in 64 bits.
pub fn whole(model: &Model, name: &str, lengths: Lengths, batch: u64, kv_dtype: Dtype) -> Outcome<Value> {
    let per_layer = model.attention_parameters_by_layer()?;
    let attention = model.sum(|tensor| tensor.group == Group::Attention)?;
    let mut groups = serde_json::Map::new();
    for group in Group::ALL {
        let count = model.sum(|tensor| tensor.group == group)?;
        if count > 0 {
            groups.insert(group.name().into(), count.into());
        }
    }
    let mut stacks = Vec::new();
    for stack in &model.stacks {
        let runs: Vec<Value> = model
            .runs(stack)?
            .iter()
            .map(|run| {
                json!({"from": run.from, "to": run.to, "parameters_each": run.parameters_each,
                       "attention_parameters_each": run.attention_each})
            })
            .collect();
        stacks.push(
            json!({"path": stack.path, "layers": stack.layers, "first_layer": stack.first, "runs": runs}),
        );
    }
    let cache = cached(model, lengths, batch, kv_dtype)?;
    let products = model.products(lengths)?;
    let tied: Vec<Value> =
        model.tied.iter().map(|(name, same_as)| json!({"name": name, "same_as": same_as})).collect();
    Ok(json!({
        "mha": 1,
        "model": name,
        "family": model.family,
        "model_type": model.model_type,
        "class": model.class,
        "class_kind": model.kind,
        "scope": "whole model",
        "total_parameters": model.parameters()?,
        "active_parameters": model.active_parameters()?,
        "frozen_parameters": model.sum(|tensor| tensor.frozen)?,
        "num_layers": model.num_layers(),
        "attention_parameters": attention,
        "attention_parameters_per_layer": per_layer,
        "parameters_by_group": groups,
        "kv_cache_bytes_per_token": cache.get("bytes_per_token").cloned().unwrap_or(Value::Null),
        "kv_cache": cache,
        "flops": {
            "seq_len": lengths.target,
            "source_len": lengths.source,
            "attention_linear": products.attention_linear.saturating_mul(2),
            "attention_matmul": products.attention_scores.saturating_mul(2),
            "whole_model_matmul": products.all()?.saturating_mul(2),
            "head": products.head.saturating_mul(2),
            "exponentials": products.exponentials,
        },
        "stacks": stacks,
        "tied": tied,
        "tensors": model.tensors.iter().filter(|tensor| tensor.same_as.is_none()).map(tensor).collect::<Vec<_>>(),
    }))
}

fn tensor(tensor: &Tensor) -> Value {
    let shape: Vec<u64> = tensor.shape.iter().map(|size| size.value()).collect();
    json!({
        "name": tensor.name,
        "shape": shape,
        "count": tensor.count,
        "group": tensor.group.name(),
        "layer": tensor.layer,
    })
}

fn cached(model: &Model, lengths: Lengths, batch: u64, dtype: Dtype) -> Outcome<Value> {
    let Some(plan) = model.cache() else { return Ok(Value::Null) };
    let own = cache::numbers(&plan.own, 1)?;
    let sequence = cache::numbers(&plan.own, lengths.context)?.saturating_mul(batch);
    let rows: Vec<Value> = plan.own.iter().map(row).collect();
    Ok(json!({
        "dtype": dtype.name(),
        "bytes_per_token": dtype.bytes(own)?,
        "bytes_per_token_beyond_window": dtype.bytes(cache::numbers_beyond_windows(&plan.own)?)?,
        "bytes": dtype.bytes(sequence)?,
        "expanded_bytes_per_token": dtype.bytes(cache::expanded_numbers(&plan.own)?)?,
        "cross_bytes_per_source_token": dtype.bytes(cache::numbers(&plan.cross, 1)?)?,
        "layers": rows,
        "cross_layers": plan.cross.iter().map(row).collect::<Vec<_>>(),
    }))
}

fn row(row: &Row) -> Value {
    let window = match row.kind {
        Kind::Sliding(window) => Some(window),
        _ => None,
    };
    let mut layers: Vec<[usize; 2]> = Vec::new();
    for layer in &row.layers {
        match layers.last_mut() {
            Some([_, to]) if *to + 1 == *layer => *to = *layer,
            _ => layers.push([*layer, *layer]),
        }
    }
    json!({
        "kind": row.kind.name(), "k": [row.k.0, row.k.1], "v": [row.v.0, row.v.1], "window": window,
        "count": row.layers.len(), "layers": layers,
    })
}
