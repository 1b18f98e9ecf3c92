//! What a lesson states about its own numbers, and how exactly.

use super::course;
use super::literal::{Cells, literal};
use super::places::walk;
use super::reader::{Given, Node, Reader, Section};
use super::{Claim, Listed, Said};
use crate::arrays::Array;
use crate::limits::LESSON_SIZE;

/// How far off a whole number may be: nothing but rounding.
const WHOLE: f64 = 1e-9;

/// Reads `claims`. The tolerance is NaN where it follows from the digits typed, until [`pin`] has seen them.
pub(super) fn read(node: &Node, reader: &mut Reader) -> Option<Vec<Claim>> {
    let items =
        node.items(reader, "a list", "write claims: [{step: head.1.weights, row: 1, equals: […]}]")?;
    let claims: Vec<_> = items.iter().map(|item| claim(item, reader)).collect();
    claims.into_iter().collect()
}

fn claim(node: &Node, reader: &mut Reader) -> Option<Claim> {
    let section = node.section(&["step", "row", "column", "equals", "tolerance", "that"], reader)?;
    let Some(that) = section.get("that") else {
        return Some(Claim { said: Said::Numbers(listed(node, &section, reader)?), place: None });
    };
    if let Some(key) = section.keys().find(|key| *key != "that") {
        let what = format!("{} has both that and {key}", node.spot);
        let remedy = "write {that: \"head.1.weights[3,1] = 0.5\"}, or {step: …, equals: …}";
        return reader.fault(&node.spot, what, "a claim is one or the other", remedy);
    }
    course::quantity(&that, reader).map(|quantity| Claim { said: Said::That(quantity), place: None })
}

fn listed(node: &Node, section: &Section, reader: &mut Reader) -> Option<Listed> {
    let shown = section.given("step", reader, course::step_in_run);
    let index = |key: &str, reader: &mut Reader| {
        section.given(key, reader, |node, reader| Some(node.whole(reader, 1, LESSON_SIZE)? - 1))
    };
    let (row, column) = (index("row", reader), index("column", reader));
    let tolerance = section.given("tolerance", reader, |node, reader| match node.number(reader)? {
        tolerance if tolerance >= 0.0 => Some(tolerance),
        _ => node.refuse(reader, "a number that is not negative", "write tolerance: 1.0e-3, or leave it out"),
    });
    let one_row = !row.is_absent();
    let one_column = !column.is_absent();
    let equals = section.given("equals", reader, |node, reader| numbers(node, one_row, one_column, reader));
    for (key, missing) in [("step", shown.is_absent()), ("equals", equals.is_absent())] {
        if missing {
            let what = format!("{} has no {key}", node.spot);
            let remedy =
                "write {step: head.1.weights, row: 1, equals: [0.5, 0.5]}, or {that: \"rank(x) = 2\"}";
            reader.fault::<()>(&node.spot, what, "", remedy);
        }
    }
    let shown = shown.good().cloned()?;
    Some(Listed {
        step: shown.step,
        run: shown.run,
        row: row.optional()?,
        column: column.optional()?,
        equals: equals.good().cloned()?,
        tolerance: match tolerance {
            Given::Faulty => return None,
            given => given.or(f64::NAN)?,
        },
    })
}

/// The numbers claimed, as rows: a number for a cell, a list for a row or a column (one below the other), rows
/// for a matrix.
fn numbers(node: &Node, one_row: bool, one_column: bool, reader: &mut Reader) -> Option<Vec<Vec<f64>>> {
    let array = if node.value.is_sequence() {
        literal(node, reader, Cells::Any)?
    } else {
        let list = serde_yaml::Value::Sequence(vec![node.value.clone()]);
        match literal(
            &Node { value: &list, spot: node.spot.clone() },
            &mut Reader::new(reader.folder, reader.options),
            Cells::Any,
        ) {
            Some(array) => array,
            None => {
                let remedy = "write 0.5, [0.5, 0.5] or [[1, 0], [0, 1]]";
                return node.refuse(reader, "a number, a list or rows of numbers", remedy);
            }
        }
    };
    let Array { shape, data, .. } = array;
    let what = match (one_row, one_column) {
        (true, true) if data.len() == 1 => return Some(vec![data]),
        (true, false) if shape.len() == 1 || shape[0] == 1 => return Some(vec![data]),
        (false, true) if shape.len() == 1 || shape.get(1) == Some(&1) => {
            return Some(data.into_iter().map(|number| vec![number]).collect());
        }
        (false, false) if shape.len() == 1 => return Some(vec![data]),
        (false, false) if shape.len() == 2 => {
            return Some(data.chunks(shape[1]).map(<[f64]>::to_vec).collect());
        }
        (true, true) => "one number for the cell at this row and column",
        (true, false) => "a list for the row",
        (false, true) => "a list for the column",
        (false, false) => "a number, a list or rows of numbers",
    };
    let found = super::arrays_in::sizes(&shape);
    reader.fault(
        &node.spot,
        format!("{} is {found}, but it needs {what}", node.spot),
        "",
        "claim a cell, a row, a column or all",
    )
}

/// Gives each claim its place in the text and, where it has none, its tolerance: half a unit of the last digit of the
/// number that was typed with the most decimals. Whole numbers are meant exactly.
pub(super) fn pin(text: &str, claims: &mut [Claim]) {
    let mut decimals = vec![0; claims.len()];
    walk(text, |met| {
        let Some((number, inside)) =
            met.spot.as_str().strip_prefix("claims[").and_then(|rest| rest.split_once(']'))
        else {
            return;
        };
        let Some(index) = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)) else {
            return;
        };
        let Some(claim) = claims.get_mut(index) else { return };
        if inside.is_empty() {
            claim.place = Some(met.at);
        } else if inside.starts_with(".equals")
            && let Some(typed) = met.typed
        {
            decimals[index] = decimals[index].max(decimals_of(typed));
        }
    });
    for (claim, decimals) in claims.iter_mut().zip(decimals) {
        if let Said::Numbers(listed) = &mut claim.said
            && listed.tolerance.is_nan()
        {
            listed.tolerance = match decimals {
                0 => WHOLE,
                decimals => 0.5 * libm::pow(10.0, -f64::from(decimals)),
            };
        }
    }
}

/// How many decimals a number was typed with: 2 in `0.50`, 4 in `1.5e-3`, none in `12` and `1e3`.
pub(super) fn decimals_of(typed: &str) -> i32 {
    if typed.starts_with("0x") {
        return 0;
    }
    let (mantissa, exponent) = typed.split_once(['e', 'E']).unwrap_or((typed, "0"));
    let Ok(exponent) = exponent.parse::<i32>() else { return 0 };
    let behind = mantissa.split_once('.').map_or("", |(_, behind)| behind);
    if !behind.chars().all(|c| c.is_ascii_digit()) {
        return 0; // .inf and .nan
    }
    (i32::try_from(behind.len()).unwrap_or(0).saturating_sub(exponent)).clamp(0, 300)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_those_that_were_typed() {
        let cases = [
            ("0.3333", 4),
            ("0.50", 2),
            ("1", 0),
            ("-1.5e-3", 4),
            ("1e-05", 5),
            ("1e3", 0),
            (".5", 1),
            ("-.inf", 0),
        ];
        for (typed, decimals) in cases {
            assert_eq!(decimals_of(typed), decimals, "{typed}");
        }
    }
}
