//! The tensors of a stack of layers: each layer's own by its names, and what transformers returns for all of them.
//!
//! ```text
//! layer.4.scores, blocks.3.attn ──> which layer, and the rest of the name ──> claim (as in a lesson that is one call)
//! hidden_states, attentions ──────> one matrix a layer
//! embedding, final ───────────────> before and after the layers
//! ```

mod place;

use std::path::PathBuf;

use super::claim::{Chosen, Whole, has_blanks, sorted, with_grains};
use super::files::Held;
use super::names::{Meaning, folded, meaning, whole};
use super::{Tensor, all_held, told};
use crate::arrays::{Array, is_blank};
use crate::fault::{Fault, Faults, Outcome};
use crate::plan::{Name, Stack};
use crate::words::t;
use place::{Returned, Spot};

/// The steps that a stack of layers has, and that can be handed over.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    /// Those of every layer; heads stacked.
    pub layers: Vec<Vec<Name>>,
    /// Those before the first layer and after the last.
    pub outside: Vec<Name>,
}

/// One tensor of a stack.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Its layer, from 0; `None` before and after them.
    pub layer: Option<usize>,
    /// The tensor, under a name that the layer has.
    pub tensor: Tensor,
}

/// Everything that was handed over.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layered {
    /// The steps; each at most once.
    pub tensors: Vec<Placed>,
    /// What was recognised under another name.
    pub remarks: Vec<String>,
    /// Arrays that are not compared: their name, and why.
    pub left_out: Vec<(String, String)>,
}

/// An array and where it belongs.
struct Entry {
    file: usize,
    called: String,
    array: Array,
    spot: Spot,
}

/// Reads the steps of all layers out of a person's files. Layers count from 1, and from 0 where a name says layer 0.
///
/// `map` gives arrays the names of steps (theirs, ours: `layer.4.scores`, `attentions`).
///
/// # Errors
/// What [`super::read`] refuses; nothing in the files is a step of the stack.
pub fn read_layers(files: &[PathBuf], map: &[(String, String)], known: &Known) -> Outcome<Layered> {
    let held = all_held(files)?;
    let found = told::summary(&held);
    let names: Vec<(String, bool)> = held.iter().map(|held| (held.file.clone(), held.text)).collect();
    let by_hand: Vec<bool> = held.iter().map(has_blanks).collect();
    let mut sorter = Sorter { known, found: Layered::default(), chosen: Vec::new(), files: names };
    let mut entries = entries(held);
    sorter.count_from_one(&mut entries);
    mapped(&mut entries, map)?;
    let returned = sorter.named(entries)?;
    for entry in returned {
        sorter.returned(entry);
    }
    let Sorter { found: mut layered, chosen, files, .. } = sorter;
    if chosen.is_empty() {
        return Err(told::nothing_of_a_stack(&found, &layered.left_out).into());
    }
    let (layers, chosen): (Vec<Option<usize>>, Vec<Chosen>) = chosen.into_iter().unzip();
    let tensors = with_grains(chosen, &files, &by_hand);
    layered.tensors =
        layers.into_iter().zip(tensors).map(|(layer, tensor)| Placed { layer, tensor }).collect();
    layered.remarks = once_each(layered.remarks);
    layered.left_out = once_each(layered.left_out);
    Ok(layered)
}

/// What is said of every layer in the same words is said once.
fn once_each<T: PartialEq>(said: Vec<T>) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for what in said {
        if !all.contains(&what) {
            all.push(what);
        }
    }
    all
}

/// All arrays, with the places that their names say.
fn entries(held: Vec<Held>) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for (file, held) in held.into_iter().enumerate() {
        entries.extend(held.arrays.into_iter().map(|(called, array)| {
            let spot = Spot::of(&called);
            Entry { file, called, array, spot }
        }));
    }
    entries
}

/// Gives arrays the places that `--map theirs=ours` says; ours count from 1, however theirs do.
fn mapped(entries: &mut [Entry], map: &[(String, String)]) -> Outcome<()> {
    let mut faults = Vec::new();
    for (theirs, ours) in map {
        let spot = match Spot::of(ours) {
            Spot::Nowhere | Spot::Layer(0, _) => {
                faults.push(told::no_target_in_a_stack(theirs, ours));
                continue;
            }
            Spot::Layer(number, rest) => Spot::Layer(number - 1, rest),
            other => other,
        };
        let is_meant =
            |entry: &&mut Entry| entry.called == *theirs || folded(&entry.called) == folded(theirs);
        match entries.iter_mut().find(is_meant) {
            Some(entry) => entry.spot = spot,
            None => {
                let called: Vec<&str> = entries.iter().map(|entry| entry.called.as_str()).collect();
                faults.push(told::not_there(theirs, &called));
            }
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Faults(faults)) }
}

