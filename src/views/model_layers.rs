//! The report of a whole model: its layers, matrix by matrix, as runs of equal ones.

use super::grid::Side::{Left, Right};
use super::model::{Shown, count};
use super::part::{Part, Table};
use crate::fault::Outcome;
use crate::params::architecture::model::Tensor;
use crate::params::architecture::runs::Run;
use crate::params::architecture::{Attention, Cache, Group, Model, Stack};
use crate::params::figure::sum;

/// `grouped-query attention: 32 query heads share 8 of keys and values, each 128 wide`
pub(super) fn kind_of(attention: &Attention) -> String {
    let (h, g) = (attention.num_heads.value(), attention.num_kv_heads.value());
    let (d_k, d_v) = (attention.d_k.value(), attention.d_v.value());
    let wide = if d_k == d_v { format!("each {d_k} wide") } else { format!("keys {d_k}, values {d_v} wide") };
    let name = match (attention.cache, h, g) {
        (Cache::Latent { rank, rope, .. }, ..) => {
            return format!("latent (MLA): {h} heads, {wide}, from a latent of {rank} and {rope} rotated");
        }
        (_, 1, _) => format!("one head, {d_k} wide"),
        (_, h, g) if h == g => format!("MHA: {h} heads, {wide}"),
        (_, h, 1) => format!("MQA: {h} query heads share one of keys and values, {wide}"),
        (_, h, g) => format!("GQA: {h} query heads share {g} of keys and values, {wide}"),
    };
    let window = attention.window.map_or(String::new(), |window| format!(", window {}", count(window)));
    let cross = if attention.cross { "cross-attention, " } else { "" };
    format!("{cross}{name}{window}")
}

/// A tensor's shape, its formula, and the formula with numbers put in; empty where there is nothing to say.
pub(super) fn shape(tensor: &Tensor) -> (String, String, String) {
    let join = |parts: Vec<String>| parts.join(" × ");
    let figures: Vec<_> = tensor.shape.iter().map(|size| size.figure()).collect();
    let parts = |text: fn(&crate::params::Figure) -> &String| {
        join(
            figures
                .iter()
                .map(|figure| match figures.len() {
                    1 => text(figure).clone(),
                    _ if text(figure).contains(" + ") || text(figure).contains(" − ") => {
                        format!("({})", text(figure))
                    }
                    _ => text(figure).clone(),
                })
                .collect(),
        )
    };
    let shape = join(tensor.shape.iter().map(|size| size.value().to_string()).collect());
    let (formula, factors) = (parts(|figure| &figure.formula), parts(|figure| &figure.factors));
    (if shape.is_empty() { "one number".into() } else { shape }, formula, factors)
}

/// A tensor's shape, under it the formula, under that the numbers put in, as far as they say more than the line before.
fn shape_and_formula(tensor: &Tensor) -> String {
    let (shape, formula, factors) = shape(tensor);
    if tensor.shape.len() == 1 && formula == factors {
        return shape;
    }
    if tensor.shape.len() == 1 && formula.len() < 16 && factors == shape {
        return format!("{shape} = {formula}");
    }
    let mut lines = vec![shape];
    for (line, is_new) in
        [(&formula, formula != lines[0]), (&factors, factors != lines[0] && factors != formula)]
    {
        if is_new && !line.is_empty() {
            lines.push(format!("= {line}"));
        }
    }
    lines.join("\n")
}

/// Every kind of attention, matrix by matrix.
pub(super) fn attention(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let model = shown.model;
    if model.attention.is_empty() {
        all.push(Part::Title("Attention".into()));
        all.push(Part::Caption("None: its layers mix positions by other means.".into()));
        return Ok(());
    }
    all.push(Part::Title("Attention, matrix by matrix".into()));
    let index = by_attention(model);
    /// A tensor's name in its module, and its shape.
    type Named = (String, Vec<u64>);
    let mut known: Vec<(String, Vec<Named>)> = Vec::new();
    for stack in &model.stacks {
        for run in model.runs(stack)? {
            for (at, attention) in
                model.attention.iter().enumerate().filter(|(_, one)| one.layer == Some(run.layer))
            {
                let tensors = &index[at];
                let shapes: Vec<_> = tensors
                    .iter()
                    .map(|tensor| {
                        let name = tensor.name.strip_prefix(&attention.path).unwrap_or(&tensor.name);
                        (name.to_owned(), tensor.shape.iter().map(|size| size.value()).collect())
                    })
                    .collect();
                let key = (kind_of(attention) + &attention.pattern, shapes);
                if known.contains(&key) {
                    continue;
                }
                known.push(key);
                let before =
                    known.iter().rev().skip(1).any(|(_, shapes)| *shapes == known[known.len() - 1].1);
                one_kind(shown, stack, at, &index, before, all)?;
            }
        }
    }
    Ok(())
}

