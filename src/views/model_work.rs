//! The report of a whole model: the memory and the work of running it.

use super::grid::Side::{Left, Right};
use super::model::{Shown, count, dtypes, has_latent, share_of};
use super::part::{Part, Table};
use crate::fault::{Outcome, counted};
use crate::params::architecture::cache::{Kind, Row};
use crate::params::architecture::flops::Products;
use crate::params::architecture::parallel::Share;
use crate::params::architecture::variants::Swept;
use crate::params::architecture::work::{Room, Run};
use crate::params::architecture::{Group, Model};
use crate::params::sweep::SweepOver;
use crate::params::{Figure, Key};

/// Lengths at which growth is shown.
const LENGTHS: [u64; 5] = [128, 1_024, 8_192, 32_768, 131_072];

/// What was asked for by flags: what fits, what each device holds.
pub(super) fn answers(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    if let Some(room) = shown.model.room(&shown.run)? {
        fits(shown, &room, all);
    }
    if let Some(share) = &shown.share {
        devices(shown, share, all)?;
    }
    Ok(())
}

/// Weights and cache.
pub(super) fn memory(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let (model, run) = (shown.model, &shown.run);
    let total = model.parameters()?;
    all.push(Part::Title(if shown.attention_only { "KV cache" } else { "Memory" }.into()));
    if !shown.attention_only {
        all.push(Part::Caption(format!("Weights: {} parameters × bytes each", count(total))));
        let mut table = Table::new("dtype", &[("bytes each", Right), ("bytes", Right), ("size", Right)]);
        for dtype in dtypes(run) {
            let bytes = dtype.bytes(total)?;
            let chosen = if dtype == run.dtype { " (chosen)" } else { "" };
            table.row(format!("{dtype}{chosen}"), vec![dtype.bytes_each(), count(bytes), shown.size(bytes)]);
        }
        all.push(Part::Table(table));
    }
    cached(shown, all)
}

/// Why nothing is cached.
fn no_cache(model: &Model) -> &'static str {
    if model.attention.is_empty() {
        "No KV cache: its layers keep a state of a constant size instead, which is not counted."
    } else {
        "No KV cache: this class reads all positions at once and writes none."
    }
}

