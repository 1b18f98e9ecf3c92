//! `mha params` of a whole model: by name, from a `config.json`, a folder, or weights.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use super::Ending;
use super::output::{self, Content};
use super::params::{Format, ParamsArgs, dtype, words};
use crate::arrays::Document;
use crate::fault::{Fault, Faults, Outcome, Place, reason};
use crate::limits::DEVICES;
use crate::params::architecture::figures::Named;
use crate::params::architecture::variants;
use crate::params::architecture::work::Run;
use crate::params::architecture::{self, Asked, Model, change, presets};
use crate::params::presets as layers;
use crate::params::sweep::SweepOver;
use crate::params::weights::compare::Compared;
use crate::params::weights::{self, WeightFile, compare};
use crate::params::{Dtype, Key};
use crate::views::model::{self, Shown};
use crate::views::page::Layout;
use crate::views::weights::Use;
use crate::views::{json_text, model_csv, model_json, part, weights as weights_view};

/// What is reported on.
pub(super) enum Subject {
    /// A model that has a name.
    Preset(presets::Preset),
    /// A config with its text, and the weights beside it where there are any.
    Config(Document, PathBuf, Option<Result<WeightFile, String>>),
    /// Weights alone.
    Weights(WeightFile, PathBuf),
}

/// A whole model, if that is what was asked for; nothing where it is one attention layer.
pub(super) fn subject(args: &ParamsArgs) -> Outcome<Option<Subject>> {
    let Some(named) = args.preset.as_deref() else { return Ok(None) };
    let path = Path::new(named);
    let looks_like_a_path = named.contains(['/', '\\'])
        || path.extension().is_some_and(|extension| {
            ["json", "safetensors", "gguf"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        });
    if named == "-" {
        return Ok(Some(Subject::Config(Document::from_stdin()?, PathBuf::from("standard input"), None)));
    }
    let repository = named
        .split_once('/')
        .filter(|(owner, name)| !owner.is_empty() && !name.contains('/') && !owner.starts_with('.'));
    if let Some((_, name)) = repository
        && !path.exists()
        && path
            .extension()
            .is_none_or(|extension| extension != "json" && extension != "gguf" && extension != "safetensors")
    {
        let remedy = match presets::nearest(name) {
            Some(near) => format!("mha params {near}, if that is it; or name a folder with its config.json"),
            None => "name a folder with its config.json".to_owned(),
        };
        let why = "nothing is fetched: mha works offline";
        let fault = Fault::new(
            format!("there is no folder {named}, and no model is looked up on a hub"),
            why,
            remedy,
        );
        return Err(fault.in_source("MODEL").into());
    }
    if !looks_like_a_path {
        if let Some(preset) = presets::find(named) {
            return Ok(Some(Subject::Preset(preset)));
        }
        if layers::find(named).is_ok() {
            return Ok(None);
        }
        if !path.exists() {
            return presets::unknown(
                named,
                &layers::PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>(),
            );
        }
    }
    if path.is_dir() {
        return folder(path).map(Some);
    }
    let is_config = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
        && !named.ends_with(".index.json");
    if is_config || !path.exists() {
        return Ok(Some(Subject::Config(Document::read(path)?, path.to_owned(), None)));
    }
    Ok(Some(Subject::Weights(weights::open(path)?, path.to_owned())))
}

/// A model's folder: its config, its weights, or both.
fn folder(path: &Path) -> Outcome<Subject> {
    let config = path.join("config.json");
    if !config.exists() {
        return match weights::in_folder(path)? {
            Some(file) => Ok(Subject::Weights(file, path.to_owned())),
            None => {
                let what = "the folder has neither a config.json nor weights";
                let remedy = "give the folder that holds them, or the file itself";
                Err(Fault::new(what, "one of the two is counted", remedy)
                    .in_source(path.display().to_string())
                    .into())
            }
        };
    }
    let file = match weights::in_folder(path) {
        Ok(file) => file.map(Ok),
        // what is never opened, or cannot be chosen between, does not keep the config from being counted; broken files do
        Err(Faults(faults)) if faults.iter().all(|fault| is_a_choice(&fault.what)) => {
            faults.first().map(|fault| Err(fault.what.clone()))
        }
        Err(faults) => return Err(faults),
    };
    Ok(Subject::Config(Document::read(&config)?, path.to_owned(), file))
}

fn is_a_choice(what: &str) -> bool {
    what.contains("pickle") || what.contains("several")
}

/// Counts the model and writes the report.
pub(super) fn run(args: &ParamsArgs, subject: Subject) -> Outcome<Ending> {
    match subject {
        Subject::Weights(file, path) => stored(args, &file, &path),
        subject => reported(args, subject, |shown| write(args, shown)),
    }
}

/// The report of a model as JSON.
///
/// # Errors
/// It cannot be counted; weights alone, which say nothing of the class that uses them.
pub(super) fn json(args: &ParamsArgs, subject: Subject) -> Outcome<String> {
    reported(args, subject, model_json::text)
}

/// Counts the model, and hands on its report.
fn reported<T>(
    args: &ParamsArgs,
    subject: Subject,
    hand_on: impl FnOnce(&Shown) -> Outcome<T>,
) -> Outcome<T> {
    let asked = Asked { class: args.whole.class.clone(), family: args.whole.family.clone() };
    let (name, source, config, document, file) = match subject {
        Subject::Preset(preset) => {
            let source = "Its sizes are those of the published config.".to_owned();
            (preset.name.to_owned(), source, preset.config, None, None)
        }
        Subject::Config(document, path, file) => {
            let config = document.value.clone();
            (title(&path), format!("From {}.", path.display()), config, Some(document), file)
        }
        Subject::Weights(_, path) => {
            let why = "a weight file holds tensors, and says nothing of the class that uses them";
            let fault =
                Fault::new("weights alone are not counted here", why, "name a model or its config.json");
            return Err(fault.in_source(path.display().to_string()).into());
        }
    };
    let unchanged = config.clone();
    let (config, changes) = with_flags(args, config, &asked)?;
    // a flag is to blame only where the config makes a model without it
    let built = architecture::build(&config, &asked).map_err(|faults| match changed_by(args) {
        Some(flag) if architecture::build(&unchanged, &asked).is_ok() => unplaced(faults).in_source(flag),
        _ => faults,
    });
    let model = match &document {
        Some(document) => built.map_err(|faults| placed(faults, document))?,
        None => built.map_err(|faults| faults.in_source(&name))?,
    };
    let source = if changes.is_empty() {
        source
    } else {
        format!("{source} Changed by flags: {}.", changes.join(", "))
    };
    let place = document.as_ref().map_or(name.clone(), |document| document.place("").source);
    let (run, dtype_of_config) = settings(args, &model)?;
    let over = args.sweep.as_deref().map(SweepOver::parse).transpose()?;
    let sweep = match over {
        Some(over) => Some((
            over.clone(),
            variants::sweep(&config, &asked, &run, &over).map_err(|f| f.in_source("--sweep"))?,
        )),
        None => None,
    };
    let weights = match &file {
        Some(Ok(file)) if changes.is_empty() => {
            let compared = file.packed.is_none() && !file.is_gguf();
            let differences = if compared { compare::differences(&model, file) } else { Compared::default() };
            weights_view::beside(
                file,
                model.parameters().map_err(|faults| faults.in_source(&place))?,
                &differences,
            )
        }
        Some(Ok(_)) => {
            vec!["The weights beside the config are not compared: flags have changed its sizes.".to_owned()]
        }
        Some(Err(why)) => vec![format!("The weights beside the config were not read: {why}.")],
        None => Vec::new(),
    };
    let shown = Shown {
        model: &model,
        name: &name,
        source: &source,
        run,
        decimal: args.whole.unit.eq_ignore_ascii_case("GB"),
        dtype_of_config,
        figures: model.figures(&run).map_err(|faults| faults.in_source(&place))?,
        share: args.whole.tensor_parallel.as_ref().map(|_| model.share(run.devices)).transpose()?,
        sharing: if args.whole.explain.is_some() || args.whole.tensors {
            Vec::new()
        } else {
            variants::sharing(&config, &asked, &model, &run)?
        },
        sweep,
        weights,
        attention_only: args.whole.attention_only,
    };
    hand_on(&shown).map_err(|faults| faults.in_source(&place))
}

/// The report of weights alone.
fn stored(args: &ParamsArgs, file: &WeightFile, path: &Path) -> Outcome<Ending> {
    let whole = &args.whole;
    let needs_a_config = [
        (whole.class.is_some(), "--class"),
        (whole.family.is_some(), "--as"),
        (whole.attention_only, "--attention-only"),
        (whole.tensor_parallel.is_some(), "--tensor-parallel"),
        (whole.explain.is_some(), "--explain"),
        (whole.memory.is_some() && !file.is_gguf(), "--memory"),
        (args.sweep.is_some(), "--sweep"),
    ];
    let lengths = |key: &Key| file.is_gguf() && matches!(key, Key::SeqLen | Key::Batch);
    let sizes = args.sizes.given().filter(|(key, _)| !lengths(key)).map(|(key, _)| key.flag());
    if let Some(flag) = needs_a_config
        .into_iter()
        .find(|(given, _)| *given)
        .map(|(_, flag)| flag)
        .into_iter()
        .chain(sizes)
        .next()
    {
        let why = "a weight file holds tensors, and says nothing of the class that uses them";
        let remedy = "give the folder that holds its config.json too, or leave the flag out";
        return Err(Fault::new(format!("{flag} needs a config"), why, remedy).in_source(flag).into());
    }
    if file.tensors.is_empty() {
        let fault = Fault::new(
            "the file holds no tensor",
            "there is nothing to count",
            "see whether it is the right file",
        );
        return Err(fault.in_source(path.display().to_string()).into());
    }
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let length = |wanted: Key| {
        let given = args.sizes.given().find(|(key, _)| *key == wanted);
        given.map(|(key, text)| key.parse(text).map_err(|faults| faults.in_source(key.flag()))).transpose()
    };
    let to = Use {
        kv_dtype: dtype(&args.kv_dtype),
        seq_len: length(Key::SeqLen)?,
        batch: length(Key::Batch)?.unwrap_or(1),
        memory: whole.memory.as_deref().map(bytes).transpose()?,
    };
    let page = args.common.page(Layout::Rows);
    output::write(&args.common, Content::Text, |out| match args.format {
        Format::Table => {
            let parts = weights_view::parts(file, &name, whole.tensors, &to);
            out.write_all(part::terminal(&parts, &page, words(&args.common)).as_bytes())
        }
        Format::Markdown => {
            out.write_all(part::markdown(&weights_view::parts(file, &name, whole.tensors, &to)).as_bytes())
        }
        Format::Json => {
            writeln!(out, "{}", json_text::pretty(&weights_view::json(file, &name, to.kv_dtype)))
        }
        Format::Csv => weights_view::csv(file, &mut *out),
    })?;
    Ok(Ending::Done)
}

fn write(args: &ParamsArgs, shown: &Shown) -> Outcome<Ending> {
    let page = args.common.page(Layout::Rows);
    if let Some(id) = &args.whole.explain {
        let figures = match id.as_str() {
            "all" => shown.figures.clone(),
            id => vec![shown.model.figure(id, &shown.run)?],
        };
        output::write(&args.common, Content::Text, |out| match args.format {
            Format::Json => model_json::figures(&figures, &mut *out),
            Format::Csv => model_csv::figures(&figures, &mut *out),
            Format::Table => out.write_all(model::explained(&figures, &page).as_bytes()),
            Format::Markdown => out.write_all(part::markdown(&model::explained_parts(&figures)).as_bytes()),
        })?;
        return Ok(Ending::Done);
    }
    let text = match args.format {
        Format::Table | Format::Markdown => {
            let table = args.format == Format::Table;
            if args.whole.tensors && table {
                let text = page.letters(&model::tensor_lines(shown));
                return written(args, text.as_bytes());
            }
            let parts = if args.whole.tensors { model::tensors(shown) } else { model::parts(shown)? };
            let text = if table {
                part::terminal(&parts, &page, words(&args.common))
            } else {
                part::markdown(&parts)
            };
            text.into_bytes()
        }
        Format::Json => model_json::text(shown)?.into_bytes(),
        Format::Csv => {
            let mut lines = Vec::new();
            match &shown.sweep {
                _ if args.whole.tensors => model_csv::tensors(shown.model, &mut lines),
                Some((over, rows)) => model_csv::sweep(over, rows, &mut lines),
                None if shown.attention_only => {
                    let attention =
                        |named: &&Named| named.id.contains("attention") || named.id.contains("cache");
                    let own: Vec<Named> = shown.figures.iter().filter(attention).cloned().collect();
                    model_csv::figures(&own, &mut lines)
                }
                None => model_csv::figures(&shown.figures, &mut lines),
            }
            .map_err(|error| Fault::new("the lines cannot be written", reason(&error), ""))?;
            lines
        }
    };
    written(args, &text)
}

fn written(args: &ParamsArgs, text: &[u8]) -> Outcome<Ending> {
    output::write(&args.common, Content::Text, |out| out.write_all(text))?;
    Ok(Ending::Done)
}

/// What a file or folder is called in the report.
fn title(path: &Path) -> String {
    let is_config = path.file_name().is_some_and(|name| name == "config.json");
    let named = if is_config {
        path.parent().filter(|folder| folder.file_name().is_some()).unwrap_or(path)
    } else {
        path
    };
    let name = named.file_name().unwrap_or(named.as_os_str()).to_string_lossy().into_owned();
    name.strip_suffix(".config.json")
        .or_else(|| name.strip_suffix(".json"))
        .map_or(name.clone(), str::to_owned)
}

/// The config with the sizes that flags give, and what they changed.
fn with_flags(args: &ParamsArgs, config: Json, asked: &Asked) -> Outcome<(Json, Vec<String>)> {
    let (mut config, mut changes) = (config, Vec::new());
    let mut faults = Vec::new();
    for (key, text) in args.sizes.given().filter(|(key, _)| !matches!(key, Key::SeqLen | Key::Batch)) {
        let at = |Faults(more): Faults| more.into_iter().map(move |fault| fault.in_source(key.flag()));
        match key.parse(text).and_then(|value| change::changed(&config, asked, key, value)) {
            Ok(changed) => {
                config = changed;
                changes.push(format!("{} {text}", key.name()));
            }
            Err(more) => faults.extend(at(more)),
        }
    }
    if args.sizes.bias.is_some() {
        let why = "which matrices have one is a matter of the class";
        faults.push(
            Fault::new("--bias is for layers of your own sizes", why, "edit a copy of the config")
                .in_source("--bias"),
        );
    }
    if faults.is_empty() { Ok((config, changes)) } else { Err(Faults(faults)) }
}

/// The last flag that changes a size: where a config that was whole before is no model any more, it is to blame.
fn changed_by(args: &ParamsArgs) -> Option<&'static str> {
    let sizes = args.sizes.given().map(|(key, _)| key);
    sizes.filter(|key| !matches!(key, Key::SeqLen | Key::Batch)).last().map(Key::flag)
}

