//! One step: its name, its formula, its table, and what is said of it.

use std::fmt::Write;
use std::io;

use super::Sheet;
use super::extent::Shown;
use super::shade::{self, is_shaded};
use super::text::lang;
use crate::fault::visible;
use crate::ops::View;
use crate::plan::{Axis, Step, StepId, names};
use crate::views::heat::panels::{self, Panel};
use crate::views::markup::html;
use crate::views::number::{digits_for, number};
use crate::views::page::{Detail, Layout, shorten};
use crate::views::table;
use crate::views::{Scene, sheet};
use crate::words::t;

/// Columns that a name takes beside a table.
const ROOM: usize = 24;

/// Adds a step to the page, under a heading of that level.
///
/// # Errors
/// Those of its picture.
pub(super) fn write(
    sheet: &Sheet<'_>,
    id: StepId,
    place: usize,
    level: u8,
    page: &mut String,
) -> io::Result<()> {
    let scene = sheet.scene();
    let (Some(step), Some(value)) = (scene.trace.plan().get(id), scene.trace.get(id)) else { return Ok(()) };
    let shown = sheet.extent.shown(step);
    let title = html(&names::title(id));
    page.push_str(&format!(
        "<article class=\"step\" id=\"{id}\" aria-labelledby=\"h.{id}\">\n<h{level} id=\"h.{id}\"><span class=\"place\">{place}</span> \
         <code>{id}</code> <span class=\"title\">{title}</span></h{level}>\n",
    ));
    if sheet.tells() {
        let formula = sheet.both(|scene| {
            let formula = scene.trace.plan().formula(step, scene.page.layout);
            let sizes = match formula.sizes.is_empty() {
                true => String::new(),
                false => format!(" <span class=\"sizes\">{}</span>", html(&formula.sizes)),
            };
            format!("{}{sizes}", html(&formula.equation))
        });
        page.push_str(&format!("<p class=\"formula\">{formula}</p>\n"));
    }
    let panel = panels::of_step(scene, id).filter(|_| is_shaded(id));
    table(sheet, step, value, panel.as_ref(), &shown, page);
    if let Some(panel) = &panel {
        let most = number(sheet.scale.most, scene.page.digits);
        // A query that sees one key gives it 1, beyond a scale made for those that have a choice.
        let most = match panel.numbers().any(|weight| *weight > sheet.scale.most) {
            true => t!("%{most} and more", most),
            false => most,
        };
        if !shown.is_whole() {
            picture(sheet, step, page)?;
        }
        page.push_str(&shade::legend(panel, &most));
    }
    if !shown.is_whole() {
        page.push_str(&format!("<p class=\"note\">{}</p>\n", html(&shown.note(step))));
    }
    if let Some(why) = sheet.scene().not_exact(step.id) {
        page.push_str(&format!("<p class=\"note\">Decimals: {}.</p>\n", html(why)));
    }
    if sheet.tells() {
        told(sheet, step, page);
    }
    page.push_str("</article>\n");
    Ok(())
}

/// What happened, in the operation's words and in the lesson's.
fn told(sheet: &Sheet<'_>, step: &Step, page: &mut String) {
    let [rows, columns] = &sheet.facing;
    let (rows, columns) = (table::words(rows, step), table::words(columns, step));
    for (row, column) in rows.iter().zip(&columns) {
        let (class, in_rows) = match row.strip_prefix("» ") {
            Some(story) => ("story", story),
            None => ("words", row.as_str()),
        };
        let in_columns = column.strip_prefix("» ").unwrap_or(column);
        let said = match in_rows == in_columns {
            true => html(in_rows),
            false => format!(
                "<span class=\"in-rows\">{}</span><span class=\"in-columns\">{}</span>",
                html(in_rows),
                html(in_columns)
            ),
        };
        page.push_str(&format!("<p class=\"{class}\"{}>{said}</p>\n", lang(in_rows)));
    }
    if sheet.scene().page.detail == Detail::Counted {
        page.push_str(&format!("<p class=\"cost\">{}</p>\n", html(&table::cost(sheet.scene(), step))));
    }
}

