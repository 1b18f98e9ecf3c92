//! Every mistake of the catalogue, planted in problems drawn at random, is found; right answers are never accused.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should say so at once")]

#[path = "common/drawn.rs"]
#[expect(dead_code, reason = "only its numbers are needed here")]
mod drawn;
#[path = "common/handed.rs"]
mod handed;
#[path = "common/tasks.rs"]
mod tasks;

use std::sync::Arc;

use handed::{
    Planted, Right, Sheet, apart, apart_as_it_stands, apart_in_any_layout, forms, handed_over, order,
    rounded, tolerance,
};
use mha::answers::Grain;
use mha::mistakes::Turn;
use mha::mistakes::diagnose::{Diagnosis, Explanation, diagnose};
use mha::plan::{Name, Stack};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{RngSeed, TestCaseResult, TestRunner};
use tasks::task;

/// From so many tolerances on a difference is clear.
const CLEAR: f64 = 20.0;
/// Up to so many it may be rounding.
const FAINT: f64 = 4.0;

/// Which tensors are handed over.
#[derive(Debug, Clone, Copy)]
enum Given {
    Output,
    All,
    /// Those whose bit is set.
    Some(u32),
}

impl Given {
    fn of(self, sheets: &[Sheet]) -> Vec<Sheet> {
        let chosen = |sheet: &&Sheet| match self {
            Self::Output => sheet.name == Name::Output,
            Self::All => true,
            Self::Some(bits) => bits >> order(sheet.name) & 1 == 1,
        };
        sheets.iter().filter(chosen).cloned().collect()
    }
}

/// A problem and what was handed over for it.
struct Attempt<'a> {
    right: &'a Right,
    given: Vec<Sheet>,
    grain: Grain,
}

impl Attempt<'_> {
    fn told(&self) -> Diagnosis {
        let answers = handed_over(&self.given, self.grain, &self.right.known());
        diagnose(&self.right.call, &self.right.plan, &answers)
    }

    /// Each tensor's distance from what these sheets say it is, in tolerances.
    fn distances(&self, sheets: &[Sheet], apart: fn(&Sheet, &Sheet) -> f64) -> Vec<f64> {
        let distance = |theirs: &Sheet| match sheets.iter().find(|sheet| sheet.name == theirs.name) {
            Some(ours) => match apart(theirs, ours) {
                0.0 => 0.0,
                apart => apart / tolerance(self.grain, theirs, ours),
            },
            None => f64::INFINITY,
        };
        self.given.iter().map(distance).collect()
    }

    /// Whether these mistakes give everything that was handed over.
    fn is_given_by(&self, mistakes: &[Planted]) -> bool {
        let Some(sheets) = self.right.with(mistakes, Grain::Double) else { return false };
        self.distances(&sheets, apart_as_it_stands).iter().all(|distance| *distance <= FAINT)
    }

    /// What stands in the report of a failure.
    fn said(&self, told: &Diagnosis) -> String {
        let names =
            |explanations: &[Explanation]| explanations.iter().map(Explanation::names).collect::<Vec<_>>();
        let steps =
            told.steps.iter().map(|step| format!("{} {:?} {}", step.name, step.status, step.grain.name()));
        format!(
            "first wrong {:?}, explained by {:?}, partly by {:?}\n{:#?}",
            told.first_wrong.map(|at| told.steps[at].name.to_string()),
            names(&told.explanations),
            told.partly.as_ref().map(|partly| names(&partly.explanations)),
            steps.collect::<Vec<_>>()
        )
    }
}

fn precisions() -> impl Strategy<Value = Grain> {
    select(vec![Grain::Double, Grain::Single, Grain::Half, Grain::Decimals(4)])
}

/// `cases` problems; those that a property has nothing to say of do not count.
fn runner(cases: u32) -> TestRunner {
    TestRunner::new(ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(20), // the same problems every time
        failure_persistence: None,
        max_global_rejects: 20_000,
        ..ProptestConfig::default()
    })
}

/// The verdict and the first wrong step are right, wherever the mistake is clear.
fn is_located(attempt: &Attempt<'_>, told: &Diagnosis) -> TestCaseResult {
    let right = attempt.right.sheets(Grain::Double);
    let clear = attempt.distances(&right, apart_in_any_layout).iter().position(|distance| *distance > CLEAR);
    let Some(clear) = clear else { return Ok(()) };
    let Some(first) = told.first_wrong else {
        return Err(TestCaseError::fail(format!("called right: {}", attempt.said(told))));
    };
    prop_assert!(first <= clear, "{} was wrong before: {}", attempt.given[clear].name, attempt.said(told));
    let distance = attempt.distances(&right, apart)[first];
    prop_assert!(distance > 0.25, "only {distance} tolerances off: {}", attempt.said(told));
    Ok(())
}

