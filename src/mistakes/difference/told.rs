//! A difference in a sentence. People count from 1.

use super::{Difference, Kind, Part, Region, Sizes};
use crate::plan::{HeadStep, Name, Stack, TileStep, names};
use crate::words::{n, say, t};

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
        match (self.region.told(), &self.kind) {
            (None, _) => said,
            (Some(place), Kind::NotANumber { .. } | Kind::NumberForNaN { .. } | Kind::Infinite { .. }) => {
                t!("%{place}, %{said}", place, said)
            }
            (Some(place), _) => t!("only %{place}, %{said}", place, said),
        }
    }
}

impl Region {
    /// `in head 2`, `in every row from 3 on of head 1`; `None` for the whole tensor.
    pub fn told(&self) -> Option<String> {
        let part = match &self.part {
            Part::Everywhere => None,
            Part::Rows { rows, of } => Some(t!("in %{lines}", lines = some(n!("row"), rows, Some(*of)))),
            Part::Columns { columns, of } => {
                Some(t!("in %{lines}", lines = some(n!("column"), columns, Some(*of))))
            }
            Part::AboveDiagonal => Some(t!("above the diagonal")),
            Part::BelowDiagonal => Some(t!("below the diagonal")),
            Part::Diagonal => Some(t!("on the diagonal")),
            Part::OneCell { row, column } => {
                Some(t!("in row %{row}, column %{column}", row = row + 1, column = column + 1))
            }
        };
        let heads = self.heads.as_ref().map(|heads| some(n!("head"), heads, None));
        let sequences = self.sequences.as_ref().map(|sequences| some(n!("sequence"), sequences, None));
        let sheets = match (heads, sequences) {
            (Some(heads), Some(sequences)) => Some(t!("%{heads} of %{sequences}", heads, sequences)),
            (one, other) => one.or(other),
        };
        match (part, sheets) {
            (part, None) => part,
            (None, Some(sheets)) => Some(t!("in %{lines}", lines = sheets)),
            (Some(part), Some(sheets)) => Some(t!("%{part} of %{sheets}", part, sheets)),
        }
    }
}

