//! Ablations for programs: JSON and CSV, every number in full.

use std::io::{self, Write};

use serde_json::{Value, json};

use super::ablate::{Forecast, OfLayer, Report};
use super::ablate_each::Ranking;
use super::json::figure;
use super::json_text::quiet;
use crate::ablate::change::Moved;
use crate::ablate::predicted::Prediction;
use crate::ablate::{Change, Contributions, Measured};
use crate::arrays::csv::escape;
use crate::plan::StepId;
use crate::plan::rewrites::HeadPlace;

/// `{"layer": 3, "head": 5, "name": "L2H4"}`, counted from 1 but in the name; without layers only the head.
fn head(place: HeadPlace) -> Value {
    match place.layer {
        Some(layer) => {
            json!({"layer": layer + 1, "head": place.head.0 + 1, "name": place.from_zero()})
        }
        None => json!({"head": place.head.0 + 1}),
    }
}

fn perhaps(value: Option<f64>) -> Value {
    value.map_or(Value::Null, figure)
}

fn moved(moved: &Moved) -> Value {
    json!({
        "norm": figure(moved.before),
        "change": figure(moved.change),
        "relative": perhaps(moved.relative()),
        "cosine": perhaps(moved.cosine),
    })
}

fn change(change: &Change) -> Value {
    json!({"all": moved(&change.all), "tokens": change.tokens.iter().map(moved).collect::<Vec<_>>()})
}

fn contributions(of: &Contributions) -> Value {
    json!({
        "heads": of.heads.iter().copied().map(figure).collect::<Vec<_>>(),
        "bias": perhaps(of.bias),
        "output": figure(of.output),
        "max_difference": figure(of.difference),
        "tolerance": figure(of.tolerance),
        "adds_up": of.add_up(),
    })
}

fn layer(of: &OfLayer) -> Value {
    let rows = |matrix: &nalgebra::DMatrix<f64>| -> Value {
        let row = |row: usize| matrix.row(row).iter().copied().map(figure).collect::<Vec<_>>();
        json!((0..matrix.nrows()).map(row).collect::<Vec<_>>())
    };
    let [before, after] = match &of.output {
        Some((_, [before, after])) => [rows(before), rows(after)],
        None => [Value::Null, Value::Null],
    };
    json!({
        "step": of.layer.output.to_string(),
        "contributions": of.contributions.as_ref().map(contributions),
        "change": change(&of.change),
        "before": before,
        "after": after,
    })
}

fn measured(measured: Measured) -> &'static str {
    match measured {
        Measured::Next => "next-token",
        Measured::Hidden => "masked-tokens",
        Measured::Seen => "tokens-as-they-stand",
    }
}

fn forecast(of: &Forecast<'_>) -> Value {
    let likely = |(id, p): &(u32, f64)| json!({"id": id, "token": (of.name)(*id), "p": figure(*p)});
    let top = |at: &Prediction| at.top.iter().map(likely).collect::<Vec<_>>();
    let at = |(before, after): (&Prediction, &Prediction)| {
        let target = before.target.zip(after.target).map(|((id, from), (_, to))| {
            json!({"id": id, "token": (of.name)(id), "p_before": figure(from), "p_after": figure(to)})
        });
        json!({"position": before.position + 1, "target": target, "before": top(before), "after": top(after)})
    };
    json!({
        "measured": measured(of.measured),
        "tokens": of.count,
        "loss_before": perhaps(of.before.loss),
        "loss_after": perhaps(of.after.loss),
        "at": of.before.at.iter().zip(&of.after.at).map(at).collect::<Vec<_>>(),
    })
}

/// Writes `{"mha": 1, "title", "with", "heads", "tokens", "layers", "last", "prediction"}`.
///
/// # Errors
/// Those of the writer.
pub fn write_json(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let heads: Vec<Value> = report.heads.iter().copied().map(head).collect();
    let last = report
        .last
        .as_ref()
        .map(|(step, moved): &(StepId, Change)| json!({"step": step.to_string(), "change": change(moved)}));
    let all = json!({
        "mha": 1,
        "title": report.title,
        "with": report.with.to_string(),
        "heads": heads,
        "tokens": report.labels.queries,
        "layers": report.layers.iter().map(layer).collect::<Vec<_>>(),
        "last": last,
        "prediction": report.prediction.as_ref().map(forecast),
    });
    writeln!(out, "{}", quiet(&all))
}

/// Writes `{"mha": 1, "title", "with", "loss", "measured", "heads": […]}`, the heads by rank.
///
/// # Errors
/// Those of the writer.
pub fn write_ranking_json(ranking: &Ranking<'_>, out: &mut dyn Write) -> io::Result<()> {
    let heads: Vec<Value> = ranking
        .heads
        .iter()
        .map(|ranked| {
            let mut line = head(ranked.place);
            line["output"] = perhaps(ranked.output);
            line["last"] = perhaps(ranked.last);
            line["cosine"] = perhaps(ranked.cosine);
            line["loss"] = perhaps(ranked.loss);
            line
        })
        .collect();
    let all = json!({
        "mha": 1,
        "title": ranking.title,
        "with": ranking.with.to_string(),
        "loss": perhaps(ranking.loss.map(|(loss, ..)| loss)),
        "measured": ranking.loss.map(|(_, what, _)| measured(what)),
        "heads": heads,
    });
    writeln!(out, "{}", quiet(&all))
}

fn text(value: Option<f64>) -> String {
    match value {
        None => String::new(),
        Some(value) => figure(value).to_string().trim_matches('"').to_owned(),
    }
}

/// Writes `step,token,name,norm,change,relative,cosine`, a line a token and one for all of them; tokens count from 1.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(["step", "token", "name", "norm", "change", "relative", "cosine"])?;
    let of_layers = report.layers.iter().map(|of| (of.layer.output, &of.change));
    for (step, change) in of_layers.chain(report.last.iter().map(|(step, change)| (*step, change))) {
        let all = std::iter::once(("all".to_owned(), String::new(), &change.all));
        let tokens = change.tokens.iter().enumerate().map(|(at, moved)| {
            let name = report.labels.queries.get(at).map(|name| escape(name)).unwrap_or_default();
            ((at + 1).to_string(), name.to_string(), moved)
        });
        for (token, name, moved) in tokens.chain(all) {
            table.write_record([
                step.to_string(),
                token,
                name,
                text(Some(moved.before)),
                text(Some(moved.change)),
                text(moved.relative()),
                text(moved.cosine),
            ])?;
        }
    }
    table.flush()
}

/// Writes `layer,head,name,output,last,cosine,loss`, a line a head, by rank; layers and heads count from 1, and in the name
/// from 0.
///
/// # Errors
/// Those of the writer.
pub fn write_ranking_csv(ranking: &Ranking<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = ::csv::Writer::from_writer(out);
    table.write_record(["layer", "head", "name", "output", "last", "cosine", "loss"])?;
    for ranked in ranking.heads {
        let place = ranked.place;
        table.write_record([
            place.layer.map_or_else(String::new, |layer| (layer + 1).to_string()),
            (place.head.0 + 1).to_string(),
            place.from_zero().unwrap_or_default(),
            text(ranked.output),
            text(ranked.last),
            text(ranked.cosine),
            text(ranked.loss),
        ])?;
    }
    table.flush()
}
