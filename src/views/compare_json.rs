//! A comparison as JSON: figures, steps and differences of every variant, every number in full.

use std::io::{self, Write};

use serde_json::json;

use super::compare::{Compared, Comparison};
use super::json::{config, figure};
use super::json_text::quiet;
use super::sheet::Sheet;
use crate::ops::View;
use crate::plan::Step;
use crate::trace::measure;

/// Writes `{"mha": 1, "title", "variants": […], "differences": […]}`.
///
/// # Errors
/// Those of the writer.
pub fn write(comparison: &Comparison<'_>, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{{\"mha\": 1, \"title\": {}, \"variants\": [", quiet(&json!(comparison.title)))?;
    for (index, side) in comparison.sides.iter().enumerate() {
        write!(out, "{}\n ", if index == 0 { "" } else { "," })?;
        write_side(comparison, side, out)?;
    }
    let differences: Vec<_> =
        comparison.sides.iter().skip(1).map(|side| difference(comparison, side)).collect();
    writeln!(out, "\n], \"differences\": {}}}", json!(differences))
}

fn write_side(comparison: &Comparison<'_>, side: &Compared, out: &mut dyn Write) -> io::Result<()> {
    let figures = &side.figures;
    let entropies: Vec<Vec<_>> =
        figures.entropies.iter().map(|head| head.iter().copied().map(figure).collect()).collect();
    // u128 counts of anything that fits in memory fit a u64; JSON numbers end there.
    let count = |count: u128| json!(u64::try_from(count).unwrap_or(u64::MAX));
    write!(
        out,
        "{{\"name\": {}, \"meaning\": {}, \"config\": {}, \"distributions\": {}, \"parameters\": {}, \
         \"multiplications\": {}, \"exponentials\": {}, \"kv_cache_numbers_per_token\": {}, \"entropy_bits\": {}, \
         \"steps\": [",
        json!(side.variant.to_string()),
        json!(side.variant.meaning()),
        config(&side.call.attention),
        figures.distributions,
        count(figures.parameters),
        count(figures.cost.multiplications),
        count(figures.cost.exponentials),
        count(figures.cached_per_token),
        json!(entropies),
    )?;
    let shown = |(step, _): &(&Step, View<'_, f64>)| {
        step.id.sequence.is_none() || step.id.sequence == comparison.sequence
    };
    for (index, (step, value)) in side.trace.steps().filter(shown).enumerate() {
        write!(out, "{}\n  ", if index == 0 { "" } else { "," })?;
        let sheet = Sheet::new(step, value, comparison.labels, comparison.page.layout);
        super::json::write_step(side.trace.plan(), step, &sheet, comparison.page.layout, out)?;
    }
    write!(out, "\n ]}}")
}

fn difference(comparison: &Comparison<'_>, side: &Compared) -> serde_json::Value {
    let first = &comparison.sides[0];
    let both = first.result(comparison.sequence).zip(side.result(comparison.sequence));
    let largest = both.and_then(|((_, from), (_, to))| measure::largest_difference(&from, &to));
    let names = (first.variant.to_string(), side.variant.to_string());
    match largest {
        Some((value, row, column)) => {
            json!({"from": names.0, "to": names.1, "max_difference": figure(value), "at": [row + 1, column + 1]})
        }
        None => json!({"from": names.0, "to": names.1, "max_difference": null, "at": null}),
    }
}