fn cached(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let (model, run) = (shown.model, &shown.run);
    let Some(plan) = model.cache() else {
        all.push(Part::Caption(if model.decodes() {
            "Its KV cache is compressed and grows by a law of its own, which is not modelled here.".into()
        } else {
            no_cache(model).to_owned()
        }));
        return Ok(());
    };
    let rows: Vec<(&str, &Row)> =
        plan.own.iter().map(|row| ("", row)).chain(plan.cross.iter().map(|row| ("cross, ", row))).collect();
    all.push(Part::Caption(format!("KV cache in {}: what each layer keeps of a token", run.kv_dtype)));
    let columns =
        [("layers", Right), ("keys", Left), ("values", Left), ("bytes a layer", Right), ("grows", Left)];
    let mut table = Table::new("", &columns);
    for (which, row) in rows {
        let grows = match row.kind {
            Kind::Sliding(window) => format!("up to {} tokens", count(window)),
            _ if which.is_empty() => "with every token".into(),
            _ => "with the encoder's tokens".to_owned(),
        };
        let (keys, values) = match row.kind {
            Kind::Latent => (format!("latent {}", row.k.1), format!("rotated {}", row.v.1)),
            _ => (format!("{} × {}", row.k.0, row.k.1), format!("{} × {}", row.v.0, row.v.1)),
        };
        let bytes = run.kv_dtype.bytes(row.numbers())?;
        table.row(
            format!("{which}{}", row.kind.name()),
            vec![row.layers.len().to_string(), keys, values, count(bytes), grows],
        );
    }
    all.push(Part::Table(table));
    let mut table = Table::new("figure", &[("formula", Left), ("bytes", Right), ("size", Right)]);
    let names = [
        ("kv-cache-per-token", "a token, while every layer grows"),
        ("kv-cache-per-token-beyond-window", "a token, beyond the window"),
        ("kv-cache-expanded-per-token", "a token, latent expanded"),
        ("kv-cache", "all"),
        ("cross-cache-per-token", "cross, a token of the encoder"),
        ("cross-cache", "cross, all"),
    ];
    let figures = &shown.figures;
    for (id, name) in names {
        if let Some(named) = figures.iter().find(|named| named.id == id) {
            let figure = &named.figure;
            let bytes = figure.value;
            table.row(name, vec![two_lines(figure), count(bytes), shown.size(bytes)]);
        }
    }
    all.push(Part::Table(table));
    let sequences = counted(count(run.batch), "sequence");
    let encoder = if plan.cross.is_empty() {
        String::new()
    } else {
        format!(", {} in the encoder (--source-len)", counted(count(run.source_len), "token"))
    };
    all.push(Part::Say(format!(
        "All: {sequences} of {}{encoder}; others with --batch, --seq-len, --kv-dtype.",
        counted(count(run.seq_len), "token")
    )));
    if let Some(context) = model.context.filter(|context| run.seq_len > *context) {
        all.push(Part::Say(format!("The config goes to {} tokens only.", count(context))));
    }
    if has_latent(model) {
        let value =
            |id: &str| figures.iter().find(|named| named.id == id).map_or(0, |named| named.figure.value);
        let (latent, expanded) = (value("kv-cache-per-token"), value("kv-cache-expanded-per-token"));
        all.push(Part::Say(format!(
            "Latent: one vector for all heads, from which each makes its keys and values again (DeepSeek-AI 2024): {:.1} times \
             less than keeping those.",
            expanded as f64 / latent.max(1) as f64
        )));
    }
    if model.tensors.iter().any(|tensor| tensor.group == Group::Mixer) {
        all.push(Part::Say(
            "Its mixers (linear attention, state spaces, convolutions) keep states of a constant size, which are not counted.".into(),
        ));
    }
    Ok(())
}

/// What fits beside the weights into a device's memory.
fn fits(shown: &Shown, room: &Room, all: &mut Vec<Part>) {
    let (model, run) = (shown.model, &shown.run);
    let each = if run.devices > 1 { format!(" on each of {} devices", run.devices) } else { String::new() };
    all.push(Part::Title(format!("What fits into {}{each}", shown.size(room.memory))));
    let Some(left) = room.left else {
        all.push(Part::Caption(format!(
            "Not the weights: {} in {} are {} more than there is. A narrower --dtype, or --tensor-parallel with more devices, \
             may do.",
            shown.size(room.weights),
            run.dtype,
            shown.size(room.weights - room.memory)
        )));
        return;
    };
    let mut table = Table::new("what", &[("number", Right), ("of", Left)]);
    table.row("memory", vec![count(room.memory), "bytes".into()]);
    table.row(format!("weights in {}", run.dtype), vec![count(room.weights), shown.size(room.weights)]);
    table.row("left beside them", vec![count(left), shown.size(left)]);
    if model.cache().is_some() {
        let sequences = counted(count(run.batch), "sequence");
        let length = match room.longest {
            None => vec!["none".into(), "not even one token fits".into()],
            Some(u64::MAX) => vec!["any".into(), "its cache stops growing".into()],
            Some(tokens) => vec![count(tokens), "tokens".into()],
        };
        table.row(format!("longest context of {sequences}"), length);
        let batch = match room.most {
            Some(u64::MAX) | None => "any".into(),
            Some(batch) => count(batch),
        };
        table.row(
            format!("most sequences of {}", counted(count(run.seq_len), "token")),
            vec![batch, "sequences".into()],
        );
    }
    all.push(Part::Table(table));
    if let (Some(context), Some(longest)) = (model.context, room.longest)
        && longest > context
    {
        all.push(Part::Say(format!(
            "The config goes to {} tokens only: more may fit than the model was made for.",
            count(context)
        )));
    }
    all.push(Part::Say(
        "Activations, the framework and fragments of memory come on top: leave a tenth or so free.".into(),
    ));
}

