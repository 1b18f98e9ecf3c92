//! Every figure of a model's report by name, with its formula and with the numbers put in: what `--explain` shows, and what
//! the lines of a CSV file are.

use super::cache::{Kind, Row};
use super::model::{Group, Model};
use super::work::Run;
use crate::fault::{Fault, Outcome, nearest};
use crate::params::{Dtype, Figure};

/// One figure of the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// As it is asked for: `kv-cache`.
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: String,
    /// Formula, factors, value.
    pub figure: Figure,
    /// What it counts.
    pub unit: Unit,
    /// What a reader should know about it.
    pub note: String,
}

/// What a figure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Numbers that were learned.
    Parameters,
    /// Bytes.
    Bytes,
    /// A multiplication and the addition of its result: 2 FLOPs.
    MultiplyAdds,
    /// Floating-point operations.
    Flops,
    /// Exponentials of softmaxes.
    Exponentials,
    /// Positions of a sequence.
    Tokens,
    /// Sequences at a time.
    Sequences,
    /// Floating-point operations for each byte that is read.
    FlopsPerByte,
    /// Hundredths.
    Percent,
}

impl Unit {
    /// The word on pages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Bytes => "bytes",
            Self::MultiplyAdds => "multiply-adds",
            Self::Flops => "FLOPs",
            Self::Exponentials => "exponentials",
            Self::Tokens => "tokens",
            Self::Sequences => "sequences",
            Self::FlopsPerByte => "FLOPs a byte",
            Self::Percent => "%",
        }
    }
}

/// Other names that people use.
const ALSO: [(&str, &str); 11] = [
    ("intensity", "arithmetic-intensity"),
    ("share", "attention-share"),
    ("parameters", "total-parameters"),
    ("params", "total-parameters"),
    ("kv", "kv-cache"),
    ("kv-cache-bytes", "kv-cache"),
    ("kv-cache-bytes-per-token", "kv-cache-per-token"),
    ("flops", "prefill-flops"),
    ("memory", "memory-left"),
    ("context", "longest-context"),
    ("batch", "largest-batch"),
];

/// Whether a tensor goes by a name: its own, or the last words of it (`q_proj`, `self_attn.q_proj.weight`).
fn is_called(name: &str, typed: &str) -> bool {
    let stem = name.strip_suffix(".weight").unwrap_or(name);
    [name, stem]
        .iter()
        .any(|name| *name == typed || name.strip_suffix(typed).is_some_and(|rest| rest.ends_with('.')))
}

impl Model {
    /// Every figure that there is for this model.
    ///
    /// # Errors
    /// A count does not fit in 64 bits.
    pub fn figures(&self, run: &Run) -> Outcome<Vec<Named>> {
        let mut all = Vec::new();
        self.counts(&mut all)?;
        all.push(Named {
            id: "weights",
            title: format!("weights in {}", run.dtype),
            figure: stored("parameters", self.parameters()?, run.dtype)?,
            unit: Unit::Bytes,
            note: "every parameter once; files may hold a tied tensor twice".into(),
        });
        self.caches(run, &mut all)?;
        self.work(run, &mut all)?;
        self.fits(run, &mut all)?;
        Ok(all)
    }

    /// One figure by its name.
    ///
    /// # Errors
    /// There is none of this name, or a count does not fit in 64 bits.
    pub fn figure(&self, id: &str, run: &Run) -> Outcome<Named> {
        let all = self.figures(run)?;
        let typed = id.trim().to_lowercase().replace('_', "-");
        let also = ALSO.iter().find(|(name, _)| *name == typed).map_or(typed.as_str(), |(_, id)| *id);
        if let Some(found) = all.iter().find(|named| named.id == also) {
            return Ok(found.clone());
        }
        if let Some(tensor) = self.tensors.iter().find(|tensor| is_called(&tensor.name, id)) {
            return Ok(Named {
                id: "tensor",
                title: tensor.name.clone(),
                figure: product(tensor.shape.iter().map(super::Size::figure)),
                unit: Unit::Parameters,
                note: format!("group: {}", tensor.group),
            });
        }
        let shown: String = id.chars().take(40).collect();
        let ids: Vec<&str> = all.iter().map(|named| named.id).collect();
        let remedy = match nearest(&typed, ids.iter().copied()) {
            Some(near) => format!("did you mean --explain {near}?"),
            None => "name one of those".to_owned(),
        };
        Err(Fault::new(
            format!("no figure of this model is called {shown}"),
            format!("these are: {}; or a tensor's name", ids.join(", ")),
            remedy,
        )
        .in_source("--explain")
        .into())
    }

