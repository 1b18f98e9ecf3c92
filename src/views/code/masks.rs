//! What hides keys, and what is added to scores, as a library builds it.

use nalgebra::DMatrix;

use super::Author;
use super::groups::Group;
use super::literal::{exact, nested};
use crate::ops::Op;
use crate::plan::Attention;
use crate::plan::spec::{Alignment, Mask, Positions, alibi_slopes};

/// A matrix with more numbers than this is not typed where there is a file to read.
const MOST_TYPED: usize = 400;

/// How many numbers a program would type for masks.
pub(super) fn typed(attention: &Attention) -> usize {
    attention.masks.iter().map(size).sum()
}

fn size(mask: &Mask) -> usize {
    match mask {
        Mask::Allow(matrices) => matrices.iter().map(DMatrix::len).sum(),
        Mask::Add(matrices) => matrices.iter().map(DMatrix::len).sum(),
        Mask::KeyPadding(rows) => rows.iter().map(Vec::len).sum(),
        Mask::Causal(_) | Mask::Window { .. } => 0,
    }
}

/// Whether it can hide a key, and not only add a number.
fn hides(mask: &Mask) -> bool {
    match mask {
        Mask::Add(matrices) => matrices.iter().flatten().any(|number| *number == f64::NEG_INFINITY),
        _ => true,
    }
}

