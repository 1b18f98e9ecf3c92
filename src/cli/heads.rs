//! `mha heads`: what each head of a model does on a text.

mod texts;

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::common::counted_from_one;
use super::model::ModelArgs;
use super::output::{self, Content};
use super::{Common, Ending, complete, params};
use crate::fault::{Fault, Faults, Outcome, visible};
use crate::heads::claims::{self, Claim};
use crate::heads::{Measure, Role, Survey, View};
use crate::model::{Model, Passage, Text};
use crate::views::page::Layout;
use crate::views::{heads, heads_html, heads_json, part};
use crate::words::{self, t};

/// Say what each head of a model does on a text: positions, anchors, repetition, induction
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mha heads --explain-measures  every definition and threshold
  mha heads --model DIR --text \"The cat sat on the mat.\"
                                a map of all heads, and the clearest ones
  mha heads --model DIR --texts lines.txt --sort previous
                                averaged over many lines
  mha heads --model DIR --text \"…\" --layer 3 --norms
                                by weight and length of the values
  mha heads --model DIR --text \"…\" --format heatmap --measure entropy
  mha heads --model DIR --text \"…\" --format json
                                every number in full")]
pub(super) struct HeadsArgs {
    #[command(flatten)]
    model: ModelArgs,
    /// Many texts, one a line, in place of one (- is standard input); lines that the model cannot read are left out and told
    #[arg(long, value_name = "FILE", requires = "model", conflicts_with_all = ["text", "pair", "tokens"])]
    texts: Option<PathBuf>,
    /// Definitions, formulas and thresholds, without a model
    #[arg(long)]
    explain_measures: bool,
    /// Measure weight · ‖value · W_O‖ in place of weights, each row over its sum
    #[arg(long)]
    norms: bool,
    /// Only these layers, counted from 1 (1,3)
    #[arg(long, value_name = "L", value_delimiter = ',', allow_negative_numbers = true, value_parser = counted_from_one, add = complete::layers(&[]))]
    layer: Vec<usize>,
    /// Only these heads of each layer, counted from 1 (1,3)
    #[arg(long, visible_alias = "heads", value_name = "N", value_delimiter = ',', allow_negative_numbers = true, value_parser = counted_from_one, add = complete::heads())]
    head: Vec<usize>,
    /// What comes first: the most of a measure, strongest (the clearest head of every type, then the next), or layer
    /// [default: strongest on pages, layer elsewhere]
    #[arg(long, value_name = "BY", value_parser = sorts())]
    sort: Option<String>,
    /// List no more heads than these [default: 20 on a page, all elsewhere]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = counted_from_one)]
    top: Option<usize>,
    /// What a heat map shows
    #[arg(long, value_name = "MEASURE", default_value = "previous", value_parser = measures())]
    measure: String,
    /// Leave out what the literature says, and the random tokens that are read for it
    #[arg(long)]
    no_claims: bool,
    /// What to write
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Formats of a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A page for people
    Table,
    /// One measure as shaded cells, layers in rows and heads in columns
    Heatmap,
    /// Every number in full
    Json,
    /// One line a head
    Csv,
    /// A page for a browser
    Html,
}

/// Heads that a page lists where nobody asked for another number.
const TOP: usize = 20;

fn measures() -> PossibleValuesParser {
    PossibleValuesParser::new(Measure::ALL.map(Measure::name))
}

fn sorts() -> PossibleValuesParser {
    PossibleValuesParser::new(Measure::ALL.map(Measure::name).into_iter().chain(["strongest", "layer"]))
}

/// What heads are listed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Most(Measure),
    Strongest,
    Layer,
}

impl Sort {
    fn name(self) -> &'static str {
        match self {
            Self::Most(measure) => measure.name(),
            Self::Strongest => "strongest",
            Self::Layer => "layer",
        }
    }
}

impl HeadsArgs {
    /// Whether what is written is for programs, which read English.
    pub(super) fn is_for_programs(&self) -> bool {
        matches!(self.format, Format::Json | Format::Csv) && !self.explain_measures
    }

    fn view(&self) -> View {
        if self.norms { View::Norms } else { View::Weights }
    }

    fn is_page(&self) -> bool {
        self.format == Format::Table
    }