fn unplaced(Faults(faults): Faults) -> Faults {
    Faults(faults.into_iter().map(|fault| Fault { place: None, ..fault }).collect())
}

/// How the model is run: flags, or lengths that it was made for; and whether the type of its weights is the config's.
fn settings(args: &ParamsArgs, model: &Model) -> Outcome<(Run, bool)> {
    let given = |wanted: Key| args.sizes.given().find(|(key, _)| *key == wanted).map(|(_, text)| text);
    let number = |key: Key| {
        given(key).map(|text| key.parse(text).map_err(|faults| faults.in_source(key.flag()))).transpose()
    };
    let seq_len = number(Key::SeqLen)?.unwrap_or_else(|| default_length(model));
    let source_len = match &args.whole.source_len {
        Some(text) => whole_number(text, "--source-len", Key::SeqLen.largest())?,
        None => model.usual_source.unwrap_or(seq_len),
    };
    let devices = args.whole.tensor_parallel.as_deref();
    let stated = model.stored_as.0.as_deref().and_then(of_config);
    let run = Run {
        seq_len,
        source_len,
        batch: number(Key::Batch)?.unwrap_or(1),
        dtype: args.dtype.as_deref().map(dtype).or(stated).unwrap_or(Dtype::Fp16),
        kv_dtype: dtype(&args.kv_dtype),
        devices: devices
            .map(|text| whole_number(text, "--tensor-parallel", DEVICES))
            .transpose()?
            .unwrap_or(1),
        memory: args.whole.memory.as_deref().map(bytes).transpose()?,
    };
    Ok((run, args.dtype.is_none() && stated.is_some()))
}

