//! What a person sees while numbers are computed that take their time.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Common;
use crate::number::grouped;
use crate::plan::Plan;
use crate::words::t;

/// Multiplications that are done before anybody wonders: about a second's.
const LONG: u128 = 1 << 31;

/// Runs a plan. Where that is long and a person watches, standard error says so until it is done.
pub(super) fn watched<T>(plan: &Plan, common: &Common, run: impl FnOnce() -> T) -> T {
    let multiplications: u128 = plan.steps().iter().map(|step| plan.cost_of(step).multiplications).sum();
    if multiplications < LONG || common.quiet || !std::io::stderr().is_terminal() {
        return run();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style.tick_chars("-\\|/ "));
    }
    bar.set_message(t!("up to %{count} multiplications", count = grouped(multiplications)));
    bar.enable_steady_tick(Duration::from_millis(250));
    let done = run();
    bar.finish_and_clear();
    done
}
