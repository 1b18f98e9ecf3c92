//! The report of a whole model: from the parameters of each matrix to the memory and work of running it.

use super::grid::Side::{Left, Right};
use super::look;
use super::number::{grouped, rounded_bytes};
use super::page::{Page, width};
use super::part::{Part, Table};
use super::{model_layers, model_work};
use crate::fault::{Outcome, visible};
use crate::params::architecture::figures::Named;
use crate::params::architecture::parallel::Share;
use crate::params::architecture::variants::{Sharing, Swept};
use crate::params::architecture::work::Run;
use crate::params::architecture::{Cache, Group, Model, Source};
use crate::params::sweep::SweepOver;
use crate::params::{Dtype, Figure};

/// What is shown.
#[derive(Debug, Clone)]
pub struct Shown<'a> {
    /// The model.
    pub model: &'a Model,
    /// What it is called: a preset, a folder, a file.
    pub name: &'a str,
    /// Where its sizes come from, in words.
    pub source: &'a str,
    /// How it is run.
    pub run: Run,
    /// GB of 1000³ bytes instead of GiB of 1024³.
    pub decimal: bool,
    /// What each of N devices holds, where that was asked.
    pub share: Option<Share>,
    /// The model with other numbers of key/value heads.
    pub sharing: Vec<Sharing>,
    /// A sweep, where one was asked for.
    pub sweep: Option<(SweepOver, Vec<Swept>)>,
    /// Whether the type of its weights is the one that the config states.
    pub dtype_of_config: bool,
    /// Every figure of the report.
    pub figures: Vec<Named>,
    /// What its weight files hold, in sentences, where there are any.
    pub weights: Vec<String>,
    /// Attention only.
    pub attention_only: bool,
}

impl Shown<'_> {
    /// Bytes with their unit: `12.55 GiB`, or `13.48 GB`.
    pub(super) fn size(&self, bytes: u64) -> String {
        if !self.decimal {
            return rounded_bytes(bytes.into());
        }
        let mut size = bytes as f64;
        let mut unit = 0;
        while size >= 1000.0 && unit < 6 {
            size /= 1000.0;
            unit += 1;
        }
        let units = ["bytes", "kB", "MB", "GB", "TB", "PB", "EB"];
        if unit == 0 { format!("{bytes} bytes") } else { format!("{size:.2} {}", units[unit]) }
    }
}

/// `1,048,576`
pub(super) fn count(value: u64) -> String {
    grouped(value.into())
}

/// `87.5%`
pub(super) fn share_of(part: u64, whole: u64) -> String {
    if whole == 0 { "–".into() } else { format!("{:.1}%", 100.0 * part as f64 / whole as f64) }
}

/// The whole report.
///
/// # Errors
/// A count does not fit in 64 bits.
pub fn parts(shown: &Shown) -> Outcome<Vec<Part>> {
    let mut all = Vec::new();
    glance(shown, &mut all)?;
    model_work::answers(shown, &mut all)?;
    if let Some((over, rows)) = &shown.sweep {
        model_work::swept(shown, over, rows, &mut all);
    }
    model_layers::attention(shown, &mut all)?;
    if !shown.attention_only {
        model_layers::layers(shown, &mut all)?;
        groups(shown, &mut all)?;
    }
    model_layers::sharing(shown, &mut all);
    model_work::memory(shown, &mut all)?;
    if !shown.attention_only {
        model_work::compute(shown, &mut all)?;
        keys(shown, &mut all);
    }
    // sections count themselves
    let mut number = 0;
    for part in &mut all {
        if let Part::Title(title) = part {
            if number > 0 {
                *title = format!("{number}. {title}");
            }
            number += 1;
        }
    }
    Ok(all)
}

fn glance(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let model = shown.model;
    all.push(Part::Title(format!(
        "{}: {} parameters as {}",
        shown.name,
        count(model.parameters()?),
        model.class
    )));
    if !shown.source.is_empty() {
        all.push(Part::Say(shown.source.to_owned()));
    }
    let mut table = Table::new("at a glance", &[("value", Left)]);
    let mut row = |name: &str, value: String| table.row(name, vec![value]);
    row("class", format!("{} ({}), type {}", model.class, model.kind, model.model_type));
    let (total, active) = (model.parameters()?, model.active_parameters()?);
    row("parameters", count(total));
    if active != total {
        row("active per token", format!("{} ({})", count(active), share_of(active, total)));
    }
    let frozen = model.sum(|tensor| tensor.frozen)?;
    if frozen > 0 {
        row("of them frozen", count(frozen));
    }
    for stack in &model.stacks {
        match model.stacks.len() {
            1 => row("layers", format!("{} ({})", stack.layers, stack.path)),
            _ => row(&stack.path, stack.layers.to_string()),
        }
    }
    for line in kinds(model) {
        row("attention", line);
    }
    if let Some(figure) = shown.figures.iter().find(|named| named.id == "kv-cache-per-token") {
        row("KV cache a token", format!("{} bytes in {}", count(figure.figure.value), shown.run.kv_dtype));
    } else if model.decodes() {
        row("KV cache a token", "grows by a law of its own that is not modelled".into());
    } else {
        let why = if model.attention.is_empty() {
            "its state has a constant size"
        } else {
            "it reads its input at once"
        };
        row("KV cache", format!("none: {why}"));
    }
    let bytes = shown.run.dtype.bytes(total)?;
    let of_config = if shown.dtype_of_config { ", as the config says" } else { "" };
    row("weights", format!("{} in {}{of_config}", shown.size(bytes), shown.run.dtype));
    all.push(Part::Table(table));
    if let Some(scheme) = &model.stored_as.1 {
        all.push(Part::Caption(format!(
            "The config says its weights are packed ({scheme}): parameters are those of the class unpacked, and bytes those of --dtype."
        )));
    }
    all.extend(shown.weights.iter().map(|sentence| Part::Caption(sentence.clone())));
    Ok(())
}

