//! Signals as flags, so that whoever stops or kills the stepper finds the terminal as it was.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP};
use signal_hook::low_level::{emulate_default_handler, unregister};
use signal_hook::{SigId, flag};

use super::terminal::Asked;

/// What each signal asks for.
const HEEDED: [(i32, Asked); 6] = [
    (SIGTERM, Asked::Die(SIGTERM)),
    (SIGHUP, Asked::Die(SIGHUP)),
    (SIGQUIT, Asked::Die(SIGQUIT)),
    (SIGINT, Asked::Leave),
    (SIGTSTP, Asked::Stop),
    (SIGCONT, Asked::GoOn),
];

/// Flags that signals raise while this lives.
pub(super) struct Signals {
    raised: Vec<(Arc<AtomicBool>, Asked)>,
    registered: Vec<SigId>,
}

impl Signals {
    /// Heeds them from now on.
    pub(super) fn heed() -> io::Result<Self> {
        let mut signals = Self { raised: Vec::new(), registered: Vec::new() };
        for (signal, asked) in HEEDED {
            let raised = Arc::new(AtomicBool::new(false));
            signals.registered.push(flag::register(signal, raised.clone())?);
            signals.raised.push((raised, asked));
        }
        Ok(signals)
    }

    /// What was asked for since the last look.
    pub(super) fn asked(&self) -> Option<Asked> {
        self.raised.iter().find(|(raised, _)| raised.swap(false, Ordering::Relaxed)).map(|(_, asked)| *asked)
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            unregister(id);
        }
    }
}

/// Stops this process as ctrl-Z does; returns when it is told to go on.
pub(super) fn stop() {
    // Nothing is lost if it cannot be stopped: the stepper goes on at once.
    let _ = emulate_default_handler(SIGTSTP);
}

/// Ends this process as the signal would have, so that whoever sent it sees that it was heeded.
pub(super) fn die(signal: i32) {
    let _ = emulate_default_handler(signal);
}

/// Ends this process as the loss of its terminal would have.
pub(super) fn hang_up() {
    die(SIGHUP);
}
