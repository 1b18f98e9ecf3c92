//! What is drawn: which matrices, under which names, on which scale, and how a large one is made small.
//!
//! A [`Group`] is what shares a scale and a legend: one kind of matrix, a [`Panel`] a head. Panels borrow the trace's
//! numbers; cells are read when they are drawn. Names are safe to show and still have to be escaped for the format
//! that is written.

use std::collections::HashSet;

use crate::fault::visible;
use crate::lesson::Labels;
use crate::ops::Layout;
use crate::plan::{Axis, HeadStep, Name, Plan, Stack, Step, StepId, names};
use crate::trace::Trace;
use crate::views::Scene;
use crate::views::compare::Comparison;
use crate::views::sheet::Sheet;
use crate::views::stacked::file_name;
use crate::words::t;

/// Panels of one kind of matrix, on one scale.
pub struct Group<'a> {
    /// What they show: `attention weights`; in a comparison the variant.
    pub what: String,
    /// One a step, in order; all heads of a stack one by one.
    pub panels: Vec<Panel<'a>>,
    /// From the least to the most that any of them holds.
    pub scale: Scale,
}

/// One matrix to be drawn, facing the way the page's layout wants it.
pub struct Panel<'a> {
    /// `head.1.weights`
    pub title: String,
    /// `head 1`: whose it is, for where the kind of matrix is said elsewhere; the title where it is nobody's.
    pub caption: String,
    /// What rows and columns stand for: `query`, `key`; empty where there is nothing to say.
    pub axes: (&'static str, &'static str),
    sheet: Sheet<'a>,
    /// The scores that weights were made from: −∞ there is what a mask hid.
    scores: Option<Sheet<'a>>,
    are_weights: bool,
    /// Rows and columns of the matrix that are drawn as one cell.
    block: (usize, usize),
}

/// What a cell has to show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// A number.
    Value(f64),
    /// A mask hides it: a score of −∞, a weight that is exactly 0 because of one.
    Hidden,
    /// Not a number.
    Undefined,
}

/// What the ends of the colours stand for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scale {
    /// The darkest colour.
    pub least: f64,
    /// The lightest.
    pub most: f64,
}

impl Scale {
    /// Where a number lies, from 0 to 1; in the middle where all are the same.
    pub fn place(&self, value: f64) -> f64 {
        let span = self.most - self.least;
        if span > 0.0 { ((value - self.least) / span).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// The scale that a kind of matrix is shown on: weights are shares, which start at nothing, and it ends at the
    /// largest of a query that has a choice.
    pub fn of(panels: &[Panel<'_>], are_weights: bool) -> Self {
        let start = if are_weights { 0.0 } else { f64::INFINITY };
        // The first query of a causal mask sees itself alone and gives it 1, which would leave the others in the dark.
        let mut numbers: Vec<f64> = match are_weights {
            true => panels.iter().flat_map(Panel::queries).filter(|keys| keys.len() > 1).flatten().collect(),
            false => Vec::new(),
        };
        if numbers.is_empty() {
            numbers = panels.iter().flat_map(|panel| panel.numbers()).copied().collect();
        }
        let numbers = numbers.iter().filter(|number| number.is_finite());
        let (least, most) = numbers.fold((start, f64::NEG_INFINITY), |(least, most), number| {
            (least.min(*number), most.max(*number))
        });
        // Nothing but hidden places: any scale will do.
        if most < least {
            Self { least: 0.0, most: 0.0 }
        } else {
            Self { least: least + 0.0, most: most + 0.0 }
        }
    }
}

/// The steps worth drawing where nobody chose any: the attention weights of every head.
pub fn by_default(ids: &[StepId]) -> Vec<StepId> {
    ids.iter().copied().filter(|id| is_weights(id.name)).collect()
}

/// The steps of a variant that a comparison draws, with what tells a hidden place from a small weight.
pub fn wanted(plan: &Plan, sequence: Option<usize>) -> HashSet<StepId> {
    let of_weights = |step: &&Step| step.id.sequence == sequence && is_weights(step.id.name);
    let drawn = plan.steps().iter().filter(of_weights);
    drawn.flat_map(|step| step.inputs.iter().copied().chain([step.id])).collect()
}

fn is_weights(name: Name) -> bool {
    matches!(name, Name::Head(_, HeadStep::Weights) | Name::Stack(Stack::Weights))
}

/// The chosen steps of a trace, one group a kind of matrix, in order of appearance.
pub fn of_scene<'a>(scene: &Scene<'a>) -> Vec<Group<'a>> {
    let mut kinds: Vec<(String, Vec<&Step>)> = Vec::new();
    let plan = scene.trace.plan();
    for step in scene.steps.iter().filter_map(|id| plan.get(*id)) {
        let kind = file_name(step.id.name).unwrap_or_else(|| names::kind(step.id.name));
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, steps)) => steps.push(step),
            None => kinds.push((kind, vec![step])),
        }
    }
    let group = |steps: Vec<&'a Step>| {
        let name = steps.first()?.id.name;
        let draw = |step: &&'a Step| panels(scene.trace, step, scene.labels, scene.page.layout);
        let panels: Vec<Panel<'a>> = steps.iter().flat_map(draw).collect();
        let scale = Scale::of(&panels, is_weights(name));
        (!panels.is_empty()).then(|| Group { what: names::kind(name), panels, scale })
    };
    kinds.into_iter().filter_map(|(_, steps)| group(steps)).collect()
}

