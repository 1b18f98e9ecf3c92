//! `mha trace --interactive`: one step at a time in the terminal, a cursor on its numbers, and what each was made from.
//!
//! ```text
//! key ──[keys]──> Action ──[state]──> State ──[draw]──> a frame
//!                                       └── [bench]: what was given, what was edited, and the trace that follows from it
//! ```
//!
//! Only [`terminal`] knows that there is a terminal. It puts back what it found, however the stepper ends.

mod bench;
mod board;
mod draw;
mod help;
mod keys;
mod list;
mod matrix;
mod moves;
#[cfg(test)]
mod screens;
#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "no_signals.rs"]
mod signals;
mod state;
pub mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod told;

pub use state::{Action, After, State};
pub use theme::Theme;

use crate::fault::{Fault, Outcome, reason};

/// Steps through `state` on this process's terminal until the person leaves.
///
/// # Errors
/// The terminal cannot be written to or read from.
pub fn run(state: &mut State, theme: Theme) -> Outcome<()> {
    terminal::session(state, theme).map_err(|error| {
        let why = reason(&error);
        let remedy =
            "mha trace without --interactive prints every step; --explain shows where a number comes from";
        Fault::new("the terminal cannot be used any longer", why, remedy).in_source("--interactive").into()
    })
}
