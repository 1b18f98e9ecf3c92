//! The flags that name a model and what it reads, the same for every verb.

use std::collections::HashSet;

use clap::Args;

use super::complete;
use crate::fault::{Fault, Outcome, shell_word};
use crate::lesson::Problem;
use crate::model::{Model, Naming, Passage, Task, Text, builtin};
use crate::words::{n, say};

/// A model, and a text for it.
#[derive(Debug, Clone, Args)]
pub(super) struct ModelArgs {
    // No comment for readers of help pages: they are given what the models inside the binary are as well.
    #[arg(long, value_name = "MODEL", help = MODEL, long_help = models(), add = complete::models())]
    model: Option<String>,
    /// The text that the model reads
    #[arg(long, value_name = "TEXT", requires = "model", conflicts_with = "tokens")]
    text: Option<String>,
    /// The second sentence, for models that read pairs
    #[arg(long, value_name = "TEXT", requires = "text")]
    pair: Option<String>,
    /// Token ids in place of a text, with commas (5,8,13); nothing is added to them
    #[arg(long, value_name = "IDS", requires = "model", value_delimiter = ',')]
    tokens: Vec<u32>,
}

/// The help of `--model` in short.
const MODEL: &str = n!(
    "Real weights instead of a lesson: a model's folder, a .gguf file, or the name of a model that ships with mha"
);

/// The help of `--model` in full: with what the models inside the binary are and are not.
fn models() -> String {
    let mut help = say(MODEL).to_owned();
    for model in builtin::all() {
        help.push_str(&format!("\n\n{}: {} {}", model.name, model.what_it_is(), model.what_it_is_not()));
    }
    // A Chinese clause a line: clap, which takes a wide character for one column, folds long ones too late.
    for stop in ["。", "；", "："] {
        help = help.replace(stop, &format!("{stop}\n"));
    }
    help
}

impl ModelArgs {
    /// Whether a model was named.
    pub(super) fn is_given(&self) -> bool {
        self.model.is_some()
    }

    /// The model.
    ///
    /// # Errors
    /// None was named, or it cannot be opened.
    pub(super) fn opened(&self) -> Outcome<Model> {
        match &self.model {
            Some(name) => Model::open(name),
            None => {
                let why = "this is about the heads of real weights";
                let remedy = "name a model: --model DIR, --model file.gguf, or --model induction";
                Err(Fault::new("no model was named", why, remedy).in_source("--model").into())
            }
        }
    }

    /// The words that name the model and its text in another command, quoted for a shell.
    pub(super) fn words(&self) -> Vec<String> {
        let ids = self.tokens.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let ids = (!ids.is_empty()).then_some(ids);
        let flags = [
            ("--model", self.model.as_ref()),
            ("--text", self.text.as_ref()),
            ("--pair", self.pair.as_ref()),
            ("--tokens", ids.as_ref()),
        ];
        let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
        given.flat_map(|(flag, value)| [flag.to_owned(), shell_word(value)]).collect()
    }

    /// The attention of one layer (from 0) on the text, as a problem that is one attention call.
    ///
    /// # Errors
    /// There is nothing to read, no such layer; what running a model refuses.
    pub(super) fn layer_alone(&self, model: &Model, layer: usize) -> Outcome<Problem> {
        let task = Task::new(model, self.passage(model)?)?;
        task.attention(layer)?;
        let trace = task.run(HashSet::from([task.input_of(layer)]))?;
        task.problem(layer, &trace, Naming::Alone)
    }

    /// What the model reads.
    ///
    /// # Errors
    /// There is nothing to read, or the model cannot read it.
    pub(super) fn passage(&self, model: &Model) -> Outcome<Passage> {
        let text = match (&self.text, &self.pair) {
            (Some(text), None) => Text::One(text.clone()),
            (Some(text), Some(pair)) => Text::Pair(text.clone(), pair.clone()),
            (None, _) if !self.tokens.is_empty() => Text::Ids(self.tokens.clone()),
            (None, _) => {
                let remedy = "add --text \"The animal didn't cross the street because it was too tired\", or --tokens 5,8,13";
                let why = "a model has attention only where it reads something";
                return Err(Fault::new("there is no text for the model", why, remedy)
                    .in_source("--text")
                    .into());
            }
        };
        model.read(&text)
    }
}
