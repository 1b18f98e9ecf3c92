//! One size takes several values, everything else stays: what changes, and what does not.

use super::settings::{Key, Settings, Shape};
use super::{Dtype, report};
use crate::fault::{Fault, Faults, Outcome, nearest};
use crate::limits::SWEEP_VALUES;
use crate::words::n;

/// What a sweep asks for: `num-heads=1,4,8`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SweepOver {
    /// The size that changes.
    pub key: Key,
    /// Its values, in the order given.
    pub values: Vec<u64>,
}

/// The table of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Sweep {
    /// The size that changes.
    pub key: Key,
    /// One a value.
    pub rows: Vec<Row>,
    /// Columns whose number is the same in every row; empty where there is one row only.
    pub unchanged: Vec<(Column, u64)>,
}

/// One value of a sweep and what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The value.
    pub value: u64,
    /// The layer it makes, how many of them, and on how much.
    pub shape: Shape,
    /// Parameters of one layer.
    pub parameters_per_layer: u64,
    /// Parameters of all layers.
    pub parameters: u64,
    /// Multiplications of one layer on the whole batch.
    pub multiplications_per_layer: u64,
    /// Multiplications of all layers on the whole batch.
    pub multiplications: u64,
    /// Exponentials of one layer on the whole batch.
    pub exponentials_per_layer: u64,
    /// Exponentials of all layers on the whole batch.
    pub exponentials: u64,
    /// Bytes that all layers cache of one token.
    pub kv_cache_bytes_per_token: u64,
    /// Bytes that all layers cache of the whole batch.
    pub kv_cache_bytes: u64,
    /// What the paper measured at these sizes, where it did.
    pub measured: Option<Measured>,
}

/// What a sweep shows of each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Width of a head.
    DK,
    /// Parameters; of all layers in a sweep over layers, else of one.
    Parameters,
    /// Multiplications, likewise.
    Multiplications,
    /// Exponentials, likewise.
    Exponentials,
    /// Bytes of the whole KV cache.
    KvCache,
}

impl Column {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 5] =
        [Self::DK, Self::Parameters, Self::Multiplications, Self::Exponentials, Self::KvCache];

    /// The head of the column.
    pub fn name(self) -> &'static str {
        match self {
            Self::DK => "d_k",
            Self::Parameters => n!("parameters"),
            Self::Multiplications => n!("multiplications"),
            Self::Exponentials => n!("exponentials"),
            Self::KvCache => n!("KV cache bytes"),
        }
    }

    /// The number of this column in a row.
    pub fn of(self, row: &Row, key: Key) -> u64 {
        let all = key == Key::Layers;
        match self {
            Self::DK => row.shape.layer.d_k,
            Self::Parameters => {
                if all {
                    row.parameters
                } else {
                    row.parameters_per_layer
                }
            }
            Self::Multiplications => {
                if all {
                    row.multiplications
                } else {
                    row.multiplications_per_layer
                }
            }
            Self::Exponentials => {
                if all {
                    row.exponentials
                } else {
                    row.exponentials_per_layer
                }
            }
            Self::KvCache => row.kv_cache_bytes,
        }
    }

    /// Why the number does not change when `key` does; empty where there is no short reason.
    pub fn why_unchanged(self, key: Key) -> &'static str {
        match (key, self) {
            (Key::NumHeads, Self::Parameters) => n!("heads divide them, they do not add any"),
            (Key::NumHeads, Self::Multiplications) => n!("more heads, each narrower by as much"),
            (Key::NumHeads, Self::KvCache) => n!("the key and value heads are as wide together as before"),
            (Key::NumKvHeads, Self::Exponentials) => n!("every query head keeps a softmax of its own"),
            (Key::SeqLen | Key::Batch, Self::Parameters) => n!("no matrix knows how many tokens will come"),
            (Key::DModel, Self::Exponentials) => n!("one a score, and scores are h·n²"),
            _ => "",
        }
    }
}

/// A result of the paper's own ablation: newstest2013, English to German.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Heads.
    pub num_heads: u64,
    /// Width of each.
    pub d_k: u64,
    /// Perplexity a word piece, lower is better.
    pub perplexity: f64,
    /// BLEU, higher is better.
    pub bleu: f64,
}

/// Where [`MEASURED`] comes from.
pub const MEASURED_IN: &str = "Vaswani et al. 2017, Table 3 (A)";
/// The width of the model that the paper varied.
const MEASURED_D_MODEL: u64 = 512;
/// Rows (A) of the paper's Table 3, and the base model they vary.
pub const MEASURED: [Measured; 5] = [
    Measured { num_heads: 1, d_k: 512, perplexity: 5.29, bleu: 24.9 },
    Measured { num_heads: 4, d_k: 128, perplexity: 5.00, bleu: 25.5 },
    Measured { num_heads: 8, d_k: 64, perplexity: 4.92, bleu: 25.8 },
    Measured { num_heads: 16, d_k: 32, perplexity: 4.91, bleu: 25.8 },
    Measured { num_heads: 32, d_k: 16, perplexity: 5.01, bleu: 25.4 },
];

