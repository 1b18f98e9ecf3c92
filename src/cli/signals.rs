//! What is undone before a signal ends this process: half a file, a terminal without echo.

use std::fs;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

use rustix::termios::{Action, OptionalActions, tcflow, tcgetattr, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

/// Signals that end a process: ctrl-C, ctrl-\, `kill`, and the loss of its terminal.
const ENDING: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];

/// The same where ctrl-C is an answer like others.
const ENDING_A_DIALOGUE: [i32; 3] = [SIGHUP, SIGQUIT, SIGTERM];

/// From now on, has `remove` done before a signal ends this process.
pub(super) fn remove_before_the_end(remove: impl Fn() + Send + 'static) {
    // A file that grows beyond what the system allows is an error like a full disk, not a reason to die.
    let _ = flag::register(SIGXFSZ, Arc::default());
    undo_before(&ENDING, remove);
}

/// From now on, has the terminal set as it is now before a signal ends this dialogue: while a line is edited, nothing
/// that is typed is echoed, and pasted text comes in brackets.
pub(super) fn give_the_terminal_back_before_the_end() {
    let Ok(line) = tcgetattr(io::stdin()) else { return };
    undo_before(&ENDING_A_DIALOGUE, move || {
        // The terminal may be gone. One that is held (ctrl-S) would hold us too.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &line);
        let _ = tcflow(io::stdin(), Action::OOn);
        let _ = rustix::io::write(io::stdout(), b"\x1b[?2004l\n");
    });
}

/// Has `undo` done before one of the signals ends this process, as it then does. Where that cannot be arranged, they end
/// it as ever.
fn undo_before(signals: &'static [i32], undo: impl Fn() + Send + 'static) {
    let (ready, is_ready) = channel();
    let waits = move || {
        let heeded = signals.iter().filter(|signal| !is_ignored(**signal));
        let heeded = Signals::new(heeded);
        let _ = ready.send(());
        let Ok(mut heeded) = heeded else { return };
        for signal in heeded.forever() {
            undo();
            let _ = emulate_default_handler(signal);
        }
    };
    if thread::Builder::new().name("signals".to_owned()).stack_size(1 << 18).spawn(waits).is_ok() {
        let _ = is_ready.recv();
    }
}

/// Whether this process was started so as to live through a signal: by `nohup`, or in the background of a script. Linux
/// tells; elsewhere only the one that `nohup` is there for is taken to be ignored.
fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    match mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()) {
        Some(mask) => mask >> (signal - 1) & 1 == 1,
        None => signal == SIGHUP,
    }
}
