//! The models inside the binary: as PyTorch computes them from the same files, and with the roles that the help states.
//!
//! `tests/reference/models/builtin` is written by `src/model/builtin/train.py`: attention weights and logits in float64,
//! rounded to 7 decimals.
#![expect(clippy::unwrap_used, reason = "a test may stop where something is missing")]

use std::path::Path;
use std::sync::Arc;

use mha::model::task::arithmetic;
use mha::model::{Model, Task, Text};
use mha::plan::rewrites::{HeadPlace, zero_head};
use mha::plan::{Head, HeadStep, Name, Plan, StepId};
use nalgebra::DMatrix;
use serde_json::Value;

/// The weights of a head on a task (n × n); layer and head counted from 1.
fn weights(task: &Task<'_>, layer: usize, head: usize) -> DMatrix<f32> {
    let id = StepId::from(Name::Head(Head(head - 1), HeadStep::Weights)).in_layer(Some(layer - 1));
    task.run([id].into()).unwrap().get(id).unwrap().into_owned()
}

fn read<'m>(model: &'m Model, text: &str) -> Task<'m> {
    Task::new(model, model.read(&Text::One(text.to_owned())).unwrap()).unwrap()
}

/// The same task with one head's output zero; layer and head counted from 1.
fn without<'m>(model: &'m Model, text: &str, layer: usize, head: usize) -> Task<'m> {
    let task = read(model, text);
    let zeroed = zero_head(&task.plan, HeadPlace { layer: Some(layer - 1), head: Head(head - 1) }).unwrap();
    Task { plan: Arc::<Plan>::new(zeroed), ..task }
}

/// What layer 2 hands on (n × d_model).
fn hidden(task: &Task<'_>) -> DMatrix<f32> {
    let id = StepId::from(Name::Hidden).in_layer(Some(1));
    task.run([id].into()).unwrap().get(id).unwrap().into_owned()
}

/// The score of every token of the vocabulary after every token of the text (n × vocabulary).
fn logits(model: &Model, task: &Task<'_>) -> DMatrix<f32> {
    let hidden = hidden(task);
    let readout = model.blueprint.readout.as_ref().unwrap();
    let vocabulary = model.checkpoint.shape(&model.blueprint.embeddings.tokens).unwrap()[0];
    let none = vec![None; hidden.nrows()];
    let readings = readout.read(&*model.checkpoint, &hidden, &none, vocabulary, arithmetic()).unwrap();
    let mut logits = DMatrix::zeros(hidden.nrows(), vocabulary);
    for (row, reading) in readings.iter().enumerate() {
        reading.top.iter().for_each(|(id, score)| logits[(row, *id as usize)] = *score as f32);
    }
    logits
}

/// Attention weights of every head and the logits, beside what train.py computed from the same files.
#[test]
fn both_are_computed_as_pytorch_computes_them() {
    for name in ["induction", "pronouns"] {
        let model = Model::open(name).unwrap();
        let file = format!("tests/reference/models/builtin/{name}.json");
        let file = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
        let expected: Value = serde_json::from_slice(&file).unwrap();
        let numbers = |value: &Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
        };
        let texts = expected["texts"].as_array().unwrap();
        assert_eq!(texts.len(), 3);
        for text in texts {
            let task = read(&model, text["text"].as_str().unwrap());
            let ids: Vec<f64> = task.passage.ids.iter().map(|id| f64::from(*id)).collect();
            assert_eq!(ids, numbers(&text["ids"]), "{name}: {}", text["text"]);
            for (layer, heads) in text["attentions"].as_array().unwrap().iter().enumerate() {
                for (head, want) in heads.as_array().unwrap().iter().enumerate() {
                    let is = weights(&task, layer + 1, head + 1);
                    near(&is, &numbers(want), 2e-6, &format!("{name}, L{layer}H{head}"));
                }
            }
            let is = logits(&model, &task);
            let rows = text["logits"].as_array().unwrap();
            let want: Vec<f64> = rows.iter().flat_map(numbers).collect();
            near(&is, &want, 5e-5, &format!("{name}, logits"));
        }
    }
}

/// Row by row, within a tolerance for numbers around 1 and in proportion above.
fn near(is: &DMatrix<f32>, want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(is.len(), want.len(), "{what}");
    for (at, want) in want.iter().enumerate() {
        let is = f64::from(is[(at / is.ncols(), at % is.ncols())]);
        assert!((is - want).abs() <= tolerance * want.abs().max(1.0), "{what}, cell {at}: {is}, not {want}");
    }
}

/// Twelve different letters, twice: a text that the model has not seen in training (there are 26!/14! of them).
fn twice(number: usize) -> String {
    let alphabet: Vec<char> = ('a'..='z').collect();
    // A stride prime to 26 walks through all letters; start and stride differ from text to text.
    let stride = [1, 3, 5, 7, 9, 11, 15, 17, 19, 21, 23, 25][number % 12];
    let half: String = (0..12).map(|at| alphabet[(at * stride + number * 7) % 26]).collect();
    format!("{half}{half}")
}

/// The share of the next letters in the second half that the highest logit names: 11 places a text, over 12 texts.
fn right(model: &Model, cut: Option<(usize, usize)>) -> f64 {
    let mut hits = 0;
    for number in 0..12 {
        let text = twice(number);
        let task = match cut {
            None => read(model, &text),
            Some((layer, head)) => without(model, &text, layer, head),
        };
        let logits = logits(model, &task);
        // Place 0 is <s>, places 1 to 12 the first half: from place 13 on the next letter has been seen.
        for place in 13..24 {
            hits += usize::from(logits.row(place).transpose().imax() == task.passage.ids[place + 1] as usize);
        }
    }
    hits as f64 / (12.0 * 11.0)
}

