//! From a person's tensors to a verdict: the first wrong step, and the known mistakes that give exactly these numbers.
//!
//! Every form of every mistake is tried: its wrong plan is run as far as the tensors ask for, and must give all of
//! them. If none does, two at once are tried. What nothing known gives is never named.

use nalgebra::DMatrix;

use super::Seen;
use super::bench::{Own, Value};
use super::court::{Court, Judged, Leniency, order};
use super::difference::{self, Difference, Pair};
use super::fit::{self, Fit};
use super::search::{Hypothesis, Search};
pub use super::verdict::{After, At, Checked, Diagnosis, Explanation, Measured, Partly, Status, Tried};
use crate::answers::{Answers, Expected, Layout};
use crate::arrays::is_blank;
use crate::plan::{Call, Name, Plan, Stack};

/// How many tolerances off a tensor must be so that a mistake is believed where rounding every step would explain it,
/// too.
const BEYOND_DOUBT: f64 = 4.0;

/// Finds out what is wrong with a person's tensors, if anything is.
pub fn diagnose(call: &Call, right: &Plan, answers: &Answers) -> Diagnosis {
    let mut court = Court::new(call, right, &answers.tensors);
    let base = base(&mut court);
    let all = base.iter().fold(Fit::PERFECT, |fit, judged| fit.and(judged.best.fit));
    let seen = seen(&mut court);
    if all.is_strict() {
        let otherwise = as_they_stand(&mut court, right, seen.as_ref(), &base);
        return Diagnosis { otherwise, ..Diagnosis::right(&mut court, &base) };
    }
    let fits = base.iter().map(|base| base.best.fit).collect();
    let strained = base.iter().map(Base::is_strained).collect();
    let mut search = Search::new(&mut court, right, seen.as_ref(), fits).straining(strained);
    search.singles();
    let strict = search.explanations(true);
    let doubtful = !all.beyond && all.worst < BEYOND_DOUBT;
    if !all.beyond && (strict.is_empty() || doubtful) {
        return Diagnosis::right(&mut court, &base);
    }
    let mut found = strict;
    if found.is_empty() {
        found = search.explanations(false);
    }
    if found.is_empty() && is_enough(answers) {
        search.pairs();
        found = search.explanations(true);
        if found.is_empty() {
            found = search.explanations(false);
        }
    }
    let (tried, partly) = (search.tried, search.partly());
    Diagnosis::wrong(&mut court, right, seen.as_ref(), &base, found, partly, tried)
}

/// A tensor beside the right one.
pub(super) struct Base {
    /// As it stands.
    plain: Judged,
    /// In the layout that fits best.
    best: Judged,
    /// Whether it is right once queries are taken as scaled already.
    scaled: bool,
}

/// What gives tensors that are right only in another layout than their shape says, if they are taken as they stand.
fn as_they_stand(
    court: &mut Court<'_>,
    right: &Plan,
    seen: Option<&Seen>,
    base: &[Base],
) -> Vec<Explanation> {
    if !base.iter().any(Base::is_strained) {
        return Vec::new();
    }
    let mut search = Search::new(court, right, seen, base.iter().map(|base| base.plain.fit).collect());
    search.singles();
    search.explanations(true).into_iter().map(Hypothesis::explanation).collect()
}

impl Base {
    /// Whether its shape is right and its numbers are so only in another layout.
    fn is_strained(&self) -> bool {
        self.plain.has_shape && self.plain.fit.beyond && !self.best.fit.beyond
    }
}

fn base(court: &mut Court<'_>) -> Vec<Base> {
    let right = court.right.clone();
    (0..court.exhibits.len())
        .map(|exhibit| {
            let plain = court.judge(exhibit, &right, &Own::new(), Leniency::Plain);
            let mut best = match plain.fit.is_strict() {
                true => plain.clone(),
                false => court.judge(exhibit, &right, &Own::new(), Leniency::AnyLayout),
            };
            let mut scaled = false;
            if !best.fit.is_strict()
                && let Some(judged) = court.judge_scaled(exhibit, &right)
            {
                (best, scaled) = (judged, true);
            }
            Base { plain, best, scaled }
        })
        .collect()
}

