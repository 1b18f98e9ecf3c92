//! A person's tensors of a whole stack of layers: the first wrong step across all of them, and what explains it.
//!
//! Every tensor stands beside the stack's own run, in the order of the computation; `judge.rs` says how far it may be off. The
//! first wrong one decides. If it lies in the attention of a layer, that layer is taken alone, with what it was given, and
//! goes through the diagnosis of a single call; around it the slips of `around.rs` are tried. Nothing is named that does not
//! give the numbers that there are.

mod around;
mod judge;
mod search;
mod slips;
mod whole;

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};

use nalgebra::DMatrix;

use super::diagnose::{Checked, Diagnosis, Status, diagnose};
use super::difference::Difference;
use super::fit::{Fit, Tolerance};
use crate::answers::{Answers, Grain, Layered, ORDER, Placed};
use crate::fault::Outcome;
use crate::plan::{Attention, EmbedStep, Name, Stack, StepId, attention};
pub use around::Around;
use judge::{Exhibit, Judged};
pub use search::{Slip, Slips};
pub use whole::Whole;

/// What was found out about a person's tensors of a stack.
#[derive(Debug, Clone)]
pub struct StackDiagnosis {
    /// Each tensor, in the order of the computation, with its layer (from 0).
    pub steps: Vec<(Option<usize>, Checked)>,
    /// The first of them that is wrong.
    pub first_wrong: Option<usize>,
    /// What kind of difference it shows.
    pub difference: Option<Difference>,
    /// The layer's attention alone, where the first wrong step lies in it.
    pub attention: Option<Box<Diagnosis>>,
    /// What around the attention gives these numbers.
    pub slips: Slips,
    /// Steps of the same layer from which the first wrong one is made, and that were not given; in the order of the
    /// computation.
    pub missing: Vec<Name>,
}

/// The place of a step in the order of the computation.
fn rank(layer: Option<usize>, name: Name) -> (usize, usize, Name) {
    let group = match (layer, name) {
        (_, Name::Final) => usize::MAX,
        (None, _) => 0,
        (Some(layer), _) => layer + 1,
    };
    let place = match name {
        Name::X => 0,
        Name::Embedding => ORDER.len() + 2, // after its parts
        name => ORDER.iter().position(|known| *known == name).map_or(ORDER.len() + 1, |place| place + 1),
    };
    (group, place, name)
}

/// Whether a step is one of those that a lesson on a single call has.
fn is_of_attention(name: Name) -> bool {
    ORDER.contains(&name)
}

/// Finds out what is wrong with a person's tensors of a stack, if anything is.
///
/// # Errors
/// The stack cannot be run.
pub fn diagnose_layers(whole: &Whole<'_>, answers: &Layered) -> Outcome<StackDiagnosis> {
    let mut case = Case::new(whole, answers)?;
    case.compare()?;
    let first = case.judged.iter().position(|judged| matches!(judged.status, Status::Wrong | Status::Shape));
    let steps = case.judged.iter().map(|judged| (judged.layer(), judged.checked())).collect();
    let mut found = StackDiagnosis {
        steps,
        first_wrong: first,
        difference: None,
        attention: None,
        slips: Slips::default(),
        missing: Vec::new(),
    };
    let Some(first) = first else { return Ok(found) };
    let wrong = &case.judged[first];
    found.missing = case.missing(wrong);
    let attention = case.attention(wrong.layer());
    found.difference = match (&wrong.best, wrong.status) {
        (Some(best), Status::Wrong) => {
            Some(wrong.exhibit.difference(&best.reading, wrong.tolerance, attention))
        }
        _ => None,
    };
    if wrong.status == Status::Shape {
        return Ok(found);
    }
    let name = wrong.exhibit.tensor().name;
    if let Some(layer) = wrong.layer().filter(|_| is_of_attention(name)) {
        found.attention = case.diagnosed_alone(layer)?.map(Box::new);
    }
    let is_explained = found
        .attention
        .as_ref()
        .is_some_and(|diagnosis| !diagnosis.explanations.is_empty() || diagnosis.partly.is_some());
    if !is_explained {
        found.slips = search::slips(&case, first)?;
    }
    Ok(found)
}

/// The tensors beside the stack.
struct Case<'a> {
    whole: &'a Whole<'a>,
    judged: Vec<Told<'a>>,
    trace: crate::trace::Trace<f64>,
}

/// One tensor, judged.
struct Told<'a> {
    exhibit: Exhibit<'a>,
    status: Status,
    /// How far it may be off.
    allowed: Tolerance,
    /// Which of the two was asked of it last.
    tolerance: f64,
    best: Option<Judged>,
    scaled: bool,
}

