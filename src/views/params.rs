//! The page of `mha params`: every figure beside its formula and its factors.

use super::grid::{Grid, Side};
use super::look::{self, Tone};
use super::number::grouped;
use super::page::Page;
use super::params_memory;
use crate::fault::visible;
use crate::params::report::{Compute, Parameters, Report};
use crate::params::{Figure, Key, Kind, Layer, Origin};
use crate::words::{self, say, t};

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
    let mut sheet = Sheet::new(page, words);
    heading(&mut sheet, report);
    at_a_glance(&mut sheet, report);
    parameters(&mut sheet, report);
    compute(&mut sheet, report);
    params_memory::memory(&mut sheet, report);
    params_memory::sharing(&mut sheet, report);
    if let Some(sweep) = &report.sweep {
        params_memory::swept(&mut sheet, report, sweep);
    }
    sheet.text
}

/// A page as it grows. What it is given may come from files, and holds no colour: control characters are shown.
pub(super) struct Sheet<'a> {
    pub(super) page: &'a Page,
    words: Words,
    pub(super) text: String,
    above: Above,
}

/// What stands above the next thing on a page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Above {
    /// Nothing, or a heading or a caption to which it belongs.
    Heading,
    /// The page's title, and sentences about the whole page.
    Title,
    /// A table, and sentences about it.
    Table,
}

impl<'a> Sheet<'a> {
    /// An empty page.
    pub(super) fn new(page: &'a Page, words: Words) -> Self {
        Self { page, words, text: String::new(), above: Above::Heading }
    }

    /// What the next table shows, parted from the one above; it stays where few words are wanted.
    pub(super) fn caption(&mut self, text: &str) {
        if self.above == Above::Table {
            self.text.push('\n');
            self.above = Above::Heading;
        }
        self.text.push_str(&self.page.paragraph(&shown(text), 0));
    }

    /// The first line of the page.
    pub(super) fn title(&mut self, title: &str) {
        self.text.push_str(&look::title(&shown(title), self.page));
        self.above = Above::Title;
    }

    /// A heading, with a blank line above.
    pub(super) fn heading(&mut self, heading: &str) {
        self.text.push_str(&look::heading(&shown(heading), self.page));
        self.above = Above::Heading;
    }

    /// A sentence; left out where few words are wanted.
    pub(super) fn say(&mut self, sentence: &str) {
        if self.words == Words::Usual {
            self.text.push_str(&self.page.paragraph(&shown(sentence), 0));
        }
    }

    /// A table that leaves no column out; a blank line parts it from the title, and from another table.
    pub(super) fn table(&mut self, corner: &str, columns: &[(&str, Side)], rows: Vec<(String, Vec<String>)>) {
        self.judged_table(corner, columns, rows, &[]);
    }

    /// The same, with some rows (from 0) judged: their first cells are coloured.
    pub(super) fn judged_table(
        &mut self,
        corner: &str,
        columns: &[(&str, Side)],
        rows: Vec<(String, Vec<String>)>,
        judged: &[(usize, Tone)],
    ) {
        if self.above != Above::Heading {
            self.text.push('\n');
        }
        self.above = Above::Table;
        let shown_in = |cells: Vec<String>| cells.iter().map(|cell| shown(cell)).collect();
        let (rows, mut cells): (_, Vec<Vec<String>>) =
            rows.into_iter().map(|(name, cells)| (name, shown_in(cells))).unzip();
        // Painted last: what is painted before would be shown and not obeyed.
        for (row, tone) in judged {
            if let Some(cell) = cells.get_mut(*row).and_then(|cells| cells.first_mut()) {
                *cell = tone.paint(cell);
            }
        }
        let grid = Grid {
            corner: corner.into(),
            columns: columns.iter().map(|(name, _)| (*name).to_owned()).collect(),
            rows,
            cells,
            align: columns.iter().map(|(_, side)| *side).collect(),
            whole: true,
            ..Grid::default()
        };
        self.text.push_str(&grid.render(self.page));
    }
}

