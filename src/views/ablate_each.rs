//! Every head switched off in turn: a map of the layers and their heads, and the heads by rank.

use std::io::{self, Write};

use nalgebra::DMatrix;

use super::ablate::{heading, loss_words, meaning, name, perhaps};
use super::grid::Grid;
use super::heat::paint::Colours;
use super::heat::panels::{Panel, Scale};
use super::heat::terminal;
use super::look;
use super::page::{Detail, Page};
use super::sheet::Sheet;
use crate::ablate::each::Turn;
use crate::ablate::{Measured, Ranked, Sort};
use crate::fault::visible;
use crate::plan::rewrites::Replacement;
use crate::words::t;

/// All heads, measured one at a time.
pub struct Ranking<'a> {
    /// The lesson's title, or the model's name.
    pub title: &'a str,
    /// What stands in the place of heads.
    pub with: Replacement,
    /// Which heads are replaced for the sake of one.
    pub turn: Turn,
    /// The heads by rank, the first first.
    pub heads: &'a [Ranked],
    /// What they are ranked by.
    pub sort: Sort,
    /// How many of them are listed.
    pub listed: usize,
    /// Tokens of the text.
    pub tokens: usize,
    /// The loss as it is, what it is the mean of, and over how many tokens.
    pub loss: Option<(f64, Measured, usize)>,
    /// The look of the page.
    pub page: Page,
}

impl Ranking<'_> {
    /// The number that a head is ranked by; of heads in their own order the change of the output.
    fn figure(&self, head: &Ranked) -> Option<f64> {
        match self.sort {
            Sort::Loss => head.loss,
            Sort::Cosine => head.cosine,
            Sort::Output | Sort::Layer => head.output,
        }
    }

    /// What that number is.
    fn measure(&self) -> String {
        match self.sort {
            Sort::Loss => t!("growth of the loss"),
            Sort::Cosine => t!("mean cosine at the end"),
            Sort::Output | Sort::Layer => t!("change of the layer's output, relative to it"),
        }
    }

    /// Layers × heads, with NaN where nothing was measured; and the names of both.
    fn map(&self) -> (DMatrix<f64>, Vec<String>, Vec<String>) {
        let mut layers: Vec<Option<usize>> = self.heads.iter().map(|head| head.place.layer).collect();
        layers.sort_unstable();
        layers.dedup();
        let heads = self.heads.iter().map(|head| head.place.head.0 + 1).max().unwrap_or(0);
        let mut map = DMatrix::from_element(layers.len(), heads, f64::NAN);
        for head in self.heads {
            if let Ok(row) = layers.binary_search(&head.place.layer) {
                map[(row, head.place.head.0)] = self.figure(head).unwrap_or(f64::NAN);
            }
        }
        let row = |layer: &Option<usize>| match layer {
            Some(layer) => t!("layer %{layer}", layer = layer + 1),
            None => String::new(),
        };
        let rows = layers.iter().map(row).collect();
        (map, rows, (1..=heads).map(|head| t!("head %{head}", head)).collect())
    }
}

/// Writes the whole page.
///
/// # Errors
/// Those of the writer.
pub fn write(ranking: &Ranking<'_>, out: &mut dyn Write) -> io::Result<()> {
    let page = &ranking.page;
    introduction(ranking, out)?;
    let (map, rows, columns) = ranking.map();
    if rows.len() > 1 {
        heading(&ranking.measure(), page, out)?;
        let cell = |value: f64| perhaps((!value.is_nan()).then_some(value), page.digits);
        let cells = map.row_iter().map(|row| row.iter().map(|value| cell(*value)).collect()).collect();
        write!(out, "{}", Grid { columns, rows, cells, whole: true, ..Grid::default() }.render(page))?;
    }
    let words = match ranking.sort {
        Sort::Layer => t!("heads in their order"),
        _ => t!("heads by %{measure}", measure = ranking.measure()),
    };
    heading(&words, page, out)?;
    let shown = &ranking.heads[..ranking.listed.min(ranking.heads.len())];
    let mut columns = vec![t!("output"), t!("at the end"), t!("cosine")];
    if ranking.loss.is_some() {
        columns.push(t!("loss"));
    }
    let line = |head: &Ranked| {
        let mut line = vec![head.output, head.last, head.cosine];
        if ranking.loss.is_some() {
            line.push(head.loss);
        }
        line.into_iter().map(|figure| perhaps(figure, page.digits)).collect()
    };
    let grid = Grid {
        rows: shown.iter().map(|head| name(head.place)).collect(),
        cells: shown.iter().map(line).collect(),
        columns,
        whole: true,
        ..Grid::default()
    };
    write!(out, "{}", grid.render(page))?;
    let left = ranking.heads.len() - shown.len();
    if left > 0 {
        let words = t!("%{left} more; --top N lists N, --format csv all of them.", left);
        write!(out, "{}", page.paragraph(&words, 0))?;
    }
    if page.detail == Detail::Bare {
        return Ok(());
    }
    let mut words = t!(
        "output: the change of the layer's output, relative to its size; at the end: the same of what comes out last; cosine: \
         the mean over the tokens, at the end."
    );
    if ranking.loss.is_some() {
        words.push(' ');
        words.push_str(&t!("loss: by how much it grows."));
    }
    write!(out, "{}", page.paragraph(&words, 0))
}

fn introduction(ranking: &Ranking<'_>, out: &mut dyn Write) -> io::Result<()> {
    let page = &ranking.page;
    let what = match (ranking.turn, ranking.with) {
        (Turn::Itself, Replacement::Zero) => t!("every head in turn set to zero"),
        (Turn::Itself, Replacement::Mean) => t!("every head in turn replaced by its mean over the tokens"),
        (Turn::Itself, Replacement::Uniform) => t!("every head in turn with even attention weights"),
        (Turn::Others, _) => t!("every head in turn kept, all others of its layer replaced"),
        (Turn::AllOthers, _) => t!("every head in turn kept, all others of all layers replaced"),
    };
    write!(out, "{}", look::title(&t!("%{title}: %{what}", title = visible(ranking.title), what), page))?;
    if page.detail == Detail::Bare {
        return Ok(());
    }
    write!(out, "{}", page.paragraph(&meaning(ranking.with, ranking.tokens), 0))?;
    if let Some((loss, measured, count)) = ranking.loss {
        let loss = super::number::number(loss, page.digits);
        let words = t!("The loss as it is: %{loss}. %{meaning}", loss, meaning = loss_words(measured, count));
        write!(out, "{}", page.paragraph(&words, 0))?;
    }
    Ok(())
}

/// Writes the map of the layers and their heads as shaded cells.
///
/// # Errors
/// Those of the writer.
pub fn write_heat(ranking: &Ranking<'_>, colours: Colours, out: &mut dyn Write) -> io::Result<()> {
    introduction(ranking, out)?;
    let (map, rows, columns) = ranking.map();
    let title = match ranking.sort {
        Sort::Loss => t!("loss"),
        Sort::Cosine => t!("cosine"),
        Sort::Output | Sort::Layer => t!("output"),
    };
    let panel = Panel::of_matrix(title, Sheet::of_matrix(map.as_view(), rows, columns));
    let scale = Scale::of(std::slice::from_ref(&panel), false);
    terminal::write_panel(&ranking.measure(), panel, &scale, &ranking.page, colours, out)
}