    fn counts(&self, all: &mut Vec<Named>) -> Outcome<()> {
        let total = self.parameters()?;
        let mut groups = Vec::new();
        for group in Group::ALL {
            let count = self.sum(|tensor| tensor.group == group)?;
            if count > 0 {
                groups.push(Figure::size(group.name(), count));
            }
        }
        let mut add = |id, title: &str, figure, note: &str| {
            all.push(Named { id, title: title.into(), figure, unit: Unit::Parameters, note: note.into() });
        };
        add(
            "total-parameters",
            "all parameters",
            added(groups),
            "a tensor known under several names counts once",
        );
        let tables: Vec<Figure> = self
            .tensors
            .iter()
            .filter(|tensor| tensor.same_as.is_none() && tensor.group == Group::Embedding)
            .map(|tensor| product(tensor.shape.iter().map(super::Size::figure)))
            .collect();
        let embedding = added(tables);
        let value = embedding.value;
        if value > 0 {
            add("embedding-parameters", "embedding tables", embedding, "");
            let rest = Figure {
                formula: "all − embedding".into(),
                factors: format!("{total} − {value}"),
                value: total - value,
            };
            add("non-embedding-parameters", "everything but the embedding tables", rest, "");
        }
        let mut runs = Vec::new();
        for stack in &self.stacks {
            for run in self.runs(stack)?.into_iter().filter(|run| run.attention_each > 0) {
                runs.push(Figure {
                    formula: if run.count() == 1 { "one layer's".into() } else { "layers·each".into() },
                    factors: if run.count() == 1 {
                        run.attention_each.to_string()
                    } else {
                        format!("{}·{}", run.count(), run.attention_each)
                    },
                    value: run.attention_each.saturating_mul(run.count() as u64),
                });
            }
        }
        let attention = self.sum(|tensor| tensor.group == Group::Attention)?;
        let figure = added(runs);
        let added_up = figure.value == attention;
        let figure = Figure { value: attention, ..figure };
        add(
            "attention-parameters",
            "attention of all layers",
            figure,
            if added_up {
                "projections, their biases, norms of queries and keys"
            } else {
                "modules that layers share count once, those outside the layers too"
            },
        );
        let active = self.active_parameters()?;
        if active != total {
            let routed = self.sum(|tensor| tensor.experts.is_some())?;
            let experts = self.tensors.iter().find_map(|tensor| tensor.experts);
            let (of, used) = experts.map_or((1, 1), |routed| (routed.of, routed.active));
            let figure = Figure {
                formula: "all − routed + routed·k/E".into(),
                factors: format!("{total} − {routed} + {routed}·{used}/{of}"),
                value: active,
            };
            add(
                "active-parameters",
                "parameters that one token uses",
                figure,
                "embedding tables included whole",
            );
        }
        Ok(())
    }