/// A text with its line breaks, and with everything else made visible.
fn shown(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// `1,048,576`.
pub(super) fn count(value: u64) -> String {
    grouped(value.into())
}

/// `one layer`, `all 6 layers`.
pub(super) fn all(layers: u64) -> String {
    if layers == 1 { t!("one layer") } else { t!("all %{layers} layers", layers = count(layers)) }
}

fn heads(number: u64) -> String {
    words::heads(count(number))
}

fn heading(sheet: &mut Sheet, report: &Report) {
    let settings = &report.settings;
    sheet.title(&match settings.preset {
        Some(preset) => {
            t!("The attention layers of %{model} (%{source})", model = preset.name, source = preset.source)
        }
        None => t!("An attention layer of your own sizes"),
    });
    if settings.assumed {
        sheet.say(&t!(
            "You named no model, so this is the base Transformer. Name a preset (mha params bert-base), give sizes \
             (mha params --d-model 768 --num-heads 12), or see mha params --list."
        ));
    }
    sheet.say(&t!(
        "Attention only: the projections W_Q, W_K, W_V, W_O and what is done with them. Embeddings, feed-forward \
         layers, norms and the output layer are not counted, so these are not the whole model's numbers."
    ));
    let remark = settings.preset.map_or("", |preset| preset.remark);
    sheet.say(say(remark));
}

fn origin<'a>(flag: &'a str, origin: &'a Origin) -> &'a str {
    match origin {
        Origin::Flag | Origin::Instead(..) => flag,
        Origin::Sweep => "--sweep",
        Origin::Preset(name) => name,
        Origin::Default(how) => say(how),
    }
}

fn at_a_glance(sheet: &mut Sheet, report: &Report) {
    let layer = &report.shape.layer;
    sheet.heading(&t!("1. The layer at a glance"));
    let row = |(key, value, from): &(Key, u64, Origin)| {
        let sign = if key.symbol() == key.name() { "" } else { key.symbol() };
        (key.name().to_owned(), vec![sign.to_owned(), count(*value), origin(key.flag(), from).to_owned()])
    };
    let mut rows: Vec<_> = report.shape.sizes.iter().map(row).collect();
    let has = if layer.biases.any() { t!("yes") } else { t!("no") };
    let from = origin("--bias", &report.shape.bias_origin);
    rows.push((t!("biases"), vec![String::new(), has, from.to_owned()]));
    sheet.table(
        "",
        &[(&t!("sign"), Side::Left), (&t!("value"), Side::Right), (&t!("from"), Side::Left)],
        rows,
    );
    replaced(sheet, report);
    let Layer { num_heads, num_kv_heads, .. } = *layer;
    let kind = layer.kind();
    sheet.say(&match kind {
        Kind::SingleHead => t!("Single-head attention: one softmax a query, over the whole width."),
        Kind::MultiHead => {
            t!(
                "Multi-head attention (MHA): each of the %{heads} heads has keys and values of its own.",
                heads = num_heads
            )
        }
        Kind::GroupedQuery => t!(
            "Grouped-query attention (GQA): each of the %{kv_heads} key/value heads serves %{group} query heads.",
            kv_heads = num_kv_heads,
            group = num_heads / num_kv_heads
        ),
        Kind::MultiQuery => {
            t!(
                "Multi-query attention (MQA): all %{heads} query heads share one key/value head.",
                heads = num_heads
            )
        }
    });
}

/// Which of the preset's sizes gave way to flags.
fn replaced(sheet: &mut Sheet, report: &Report) {
    let mut before: Vec<String> = Vec::new();
    for (key, _, from) in &report.shape.sizes {
        if let Origin::Instead(_, value) = from {
            before.push(format!("{} {}", key.name(), count(*value)));
        }
    }
    if let Origin::Instead(_, had) = report.shape.bias_origin {
        before.push(if had == 0 { t!("no biases") } else { t!("biases") });
    }
    if !before.is_empty() {
        sheet.say(&t!(
            "Flags replace what %{model} has: %{sizes}. So this is no longer that model.",
            model = report.settings.model,
            sizes = before.join(&t!(", "))
        ));
    }
}

fn parameters(sheet: &mut Sheet, report: &Report) {
    let Parameters { matrices, .. } = &report.parameters;
    sheet.heading(&t!("2. Parameters"));
    let shape = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" × ");
    let rows = matrices.iter().map(|matrix| {
        let Figure { formula, factors, value } = &matrix.count;
        let if_it_had = if matrix.name.starts_with('b') && !report.shape.layer.biases.any() {
            t!(" (if it had)")
        } else {
            String::new()
        };
        (
            format!("{}{if_it_had}", matrix.name),
            vec![shape(&matrix.shape), formula.clone(), factors.clone(), count(*value)],
        )
    });
    let columns = [
        (&*t!("shape"), Side::Left),
        (&*t!("formula"), Side::Left),
        (&*t!("factors"), Side::Left),
        (&*t!("numbers"), Side::Right),
    ];
    sheet.table("", &columns, rows.collect());
    parameter_totals(sheet, report);
    single_head(sheet, report);
}

fn parameter_totals(sheet: &mut Sheet, report: &Report) {
    let totals = &report.parameters;
    let layers = all(report.shape.layers);
    let (one, product) = (t!("one layer"), t!("layers × one layer"));
    let mut columns = vec![(&*one, Side::Right), (&*product, Side::Left), (&*layers, Side::Right)];
    if report.shape.layers == 1 {
        columns.truncate(1);
    }
    let row = |name: &str, one: u64, figure: &Figure| {
        let mut cells = vec![count(one), figure.factors.clone(), count(figure.value)];
        cells.truncate(columns.len());
        (name.to_owned(), cells)
    };
    let rows = vec![
        row(&t!("without biases"), totals.without_biases, &totals.all_without_biases),
        row(&t!("with biases"), totals.with_biases, &totals.all_with_biases),
    ];
    sheet.table("", &columns, rows);
    sheet.say(&if report.shape.layer.biases.any() {
        t!("This layer has biases; everything below counts them.")
    } else {
        t!("This layer has no biases; everything below counts none.")
    });
}