fn devices(shown: &Shown, share: &Share, all: &mut Vec<Part>) -> Outcome<()> {
    let (model, run) = (shown.model, &shown.run);
    all.push(Part::Title(format!("Cut between {} (tensor parallel)", counted(share.devices, "device"))));
    let possible: Vec<String> = model.possible_devices().iter().map(u64::to_string).collect();
    if !share.hindrances.is_empty() {
        all.push(Part::Caption(format!(
            "{} devices cannot share this model: {}.",
            share.devices,
            share.hindrances.join("; ")
        )));
        all.push(Part::Say(format!("Possible: {}.", possible.join(", "))));
        return Ok(());
    }
    let weights = run.dtype.bytes(share.parameters)?;
    let a_token = run.kv_dtype.bytes(share.cache_numbers)?;
    let mut table = Table::new("each device holds", &[("number", Right), ("remark", Left)]);
    table.row("parameters", vec![count(share.parameters), format!("of {}", count(model.parameters()?))]);
    table.row("of them on every device", vec![count(share.replicated), "norms and what is not cut".into()]);
    table.row(format!("weights in {}", run.dtype), vec![count(weights), shown.size(weights)]);
    if share.cache_numbers > 0 {
        table.row("KV cache bytes a token", vec![count(a_token), String::new()]);
    }
    all.push(Part::Table(table));
    if !share.remarks.is_empty() {
        all.push(Part::Say(format!("Replicated: {}.", share.remarks.join("; "))));
    }
    all.push(Part::Say(format!("Possible numbers of devices: {}.", possible.join(", "))));
    Ok(())
}

/// One pass, one step of decoding, and how attention's part grows.
pub(super) fn compute(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let (model, run) = (shown.model, &shown.run);
    if !model.counts_work {
        all.push(Part::Title("Work".into()));
        all.push(Part::Caption(
            "Not counted: its stages shrink the sequence in ways that are not modelled here.".into(),
        ));
        return Ok(());
    }
    let full = model.prefill(run, false)?;
    if full.all()? == 0 {
        return Ok(());
    }
    let causal = model.prefill(run, true)?;
    all.push(Part::Title("Work".into()));
    let encoder = if model.has_source() {
        format!(", {} in the encoder", count(run.source_len))
    } else {
        String::new()
    };
    all.push(Part::Caption(format!(
        "One pass over a sequence of {}{encoder}",
        counted(count(run.seq_len), "token")
    )));
    let columns = [("multiply-adds", Right), ("FLOPs", Right), ("share", Right)];
    let mut table = Table::new("", &columns);
    let total = full.all()?;
    let mut row = |name: &str, value: u64, share: bool| {
        let share = if share { share_of(value, total) } else { String::new() };
        table.row(name, vec![count(value), count(value.saturating_mul(2)), share]);
    };
    row("attention projections", full.attention_linear, true);
    row("Q·Kᵀ and A·V, every pair", full.attention_scores, true);
    row("everything else", full.rest, true);
    if full.head > 0 {
        row("head", full.head, true);
    }
    row("all, head in, every pair", total, true);
    if causal.attention_scores != full.attention_scores {
        let left = if model.decodes() { "causal" } else { "within windows" };
        row(&format!("Q·Kᵀ and A·V, {left}"), causal.attention_scores, false);
        row(&format!("all, head in, {left}"), causal.all()?, false);
    }
    if full.head > 0 {
        row("all, head out, every pair", total - full.head, false);
    }
    all.push(Part::Table(table));
    all.push(Part::Say(format!(
        "A multiply-add is 2 FLOPs. Masks and windows leave out the pairs that they hide. Beside the products: one \
         exponential a score, {} over every pair{}.",
        count(full.exponentials),
        if causal.exponentials == full.exponentials { String::new() } else { format!(", {} of pairs that are left", count(causal.exponentials)) }
    )));
    if model.tensors.iter().any(|tensor| tensor.product.is_none() && tensor.shape.len() > 2) {
        all.push(Part::Say(
            "Convolutions, scans and what else is no matrix product are not in these numbers.".into(),
        ));
    }
    let left_out: Vec<&str> = model
        .attention
        .iter()
        .filter(|attention| attention.product.positions.never())
        .filter_map(|attention| {
            attention
                .path
                .split_once(".layers")
                .or(attention.path.split_once(".blocks"))
                .map(|(head, _)| head)
        })
        .collect();
    if let Some(first) = left_out.first() {
        all.push(Part::Say(format!(
            "Not counted here: {first}, whose positions come from elsewhere than the text."
        )));
    }
    if model.decodes() {
        decoding(shown, all)?;
    }
    growth(shown, all)
}