/// Every kind of attention, with how many layers have it where there are several kinds.
fn kinds(model: &Model) -> Vec<String> {
    const SHOWN: usize = 4;
    let mut known: Vec<(String, usize)> = Vec::new();
    for attention in &model.attention {
        let kind = model_layers::kind_of(attention);
        match known.iter_mut().find(|(one, _)| *one == kind) {
            Some((_, times)) => *times += 1,
            None => known.push((kind, 1)),
        }
    }
    let alone = known.len() == 1;
    let more = known.len().saturating_sub(SHOWN);
    let told = |(kind, times): (String, usize)| if alone { kind } else { format!("{times} × {kind}") };
    let mut lines: Vec<String> = known.into_iter().take(SHOWN).map(told).collect();
    if more > 0 {
        lines.push(format!("and {more} more kinds"));
    }
    lines
}

/// What each group of tensors holds, and the totals that people quote.
fn groups(shown: &Shown, all: &mut Vec<Part>) -> Outcome<()> {
    let model = shown.model;
    let total = model.parameters()?;
    all.push(Part::Title("Where the parameters are".into()));
    let mut table = Table::new("group", &[("tensors", Right), ("parameters", Right), ("share", Right)]);
    for group in Group::ALL {
        let own =
            |tensor: &&crate::params::architecture::Tensor| tensor.group == group && tensor.same_as.is_none();
        let tensors = model.tensors.iter().filter(own).count();
        let sum = model.sum(|tensor| tensor.group == group)?;
        if tensors > 0 {
            table.row(group.name(), vec![tensors.to_string(), count(sum), share_of(sum, total)]);
        }
    }
    let tensors = model.tensors.iter().filter(|tensor| tensor.same_as.is_none()).count();
    table.row("all", vec![tensors.to_string(), count(total), "100.0%".into()]);
    all.push(Part::Table(table));
    let ids = [
        "total-parameters",
        "embedding-parameters",
        "non-embedding-parameters",
        "attention-parameters",
        "active-parameters",
    ];
    let figures = &shown.figures;
    let mut table = Table::new("total", &[("parameters", Right), ("how", Left)]);
    for named in figures.iter().filter(|named| ids.contains(&named.id)) {
        let how = if named.id == "total-parameters" {
            "the sum above".into()
        } else {
            named.figure.formula.clone()
        };
        table.row(named.title.clone(), vec![count(named.figure.value), short(&how)]);
    }
    all.push(Part::Table(table));
    if figures.iter().any(|named| named.id == "active-parameters") {
        all.push(Part::Say(
            "Active: all parameters − routed experts + routed experts · k / E. The tables count whole, although a token \
             reads one row of each."
                .into(),
        ));
    }
    tied(model, all);
    outside(shown, all);
    Ok(())
}

fn short(formula: &str) -> String {
    if formula.chars().count() > 60 {
        formula.chars().take(59).collect::<String>() + "…"
    } else {
        formula.to_owned()
    }
}

fn tied(model: &Model, all: &mut Vec<Part>) {
    const SHOWN: usize = 4;
    if model.tied.is_empty() {
        return;
    }
    let mut said: Vec<String> =
        model.tied.iter().take(SHOWN).map(|(name, same)| format!("{name} is {same}")).collect();
    if model.tied.len() > SHOWN {
        said.push(format!("and {} more", model.tied.len() - SHOWN));
    }
    all.push(Part::Say(format!("Tied, so counted once: {}.", said.join(", "))));
}

