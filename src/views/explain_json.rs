//! Where numbers come from, as JSON: every number in full, and the tree behind each cell.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::Scene;
use super::derivation::{Derivation, IN_FULL};
use super::json::figure;
use super::json_text::{pretty, quiet};
use crate::trace::Cell;
use crate::trace::origin::{Branch, End};

/// Writes `{"mha": 1, "title", "explanations": […]}`. An explanation has `step`, `row` and `column` (from 1), `value`,
/// `copied_from` (cells that hold the same number), `arithmetic` (names, numbers, reductions: each comes to the
/// value), `m` (what m stands for in them, or null), `reason` (why a
/// rule sets the number, as a mask does, or null), `end` (`complete`, `given`, `above`: explained earlier in this
/// file, `cut`: deeper than was asked for) and `behind`, the explanations of what it was made from. Under `--exact`
/// also `exact` (or null, and `not_exact` with the reason).
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, origins: &[Branch], out: &mut dyn Write) -> io::Result<()> {
    let explanations: Vec<Value> = origins.iter().map(|branch| explanation(scene, branch)).collect();
    writeln!(out, "{{\"mha\": 1, \"title\": {}, \"explanations\": [", quiet(&json!(scene.title)))?;
    for (at, explanation) in explanations.iter().enumerate() {
        let comma = if at + 1 < explanations.len() { "," } else { "" };
        writeln!(out, "{}{comma}", pretty(explanation))?;
    }
    writeln!(out, "]}}")
}

fn explanation(scene: &Scene<'_>, branch: &Branch) -> Value {
    let last = branch.derived();
    let derivation = branch
        .term
        .as_ref()
        .filter(|_| branch.end != End::Above)
        .map(|term| Derivation::from_term(term, last.step, branch.value, IN_FULL));
    let (arithmetic, most) = derivation.map_or((Vec::new(), None), |d| (d.lines, d.largest));
    let end = match (branch.end, &branch.term) {
        (_, None) => "given",
        (End::Complete, _) => "complete",
        (End::Above, _) => "above",
        (End::Cut, _) => "cut",
    };
    let Cell { step, row, column } = branch.cell;
    let mut told = json!({
        "step": step.to_string(),
        "row": row + 1,
        "column": column + 1,
        "value": figure(branch.value),
        "copied_from": branch.copied_from.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "arithmetic": arithmetic,
        "reason": branch.reason,
        "m": most.map(|(names, value)| json!({"names": names, "value": value})),
        "end": end,
        "behind": branch.behind.iter().map(|next| explanation(scene, next)).collect::<Vec<_>>(),
    });
    if let (Some(exact), Some(object)) = (scene.exact, told.as_object_mut()) {
        let form = exact.form(step, row, column).map(ToString::to_string);
        object.insert("exact".to_owned(), json!(form));
        if let Some(why) = exact.why_not(step) {
            object.insert("not_exact".to_owned(), json!(why));
        }
    }
    told
}
