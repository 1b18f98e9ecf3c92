//! `.csv`: one matrix as text, a row a line, commas between the numbers.
//!
//! Read are decimal numbers, `nan`, `inf` and `-inf`; a file of nothing but `true` and `false` is boolean. No header
//! row is needed. A first row without a single number in it is taken for a header and skipped, provided that rows
//! of numbers follow. Blank lines do not count. The array always has two axes: one line is 1 × n, one column n × 1.

use std::path::Path;

use ::csv::{ReaderBuilder, StringRecord, Trim};

use super::{Array, Kind, file, numbers};
use crate::fault::{Fault, Faults, Outcome, Place, counted, visible};
use crate::limits;

/// The matrix of a CSV file (rows × columns).
///
/// # Errors
/// Where the file is missing or too large or has too many cells, a cell is no number, or rows are not equally long: each such place is
/// named, one a row, up to [`limits::SHOWN`].
pub fn read(path: &Path) -> Outcome<Array> {
    parse(&file::text(path, limits::TEXT_BYTES)?, &file::place(path))
}

/// Refuses a text with more cells than are read, before they are taken apart: a row of millions takes fifteen times its
/// letters in memory.
pub(crate) fn bounded(text: &str, place: &Place) -> Outcome<()> {
    let cells = text.bytes().filter(|byte| matches!(byte, b',' | b'\n')).count();
    if cells <= limits::CSV_CELLS {
        return Ok(());
    }
    let what = format!("the file has about {cells} cells");
    let why = format!("CSV files are read up to {} cells", limits::CSV_CELLS);
    Err(Fault::new(what, why, "save large arrays as .npy").at(place.clone()).into())
}

/// The matrix of a CSV text. Faults point into `place`.
///
/// # Errors
/// As [`read`].
pub fn parse(text: &str, place: &Place) -> Outcome<Array> {
    bounded(text, place)?;
    let mut records =
        ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    let mut table = Table {
        text,
        place,
        first: None,
        kinds: Kinds::default(),
        numbers: Vec::new(),
        rows: 0,
        faults: Vec::new(),
    };
    let mut header = false;
    let mut lines = 0;
    while records.read_record(&mut record).map_err(|error| broken(&error).at(place.clone()))? {
        lines += 1;
        if lines == 1 && is_header(&record) {
            header = true;
            continue;
        }
        table.add(&record, lines);
        if table.faults.len() >= limits::SHOWN {
            break;
        }
    }
    if table.rows == 0 && table.faults.is_empty() {
        return Err(no_numbers(header, text).at(place.clone()).into());
    }
    table.finish()
}

/// A text cell that no spreadsheet takes for a formula, with control characters made visible.
///
/// One that begins with `=`, `+`, `-`, `@`, a tab or a line break gets an apostrophe in front, which spreadsheets
/// read as "this is text". Numbers need no such guard and must not get it; quotes are the CSV writer's business.
pub fn escape(cell: &str) -> String {
    let formula = cell
        .trim_start_matches(' ')
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    format!("{}{}", if formula { "'" } else { "" }, visible(cell))
}

/// Whether there is text in the row, and no number: the names of columns.
fn is_header(record: &StringRecord) -> bool {
    let is_text = |cell: &str| cell.parse::<f64>().is_err() && Cell::truth(cell).is_none();
    // `1 0 0 0` is a row with another separator, not a name.
    let may_be_a_name = |cell: &str| !cell.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    record.iter().all(|cell| is_text(cell) && may_be_a_name(cell))
        && record.iter().any(|cell| !cell.is_empty())
}

/// What a cell says.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Cell {
    Truth(bool),
    Integer(f64),
    Decimal(f64),
}

impl Cell {
    fn truth(text: &str) -> Option<bool> {
        match text {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// Reads a cell; the fault begins its sentence after the cell's place.
    fn of(text: &str) -> Result<Self, Fault> {
        if let Some(truth) = Self::truth(text) {
            return Ok(Self::Truth(truth));
        }
        let number: f64 = text.parse().map_err(|_| not_a_number(text))?;
        let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
        if number.is_infinite() && digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(Fault::new(
                format!("is {}, too large", short(text)),
                "the largest number in double precision is about 1.8e308",
                "write inf where infinity is meant",
            ));
        }
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Ok(Self::Decimal(number));
        }
        if number.abs() > limits::EXACT_INTEGER as f64
            || digits.parse::<u64>().is_ok_and(|n| n > limits::EXACT_INTEGER)
        {
            return Err(numbers::beyond_exact(&short(text)));
        }
        Ok(Self::Integer(number))
    }
}

/// Which kinds of cell have been met.
#[derive(Default)]
struct Kinds {
    truths: bool,
    numbers: bool,
    decimals: bool,
}

