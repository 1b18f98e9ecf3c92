//! Files of numbers handed over where a lesson is wanted: what they are, and the verb that takes them.

use std::path::Path;

use serde_yaml::Value;

use super::reader::{Reader, Spot, near};
use crate::arrays::Format;
use crate::fault::{Fault, shell_word};

/// What a lesson is, for whoever has tensors in hand.
const WHY: &str = "a lesson is a text in YAML that says what is computed of which inputs";

/// A file whose ending says that it holds numbers; `None` where a lesson could be in it.
pub(super) fn by_its_ending(path: &Path) -> Option<Fault> {
    let shown = shell_word(&path.display().to_string());
    let is_gguf = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("gguf"));
    if is_gguf {
        let remedy = format!("mha trace --model {shown} --text \"…\" reads it as a model");
        return Some(Fault::new(format!("{} is a model, not a lesson", path.display()), WHY, remedy));
    }
    match Format::of(path) {
        // a lesson may be written in JSON
        Err(_) | Ok(Format::Json) => None,
        Ok(_) => Some(Fault::new(
            format!("{} holds arrays, not a lesson", path.display()),
            WHY,
            format!(
                "mha check two-heads {shown} compares it with a lesson; a lesson reads it with {{file: {shown}}}"
            ),
        )),
    }
}

/// A text with names of its own and nothing that a lesson computes: tensors typed in YAML or JSON, the JSON of a trace. Said
/// once, in place of a fault for each name.
pub(super) fn by_its_keys(value: &Value, spot: &Spot, known: &[&str], reader: &mut Reader) -> Option<()> {
    let entries = value.as_mapping()?;
    let computes = ["attention", "inputs", "projections", "layers"];
    if computes.iter().any(|key| entries.contains_key(*key)) {
        return None;
    }
    let names: Vec<&str> = entries.keys().map(|key| key.as_str().unwrap_or_default()).collect();
    let unknown: Vec<&str> = names.into_iter().filter(|name| !known.contains(name)).collect();
    // `atention:` is a lesson with a slip
    if unknown.is_empty() || unknown.iter().any(|name| near(name, known.iter().copied()).is_some()) {
        return None;
    }
    let shown: Vec<&str> = unknown.iter().copied().take(4).collect();
    let more = if unknown.len() > shown.len() { ", …" } else { "" };
    reader.fault::<()>(
        spot,
        format!("this is no lesson: it has neither attention nor inputs, but {}{more}", shown.join(", ")),
        WHY,
        "if these are tensors of yours, mha check LESSON FILE compares them with a lesson's",
    );
    Some(())
}

#[cfg(test)]
mod tests {
    use crate::lesson::{Options, load, parse};
    use std::path::Path;

    fn told(text: &str) -> String {
        parse(text, "mine.yaml", Path::new("."), &Options::default()).unwrap_err().to_string()
    }

    #[test]
    fn tensors_are_told_from_a_lesson_with_slips() {
        let tensors = told("q: [[1, 0]]\nk: [[0, 1]]\nweights: [[1]]\n");
        assert!(tensors.starts_with(
            "error: this is no lesson: it has neither attention nor inputs, but q, k, weights\n"
        ));
        assert!(
            tensors.contains("mha check LESSON FILE") && tensors.matches("error: ").count() == 1,
            "{tensors}"
        );
        let trace = told(r#"{"mha": 1, "layout": "rows", "steps": []}"#);
        assert!(
            trace.starts_with("error: this is no lesson") && trace.contains("but layout, steps"),
            "{trace}"
        );
        let slip = told("atention: {num_heads: 1}\ninput: {x: [[1]]}\n");
        assert!(slip.contains("did you mean attention?") && slip.contains("did you mean inputs?"), "{slip}");
    }

    #[test]
    fn a_file_of_arrays_is_sent_to_the_verb_that_takes_it() {
        let folder = tempfile::tempdir().unwrap();
        for (name, verb) in [
            ("t.npz", "mha check two-heads"),
            ("t.CSV", "mha check two-heads"),
            ("m.gguf", "mha trace --model"),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, b"PK\x03\x04 and so on").unwrap();
            let fault = load(&path, &Options::default()).unwrap_err().to_string();
            assert!(fault.contains("not a lesson") && fault.contains(verb), "{fault}");
        }
    }
}
