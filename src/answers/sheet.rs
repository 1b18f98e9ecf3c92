//! A CSV file with one number a line and where it stands: `step,row,column,…,value`.
//!
//! `mha worksheet --format csv` writes such a file to be filled in, and `mha trace --format csv` one that is. Columns go by
//! their names, in any order; rows and columns of a step count from 1; a value that is empty or `_` is a number left blank.

use std::collections::{BTreeMap, HashMap};

use ::csv::{ReaderBuilder, StringRecord, Trim};

use crate::arrays::{Array, BLANK, Kind, csv, stands_for_a_blank};
use crate::fault::{Fault, Faults, Outcome, Place};
use crate::limits::{self, SHEET_CELLS, SHEET_SIDE};

/// Where in a line the four parts stand.
struct Header {
    step: usize,
    row: usize,
    column: usize,
    value: usize,
}

impl Header {
    fn of(record: &StringRecord) -> Option<Self> {
        let at = |name: &str| record.iter().position(|cell| cell == name);
        Some(Self { step: at("step")?, row: at("row")?, column: at("column")?, value: at("value")? })
    }
}

/// The cells of one step, by row and column from 0.
#[derive(Default)]
struct Cells {
    /// How many steps stand before it.
    order: usize,
    numbers: BTreeMap<(usize, usize), f64>,
    height: usize,
    width: usize,
}

/// The steps of such a file, in its order; `None` where its first line does not name the four columns.
///
/// # Errors
/// Every line whose place or whose value is none, up to [`limits::SHOWN`]; a cell that stands there twice; sizes that
/// nobody fills in by hand.
pub(super) fn arrays(text: &str, place: &Place) -> Outcome<Option<Vec<(String, Array)>>> {
    csv::bounded(text, place)?;
    let mut records =
        ReaderBuilder::new().has_headers(false).flexible(true).trim(Trim::All).from_reader(text.as_bytes());
    let mut record = StringRecord::new();
    let mut read = |record: &mut StringRecord| {
        records.read_record(record).map_err(|error| {
            let remedy = "write a number a line, with commas between its step, row, column and value";
            Faults::from(Fault::new(format!("this is not CSV: {error}"), "", remedy).at(place.clone()))
        })
    };
    // What cannot be read as the first line of such a file is left to the reader of matrices.
    if !read(&mut record).unwrap_or(false) {
        return Ok(None);
    }
    let Some(header) = Header::of(&record) else { return Ok(None) };
    let mut steps: HashMap<String, Cells> = HashMap::new();
    let mut faults = Vec::new();
    while read(&mut record)? {
        let line = record.position().map_or(0, |position| position.line() as usize);
        if let Err(fault) = add(&record, &header, &mut steps) {
            let line_column = Some((line, 1));
            let shown = text.lines().nth(line.saturating_sub(1)).map(ToOwned::to_owned);
            faults.push(fault.at(Place { line_column, text: shown, ..place.clone() }));
        }
        if faults.len() >= limits::SHOWN {
            break;
        }
    }
    if !faults.is_empty() {
        return Err(Faults(faults));
    }
    if steps.is_empty() {
        let why = "its first line names the columns, and nothing follows";
        return Err(Fault::new("the sheet has no numbers", why, "make it again").at(place.clone()).into());
    }
    let mut steps: Vec<(String, Cells)> = steps.into_iter().collect();
    steps.sort_by_key(|(_, cells)| cells.order);
    let at = |name: &str| Place { path: format!("array {name}"), ..place.clone() };
    let promised = steps.iter().map(|(name, cells)| cells.count().map_err(|fault| fault.at(at(name))));
    let promised: usize = promised.sum::<Result<_, _>>()?;
    if promised > limits::CSV_CELLS {
        let what = format!("the steps of the sheet have {promised} numbers in all");
        let why =
            format!("the last row and column of each say so, and sheets have up to {}", limits::CSV_CELLS);
        return Err(Fault::new(what, why, "save large steps as .npy").at(place.clone()).into());
    }
    let arrays = steps.into_iter().map(|(name, cells)| {
        let whole = cells.array().map_err(|fault| fault.at(at(&name)))?;
        Ok((name, whole))
    });
    arrays.collect::<Outcome<Vec<_>>>().map(Some)
}

