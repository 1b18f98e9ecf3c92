//! Finding a packed projection, its bias and its W_O among the arrays of a checkpoint.

use std::path::Path;

use super::arrays_in::{self, Typed, file_faults, file_path, plain_text, transposed};
use super::literal::{Cells, literal};
use super::packing::{Layout, Packed, Weight, turned};
use super::reader::{Given, Reader, Section, Spot, near};
use crate::arrays::{self, Array};

/// What the library calls the packed matrix; the bias has the second name.
fn names(layout: Layout) -> &'static [(&'static str, &'static str)] {
    match layout {
        Layout::Torch => &[
            ("in_proj_weight", "in_proj_bias"),
            ("qkv_proj.weight", "qkv_proj.bias"),
            ("Wqkv.weight", "Wqkv.bias"),
        ],
        Layout::Gpt2 => &[("c_attn.weight", "c_attn.bias")],
        Layout::Neox | Layout::Bloom | Layout::Falcon => {
            &[("query_key_value.weight", "query_key_value.bias")]
        }
    }
}

/// PyTorch's names where keys and values have a width of their own; the bias stays packed.
const APART: [&str; 3] = ["q_proj_weight", "k_proj_weight", "v_proj_weight"];

/// A file, its arrays, and the part of the names before the packed one.
struct Shelf<'s> {
    path: &'s Path,
    names: Vec<String>,
    prefix: String,
    spot: &'s Spot,
}

impl Shelf<'_> {
    fn has(&self, name: &str) -> Option<String> {
        let full = format!("{}{name}", self.prefix);
        self.names.contains(&full).then_some(full)
    }

    fn open(&self, name: &str, reader: &mut Reader) -> Option<Array> {
        let array = arrays_in::open(self.path, Some(name), self.spot, reader)?;
        if array.data.iter().any(|number| !number.is_finite()) {
            let what = format!("{}: {name} holds numbers that are not finite", self.spot);
            return reader.fault(self.spot, what, Cells::Finite.why(), "save the checkpoint again");
        }
        Some(array)
    }

    /// The array of that name beside the packed one, where there is one.
    fn beside(&self, name: &str, reader: &mut Reader) -> Result<Option<Array>, Noted> {
        match self.has(name) {
            Some(full) => self.open(&full, reader).map(Some).ok_or(Noted),
            None => Ok(None),
        }
    }
}

/// A fault has been noted.
struct Noted;

/// Reads `in_proj` from the file that it names.
pub(super) fn from_file(section: &Section, layout: Layout, reader: &mut Reader) -> Option<Packed> {
    let path = file_path(section, reader)?;
    let spot = &section.spot;
    let tensor = ["tensor", "array"].map(|key| section.given(key, reader, plain_text));
    let prefix = section.given("prefix", reader, |node, reader| match node.value.as_str() {
        Some(prefix) => Some(prefix.to_owned()),
        None => node.refuse(reader, "a text", "write prefix: \"layers.0.self_attn.\""),
    });
    let names = match arrays::list(&path) {
        Ok(list) => list.into_iter().map(|(name, _)| name).collect(),
        Err(faults) => return file_faults(faults, spot, reader),
    };
    let mut shelf = Shelf { path: &path, names, prefix: String::new(), spot };
    let tensor = tensor.into_iter().find(|tensor| !tensor.is_absent()).unwrap_or(Given::Absent);
    let tensor = match tensor {
        Given::Absent => None,
        given => Some(given.or(String::new())?),
    };
    let weight_name = find_weight(&mut shelf, layout, tensor, prefix.or(String::new())?, reader)?;
    for refused in ["bias_k", "bias_v"] {
        if let Some(name) = shelf.has(refused) {
            let what = format!("{spot}: the file holds {name}, an extra key and value row (add_bias_kv)");
            let why = "leaving it out would give other numbers than the library does";
            return reader.fault(
                spot,
                what,
                why,
                "such a layer cannot be shown; export it without bias_k and bias_v",
            );
        }
    }
    let weight = match &weight_name {
        Found::Whole(name) => Weight::Whole(turned(shelf.open(name, reader)?, layout, spot, reader)?),
        Found::Apart => {
            let [q, k, v] = APART.map(|name| format!("{}{name}", shelf.prefix));
            Weight::Apart([shelf.open(&q, reader)?, shelf.open(&k, reader)?, shelf.open(&v, reader)?])
        }
    };
    let bias = read_bias(section, &shelf, layout, &weight_name, reader).ok()?;
    let (w_o, b_o) = output_projection(&shelf, layout, reader).ok()?;
    Some(Packed { layout, weight, bias, w_o, b_o, spot: spot.clone() })
}

enum Found {
    Whole(String),
    Apart,
}