impl Author<'_> {
    fn masks(&self) -> &[Mask] {
        &self.source.scene.attention.masks
    }

    /// n_q and n_kv.
    pub(super) fn lengths(&self) -> (usize, usize) {
        let scores = self.groups.iter().find(|group| group.name == "scores");
        scores.map_or((0, 0), |group| group.first().shape)
    }

    /// What the code calls them.
    pub(super) fn names_of_lengths(&self) -> (&'static str, &'static str) {
        let (n_q, n_kv) = self.lengths();
        if n_q == n_kv { ("n", "n") } else { ("n_q", "n_kv") }
    }

    /// Whether some query may look nowhere.
    pub(super) fn has_blind_rows(&self) -> bool {
        let blind =
            |mask: &crate::ops::Mask| mask.allowed.row_iter().any(|row| row.iter().all(|allowed| !allowed));
        self.groups.iter().flat_map(|group| &group.steps).any(|step| match &step.op {
            Op::Mask(mask) => blind(mask),
            _ => false,
        })
    }

    /// Whether what is added is read off the file, since a matrix of it is too large to type.
    pub(super) fn reads_bias(&self, group: &Group<'_>) -> bool {
        let large = self.masks().iter().any(|mask| matches!(mask, Mask::Add(_)) && size(mask) > MOST_TYPED);
        self.reads_file && large && group.only_heads(self.num_heads()).is_none()
    }

    /// Builds `mask`, true where a query may look.
    pub(super) fn mask(&self) -> String {
        let module = self.library.module;
        let mut masked = self.groups.iter().filter(|group| group.name == "masked_scores");
        let in_all_heads = masked.all(|group| group.only_heads(self.num_heads()).is_none());
        if self.reads_file
            && in_all_heads
            && self.masks().iter().any(|mask| hides(mask) && size(mask) > MOST_TYPED)
        {
            let (open, close) = self.library.loaded;
            let hidden = format!("{open}trace[\"masked_scores\"]{close}");
            return format!("mask = {module}.isfinite({hidden})  # true = may look; too large to type\n");
        }
        let mut parts: Vec<(&str, String)> = Vec::new();
        for mask in self.masks() {
            match mask {
                Mask::Causal(alignment) => parts.push(("causal", self.band(None, Some(0), *alignment))),
                Mask::Window { left, right, alignment } => {
                    parts.push(("window", self.band(Some(*left), *right, *alignment)));
                }
                Mask::KeyPadding(rows) => parts.push(("real", self.padding(rows))),
                Mask::Allow(matrices) => parts.push(("allowed", self.flags(matrices))),
                Mask::Add(_) => {}
            }
        }
        let mut lines = String::new();
        if self.adding_hides() {
            let mut biased = self.groups.iter().filter(|group| matches!(group.first().op, Op::Bias(_)));
            if biased.all(|group| self.reads_bias(group)) {
                lines += &self.added_as_given();
            }
            parts.push(("seen", format!("~{module}.isneginf({})", self.added_name())));
        }
        if let [(_, only)] = parts.as_slice() {
            return format!("{lines}mask = {only}  # true = may look\n");
        }
        let mut names: Vec<String> = Vec::new();
        for (name, value) in parts {
            let count = names
                .iter()
                .filter(|known| known.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_') == name)
                .count();
            let name = if count == 0 { name.to_owned() } else { format!("{name}_{}", count + 1) };
            lines += &format!("{name} = {value}\n");
            names.push(name);
        }
        format!("{lines}mask = {}  # true = may look\n", names.join(" & "))
    }

    /// True from `left` before the diagonal to `right` after it; `None` is open.
    fn band(&self, left: Option<Option<usize>>, right: Option<usize>, alignment: Alignment) -> String {
        let library = self.library;
        let (n_q, n_kv) = self.names_of_lengths();
        let (module, offset) = (library.module, alignment.offset(self.lengths().0, self.lengths().1));
        let ones = format!("{module}.ones(({n_q}, {n_kv}), dtype={})", library.flag);
        let shifted = |triangle: &str, of: String, by: i64| {
            let named = by == offset && alignment == Alignment::BottomRight && by != 0;
            let by = if named { "n_kv - n_q".to_owned() } else { by.to_string() };
            let shift = if by == "0" { String::new() } else { format!(", {}={by}", library.diagonal) };
            format!("{module}.{triangle}({of}{shift})")
        };
        let mut band = ones;
        if let Some(Some(left)) = left {
            band = shifted("triu", band, offset - left as i64);
        }
        if let Some(right) = right {
            band = shifted("tril", band, offset + right as i64);
        }
        band
    }

    /// One row a sequence, for every head and query; or one row for all.
    fn padding(&self, rows: &[Vec<bool>]) -> String {
        let own = match self.sequence() {
            Some(sequence) => rows.get(sequence).or(rows.first()).into_iter().collect::<Vec<_>>(),
            None => rows.iter().collect(),
        };
        let cells: Vec<String> =
            own.iter().flat_map(|row| row.iter()).map(|real| u8::from(*real).to_string()).collect();
        let width = own.first().map_or(0, |row| row.len());
        let (shape, index) = match own.len() {
            1 => (vec![width], "[None, :]"),
            count => (vec![count, width], "[:, None, None, :]"),
        };
        let close = format!(", dtype={})", self.library.flag);
        let list = nested(&cells, &shape, 0, 20, close.len() + index.len());
        format!("{}({list}{close}{index}", self.library.array)
    }

    /// The sequence that was chosen of a batch, from 0.
    fn sequence(&self) -> Option<usize> {
        if self.source.keep_batch_axis {
            return None;
        }
        self.source.scene.steps.iter().find_map(|id| id.sequence)
    }

    fn flags(&self, matrices: &[DMatrix<bool>]) -> String {
        let cells: Vec<String> = rows(matrices).map(|allowed| u8::from(allowed).to_string()).collect();
        let close = format!(", dtype={})", self.library.flag);
        format!("{}({}{close}", self.library.array, nested(&cells, &shape(matrices), 0, 20, close.len()))
    }

    /// Builds `add`, the finite numbers that are added; and whether there are any.
    pub(super) fn added(&self) -> (String, bool) {
        let lines = self.added_as_given();
        if lines.is_empty() {
            return (lines, false);
        }
        let module = self.library.module;
        let finite = self.finite_name();
        let finite = format!(
            "{finite} = {module}.where({module}.isneginf(added), 0.0, added)  # -inf is the mask's matter\n"
        );
        (lines + if self.adding_hides() { &finite } else { "" }, true)
    }

    /// The matrices as the lesson gives them: `add`, or `added` where −∞ is among their numbers.
    fn added_as_given(&self) -> String {
        let name = self.added_name();
        let added: Vec<&Vec<DMatrix<f64>>> = self
            .masks()
            .iter()
            .filter_map(|mask| match mask {
                Mask::Add(matrices) => Some(matrices),
                _ => None,
            })
            .collect();
        let mut lines = String::new();
        let mut names = Vec::new();
        for (at, matrices) in added.iter().enumerate() {
            let own = if added.len() == 1 { name.to_owned() } else { format!("{name}_{}", at + 1) };
            let cells: Vec<f64> = rows(matrices).collect();
            lines += &format!("{own} = {}\n", self.array(&cells, &shape(matrices), own.len() + 3));
            names.push(own);
        }
        if names.len() > 1 {
            lines += &format!("{name} = {}\n", names.join(" + "));
        }
        lines
    }

    fn added_name(&self) -> &'static str {
        if self.adding_hides() { "added" } else { self.finite_name() }
    }

    /// What is added, without −∞: `bias`, unless ALiBi's distances make a part of that.
    fn finite_name(&self) -> &'static str {
        if matches!(self.source.scene.attention.positions, Positions::Alibi { .. }) { "add" } else { "bias" }
    }

    /// Whether −∞ is among the numbers that are added.
    fn adding_hides(&self) -> bool {
        self.masks().iter().any(|mask| matches!(mask, Mask::Add(_)) && hides(mask))
    }

    /// ALiBi's slopes: the usual ones by their formula, where the heads are a power of two.
    pub(super) fn slopes(&self) -> String {
        let attention = self.source.scene.attention;
        let Positions::Alibi { slopes, .. } = &attention.positions else { return String::new() };
        if slopes.len().is_power_of_two() && *slopes == alibi_slopes(slopes.len()) {
            return format!(
                "slopes = 2.0 ** (-8 * {}.arange(1, num_heads + 1) / num_heads)\n",
                self.library.module
            );
        }
        format!("slopes = {}\n", self.array(slopes, &[slopes.len()], 9))
    }

    /// Attention in one call, compared with the heads; empty where the library has none, or where it cannot say this.
    pub(super) fn fused(&self) -> String {
        let attention = self.source.scene.attention;
        let Some(call) = self.library.fused else { return String::new() };
        if attention.softcap.is_some() || attention.sinks.is_some() || self.has_blind_rows() {
            return String::new();
        }
        let group = |name: &str| self.groups.iter().find(|group| group.name == name);
        let (Some(scores), Some(heads)) = (group("scores"), group("heads")) else { return String::new() };
        let mut before = String::new();
        let mut arguments = vec![scores.input(0), scores.input(1), heads.input(1)];
        match (group("biased_scores"), group("masked_scores")) {
            (Some(_), Some(_)) => {
                before = format!("attn_mask = {0}.where(mask, bias, -{0}.inf)\n", self.library.module);
                arguments.push("attn_mask=attn_mask".to_owned());
            }
            (Some(_), None) => arguments.push("attn_mask=bias".to_owned()),
            (None, Some(_)) => arguments.push("attn_mask=mask".to_owned()),
            (None, None) => {}
        }
        if let crate::ops::Scale::Given(scale) = attention.scale {
            arguments.push(format!("scale={}", exact(scale)));
        }
        if attention.num_kv_heads != attention.num_heads {
            arguments.push("enable_gqa=True".to_owned());
        }
        format!("{before}fused = {call}({})\ncheck(\"the fused call\", fused, heads)\n", arguments.join(", "))
    }
}

/// The shape of one matrix, or of one a head.
fn shape<T: nalgebra::Scalar>(matrices: &[DMatrix<T>]) -> Vec<usize> {
    let (rows, columns) = matrices.first().map_or((0, 0), DMatrix::shape);
    if matrices.len() == 1 { vec![rows, columns] } else { vec![matrices.len(), rows, columns] }
}

/// Every cell, row by row.
fn rows<T: nalgebra::Scalar + Copy>(matrices: &[DMatrix<T>]) -> impl Iterator<Item = T> + '_ {
    matrices.iter().flat_map(|matrix| {
        (0..matrix.nrows()).flat_map(move |r| (0..matrix.ncols()).map(move |c| matrix[(r, c)]))
    })
}
