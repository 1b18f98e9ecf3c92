//! `mha params --format csv`: one line a figure, or one line a value of the sweep.

use std::io::{self, Write};

use super::grid::Side;
use super::part::{self, Table};
use crate::fault::{Fault, Outcome, nearest};
use crate::params::report::Report;
use crate::params::sweep::Sweep;
use crate::params::{Figure, Key};

/// The report, or its sweep where there is one.
///
/// # Errors
/// The writer fails.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut lines = Lines(csv::Writer::from_writer(out));
    match &report.sweep {
        Some(sweep) => lines.sweep(sweep)?,
        None => lines.report(report)?,
    }
    lines.0.flush()
}

/// The lines as a table of GitHub's Markdown.
///
/// # Errors
/// Never: the lines are made in memory.
pub fn markdown(report: &Report) -> io::Result<String> {
    let mut table =
        Table::new("name", &[("formula", Side::Left), ("factors", Side::Left), ("value", Side::Right)]);
    for record in records(report)? {
        if let [_, name, formula, factors, value] = &record[..] {
            table.row(name.clone(), vec![formula.clone(), factors.clone(), value.clone()]);
        }
    }
    Ok(part::markdown(&[part::Part::Table(table)]))
}

/// The figures of this name, or of this section (`multiplications`), or all of them, with formulas and the numbers put in.
/// Where two sections have figures of one name, the section stands beside it.
///
/// # Errors
/// There is none of this name.
pub fn explained(report: &Report, id: &str) -> Outcome<String> {
    let records = records(report).unwrap_or_default();
    let tidy = |name: &str| {
        let words: Vec<String> = name
            .split(|c: char| !c.is_alphanumeric() && c != '·')
            .filter(|w| !w.is_empty())
            .map(str::to_lowercase)
            .collect();
        words.join("_")
    };
    // the names that the same figures have in the report of a whole model
    let id = match tidy(id).as_str() {
        "kv_cache" => "KV cache bytes",
        "kv_cache_per_token" => "KV cache bytes per token",
        "total_parameters" | "parameters" | "attention_parameters" => "all layers without biases",
        _ => id,
    };
    let mut text = String::new();
    let is_shared = |name: &str| {
        records.iter().filter(|record| record.get(1).is_some_and(|other| other == name)).count() > 1
    };
    for record in &records {
        if let [section, name, formula, factors, value] = &record[..]
            && (id == "all" || tidy(name) == tidy(id) || tidy(section) == tidy(id))
        {
            let how = if formula.is_empty() { String::new() } else { format!("{formula} = {factors} = ") };
            let of = if is_shared(name) { format!(" ({section})") } else { String::new() };
            text.push_str(&format!("{name}{of} = {how}{value}\n"));
        }
    }
    if text.is_empty() {
        let mut names: Vec<String> = Vec::new();
        for name in records.iter().filter_map(|record| record.get(1).map(|name| tidy(name))) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let shown: String = id.chars().take(40).collect();
        let near = nearest(&tidy(&shown), names.iter().map(String::as_str)).unwrap_or("all");
        let why = format!("these are: {}", names.join(", "));
        return Err(Fault::new(
            format!("no figure is called {shown}"),
            why,
            format!("write --explain {near}"),
        )
        .in_source("--explain")
        .into());
    }
    Ok(text)
}

/// The lines of the report, without their head.
fn records(report: &Report) -> io::Result<Vec<Vec<String>>> {
    let mut bytes = Vec::new();
    let mut lines = Lines(csv::Writer::from_writer(&mut bytes));
    lines.report(report)?;
    lines.0.flush()?;
    drop(lines);
    let mut reader = csv::Reader::from_reader(&bytes[..]);
    Ok(reader
        .records()
        .filter_map(Result::ok)
        .map(|record| record.iter().map(String::from).collect())
        .collect())
}

struct Lines<W: Write>(csv::Writer<W>);

