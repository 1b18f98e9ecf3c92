//! The page of `mha params`: every figure beside its formula and its factors.

use colored::Colorize;

use super::grid::{Grid, Side};
use super::number::{grouped, rounded_bytes};
use super::page::Page;
use crate::params::report::{Compute, Memory, Parameters, Report};
use crate::params::sweep::{Column, MEASURED_IN, Sweep};
use crate::params::{Figure, Key, Kind, Layer, Origin};

/// How much a page says beside its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Titles and tables only.
    Few,
    /// A sentence on what each table shows.
    Usual,
}

/// The whole page; ends with a line break.
pub fn page(report: &Report, page: &Page, words: Words) -> String {
    let mut sheet = Sheet { page, words, text: String::new() };
    heading(&mut sheet, report);
    at_a_glance(&mut sheet, report);
    parameters(&mut sheet, report);
    compute(&mut sheet, report);
    memory(&mut sheet, report);
    sharing(&mut sheet, report);
    if let Some(sweep) = &report.sweep {
        swept(&mut sheet, report, sweep);
    }
    sheet.text
}

/// A page as it grows.
struct Sheet<'a> {
    page: &'a Page,
    words: Words,
    text: String,
}

impl Sheet<'_> {
    fn title(&mut self, title: &str) {
        let lines = self.page.paragraph(title, 0);
        self.text.push('\n');
        for line in lines.lines() {
            self.text.push_str(&format!("{}\n", line.bold()));
        }
    }

    /// A sentence; left out where few words are wanted.
    fn say(&mut self, sentence: &str) {
        if self.words == Words::Usual {
            self.text.push_str(&self.page.paragraph(sentence, 0));
        }
    }

    fn table(&mut self, corner: &str, columns: &[(&str, Side)], rows: Vec<(String, Vec<String>)>) {
        let (rows, cells) = rows.into_iter().unzip();
        let grid = Grid {
            corner: corner.into(),
            columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            rows,
            cells,
            align: columns.iter().map(|(_, side)| *side).collect(),
            whole: true,
        };
        self.text.push_str(&grid.render(self.page));
    }
}

fn count(value: u64) -> String {
    grouped(value.into())
}

fn size(value: u64) -> String {
    rounded_bytes(value.into())
}

/// `1 layer`, `all 6 layers`.
fn all(layers: u64) -> String {
    if layers == 1 { "the one layer".into() } else { format!("all {} layers", count(layers)) }
}

fn heads(number: u64) -> String {
    if number == 1 { "1 head".into() } else { format!("{} heads", count(number)) }
}

fn heading(sheet: &mut Sheet, report: &Report) {
    let settings = &report.settings;
    let source = settings.preset.map_or(String::new(), |preset| format!(" ({})", preset.source));
    sheet.title(&format!("The attention layers of {}{source}", settings.model));
    sheet.text.remove(0); // no blank line above the first title
    if settings.assumed {
        sheet.say(
            "You named no model, so this is the base Transformer. Name a preset (mha params bert-base), give sizes \
             (mha params --d-model 768 --num-heads 12), or see mha params --list.",
        );
    }
    sheet.say(
        "Attention only: the projections W_Q, W_K, W_V, W_O and what is done with them. Embeddings, feed-forward \
         layers, norms and the output layer are not counted, so these are not the whole model's numbers.",
    );
    let remark = settings.preset.map_or("", |preset| preset.remark);
    sheet.say(remark);
}

fn origin(key: Key, origin: &Origin) -> String {
    match origin {
        Origin::Flag => key.flag().to_owned(),
        Origin::Sweep => "--sweep".to_owned(),
        Origin::Preset(name) => (*name).to_owned(),
        Origin::Instead(name, before) => format!("{}, not {before} as in {name}", key.flag()),
        Origin::Default(how) => how.clone(),
    }
}

