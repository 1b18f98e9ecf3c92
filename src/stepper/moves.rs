//! How the cursor gets about: over steps, heads and numbers, to what a number was made from, and back.

use super::state::State;
use crate::fault::nearest;
use crate::plan::{Head, Name, StepId};
use crate::trace::Cell;
use crate::views::page::Layout;

impl State {
    /// Puts the cursor on a number, or on the nearest that is there.
    pub(super) fn put(&mut self, cell: Cell) {
        let shape = self.bench.trace().plan().get(cell.step).map(|step| step.shape);
        let Some((rows, columns)) = shape else { return };
        let row = cell.row.min(rows.saturating_sub(1));
        self.at = Cell { step: cell.step, row, column: cell.column.min(columns.saturating_sub(1)) };
        self.scrolled = 0;
    }

    /// Moves along the chosen steps; too far is as far as it goes.
    pub(super) fn step_by(&mut self, by: isize) {
        let ids: Vec<StepId> = self.steps().map(|step| step.id).collect();
        let Some(now) = ids.iter().position(|id| *id == self.at.step) else { return };
        let then = now.saturating_add_signed(by).min(ids.len() - 1);
        if then == now {
            let words = if by < 0 {
                "this is the first step: n goes on"
            } else {
                "this is the last step: p goes back"
            };
            return self.say(words);
        }
        self.trail.clear();
        self.put(Cell { step: ids[then], ..self.at });
    }

    pub(super) fn go_to_head(&mut self, number: usize) {
        let plan = self.bench.trace().plan();
        let here = |id: &StepId| self.at.step.layer.is_none_or(|layer| id.layer == Some(layer));
        let heads = plan.ids().into_iter().filter(here).filter_map(|id| id.head());
        let heads = heads.map(|head| head.0 + 1).max().unwrap_or(0);
        if number == 0 || number > heads {
            return self.say(format!("there is no head {number}: this lesson has {heads}, counted from 1"));
        }
        let head = Head(number - 1);
        let StepId { sequence, layer, name } = self.at.step;
        let same = match name {
            Name::Head(_, step) => Some(StepId { name: Name::Head(head, step), ..self.at.step }),
            _ => None,
        };
        // From outside the heads, to where the head begins.
        let first = || {
            let mut ids = self.bench.trace().plan().steps().iter().map(|step| step.id);
            ids.find(|id| {
                id.head() == Some(head)
                    && id.sequence == sequence.or(id.sequence)
                    && id.layer == layer.or(id.layer)
            })
        };
        if let Some(step) = same.or_else(first) {
            self.trail.clear();
            self.put(Cell { step, ..self.at });
        }
    }

    /// Moves the cursor by rows and columns of the page, which a turned page swaps.
    pub(super) fn move_by(&mut self, down: isize, right: isize) {
        let (rows, columns) = match self.page.layout {
            Layout::Rows => (down, right),
            Layout::Columns => (right, down),
        };
        let row = self.at.row.saturating_add_signed(rows);
        self.put(Cell { row, column: self.at.column.saturating_add_signed(columns), ..self.at });
    }

    pub(super) fn walk(&mut self, choose: impl Fn(&[Cell]) -> Option<Cell>) {
        let sources: Vec<Cell> = self
            .bench
            .trace()
            .sources(self.at)
            .into_iter()
            .map(|source| Cell { step: source.step, row: source.rows.start, column: source.columns.start })
            .collect();
        match choose(&sources) {
            Some(source) => {
                self.trail.push(self.at);
                self.put(source);
            }
            None if self.bench.is_given(self.at.step) => {
                self.say(format!(
                    "{} is given, nothing stands behind it: e edits it, Backspace walks back",
                    self.at
                ));
            }
            None => self.say(format!("{} needs no other number: its place alone decides it", self.at)),
        }
    }

    pub(super) fn walk_back(&mut self) {
        match self.trail.pop() {
            Some(cell) => self.put(cell),
            None => self.say("nothing to walk back to: Tab walks to where a number comes from"),
        }
    }

    /// To a head by its number, a step by its name, or a number by its place.
    pub(super) fn go_to(&mut self, text: &str) {
        if let Ok(number) = text.parse::<usize>() {
            return self.go_to_head(number);
        }
        let (name, place) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
            Some((name, place)) => (name.trim(), place),
            None => (text, "1,1"),
        };
        let sequence = self.sequence();
        let plan = self.bench.trace().plan();
        let named = name.parse::<StepId>().ok();
        let step = named.and_then(|id| plan.get(id).or_else(|| plan.get(id.in_sequence(sequence))));
        let Some(step) = step else {
            let names: Vec<String> = plan.steps().iter().map(|step| step.id.within().to_string()).collect();
            let near = nearest(name, names.iter().map(String::as_str));
            let hint = near.map_or(String::new(), |near| format!(": did you mean {near}?"));
            return self.say(format!("no step is called {name}{hint}"));
        };
        let (id, (rows, columns)) = (step.id, step.shape);
        let (row, column) = place.split_once(',').unwrap_or((place, "1"));
        let from_one = |text: &str, most: usize| {
            text.trim().parse::<usize>().ok().filter(|number| (1..=most).contains(number))
        };
        let (Some(row), Some(column)) = (from_one(row, rows), from_one(column, columns)) else {
            return self.say(format!(
                "there is no {text}: {id} has {rows} rows and {columns} columns, counted from 1"
            ));
        };
        self.trail.clear();
        self.put(Cell { step: id, row: row - 1, column: column - 1 });
    }

    /// The sequence that the cursor is in; the first chosen one where the step belongs to all.
    fn sequence(&self) -> Option<usize> {
        let chosen = || self.steps().find_map(|step| step.id.sequence);
        self.at.step.sequence.or_else(chosen)
    }
}
