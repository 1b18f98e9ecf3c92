//! The order of a page: what stands before the heads, the heads side by side, and what brings them together.

use std::collections::HashMap;
use std::io;

use super::text::html;
use super::{Sheet, matrix};
use crate::plan::{Name, StepId, names};
use crate::views::{Scene, table};

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
        let title = self.steps.first().map(|first| names::title(first.name)).unwrap_or_default();
        match (&self.kind, title.split_once(" of head ")) {
            (Some(_), Some((what, tile))) => match tile.split_once(", ") {
                Some((_, tile)) => format!("{what}, {tile}"),
                None => what.to_owned(),
            },
            _ => title,
        }
    }
}

/// The first steps of a scene, in sections.
pub(super) fn of(scene: &Scene<'_>, most: usize) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let steps = &scene.steps[..most];
    let runs = steps.chunk_by(|a, b| {
        a.head().is_some() == b.head().is_some() && (a.head().is_none() || a.sequence == b.sequence)
    });
    let mut after_heads = false;
    for run in runs {
        let in_heads = run[0].head().is_some();
        let title = match (in_heads, after_heads) {
            (true, _) => "Each head",
            (false, false) => "From tokens to queries, keys and values",
            (false, true) => "The heads together",
        };
        after_heads = in_heads;
        let title = match run[0].sequence {
            Some(sequence) if scene.batch.is_some_and(|count| count > 1) => {
                format!("{title}, sequence {}", sequence + 1)
            }
            _ => title.to_owned(),
        };
        let rows = if in_heads { side_by_side(run) } else { one_by_one(run) };
        sections.push(Section { anchor: format!("part.{}", sections.len() + 1), title, rows });
    }
    sections
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
    let mut nav = String::from("<nav aria-label=\"Steps\">\n<ul>\n");
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
    let number = |id: StepId| numbers.get(&id.name).copied().unwrap_or(0);
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
            page.push_str(&format!("<h3 id=\"{}\">{}</h3>\n", row.anchor(), html(&sentence(&row.title()))));
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

/// With a capital letter first.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
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
