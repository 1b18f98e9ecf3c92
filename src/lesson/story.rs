//! What a lesson tells: sentences at steps.

use serde_yaml::Value;

use super::reader::{Node, Reader, describe};
use super::{Saying, course, step_names};
use crate::plan::StepId;

/// Why a text is not `step[r,c]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NotACell {
    /// It has no `[r,c]` at its end.
    Plain,
    /// What stands before `[r,c]` is no step.
    NoStep(String),
    /// Row and column are not two numbers from 1 on.
    Numbers,
}

/// Reads `step[r,c]`: the step, and row and column from 0.
pub(super) fn cell(text: &str) -> Result<(StepId, usize, usize), NotACell> {
    let (step, numbers) =
        text.strip_suffix(']').and_then(|text| text.split_once('[')).ok_or(NotACell::Plain)?;
    let id = step.parse::<StepId>().map_err(|_| NotACell::NoStep(step.to_owned()))?;
    let counted = |number: &str| match number.trim().parse::<usize>() {
        Ok(number) if number >= 1 => Ok(number - 1),
        _ => Err(NotACell::Numbers),
    };
    let (row, column) = numbers.split_once(',').ok_or(NotACell::Numbers)?;
    Ok((id, counted(row)?, counted(column)?))
}

/// Reads the name of a step.
pub(super) fn step(node: &Node, reader: &mut Reader) -> Option<StepId> {
    let Value::String(typed) = node.value else {
        return node.refuse(reader, "the name of a step", step_names::remedy(""));
    };
    match typed.parse() {
        Ok(id) => Some(id),
        Err(_) => {
            let what = format!("{} is {}, which is not the name of a step", node.spot, describe(node.value));
            reader.fault(&node.spot, what, "", step_names::remedy(typed))
        }
    }
}

/// Reads `story`.
pub(super) fn sayings(node: &Node, reader: &mut Reader) -> Option<Vec<Saying>> {
    let items = node.items(reader, "a list", "write story: [{at: head.1.scores, say: …}]")?;
    let sayings: Vec<_> = items.iter().map(|item| saying(item, reader)).collect();
    sayings.into_iter().collect()
}

fn saying(node: &Node, reader: &mut Reader) -> Option<Saying> {
    let section = node.section(&["at", "say"], reader)?;
    let at = section.given("at", reader, step);
    let say = section.given("say", reader, course::sentence);
    for (key, missing) in [("at", at.is_absent()), ("say", say.is_absent())] {
        if missing {
            let what = format!("{} has no {key}", node.spot);
            reader.fault::<()>(&node.spot, what, "", "write {at: head.1.scores, say: \"…\"}");
        }
    }
    Some(Saying { at: at.good().copied()?, say: say.good().cloned()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_count_from_one() {
        assert_eq!(cell("x[1,1]"), Ok(("x".parse().unwrap(), 0, 0)));
        assert_eq!(cell("x[0,1]"), Err(NotACell::Numbers));
        assert_eq!(cell("x[1]"), Err(NotACell::Numbers));
        assert_eq!(cell("xx[1,1]"), Err(NotACell::NoStep("xx".into())));
        assert_eq!(cell("x"), Err(NotACell::Plain));
    }
}