/// The attention weights of every variant, one group a variant, all on one scale. A variant that holds no weights
/// (flash never has a whole row of them) has no panels.
pub fn of_comparison<'a>(comparison: &Comparison<'a>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for side in comparison.sides {
        let of_weights = |step: &&Step| step.id.sequence == comparison.sequence && is_weights(step.id.name);
        let steps = side.trace.plan().steps().iter().filter(of_weights);
        let draw = |step| panels(&side.trace, step, comparison.labels, comparison.page.layout);
        let panels: Vec<Panel<'a>> = steps.flat_map(draw).collect();
        let scale = Scale::of(&panels, true);
        groups.push(Group { what: side.variant.to_string(), panels, scale });
    }
    let most = groups.iter().map(|group| group.scale.most).fold(0.0, f64::max);
    for group in &mut groups {
        group.scale.most = most;
    }
    groups
}

/// One step of a scene; none where the trace does not hold it.
pub fn of_step<'a>(scene: &Scene<'a>, id: StepId) -> Option<Panel<'a>> {
    let step = scene.trace.plan().get(id)?;
    panels(scene.trace, step, scene.labels, scene.page.layout).into_iter().next()
}

/// A step as panels: one, or one a head where it stacks them.
fn panels<'a>(trace: &'a Trace<f64>, step: &Step, labels: &Labels, layout: Layout) -> Vec<Panel<'a>> {
    let (heads, rows) = match step.axes.0 {
        Axis::StackedQueries(heads) => (heads.max(1), Axis::Queries),
        Axis::StackedKeys(heads) => (heads.max(1), Axis::Keys),
        other => (1, other),
    };
    let height = step.shape.0 / heads;
    let one = Step { shape: (height, step.shape.1), axes: (rows, step.axes.1), ..step.clone() };
    let axes = facing((word(one.axes.0), word(one.axes.1)), layout);
    let scores = step.inputs.first().filter(|_| is_weights(step.id.name));
    let panel = |head: usize| {
        let sheet = |id: StepId| {
            let value = if heads > 1 { trace.rows(id, head * height, height) } else { trace.get(id) };
            let mut sheet = Sheet::new(&one, value?, labels, layout);
            for name in sheet.rows.iter_mut().chain(&mut sheet.columns) {
                *name = visible(name);
            }
            Some(sheet)
        };
        let title = if heads > 1 {
            t!("%{step}, head %{head}", step = step.id, head = head + 1)
        } else {
            step.id.to_string()
        };
        let scores = scores.and_then(|id| sheet(*id));
        let caption = caption(step.id, (heads > 1).then_some(head)).unwrap_or_else(|| title.clone());
        Some(Panel {
            title,
            caption,
            axes,
            sheet: sheet(step.id)?,
            scores,
            are_weights: is_weights(step.id.name),
            block: (1, 1),
        })
    };
    (0..heads).filter_map(panel).collect()
}

