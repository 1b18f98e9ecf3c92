//! `mha lessons new`: a draft from a few answers, or from flags.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use crate::cli::output::{self, Content};
use crate::cli::{Common, Ending, complete};
use crate::fault::{Fault, Outcome, reason, visible};
use crate::lesson::template::{Mask, Numbers, Template};
use crate::limits::{DRAFT_ANSWER_BYTES, DRAFT_SIZE};
use crate::words::t;

#[derive(Debug, Args)]
#[command(after_help = "\
What is not given is asked for on a terminal, a line a question, and takes its default elsewhere.

Examples:
  mha lessons new mine.yaml       a few questions, then the file
  mha lessons new mine.yaml --title 'Looking back' --tokens the,cat,sat
  mha lessons new --numbers integers --seed 7
                                  to standard output
  mha lessons validate mine.yaml  is it still true after your changes?")]
pub(super) struct NewArgs {
    /// The file to write [default: standard output]
    #[arg(value_name = "NAME.yaml", conflicts_with = "output")]
    file: Option<PathBuf>,
    /// What the lesson is called
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Names of the tokens, with commas between them [default: a,b,c]
    #[arg(long, value_name = "NAMES", value_parser = tokens)]
    tokens: Option<Tokens>,
    /// Numbers a token [default: 4]
    #[arg(long, value_name = "N", value_parser = size)]
    d_model: Option<usize>,
    /// Heads [default: 2]
    #[arg(long, alias = "heads", value_name = "N", value_parser = size)]
    num_heads: Option<usize>,
    /// Which keys a query sees: none (all of them), causal, or window:3 [default: none]
    #[arg(long, value_name = "MASK", value_parser = mask, add = complete::words(&["none", "causal", "window:3"]))]
    mask: Option<Mask>,
    /// Where the numbers come from: integers, identity or random [default: integers]
    #[arg(long, value_name = "FROM", value_parser = numbers, add = complete::words(&["integers", "identity", "random"]))]
    numbers: Option<Numbers>,
    /// What numbers are drawn with; the same seed gives the same numbers [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    pub(super) common: Common,
}

/// Names of tokens, typed in one word.
#[derive(Debug, Clone)]
struct Tokens(Vec<String>);

/// The words for [`Numbers`].
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Source {
    Integers,
    Identity,
    Random,
}

fn tokens(text: &str) -> Result<Tokens, String> {
    let names: Vec<String> = text.split([',', '，']).map(|name| name.trim().to_owned()).collect();
    match names.len() {
        1..=DRAFT_SIZE => Ok(Tokens(names)),
        many => Err(t!(
            "%{many} tokens are more than the %{most} of a new lesson",
            many = many,
            most = DRAFT_SIZE
        )),
    }
}

fn size(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(size) if (1..=DRAFT_SIZE).contains(&size) => Ok(size),
        _ => Err(t!("a whole number from 1 to %{most} is needed", most = DRAFT_SIZE)),
    }
}

fn mask(text: &str) -> Result<Mask, String> {
    let text = text.trim();
    match text.split_once(':') {
        None if text == "none" => Ok(Mask::None),
        None if text == "causal" => Ok(Mask::Causal),
        Some(("window", keys)) => size(keys).map(Mask::Window),
        _ => Err(t!("it must be none, causal, or window:3 (three keys, the token's own the last)")),
    }
}

fn numbers(text: &str) -> Result<Numbers, String> {
    match <Source as ValueEnum>::from_str(text.trim(), true) {
        Ok(Source::Integers) => Ok(Numbers::Integers),
        Ok(Source::Identity) => Ok(Numbers::Identity),
        Ok(Source::Random) => Ok(Numbers::Random),
        Err(_) => Err(t!(
            "it must be integers (small ones, typed out), identity (projections that change nothing) or random (drawn \
             whenever the lesson is read)"
        )),
    }
}

pub(super) fn run(args: &NewArgs) -> Outcome<Ending> {
    let asks = io::stdin().is_terminal() && io::stderr().is_terminal();
    let output = args.file.clone().or_else(|| args.common.output.clone());
    let is_only_seen = asks && output.is_none() && io::stdout().is_terminal();
    let common = Common { output, ..args.common.clone() };
    // Nobody answers seven questions to be told then that the file exists.
    output::look_ahead(&common)?;
    let template = Interview { asks, input: io::stdin().lock(), output: io::stderr() }.hold(args)?;
    let text = template.text()?;
    output::write(&common, Content::Text, |out| write!(out, "{text}"))?;
    if is_only_seen {
        // Nobody is left to tell if standard error is closed.
        let _ = writeln!(
            io::stderr(),
            "\n{}",
            t!("Nothing was kept: mha lessons new NAME.yaml writes it to a file.")
        );
    }
    Ok(Ending::Done)
}

/// Questions, a line each, with the default in brackets.
struct Interview<I, O> {
    /// Whether anybody is there to be asked; nothing is read or written otherwise.
    asks: bool,
    input: I,
    output: O,
}

