//! Texts that mean harm, for the tests of every format: each piece has a meaning somewhere.

use proptest::prelude::*;

/// What a terminal, a browser, GitHub, a notebook, a spreadsheet, LaTeX, Python, YAML or a reader could take for more than a text.
pub(crate) const PIECES: &[&str] = &[
    // terminals: colours, the screen, the window's title, a link, eight-bit codes, a bell, a backspace
    "\u{1b}[2J",
    "\u{1b}]0;owned\u{7}",
    "\u{1b}]8;;http://x\u{1b}\\",
    "\u{9b}31m",
    "\u{9d}",
    "\u{8}\u{7f}",
    "\0",
    // lines
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    // the order of letters, and what is not seen
    "\u{202e}",
    "\u{2066}",
    "\u{2069}",
    "\u{200f}",
    "\u{200b}",
    "\u{200d}",
    "\u{feff}",
    "\u{ad}",
    "\u{e0041}",
    "\u{fff9}",
    "\u{ffff}",
    "שלום",
    "e\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}",
    // pages
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--",
    "-->",
    "]]>",
    "<![CDATA[",
    "</title>",
    "\" onload=\"alert(1)",
    "' onload='alert(1)",
    "&lt;",
    "&",
    "javascript:alert(1)",
    // Markdown and its formulas
    "`",
    "```",
    "~~~",
    "| a |",
    "*a*",
    "_a_",
    "# a",
    "- a",
    "1. a",
    "> a",
    "[a](javascript:alert(1))",
    "![a](http://x)",
    "http://x.y",
    "www.x.y",
    "@octocat",
    "#12",
    "$x$",
    "$$",
    "\\(x\\)",
    // LaTeX
    "\\input{/etc/passwd}",
    "\\write18{id}",
    "\\end{document}",
    "^^5c",
    "%",
    "{",
    "}",
    "~",
    // spreadsheets
    "=cmd|'/C calc'!A0",
    "+1",
    "-1",
    "@SUM(1)",
    "＝1",
    ",",
    ";",
    // Python, YAML, a shell
    "\"\"\"",
    "'''",
    "\\",
    "\"",
    "'",
    "${HOME}",
    "$(id)",
    "; id",
    "\nimport os",
    "coding: utf-7",
    "%{title}",
];

/// Any letters, and pieces one after the other.
pub(crate) fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => proptest::sample::select(PIECES).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => "[a-z ]{1,8}",
    ];
    proptest::collection::vec(piece, 0..6).prop_map(|pieces| pieces.concat())
}
