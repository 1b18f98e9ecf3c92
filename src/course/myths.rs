//! Five things that are often said of multi-head attention and are not so, each with a command that shows it.

use crate::words::t;

/// Something that is often said and is not so, in the language of this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Myth {
    /// What is said.
    pub sentence: String,
    /// What is so instead.
    pub truth: String,
    /// The command that shows it.
    pub command: &'static str,
}

impl Myth {
    /// The myth that a lesson's `myth:` names; see [`crate::lesson::course::MYTHS`].
    pub fn find(name: &str) -> Option<Self> {
        let (sentence, truth, command) = match name {
            "more-heads" => (
                t!("More heads are always better."),
                t!(
                    "With d_model fixed, more heads are narrower heads: d_k = d_model / num_heads. Vaswani et al. (2017) \
                     found the best scores at 8 and 16 heads; one head was worse, and so were 32."
                ),
                "mha params --d-model 512 --sweep num-heads=1,4,8,16,32",
            ),
            "more-parameters" => (
                t!("Multi-head attention has many more parameters than single-head attention."),
                t!(
                    "All heads together share the width of one: W_Q, W_K, W_V and W_O stay d_model × d_model, however \
                     many heads they are cut into."
                ),
                "mha params --d-model 512 --sweep num-heads=1,8",
            ),
            "pretty-map" => (
                t!("A pretty attention map proves that the model has learned syntax."),
                t!(
                    "A map suggests a hypothesis; only a change of the model tests it. Maps of random matrices have \
                     patterns, too, and two different maps can lead to the same output."
                ),
                "mha learn not-an-explanation",
            ),
            "same-averaged" => (
                t!("Computing the same attention several times and averaging is multi-head attention."),
                t!(
                    "Heads that share their projections agree on everything, and their average is one head. What makes \
                     the difference is a projection of its own for every head."
                ),
                "mha compare --variants averaged,multi-head",
            ),
            "full-mha" => (
                t!("Full multi-head attention is always the best choice at inference."),
                t!(
                    "Decoding waits for the cache of keys and values, which grows with the number of key/value heads. \
                     Llama 2 70B has 8 of them for 64 query heads: an eighth of the cache."
                ),
                "mha params llama-2-70b",
            ),
            _ => return None,
        };
        Some(Self { sentence, truth, command })
    }

    /// What to tell someone who holds it: the myth, what is so instead, and the command.
    pub fn refuted(&self) -> [String; 2] {
        [
            t!("A myth speaks here: “%{sentence}” %{truth}", sentence = self.sentence, truth = self.truth),
            t!("See for yourself: %{command}", command = self.command),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::course::MYTHS;

    #[test]
    fn every_myth_that_a_lesson_may_name_is_refuted() {
        for name in MYTHS {
            let myth = Myth::find(name).unwrap_or_else(|| panic!("{name}"));
            assert!(myth.command.starts_with("mha "), "{name}");
        }
        assert_eq!(Myth::find("flat-earth"), None);
    }
}
