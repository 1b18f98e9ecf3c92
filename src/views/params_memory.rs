//! The second half of the page of `mha params`: memory, sharing, sweep.

use super::grid::Side;
use super::model_work::bar;
use super::number::rounded_bytes;
use super::params::{Sheet, all, count};
use crate::params::report::{Memory, Report};
use crate::params::sweep::{Column, MEASURED_IN, Sweep};
use crate::params::{Figure, Key, Kind};

/// `12 KiB`.
fn size(value: u64) -> String {
    rounded_bytes(value.into())
}

/// Section 4: bytes of parameters, scores and cache.
pub(super) fn memory(sheet: &mut Sheet, report: &Report) {
    let Memory { parameters, score_dtype, scores, scores_of_all_layers, cache_per_token, cache } =
        &report.memory;
    let shape = &report.shape;
    sheet.title("4. Memory");
    let caption = format!("Parameters of {}: numbers × bytes each", all(shape.layers));
    sheet.text.push_str(&sheet.page.paragraph(&caption, 0));
    let rows = parameters.iter().map(|(dtype, figure)| {
        let chosen = if *dtype == report.dtype { " (chosen)" } else { "" };
        let cells = vec![figure.factors.replace('·', " × "), count(figure.value), size(figure.value)];
        (format!("{dtype}{chosen}"), cells)
    });
    let columns = [("factors", Side::Left), ("bytes", Side::Right), ("size", Side::Right)];
    sheet.table("dtype", &columns, rows.collect());
    let columns =
        [("formula", Side::Left), ("factors", Side::Left), ("bytes", Side::Right), ("size", Side::Right)];
    let row = |name: &str, figure: &Figure| {
        let Figure { formula, factors, value } = figure;
        (name.to_owned(), vec![formula.clone(), factors.clone(), count(*value), size(*value)])
    };
    let every = Figure {
        formula: "layers·above".into(),
        factors: format!("{}·{}", shape.layers, scores.value),
        value: *scores_of_all_layers,
    };
    sheet
        .text
        .push_str(&sheet.page.paragraph(&format!("Score matrices in {score_dtype}, where they are kept"), 0));
    let mut rows = vec![row("one layer", scores)];
    if shape.layers > 1 {
        rows.push(row("all layers", &every));
    }
    sheet.table("", &columns, rows);
    sheet.say("Running a model needs one layer's at a time; training without recomputation keeps all.");
    let caption = format!("KV cache of {} in {}", all(shape.layers), report.kv_dtype);
    sheet.text.push_str(&sheet.page.paragraph(&caption, 0));
    sheet.table("", &columns, vec![row("a token", cache_per_token), row("all", cache)]);
    let sequences =
        if shape.batch == 1 { "1 sequence".into() } else { format!("{} sequences", count(shape.batch)) };
    sheet.say(&format!(
        "All: {sequences} of {} tokens (--batch, --seq-len, --kv-dtype).",
        count(shape.seq_len)
    ));
}

/// Section 5: the same layer with other numbers of key/value heads.
pub(super) fn sharing(sheet: &mut Sheet, report: &Report) {
    let layer = &report.shape.layer;
    sheet.title("5. Sharing keys and values: MHA, GQA, MQA");
    let h = layer.num_heads;
    let rows = report.sharing.iter().map(|row| {
        let this = if row.is_this_layer { " (this)" } else { "" };
        let ratio = match row.times_smaller {
            1 => format!("{}/{h} = 1", row.num_kv_heads),
            times => format!("{}/{h} = 1/{times}", row.num_kv_heads),
        };
        let cells = vec![
            row.num_kv_heads.to_string(),
            count(row.parameters_per_layer),
            count(row.cache_per_token),
            ratio,
        ];
        (format!("{}{this}", row.kind.short()), cells)
    });
    let columns = [
        ("g", Side::Right),
        ("parameters a layer", Side::Right),
        ("cache bytes a token", Side::Right),
        ("g/h", Side::Right),
    ];
    sheet.table("", &columns, rows.collect());
    let shared = h / layer.num_kv_heads;
    sheet.say(&match layer.kind() {
        Kind::SingleHead => "One head has nothing to share.".to_owned(),
        Kind::MultiHead => "The cache shrinks as g/h; the products Q·Kᵀ and A·V do not.".to_owned(),
        Kind::GroupedQuery | Kind::MultiQuery => {
            format!(
                "This layer's cache is {shared}× smaller than with keys and values for each of the {h} heads."
            )
        }
    });
    if h > 1 {
        sheet.say(
            "A trained multi-head layer becomes a grouped one by averaging the key and value heads of each group, \
             and some more training (Ainslie et al. 2023); g = 1 is Shazeer 2019.",
        );
    }
}

