//! What a learner would hand over: the tensors of a right or wrong plan, rounded, in a file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;

use mha::answers::{self, Answers, Expected, Grain, ORDER, readings};
use mha::arrays::{Array, Kind, npz};
use mha::mistakes::{Draft, Form, Mistake, Wrong, catalogue};
use mha::ops::{Arithmetic, Operation, Real, View};
use mha::plan::{Call, Name, Plan, StepId, attention, inputs_as};
use nalgebra::DMatrix;

/// A mistake in one of its forms.
pub(crate) type Planted = (&'static Mistake, &'static Form);

/// Each form of each mistake.
pub(crate) fn forms() -> impl Iterator<Item = Planted> {
    catalogue::all().flat_map(|mistake| mistake.forms.iter().map(move |form| (mistake, form)))
}

/// Every value of a plan.
type Values = BTreeMap<StepId, DMatrix<f64>>;

/// One tensor under its stacked name.
#[derive(Debug, Clone)]
pub(crate) struct Sheet {
    pub(crate) name: Name,
    pub(crate) array: Array,
    /// Its axes, as a reader should expect them.
    pub(crate) axes: Expected,
}

/// The place of a step in the order of the computation.
pub(crate) fn order(name: Name) -> usize {
    ORDER.iter().position(|known| *known == name).unwrap()
}

/// Computes every step of a plan in a fixed order of sums; `round` is asked after each step that computes something.
fn values<T: Real>(plan: &Plan, call: &Call, mut round: impl FnMut(StepId, f64) -> f64) -> Values {
    let inputs = inputs_as::<T>(&call.inputs);
    let mut values: BTreeMap<StepId, DMatrix<T>> = BTreeMap::new();
    for step in plan.steps() {
        let value = match step.inputs.as_slice() {
            [] => (*inputs[&step.id]).clone(),
            inputs => {
                let views: Vec<View<'_, T>> = inputs.iter().map(|id| values[id].as_view()).collect();
                let computed = step.op.compute(&views, Arithmetic::Ordered);
                computed.map(|cell| T::of(round(step.id, cell.value())))
            }
        };
        values.insert(step.id, value);
    }
    values.into_iter().map(|(id, value)| (id, value.map(T::value))).collect()
}

/// The same as a program computes it whose numbers are told as finely as `grain`: single precision in single precision.
fn values_in(grain: Grain, plan: &Plan, call: &Call) -> Values {
    match grain {
        Grain::Single => values::<f32>(plan, call, |_, cell| cell),
        _ => values::<f64>(plan, call, |_, cell| cell),
    }
}

/// A step as it stands in a file: (batch, head, row, column), without the axes that it does not have.
fn sheet(wrong: &Wrong, values: &Values, name: Name) -> Option<Sheet> {
    let (ids, heads) = wrong.sheets(name)?;
    let (rows, columns) = values[&ids[0]].shape();
    let batch = ids[0].sequence.map(|_| ids.len() / heads.unwrap_or(1));
    let axes = Expected { batch, sheets: heads, rows, columns };
    let shape = batch.into_iter().chain(heads).chain([rows, columns]).collect();
    let data = ids.iter().flat_map(|id| values[id].transpose().as_slice().to_vec()).collect();
    Some(Sheet { name, array: Array::new(shape, data, Kind::F64).unwrap(), axes })
}

/// A problem with its right plan.
pub(crate) struct Right {
    pub(crate) call: Call,
    pub(crate) plan: Plan,
}

impl Right {
    pub(crate) fn of(call: Call) -> Self {
        let plan = attention::plan(&call).unwrap();
        Self { call, plan }
    }

    fn seen(&self) -> Wrong {
        Wrong::right(&self.call, &self.plan)
    }

    /// The steps that the problem has.
    pub(crate) fn known(&self) -> Vec<Name> {
        ORDER.iter().copied().filter(|name| self.seen().sheets(*name).is_some()).collect()
    }

    /// All steps, computed rightly.
    pub(crate) fn sheets(&self, grain: Grain) -> Vec<Sheet> {
        self.shown(&values_in(grain, &self.plan, &self.call))
    }

    /// All steps, computed rightly but for rounding on the way.
    pub(crate) fn rounded_on_the_way(&self, round: impl FnMut(StepId, f64) -> f64) -> Vec<Sheet> {
        self.shown(&values::<f64>(&self.plan, &self.call, round))
    }

    fn shown(&self, values: &Values) -> Vec<Sheet> {
        self.known().into_iter().filter_map(|name| sheet(&self.seen(), values, name)).collect()
    }

    /// The wrong plan that several mistakes make together, in the order of the catalogue; one that builds the plan anew
    /// comes first.
    fn wrong(&self, mistakes: &[Planted]) -> Option<Wrong> {
        let place = |(mistake, form): Planted| {
            forms().position(|(m, f)| (m.name, f.name) == (mistake.name, form.name))
        };
        let mut mistakes = mistakes.to_vec();
        mistakes.sort_by_key(|planted| (planted.1.turn, place(*planted)));
        let mut draft = Draft::new(&self.call, &self.plan, None);
        for (_, form) in mistakes {
            (form.change)(&mut draft)?;
        }
        draft.finish().filter(|wrong| wrong.plan != self.plan)
    }

