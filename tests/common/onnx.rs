//! The ONNX `Attention` cases: their arrays, and the lessons that ask for the same computation.

use std::path::Path;

use mha::arrays::{self, Array, Kind};
use nalgebra::DMatrix;
use serde_json::{Value, json};

use crate::case::{folder, read_json, set};

/// One case: its description in `cases.json`, and its arrays.
pub(crate) struct OnnxCase {
    pub(crate) name: String,
    json: Value,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Option<Tensor>,
    /// How many keys of each batch entry are real.
    nonpad: Option<Vec<usize>>,
    /// How many keys came from the past.
    past: usize,
}

/// An array with the axes (batch, heads, rows, columns).
struct Tensor {
    shape: [usize; 4],
    data: Vec<f64>,
    boolean: bool,
}

/// A lesson, and which batch entries its sequences are.
pub(crate) struct OnnxLesson {
    pub(crate) text: String,
    /// The batch entry and the prefix of its step ids.
    pub(crate) entries: Vec<(usize, String)>,
}

/// Every case, in the order of `cases.json`.
pub(crate) fn all() -> Vec<OnnxCase> {
    let folder = folder("onnx");
    let list = read_json(&folder.join("cases.json"));
    list["cases"].as_array().into_iter().flatten().map(|json| OnnxCase::read(json, &folder)).collect()
}

impl OnnxCase {
    fn read(json: &Value, folder: &Path) -> Self {
        let name = json["name"].as_str().expect("a case has a name").to_owned();
        let path = folder.join(format!("{name}.npz"));
        let has = |input: &str| !json["types"][input].is_null();
        let attribute = |key: &str| json["attributes"][key].as_u64().map(|count| count as usize);
        let (q_heads, kv_heads) = (attribute("q_num_heads"), attribute("kv_num_heads"));
        let mut k = Tensor::heads(read(&path, "K"), kv_heads);
        let mut v = Tensor::heads(read(&path, "V"), kv_heads);
        let mut past = 0;
        if has("past_key") {
            let (past_k, past_v) = (read(&path, "past_key"), read(&path, "past_value"));
            past = past_k.shape[2];
            k = k.behind(&Tensor::heads(past_k, None));
            v = v.behind(&Tensor::heads(past_v, None));
        }
        let counts = |array: Array| array.data.iter().map(|count| *count as usize).collect();
        Self {
            q: Tensor::heads(read(&path, "Q"), q_heads),
            k,
            v,
            mask: has("attn_mask").then(|| Tensor::from_the_right(read(&path, "attn_mask"))),
            nonpad: has("nonpad_kv_seqlen").then(|| counts(read(&path, "nonpad_kv_seqlen"))),
            past,
            json: json.clone(),
            name,
        }
    }

    fn batch(&self) -> usize {
        self.q.shape[0]
    }

    /// One lesson with a batch axis; or, where a mask or the number of real keys belongs to one batch entry, one
    /// lesson an entry.
    pub(crate) fn lessons(&self) -> Vec<OnnxLesson> {
        let of_one_entry = |mask: &Tensor| mask.shape[0] > 1;
        if self.nonpad.is_none() && !self.mask.as_ref().is_some_and(of_one_entry) {
            let all = |tensor: &Tensor| -> Value {
                (0..self.batch()).map(|entry| tensor.side_by_side(entry)).collect()
            };
            let entries = (0..self.batch()).map(|entry| (entry, format!("batch.{}.", entry + 1))).collect();
            return vec![OnnxLesson { text: self.lesson(0, &all), entries }];
        }
        let one = |entry: usize| OnnxLesson {
            text: self.lesson(entry, &|tensor| tensor.side_by_side(entry)),
            entries: vec![(entry, String::new())],
        };
        (0..self.batch()).map(one).collect()
    }

