//! The order of a page: what stands before the heads, the heads side by side, and what brings them together.

use std::collections::HashMap;
use std::io;

use super::{Sheet, matrix};
use crate::plan::{Name, StepId, names};
use crate::views::markup::{capital, html};
use crate::views::{Scene, table};
use crate::words::t;

/// Steps that follow each other.
pub(super) struct Section {
    /// What an address in the page calls it.
    anchor: String,
    title: String,
    rows: Vec<Row>,
}

/// Steps that stand side by side: the same one of every head; or one that belongs to no head, by itself.
struct Row {
    /// Of several heads what they have in common, as `scores`; else nothing.
    kind: Option<String>,
    steps: Vec<StepId>,
}

impl Row {
    fn anchor(&self) -> String {
        match (&self.kind, self.steps.first()) {
            (Some(kind), Some(first)) => {
                let prefix = StepId { name: Name::X, ..*first }.to_string();
                format!("heads.{}{kind}", prefix.trim_end_matches('x'))
            }
            (_, first) => first.map(ToString::to_string).unwrap_or_default(),
        }
    }

    fn title(&self) -> String {
        let Some(first) = self.steps.first() else { return String::new() };
        match (&self.kind, first.name) {
            (Some(_), Name::Tile(_, tile, _)) => {
                t!("%{kind}, tile %{tile}", kind = names::kind(first.name), tile = tile + 1)
            }
            (Some(_), Name::Head(..)) => names::kind(first.name),
            _ => names::title(*first),
        }
    }
}

/// The first steps of a scene, in sections.
pub(super) fn of(scene: &Scene<'_>, most: usize) -> Vec<Section> {
    let batch = scene.batch.is_some_and(|count| count > 1);
    let section = |(at, run): (usize, Run)| {
        let title = match run.part {
            Part::Start => t!("Before the first layer"),
            Part::Before => t!("From tokens to queries, keys and values"),
            Part::Heads => t!("Each head"),
            Part::After => t!("The heads together"),
            Part::Network => t!("The feed-forward network"),
            Part::End => t!("After the last layer"),
        };
        let title = match run.layer {
            Some(layer) => t!("%{title}, layer %{layer}", title = title, layer = layer + 1),
            None => title,
        };
        let title = match run.sequence.filter(|_| batch) {
            Some(sequence) => t!("%{title}, sequence %{sequence}", title, sequence = sequence + 1),
            None => title,
        };
        let rows = if run.part == Part::Heads { side_by_side(&run.steps) } else { one_by_one(&run.steps) };
        Section { anchor: format!("part.{}", at + 1), title, rows }
    };
    runs(&scene.steps[..most]).into_iter().enumerate().map(section).collect()
}

/// Where in attention, or in a stack of layers, a step stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Start,
    Before,
    Heads,
    After,
    Network,
    End,
}

/// Steps that follow each other in one part and one sequence.
struct Run {
    part: Part,
    /// None before any step of a sequence.
    sequence: Option<usize>,
    layer: Option<usize>,
    steps: Vec<StepId>,
}

fn runs(steps: &[StepId]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for id in steps {
        let last = runs.last();
        let before = last.and_then(|run| run.sequence);
        // What all sequences share, as W_O, stands with its neighbours.
        let sequence = id.sequence.or(before);
        // The next sequence, and the next layer, begin with their own tokens again.
        let anew = (before.is_some() && sequence != before) || last.is_some_and(|run| run.layer != id.layer);
        let part = match last.map(|run| run.part).filter(|_| !anew) {
            _ if id.name == Name::Embedding => Part::Start,
            _ if id.name == Name::Final => Part::End,
            _ if id.head().is_some() => Part::Heads,
            _ if matches!(id.name, Name::Ffn(_)) => Part::Network,
            None | Some(Part::Before | Part::Start | Part::End) => Part::Before,
            Some(Part::Heads | Part::After) => Part::After,
            Some(Part::Network) => Part::Network,
        };
        match runs.last_mut() {
            Some(run) if run.part == part && !anew => {
                run.sequence = sequence;
                run.steps.push(*id);
            }
            _ => runs.push(Run { part, sequence, layer: id.layer, steps: vec![*id] }),
        }
    }
    runs
}

