//! A reference case in JSON: its steps, and the lesson that asks for the same computation.

use std::fs;
use std::path::{Path, PathBuf};

use nalgebra::DMatrix;
use serde_json::{Map, Value, json};

/// One file of `tests/reference/{article,variants,packing}`.
pub(crate) struct Case {
    /// The file's name without its ending.
    pub(crate) name: String,
    /// Where the files lie that the lesson names.
    pub(crate) folder: PathBuf,
    /// The whole file.
    pub(crate) json: Value,
}

/// `tests/reference/FAMILY`.
pub(crate) fn folder(family: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(family)
}

/// A JSON file; numbers are read to the last bit.
pub(crate) fn read_json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Case {
    /// Every case of a family, by name.
    pub(crate) fn all(family: &str) -> Vec<Self> {
        let folder = folder(family);
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| entry.expect("the folder can be listed").path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .collect();
        paths.sort();
        let name = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        paths
            .iter()
            .map(|path| Self {
                name: name(path).unwrap_or_default(),
                folder: folder.clone(),
                json: read_json(path),
            })
            .collect()
    }

    /// Names of the reference's steps, in its order.
    pub(crate) fn steps(&self) -> Vec<&str> {
        self.json["steps"].as_object().into_iter().flat_map(Map::keys).map(String::as_str).collect()
    }

    /// A step of the reference. To keep the files small, a step that can be read off an earlier one is stored as
    /// `{"of": step}`, with `columns` (from, to) or `hidden` (−∞ where `allowed` is 0).
    pub(crate) fn step(&self, name: &str) -> DMatrix<f64> {
        let value = match name.strip_prefix("inputs.") {
            Some(input) => &self.json["inputs"][input],
            None => &self.json["steps"][name],
        };
        let Some(of) = value["of"].as_str() else { return matrix(value) };
        let mut whole = self.step(of);
        if let Some(columns) = value["columns"].as_array() {
            let (from, to) = (number(&columns[0]) as usize, number(&columns[1]) as usize);
            return whole.columns(from, to - from).into_owned();
        }
        if value["hidden"] == true {
            let allowed = matrix(&self.json["allowed"]);
            whole.zip_apply(&allowed, |score, allowed| {
                if allowed == 0.0 {
                    *score = f64::NEG_INFINITY;
                }
            });
        }
        whole
    }

    /// How far a step may be off; `precision` is `float64_abs` or `float32_abs`.
    pub(crate) fn allowed(&self, precision: &str, step: &str) -> impl Fn(f64) -> f64 + use<> {
        let tolerance = &self.json["tolerance"];
        let absolute = number(&tolerance[precision]);
        let relative = tolerance["score_steps_relative"] == true && step.ends_with("scores");
        move |want: f64| if relative { absolute * want.abs().max(1.0) } else { absolute }
    }

    /// The lesson that asks for what the reference computed; `projections` differ from family to family.
    pub(crate) fn lesson(&self, projections: &Value) -> String {
        let mut inputs = json!({});
        for name in ["x", "x_kv"] {
            set(&mut inputs, name, &self.json["inputs"][name]);
        }
        let lesson = json!({
            "mha": 1,
            "title": self.name,
            "attention": self.attention(),
            "inputs": inputs,
            "projections": projections,
        });
        lesson.to_string()
    }

    /// W_Q … b_O where they stand in the case itself.
    pub(crate) fn own_projections(&self) -> Value {
        let mut projections = json!({});
        for name in ["w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o"] {
            set(&mut projections, name, &self.json["inputs"][name]);
        }
        projections
    }

    fn attention(&self) -> Value {
        let (config, inputs) = (&self.json["config"], &self.json["inputs"]);
        let mut attention = json!({});
        for (ours, theirs) in [
            ("d_model", "d_model"),
            ("num_heads", "heads"),
            ("num_kv_heads", "kv_heads"),
            ("d_k", "d_k"),
            ("d_v", "d_v"),
            ("softcap", "softcap"),
        ] {
            set(&mut attention, ours, &config[theirs]);
        }
        if config["scale_is_default"] == false {
            set(&mut attention, "scale", &config["scale"]);
        }
        set(&mut attention, "mask", &masks(config, inputs));
        set(&mut attention, "positions", &positions(config));
        set(&mut attention, "qk_norm", &qk_norm(config, inputs));
        set(&mut attention, "sinks", &inputs["sink_logits"]);
        if !self.json["fully_masked_rows"].is_null() {
            set(&mut attention, "fully_masked_rows", &json!("zeros"));
        }
        attention
    }
}