fn decoding(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let (model, run) = (shown.model, &shown.run);
    all.push(Part::Caption(format!(
        "Decoding: one step for every sequence, its token {}",
        count(run.seq_len)
    )));
    let columns =
        [("FLOPs", Right), ("reads weights", Right), ("reads cache", Right), ("FLOPs a byte", Right)];
    let mut table = Table::new("sequences", &columns);
    let mut batches = vec![1, 8, 64, 512];
    if !batches.contains(&run.batch) {
        batches.push(run.batch);
        batches.sort_unstable();
    }
    for batch in batches {
        let step = model.decoding(&Run { batch, ..*run })?;
        let flops = step.products.all()?.saturating_mul(2);
        let (Some(flops), Some(cache)) = (flops.checked_mul(batch), step.cache_bytes.checked_mul(batch))
        else {
            continue;
        };
        let intensity = format!("{:.1}", step.intensity());
        table.row(
            count(batch),
            vec![count(flops), shown.size(step.weight_bytes), shown.size(cache), intensity],
        );
    }
    all.push(Part::Table(table));
    all.push(Part::Say(
        "The last column is the arithmetic intensity. For example, a device with 300 TFLOP/s and 1.5 TB/s needs 200 FLOPs a byte to be \
         busy: below that, decoding waits for memory, and a smaller cache is a faster model."
            .into(),
    ));
    if model.tensors.iter().any(|tensor| tensor.experts.is_some()) {
        all.push(Part::Say(
            "Weights read: each token picks its own experts, so a batch of B reads E·(1 − (1 − k/E)^B) of them if they are \
             picked evenly."
                .into(),
        ));
    }
    if has_latent(model) {
        all.push(Part::Say(
            "FLOPs of decoding with the up-projections absorbed: each head compares with the latent itself, which is what keeping \
             only the latent asks for. The pass above expands it."
                .into(),
        ));
    }
    Ok(())
}

fn growth(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let (model, run) = (shown.model, &shown.run);
    let mut table =
        Table::new("tokens", &[("multiply-adds", Right), ("Q·Kᵀ and A·V", Right), ("part", Left)]);
    let mut grows = false;
    let mut before: Option<Products> = None;
    for n in LENGTHS {
        let at = Run { seq_len: n, source_len: n, ..*run };
        let Ok(products) = model.prefill(&at, true) else { continue };
        let Ok(total) = products.all() else { continue };
        grows |= before.is_some_and(|before| before != products);
        before = Some(products);
        let share = products.attention_scores as f64 / total.max(1) as f64;
        table.row(count(n), vec![count(total), share_of(products.attention_scores, total), bar(share, 20)]);
    }
    if !grows {
        return Ok(());
    }
    all.push(Part::Caption(
        "How the score products' part of a pass grows with the sequence (pairs that masks and windows leave)"
            .into(),
    ));
    all.push(Part::Table(table));
    if let Some(n) = model.crossing(run) {
        all.push(Part::Say(format!("From {} tokens on they outweigh everything else together.", count(n))));
    }
    Ok(())
}

/// A formula, and under it the same with numbers put in.
pub(super) fn two_lines(figure: &Figure) -> String {
    if figure.formula == figure.factors || figure.formula.is_empty() {
        return figure.factors.clone();
    }
    format!("{}\n= {}", figure.formula, figure.factors)
}