/// The tensors that stand in no layer: embeddings, last norm, pooler, head.
fn outside(shown: &Shown, all: &mut Vec<Part>) {
    const SHOWN: usize = 40;
    let outside: Vec<_> = shown.model.tensors.iter().filter(|tensor| tensor.layer.is_none()).collect();
    all.push(Part::Caption("Outside the layers".into()));
    let columns = [("shape", Left), ("formula", Left), ("parameters", Right), ("group", Left)];
    let mut table = Table::new("tensor", &columns);
    for tensor in outside.iter().take(SHOWN) {
        let (shape, formula, _) = model_layers::shape(tensor);
        let parameters = match &tensor.same_as {
            Some(_) => "tied".to_owned(),
            None => count(tensor.count),
        };
        table.row(tensor.name.clone(), vec![shape, formula, parameters, tensor.group.name().into()]);
    }
    all.push(Part::Table(table));
    if outside.len() > SHOWN {
        all.push(Part::Caption(format!("and {} more: --tensors lists them", outside.len() - SHOWN)));
    }
}

/// The keys of the config that decided, and which of them it did not state.
fn keys(shown: &Shown, all: &mut Vec<Part>) {
    all.push(Part::Title("What the config says".into()));
    let mut table = Table::new("key", &[("value", Right), ("from", Left)]);
    for fact in &shown.model.facts {
        let from = match fact.source {
            Source::Stated => "config".to_owned(),
            Source::Default => format!("default of {}", shown.model.model_type),
        };
        table.row(fact.key.clone(), vec![fact.value.clone(), from]);
    }
    all.push(Part::Table(table));
    all.push(Part::Say(
        "An absent key is the type's own default, and null is not the same as absent.".into(),
    ));
}

/// Every tensor, a line each that is never broken: for people, and for grep.
pub fn tensor_lines(shown: &Shown) -> String {
    let mut rows = vec![["shape", "parameters", "group", "layer", "tensor"].map(str::to_owned)];
    for tensor in &shown.model.tensors {
        let (shape, ..) = model_layers::shape(tensor);
        let parameters = if tensor.same_as.is_some() { "tied".into() } else { count(tensor.count) };
        let layer = tensor.layer.map_or_else(String::new, |layer| layer.to_string());
        rows.push([shape, parameters, tensor.group.name().into(), layer, tensor.name.clone()]);
    }
    let wide = |column: usize| rows.iter().map(|row| width(&row[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(wide).collect();
    let mut text = String::new();
    for row in &rows {
        let blanks = |column: usize| " ".repeat(widths[column].saturating_sub(width(&row[column])));
        let [shape, parameters, group, layer, name] = row;
        text.push_str(&format!(
            "{shape}{}  {}{parameters}  {group}{}  {}{layer}  {}\n",
            blanks(0),
            blanks(1),
            blanks(2),
            blanks(3),
            visible(name)
        ));
    }
    text
}

/// Every tensor as a table.
pub fn tensors(shown: &Shown) -> Vec<Part> {
    let columns = [("shape", Left), ("parameters", Right), ("group", Left), ("layer", Right)];
    let mut table = Table::new("tensor", &columns);
    for tensor in &shown.model.tensors {
        let (shape, ..) = model_layers::shape(tensor);
        let parameters = if tensor.same_as.is_some() { "tied".into() } else { count(tensor.count) };
        let layer = tensor.layer.map_or_else(String::new, |layer| layer.to_string());
        table.row(tensor.name.clone(), vec![shape, parameters, tensor.group.name().into(), layer]);
    }
    vec![Part::Title(format!("{}: the tensors of {}", shown.name, shown.model.class)), Part::Table(table)]
}

/// Figures as paragraphs: what, formula, numbers, value.
pub fn explained(figures: &[Named], page: &Page) -> String {
    let mut text = String::new();
    for named in figures {
        let Figure { formula, factors, value } = &named.figure;
        let value = format!("{} {}", count(*value), named.unit.name());
        text.push_str(&look::names(&format!("{} ({})", named.title, named.id), page));
        text.push_str(&page.paragraph(&format!("= {formula}"), 2));
        if factors != &named.figure.value.to_string() {
            text.push_str(&page.paragraph(&format!("= {factors}"), 2));
        }
        text.push_str(&page.paragraph(&format!("= {value}"), 2));
        if !named.note.is_empty() {
            text.push_str(&page.paragraph(&format!("({})", named.note), 2));
        }
        if figures.len() > 1 {
            text.push('\n');
        }
    }
    text.trim_end().to_owned() + "\n"
}

/// The same as a table.
pub fn explained_parts(figures: &[Named]) -> Vec<Part> {
    let columns = [("formula", Left), ("numbers put in", Left), ("value", Right), ("unit", Left)];
    let mut table = Table::new("figure", &columns);
    for named in figures {
        let Figure { formula, factors, value } = &named.figure;
        let cells = vec![formula.clone(), factors.clone(), count(*value), named.unit.name().into()];
        table.row(named.title.clone(), cells);
    }
    vec![Part::Table(table)]
}

/// The types that tables of bytes show.
pub(super) fn dtypes(run: &Run) -> Vec<Dtype> {
    Dtype::shown_beside(run.dtype)
}

/// Whether any attention keeps a latent.
pub(super) fn has_latent(model: &Model) -> bool {
    model.attention.iter().any(|attention| matches!(attention.cache, Cache::Latent { .. }))
}
