//! `mha params CONFIG --format json`: the contract of other programs; counts are whole numbers, never rounded.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::json_text::pretty;
use super::model::Shown;
use crate::fault::{Fault, Outcome};
use crate::params::architecture::cache::{self, Kind, Row};
use crate::params::architecture::figures::Named;
use crate::params::architecture::flops::Lengths;
use crate::params::architecture::model::Tensor;
use crate::params::architecture::work::Run;
use crate::params::architecture::{Group, Model, Source};

/// The whole report as the text of one object; ends with a line break.
///
/// # Errors
/// A count does not fit in 64 bits.
pub fn text(shown: &Shown) -> Outcome<String> {
    Ok(pretty(&whole(shown)?) + "\n")
}

/// The whole report as one object.
///
/// # Errors
/// A count does not fit in 64 bits.
fn whole(shown: &Shown) -> Outcome<Value> {
    let (model, run) = (shown.model, &shown.run);
    let lengths = Lengths {
        target: run.seq_len,
        context: run.seq_len,
        source: run.source_len,
        source_context: run.source_len,
    };
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
    let cache = cached(model, run)?;
    let products = model.products(lengths)?;
    let causal = model.prefill(run, true)?;
    let tied: Vec<Value> =
        model.tied.iter().map(|(name, same_as)| json!({"name": name, "same_as": same_as})).collect();
    Ok(json!({
        "mha": 1,
        "model": shown.name,
        "family": model.family,
        "model_type": model.model_type,
        "class": model.class,
        "class_kind": model.kind,
        "scope": "whole model",
        "batch": run.batch,
        "d_model": model.d_model,
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
            "attention_linear": twice(products.attention_linear)?,
            "attention_matmul": twice(products.attention_scores)?,
            "whole_model_matmul": twice(products.all()?)?,
            "head": twice(products.head)?,
            "exponentials": products.exponentials,
            "attention_matmul_causal": twice(causal.attention_scores)?,
            "whole_model_matmul_causal": twice(causal.all()?)?,
            "exponentials_causal": causal.exponentials,
        },
        "weights": {"dtype": run.dtype.name(), "bytes": run.dtype.bytes(model.parameters()?)?, "files": shown.weights},
        "decoding": decoding(model, run)?,
        "memory": fits(shown)?,
        "tensor_parallel": shown.share.as_ref().map(|share| json!({
            "devices": share.devices, "parameters_each": share.parameters, "replicated_parameters": share.replicated,
            "kv_cache_bytes_per_token_each": run.kv_dtype.bytes(share.cache_numbers).ok(), "hindrances": share.hindrances,
            "replicated": share.remarks, "possible_devices": model.possible_devices(),
        })),
        "sharing": shown.sharing.iter().map(|row| json!({
            "num_kv_heads": row.num_kv_heads, "this": row.is_this, "total_parameters": row.parameters,
            "kv_cache_bytes_per_token": row.cache_per_token,
        })).collect::<Vec<_>>(),
        "sweep": shown.sweep.as_ref().map(|(over, rows)| json!({
            "key": over.key.name(),
            "rows": rows.iter().map(|row| json!({
                "value": row.value, "d_k": row.d_k, "parameters": row.parameters,
                "attention_parameters": row.attention_parameters, "multiply_adds": row.multiply_adds,
                "exponentials": row.exponentials, "kv_cache_bytes": row.cache,
            })).collect::<Vec<_>>(),
        })),
        "config": model.facts.iter().map(|fact| json!({
            "key": fact.key, "value": fact.value, "stated": fact.source == Source::Stated,
        })).collect::<Vec<_>>(),
        "stacks": stacks,
        "tied": tied,
        "tensors": model.tensors.iter().filter(|tensor| tensor.same_as.is_none()).map(tensor).collect::<Vec<_>>(),
    }))
}

fn decoding(model: &Model, run: &Run) -> Outcome<Value> {
    if !model.decodes() {
        return Ok(Value::Null);
    }
    let step = model.decoding(run)?;
    Ok(json!({
        "flops": twice(step.products.all()?)?,
        "weight_bytes": step.weight_bytes,
        "cache_bytes": step.cache_bytes,
        "flops_per_byte": step.intensity(),
    }))
}

fn fits(shown: &Shown) -> Outcome<Value> {
    let Some(room) = shown.model.room(&shown.run)? else { return Ok(Value::Null) };
    Ok(json!({
        "bytes": room.memory,
        "devices": shown.run.devices,
        "weight_bytes": room.weights,
        "left_bytes": room.left,
        "longest_context": room.longest.filter(|n| *n < u64::MAX),
        "longest_context_is_unbounded": room.longest == Some(u64::MAX),
        "largest_batch": room.most.filter(|n| *n < u64::MAX),
    }))
}

/// Figures as objects.
///
/// # Errors
/// The writer fails.
pub fn figures(figures: &[Named], out: &mut dyn Write) -> io::Result<()> {
    let objects: Vec<Value> = figures
        .iter()
        .map(|named| {
            json!({
                "figure": named.id, "title": named.title, "formula": named.figure.formula,
                "factors": named.figure.factors, "value": named.figure.value, "unit": named.unit.name(),
                "note": named.note,
            })
        })
        .collect();
    writeln!(out, "{}", pretty(&json!({"mha": 1, "figures": objects})))
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

fn cached(model: &Model, run: &Run) -> Outcome<Value> {
    let dtype = run.kv_dtype;
    let Some(plan) = model.cache() else { return Ok(Value::Null) };
    let own = cache::numbers(&plan.own, 1)?;
    let sequence = cache::numbers(&plan.own, run.seq_len)?.checked_mul(run.batch).ok_or_else(too_large)?;
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

fn twice(count: u64) -> Outcome<u64> {
    count.checked_mul(2).ok_or_else(|| too_large().into())
}

fn too_large() -> Fault {
    Fault::new(
        "too large to count",
        "counts are kept in 64 bits",
        "give a shorter --seq-len, or fewer sequences",
    )
}