fn add(record: &StringRecord, header: &Header, steps: &mut HashMap<String, Cells>) -> Result<(), Fault> {
    let cell = |at: usize| record.get(at).unwrap_or_default();
    let counted = |name: &str, at: usize| match cell(at).parse::<usize>() {
        Ok(number) if (1..=SHEET_SIDE).contains(&number) => Ok(number - 1),
        _ => {
            let what = format!("the {name} is {:?}, not a number from 1 to {SHEET_SIDE}", cell(at));
            Err(Fault::new(what, "a value is placed by its row and column", "restore the line as it was"))
        }
    };
    let (row, column) = (counted("row", header.row)?, counted("column", header.column)?);
    let typed = cell(header.value);
    let number = match typed {
        blank if stands_for_a_blank(blank) => BLANK,
        typed => typed.parse::<f64>().map_err(|_| {
            let remedy = match typed {
                typed if typed.contains(',') => "write decimals with a point",
                _ => "write a number; leave the value empty where you have none",
            };
            Fault::new(format!("the value is {typed:?}, not a number"), "", remedy)
        })?,
    };
    let name = cell(header.step);
    let order = steps.len();
    if order == limits::ARRAYS && !steps.contains_key(name) {
        let what = format!("the file names more than {} steps", limits::ARRAYS);
        return Err(Fault::new(what, "so many are not read from one file", "hand over fewer steps"));
    }
    let cells = steps.entry(name.to_owned()).or_insert_with(|| Cells { order, ..Cells::default() });
    cells.height = cells.height.max(row + 1);
    cells.width = cells.width.max(column + 1);
    if cells.numbers.insert((row, column), number).is_some() {
        let what = format!("{name}[{},{}] stands there twice", row + 1, column + 1);
        return Err(Fault::new(
            what,
            "one of the two would be passed over in silence",
            "remove one of the lines",
        ));
    }
    Ok(())
}

impl Cells {
    /// How many cells its last row and column make of it.
    fn count(&self) -> Result<usize, Fault> {
        let count = self.height * self.width; // both at most SHEET_SIDE
        if count > SHEET_CELLS {
            let what = format!("a step of {} × {} numbers is too large for a sheet", self.height, self.width);
            return Err(Fault::new(what, "a number a line is meant for small matrices", "save it as .npy"));
        }
        Ok(count)
    }

    /// Cells whose line is missing are blank.
    fn array(self) -> Result<Array, Fault> {
        let count = self.count()?;
        let mut data = vec![BLANK; count];
        let is_whole = self.numbers.values().all(|number| number.fract() == 0.0 && number.abs() < 1e9);
        for ((row, column), number) in self.numbers {
            data[row * self.width + column] = number;
        }
        let kind = if is_whole { Kind::Integer } else { Kind::F64 };
        Array::new(vec![self.height, self.width], data, kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrays::is_blank;

    fn sheet(text: &str) -> Outcome<Option<Vec<(String, Array)>>> {
        arrays(text, &Place { source: "sheet.csv".into(), ..Place::default() })
    }

    #[test]
    fn a_number_a_line_goes_to_its_place() {
        let text = "step,row,column,row_name,column_name,value\n\
                    head.1.weights,1,1,a,a,0.25\nhead.1.weights,1,2,a,b,_\nhead.1.weights,2,2,b,b,-Infinity\n\
                    output,1,1,a,1,\n";
        let steps = sheet(text).unwrap().unwrap();
        let (name, weights) = &steps[0];
        assert_eq!((name.as_str(), weights.shape.as_slice()), ("head.1.weights", &[2, 2][..]));
        assert_eq!((weights.data[0], weights.data[3]), (0.25, f64::NEG_INFINITY));
        // One is marked as blank, the other's line is gone.
        assert!(is_blank(weights.data[1]) && is_blank(weights.data[2]));
        assert!(steps[1].0 == "output" && is_blank(steps[1].1.data[0]));
    }

    #[test]
    fn other_csv_is_a_matrix() {
        for text in ["1,2\n3,4\n", "a,b\n1,2\n", "", "step,row,value\nq,1,2\n"] {
            assert_eq!(sheet(text), Ok(None));
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let head = "step,row,column,value\n";
        for (line, message) in [
            ("q,0,1,2", "the row is \"0\""),
            ("q,1,5000,2", "the column is \"5000\""),
            ("q,1,1,two", "the value is \"two\""),
            ("q,1,1,\"0,5\"", "with a point"),
            ("q,1", "the column is \"\""),
            ("q,1,1,2\nq,1,1,3", "q[1,1] stands there twice"),
            ("q,4096,4096,2", "too large for a sheet"),
            ("", "no numbers"),
        ] {
            let told = sheet(&format!("{head}{line}\n")).unwrap_err().to_string();
            assert!(told.contains(message), "{line}: {told}");
        }
        let many = sheet(&format!("{head}{}", "q,x,1,1\n".repeat(50))).unwrap_err();
        assert_eq!(many.0.len(), limits::SHOWN);
        assert_eq!(many.0[0].place.as_ref().unwrap().line_column, Some((2, 1)));
    }
}
