//! What a dialogue is held over: a terminal, or a script in a test.

/// Someone who reads and answers.
pub trait Console {
    /// Shows text, which is ready to be shown and ends with a line break.
    fn say(&mut self, text: &str);

    /// Asks for a line.
    fn ask(&mut self, prompt: &str) -> Reply;
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A line, without its end.
    Line(String),
    /// Nothing will come any more.
    End,
    /// Ctrl-C.
    Interrupted,
}
