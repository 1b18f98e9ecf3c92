//! A first draft of a lesson, as text with comments: what `mha lessons new` writes.
//!
//! The draft is a true lesson: its claim is computed by the engine, and it is read and checked before anybody gets it.

use std::fmt::Write;
use std::path::Path;

use super::random::{Stream, integers};
use super::{Options, parse};
use crate::fault::{Fault, Faults, Outcome, commands};
use crate::ops::Arithmetic;
use crate::plan::{Head, HeadStep};
use crate::trace::Keep;

/// The most tokens and the largest d_model of a draft: a lesson is read by people, number by number.
pub const MOST: usize = 64;

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
            if !(1..=MOST).contains(&size) {
                let why = "a lesson is followed number by number";
                let remedy = format!("take 1 to {MOST}; larger ones can be typed into the file");
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
        let mut text = String::from(OPENING);
        // Writing to a String does not fail.
        let _ = writeln!(text, "mha: 1\ntitle: {}", quoted(&self.title));
        let _ = writeln!(text, "summary: \"One sentence on what to notice.\"");
        let tokens: Vec<String> = self.tokens.iter().map(|token| quoted(token)).collect();
        let _ = writeln!(text, "tokens: [{}]\n", tokens.join(", "));
        let _ = writeln!(text, "attention:\n  d_model: {d_model}\n  num_heads: {num_heads}");
        text.push_str(MORE_ATTENTION);
        match self.mask {
            Mask::None => {}
            Mask::Causal => text.push_str("  mask: causal\n"),
            Mask::Window(keys) => {
                let _ = writeln!(text, "  mask: [causal, {{window: {keys}}}]");
            }
        }
        let n = self.tokens.len();
        text.push_str("\ninputs:\n");
        match self.numbers {
            Numbers::Random => {
                let _ = writeln!(text, "  x: {{random: {{seed: {seed}, shape: [{n}, {d_model}]}}}}");
            }
            Numbers::Integers | Numbers::Identity => {
                let _ = writeln!(text, "  x:{}", rows(&integers(*seed, Stream::X, 2, n * d_model), *d_model));
            }
        }
        text.push_str("\nprojections:\n");
        text.push_str(MORE_PROJECTIONS);
        for (name, stream) in ["w_q", "w_k", "w_v", "w_o"].into_iter().zip(Stream::W) {
            let _ = match self.numbers {
                Numbers::Identity => writeln!(text, "  {name}: identity"),
                Numbers::Random => writeln!(text, "  {name}: {{random: {{seed: {seed}, std: 0.5}}}}"),
                Numbers::Integers => {
                    let drawn = integers(*seed, stream, 1, d_model * d_model);
                    writeln!(text, "  {name}:{}", rows(&drawn, *d_model))
                }
            };
        }
        text.push_str(STORY);
        text.push_str(COURSE);
        if !row.is_empty() {
            let _ = write!(text, "{CLAIMS}  - {{step: head.1.weights, row: 1, equals: [{row}]}}\n");
        }
        text.push_str(QUIZ);
        text
    }
}

const OPENING: &str = "\
# A lesson for mha. `mha trace FILE` computes it, `mha lessons validate FILE` checks everything it says.
# Every text may also stand in two languages: {en: …, zh: …}. Rows, columns, heads and tokens count from 1.
";

const MORE_ATTENTION: &str = "\
  # num_kv_heads: 1     heads of keys and values, where they are shared
  # scale: 0.5          1/√d_k where it is left out
  # positions: rope     or alibi
  # mask: causal        or {window: 3}, {key_padding: [true, false, …]}, {allow: [[true, false, …], …]}, or a list of them
";

const MORE_PROJECTIONS: &str = "\
  # Each: identity, zeros, ones, rows of numbers, {random: {seed: 7, std: 0.5}} or {file: w.npy}; w_o may be none.
  # Biases b_q, b_k, b_v, b_o are lists of numbers, and none where they are left out.
";

const STORY: &str = "
# Told at a step by `mha trace`; what stands in braces is computed.
story:
  - at: head.1.weights
    say: \"In head 1 the first token gives {head.1.weights[1,1]} of its attention to itself.\"
";

const COURSE: &str = "
# What `mha learn` tells and asks, part by part.
course:
  - say: \"Every query shares out one whole among the keys: each row of the weights sums to {sum(head.1.weights[1]):0}.\"
  - ask: \"How much of its attention does the first token give to itself in head 1?\"
    cell: head.1.weights[1,1]
    # hints: {hint: …, where: …, why: …}     what is left out is computed
    # wrong: [{mistake: scale-missing}]      what a wrong answer gives away; mha mistakes lists their names
    because: \"It is the softmax of the first row of scores, in the column of the first token.\"
  - show: head.1.weights
    as: heatmap
  # - table: {title: …, columns: [what, number], rows: [[entropy, \"= entropy(head.1.weights)\"]]}
  # - plot: {title: …, x: {label: scale, values: [0.5, 1, 2]}, change: {attention: {scale: $}}, lines: [{label: entropy, value: \"entropy(weights)\"}]}
  # - command: mha params --d-model 512 --num-heads 8
  # - task: …                                change something and run it: with change, checks and solution
";

const CLAIMS: &str = "
# What must come out, to half a unit of the last digit typed: a lesson with a false claim does not validate.
claims:
";

const QUIZ: &str = "
# Asked at the end; the answers are computed, never typed.
quiz:
  - ask: \"What does the first token score against itself in head 1?\"
    cell: head.1.scores[1,1]
    # or: choices: [head 1, head 2] with answer: 2
";

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
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
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