/// Attention weights as the person has them, beside the right ones.
fn seen(court: &mut Court<'_>) -> Option<Seen> {
    let weights = Name::Stack(Stack::Weights);
    let exhibit = court.exhibits.iter().position(|exhibit| exhibit.tensor.name == weights)?;
    let right = court.right.clone();
    let (expected, _) = Court::expected(&right, weights)?;
    let values = court.values(&right, &Own::new(), weights)?;
    let mut theirs = court.plainest(exhibit, expected)?.sheets.clone();
    let right: Vec<_> = values.into_iter().map(|value| court.bench.get(value).clone()).collect();
    fill_in(&mut theirs, &right);
    Some(Seen { theirs, right })
}

/// Of a sheet that is partly blank, so many numbers are asked for before two mistakes at once are looked for: some pair of
/// them gives almost any few numbers.
const ENOUGH: usize = 8;

fn is_enough(answers: &Answers) -> bool {
    let numbers = || answers.tensors.iter().flat_map(|tensor| tensor.array.data.iter());
    let given = numbers().filter(|number| !is_blank(**number)).count();
    given == numbers().count() || given >= ENOUGH
}

/// Takes what is left blank from the right numbers: it is no difference.
fn fill_in(theirs: &mut [DMatrix<f64>], ours: &[DMatrix<f64>]) {
    for (theirs, ours) in theirs.iter_mut().zip(ours) {
        fit::filled_in(theirs, ours);
    }
}

impl Diagnosis {
    fn right(court: &mut Court<'_>, base: &[Base]) -> Self {
        let steps = (0..base.len())
            .map(|exhibit| {
                let status =
                    if base[exhibit].best.fit.is_strict() { Status::Right } else { Status::Rounding };
                checked(court, exhibit, &base[exhibit].best, base[exhibit].scaled, status)
            })
            .collect();
        Self {
            steps,
            first_wrong: None,
            difference: None,
            explanations: Vec::new(),
            otherwise: Vec::new(),
            partly: None,
            after: None,
            telling: None,
            tried: Tried::default(),
        }
    }

    fn wrong(
        court: &mut Court<'_>,
        right: &Plan,
        seen: Option<&Seen>,
        base: &[Base],
        found: Vec<Hypothesis>,
        partly: Option<(Vec<Hypothesis>, usize)>,
        tried: Tried,
    ) -> Self {
        let from =
            found.iter().chain(partly.iter().flat_map(|(partly, _)| partly)).map(Hypothesis::first).min();
        let mut steps: Vec<Checked> = Vec::with_capacity(base.len());
        for (exhibit, base) in base.iter().enumerate() {
            // From the mistake on tensors are taken as they stand; before it, in whatever layout is right.
            let named = from.is_some_and(|from| court.exhibits[exhibit].order >= from);
            let before = from.is_some() && !named;
            let explained = named && (base.plain.has_shape || shape_is_explained(court, exhibit, &found));
            let judged = match (explained, base.plain.has_shape, from) {
                (true, ..) => &base.plain,
                (false, true, None) if !base.scaled => &base.plain,
                _ => &base.best,
            };
            let status = match () {
                () if !judged.has_shape && explained => Status::Shape,
                () if !judged.has_shape && judged.how.is_empty() => Status::Shape,
                () if judged.fit.is_strict() => Status::Right,
                // Before what explains the rest, rounding every step is reason enough.
                () if !judged.fit.beyond && (before || judged.fit.worst < BEYOND_DOUBT) => Status::Rounding,
                () => Status::Wrong,
            };
            let scaled = base.scaled && *judged == base.best;
            steps.push(checked(court, exhibit, judged, scaled, status));
        }
        let first_wrong = steps
            .iter()
            .position(|step| matches!(step.status, Status::Wrong | Status::Shape))
            .or_else(|| steps.iter().position(|step| step.status == Status::Rounding));
        if let Some(first) = first_wrong {
            steps[first].status = match steps[first].status {
                Status::Rounding => Status::Wrong,
                other => other,
            };
        }
        let telling = if found.len() > 1 { telling(court, &found) } else { None };
        let difference = first_wrong.and_then(|first| {
            let judged = if steps[first].how == base[first].plain.how {
                &base[first].plain
            } else {
                &base[first].best
            };
            difference(court, first, &judged.how)
        });
        let after = match (found.is_empty(), &partly, first_wrong) {
            (true, None, Some(first)) => after(court, right, seen, first),
            _ => None,
        };
        Self {
            steps,
            first_wrong,
            difference,
            otherwise: Vec::new(),
            explanations: found.into_iter().map(Hypothesis::explanation).collect(),
            partly: partly.map(|(explanations, wrong_from)| Partly {
                explanations: explanations.into_iter().map(Hypothesis::explanation).collect(),
                wrong_from,
            }),
            after,
            telling,
            tried,
        }
    }
}