/// Finds the packed matrix, and sets the shelf's prefix to what stands before its usual name.
fn find_weight(
    shelf: &mut Shelf,
    layout: Layout,
    tensor: Option<String>,
    prefix: String,
    reader: &mut Reader,
) -> Option<Found> {
    let usual: Vec<&str> = names(layout).iter().map(|(weight, _)| *weight).collect();
    if let Some(tensor) = tensor {
        if !shelf.names.contains(&tensor) {
            let near = near(&tensor, shelf.names.iter().map(String::as_str));
            let remedy = near.map_or(shelf.listing(), |near| format!("did you mean {near}?"));
            let what = format!("{}: the file has no array {tensor}", shelf.spot);
            return reader.fault(shelf.spot, what, "", remedy);
        }
        let before = usual.iter().find_map(|usual| tensor.strip_suffix(usual)).map(str::to_owned);
        shelf.prefix = if prefix.is_empty() { before.unwrap_or_default() } else { prefix };
        return Some(Found::Whole(tensor));
    }
    let apart = if layout == Layout::Torch { &APART[..1] } else { &[] };
    let dotted =
        if prefix.is_empty() || prefix.ends_with(['.', '/']) { prefix.clone() } else { format!("{prefix}.") };
    let candidates: Vec<(String, String, bool)> = shelf
        .names
        .iter()
        .flat_map(|name| usual.iter().chain(apart).map(move |usual| (name, *usual)))
        .filter_map(|(name, usual)| {
            let before = name.strip_suffix(usual)?;
            let wanted = if prefix.is_empty() {
                before.is_empty() || before.ends_with(['.', '/'])
            } else {
                before == prefix || before == dotted
            };
            wanted.then(|| (before.to_owned(), name.clone(), apart.contains(&usual)))
        })
        .collect();
    // An exact name comes before one in a bigger model.
    let exact = candidates.iter().find(|(before, ..)| before.is_empty()).filter(|_| prefix.is_empty());
    let chosen = match (exact, candidates.as_slice()) {
        (Some(exact), _) => exact,
        (None, [only]) => only,
        (None, []) => {
            let what = format!("{}: the file has no array {dotted}{}", shelf.spot, usual.join(" or "));
            let remedy = format!("name it: tensor: \"…\". {}", shelf.listing());
            return reader.fault(shelf.spot, what, "", remedy);
        }
        (None, several) => {
            let list: Vec<&str> = several.iter().take(6).map(|(_, name, _)| name.as_str()).collect();
            let more =
                if several.len() > 6 { format!(" and {} more", several.len() - 6) } else { String::new() };
            let what = format!("{}: several arrays could be meant: {}{more}", shelf.spot, list.join(", "));
            let remedy = format!("choose one: prefix: \"{}\"", several[0].0);
            return reader.fault(shelf.spot, what, "", remedy);
        }
    };
    shelf.prefix.clone_from(&chosen.0);
    Some(if chosen.2 { Found::Apart } else { Found::Whole(chosen.1.clone()) })
}

impl Shelf<'_> {
    /// Some of the names in the file.
    fn listing(&self) -> String {
        let list: Vec<&str> = self.names.iter().take(8).map(String::as_str).collect();
        let more = if self.names.len() > 8 { ", …" } else { "" };
        format!("The file holds {}{more}", list.join(", "))
    }
}

fn read_bias(
    section: &Section,
    shelf: &Shelf,
    layout: Layout,
    weight: &Found,
    reader: &mut Reader,
) -> Result<Option<Array>, Noted> {
    if let Some(node) = section.get("bias") {
        if node.value.as_bool() == Some(false) {
            return Ok(None);
        }
        if node.value.is_sequence() {
            return literal(&node, reader, Cells::Finite).map(Some).ok_or(Noted);
        }
        let name = plain_text(&node, reader).ok_or(Noted)?;
        return shelf.open(&name, reader).map(Some).ok_or(Noted);
    }
    let beside = match weight {
        Found::Apart => Some("in_proj_bias"),
        Found::Whole(name) => {
            names(layout).iter().find(|(weight, _)| name.ends_with(weight)).map(|(_, bias)| *bias)
        }
    };
    beside.map_or(Ok(None), |name| shelf.beside(name, reader))
}

