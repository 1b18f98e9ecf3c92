//! Names that are looked up where they are asked for: of the lesson, the model or the preset that is typed already.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;

use clap_complete::{ArgValueCompleter, CompletionCandidate, PathCompleter};

use super::{begins_with, candidate, ends_with, of, of_names_and_files, paths, typed};
use crate::lesson::builtin::Builtin;
use crate::lesson::{self, Options, Problem, builtin as lessons};
use crate::mistakes::{Mistake, catalogue};
use crate::model::{Model, Task, Text, builtin};
use crate::params::architecture::work::Run;
use crate::params::architecture::{self, Asked, presets as models_by_name};
use crate::params::{Dtype, presets as layers_by_name};
use crate::plan::rewrites::VARIANTS;
use crate::plan::{Plan, attention};
use crate::views::stacked::file_name;
use crate::words::{language, say};

/// More names than these are offered part by part: `layer.1.`, `layer.2.`, … before all that is in them.
const MANY: usize = 150;
/// More cells of a step than these are not listed.
const MOST_CELLS: usize = 400;

fn options() -> Options {
    Options { language: language(), allow_outside: false, pin_claims: false, teaches: false }
}

/// What a lesson is called.
pub(super) fn title(lesson: &Builtin) -> String {
    lessons::load(lesson, &options()).map(|problem| problem.title).unwrap_or_default()
}

/// The lesson that is typed, or the one that is meant where none is.
fn problem() -> Option<Problem> {
    let name = typed::lesson().unwrap_or_else(|| crate::cli::lesson::DEFAULT.to_owned());
    match lessons::find(&name) {
        Some(lesson) => lessons::load(lesson, &options()).ok(),
        None => lesson::load(name.as_ref(), &options()).ok(),
    }
}

/// The plan of what is typed: of a lesson, or of a model on its text (on its first token, where there is none).
fn with_plan<T: Default>(work: impl FnOnce(&Plan) -> T) -> T {
    let Some(name) = typed::model() else {
        let plan = problem().and_then(|problem| attention::plan(&problem.call()).ok());
        return plan.map(|plan| work(&plan)).unwrap_or_default();
    };
    // What pipes hold cannot be looked at twice.
    let is_there = |name: &str| fs::metadata(name).is_ok_and(|found| found.is_file() || found.is_dir());
    let is_known = builtin::find(&name).is_some() || is_there(&name);
    let Some(model) = is_known.then(|| Model::open(&name).ok()).flatten() else { return T::default() };
    let text = typed::value("--text").map_or(Text::Ids(vec![0]), Text::One);
    let task = model.read(&text).and_then(|passage| Task::new(&model, passage));
    task.map(|task| work(&task.plan)).unwrap_or_default()
}

/// The steps of what is typed, as `--steps` takes them: names that mean every layer or sequence, names of files, which
/// mean all heads, and names of one step.
fn step_names(plan: &Plan) -> Vec<String> {
    let ids = || plan.ids().into_iter();
    let own = ids().map(|id| id.name.to_string());
    let of_files = ids().filter_map(|id| file_name(id.name));
    once_each(own.chain(of_files).chain(ids().map(|id| id.to_string())))
}

fn once_each(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = HashSet::new();
    names.filter(|name| seen.insert(name.clone())).collect()
}

/// Names that begin so, or their first parts where they are many.
fn parts(names: Vec<String>, begun: &str) -> Vec<CompletionCandidate> {
    let names: Vec<String> = names.into_iter().filter(|name| name.starts_with(begun)).collect();
    let up_to = |dots: usize| {
        let end = move |name: &str| name.match_indices('.').nth(dots).map_or(name.len(), |(at, _)| at + 1);
        once_each(names.iter().map(|name| name[..end(name)].to_owned()))
    };
    let shown = match names.len() {
        0..MANY => names.clone(),
        // One part alone would only be a detour.
        _ => (0..8).map(up_to).find(|parts| parts.len() > 1).unwrap_or_default(),
    };
    shown.into_iter().map(|name| candidate(name, "")).collect()
}

/// Offers steps.
pub(in crate::cli) fn steps() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| parts(with_plan(step_names), &begun.to_string_lossy()))
}

/// Offers steps, and behind a `[` the cells of one.
pub(in crate::cli) fn cells() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        let begun = begun.to_string_lossy();
        match begun.split_once('[') {
            None => parts(with_plan(within), &begun),
            Some((name, _)) => begins_with(begun.as_ref().as_ref(), with_plan(|plan| cells_of(plan, name))),
        }
    })
}

/// The steps as explanations name them.
fn within(plan: &Plan) -> Vec<String> {
    once_each(plan.ids().into_iter().map(|id| id.within().to_string()))
}

fn cells_of(plan: &Plan, name: &str) -> Vec<CompletionCandidate> {
    let Some(step) = plan.steps().iter().find(|step| step.id.within().to_string() == name) else {
        return Vec::new();
    };
    let (rows, columns) = step.shape;
    if rows.saturating_mul(columns) > MOST_CELLS {
        return Vec::new();
    }
    let cell = |row: usize, column: usize| candidate(format!("{name}[{},{}]", row + 1, column + 1), "");
    (0..rows).flat_map(|row| (0..columns).map(move |column| cell(row, column))).collect()
}

/// Numbers from 1.
fn up_to(most: usize) -> Vec<CompletionCandidate> {
    (1..=most).map(|number| candidate(number.to_string(), "")).collect()
}

fn num_heads(plan: &Plan) -> usize {
    plan.ids().iter().filter_map(|id| id.head()).map(|head| head.0 + 1).max().unwrap_or(0)
}

fn num_layers(plan: &Plan) -> usize {
    plan.ids().iter().filter_map(|id| id.layer).map(|layer| layer + 1).max().unwrap_or(0)
}

