//! The mistake that a flag names, and what to say where it cannot be made.

use super::Common;
use super::lesson::language;
use crate::fault::{Fault, Outcome};
use crate::lesson::{Options, builtin};
use crate::mistakes::{Form, Mistake};
use crate::plan::attention;
use crate::views::beside;

/// A mistake, and the forms of it that are meant: all, or the one that was named.
pub(super) type Meant = (&'static Mistake, &'static [Form]);

/// The mistake of that name; behind a `/`, one of its forms by its name or by a part that no other has.
///
/// # Errors
/// No such mistake or form, or several forms.
pub(super) fn named(typed: &str, flag: &str) -> Outcome<Meant> {
    let (name, form) = match typed.split_once('/') {
        Some((name, form)) => (name.trim(), Some(form.trim())),
        None => (typed.trim(), None),
    };
    let mistake = Mistake::named(name).map_err(|faults| faults.in_source(flag))?;
    match form {
        None => Ok((mistake, mistake.forms)),
        Some(form) => Ok((
            mistake,
            std::slice::from_ref(form_of(mistake, form).map_err(|fault| fault.in_source(flag))?),
        )),
    }
}

fn form_of(mistake: &'static Mistake, typed: &str) -> Result<&'static Form, Fault> {
    let whole = mistake.forms.iter().find(|form| form.name == typed && !typed.is_empty());
    let wanted = typed.to_lowercase();
    let partly: Vec<&Form> =
        mistake.forms.iter().filter(|form| form.name.to_lowercase().contains(&wanted)).collect();
    let names: Vec<&str> =
        mistake.forms.iter().map(|form| form.name).filter(|name| !name.is_empty()).collect();
    let name = mistake.name;
    match (whole, partly.as_slice()) {
        _ if names.is_empty() => Err(Fault::new(
            format!("{name} is made in one way only"),
            "there are no forms of it to choose from",
            format!("write {name}"),
        )),
        (Some(form), _) => Ok(form),
        (None, [form]) => Ok(form),
        (None, found) => Err(Fault::new(
            match found.len() {
                0 => format!("{name} has no form called {typed}"),
                _ => format!("{name}/{typed} may be any of {} forms", found.len()),
            },
            format!("its forms are {}", names.join("; ")),
            "name one of them, or a part of it that no other has",
        )),
    }
}

/// What to say where a problem has nothing that could be got wrong in this way: what it takes, and where there is some.
pub(super) fn has_no_meaning((mistake, forms): Meant, lesson: &str, common: &Common, flag: &str) -> Fault {
    let options = Options { language: language(common), allow_outside: false, pin_claims: false };
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
