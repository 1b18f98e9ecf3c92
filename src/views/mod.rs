//! A trace in, one format out. A view computes nothing about attention.
//!
//! # One look for all verbs
//!
//! A page is made of [`look`]'s lines, of [`grid::Grid`]'s tables and of [`page::Page::paragraph`]s, or of [`part::Part`]s,
//! which are set as these. `tests/look.rs` runs every verb and holds the pages to this:
//!
//! | what | how | where it is made |
//! |---|---|---|
//! | title of a page | first line, bold; sentences about it; a blank line | [`look::title`] |
//! | heading; name of a step | a blank line above; bold cyan; sections are counted `1.`, steps `18` | [`look::heading`], [`look::name`] |
//! | caption of a table | a plain line above it; a blank line above that, unless a heading stands there | [`part::Part::Caption`] |
//! | table | names to the left, numbers to the right, words wrapped; a blank line between two | [`grid::Grid`] |
//! | a table too wide | panels of columns (`columns 1–6 of 12`), or `…` and a line that says how many are left out | [`grid::Grid`] |
//! | right, wrong | green, bold red; always said in words or by a sign as well: `✓` `✗`, `*` at a cell | [`look::right`], [`look::wrong`] |
//! | what only accompanies | dimmed: `−∞`, a weight of 0 | [`look::faint`] |
//! | what to look at first | bold: the largest weight of a row, the name of a panel | [`look::chief`] |
//! | what can be typed | cyan in a list; a command stands on lines of its own, two blanks in | [`look::typed`], [`part::Part::Command`] |
//! | the lesson's own words | `» ` before them | [`story`] |
//! | no value | `–`; a hidden score `−∞`, a hidden weight in a heat map `·` | |
//! | a number | `--precision` digits; whole tables of whole numbers none; `4e-9` where it would round to 0 | [`crate::number`] |
//! | a count | `1,048,576`; in a formula as it is typed: `12·64` | [`number::grouped`] |
//! | a share, a percentage | `12.5%` | |
//! | bytes | `524,288 bytes (512 KiB)`: units of 1024 unless `--unit GB` asks for those of 1000 | [`number::bytes`] |
//! | a size | `3×4` in a trace, where `·` and `→` join sizes; `768 × 768` where it is told or multiplied out | |
//! | minus | `-` before a number, so that it can be copied; `−` between two, and before `∞` | |
//!
//! From 40 columns on no line is wider than the page asks. Names are cut with `…` where there are many, and told whole where
//! each matters ([`grid::Grid::whole`]). What is made to be pasted or searched is never broken: commands, code, the lines of
//! `mha params --tensors`. `--ascii` spells every sign by [`page::ascii`] (`✓` is `ok`, `−∞` is `-inf`, `…` is `...`) and speaks
//! English. Without colour no escape code is written. A page ends with one line break, and no line ends with a blank.
//!
//! # Shown and never obeyed
//!
//! Text from files (tokens, titles, names of tensors and of files) is shown and never obeyed. Each format has one function
//! that sees to it, and whoever writes the format calls no other:
//!
//! | format | function | what it keeps from being obeyed |
//! |---|---|---|
//! | terminal | [`fault::visible`](crate::fault::visible) | escape sequences, line breaks, reordering, hidden text, towers of accents |
//! | HTML, SVG | `markup::html` | tags, quotes of attributes, entities; a policy (`html::policy`) forbids what gets through all the same |
//! | JSON, notebooks | `json_text::quiet`, `pretty`; `in_script` inside a page | the same as in a terminal; ends of scripts |
//! | Markdown | `markdown_text::inline`, and `line` where a line begins | mark-up, HTML, formulas, links, mentions |
//! | LaTeX | [`tex::text`], and [`tex::prose`] for sentences | commands, groups, maths, comments |
//! | Mermaid | `mermaid::safe` | quotes, mark-up, entities, the end of a label |
//! | CSV | [`arrays::csv::escape`](crate::arrays::csv::escape) | formulas; quotes are the CSV writer's business |
//! | Python | `code::text::docstring`, `inside_quotes`, `comment` | the end of a string or of a line |
//! | YAML | `quoted` in `lesson::template` | everything that YAML gives a meaning |
//! | shell | [`fault::shell_word`](crate::fault::shell_word) | blanks, quotes, substitutions |
//!
//! All but JSON and YAML, from which a program takes the text back, begin with [`fault::visible`](crate::fault::visible).
//! `src/hostile.rs` holds texts that mean harm, for the tests; `tests/hostile_text.rs` sends some through every verb and format.

pub mod ablate;
pub mod ablate_data;
pub mod ablate_each;
pub mod against;
pub mod beside;
pub mod beside_json;
mod beside_step;
pub mod capture;
pub mod cell;
pub mod check;
pub mod check_json;
pub mod check_model;
pub mod code;
pub mod compare;
pub mod compare_json;
mod compare_tables;
pub mod csv;
pub mod derivation;
pub(crate) mod excerpt;
pub mod explain;
pub mod explain_json;
pub mod grid;
pub mod heads;
pub mod heads_html;
pub mod heads_json;
mod heads_map;
pub mod heat;
pub mod html;
pub mod json;
pub(crate) mod json_text;
pub mod latex;
pub mod look;
pub mod markdown;
pub(crate) mod markdown_text;
pub(crate) mod markup;
mod matrix;
pub mod mermaid;
pub mod mistakes;
pub mod model;
pub mod model_csv;
pub mod model_json;
mod model_layers;
mod model_work;
pub mod npz;
pub mod page;
pub mod params;
pub mod params_csv;
pub mod params_json;
mod params_memory;
pub mod part;
pub mod plot;
pub mod presets;
pub mod sheet;
mod side_by_side;
pub mod stacked;
pub mod story;
pub mod summary;
pub mod table;
pub mod tex;

pub use crate::number;

use crate::exact::Exact;
use crate::lesson::{Labels, Saying};
use crate::plan::{Attention, StepId};
use crate::trace::Trace;
use page::Page;

/// What a view is given: a trace, which of its steps to show, and what the lesson says about them.
pub struct Scene<'a> {
    /// Shown above everything.
    pub title: &'a str,
    /// One sentence on what to notice; may be empty.
    pub summary: &'a str,
    /// Where the example comes from; may be empty.
    pub source: &'a str,
    /// The attention call.
    pub attention: &'a Attention,
    /// Names of the tokens.
    pub labels: &'a Labels,
    /// Told at a step, in order.
    pub story: &'a [Saying],
    /// The numbers.
    pub trace: &'a Trace<f64>,
    /// The same in exact numbers, where they were asked for; [`Scene::cell`] chooses.
    pub exact: Option<&'a Exact>,
    /// The steps to show, in order.
    pub steps: &'a [StepId],
    /// How many sequences the batch has.
    pub batch: Option<usize>,
    /// For each key/value head, the query head whose keys and values files hold for it.
    pub kv_sheets: &'a [usize],
    /// The look of the page.
    pub page: Page,
}
pub mod weights;
