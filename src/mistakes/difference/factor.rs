//! Factors that mean something in attention, and what they are called.

use super::Pair;

/// A factor by its name.
pub(super) struct Known {
    pub(super) value: f64,
    /// `√d_k = 2`: every meaning that it has here, then its value.
    pub(super) name: String,
    /// The bits of having chosen it out of so many.
    pub(super) choice: f64,
}

/// A name is for a factor that the data tells well: beyond this share of it, anything has a name nearby.
const COARSEST: f64 = 0.02;

/// Whole numbers up to this, and one over them, are told where nothing else fits.
const WHOLE: usize = 64;

/// The one known factor between `low` and `high`; `None` where there is none, or more than one.
pub(super) fn named(pair: &Pair<'_>, low: f64, high: f64) -> Option<Known> {
    let middle = f64::midpoint(low, high);
    let slack = 1e-12 * middle.abs();
    let fits = |value: f64| low - slack <= value && value <= high + slack;
    let fine = |share: f64| (high - low) / 2.0 <= share * middle.abs();
    if !fine(COARSEST) {
        return None;
    }
    let known = table(pair);
    let choice = (known.len() as f64).log2();
    let near: Vec<&Candidate> = known.iter().filter(|known| fits(known.value)).collect();
    if let Some(first) = near.first() {
        let same = |value: f64| (value - first.value).abs() <= 1e-12 * value.abs();
        if !near.iter().all(|other| same(other.value)) {
            return None;
        }
        let mut meanings: Vec<String> = Vec::new();
        for meaning in near.iter().filter_map(|known| known.meaning.clone()).take(2) {
            if meaning != first.written {
                meanings.push(meaning);
            }
        }
        meanings.push(first.written.clone());
        return Some(Known { value: first.value, name: meanings.join(" = "), choice });
    }
    let whole = (3..=WHOLE).flat_map(|n| [(n as f64, n.to_string()), (1.0 / n as f64, format!("1/{n}"))]);
    let (value, name) = whole.into_iter().find(|(value, _)| fine(1e-4) && fits(*value))?;
    Some(Known { value, name, choice: (known.len() as f64 + 2.0 * WHOLE as f64).log2() })
}

struct Candidate {
    value: f64,
    /// What it stands for in this problem: `√d_k`.
    meaning: Option<String>,
    /// The number itself: `√8`.
    written: String,
}

fn table(pair: &Pair<'_>) -> Vec<Candidate> {
    let size = |size: Option<usize>| size.filter(|size| *size > 0).map(|size| size as u128);
    let (d_k, d_model, heads) = (size(pair.d_k), size(pair.d_model), size(pair.num_heads));
    let square = |size: Option<u128>| size.and_then(|size| size.checked_mul(size));
    let one = Some(1);
    // Each is the root of a fraction.
    let meant = [
        ("√d_k", d_k, one),
        ("1/√d_k", one, d_k),
        ("d_k", square(d_k), one),
        ("1/d_k", one, square(d_k)),
        ("√(d_model/d_k)", d_model, d_k),
        ("√(d_k/d_model)", d_k, d_model),
        ("num_heads", square(heads), one),
        ("1/num_heads", one, square(heads)),
        ("√num_heads", heads, one),
        ("1/√num_heads", one, heads),
    ];
    let plain = [(2, 1), (1, 2), (4, 1), (1, 4)];
    let meant = meant.into_iter().filter_map(|(meaning, over, under)| {
        let (value, written) = root(over?, under?);
        Some(Candidate { value, meaning: Some(meaning.to_owned()), written })
    });
    let plain = plain.into_iter().map(|(over, under)| {
        let (value, written) = root(over, under);
        Candidate { value, meaning: None, written }
    });
    let others = [
        (-1.0, "−1"),
        (std::f64::consts::E, "e"),
        (1.0 / std::f64::consts::E, "1/e"),
        (std::f64::consts::LOG2_E, "log₂ e"),
        (std::f64::consts::LN_2, "ln 2"),
    ];
    let others = others.into_iter().map(|(value, written)| Candidate {
        value,
        meaning: None,
        written: written.to_owned(),
    });
    meant.chain(plain).chain(others).filter(|known| known.value != 1.0).collect()
}

/// √(over / under) and how it is written: `2`, `1/3`, `√8`, `1/√8`, `√(3/2)`.
fn root(over: u128, under: u128) -> (f64, String) {
    let shared = divisor(over, under);
    let (over, under) = (over / shared, under / shared);
    let value = (over as f64 / under as f64).sqrt();
    let part = |square: u128| match square.isqrt() {
        root if root * root == square => (true, root.to_string()),
        _ => (false, format!("√{square}")),
    };
    let written = match (part(over), part(under)) {
        ((_, over), (true, under)) if under == "1" => over,
        ((false, _), (false, _)) => format!("√({over}/{under})"),
        ((_, over), (_, under)) => format!("{over}/{under}"),
    };
    (value, written)
}

fn divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a.max(1) } else { divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_written_as_people_write_them() {
        let written = |over, under| root(over, under).1;
        assert_eq!(written(4, 1), "2");
        assert_eq!(written(8, 1), "√8");
        assert_eq!(written(1, 8), "1/√8");
        assert_eq!(written(16, 2), "√8");
        assert_eq!(written(1, 16), "1/4");
        assert_eq!(written(3, 2), "√(3/2)");
        assert_eq!(written(4, 9), "2/3");
        assert_eq!(written(3, 4), "√3/2");
    }
}
