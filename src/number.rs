//! How numbers are written for people. JSON and npz never round; pages do.

/// A number with `digits` after the point; never `-0`, and never a bare zero for what is only small.
///
/// A hidden score is `−∞`. What rounds to zero but is not is written `4e-9`; what has more than nine digits before
/// the point is written `1.2346e12`.
pub fn number(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "∞" } else { "−∞" }.to_owned();
    }
    if value == 0.0 {
        return format!("{:.digits$}", 0.0);
    }
    if value.abs() >= 1e9 {
        return format!("{value:.digits$e}");
    }
    let fixed = format!("{value:.digits$}");
    let rounds_to_zero = digits > 0 && fixed.bytes().all(|b| matches!(b, b'0' | b'.' | b'-'));
    if fixed == "-0" {
        return "0".to_owned();
    }
    if rounds_to_zero { format!("{value:.0e}") } else { fixed }
}

/// A number by itself: whole where it is, with `digits` after the point where it is not.
pub fn plain(value: f64, digits: usize) -> String {
    number(value, if is_whole(value) { 0 } else { digits })
}

/// The digits that a whole table needs: none where every number is whole, else those asked for.
pub fn digits_for<'a>(values: impl IntoIterator<Item = &'a f64>, digits: usize) -> usize {
    let all_whole = values.into_iter().all(|v| !v.is_finite() || is_whole(*v));
    if all_whole { 0 } else { digits }
}

/// Whether a number is written without decimals: whole, and not so large that it is written with an exponent.
pub fn is_whole(value: f64) -> bool {
    value.fract() == 0.0 && value.abs() < 1e9
}

/// A whole number with its thousands set apart: 1050624 → 1,050,624.
pub fn grouped(count: u128) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// How a number is written in a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Form {
    /// Whole where it is whole, else with the digits of the page.
    #[default]
    Page,
    /// With so many digits after the point.
    Decimals(usize),
    /// As a percentage, with so many digits after the point.
    Percent(usize),
}

/// A number in a sentence; `digits` are those of the page. From 10,000 on thousands are set apart.
pub fn written(value: f64, digits: usize, form: Form) -> String {
    /// From here on not every whole number is a double, and the last digits mean nothing.
    const LARGEST_WHOLE: f64 = 1e15;
    match form {
        Form::Page if value.fract() == 0.0 && value.abs() < LARGEST_WHOLE => {
            thousands(&format!("{:.0}", value + 0.0)) // never −0
        }
        Form::Page => thousands(&number(value, digits)),
        Form::Decimals(digits) => thousands(&number(value, digits)),
        Form::Percent(digits) if value.is_finite() => {
            format!("{}%", thousands(&number(value * 100.0, digits)))
        }
        Form::Percent(digits) => number(value, digits),
    }
}

/// Decimals with the thousands before the point set apart, where there are five digits or more.
fn thousands(decimals: &str) -> String {
    let (sign, digits) = decimals.strip_prefix('-').map_or(("", decimals), |digits| ("-", digits));
    let before = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    match digits[..before].parse::<u128>() {
        Ok(whole) if before > 4 => format!("{sign}{}{}", grouped(whole), &digits[before..]),
        _ => decimals.to_owned(),
    }
}

/// Bytes, exactly and in one unit of 1024: `524288 bytes (512 KiB)`.
pub fn bytes(count: u128) -> String {
    if count < 1024 {
        return format!("{count} bytes");
    }
    format!("{} bytes ({})", grouped(count), rounded_bytes(count))
}

/// Bytes in the largest unit of 1024 that leaves at least one of it: `512 KiB`, `1.25 GiB`.
pub fn rounded_bytes(count: u128) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let size = if size.fract() == 0.0 {
        format!("{size:.0}")
    } else {
        format!("{:.2}", (size * 100.0).round() / 100.0)
    };
    format!("{size} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_zero_is_zero_and_small_is_not() {
        assert_eq!(number(-0.0, 4), "0.0000");
        assert_eq!(number(-0.00001, 4), "-1e-5");
        assert_eq!(number(0.12345678, 4), "0.1235");
        assert_eq!(number(f64::NEG_INFINITY, 4), "−∞");
        assert_eq!(number(12345678901.0, 2), "1.23e10");
    }

    #[test]
    fn whole_numbers_need_no_decimals() {
        assert_eq!(digits_for(&[1.0, 0.0, f64::NEG_INFINITY], 4), 0);
        assert_eq!(digits_for(&[1.0, 0.5], 4), 4);
    }

    #[test]
    fn counts_are_grouped_and_bytes_keep_their_unit() {
        assert_eq!(grouped(1050624), "1,050,624");
        assert_eq!(grouped(999), "999");
        assert_eq!(bytes(524288), "524,288 bytes (512 KiB)");
        assert_eq!(bytes(1000), "1000 bytes");
    }

    #[test]
    fn a_number_in_a_sentence_is_whole_or_has_the_digits_asked_for() {
        let page = |value| written(value, 4, Form::Page);
        assert_eq!(page(3.0), "3");
        assert_eq!(page(-0.0), "0");
        assert_eq!(page(9999.0), "9999");
        assert_eq!(page(-10000.0), "-10,000");
        assert_eq!(page(175e9), "175,000,000,000");
        assert_eq!(page(1.5), "1.5000");
        assert_eq!(page(12345.5), "12,345.5000");
        assert_eq!(page(1e300), "1.0000e300");
        assert_eq!(page(f64::NEG_INFINITY), "−∞");
        assert_eq!(page(f64::NAN), "NaN");
        assert_eq!(written(2.0, 4, Form::Decimals(2)), "2.00");
        assert_eq!(written(-0.4, 4, Form::Decimals(0)), "0");
        assert_eq!(written(12345.6, 4, Form::Decimals(0)), "12,346");
        assert_eq!(written(0.12345, 4, Form::Percent(1)), "12.3%");
        assert_eq!(written(1.0, 4, Form::Percent(0)), "100%");
        assert_eq!(written(f64::INFINITY, 4, Form::Percent(1)), "∞");
    }
}
