//! What someone has, set beside what a plan computes.

use std::collections::HashMap;
use std::sync::Arc;

use nalgebra::DMatrix;

use super::bench::{Bench, Own, Value};
use super::draft::Wrong;
use super::fit::{self, Fit, Tolerance};
use super::rows;
use crate::answers::{Expected, Grain, Layout, ORDER, Reading, Tensor, each_reading};
use crate::ops::Arithmetic;
use crate::plan::{Call, Name, Plan, Stack, StepId};

/// One tensor of a person's, with the readings that were asked for so far.
pub(super) struct Exhibit<'a> {
    pub(super) tensor: &'a Tensor,
    /// Its place in the order of the computation.
    pub(super) order: usize,
    read: Vec<Read>,
    /// The rows of it that were looked at first.
    few: Option<FewRows>,
}

/// A few rows of a tensor as it stands, and the largest number of all of it.
struct FewRows {
    place: usize,
    sheets: Vec<DMatrix<f64>>,
    largest: f64,
}

impl Exhibit<'_> {
    /// These rows, in the plainest of the readings at a place; nothing where that is in another layout.
    fn few_rows(&mut self, place: usize, rows: &[usize]) -> Option<&FewRows> {
        if self.few.as_ref().is_none_or(|few| few.place != place) {
            let reading = self.read[place].found.first().filter(|reading| reading.is_plain())?;
            let sheets = reading.sheets.iter().map(|sheet| sheet.select_rows(rows)).collect();
            let (largest, _) = fit::extremes(reading.sheets.iter());
            self.few = Some(FewRows { place, sheets, largest });
        }
        self.few.as_ref()
    }
}

/// A tensor read as certain sizes, the plainest reading first.
struct Read {
    expected: Expected,
    found: Vec<Reading>,
    /// Whether every layout has been tried.
    complete: bool,
}

/// All of them, and where plans are computed.
pub(super) struct Court<'a> {
    pub(super) call: &'a Call,
    pub(super) right: Arc<Wrong>,
    pub(super) bench: Bench<'a>,
    pub(super) exhibits: Vec<Exhibit<'a>>,
    /// By how much steps are off when every step is rounded to a grain: known once someone asks.
    chains: HashMap<Grain, HashMap<Name, (f64, f64)>>,
    /// Fits that are known: exhibit, values, whether every layout was tried.
    known: HashMap<(usize, Vec<Value>, Leniency), Judged>,
}

/// Which ways of reading a tensor are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Leniency {
    /// As it stands, if its shape lets it; else in another layout.
    Plain,
    /// In whatever layout fits best.
    AnyLayout,
}

/// A tensor beside what a plan computes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) fit: Fit,
    /// What had to be done to read it so.
    pub(super) how: Vec<Layout>,
    /// Whether its shape is the plan's.
    pub(super) has_shape: bool,
}

impl Judged {
    fn nothing() -> Self {
        Self { fit: Fit::NONE, how: Vec::new(), has_shape: false }
    }
}

/// The place of a step in the order of the computation.
pub(super) fn order(name: Name) -> usize {
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len())
}

