//! Lessons as pages, with everything computed: one walk over the parts ([`Leaf`]), set as Markdown or as HTML.
//!
//! A page needs no network and no script. What was written in a lesson is text there, and nothing else.

mod html;
mod markdown;
mod walk;

use std::collections::BTreeSet;
use std::fmt;

use crate::course::command::Runner;
use crate::course::{Workshop, topics};
use crate::fault::Outcome;
use crate::views::heat::panels::{Cell, Scale};
use crate::views::page::Page;
use crate::views::plot::Chart;
use crate::words::t;

/// The formats of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// As GitHub shows it.
    Markdown,
    /// One file a page, to be opened in a browser or printed.
    Html,
}

impl Format {
    /// How files of the format end.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Markdown => "md",
            Self::Html => "html",
        }
    }
}

/// Where a page stands among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// By itself: figures stand in it.
    Alone,
    /// In a folder: figures may stand beside it, and it links to its neighbours.
    Folder,
}

/// A file of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its name, without a folder.
    pub name: String,
    /// What it holds.
    pub text: String,
}

/// A lesson with everything computed, before anybody has decided how it is set.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    /// What files of it are called, without an ending.
    pub name: String,
    /// Its title.
    pub title: String,
    /// One sentence on what to notice; may be empty.
    pub summary: String,
    /// Where it comes from; may be empty.
    pub source: String,
    /// The topics of the course that it belongs to, from 1.
    pub topics: Vec<u8>,
    blocks: Vec<Block>,
    digits: usize,
    format: Format,
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
enum Block {
    Say(String),
    Steps(Steps),
    Ask(Asked),
    Task(Exercise),
    Figures(Table),
    Plot(Chart),
    Command { line: String, output: Vec<String> },
}

/// Steps side by side.
#[derive(Debug, Clone, PartialEq)]
struct Steps {
    matrices: Vec<Matrix>,
    /// The same as a heat map (SVG), where the lesson wants one.
    figure: Option<String>,
}

/// A step with its names and numbers.
#[derive(Debug, Clone, PartialEq)]
struct Matrix {
    /// `head.1.weights@one`.
    name: String,
    title: String,
    /// As it is read aloud and printed: `A₁ = softmax(S₁), row by row`; empty where the step was given.
    formula: String,
    rows: Vec<String>,
    columns: Vec<String>,
    /// The shown cells; a gap in a large matrix is a cell `…` without a shade.
    cells: Vec<Vec<(String, Option<Cell>)>>,
    /// What the shades stand for, where the lesson wants a heat map.
    scale: Option<Scale>,
    note: String,
}

/// A question with everything that is folded away.
#[derive(Debug, Clone, PartialEq)]
struct Asked {
    ask: String,
    choices: Vec<String>,
    /// What kind of help each is, and its words.
    hints: Vec<(String, String)>,
    answer: String,
    because: String,
    /// The arithmetic behind the answer, line by line; may be empty.
    derivation: Vec<String>,
    /// Wrong answers and what they give away.
    wrong: Vec<(String, String)>,
}

/// A task with its solution.
#[derive(Debug, Clone, PartialEq)]
struct Exercise {
    ask: String,
    change: Vec<String>,
    checks: Vec<String>,
    hints: Vec<(String, String)>,
    /// As YAML.
    solution: String,
    because: String,
    /// What it comes to.
    reached: Steps,
}

/// A table of figures; texts, and whether a column holds numbers.
#[derive(Debug, Clone, PartialEq, Default)]
struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
    source: String,
}

impl Table {
    /// Whether every cell of a column is a number, as it is written.
    fn is_number(&self, column: usize) -> bool {
        let cells = || self.rows.iter().filter_map(|row| row.get(column));
        let number = |text: &String| {
            text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit() || "−-∞".contains(c))
        };
        column > 0 && cells().next().is_some() && cells().all(number)
    }
}

/// Computes a lesson; `name` is what its files are called.
///
/// # Errors
/// A part that cannot be computed; a command that cannot be shown.
pub fn leaf(name: &str, workshop: &Workshop, run: &Runner<'_>, page: &Page, format: Format) -> Outcome<Leaf> {
    walk::leaf(name, workshop, run, page, format)
}

/// The page of one lesson, by itself.
pub fn alone(leaf: &Leaf) -> String {
    match leaf.format {
        Format::Markdown => markdown::page(leaf, Place::Alone, &Neighbours::default()).0,
        Format::Html => html::page(leaf, &Neighbours::default()),
    }
}

