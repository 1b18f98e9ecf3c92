//! Mermaid: which step is made from which, as a diagram that GitHub, GitLab and many editors draw from text.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Write};

use super::Scene;
use super::sheet::Sheet;
use crate::fault::visible;
use crate::ops::Op;
use crate::plan::{Plan, Step, StepId};

/// Writes a `flowchart`: a box a step with its formula and shape, the steps of a head in a frame of their own, an arrow
/// from each input to what is made from it. Where steps are left out, a dotted arrow leads past them.
///
/// # Errors
/// Those of the writer.
pub fn write(scene: &Scene<'_>, out: &mut dyn Write) -> io::Result<()> {
    let plan = scene.trace.plan();
    let steps: Vec<&Step> = scene.steps.iter().filter_map(|id| plan.get(*id)).collect();
    let places: BTreeMap<StepId, usize> =
        steps.iter().enumerate().map(|(place, step)| (step.id, place)).collect();
    let mut frames: Vec<(Option<String>, Vec<usize>)> = vec![(None, Vec::new())];
    for (place, step) in steps.iter().enumerate() {
        let frame = frame(step.id);
        match frames.iter_mut().find(|(known, _)| *known == frame) {
            Some((_, inside)) => inside.push(place),
            None => frames.push((frame, vec![place])),
        }
    }
    writeln!(out, "flowchart TD")?;
    for (number, (frame, inside)) in frames.iter().enumerate() {
        if let Some(frame) = frame {
            writeln!(out, "  subgraph f{number}[\"{}\"]", safe(frame))?;
        }
        let margin = if frame.is_some() { "    " } else { "  " };
        for place in inside {
            writeln!(out, "{margin}s{place}{}", label(scene, plan, steps[*place]))?;
        }
        if frame.is_some() {
            writeln!(out, "  end")?;
        }
    }
    for (place, step) in steps.iter().enumerate() {
        for (from, arrow) in sources(plan, step, &places) {
            writeln!(out, "  s{from} {arrow} s{place}")?;
        }
    }
    Ok(())
}

/// The head that a step belongs to, with its layer and sequence: `layer.1.head.2`.
fn frame(id: StepId) -> Option<String> {
    id.head()?;
    id.to_string().rsplit_once('.').map(|(frame, _)| frame.to_owned())
}

/// Name, formula and shape; what was given has round sides and no formula.
fn label(scene: &Scene<'_>, plan: &Plan, step: &Step) -> String {
    let id = safe(&step.id.to_string());
    let shape = scene.trace.get(step.id).map_or(String::new(), |value| {
        let (rows, columns) = Sheet::new(step, value, scene.labels, scene.page.layout).shape();
        safe(&scene.page.letters(&format!("{rows}×{columns}")))
    });
    match step.op {
        Op::Given(_) => format!("([\"{id}<br>{shape}\"])"),
        _ => {
            let formula = plan.formula(step, scene.page.layout).equation;
            format!("[\"{id}<br>{}<br>{shape}\"]", safe(&scene.page.letters(&formula)))
        }
    }
}

/// The shown steps that a step is made from, with their arrows: straight, or dotted past steps that are not shown.
fn sources(plan: &Plan, step: &Step, places: &BTreeMap<StepId, usize>) -> Vec<(usize, &'static str)> {
    let mut sources = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<(StepId, &'static str)> = step.inputs.iter().rev().map(|id| (*id, "-->")).collect();
    while let Some((id, arrow)) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        match (places.get(&id), plan.get(id)) {
            (Some(place), _) => sources.push((*place, arrow)),
            (None, Some(hidden)) => open.extend(hidden.inputs.iter().rev().map(|id| (*id, "-.->"))),
            (None, None) => {}
        }
    }
    sources
}

/// A text inside quotation marks: no mark-up of HTML or Markdown, no entity, no end of the string.
fn safe(text: &str) -> String {
    let mut safe = String::new();
    for c in visible(text).chars() {
        match c {
            '"' | '#' | '&' | '<' | '>' | '`' | ';' | '*' | '_' | '\\' => {
                safe.push_str(&format!("#{};", u32::from(c)));
            }
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `#34;` is how Mermaid writes a character by its number.
    #[test]
    fn nothing_ends_the_string_or_is_taken_for_markup() {
        assert_eq!(safe("a\"]; b"), "a#34;]#59; b");
        assert_eq!(safe("<b>`#1`"), "#60;b#62;#96;#35;1#96;");
        assert_eq!(safe("d_k"), "d#95;k");
        assert!(!safe("\u{1b}[2J").contains('\u{1b}'));
    }
}