impl<'a> Court<'a> {
    pub(super) fn new(call: &'a Call, right: &Plan, tensors: &'a [Tensor]) -> Self {
        let exhibits = tensors
            .iter()
            .map(|tensor| Exhibit { tensor, order: order(tensor.name), read: Vec::new(), few: None })
            .collect();
        let work: usize = right.steps().iter().map(|step| step.shape.0 * step.shape.1).sum();
        let threads =
            if work > LARGE { std::thread::available_parallelism().map_or(1, usize::from) } else { 1 };
        Self {
            call,
            right: Arc::new(Wrong::right(call, right)),
            bench: Bench::new(&call.inputs, Arithmetic::Fast { threads }),
            exhibits,
            chains: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// The sizes of a step in a plan, and the steps that make it up.
    pub(super) fn expected(wrong: &Wrong, name: Name) -> Option<(Expected, Vec<StepId>)> {
        let (ids, sheets) = wrong.sheets(name)?;
        let first = ids.first()?;
        let (rows, columns) = wrong.plan.get(*first)?.shape;
        let batch = first.sequence.map(|_| ids.len() / sheets.unwrap_or(1).max(1));
        Some((Expected { batch, sheets, rows, columns }, ids))
    }

    /// The values of a step in a plan, a matrix a head.
    pub(super) fn values(&mut self, wrong: &Wrong, own: &Own, name: Name) -> Option<Vec<Value>> {
        let (_, ids) = Self::expected(wrong, name)?;
        self.bench.run(&wrong.plan, own, &ids)
    }

    /// The ways to read an exhibit: the plainest alone, or all of them.
    fn read(&mut self, exhibit: usize, expected: Expected, all: bool) -> usize {
        let num_heads = self.call.attention.num_heads;
        let exhibit = &mut self.exhibits[exhibit];
        let readings = || {
            let tensor = exhibit.tensor;
            each_reading(&tensor.array, &expected)
                .filter(move |reading| is_for_its_queries(tensor, reading, num_heads))
        };
        let place = exhibit.read.iter().position(|read| read.expected == expected).unwrap_or_else(|| {
            let found = readings().take(1).collect();
            exhibit.read.push(Read { expected, found, complete: false });
            exhibit.read.len() - 1
        });
        let read = &mut exhibit.read[place];
        if all && !read.complete {
            read.found.extend(readings().skip(1));
            read.complete = true;
        }
        place
    }

    /// The plainest way to read an exhibit.
    pub(super) fn plainest(&mut self, exhibit: usize, expected: Expected) -> Option<&Reading> {
        let place = self.read(exhibit, expected, false);
        self.exhibits[exhibit].read[place].found.first()
    }

    /// The way to read an exhibit with these changes of its layout, or else the plainest; with where plans are computed.
    pub(super) fn reading(
        &mut self,
        exhibit: usize,
        expected: Expected,
        how: &[Layout],
    ) -> Option<(&Reading, &Bench<'a>)> {
        let place = self.read(exhibit, expected, !how.is_empty());
        let found = &self.exhibits[exhibit].read[place].found;
        let reading = found.iter().find(|reading| reading.how == how).or(found.first())?;
        Some((reading, &self.bench))
    }

    /// Sets an exhibit beside what a plan computes.
    pub(super) fn judge(&mut self, exhibit: usize, wrong: &Wrong, own: &Own, leniency: Leniency) -> Judged {
        let name = self.exhibits[exhibit].tensor.name;
        let Some((expected, ids)) = Self::expected(wrong, name) else { return Judged::nothing() };
        let Some(has_shape) = self.plainest(exhibit, expected).map(|reading| reading.is_plain()) else {
            return Judged::nothing();
        };
        let all = leniency == Leniency::AnyLayout || !has_shape;
        let place = self.read(exhibit, expected, all);
        let Some(values) = self.bench.run(&wrong.plan, own, &ids) else { return Judged::nothing() };
        let key = (exhibit, values, leniency);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let hidden = self.hidden(wrong, own, name);
        let judged = self.compare(exhibit, place, &key.1, hidden.as_deref(), all);
        self.known.insert(key, judged.clone());
        judged
    }

    /// Whether a few rows of an exhibit already show that a plan does not give it.
    pub(super) fn is_ruled_out(&mut self, exhibit: usize, wrong: &Wrong, own: &Own) -> bool {
        self.few_rows_differ(exhibit, wrong, own).unwrap_or(false)
    }

    /// Whether a few rows of the first exhibit from a place on can be computed alone.
    pub(super) fn has_short_cut(&self, wrong: &Wrong, from: usize, own: &Own) -> bool {
        let first = self.exhibits.iter().find(|exhibit| exhibit.order >= from);
        let Some((_, ids)) = first.and_then(|first| Self::expected(wrong, first.tensor.name)) else {
            return false;
        };
        ids.iter().all(|id| rows::has_short_cut(&wrong.plan, own, *id))
    }

    fn few_rows_differ(&mut self, exhibit: usize, wrong: &Wrong, own: &Own) -> Option<bool> {
        let name = self.exhibits[exhibit].tensor.name;
        // Scores may have been masked already, and what hides may be another number: those are looked at in full.
        let simple = matches!(name, Name::Stack(Stack::Weights | Stack::Heads) | Name::Concat | Name::Output);
        let (expected, ids) = Self::expected(wrong, name)?;
        if !simple || expected.rows <= FEW * 2 {
            return None;
        }
        let rows: Vec<usize> = (0..FEW).map(|at| at * (expected.rows - 1) / (FEW - 1)).collect();
        let place = self.read(exhibit, expected, false);
        let values = self.bench.run_rows(&wrong.plan, own, &ids, &rows)?;
        let whole = self.exhibits[exhibit].few_rows(place, &rows)?.largest;
        // The largest number of a few rows may be smaller than that of all: not to be strict by accident.
        let (largest, _) = self.bench.extremes(&values);
        let tolerance = self.tolerance_of(exhibit, largest.max(whole), true);
        let theirs = &self.exhibits[exhibit].few.as_ref()?.sheets;
        let ours = values.iter().map(|value| self.bench.get(*value));
        Some(fit::fit(theirs, ours, tolerance, |_, _, _| false).beyond)
    }

    /// The masked scores beside scores that may have been masked already.
    pub(super) fn hidden(&mut self, wrong: &Wrong, own: &Own, name: Name) -> Option<Vec<Value>> {
        match name {
            Name::Stack(Stack::Scores | Stack::CappedScores | Stack::BiasedScores) => {
                self.values(wrong, own, Name::Stack(Stack::MaskedScores))
            }
            _ => None,
        }
    }

    fn compare(
        &mut self,
        exhibit: usize,
        place: usize,
        values: &[Value],
        hidden: Option<&[Value]>,
        all: bool,
    ) -> Judged {
        let seen = self.seen_in(self.exhibits[exhibit].tensor.name, values);
        let quick = self.tolerance_of(exhibit, seen.largest, false);
        let judged = self.best(exhibit, place, values, hidden, all, quick, seen);
        if !judged.fit.beyond {
            return judged;
        }
        // Only where the usual tolerance does not do is it worth while to see what rounding every step loses.
        let careful = self.tolerance_of(exhibit, seen.largest, true);
        if careful.loose <= quick.loose {
            return judged;
        }
        self.best(exhibit, place, values, hidden, all, careful, seen)
    }

    /// The reading of an exhibit that fits some values best.
    fn best(
        &self,
        exhibit: usize,
        place: usize,
        values: &[Value],
        hidden: Option<&[Value]>,
        all: bool,
        tolerance: Tolerance,
        seen: fit::Seen,
    ) -> Judged {
        let entry = &self.exhibits[exhibit];
        let has_hidden = matches!(entry.tensor.name, Name::Stack(Stack::BiasedScores | Stack::MaskedScores));
        let readings = &entry.read[place].found;
        let has_shape = readings.iter().any(|reading| reading.is_plain());
        let allowed = |reading: &&Reading| all || reading.is_plain();
        let sheets = || values.iter().map(|value| self.bench.get(*value));
        let excused = |sheet: usize, place: usize, theirs: f64| {
            let ours = |values: &[Value]| {
                values.get(sheet).and_then(|value| self.bench.get(*value).as_slice().get(place)).copied()
            };
            let masked = hidden.and_then(ours) == Some(f64::NEG_INFINITY) && fit::hides(theirs, seen.least);
            masked || has_hidden && ours(values).is_some_and(|ours| seen.both_hide(theirs, ours))
        };
        let mut best: Option<Judged> = None;
        for reading in readings.iter().filter(allowed) {
            let fit = fit::fit(&reading.sheets, sheets(), tolerance, excused);
            if best.as_ref().is_none_or(|best| fit.worst < best.fit.worst) {
                best = Some(Judged { fit, how: reading.how.clone(), has_shape });
            }
            if fit.is_strict() {
                break;
            }
        }
        best.unwrap_or_else(Judged::nothing)
    }

    /// What the numbers of a step say of size.
    pub(super) fn seen_in(&mut self, name: Name, values: &[Value]) -> fit::Seen {
        let extremes = self.bench.extremes(values);
        fit::Seen::within(name, extremes, values.iter().map(|value| self.bench.get(*value)))
    }

    /// How far an exhibit may be from these values.
    pub(super) fn tolerance(&mut self, exhibit: usize, values: &[Value]) -> Tolerance {
        let seen = self.seen_in(self.exhibits[exhibit].tensor.name, values);
        self.tolerance_of(exhibit, seen.largest, true)
    }

    /// How far an exhibit may be from these values if nothing but the result was rounded.
    pub(super) fn strictly(&mut self, exhibit: usize, values: &[Value]) -> f64 {
        let seen = self.seen_in(self.exhibits[exhibit].tensor.name, values);
        self.tolerance_of(exhibit, seen.largest, false).strict
    }

    /// How far an exhibit may be from values up to `largest`; `chained` where every step may have been rounded.
    fn tolerance_of(&mut self, exhibit: usize, largest: f64, chained: bool) -> Tolerance {
        let (grain, name) = (self.exhibits[exhibit].tensor.grain, self.exhibits[exhibit].tensor.name);
        if !chained {
            return fit::tolerance(grain, largest, 0.0);
        }
        if !self.chains.contains_key(&grain) {
            let chain = self.chain(grain);
            self.chains.insert(grain, chain);
        }
        let known = self.chains.get(&grain).and_then(|chain| chain.get(&name));
        // Larger numbers lose more.
        let chain =
            known.map_or(0.0, |(error, of)| if *of > 0.0 { error * (largest / of).max(1.0) } else { *error });
        fit::tolerance(grain, largest, chain)
    }
}

/// Whether heads that stand there several times are keys or values, once for each query head: more of the same is none
/// of the lesson's.
pub(super) fn is_for_its_queries(tensor: &Tensor, reading: &Reading, num_heads: usize) -> bool {
    let is_shared =
        matches!(tensor.name, Name::Stack(Stack::KHeads | Stack::VHeads | Stack::KNorm | Stack::KRot));
    let heads = tensor.array.shape.iter().rev().nth(2);
    !reading.how.contains(&Layout::Repeated) || is_shared && heads == Some(&num_heads)
}

/// So many rows are looked at first.
const FEW: usize = 6;

/// From so many numbers in a plan on, products are worth several threads.
const LARGE: usize = 1 << 18;
