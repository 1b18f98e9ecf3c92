//! Quantised checkpoints: several weights in one stored number, scales beside them. Their stored count is not
//! the parameter count, and their tensors' names tell.

use super::StoredTensor;
use crate::fault::counted;

/// A way of quantising, and what it leaves in a file.
struct Scheme {
    name: &'static str,
    /// Ends of names that no other scheme has; one of them is enough to tell.
    marks: &'static [&'static str],
    /// Ends of names of what stands beside the weights and is none: scales, zero points, order.
    beside: &'static [&'static str],
    /// What the stored numbers are.
    says: &'static str,
}

/// In the order they are looked for.
const SCHEMES: [Scheme; 10] = [
    Scheme {
        name: GPTQ,
        marks: &[".qweight"],
        beside: &[".qzeros", ".scales", ".g_idx"],
        says: "a number of qweight packs several weights (eight of 4 bits in an I32), qzeros as many zero points",
    },
    Scheme {
        name: "bitsandbytes, 4 bits",
        marks: &[".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4"],
        beside: &[".absmax", ".quant_map", ".nested_absmax", ".nested_quant_map", "__nf4", "__fp4"],
        says: "a U8 packs two weights",
    },
    Scheme {
        name: "bitsandbytes, 8 bits",
        marks: &[".SCB"],
        beside: &[".SCB", ".weight_format"],
        says: "a weight is one I8, and each row has a scale",
    },
    Scheme {
        name: "compressed-tensors",
        marks: &[".weight_packed"],
        beside: &[".weight_scale", ".weight_shape", ".weight_zero_point", ".weight_g_idx", "_global_scale"],
        says: "a number of weight_packed packs several weights",
    },
    Scheme {
        name: "MXFP4",
        marks: &["_blocks"],
        beside: &["_scales"],
        says: "a U8 of blocks packs two weights, a U8 of scales is shared by 32",
    },
    Scheme {
        name: "EXL2",
        marks: &[".q_weight"],
        beside: &[".q_invperm", ".q_perm", ".q_scale", ".q_scale_max", ".q_groups", ".q_group_map"],
        says: "a number of q_weight packs several weights",
    },
    Scheme {
        name: "EXL3",
        marks: &[".trellis"],
        beside: &[".suh", ".svh", ".mcg", ".mul1"],
        says: "a number of trellis packs several weights",
    },
    Scheme {
        name: "AQLM",
        marks: &[".codebooks"],
        beside: &[".codebooks", ".scales"],
        says: "a number of codes stands for several weights",
    },
    Scheme {
        name: "HQQ",
        marks: &[".W_q"],
        beside: &[".zero", ".scale"],
        says: "a number of W_q packs several weights",
    },
    Scheme {
        name: "scaled weights",
        marks: &[".weight_scale", ".weight_scale_inv", ".weight_scale_2"],
        beside: &["_scale", "_scale_inv", "_scale_2"],
        says: "a weight is one number (F8, I8) or half of a U8, and blocks or rows share a scale",
    },
];

const GPTQ: &str = "GPTQ";
const AWQ: &str = "AWQ";

/// The scheme that the tensors were quantised with, where there is one, and sentences about it.
pub(super) fn found_in(tensors: &[StoredTensor]) -> (Option<&'static str>, Vec<String>) {
    let Some(scheme) = SCHEMES.iter().find(|scheme| tensors.iter().any(|tensor| scheme.marks(tensor))) else {
        return (None, Vec::new());
    };
    let name = if scheme.name == GPTQ { gptq_or_awq(tensors) } else { scheme.name };
    let beside = tensors.iter().filter(|tensor| ends_with_one_of(tensor, scheme.beside));
    let (beside, numbers) =
        beside.fold((0, 0_u64), |(tensors, sum), tensor| (tensors + 1, sum.saturating_add(tensor.count)));
    let note = format!(
        "The weights are quantised ({name}): {}; {} with {numbers} numbers are scales and the like. The stored count \
         is not the parameter count.",
        scheme.says,
        counted(beside, "tensor"),
    );
    (Some(name), vec![note])
}

impl Scheme {
    fn marks(&self, tensor: &StoredTensor) -> bool {
        let packs = self.name != "MXFP4" || tensor.dtype == "U8";
        packs && ends_with_one_of(tensor, self.marks)
    }
}