/// Section 6: one row a value, and what did not change.
pub(super) fn swept(sheet: &mut Sheet, report: &Report, sweep: &Sweep) {
    let key = sweep.key;
    sheet.title(&format!("6. Sweep over {}", key.name()));
    let layers = all(report.shape.layers);
    sheet.say(&match key {
        Key::Layers => "Everything counts all layers.".to_owned(),
        _ => format!(
            "Parameters, multiplications and exponentials of one layer; KV cache of {layers}, {}.",
            report.kv_dtype
        ),
    });
    // plotted beside: the figure that the sweep is about, if it changes
    let changes = |column: &Column| !sweep.unchanged.iter().any(|(same, _)| same == column);
    let about = match key {
        Key::NumHeads => [Column::Exponentials, Column::DK],
        Key::NumKvHeads => [Column::KvCache, Column::Parameters],
        _ => [Column::Multiplications, Column::Parameters],
    };
    let plotted = about.into_iter().find(|column| sweep.rows.len() > 1 && changes(column));
    let most =
        plotted.and_then(|column| sweep.rows.iter().map(|row| column.of(row, key)).max()).unwrap_or(1).max(1);
    let rows = sweep.rows.iter().map(|row| {
        let mut cells: Vec<String> = Column::ALL.iter().map(|column| count(column.of(row, key))).collect();
        cells.extend(plotted.map(|column| bar(column.of(row, key) as f64 / most as f64, 16)));
        (count(row.value), cells)
    });
    let mut columns = Column::ALL.map(|column| (column.name(), Side::Right)).to_vec();
    columns.extend(plotted.map(|column| (column.name(), Side::Left)));
    sheet.table(key.symbol(), &columns, rows.collect());
    for (column, value) in &sweep.unchanged {
        let why = match column.why_unchanged(key) {
            "" => String::new(),
            why => format!(": {why}"),
        };
        let value = count(*value);
        let what = match column {
            Column::DK => format!("d_k is {value}"),
            Column::Parameters => format!("Parameters are {value}"),
            Column::Multiplications => format!("Multiplications are {value}"),
            Column::Exponentials => format!("Exponentials are {value}"),
            Column::KvCache => format!("The KV cache is {value} bytes"),
        };
        sheet.say(&format!("{what} in every row{why}."));
    }
    measured(sheet, sweep);
}

/// What the paper measured at these sizes, in a sweep over heads.
fn measured(sheet: &mut Sheet, sweep: &Sweep) {
    let rows: Vec<_> = sweep
        .rows
        .iter()
        .filter_map(|row| row.measured)
        .map(|found| {
            let cells =
                vec![found.d_k.to_string(), format!("{:.1}", found.bleu), format!("{:.2}", found.perplexity)];
            (found.num_heads.to_string(), cells)
        })
        .collect();
    if sweep.key != Key::NumHeads || rows.is_empty() {
        return;
    }
    sheet.text.push('\n');
    let caption = format!("What heads buy: {MEASURED_IN}, English to German, newstest2013");
    sheet.text.push_str(&sheet.page.paragraph(&caption, 0));
    let columns = [("d_k", Side::Right), ("BLEU", Side::Right), ("perplexity", Side::Right)];
    sheet.table("h", &columns, rows);
    sheet.say(
        "The paper's base model with other numbers of heads: one head is 0.9 BLEU below the best, and too many are \
         worse again.",
    );
}