fn at_a_glance(sheet: &mut Sheet, report: &Report) {
    let layer = &report.shape.layer;
    sheet.title("1. The layer at a glance");
    let mut rows: Vec<(String, Vec<String>)> = report
        .shape
        .sizes
        .iter()
        .map(|(key, value, from)| {
            let sign =
                if key.symbol() == key.name() { String::new() } else { format!(" ({})", key.symbol()) };
            (format!("{}{sign}", key.name()), vec![count(*value), origin(*key, from)])
        })
        .collect();
    let from = match &report.shape.bias_origin {
        Origin::Flag => "--bias".to_owned(),
        other => origin(Key::Layers, other),
    };
    rows.push(("biases".into(), vec![if layer.biases.any() { "yes" } else { "no" }.into(), from]));
    sheet.table("", &[("value", Side::Right), ("from", Side::Left)], rows);
    let Layer { num_heads, num_kv_heads, .. } = *layer;
    let kind = layer.kind();
    sheet.say(&match kind {
        Kind::SingleHead => "Single-head attention: one softmax a query, over the whole width.".into(),
        Kind::MultiHead => {
            format!("Multi-head attention (MHA): each of the {num_heads} heads has keys and values of its own.")
        }
        Kind::GroupedQuery => format!(
            "Grouped-query attention (GQA): {} query heads at a time share one of {num_kv_heads} key/value heads.",
            num_heads / num_kv_heads
        ),
        Kind::MultiQuery => {
            format!("Multi-query attention (MQA): all {num_heads} query heads share one key/value head.")
        }
    });
}

fn parameters(sheet: &mut Sheet, report: &Report) {
    let Parameters { matrices, .. } = &report.parameters;
    sheet.title("2. Parameters");
    let shape = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let rows = matrices.iter().map(|matrix| {
        let Figure { formula, factors, value } = &matrix.count;
        (matrix.name.into(), vec![shape(&matrix.shape), formula.clone(), factors.clone(), count(*value)])
    });
    let columns =
        [("shape", Side::Left), ("formula", Side::Left), ("factors", Side::Left), ("numbers", Side::Right)];
    sheet.table("", &columns, rows.collect());
    parameter_totals(sheet, report);
    single_head(sheet, report);
}

fn parameter_totals(sheet: &mut Sheet, report: &Report) {
    let totals = &report.parameters;
    let row = |name: &str, one: u64, figure: &Figure| {
        (name.to_owned(), vec![count(one), figure.factors.clone(), count(figure.value)])
    };
    let layers = all(report.shape.layers);
    sheet.text.push('\n');
    sheet.table(
        "",
        &[("one layer", Side::Right), ("layers × one layer", Side::Left), (&layers, Side::Right)],
        vec![
            row("without biases", totals.without_biases, &totals.all_without_biases),
            row("with biases", totals.with_biases, &totals.all_with_biases),
        ],
    );
    let has = if report.shape.layer.biases.any() { "with" } else { "without" };
    sheet.say(&format!("This layer is {has} biases, and is counted so from here on."));
}

fn single_head(sheet: &mut Sheet, report: &Report) {
    let Parameters { single_head: single, single_head_matrices, single_head_total, without_biases, .. } =
        &report.parameters;
    let layer = &report.shape.layer;
    let names: Vec<(&str, Side)> = single_head_matrices
        .iter()
        .map(|matrix| (matrix.name, Side::Right))
        .chain([("together", Side::Right)])
        .collect();
    let row = |matrices: &[crate::params::MatrixCount], total: u64| -> Vec<String> {
        let matrices = matrices.iter().filter(|matrix| !matrix.is_bias());
        matrices.map(|matrix| count(matrix.count.value)).chain([count(total)]).collect()
    };
    sheet.text.push('\n');
    sheet.table(
        "d_k",
        &names,
        vec![
            (
                format!("{} of {}", heads(layer.num_heads), layer.d_k),
                row(&report.parameters.matrices, *without_biases),
            ),
            (format!("1 head of {}", single.d_k), row(single_head_matrices, *single_head_total)),
        ],
    );
    sheet.say(&single_head_in_words(report));
}

/// Whether one wide head has as many parameters, and why.
fn single_head_in_words(report: &Report) -> String {
    let Parameters { single_head: single, single_head_total, without_biases, four_squares, .. } =
        report.parameters.clone();
    let Layer { d_model, d_kv_model, num_heads: h, num_kv_heads: g, d_k, .. } = report.shape.layer;
    let squares = single.d_k == d_model && single.d_v == d_model && d_kv_model == d_model;
    let four = format!("4·d_model² = 4·{d_model}² = {}", count(four_squares));
    let width = format!("h·d_k = {h}·{d_k} = {}", single.d_k);
    if g < h {
        let saved = count(single_head_total.saturating_sub(without_biases));
        let would = if squares { four } else { count(single_head_total) };
        return format!(
            "Not equal, because keys and values are shared: W_K and W_V are {g} heads wide, not {h}, which saves \
             {saved} numbers. With g = h the two would be equal: {would}."
        );
    }
    if squares {
        return format!(
            "Equal: {width} = d_model, so the four matrices hold {four}, however many heads there are. Heads divide \
             the matrices; they do not add any."
        );
    }
    let why = if single.d_k != d_model {
        format!("{width} is not d_model = {d_model}")
    } else if single.d_v != d_model {
        format!("h·d_v = {} is not d_model = {d_model}", single.d_v)
    } else {
        format!("d_kv_model = {d_kv_model} is not d_model = {d_model}")
    };
    format!(
        "Equal, since one head of the same whole width needs the same four matrices. But {why}, so they hold {} and \
         not {four}.",
        count(without_biases)
    )
}

