//! Which slips give the numbers that a person has: every one is computed, and must give all tensors of its layer.

use std::collections::HashMap;
use std::sync::Arc;

use nalgebra::DMatrix;

use super::around::{Around, Variant};
use super::{Case, Told, is_of_attention, is_of_the_start, slips, whole};
use crate::fault::Outcome;
use crate::mistakes::bench::{self, Own};
use crate::mistakes::fit::Fit;
use crate::mistakes::{Mistake, catalogue};
use crate::plan::{Call, Name, Plan, StepId, attention};

/// What gives a person's numbers.
#[derive(Debug, Clone)]
pub enum Slip {
    /// A slip around attention, and what is particular about it.
    Around(&'static Around, String),
    /// A mistake in the attention of the layer, none of whose steps was given.
    Attention(&'static Mistake),
}

impl Slip {
    /// Its name, as JSON has it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Around(around, _) => around.name,
            Self::Attention(mistake) => mistake.name,
        }
    }
}

/// A layer, or what comes before all layers, as a problem of its own.
pub(super) struct Part {
    pub(super) call: Call,
    pub(super) plan: Plan,
}

impl Part {
    /// `None` where it makes no plan.
    pub(super) fn of(case: &Case<'_>, layer: Option<usize>) -> Outcome<Option<Self>> {
        let stream = layer.and_then(|layer| case.stream(layer)).map(Arc::new);
        let call = case.whole.part(layer, stream)?;
        Ok(attention::plan(&call).ok().map(|plan| Self { call, plan }))
    }

    /// What the layer's attention reads: the person's own where it was given and is right.
    pub(super) fn x(&self, case: &Case<'_>, layer: usize) -> Option<DMatrix<f64>> {
        let own = case.judged.iter().find(|judged| {
            judged.layer() == Some(layer) && judged.exhibit.tensor().name == Name::X && judged.is_right()
        });
        let own = own.and_then(own_numbers);
        own.or_else(|| {
            let mut bench = bench::Bench::new(&self.call.inputs, case.whole.arithmetic());
            let id = StepId::from(Name::X).in_layer(Some(layer));
            let value = bench.run(&self.plan, &Own::new(), &[id])?;
            Some(bench.get(*value.first()?).clone())
        })
    }
}

/// The numbers of a tensor that is one matrix.
fn own_numbers(judged: &Told<'_>) -> Option<DMatrix<f64>> {
    let [sheet] = judged.best.as_ref()?.reading.sheets.as_slice() else { return None };
    (judged.exhibit.expected.sheets.is_none() && sheet.iter().all(|number| number.is_finite()))
        .then(|| sheet.clone())
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Slips {
    /// The slips that give these numbers; several cannot be told apart.
    pub found: Vec<Slip>,
    /// Whether they give all that was given in the layer from the first wrong step on, or that step alone.
    pub give_all: bool,
    /// How many were tried.
    pub tried: usize,
}

/// The slips that give the first wrong step and all that was given after it in its layer; where there are none, those that
/// give this step.
pub(super) fn slips(case: &Case<'_>, first: usize) -> Outcome<Slips> {
    let wrong = &case.judged[first];
    let name = wrong.exhibit.tensor().name;
    let layer = match name {
        Name::Final => case.whole.num_layers().checked_sub(1),
        name if is_of_the_start(name) => None,
        _ => wrong.layer(),
    };
    let Some(part) = Part::of(case, layer)? else { return Ok(Slips::default()) };
    let mut search = Search::new(case, first, &part);
    for around in slips::ALL {
        for variant in (around.variants)(&part) {
            let slip = Slip::Around(around, variant.detail.clone());
            search.try_variant(slip, variant);
        }
    }
    let has_attention = case
        .judged
        .iter()
        .any(|judged| judged.layer() == layer && is_of_attention(judged.exhibit.tensor().name));
    if let Some(layer) = layer.filter(|_| !has_attention) {
        search.mistakes_of_attention(layer);
    }
    let (all, one) = (best(search.found), best(search.first_only));
    let give_all = !all.is_empty();
    Ok(Slips { found: if give_all { all } else { one }, give_all, tried: search.tried })
}

struct Search<'a> {
    case: &'a Case<'a>,
    part: &'a Part,
    /// What must come out.
    targets: Vec<&'a Told<'a>>,
    bench: bench::Bench<'a>,
    /// The person's own steps before the first wrong one, which are right.
    own: Own,
    /// What gives all of it.
    found: Vec<(Slip, Fit)>,
    /// What gives the first of it.
    first_only: Vec<(Slip, Fit)>,
    tried: usize,
}

