//! A first draft of a lesson, as text with comments: what `mha lessons new` writes.
//!
//! The draft is a true lesson: its claim is computed by the engine, and it is read and checked before anybody gets it.

use std::fmt::Write;
use std::path::Path;

use super::random::{Stream, integers};
use super::{Options, parse};
use crate::fault::{Fault, Faults, Outcome, commands};
use crate::limits::DRAFT_SIZE;
use crate::ops::Arithmetic;
use crate::plan::{Head, HeadStep};
use crate::trace::Keep;
use crate::words::t;

/// What a draft is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Shown above everything.
    pub title: String,
    /// Names of the tokens; one at least.
    pub tokens: Vec<String>,
    /// Numbers a token.
    pub d_model: usize,
    /// Heads; they divide `d_model`.
    pub num_heads: usize,
    /// Which keys a query sees.
    pub mask: Mask,
    /// Where the numbers come from.
    pub numbers: Numbers,
    /// What numbers are drawn with.
    pub seed: u64,
}

/// Which keys a query of a draft sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mask {
    /// All.
    None,
    /// None that comes later.
    Causal,
    /// So many, up to its own.
    Window(usize),
}

/// Where the numbers of a draft come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Small whole numbers, typed out.
    Integers,
    /// Small whole numbers for the tokens; projections that change nothing.
    Identity,
    /// Drawn from the normal distribution whenever the lesson is read, always the same.
    Random,
}

impl Template {
    /// The text of the lesson.
    ///
    /// # Errors
    /// Sizes that are 0, too large or do not divide; a title whose `{…}` is no expression of this lesson.
    pub fn text(&self) -> Outcome<String> {
        self.check().map_err(Faults::from)?;
        let draft = self.written("");
        let problem = parse(&draft, "the new lesson", Path::new("."), &Options::default())?;
        let trace = problem.run::<f64>(&Keep::All, Arithmetic::Ordered)?;
        let weights = trace.get(Head(0).step(HeadStep::Weights));
        let row = weights
            .map(|weights| weights.row(0).iter().map(|weight| format!("{weight:.4}")).collect::<Vec<_>>());
        let text = self.written(&row.unwrap_or_default().join(", "));
        parse(&text, "the new lesson", Path::new("."), &Options::default())?;
        Ok(text)
    }

    fn check(&self) -> Result<(), Fault> {
        let Self { d_model, num_heads, .. } = self;
        for (what, flag, size) in [
            ("tokens", "--tokens", self.tokens.len()),
            ("numbers a token (d_model)", "--d-model", *d_model),
            ("heads", "--num-heads", *num_heads),
        ] {
            if !(1..=DRAFT_SIZE).contains(&size) {
                let why = "a lesson is followed number by number";
                let remedy = format!("take 1 to {DRAFT_SIZE}; larger ones can be typed into the file");
                return Err(Fault::new(format!("a new lesson cannot have {size} {what}"), why, remedy)
                    .in_source(flag));
            }
        }
        if d_model % num_heads != 0 {
            let divisors: Vec<String> =
                (1..=*d_model).filter(|heads| d_model % heads == 0).map(|n| n.to_string()).collect();
            let what =
                format!("{d_model} numbers a token cannot be shared out evenly among {num_heads} heads");
            let remedy = format!("take one of {} heads", divisors.join(", "));
            return Err(Fault::new(what, "each head gets d_model / num_heads of them", remedy)
                .in_source("--num-heads"));
        }
        if self.mask == Mask::Window(0) {
            let (why, remedy) = ("a query sees its own key at least", "take window:1 or more");
            return Err(Fault::new("a window of 0 keys shows nothing", why, remedy).in_source("--mask"));
        }
        Ok(())
    }

