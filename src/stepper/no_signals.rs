//! Where there are no signals to heed.

use super::terminal::Asked;

pub(super) struct Signals;

impl Signals {
    pub(super) fn heed() -> std::io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn asked(&self) -> Option<Asked> {
        None
    }
}

/// Nothing stops here.
pub(super) fn stop() {}

/// Nothing kills here.
pub(super) fn die(_signal: i32) {}

/// Nothing hangs up here: the console ends its processes itself.
pub(super) fn hang_up() {}