fn compute(sheet: &mut Sheet, report: &Report) {
    let Compute { products, multiplications, single_head_multiplications, exponentials, .. } =
        &report.compute;
    let (layer, shape) = (&report.shape.layer, &report.shape);
    let batch = if shape.batch == 1 { String::new() } else { format!(", B = {}", count(shape.batch)) };
    sheet.title(&format!("3. Work of one layer on n = {} tokens{batch}", count(shape.seq_len)));
    let many = if layer.num_heads == 1 { "this layer".to_owned() } else { heads(layer.num_heads) };
    let columns = [
        ("formula", Side::Left),
        ("factors", Side::Left),
        (&*many, Side::Right),
        ("1 wide head", Side::Right),
    ];
    let row = |name: &str, figure: &Figure, single: u64| {
        (
            name.to_owned(),
            vec![figure.formula.clone(), figure.factors.clone(), count(figure.value), count(single)],
        )
    };
    let mut rows: Vec<_> =
        products.iter().map(|(product, single)| row(product.name, &product.count, *single)).collect();
    let sum = vec!["sum".into(), String::new(), count(*multiplications), count(*single_head_multiplications)];
    rows.push(("together".into(), sum));
    sheet.text.push_str(&sheet.page.paragraph("Multiplications", 0));
    sheet.table("product", &columns, rows);
    sheet.say(&products_in_words(report));
    let single = report.compute.single_head_exponentials;
    sheet.text.push('\n');
    sheet.table(
        "",
        &columns,
        vec![row("exponentials", exponentials, single), row("scores kept", exponentials, single)],
    );
    if layer.num_heads > 1 {
        sheet.say(&format!(
            "So more heads are not quite free: {} softmaxes take {} exponentials where one would take {}, and as many \
             scores are kept (unless a kernel such as FlashAttention keeps none).",
            layer.num_heads,
            count(exponentials.value),
            count(single)
        ));
    }
}

fn products_in_words(report: &Report) -> String {
    let Compute { multiplications, single_head_multiplications, multiplications_of_all_layers, .. } =
        report.compute;
    let same = if multiplications == single_head_multiplications {
        "Equal: h heads of d_k multiply as much as one head of h·d_k.".to_owned()
    } else {
        let fewer = single_head_multiplications.saturating_sub(multiplications);
        format!("Shared keys and values save {} multiplications; Q·Kᵀ and A·V cost the same.", count(fewer))
    };
    let layers = match report.shape.layers {
        1 => String::new(),
        many => format!(" All {many} layers: {}.", count(multiplications_of_all_layers)),
    };
    format!(
        "{same}{layers} All n² pairs are counted: a causal mask saves work only where a kernel skips what it hides."
    )
}

fn memory(sheet: &mut Sheet, report: &Report) {
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
        formula: "layers·one layer".into(),
        factors: format!("{}·{}", shape.layers, scores.value),
        value: *scores_of_all_layers,
    };
    sheet
        .text
        .push_str(&sheet.page.paragraph(&format!("Score matrices in {score_dtype}, where they are kept"), 0));
    sheet.table("", &columns, vec![row("one layer", scores), row("all layers", &every)]);
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

fn sharing(sheet: &mut Sheet, report: &Report) {
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

fn swept(sheet: &mut Sheet, report: &Report, sweep: &Sweep) {
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
    let rows = sweep.rows.iter().map(|row| {
        (count(row.value), Column::ALL.iter().map(|column| count(column.of(row, key))).collect::<Vec<_>>())
    });
    let columns = Column::ALL.map(|column| (column.name(), Side::Right));
    sheet.table(key.symbol(), &columns, rows.collect());
    for (column, value) in &sweep.unchanged {
        let why = match column.why_unchanged(key) {
            "" => String::new(),
            why => format!(": {why}"),
        };
        let verb = if matches!(column, Column::DK | Column::KvCache) { "is" } else { "are" };
        sheet.say(&format!("{} {verb} {} in every row{why}.", column.name(), count(*value)));
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