impl Told<'_> {
    fn layer(&self) -> Option<usize> {
        self.exhibit.placed.layer
    }

    fn is_right(&self) -> bool {
        matches!(self.status, Status::Right | Status::Rounding)
    }

    /// How well other numbers give it; rows of which nothing is known are left out.
    fn fits(&self, values: &[&DMatrix<f64>], unknown: &[usize]) -> Option<Fit> {
        let sheets = &self.best.as_ref()?.reading.sheets;
        let mut values: Vec<DMatrix<f64>> = values.iter().map(|value| (*value).clone()).collect();
        for (value, theirs) in values.iter_mut().zip(sheets).filter(|(a, b)| a.shape() == b.shape()) {
            for row in unknown {
                value.set_row(*row, &theirs.row(*row));
            }
        }
        Some(self.exhibit.fits(sheets, &values, self.allowed))
    }

    fn checked(&self) -> Checked {
        let tensor = self.exhibit.tensor();
        let expected = self.exhibit.expected;
        let shape = expected.sheets.into_iter().chain([expected.rows, expected.columns]).collect();
        let measured = self.best.as_ref().filter(|_| !self.scaled);
        Checked {
            name: tensor.name,
            called: tensor.called.clone(),
            status: self.status,
            grain: self.exhibit.grain,
            tolerance: self.tolerance,
            shape: tensor.array.shape.clone(),
            expected: shape,
            one_head: None,
            how: self.best.as_ref().map(|best| best.reading.how.clone()).unwrap_or_default(),
            scaled: self.scaled,
            measured: measured.map(|best| self.exhibit.measured(&best.reading, self.tolerance)),
        }
    }
}

impl<'a> Case<'a> {
    fn new(whole: &'a Whole<'a>, answers: &'a Layered) -> Outcome<Self> {
        let mut given: Vec<&Placed> = answers.tensors.iter().collect();
        given.sort_by_key(|placed| rank(placed.layer, placed.tensor.name));
        let mut keep: HashSet<StepId> = HashSet::from([Name::Embedding.into()]);
        let mut found = Vec::new();
        for placed in given {
            let (layer, name) = (placed.layer, placed.tensor.name);
            let Some((expected, ids)) = whole.sheets(layer, name) else { continue };
            let masked = match name {
                Name::Stack(Stack::Scores | Stack::CappedScores | Stack::BiasedScores) => {
                    whole.sheets(layer, Name::Stack(Stack::MaskedScores)).map(|(_, ids)| ids)
                }
                _ => None,
            };
            let masked = masked.unwrap_or_default();
            keep.extend(ids.iter().chain(&masked));
            found.push((placed, (expected, ids), masked));
        }
        // What each layer is given, for whichever is looked at alone.
        let hidden = |layer: usize| StepId::from(Name::Hidden).in_layer(Some(layer));
        keep.extend((0..whole.num_layers()).map(hidden));
        keep.retain(|id| whole.plan.get(*id).is_some());
        let trace = whole.run(keep)?;
        let judged = found
            .into_iter()
            .filter_map(|(placed, sheets, masked)| Exhibit::new(placed, sheets, &masked, &trace))
            .map(|exhibit| {
                let allowed = exhibit.tolerance(exhibit.grain, 0.0);
                let tolerance = allowed.strict;
                Told { exhibit, status: Status::Shape, allowed, tolerance, best: None, scaled: false }
            })
            .collect();
        Ok(Self { whole, judged, trace })
    }

