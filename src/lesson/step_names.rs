//! What to try for the name of a step that is none.

use super::reader::near;
use crate::plan::{FfnStep, HeadStep, Name, Projection, Stack, TileStep};

/// What to say about a step that is none.
pub(super) fn remedy(typed: &str) -> String {
    let parts: Vec<&str> = typed.split('.').collect();
    let near = match parts.as_slice() {
        ["layer", layer, "ffn", word] => {
            let words = FfnStep::ALL.iter().map(|step| step.word());
            near(word, words).map(|word| format!("layer.{layer}.ffn.{word}"))
        }
        ["layer", layer, "head", head, word] => {
            let words = HeadStep::ALL.iter().map(|step| step.word());
            near(word, words).map(|word| format!("layer.{layer}.head.{head}.{word}"))
        }
        [_, head, word] => {
            let words = HeadStep::ALL.iter().map(|step| step.word());
            let number = head.parse::<usize>().ok().filter(|number| *number > 0).unwrap_or(1);
            near(word, words).map(|word| format!("head.{number}.{word}"))
        }
        [_, head, _, tile, word] => {
            let words = TileStep::ALL.iter().map(|step| step.word());
            near(word, words).map(|word| format!("head.{head}.tile.{tile}.{word}"))
        }
        _ => {
            let plain = [Name::X, Name::XKv, Name::Q, Name::K, Name::V, Name::Concat, Name::Output];
            let learned = Projection::ALL.iter().flat_map(|one| [Name::W(*one), Name::B(*one)]);
            let stacks = Stack::ALL.iter().map(|stack| Name::Stack(*stack));
            let names: Vec<String> =
                plain.into_iter().chain(learned).chain(stacks).map(|name| name.to_string()).collect();
            near(typed, names.iter().map(String::as_str)).map(str::to_owned)
        }
    };
    let examples = "steps are called x, q, k, v, head.1.scores, head.1.weights, concat, output …";
    near.map_or(examples.into(), |near| format!("did you mean {near}? Otherwise: {examples}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_step_finds_the_one_that_was_meant() {
        assert!(remedy("head.2.weight").starts_with("did you mean head.2.weights?"));
        assert!(remedy("heads.1.score").starts_with("did you mean head.1.scores?"));
        assert!(remedy("concatt").starts_with("did you mean concat?"));
        assert!(remedy("zzz").starts_with("steps are called"));
    }
}