struct Table<'a> {
    text: &'a str,
    place: &'a Place,
    /// Line in the file, counted without blank ones, and width of the first row.
    first: Option<(usize, usize)>,
    kinds: Kinds,
    numbers: Vec<f64>,
    rows: usize,
    faults: Vec<Fault>,
}

impl Table<'_> {
    fn add(&mut self, record: &StringRecord, row: usize) {
        self.rows += 1;
        let (first, columns) = *self.first.get_or_insert((row, record.len()));
        if record.len() != columns {
            let what =
                format!("row {row} has {}, but row {first} has {columns}", counted(record.len(), "number"));
            let fault =
                Fault::new(what, "all rows of a matrix are equally long", "fill up or shorten the row");
            self.fail(fault, record, record.len().min(columns));
        }
        for (column, cell) in record.iter().enumerate() {
            match Cell::of(cell) {
                Ok(cell) => self.take(cell),
                Err(fault) => {
                    let what = format!("row {row}, column {} {}", column + 1, fault.what);
                    self.fail(Fault { what, ..fault }, record, column);
                    return; // one a row: a row of words would fill the screen
                }
            }
        }
    }

    fn take(&mut self, cell: Cell) {
        let number = match cell {
            Cell::Truth(truth) => {
                self.kinds.truths = true;
                f64::from(u8::from(truth))
            }
            Cell::Integer(number) => {
                self.kinds.numbers = true;
                number
            }
            Cell::Decimal(number) => {
                (self.kinds.numbers, self.kinds.decimals) = (true, true);
                number
            }
        };
        self.numbers.push(number);
    }

    fn fail(&mut self, fault: Fault, record: &StringRecord, cell: usize) {
        let byte = record.position().map_or(0, |position| position.byte() as usize);
        self.faults.push(fault.at(place_of(self.text, byte, cell, self.place)));
    }

    fn finish(mut self) -> Outcome<Array> {
        let kind = match self.kinds {
            Kinds { truths: true, numbers: true, .. } => {
                self.faults.push(mixed().at(self.place.clone()));
                Kind::F64
            }
            Kinds { truths: true, .. } => Kind::Bool,
            Kinds { decimals: true, .. } => Kind::F64,
            Kinds { .. } => Kind::Integer,
        };
        if !self.faults.is_empty() {
            return Err(Faults(self.faults));
        }
        let columns = self.first.map_or(0, |(_, columns)| columns);
        Ok(Array::new(vec![self.rows, columns], self.numbers, kind)
            .map_err(|fault| fault.at(self.place.clone()))?)
    }
}

/// Line and column of a cell, and its line. `byte` may lie on a blank line before it: those are skipped in reading.
fn place_of(text: &str, byte: usize, cell: usize, place: &Place) -> Place {
    let (before, rest) = text.split_at_checked(byte).unwrap_or((text, ""));
    let blank = rest.len() - rest.trim_start_matches(['\n', '\r']).len();
    let line_number = 1 + before.matches('\n').count() + rest[..blank].matches('\n').count();
    let line = rest[blank..].lines().next().unwrap_or_default();
    let mut quoted = false;
    let commas = line.chars().enumerate().filter(|(_, c)| {
        quoted ^= *c == '"';
        *c == ',' && !quoted
    });
    let column = match cell.checked_sub(1).map(|before| commas.map(|(at, _)| at).nth(before)) {
        None => 0,
        Some(comma) => comma.map_or(line.chars().count(), |comma| comma + 1),
    };
    let blanks = line.chars().skip(column).take_while(|c| *c == ' ').count();
    Place {
        line_column: Some((line_number, column + blanks + 1)),
        text: Some(line.to_owned()),
        ..place.clone()
    }
}

