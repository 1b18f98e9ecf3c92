//! What can be typed at any prompt beside an answer.

use crate::words::t;

/// Something other than an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Command {
    /// The next layer of help.
    Hint,
    /// Go on without an answer.
    Skip,
    /// To the question before.
    Back,
    /// A step's table; empty: which there are.
    Show(String),
    /// Where a number comes from; empty: the one that is asked for, all but the number.
    Explain(String),
    /// One change less (tasks).
    Undo,
    /// All changes undone (tasks).
    Reset,
    /// Leave.
    Quit,
    /// What can be typed.
    Help,
}

impl Command {
    /// The command that a line is, in English or Chinese; `None` for everything else.
    pub(super) fn read(line: &str) -> Option<Self> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let command = match word.to_lowercase().as_str() {
            "show" | "显示" => return Some(Self::Show(rest.to_owned())),
            "explain" | "解释" => return Some(Self::Explain(rest.to_owned())),
            "h" | "hint" | "提示" => Self::Hint,
            "s" | "skip" | "跳过" => Self::Skip,
            "back" | "返回" => Self::Back,
            "undo" | "撤销" => Self::Undo,
            "reset" | "重置" => Self::Reset,
            "q" | "quit" | "exit" | "退出" => Self::Quit,
            "?" | "？" | "help" | "帮助" => Self::Help,
            _ => return None,
        };
        rest.is_empty().then_some(command)
    }
}

/// What can be typed where a question is asked, a line each.
pub(super) fn of_questions() -> Vec<String> {
    vec![
        t!("hint (h): help, a little more each time; the last is the answer"),
        t!("skip (s): go on without an answer"),
        t!("back: return to the question before"),
        t!("show STEP: a table, as long as it does not give the answer away; show alone lists them"),
        t!("explain: where the number comes from; explain STEP[row,column]: the same of another number"),
        t!("quit (q): leave; what you have done is kept"),
    ]
}

/// What can be typed at a task, a line each.
pub(super) fn of_tasks() -> Vec<String> {
    vec![
        t!("KEY = VALUE: change the lesson, as in the example above; several changes add up"),
        t!("undo: one change less; reset: the lesson as it was"),
        t!("hint (h): help, a little more each time; the last is a solution"),
        t!("skip (s): go on without it; back: return to the question before"),
        t!("show STEP: a table; explain STEP[row,column]: where a number comes from"),
        t!("quit (q): leave; what you have done is kept"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_words_of_their_own() {
        assert_eq!(Command::read(" H "), Some(Command::Hint));
        assert_eq!(Command::read("提示"), Some(Command::Hint));
        assert_eq!(Command::read("show head.1.scores"), Some(Command::Show("head.1.scores".into())));
        assert_eq!(Command::read("explain"), Some(Command::Explain(String::new())));
        assert_eq!(Command::read("？"), Some(Command::Help));
        for answer in ["0.5", "head 1", "skip it", "b", ""] {
            assert_eq!(Command::read(answer), None, "{answer}");
        }
    }
}
