//! The report of a weight file, from its header alone.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::grid::Side::{Left, Right};
use super::model::{count, share_of};
use super::number::rounded_bytes;
use super::part::{Part, Table};
use crate::arrays::csv::escape;
use crate::params::Dtype;
use crate::params::architecture::Group;
use crate::params::weights::WeightFile;
use crate::params::weights::compare::{Compared, Reason};

/// What the files of a model hold beside what its class allocates, in sentences.
pub fn beside(file: &WeightFile, total: u64, compared: &Compared) -> Vec<String> {
    let differences = &compared.differences;
    let stored = file.stored_count();
    let mut said = Vec::new();
    let name = file.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if let Some(scheme) = file.packed {
        said.push(format!(
            "{name} is packed ({scheme}): its {} stored numbers are not parameters.",
            count(stored)
        ));
        said.extend(file.notes.iter().cloned());
        return said;
    }
    said.extend(file.notes.iter().cloned());
    if file.is_gguf() {
        let (more, word) = (stored.abs_diff(total), if stored < total { "fewer" } else { "more" });
        let how = if more == 0 {
            "as many as the class".into()
        } else {
            format!("{} {word} than the class", count(more))
        };
        said.push(format!(
            "{name} holds {} weights, {how}; its names are its own, so tensors are not compared.",
            count(stored)
        ));
        return said;
    }
    if differences.is_empty() {
        let how = match compared.regrouped {
            0 => "tensor by tensor".to_owned(),
            some => format!("of {some} tensors, which it cuts another way, by the sums of their modules"),
        };
        said.push(format!("{name} holds the same {} numbers, {how}.", count(stored)));
        return said;
    }
    said.push(format!("{name} holds {} numbers, the class {}:", count(stored), count(total)));
    let strange: u128 = differences
        .iter()
        .filter(|one| matches!(one.reason, Reason::Beside | Reason::LayersBeside))
        .map(|one| one.more.unsigned_abs())
        .sum();
    if strange * 2 > u128::from(stored) {
        said.push("Most of it goes by other names: these are hardly this model's weights.".into());
    }
    for one in differences {
        let sign = if one.more < 0 { "−" } else { "+" };
        let tensors = if one.tensors == 1 {
            one.example.clone()
        } else {
            format!("{} and {} more", one.example, one.tensors - 1)
        };
        let more = super::number::grouped(one.more.unsigned_abs());
        said.push(format!("{sign} {more}: {} ({tensors}).", one.reason.says()));
    }
    said
}

/// How a file's model is to be run, where its metadata says enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Use {
    /// What the KV cache is stored in.
    pub kv_dtype: Dtype,
    /// Tokens of a sequence, where that was asked.
    pub seq_len: Option<u64>,
    /// Sequences at a time.
    pub batch: u64,
    /// Bytes of memory, where that was asked.
    pub memory: Option<u64>,
}

/// The report of a file alone.
pub fn parts(file: &WeightFile, name: &str, tensors: bool, to: &Use) -> Vec<Part> {
    let mut all = vec![Part::Title(format!("{name}: {} stored numbers", count(file.stored_count())))];
    if tensors {
        let columns = [("shape", Left), ("type", Left), ("numbers", Right), ("bytes", Right)];
        let mut table = Table::new("tensor", &columns);
        for tensor in &file.tensors {
            let cells =
                vec![shape(&tensor.shape), tensor.dtype.clone(), count(tensor.count), count(tensor.bytes)];
            table.row(tensor.name.clone(), cells);
        }
        all.push(Part::Table(table));
        return all;
    }
    all.push(Part::Say(
        "Counted from the header alone: no weight was read. What a tensor is for is told by its name.".into(),
    ));
    if let Some(scheme) = file.packed {
        all.push(Part::Caption(format!(
            "Packed ({scheme}): several weights share a stored number, so this is not the parameter count."
        )));
    }
    all.extend(file.notes.iter().map(|note| Part::Caption(note.clone())));
    glance(file, to.kv_dtype, &mut all);
    fits(file, to, &mut all);
    let sorted = file.sorted();
    let mut table =
        Table::new("group", &[("tensors", Right), ("numbers", Right), ("share", Right), ("bytes", Right)]);
    let total = file.stored_count();
    for group in Group::ALL {
        let own: Vec<_> = sorted.iter().filter(|one| one.group == group).collect();
        let numbers = own.iter().fold(0u64, |sum, one| sum.saturating_add(one.tensor.count));
        let bytes = own.iter().fold(0u64, |sum, one| sum.saturating_add(one.tensor.bytes));
        if !own.is_empty() {
            table.row(
                group.name(),
                vec![own.len().to_string(), count(numbers), share_of(numbers, total), count(bytes)],
            );
        }
    }
    table.row(
        "all",
        vec![file.tensors.len().to_string(), count(total), "100.0%".into(), count(file.stored_bytes())],
    );
    all.push(Part::Table(table));
    types(file, &mut all);
    all
}