fn short(text: &str) -> String {
    let start: String = text.chars().take(40).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

fn not_a_number(text: &str) -> Fault {
    if text.is_empty() {
        return Fault::new(
            "is empty",
            "a comma stands between two numbers, none after the last",
            "fill it, or remove the comma",
        );
    }
    let remedy = if text.contains([';', '\t', ' ']) {
        "put commas between the numbers: `numpy.savetxt(name, array, delimiter=\",\")`"
    } else if text.starts_with('−') {
        "write the minus sign as - (a hyphen)"
    } else {
        "write a number, with a point for decimals"
    };
    Fault::new(
        format!("is \"{}\", not a number", short(text)),
        "a CSV file of a matrix holds nothing but numbers",
        remedy,
    )
}

fn mixed() -> Fault {
    Fault::new(
        "the matrix mixes numbers with true and false",
        "an array is of one kind",
        "write 1 and 0 instead",
    )
}

fn no_numbers(header: bool, text: &str) -> Fault {
    let what = if header { "one row, and no number in it" } else { "the file has no rows" };
    let why = if header {
        format!(
            "a first row without numbers is taken for a header, and nothing follows: {}",
            short(text.trim())
        )
    } else {
        "it holds blank lines only".to_owned()
    };
    Fault::new(what, why, "write a row a line, with commas between the numbers")
}

fn broken(error: &::csv::Error) -> Fault {
    Fault::new(format!("this is not CSV: {error}"), "", "write a row a line, with commas between the numbers")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::texts;

    fn whole(text: &str) -> Outcome<Array> {
        parse(text, &Place { source: "w.csv".into(), ..Place::default() })
    }

    #[track_caller]
    fn case(text: &str, shape: [usize; 2], data: &[f64], kind: Kind) {
        assert_eq!(whole(text), Ok(Array { shape: shape.to_vec(), data: data.to_vec(), kind }));
    }

    #[test]
    fn a_row_a_line_with_or_without_a_header() {
        case("1,2,3\n4,5,6\n", [2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], Kind::Integer);
        case("a,b\n1, -2.5e-1\n", [1, 2], &[1.0, -0.25], Kind::F64);
        case("# queries\n1,2\n", [1, 2], &[1.0, 2.0], Kind::Integer);
        case("1\n\n\r\n2\r\n", [2, 1], &[1.0, 2.0], Kind::Integer);
        case("\"1\",\"2\"", [1, 2], &[1.0, 2.0], Kind::Integer);
        case("True,False\ntrue,false\n", [2, 2], &[1.0, 0.0, 1.0, 0.0], Kind::Bool);
        case("inf,-inf,-0.0", [1, 3], &[f64::INFINITY, f64::NEG_INFINITY, -0.0], Kind::F64);
        assert!(whole("nan").unwrap().data[0].is_nan());
    }

    #[track_caller]
    fn refused(text: &str, message: &str, place: Option<(usize, usize)>) {
        let faults = whole(text).unwrap_err();
        assert!(faults.to_string().contains(message), "{faults}");
        assert_eq!(faults.0[0].place.as_ref().unwrap().line_column, place, "{faults}");
    }

    #[test]
    fn each_fault_names_the_row_and_the_column() {
        refused("1,2\n3\n", "row 2 has 1 number, but row 1 has 2", Some((2, 2)));
        refused("1,2\n3,4,5\n", "row 2 has 3 numbers, but row 1 has 2", Some((2, 5)));
        refused("1,2\n\n3, x\n", "row 2, column 2 is \"x\", not a number", Some((3, 4)));
        refused("a,b\n1,2\n3,x\n", "row 3, column 2 is \"x\"", Some((3, 3)));
        refused("1,x\n3,4\n", "row 1, column 2 is \"x\"", Some((1, 3)));
        refused("\"1,5\",2\n", "row 1, column 1 is \"1,5\"", Some((1, 1)));
        refused("1,2,\n", "column 3 is empty", Some((1, 5)));
        refused("1 2\n3 4\n", "commas between the numbers", Some((1, 1)));
        refused("1 0\n3,4\n", "row 1, column 1 is \"1 0\"", Some((1, 1)));
        refused("1,−2\n", "a hyphen", Some((1, 3)));
        refused("1,1e999\n", "too large", Some((1, 3)));
        refused("9007199254740993\n", "beyond ±2^53", Some((1, 1)));
        refused("1,true\n", "mixes numbers with true and false", None);
        refused("a,b\n", "no number in it", None);
        refused("\n\n", "no rows", None);
    }

    #[test]
    fn all_faults_are_named_at_once_but_no_more_than_ten() {
        assert_eq!(whole("1,x\ny,2\n3\n").unwrap_err().0.len(), 3);
        assert_eq!(whole(&format!("1\n{}", "x\n".repeat(50))).unwrap_err().0.len(), limits::SHOWN);
    }

    #[test]
    fn no_cell_is_taken_for_a_formula() {
        for (cell, safe) in [
            ("=1+1", "'=1+1"),
            ("-a", "'-a"),
            ("\t=1", "' =1"),
            ("  @x", "'  @x"),
            ("a\u{1b}[2J", "a\\e[2J"),
            ("cat", "cat"),
            ("", ""),
        ] {
            assert_eq!(escape(cell), safe);
        }
    }

    proptest! {
        /// Spreadsheets look at the first sign of a cell, some of them behind blanks; the cell comes out of another's
        /// reader as it went in.
        #[test]
        fn no_text_is_a_formula_or_a_second_cell(text in texts()) {
            let cell = escape(&text);
            let mut lines = csv::Writer::from_writer(Vec::new());
            lines.write_record([&cell, "next"]).unwrap();
            let bytes = lines.into_inner().unwrap();
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&bytes[..]);
            let read: Vec<StringRecord> = reader.records().map(Result::unwrap).collect();
            prop_assert_eq!(&read, &[StringRecord::from(vec![cell.as_str(), "next"])]);
            prop_assert!(!cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']), "{}", cell);
            prop_assert!(!cell.chars().any(crate::fault::commands), "{:?}", cell);
        }
    }
}
