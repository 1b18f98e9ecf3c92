//! A few lines of Python that keep a person's own steps under our names, ready for `mha check LESSON mine.npz`.
//!
//! Each is a file of Python that can be read, linted and run by itself: helpers, and in comments how they are used.

use std::io::{self, Write};

use crate::fault::visible;

/// What the person's attention is written with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Library {
    /// Plain arrays.
    NumPy,
    /// Modules of one's own, `torch.nn.MultiheadAttention`, and modules with `q_proj` … `o_proj`.
    PyTorch,
    /// Inside `jax.jit` and outside, and Flax's attention.
    Jax,
}

/// What stands in the files where a command names the lesson.
const PLACEHOLDER: &str = "LESSON";

impl Library {
    fn snippet(self) -> &'static str {
        match self {
            Self::NumPy => include_str!("numpy.py"),
            Self::PyTorch => include_str!("pytorch.py"),
            Self::Jax => include_str!("jax.py"),
        }
    }
}

/// Writes the lines for a library; they end with the command to run next.
///
/// `lesson` is the lesson as a person types it in that command, quoted for a shell; without one the command says
/// `LESSON`.
///
/// # Errors
/// Those of the writer.
pub fn write(library: Library, lesson: Option<&str>, out: &mut dyn Write) -> io::Result<()> {
    // a line break would end the comment that the command stands in
    let lesson = visible(lesson.unwrap_or(PLACEHOLDER));
    out.write_all(library.snippet().replace(PLACEHOLDER, &lesson).as_bytes())
}