    /// All steps with these mistakes; before each mistake's first step they are as without it.
    pub(crate) fn with(&self, mistakes: &[Planted], grain: Grain) -> Option<Vec<Sheet>> {
        let mut mistakes = mistakes.to_vec();
        mistakes.sort_by_key(|(_, form)| order(form.first));
        let mut sheets = self.sheets(grain);
        let known = self.known();
        for count in 1..=mistakes.len() {
            let wrong = self.wrong(&mistakes[..count])?;
            let values = values_in(grain, &wrong.plan, &self.call);
            let from = order(mistakes[count - 1].1.first);
            sheets.retain(|sheet| order(sheet.name) < from);
            let later = known.iter().filter(|name| order(**name) >= from);
            sheets.extend(later.filter_map(|name| sheet(&wrong, &values, *name)));
        }
        Some(sheets)
    }
}

/// Rounds every number.
pub(crate) fn rounded(sheets: &[Sheet], grain: Grain) -> Vec<Sheet> {
    let mut sheets = sheets.to_vec();
    for sheet in &mut sheets {
        sheet.array.data.iter_mut().for_each(|cell| *cell = grain.round(*cell));
    }
    sheets
}

/// Writes tensors as a learner would (typed numbers as JSON, or as CSV where there is one matrix; others as npz) and
/// reads them again.
pub(crate) fn handed_over(sheets: &[Sheet], grain: Grain, known: &[Name]) -> Answers {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = match (grain, sheets) {
        (Grain::Decimals(digits), [only]) if only.array.rank() == 2 => {
            let path = folder.path().join(format!("{}.csv", only.name));
            let rows: Vec<String> =
                only.array.data.chunks(only.axes.columns).map(|row| typed(row, digits)).collect();
            fs::write(&path, rows.join("\n")).unwrap();
            path
        }
        (Grain::Decimals(digits), _) => {
            let path = folder.path().join("mine.json");
            let members: Vec<String> = sheets
                .iter()
                .map(|sheet| {
                    format!("\"{}\": {}", sheet.name, nested(&sheet.array.shape, &sheet.array.data, digits))
                })
                .collect();
            fs::write(&path, format!("{{{}}}", members.join(", "))).unwrap();
            path
        }
        _ => {
            let path = folder.path().join("mine.npz");
            let members = sheets.iter().map(|sheet| (sheet.name.to_string(), sheet.array.clone()));
            npz::write(File::create(&path).unwrap(), members).unwrap();
            path
        }
    };
    answers::read(&[path], &[], known).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Numbers with so many decimals; what is none is written as Python writes it.
fn typed(row: &[f64], digits: u8) -> String {
    let number = |cell: &f64| match *cell {
        cell if cell.is_nan() => "NaN".to_owned(),
        cell if cell.is_infinite() => if cell > 0.0 { "Infinity" } else { "-Infinity" }.to_owned(),
        cell => format!("{cell:.*}", usize::from(digits)),
    };
    row.iter().map(number).collect::<Vec<_>>().join(", ")
}

fn nested(shape: &[usize], data: &[f64], digits: u8) -> String {
    match shape {
        [_] | [] => format!("[{}]", typed(data, digits)),
        [count, inner @ ..] => {
            let parts = data.chunks(data.len() / count).map(|part| nested(inner, part, digits));
            format!("[{}]", parts.collect::<Vec<_>>().join(", "))
        }
    }
}

/// How far numbers may lie apart that are the same but for one rounding, and what single precision loses on the way:
/// as in `tests/reference/check/README.md`, in parts of the largest number that should be there. A tensor made of
/// halves (one mistake computes in half precision) is told no more finely than that.
pub(crate) fn tolerance(grain: Grain, theirs: &Sheet, right: &Sheet) -> f64 {
    let numbers = right.array.data.iter().filter(|number| number.is_finite());
    let largest = numbers.fold(0.0_f64, |largest, number| largest.max(number.abs()));
    let halves =
        theirs.array.data.iter().all(|number| number.is_nan() || Grain::Half.round(*number) == *number);
    match grain {
        Grain::Double | Grain::Single if halves => 1.5e-3 * largest,
        Grain::Double => 1e-8 * largest,
        Grain::Single => 2e-5 * largest,
        Grain::Half => 1.5e-3 * largest,
        Grain::Brain => 1.2e-2 * largest,
        Grain::Decimals(_) | Grain::Significant(_) => 2.0 * grain.unit(largest) + 2e-6 * largest,
    }
}

/// The largest difference between two tensors; infinite where their shapes differ, or a number stands against none.
pub(crate) fn apart(theirs: &Sheet, ours: &Sheet) -> f64 {
    if theirs.array.shape != ours.array.shape {
        return f64::INFINITY;
    }
    theirs.array.data.iter().zip(&ours.array.data).map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max)
}

/// The same in the layout that fits best: what was handed over in another order of axes is right.
pub(crate) fn apart_in_any_layout(theirs: &Sheet, ours: &Sheet) -> f64 {
    let matrices = |sheet: &Sheet| readings(&sheet.array, &ours.axes);
    let [plain, ..] = &matrices(ours)[..] else { return f64::INFINITY };
    let distances = matrices(theirs).into_iter().map(|reading| {
        let pairs = reading.sheets.iter().zip(&plain.sheets);
        pairs.flat_map(|(a, b)| a.iter().zip(b.iter())).map(|(a, b)| distance(*a, *b)).fold(0.0, f64::max)
    });
    distances.fold(f64::INFINITY, f64::min)
}

/// The same as it stands, if its shape lets it be read so.
pub(crate) fn apart_as_it_stands(theirs: &Sheet, ours: &Sheet) -> f64 {
    let apart = if theirs.array.shape == ours.array.shape { apart } else { apart_in_any_layout };
    apart(theirs, ours)
}

fn distance(a: f64, b: f64) -> f64 {
    if a == b || (a.is_nan() && b.is_nan()) {
        return 0.0;
    }
    let distance = (a - b).abs();
    if distance.is_nan() { f64::INFINITY } else { distance }
}