/// More numbers than this in the scores of a layer, and mistakes inside its attention are not looked for from outside.
const MOST_SCORES: usize = 1 << 20;

impl<'a> Search<'a> {
    fn new(case: &'a Case<'a>, first: usize, part: &'a Part) -> Self {
        let mut bench = bench::Bench::new(&part.call.inputs, case.whole.arithmetic());
        let is_here = |judged: &&Told<'_>| {
            let ids = &judged.exhibit.ids;
            ids.iter().all(|id| part.plan.get(*id).is_some_and(|step| !step.inputs.is_empty()))
        };
        let targets = case.judged[first..].iter().filter(is_here).collect();
        let before: Vec<(StepId, DMatrix<f64>)> = case.judged[..first]
            .iter()
            .filter(is_here)
            .filter_map(|judged| Some((*judged.exhibit.ids.first()?, own_numbers(judged)?)))
            .collect();
        let own = before.into_iter().map(|(id, numbers)| (id, bench.keep(numbers))).collect();
        Self { case, part, targets, bench, own, found: Vec::new(), first_only: Vec::new(), tried: 0 }
    }

    fn try_variant(&mut self, slip: Slip, variant: Variant) {
        self.tried += 1;
        let mark = self.bench.mark();
        let mut own = self.own.clone();
        for (id, numbers) in variant.inputs {
            let value = self.bench.keep(numbers);
            own.insert(id, value);
        }
        match self.fits(&variant.plan, &own, &variant.unknown).as_slice() {
            [] => {}
            [first, ..] if first.beyond => {}
            all => {
                let whole = all.iter().fold(Fit::PERFECT, |whole, fit| whole.and(*fit));
                let is_whole = all.len() == self.targets.len() && !whole.beyond;
                match is_whole {
                    true => self.found.push((slip, whole)),
                    false => self.first_only.push((slip, all[0])),
                }
            }
        }
        self.bench.release(mark);
    }

    /// How well a plan gives what must come out, as far as it has these steps.
    fn fits(&mut self, plan: &Plan, own: &Own, unknown: &[usize]) -> Vec<Fit> {
        let mut fits = Vec::new();
        for told in &self.targets {
            let Some(values) = self.bench.run(plan, own, &told.exhibit.ids) else { break };
            let values: Vec<&DMatrix<f64>> = values.iter().map(|value| self.bench.get(*value)).collect();
            let Some(fit) = told.fits(&values, unknown) else { break };
            fits.push(fit);
            if fit.beyond {
                break;
            }
        }
        fits
    }

    /// Mistakes of the catalogue in the layer's attention, seen in what comes after it.
    fn mistakes_of_attention(&mut self, layer: usize) {
        let output = StepId::from(Name::Output).in_layer(Some(layer));
        let Some(x) = self.part.x(self.case, layer) else { return };
        let call = whole::alone(&self.part.call, layer, x);
        let Ok(right) = attention::plan(&call) else { return };
        let scores = call.attention.num_heads * right.get(Name::Q.into()).map_or(0, |q| q.shape.0.pow(2));
        let Some(shape) = self.part.plan.get(output).map(|step| step.shape) else { return };
        if scores > MOST_SCORES {
            return;
        }
        let mut inner = bench::Bench::new(&call.inputs, self.case.whole.arithmetic());
        for mistake in catalogue::all() {
            for form in mistake.forms.iter().filter(|form| !form.reads_off) {
                let Some(wrong) = form.apply(&call, &right) else { continue };
                let mark = inner.mark();
                let value = inner.run(&wrong.plan, &HashMap::new(), &[Name::Output.into()]);
                let numbers = value.and_then(|value| Some(inner.get(*value.first()?).clone()));
                inner.release(mark);
                let Some(numbers) = numbers.filter(|numbers| numbers.shape() == shape) else { continue };
                let variant =
                    Variant { inputs: vec![(output, numbers)], ..Variant::new(self.part.plan.clone(), "") };
                self.try_variant(Slip::Attention(mistake), variant);
            }
        }
    }
}

/// What fits: where something fits strictly, only that; each name once, in the form that fits best.
fn best(mut found: Vec<(Slip, Fit)>) -> Vec<Slip> {
    if found.iter().any(|(_, fit)| fit.is_strict()) {
        found.retain(|(_, fit)| fit.is_strict());
    }
    found.sort_by(|(_, a), (_, b)| a.worst.total_cmp(&b.worst));
    let mut best: Vec<Slip> = Vec::new();
    for (slip, _) in found {
        if best.iter().all(|known| known.name() != slip.name()) {
            best.push(slip);
        }
    }
    best
}