/// The pages of several lessons with an index by topic, in the order of the course.
pub fn folder(mut leaves: Vec<Leaf>, format: Format) -> Vec<File> {
    leaves.sort_by_key(|leaf| leaf.topics.iter().min().copied().unwrap_or(u8::MAX));
    name_apart(&mut leaves);
    let link = |leaf: &Leaf| Link {
        title: leaf.title.clone(),
        file: format!("{}.{}", leaf.name, format.extension()),
    };
    let mut files = Vec::new();
    for (at, leaf) in leaves.iter().enumerate() {
        let neighbours = Neighbours {
            before: at.checked_sub(1).and_then(|at| leaves.get(at)).map(link),
            index: Some(Link { title: t!("Contents"), file: format!("index.{}", format.extension()) }),
            after: leaves.get(at + 1).map(link),
        };
        let name = link(leaf).file;
        match format {
            Format::Markdown => {
                let (text, figures) = markdown::page(leaf, Place::Folder, &neighbours);
                files.push(File { name, text });
                files.extend(figures);
            }
            Format::Html => files.push(File { name, text: html::page(leaf, &neighbours) }),
        }
    }
    let chapters = chapters(&leaves, link);
    let text = match format {
        Format::Markdown => markdown::index(&chapters),
        Format::Html => html::index(&chapters),
    };
    files.push(File { name: format!("index.{}", format.extension()), text });
    files
}

/// A way to another page.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Link {
    title: String,
    file: String,
}

/// The ways from a page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Neighbours {
    before: Option<Link>,
    index: Option<Link>,
    after: Option<Link>,
}

/// A topic with its lessons, each with its summary.
struct Chapter {
    title: String,
    lessons: Vec<(Link, String)>,
}

fn chapters(leaves: &[Leaf], link: impl Fn(&Leaf) -> Link) -> Vec<Chapter> {
    let of = |wanted: &dyn Fn(&Leaf) -> bool| -> Vec<(Link, String)> {
        leaves.iter().filter(|leaf| wanted(leaf)).map(|leaf| (link(leaf), leaf.summary.clone())).collect()
    };
    let topics = (1..=topics::COUNT).map(|topic| Chapter {
        title: format!("{topic}. {}", topics::title(topic)),
        lessons: of(&|leaf| leaf.topics.contains(&topic)),
    });
    let others = Chapter { title: t!("More lessons"), lessons: of(&|leaf| leaf.topics.is_empty()) };
    topics.chain([others]).filter(|chapter| !chapter.lessons.is_empty()).collect()
}

/// Names that every system takes for a file, and no two alike, however a system takes capitals.
fn name_apart(leaves: &mut [Leaf]) {
    // Windows has devices of these names, whatever stands after the point.
    let mut taken: BTreeSet<String> = ["index", "con", "prn", "aux", "nul"].map(str::to_owned).into();
    taken.extend((0..=9).flat_map(|number| [format!("com{number}"), format!("lpt{number}")]));
    for leaf in leaves {
        let safe = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' };
        let plain: String = leaf.name.chars().map(safe).take(60).collect();
        let plain = if plain.trim_matches('-').is_empty() { "lesson".to_owned() } else { plain };
        let numbered = (2..).map(|number| format!("{plain}-{number}"));
        let name =
            std::iter::once(plain.clone()).chain(numbered).find(|name| taken.insert(name.to_lowercase()));
        leaf.name = name.unwrap_or(plain);
    }
}

/// An HTML page in ASCII: every other letter by its number.
pub fn html_in_ascii(page: &str) -> String {
    crate::views::html::text::html_in_ascii(page)
}

/// Paragraphs of a text: what an empty line sets apart.
fn paragraphs(text: &str) -> impl Iterator<Item = String> + '_ {
    let folded = |paragraph: &str| paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    text.split("\n\n").map(folded).filter(|paragraph| !paragraph.is_empty())
}

/// A duration in the unit in which it has few digits.
struct Short(std::time::Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs_f64();
        let (number, unit) = match seconds {
            s if s >= 1.0 => (s, "s"),
            s if s >= 1e-3 => (s * 1e3, "ms"),
            s => (s * 1e6, "µs"),
        };
        let digits = if number >= 100.0 {
            0
        } else if number >= 10.0 {
            1
        } else {
            2
        };
        write!(f, "{number:.digits$} {unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_pages_share_a_file_and_none_is_the_index() {
        let leaf = |name: &str| Leaf {
            name: name.to_owned(),
            title: String::new(),
            summary: String::new(),
            source: String::new(),
            topics: Vec::new(),
            blocks: Vec::new(),
            digits: 4,
            format: Format::Html,
        };
        let mut leaves = ["index", "a/b", "A-B", "../..", "注意"].map(leaf).to_vec();
        name_apart(&mut leaves);
        let names: Vec<&str> = leaves.iter().map(|leaf| leaf.name.as_str()).collect();
        assert_eq!(names, ["index-2", "a-b", "A-B-2", "lesson", "注意"]);
    }

    #[test]
    fn a_column_of_numbers_is_known_by_its_cells() {
        let rows = vec![
            vec!["1".to_owned(), "0.5".to_owned(), "a".to_owned()],
            vec!["b".to_owned(), "−∞".to_owned(), "2".to_owned()],
        ];
        let table = Table { rows, ..Table::default() };
        assert_eq!([0, 1, 2, 3].map(|column| table.is_number(column)), [false, true, false, false]);
    }

    #[test]
    fn a_duration_has_three_digits() {
        let short = |nanos| Short(std::time::Duration::from_nanos(nanos)).to_string();
        assert_eq!([short(1_234), short(45_600_000), short(1_500_000_000)], ["1.23 µs", "45.6 ms", "1.50 s"]);
    }
}
