//! What `mha --version` says beyond the number: facts for a report of something that went wrong, in English everywhere.

use std::sync::LazyLock;

/// What stands in the first line: `mha 0.1.0`.
pub(super) const SHORT: &str = env!("CARGO_PKG_VERSION");

/// The day of the commit that this program was built of, where that is known: `2026-11-30`.
pub(super) fn day() -> Option<&'static str> {
    COMMIT.split_once(" of ").map(|(_, day)| day.trim_end_matches(", with changes"))
}

/// The commit, as the build script tells it; empty where none is known.
const COMMIT: &str = env!("MHA_COMMIT");

/// The number, and what the program was built of and for.
pub(super) fn long() -> &'static str {
    static LONG: LazyLock<String> = LazyLock::new(told);
    &LONG
}

fn told() -> String {
    let commit = match COMMIT {
        "" => "not known to this build",
        known => known,
    };
    format!(
        "{SHORT}\n\
         commit:    {commit}\n\
         compiler:  {compiler}\n\
         built for: {target} ({profile})\n\
         processor: {cpu}\n\
         licence:   {licence}",
        compiler = env!("MHA_COMPILER"),
        target = env!("MHA_TARGET"),
        profile = env!("MHA_PROFILE"),
        cpu = vectors(),
        licence = env!("CARGO_PKG_LICENSE"),
    )
}

/// Which vector units the inner loops take on this machine. A lesson's numbers are the same bits on all of them.
fn vectors() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    let name = match pulp::x86::V3::try_new() {
        Some(_) => "AVX2 with FMA, which the inner loops use",
        None => "no AVX2: the inner loops use SSE2",
    };
    #[cfg(not(target_arch = "x86_64"))]
    let name = "the inner loops use what every processor of this kind has";
    name
}