fn glance(file: &WeightFile, kv_dtype: Dtype, all: &mut Vec<Part>) {
    let mut table = Table::new("at a glance", &[("value", Left)]);
    if let Some(architecture) = file.value("general.architecture") {
        table.row("architecture", vec![architecture.to_owned()]);
    }
    let layers = file.sorted().iter().filter_map(|one| one.layer).max();
    if let Some(layers) = layers {
        let stated = file.described().map(|found| found.layers).filter(|stated| *stated != layers as u64);
        let stated = stated.map_or_else(String::new, |stated| format!(" here; its metadata says {stated}"));
        table.row("layers", vec![format!("{layers}{stated}")]);
    }
    if let Some(found) = file.described() {
        let g = match &found.num_kv_heads[..] {
            [one] => format!("{one} key/value heads"),
            each => format!(
                "{} key/value heads over all layers",
                each.iter().map(|g| u128::from(*g)).sum::<u128>()
            ),
        };
        table.row("attention", vec![format!("{} query heads, {g}, {} wide", found.num_heads, found.d_k)]);
        if let Some(window) = found.window {
            table.row("window", vec![format!("{} tokens, in the layers that have one", count(window))]);
        }
        let numbers = found.numbers_per_token();
        if let Ok(bytes) = kv_dtype.bytes(numbers) {
            let how = match (found.latent, &found.num_kv_heads[..]) {
                (Some((rank, rope)), _) => {
                    format!("layers·(rank + rope) = {}·({rank} + {rope})", found.layers)
                }
                (None, [g]) => {
                    format!("layers·g·(d_k + d_v) = {}·{g}·({} + {})", found.layers, found.d_k, found.d_v)
                }
                (None, _) => format!("Σ g·(d_k + d_v) over {} layers", found.layers),
            };
            table.row("KV cache a token", vec![format!("{} bytes in {kv_dtype}: {how}", count(bytes))]);
        }
    }
    table.row(
        "size",
        vec![format!("{} bytes ({})", count(file.stored_bytes()), rounded_bytes(file.stored_bytes().into()))],
    );
    all.push(Part::Table(table));
}

/// What the cache of so many tokens takes, and what fits beside the file's own bytes; windows are not taken into account.
fn fits(file: &WeightFile, to: &Use, all: &mut Vec<Part>) {
    let Some(a_token) = file.described().and_then(|found| to.kv_dtype.bytes(found.numbers_per_token()).ok())
    else {
        return;
    };
    let mut table = Table::new("what", &[("number", Right), ("of", Left)]);
    if let Some(all) = to.seq_len.and_then(|tokens| a_token.checked_mul(tokens)?.checked_mul(to.batch)) {
        let tokens = to.seq_len.unwrap_or_default();
        let name = format!("KV cache of {} × {} tokens", count(to.batch), count(tokens));
        table.row(name, vec![count(all), rounded_bytes(all.into())]);
    }
    if let Some(memory) = to.memory {
        table.row("memory", vec![count(memory), rounded_bytes(memory.into())]);
        match memory.checked_sub(file.stored_bytes()) {
            None => table.line("left beside the weights", &["none", "the weights do not fit"]),
            Some(left) => {
                table.row("left beside the weights", vec![count(left), rounded_bytes(left.into())]);
                let tokens = left / a_token.max(1) / to.batch.max(1);
                table.row(
                    match to.batch {
                        1 => "longest context of 1 sequence".to_owned(),
                        many => format!("longest context of {} sequences", count(many)),
                    },
                    vec![count(tokens), "tokens".into()],
                );
            }
        }
    }
    if !table.rows.is_empty() {
        all.push(Part::Table(table));
        if file.described().is_some_and(|found| found.window.is_some()) {
            all.push(Part::Say(
                "Every layer is taken to grow: layers with a window keep less, so more fits.".into(),
            ));
        }
    }
}

