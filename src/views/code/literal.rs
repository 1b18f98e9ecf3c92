//! Numbers and arrays as Python writes them.

/// Columns that a line of code may take.
pub(super) const ROOM: usize = 100;

/// Decimals of an expected number.
const DECIMALS: usize = 6;

/// A number with its shortest exact decimals: `0.1`, `1e-7`, `-inf`; a whole one without a point.
pub(super) fn exact(value: f64) -> String {
    match value {
        v if v.is_nan() => "nan".to_owned(),
        v if v.is_infinite() => if v > 0.0 { "inf" } else { "-inf" }.to_owned(),
        0.0 => "0".to_owned(), // also −0
        v if v.abs() >= 1e16 || v.abs() < 1e-4 => format!("{v:e}"),
        v => v.to_string(),
    }
}

/// Numbers that a step is compared with, and how far off a number may be where that is not the usual 1e-6.
pub(super) fn expected(values: &[f64]) -> (Vec<String>, Option<String>) {
    let largest = values.iter().filter(|v| v.is_finite()).fold(0.0f64, |most, v| most.max(v.abs()));
    if largest > 0.0 && largest < 1e-3 {
        // To six decimals little would be left to compare.
        let power = largest.log10().floor() as i32 - DECIMALS as i32;
        return (values.iter().copied().map(exact).collect(), Some(format!("1e{power}")));
    }
    (values.iter().copied().map(rounded).collect(), None)
}

fn rounded(value: f64) -> String {
    if !value.is_finite() || value.abs() >= 1e6 {
        return exact(value);
    }
    let fixed = format!("{value:.DECIMALS$}");
    match fixed.trim_end_matches('0').trim_end_matches('.') {
        "-0" => "0".to_owned(),
        short => short.to_owned(),
    }
}

/// Nested lists of a shape. On one line where `before` and `after` columns leave the room; else an item a line, each
/// indented by four more than `indent`.
pub(super) fn nested(
    cells: &[String],
    shape: &[usize],
    indent: usize,
    before: usize,
    after: usize,
) -> String {
    let flat = on_one_line(cells, shape);
    if before + flat.len() + after <= ROOM || shape.is_empty() {
        return flat;
    }
    let deeper = indent + 4;
    let margin = " ".repeat(deeper);
    let mut text = "[\n".to_owned();
    match shape {
        [_] => {
            for line in filled(cells, ROOM - deeper) {
                text.push_str(&format!("{margin}{line}\n"));
            }
        }
        [count, inner @ ..] => {
            for item in cells.chunks((cells.len() / (*count).max(1)).max(1)) {
                text.push_str(&format!("{margin}{},\n", nested(item, inner, deeper, deeper, 1)));
            }
        }
        [] => {}
    }
    text + &" ".repeat(indent) + "]"
}

fn on_one_line(cells: &[String], shape: &[usize]) -> String {
    match shape {
        [] => cells.concat(),
        [_] => format!("[{}]", cells.join(", ")),
        [count, inner @ ..] => {
            let items = cells.chunks((cells.len() / (*count).max(1)).max(1));
            format!("[{}]", items.map(|item| on_one_line(item, inner)).collect::<Vec<_>>().join(", "))
        }
    }
}

/// Cells on lines as long as there is room for, each with its comma.
fn filled(cells: &[String], room: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for cell in cells {
        match lines.last_mut() {
            Some(line) if line.len() + cell.len() + 2 <= room => line.push_str(&format!(" {cell},")),
            _ => lines.push(format!("{cell},")),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_number_is_written_exactly_and_briefly() {
        let written = [1.0, -0.0, 0.1, 2.5e-5, 1e300, f64::NEG_INFINITY, f64::NAN].map(exact);
        assert_eq!(written, ["1", "0", "0.1", "2.5e-5", "1e300", "-inf", "nan"]);
    }

    /// 1/√2 = 0.70710678118…; what is only noise beside 1/√2 is 0.
    #[test]
    fn an_expected_number_has_six_decimals() {
        let (cells, tolerance) = expected(&[0.5f64.sqrt(), 1e-17, -3.0, 1234567.25, f64::NEG_INFINITY]);
        assert_eq!((cells.join(" "), tolerance), ("0.707107 0 -3 1234567.25 -inf".to_owned(), None));
    }

    /// The largest is 2·10⁻⁷, and 10⁻⁷ · 10⁻⁶ = 10⁻¹³.
    #[test]
    fn where_all_is_small_the_digits_and_the_tolerance_follow() {
        let (cells, tolerance) = expected(&[2e-7, 0.0]);
        assert_eq!((cells.join(" "), tolerance), ("2e-7 0".to_owned(), Some("1e-13".to_owned())));
    }

    #[test]
    fn a_long_array_is_broken_at_its_outermost_items_first() {
        let cells: Vec<String> = (0..8).map(|n| n.to_string()).collect();
        assert_eq!(nested(&cells, &[2, 2, 2], 0, 0, 0), "[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]");
        assert_eq!(
            nested(&cells, &[2, 2, 2], 0, 80, 0),
            "[\n    [[0, 1], [2, 3]],\n    [[4, 5], [6, 7]],\n]"
        );
        let long: Vec<String> = (0..30).map(|n| (n + 1000).to_string()).collect();
        let text = nested(&long, &[30], 0, 0, 0);
        assert!(text.lines().all(|line| line.len() <= ROOM) && text.lines().count() == 4, "{text}");
    }
}
