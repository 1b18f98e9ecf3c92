//! A difference in a sentence. People count from 1.

use super::{Difference, Kind, Part, Region, Sizes};
use crate::plan::{HeadStep, Name, Stack, TileStep, names};

/// Whose numbers are compared with whose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose<'a> {
    /// A person's with the right ones: `your scores … the right ones`.
    Right,
    /// One file's with another's: `the scores in A.npz … those in B.npz`.
    Files {
        /// The file compared.
        theirs: &'a str,
        /// What it is compared with.
        ours: &'a str,
    },
}

impl Difference {
    /// One sentence, without its full stop: `only in head 2, your scores are exactly −1 times the right ones`.
    pub fn told(&self, name: Name, whose: &Whose<'_>) -> String {
        let said = self.kind.told(name, whose);
        let only = match self.kind {
            Kind::NotANumber { .. } | Kind::NumberForNaN { .. } | Kind::Infinite { .. } => "",
            _ => "only ",
        };
        match self.region.told() {
            Some(place) => format!("{only}{place}, {said}"),
            None => said,
        }
    }
}

impl Region {
    /// `in head 2`, `in every row from 3 on of head 1`; `None` for the whole tensor.
    pub fn told(&self) -> Option<String> {
        let part = match &self.part {
            Part::Everywhere => None,
            Part::Rows { rows, of } => Some(format!("in {}", some("row", rows, Some(*of)))),
            Part::Columns { columns, of } => Some(format!("in {}", some("column", columns, Some(*of)))),
            Part::AboveDiagonal => Some("above the diagonal".to_owned()),
            Part::BelowDiagonal => Some("below the diagonal".to_owned()),
            Part::Diagonal => Some("on the diagonal".to_owned()),
            Part::OneCell { row, column } => Some(format!("in row {}, column {}", row + 1, column + 1)),
        };
        let heads = self.heads.as_ref().map(|heads| some("head", heads, None));
        let sequences = self.sequences.as_ref().map(|sequences| some("sequence", sequences, None));
        let sheets: Vec<String> = heads.into_iter().chain(sequences).collect();
        match (part, sheets.is_empty()) {
            (None, true) => None,
            (Some(part), true) => Some(part),
            (None, false) => Some(format!("in {}", sheets.join(" of "))),
            (Some(part), false) => Some(format!("{part} of {}", sheets.join(" of "))),
        }
    }
}

