//! A mistake as a person names it: `scale-missing`, or with one of its forms, `mask-inverted/…`.

use super::{Form, Mistake};
use crate::fault::{Fault, Outcome};

/// A mistake, and the forms of it that are meant: all, or the one that was named.
pub type Meant = (&'static Mistake, &'static [Form]);

/// The mistake of that name; behind a `/`, one of its forms by its name or by a part that no other has.
///
/// # Errors
/// No such mistake or form, or several forms.
pub fn meant(typed: &str) -> Outcome<Meant> {
    let (name, form) = match typed.split_once('/') {
        Some((name, form)) => (name.trim(), Some(form.trim())),
        None => (typed.trim(), None),
    };
    let mistake = Mistake::named(name)?;
    match form {
        None => Ok((mistake, mistake.forms)),
        Some(form) => Ok((mistake, std::slice::from_ref(form_of(mistake, form)?))),
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