    fn caches(&self, run: &Run, all: &mut Vec<Named>) -> Outcome<()> {
        let Some(plan) = self.cache() else { return Ok(()) };
        let dtype = run.kv_dtype;
        let mut add = |id, title: String, figure: Figure, note: &str| -> Outcome<()> {
            all.push(Named {
                id,
                title,
                figure: figure.stored_as(dtype)?,
                unit: Unit::Bytes,
                note: note.into(),
            });
            Ok(())
        };
        let sliding = plan.own.iter().any(|row| matches!(row.kind, Kind::Sliding(_)));
        let latent = plan.own.iter().any(|row| row.kind == Kind::Latent);
        let grouped = |figure: Figure| if plan.own.len() > 1 { bracketed(figure) } else { figure };
        if !plan.own.is_empty() {
            let one = added(plan.own.iter().map(|row| row_figure(row, plan.own.len() > 1)).collect());
            add(
                "kv-cache-per-token",
                format!("KV cache of one more token, in {dtype}"),
                grouped(one),
                "while every layer still grows",
            )?;
        }
        if sliding {
            let growing: Vec<&Row> =
                plan.own.iter().filter(|row| !matches!(row.kind, Kind::Sliding(_))).collect();
            let figure = match &growing[..] {
                [] => Figure::constant(0),
                rows => grouped(added(rows.iter().map(|row| row_figure(row, true)).collect())),
            };
            add(
                "kv-cache-per-token-beyond-window",
                format!("KV cache of one more token once windows are full, in {dtype}"),
                figure,
                "layers with a window drop the oldest token",
            )?;
        }
        if !plan.own.is_empty() {
            let figure = added(
                plan.own.iter().map(|row| times_tokens(row, run.seq_len, plan.own.len() > 1)).collect(),
            );
            let figure = grouped(figure).times(&Figure::size("B", run.batch))?;
            add(
                "kv-cache",
                format!("KV cache of {} × {} tokens, in {dtype}", run.batch, run.seq_len),
                figure,
                "",
            )?;
        }
        if latent {
            let widths = plan.own.iter().filter(|row| row.kind == Kind::Latent);
            let parts = widths.map(|row| Figure {
                formula: "layers·h·(nope + rope + d_v)".into(),
                factors: format!("{}·{}·{}", row.layers.len(), row.expanded.0, row.expanded.1),
                value: (row.layers.len() as u64)
                    .saturating_mul(row.expanded.0.saturating_mul(row.expanded.1)),
            });
            let parts: Vec<Figure> = parts.collect();
            let figure = if parts.len() > 1 { bracketed(added(parts)) } else { added(parts) };
            add(
                "kv-cache-expanded-per-token",
                format!("KV cache of one token if the latent were expanded, in {dtype}"),
                figure,
                "keys and values of every head, instead of the latent that they are made from",
            )?;
        }
        if !plan.cross.is_empty() {
            let one = added(plan.cross.iter().map(|row| row_figure(row, false)).collect());
            let one = if plan.cross.len() > 1 { bracketed(one) } else { one };
            let source =
                one.times(&Figure::size("n_source", run.source_len))?.times(&Figure::size("B", run.batch))?;
            add(
                "cross-cache-per-token",
                format!("cross-attention's cache of one token of the encoder, in {dtype}"),
                one,
                "",
            )?;
            add(
                "cross-cache",
                format!("cross-attention's cache of {} × {} tokens, in {dtype}", run.batch, run.source_len),
                source,
                "it does not grow while the decoder writes",
            )?;
        }
        Ok(())
    }

    /// What each device holds, and what fits beside it.
    fn fits(&self, run: &Run, all: &mut Vec<Named>) -> Outcome<()> {
        let mut add = |id, title: &str, figure, unit, note: &str| {
            all.push(Named { id, title: title.into(), figure, unit, note: note.into() });
        };
        if run.devices > 1 {
            let share = self.share(run.devices)?;
            let cut = share.parameters.saturating_sub(share.replicated);
            let figure = added(vec![
                Figure::size("its part of what is cut", cut),
                Figure::size("what is kept whole", share.replicated),
            ]);
            add("device-parameters", "parameters on each device", figure, Unit::Parameters, "");
            let a_token = Figure::size("numbers", share.cache_numbers).stored_as(run.kv_dtype)?;
            add(
                "device-kv-cache-per-token",
                "KV cache of one token on each device",
                a_token,
                Unit::Bytes,
                "",
            );
        }
        let Some(room) = self.room(run)? else { return Ok(()) };
        if let Some(left) = room.left {
            let figure = Figure {
                formula: "memory − weights".into(),
                factors: format!("{} − {}", room.memory, room.weights),
                value: left,
            };
            add("memory-left", "memory left beside the weights", figure, Unit::Bytes, "");
        }
        if let Some(longest) = room.longest.filter(|longest| *longest < u64::MAX) {
            let figure = Figure::size("largest n whose cache fits", longest);
            add("longest-context", "longest context that fits", figure, Unit::Tokens, "");
        }
        if let Some(most) = room.most.filter(|most| *most < u64::MAX) {
            let figure = Figure::size("largest B whose caches fit", most);
            add("largest-batch", "most sequences that fit", figure, Unit::Sequences, "");
        }
        Ok(())
    }

