//! What `mha trace` passes on where the page is a program.

use super::super::lesson::again;
use super::{TraceArgs, Which};

/// The command that traces the same lesson, quoted for a shell, without its format.
pub(super) fn request(args: &TraceArgs) -> String {
    let mut request = format!("mha trace {}", again(&args.lesson, args.allow_outside));
    if let Some(Which::One(one)) = args.sequence {
        request.push_str(&format!(" --sequence {}", one + 1));
    }
    request
}
