//! The one edge at which a panic is caught: files that lie make the tokenizers crate panic in places.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// Whether this thread is inside the crate, whose panics are told as faults and not as panics.
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// What the crate's work gives; `None` where it panicked. Nothing is written to the screen then, and panics of other threads are
/// told as before.
pub(super) fn guarded<T>(work: impl FnOnce() -> T) -> Option<T> {
    // The hook is one for all threads, and stays: putting the old one back could undo another thread's.
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !IS_QUIET.try_with(Cell::get).unwrap_or(false) {
                before(panic);
            }
        }));
    });
    let was_quiet = IS_QUIET.replace(true);
    // What was half done is dropped with the tokenizer, or was only lent to be read.
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(was_quiet);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_is_none_and_the_next_one_is_told_again() {
        assert_eq!(guarded(|| 1 + 1), Some(2));
        assert_eq!(guarded(|| -> u8 { panic!("on purpose, in a test") }), None);
        assert!(!super::IS_QUIET.get(), "a panic of ours would not be told");
    }
}