/// The type that a config means by PyTorch's name for it.
fn of_config(name: &str) -> Option<Dtype> {
    match name.trim_start_matches("torch.") {
        "float32" | "float" => Some(Dtype::Fp32),
        "float16" | "half" => Some(Dtype::Fp16),
        "bfloat16" => Some(Dtype::Bf16),
        name if name.starts_with("float8") => Some(Dtype::Fp8),
        _ => None,
    }
}

/// What the model was made for, up to 4,096 tokens; 1,024 where it does not say.
fn default_length(model: &Model) -> u64 {
    let usual = model.usual_length.or(model.context.map(|length| length.min(4096)));
    usual.unwrap_or(1024).max(1)
}

fn whole_number(text: &str, flag: &'static str, most: u64) -> Outcome<u64> {
    match text.parse::<u64>() {
        Ok(value) if (1..=most).contains(&value) => Ok(value),
        _ => {
            let shown: String = text.chars().take(40).collect();
            let why = format!("it is a whole number from 1 to {most}");
            Err(Fault::new(format!("{flag} cannot be {shown}"), why, format!("{flag} 8"))
                .in_source(flag)
                .into())
        }
    }
}

/// `24GiB`, `80 GB`, `512MiB`, or plain bytes.
fn bytes(text: &str) -> Outcome<u64> {
    let shown: String = text.chars().take(40).collect();
    let fault = |why: &str| {
        Faults::from(
            Fault::new(format!("{shown} is no size of memory"), why, "--memory 24GiB, or --memory 80GB")
                .in_source("--memory"),
        )
    };
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let count = number.parse::<f64>().map_err(|_| fault("it begins with a number, such as 24 or 1.5"))?;
    let factor: f64 = match unit.trim().to_lowercase().as_str() {
        "" if number.len() < 7 => return Err(fault("its unit is missing: a number alone is bytes")),
        "" | "b" | "bytes" => 1.0,
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        "kib" => 1024.0,
        "mib" => 1024f64.powi(2),
        "gib" => 1024f64.powi(3),
        "tib" => 1024f64.powi(4),
        "k" | "m" | "g" | "t" => return Err(fault("it could be units of 1000 or of 1024: write GB or GiB")),
        _ => return Err(fault("its unit is none of kB, MB, GB, TB, KiB, MiB, GiB, TiB")),
    };
    let bytes = count * factor;
    if (1.0..9e18).contains(&bytes) {
        Ok(bytes as u64)
    } else {
        Err(fault("it is at least one byte, and below 8 EiB"))
    }
}

/// Gives faults the line of the key that they name.
fn placed(Faults(faults): Faults, document: &Document) -> Faults {
    let place = |fault: Fault| match &fault.place {
        Some(place) if place.source.is_empty() => {
            let found = document.place(&place.path);
            let path = place.path.clone();
            fault.at(Place { path, ..found })
        }
        Some(_) => fault,
        None => fault.at(document.place("")),
    };
    Faults(faults.into_iter().map(place).collect())
}