    fn sorted_by(&self) -> Sort {
        match self.sort.as_deref() {
            Some("layer") => Sort::Layer,
            Some("strongest") => Sort::Strongest,
            Some(name) => Measure::named(name).map_or(Sort::Layer, Sort::Most),
            None if self.is_page() => Sort::Strongest,
            None => Sort::Layer,
        }
    }
}

/// Surveys the heads of a model, and writes what was found.
pub(super) fn run(args: &HeadsArgs) -> Outcome<Ending> {
    let words = params::words(&args.common);
    if args.explain_measures {
        let page = args.common.page(Layout::Rows);
        output::write(&args.common, Content::Text, |out| {
            write!(out, "{}", part::terminal(&heads::definitions(), &page, words))
        })?;
        return Ok(Ending::Done);
    }
    let measure = Measure::named(&args.measure).unwrap_or(Measure::Previous);
    let model = args.model.opened()?;
    check_places(args, &model)?;
    if args.format == Format::Heatmap && measure == Measure::Next && model.blueprint.is_causal {
        let why = "its queries see nothing that follows";
        let fault =
            Fault::new("a causal model has no share to the next token", why, "choose another measure");
        return Err(fault.in_source("--measure").into());
    }
    let Read { survey, read, skipped, first } = surveyed(args, &model)?;
    let claims = match args.no_claims || matches!(args.format, Format::Heatmap | Format::Csv) {
        true => Vec::new(),
        false => claimed(&model, &survey, &first)?,
    };
    let shown = shown(args, &survey, read, &skipped, &claims);
    output::write(&args.common, Content::Text, |out| match args.format {
        Format::Table => heads::write(&shown, args.common.colours(), words, out),
        Format::Heatmap => heads::write_heatmap(&shown, measure, args.common.colours(), words, out),
        Format::Json => heads_json::write(&shown, out),
        Format::Csv => heads_json::write_csv(&shown, out),
        Format::Html => heads_html::write(&shown, out),
    })?;
    Ok(Ending::Done)
}

/// Layers and heads that are there.
fn check_places(args: &HeadsArgs, model: &Model) -> Outcome<()> {
    let layers = &model.blueprint.layers.layers;
    let heads = layers.iter().map(|layer| layer.attention.num_heads).max().unwrap_or(0);
    let mut faults = Vec::new();
    for (flag, what, asked, all) in
        [("--layer", "layer", &args.layer, layers.len()), ("--head", "head", &args.head, heads)]
    {
        if let Some(beyond) = asked.iter().find(|at| **at > all) {
            let place = if what == "head" { " a layer" } else { "" };
            let why = format!("the model has {all} {what}s{place}, counted from 1");
            let fault =
                Fault::new(format!("there is no {what} {beyond}"), why, format!("choose from 1 to {all}"));
            faults.push(fault.in_source(flag));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Faults(faults)) }
}

/// A survey, and what was read for it.
struct Read {
    survey: Survey,
    /// In a few words.
    read: String,
    /// Lines that were left out, and why.
    skipped: Vec<(usize, String)>,
    /// The first text, which shows what the model puts before every one.
    first: Passage,
}

fn surveyed(args: &HeadsArgs, model: &Model) -> Outcome<Read> {
    let mut survey = Survey::new(model);
    let Some(path) = &args.texts else {
        let passage = args.model.passage(model)?;
        survey.add(model, passage.clone())?;
        let tokens: Vec<String> = passage.labels.iter().map(|label| visible(label)).collect();
        const SHOWN: usize = 24;
        let more = if tokens.len() > SHOWN { " …" } else { "" };
        let listed = format!("{}{more}", tokens[..tokens.len().min(SHOWN)].join(" "));
        let read = match tokens.len() {
            1 => t!("1 token, %{listed}", listed),
            count => t!("%{count} tokens: %{listed}", count, listed),
        };
        return Ok(Read { survey, read, skipped: Vec::new(), first: passage });
    };
    let lines = texts::lines(path)?;
    let bar = texts::Bar::new(lines.len());
    let (mut skipped, mut first) = (Vec::new(), None);
    for (at, (number, line)) in lines.iter().enumerate() {
        // What cannot be read is told and left out; what cannot be computed ends the survey.
        let read = model.read(&Text::One(line.clone()));
        let passage = match read.and_then(|read| Survey::affords(model, &read).map(|()| read)) {
            Ok(passage) => passage,
            Err(Faults(faults)) => {
                let what = faults.into_iter().next().map_or(String::new(), |fault| fault.what);
                skipped.push((*number, visible(&what)));
                continue;
            }
        };
        survey.add(model, passage.clone())?;
        first.get_or_insert(passage);
        bar.at(at + 1);
    }
    drop(bar);
    let Some(first) = first else {
        let (line, why) = skipped.into_iter().next().unwrap_or((1, "it is empty".to_owned()));
        let fault =
            Fault::new("there is no text for the model", format!("line {line}: {why}"), "one text a line");
        return Err(fault.in_source(path.display().to_string()).into());
    };
    let read = match survey.texts {
        1 => t!("1 text of %{tokens}", tokens = words::tokens(survey.tokens)),
        texts => t!("%{texts} texts of %{tokens} tokens together", texts, tokens = survey.tokens),
    };
    Ok(Read { survey, read, skipped, first })
}

