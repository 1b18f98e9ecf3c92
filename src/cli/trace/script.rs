//! What `mha trace` refuses, and passes on, where the page is a program.

use super::{TraceArgs, TraceFormat, Way, Which};
use crate::fault::{Fault, Outcome};

/// Refuses flags that a script or a notebook cannot heed, and `--with` where there is no script.
///
/// # Errors
/// One fault a flag.
pub(super) fn refuse(args: &TraceArgs) -> Outcome<()> {
    let kind = match args.format {
        TraceFormat::Python => "script",
        TraceFormat::Ipynb => "notebook",
        _ => "",
    };
    let is_program = !kind.is_empty();
    let refused = |flag: &str, what: String, why: &str, remedy: &str| {
        Err(Fault::new(what, why, remedy).in_source(flag).into())
    };
    if args.with.is_some() && args.format != TraceFormat::Python {
        let what = match args.format {
            TraceFormat::Ipynb => "a notebook computes with NumPy",
            _ => "--with names the library of a script, and none is asked for",
        };
        let why = "--with belongs to --format python";
        return refused("--with", what.to_owned(), why, "add --format python, or leave --with away");
    }
    if is_program && !args.steps.is_empty() {
        let what = format!("a {kind} holds every step");
        let why = "each step is computed from those before it";
        return refused("--steps", what, why, "leave --steps away, and delete what you do not need");
    }
    if is_program && !args.heads.is_empty() {
        let what = format!("a {kind} computes all heads at once");
        let why = "they are one array, and concat and the output need every one of them";
        return refused("--heads", what, why, "leave --heads away; scores[0] is head 1");
    }
    if is_program && args.layout == Way::Columns {
        let what = format!("a {kind} has tokens in rows");
        let why = "it saves its arrays under the names and shapes of npz files, which are fixed";
        return refused("--layout", what, why, "leave --layout away; transpose in NumPy with .T");
    }
    Ok(())
}

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
