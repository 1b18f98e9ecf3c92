//! The mistake that a flag names, and what to say where it cannot be made.

use super::Common;
use super::lesson::language;
use crate::fault::{Fault, Outcome};
use crate::lesson::{Options, builtin};
use crate::mistakes;
use crate::mistakes::named::Meant;
use crate::plan::attention;
use crate::views::beside;

/// The mistake that a flag names, with the forms of it that are meant.
///
/// # Errors
/// No such mistake or form, or several forms.
pub(super) fn named(typed: &str, flag: &str) -> Outcome<Meant> {
    mistakes::named::meant(typed).map_err(|faults| faults.in_source(flag))
}

/// What to say where a problem has nothing that could be got wrong in this way: what it takes, and where there is some.
pub(super) fn has_no_meaning((mistake, forms): Meant, lesson: &str, common: &Common, flag: &str) -> Fault {
    let options =
        Options { language: language(common), allow_outside: false, pin_claims: false, teaches: false };
    let applies = |lesson: &&builtin::Builtin| {
        let Ok(problem) = builtin::load(lesson, &options) else { return false };
        let call = problem.call();
        attention::plan(&call).is_ok_and(|plan| forms.iter().any(|form| form.apply(&call, &plan).is_some()))
    };
    let lessons: Vec<&str> = builtin::all().iter().filter(applies).map(|lesson| lesson.name).collect();
    let what = format!("{lesson} cannot be got wrong in this way: {}", mistake.summary);
    let why = match beside::where_it_shows(mistake) {
        why if why.is_empty() => format!("it has nothing to do otherwise than {}", mistake.right),
        why => why.trim_end_matches('.').to_owned(),
    };
    let remedy = match lessons.as_slice() {
        [] => "none of the lessons that come with mha has it; write one that does".to_owned(),
        lessons => format!("it can be made in {}", lessons.join(", ")),
    };
    Fault::new(what, why, remedy).in_source(flag)
}