/// Whether a tensor's own shape, which is not the right one, is the shape that a mistake gives it.
fn shape_is_explained(court: &mut Court<'_>, exhibit: usize, found: &[Hypothesis]) -> bool {
    found.iter().any(|hypothesis| {
        let judged = court.judge(exhibit, &hypothesis.wrong, &Own::new(), Leniency::Plain);
        judged.has_shape && !judged.fit.beyond
    })
}

fn checked(court: &mut Court<'_>, exhibit: usize, judged: &Judged, scaled: bool, status: Status) -> Checked {
    let right = court.right.clone();
    let tensor = court.exhibits[exhibit].tensor;
    let expected = Court::expected(&right, tensor.name).map(|(expected, _)| expected);
    let shape = |expected: Expected| {
        let leading = expected.batch.into_iter().chain(expected.sheets);
        leading.chain([expected.rows, expected.columns]).collect()
    };
    let values = court.values(&right, &Own::new(), tensor.name).unwrap_or_default();
    let tolerance = match status {
        Status::Rounding => court.tolerance(exhibit, &values).loose,
        _ => court.strictly(exhibit, &values),
    };
    let measured =
        expected.and_then(|expected| court.measure(exhibit, expected, &values, &judged.how, scaled));
    Checked {
        name: tensor.name,
        called: tensor.called.clone(),
        status,
        grain: tensor.grain,
        tolerance,
        shape: tensor.array.shape.clone(),
        expected: expected.map(shape).unwrap_or_default(),
        one_head: match expected {
            Some(Expected { batch: None, sheets: Some(2..), .. }) if status == Status::Shape => {
                one_head(court, exhibit, &values)
            }
            _ => None,
        },
        how: judged.how.clone(),
        scaled,
        measured: measured.filter(|_| status != Status::Shape),
    }
}

/// The head whose right numbers a tensor holds, in a step of one sequence that has a matrix a head; `None` where it is none of
/// them, or has another shape than one of them.
fn one_head(court: &mut Court<'_>, exhibit: usize, values: &[Value]) -> Option<usize> {
    let tolerance = court.strictly(exhibit, values);
    let array = &court.exhibits[exhibit].tensor.array;
    let sizes: Vec<usize> = array.shape.iter().copied().filter(|size| *size != 1).collect();
    let is_it = |value: &Value| {
        let value = court.bench.get(*value);
        let (rows, columns) = value.shape();
        let own = [rows, columns].into_iter().filter(|size| *size != 1);
        own.eq(sizes.iter().copied())
            && array.data.iter().enumerate().all(|(at, theirs)| {
                let ours = value[(at / columns, at % columns)];
                *theirs == ours || (theirs - ours).abs() <= tolerance
            })
    };
    values.iter().position(is_it)
}