    /// The attention of a layer; of what stands outside that of the first.
    fn attention(&self, layer: Option<usize>) -> &'a Attention {
        let of_layer = layer.and_then(|layer| self.whole.call.layers.as_ref()?.layers.get(layer));
        of_layer.map_or(&self.whole.call.attention, |layer| &layer.attention)
    }

    /// Judges every tensor: at first as if only the result were rounded, then with what rounding every step takes away.
    fn compare(&mut self) -> Outcome<()> {
        let mut noise: HashMap<Grain, HashMap<StepId, f64>> = HashMap::new();
        let mut coarsest = Grain::Double;
        for at in 0..self.judged.len() {
            let attention = self.attention(self.judged[at].layer());
            let exhibit = &self.judged[at].exhibit;
            let grain = exhibit.grain;
            coarsest = coarser(coarsest, grain);
            let mut allowed = self.judged[at].allowed;
            let mut best = exhibit.judge(allowed, attention);
            let (mut status, mut tolerance, mut scaled) = (Status::Right, allowed.strict, false);
            match &best {
                None => status = Status::Shape,
                Some(judged) if judged.fit.is_strict() => {}
                Some(_) => {
                    let chain = coarser(coarsest, grain);
                    let noise = match noise.entry(chain) {
                        Entry::Occupied(known) => known.into_mut(),
                        Entry::Vacant(unknown) => unknown.insert(self.whole.noise(chain, &self.trace)?),
                    };
                    let lost = exhibit.lost(noise);
                    allowed = exhibit.tolerance(grain, lost);
                    tolerance = allowed.loose;
                    best = exhibit.judge(allowed, attention);
                    status = match &best {
                        Some(judged) if !judged.fit.beyond => Status::Rounding,
                        _ => Status::Wrong,
                    };
                    if status == Status::Wrong
                        && let Some(judged) = exhibit.judge_scaled(allowed, attention)
                    {
                        (best, status, scaled) = (Some(judged), Status::Right, true);
                    }
                }
            }
            let told = &mut self.judged[at];
            (told.best, told.status, told.scaled) = (best, status, scaled);
            (told.allowed, told.tolerance) = (allowed, tolerance);
        }
        Ok(())
    }

    /// What a wrong step is made from in its layer, and what was not given of it.
    fn missing(&self, wrong: &Told<'_>) -> Vec<Name> {
        let layer = wrong.layer();
        let mut made_from: HashSet<StepId> = HashSet::new();
        let mut open: Vec<StepId> = wrong.exhibit.ids.clone();
        while let Some(step) = open.pop().and_then(|id| self.whole.plan.get(id)) {
            let own = step.inputs.iter().filter(|id| id.layer == layer);
            open.extend(own.filter(|id| made_from.insert(**id)));
        }
        let known = self.whole.known();
        let names = layer.map_or(&known.outside, |layer| &known.layers[layer]);
        let is_given = |name: Name| {
            let is_it = |judged: &Told<'_>| judged.layer() == layer && judged.exhibit.tensor().name == name;
            self.judged.iter().any(is_it)
        };
        let is_meant = |name: &Name| {
            let sheets = self.whole.sheets(layer, *name);
            sheets.is_some_and(|(_, ids)| ids.iter().any(|id| made_from.contains(id))) && !is_given(*name)
        };
        let mut missing: Vec<Name> = names.iter().copied().filter(is_meant).collect();
        missing.sort_by_key(|name| rank(layer, *name));
        missing
    }

    /// What a layer is given: the person's own where it was given and is right, else ours.
    fn stream(&self, layer: usize) -> Option<DMatrix<f64>> {
        let (before, name) = match layer.checked_sub(1) {
            None => (None, Name::Embedding),
            Some(before) => (Some(before), Name::Hidden),
        };
        let theirs = self.judged.iter().find(|judged| {
            judged.layer() == before && judged.exhibit.tensor().name == name && judged.is_right()
        });
        let theirs = theirs.and_then(|judged| judged.best.as_ref()?.reading.sheets.first().cloned());
        let ours = || Some(self.trace.get(StepId::from(name).in_layer(before))?.into_owned());
        theirs.filter(|sheet| sheet.iter().all(|number| number.is_finite())).or_else(ours)
    }

    /// The attention of a layer by itself, with the person's tensors of that layer.
    fn diagnosed_alone(&self, layer: usize) -> Outcome<Option<Diagnosis>> {
        let Some(part) = search::Part::of(self, Some(layer))? else { return Ok(None) };
        let Some(x) = part.x(self, layer) else { return Ok(None) };
        let call = whole::alone(&part.call, layer, x);
        let Ok(plan) = attention::plan(&call) else { return Ok(None) };
        let own = self
            .judged
            .iter()
            .filter(|judged| judged.layer() == Some(layer) && is_of_attention(judged.exhibit.tensor().name));
        let tensors = own.map(|judged| judged.exhibit.tensor().clone()).collect();
        let answers = Answers { tensors, ..Answers::default() };
        Ok(Some(diagnose(&call, &plan, &answers)))
    }
}

/// The coarser of two precisions in which programs compute; decimals that somebody typed say nothing of those.
fn coarser(one: Grain, other: Grain) -> Grain {
    let place = |grain: Grain| match grain {
        Grain::Decimals(_) | Grain::Significant(_) | Grain::Double => 0,
        Grain::Single => 1,
        Grain::Half => 2,
        Grain::Brain => 3,
    };
    if place(one) > place(other) { one } else { other }
}

/// Whether a step is a part of what the layers start from.
fn is_of_the_start(name: Name) -> bool {
    matches!(name, Name::Embedding | Name::Embed(EmbedStep::Tokens | EmbedStep::Positions))
        || matches!(name, Name::Embed(EmbedStep::Segments | EmbedStep::Sum | EmbedStep::Scaled))
}
