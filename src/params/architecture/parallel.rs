//! A model over several devices: what each holds where every matrix is cut between them.
//!
//! Queries, experts and feed-forward layers are cut, keys and values as far as there are heads to cut, and the vocabulary is
//! cut into equal parts (Shoeybi et al. 2019). Norms, routers, latent down-projections and mixers stand on every device.

use super::cache::{self, Row};
use super::model::{Attention, Group, Model, Tensor};
use crate::fault::Outcome;
use crate::params::figure::sum;

/// What one of N devices holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// N
    pub devices: u64,
    /// Parameters on each device.
    pub parameters: u64,
    /// Of these, parameters that stand on every device.
    pub replicated: u64,
    /// Numbers that each device caches of one token.
    pub cache_numbers: u64,
    /// Why heads cannot be cut so; empty where they can.
    pub hindrances: Vec<String>,
    /// What is replicated, in words.
    pub remarks: Vec<String>,
}

/// How a tensor is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Into N equal parts.
    Parts,
    /// Into as many parts as there are key/value heads, at most N.
    KvHeads(u64),
    /// Queries into N, keys and values as their heads allow: h, g and the widths of each.
    Fused { h: u64, g: u64, d_k: u64, d_v: u64 },
    /// A table of rows: N parts, rounded up.
    Rows,
    /// Not at all.
    Whole,
}

impl Model {
    /// What each of N devices holds.
    ///
    /// # Errors
    /// A count does not fit in 64 bits.
    pub fn share(&self, devices: u64) -> Outcome<Share> {
        let mut replicated = 0u64;
        let mut parts = Vec::new();
        for tensor in self.tensors.iter().filter(|tensor| tensor.same_as.is_none()) {
            let cut = self.cut(tensor);
            if cut == Cut::Whole {
                replicated = replicated.saturating_add(tensor.count);
            }
            parts.push(part(tensor, cut, devices));
        }
        let plan = self.cache().unwrap_or_default().on_each_of(devices);
        let rows: Vec<Row> = plan.own.into_iter().chain(plan.cross).collect();
        Ok(Share {
            devices,
            parameters: sum(parts, "the parameters of a device")?,
            replicated,
            cache_numbers: cache::numbers(&rows, 1)?,
            hindrances: self.hindrances(devices),
            remarks: self.remarks(devices),
        })
    }

    /// The numbers of devices that every layer's heads can be shared between.
    pub fn possible_devices(&self) -> Vec<u64> {
        let most = self.attention.iter().map(|attention| attention.num_heads.value()).max().unwrap_or(1);
        (1..=most.min(1024)).filter(|devices| self.hindrances(*devices).is_empty()).collect()
    }

    fn hindrances(&self, devices: u64) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        let mut add = |text: String| {
            if !found.contains(&text) {
                found.push(text);
            }
        };
        for attention in &self.attention {
            let (h, g) = (attention.num_heads.value(), attention.num_kv_heads.value());
            if !h.is_multiple_of(devices) {
                add(format!("{devices} does not divide {h} query heads"));
            } else if !g.is_multiple_of(devices) && !devices.is_multiple_of(g) {
                add(format!("{devices} devices cannot share {g} key/value heads: neither divides the other"));
            }
        }
        for tensor in &self.tensors {
            let inner = match tensor.group {
                Group::FeedForward | Group::Experts | Group::SharedExperts => inner_width(tensor),
                _ => None,
            };
            if let Some(width) = inner.filter(|width| !width.is_multiple_of(devices)) {
                add(format!("{devices} does not divide the feed-forward width {width}"));
            }
        }
        found
    }

    fn remarks(&self, devices: u64) -> Vec<String> {
        let mut remarks = Vec::new();
        let fewest = self.attention.iter().map(|a| a.num_kv_heads.value()).min().unwrap_or(devices);
        let latent = self.attention.iter().any(|a| matches!(a.cache, super::Cache::Latent { .. }));
        if latent {
            remarks.push("the latent is kept whole on every device: it serves all heads".to_owned());
        } else if fewest < devices {
            let times = devices / fewest.max(1);
            remarks.push(format!(
                "{fewest} key/value heads on {devices} devices: each stands on {times} of them"
            ));
        }
        let groups = [(Group::Mixer, "mixers"), (Group::Router, "routers")];
        for (group, name) in groups {
            if self.tensors.iter().any(|tensor| tensor.group == group) {
                remarks.push(format!("{name} are taken as kept whole on every device"));
            }
        }
        remarks
    }

    fn cut(&self, tensor: &Tensor) -> Cut {
        let path = tensor
            .name
            .strip_suffix(".weight")
            .or_else(|| tensor.name.strip_suffix(".bias"))
            .unwrap_or(&tensor.name);
        let last = path.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
        let is_bias = tensor.shape.len() == 1 && tensor.name.ends_with("bias");
        match tensor.group {
            Group::Attention => match tensor.attention.and_then(|at| self.attention.get(at)) {
                Some(attention) => attention_cut(&last, is_bias, tensor, attention),
                None => Cut::Whole,
            },
            Group::FeedForward | Group::Experts | Group::SharedExperts => {
                let leads_back = LEADS_BACK.iter().any(|word| last.contains(word));
                if (is_bias && leads_back) || (tensor.shape.len() < 2 && !is_bias) {
                    Cut::Whole
                } else {
                    Cut::Parts
                }
            }
            Group::Embedding | Group::Head if tensor.shape.len() == 2 => Cut::Rows,
            _ => Cut::Whole,
        }
    }
}

