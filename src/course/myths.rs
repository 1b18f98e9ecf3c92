//! Five things that are often said of multi-head attention and are not so, each with a command that shows it.

use crate::words::{say, t};

/// Something that is often said and is not so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Myth {
    /// Its name, as a lesson's `myth:` gives it.
    pub name: &'static str,
    /// What is said, in English.
    sentence: &'static str,
    /// What is so instead, in English.
    truth: &'static str,
    /// The words of the command that shows it, `mha` first.
    pub command: &'static [&'static str],
}

/// All of them, by the names that lessons give them.
pub const MYTHS: &[Myth] = &[
    Myth {
        name: "more-heads",
        sentence: "More heads are always better.",
        truth: "With d_model fixed, more heads are narrower heads: d_k = d_model / num_heads. Vaswani et al. (2017) found \
                the best scores at 8 and 16 heads; one head was worse, and so were 32.",
        command: &["mha", "params", "--d-model", "512", "--sweep", "num-heads=1,4,8,16,32"],
    },
    Myth {
        name: "more-parameters",
        sentence: "Multi-head attention has many more parameters than single-head attention.",
        truth: "All heads together share the width of one: W_Q, W_K, W_V and W_O stay d_model × d_model, however many \
                heads they are cut into.",
        command: &["mha", "params", "--d-model", "512", "--sweep", "num-heads=1,8"],
    },
    Myth {
        name: "pretty-map",
        sentence: "A pretty attention map proves that the model has learned syntax.",
        truth: "A map suggests a hypothesis; only a change of the model tests it. The maps of this example have patterns, \
                too, and nothing in it was learned: its numbers were made up.",
        command: &["mha", "trace", "telltale", "--format", "heatmap"],
    },
    Myth {
        name: "same-averaged",
        sentence: "Computing the same attention several times and averaging is multi-head attention.",
        truth: "Heads that share their projections agree on everything, and their average is one head. What makes the \
                difference is a projection of its own for every head.",
        command: &["mha", "compare", "--variants", "averaged,multi-head"],
    },
    Myth {
        name: "full-mha",
        sentence: "Full multi-head attention is always the best choice at inference.",
        truth: "Decoding waits for the cache of keys and values, which grows with the number of key/value heads. Llama 2 \
                70B has 8 of them for 64 query heads: an eighth of the cache.",
        command: &["mha", "params", "llama-2-70b"],
    },
];

impl Myth {
    /// The myth of that name.
    pub fn find(name: &str) -> Option<&'static Self> {
        MYTHS.iter().find(|myth| myth.name == name)
    }

    /// What is said.
    pub fn sentence(&self) -> &'static str {
        say(self.sentence)
    }

    /// What is so instead.
    pub fn truth(&self) -> &'static str {
        say(self.truth)
    }

    /// What to tell someone who holds it: the myth, what is so instead, and the command.
    pub fn refuted(&self) -> [String; 2] {
        [
            t!(
                "A myth speaks here: “%{sentence}” %{truth}",
                sentence = self.sentence(),
                truth = self.truth()
            ),
            t!("See for yourself: %{command}", command = self.command.join(" ")),
        ]
    }
}