/// The tensors of every attention module.
fn by_attention(model: &Model) -> Vec<Vec<&Tensor>> {
    let mut index = vec![Vec::new(); model.attention.len()];
    for tensor in &model.tensors {
        if let Some(own) = tensor.attention.and_then(|at| index.get_mut(at)) {
            own.push(tensor);
        }
    }
    index
}

/// One kind of attention: where it is, and its tensors unless they are those of a kind before.
fn one_kind(
    shown: &Shown,
    stack: &Stack,
    at: usize,
    index: &[Vec<&Tensor>],
    same_as_before: bool,
    all: &mut Vec<Part>,
) -> Outcome<()> {
    let (attention, tensors) = (&shown.model.attention[at], &index[at]);
    let layers = layers_like(shown.model, at, index);
    let same = if same_as_before { ": the same matrices as above" } else { "" };
    all.push(Part::Caption(format!("{}: {}{same}", spelled(stack, &layers), kind_of(attention))));
    if same_as_before {
        return Ok(());
    }
    let columns = [("shape", Left), ("parameters", Right), ("a head", Right)];
    let mut table = Table::new("tensor", &columns);
    let mut norms = false;
    for tensor in tensors {
        let name = tensor.name.strip_prefix(&attention.path).unwrap_or(&tensor.name).trim_start_matches('.');
        let is_norm = tensor.group == Group::Norm;
        norms |= is_norm;
        let share = a_head(tensor, attention).unwrap_or_default();
        let parameters = if tensor.same_as.is_some() { "shared".into() } else { count(tensor.count) };
        table.row(
            format!("{name}{}", if is_norm { " *" } else { "" }),
            vec![shape_and_formula(tensor), parameters, share],
        );
    }
    let own = tensors.iter().filter(|tensor| tensor.group == Group::Attention);
    let each = sum(own.map(|tensor| tensor.count), "a layer's attention")?;
    table.row("one layer", vec![String::new(), count(each), String::new()]);
    if layers.len() > 1 {
        let formula = format!("{} × {each}", layers.len());
        let together = each.saturating_mul(layers.len() as u64);
        table.row(format!("{} layers", layers.len()), vec![formula, count(together), String::new()]);
    }
    all.push(Part::Table(table));
    if norms {
        all.push(Part::Say("* A norm that the class keeps here; it is not counted as attention.".into()));
    }
    Ok(())
}

/// A head's part of a tensor whose formula names heads: of a query head where it names h, of a key/value head where only g; of a
/// fused matrix whose keys and values are shared, a query head's part.
fn a_head(tensor: &Tensor, attention: &Attention) -> Option<String> {
    let (h, g) = (attention.num_heads.value(), attention.num_kv_heads.value());
    let (d_k, d_v) = (attention.d_k.value(), attention.d_v.value());
    let sizes: Vec<u64> = tensor.shape.iter().map(|size| size.value()).collect();
    let queries = h.checked_mul(d_k)?;
    let packed = queries.checked_add(g.checked_mul(d_k.checked_add(d_v)?)?)?;
    if g < h && sizes.contains(&packed) && tensor.count.is_multiple_of(packed) {
        return Some(format!("{} (a query)", count(tensor.count / packed * d_k)));
    }
    let (_, formula, _) = shape(tensor);
    let names: Vec<&str> = formula.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    let of = if names.contains(&"h") && h > 1 {
        h
    } else if names.contains(&"g") && g > 1 {
        g
    } else {
        return None;
    };
    tensor.count.is_multiple_of(of).then(|| count(tensor.count / of))
}

