//! Everything that `mha params` shows, counted once; views only set it.

use super::figure::{Figure, sum};
use super::settings::{Settings, Shape};
use super::sweep::{Sweep, SweepOver};
use super::{Biases, Dtype, Kind, Layer, MatrixCount, ProductCount, divisors};
use crate::fault::Outcome;

/// What is to be reported.
#[derive(Debug, Clone)]
pub struct Request {
    /// The model's sizes.
    pub settings: Settings,
    /// What parameters, and scores where it is wide enough, are stored in.
    pub dtype: Dtype,
    /// What the KV cache is stored in.
    pub kv_dtype: Dtype,
    /// A sweep to add.
    pub sweep: Option<SweepOver>,
}

/// Everything counted about a stack of equal attention layers.
#[derive(Debug, Clone)]
pub struct Report {
    /// Where the sizes came from.
    pub settings: Settings,
    /// The sizes.
    pub shape: Shape,
    /// What parameters are stored in.
    pub dtype: Dtype,
    /// What the KV cache is stored in.
    pub kv_dtype: Dtype,
    /// Section 2.
    pub parameters: Parameters,
    /// Section 3.
    pub compute: Compute,
    /// Section 4.
    pub memory: Memory,
    /// Section 5, most key/value heads first.
    pub sharing: Vec<Sharing>,
    /// Section 6, where it was asked for.
    pub sweep: Option<Sweep>,
}

/// Parameters with and without biases.
#[derive(Debug, Clone)]
pub struct Parameters {
    /// The matrices and all four biases, whether the layer has them or not.
    pub matrices: Vec<MatrixCount>,
    /// One layer, matrices only.
    pub without_biases: u64,
    /// One layer, matrices and biases.
    pub with_biases: u64,
    /// All layers, matrices only.
    pub all_without_biases: Figure,
    /// All layers, matrices and biases.
    pub all_with_biases: Figure,
    /// One layer as it is.
    pub per_layer: u64,
    /// All layers as they are.
    pub total: u64,
    /// One head as wide as all heads together.
    pub single_head: Layer,
    /// Its matrices.
    pub single_head_matrices: Vec<MatrixCount>,
    /// Their count.
    pub single_head_total: u64,
    /// 4·d_model², which all of this comes to in the paper's layer.
    pub four_squares: u64,
}

/// Work of one layer on the whole batch.
#[derive(Debug, Clone)]
pub struct Compute {
    /// Each product of the layer, beside the single head's.
    pub products: Vec<(ProductCount, u64)>,
    /// All products of the layer.
    pub multiplications: u64,
    /// All products of the single head.
    pub single_head_multiplications: u64,
    /// All products of all layers.
    pub multiplications_of_all_layers: u64,
    /// Exponentials of the layer's softmaxes; as many scores are kept.
    pub exponentials: Figure,
    /// Exponentials of the single head.
    pub single_head_exponentials: u64,
}

/// Bytes.
#[derive(Debug, Clone)]
pub struct Memory {
    /// Parameters of all layers in each type.
    pub parameters: Vec<(Dtype, Figure)>,
    /// What scores are counted in.
    pub score_dtype: Dtype,
    /// Score matrices of one layer on the whole batch.
    pub scores: Figure,
    /// Score matrices of all layers, as training keeps them.
    pub scores_of_all_layers: u64,
    /// KV cache of one token in all layers.
    pub cache_per_token: Figure,
    /// KV cache of the whole batch in all layers.
    pub cache: Figure,
}

/// The same layer with another number of key/value heads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sharing {
    /// How heads are shared then.
    pub kind: Kind,
    /// g
    pub num_kv_heads: u64,
    /// Whether it is the layer reported on.
    pub is_this_layer: bool,
    /// Parameters of one layer.
    pub parameters_per_layer: u64,
    /// Bytes cached of one token by all layers.
    pub cache_per_token: u64,
    /// Query heads to one key/value head: the cache is this many times smaller than with g = h.
    pub times_smaller: u64,
}

impl Report {
    /// Counts everything.
    ///
    /// # Errors
    /// Sizes that make no layer, or a count that does not fit in 64 bits.
    pub fn new(request: &Request) -> Outcome<Self> {
        let Request { settings, dtype, kv_dtype, sweep } = request;
        let shape = settings.resolve()?;
        Ok(Self {
            settings: settings.clone(),
            dtype: *dtype,
            kv_dtype: *kv_dtype,
            parameters: parameters(&shape)?,
            compute: compute(&shape)?,
            memory: memory(&shape, *dtype, *kv_dtype)?,
            sharing: sharing(&shape, *kv_dtype)?,
            sweep: sweep.as_ref().map(|over| over.run(settings, *kv_dtype)).transpose()?,
            shape,
        })
    }
}

