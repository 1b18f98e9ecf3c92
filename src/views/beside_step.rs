//! One step of a right and of a wrong run: its formulas, and its numbers side by side.

use std::io::{self, Write};

use super::Scene;
use super::beside::{Beside, facing};
use super::look;
use super::number::{digits_for, number};
use super::page::{Detail, Page};
use super::sheet::Sheet;
use super::side_by_side::{self, Block};
use super::table::{self, INDENT};
use crate::mistakes::{Cells, Difference};
use crate::plan::StepId;
use crate::words::t;

/// A step of one of the runs.
struct Shown<'a> {
    /// What stands before its formula.
    word: String,
    /// What stands above its table: “right” over the left one would puzzle.
    caption: String,
    sheet: Sheet<'a>,
    formula: String,
    cost: String,
    size: String,
}

/// Writes what the page says of a step below its name.
pub(super) fn write(
    beside: &Beside<'_>,
    id: StepId,
    difference: &Difference,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (page, wrong) = (&beside.scene.page, beside.wrong());
    let sides: Vec<Shown<'_>> = [
        shown(t!("right"), t!("as it should be"), &beside.scene, id),
        shown(t!("wrong"), t!("with the mistake"), &wrong, id),
    ]
    .into_iter()
    .flatten()
    .collect();
    if page.detail != Detail::Bare {
        labelled(&sides, |side| &side.formula, page, out)?;
    }
    let digits = digits_for(sides.iter().flat_map(|side| side.sheet.numbers()), page.digits);
    let text = |side: &Shown<'_>, r: usize, c: usize| side.sheet.text(r, c, digits);
    let plain = |side: &Shown<'_>| table::laid_out(&side.sheet, page, |r, c| text(side, r, c)).render(page);
    match (difference, sides.as_slice()) {
        (Difference::None, [right, ..]) => {
            write!(out, "{}", plain(right))?;
            if page.detail != Detail::Bare {
                write!(out, "{}", page.paragraph(&t!("The same in both runs."), INDENT))?;
            }
        }
        (Difference::Cells(cells), [right, wrong]) => {
            let differs = |r, c| cells.differ(right.sheet.at(r, c), wrong.sheet.at(r, c));
            let ours = table::laid_out(&right.sheet, page, |r, c| match text(right, r, c) {
                number if differs(r, c) => look::right(&number),
                number => number,
            });
            let theirs = table::laid_out(&wrong.sheet, page, |r, c| match text(wrong, r, c) {
                number if differs(r, c) => look::wrong(&format!("*{number}")),
                number => number,
            });
            let block = |side: &Shown<'_>, text| Block { caption: side.caption.clone(), text };
            let blocks = [block(right, ours.render(page)), block(wrong, theirs.render(page))];
            write!(out, "{}", side_by_side::set(blocks, page))?;
            let looks_the_same = |r, c| differs(r, c) && text(right, r, c) == text(wrong, r, c);
            if page.detail != Detail::Bare {
                let hidden = any_cell(&right.sheet, looks_the_same);
                write!(out, "{}", page.paragraph(&how_much(cells, hidden, page), INDENT))?;
            }
        }
        (_, sides) => {
            let lacks = match difference {
                Difference::Missing => t!("; the wrong run has no such step"),
                Difference::Extra => t!("; the right run has no such step"),
                _ => String::new(),
            };
            for side in sides {
                write!(
                    out,
                    "{}",
                    page.paragraph(&format!("{}{}{}{lacks}", side.caption, t!(", "), side.size), 0)
                )?;
                write!(out, "{}", plain(side))?;
            }
        }
    }
    match page.detail {
        Detail::Counted => labelled(&sides, |side| &side.cost, page, out),
        _ => Ok(()),
    }
}

fn shown<'a>(word: String, caption: String, scene: &Scene<'a>, id: StepId) -> Option<Shown<'a>> {
    let (page, plan) = (&scene.page, scene.trace.plan());
    let step = plan.get(id)?;
    Some(Shown {
        word,
        caption,
        sheet: Sheet::new(step, scene.trace.get(id)?, scene.labels, page.layout),
        formula: table::formula(plan, step, page),
        cost: table::cost(scene, step),
        size: facing(step.shape, page),
    })
}

/// Says something of both runs: once where it is the same of both.
fn labelled<'a>(
    sides: &'a [Shown<'a>],
    text: impl Fn(&'a Shown<'a>) -> &'a str,
    page: &Page,
    out: &mut dyn Write,
) -> io::Result<()> {
    match sides {
        [right, wrong] if text(right) == text(wrong) => {
            write!(out, "{}", page.paragraph(text(right), INDENT))
        }
        sides => sides.iter().filter(|side| !text(side).is_empty()).try_for_each(|side| {
            write!(
                out,
                "{}",
                page.paragraph(&t!("%{word}: %{text}", word = side.word, text = text(side)), INDENT)
            )
        }),
    }
}

/// How many cells of a step differ, and by how much.
fn how_much(cells: &Cells, hidden: bool, page: &Page) -> String {
    let at_most = match cells.largest.is_finite() {
        true => t!(", by %{largest} at most", largest = number(cells.largest, page.digits)),
        false => String::new(),
    };
    let mut words = match cells.of {
        1 => t!("%{count} of 1 cells differs (*)%{at_most}.", count = cells.count, at_most),
        of => t!("%{count} of %{of} cells differ (*)%{at_most}.", count = cells.count, of, at_most),
    };
    if hidden {
        words.push_str(&t!(" Some look alike: they differ in digits that --precision shows."));
    }
    words
}

fn any_cell(sheet: &Sheet<'_>, is_so: impl Fn(usize, usize) -> bool) -> bool {
    let (rows, columns) = sheet.shape();
    (0..rows).any(|r| (0..columns).any(|c| is_so(r, c)))
}