fn ends_with_one_of(tensor: &StoredTensor, ends: &[&str]) -> bool {
    ends.iter().any(|end| tensor.name.ends_with(end))
}

/// Both store `qweight`, `qzeros` and `scales` (groups × out). GPTQ packs along the input (qweight has `out`
/// columns), AWQ along the output (an eighth of them).
fn gptq_or_awq(tensors: &[StoredTensor]) -> &'static str {
    let columns = |name: &str| tensors.iter().find(|tensor| tensor.name == name)?.shape.get(1).copied();
    let first = tensors.iter().find_map(|tensor| tensor.name.strip_suffix(".qweight"));
    let Some(layer) = first else { return GPTQ };
    match (columns(&format!("{layer}.qweight")), columns(&format!("{layer}.scales"))) {
        (Some(packed), Some(out)) if packed < out => AWQ,
        _ => GPTQ,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(name: &str, shape: &[u64], dtype: &str) -> StoredTensor {
        let count = shape.iter().product();
        StoredTensor { name: name.into(), shape: shape.to_vec(), count, dtype: dtype.into(), bytes: 0 }
    }

    #[track_caller]
    fn case(scheme: Option<&str>, tensors: &[(&str, &[u64], &str)]) -> String {
        let tensors: Vec<_> = tensors.iter().map(|(name, shape, dtype)| tensor(name, shape, dtype)).collect();
        let (found, notes) = found_in(&tensors);
        assert_eq!(found, scheme);
        assert_eq!(notes.len(), usize::from(scheme.is_some()));
        notes.concat()
    }

    /// A projection of 128 inputs and 64 outputs in 4 bits, groups of 32: 128 · 64 / 8 = 1,024 packed numbers.
    /// GPTQ beside it: 4 · 64 / 8 = 32 zero points' numbers, 4 · 64 = 256 scales, 128 groups: 416.
    #[test]
    fn gptq_packs_along_the_input_and_awq_along_the_output() {
        let gptq = case(
            Some("GPTQ"),
            &[
                ("q.qweight", &[16, 64], "I32"),
                ("q.qzeros", &[4, 8], "I32"),
                ("q.scales", &[4, 64], "F16"),
                ("q.g_idx", &[128], "I32"),
                ("norm.weight", &[64], "F16"),
            ],
        );
        assert!(gptq.contains("3 tensors with 416 numbers"), "{gptq}");
        case(
            Some("AWQ"),
            &[("q.qweight", &[128, 8], "I32"), ("q.qzeros", &[4, 8], "I32"), ("q.scales", &[4, 64], "F16")],
        );
    }

    #[test]
    fn each_scheme_is_known_by_what_it_leaves_beside_the_weights() {
        let weight = "h.0.q.weight";
        case(
            Some("bitsandbytes, 4 bits"),
            &[
                (weight, &[2048, 1], "U8"),
                ("h.0.q.weight.absmax", &[64], "U8"),
                ("h.0.q.weight.quant_map", &[16], "F32"),
                ("h.0.q.weight.quant_state.bitsandbytes__nf4", &[84], "U8"),
            ],
        );
        case(Some("bitsandbytes, 8 bits"), &[(weight, &[64, 64], "I8"), ("h.0.q.SCB", &[64], "F32")]);
        case(
            Some("scaled weights"),
            &[(weight, &[64, 64], "F8_E4M3"), ("h.0.q.weight_scale_inv", &[1, 1], "F32")],
        );
        case(
            Some("compressed-tensors"),
            &[("h.0.q.weight_packed", &[64, 8], "I32"), ("h.0.q.weight_scale", &[64, 2], "BF16")],
        );
        let experts = "mlp.experts.down_proj_blocks";
        case(
            Some("MXFP4"),
            &[(experts, &[2, 64, 2, 16], "U8"), ("mlp.experts.down_proj_scales", &[2, 64, 2], "U8")],
        );
    }

    #[test]
    fn what_only_sounds_quantised_is_counted_as_it_stands() {
        case(
            None,
            &[("q.weight", &[64, 64], "BF16"), ("q.bias", &[64], "BF16"), ("res_blocks", &[4], "F32")],
        );
    }
}