impl Kind {
    /// One sentence without a place and without its full stop: `your scores are exactly √2 times the right ones`.
    pub fn told(&self, name: Name, whose: &Whose<'_>) -> String {
        let Noun { word, many } = noun(name);
        let (is, holds) = if many { (t!("are"), t!("hold")) } else { (t!("is"), t!("holds")) };
        let what = match whose {
            Whose::Right => t!("your %{word}", word),
            Whose::Files { theirs, .. } => t!("the %{word} in %{file}", word, file = theirs),
        };
        let right = match (whose, many) {
            (Whose::Right, true) => t!("the right ones"),
            (Whose::Right, false) => t!("the right one"),
            (Whose::Files { ours, .. }, true) => t!("those in %{file}", file = ours),
            (Whose::Files { ours, .. }, false) => t!("that in %{file}", file = ours),
        };
        let moved = |line: &str, order: &[usize]| moved(line, order, &what, whose);
        match self {
            Self::None if many => t!("%{what} agree with %{right}", what, right),
            Self::None => t!("%{what} agrees with %{right}", what, right),
            Self::Shape { theirs, ours } => {
                let exchanged = match turned(*theirs, *ours) {
                    true => t!(": rows and columns are exchanged"),
                    false => String::new(),
                };
                t!(
                    "%{what} %{is} %{theirs} where %{right} %{is} %{ours}%{exchanged}",
                    what,
                    is,
                    theirs = size(*theirs),
                    right,
                    ours = size(*ours),
                    exchanged
                )
            }
            Self::OneCell { theirs, ours } => {
                let (theirs, ours) = told_apart(*theirs, *ours);
                t!(
                    "%{what} %{holds} %{theirs} where %{right} %{holds} %{ours}",
                    what,
                    holds,
                    theirs,
                    right,
                    ours
                )
            }
            Self::NotANumber { all: true, .. } => {
                t!("%{what} %{is} NaN (not a number) in every cell", what, is)
            }
            Self::NotANumber { cells, .. } => {
                t!(
                    "%{what} %{holds} NaN (not a number) in %{cells} where %{right} %{holds} numbers",
                    what,
                    holds,
                    cells = counted(*cells),
                    right
                )
            }
            Self::NumberForNaN { cells } => {
                t!(
                    "%{what} %{holds} numbers in %{cells} where %{right} %{holds} NaN (not a number)",
                    what,
                    holds,
                    cells = counted(*cells),
                    right
                )
            }
            Self::Infinite { more, fewer: 0 } => {
                t!(
                    "%{what} %{is} infinite in %{cells} where %{right} %{is} not so",
                    what,
                    is,
                    cells = counted(*more),
                    right
                )
            }
            Self::Infinite { more: 0, fewer } => {
                t!(
                    "%{what} %{is} finite in %{cells} where %{right} %{is} infinite",
                    what,
                    is,
                    cells = counted(*fewer),
                    right
                )
            }
            Self::Infinite { more, fewer } => t!(
                "%{what} %{is} infinite in %{more} where %{right} %{is} not so, and finite in %{fewer} where %{right} %{is} \
                 infinite",
                what,
                is,
                more = counted(*more),
                right,
                fewer = counted(*fewer)
            ),
            Self::Zero => t!("%{what} %{is} zero in every cell", what, is),
            Self::Constant { value } => {
                t!("%{what} %{is} %{value} in every cell", what, is, value = short(*value))
            }
            Self::Ratio { factor, uncertainty, named } => {
                let about = if *uncertainty > EXACT || named.is_none() { t!("about") } else { t!("exactly") };
                let factor = named.clone().unwrap_or_else(|| known_to(*factor, *uncertainty));
                t!("%{what} %{is} %{about} %{factor} times %{right}", what, is, about, factor, right)
            }
            Self::Offset { by } => {
                let sign = if *by < 0.0 { t!("minus") } else { t!("plus") };
                t!("%{what} %{is} %{right} %{sign} %{by}", what, is, right, sign, by = short(by.abs()))
            }
            Self::RowOffset => {
                if many {
                    t!(
                        "%{what} differ from %{right} by the same amounts in every row, as a bias would do",
                        what,
                        right
                    )
                } else {
                    t!(
                        "%{what} differs from %{right} by the same amounts in every row, as a bias would do",
                        what,
                        right
                    )
                }
            }
            Self::RowConstants => {
                t!("%{what} %{is} %{right} plus a number for each row", what, is, right)
            }
            Self::RowRatio { least, most } => {
                let (least, most) = told_apart(*least, *most);
                t!(
                    "%{what} %{is} %{right} times a factor for each row, from %{least} to %{most}",
                    what,
                    is,
                    right,
                    least,
                    most
                )
            }
            Self::ColumnRatio { least, most } => {
                let (least, most) = told_apart(*least, *most);
                t!(
                    "%{what} %{is} %{right} times a factor for each column, from %{least} to %{most}",
                    what,
                    is,
                    right,
                    least,
                    most
                )
            }
            Self::Transposed => {
                t!("%{what} %{is} %{right} with rows and columns exchanged (transposed)", what, is, right)
            }
            Self::RowsShifted(by) => shifted(n!("row"), *by, &what, whose),
            Self::ColumnsShifted(by) => shifted(n!("column"), *by, &what, whose),
            Self::RowsPermuted(order) => moved(n!("row"), order),
            Self::ColumnsPermuted(order) => moved(n!("column"), order),
            Self::HeadsPermuted(order) => moved(n!("head"), order),
            Self::SequencesPermuted(order) => moved(n!("sequence"), order),
            Self::Sign { turned, of } => {
                t!(
                    "%{what} %{is} %{right} with the sign turned in %{turned} of %{cells}",
                    what,
                    is,
                    right,
                    turned,
                    cells = counted(*of)
                )
            }
            Self::Reshuffled => {
                t!("%{what} %{holds} the same numbers as %{right}, in other places", what, holds, right)
            }
            Self::Noise { rms } => {
                let by = match (rms.is_finite(), many) {
                    (false, _) => String::new(),
                    (true, true) => t!(" by %{percent} of their size", percent = percent(*rms)),
                    (true, false) => t!(" by %{percent} of its size", percent = percent(*rms)),
                };
                if many {
                    t!("%{what} differ from %{right}%{by}, in no simple pattern", what, right, by)
                } else {
                    t!("%{what} differs from %{right}%{by}, in no simple pattern", what, right, by)
                }
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
    let one = |word: String| Noun { word, many: false };
    let many = |word: String| Noun { word, many: true };
    match name {
        Name::X => many(t!("input tokens")),
        Name::XKv => many(t!("tokens of the other sequence")),
        Name::W(projection) => {
            one(t!("projection W_%{letter}", letter = projection.letter().to_ascii_uppercase()))
        }
        Name::B(projection) => one(t!("bias b_%{letter}", letter = projection.letter().to_ascii_uppercase())),
        Name::WQkv => many(t!("packed projections")),
        Name::BQkv => many(t!("packed biases")),
        Name::Qkv => many(t!("packed queries, keys and values")),
        Name::Q => many(t!("queries")),
        Name::K => many(t!("keys")),
        Name::V => many(t!("values")),
        Name::QNorm => many(t!("normalised queries")),
        Name::KNorm => many(t!("normalised keys")),
        Name::Head(head, HeadStep::Output) => one(t!("output of head %{head}", head = head.0 + 1)),
        Name::Head(head, HeadStep::SinkWeight) => {
            one(t!("share of the sink in head %{head}", head = head.0 + 1))
        }
        Name::Head(..) => many(names::title(name)),
        Name::Tile(_, _, step) => Noun { word: names::title(name), many: step != TileStep::State },
        Name::Stack(Stack::Heads) => many(t!("head outputs")),
        Name::Stack(_) => many(names::kind(name)),
        Name::Concat => many(t!("concatenated heads")),
        Name::Average => one(t!("mean of the heads' outputs")),
        Name::Output => one(t!("output")),
        // What stands around attention is told at more length elsewhere; here it goes by its name.
        Name::Embed(_) | Name::Embedding | Name::Final | Name::Hidden | Name::Ffn(_) => one(name.to_string()),
        Name::OutputNorm | Name::AttentionResidual | Name::AttentionNorm => one(name.to_string()),
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
        return t!(
            "%{lines} %{a} and %{b} of %{what} are exchanged",
            lines = several(line),
            a = a + 1,
            b = b + 1,
            what
        );
    }
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    if let [source] = sorted.as_slice() {
        return t!(
            "every %{line} of %{what} is %{right}",
            line = say(line),
            what,
            right = right_line(line, *source, whose)
        );
    }
    let told: Vec<String> = moves
        .iter()
        .take(3)
        .map(|(place, source)| {
            t!(
                "%{line} %{at} is %{right}",
                line = say(line),
                at = place + 1,
                right = right_line(line, *source, whose)
            )
        })
        .collect();
    let more = moves.len().saturating_sub(told.len());
    let (lines, moves) = (several(line), joined(told, more));
    match sorted.len() == order.len() {
        true => t!("the %{lines} of %{what} stand in another order: %{moves}", lines, what, moves),
        false => t!("some %{lines} of %{what} are copies of one another: %{moves}", lines, what, moves),
    }
}

fn shifted(line: &str, by: i64, what: &str, whose: &Whose<'_>) -> String {
    let direction = match (line, by > 0) {
        ("row", true) => t!("lower"),
        ("row", false) => t!("higher"),
        (_, true) => t!("further right"),
        (_, false) => t!("further left"),
    };
    let places = by.unsigned_abs();
    let moved = match places {
        1 => t!("1 place"),
        _ => t!("%{places} places", places),
    };
    let than = match whose {
        Whose::Right => t!("they should"),
        Whose::Files { ours, .. } => t!("in %{file}", file = ours),
    };
    let (place, source) = if by > 0 { (places + 1, 0) } else { (1, places as usize) };
    t!(
        "the %{lines} of %{what} stand %{moved} %{direction} than %{than}: %{line} %{place} is %{right}",
        lines = several(line),
        what,
        moved,
        direction,
        than,
        line = say(line),
        place,
        right = right_line(line, source, whose)
    )
}

fn right_line(line: &str, source: usize, whose: &Whose<'_>) -> String {
    match whose {
        Whose::Right => t!("the right %{line} %{at}", line = say(line), at = source + 1),
        Whose::Files { ours, .. } => {
            t!("%{line} %{at} in %{file}", line = say(line), at = source + 1, file = ours)
        }
    }
}

/// The word for several lines of a kind.
fn several(line: &str) -> String {
    match line {
        "row" => t!("rows"),
        "column" => t!("columns"),
        "head" => t!("heads"),
        _ => t!("sequences"),
    }
}

/// `head 2`, `rows 1 and 3`, `rows 2 to 6`, `every row from 3 on`, `columns 1, 2, 5 and 9 more`.
fn some(word: &str, chosen: &[usize], of: Option<usize>) -> String {
    let (Some(first), Some(last)) = (chosen.first(), chosen.last()) else {
        return t!("no %{line}", line = say(word));
    };
    let (first, last) = (first + 1, last + 1);
    let run = last - first + 1 == chosen.len();
    if chosen.len() == 1 {
        return t!("%{line} %{at}", line = say(word), at = first);
    }
    if run && Some(last) == of {
        return t!("every %{line} from %{at} on", line = say(word), at = first);
    }
    if run && chosen.len() > 2 {
        return t!("%{lines} %{from} to %{to}", lines = several(word), from = first, to = last);
    }
    let shown = if chosen.len() <= 4 { chosen.len() } else { 3 };
    let told = chosen.iter().take(shown).map(|at| (at + 1).to_string()).collect();
    t!("%{lines} %{list}", lines = several(word), list = joined(told, chosen.len() - shown))
}

fn joined(mut told: Vec<String>, more: usize) -> String {
    if more > 0 {
        told.push(t!("%{more} more", more));
    }
    match told.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => t!("%{names} and %{last}", names = before.join(&t!(", ")), last),
        None => String::new(),
    }
}

fn counted(cells: usize) -> String {
    if cells == 1 { t!("1 cell") } else { t!("%{cells} cells", cells) }
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
