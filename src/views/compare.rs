//! Variants side by side: what each costs, where each looks, and how far the outputs differ.

use std::collections::HashSet;
use std::io::{self, Write};

use super::grid::Grid;
use super::number::{digits_for, grouped, number};
use super::page::{Detail, Layout, Page};
use super::sheet::Sheet;
use super::{compare_tables, look, table};
use crate::fault::visible;
use crate::lesson::Labels;
use crate::mistakes::Side;
use crate::ops::{Op, View, size};
use crate::plan::rewrites::Variant;
use crate::plan::{Attention, Call, HeadStep, Name, Plan, Stack, Step, StepId, TileStep};
use crate::trace::Trace;
use crate::trace::measure::{self, Figures};
use crate::words::t;

/// One variant, or one mistake, with its numbers.
pub struct Compared {
    /// Which it is.
    pub variant: Side,
    /// In which of several ways a mistake is made; empty where there is one way, and for variants.
    pub form: &'static str,
    /// The call as the variant sees it.
    pub call: Call,
    /// Its numbers.
    pub trace: Trace<f64>,
    /// What it takes and gives.
    pub figures: Figures,
}

/// Variants of one problem.
pub struct Comparison<'a> {
    /// The lesson's title.
    pub title: &'a str,
    /// Names of the tokens.
    pub labels: &'a Labels,
    /// The variants, the first being what the others are measured against.
    pub sides: &'a [Compared],
    /// The call as the lesson has it.
    pub attention: &'a Attention,
    /// How many sequences the batch has.
    pub batch: Option<usize>,
    /// The sequence shown.
    pub sequence: Option<usize>,
    /// The look of the page.
    pub page: Page,
}

impl Compared {
    /// What the variant gives in the end.
    pub fn result(&self, sequence: Option<usize>) -> Option<(&Step, View<'_, f64>)> {
        let id = measure::result(self.trace.plan(), sequence)?;
        Some((self.trace.plan().get(id)?, self.trace.get(id)?))
    }
}

/// More tiles a head than this are not read one by one: the first two and the last stand for them, unless
/// `--verbose` asks for all.
const MOST_TILES: usize = 16;

fn shows_tile(tile: usize, tiles: usize, detail: Detail) -> bool {
    tiles <= MOST_TILES || detail == Detail::Counted || tile < 2 || tile + 1 == tiles
}

/// The steps of a variant that a page reads, for one sequence.
pub fn wanted(plan: &Plan, sequence: Option<usize>, detail: Detail) -> HashSet<StepId> {
    let tiles = tiles(plan);
    let mut wanted = HashSet::new();
    let own = |step: &&Step| step.id.sequence == sequence;
    for step in plan.steps().iter().filter(own) {
        let shown = match step.id.name {
            Name::Head(_, HeadStep::Weights) | Name::Stack(Stack::Weights) => true,
            Name::Tile(_, tile, TileStep::Scores | TileStep::MaskedScores | TileStep::State) => {
                shows_tile(tile, tiles, detail)
            }
            _ => false,
        };
        if shown {
            wanted.insert(step.id);
        }
        if shown && matches!(step.id.name, Name::Tile(_, _, TileStep::State)) {
            wanted.extend(&step.inputs);
        }
    }
    wanted.extend(measure::result(plan, sequence));
    wanted
}

/// How many tiles a head has.
fn tiles(plan: &Plan) -> usize {
    let tile = |step: &Step| if let Name::Tile(_, tile, _) = step.id.name { tile + 1 } else { 0 };
    plan.steps().iter().map(tile).max().unwrap_or(0)
}

/// Writes the whole page.
///
/// # Errors
/// Those of the writer.
pub fn write(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    introduction(comparison, out)?;
    writeln!(out)?;
    figures(comparison, out)?;
    if comparison.page.detail == Detail::Bare {
        return outputs(comparison, out);
    }
    for side in comparison.sides {
        compare_tables::weights(comparison, side, out)?;
    }
    for side in comparison.sides {
        match side.variant {
            Side::Variant(Variant::Fused) => compare_tables::memory_table(comparison, side, out)?,
            Side::Variant(Variant::Flash(_)) => states(comparison, side, out)?,
            _ => {}
        }
    }
    outputs(comparison, out)
}

