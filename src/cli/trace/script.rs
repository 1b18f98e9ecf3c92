//! What `mha trace` passes on where the page is a program.

use super::{TraceArgs, Which};

/// The command that traces the same lesson, quoted for a shell, without its format.
pub(super) fn request(args: &TraceArgs) -> String {
    let lesson =
        if args.lesson.starts_with('-') { format!("./{}", args.lesson) } else { args.lesson.clone() };
    let quoted = match (args.lesson.as_str(), shlex::try_quote(&lesson)) {
        ("-", _) => "- < lesson.yaml".to_owned(), // what came through a pipe, kept in a file
        (_, Ok(quoted)) => quoted.into_owned(),
        (_, Err(_)) => lesson.clone(), // with a zero byte, which no file name has
    };
    let mut request = format!("mha trace {quoted}");
    if args.allow_outside {
        request.push_str(" --allow-outside");
    }
    if let Some(Which::One(one)) = args.sequence {
        request.push_str(&format!(" --sequence {}", one + 1));
    }
    request
}