/// W_O and its bias, where they stand beside the packed matrix under one of the usual names.
fn output_projection(
    shelf: &Shelf,
    layout: Layout,
    reader: &mut Reader,
) -> Result<(Option<Typed>, Option<Typed>), Noted> {
    // nn.Linear stores out × in, GPT-2's Conv1D in × out
    let usual: &[&str] = if layout == Layout::Gpt2 { &["c_proj"] } else { &["out_proj", "dense", "o_proj"] };
    let typed = |array| Typed { source: arrays_in::Source::Ready(array), spot: shelf.spot.clone() };
    for name in usual {
        let Some(weight) = shelf.beside(&format!("{name}.weight"), reader)? else { continue };
        let weight = if layout == Layout::Gpt2 { Some(weight) } else { transposed(&weight) };
        let Some(weight) = weight else {
            let what = format!("{}: {}{name}.weight is not a matrix", shelf.spot, shelf.prefix);
            reader.fault::<()>(shelf.spot, what, "", "give w_o in projections");
            return Err(Noted);
        };
        let bias = shelf.beside(&format!("{name}.bias"), reader)?;
        return Ok((Some(typed(weight)), bias.map(typed)));
    }
    Ok((None, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes a checkpoint of matrices (and vectors, of one row) whose numbers count up from 1 in each.
    fn checkpoint(room: &Path, tensors: &[(&str, &[usize])]) {
        let tensors: Vec<(&str, &[usize], Vec<u8>)> = tensors
            .iter()
            .map(|(name, shape)| {
                let count = shape.iter().product::<usize>();
                (*name, *shape, (1..=count).flat_map(|number| (number as f64).to_le_bytes()).collect())
            })
            .collect();
        let views = tensors.iter().map(|(name, shape, bytes)| {
            let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F64, shape.to_vec(), bytes);
            (*name, view.unwrap())
        });
        std::fs::write(room.join("m.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    }

    /// One token of width 1, two heads of width 1, and a packed projection from the checkpoint.
    fn load(room: &Path, in_proj: &str) -> Result<crate::lesson::Problem, String> {
        let text = format!(
            "attention: {{num_heads: 2, d_k: 1}}\ninputs: {{x: [[1]]}}\n\
             projections: {{in_proj: {{file: m.safetensors, {in_proj}}}}}\n"
        );
        crate::lesson::parse(&text, "l.yaml", room, &crate::lesson::Options::default())
            .map_err(|faults| faults.to_string())
    }

    fn learned(problem: &crate::lesson::Problem, name: &str) -> Vec<f64> {
        problem.inputs[&name.parse().unwrap()].as_slice().to_vec()
    }

    #[test]
    fn a_checkpoint_gives_all_four_projections_and_their_biases() {
        let room = tempfile::tempdir().unwrap();
        checkpoint(
            room.path(),
            &[
                ("layers.0.attn.in_proj_weight", &[6, 1]),
                ("layers.0.attn.in_proj_bias", &[6]),
                ("layers.0.attn.out_proj.weight", &[1, 2]),
                ("layers.0.attn.out_proj.bias", &[1]),
                ("layers.0.mlp.out_proj.weight", &[9, 9]),
            ],
        );
        let problem = load(room.path(), "layout: torch").unwrap();
        assert_eq!((learned(&problem, "w_k"), learned(&problem, "b_v")), (vec![3.0, 4.0], vec![5.0, 6.0]));
        assert_eq!((learned(&problem, "w_o"), learned(&problem, "b_o")), (vec![1.0, 2.0], vec![1.0]));
        // by its full name, with the bias left out
        let named =
            load(room.path(), "layout: torch, tensor: layers.0.attn.in_proj_weight, bias: false").unwrap();
        assert!(!named.inputs.contains_key(&"b_q".parse().unwrap()));
        assert_eq!(learned(&named, "w_o"), [1.0, 2.0]);
    }

    #[test]
    fn of_several_layers_one_must_be_chosen() {
        let room = tempfile::tempdir().unwrap();
        let shape: &[usize] = &[6, 1];
        checkpoint(
            room.path(),
            &[
                ("h.0.query_key_value.weight", shape),
                ("h.1.query_key_value.weight", shape),
                ("h.1.dense.weight", &[1, 2]),
            ],
        );
        let message = load(room.path(), "layout: bloom").unwrap_err();
        assert!(message.starts_with(
            "error: projections.in_proj: several arrays could be meant: h.0.query_key_value.weight, \
             h.1.query_key_value.weight\n  --> l.yaml:3:15"
        ));
        assert!(message.contains("try: choose one: prefix: \"h.0.\""), "{message}");
        for prefix in ["h.1.", "h.1"] {
            let problem = load(room.path(), &format!("layout: bloom, prefix: {prefix}")).unwrap();
            assert_eq!(learned(&problem, "w_q"), [1.0, 4.0]);
        }
        let without_w_o = load(room.path(), "layout: bloom, prefix: h.0.").unwrap_err();
        assert!(without_w_o.starts_with("error: w_o is missing from projections"), "{without_w_o}");
    }

    #[test]
    fn an_extra_key_row_is_refused_and_never_left_out() {
        let room = tempfile::tempdir().unwrap();
        checkpoint(room.path(), &[("in_proj_weight", &[6, 1]), ("bias_k", &[2]), ("bias_v", &[2])]);
        let message = load(room.path(), "layout: torch").unwrap_err();
        assert!(
            message.starts_with("error: projections.in_proj: the file holds bias_k, an extra key"),
            "{message}"
        );
    }

    #[test]
    fn a_name_that_is_not_in_the_file_is_answered_with_those_that_are() {
        let room = tempfile::tempdir().unwrap();
        checkpoint(room.path(), &[("attn.qkv", &[6, 1])]);
        let message = load(room.path(), "layout: torch").unwrap_err();
        assert!(message.contains("The file holds attn.qkv"), "{message}");
        let message = load(room.path(), "layout: torch, tensor: attn.qkw").unwrap_err();
        assert!(message.contains("did you mean attn.qkv?"), "{message}");
    }
}
