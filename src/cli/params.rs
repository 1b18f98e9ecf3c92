//! `mha params`: how many parameters, multiplications and cached bytes an attention layer has.

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::output::{self, Content};
use super::{Common, Ending};
use crate::fault::{Fault, Faults, Outcome};
use crate::params::report::Request;
use crate::params::sweep::SweepOver;
use crate::params::{Dtype, Key, Report, Settings, presets};
use crate::views::page::Layout;
use crate::views::params::Words;
use crate::views::{self, params_csv, params_json};

const EXAMPLES: &str = "\
Examples:
  mha params                                   the base Transformer (512 wide, 8 heads)
  mha params llama-2-70b --seq-len 4096        one of the presets that --list shows
  mha params --d-model 768 --num-heads 12 --bias
  mha params bert-base --num-heads 16          a preset with one size changed
  mha params --sweep num-heads=1,4,8,16,32     more heads, the same parameters
  mha params gpt3-175b --kv-dtype int8 --format json";

/// Count parameters, multiplications and KV cache
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ParamsArgs {
    /// A model's attention layers by name; with --list, a word to look for
    #[arg(value_name = "PRESET")]
    preset: Option<String>,
    /// List the presets
    #[arg(long)]
    list: bool,
    #[command(flatten)]
    sizes: Sizes,
    /// The class to count, where not the one that the config names: base, causal-lm, masked-lm, … or its full name
    #[arg(long, value_name = "CLASS")]
    class: Option<String>,
    /// Read the config as one of this family
    #[arg(long = "as", value_name = "FAMILY")]
    family: Option<String>,
    /// Tokens of the encoder [default: as seq-len]
    #[arg(long, value_name = "N")]
    source_len: Option<u64>,
    /// What parameters are stored in
    #[arg(long, value_name = "DTYPE", default_value = "fp16", value_parser = dtypes())]
    dtype: String,
    /// What the KV cache is stored in
    #[arg(long, value_name = "DTYPE", default_value = "fp16", value_parser = dtypes())]
    kv_dtype: String,
    /// Let one size take several values: num-heads, num-kv-heads, seq-len, d-model, batch or layers
    #[arg(long, value_name = "SIZE=A,B,C", conflicts_with = "list")]
    sweep: Option<String>,
    /// What to write; csv is one line a figure, or with --sweep one line a value
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Sizes are read as texts, so that what is wrong with them is said in this program's way.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sizes")]
struct Sizes {
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
    bias: Option<bool>,
    /// n, tokens of a sequence [default: 256, or what the preset was made for]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    seq_len: Option<String>,
    /// B, sequences at a time [default: 1]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    batch: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page with every figure beside its formula
    Table,
    /// One object with everything
    Json,
    /// Lines for a spreadsheet
    Csv,
}

impl Sizes {
    fn given(&self) -> impl Iterator<Item = (Key, &str)> {
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

/// Lists presets, or counts one layer and writes the report.
pub(super) fn run(args: &ParamsArgs) -> Outcome<Ending> {
    if args.list { list(args) } else { report(args) }
}

fn list(args: &ParamsArgs) -> Outcome<Ending> {
    let bias = args.sizes.bias.map(|_| "--bias");
    if let Some(flag) = args.sizes.given().map(|(key, _)| key.flag()).chain(bias).next() {
        let what = "--list shows presets, and takes no sizes";
        return Err(Fault::new(what, "", "leave one of the two out").in_source(flag).into());
    }
    let found = presets::search(args.preset.as_deref().unwrap_or_default())?;
    output::write(&args.common, Content::Text, |out| match args.format {
        Format::Table => {
            out.write_all(views::presets::page(&found, &args.common.page(Layout::Rows)).as_bytes())
        }
        Format::Json => views::presets::json(&found, &mut *out),
        Format::Csv => views::presets::csv(&found, &mut *out),
    })?;
    Ok(Ending::Done)
}

fn report(args: &ParamsArgs) -> Outcome<Ending> {
    if let Some(path) = args.preset.as_deref().filter(|name| name.contains(['.', '/'])) {
        let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse().ok());
        let target = number(&args.sizes.seq_len).unwrap_or(256);
        let source = args.source_len.unwrap_or(target);
        let lengths = crate::params::architecture::flops::Lengths {
            target,
            context: target,
            source,
            source_context: source,
        };
        let asked =
            crate::params::architecture::Asked { class: args.class.clone(), family: args.family.clone() };
        let batch = number(&args.sizes.batch).unwrap_or(1);
        return super::params_model::run(
            std::path::Path::new(path),
            &asked,
            lengths,
            batch,
            dtype(&args.kv_dtype),
            &args.common,
        );
    }
    let report = Report::new(&request(args)?)?;
    let words = if args.common.quiet { Words::Few } else { Words::Usual };
    output::write(&args.common, Content::Text, |out| match args.format {
        Format::Table => {
            out.write_all(views::params::page(&report, &args.common.page(Layout::Rows), words).as_bytes())
        }
        Format::Json => params_json::write(&report, &mut *out),
        Format::Csv => params_csv::write(&report, &mut *out),
    })?;
    Ok(Ending::Done)
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
    Ok(Request { settings, dtype: dtype(&args.dtype), kv_dtype: dtype(&args.kv_dtype), sweep })
}

fn dtypes() -> PossibleValuesParser {
    PossibleValuesParser::new(Dtype::ALL.map(Dtype::name))
}

fn dtype(name: &str) -> Dtype {
    Dtype::ALL.into_iter().find(|dtype| dtype.name() == name).unwrap_or(Dtype::Fp16)
}
