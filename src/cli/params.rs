//! `mha params`: how many parameters, multiplications and cached bytes an attention layer has.

use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, ValueEnum};

use super::output::{self, Content};
use super::{Common, Ending, complete, params_model};
use crate::fault::{Fault, Faults, Outcome};
use crate::params::report::Request;
use crate::params::sweep::SweepOver;
use crate::params::{Dtype, Key, Report, Settings, presets};
use crate::views::page::Layout;
use crate::views::params::Words;
use crate::views::{self, params_csv, params_json, presets as presets_view};
use crate::words::{Language, in_language};

const EXAMPLES: &str = "\
Examples:
  mha params llama-2-7b --memory 24GiB
                                  a published model, and what fits
  mha params path/to/config.json  any model's config
  mha params path/to/folder --tensors
                                  config and weights together, tensor by tensor
  mha params model.gguf           what a weight file holds, from its header
  mha params llama-3-8b --sweep num-kv-heads=1,8,32
  mha params deepseek-v3 --explain active-parameters
  mha params --list qwen          models by name; --list families for the types
  mha params --d-model 768 --num-heads 12
                                  one attention layer of your own sizes
  mha params                      the base Transformer's (512 wide, 8 heads)";

/// Count parameters, multiplications and KV cache
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ParamsArgs {
    /// A model by name, its config.json, its folder, or its weights (.safetensors, .gguf); with --list, a word to look for
    #[arg(value_name = "MODEL", add = complete::presets())]
    pub(super) preset: Option<String>,
    /// List the models that have a name; `--list families` the types that configs can have
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    pub(super) whole: Whole,
    #[command(flatten)]
    pub(super) sizes: Sizes,
    /// What parameters are stored in [default: what the config says, or fp16]
    #[arg(long, value_name = "DTYPE", ignore_case = true, value_parser = dtypes())]
    pub(super) dtype: Option<String>,
    /// What the KV cache is stored in
    #[arg(long, value_name = "DTYPE", default_value = "fp16", ignore_case = true, value_parser = dtypes())]
    pub(super) kv_dtype: String,
    /// Let one size take several values: num-heads, num-kv-heads, seq-len, d-model, batch or layers
    #[arg(long, value_name = "SIZE=A,B,C", conflicts_with = "list", add = complete::words(&["num-heads=", "num-kv-heads=", "seq-len=", "d-model=", "batch=", "layers="]))]
    pub(super) sweep: Option<String>,
    /// What to write; csv is one line a figure, or with --sweep one line a value
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    pub(super) format: Format,
    #[command(flatten)]
    pub(super) common: Common,
}

/// What can be asked of a whole model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Whole models")]
pub(super) struct Whole {
    /// The class to count: base, causal-lm, masked-lm, … or its name [default: the one the config names]
    #[arg(long, value_name = "CLASS", add = complete::classes())]
    pub(super) class: Option<String>,
    /// Read the config as one of this family, whatever its model_type
    #[arg(long = "as", value_name = "FAMILY", add = complete::families())]
    pub(super) family: Option<String>,
    /// Attention only: the short form
    #[arg(long)]
    pub(super) attention_only: bool,
    /// One line a tensor, under the names that its class gives it
    #[arg(long, conflicts_with = "attention_only")]
    pub(super) tensors: bool,
    /// What fits beside the weights: the longest context and the largest batch
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub(super) memory: Option<String>,
    /// What each of N devices holds where matrices are cut between them
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) tensor_parallel: Option<String>,
    /// One figure with its formula and the numbers put in (`--explain all` for all of them)
    #[arg(long, value_name = "FIGURE", add = complete::figures())]
    pub(super) explain: Option<String>,
    /// Units of bytes: GiB of 1024³ or GB of 1000³
    #[arg(long, value_name = "UNIT", default_value = "GiB", ignore_case = true, value_parser = ["GiB", "GB"])]
    pub(super) unit: String,
    /// Tokens that the encoder reads, where there is one [default: as --seq-len]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) source_len: Option<String>,
}

