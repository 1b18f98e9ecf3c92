//! Heads switched off: what they added, what their absence changes, and what a model predicts without them.

use std::io::{self, Write};

use nalgebra::DMatrix;

use super::grid::{Grid, Side};
use super::look;
use super::number::{number, plain};
use super::page::{Detail, Page};
use super::sheet::Sheet;
use super::table;
use crate::ablate::change::Moved;
use crate::ablate::{AttentionLayer, Change, Contributions, Measured, Predicted};
use crate::fault::visible;
use crate::lesson::Labels;
use crate::plan::rewrites::{HeadPlace, Replacement};
use crate::plan::{Step, StepId};
use crate::words::t;

/// One ablation, measured.
pub struct Report<'a> {
    /// The lesson's title, or the model's name.
    pub title: &'a str,
    /// The heads that were replaced.
    pub heads: Vec<HeadPlace>,
    /// The heads that were kept, where all others of their layer or of the stack were replaced.
    pub kept: Vec<HeadPlace>,
    /// What stands in their place.
    pub with: Replacement,
    /// Names of the tokens.
    pub labels: &'a Labels,
    /// The layers that lost a head, the first first.
    pub layers: Vec<OfLayer>,
    /// What comes out at the end; `None` where that is the output of the layer.
    pub last: Option<(StepId, Change)>,
    /// What a language head says, before and after.
    pub prediction: Option<Forecast<'a>>,
    /// Whether it is a model without one.
    pub is_headless: bool,
    /// Which of several sequences this is (from 0), and how many there are.
    pub sequence: Option<(usize, usize)>,
    /// The look of the page.
    pub page: Page,
}

/// What an ablation changes in a layer that lost a head.
pub struct OfLayer {
    /// The layer.
    pub layer: AttentionLayer,
    /// What each head adds to the output as it is; `None` where there is no W_O.
    pub contributions: Option<Contributions>,
    /// How far the output moves.
    pub change: Change,
    /// The output's step with its numbers before and after, where they are to be shown.
    pub output: Option<(Step, [DMatrix<f64>; 2])>,
}

/// What a language head says, before and after.
pub struct Forecast<'a> {
    /// What the loss is the mean of.
    pub measured: Measured,
    /// Over how many tokens.
    pub count: usize,
    /// As it is.
    pub before: Predicted,
    /// With the heads replaced.
    pub after: Predicted,
    /// What tokens are called.
    pub name: Box<dyn Fn(u32) -> String + 'a>,
}

/// A head as a sentence names it: `head 2`, `layer 3 head 5 (L2H4)`.
pub fn name(place: HeadPlace) -> String {
    let head = place.head.0 + 1;
    match (place.layer, place.from_zero()) {
        (Some(layer), Some(from_zero)) => {
            t!("layer %{layer} head %{head} (%{from_zero})", layer = layer + 1, head, from_zero)
        }
        _ => t!("head %{head}", head),
    }
}

/// More heads than this are counted in a title, not listed.
const MOST_NAMED: usize = 6;

fn names(places: &[HeadPlace]) -> String {
    match places {
        many if many.len() > MOST_NAMED => t!("%{count} heads together", count = many.len()),
        few => few.iter().map(|place| name(*place)).collect::<Vec<_>>().join(&t!(", ")),
    }
}

/// Writes the whole page.
///
/// # Errors
/// Those of the writer.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    introduction(report, out)?;
    for layer in &report.layers {
        if let Some(contributions) = &layer.contributions {
            added(report, layer, contributions, out)?;
        }
        outputs(report, layer, out)?;
        changes(report, layer.layer.output, &layer.change, out)?;
    }
    if let Some((step, change)) = &report.last {
        changes(report, *step, change, out)?;
    }
    match &report.prediction {
        Some(forecast) => predictions(report, forecast, out),
        None if report.is_headless && report.page.detail != Detail::Bare => {
            let words = t!("The model has no language head: there is no loss, and nothing is predicted.");
            write!(out, "\n{}", report.page.paragraph(&words, 0))
        }
        None => Ok(()),
    }
}

/// What stands in the place of a head, for a title that names the heads.
pub(super) fn what(with: Replacement, names: String) -> String {
    match with {
        Replacement::Zero => t!("%{names} set to zero", names),
        Replacement::Mean => t!("%{names} replaced by the mean over the tokens", names),
        Replacement::Uniform => t!("%{names} with even attention weights", names),
    }
}