    /// The lesson with this row of weights as its claim; without a claim where there is none.
    fn written(&self, row: &str) -> String {
        let Self { d_model, num_heads, seed, .. } = self;
        let n = self.tokens.len();
        let mut draft = Draft(String::new());
        draft.note("", &t!("A lesson for mha: mha trace FILE computes it, mha lessons validate FILE checks everything it says."));
        draft.note("", &t!("Every text may stand in two languages: {en: …, zh: …}. Rows, columns, heads and tokens count from 1."));
        draft.line("mha: 1");
        draft.line(&format!("title: {}", quoted(&self.title)));
        draft.line(&format!("summary: {}", quoted(&t!("One sentence on what to notice."))));
        let tokens: Vec<String> = self.tokens.iter().map(|token| quoted(token)).collect();
        draft.line(&format!("tokens: [{}]", tokens.join(", ")));

        draft.line(&format!("\nattention:\n  d_model: {d_model}\n  num_heads: {num_heads}"));
        draft.note("  ", &t!("num_kv_heads: 1 – heads of keys and values, where they are shared"));
        draft.note("  ", &t!("scale: 0.5 – 1/√d_k where it is left out"));
        draft.note("  ", &t!("positions: rope – or alibi"));
        draft.note("  ", &t!("mask: causal – or {window: 3}, {key_padding: [true, false]}, {allow: [[true, false]]}, or a list of them"));
        match self.mask {
            Mask::None => {}
            Mask::Causal => draft.line("  mask: causal"),
            Mask::Window(keys) => draft.line(&format!("  mask: {{window: {keys}}}")),
        }

        draft.line("\ninputs:");
        match self.numbers {
            Numbers::Random => {
                draft.line(&format!("  x: {{random: {{seed: {seed}, shape: [{n}, {d_model}]}}}}"))
            }
            Numbers::Integers | Numbers::Identity => {
                draft.line(&format!("  x:{}", rows(&integers(*seed, Stream::X, 1, n * d_model), *d_model)));
            }
        }

        draft.line("\nprojections:");
        draft.note("  ", &t!("Each: identity, zeros, ones, rows of numbers, {random: {seed: 7, std: 0.5}} or {file: w.npy}; w_o may be none."));
        draft.note(
            "  ",
            &t!("Biases b_q, b_k, b_v and b_o are lists of numbers; there are none where they are left out."),
        );
        for (name, stream) in ["w_q", "w_k", "w_v", "w_o"].into_iter().zip(Stream::W) {
            draft.line(&match self.numbers {
                Numbers::Identity => format!("  {name}: identity"),
                Numbers::Random => format!("  {name}: {{random: {{seed: {seed}, std: 0.5}}}}"),
                Numbers::Integers => {
                    format!("  {name}:{}", rows(&integers(*seed, stream, 1, d_model * d_model), *d_model))
                }
            });
        }

        draft.line("");
        draft.note("", &t!("Told at a step by mha trace; what stands in braces is computed."));
        draft.line("story:\n  - at: head.1.weights");
        let share = "{head.1.weights[1,1]}";
        draft.line(&format!(
            "    say: {}",
            quoted(&t!(
                "In head 1 the first token gives %{share} of its attention to itself.",
                share = share
            ))
        ));

        draft.line("");
        draft.note("", &t!("What mha learn tells and asks, part by part."));
        let sum = "{sum(head.1.weights[1]):0}";
        let say = t!(
            "Each row of the weights shares out one whole among the keys: the first row sums to %{sum}.",
            sum = sum
        );
        draft.line(&format!("course:\n  - say: {}", quoted(&say)));
        let ask = t!("How much of its attention does the first token give to itself in head 1?");
        draft.line(&format!("  - ask: {}\n    cell: head.1.weights[1,1]", quoted(&ask)));
        draft.note("    ", &t!("hints: {hint: …, where: …, why: …} – what is left out is computed"));
        draft.note("    ", &t!("wrong: [{mistake: scale-missing}] – what a wrong answer gives away; mha mistakes lists the names"));
        let because = t!("It is the softmax of the first row of scores, in the column of the first token.");
        draft.line(&format!("    because: {}", quoted(&because)));
        draft.line("  - show: head.1.weights\n    as: heatmap");
        draft.note(
            "  ",
            &t!("Other parts: table, plot, command, time and task; mha lessons schema describes them all."),
        );

        if !row.is_empty() {
            draft.line("");
            draft.note("", &t!("What must come out, to half a unit of the last digit typed: a lesson with a false claim does not validate."));
            draft.line(&format!("claims:\n  - {{step: head.1.weights, row: 1, equals: [{row}]}}"));
            draft.line("  - {that: \"sum(head.1.weights[1]) = 1\"}");
        }

        draft.line("");
        draft.note("", &t!("Asked at the end; the answers are computed, never typed."));
        let ask = t!("What does the first token score against itself in head 1?");
        draft.line(&format!("quiz:\n  - ask: {}\n    cell: head.1.scores[1,1]", quoted(&ask)));
        draft.note("    ", &t!("or choices: [head 1, head 2] with answer: 2"));
        draft.0
    }
}

/// The text so far.
struct Draft(String);

impl Draft {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    /// A comment.
    fn note(&mut self, indent: &str, words: &str) {
        self.line(&format!("{indent}# {words}"));
    }
}

/// Rows of whole numbers as a YAML block.
fn rows(numbers: &[i16], columns: usize) -> String {
    let row = |row: &[i16]| {
        let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
        format!("\n    - [{}]", cells.join(", "))
    };
    numbers.chunks(columns.max(1)).map(row).collect()
}

/// A text as YAML takes it in double quotes, with everything that a reader could stumble over by its number.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            // Line breaks of YAML, what orders or hides text, and what YAML does not take as it is.
            c if commands(c)
                || matches!(c, '\u{80}'..='\u{a0}' | '\u{e000}'..='\u{f8ff}' | '\u{fff0}'..='\u{ffff}') =>
            {
                let _ = match u32::from(c) {
                    number @ ..=0xffff => write!(quoted, "\\u{number:04X}"),
                    number => write!(quoted, "\\U{number:08X}"),
                };
            }
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn template() -> Template {
        Template {
            title: "New".to_owned(),
            tokens: ["a", "b", "c"].map(str::to_owned).to_vec(),
            d_model: 4,
            num_heads: 2,
            mask: Mask::None,
            numbers: Numbers::Identity,
            seed: 1,
        }
    }

    #[test]
    fn sizes_that_make_no_lesson_are_refused_with_the_flag_that_mends_them() {
        for (template, flag, words) in [
            (Template { tokens: Vec::new(), ..template() }, "--tokens", "0 tokens"),
            (Template { d_model: 65, ..template() }, "--d-model", "65 numbers"),
            (Template { num_heads: 0, ..template() }, "--num-heads", "0 heads"),
            (Template { num_heads: 3, ..template() }, "--num-heads", "among 3 heads"),
            (Template { mask: Mask::Window(0), ..template() }, "--mask", "a window of 0 keys"),
        ] {
            let fault = template.text().unwrap_err().0.remove(0);
            assert_eq!(fault.place.unwrap().source, flag);
            assert!(fault.what.contains(words), "{}", fault.what);
        }
    }

    /// A causal first row sees itself alone: all of its attention.
    #[test]
    fn the_claim_is_what_the_engine_computes() {
        let text = Template { mask: Mask::Causal, ..template() }.text().unwrap();
        assert!(text.contains("{step: head.1.weights, row: 1, equals: [1.0000, 0.0000, 0.0000]}"), "{text}");
    }

    proptest! {
        #[test]
        fn any_text_is_read_back_as_it_was(text in any::<String>()) {
            let read: String = serde_yaml::from_str(&quoted(&text)).unwrap();
            prop_assert_eq!(read, text);
        }
    }
}