impl<W: Write> Lines<W> {
    fn report(&mut self, report: &Report) -> io::Result<()> {
        self.0.write_record(["section", "name", "formula", "factors", "value"])?;
        for (key, value, _) in &report.shape.sizes {
            self.line("config", key.name(), "", "", *value)?;
        }
        for matrix in &report.parameters.matrices {
            self.figure("parameters", matrix.name, &matrix.count)?;
        }
        let parameters = &report.parameters;
        self.line("parameters", "one layer without biases", "", "", parameters.without_biases)?;
        self.line("parameters", "one layer with biases", "", "", parameters.with_biases)?;
        self.line(
            "parameters",
            "one layer, single head, without biases",
            "",
            "",
            parameters.single_head_total,
        )?;
        self.figure("parameters", "all layers without biases", &parameters.all_without_biases)?;
        self.figure("parameters", "all layers with biases", &parameters.all_with_biases)?;
        self.work(report)?;
        let memory = &report.memory;
        for (dtype, bytes) in &memory.parameters {
            self.figure("memory", &format!("parameter bytes in {dtype}"), bytes)?;
        }
        self.figure("memory", "score bytes of one layer", &memory.scores)?;
        self.figure("memory", "KV cache bytes per token", &memory.cache_per_token)?;
        self.figure("memory", "KV cache bytes", &memory.cache)?;
        for row in &report.sharing {
            let name = format!("num_kv_heads {}", row.num_kv_heads);
            self.line(
                "sharing",
                &format!("{name}: parameters of one layer"),
                "",
                "",
                row.parameters_per_layer,
            )?;
            self.line("sharing", &format!("{name}: KV cache bytes per token"), "", "", row.cache_per_token)?;
        }
        Ok(())
    }

    fn work(&mut self, report: &Report) -> io::Result<()> {
        let compute = &report.compute;
        for (product, _) in &compute.products {
            self.figure("multiplications", product.name, &product.count)?;
        }
        self.line("multiplications", "one layer", "", "", compute.multiplications)?;
        self.line("multiplications", "all layers", "", "", compute.multiplications_of_all_layers)?;
        for (product, single) in &compute.products {
            self.line("multiplications of a single head", product.name, "", "", *single)?;
        }
        self.line(
            "multiplications of a single head",
            "one layer",
            "",
            "",
            compute.single_head_multiplications,
        )?;
        self.figure("exponentials", "one layer", &compute.exponentials)?;
        self.line("exponentials of a single head", "one layer", "", "", compute.single_head_exponentials)
    }

    fn sweep(&mut self, sweep: &Sweep) -> io::Result<()> {
        self.0.write_record([
            sweep.key.name(),
            "d_k",
            "parameters_per_layer",
            "parameters",
            "multiplications_per_layer",
            "multiplications",
            "exponentials_per_layer",
            "exponentials",
            "kv_cache_bytes_per_token",
            "kv_cache_bytes",
            "bleu",
            "perplexity",
        ])?;
        for row in &sweep.rows {
            let counts = [
                row.value,
                row.shape.layer.d_k,
                row.parameters_per_layer,
                row.parameters,
                row.multiplications_per_layer,
                row.multiplications,
                row.exponentials_per_layer,
                row.exponentials,
                row.kv_cache_bytes_per_token,
                row.kv_cache_bytes,
            ];
            let measured = row.measured.filter(|_| sweep.key == Key::NumHeads);
            let bleu = measured.map_or(String::new(), |found| format!("{:.1}", found.bleu));
            let perplexity = measured.map_or(String::new(), |found| format!("{:.2}", found.perplexity));
            self.0.write_record(counts.iter().map(u64::to_string).chain([bleu, perplexity]))?;
        }
        Ok(())
    }

    fn figure(&mut self, section: &str, name: &str, figure: &Figure) -> io::Result<()> {
        self.line(section, name, &figure.formula, &figure.factors, figure.value)
    }

    fn line(
        &mut self,
        section: &str,
        name: &str,
        formula: &str,
        factors: &str,
        value: u64,
    ) -> io::Result<()> {
        self.0.write_record([section, name, formula, factors, &value.to_string()])?;
        Ok(())
    }
}