fn one_by_one(run: &[StepId]) -> Vec<Row> {
    run.iter().map(|id| Row { kind: None, steps: vec![*id] }).collect()
}

/// The same step of every head in one row, in the order of the first head that has it.
fn side_by_side(run: &[StepId]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for id in run {
        let name = id.name.to_string();
        let kind = name.splitn(3, '.').last().unwrap_or_default().to_owned();
        let place = *places.entry(kind.clone()).or_insert_with(|| {
            rows.push(Row { kind: Some(kind), steps: Vec::new() });
            rows.len() - 1
        });
        rows[place].steps.push(*id);
    }
    rows
}

/// Links to every part of the page.
pub(super) fn contents(sections: &[Section]) -> String {
    let mut nav = format!("<nav aria-label=\"{}\">\n<ul>\n", t!("Steps"));
    for section in sections {
        nav.push_str(&format!("<li><a href=\"#{}\">{}</a>\n<ul>\n", section.anchor, html(&section.title)));
        for row in &section.rows {
            let name = match (&row.kind, row.steps.first()) {
                (Some(kind), _) => kind.clone(),
                (None, Some(id)) => id.name.to_string(),
                (None, None) => continue,
            };
            nav.push_str(&format!(
                "<li><a href=\"#{}\"><code>{}</code></a></li>\n",
                row.anchor(),
                html(&name)
            ));
        }
        nav.push_str("</ul></li>\n");
    }
    nav.push_str("</ul>\n</nav>\n");
    nav
}

/// A section with all its tables.
///
/// # Errors
/// Those of pictures.
pub(super) fn write(sheet: &Sheet<'_>, section: &Section, page: &mut String) -> io::Result<()> {
    let numbers = table::numbers(sheet.scene());
    let number = |id: StepId| numbers.get(&id.within()).copied().unwrap_or(0);
    let anchor = &section.anchor;
    page.push_str(&format!(
        "<section aria-labelledby=\"{anchor}\">\n<h2 id=\"{anchor}\">{}</h2>\n",
        html(&section.title)
    ));
    let in_heads = section.rows.iter().any(|row| row.kind.is_some());
    if !in_heads {
        let steps: Vec<StepId> = section.rows.iter().flat_map(|row| row.steps.clone()).collect();
        page.push_str(&format!("<div class=\"beside {}\">\n", width(sheet, &steps)));
    }
    for row in &section.rows {
        if in_heads {
            page.push_str(&format!("<h3 id=\"{}\">{}</h3>\n", row.anchor(), html(&capital(&row.title()))));
            page.push_str(&format!("<div class=\"beside {}\">\n", width(sheet, &row.steps)));
        }
        for id in &row.steps {
            matrix::write(sheet, *id, number(*id), if in_heads { 4 } else { 3 }, page)?;
        }
        if in_heads {
            page.push_str("</div>\n");
        }
    }
    page.push_str(if in_heads { "</section>\n" } else { "</div>\n</section>\n" });
    Ok(())
}

/// How wide the tables are that stand side by side: the class that gives each its room.
fn width(sheet: &Sheet<'_>, steps: &[StepId]) -> &'static str {
    let plan = sheet.scene().trace.plan();
    let shapes = steps.iter().filter_map(|id| plan.get(*id)).map(|step| step.shape);
    let widest = shapes.map(|(r, c)| r.max(c)).max().unwrap_or(0);
    match widest * (sheet.scene().page.digits + 4) {
        0..=34 => "narrow",
        35..=60 => "middle",
        _ => "wide",
    }
}