/// What is compared, and what has to be known about it.
///
/// # Errors
/// Those of the writer.
pub fn introduction(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    let page = &comparison.page;
    let names: Vec<String> = comparison.sides.iter().map(|side| side.variant.to_string()).collect();
    let names = match names.len() {
        1 => names.concat(),
        _ => t!("%{names} side by side", names = names.join(&t!(", "))),
    };
    let title = match comparison.title {
        "" => names,
        title => t!("%{title}: %{names}", title = visible(title), names),
    };
    write!(out, "{}", look::title(&title, page))?;
    for side in comparison.sides {
        write!(
            out,
            "{}",
            page.paragraph(
                &t!("%{variant}: %{meaning}.", variant = side.variant, meaning = side.variant.meaning()),
                0
            )
        )?;
    }
    for side in comparison.sides {
        if let Some(words) = remark(side, comparison.sequence) {
            write!(out, "{}", page.paragraph(&words, 0))?;
        }
    }
    if let (Some(count), Some(shown)) = (comparison.batch, comparison.sequence) {
        let words = t!("Sequence %{one} of %{count}; --sequence N shows another.", one = shown + 1, count);
        write!(out, "{}", page.paragraph(&words, 0))?;
    }
    let widens = |side: &Compared| {
        (matches!(side.variant, Side::Variant(_))
            && side.call.attention.num_kv_heads > comparison.attention.num_kv_heads)
            || matches!(side.variant, Side::Variant(Variant::SingleHead | Variant::Averaged))
    };
    if comparison.attention.num_kv_heads < comparison.attention.num_heads
        && comparison.sides.iter().any(widens)
    {
        let words = t!(
            "This lesson has %{kv_heads} key/value heads for %{heads} query heads; where a variant needs one for each, those of a group \
             are repeated, in W_K and W_V too.",
            kv_heads = comparison.attention.num_kv_heads,
            heads = comparison.attention.num_heads
        );
        write!(out, "{}", page.paragraph(&words, 0))?;
    }
    Ok(())
}

/// What has to be said of a variant on this very problem.
fn remark(side: &Compared, sequence: Option<usize>) -> Option<String> {
    let plan = side.trace.plan();
    let variant = match side.variant {
        Side::Variant(variant) => variant,
        Side::Mistake(_) if side.form.is_empty() => return None,
        Side::Mistake(mistake) => {
            return Some(t!(
                "%{mistake} is made in this way: %{form}.",
                mistake = mistake.name,
                form = side.form
            ));
        }
    };
    match variant {
        Variant::Causal => {
            let masks = plan.steps().iter().find_map(|step| match &step.op {
                Op::Mask(mask) if step.id.sequence == sequence => Some(mask.reasons.clone()),
                _ => None,
            })?;
            Some(t!("The mask of causal: %{masks}.", masks = masks.replace("; ", &t!("; "))))
        }
        Variant::Fused if plan.get(Name::WQkv.into()).is_none() => Some(t!(
            "fused has three products here and not one: queries and keys come from different inputs, have biases only in \
                 part, or are given already projected."
        )),
        _ => None,
    }
}

pub(super) fn heading(words: &str, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", look::heading(words, page))
}