impl Kind {
    /// One sentence without a place and without its full stop: `your scores are exactly √2 times the right ones`.
    pub fn told(&self, name: Name, whose: &Whose<'_>) -> String {
        let Noun { word, many } = noun(name);
        let (is, holds) = if many { ("are", "hold") } else { ("is", "holds") };
        let what = match whose {
            Whose::Right => format!("your {word}"),
            Whose::Files { theirs, .. } => format!("the {word} in {theirs}"),
        };
        let right = match (whose, many) {
            (Whose::Right, true) => "the right ones".to_owned(),
            (Whose::Right, false) => "the right one".to_owned(),
            (Whose::Files { ours, .. }, true) => format!("those in {ours}"),
            (Whose::Files { ours, .. }, false) => format!("that in {ours}"),
        };
        let moved = |line: &str, order: &[usize]| moved(line, order, &what, whose);
        match self {
            Self::None if many => format!("{what} agree with {right}"),
            Self::None => format!("{what} agrees with {right}"),
            Self::Shape { theirs, ours } => {
                let exchanged = if turned(*theirs, *ours) { ": rows and columns are exchanged" } else { "" };
                format!("{what} {is} {} where {right} {is} {}{exchanged}", size(*theirs), size(*ours))
            }
            Self::OneCell { theirs, ours } => {
                let (theirs, ours) = told_apart(*theirs, *ours);
                format!("{what} {holds} {theirs} where {right} {holds} {ours}")
            }
            Self::NotANumber { all: true, .. } => format!("{what} {is} NaN (not a number) in every cell"),
            Self::NotANumber { cells, .. } => {
                format!(
                    "{what} {holds} NaN (not a number) in {} where {right} {holds} numbers",
                    counted(*cells)
                )
            }
            Self::NumberForNaN { cells } => {
                format!(
                    "{what} {holds} numbers in {} where {right} {holds} NaN (not a number)",
                    counted(*cells)
                )
            }
            Self::Infinite { more, fewer: 0 } => {
                format!("{what} {is} infinite in {} where {right} {is} not so", counted(*more))
            }
            Self::Infinite { more: 0, fewer } => {
                format!("{what} {is} finite in {} where {right} {is} infinite", counted(*fewer))
            }
            Self::Infinite { more, fewer } => format!(
                "{what} {is} infinite in {} where {right} {is} not so, and finite in {} where {right} {is} infinite",
                counted(*more),
                counted(*fewer)
            ),
            Self::Zero => format!("{what} {is} zero in every cell"),
            Self::Constant { value } => format!("{what} {is} {} in every cell", short(*value)),
            Self::Ratio { factor, uncertainty, named } => {
                let about = if *uncertainty > EXACT || named.is_none() { "about" } else { "exactly" };
                let factor = named.clone().unwrap_or_else(|| known_to(*factor, *uncertainty));
                format!("{what} {is} {about} {factor} times {right}")
            }
            Self::Offset { by } => {
                let sign = if *by < 0.0 { "minus" } else { "plus" };
                format!("{what} {is} {right} {sign} {}", short(by.abs()))
            }
            Self::RowOffset => {
                let differ = if many { "differ" } else { "differs" };
                format!("{what} {differ} from {right} by the same amounts in every row, as a bias would do")
            }
            Self::RowConstants => format!("{what} {is} {right} plus a number for each row"),
            Self::RowRatio { least, most } => {
                let (least, most) = told_apart(*least, *most);
                format!("{what} {is} {right} times a factor for each row, from {least} to {most}")
            }
            Self::ColumnRatio { least, most } => {
                let (least, most) = told_apart(*least, *most);
                format!("{what} {is} {right} times a factor for each column, from {least} to {most}")
            }
            Self::Transposed => format!("{what} {is} {right} with rows and columns exchanged (transposed)"),
            Self::RowsShifted(by) => shifted("row", *by, &what, whose),
            Self::ColumnsShifted(by) => shifted("column", *by, &what, whose),
            Self::RowsPermuted(order) => moved("row", order),
            Self::ColumnsPermuted(order) => moved("column", order),
            Self::HeadsPermuted(order) => moved("head", order),
            Self::SequencesPermuted(order) => moved("sequence", order),
            Self::Sign { turned, of } => {
                format!("{what} {is} {right} with the sign turned in {turned} of {}", counted(*of))
            }
            Self::Reshuffled => format!("{what} {holds} the same numbers as {right}, in other places"),
            Self::Noise { rms } => {
                let differ = if many { "differ" } else { "differs" };
                let by = if rms.is_finite() {
                    format!(" by {} of its size", percent(*rms))
                } else {
                    String::new()
                };
                let by = if many { by.replace("its", "their") } else { by };
                format!("{what} {differ} from {right}{by}, in no simple pattern")
            }
        }
    }
}

/// A factor known to one part in a thousand is told as exact.
const EXACT: f64 = 1e-3;

struct Noun {
    word: String,
    many: bool,
}

fn noun(name: Name) -> Noun {
    let one = |word: &str| Noun { word: word.to_owned(), many: false };
    let many = |word: &str| Noun { word: word.to_owned(), many: true };
    match name {
        Name::X => many("input tokens"),
        Name::XKv => many("tokens of the other sequence"),
        Name::W(projection) => one(&format!("projection W_{}", projection.letter().to_ascii_uppercase())),
        Name::B(projection) => one(&format!("bias b_{}", projection.letter().to_ascii_uppercase())),
        Name::WQkv => many("packed projections"),
        Name::BQkv => many("packed biases"),
        Name::Qkv => many("packed queries, keys and values"),
        Name::Q => many("queries"),
        Name::K => many("keys"),
        Name::V => many("values"),
        Name::QNorm => many("normalised queries"),
        Name::KNorm => many("normalised keys"),
        Name::Head(head, HeadStep::Output) => one(&format!("output of head {}", head.0 + 1)),
        Name::Head(head, HeadStep::SinkWeight) => one(&format!("share of the sink in head {}", head.0 + 1)),
        Name::Head(head, _) => many(&format!("{} of head {}", names::kind(name), head.0 + 1)),
        Name::Tile(head, tile, step) => Noun {
            word: format!("{} of head {}, tile {}", names::kind(name), head.0 + 1, tile + 1),
            many: step != TileStep::State,
        },
        Name::Stack(Stack::Heads) => many("head outputs"),
        Name::Stack(_) => many(&names::kind(name)),
        Name::Concat => many("concatenated heads"),
        Name::Average => one("mean of the heads' outputs"),
        Name::Output => one("output"),
        Name::Embedding | Name::AttentionResidual | Name::AttentionNorm | Name::Hidden | Name::Final => {
            one(&names::kind(name))
        }
        Name::Ffn(_) => one(&names::kind(name)),
    }
}