/// Offers the numbers of heads.
pub(in crate::cli) fn heads() -> ArgValueCompleter {
    of(|| up_to(with_plan(num_heads)))
}

/// Offers the numbers of layers, and these words.
pub(in crate::cli) fn layers(words: &'static [&'static str]) -> ArgValueCompleter {
    of(move || {
        let mut all = up_to(with_plan(num_layers));
        all.extend(words.iter().map(|word| candidate(*word, "")));
        all
    })
}

/// Offers heads of several layers: `layer.1.head.2`.
pub(in crate::cli) fn heads_of_layers() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        let names = |plan: &Plan| {
            let heads = num_heads(plan);
            let of_layer = |layer| (1..=heads).map(move |head| format!("layer.{layer}.head.{head}"));
            (1..=num_layers(plan)).flat_map(of_layer).collect()
        };
        parts(with_plan(names), &begun.to_string_lossy())
    })
}

/// Offers the sequences of a batch.
pub(in crate::cli) fn sequences(words: &'static [&'static str]) -> ArgValueCompleter {
    of(move || {
        let mut all = up_to(problem().and_then(|problem| problem.batch).unwrap_or(1));
        all.extend(words.iter().map(|word| candidate(*word, "")));
        all
    })
}

/// Offers models: those that come with the program, folders, and `.gguf` files.
pub(in crate::cli) fn models() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| {
        let ours = builtin::all().iter().map(|model| candidate(model.name, model.what_it_is()));
        let mut all = begins_with(begun, ours.collect());
        let of_models = PathCompleter::any().filter(|path| path.is_dir() || ends_with(path, &["gguf"]));
        all.extend(paths(of_models).complete(begun));
        all
    })
}

/// Offers mistakes; behind a `/` the forms of one.
pub(in crate::cli) fn mistakes() -> ArgValueCompleter {
    ArgValueCompleter::new(|begun: &OsStr| match begun.to_string_lossy().split_once('/') {
        None => begins_with(begun, mistake_names()),
        Some((name, _)) => begins_with(begun, Mistake::named(name).map(forms).unwrap_or_default()),
    })
}

fn mistake_names() -> Vec<CompletionCandidate> {
    catalogue::all().map(|mistake| candidate(mistake.name, say(mistake.summary))).collect()
}

fn forms(mistake: &Mistake) -> Vec<CompletionCandidate> {
    let named = mistake.forms.iter().filter(|form| !form.name.is_empty());
    named.map(|form| candidate(format!("{}/{}", mistake.name, form.name), "")).collect()
}

/// Offers variants of attention that the lesson has, and mistakes.
pub(in crate::cli) fn variants() -> ArgValueCompleter {
    of(|| {
        let heads = with_plan(num_heads);
        let groups = |meaning| {
            (2..heads)
                .filter(move |groups| heads.is_multiple_of(*groups))
                .map(move |groups| (groups, meaning))
        };
        let mut all = Vec::new();
        for (name, meaning) in VARIANTS {
            match name.strip_suffix(":G") {
                Some(stem) => all.extend(
                    groups(*meaning)
                        .map(|(groups, meaning)| candidate(format!("{stem}:{groups}"), say(meaning))),
                ),
                None => all.push(candidate(*name, say(meaning))),
            }
        }
        all.extend(mistake_names());
        all
    })
}

/// Offers what `mha params` counts: models by name, configs, folders and files of weights.
pub(in crate::cli) fn presets() -> ArgValueCompleter {
    of_names_and_files(
        || {
            let models = models_by_name::search("").into_iter().map(|preset| preset.name);
            let layers = layers_by_name::PRESETS.iter().map(|preset| preset.name);
            let names: BTreeSet<&str> = models.chain(layers).collect();
            names.into_iter().map(|name| candidate(name, "")).collect()
        },
        &["json", "safetensors", "gguf"],
    )
}

/// The config of the model that is typed.
fn config() -> Option<serde_json::Value> {
    let name = typed::first()?;
    if let Some(preset) = models_by_name::find(&name) {
        return Some(preset.config);
    }
    let path = std::path::Path::new(&name);
    let path = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
    let is_small = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() < 1 << 20);
    let bytes = is_small.then(|| fs::read(path).ok()).flatten()?;
    serde_json::from_slice(&bytes).ok()
}

/// Offers the figures that `mha params --explain` tells.
pub(in crate::cli) fn figures() -> ArgValueCompleter {
    of(|| {
        let run = Run {
            seq_len: 1,
            source_len: 1,
            batch: 1,
            dtype: Dtype::Fp16,
            kv_dtype: Dtype::Fp16,
            devices: 1,
            memory: None,
        };
        let model = config().and_then(|config| architecture::build(&config, &Asked::default()).ok());
        let figures = model.and_then(|model| model.figures(&run).ok()).unwrap_or_default();
        let mut all: Vec<_> = figures.iter().map(|figure| candidate(figure.id, "")).collect();
        all.push(candidate("all", ""));
        all
    })
}

/// Offers the classes of the model that is typed.
pub(in crate::cli) fn classes() -> ArgValueCompleter {
    of(|| {
        let config = config().unwrap_or_default();
        let kinds = match config.get("model_type").and_then(|name| name.as_str()) {
            Some(name) => architecture::kinds_of(name),
            None => Vec::new(),
        };
        kinds.into_iter().map(|kind| candidate(kind, "")).collect()
    })
}

/// Offers the types that configs can have.
pub(in crate::cli) fn families() -> ArgValueCompleter {
    of(|| {
        let types: BTreeSet<&str> = architecture::known_types().into_iter().collect();
        types.into_iter().map(|name| candidate(name, "")).collect()
    })
}