/// One row a figure, one column a variant.
fn figures(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    let sequence = comparison.sequence;
    let facing = |shape: (usize, usize)| match comparison.page.layout {
        Layout::Rows => size(shape),
        Layout::Columns => size((shape.1, shape.0)),
    };
    let mut grid = Grid {
        columns: comparison.sides.iter().map(|side| side.variant.to_string()).collect(),
        whole: true,
        ..Grid::default()
    };
    let mut row = |name: &str, of: &dyn Fn(&Compared) -> String| {
        grid.rows.push(name.to_owned());
        grid.cells.push(comparison.sides.iter().map(of).collect());
    };
    let shape = |side: &Compared, name: Name| {
        side.trace.plan().get(StepId::of(sequence, name)).map_or("–".to_owned(), |step| facing(step.shape))
    };
    row("num_heads", &|side| {
        let (named, run) = (side.call.attention.num_heads, side.figures.entropies.len());
        if run > named { t!("%{heads}, run %{run} times", heads = named, run) } else { named.to_string() }
    });
    row("num_kv_heads", &|side| side.call.attention.num_kv_heads.to_string());
    row("d_k", &|side| side.call.attention.d_k.to_string());
    row("d_v", &|side| side.call.attention.d_v.to_string());
    row("Q", &|side| shape(side, Name::Q));
    row("K", &|side| shape(side, Name::K));
    row("V", &|side| shape(side, Name::V));
    row(&t!("scores of a head"), &|side| score_shape(side, sequence, &facing));
    row(&t!("distributions"), &|side| grouped(side.figures.distributions as u128));
    row(&t!("mean entropy, bits"), &|side| {
        side.figures.mean_entropy().map_or(t!("not held"), |bits| number(bits, comparison.page.digits))
    });
    row(&t!("parameters"), &|side| grouped(side.figures.parameters));
    row(&t!("multiplications"), &|side| grouped(side.figures.cost.multiplications));
    row(&t!("exponentials"), &|side| grouped(side.figures.cost.exponentials));
    if comparison.page.detail == Detail::Counted {
        row(&t!("additions"), &|side| grouped(side.figures.cost.additions));
        row(&t!("divisions"), &|side| grouped(side.figures.cost.divisions));
        row(&t!("other products"), &|side| grouped(side.figures.cost.other_multiplications));
        row(&t!("other functions"), &|side| grouped(side.figures.cost.other_functions));
    }
    row(&t!("KV cache a token"), &|side| grouped(side.figures.cached_per_token));
    row(&t!("output"), &|side| {
        side.result(sequence).map_or("–".to_owned(), |(step, _)| facing(step.shape))
    });
    write!(out, "{}", grid.render(&comparison.page))?;
    let words = t!(
        "Distributions are rows of attention weights, h · n_q. Multiplications are those of matrix products, \
         exponentials the softmax's e^x; --verbose counts the rest. The cache counts numbers: \
         num_kv_heads · (d_k + d_v)."
    );
    write!(out, "{}", comparison.page.paragraph(&words, 0))
}

fn score_shape(
    side: &Compared,
    sequence: Option<usize>,
    facing: &dyn Fn((usize, usize)) -> String,
) -> String {
    let of_head = |step: &&Step| {
        step.id.sequence == sequence
            && matches!(step.id.name, Name::Head(_, HeadStep::Scores) | Name::Tile(_, _, TileStep::Scores))
    };
    match side.trace.plan().steps().iter().find(of_head) {
        Some(step) if matches!(step.id.name, Name::Tile(..)) => {
            t!("tiles of %{size}", size = facing(step.shape))
        }
        Some(step) => facing(step.shape),
        None => measure::weights(&side.trace, sequence)
            .first()
            .map_or("–".to_owned(), |head| facing(head.shape())),
    }
}