fn parameters(shape: &Shape) -> Outcome<Parameters> {
    let layer = shape.layer;
    let matrices = Layer { biases: Biases::ALL, ..layer }.parameters()?;
    let without = Layer { biases: Biases::NONE, ..layer }.parameter_count()?;
    let with = Layer { biases: Biases::ALL, ..layer }.parameter_count()?;
    let per_layer = layer.parameter_count()?;
    let layers = Figure::size("layers", shape.layers);
    let single_head = Layer { biases: Biases::NONE, ..layer.as_single_head()? };
    let d_model_squared = Figure::square("d_model", layer.d_model)?;
    Ok(Parameters {
        matrices,
        without_biases: without,
        with_biases: with,
        all_without_biases: layers.by(&Figure::size("one layer", without))?,
        all_with_biases: layers.by(&Figure::size("one layer", with))?,
        per_layer,
        total: scaled(per_layer, &[("layers", shape.layers)], "parameters")?,
        single_head,
        single_head_matrices: single_head.parameters()?,
        single_head_total: single_head.parameter_count()?,
        four_squares: Figure::constant(4).times(&d_model_squared)?.value,
    })
}

fn compute(shape: &Shape) -> Outcome<Compute> {
    let Shape { layer, layers, seq_len: n, batch, .. } = *shape;
    let single = layer.as_single_head()?;
    let mut products = Vec::new();
    for (product, single) in layer.multiplications(n, n)?.into_iter().zip(single.multiplications(n, n)?) {
        let count = batched(batch, &product.count)?;
        products.push((ProductCount { count, ..product }, batched(batch, &single.count)?.value));
    }
    let multiplications =
        sum(products.iter().map(|(product, _)| product.count.value), "all multiplications")?;
    Ok(Compute {
        multiplications,
        single_head_multiplications: sum(products.iter().map(|(_, single)| *single), "all multiplications")?,
        multiplications_of_all_layers: scaled(multiplications, &[("layers", layers)], "multiplications")?,
        products,
        exponentials: batched(batch, &layer.exponentials(n, n)?)?,
        single_head_exponentials: batched(batch, &single.exponentials(n, n)?)?.value,
    })
}

fn memory(shape: &Shape, dtype: Dtype, kv_dtype: Dtype) -> Outcome<Memory> {
    let Shape { layer, layers, seq_len, batch, .. } = *shape;
    let count = scaled(layer.parameter_count()?, &[("layers", layers)], "parameters")?;
    let stored = |dtype: Dtype| Ok((dtype, Figure::size("parameters", count).stored_as(dtype)?));
    let score_dtype = dtype.for_scores();
    let scores = batched(batch, &layer.exponentials(seq_len, seq_len)?)?.stored_as(score_dtype)?;
    let cache_per_token = layer.kv_cache_numbers_per_token_of(layers)?.stored_as(kv_dtype)?;
    let tokens = Figure::size("n", seq_len).times(&Figure::size("B", batch))?;
    Ok(Memory {
        parameters: Dtype::shown_beside(dtype).into_iter().map(stored).collect::<Outcome<_>>()?,
        score_dtype,
        scores_of_all_layers: scaled(scores.value, &[("layers", layers)], "bytes of all scores")?,
        scores,
        cache: Figure::size("a token", cache_per_token.value).times(&tokens)?,
        cache_per_token,
    })
}

fn sharing(shape: &Shape, kv_dtype: Dtype) -> Outcome<Vec<Sharing>> {
    let layer = shape.layer;
    let row = |g: u64| {
        let shared = layer.with_kv_heads(g);
        let cached = shared.kv_cache_numbers_per_token_of(shape.layers)?;
        Ok(Sharing {
            kind: shared.kind(),
            num_kv_heads: g,
            is_this_layer: g == layer.num_kv_heads,
            parameters_per_layer: shared.parameter_count()?,
            cache_per_token: cached.stored_as(kv_dtype)?.value,
            times_smaller: layer.num_heads / g.max(1),
        })
    };
    kv_head_counts(&layer).into_iter().map(row).collect()
}

/// Numbers of key/value heads worth a row: h halved as often as it goes, 1, and what the layer has; every divisor
/// where there are few.
pub(super) fn kv_head_counts(layer: &Layer) -> Vec<u64> {
    const FEW: usize = 6;
    let all = divisors(layer.num_heads);
    let halved = |g: &u64| (layer.num_heads / g).is_power_of_two();
    let few = all.len() <= FEW;
    all.into_iter().rev().filter(|g| few || *g == 1 || *g == layer.num_kv_heads || halved(g)).collect()
}

/// A figure for B sequences; B is left out of the formula where it is 1.
fn batched(batch: u64, figure: &Figure) -> Outcome<Figure> {
    if batch == 1 { Ok(figure.clone()) } else { Figure::size("B", batch).times(figure) }
}

