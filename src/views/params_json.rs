//! `mha params --format json`: the contract of other programs; counts are whole numbers, never rounded.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::json_text::pretty;
use crate::params::report::Report;
use crate::params::sweep::{MEASURED_IN, Sweep};
use crate::params::{Figure, Key, Layer, Origin};

/// The whole report as one object.
///
/// # Errors
/// The writer fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", pretty(&whole(report)))
}

fn whole(report: &Report) -> Value {
    let shape = &report.shape;
    let total = report.parameters.total;
    let per_layer: Vec<u64> = (0..shape.layers).map(|_| report.parameters.per_layer).collect();
    json!({
        "mha": 1,
        "model": report.settings.model,
        "family": report.settings.family,
        "scope": "attention layers only",
        // Nothing but attention is known of the model, and all of it is active.
        "total_parameters": total,
        "active_parameters": total,
        "num_layers": shape.layers,
        "attention_parameters": total,
        "attention_parameters_per_layer": per_layer,
        "kv_cache_bytes_per_token": report.memory.cache_per_token.value,
        "tensors": tensors(report),
        "config": config(report),
        "parameters": parameters(report),
        "compute": compute(report),
        "memory": memory(report),
        "sharing": sharing(report),
        "sweep": report.sweep.as_ref().map(sweep),
    })
}

/// Every tensor of every layer; layers count from 1, as in step ids.
fn tensors(report: &Report) -> Vec<Value> {
    let has = |is_bias: bool| !is_bias || report.shape.layer.biases.any();
    let one_layer: Vec<_> =
        report.parameters.matrices.iter().filter(|matrix| has(matrix.is_bias())).collect();
    (1..=report.shape.layers)
        .flat_map(|layer| {
            one_layer.iter().map(move |matrix| {
                json!({
                    "name": format!("layer.{layer}.{}", matrix.step),
                    "shape": matrix.shape,
                    "count": matrix.count.value,
                    "group": "attention",
                    "layer": layer,
                })
            })
        })
        .collect()
}

fn sizes(layer: &Layer) -> Value {
    json!({
        "d_model": layer.d_model,
        "d_kv_model": layer.d_kv_model,
        "num_heads": layer.num_heads,
        "num_kv_heads": layer.num_kv_heads,
        "d_k": layer.d_k,
        "d_v": layer.d_v,
        "bias": layer.biases.any(),
    })
}

fn config(report: &Report) -> Value {
    let mut config = sizes(&report.shape.layer);
    config["kind"] = json!(report.shape.layer.kind().name());
    config["num_layers"] = json!(report.shape.layers);
    config["seq_len"] = json!(report.shape.seq_len);
    config["batch"] = json!(report.shape.batch);
    config["dtype"] = json!(report.dtype.name());
    config["kv_dtype"] = json!(report.kv_dtype.name());
    config["changed_from_preset"] = json!(changed(report));
    config
}

/// Which of the preset's sizes gave way to flags.
fn changed(report: &Report) -> Vec<&'static str> {
    let changed = |from: &Origin| matches!(from, Origin::Instead(..));
    let sizes = report.shape.sizes.iter().filter(|(.., from)| changed(from)).map(|(key, ..)| key.name());
    sizes.chain(changed(&report.shape.bias_origin).then_some("bias")).collect()
}

fn figure(figure: &Figure) -> Value {
    json!({"formula": figure.formula, "factors": figure.factors, "value": figure.value})
}

fn parameters(report: &Report) -> Value {
    let parameters = &report.parameters;
    let matrices: Vec<_> = parameters
        .matrices
        .iter()
        .map(|matrix| {
            json!({
                "name": matrix.name,
                "step": matrix.step,
                "shape": matrix.shape,
                "formula": matrix.count.formula,
                "factors": matrix.count.factors,
                "count": matrix.count.value,
            })
        })
        .collect();
    json!({
        "matrices": matrices,
        "per_layer_without_biases": parameters.without_biases,
        "per_layer_with_biases": parameters.with_biases,
        "total_without_biases": parameters.all_without_biases.value,
        "total_with_biases": parameters.all_with_biases.value,
        "single_head": {
            "config": sizes(&parameters.single_head),
            "per_layer_without_biases": parameters.single_head_total,
            "equal": parameters.single_head_total == parameters.without_biases,
        },
    })
}

fn compute(report: &Report) -> Value {
    let compute = &report.compute;
    let products: Vec<_> = compute
        .products
        .iter()
        .map(|(product, single)| {
            json!({
                "name": product.name,
                "formula": product.count.formula,
                "factors": product.count.factors,
                "value": product.count.value,
                "single_head": single,
            })
        })
        .collect();
    json!({
        "products": products,
        "multiplications_per_layer": compute.multiplications,
        "multiplications_per_layer_single_head": compute.single_head_multiplications,
        "multiplications": compute.multiplications_of_all_layers,
        "exponentials_per_layer": figure(&compute.exponentials),
        "exponentials_per_layer_single_head": compute.single_head_exponentials,
    })
}

fn memory(report: &Report) -> Value {
    let memory = &report.memory;
    let parameters: serde_json::Map<String, Value> = memory
        .parameters
        .iter()
        .map(|(dtype, bytes)| (dtype.name().to_owned(), json!(bytes.value)))
        .collect();
    json!({
        "parameter_bytes": parameters,
        "score_dtype": memory.score_dtype.name(),
        "score_bytes_per_layer": figure(&memory.scores),
        "score_bytes": memory.scores_of_all_layers,
        "kv_cache_bytes_per_token": figure(&memory.cache_per_token),
        "kv_cache_bytes": figure(&memory.cache),
    })
}

fn sharing(report: &Report) -> Vec<Value> {
    let row = |row: &crate::params::report::Sharing| {
        json!({
            "kind": row.kind.short(),
            "num_kv_heads": row.num_kv_heads,
            "is_this_layer": row.is_this_layer,
            "parameters_per_layer": row.parameters_per_layer,
            "kv_cache_bytes_per_token": row.cache_per_token,
            "times_smaller_than_mha": row.times_smaller,
        })
    };
    report.sharing.iter().map(row).collect()
}

fn sweep(sweep: &Sweep) -> Value {
    let rows: Vec<_> = sweep
        .rows
        .iter()
        .map(|row| {
            json!({
                "value": row.value,
                "d_k": row.shape.layer.d_k,
                "num_kv_heads": row.shape.layer.num_kv_heads,
                "parameters_per_layer": row.parameters_per_layer,
                "parameters": row.parameters,
                "multiplications_per_layer": row.multiplications_per_layer,
                "multiplications": row.multiplications,
                "exponentials_per_layer": row.exponentials_per_layer,
                "exponentials": row.exponentials,
                "kv_cache_bytes_per_token": row.kv_cache_bytes_per_token,
                "kv_cache_bytes": row.kv_cache_bytes,
                "measured": row.measured.filter(|_| sweep.key == Key::NumHeads).map(|found| json!({
                    "bleu": found.bleu, "perplexity": found.perplexity, "source": MEASURED_IN,
                })),
            })
        })
        .collect();
    let unchanged: Vec<_> = sweep.unchanged.iter().map(|(column, _)| column.name()).collect();
    json!({"key": sweep.key.name(), "rows": rows, "unchanged": unchanged})
}
