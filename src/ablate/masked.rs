//! Tokens that a masked model has to guess.

use crate::fault::{Fault, Outcome};
use crate::model::{Model, Passage};

/// What masked models put in the place of a token, by family.
const MASKS: [&str; 2] = ["[MASK]", "<mask>"];

/// The id of the token that stands for a hidden one; `None` where the vocabulary has none.
pub fn mask_id(model: &Model) -> Option<u32> {
    let tokens = model.tokens.as_ref()?;
    MASKS.into_iter().find_map(|mask| tokens.id_of(mask))
}

/// The passage with these tokens (from 0) hidden from the model.
///
/// # Errors
/// The model predicts the next token and hides none; its vocabulary has no such token; the passage has fewer tokens.
pub fn masked(model: &Model, passage: &Passage, positions: &[usize]) -> Outcome<Passage> {
    let refused =
        |what: String, why: &str, remedy: String| Fault::new(what, why, remedy).in_source("--mask").into();
    if model.blueprint.is_causal {
        let why = "it predicts every next token from those before it, so that none has to be hidden";
        let what = "this model has no masked tokens".to_owned();
        return Err(refused(what, why, "leave out --mask".to_owned()));
    }
    let Some(id) = mask_id(model) else {
        let what = format!("the vocabulary has no {}", MASKS.join(" and no "));
        let why = "a hidden token is replaced by that one";
        return Err(refused(what, why, "take a folder with a tokenizer.json of a masked model".to_owned()));
    };
    let count = passage.ids.len();
    let mut hidden = passage.clone();
    for position in positions {
        if *position >= count {
            let what = format!("there is no token {}", position.saturating_add(1));
            let why = format!("the text has {count}, counted from 1 with those that the tokenizer puts in");
            return Err(refused(what, &why, format!("choose from 1 to {count}")));
        }
        hidden.ids[*position] = id;
        let names = model.tokens.as_ref().map(|tokens| (tokens.label(id), tokens.name_of(id)));
        if let Some((Some(label), Some(piece))) = names {
            hidden.labels[*position] = label;
            hidden.pieces[*position] = piece;
        }
    }
    Ok(hidden)
}
