//! Whether questions have a right answer, and the wrong ones that they wait for are wrong.

use super::super::slips::same;
use super::super::workshop::Right;
use super::{Check, Scope};
use crate::fault::Fault;
use crate::lesson::{Answer, Question, SlipAnswer};
use crate::mistakes::named;

impl Check<'_> {
    pub(super) fn question(&mut self, question: &Question, path: &str) {
        self.sentence(&question.ask, &format!("{path}.ask"));
        self.sentence(&question.because, &format!("{path}.because"));
        let hints = &question.hints;
        for text in [&hints.hint, &hints.place, &hints.why].into_iter().flatten() {
            self.sentence(text, &format!("{path}.hints"));
        }
        let key = match &question.answer {
            Answer::Cell(..) => "cell",
            Answer::Value(_) => "value",
            Answer::Shape(_) => "shape",
            Answer::Choice(choices, _) | Answer::Computed(choices, _) => {
                for (index, choice) in choices.iter().enumerate() {
                    self.sentence(choice, &format!("{path}.choices[{}]", index + 1));
                }
                "answer"
            }
        };
        for (index, slip) in question.wrong.iter().enumerate() {
            self.sentence(&slip.say, &format!("{path}.wrong[{}].say", index + 1));
        }
        if matches!(self.scope, Scope::Texts) {
            return;
        }
        let key = format!("{path}.{key}");
        if let Answer::Value(quantity) | Answer::Computed(_, quantity) = &question.answer
            && !self.runs_of(quantity, &key)
        {
            return;
        }
        let right = match self.workshop.right(question) {
            Ok(right) => right,
            Err(faults) => return self.faults(&key, faults, ""),
        };
        self.wrong(question, &right, path);
    }

    /// Wrong answers that cannot be computed, or are the right one.
    fn wrong(&mut self, question: &Question, right: &Right, path: &str) {
        let computed = self.workshop.own_slips(question);
        for (index, (slip, caught)) in question.wrong.iter().zip(computed).enumerate() {
            let path = format!("{path}.wrong[{}]", index + 1);
            let Some(caught) = caught else {
                match &slip.answer {
                    SlipAnswer::Value(quantity) => {
                        self.amount(quantity, &path);
                    }
                    SlipAnswer::Mistake(name) => match named::meant(name) {
                        Err(faults) => self.faults(&path, faults, ""),
                        Ok((mistake, _)) => {
                            let what = format!("{} gives no answer to this question", mistake.name);
                            let why =
                                "the lesson cannot be got wrong in this way, or not where the question asks";
                            let remedy = format!("`mha mistakes {}` says where it shows", mistake.name);
                            self.fault(&path, Fault::new(what, why, remedy));
                        }
                    },
                    SlipAnswer::Choice(_) => {}
                }
                continue;
            };
            if same(&caught.answer, right) {
                let what = format!("{path} is the right answer");
                let why = "what is right gives no mistake away";
                self.fault(&path, Fault::new(what, why, "take another wrong answer, or other numbers"));
            }
        }
    }
}