impl Whole {
    /// The first flag that only a whole model can answer.
    fn given(&self) -> Option<&'static str> {
        let flags = [
            (self.class.is_some(), "--class"),
            (self.family.is_some(), "--as"),
            (self.attention_only, "--attention-only"),
            (self.tensors, "--tensors"),
            (self.memory.is_some(), "--memory"),
            (self.tensor_parallel.is_some(), "--tensor-parallel"),
            (self.source_len.is_some(), "--source-len"),
        ];
        flags.into_iter().find(|(given, _)| *given).map(|(_, flag)| flag)
    }
}

/// Sizes are read as texts, so that what is wrong with them is said in this program's way.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sizes")]
pub(super) struct Sizes {
    /// Width of the input and the output
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    d_model: Option<String>,
    /// h, query heads
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    num_heads: Option<String>,
    /// g, key/value heads [default: as many as heads]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    num_kv_heads: Option<String>,
    /// Width of a head's queries and keys [default: d_model / num_heads]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    d_k: Option<String>,
    /// Width of a head's values [default: d_k]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    d_v: Option<String>,
    /// Width of what keys and values are made from, in cross-attention [default: d_model]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    d_kv_model: Option<String>,
    /// Layers of this kind [default: 1, or the preset's]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    layers: Option<String>,
    /// Whether the projections add biases [default: no, or as the preset]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(super) bias: Option<bool>,
    /// n, tokens of a sequence [default: 256 for a layer; for a model what its config goes to, at most 4096]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seq_len: Option<String>,
    /// B, sequences at a time [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    batch: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// A page with every figure beside its formula
    Table,
    /// One object with everything
    Json,
    /// Lines for a spreadsheet
    Csv,
    /// Tables for GitHub and wikis
    Markdown,
}

impl Sizes {
    pub(super) fn given(&self) -> impl Iterator<Item = (Key, &str)> {
        let values = [
            &self.d_model,
            &self.num_heads,
            &self.num_kv_heads,
            &self.d_k,
            &self.d_v,
            &self.d_kv_model,
            &self.layers,
            &self.seq_len,
            &self.batch,
        ];
        Key::ALL.into_iter().zip(values).filter_map(|(key, value)| Some((key, value.as_deref()?)))
    }

    /// Whether anything was said about the layer itself, rather than about what goes through it.
    fn shape_given(&self) -> bool {
        self.bias.is_some() || self.given().any(|(key, _)| !matches!(key, Key::SeqLen | Key::Batch))
    }
}

impl ParamsArgs {
    /// Whether what is written is English in every language: what programs read, and figures explained one by one.
    pub(super) fn is_for_programs(&self) -> bool {
        self.format != Format::Table || self.whole.explain.is_some()
    }
}

/// Lists models, reports on a whole one, or counts one attention layer.
pub(super) fn run(args: &ParamsArgs) -> Outcome<Ending> {
    if args.list {
        return list(args);
    }
    // The page of a whole model is English in every language.
    if let Some(subject) = params_model::subject(args)? {
        return in_language(Language::En, || params_model::run(args, subject));
    }
    if let Some(flag) = args.whole.given() {
        let why = "without a model there is only one attention layer to report on";
        return Err(Fault::new(
            format!("{flag} needs a whole model"),
            why,
            "name one: mha params llama-2-7b",
        )
        .in_source(flag)
        .into());
    }
    report(args)
}

/// What stands behind `mha params`, read on its own.
#[derive(Debug, Parser)]
#[command(name = "mha params", no_binary_name = true)]
struct Typed {
    #[command(flatten)]
    args: ParamsArgs,
}

