//! The second half of the page of `mha params`: memory, sharing, sweep.

use super::grid::Side;
use super::model_work::bar;
use super::number::rounded_bytes;
use super::params::{Sheet, all, count};
use crate::params::report::{Memory, Report};
use crate::params::sweep::{Column, MEASURED_IN, Sweep};
use crate::params::{Figure, Key, Kind};
use crate::words::{self, say, t};

/// `12 KiB`.
fn size(value: u64) -> String {
    rounded_bytes(value.into())
}

/// Section 4: bytes of parameters, scores and cache.
pub(super) fn memory(sheet: &mut Sheet, report: &Report) {
    let Memory { parameters, score_dtype, scores, scores_of_all_layers, cache_per_token, cache } =
        &report.memory;
    let shape = &report.shape;
    sheet.heading(&t!("4. Memory"));
    let caption = t!("Parameters of %{layers}: numbers × bytes each", layers = all(shape.layers));
    sheet.caption(&caption);
    let rows = parameters.iter().map(|(dtype, figure)| {
        let chosen = if *dtype == report.dtype { t!(" (chosen)") } else { String::new() };
        let cells = vec![figure.factors.replace('·', " × "), count(figure.value), size(figure.value)];
        (format!("{dtype}{chosen}"), cells)
    });
    let (formula, factors, bytes, in_short) = (t!("formula"), t!("factors"), t!("bytes"), t!("size"));
    let columns = [(&*factors, Side::Left), (&*bytes, Side::Right), (&*in_short, Side::Right)];
    sheet.table("dtype", &columns, rows.collect());
    let columns =
        [(&*formula, Side::Left), (&*factors, Side::Left), (&*bytes, Side::Right), (&*in_short, Side::Right)];
    let row = |name: &str, figure: &Figure| {
        let Figure { formula, factors, value } = figure;
        (name.to_owned(), vec![formula.clone(), factors.clone(), count(*value), size(*value)])
    };
    let every = Figure {
        formula: t!("layers·above"),
        factors: format!("{}·{}", shape.layers, scores.value),
        value: *scores_of_all_layers,
    };
    sheet.caption(&t!("Score matrices in %{dtype}, where they are kept", dtype = score_dtype));
    let mut rows = vec![row(&t!("one layer"), scores)];
    if shape.layers > 1 {
        rows.push(row(&t!("all layers"), &every));
    }
    sheet.table("", &columns, rows);
    sheet.say(&t!("Running a model needs one layer's at a time; training without recomputation keeps all."));
    let caption =
        t!("KV cache of %{layers} in %{dtype}", layers = all(shape.layers), dtype = report.kv_dtype);
    sheet.caption(&caption);
    sheet.table("", &columns, vec![row(&t!("a token"), cache_per_token), row(&t!("all"), cache)]);
    let sequences = match shape.batch {
        1 => t!("1 sequence"),
        batch => t!("%{batch} sequences", batch = count(batch)),
    };
    sheet.say(&t!(
        "All: %{sequences} of %{tokens} (--batch, --seq-len, --kv-dtype).",
        sequences,
        tokens = words::tokens(count(shape.seq_len))
    ));
}

/// Section 5: the same layer with other numbers of key/value heads.
pub(super) fn sharing(sheet: &mut Sheet, report: &Report) {
    let layer = &report.shape.layer;
    sheet.heading(&t!("5. Sharing keys and values: MHA, GQA, MQA"));
    let h = layer.num_heads;
    let rows = report.sharing.iter().map(|row| {
        let this = if row.is_this_layer { t!(" (this)") } else { String::new() };
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
        (format!("{}{this}", say(row.kind.short())), cells)
    });
    let columns = [
        ("g", Side::Right),
        (&*t!("parameters a layer"), Side::Right),
        (&*t!("cache bytes a token"), Side::Right),
        ("g/h", Side::Right),
    ];
    sheet.table("", &columns, rows.collect());
    let shared = h / layer.num_kv_heads;
    sheet.say(&match layer.kind() {
        Kind::SingleHead => t!("One head has nothing to share."),
        Kind::MultiHead => t!("The cache shrinks as g/h; the products Q·Kᵀ and A·V do not."),
        Kind::GroupedQuery | Kind::MultiQuery => {
            t!(
                "This layer's cache is %{shared}× smaller than with keys and values for each of the %{heads} heads.",
                shared,
                heads = h
            )
        }
    });
    if h > 1 {
        sheet.say(&t!(
            "A trained multi-head layer becomes a grouped one by averaging the key and value heads of each group, \
             and some more training (Ainslie et al. 2023); g = 1 is Shazeer 2019."
        ));
    }
}

/// Section 6: one row a value, and what did not change.
pub(super) fn swept(sheet: &mut Sheet, report: &Report, sweep: &Sweep) {
    let key = sweep.key;
    sheet.heading(&t!("6. Sweep over %{size}", size = key.name()));
    let layers = all(report.shape.layers);
    sheet.say(&match key {
        Key::Layers => t!("Everything counts all layers."),
        _ => t!(
            "Parameters, multiplications and exponentials of one layer; KV cache of %{layers}, %{dtype}.",
            layers,
            dtype = report.kv_dtype
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
    let mut columns = Column::ALL.map(|column| (say(column.name()), Side::Right)).to_vec();
    columns.extend(plotted.map(|column| (say(column.name()), Side::Left)));
    sheet.table(key.symbol(), &columns, rows.collect());
    for (column, value) in &sweep.unchanged {
        let why = match column.why_unchanged(key) {
            "" => String::new(),
            why => t!(": %{why}", why = say(why)),
        };
        let value = count(*value);
        sheet.say(&match column {
            Column::DK => t!("d_k is %{value} in every row%{why}.", value, why),
            Column::Parameters => t!("Parameters are %{value} in every row%{why}.", value, why),
            Column::Multiplications => {
                t!("Multiplications are %{value} in every row%{why}.", value, why)
            }
            Column::Exponentials => {
                t!("Exponentials are %{value} in every row%{why}.", value, why)
            }
            Column::KvCache => {
                t!("The KV cache is %{value} bytes in every row%{why}.", value, why)
            }
        });
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
    let caption = t!("What heads buy: %{source}, English to German, newstest2013", source = MEASURED_IN);
    sheet.caption(&caption);
    let columns = [("d_k", Side::Right), ("BLEU", Side::Right), (&*t!("perplexity"), Side::Right)];
    sheet.table("h", &columns, rows);
    sheet.say(&t!(
        "The paper's base model with other numbers of heads: one head is 0.9 BLEU below the best, and too many are \
         worse again."
    ));
}
