//! `mha heads` for programs: every number in full, as JSON and as CSV.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::heads::{Shown, threshold};
use super::json_text::quiet;
use crate::heads::role::QUERIES;
use crate::heads::survey::short_name;
use crate::heads::{HeadSurvey, Measure, Role, Tally, View};

/// Writes `{"mha": 1, "model", …, "heads": [{"layer": 1, "head": 1, "name": "L0H0", "types", "weights": {…}, "norms": {…}}], …}`;
/// layers, heads, texts and tokens count from 1.
///
/// # Errors
/// Those of the writer.
pub fn write(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    let survey = shown.survey;
    let heads: Vec<Value> =
        shown.listed.iter().filter_map(|(layer, head)| one(shown, *layer, *head)).collect();
    let even: Vec<Value> = survey.layers.iter().map(|layer| measured(&layer.even)).collect();
    let measures: Vec<Value> = Measure::ALL
        .into_iter()
        .map(|of| {
            json!({"name": of.name(), "formula": of.formula(), "meaning": of.meaning(), "queries": of.counted()})
        })
        .collect();
    let types: Vec<Value> = Role::ALL
        .into_iter()
        .map(|role| json!({"name": role.name(), "meaning": role.meaning(), "from": threshold(role)}))
        .collect();
    let claims: Vec<Value> = shown
        .claims
        .iter()
        .map(|of| json!({"source": of.source, "claim": of.claim, "here": of.here, "sample": of.sample}))
        .collect();
    let skipped: Vec<Value> =
        shown.skipped.iter().map(|(line, why)| json!({"line": line, "why": why})).collect();
    let report = json!({
        "mha": 1,
        "model": survey.model,
        "family": survey.family,
        "causal": survey.is_causal,
        "layers": survey.layers.len(),
        "texts": survey.texts,
        "tokens": survey.tokens,
        "skipped": skipped,
        "norms_of": if survey.has_output_projection { "weight · ‖value · W_O‖" } else { "weight · ‖value‖" },
        "types_of": match shown.view { View::Weights => "weights", View::Norms => "norms" },
        "heads": heads,
        "even": even,
        "measures": measures,
        "types": types,
        "least_queries": QUERIES,
        "claims": claims,
    });
    writeln!(out, "{}", quiet(&report))
}

fn one(shown: &Shown<'_>, layer: usize, head: usize) -> Option<Value> {
    let of = shown.head(layer, head)?;
    let types: Vec<&str> = shown.roles(layer, head).into_iter().map(Role::name).collect();
    let peak = of.peak.as_ref().map(|peak| {
        let [text, query, key] = peak.place.map(|at| at + 1);
        json!({"weight": peak.weight, "text": text, "query": query, "key": key, "tokens": peak.tokens})
    });
    Some(json!({
        "layer": layer + 1,
        "head": head + 1,
        "name": short_name(layer, head),
        "types": types,
        "weights": measured(&of.weights),
        "norms": measured(&of.norms),
        "queries": counted(&of.weights),
        "strongest": peak,
    }))
}

fn measured(tally: &Tally) -> Value {
    let value = |measure: Measure| (measure.name().to_owned(), json!(tally.mean(measure)));
    Value::Object(Measure::ALL.into_iter().map(value).collect::<Map<_, _>>())
}

/// How many queries each share is a mean of.
fn counted(tally: &Tally) -> Value {
    let value = |measure: Measure| (measure.name().to_owned(), json!(tally.queries(measure)));
    Value::Object(Measure::ALL.into_iter().map(value).collect::<Map<_, _>>())
}

/// Writes one line a head, first by weights, then by norms; empty where no query counts.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(shown: &Shown<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = csv::Writer::from_writer(out);
    let measures = Measure::ALL.map(|measure| measure.name().to_owned());
    let norms = Measure::ALL.map(|measure| format!("norms_{}", measure.name()));
    let first = ["layer", "head", "name", "types"].map(String::from);
    lines.write_record(first.iter().chain(&measures).chain(&norms))?;
    let row = |of: &HeadSurvey, view: View| {
        let mean =
            |measure: Measure| of.tally(view).mean(measure).map_or_else(String::new, |mean| mean.to_string());
        Measure::ALL.map(mean)
    };
    for (layer, head) in &shown.listed {
        let Some(of) = shown.head(*layer, *head) else { continue };
        let types: Vec<&str> = shown.roles(*layer, *head).into_iter().map(Role::name).collect();
        let name =
            [(layer + 1).to_string(), (head + 1).to_string(), short_name(*layer, *head), types.join(" ")];
        let (weights, norms) = (row(of, View::Weights), row(of, View::Norms));
        lines.write_record(name.iter().chain(&weights).chain(&norms))?;
    }
    lines.flush()
}