/// Sizes that can be swept.
const KEYS: [Key; 6] = [Key::NumHeads, Key::NumKvHeads, Key::SeqLen, Key::DModel, Key::Batch, Key::Layers];
impl SweepOver {
    /// Reads `num-heads=1,4,8,16,32`.
    ///
    /// # Errors
    /// No such size, no values, too many, or a value that is no size. All bad values are reported.
    pub fn parse(text: &str) -> Outcome<Self> {
        let at = |fault: Fault| fault.in_source("--sweep");
        let known = KEYS.map(|key| &key.flag()[2..]);
        let Some((name, values)) = text.split_once('=') else {
            let shown: String = text.chars().take(40).collect();
            let fault = Fault::new(
                format!("a sweep needs a size and its values, and {shown} has no ="),
                "",
                "write --sweep num-heads=1,4,8,16,32",
            );
            return Err(at(fault).into());
        };
        let typed = name.trim().to_lowercase().replace('_', "-");
        let Some(key) = KEYS.into_iter().find(|key| key.flag()[2..] == typed || key.symbol() == name.trim())
        else {
            let shown: String = name.chars().take(40).collect();
            let near = nearest(&typed.chars().take(40).collect::<String>(), known).unwrap_or("num-heads");
            let why = format!("these can be: {}", known.join(", "));
            let fault = Fault::new(
                format!("{shown} cannot be swept"),
                why,
                format!("write --sweep {near}={}", example(near)),
            );
            return Err(at(fault).into());
        };
        if values.split(',').count() > SWEEP_VALUES {
            let what = format!("a sweep of more than {SWEEP_VALUES} values");
            return Err(at(Fault::new(what, "one table holds them all", "give fewer values")).into());
        }
        // The size is swept, so the flag that would set it is not the remedy.
        let name = &key.flag()[2..];
        let of_a_sweep =
            |fault: Fault| Fault { remedy: format!("for example --sweep {name}={}", example(name)), ..fault };
        let (good, bad): (Vec<_>, Vec<_>) =
            values.split(',').map(|value| key.parse(value.trim())).partition(Result::is_ok);
        let faults: Vec<Fault> = bad
            .into_iter()
            .filter_map(Result::err)
            .flat_map(|faults| faults.0)
            .map(at)
            .map(of_a_sweep)
            .collect();
        if !faults.is_empty() {
            return Err(Faults(faults));
        }
        Ok(Self { key, values: good.into_iter().filter_map(Result::ok).collect() })
    }

    /// The table: everything but the one size as in `settings`.
    ///
    /// # Errors
    /// Values that make no layer (all of them are reported), or a count that does not fit.
    pub fn run(&self, settings: &Settings, kv_dtype: Dtype) -> Outcome<Sweep> {
        let mut rows = Vec::new();
        let mut faults = Vec::new();
        for value in &self.values {
            let row =
                settings.swept(self.key, *value).resolve().and_then(|shape| row(*value, shape, kv_dtype));
            match row {
                Ok(row) => rows.push(row),
                Err(Faults(more)) => faults.extend(more.into_iter().map(|fault| fault.in_source("--sweep"))),
            }
        }
        if !faults.is_empty() {
            return Err(Faults(faults));
        }
        let same = |column: &Column| {
            let first = column.of(rows.first()?, self.key);
            rows.iter().all(|row| column.of(row, self.key) == first).then_some((*column, first))
        };
        let unchanged =
            if rows.len() < 2 { Vec::new() } else { Column::ALL.iter().filter_map(same).collect() };
        Ok(Sweep { key: self.key, rows, unchanged })
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "seq-len" => "128,512,2048",
        "d-model" => "256,512,1024",
        "batch" | "num-kv-heads" => "1,2,4,8",
        "layers" => "1,6,12",
        _ => "1,4,8,16,32",
    }
}

fn row(value: u64, shape: Shape, kv_dtype: Dtype) -> Outcome<Row> {
    let Shape { layer, layers, seq_len, batch, .. } = shape;
    let every_layer = |count: u64, what: &str| report::scaled(count, &[("layers", layers)], what);
    let sequence = layer.multiplication_count(seq_len, seq_len)?;
    let multiplications = report::scaled(sequence, &[("batch", batch)], "multiplications")?;
    let softmaxes = layer.exponentials(seq_len, seq_len)?.value;
    let exponentials = report::scaled(softmaxes, &[("batch", batch)], "exponentials")?;
    let parameters = layer.parameter_count()?;
    let token = layer.kv_cache_numbers_per_token_of(layers)?.stored_as(kv_dtype)?.value;
    let tokens = [("seq_len", seq_len), ("batch", batch)];
    Ok(Row {
        value,
        parameters_per_layer: parameters,
        parameters: every_layer(parameters, "parameters")?,
        multiplications_per_layer: multiplications,
        multiplications: every_layer(multiplications, "multiplications")?,
        exponentials_per_layer: exponentials,
        exponentials: every_layer(exponentials, "exponentials")?,
        kv_cache_bytes_per_token: token,
        kv_cache_bytes: report::scaled(token, &tokens, "KV cache bytes")?,
        measured: measured(&shape),
        shape,
    })
}