/// A count so many times over.
///
/// # Errors
/// Too large for 64 bits; `what` and the factors name it.
pub(super) fn scaled(count: u64, factors: &[(&str, u64)], what: &str) -> Outcome<u64> {
    let mut figure = Figure::size(what, count);
    for (name, value) in factors {
        figure = figure.times(&Figure::size(name, *value))?;
    }
    Ok(figure.value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Key, presets};

    fn report(settings: Settings) -> Report {
        let request = Request { settings, dtype: Dtype::Fp16, kv_dtype: Dtype::Fp16, sweep: None };
        Report::new(&request).unwrap()
    }

    fn preset(name: &str) -> Report {
        report(Settings::of_preset(presets::find(name).unwrap()))
    }

    /// 4·512² = 1,048,576 a layer, 6 layers 6,291,456; with 4·512 biases 1,050,624.
    #[test]
    fn the_base_transformer_is_counted_with_and_without_biases() {
        let Parameters { without_biases, with_biases, total, four_squares, single_head_total, .. } =
            preset("transformer-base").parameters;
        assert_eq!([without_biases, with_biases, total], [1_048_576, 1_050_624, 6_291_456]);
        assert_eq!([four_squares, single_head_total], [1_048_576, 1_048_576]);
    }

    /// BERT-base: 4·768² + 4·768 = 2,359,296 + 3,072 = 2,362,368 a layer; 12 layers 28,348,416.
    /// GPT-3: 4·12288² + 4·12288 = 603,979,776 + 49,152 = 604,028,928; 96 layers 57,986,777,088.
    #[test]
    fn a_model_with_biases_counts_them() {
        assert_eq!(preset("bert").parameters.total, 28_348_416);
        assert_eq!(preset("gpt-3").parameters.total, 57_986_777_088);
    }

    /// LLaMA-2 70B: W_Q and W_O 8192² each, W_K and W_V 8192·(8·128) each: 2·67,108,864 + 2·8,388,608 =
    /// 150,994,944 a layer. Its cache is an eighth of what 64 key/value heads would keep (course, §11).
    #[test]
    fn llama_2_70b_caches_an_eighth() {
        let report = preset("llama-2-70b");
        assert_eq!(report.parameters.per_layer, 150_994_944);
        assert_eq!(report.memory.cache_per_token.value, 327_680);
        let this = report.sharing.iter().find(|row| row.is_this_layer).unwrap();
        let mha = &report.sharing[0];
        assert_eq!((this.kind, this.times_smaller), (Kind::GroupedQuery, 8));
        assert_eq!((mha.kind, mha.cache_per_token), (Kind::MultiHead, 8 * 327_680));
        let heads: Vec<u64> = report.sharing.iter().map(|row| row.num_kv_heads).collect();
        assert_eq!(heads, [64, 32, 16, 8, 4, 2, 1]);
    }

    /// 2 sequences of 3 tokens through 4 heads: 2·4·3² = 72 exponentials and scores; fp16 makes 144 bytes.
    /// In int4 the scores still stand in fp16.
    #[test]
    fn scores_are_counted_for_the_whole_batch_and_never_in_whole_numbers() {
        let mut settings = Settings::of_flags();
        for (key, value) in [(Key::DModel, 8), (Key::NumHeads, 4), (Key::SeqLen, 3), (Key::Batch, 2)] {
            settings.set(key, value);
        }
        let report = report(settings.clone());
        assert_eq!(report.compute.exponentials.value, 72);
        assert_eq!(report.compute.exponentials.formula, "B·h·n²");
        assert_eq!(report.compute.single_head_exponentials, 18);
        assert_eq!(report.memory.scores.value, 144);
        let request = Request { settings, dtype: Dtype::Int4, kv_dtype: Dtype::Int4, sweep: None };
        let memory = Report::new(&request).unwrap().memory;
        assert_eq!((memory.score_dtype, memory.scores.value), (Dtype::Fp16, 144));
        // one layer: 2·1·4·2 = 16 numbers a token, half a byte each
        assert_eq!((memory.cache_per_token.factors.as_str(), memory.cache_per_token.value), ("2·1·4·2·½", 8));
    }

    #[test]
    fn many_divisors_are_thinned_to_halves_and_few_are_all_shown() {
        let counts = |h, g| kv_head_counts(&Layer::multi_head(h, h).with_kv_heads(g));
        assert_eq!(counts(96, 3), [96, 48, 24, 12, 6, 3, 1]);
        assert_eq!(counts(60, 4), [60, 30, 15, 4, 1]);
        assert_eq!(counts(25, 25), [25, 5, 1]);
        assert_eq!(counts(1, 1), [1]);
    }
}
