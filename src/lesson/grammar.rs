//! What keeps a text from being YAML, told to somebody who has never read its grammar.

use crate::fault::Fault;

/// A part of what the parser says; what that means, why, and what to try.
type Row = (&'static str, &'static str, &'static str, &'static str);

const QUOTE_IT: &str = "put the whole text in quotes";
const SAME_COLUMN: &str = "keys that belong together begin in the same column";

/// The first row whose words the parser used counts.
const TOLD: &[Row] = &[
    (
        "tab",
        "a tab stands where blanks belong",
        "YAML is indented with blanks only",
        "put blanks in the tab's place",
    ),
    (
        "mapping values are not allowed",
        "a colon stands where no key can be",
        "a colon and a blank make a key of what stands before them, in the middle of a text too",
        "put a text with a colon in quotes, or begin a key in the same column as those beside it",
    ),
    ("illegal placement of ':'", "a colon stands where no key can be", "a key stands before it", QUOTE_IT),
    (
        "flow sequence",
        "a comma or a ] is missing",
        "a list in brackets has commas between its items, and ends with ]",
        "put in what is missing, here or in a line above",
    ),
    (
        "flow mapping",
        "a comma or a } is missing",
        "keys in braces have commas between them, and } at the end",
        "put in what is missing, here or in a line above",
    ),
    (
        "misplaced bracket",
        "a bracket is closed that was not opened",
        "every ] has its [, and every } its {",
        "remove it, or open one before it",
    ),
    (
        "quoted scalar, found unexpected end",
        "a quote is not closed",
        "a text in quotes ends with the quote that it began with",
        "put the same quote at its end",
    ),
    (
        "indentation in quoted scalar",
        "a quote is not closed",
        "a text in quotes ends with the quote that it began with",
        "put the same quote at its end",
    ),
    (
        "escape",
        "a \\ in double quotes stands before a letter that it does not go with",
        "there it begins a sign such as \\n for a new line",
        "write \\\\ for the \\ itself, or put the text in single quotes",
    ),
    (
        "trailing content after double-quoted",
        "something follows a text in quotes",
        "the text ends at its second quote",
        "write \\\" for a quote inside the text, or put the text in single quotes",
    ),
    (
        "block mapping",
        "this line does not fit the keys above it",
        SAME_COLUMN,
        "indent it as they are, and see whether its colon is there",
    ),
    (
        "expected '-' indicator",
        "this line does not fit the list above it",
        "every item of a list begins with a dash, all in the same column",
        "indent it as they are, and begin it with a dash",
    ),
    (
        "block sequence entries are not allowed",
        "a dash stands where no list can begin",
        "a list begins in a line of its own",
        "begin a new line before the dash, or put the text in quotes",
    ),
    (
        "simple key",
        "a line is no key with a value",
        "between a key and its value stand a colon and a blank",
        "write it as key: value",
    ),
    (
        "invalid indentation",
        "a bracket above this line is not closed",
        "the line is not indented deeper than the key above it, as what stands in brackets would be",
        "close it, or indent the line",
    ),
    (
        "unexpected character",
        "a text begins with a sign that no text can begin with",
        "@, ` and % have other uses there",
        QUOTE_IT,
    ),
    (
        "comments must be separated",
        "a # stands right behind something else",
        "a note begins with # behind a blank",
        "put a blank before the #, or put the text in quotes",
    ),
    (
        "expected node content",
        "a value is missing",
        "a key, a comma or a dash has nothing behind it",
        "write the value",
    ),
    (
        "scanning a directive",
        "a line begins with %",
        "that is for directives, which are not used here",
        QUOTE_IT,
    ),
];

/// The fault of a text that the parser refuses with these words.
pub(super) fn fault(parser_says: &str) -> Fault {
    match TOLD.iter().find(|(words, ..)| parser_says.contains(words)) {
        Some((_, what, why, remedy)) => Fault::new(format!("this is not YAML: {what}"), *why, *remedy),
        None => Fault::new(
            "this is not YAML",
            format!("its reader says: {parser_says}"),
            "check brackets, quotes and indentation near this place",
        ),
    }
}
