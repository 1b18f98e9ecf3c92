//! What follows from a mistake's entry: where it goes wrong first, what is like it, which lesson shows it.

use std::collections::HashSet;
use std::sync::Arc;

use super::{Mistake, Wrong, catalogue};
use crate::fault::{Fault, Outcome, nearest};
use crate::lesson::{Options, builtin};
use crate::ops::Arithmetic;
use crate::plan::{Name, Plan, attention};
use crate::trace::{Keep, Trace, run_plan};

/// What differs by less is the same on a page with four digits, or nearly.
const SEEN: f64 = 1e-3;

impl Mistake {
    /// The mistake that a person named, in capitals or with underscores or not.
    ///
    /// # Errors
    /// There is none of that name; the nearest one is suggested.
    pub fn named(name: &str) -> Outcome<&'static Self> {
        let shown: String = name.chars().take(60).collect();
        let typed = shown.trim().to_lowercase().replace(['_', ' '], "-");
        if let Some(mistake) = Self::find(&typed) {
            return Ok(mistake);
        }
        let what = match typed.as_str() {
            "" => "the mistake's name is empty".to_owned(),
            _ => format!("no mistake is called {shown}"),
        };
        let remedy = match nearest(&typed, catalogue::all().map(|mistake| mistake.name)) {
            Some(near) => format!("did you mean {near}? mha mistakes lists them all"),
            None => "mha mistakes lists them all".to_owned(),
        };
        let why = format!("none of the {} known mistakes has this name", catalogue::all().count());
        Err(Fault::new(what, why, remedy).into())
    }

    /// Lines of code that mend it: one, or several that do the same.
    pub fn code_lines(&self) -> impl Iterator<Item = &'static str> {
        self.code.split("  or  ").filter(|line| !line.is_empty())
    }

    /// The steps that come out wrong first, under their stacked names: one, unless its forms differ in that.
    pub fn first_steps(&self) -> Vec<Name> {
        let mut steps = Vec::new();
        for form in self.forms {
            if !steps.contains(&form.first) {
                steps.push(form.first);
            }
        }
        steps
    }

    /// The others that come out wrong at the same step first, and are therefore easily taken for it.
    pub fn alike(&self) -> impl Iterator<Item = &'static Self> {
        let (name, steps) = (self.name, self.first_steps());
        catalogue::all()
            .filter(move |other| other.name != name)
            .filter(move |other| other.first_steps().iter().any(|step| steps.contains(step)))
    }

    /// The first built-in lesson in which the mistake can be seen in the numbers of the step that it gets wrong first.
    pub fn lesson(&self) -> Option<&'static str> {
        builtin::all().iter().map(|lesson| lesson.name).find(|name| self.shows_in(name).unwrap_or(false))
    }

    fn shows_in(&self, lesson: &str) -> Option<bool> {
        let call = builtin::load(builtin::find(lesson)?, &Options::default()).ok()?.call();
        let plan = attention::plan(&call).ok()?;
        let (form, wrong) = self.apply(&call, &plan)?;
        let right = Wrong::right(&call, &plan);
        let (theirs, ours) = (wrong.sheets(form.first)?.0, right.sheets(form.first)?.0);
        if theirs.len() != ours.len() {
            return Some(true);
        }
        let run = |plan: Plan, steps: &[_]| -> Option<Trace<f64>> {
            let keep = Keep::Only(steps.iter().copied().collect::<HashSet<_>>());
            run_plan(Arc::new(plan), &call.inputs, &keep, Arithmetic::Ordered).ok()
        };
        let (wrong, right) = (run(wrong.plan, &theirs)?, run(right.plan, &ours)?);
        let mut differs = false;
        for (theirs, ours) in theirs.iter().zip(&ours) {
            let (theirs, ours) = (wrong.get(*theirs)?, right.get(*ours)?);
            let same = |(a, b): (&f64, &f64)| a == b || (a - b).abs() < SEEN || (a.is_nan() && b.is_nan());
            differs |= theirs.shape() != ours.shape() || !theirs.iter().zip(ours.iter()).all(same);
        }
        Some(differs)
    }
}
