//! The lists of `mha params --list`: models that have a name, and types that configs can have.

use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::grid::Side::{Left, Right};
use super::json_text::pretty;
use super::number::grouped;
use super::page::Page;
use super::params::Words;
use super::part::{self, Part, Table};
use crate::fault::{Outcome, visible};
use crate::params::architecture::presets::{self as models, Preset};
use crate::params::architecture::{self, Asked};
use crate::params::presets as layers;
use crate::words::t;

/// A list with what it is about.
#[derive(Debug, Clone)]
pub struct Listed {
    key: &'static str,
    title: String,
    tables: Vec<(String, Table)>,
}

/// The models whose name, type or class holds a word.
///
/// # Errors
/// None does.
pub fn models(word: &str) -> Outcome<Listed> {
    let columns = [
        (&*t!("parameters"), Right),
        ("d_model", Right),
        ("h", Right),
        ("g", Right),
        ("d_k", Right),
        (&*t!("layers"), Right),
        (&*t!("class"), Left),
    ];
    let mut table = Table::new(&t!("model"), &columns);
    for preset in models::search(word) {
        table.row(preset.name, cells(&preset));
    }
    let mut tables = Vec::new();
    if !table.rows.is_empty() {
        tables.push((t!("Whole models"), table));
    }
    let named = |name: &str| models::find(name).is_some();
    let columns = [("d_model", Right), ("h", Right), ("g", Right), ("d_k", Right), (&*t!("layers"), Right)];
    let mut table = Table::new(&t!("layers of"), &columns);
    for preset in layers::search(word).unwrap_or_default().into_iter().filter(|preset| !named(preset.name)) {
        let g = preset.num_kv_heads.unwrap_or(preset.num_heads);
        let d_k = preset.d_k.unwrap_or(preset.d_model / preset.num_heads);
        let numbers = [preset.d_model, preset.num_heads, g, d_k, preset.layers];
        table.row(preset.name, numbers.iter().map(u64::to_string).collect());
    }
    if !table.rows.is_empty() {
        tables.push((t!("Attention layers only"), table));
    }
    if tables.is_empty() {
        return models::unknown(word, &[]);
    }
    let title = match word {
        "" => t!("Models that have a name"),
        word => t!("Models whose name, type or class has “%{word}” in it", word),
    };
    Ok(Listed { key: "presets", title, tables })
}

fn cells(preset: &Preset) -> Vec<String> {
    let Ok(model) = architecture::build(&preset.config, &Asked::default()) else {
        return vec![String::new(); 7];
    };
    let number = |count: Option<u64>| count.map_or("–".to_owned(), |count| count.to_string());
    let range = |of: fn(&architecture::Attention) -> u64| {
        let all = model.attention.iter().map(of);
        match (all.clone().min(), all.max()) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (Some(least), Some(most)) => format!("{least}–{most}"),
            _ => "–".to_owned(),
        }
    };
    let layers: Vec<String> = model.stacks.iter().map(|stack| stack.layers.to_string()).collect();
    vec![
        model.parameters().map_or(String::new(), |count| grouped(count.into())),
        number(model.d_model),
        range(|attention| attention.num_heads.value()),
        range(|attention| attention.num_kv_heads.value()),
        range(|attention| attention.d_k.value()),
        layers.join(" + "),
        model.class.clone(),
    ]
}

/// The types that configs can have.
pub fn families() -> Listed {
    let mut types = architecture::known_types();
    types.sort_unstable();
    let mut table = Table::new("model_type", &[(&t!("classes (--class)"), Left)]);
    for name in types {
        table.row(name, vec![architecture::kinds_of(name).join(", ")]);
    }
    let title = t!("Types that configs can have, and the classes of each");
    Listed { key: "families", title, tables: vec![(String::new(), table)] }
}

impl Listed {
    fn parts(&self) -> Vec<Part> {
        let several = self.tables.len() > 1;
        let part = |(caption, table): &(String, Table)| {
            let caption = several.then(|| Part::Caption(caption.clone()));
            caption.into_iter().chain([Part::Table(table.clone())])
        };
        let title = Part::Title(visible(&self.title));
        std::iter::once(title).chain(self.tables.iter().flat_map(part)).collect()
    }

    /// The tables; ends with a line break.
    pub fn page(&self, page: &Page) -> String {
        part::terminal(&self.parts(), page, Words::Few)
    }

    /// The same as Markdown.
    pub fn markdown(&self) -> String {
        part::markdown(&self.parts())
    }

    /// One object a row.
    ///
    /// # Errors
    /// The writer fails.
    pub fn json(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut objects = Vec::new();
        for (_, table) in &self.tables {
            for (name, cells) in &table.rows {
                let mut object = Map::new();
                object.insert("name".into(), name.as_str().into());
                for ((column, _), cell) in table.columns.iter().zip(cells) {
                    let number = cell.replace(',', "").parse::<u64>();
                    object.insert(
                        column.clone(),
                        number.map_or_else(|_| Value::from(cell.as_str()), Value::from),
                    );
                }
                objects.push(Value::Object(object));
            }
        }
        writeln!(out, "{}", pretty(&json!({"mha": 1, self.key: objects})))
    }

    /// One line a row under a line of names.
    ///
    /// # Errors
    /// The writer fails.
    pub fn csv(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut lines = csv::WriterBuilder::new().flexible(true).from_writer(out);
        for (_, table) in &self.tables {
            lines.write_record(
                std::iter::once(&table.corner).chain(table.columns.iter().map(|(name, _)| name)),
            )?;
            for (name, cells) in &table.rows {
                let cells = cells.iter().map(|cell| match cell.replace(',', "").parse::<u64>() {
                    Ok(number) => number.to_string(),
                    Err(_) => cell.clone(),
                });
                lines.write_record(std::iter::once(name.clone()).chain(cells))?;
            }
        }
        lines.flush()
    }
}
