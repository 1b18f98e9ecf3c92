//! A lesson computed, in one of its runs: its keys changed first, then its plan rewritten.

use std::sync::Arc;

use super::work::{self, Work};
use super::workshop::in_words;
use crate::fault::{Fault, Faults, Outcome};
use crate::lesson::Problem;
use crate::lesson::course::Rewrite;
use crate::mistakes::{WrongRun, named};
use crate::ops::Arithmetic;
use crate::plan::rewrites::{HeadPlace, Variant, swap_keys, zero_head};
use crate::plan::{Call, Plan, attention};
use crate::trace::{Keep, Trace, run_plan};
use crate::views::Scene;
use crate::views::page::Page;

/// A run, computed.
#[derive(Debug, Clone)]
pub struct Ran {
    /// The lesson as it was changed, with the sizes and inputs that the run has.
    pub problem: Problem,
    /// What was computed.
    pub plan: Arc<Plan>,
    /// Every number.
    pub trace: Trace<f64>,
    /// For each key/value head, the query head whose keys and values stand for it.
    pub kv_sheets: Vec<usize>,
}

impl Ran {
    /// Computes a lesson with its plan rewritten, one rewrite after the other.
    ///
    /// # Errors
    /// A rewrite that the lesson has no meaning for; what any trace refuses; more work than is left.
    pub(super) fn of(problem: Problem, rewrites: &[Rewrite], work: Option<&Work>) -> Outcome<Self> {
        let begin = |plan: &Plan| match work {
            None => Ok(()),
            Some(work) => work.begin(work::of_plan(plan)).map_err(in_words),
        };
        let mut call = problem.call();
        let mut plan = Arc::new(attention::plan(&call)?);
        let mut kv_sheets = call.attention.kv_sheets();
        for rewrite in rewrites {
            match rewrite {
                Rewrite::Variant(name) => {
                    let variant: Variant = name.parse().map_err(|why| no_variant(name, why))?;
                    // A variant builds its plan from the call: what was done to the plan before would be lost.
                    if *plan != attention::plan(&call)? {
                        return Err(comes_first(variant));
                    }
                    let (changed, rewritten) = variant.apply(&call)?;
                    (call, plan) = (changed, Arc::new(rewritten));
                    kv_sheets = call.attention.kv_sheets();
                }
                Rewrite::Mistake(name) => {
                    begin(&plan)?; // it is computed to see the mistake
                    let made = mistaken(name, &call, &plan)?;
                    call.attention = made.attention(&call);
                    plan = Arc::new(made.wrong.plan().clone());
                    kv_sheets = made.kv_sheets;
                }
                Rewrite::ZeroHead(head) => plan = Arc::new(zero_head(&plan, place(head)?)?),
                Rewrite::SwapKeys { head, keys } => {
                    plan = Arc::new(swap_keys(&plan, place(head)?, (keys[0], keys[1]))?);
                }
            }
        }
        begin(&plan)?;
        let trace = run_plan(plan.clone(), &call.inputs, &Keep::All, Arithmetic::Ordered)?;
        let problem = Problem { attention: call.attention, inputs: call.inputs, ..problem };
        Ok(Self { problem, plan, trace, kv_sheets })
    }

    /// The call with its numbers.
    pub fn call(&self) -> Call {
        self.problem.call()
    }

    /// The run for a view: without words of its own, and without steps until they are chosen.
    pub fn scene(&self, page: Page) -> Scene<'_> {
        Scene {
            title: "",
            summary: "",
            source: "",
            attention: &self.problem.attention,
            labels: &self.problem.labels,
            story: &[],
            trace: &self.trace,
            exact: None,
            steps: &[],
            batch: self.problem.batch,
            kv_sheets: &self.kv_sheets,
            page,
        }
    }
}

/// The mistake made on a plan.
fn mistaken(name: &str, call: &Call, plan: &Arc<Plan>) -> Outcome<WrongRun> {
    let (mistake, forms) = named::meant(name)?;
    WrongRun::of(mistake, forms, call, plan)?.ok_or_else(|| {
        let what = format!("this lesson cannot be got wrong by {name}: {}", mistake.summary);
        let why = format!("it has nothing to do otherwise than {}", mistake.right);
        Fault::new(what, why, format!("`mha mistakes {}` says where it shows", mistake.name)).into()
    })
}

fn no_variant(name: &str, why: String) -> Faults {
    Fault::new(format!("there is no variant {name}"), "", why).into()
}

fn comes_first(variant: Variant) -> Faults {
    let what = format!("the variant {variant} stands behind a rewrite that it would undo");
    let why = "a variant builds its steps anew from the lesson's matrices";
    Fault::new(what, why, "name the variant first").into()
}

fn place(head: &str) -> Result<HeadPlace, Fault> {
    head.parse().map_err(|why: String| Fault::new(format!("{head} is not the place of a head"), "", why))
}
