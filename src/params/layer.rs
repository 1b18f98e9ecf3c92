//! One attention layer: what it holds, what it multiplies, what it caches.

use super::figure::{Figure, sum};
use crate::fault::{Fault, Outcome};
use crate::words::n;

/// The sizes of one attention layer; everything it costs follows from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layer {
    /// Width of the input and of the output.
    pub d_model: u64,
    /// Width of the source of keys and values; `d_model` in self-attention.
    pub d_kv_model: u64,
    /// h, the query heads.
    pub num_heads: u64,
    /// g, the key/value heads; divides h.
    pub num_kv_heads: u64,
    /// Width of a head's queries and keys.
    pub d_k: u64,
    /// Width of a head's values.
    pub d_v: u64,
    /// Which projections add a bias.
    pub biases: Biases,
    /// Whether there is a W_O; without, the layer ends with the concatenated heads.
    pub output_projection: bool,
}

/// Which of the four projections add a bias.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Biases {
    /// b_Q (h·d_k)
    pub q: bool,
    /// b_K (g·d_k)
    pub k: bool,
    /// b_V (g·d_v)
    pub v: bool,
    /// b_O (d_model)
    pub o: bool,
}

impl Biases {
    /// No projection has one.
    pub const NONE: Self = Self { q: false, k: false, v: false, o: false };
    /// All four have one.
    pub const ALL: Self = Self { q: true, k: true, v: true, o: true };

    /// Whether any projection has one.
    pub fn any(self) -> bool {
        self != Self::NONE
    }
}

/// How query heads share keys and values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// h = 1
    SingleHead,
    /// g = h
    MultiHead,
    /// 1 < g < h
    GroupedQuery,
    /// g = 1 < h
    MultiQuery,
}

impl Kind {
    /// The field's abbreviation.
    pub fn short(self) -> &'static str {
        match self {
            Self::SingleHead => n!("single head"),
            Self::MultiHead => "MHA",
            Self::GroupedQuery => "GQA",
            Self::MultiQuery => "MQA",
        }
    }

    /// The name in full.
    pub fn name(self) -> &'static str {
        match self {
            Self::SingleHead => "single-head attention",
            Self::MultiHead => "multi-head attention",
            Self::GroupedQuery => "grouped-query attention",
            Self::MultiQuery => "multi-query attention",
        }
    }
}

/// One learned matrix or bias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixCount {
    /// As in the paper: `W_Q`, `b_Q`.
    pub name: &'static str,
    /// The step id: `w_q`, `b_q`.
    pub step: &'static str,
    /// Rows and columns of a matrix; the one length of a bias.
    pub shape: Vec<u64>,
    /// How many numbers it holds.
    pub count: Figure,
}

impl MatrixCount {
    /// Whether this is a bias rather than a matrix.
    pub fn is_bias(&self) -> bool {
        self.shape.len() == 1
    }
}

/// The multiplications of one matrix product (as many additions come with them, less one a number).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProductCount {
    /// As in the paper: `X·W_Q`, `Q·Kᵀ`.
    pub name: &'static str,
    /// How many multiplications.
    pub count: Figure,
}

impl Layer {
    /// The paper's layer: g = h, d_k = d_v = d_model / h (rounded down), self-attention, W_O, no biases.
    pub fn multi_head(d_model: u64, num_heads: u64) -> Self {
        let d_k = d_model / num_heads.max(1);
        Self {
            d_model,
            d_kv_model: d_model,
            num_heads,
            num_kv_heads: num_heads,
            d_k,
            d_v: d_k,
            biases: Biases::NONE,
            output_projection: true,
        }
    }

    /// Whether the sizes make a layer at all: none is 0, and g divides h.
    ///
    /// # Errors
    /// The first size that does not.
    pub fn check(&self) -> Outcome<()> {
        let sizes = [
            ("d_model", self.d_model),
            ("d_kv_model", self.d_kv_model),
            ("num_heads", self.num_heads),
            ("num_kv_heads", self.num_kv_heads),
            ("d_k", self.d_k),
            ("d_v", self.d_v),
        ];
        for (name, size) in sizes {
            if size == 0 {
                return Err(Fault::new(format!("{name} is 0"), "it counts things", "give at least 1").into());
            }
        }
        if !self.num_heads.is_multiple_of(self.num_kv_heads) {
            return Err(Fault::new(
                format!("{} query heads cannot share {} key/value heads", self.num_heads, self.num_kv_heads),
                "each key/value head serves equally many query heads, so num_kv_heads divides num_heads",
                format!("set num_kv_heads to {}", super::neighbours(self.num_heads, self.num_kv_heads)),
            )
            .into());
        }
        Ok(())
    }

