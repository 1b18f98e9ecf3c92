//! Everything that hides a key from a query, put together.

use std::sync::Arc;

use nalgebra::DMatrix;

use super::spec::{Alignment, FullyMaskedRows, Mask, Positions};
use super::{Attention, Head};
use crate::fault::Fault;
use crate::ops::{self, Alibi, Bias};
use crate::words::t;

/// What happens to one head's scores between Q · Kᵀ and the softmax, apart from the cap.
#[derive(Debug, Clone, Default)]
pub struct ScoreChanges {
    /// Numbers added.
    pub bias: Option<Bias>,
    /// Places hidden.
    pub mask: Option<ops::Mask>,
}

/// Masks and biases of every head of one sequence (n_q × n_kv each); heads share what is the same for all.
///
/// # Errors
/// A query that may attend to nothing, unless the call says what that means or a sink takes its place.
pub fn resolve(
    attention: &Attention,
    n_q: usize,
    n_kv: usize,
    sequence: Option<usize>,
) -> Result<Vec<ScoreChanges>, Fault> {
    let per_head = attention.masks.iter().any(|mask| match mask {
        Mask::Allow(matrices) => matrices.len() > 1,
        Mask::Add(matrices) => matrices.len() > 1,
        _ => false,
    });
    let mut heads: Vec<ScoreChanges> = Vec::with_capacity(attention.num_heads);
    for head in 0..attention.num_heads {
        let alibi = match &attention.positions {
            Positions::Alibi { slopes, alignment } => {
                slopes.get(head).map(|slope| Alibi { slope: *slope, offset: alignment.offset(n_q, n_kv) })
            }
            _ => None,
        };
        if let (false, Some(first)) = (per_head, heads.first()) {
            let mut same = first.clone();
            if let Some(bias) = &mut same.bias {
                bias.alibi = alibi;
            }
            heads.push(same);
            continue;
        }
        let add = added(attention, Head(head), n_q, n_kv);
        let mask = allowed(attention, Head(head), n_q, n_kv, sequence.unwrap_or(0), add.as_deref());
        if let Some(mask) = &mask {
            let whose = whose(per_head.then_some(head), sequence.filter(|_| differs_by_sequence(attention)));
            refuse_blind_rows(attention, mask, &whose)?;
        }
        // −∞ is the mask's matter; a matrix of zeros and −∞ is a mask and nothing else: no number is added.
        let add = add
            .filter(|add| add.iter().any(|number| number.is_finite() && *number != 0.0))
            .map(|add| Arc::new(add.map(|number| if number == f64::NEG_INFINITY { 0.0 } else { number })));
        let bias = (alibi.is_some() || add.is_some()).then_some(Bias { alibi, add });
        heads.push(ScoreChanges { bias, mask });
    }
    Ok(heads)
}

/// Whether two sequences of a batch may see different keys: only padding differs between them.
pub fn differs_by_sequence(attention: &Attention) -> bool {
    attention.masks.iter().any(|mask| matches!(mask, Mask::KeyPadding(rows) if rows.len() > 1))
}

/// The sum of all additive masks of one head.
fn added(attention: &Attention, head: Head, n_q: usize, n_kv: usize) -> Option<Arc<DMatrix<f64>>> {
    let mut sum: Option<DMatrix<f64>> = None;
    for mask in &attention.masks {
        if let Mask::Add(matrices) = mask
            && let Some(matrix) = matrices.get(head.0.min(matrices.len().saturating_sub(1)))
        {
            let before = sum.unwrap_or_else(|| DMatrix::zeros(n_q, n_kv));
            sum = Some(before + matrix);
        }
    }
    sum.map(Arc::new)
}