/// Whose matrix it is: `sequence 2, head 1`, `layer 3, head 1`.
fn caption(id: StepId, stacked: Option<usize>) -> Option<String> {
    let sequence = id.sequence.map(|sequence| t!("sequence %{sequence}", sequence = sequence + 1));
    let layer = id.layer.map(|layer| t!("layer %{layer}", layer = layer + 1));
    let head =
        stacked.or_else(|| id.head().map(|head| head.0)).map(|head| t!("head %{head}", head = head + 1));
    let parts: Vec<String> = [sequence, layer, head].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(&t!(", ")))
}

/// What belongs to rows and to columns, as the layout shows them.
fn facing<T>((rows, columns): (T, T), layout: Layout) -> (T, T) {
    match layout {
        Layout::Rows => (rows, columns),
        Layout::Columns => (columns, rows),
    }
}

/// What an axis counts, in the field's words.
fn word(axis: Axis) -> &'static str {
    match axis {
        Axis::Queries | Axis::StackedQueries(_) => "query",
        Axis::Keys | Axis::KeysFrom(_) | Axis::StackedKeys(_) => "key",
        Axis::Features => "feature",
        Axis::State | Axis::One => "",
    }
}

impl<'a> Panel<'a> {
    /// A matrix that belongs to no step; its title and its names are safe to show.
    pub fn of_matrix(title: String, sheet: Sheet<'a>) -> Self {
        let caption = title.clone();
        Self { title, caption, axes: ("", ""), sheet, scores: None, are_weights: false, block: (1, 1) }
    }
}

impl Panel<'_> {
    /// Draws no more rows and columns than these: neighbours share a cell where there are too many.
    ///
    /// A square matrix is thinned alike both ways, so that its diagonal stays one.
    pub fn thin(&mut self, most_rows: usize, most_columns: usize) {
        let (rows, columns) = self.sheet.shape();
        let block = (rows.div_ceil(most_rows.max(1)).max(1), columns.div_ceil(most_columns.max(1)).max(1));
        self.block = if rows == columns { (block.0.max(block.1), block.0.max(block.1)) } else { block };
    }

    /// Rows and columns of cells to be drawn.
    pub fn shape(&self) -> (usize, usize) {
        let (rows, columns) = self.sheet.shape();
        (rows.div_ceil(self.block.0), columns.div_ceil(self.block.1))
    }

    /// How many rows and columns of the matrix stand in one cell; 1 and 1 unless it was thinned.
    pub fn block(&self) -> (usize, usize) {
        self.block
    }

    /// What a cell shows: of a block the largest number in it, so that nothing vanishes by thinning.
    pub fn cell(&self, row: usize, column: usize) -> Cell {
        let (rows, columns) = self.sheet.shape();
        let within = |at: usize, block: usize, count: usize| at * block..((at + 1) * block).min(count);
        let mut most = Cell::Hidden;
        for r in within(row, self.block.0, rows) {
            for c in within(column, self.block.1, columns) {
                most = match (most, self.single(r, c)) {
                    (Cell::Undefined, _) | (_, Cell::Undefined) => return Cell::Undefined,
                    (Cell::Value(most), Cell::Value(value)) => Cell::Value(most.max(value)),
                    (Cell::Hidden, cell) | (cell, Cell::Hidden) => cell,
                };
            }
        }
        most
    }

    /// The weights of each query on the keys that it sees.
    fn queries(&self) -> Vec<Vec<f64>> {
        let (rows, columns) = self.sheet.shape();
        let down = self.axes.0 == word(Axis::Queries);
        let (queries, keys) = if down { (rows, columns) } else { (columns, rows) };
        let seen = |query: usize, key: usize| match if down {
            self.single(query, key)
        } else {
            self.single(key, query)
        } {
            Cell::Value(weight) => Some(weight),
            Cell::Hidden | Cell::Undefined => None,
        };
        (0..queries).map(|query| (0..keys).filter_map(|key| seen(query, key)).collect()).collect()
    }

    fn single(&self, row: usize, column: usize) -> Cell {
        let value = self.sheet.at(row, column);
        // Where the scores are there, a zero is hidden or only too small for the type; they tell which.
        let hidden = |scores: &Sheet<'_>| value == 0.0 && scores.at(row, column) == f64::NEG_INFINITY;
        match value {
            f64::NEG_INFINITY => Cell::Hidden,
            _ if self.scores.as_ref().is_some_and(hidden) => Cell::Hidden,
            value if value.is_nan() => Cell::Undefined,
            value => Cell::Value(value),
        }
    }

    /// The name of a row of cells; of several rows the first and the last of their names.
    pub fn row(&self, row: usize) -> String {
        joined(&self.sheet.rows, row, self.block.0)
    }

    /// The name of a column of cells; of several columns the first and the last of their names.
    pub fn column(&self, column: usize) -> String {
        joined(&self.sheet.columns, column, self.block.1)
    }

    /// The name of the last row in a row of cells.
    pub fn last_row(&self, row: usize) -> &str {
        last(&self.sheet.rows, row, self.block.0)
    }

    /// The name of the last column in a column of cells.
    pub fn last_column(&self, column: usize) -> &str {
        last(&self.sheet.columns, column, self.block.1)
    }

    /// The name of the first column in a column of cells, for where there is no room for two.
    pub fn first_column(&self, column: usize) -> &str {
        self.sheet.columns.get(column * self.block.1).map_or("", String::as_str)
    }

    /// All numbers of the matrix, in no order.
    pub fn numbers(&self) -> impl Iterator<Item = &f64> {
        self.sheet.numbers()
    }

    /// Whether these are attention weights: shares, which start at 0.
    pub fn are_weights(&self) -> bool {
        self.are_weights
    }

    /// What has to be said of a panel that was thinned: `each cell is the largest of 8 × 8 neighbours (512 × 512 in
    /// all)`.
    pub fn note(&self) -> Option<String> {
        let ((tall, wide), (rows, columns)) = (self.block, self.sheet.shape());
        (tall * wide > 1).then(|| {
            t!(
                "each cell is the largest of %{tall} × %{wide} neighbours (%{rows} × %{columns} in all)",
                tall,
                wide,
                rows,
                columns
            )
        })
    }
}