/// Tensors on their way to their steps.
struct Sorter<'a> {
    known: &'a Known,
    found: Layered,
    chosen: Vec<(Option<usize>, Chosen)>,
    files: Vec<(String, bool)>,
}

impl Sorter<'_> {
    fn leave_out(&mut self, called: String, why: String) {
        self.found.left_out.push((called, why));
    }

    fn has(&self, layer: Option<usize>, name: Name) -> bool {
        self.chosen.iter().any(|(of, (_, own, ..))| *of == layer && *own == name)
    }

    /// Names that count layers from 0 are counted as ours; a stack of one layer needs no number.
    fn count_from_one(&mut self, entries: &mut [Entry]) {
        let from_zero = entries.iter().any(|entry| matches!(entry.spot, Spot::Layer(0, _)));
        if from_zero {
            self.found.remarks.push(t!("your layers count from 0; mha counts from 1"));
        }
        for entry in entries {
            match &mut entry.spot {
                Spot::Layer(number, _) if !from_zero => *number -= 1,
                spot @ Spot::Nowhere if self.known.layers.len() == 1 => {
                    *spot = Spot::Layer(0, entry.called.clone());
                }
                _ => {}
            }
        }
    }

    /// Takes what names a layer or stands outside of them; gives back what transformers returns for all layers.
    fn named(&mut self, entries: Vec<Entry>) -> Outcome<Vec<Entry>> {
        let mut of_layers: Vec<Vec<Entry>> = self.known.layers.iter().map(|_| Vec::new()).collect();
        let mut returned = Vec::new();
        for mut entry in entries {
            if !entry.array.is_empty() && entry.array.data.iter().all(|number| is_blank(*number)) {
                self.leave_out(entry.called, "left blank".to_owned());
                continue;
            }
            match &entry.spot {
                Spot::Returned(..) => returned.push(entry),
                Spot::Outside(name) => {
                    let name = *name;
                    self.outside(name, entry)?;
                }
                Spot::Layer(layer, _) => match of_layers.get_mut(*layer) {
                    Some(entries) => entries.push(entry),
                    None => {
                        let all = self.known.layers.len();
                        let why = format!("there is no layer {}: {all} in all", layer.saturating_add(1));
                        self.leave_out(entry.called, why);
                    }
                },
                Spot::Nowhere => {
                    let why = match meaning(&entry.called) {
                        Meaning::Step(..) | Meaning::Context => {
                            format!("of which layer? layer.1.{} is that of the first", entry.called)
                        }
                        Meaning::Input => t!("an input, not a step"),
                        Meaning::Unknown => "no step has that name".to_owned(),
                    };
                    let called = std::mem::take(&mut entry.called);
                    self.leave_out(called, why);
                }
            }
        }
        for (layer, entries) in of_layers.into_iter().enumerate() {
            self.of_layer(layer, entries)?;
        }
        Ok(returned)
    }

    /// What stands before the layers or after them.
    fn outside(&mut self, name: Name, entry: Entry) -> Outcome<()> {
        // Where nothing follows the last layer, what it hands on is the end.
        let (layer, name) = match name {
            Name::Final if !self.known.outside.contains(&name) => {
                (self.known.layers.len().checked_sub(1), Name::Hidden)
            }
            name => (None, name),
        };
        let is_known = layer.is_some() || self.known.outside.contains(&name);
        if !is_known {
            self.leave_out(entry.called, format!("there is no step {name} here"));
            return Ok(());
        }
        self.take(layer, name, entry).map_err(Faults::from)
    }

    fn take(&mut self, layer: Option<usize>, name: Name, entry: Entry) -> Result<(), Fault> {
        let other = self.chosen.iter().find(|(of, (_, own, ..))| *of == layer && *own == name);
        if let Some((_, (file, _, called, _))) = other {
            let of = |called: &str, file: usize| format!("{called} of {}", self.files[file].0);
            return Err(told::twice(name, &of(called, *file), &of(&entry.called, entry.file)));
        }
        self.chosen.push((layer, (entry.file, name, entry.called, entry.array)));
        Ok(())
    }

    /// The tensors of one layer: what stands around its attention by our names, its attention's as a lesson's are.
    fn of_layer(&mut self, layer: usize, entries: Vec<Entry>) -> Outcome<()> {
        let known = &self.known.layers[layer];
        let around: Vec<Name> = known.iter().copied().filter(|name| whole(*name).is_none()).collect();
        let attention: Vec<Name> = known.iter().copied().filter(|name| whole(*name).is_some()).collect();
        let empty = |(file, text): &(String, bool)| Held {
            file: file.clone(),
            arrays: Vec::new(),
            nameless: false,
            text: *text,
        };
        let mut held: Vec<Held> = self.files.iter().map(empty).collect();
        let mut full: Vec<(String, String)> = Vec::new();
        for entry in entries {
            let Spot::Layer(_, rest) = &entry.spot else { continue };
            match place::around(rest, &around) {
                Some(name) => self.take(Some(layer), name, entry)?,
                None => {
                    let rest = rest.clone();
                    full.push((rest.clone(), entry.called));
                    held[entry.file].arrays.push((rest, entry.array));
                }
            }
        }
        if full.is_empty() {
            return Ok(());
        }
        let (answers, chosen) = sorted(held, &[], &attention, Whole::Stack)?;
        let in_full = |rest: &str| {
            let found = full.iter().find(|(known, _)| known == rest);
            found.map_or_else(|| format!("layer.{}.{rest}", layer + 1), |(_, called)| called.clone())
        };
        self.found.remarks.extend(answers.remarks);
        let left_out = answers.left_out.into_iter().map(|(rest, why)| (in_full(&rest), why));
        self.found.left_out.extend(left_out);
        let chosen = chosen
            .into_iter()
            .map(|(file, name, called, array)| (Some(layer), (file, name, in_full(&called), array)));
        self.chosen.extend(chosen);
        Ok(())
    }

    /// What transformers returns: a matrix or a stack a layer, or one of them.
    fn returned(&mut self, entry: Entry) {
        let Spot::Returned(what, number) = &entry.spot else { return };
        let (what, number) = (*what, *number);
        let layers = self.known.layers.len();
        let all = match what {
            Returned::HiddenStates => layers + 1,
            Returned::Attentions => layers,
        };
        let parts: Vec<(usize, Array)> = match number {
            Some(number) if number < all => vec![(number, entry.array.clone())],
            Some(number) => {
                self.leave_out(entry.called, format!("there is no {number} among 0 to {}", all - 1));
                return;
            }
            None => match place::parts(&entry.array, all, what.axes()) {
                Some(parts) => parts.into_iter().enumerate().collect(),
                None => {
                    let shape = entry.array.shape.iter().map(ToString::to_string).collect::<Vec<_>>();
                    let why = match what {
                        Returned::HiddenStates => format!(
                            "its shape is {}, and it needs {all} matrices: the embedding and one a layer",
                            shape.join(" × ")
                        ),
                        Returned::Attentions => format!(
                            "its shape is {}, and it needs {all} stacks of heads: one a layer",
                            shape.join(" × ")
                        ),
                    };
                    self.leave_out(entry.called, why);
                    return;
                }
            },
        };
        let mut there = 0;
        let count = parts.len();
        for (at, array) in parts {
            let (layer, name) = match what {
                Returned::Attentions => (Some(at), Name::Stack(Stack::Weights)),
                Returned::HiddenStates if at == 0 => (None, Name::Embedding),
                Returned::HiddenStates if at == layers && self.known.outside.contains(&Name::Final) => {
                    (None, Name::Final)
                }
                Returned::HiddenStates => (Some(at - 1), Name::Hidden),
            };
            let called = if count > 1 { format!("{}[{at}]", entry.called) } else { entry.called.clone() };
            match self.has(layer, name) {
                true => there += 1,
                false => self.chosen.push((layer, (entry.file, name, called, array))),
            }
        }
        if there == count {
            let why = "all of it is there under the names of the layers".to_owned();
            self.leave_out(entry.called, why);
        }
    }
}
