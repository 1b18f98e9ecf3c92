//! What the script shows and lights: every shown cell's derivation and the blocks it was made from, as JSON.
//!
//! `{"steps": [{"id", "title", "shape": [r, c], "given", "shown", "rows": [[row, words] or null …], "columns": […],
//! "cells": [cell …]}]}`; the cells of the shown rows and columns, row by row, tokens in rows. A cell is `null` where
//! the page has no room for it, or `[sources, largest, reason, line, line, …]`; a source is `[step, from row, to row, from
//! column, to column]` with steps by their place in the list, counted from 0, ends not included.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::extent::Extent;
use crate::plan::{Axis, Step, StepId, names};
use crate::trace::Cell;
use crate::views::Scene;
use crate::views::derivation::Derivation;
use crate::views::explain::called;
use crate::views::sheet::spoken;

/// The data of a scene.
pub(super) fn of(scene: &Scene<'_>, extent: &Extent) -> Value {
    let plan = scene.trace.plan();
    let shown: Vec<&Step> = scene.steps[..extent.steps].iter().filter_map(|id| plan.get(*id)).collect();
    let mut list = List { places: HashMap::new(), ids: Vec::new() };
    for step in &shown {
        list.place(step.id);
    }
    let mut steps = Vec::with_capacity(shown.len());
    let share = extent.derived / shown.len().max(1);
    let mut taken = Vec::with_capacity(shown.len());
    for step in &shown {
        let (value, bytes) = of_step(scene, extent, step, &mut list, share);
        taken.push(bytes);
        steps.push(value);
    }
    // What some steps do not need goes to those that it is short for. Once: they are worked out anew.
    let short: Vec<usize> = (0..shown.len()).filter(|at| taken[*at] >= share).collect();
    let room = extent.derived.saturating_sub(taken.iter().sum());
    let more = room / short.len().max(1);
    if more > share / 8 {
        for at in short {
            (steps[at], taken[at]) = of_step(scene, extent, shown[at], &mut list, share + more);
        }
    }
    // Steps that cells were made from, but that are not shown themselves.
    let others: Vec<&Step> = list.ids[steps.len()..].iter().filter_map(|id| plan.get(*id)).collect();
    steps.extend(others.into_iter().map(|step| {
        json!({"id": step.id.to_string(), "title": names::title(step.id), "shape": [step.shape.0, step.shape.1],
            "given": step.inputs.is_empty(), "shown": false})
    }));
    json!({ "steps": steps })
}

/// Steps in the order in which the data has them.
struct List {
    places: HashMap<StepId, usize>,
    ids: Vec<StepId>,
}

impl List {
    fn place(&mut self, id: StepId) -> usize {
        *self.places.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() - 1
        })
    }
}

/// A step, and how many bytes its derivations take: at most about `room`.
fn of_step(scene: &Scene<'_>, extent: &Extent, step: &Step, list: &mut List, room: usize) -> (Value, usize) {
    let shown = extent.shown(step);
    let (rows, columns) = spoken(step, scene.labels);
    let words = |shown: &[Option<usize>], axis: Axis, names: &[String]| -> Vec<Value> {
        let name = |at: usize| names.get(at).map_or("", String::as_str);
        shown.iter().map(|at| at.map_or(Value::Null, |at| json!([at, called(axis, name(at))]))).collect()
    };
    let mut cells = Vec::new();
    let mut taken = 0;
    if !step.inputs.is_empty() {
        for row in shown.rows.iter().flatten() {
            for column in shown.columns.iter().flatten() {
                let cell = Cell { step: step.id, row: *row, column: *column };
                let derived = if taken < room { derived(scene, cell, list) } else { None };
                taken += derived.as_ref().map_or(5, |value| value.to_string().len());
                cells.push(derived.unwrap_or(Value::Null));
            }
        }
    }
    let value = json!({
        "id": step.id.to_string(),
        "title": names::title(step.id),
        "shape": [step.shape.0, step.shape.1],
        "given": step.inputs.is_empty(),
        "shown": true,
        "rows": words(&shown.rows, step.axes.0, &rows),
        "columns": words(&shown.columns, step.axes.1, &columns),
        "cells": cells,
    });
    (value, taken)
}

fn derived(scene: &Scene<'_>, cell: Cell, list: &mut List) -> Option<Value> {
    let derivation = Derivation::of(scene.trace, cell, scene.page.digits)?;
    let sources: Vec<Value> = scene
        .trace
        .sources(cell)
        .into_iter()
        .map(|s| json!([list.place(s.step), s.rows.start, s.rows.end, s.columns.start, s.columns.end]))
        .collect();
    let largest = derivation.largest.map_or(Value::Null, |(names, number)| json!([names, number]));
    let reason = scene.trace.reason(cell).map_or(Value::Null, Value::String);
    let mut value = vec![Value::Array(sources), largest, reason];
    value.extend(derivation.lines.into_iter().map(Value::String));
    Some(Value::Array(value))
}