fn types(file: &WeightFile, all: &mut Vec<Part>) {
    let mut sums: Vec<(&str, u64, u64, u64)> = Vec::new();
    for tensor in &file.tensors {
        match sums.iter_mut().find(|(name, ..)| *name == tensor.dtype) {
            Some((_, tensors, numbers, bytes)) => {
                *tensors += 1;
                *numbers = numbers.saturating_add(tensor.count);
                *bytes = bytes.saturating_add(tensor.bytes);
            }
            None => sums.push((&tensor.dtype, 1, tensor.count, tensor.bytes)),
        }
    }
    let columns = [("tensors", Right), ("numbers", Right), ("bytes", Right), ("bits a number", Right)];
    let mut table = Table::new("type", &columns);
    for (name, tensors, numbers, bytes) in sums {
        let bits = format!("{:.2}", 8.0 * bytes as f64 / numbers.max(1) as f64);
        table.row(name, vec![tensors.to_string(), count(numbers), count(bytes), bits]);
    }
    all.push(Part::Table(table));
}

fn shape(sizes: &[u64]) -> String {
    sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ")
}

/// The file as one object, with the keys that a model's has.
pub fn json(file: &WeightFile, name: &str, kv_dtype: Dtype) -> Value {
    let sorted = file.sorted();
    let layers = sorted.iter().filter_map(|one| one.layer).max().unwrap_or(0);
    let mut per_layer = vec![0u64; layers.min(100_000)];
    for one in sorted.iter().filter(|one| one.group == Group::Attention) {
        if let Some(sum) = one.layer.and_then(|layer| per_layer.get_mut(layer - 1)) {
            *sum = sum.saturating_add(one.tensor.count);
        }
    }
    let attention = sorted
        .iter()
        .filter(|one| one.group == Group::Attention)
        .fold(0u64, |sum, one| sum.saturating_add(one.tensor.count));
    let cache = file.described().and_then(|found| kv_dtype.bytes(found.numbers_per_token()).ok());
    let total = if file.packed.is_some() { None } else { Some(file.stored_count()) };
    json!({
        "mha": 1,
        "model": name,
        "family": file.value("general.architecture"),
        "scope": "weight file",
        "total_parameters": total,
        "active_parameters": null,
        "stored_numbers": file.stored_count(),
        "stored_bytes": file.stored_bytes(),
        "packed": file.packed,
        "notes": file.notes,
        "num_layers": layers,
        "attention_parameters": attention,
        "attention_parameters_per_layer": per_layer,
        "kv_cache_bytes_per_token": cache,
        "metadata": file.metadata.iter().map(|(key, value)| json!({"key": key, "value": value})).collect::<Vec<_>>(),
        "tensors": sorted.iter().map(|one| json!({
            "name": one.tensor.name, "shape": one.tensor.shape, "count": one.tensor.count,
            "group": one.group.name(), "layer": one.layer, "dtype": one.tensor.dtype, "bytes": one.tensor.bytes,
        })).collect::<Vec<_>>(),
    })
}

/// One line a tensor.
///
/// # Errors
/// The writer fails.
pub fn csv(file: &WeightFile, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    lines.write_record(["name", "shape", "count", "group", "layer", "dtype", "bytes"])?;
    for one in file.sorted() {
        let shape: Vec<String> = one.tensor.shape.iter().map(u64::to_string).collect();
        let layer = one.layer.map_or_else(String::new, |layer| layer.to_string());
        let (number, bytes) = (one.tensor.count.to_string(), one.tensor.bytes.to_string());
        lines.write_record([
            &escape(&one.tensor.name),
            &shape.join("x"),
            &number,
            one.group.name(),
            &layer,
            &one.tensor.dtype,
            &bytes,
        ])?;
    }
    lines.flush()
}