/// Sets a key, unless there is nothing to set it to.
pub(crate) fn set(object: &mut Value, key: &str, value: &Value) {
    if !value.is_null() {
        object[key] = value.clone();
    }
}

/// All masks of a case, as the list that they are in a lesson; null where there is none.
fn masks(config: &Value, inputs: &Value) -> Value {
    let offset = offset(config);
    let mut masks = Vec::new();
    if config["causal"] == true {
        masks.push(json!({"causal": {"offset": offset}}));
    }
    if let Some(window) = config["window"].as_object() {
        masks.push(json!({"window": {"left": window["left"], "right": window["right"], "offset": offset}}));
    }
    for (ours, theirs) in [("key_padding", "key_padding"), ("allow", "mask"), ("add", "attn_bias")] {
        if !inputs[theirs].is_null() {
            masks.push(json!({ ours: inputs[theirs] }));
        }
    }
    if masks.is_empty() { Value::Null } else { Value::Array(masks) }
}

/// Query i stands at key position i + offset.
fn offset(config: &Value) -> Value {
    if config["query_offset"].is_null() { json!(0) } else { config["query_offset"].clone() }
}

fn positions(config: &Value) -> Value {
    if let Some(alibi) = config["alibi"].as_object() {
        return json!({"alibi": {"slopes": alibi["slopes"], "offset": offset(config)}});
    }
    let Some(rope) = config["rope"].as_object() else { return Value::Null };
    let layout = if rope["layout"] == "half" { json!("half-split") } else { rope["layout"].clone() };
    json!({"rope": {
        "theta": rope["theta"],
        "layout": layout,
        "dims": rope["dims"],
        "q_positions": rope["positions_q"],
        "k_positions": rope["positions_kv"],
    }})
}

/// The gain is the weight, or 1 + weight (Gemma).
fn qk_norm(config: &Value, inputs: &Value) -> Value {
    let Some(norm) = config["qk_norm"].as_object() else { return Value::Null };
    let more = if norm["weight_plus_one"] == true { 1.0 } else { 0.0 };
    let gain =
        |name: &str| -> Vec<f64> { numbers(&inputs[name]).iter().map(|weight| weight + more).collect() };
    json!({
        "eps": norm["eps"],
        "scope": norm["scope"],
        "q": gain("q_norm_weight"),
        "k": gain("k_norm_weight"),
    })
}

/// A number of the reference; what JSON has no number for is a string, true and false are 1 and 0.
fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::Bool(flag) => Some(f64::from(u8::from(*flag))),
        Value::String(text) if text == "-inf" => Some(f64::NEG_INFINITY),
        _ => None,
    }
    .unwrap_or_else(|| panic!("the reference has {value} where a number is expected"))
}

fn numbers(list: &Value) -> Vec<f64> {
    list.as_array().into_iter().flatten().map(number).collect()
}

/// A matrix; a plain list is a column (one number a query).
pub(crate) fn matrix(value: &Value) -> DMatrix<f64> {
    let rows: Vec<Vec<f64>> = value
        .as_array()
        .into_iter()
        .flatten()
        .map(|row| if row.is_array() { numbers(row) } else { vec![number(row)] })
        .collect();
    let width = rows.first().map_or(0, Vec::len);
    assert!(width > 0 && rows.iter().all(|row| row.len() == width), "the reference holds no matrix: {value}");
    DMatrix::from_row_iterator(rows.len(), width, rows.into_iter().flatten())
}
