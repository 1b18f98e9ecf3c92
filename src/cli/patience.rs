//! What a person sees while numbers are computed that take their time.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Common;
use crate::mistakes::catalogue;
use crate::number::grouped;
use crate::plan::Plan;
use crate::words::t;

/// Multiplications that are done before anybody wonders: about a second's.
const LONG: u128 = 1 << 31;

/// Runs a plan. Where that is long and a person watches, standard error says so until it is done.
pub(super) fn watched<T>(plan: &Plan, common: &Common, run: impl FnOnce() -> T) -> T {
    let work = work_of(plan);
    told(work, common, || t!("up to %{count} multiplications", count = grouped(work)), run)
}

/// Looks for mistakes in what a plan computes: each of them is about one run of it.
pub(super) fn searched<T>(plan: &Plan, common: &Common, search: impl FnOnce() -> T) -> T {
    let known = catalogue::all().count();
    let work = work_of(plan).saturating_mul(known as u128);
    told(work, common, || t!("comparing with %{count} known mistakes", count = known), search)
}

fn work_of(plan: &Plan) -> u128 {
    plan.steps().iter().map(|step| plan.cost_of(step).multiplications).sum()
}

fn told<T>(work: u128, common: &Common, words: impl FnOnce() -> String, run: impl FnOnce() -> T) -> T {
    if work < LONG || common.quiet || !std::io::stderr().is_terminal() {
        return run();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
        bar.set_style(style.tick_chars("-\\|/ "));
    }
    bar.set_message(words());
    bar.enable_steady_tick(Duration::from_millis(250));
    let done = run();
    bar.finish_and_clear();
    done
}
