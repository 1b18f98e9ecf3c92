//! `mha trace --interactive`: the stepper, where there is a terminal for it.

use std::io::IsTerminal;

use super::{Common, Ending};
use crate::fault::{Fault, Outcome};
use crate::lesson::Problem;
use crate::plan::StepId;
use crate::stepper::{self, Action, State, Theme};
use crate::views::page::Layout;

const FLAG: &str = "--interactive";

/// Refuses where there is nobody to press a key, or nothing to draw on.
///
/// # Errors
/// Standard input or standard output is no terminal, or one that cannot move its cursor.
pub(super) fn needs_a_terminal() -> Outcome<()> {
    let remedy = "mha trace prints every step; mha trace --explain 'head.1.scores[1,1]' shows where a number comes from";
    let (what, why) = if !std::io::stdin().is_terminal() {
        (
            "standard input is not a terminal",
            "the stepper is moved by keys, and there is nobody to press them",
        )
    } else if !std::io::stdout().is_terminal() {
        (
            "standard output is not a terminal",
            "the stepper draws a screen, which a file or a pipe does not have",
        )
    } else if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        ("this terminal cannot move its cursor (TERM is dumb)", "the stepper draws all over the screen")
    } else {
        return Ok(());
    };
    Err(Fault::new(what, why, remedy).in_source(FLAG).into())
}

/// How the numbers are shown at first.
pub(super) struct Way {
    /// Whether tokens are rows or columns.
    pub(super) layout: Layout,
    /// 1/√2 in place of 0.7071 (`--exact`).
    pub(super) exact: bool,
}

/// Steps through a lesson until the person leaves.
pub(super) fn run(
    problem: Problem,
    steps: Vec<StepId>,
    common: &Common,
    way: Way,
    source: &str,
) -> Outcome<Ending> {
    let mut state =
        State::new(problem, steps, common.page(way.layout)).map_err(|faults| faults.in_source(source))?;
    if way.exact {
        state.apply(Action::Exact);
    }
    let theme = if common.colour() { Theme::Coloured } else { Theme::Plain };
    stepper::run(&mut state, theme)?;
    Ok(Ending::Done)
}