    fn lesson(&self, entry: usize, input: &dyn Fn(&Tensor) -> Value) -> String {
        let mut attention = json!({
            "num_heads": self.q.shape[1],
            "num_kv_heads": self.k.shape[1],
            "d_k": self.q.shape[3],
            "d_v": self.v.shape[3],
        });
        let attributes = &self.json["attributes"];
        set(&mut attention, "scale", &attributes["scale"]);
        set(&mut attention, "softcap", &attributes["softcap"]);
        let masks = self.masks(entry);
        if !masks.is_empty() {
            set(&mut attention, "mask", &Value::Array(masks));
        }
        if self.json["fully_masked_rows"] != 0 {
            set(&mut attention, "fully_masked_rows", &json!("zeros"));
        }
        let inputs = json!({"q": input(&self.q), "k": input(&self.k), "v": input(&self.v)});
        let lesson = json!({
            "mha": 1,
            "title": self.name,
            "attention": attention,
            "inputs": inputs,
            "projections": {"w_o": "none"},
        });
        lesson.to_string()
    }

    fn masks(&self, entry: usize) -> Vec<Value> {
        let attributes = &self.json["attributes"];
        let (n_q, n_kv) = (self.q.shape[2], self.k.shape[2]);
        let real = self.nonpad.as_ref().map(|counts| counts[entry]);
        let offset = match real {
            Some(real) => real as i64 - n_q as i64,
            None => self.past as i64,
        };
        let mut masks = Vec::new();
        if attributes["is_causal"] == 1 {
            masks.push(json!({"causal": {"offset": offset}}));
        }
        let mut window = json!({});
        for (ours, theirs) in [("left", "left_window_size"), ("right", "right_window_size")] {
            if attributes[theirs].as_i64().is_some_and(|size| size >= 0) {
                set(&mut window, ours, &attributes[theirs]);
            }
        }
        if window != json!({}) {
            set(&mut window, "offset", &json!(offset));
            masks.push(json!({ "window": window }));
        }
        if let Some(real) = real {
            masks.push(json!({"key_padding": (0..n_kv).map(|key| key < real).collect::<Vec<_>>()}));
        }
        if let Some(mask) = &self.mask {
            let kind = if mask.boolean { "allow" } else { "add" };
            masks.push(json!({ kind: mask.one_or_one_a_head(entry, n_q, n_kv) }));
        }
        masks
    }

    /// How far Y may be off: from the values in double precision, or from the official ones, which were computed in
    /// the type of Q.
    pub(crate) fn allowed(&self, official: bool) -> impl Fn(f64) -> f64 + use<> {
        let tolerance = &self.json["tolerance"];
        let part = |key: &str| tolerance[key].as_f64().expect("a case has a tolerance");
        let (absolute, relative) = if official { (part("abs"), part("rel")) } else { (1e-12, 0.0) };
        move |want: f64| absolute + relative * want.abs()
    }

    /// Y of a batch entry, heads side by side.
    pub(crate) fn y(&self, entry: usize, official: bool) -> DMatrix<f64> {
        let y = self.result(if official { "Y" } else { "Y_float64" });
        y.side_by_side_matrix(entry)
    }

    /// `qk_matmul_output` of each head of a batch entry, with the steps that may hold it in the order of preference;
    /// empty where the case does not ask for it.
    pub(crate) fn score_steps(
        &self,
        entry: usize,
        official: bool,
    ) -> Vec<(usize, &'static [&'static str], DMatrix<f64>)> {
        let asked =
            self.json["outputs"].as_array().into_iter().flatten().any(|name| name == "qk_matmul_output");
        if !asked {
            return Vec::new();
        }
        let steps: &[&str] = match self.json["attributes"]["qk_matmul_output_mode"].as_u64().unwrap_or(0) {
            0 => &["scores"],
            1 => &["capped_scores", "scores"],
            2 => &["masked_scores", "biased_scores", "capped_scores", "scores"],
            _ => &["weights"],
        };
        let scores = self.result(if official { "qk_matmul_output" } else { "qk_matmul_output_float64" });
        (0..scores.shape[1]).map(|head| (head, steps, scores.matrix(entry, head))).collect()
    }

    fn result(&self, name: &str) -> Tensor {
        let path = folder("onnx").join(format!("{}.npz", self.name));
        Tensor::heads(read(&path, name), Some(self.q.shape[1]))
    }
}