/// The layers of a stack, from 1, that have the same attention.
fn layers_like(model: &Model, at: usize, index: &[Vec<&Tensor>]) -> Vec<usize> {
    let attention = &model.attention[at];
    let counts: Vec<u64> = index[at].iter().map(|tensor| tensor.count).collect();
    let kind = kind_of(attention);
    let like = |other: &(usize, &Attention)| {
        other.1.pattern == attention.pattern
            && index[other.0].iter().map(|tensor| tensor.count).eq(counts.iter().copied())
            && kind_of(other.1) == kind
    };
    let first = attention.layer.and_then(|layer| model.stack_of(layer)).map_or(1, |stack| stack.first);
    model
        .attention
        .iter()
        .enumerate()
        .filter(like)
        .filter_map(|(_, other)| Some(other.layer? + 1 - first))
        .collect()
}

/// `layers 1–32`, `encoder.block, layer 1`, `layers 1–5, 7–11, …`.
fn spelled(stack: &Stack, layers: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for layer in layers {
        match ranges.last_mut() {
            Some((_, to)) if *to + 1 == *layer || *to == *layer => *to = *layer,
            _ => ranges.push((*layer, *layer)),
        }
    }
    const SHOWN: usize = 4;
    let mut texts: Vec<String> = ranges
        .iter()
        .take(SHOWN)
        .map(|(from, to)| if from == to { from.to_string() } else { format!("{from}–{to}") })
        .collect();
    if ranges.len() > SHOWN {
        texts.push("…".into());
    }
    let word = if layers.len() == 1 { "layer" } else { "layers" };
    format!("{}, {word} {}", stack.path, texts.join(", "))
}

/// All layers, as runs of equal ones.
pub(super) fn layers(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let model = shown.model;
    let index = by_layer(model);
    all.push(Part::Title("Layers, as runs of equal ones".into()));
    for stack in &model.stacks {
        let runs = model.runs(stack)?;
        let used: Vec<Group> = Group::ALL
            .into_iter()
            .filter(|group| runs.iter().any(|run| of_group(&index, run, *group) > 0))
            .collect();
        let kinds: Vec<String> = runs.iter().map(|run| short_kind(model, &index, run)).collect();
        let mixed = kinds.windows(2).any(|pair| pair[0] != pair[1]);
        let mut columns = if mixed { vec![("kind", Left)] } else { Vec::new() };
        columns.push(("each", Right));
        columns.extend(used.iter().map(|group| (group.name(), Right)));
        columns.push(("together", Right));
        all.push(Part::Caption(stack.path.clone()));
        let mut table = Table::new("layers", &columns);
        for (run, kind) in runs.iter().zip(kinds) {
            let name =
                if run.count() == 1 { run.from.to_string() } else { format!("{}–{}", run.from, run.to) };
            let mut cells = if mixed { vec![kind] } else { Vec::new() };
            cells.push(count(run.parameters_each));
            cells.extend(used.iter().map(|group| count(of_group(&index, run, *group))));
            cells.push(count(run.parameters_each.saturating_mul(run.count() as u64)));
            table.row(name, cells);
        }
        all.push(Part::Table(table));
        inside(shown, stack, &runs, &index, all);
    }
    Ok(())
}

/// What tells one run of layers from another: `window 512`, `GQA 8/2`, `mixer`, `experts`.
fn short_kind(model: &Model, index: &[Vec<&Tensor>], run: &Run) -> String {
    let mut words = Vec::new();
    match model.layer_attention(run.layer).find(|attention| !attention.cross) {
        Some(attention) => {
            let (h, g) = (attention.num_heads.value(), attention.num_kv_heads.value());
            words.push(if h == g { format!("{h} heads") } else { format!("{h}/{g} heads") });
            words.extend(attention.window.map(|window| format!("window {}", count(window))));
        }
        None => words.push("no attention".to_owned()),
    }
    for (group, word) in [(Group::Mixer, "mixer"), (Group::Experts, "experts")] {
        if index[run.layer].iter().any(|tensor| tensor.group == group) {
            words.push(word.to_owned());
        }
    }
    words.join(", ")
}

/// The tensors of every layer.
fn by_layer(model: &Model) -> Vec<Vec<&Tensor>> {
    let mut index = vec![Vec::new(); model.num_layers() + 1];
    for tensor in &model.tensors {
        if let Some(own) = tensor.layer.and_then(|layer| index.get_mut(layer)) {
            own.push(tensor);
        }
    }
    index
}

fn of_group(index: &[Vec<&Tensor>], run: &Run, group: Group) -> u64 {
    let own = index[run.layer].iter().filter(|tensor| tensor.group == group);
    own.fold(0, |sum: u64, tensor| sum.saturating_add(tensor.count))
}