/// A bar of at most `room` columns, an eighth of one at a time.
pub(super) fn bar(share: f64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * (room * 8) as f64).round() as usize;
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// One row a value, what did not change, and a plot of what did.
pub(super) fn swept(shown: &Shown, over: &SweepOver, rows: &[Swept], all: &mut Vec<Part>) {
    let run = &shown.run;
    all.push(Part::Title(format!("Sweep over {}", over.key.name())));
    let (batch, length) = match over.key {
        Key::SeqLen => (count(run.batch), "n".to_owned()),
        Key::Batch => ("B".to_owned(), count(run.seq_len)),
        _ => (count(run.batch), count(run.seq_len)),
    };
    all.push(Part::Caption(format!(
        "The whole model; multiply-adds and cache of {batch} × {length} tokens, {}",
        run.kv_dtype
    )));
    if over.key == Key::NumKvHeads && rows.windows(2).all(|pair| pair[0].cache == pair[1].cache) {
        all.push(Part::Caption(
            "Nothing changes: this type does not share keys and values by num_kv_heads.".into(),
        ));
    }
    type Column = (&'static str, fn(&Swept) -> u64);
    let figures: [Column; 6] = [
        ("d_k", |row| row.d_k),
        ("parameters", |row| row.parameters),
        ("attention", |row| row.attention_parameters),
        ("multiply-adds", |row| row.multiply_adds),
        ("exponentials", |row| row.exponentials),
        ("KV cache bytes", |row| row.cache),
    ];
    let caches = rows.iter().any(|row| row.cache > 0);
    let figures: Vec<Column> =
        figures.into_iter().filter(|(name, _)| caches || *name != "KV cache bytes").collect();
    let changes = |of: fn(&Swept) -> u64| rows.windows(2).any(|pair| of(&pair[0]) != of(&pair[1]));
    let plotted = match over.key {
        Key::NumHeads => ["exponentials", "KV cache bytes", "parameters"],
        Key::DModel | Key::Layers => ["parameters", "multiply-adds", "KV cache bytes"],
        _ => ["KV cache bytes", "multiply-adds", "exponentials"],
    };
    let plot =
        plotted.iter().find_map(|name| figures.iter().find(|(column, of)| column == name && changes(*of)));
    let mut columns: Vec<(&str, super::grid::Side)> =
        figures.iter().map(|(name, _)| (*name, Right)).collect();
    if let Some((name, _)) = plot {
        columns.push((name, Left));
    }
    let most = plot.map_or(1, |(_, of)| rows.iter().map(of).max().unwrap_or(1).max(1));
    let mut table = Table::new(over.key.symbol(), &columns);
    for row in rows {
        let mut cells: Vec<String> = figures.iter().map(|(_, of)| count(of(row))).collect();
        cells.extend(plot.map(|(_, of)| bar(of(row) as f64 / most as f64, 16)));
        table.row(count(row.value), cells);
    }
    all.push(Part::Table(table));
    if rows.len() > 1 {
        for (name, of) in &figures {
            let is_noise = *name == "d_k" && matches!(over.key, Key::SeqLen | Key::Batch | Key::Layers);
            if !changes(*of) && !is_noise {
                let why = match why_unchanged(over.key, name) {
                    "" => String::new(),
                    why => format!(" ({why})"),
                };
                all.push(Part::Say(format!("The same in every row: {name} {}{why}.", count(of(&rows[0])))));
            }
        }
    }
}

/// Why a figure does not change when a size does; empty where there is no short reason.
fn why_unchanged(key: Key, figure: &str) -> &'static str {
    match (key, figure) {
        (Key::NumHeads, "parameters" | "attention") => "heads divide a width, they do not add to it",
        (Key::NumHeads, "multiply-adds") => "more heads, each narrower by as much",
        (Key::NumHeads, "KV cache bytes") => "the key and value heads are as wide together as before",
        (Key::NumKvHeads, "exponentials") => "every query head keeps a softmax of its own",
        (Key::SeqLen | Key::Batch, "parameters" | "attention") => "no matrix knows how many tokens will come",
        (Key::DModel, "exponentials") => "one a score, and scores are h·n² in each layer",
        (Key::Layers, "d_k") => "a head is as wide in every layer",
        _ => "",
    }
}