/// The running state after every tile.
fn states(comparison: &Comparison<'_>, side: &Compared, out: &mut dyn Write) -> io::Result<()> {
    let tiles = tiles(side.trace.plan());
    if !(0..tiles).all(|tile| shows_tile(tile, tiles, comparison.page.detail)) {
        let words = t!(
            "%{variant} · %{tiles} tiles a head: the first two and the last are shown, --verbose shows all",
            variant = side.variant,
            tiles
        );
        heading(&words, &comparison.page, out)?;
    }
    for (step, value) in side.trace.steps() {
        let Name::Tile(head, tile, within) = step.id.name else { continue };
        if !shows_tile(tile, tiles, comparison.page.detail) {
            continue;
        }
        if step.id.sequence != comparison.sequence
            || !matches!(within, TileStep::Scores | TileStep::MaskedScores | TileStep::State)
        {
            continue;
        }
        let what = match within {
            TileStep::State => t!("state after the tile: maximum m, sum ℓ, output o"),
            TileStep::MaskedScores => t!("masked scores"),
            _ => t!("scores"),
        };
        let words = t!(
            "%{variant} · head %{head}, tile %{tile} · %{what}",
            variant = side.variant,
            head = head.0 + 1,
            tile = tile + 1,
            what
        );
        heading(&words, &comparison.page, out)?;
        let sheet = Sheet::new(step, value, comparison.labels, comparison.page.layout);
        write!(out, "{}", whole_in_json(&sheet, step, &comparison.page))?;
        if within == TileStep::State
            && let Some(inputs) = side.trace.inputs(step)
        {
            let (rows, columns) = super::sheet::spoken(step, comparison.labels);
            let write_number = |v: f64| number(v, comparison.page.digits);
            let told = crate::ops::Told {
                role: crate::plan::names::role(step.id.name),
                value,
                inputs,
                rows: &rows,
                columns: &columns,
                layout: comparison.page.layout,
                write: &write_number,
            };
            write!(out, "{}", comparison.page.paragraph(&crate::ops::Operation::tell(&step.op, &told), 4))?;
        }
    }
    Ok(())
}

/// The table of a step; where it leaves columns out it says where they are.
fn whole_in_json(sheet: &Sheet<'_>, step: &Step, page: &Page) -> String {
    Grid { elsewhere: t!("; --format json has them all"), ..table::grid(sheet, step, page) }.render(page)
}

/// Every variant's output, and how far it is from the first one's.
fn outputs(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    let page = &comparison.page;
    let sequence = comparison.sequence;
    for side in comparison.sides {
        let Some((step, value)) = side.result(sequence) else { continue };
        heading(&format!("{} · {}", side.variant, step.id), page, out)?;
        let sheet = Sheet::new(step, value, comparison.labels, page.layout);
        write!(out, "{}", whole_in_json(&sheet, step, page))?;
    }
    let Some((first, others)) = comparison.sides.split_first() else { return Ok(()) };
    let Some((_, from)) = first.result(sequence) else { return Ok(()) };
    for side in others {
        let Some((step, to)) = side.result(sequence) else { continue };
        let Some((largest, row, column)) = measure::largest_difference(&from, &to) else {
            let words = t!(
                "%{one} gives %{size}, %{other} gives %{other_size}: there is no cell-by-cell difference.",
                one = first.variant,
                size = size(from.shape()),
                other = side.variant,
                other_size = size(to.shape())
            );
            heading(&t!("difference of outputs"), page, out)?;
            write!(out, "{}", page.paragraph(&words, 4))?;
            continue;
        };
        let words =
            t!("%{one} − %{other} · difference of outputs", one = side.variant, other = first.variant);
        heading(&words, page, out)?;
        if measure::is_rounding(largest, &from) {
            let words = match largest {
                0.0 => t!("The same numbers, to the last bit."),
                _ => t!(
                    "The same numbers: the largest difference is %{largest}, which is rounding.",
                    largest = format!("{largest:.1e}")
                ),
            };
            write!(out, "{}", page.paragraph(&words, 4))?;
            continue;
        }
        let difference = to - from;
        let sheet = Sheet::new(step, difference.as_view(), comparison.labels, page.layout);
        let digits = digits_for(sheet.numbers(), page.digits);
        write!(out, "{}", whole_in_json(&sheet, step, page))?;
        let (row, column) = match page.layout {
            Layout::Rows => (row, column),
            Layout::Columns => (column, row),
        };
        let words = t!(
            "Largest: %{largest} at [%{row},%{column}].",
            largest = number(largest, digits),
            row = row + 1,
            column = column + 1
        );
        write!(out, "{}", page.paragraph(&words, 4))?;
    }
    Ok(())
}
