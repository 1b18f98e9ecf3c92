//! Tables of one side of a comparison: where its heads look, and how its steps lie in memory.

use std::io::{self, Write};

use super::compare::{Compared, Comparison, heading};
use super::grid::{Grid, Side};
use super::number::number;
use super::page::Layout;
use crate::ops::View;
use crate::plan::memory::{self, Kind};
use crate::plan::{Head, HeadStep};
use crate::trace::measure::{self, entropy_bits};
use crate::words::t;

/// Each head's weights, with the entropy of every distribution.
pub(super) fn weights(comparison: &Comparison<'_>, side: &Compared, out: &mut dyn Write) -> io::Result<()> {
    let page = &comparison.page;
    let heads = measure::weights(&side.trace, comparison.sequence);
    let keys = heads.first().map_or(0, View::ncols);
    for (head, value) in heads.iter().enumerate() {
        let even = number(libm::log2(keys as f64), page.digits);
        let (variant, head_number) = (side.variant, head + 1);
        let words = match keys {
            1 => t!(
                "%{variant} · attention weights of head %{head} · entropy in bits, of one key always 0",
                variant,
                head = head_number
            ),
            _ => t!(
                "%{variant} · attention weights of head %{head} · entropy in bits, even over all %{keys} keys is %{even}",
                variant,
                head = head_number,
                keys,
                even
            ),
        };
        heading(&words, page, out)?;
        let mut lines: Vec<Vec<String>> = Vec::new();
        for r in 0..value.nrows() {
            let mut line: Vec<String> = value.row(r).iter().map(|w| number(*w, page.digits)).collect();
            line.push(number(entropy_bits(value.row(r).iter().copied()), page.digits));
            lines.push(line);
        }
        let (askers, mut answers) = names_of_weights(comparison, side, head, value.shape());
        answers.push(t!("entropy"));
        let grid = match page.layout {
            Layout::Rows => Grid { rows: askers, columns: answers, cells: lines, ..Grid::default() },
            Layout::Columns => Grid {
                rows: answers,
                columns: askers,
                cells: (0..=keys).map(|c| lines.iter().map(|line| line[c].clone()).collect()).collect(),
                ..Grid::default()
            },
        };
        write!(out, "{}", grid.render(page))?;
    }
    Ok(())
}

/// What stands beside and above a head's weights: tokens, unless a mistake has put something else there.
fn names_of_weights(
    comparison: &Comparison<'_>,
    side: &Compared,
    head: usize,
    (rows, columns): (usize, usize),
) -> (Vec<String>, Vec<String>) {
    let id = Head(head).step(HeadStep::Weights).in_sequence(comparison.sequence);
    if let Some(step) = side.trace.plan().get(id) {
        return super::sheet::names(step, comparison.labels);
    }
    let name = |names: &[String], at: usize| names.get(at).cloned().unwrap_or_else(|| (at + 1).to_string());
    let all = |names: &[String], count: usize| (0..count).map(|at| name(names, at)).collect();
    (all(&comparison.labels.queries, rows), all(&comparison.labels.keys, columns))
}

/// Shape, strides and memory order of each step of production code.
pub(super) fn memory_table(
    comparison: &Comparison<'_>,
    variant: &Compared,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading(
        &t!("%{variant} · shape and memory order of each step", variant = variant.variant),
        &comparison.page,
        out,
    )?;
    let list = |numbers: &[usize]| {
        let texts: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        format!("({})", texts.join(", "))
    };
    let mut grid = Grid {
        columns: vec![t!("shape"), t!("strides"), t!("start"), t!("in memory"), t!("made by")],
        align: vec![Side::Left; 5],
        whole: true,
        ..Grid::default()
    };
    let plan = variant.trace.plan();
    let mut formulas = String::new();
    for (id, memory) in memory::of(plan) {
        if id.sequence.is_some() && id.sequence != comparison.sequence {
            continue;
        }
        // Sheets are heads; within them, and without them, rows come before the numbers of a row.
        let axes = match memory.dims.len() {
            3 => vec![t!("head"), t!("row"), t!("number")],
            _ => vec![t!("row"), t!("number")],
        };
        let order: Vec<String> =
            memory.order().into_iter().filter_map(|axis| axes.get(axis).cloned()).collect();
        grid.rows.push(id.name.to_string());
        grid.cells.push(vec![
            list(&memory.dims),
            list(&memory.strides),
            memory.start.to_string(),
            format!("{}{}", order.join("›"), if memory.contiguous() { String::new() } else { t!(", gaps") }),
            match memory.kind {
                Kind::Given => t!("given"),
                Kind::New => t!("computing"),
                Kind::View => t!("a view"),
                Kind::Copy => t!("a copy"),
            },
        ]);
        if let Some(step) = plan.get(id).filter(|step| !step.inputs.is_empty()) {
            let formula = plan.formula(step, Layout::Rows);
            formulas.push_str(&comparison.page.paragraph(
                &format!("{}{}{}", formula.equation, comparison.page.between(), formula.sizes),
                4,
            ));
        }
    }
    write!(out, "{}", grid.render(&comparison.page))?;
    let words = t!(
        "A token is a row here, and rows lie one after the other, as PyTorch and NumPy keep them; a stride is how many \
         numbers lie between neighbours along an axis, start is where the first one lies, and “in memory” names the axes \
         from the slowest to the fastest. Splitting into heads only swaps strides; merging them has to copy. Step by step:"
    );
    write!(out, "{}{formulas}", comparison.page.paragraph(&words, 0))
}