/// The last name in a run of neighbours.
fn last(names: &[String], at: usize, block: usize) -> &str {
    names.get(((at + 1) * block).min(names.len()).saturating_sub(1)).map_or("", String::as_str)
}

/// The name of a run of neighbours: `cat…sat`.
fn joined(names: &[String], at: usize, block: usize) -> String {
    let run = names.get(at * block..((at + 1) * block).min(names.len())).unwrap_or_default();
    match run {
        [] => String::new(),
        [one] => one.clone(),
        [first, .., last] => format!("{first}…{last}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::{Options, parse};
    use crate::ops::Arithmetic;
    use crate::trace::Keep;
    use std::path::Path;

    /// q · kᵀ is q itself where k is the identity and the scale is 1, so scores can be typed in.
    fn scores(rows: &str, more: &str) -> Trace<f64> {
        let text = format!(
            "attention: {{num_heads: 1, scale: 1{more}}}\n\
             inputs: {{q: {rows}, k: [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]], v: [[1],[2],[3],[4]]}}\n\
             projections: {{w_o: none}}\n"
        );
        let problem = parse(&text, "here", Path::new("."), &Options::default()).unwrap();
        problem.run(&Keep::All, Arithmetic::Ordered).unwrap()
    }

    fn labels(names: [&str; 4]) -> Labels {
        let names: Vec<String> = names.map(String::from).to_vec();
        Labels { queries: names.clone(), keys: names }
    }

    fn panel<'a>(trace: &'a Trace<f64>, step: HeadStep, layout: Layout) -> Panel<'a> {
        let step = trace.plan().get(crate::plan::Head(0).step(step)).unwrap();
        panels(trace, step, &labels(["a", "b", "c", "d\u{1b}"]), layout).remove(0)
    }

    fn thinned(mut panel: Panel<'_>, most_rows: usize, most_columns: usize) -> Panel<'_> {
        panel.thin(most_rows, most_columns);
        panel
    }

    fn drawn(panel: &Panel<'_>) -> Vec<Vec<Cell>> {
        let (rows, columns) = panel.shape();
        (0..rows).map(|r| (0..columns).map(|c| panel.cell(r, c)).collect()).collect()
    }

    const COUNTING: &str = "[[1,2,3,4],[5,6,7,8],[9,10,11,12],[13,14,15,16]]";

    /// By hand: the four 2 × 2 corners of the numbers from 1 to 16, and the largest of each.
    #[test]
    fn a_block_shows_its_largest_number() {
        let trace = scores(COUNTING, "");
        let small = thinned(panel(&trace, HeadStep::Scores, Layout::Rows), 2, 2);
        let value = Cell::Value;
        assert_eq!(drawn(&small), [[value(6.0), value(8.0)], [value(14.0), value(16.0)]]);
        assert_eq!((small.row(0), small.column(1)), ("a…b".into(), "c…d\\e".into()));
        assert_eq!(small.note().unwrap(), "each cell is the largest of 2 × 2 neighbours (4 × 4 in all)");
    }

    /// Three rows at a time: a to c, and d alone.
    #[test]
    fn what_is_left_over_is_a_block_too() {
        let trace = scores(COUNTING, "");
        let small = thinned(panel(&trace, HeadStep::Scores, Layout::Rows), 2, 3);
        assert_eq!((small.shape(), small.block()), ((2, 2), (2, 2)), "a square stays one");
        let small = thinned(panel(&trace, HeadStep::Scores, Layout::Rows), 3, 3);
        assert_eq!(small.block(), (2, 2));
        let small = thinned(panel(&trace, HeadStep::Output, Layout::Rows), 2, 9);
        assert_eq!((small.block(), small.shape()), ((2, 1), (2, 1)), "four tokens, one number each");
        let three = thinned(panel(&trace, HeadStep::Scores, Layout::Rows), 1, 1);
        assert_eq!(drawn(&three), [[Cell::Value(16.0)]]);
    }

    #[test]
    fn tokens_in_columns_are_the_same_numbers_transposed() {
        let trace = scores(COUNTING, "");
        let (rows, columns) =
            (panel(&trace, HeadStep::Scores, Layout::Rows), panel(&trace, HeadStep::Scores, Layout::Columns));
        assert_eq!((rows.cell(0, 3), columns.cell(3, 0)), (Cell::Value(4.0), Cell::Value(4.0)));
        assert_eq!((rows.axes, columns.axes), (("query", "key"), ("key", "query")));
    }

    /// Scores of 0 and −∞ behind a causal mask; e^−800 is smaller than the smallest number there is, but not hidden.
    #[test]
    fn a_weight_that_is_hidden_is_not_one_that_is_small() {
        let trace = scores("[[0,0,0,0],[0,-800,0,0],[0,0,0,0],[0,0,0,0]]", ", mask: causal");
        let weights = panel(&trace, HeadStep::Weights, Layout::Rows);
        assert_eq!(drawn(&weights)[1], [Cell::Value(1.0), Cell::Value(0.0), Cell::Hidden, Cell::Hidden]);
        // A block that is hidden in part shows the rest; one that is hidden altogether is hidden.
        assert_eq!(drawn(&thinned(weights, 2, 2))[0], [Cell::Value(1.0), Cell::Hidden]);
        let masked = panel(&trace, HeadStep::MaskedScores, Layout::Rows);
        assert_eq!(masked.cell(0, 1), Cell::Hidden);
        assert_eq!(Scale::of(&[masked], false), Scale { least: -800.0, most: 0.0 });
    }

    /// From −1 to 3: 0 lies a quarter of the way.
    #[test]
    fn a_scale_runs_from_its_least_to_its_most() {
        let scale = Scale { least: -1.0, most: 3.0 };
        assert_eq!([-1.0, 0.0, 3.0, 9.0].map(|value| scale.place(value)), [0.0, 0.25, 1.0, 1.0]);
        assert_eq!(Scale { least: 2.0, most: 2.0 }.place(2.0), 0.5);
    }

    #[test]
    fn weights_start_at_nothing_and_scores_at_their_least() {
        let trace = scores(COUNTING, "");
        let of = |step, are_weights| Scale::of(&[panel(&trace, step, Layout::Rows)], are_weights);
        assert_eq!(of(HeadStep::Scores, false), Scale { least: 1.0, most: 16.0 });
        assert_eq!(of(HeadStep::Weights, true).least, 0.0);
    }
}