/// What stands beside attention in a layer, for every different layer.
fn inside(shown: &Shown, stack: &Stack, runs: &[Run], index: &[Vec<&Tensor>], all: &mut Vec<Part>) {
    const SHOWN: usize = 4;
    let model = shown.model;
    let mut known: Vec<Vec<(String, u64)>> = Vec::new();
    for run in runs {
        let beside: Vec<&Tensor> =
            index[run.layer].iter().copied().filter(|tensor| tensor.group != Group::Attention).collect();
        let key: Vec<(String, u64)> =
            beside.iter().map(|tensor| (model.name_in_layer(tensor).to_owned(), tensor.count)).collect();
        if known.len() >= SHOWN || known.contains(&key) {
            continue;
        }
        known.push(key);
        all.push(Part::Caption(format!("Beside attention in layer {} of {}", run.from, stack.path)));
        let mut table = Table::new("tensor", &[("shape", Left), ("parameters", Right)]);
        let mut rows: Vec<(String, usize, &Tensor)> = Vec::new();
        for tensor in beside {
            let name = numbers_starred(model.name_in_layer(tensor));
            match rows.iter_mut().find(|(known, _, first)| *known == name && first.count == tensor.count) {
                Some((_, times, _)) => *times += 1,
                None => rows.push((name, 1, tensor)),
            }
        }
        for (name, times, tensor) in rows {
            let (name, parameters) = if times == 1 {
                (name, count(tensor.count))
            } else {
                (format!("{name}, {times} times"), count(tensor.count.saturating_mul(times as u64)))
            };
            table.row(name, vec![shape_and_formula(tensor), parameters]);
        }
        all.push(Part::Table(table));
    }
}

/// `experts.7.fc1` and `experts.8.fc1` are both `experts.*.fc1`.
fn numbers_starred(name: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let starred = |part: &str| match part.rsplit_once('_') {
        Some((word, number)) if is_number(number) && word == "expert" => format!("{word}_*"),
        _ if is_number(part) => "*".to_owned(),
        _ => part.to_owned(),
    };
    name.split('.').map(starred).collect::<Vec<_>>().join(".")
}

/// The single-head equivalent, and the same model with more and fewer key/value heads.
pub(super) fn sharing(shown: &Shown, all: &mut Vec<Part>) {
    let Some(main) = shown.model.main_attention() else { return };
    let (h, g, d_k) = (main.num_heads.value(), main.num_kv_heads.value(), main.d_k.value());
    if h == 1 {
        return;
    }
    if matches!(main.cache, Cache::Latent { .. }) {
        return;
    }
    all.push(Part::Title("More heads, fewer heads, shared heads".into()));
    let same = if g == h {
        "the same projections and as many parameters in them: heads divide a width, they do not add to it"
            .to_owned()
    } else {
        format!("as many parameters in W_Q and W_O; its keys and values would be {} times as wide", h / g)
    };
    all.push(Part::Say(format!(
        "One head of width h·d_k = {h}·{d_k} = {} has {same}. It has one softmax a query where this model has {h}.",
        count(h * d_k)
    )));
    if shown.sharing.is_empty() {
        return;
    }
    let columns = [("g", Right), ("parameters", Right), ("KV cache bytes a token", Right), ("g/h", Right)];
    let mut table = Table::new("", &columns);
    for row in &shown.sharing {
        let kind = match row.num_kv_heads {
            g if g == h => "MHA",
            1 => "MQA",
            _ => "GQA",
        };
        let this = if row.is_this { " (this model)" } else { "" };
        let parameters = row.parameters.map_or("–".into(), count);
        let ratio = match h / row.num_kv_heads.max(1) {
            1 => "1".to_owned(),
            times => format!("1/{times}"),
        };
        table.row(
            format!("{kind}{this}"),
            vec![row.num_kv_heads.to_string(), parameters, count(row.cache_per_token), ratio],
        );
    }
    all.push(Part::Table(table));
    if g < h {
        all.push(Part::Say(format!(
            "Sharing makes the cache {} times smaller than with keys and values for each of the {h} heads (Ainslie et al. \
             2023; g = 1 is Shazeer 2019).",
            h / g
        )));
    } else if shown.sharing.iter().any(|row| row.parameters.is_none()) {
        all.push(Part::Say("This type has no key for g: the other rows are what its cache would be.".into()));
    }
}