/// What the replacement is, in a sentence.
pub(super) fn meaning(with: Replacement, tokens: usize) -> String {
    match with {
        Replacement::Zero => t!("Before W_O, zeros stand in the place of what the head found."),
        Replacement::Mean => t!(
            "Before W_O, every token is given the mean of what the head found for the %{tokens} tokens of this text, column by \
             column: a mean over the positions of this passage, not over other texts.",
            tokens
        ),
        Replacement::Uniform => {
            t!("The head gives every key that a query may see the same weight; its values stay as they are.")
        }
    }
}

fn introduction(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let page = &report.page;
    let what = match &report.kept[..] {
        [] => what(report.with, names(&report.heads)),
        kept => what(report.with, t!("all heads but %{kept}", kept = names(kept))),
    };
    write!(out, "{}", look::title(&t!("%{title}: %{what}", title = visible(report.title), what), page))?;
    if page.detail != Detail::Bare {
        let tokens = report.layers.first().map_or(0, |layer| layer.change.tokens.len());
        write!(out, "{}", page.paragraph(&meaning(report.with, tokens), 0))?;
        if let Some((one, count)) = report.sequence {
            let words = t!("Sequence %{one} of %{count}; --sequence N shows another.", one = one + 1, count);
            write!(out, "{}", page.paragraph(&words, 0))?;
        }
    }
    Ok(())
}

pub(super) fn heading(words: &str, page: &Page, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{}", look::heading(words, page))
}

/// A number that may not be there.
pub(super) fn perhaps(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".to_owned(), |value| number(value, digits))
}

/// What each head adds to the output as it is, and whether the parts add up to it.
fn added(
    report: &Report<'_>,
    of: &OfLayer,
    contributions: &Contributions,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = &report.page;
    let step = of.layer.output;
    heading(&t!("%{step} · what each head adds to it", step), page, out)?;
    let mut grid = Grid {
        columns: vec![t!("size"), t!("of the output"), t!("in this run")],
        align: vec![Side::Right, Side::Right, Side::Left],
        whole: true,
        ..Grid::default()
    };
    let share = |size: f64| (contributions.output > 0.0).then(|| size / contributions.output);
    let mut row = |name: String, size: f64, here: String| {
        grid.rows.push(name);
        grid.cells.push(vec![number(size, page.digits), perhaps(share(size), page.digits), here]);
    };
    for (head, size) in contributions.heads.iter().enumerate() {
        let is_replaced = report.heads.contains(&of.layer.head(head));
        let here = if is_replaced { t!("replaced") } else { String::new() };
        row(t!("head %{head}", head = head + 1), *size, here);
    }
    if let Some(bias) = contributions.bias {
        row("b_O".to_owned(), bias, String::new());
    }
    row(t!("output"), contributions.output, String::new());
    write!(out, "{}", grid.render(page))?;
    if page.detail != Detail::Bare {
        let words = t!(
            "Each head's part is what it found times its own rows of W_O. Sizes are norms of a token's row, as a root mean \
             square over the tokens; parts that point apart add up to less than their sizes."
        );
        write!(out, "{}", page.paragraph(&words, 0))?;
    }
    let (difference, tolerance) = (contributions.difference, contributions.tolerance);
    let (difference, tolerance) = (plain(difference, page.digits), plain(tolerance, page.digits));
    let words = match contributions.add_up() {
        true => t!(
            "Check: the parts add up to the output. The largest difference is %{difference}; rounding may make %{tolerance}.",
            difference,
            tolerance
        ),
        false => t!(
            "Check: the parts do not add up to the output. The largest difference is %{difference}, and rounding makes \
             %{tolerance} at most.",
            difference,
            tolerance
        ),
    };
    write!(out, "{}", page.paragraph(&words, 0))
}

/// More columns than these are not read number by number; programs get all of them.
const MOST_COLUMNS: usize = 8;

/// The output's own numbers, where they are to be shown.
fn outputs(report: &Report<'_>, of: &OfLayer, out: &mut dyn Write) -> io::Result<()> {
    let few = of.output.as_ref().filter(|(step, _)| step.shape.1 <= MOST_COLUMNS);
    let Some((step, [before, after])) = few else { return Ok(()) };
    let page = &report.page;
    let difference = after - before;
    let tables = [
        (t!("%{step} · as it is", step = step.id), before),
        (t!("%{step} · with the heads replaced", step = step.id), after),
        (t!("%{step} · the difference", step = step.id), &difference),
    ];
    for (words, value) in tables {
        heading(&words, page, out)?;
        let sheet = Sheet::new(step, value.as_view(), report.labels, page.layout);
        let grid = Grid { elsewhere: t!("; --format json has them all"), ..table::grid(&sheet, step, page) };
        write!(out, "{}", grid.render(page))?;
    }
    Ok(())
}

