//! Whether a task is there to be done, and can be.

use serde_yaml::Value;

use super::{Check, Scope};
use crate::fault::Fault;
use crate::lesson::course::Task;
use crate::lesson::quantity::Holds;

impl Check<'_> {
    pub(super) fn task(&mut self, task: &Task, path: &str) {
        self.sentence(&task.ask, &format!("{path}.task"));
        self.sentence(&task.because, &format!("{path}.because"));
        for (index, hint) in task.hints.iter().enumerate() {
            self.sentence(hint, &format!("{path}.hints[{}]", index + 1));
        }
        if matches!(self.scope, Scope::Texts) {
            return;
        }
        for shown in &task.watch {
            self.step(shown, &format!("{path}.watch"));
        }
        let mut changed = Vec::new();
        paths(&task.solution, "", &mut changed);
        for key in changed.iter().filter(|key| !task.allows(key)) {
            let what = format!("the solution changes {key}, which the task does not let one change");
            let remedy = format!("add it to change, or change only {}", task.change.join(", "));
            self.fault(&format!("{path}.solution"), Fault::new(what, "", remedy));
        }
        let runs = task.checks.iter().enumerate().fold(true, |all, (index, quantity)| {
            self.runs_of(quantity, &format!("{path}.checks[{}]", index + 1)) && all
        });
        if !runs {
            return;
        }
        let mut holds_already = true;
        for (index, quantity) in task.checks.iter().enumerate() {
            match quantity.holds(self.workshop) {
                Ok(holds) => holds_already &= holds == Holds::Yes,
                Err(why) => {
                    holds_already = false;
                    let what = format!("{quantity} cannot be computed: {why}");
                    let remedy = "a check is true or false of the lesson: head.1.weights[3,3] > 0.9";
                    self.fault(&format!("{path}.checks[{}]", index + 1), Fault::new(what, "", remedy));
                }
            }
        }
        if holds_already {
            let what = "the task is solved before anything is changed";
            let why = "every check holds of the lesson as it is";
            self.fault(
                &format!("{path}.checks"),
                Fault::new(what, why, "ask for something that has to be reached"),
            );
        }
        let solved = match self.workshop.changed(&task.solution) {
            Ok(solved) => solved,
            Err(faults) => {
                return self.faults(&format!("{path}.solution"), faults, "the solution cannot be computed");
            }
        };
        if let Err(faults) = solved.ran(None) {
            return self.faults(&format!("{path}.solution"), faults, "the solution cannot be computed");
        }
        for quantity in &task.checks {
            if let Ok(Holds::No(failure)) = quantity.holds(&solved) {
                let what = format!("the solution does not reach {quantity}: {failure}");
                let remedy = "mend the solution, or the check";
                self.fault(&format!("{path}.solution"), Fault::new(what, "", remedy));
            }
        }
    }
}

/// The paths of everything that a change changes: `attention.scale`.
fn paths(change: &Value, before: &str, found: &mut Vec<String>) {
    match change {
        Value::Mapping(entries) => {
            for (key, inner) in entries {
                let key = key.as_str().unwrap_or_default();
                let path = if before.is_empty() { key.to_owned() } else { format!("{before}.{key}") };
                paths(inner, &path, found);
            }
        }
        _ => found.push(before.to_owned()),
    }
}

impl Task {
    /// Whether a key of the lesson file (`inputs.x`, or with an index `inputs.x[3]`) may be changed: it is one of those that
    /// the task names, or stands inside one.
    pub fn allows(&self, path: &str) -> bool {
        self.change.iter().any(|allowed| {
            path.strip_prefix(allowed.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }
}