    fn work(&self, run: &Run, all: &mut Vec<Named>) -> Outcome<()> {
        let (full, causal) = (self.prefill(run, false)?, self.prefill(run, true)?);
        if full.all()? == 0 {
            return Ok(());
        }
        let parts = |products: &super::flops::Products, head: bool| {
            let mut parts = vec![
                Figure::size("projections", products.attention_linear),
                Figure::size("scores and mix", products.attention_scores),
                Figure::size("everything else", products.rest),
            ];
            if head && products.head > 0 {
                parts.push(Figure::size("head", products.head));
            }
            added(parts.into_iter().filter(|part| part.value > 0).collect())
        };
        let mut add = |id, title: String, figure: Figure, unit, note: &str| {
            all.push(Named { id, title, figure, unit, note: note.into() });
        };
        let n = run.seq_len;
        let twice =
            |figure: &Figure| -> Outcome<Figure> { Figure::constant(2).times(&bracketed(figure.clone())) };
        add(
            "prefill-multiply-adds",
            format!("multiply-adds of a pass over {n} tokens"),
            parts(&full, true),
            Unit::MultiplyAdds,
            "every pair of positions, head included",
        );
        add(
            "prefill-flops",
            format!("FLOPs of a pass over {n} tokens"),
            twice(&parts(&full, true))?,
            Unit::Flops,
            "a multiply-add is 2 FLOPs",
        );
        if causal.attention_scores != full.attention_scores {
            add(
                "prefill-flops-causal",
                format!("FLOPs of a pass over {n} tokens that skips what the mask hides"),
                twice(&parts(&causal, true))?,
                Unit::Flops,
                "n·(n + 1)/2 pairs instead of n², or less with a window",
            );
        }
        if full.head > 0 {
            add(
                "prefill-flops-without-head",
                format!("FLOPs of a pass over {n} tokens without the head"),
                twice(&parts(&full, false))?,
                Unit::Flops,
                "",
            );
        }
        add(
            "exponentials",
            format!("exponentials of a pass over {n} tokens"),
            Figure::size("heads·pairs of positions", full.exponentials),
            Unit::Exponentials,
            "one for every score of every head",
        );
        if self.decodes() {
            let step = self.decoding(run)?;
            add(
                "decode-flops",
                format!("FLOPs of decoding token {n} of a sequence"),
                twice(&parts(&step.products, true))?,
                Unit::Flops,
                "of one sequence",
            );
            add(
                "decode-bytes",
                "bytes that a step of decoding reads".into(),
                added(vec![
                    Figure::size("weights used", step.weight_bytes),
                    Figure::size("KV cache", step.cache_bytes),
                ]),
                Unit::Bytes,
                "weights once for the whole batch (of experts, those that its tokens are expected to use), the cache of one sequence",
            );
        }
        if self.decodes() {
            let step = self.decoding(run)?;
            let flops = step.products.all()?.saturating_mul(2);
            let figure = Figure {
                formula: "B·FLOPs / (weights read + B·cache read)".into(),
                factors: format!(
                    "{0}·{flops} / ({1} + {0}·{2})",
                    run.batch, step.weight_bytes, step.cache_bytes
                ),
                value: step.intensity() as u64,
            };
            let note = format!("{:.2}, rounded down", step.intensity());
            add(
                "arithmetic-intensity",
                format!("FLOPs of decoding token {n} for each byte read"),
                figure,
                Unit::FlopsPerByte,
                &note,
            );
        }
        let share = 100.0 * causal.attention_scores as f64 / causal.all()?.max(1) as f64;
        let figure = Figure {
            formula: "100·scores and mix / all".into(),
            factors: format!("100·{} / {}", causal.attention_scores, causal.all()?),
            value: share as u64,
        };
        let note = format!("{share:.2}, rounded down; of the pairs that masks and windows leave");
        add(
            "attention-share",
            format!("part of Q·Kᵀ and A·V in a pass over {n} tokens"),
            figure,
            Unit::Percent,
            &note,
        );
        if let Some(n) = self.crossing(run) {
            add(
                "crossing",
                "length from which the score products outweigh all others".into(),
                Figure::size("smallest n with scores and mix > everything else", n),
                Unit::Tokens,
                "",
            );
        }
        Ok(())
    }
}