    /// How the query heads share keys and values.
    pub fn kind(&self) -> Kind {
        match (self.num_heads, self.num_kv_heads) {
            (1, _) => Kind::SingleHead,
            (h, g) if g == h => Kind::MultiHead,
            (_, 1) => Kind::MultiQuery,
            _ => Kind::GroupedQuery,
        }
    }

    /// One head as wide as all of this layer's query heads together: the same four matrices where g = h.
    ///
    /// # Errors
    /// The width does not fit in 64 bits.
    pub fn as_single_head(&self) -> Outcome<Self> {
        Ok(Self {
            num_heads: 1,
            num_kv_heads: 1,
            d_k: self.q_width()?.value,
            d_v: self.concat_width()?.value,
            ..*self
        })
    }

    /// The same layer with another number of key/value heads.
    #[must_use]
    pub fn with_kv_heads(&self, num_kv_heads: u64) -> Self {
        Self { num_kv_heads, ..*self }
    }

    /// The matrices in the paper's order, then the biases that there are.
    ///
    /// # Errors
    /// A count does not fit in 64 bits.
    pub fn parameters(&self) -> Outcome<Vec<MatrixCount>> {
        let d_model = Figure::size("d_model", self.d_model);
        let source = if self.d_kv_model == self.d_model {
            d_model.clone()
        } else {
            Figure::size("d_kv_model", self.d_kv_model)
        };
        let (q, k, v, concat) = (self.q_width()?, self.k_width()?, self.v_width()?, self.concat_width()?);
        let mut all = vec![
            matrix("W_Q", "w_q", &d_model, &q)?,
            matrix("W_K", "w_k", &source, &k)?,
            matrix("W_V", "w_v", &source, &v)?,
        ];
        if self.output_projection {
            all.push(matrix("W_O", "w_o", &concat, &d_model)?);
        }
        let Biases { q: b_q, k: b_k, v: b_v, o: b_o } = self.biases;
        all.extend(b_q.then(|| bias("b_Q", "b_q", q)));
        all.extend(b_k.then(|| bias("b_K", "b_k", k)));
        all.extend(b_v.then(|| bias("b_V", "b_v", v)));
        all.extend((b_o && self.output_projection).then(|| bias("b_O", "b_o", d_model)));
        Ok(all)
    }

    /// All parameters of the layer, with the biases it has.
    ///
    /// # Errors
    /// The count does not fit in 64 bits.
    pub fn parameter_count(&self) -> Outcome<u64> {
        sum(self.parameters()?.iter().map(|matrix| matrix.count.value), "the layer's parameters")
    }

    /// Multiplications of each matrix product for one sequence of n_q queries and n_kv keys, in order.
    ///
    /// Scores are counted over the whole n_q × n_kv rectangle: a causal mask hides half of them, but only a
    /// kernel that knows of the mask saves their work. The scale, the softmax and biases are not products.
    ///
    /// # Errors
    /// A count does not fit in 64 bits.
    pub fn multiplications(&self, n_q: u64, n_kv: u64) -> Outcome<Vec<ProductCount>> {
        let (queries, keys) = lengths(n_q, n_kv);
        let pairs = pairs(n_q, n_kv)?;
        let heads = self.heads();
        let parameters = self.parameters()?;
        let mut all = Vec::new();
        for (name, step, rows) in
            [("X·W_Q", "w_q", &queries), ("X·W_K", "w_k", &keys), ("X·W_V", "w_v", &keys)]
        {
            all.extend(projected(name, step, rows, &parameters)?);
        }
        for (name, width) in [("Q·Kᵀ", Figure::size("d_k", self.d_k)), ("A·V", Figure::size("d_v", self.d_v))]
        {
            all.push(ProductCount { name, count: heads.times(&pairs)?.times(&width)? });
        }
        all.extend(projected("concat·W_O", "w_o", &queries, &parameters)?);
        Ok(all)
    }