/// The paper's result, where these are the paper's sizes.
fn measured(shape: &Shape) -> Option<Measured> {
    let layer = &shape.layer;
    let as_in_the_paper = layer.d_model == MEASURED_D_MODEL
        && layer.d_kv_model == layer.d_model
        && layer.num_kv_heads == layer.num_heads
        && layer.d_v == layer.d_k;
    let same = |row: &&Measured| row.num_heads == layer.num_heads && row.d_k == layer.d_k;
    if as_in_the_paper { MEASURED.iter().find(same).copied() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::presets;

    fn base_swept(text: &str) -> Sweep {
        let settings = Settings::of_preset(presets::BASE);
        SweepOver::parse(text).unwrap().run(&settings, Dtype::Fp16).unwrap()
    }

    /// Course, §7: h = 1, 4, 8, 16, 32 makes d_k = 512, 128, 64, 32, 16, and the paper measured all five.
    #[test]
    fn heads_divide_the_parameters_and_do_not_add_any() {
        let sweep = base_swept("num-heads=1,4,8,16,32");
        let widths: Vec<u64> = sweep.rows.iter().map(|row| row.shape.layer.d_k).collect();
        assert_eq!(widths, [512, 128, 64, 32, 16]);
        let bleu: Vec<f64> = sweep.rows.iter().filter_map(|row| Some(row.measured?.bleu)).collect();
        assert_eq!(bleu, [24.9, 25.5, 25.8, 25.8, 25.4]);
        let same: Vec<Column> = sweep.unchanged.iter().map(|(column, _)| *column).collect();
        assert_eq!(same, [Column::Parameters, Column::Multiplications, Column::KvCache]);
        assert_eq!(sweep.unchanged[0].1, 1_048_576);
    }

    /// n = 256 and B = 1: h·n² = 8·65,536 = 524,288; B = 3 is three times that.
    /// The cache is 2·6·8·64·2 = 12,288 bytes a token, so 3·256 tokens are 9,437,184 bytes.
    #[test]
    fn a_batch_multiplies_work_and_cache_but_not_parameters() {
        let sweep = base_swept("batch=1,3");
        assert_eq!(sweep.rows[0].exponentials_per_layer, 524_288);
        assert_eq!(sweep.rows[1].exponentials_per_layer, 1_572_864);
        assert_eq!(sweep.rows[1].kv_cache_bytes, 9_437_184);
        let same: Vec<Column> = sweep.unchanged.iter().map(|(column, _)| *column).collect();
        assert_eq!(same, [Column::DK, Column::Parameters]);
    }

    #[test]
    fn a_sweep_over_layers_counts_them_all() {
        let sweep = base_swept("layers=1,2");
        let counts: Vec<u64> = sweep.rows.iter().map(|row| Column::Parameters.of(row, sweep.key)).collect();
        assert_eq!(counts, [1_048_576, 2_097_152]);
    }

    #[test]
    fn the_paper_s_results_stand_only_beside_the_paper_s_sizes() {
        let mut settings = Settings::of_flags();
        settings.set(Key::DK, 64);
        let sweep = SweepOver::parse("h=4,8").unwrap().run(&settings, Dtype::Fp16).unwrap();
        let found: Vec<bool> = sweep.rows.iter().map(|row| row.measured.is_some()).collect();
        assert_eq!(found, [false, true]); // 4 heads of 64 were not measured
        assert!(sweep.unchanged.iter().any(|(column, value)| (*column, *value) == (Column::DK, 64)));
    }

    #[test]
    fn a_bad_sweep_says_what_would_be_a_good_one() {
        let said = |text: &str| SweepOver::parse(text).unwrap_err().to_string();
        assert!(said("num-heads").contains("has no ="));
        assert!(said("num-head=1").contains("write --sweep num-heads=1,4,8,16,32"));
        assert!(said("d-k=1").contains("cannot be swept"));
        assert!(said("num-heads=").contains("cannot be empty"));
        assert!(said("num-heads=1,,2").contains("cannot be empty"));
        assert!(said("seq-len=1,x,0").matches("error:").count() == 2);
        assert!(said(&format!("batch={}", vec!["1"; 1001].join(","))).contains("more than 1000 values"));
        let settings = Settings::of_preset(presets::BASE);
        let faults = SweepOver::parse("num-heads=3,8,7").unwrap().run(&settings, Dtype::Fp16).unwrap_err();
        assert_eq!(faults.0.len(), 2, "{faults}");
        assert!(
            faults.to_string().contains("num_heads to 4 or 8") && faults.to_string().contains("--> --sweep")
        );
    }

    #[test]
    fn a_value_too_large_to_count_is_a_fault() {
        let settings = Settings::of_preset(presets::BASE);
        let over = SweepOver::parse("seq-len=1000000000").unwrap();
        let said = over.run(&settings.swept(Key::Batch, 1_000_000_000), Dtype::Fp16).unwrap_err().to_string();
        assert!(said.contains("too large to count"), "{said}");
    }
}