/// Names of matrices that lead from the inner width back to the model's.
const LEADS_BACK: [&str; 9] =
    ["down", "fc2", "c_proj", "w2", "wo", "dense_4h_to_h", "output", "fc_out", "lin2"];

fn attention_cut(name: &str, is_bias: bool, tensor: &Tensor, attention: &Attention) -> Cut {
    let (h, g) = (attention.num_heads.value(), attention.num_kv_heads.value());
    let (d_k, d_v) = (attention.d_k.value(), attention.d_v.value());
    let sizes: Vec<u64> = tensor.shape.iter().map(|size| size.value()).collect();
    let out = sizes.first().copied().unwrap_or(1);
    let is_norm = name.contains("norm") || name.ends_with("_ln");
    let leads_in = ["q_a", "kv_a", "kv_down", "q_down"].iter().any(|word| name.contains(word));
    if is_norm || leads_in {
        return Cut::Whole;
    }
    // as linear layers store it, or transposed as GPT-2 does
    let packed = h.saturating_mul(d_k).saturating_add(g.saturating_mul(d_k.saturating_add(d_v)));
    if sizes.contains(&packed) && !name.starts_with(['q', 'k', 'v']) || name.contains("qkv") {
        return Cut::Fused { h, g, d_k, d_v };
    }
    if tensor.shape.len() == 1 && !is_bias {
        return if out == h { Cut::Parts } else { Cut::Whole };
    }
    let is_output =
        ["o_proj", "out_proj", "c_proj", "dense", "wo", "o", "out_lin", "proj", "o_attn"].contains(&name);
    if is_output {
        return if is_bias { Cut::Whole } else { Cut::Parts };
    }
    if name.starts_with(['k', 'v']) && !name.starts_with("kv_b") { Cut::KvHeads(g) } else { Cut::Parts }
}

fn part(tensor: &Tensor, cut: Cut, devices: u64) -> u64 {
    match cut {
        Cut::Parts => tensor.count.div_ceil(devices),
        Cut::KvHeads(g) => tensor.count.div_ceil(devices.min(g.max(1))),
        Cut::Fused { h, g, d_k, d_v } => {
            let width = h * d_k + g * (d_k + d_v);
            let own = (h * d_k).div_ceil(devices) + g.div_ceil(devices) * (d_k + d_v);
            let part = u128::from(tensor.count) * u128::from(own) / u128::from(width.max(1));
            u64::try_from(part).unwrap_or(tensor.count)
        }
        Cut::Rows => {
            let rows = tensor.shape.first().map_or(1, |size| size.value()).max(1);
            rows.div_ceil(devices) * (tensor.count / rows)
        }
        Cut::Whole => tensor.count,
    }
}

/// The width inside a feed-forward layer: the one of a matrix's two that leads neither in nor out.
fn inner_width(tensor: &Tensor) -> Option<u64> {
    let [.., rows, columns] = &tensor.shape[..] else { return None };
    let path = tensor.name.strip_suffix(".weight").unwrap_or(&tensor.name);
    let last = path.rsplit('.').next().unwrap_or_default();
    let leads_back = LEADS_BACK.iter().any(|word| last.contains(word));
    Some(if leads_back { columns.value() } else { rows.value() })
}