fn single_head(sheet: &mut Sheet, report: &Report) {
    let totals = &report.parameters;
    let layer = &report.shape.layer;
    if layer.num_heads > 1 {
        let of = |number: u64, d_k: u64| t!("%{heads} of %{d_k}", heads = heads(number), d_k);
        let (these, one) = (of(layer.num_heads, layer.d_k), of(1, totals.single_head.d_k));
        let pairs = totals.matrices.iter().zip(&totals.single_head_matrices);
        let mut rows: Vec<_> = pairs
            .map(|(many, one)| (many.name.to_owned(), vec![count(many.count.value), count(one.count.value)]))
            .collect();
        let sums = vec![count(totals.without_biases), count(totals.single_head_total)];
        rows.push((t!("together"), sums));
        sheet.table("", &[(&*these, Side::Right), (&*one, Side::Right)], rows);
    }
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
        return t!(
            "Not equal, because keys and values are shared: W_K and W_V are %{g} heads wide, not %{h}, which saves \
             %{saved} numbers. With g = h the two would be equal: %{would}.",
            g,
            h,
            saved,
            would
        );
    }
    let lead = if h == 1 { t!("This is one head") } else { t!("Equal") };
    if squares {
        return t!(
            "%{lead}: %{width} = d_model, so the four matrices hold %{four}, however many heads there are. Heads divide \
             the matrices; they do not add any.",
            lead,
            width,
            four
        );
    }
    let why = if single.d_k != d_model {
        t!("%{width} is not d_model = %{d_model}", width, d_model)
    } else if single.d_v != d_model {
        t!("h·d_v = %{width} is not d_model = %{d_model}", width = single.d_v, d_model)
    } else {
        t!("d_kv_model = %{d_kv_model} is not d_model = %{d_model}", d_kv_model, d_model)
    };
    t!(
        "%{lead}: a head of the same whole width needs the same four matrices. But %{why}, so they hold %{numbers} and not \
         %{four}.",
        lead,
        why,
        numbers = count(without_biases),
        four
    )
}

fn compute(sheet: &mut Sheet, report: &Report) {
    let Compute { products, multiplications, single_head_multiplications, exponentials, .. } =
        &report.compute;
    let (layer, shape) = (&report.shape.layer, &report.shape);
    let batch = if shape.batch == 1 { String::new() } else { format!(", B = {}", count(shape.batch)) };
    sheet.heading(&t!(
        "3. Work of one layer on n = %{tokens}%{batch}",
        tokens = words::tokens(count(shape.seq_len)),
        batch
    ));
    let many = if layer.num_heads == 1 { t!("this layer") } else { heads(layer.num_heads) };
    let (formula, factors, wide) = (t!("formula"), t!("factors"), t!("1 wide head"));
    let columns =
        [(&*formula, Side::Left), (&*factors, Side::Left), (&*many, Side::Right), (&*wide, Side::Right)];
    let row = |name: &str, figure: &Figure, single: u64| {
        (
            name.to_owned(),
            vec![figure.formula.clone(), figure.factors.clone(), count(figure.value), count(single)],
        )
    };
    let mut rows: Vec<_> =
        products.iter().map(|(product, single)| row(product.name, &product.count, *single)).collect();
    let sum = vec![t!("sum"), String::new(), count(*multiplications), count(*single_head_multiplications)];
    rows.push((t!("together"), sum));
    sheet.caption(&t!("Multiplications"));
    sheet.table(&t!("product"), &columns, rows);
    sheet.say(&products_in_words(report));
    let single = report.compute.single_head_exponentials;
    sheet.table(
        "",
        &columns,
        vec![row(&t!("exponentials"), exponentials, single), row(&t!("scores kept"), exponentials, single)],
    );
    if layer.num_heads > 1 {
        sheet.say(&t!(
            "So more heads are not quite free: %{heads} softmaxes take %{exponentials} exponentials where one would take \
             %{single}, and as many scores are kept (unless a kernel such as FlashAttention keeps none).",
            heads = layer.num_heads,
            exponentials = count(exponentials.value),
            single = count(single)
        ));
    }
}

fn products_in_words(report: &Report) -> String {
    let Compute { multiplications, single_head_multiplications, multiplications_of_all_layers, .. } =
        report.compute;
    let same = if report.shape.layer.num_heads == 1 {
        t!("One head: the two columns are the same layer.")
    } else if multiplications == single_head_multiplications {
        t!("Equal: h heads of d_k multiply as much as one head of h·d_k.")
    } else {
        let fewer = single_head_multiplications.saturating_sub(multiplications);
        t!(
            "Shared keys and values save %{fewer} multiplications; Q·Kᵀ and A·V cost the same.",
            fewer = count(fewer)
        )
    };
    let layers = match report.shape.layers {
        1 => String::new(),
        many => t!(
            " All %{layers} layers: %{multiplications}.",
            layers = many,
            multiplications = count(multiplications_of_all_layers)
        ),
    };
    t!(
        "%{same}%{layers} All n² pairs are counted: a causal mask saves work only where a kernel skips what it hides.",
        same,
        layers
    )
}