/// What `mha params` with these words and `--format json` prints.
///
/// # Errors
/// The request cannot be met. In words.
pub(super) fn counted(words: &[String]) -> Result<String, String> {
    let Typed { args } = Typed::try_parse_from(words).map_err(|error| {
        let said = error.to_string();
        match said.lines().next().and_then(|line| line.strip_prefix("error: ")) {
            Some(why) => why.to_owned(),
            None => "a page of help counts nothing".to_owned(),
        }
    })?;
    if args.list {
        return Err("a list of models counts nothing".to_owned());
    }
    let told = |Faults(faults): Faults| faults.into_iter().next().map_or(String::new(), |fault| fault.what);
    match params_model::subject(&args).map_err(told)? {
        Some(subject) => params_model::json(&args, subject).map_err(told),
        None => {
            let report = request(&args).and_then(|request| Report::new(&request)).map_err(told)?;
            let mut bytes = Vec::new();
            params_json::write(&report, &mut bytes).map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
    }
}

fn list(args: &ParamsArgs) -> Outcome<Ending> {
    let bias = args.sizes.bias.map(|_| "--bias");
    if let Some(flag) =
        args.sizes.given().map(|(key, _)| key.flag()).chain(bias).chain(args.whole.given()).next()
    {
        let what = "--list shows models, and takes no sizes";
        return Err(Fault::new(what, "", "leave one of the two out").in_source(flag).into());
    }
    let word = args.preset.as_deref().unwrap_or_default();
    let listed = if word == "families" { presets_view::families() } else { presets_view::models(word)? };
    output::write(&args.common, Content::Text, |out| match args.format {
        Format::Table => out.write_all(listed.page(&args.common.page(Layout::Rows)).as_bytes()),
        Format::Json => listed.json(&mut *out),
        Format::Csv => listed.csv(&mut *out),
        Format::Markdown => out.write_all(listed.markdown().as_bytes()),
    })?;
    Ok(Ending::Done)
}

fn report(args: &ParamsArgs) -> Outcome<Ending> {
    let report = Report::new(&request(args)?)?;
    let words = words(&args.common);
    if let Some(id) = &args.whole.explain {
        let text = params_csv::explained(&report, id)?;
        output::write(&args.common, Content::Text, |out| {
            out.write_all(args.common.page(Layout::Rows).letters(&text).as_bytes())
        })?;
        return Ok(Ending::Done);
    }
    output::write(&args.common, Content::Text, |out| match args.format {
        Format::Table => {
            out.write_all(views::params::page(&report, &args.common.page(Layout::Rows), words).as_bytes())
        }
        Format::Json => params_json::write(&report, &mut *out),
        Format::Csv => params_csv::write(&report, &mut *out),
        Format::Markdown => out.write_all(params_csv::markdown(&report)?.as_bytes()),
    })?;
    Ok(Ending::Done)
}

/// How much is said beside the tables.
pub(super) fn words(common: &Common) -> Words {
    if common.quiet { Words::Few } else { Words::Usual }
}

/// What was typed, read; everything that cannot be read is reported together.
fn request(args: &ParamsArgs) -> Outcome<Request> {
    let mut faults = Vec::new();
    let mut settings = match &args.preset {
        Some(name) => presets::find(name).map(Settings::of_preset).unwrap_or_else(|Faults(more)| {
            faults.extend(more);
            Settings::of_nothing()
        }),
        None if args.sizes.shape_given() => Settings::of_flags(),
        None => Settings::of_nothing(),
    };
    for (key, text) in args.sizes.given() {
        match key.parse(text) {
            Ok(value) => settings.set(key, value),
            Err(Faults(more)) => faults.extend(more.into_iter().map(|fault| fault.in_source(key.flag()))),
        }
    }
    if let Some(bias) = args.sizes.bias {
        settings.set_bias(bias);
    }
    let sweep = args.sweep.as_deref().map(SweepOver::parse).transpose().unwrap_or_else(|Faults(more)| {
        faults.extend(more);
        None
    });
    if !faults.is_empty() {
        return Err(Faults(faults));
    }
    Ok(Request {
        settings,
        dtype: args.dtype.as_deref().map_or(Dtype::Fp16, dtype),
        kv_dtype: dtype(&args.kv_dtype),
        sweep,
    })
}

fn dtypes() -> PossibleValuesParser {
    PossibleValuesParser::new(Dtype::ALL.map(Dtype::name))
}

pub(super) fn dtype(name: &str) -> Dtype {
    Dtype::ALL.into_iter().find(|dtype| dtype.name().eq_ignore_ascii_case(name)).unwrap_or(Dtype::Fp16)
}