fn read(path: &Path, name: &str) -> Array {
    arrays::read(path, Some(name)).unwrap_or_else(|faults| panic!("{}: {name}: {faults}", path.display()))
}

impl Tensor {
    /// (batch, heads, n, width) as it is; (batch, n, heads · width) with the heads taken apart.
    fn heads(array: Array, heads: Option<usize>) -> Self {
        let boolean = array.kind == Kind::Bool;
        match (array.shape.as_slice(), heads) {
            (&[batch, heads, n, width], _) => {
                Self { shape: [batch, heads, n, width], data: array.data, boolean }
            }
            (&[batch, n, columns], Some(heads)) => {
                let width = columns / heads;
                let mut data = Vec::with_capacity(array.data.len());
                for entry in 0..batch {
                    for head in 0..heads {
                        for row in 0..n {
                            let from = (entry * n + row) * columns + head * width;
                            data.extend_from_slice(&array.data[from..from + width]);
                        }
                    }
                }
                Self { shape: [batch, heads, n, width], data, boolean }
            }
            _ => panic!("an array of shape {:?} holds no heads", array.shape),
        }
    }

    /// Axes that are not there have size 1, as when NumPy broadcasts.
    fn from_the_right(array: Array) -> Self {
        let mut shape = [1; 4];
        shape[4 - array.shape.len()..].copy_from_slice(&array.shape);
        Self { shape, boolean: array.kind == Kind::Bool, data: array.data }
    }

    fn at(&self, [batch, head, row, column]: [usize; 4]) -> f64 {
        let [_, heads, rows, columns] = self.shape;
        self.data[((batch * heads + head) * rows + row) * columns + column]
    }

    fn matrix(&self, entry: usize, head: usize) -> DMatrix<f64> {
        let [.., rows, columns] = self.shape;
        DMatrix::from_fn(rows, columns, |row, column| self.at([entry, head, row, column]))
    }

    /// A batch entry with its heads side by side.
    fn side_by_side_matrix(&self, entry: usize) -> DMatrix<f64> {
        let [_, heads, rows, width] = self.shape;
        DMatrix::from_fn(rows, heads * width, |row, column| {
            self.at([entry, column / width, row, column % width])
        })
    }

    fn side_by_side(&self, entry: usize) -> Value {
        rows_of(&self.side_by_side_matrix(entry), |number| json!(number))
    }

    /// The same rows with those of the past before them.
    fn behind(&self, past: &Self) -> Self {
        let [batch, heads, new, width] = self.shape;
        let before = past.shape[2];
        let mut data = Vec::with_capacity(self.data.len() + past.data.len());
        for block in 0..batch * heads {
            data.extend_from_slice(&past.data[block * before * width..(block + 1) * before * width]);
            data.extend_from_slice(&self.data[block * new * width..(block + 1) * new * width]);
        }
        Self { shape: [batch, heads, before + new, width], data, boolean: self.boolean }
    }

    /// A mask for one batch entry: one matrix, or one a head; keys beyond its last column are hidden.
    fn one_or_one_a_head(&self, entry: usize, n_q: usize, n_kv: usize) -> Value {
        let [batches, heads, rows, columns] = self.shape;
        let whole = |head: usize| {
            DMatrix::from_fn(n_q, n_kv, |row, column| {
                if column >= columns {
                    return if self.boolean { 0.0 } else { f64::NEG_INFINITY };
                }
                self.at([if batches == 1 { 0 } else { entry }, head, if rows == 1 { 0 } else { row }, column])
            })
        };
        let cell = |number: f64| match number {
            number if self.boolean => json!(number != 0.0),
            f64::NEG_INFINITY => json!("-Infinity"),
            number => json!(number),
        };
        match heads {
            1 => rows_of(&whole(0), cell),
            heads => (0..heads).map(|head| rows_of(&whole(head), cell)).collect(),
        }
    }
}

fn rows_of(matrix: &DMatrix<f64>, cell: impl Fn(f64) -> Value) -> Value {
    matrix.row_iter().map(|row| row.iter().map(|number| cell(*number)).collect::<Value>()).collect()
}