fn allowed(
    attention: &Attention,
    head: Head,
    n_q: usize,
    n_kv: usize,
    sequence: usize,
    add: Option<&DMatrix<f64>>,
) -> Option<ops::Mask> {
    let mut allowed = DMatrix::from_element(n_q, n_kv, true);
    let mut hidden_by = DMatrix::from_element(n_q, n_kv, 0u32);
    let mut reasons: Vec<String> = Vec::new();
    for mask in &attention.masks {
        let (reason, keep): (String, Box<dyn Fn(usize, usize) -> bool + '_>) = match mask {
            Mask::Causal(alignment) => {
                let offset = alignment.offset(n_q, n_kv);
                let keep = move |r: usize, c: usize| c as i64 <= r as i64 + offset;
                (t!("causal%{aligned}", aligned = aligned(*alignment, n_q, n_kv)), Box::new(keep))
            }
            Mask::Window { left, right, alignment } => {
                let offset = alignment.offset(n_q, n_kv);
                let keep = move |r: usize, c: usize| {
                    let distance = c as i64 - r as i64 - offset;
                    left.is_none_or(|left| -distance <= left as i64)
                        && right.is_none_or(|right| distance <= right as i64)
                };
                let side = |side: &Option<usize>| side.map_or_else(|| t!("all"), |count| count.to_string());
                let window = t!(
                    "window: %{left} before, %{right} after%{aligned}",
                    left = side(left),
                    right = side(right),
                    aligned = aligned(*alignment, n_q, n_kv)
                );
                (window, Box::new(keep))
            }
            Mask::KeyPadding(rows) => {
                let Some(real) = rows.get(sequence).or(rows.first()) else { continue };
                (t!("key padding"), Box::new(|_, c| real.get(c).copied().unwrap_or(true)))
            }
            Mask::Allow(matrices) => {
                let Some(matrix) = matrices.get(head.0.min(matrices.len().saturating_sub(1))) else {
                    continue;
                };
                (t!("allowed pairs"), Box::new(|r, c| matrix.get((r, c)).copied().unwrap_or(false)))
            }
            Mask::Add(_) => continue,
        };
        let bit = bit(reasons.len());
        reasons.push(reason);
        for c in 0..n_kv {
            for r in 0..n_q {
                if !keep(r, c) {
                    allowed[(r, c)] = false;
                    hidden_by[(r, c)] |= bit;
                }
            }
        }
    }
    if let Some(add) = add
        && add.iter().any(|number| *number == f64::NEG_INFINITY)
    {
        let bit = bit(reasons.len());
        reasons.push(t!("−∞ added"));
        allowed.zip_apply(add, |cell, number| *cell &= number != f64::NEG_INFINITY);
        hidden_by.zip_apply(add, |by, number| *by |= if number == f64::NEG_INFINITY { bit } else { 0 });
    }
    if reasons.is_empty() {
        return None;
    }
    Some(ops::Mask {
        allowed: Arc::new(allowed),
        reasons: reasons.join("; "),
        hidden_by: Arc::new(hidden_by),
    })
}

/// The bit of a reason; those beyond the thirty-second share its last one.
fn bit(reason: usize) -> u32 {
    1 << reason.min(31)
}

/// Which corner the diagonal starts from, where that makes a difference.
fn aligned(alignment: Alignment, n_q: usize, n_kv: usize) -> String {
    match alignment {
        Alignment::Offset(0) => String::new(),
        Alignment::Offset(offset) => t!(", offset %{offset}", offset),
        _ if n_q == n_kv => String::new(),
        Alignment::BottomRight => t!(", bottom-right aligned: the last query sees up to the last key"),
        Alignment::TopLeft => t!(", top-left aligned: the first query sees up to the first key"),
    }
}

/// Which head and sequence a row belongs to, where that makes a difference: ` of head 2`.
fn whose(head: Option<usize>, sequence: Option<usize>) -> String {
    let head = head.map_or(String::new(), |head| format!(" of head {}", head + 1));
    let sequence = sequence.map_or(String::new(), |sequence| format!(" in sequence {}", sequence + 1));
    head + &sequence
}

/// `1, 2 and 3`; of many the first ones, and how many more there are.
fn some_of(numbers: &[String]) -> String {
    const SHOWN: usize = 10;
    if numbers.len() <= SHOWN + 1 {
        return ops::list(numbers.iter().map(String::as_str));
    }
    format!("{} and {} more", numbers[..SHOWN].join(", "), numbers.len() - SHOWN)
}

fn refuse_blind_rows(attention: &Attention, mask: &ops::Mask, whose: &str) -> Result<(), Fault> {
    if attention.fully_masked_rows != FullyMaskedRows::Error || attention.sinks.is_some() {
        return Ok(());
    }
    let blind: Vec<String> = (0..mask.allowed.nrows())
        .filter(|r| mask.allowed.row(*r).iter().all(|allowed| !allowed))
        .map(|r| (r + 1).to_string())
        .collect();
    if blind.is_empty() {
        return Ok(());
    }
    let rows = if blind.len() == 1 { "query" } else { "queries" };
    Err(Fault::new(
        format!("{rows} {}{whose} may attend to nothing", some_of(&blind)),
        format!(
            "every key is hidden there ({}), and a softmax over nothing has no answer: libraries disagree",
            mask.reasons
        ),
        "let the row see a key, or set attention.fully_masked_rows to zeros, nan or uniform",
    ))
}