impl<I: BufRead, O: Write> Interview<I, O> {
    /// What the flags say, and for the rest what is answered, or the defaults.
    fn hold(mut self, args: &NewArgs) -> Outcome<Template> {
        let title = match &args.title {
            Some(title) => title.clone(),
            None => self.ask(&t!("Title"), &t!("A new lesson"), |text| Ok(text.to_owned()))?,
        };
        let tokens = match &args.tokens {
            Some(names) => names.clone(),
            None => self.ask(&t!("Tokens, with commas between them"), "a,b,c", tokens)?,
        };
        let d_model = match args.d_model {
            Some(d_model) => d_model,
            None => {
                let default = default_d_model(args.num_heads).to_string();
                self.ask(&t!("Numbers a token (d_model)"), &default, size)?
            }
        };
        let num_heads = match args.num_heads {
            Some(heads) => heads,
            None => {
                self.ask(&t!("Heads"), &default_heads(d_model).to_string(), |text| match size(text)? {
                    heads if d_model % heads == 0 => Ok(heads),
                    heads => Err(t!(
                        "%{numbers} numbers cannot be shared out evenly among %{heads} heads",
                        numbers = d_model,
                        heads = heads
                    )),
                })?
            }
        };
        let mask = match args.mask {
            Some(mask) => mask,
            None => self.ask(&t!("Mask: none, causal or window:3"), "none", mask)?,
        };
        let numbers = match args.numbers {
            Some(numbers) => numbers,
            None => self.ask(&t!("Numbers: integers, identity or random"), "integers", numbers)?,
        };
        let seed = match args.seed {
            Some(seed) => seed,
            None => self.ask(&t!("Seed"), "1", |text| {
                u64::from_str(text).map_err(|_| t!("a whole number is needed"))
            })?,
        };
        Ok(Template { title, tokens: tokens.0, d_model, num_heads, mask, numbers, seed })
    }

    /// Asks until the answer can be used; an empty line takes the default.
    fn ask<T>(
        &mut self,
        question: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Outcome<T> {
        if !self.asks {
            return read(default).map_err(|why| Fault::new(format!("{question}: {default}"), why, "").into());
        }
        loop {
            // Where nobody can read the questions any more, the answers will tell.
            let _ = write!(self.output, "{question} [{default}]: ").and_then(|()| self.output.flush());
            let mut line = Vec::new();
            let length = Read::take(&mut self.input, DRAFT_ANSWER_BYTES)
                .read_until(b'\n', &mut line)
                .map_err(|error| {
                    Fault::new(
                        "the answer cannot be read",
                        reason(&error),
                        "give the answers as flags instead",
                    )
                })?;
            if length == 0 {
                let why = "the input ended before the last question";
                let remedy = "answer every question, or give the answers as flags: mha lessons new --help";
                return Err(Fault::new("no lesson was written", why, remedy).into());
            }
            let line = String::from_utf8_lossy(&line);
            let answer = match line.trim() {
                "" => default,
                answer => answer,
            };
            match read(answer) {
                Ok(value) => return Ok(value),
                Err(why) => {
                    let _ = writeln!(self.output, "  {}: {why}", visible(answer));
                }
            }
        }
    }
}

/// Two numbers a head, four where the number of heads is open too.
fn default_d_model(heads: Option<usize>) -> usize {
    heads.map_or(4, |heads| (2 * heads).min(DRAFT_SIZE))
}

fn default_heads(d_model: usize) -> usize {
    if d_model.is_multiple_of(2) { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: NewArgs,
    }

    fn held(flags: &[&str], answers: &str) -> (Outcome<Template>, String) {
        let line = Line::parse_from([&["new"], flags].concat());
        let mut output = Vec::new();
        let interview = Interview { asks: true, input: answers.as_bytes(), output: &mut output };
        let template = interview.hold(&line.args);
        (template, String::from_utf8(output).unwrap())
    }

    /// A line without end is no answer: its first ten thousand bytes are one, and what follows is the next.
    #[test]
    fn a_line_without_end_is_read_in_pieces() {
        let title = "x".repeat(10_000);
        let (template, _) = held(&[], &format!("{title}the, cat\n\n\n\n\n\n"));
        let template = template.unwrap();
        assert_eq!((template.title, template.tokens), (title, vec!["the".to_owned(), "cat".to_owned()]));
    }

    #[test]
    fn answers_are_taken_in_turn_and_empty_ones_are_the_default() {
        let (template, asked) = held(&[], "Looking back\nthe, cat\n6\n\ncausal\nidentity\n9\n");
        let template = template.unwrap();
        assert_eq!(template.title, "Looking back");
        assert_eq!(template.tokens, ["the", "cat"]);
        assert_eq!((template.d_model, template.num_heads, template.seed), (6, 2, 9));
        assert_eq!((template.mask, template.numbers), (Mask::Causal, Numbers::Identity));
        assert!(asked.contains("Heads [2]: "), "{asked}");
    }

    #[test]
    fn what_cannot_be_used_is_asked_again_and_what_a_flag_says_is_not_asked() {
        let flags = [
            "--d-model",
            "4",
            "--title",
            "t",
            "--tokens",
            "a",
            "--mask",
            "none",
            "--numbers",
            "random",
            "--seed",
            "1",
        ];
        let (template, asked) = held(&flags, "3\nmany\n4\n");
        assert_eq!(template.unwrap().num_heads, 4);
        assert_eq!(asked.matches("Heads [2]: ").count(), 3, "{asked}");
        assert!(asked.contains("3: 4 numbers cannot be shared out evenly among 3 heads"), "{asked}");
        assert!(!asked.contains("Title"), "{asked}");
    }

    #[test]
    fn an_input_that_ends_too_early_writes_no_lesson() {
        let fault = held(&[], "Title\n").0.unwrap_err().0.remove(0);
        assert_eq!(fault.what, "no lesson was written");
    }
}
