//! Which steps a person asked for.

use wildmatch::WildMatch;

use crate::fault::{Fault, Outcome, nearest};
use crate::plan::StepId;
use crate::views::stacked::file_name;

/// What narrows a trace.
#[derive(Debug, Default)]
pub(super) struct Selection<'a> {
    /// Globs over step ids (`head.2.*`), or the stacked names of files (`weights`); empty means all.
    pub(super) steps: &'a [String],
    /// Heads, from 1; empty means all.
    pub(super) heads: &'a [usize],
    /// The sequence, from 0; `None` means all.
    pub(super) sequence: Option<usize>,
}

impl Selection<'_> {
    /// The chosen ones of these steps, in their order.
    ///
    /// # Errors
    /// A pattern that matches nothing, or a head that is not there.
    pub(super) fn of(&self, ids: &[StepId]) -> Outcome<Vec<StepId>> {
        let num_heads = ids.iter().filter_map(|id| id.head()).map(|head| head.0 + 1).max().unwrap_or(0);
        if let Some(head) = self.heads.iter().find(|head| **head == 0 || **head > num_heads) {
            let fault = Fault::new(
                format!("there is no head {head}"),
                format!("this problem has {num_heads}, counted from 1"),
                format!("choose from 1 to {num_heads}"),
            );
            return Err(fault.in_source("--heads").into());
        }
        let patterns: Vec<Pattern> = self.steps.iter().map(|text| Pattern::new(text)).collect();
        let here = |id: StepId| match (self.sequence, id.sequence) {
            (Some(wanted), Some(is)) => wanted == is,
            _ => true,
        };
        let ids: Vec<StepId> = ids.iter().copied().filter(|id| here(*id)).collect();
        for pattern in &patterns {
            if pattern.text.is_empty() {
                let (why, remedy) = ("steps are named one after the other", "write --steps q,k,head.2.*");
                return Err(Fault::new("a step's name is empty", why, remedy).in_source("--steps").into());
            }
            if !ids.iter().any(|id| pattern.matches(*id)) {
                return Err(nothing_matches(&pattern.text, &ids));
            }
        }
        let chosen = |id: &StepId| {
            (patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches(*id)))
                && (self.heads.is_empty() || id.head().is_none_or(|head| self.heads.contains(&(head.0 + 1))))
        };
        let chosen: Vec<StepId> = ids.into_iter().filter(chosen).collect();
        if chosen.is_empty() {
            let fault = Fault::new(
                "no step is left to show",
                "--steps names steps of heads that --heads leaves out",
                "name steps of the chosen heads, or leave out --heads",
            );
            return Err(fault.in_source("--heads").into());
        }
        Ok(chosen)
    }
}

struct Pattern {
    text: String,
    glob: WildMatch,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned(), glob: WildMatch::new(text) }
    }

    fn matches(&self, id: StepId) -> bool {
        // A name without its layer means that of every layer, as one without its sequence that of every sequence.
        [id.name.to_string(), id.within().to_string(), id.to_string()]
            .iter()
            .any(|name| self.glob.matches(name))
            || [file_name(id.name), file_name(id)].into_iter().flatten().any(|name| name == self.text)
    }
}

/// What to say about a name that no step has.
fn nothing_matches(pattern: &str, ids: &[StepId]) -> crate::fault::Faults {
    let mut names: Vec<String> = ids.iter().map(|id| id.within().to_string()).collect();
    names.extend(ids.iter().filter_map(|id| file_name(*id)));
    let stem = format!("{}.", pattern.trim_end_matches('.'));
    let remedy = match nearest(pattern, names.iter().map(String::as_str)) {
        _ if names.iter().any(|name| name.starts_with(&stem)) => format!("did you mean {stem}*?"),
        Some(near) => format!("did you mean {near}? Globs work too: head.2.*"),
        None => "use names as --summary lists them, or globs such as head.2.*".to_owned(),
    };
    if let Some(fault) = beyond(pattern, ids) {
        return fault.in_source("--steps").into();
    }
    let last = ids.last().map(ToString::to_string).unwrap_or_default();
    Fault::new(
        format!("no step is called {pattern}"),
        format!(
            "this problem's steps run from {} to {last}",
            ids.first().map(ToString::to_string).unwrap_or_default()
        ),
        remedy,
    )
    .in_source("--steps")
    .into()
}

/// A head or a layer with a number that is too high: how many there are helps, a name that is spelled alike does not.
fn beyond(pattern: &str, ids: &[StepId]) -> Option<Fault> {
    let parts: Vec<&str> = pattern.split('.').collect();
    let most = |kind: &str| match kind {
        "head" => ids.iter().filter_map(|id| id.head()).map(|head| head.0 + 1).max(),
        "layer" => ids.iter().filter_map(|id| id.layer).map(|layer| layer + 1).max(),
        _ => None,
    };
    parts.windows(2).find_map(|pair| {
        let &[kind, number] = pair else { return None };
        let (most, number) = (most(kind)?, number.parse::<usize>().ok()?);
        (number == 0 || number > most).then(|| {
            Fault::new(
                format!("there is no {kind} {number} ({pattern})"),
                format!("this problem has {most}, counted from 1"),
                format!("choose from {kind}.1 to {kind}.{most}"),
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Attention, Call, Name, Plan, Projection, attention};
    use nalgebra::DMatrix;
    use std::sync::Arc;

    fn two_heads() -> Plan {
        let square = Arc::new(DMatrix::identity(4, 4));
        let mut inputs = crate::plan::Inputs::new();
        inputs.insert(Name::X.into(), Arc::new(DMatrix::from_element(3, 4, 1.0)));
        inputs.extend(Projection::ALL.map(|p| (Name::W(p).into(), square.clone())));
        attention::plan(&Call {
            attention: Attention::multi_head(4, 2),
            layers: None,
            batch: None,
            inputs,
            elsewhere: crate::plan::Shapes::new(),
        })
        .unwrap()
    }

    fn chosen(steps: &[&str], heads: &[usize]) -> Vec<String> {
        let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
        let selection = Selection { steps: &steps, heads, sequence: None };
        selection.of(&two_heads().ids()).unwrap().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn globs_choose_steps_and_files_names_choose_every_head() {
        assert_eq!(chosen(&["head.2.s*", "q"], &[]), ["q", "head.2.scores"]);
        assert_eq!(chosen(&["weights"], &[]), ["head.1.weights", "head.2.weights"]);
        assert_eq!(chosen(&["weights", "concat"], &[2]), ["head.2.weights", "concat"]);
    }

    #[test]
    fn a_number_too_high_is_told_how_many_there_are() {
        for (step, what) in
            [("head.3.q", "there is no head 3 (head.3.q)"), ("head.0", "there is no head 0 (head.0)")]
        {
            let steps = [step.to_owned()];
            let error =
                Selection { steps: &steps, ..Selection::default() }.of(&two_heads().ids()).unwrap_err();
            assert_eq!(error.0[0].what, what);
            assert_eq!(error.0[0].why, "this problem has 2, counted from 1");
        }
    }

    #[test]
    fn a_typo_is_answered_with_the_nearest_step() {
        let steps = ["head.1.score".to_owned()];
        let error = Selection { steps: &steps, ..Selection::default() }.of(&two_heads().ids()).unwrap_err();
        assert!(error.to_string().contains("did you mean head.1.scores?"), "{error}");
    }
}