/// What is named gives these tensors, and the planted mistakes are among it unless others give the same.
fn is_explained(attempt: &Attempt<'_>, told: &Diagnosis, planted: &[Planted]) -> TestCaseResult {
    let mut names: Vec<&str> = planted.iter().map(|(mistake, _)| mistake.name).collect();
    names.sort_unstable();
    let named = |explanation: &Explanation| {
        let mut told = explanation.names();
        told.sort_unstable();
        told == names
    };
    for explanation in told.explanations.iter().filter(|explanation| !named(explanation)) {
        let same = attempt.is_given_by(&explanation.mistakes);
        prop_assert!(same, "{:?} is something else: {}", explanation.names(), attempt.said(told));
    }
    prop_assert!(!told.explanations.is_empty(), "not named: {}", attempt.said(told));
    Ok(())
}

fn drops_a_weight(theirs: &[Sheet], right: &[Sheet]) -> bool {
    let weights = |sheets: &[Sheet]| {
        let weights = sheets.iter().find(|sheet| sheet.name == Name::Stack(Stack::Weights));
        weights.unwrap().array.data.clone()
    };
    weights(theirs).iter().zip(weights(right)).any(|(theirs, right)| *theirs == 0.0 && right > 1e-2)
}

/// Plants each form in problems where it can be made; every one must be found in `cases` of them.
fn every_form_is_found(
    cases: u32,
    forms: impl Iterator<Item = Planted>,
    given: impl Strategy<Value = Given> + Clone,
) {
    let mut failures = Vec::new();
    for planted in forms {
        let (mistake, form) = planted;
        let found = runner(cases).run(&(task(), precisions(), given.clone()), |(task, grain, given)| {
            let right = Right::of(task.call());
            let Some(sheets) = right.with(&[planted], grain) else {
                return Err(TestCaseError::reject("cannot be made"));
            };
            // Dropout that met hidden keys only has dropped nothing: then it is a factor, and could be anyone's.
            prop_assume!(mistake.name != "dropout-left-on" || drops_a_weight(&sheets, &right.sheets(grain)));
            let given = given.of(&rounded(&sheets, grain));
            prop_assume!(!given.is_empty());
            // What is read off the weights is found where they are given.
            let weights = given.iter().any(|tensor| tensor.name == Name::Stack(Stack::Weights));
            prop_assume!(weights || !form.reads_off);
            let attempt = Attempt { right: &right, given, grain };
            let clear = attempt
                .distances(&right.sheets(Grain::Double), apart_in_any_layout)
                .iter()
                .any(|distance| *distance > CLEAR);
            let told = attempt.told();
            is_located(&attempt, &told)?;
            if clear { is_explained(&attempt, &told, &[planted]) } else { Ok(()) }
        });
        if let Err(error) = found {
            failures.push(format!("{} ({}): {error}", mistake.name, form.name));
        }
    }
    assert!(failures.is_empty(), "{} forms are not found:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn every_mistake_is_found_in_the_output_alone() {
    every_form_is_found(2, forms().filter(|(_, form)| !form.reads_off), Just(Given::Output));
}

#[test]
fn every_mistake_is_found_in_all_tensors() {
    every_form_is_found(2, forms(), Just(Given::All));
}

#[test]
fn every_mistake_is_found_in_some_of_the_tensors() {
    every_form_is_found(3, forms(), any::<u32>().prop_map(Given::Some));
}

/// Where a right computation is rounded.
#[derive(Debug, Clone, Copy)]
enum Rounding {
    /// Only what is handed over.
    AtTheEnd,
    /// After every step (and the inputs, where a program holds them in its own precision).
    EveryStep,
    /// After some steps: those whose bit is set, by the order of the computation.
    SomeSteps(u64),
}

fn roundings() -> impl Strategy<Value = Rounding> {
    prop_oneof![
        Just(Rounding::AtTheEnd),
        Just(Rounding::EveryStep),
        any::<u64>().prop_map(Rounding::SomeSteps)
    ]
}

fn all_precisions() -> impl Strategy<Value = Grain> {
    let decimals = (3..=6).map(Grain::Decimals);
    select(
        [Grain::Double, Grain::Single, Grain::Half, Grain::Brain]
            .into_iter()
            .chain(decimals)
            .collect::<Vec<_>>(),
    )
}

/// The right tensors of a problem, rounded as that says.
fn right_but_for(rounding: Rounding, right: &Right, grain: Grain) -> Vec<Sheet> {
    match rounding {
        Rounding::AtTheEnd => right.sheets(grain),
        Rounding::EveryStep if matches!(grain, Grain::Decimals(_)) => {
            right.rounded_on_the_way(|_, cell| grain.round(cell))
        }
        Rounding::EveryStep => {
            let mut call = right.call.clone();
            for value in call.inputs.values_mut() {
                *value = Arc::new(value.map(|cell| grain.round(cell)));
            }
            Right::of(call).rounded_on_the_way(|_, cell| grain.round(cell))
        }
        Rounding::SomeSteps(bits) => {
            let place = |id| right.plan.place(id).unwrap() as u32 % 64;
            right.rounded_on_the_way(
                |id, cell| if bits >> place(id) & 1 == 1 { grain.round(cell) } else { cell },
            )
        }
    }
}

#[test]
fn right_tensors_are_never_accused() {
    let given = prop_oneof![Just(Given::Output), Just(Given::All), any::<u32>().prop_map(Given::Some)];
    let drawn = (task(), all_precisions(), given, roundings());
    let run = runner(60).run(&drawn, |(task, grain, given, rounding)| {
        let right = Right::of(task.call());
        let given = given.of(&rounded(&right_but_for(rounding, &right, grain), grain));
        prop_assume!(!given.is_empty());
        let attempt = Attempt { right: &right, given, grain };
        let told = attempt.told();
        prop_assert!(told.first_wrong.is_none(), "accused: {}", attempt.said(&told));
        prop_assert!(told.explanations.is_empty() && told.partly.is_none(), "{}", attempt.said(&told));
        Ok(())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn two_mistakes_at_once_are_found_or_the_first_of_them() {
    let drawn = (task(), precisions(), any::<Index>(), any::<Index>());
    let run = runner(20).run(&drawn, |(task, grain, one, other)| {
        let right = Right::of(task.call());
        let possible: Vec<Planted> =
            forms().filter(|planted| right.with(&[*planted], grain).is_some()).collect();
        prop_assume!(!possible.is_empty());
        let mut pair = [*one.get(&possible), *other.get(&possible)];
        prop_assume!(
            pair[0].0.name != pair[1].0.name
                && (pair[0].1.turn != pair[1].1.turn || pair[0].1.turn == Turn::Usual)
        );
        pair.sort_by_key(|(_, form)| order(form.first));
        let Some(sheets) = right.with(&pair, grain) else {
            return Err(TestCaseError::reject("cannot be made together"));
        };
        let attempt = Attempt { right: &right, given: rounded(&sheets, grain), grain };
        let is_clear =
            |sheets: &[Sheet]| attempt.distances(sheets, apart).iter().any(|distance| *distance > CLEAR);
        let alone = pair.map(|planted| right.with(&[planted], Grain::Double).unwrap());
        prop_assume!(is_clear(&right.sheets(Grain::Double)) && alone.iter().all(|sheets| is_clear(sheets)));
        let told = attempt.told();
        let said = || {
            format!(
                "{} ({}) and {} ({}): {}",
                pair[0].0.name,
                pair[0].1.name,
                pair[1].0.name,
                pair[1].1.name,
                attempt.said(&told)
            )
        };
        is_located(&attempt, &told).map_err(|error| TestCaseError::fail(format!("{}: {error}", said())))?;
        // Which weights dropout left out can be seen beside right scores only.
        if told.explanations.is_empty() && pair.iter().any(|(mistake, _)| mistake.name == "dropout-left-on") {
            let partly = told.partly.iter().flat_map(|partly| &partly.explanations);
            let first = partly
                .flat_map(Explanation::names)
                .any(|name| pair.iter().any(|(mistake, _)| mistake.name == name));
            prop_assert!(first, "not even the first is named: {}", said());
            return Ok(());
        }
        is_explained(&attempt, &told, &pair)
            .map_err(|error| TestCaseError::fail(format!("{}: {error}", said())))
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}