/// What kind of difference a tensor shows, read in a certain way.
fn difference(court: &mut Court<'_>, exhibit: usize, how: &[Layout]) -> Option<Difference> {
    let right = court.right.clone();
    let name = court.exhibits[exhibit].tensor.name;
    let (expected, _) = Court::expected(&right, name)?;
    let values = court.values(&right, &Own::new(), name)?;
    let tolerance = court.strictly(exhibit, &values);
    let mut theirs = court.reading(exhibit, expected, how)?.0.sheets.clone();
    let ours: Vec<_> = values.iter().map(|value| court.bench.get(*value).clone()).collect();
    fill_in(&mut theirs, &ours);
    if matches!(name, Name::Stack(Stack::BiasedScores | Stack::MaskedScores)) {
        // A large negative number hides as well as −∞: no difference.
        let seen = fit::Seen::of(name, ours.iter());
        for (theirs, ours) in theirs.iter_mut().zip(&ours) {
            theirs.zip_apply(ours, |theirs, ours| {
                if seen.both_hide(*theirs, ours) {
                    *theirs = ours;
                }
            });
        }
    }
    let attention = &court.call.attention;
    Some(difference::compare(&Pair {
        name,
        theirs: &theirs,
        ours: &ours,
        tolerance: &|_| tolerance,
        sheets: expected.sheets,
        d_k: Some(attention.d_k),
        d_model: Some(attention.d_model),
        num_heads: Some(attention.num_heads),
    }))
}

/// The first step in the order of the computation that was not given and differs between all explanations.
fn telling(court: &mut Court<'_>, found: &[Hypothesis]) -> Option<Name> {
    let given: Vec<Name> = court.exhibits.iter().map(|exhibit| exhibit.tensor.name).collect();
    crate::answers::ORDER.iter().copied().filter(|name| !given.contains(name)).find(|name| {
        let mut sides = Vec::new();
        for hypothesis in found {
            let right = court.right.clone();
            let wrong = if order(*name) < hypothesis.first() { &right } else { &hypothesis.wrong };
            sides.push(court.values(wrong, &Own::new(), *name));
        }
        let differ = |a: &Option<Vec<usize>>, b: &Option<Vec<usize>>| match (a, b) {
            (Some(a), Some(b)) => court.differ(a, b),
            _ => false,
        };
        sides.iter().enumerate().all(|(at, a)| sides[at + 1..].iter().all(|b| differ(a, b)))
    })
}

/// What the later steps are, given the first wrong one as it is.
fn after(court: &mut Court<'_>, right: &Plan, seen: Option<&Seen>, first: usize) -> Option<After> {
    let name = court.exhibits[first].tensor.name;
    let plan = court.right.clone();
    let (expected, ids) = Court::expected(&plan, name)?;
    let mut sheets = court.plainest(first, expected)?.sheets.clone();
    let ours = court.values(&plan, &Own::new(), name)?;
    let ours: Vec<_> = ours.into_iter().map(|value| court.bench.get(value).clone()).collect();
    fill_in(&mut sheets, &ours);
    let own: Own = ids.iter().copied().zip(sheets.into_iter().map(|sheet| court.bench.keep(sheet))).collect();
    let rest: Vec<usize> = (first + 1..court.exhibits.len()).collect();
    if rest.is_empty() {
        return None;
    }
    let mut fits = vec![Fit::PERFECT; court.exhibits.len()];
    for exhibit in &rest {
        fits[*exhibit] = court.judge(*exhibit, &plan, &own, Leniency::Plain).fit;
    }
    let next_wrong = rest.iter().copied().find(|exhibit| fits[*exhibit].beyond);
    let mut explanations = Vec::new();
    if next_wrong.is_some() {
        let mut search = Search::new(court, right, seen, fits).given(own, order(name));
        search.singles();
        explanations = search.explanations(false).into_iter().map(Hypothesis::explanation).collect();
    }
    Some(After { next_wrong, explanations })
}
