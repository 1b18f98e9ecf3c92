//! The terminal: entered, listened to, and left as it was found, however the stepper ends.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyEvent, KeyEventKind};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, style};

use super::signals::{self, Signals};
use super::state::{After, State};
use super::theme::Theme;
use super::{draw, keys};
use crate::limits::SCREEN_CELLS;

/// How long a signal may wait to be heeded.
const PATIENCE: Duration = Duration::from_millis(100);

/// How long the terminal may be gone before the stepper follows it.
const GRACE: Duration = Duration::from_millis(500);

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// To leave.
    Leave,
    /// To put the terminal back, and end as the signal ends a process.
    Die(i32),
    /// To give the terminal back until told to go on.
    Stop,
    /// To draw again: someone else may have had the terminal meanwhile.
    GoOn,
}

/// Something that happened outside.
enum Happening {
    Key(KeyEvent),
    /// The terminal has another size, or nothing that matters.
    Other,
    Signal(Asked),
}

/// Steps through the state on this process's terminal until the person leaves.
pub(super) fn session(state: &mut State, theme: Theme) -> io::Result<()> {
    let signals = Signals::heed()?;
    let taken = Taken::take()?;
    let _watch = Watch::over_the_terminal()?;
    // The flag has decided about colour; what the environment says has been heard there.
    style::force_color_output(theme == Theme::Coloured);
    refuse_a_boundless_screen()?;
    let mut terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
    loop {
        refuse_a_boundless_screen()?;
        terminal.draw(|frame| draw::frame(frame, state, theme))?;
        let after = match next(&signals)? {
            Happening::Key(key) if state.is_typing() => keys::typing(key).map(|action| state.apply(action)),
            Happening::Key(key) => keys::action(key).map(|action| state.apply(action)),
            Happening::Other => None,
            Happening::Signal(Asked::Leave) => Some(After::Leave),
            Happening::Signal(Asked::Stop) => Some(After::Suspend),
            Happening::Signal(Asked::GoOn) => {
                taken.again()?;
                Some(After::Redraw)
            }
            Happening::Signal(Asked::Die(signal)) => {
                drop(taken);
                signals::die(signal);
                return Ok(());
            }
        };
        match after {
            Some(After::Leave) => return Ok(()),
            Some(After::Suspend) => {
                give_back();
                signals::stop();
                taken.again()?;
                terminal.clear()?;
            }
            Some(After::Redraw) => terminal.clear()?,
            Some(After::Draw) | None => {}
        }
    }
}

/// A terminal may claim any size, up to 65,535 × 65,535, and all of it would be kept twice.
fn refuse_a_boundless_screen() -> io::Result<()> {
    let (columns, rows) = ratatui::crossterm::terminal::size()?;
    match usize::from(columns) * usize::from(rows) {
        0..=SCREEN_CELLS => Ok(()),
        _ => Err(io::Error::other(format!("it claims to be {columns} columns wide and {rows} rows high"))),
    }
}

/// Waits for the next event.
fn next(signals: &Signals) -> io::Result<Happening> {
    loop {
        if let Some(asked) = signals.asked() {
            return Ok(Happening::Signal(asked));
        }
        let is_there = match event::poll(PATIENCE) {
            // A signal may have cut the waiting short; it is looked at first.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => match signals.asked() {
                Some(asked) => return Ok(Happening::Signal(asked)),
                None => return Err(error),
            },
            Ok(is_there) => is_there,
        };
        if is_there {
            return Ok(match event::read()? {
                Event::Key(key) if key.kind != KeyEventKind::Release => Happening::Key(key),
                _ => Happening::Other,
            });
        }
    }
}

/// Ends the process when its terminal is gone; dropped, it watches no longer.
///
/// It needs a thread of its own. Reading from a terminal that is gone finds the end of the input at once and for ever,
/// and `event::poll` then reads on without coming back, so that [`next`] never sees that a signal was raised.
struct Watch {
    _dropped_to_end: Sender<()>,
}

impl Watch {
    fn over_the_terminal() -> io::Result<Self> {
        let (sender, receiver) = channel();
        // Where keys come from elsewhere, standard input says nothing about the terminal.
        if io::stdin().is_terminal() {
            thread::Builder::new().name("terminal watch".to_owned()).spawn(move || {
                while receiver.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                    if !io::stdin().is_terminal() {
                        signals::hang_up();
                    }
                }
            })?;
        }
        Ok(Self { _dropped_to_end: sender })
    }
}

/// Whether the terminal is ours now: it is given back once, by whoever comes first.
static OURS: AtomicBool = AtomicBool::new(false);

/// The terminal while it is ours; dropped, or in a panic, it is as it was found.
pub struct Taken {
    _hook: Hook,
}

impl Taken {
    /// Takes it: keys come one by one and unechoed, and the screen is another one.
    ///
    /// # Errors
    /// It cannot be set or written to.
    pub fn take() -> io::Result<Self> {
        let taken = Self { _hook: Hook::before_a_panic(give_back) };
        taken.again()?;
        Ok(taken)
    }

    /// Takes the terminal again, after it was given back for a while.
    fn again(&self) -> io::Result<()> {
        OURS.store(true, Ordering::Relaxed);
        enable_raw_mode()?;
        execute!(io::stdout(), EnterAlternateScreen, Hide)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back. What cannot be undone any more (the terminal is gone) harms nobody.
fn give_back() {
    if OURS.swap(false, Ordering::Relaxed) {
        let _ = execute!(io::stdout(), Show, LeaveAlternateScreen);
        let _ = disable_raw_mode();
    }
}

/// What runs first in a panic, so that the panic's message can be read. Dropped, what was there before runs alone.
struct Hook {
    armed: Arc<AtomicBool>,
}

impl Hook {
    /// Has `first` run at the beginning of every panic, before what ran there so far.
    fn before_a_panic(first: impl Fn() + Send + Sync + 'static) -> Self {
        let armed = Arc::new(AtomicBool::new(true));
        let is_armed = armed.clone();
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if is_armed.load(Ordering::Relaxed) {
                first();
            }
            before(panic);
        }));
        Self { armed }
    }
}

impl Drop for Hook {
    fn drop(&mut self) {
        self.armed.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn the_terminal_is_given_back_before_a_panic_is_told_and_not_after_leaving() {
        let count = Arc::new(AtomicUsize::new(0));
        let (counted, here) = (count.clone(), std::thread::current().id());
        // A test beside this one that fails panics too.
        let hook = Hook::before_a_panic(move || {
            counted.fetch_add(usize::from(std::thread::current().id() == here), Ordering::Relaxed);
        });
        assert!(std::panic::catch_unwind(|| panic!("on purpose, in a test")).is_err());
        assert_eq!(count.load(Ordering::Relaxed), 1);
        drop(hook);
        assert!(std::panic::catch_unwind(|| panic!("on purpose, in a test")).is_err());
        assert_eq!(count.load(Ordering::Relaxed), 1);
    }
}