/// In layer 1 head 4 looks at the letter before; in layer 2 heads 1, 2 and 4 look at what came next the last time.
#[test]
fn heads_of_induction_look_where_the_help_says() {
    let model = Model::open("induction").unwrap();
    for number in 0..12 {
        let task = read(&model, &twice(number));
        let previous = |layer, head| {
            let weights = weights(&task, layer, head);
            (2..25).map(|at| f64::from(weights[(at, at - 1)])).sum::<f64>() / 23.0
        };
        assert!(previous(1, 4) > 0.8, "{number}: {}", previous(1, 4));
        for head in 1..4 {
            assert!(previous(1, head) < 0.5, "{number}, head {head}: {}", previous(1, head));
        }
        // The letter of place 13 + i stood at place 1 + i, and place 2 + i came next.
        let induction = |head| {
            let weights = weights(&task, 2, head);
            (13..25).map(|at| f64::from(weights[(at, at - 11)])).sum::<f64>() / 12.0
        };
        for head in [1, 2, 4] {
            assert!(induction(head) > 0.85, "{number}, head {head}: {}", induction(head));
            assert!(previous(2, head) < 0.1, "{number}, head {head}: {}", previous(2, head));
        }
    }
}

/// Layer 2 lives on what head 4 of layer 1 writes; of the other heads each can go.
#[test]
fn without_its_previous_token_head_induction_forgets() {
    let model = Model::open("induction").unwrap();
    assert!(right(&model, None) > 0.99);
    assert!(right(&model, Some((1, 4))) < 0.25);
    for (layer, head) in [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (2, 3), (2, 4)] {
        assert!(right(&model, Some((layer, head))) > 0.9, "layer {layer} head {head}");
    }
}

/// Spaces and capital letters make no difference; what is no letter is refused.
#[test]
fn letters_may_be_typed_with_spaces_or_without() {
    let model = Model::open("induction").unwrap();
    let ids = |text: &str| model.read(&Text::One(text.to_owned())).map(|passage| passage.ids);
    assert_eq!(ids("q w e r").unwrap(), [0, 17, 23, 5, 18]);
    assert_eq!(ids("QWer").unwrap(), ids("q w e r").unwrap());
    assert!(ids("qw3r").is_err());
}

/// Where a head of layer 2 looks from `it`: the share of one word; head counted from 1.
fn share_of(task: &Task<'_>, head: usize, word: &str) -> f32 {
    let place = |word: &str| task.passage.labels.iter().position(|label| label == word).unwrap();
    weights(task, 2, head)[(place("it"), place(word))]
}

/// The word that the language head names at `it`.
fn named_at_it(model: &Model, task: &Task<'_>) -> String {
    let at = task.passage.labels.iter().position(|label| label == "it").unwrap();
    let id = logits(model, task).row(at).transpose().imax();
    model.tokens.as_ref().unwrap().name_of(id as u32).unwrap()
}

/// With “tired” head 1 finds the noun and head 2 the adjective, with “wide” it is the other way round.
#[test]
fn heads_of_pronouns_trade_places_with_the_last_word() {
    let model = Model::open("pronouns").unwrap();
    for (adjective, noun, [of_noun, of_adjective]) in
        [("tired", "animal", [1, 2]), ("wide", "street", [2, 1])]
    {
        let text = format!("The animal didn't cross the street because it was too {adjective}");
        let task = read(&model, &text);
        assert!(share_of(&task, of_noun, noun) > 0.9, "{adjective}: {}", share_of(&task, of_noun, noun));
        let share = share_of(&task, of_adjective, adjective);
        assert!(share > 0.9, "{adjective}: {share}");
        assert_eq!(named_at_it(&model, &task), noun);
    }
}

/// Every being with every place, the order of the sentence and the adjective differing: 144 sentences.
#[test]
fn pronouns_names_the_right_noun() {
    let model = Model::open("pronouns").unwrap();
    let beings =
        ["animal", "dog", "cat", "horse", "cow", "bear", "fox", "child", "boy", "girl", "man", "woman"];
    let places = [
        "street", "road", "river", "bridge", "field", "garden", "park", "lake", "hill", "forest", "path",
        "square",
    ];
    let of_beings = ["tired", "hungry", "thirsty", "sick", "sleepy", "scared"];
    let of_places = ["wide", "long", "deep", "busy", "dangerous", "dark"];
    for (at, being) in beings.iter().enumerate() {
        for (number, place) in places.iter().enumerate() {
            let (adjective, meant) = match (at + number) % 2 {
                0 => (of_beings[(at + number / 2) % 6], being),
                _ => (of_places[(at + number / 2) % 6], place),
            };
            let text = match number % 3 {
                0 => format!("The {being} did not enter the {place} because it was so {adjective}."),
                1 => format!("Since it was very {adjective}, the {place} was not visited by the {being}"),
                _ => format!("Because it was too {adjective}, the {being} didn’t reach the {place}."),
            };
            let task = read(&model, &text);
            assert!(!task.passage.pieces.iter().any(|piece| piece == "[UNK]"), "{text}");
            assert_eq!(named_at_it(&model, &task), *meant, "{text}");
        }
    }
}

/// The alphabet has no token for what it does not know; that is no fault of the tokenizer's file.
#[test]
fn letters_are_all_that_induction_reads() {
    let model = Model::open("induction").unwrap();
    let told = model.read(&Text::One("q9!".to_owned())).unwrap_err().to_string();
    for words in ["“9” in the text has no token", "leave out what the model was not trained on"] {
        assert!(told.contains(words), "{told}");
    }
}