/// How far every token moves.
fn changes(report: &Report<'_>, step: StepId, change: &Change, out: &mut dyn Write) -> io::Result<()> {
    let page = &report.page;
    heading(&t!("%{step} · how far every token moves", step), page, out)?;
    let digits = page.digits;
    let line = |moved: &Moved| {
        vec![
            number(moved.before, digits),
            number(moved.change, digits),
            perhaps(moved.relative(), digits),
            perhaps(moved.cosine, digits),
        ]
    };
    let name = |at: usize| report.labels.queries.get(at).cloned().unwrap_or_else(|| (at + 1).to_string());
    let grid = Grid {
        corner: t!("token"),
        columns: vec![t!("norm"), t!("change"), t!("relative"), t!("cosine")],
        rows: (0..change.tokens.len()).map(name).chain([t!("all tokens")]).collect(),
        cells: change.tokens.iter().chain([&change.all]).map(line).collect(),
        elsewhere: t!("; --format csv has them all"),
        ..Grid::default()
    };
    write!(out, "{}", grid.render(page))?;
    if page.detail == Detail::Bare || report.last.as_ref().is_some_and(|(last, _)| *last != step) {
        return Ok(());
    }
    let words = t!(
        "The norm is that of a token's row before, the change that of the difference, and the cosine that of the angle between \
         before and after: 1 where only the length changes. All tokens: root mean squares, and the mean cosine."
    );
    write!(out, "{}", page.paragraph(&words, 0))
}

/// What the loss is the mean of, in a sentence.
pub(super) fn loss_words(measured: Measured, count: usize) -> String {
    match measured {
        Measured::Next if count == 1 => t!("The loss is −ln p of the token after the first, in nats."),
        Measured::Next => {
            t!("The loss is the mean of −ln p over the %{count} tokens after the first, in nats.", count)
        }
        Measured::Hidden => {
            t!("The loss is the mean of −ln p over the tokens that are masked (%{count}), in nats.", count)
        }
        Measured::Seen => t!(
            "The loss is the mean of −ln p of the tokens as they stand (%{count}), in nats: the model sees each of them, so this \
             measures how well it still recognises them, not how well it guesses. --mask N hides token N and measures the \
             guess.",
            count
        ),
    }
}

fn predictions(report: &Report<'_>, forecast: &Forecast<'_>, out: &mut dyn Write) -> io::Result<()> {
    let page = &report.page;
    if let (Some(before), Some(after)) = (forecast.before.loss, forecast.after.loss) {
        heading(&t!("loss"), page, out)?;
        let (from, to) = (number(before, page.digits), number(after, page.digits));
        let sign = if after > before { "+" } else { "" };
        let by = format!("{sign}{}", number(after - before, page.digits));
        write!(out, "{}", page.paragraph(&t!("From %{from} to %{to} (%{by}).", from, to, by), 0))?;
        if page.detail != Detail::Bare {
            write!(out, "{}", page.paragraph(&loss_words(forecast.measured, forecast.count), 0))?;
        }
    }
    for (before, after) in forecast.before.at.iter().zip(&forecast.after.at) {
        let token = report.labels.queries.get(before.position).cloned().unwrap_or_default();
        let token = visible(&token);
        let place = before.position + 1;
        let words = match forecast.measured {
            Measured::Next => t!("the most likely after token %{place}, “%{token}”", place, token),
            _ => t!("the most likely at token %{place}, “%{token}”", place, token),
        };
        heading(&words, page, out)?;
        let texts = |(id, p): &(u32, f64)| [(forecast.name)(*id), number(*p, page.digits)];
        let lines = before.top.iter().zip(&after.top);
        let grid = Grid {
            columns: vec![t!("as it is"), "p".to_owned(), t!("replaced"), "p".to_owned()],
            align: vec![Side::Left, Side::Right, Side::Left, Side::Right],
            rows: (1..=before.top.len()).map(|rank| rank.to_string()).collect(),
            cells: lines
                .map(|(before, after)| texts(before).into_iter().chain(texts(after)).collect::<Vec<_>>())
                .map(|line| line.iter().map(|text| visible(text)).collect())
                .collect(),
            whole: true,
            ..Grid::default()
        };
        write!(out, "{}", grid.render(page))?;
        if let (Some((id, from)), Some((_, to))) = (before.target, after.target) {
            let words = t!(
                "What stood there, “%{token}”, goes from %{from} to %{to}.",
                token = visible(&(forecast.name)(id)),
                from = number(from, page.digits),
                to = number(to, page.digits)
            );
            write!(out, "{}", page.paragraph(&words, 0))?;
        }
    }
    Ok(())
}