/// What the literature says, beside what is measured; the induction claim reads random tokens.
fn claimed(model: &Model, survey: &Survey, first: &Passage) -> Outcome<Vec<Claim>> {
    let mut all = claims::of_texts(survey);
    if survey.is_causal
        && let Some(passage) = claims::repeated(model, first)?
    {
        let mut repeated = Survey::new(model);
        repeated.add(model, passage)?;
        all.extend(claims::of_repeated(&repeated));
    }
    Ok(all)
}

fn shown<'a>(
    args: &HeadsArgs,
    survey: &'a Survey,
    read: String,
    skipped: &'a [(usize, String)],
    claims: &'a [Claim],
) -> heads::Shown<'a> {
    let is_asked = |asked: &[usize], at: usize| asked.is_empty() || asked.contains(&(at + 1));
    let layers = (0..survey.layers.len()).filter(|layer| is_asked(&args.layer, *layer)).collect();
    let most = survey.layers.iter().map(|layer| layer.heads.len()).max().unwrap_or(0);
    let columns = (0..most).filter(|head| is_asked(&args.head, *head)).collect();
    let asked = |layer: usize, head: usize| is_asked(&args.layer, layer) && is_asked(&args.head, head);
    let mut listed: Vec<(usize, usize)> = survey
        .heads()
        .map(|(layer, head, _)| (layer, head))
        .filter(|(layer, head)| asked(*layer, *head))
        .collect();
    sort_heads(&mut listed, survey, args);
    let of = listed.len();
    listed.truncate(args.top.unwrap_or(if args.is_page() { TOP } else { usize::MAX }));
    heads::Shown {
        survey,
        view: args.view(),
        read,
        layers,
        columns,
        listed,
        of,
        sort: args.sorted_by().name(),
        skipped,
        claims,
        page: args.common.picture(Layout::Rows),
    }
}

/// Puts heads, given layer by layer, in the order that was asked for.
fn sort_heads(heads: &mut [(usize, usize)], survey: &Survey, args: &HeadsArgs) {
    let view = args.view();
    let of = |(layer, head): (usize, usize)| survey.layers.get(layer)?.heads.get(head);
    let most = |place: (usize, usize), measure: Option<Measure>| {
        measure.and_then(|measure| of(place)?.tally(view).mean(measure)).unwrap_or(f64::NEG_INFINITY)
    };
    match args.sorted_by() {
        Sort::Layer => {}
        Sort::Most(measure) => {
            heads.sort_by(|a, b| most(*b, Some(measure)).total_cmp(&most(*a, Some(measure))));
        }
        Sort::Strongest => {
            let role = |place: (usize, usize)| survey.roles(place.0, of(place)?, view).first().copied();
            let strength = |place: (usize, usize)| most(place, role(place).and_then(Role::measure));
            heads.sort_by(|a, b| strength(*b).total_cmp(&strength(*a)));
            // The clearest of every type, then the second of every type, and so on; what has no type comes last.
            let mut seen: Vec<Option<Role>> = Vec::new();
            let mut ranked: Vec<_> = Vec::with_capacity(heads.len());
            for place in heads.iter() {
                let role = role(*place);
                let rank = seen.iter().filter(|known| **known == role).count();
                seen.push(role);
                ranked.push((role == Some(Role::Mixed), rank, role, *place));
            }
            ranked.sort();
            for (place, (.., ranked)) in heads.iter_mut().zip(ranked) {
                *place = ranked;
            }
        }
    }
}