    /// All multiplications of one sequence.
    ///
    /// # Errors
    /// The count does not fit in 64 bits.
    pub fn multiplication_count(&self, n_q: u64, n_kv: u64) -> Outcome<u64> {
        sum(self.multiplications(n_q, n_kv)?.iter().map(|product| product.count.value), "all multiplications")
    }

    /// Exponentials of all softmaxes of one sequence, one a score: h·n². As many scores are kept by an
    /// implementation that keeps them.
    ///
    /// # Errors
    /// The count does not fit in 64 bits.
    pub fn exponentials(&self, n_q: u64, n_kv: u64) -> Outcome<Figure> {
        self.heads().times(&pairs(n_q, n_kv)?)
    }

    /// Numbers that a KV cache keeps of each token in this layer: 2·g·d_k, or g·(d_k + d_v).
    ///
    /// # Errors
    /// The count does not fit in 64 bits.
    pub fn kv_cache_numbers_per_token(&self) -> Outcome<Figure> {
        self.kv_cache_of_layers(None)
    }

    /// The same over a stack of equal layers: 2·layers·g·d_k.
    ///
    /// # Errors
    /// The count does not fit in 64 bits.
    pub fn kv_cache_numbers_per_token_of(&self, layers: u64) -> Outcome<Figure> {
        self.kv_cache_of_layers(Some(layers))
    }

    fn kv_cache_of_layers(&self, layers: Option<u64>) -> Outcome<Figure> {
        let g = Figure::size("g", self.num_kv_heads);
        let heads = match layers {
            Some(layers) => Figure::size("layers", layers).times(&g)?,
            None => g,
        };
        let d_k = Figure::size("d_k", self.d_k);
        if self.d_k == self.d_v {
            Figure::constant(2).times(&heads)?.times(&d_k)
        } else {
            heads.times(&d_k.plus(&Figure::size("d_v", self.d_v))?)
        }
    }

    fn heads(&self) -> Figure {
        Figure::size("h", self.num_heads)
    }

    /// Columns of W_Q: h·d_k.
    fn q_width(&self) -> Outcome<Figure> {
        self.heads().times(&Figure::size("d_k", self.d_k))
    }

    /// Columns of W_K: g·d_k.
    fn k_width(&self) -> Outcome<Figure> {
        Figure::size("g", self.num_kv_heads).times(&Figure::size("d_k", self.d_k))
    }

    /// Columns of W_V: g·d_v.
    fn v_width(&self) -> Outcome<Figure> {
        Figure::size("g", self.num_kv_heads).times(&Figure::size("d_v", self.d_v))
    }

    /// Rows of W_O: h·d_v.
    fn concat_width(&self) -> Outcome<Figure> {
        self.heads().times(&Figure::size("d_v", self.d_v))
    }
}

fn matrix(name: &'static str, step: &'static str, rows: &Figure, columns: &Figure) -> Outcome<MatrixCount> {
    Ok(MatrixCount { name, step, shape: vec![rows.value, columns.value], count: rows.by(columns)? })
}

fn bias(name: &'static str, step: &'static str, width: Figure) -> MatrixCount {
    MatrixCount { name, step, shape: vec![width.value], count: width }
}

/// Rows times a learned matrix: every number of the matrix is used once a row.
fn projected(
    name: &'static str,
    step: &str,
    rows: &Figure,
    parameters: &[MatrixCount],
) -> Outcome<Option<ProductCount>> {
    let Some(matrix) = parameters.iter().find(|matrix| matrix.step == step) else { return Ok(None) };
    let mut count = rows.times(&matrix.count)?;
    for text in [&mut count.formula, &mut count.factors] {
        *text = text.replace(" × ", "·");
    }
    Ok(Some(ProductCount { name, count }))
}

/// n for both where they are the same length, else n_q and n_kv.
fn lengths(n_q: u64, n_kv: u64) -> (Figure, Figure) {
    if n_q == n_kv {
        (Figure::size("n", n_q), Figure::size("n", n_kv))
    } else {
        (Figure::size("n_q", n_q), Figure::size("n_kv", n_kv))
    }
}

/// Pairs of a query and a key: n², or n_q·n_kv.
fn pairs(n_q: u64, n_kv: u64) -> Outcome<Figure> {
    if n_q == n_kv {
        return Figure::square("n", n_q);
    }
    let (queries, keys) = lengths(n_q, n_kv);
    queries.times(&keys)
}

#[cfg(test)]
#[path = "layer_tests.rs"]
mod tests;
