//! Problems that learners' tensors belong to, as lessons: `tests/reference/check/README.md` says what is in them.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::case::read_json;

/// The folder of the labelled attempts.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/check")
}

/// The lesson that states a problem; its numbers stay in `tensors.npz` beside it.
pub(crate) fn lesson(problem: &Path) -> String {
    let config = read_json(&problem.join("problem.json"));
    let held: Vec<String> = mha::arrays::list(&problem.join("tensors.npz"))
        .unwrap_or_else(|faults| panic!("{faults}"))
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let array = |name: &str| json!({"file": "tensors.npz", "array": name});
    let given = |names: &[&'static str]| -> Value {
        let held = names.iter().filter(|name| held.iter().any(|known| known == *name));
        held.map(|name| ((*name).to_owned(), array(name))).collect::<serde_json::Map<_, _>>().into()
    };
    let mut attention = json!({
        "d_model": config["d_model"],
        "num_heads": config["heads"],
        "num_kv_heads": config["kv_heads"],
        "d_k": config["d_k"],
        "d_v": config["d_v"],
        "fully_masked_rows": "zeros",
    });
    if !config["scale"].is_null() {
        attention["scale"] = config["scale"].clone();
    }
    let mut masks = Vec::new();
    if config["causal"] == true {
        masks.push(json!({"causal": config["causal_align"]}));
    }
    for (ours, theirs) in [("key_padding", "key_keep"), ("allow", "mask_keep")] {
        if held.iter().any(|name| name == theirs) {
            masks.push(json!({ours: array(theirs)}));
        }
    }
    if !masks.is_empty() {
        attention["mask"] = masks.into();
    }
    if let Some(rope) = config["rope"].as_object() {
        let layout = if rope["layout"] == "half" { "half-split" } else { "interleaved" };
        attention["positions"] = json!({"rope": {
            "theta": rope["base"],
            "layout": layout,
            "q_start": rope["q_start"],
            "k_start": rope["k_start"],
        }});
    }
    json!({
        "mha": 1,
        "title": config["title"],
        "attention": attention,
        "inputs": given(&["x", "x_kv"]),
        "projections": given(&["w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"]),
    })
    .to_string()
}