/// `rows 1 and 2 of your queries are exchanged`; `the rows of your queries …: row 2 holds the right row 1`.
fn moved(line: &str, order: &[usize], what: &str, whose: &Whose<'_>) -> String {
    let moves: Vec<(usize, usize)> =
        order.iter().copied().enumerate().filter(|(place, source)| place != source).collect();
    if let [(a, b), (c, d)] = moves.as_slice()
        && a == d
        && b == c
    {
        return format!("{line}s {} and {} of {what} are exchanged", a + 1, b + 1);
    }
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    if let [source] = sorted.as_slice() {
        return format!("every {line} of {what} is {}", right_line(line, *source, whose));
    }
    let told: Vec<String> = moves
        .iter()
        .take(3)
        .map(|(place, source)| format!("{line} {} is {}", place + 1, right_line(line, *source, whose)))
        .collect();
    let how =
        if sorted.len() == order.len() { "stand in another order" } else { "are copies of one another" };
    let more = moves.len().saturating_sub(told.len());
    let how_many = if sorted.len() == order.len() { "the" } else { "some" };
    format!("{how_many} {line}s of {what} {how}: {}", joined(told, more))
}

fn shifted(line: &str, by: i64, what: &str, whose: &Whose<'_>) -> String {
    let direction = match (line, by > 0) {
        ("row", true) => "lower",
        ("row", false) => "higher",
        (_, true) => "further right",
        (_, false) => "further left",
    };
    let places = by.unsigned_abs();
    let unit = if places == 1 { "place" } else { "places" };
    let than = match whose {
        Whose::Right => "they should".to_owned(),
        Whose::Files { ours, .. } => format!("in {ours}"),
    };
    let (place, source) = if by > 0 { (places + 1, 0) } else { (1, places as usize) };
    format!(
        "the {line}s of {what} stand {places} {unit} {direction} than {than}: {line} {place} is {}",
        right_line(line, source, whose)
    )
}

fn right_line(line: &str, source: usize, whose: &Whose<'_>) -> String {
    match whose {
        Whose::Right => format!("the right {line} {}", source + 1),
        Whose::Files { ours, .. } => format!("{line} {} in {ours}", source + 1),
    }
}

/// `head 2`, `rows 1 and 3`, `rows 2 to 6`, `every row from 3 on`, `columns 1, 2, 5 and 9 more`.
fn some(word: &str, chosen: &[usize], of: Option<usize>) -> String {
    let (Some(first), Some(last)) = (chosen.first(), chosen.last()) else { return format!("no {word}") };
    let (first, last) = (first + 1, last + 1);
    let run = last - first + 1 == chosen.len();
    if chosen.len() == 1 {
        return format!("{word} {first}");
    }
    if run && Some(last) == of {
        return format!("every {word} from {first} on");
    }
    if run && chosen.len() > 2 {
        return format!("{word}s {first} to {last}");
    }
    let shown = if chosen.len() <= 4 { chosen.len() } else { 3 };
    let told = chosen.iter().take(shown).map(|at| (at + 1).to_string()).collect();
    format!("{word}s {}", joined(told, chosen.len() - shown))
}

fn joined(mut told: Vec<String>, more: usize) -> String {
    if more > 0 {
        told.push(format!("{more} more"));
    }
    match told.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

fn counted(cells: usize) -> String {
    if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") }
}

fn size(sizes: Sizes) -> String {
    let Sizes { sheets, rows, columns } = sizes;
    if sheets == 1 { format!("{rows} × {columns}") } else { format!("{sheets} × {rows} × {columns}") }
}

fn turned(theirs: Sizes, ours: Sizes) -> bool {
    theirs.sheets == ours.sheets && (theirs.rows, theirs.columns) == (ours.columns, ours.rows)
}

fn percent(share: f64) -> String {
    format!("{} %", with_digits(100.0 * share, 2))
}

/// A factor with the digits that are known.
fn known_to(factor: f64, uncertainty: f64) -> String {
    let digits = (-uncertainty.max(1e-6).log10()).floor().clamp(2.0, 5.0);
    with_digits(factor, digits as usize)
}

/// A number for a sentence.
fn short(value: f64) -> String {
    with_digits(value, 5)
}

/// Two numbers with so many digits that they do not look the same.
fn told_apart(a: f64, b: f64) -> (String, String) {
    let digits = (5..17).find(|digits| with_digits(a, *digits) != with_digits(b, *digits)).unwrap_or(5);
    (with_digits(a, digits), with_digits(b, digits))
}

/// A number with so many digits that count, without zeros at the end.
fn with_digits(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    let written = format!("{value:.*e}", digits.max(1) - 1);
    let exponent: i32 = written.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(-4..9).contains(&exponent) {
        return written;
    }
    let decimals = usize::try_from(digits as i32 - 1 - exponent).unwrap_or(0);
    let fixed = format!("{value:.decimals$}");
    if fixed.contains('.') { fixed.trim_end_matches('0').trim_end_matches('.').to_owned() } else { fixed }
}