fn stored(name: &str, value: u64, dtype: Dtype) -> Outcome<Figure> {
    Figure::size(name, value).stored_as(dtype)
}

/// `2·layers·g·d_k`, or what stands for it.
pub(super) fn row_figure(row: &Row, several: bool) -> Figure {
    let layers = row.layers.len() as u64;
    let word = match (several, row.kind) {
        (true, Kind::Full) => "layers_full",
        (true, Kind::Sliding(_)) => "layers_sliding",
        _ => "layers",
    };
    let value = layers.saturating_mul(row.numbers());
    let (k, v) = (row.k, row.v);
    if row.kind == Kind::Latent {
        return Figure {
            formula: format!("{word}·(rank + rope)"),
            factors: format!("{layers}·({} + {})", k.1, v.1),
            value,
        };
    }
    if k == v {
        return Figure {
            formula: format!("2·{word}·g·d_k"),
            factors: format!("2·{layers}·{}·{}", k.0, k.1),
            value,
        };
    }
    Figure {
        formula: format!("{word}·g·(d_k + d_v)"),
        factors: format!("{layers}·{}·({} + {})", k.0, k.1, v.1),
        value,
    }
}

fn times_tokens(row: &Row, tokens: u64, several: bool) -> Figure {
    let one = row_figure(row, several);
    let (formula, factors) = match row.kind {
        Kind::Sliding(window) => {
            (format!("{}·min(n, w)", one.formula), format!("{}·min({tokens}, {window})", one.factors))
        }
        _ => (format!("{}·n", one.formula), format!("{}·{tokens}", one.factors)),
    };
    Figure { formula, factors, value: one.value.saturating_mul(row.kept(tokens)) }
}

/// `a + b + …`
fn added(parts: Vec<Figure>) -> Figure {
    let join = |text: fn(&Figure) -> &str| parts.iter().map(text).collect::<Vec<_>>().join(" + ");
    Figure {
        formula: join(|part| &part.formula),
        factors: join(|part| &part.factors),
        value: parts.iter().fold(0u64, |sum, part| sum.saturating_add(part.value)),
    }
}

fn product(sizes: impl Iterator<Item = Figure>) -> Figure {
    sizes.fold(Figure { formula: String::new(), factors: String::new(), value: 1 }, |whole, size| {
        let size = if size.formula.contains(' ') { bracketed(size) } else { size };
        let times = |a: &str, b: &str| if a.is_empty() { b.to_owned() } else { format!("{a}·{b}") };
        Figure {
            formula: times(&whole.formula, &size.formula),
            factors: times(&whole.factors, &size.factors),
            value: whole.value.saturating_mul(size.value),
        }
    })
}

fn bracketed(figure: Figure) -> Figure {
    Figure { formula: format!("({})", figure.formula), factors: format!("({})", figure.factors), ..figure }
}