/// The numbers; the script finds rows and columns by their order.
fn table(
    sheet: &Sheet<'_>,
    step: &Step,
    value: View<'_, f64>,
    panel: Option<&Panel<'_>>,
    shown: &Shown,
    page: &mut String,
) {
    let scene = sheet.scene();
    let digits = digits_for(value.iter(), scene.page.digits);
    let turned = sheet.layout == Layout::Columns;
    let (rows, columns) = sheet::names(step, scene.labels);
    let name = |names: &[String], at: Option<usize>| {
        let name = at.map_or("…", |at| names.get(at).map_or("", String::as_str));
        html(&shorten(&visible(name), ROOM))
    };
    let cell = |row: Option<usize>, column: Option<usize>| {
        let (Some(row), Some(column)) = (row, column) else { return "<td class=\"gap\">…</td>".to_owned() };
        let value = value[(row, column)];
        let (down, across) = if turned { (column, row) } else { (row, column) };
        let class = match panel {
            Some(panel) => format!(" class=\"{}\"", shade::class(sheet.scale, panel.cell(down, across))),
            None if value == f64::NEG_INFINITY => " class=\"hidden-key\"".to_owned(),
            None => String::new(),
        };
        format!("<td{class}>{}</td>", html(&scene.cell(step.id, row, column, digits)))
    };
    let (down, across) = if turned { (&shown.columns, &shown.rows) } else { (&shown.rows, &shown.columns) };
    let (down_names, across_names) = if turned { (&columns, &rows) } else { (&rows, &columns) };
    let caption = sheet.both(|scene| {
        let turned = scene.page.layout == Layout::Columns;
        let (down, across) = if turned { (step.axes.1, step.axes.0) } else { step.axes };
        let (in_rows, in_columns) = (lines(down), lines(across));
        match (in_rows.as_str(), in_columns.as_str()) {
            ("", "") => String::new(),
            ("", one) | (one, "") => one.to_owned(),
            (down, across) => format!("{down} ↓ {across} →"),
        }
    });
    // Writing to a String does not fail.
    let _ = write!(
        page,
        "<div class=\"scroll\"><table data-step=\"{}\"><caption><span class=\"unseen\">{}: </span>{caption}</caption>\n<thead><tr><td></td>",
        step.id, step.id
    );
    for column in across {
        let _ = write!(page, "<th scope=\"col\">{}</th>", name(across_names, *column));
    }
    page.push_str("</tr></thead>\n<tbody>\n");
    for row in down {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", name(down_names, *row));
        for column in across {
            page.push_str(&if turned { cell(*column, *row) } else { cell(*row, *column) });
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</tbody></table></div>\n");
}

/// What the lines of a table are.
fn lines(axis: Axis) -> String {
    match axis {
        Axis::Queries | Axis::StackedQueries(_) => t!("queries"),
        Axis::Keys | Axis::KeysFrom(_) | Axis::StackedKeys(_) => t!("keys"),
        Axis::Features => t!("numbers"),
        Axis::State => t!("running state"),
        Axis::One => String::new(),
    }
}

/// All of a large matrix, at a glance.
fn picture(sheet: &Sheet<'_>, step: &Step, page: &mut String) -> io::Result<()> {
    let side = sheet.extent.picture;
    let points = |panel: &Panel<'_>| match panel.block() {
        (1, 1) => t!("a point a weight"),
        (tall, wide) => {
            t!("each point the largest of %{tall} × %{wide} weights", tall, wide)
        }
    };
    for (class, scene) in ["in-rows", "in-columns"].into_iter().zip(&sheet.facing) {
        let Some(panel) = thinned(scene, step.id, side) else { continue };
        let (queries, keys) = (t!("queries"), t!("keys"));
        let (down, across) = if class == "in-rows" { (queries, keys) } else { (keys, queries) };
        let alt = t!(
            "Heat map of %{step}: %{down} downwards, %{across} to the right, %{points}",
            step = step.id,
            down,
            across,
            points = points(&panel)
        );
        let address = shade::picture(sheet.scale, &panel)?;
        page.push_str(&format!("<img class=\"map {class}\" alt=\"{}\" src=\"{address}\">\n", html(&alt)));
    }
    let (rows, columns) = step.shape;
    let note =
        sheet.both(|scene| thinned(scene, step.id, side).map(|panel| points(&panel)).unwrap_or_default());
    let words = t!("All %{rows} × %{columns} weights: %{note}.", rows, columns, note);
    page.push_str(&format!("<p class=\"note\">{words}</p>\n"));
    Ok(())
}

/// A step with at most so many points on a side.
fn thinned<'a>(scene: &Scene<'a>, id: StepId, side: usize) -> Option<Panel<'a>> {
    let mut panel = panels::of_step(scene, id)?;
    panel.thin(side, side);
    Some(panel)
}
