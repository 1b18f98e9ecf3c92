//! An axis: where a number stands on it, and which round numbers stand beside it.

/// Beyond this a number has no place: sums and differences of such numbers would overflow.
const LARGEST: f64 = 1e300;
/// Numbers closer than this are one: what is divided by their distance would overflow.
const SMALLEST: f64 = 1e-280;
/// The most ticks that an axis may have.
const MOST_TICKS: usize = 24;

/// From the least to the most number that it shows, straight or logarithmic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Axis {
    log: bool,
    /// The ends, as [`Axis::scaled`] numbers.
    from: f64,
    to: f64,
}

impl Axis {
    /// An axis that ends where its numbers end.
    pub(super) fn tight(numbers: impl Iterator<Item = f64>, log: bool) -> Self {
        let blank = Self { log, from: f64::INFINITY, to: f64::NEG_INFINITY };
        let ends = numbers.filter_map(|number| blank.scaled(number));
        let (from, to) = ends.fold((blank.from, blank.to), |(from, to), at| (from.min(at), to.max(at)));
        if from > to {
            return Self { log, from: 0.0, to: 1.0 };
        }
        // All numbers are one, as far as a picture can tell them apart: it stands in the middle.
        if to - from <= (1e-9 * from.abs().max(to.abs())).max(SMALLEST) {
            let room = if log || from.abs() <= SMALLEST { 1.0 } else { from.abs() / 2.0 };
            return Self { log, from: from - room, to: to + room };
        }
        Self { log, from, to }
    }

    /// An axis that ends at round numbers; where all numbers are on one side of 0 and not far from it, at 0.
    pub(super) fn rounded(numbers: impl Iterator<Item = f64>, log: bool) -> Self {
        let mut axis = Self::tight(numbers, log);
        if !log {
            if axis.from > 0.0 && axis.from <= axis.to / 2.0 {
                axis.from = 0.0;
            }
            if axis.to < 0.0 && axis.to >= axis.from / 2.0 {
                axis.to = 0.0;
            }
        }
        // A logarithmic axis ends at powers of ten, unless all its numbers lie within one.
        let step = if log { 1.0 } else { step(axis.to - axis.from, 4.0) };
        if !log || axis.to - axis.from >= 1.0 {
            axis.from = libm::floor(axis.from / step + 1e-9) * step;
            axis.to = libm::ceil(axis.to / step - 1e-9) * step;
        }
        axis
    }

    /// Where a number stands, from 0 to 1; nowhere where it is not finite or has no logarithm.
    pub(super) fn place(&self, number: f64) -> Option<f64> {
        let place = (self.scaled(number)? - self.from) / (self.to - self.from);
        place.is_finite().then(|| place.clamp(0.0, 1.0))
    }

    fn scaled(&self, number: f64) -> Option<f64> {
        let scaled = if self.log { libm::log10(number) } else { number };
        (scaled.is_finite() && number.abs() <= LARGEST).then_some(scaled)
    }

    /// Round numbers on the axis, about `most` of them, with their places and as they are written.
    pub(super) fn ticks(&self, most: usize) -> Vec<(f64, String)> {
        let most = most.clamp(2, MOST_TICKS);
        let numbers = if self.log { self.decades(most) } else { self.steps(most) };
        let ticks = numbers.into_iter().filter_map(|(number, words)| Some((self.place(number)?, words)));
        ticks.collect()
    }

    fn steps(&self, most: usize) -> Vec<(f64, String)> {
        let step = step(self.to - self.from, most.saturating_sub(1).max(1) as f64);
        let decimals = (-libm::floor(libm::log10(step) + 1e-9)).clamp(0.0, 300.0) as usize;
        let first = libm::ceil(self.from / step - 1e-6);
        let written = |number: f64| {
            let number = if number.abs() < step / 2.0 { 0.0 } else { number };
            let plain = (1e-4..1e6).contains(&number.abs()) || number == 0.0;
            if plain && decimals <= 6 { format!("{number:.decimals$}") } else { short(number) }
        };
        let all = (0..=MOST_TICKS).map(|at| (first + at as f64) * step);
        all.take_while(|number| *number <= self.to + step * 1e-6)
            .map(|number| (number, written(number)))
            .collect()
    }

    /// Powers of ten, every so many that they have room; where there are few, 2 and 5 times them too, or else a number
    /// at each end.
    fn decades(&self, most: usize) -> Vec<(f64, String)> {
        let (first, last) = (libm::floor(self.from + 1e-9), libm::ceil(self.to - 1e-9));
        let every = libm::ceil((last - first) / most as f64).max(1.0);
        let times: &[f64] = if last - first <= 2.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let mut numbers = Vec::new();
        for at in 0..=2 * MOST_TICKS {
            let decade = libm::floor(first / every) * every + at as f64 * every;
            if decade > last {
                break;
            }
            let powers = times.iter().map(|times| times * libm::pow(10.0, decade));
            numbers.extend(powers.filter(|number| {
                let at = libm::log10(*number);
                at >= self.from - 1e-9 && at <= self.to + 1e-9
            }));
        }
        if numbers.len() < 2 {
            numbers = vec![libm::pow(10.0, self.from), libm::pow(10.0, self.to)];
        }
        numbers.into_iter().map(|number| (number, short(number))).collect()
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that cuts a span into at most so many parts.
fn step(span: f64, parts: f64) -> f64 {
    let size = libm::pow(10.0, libm::floor(libm::log10(span / parts)));
    let step =
        [1.0, 2.0, 5.0, 10.0].map(|times| times * size).into_iter().find(|step| span / step <= parts + 1e-9);
    step.filter(|step| *step > 0.0 && step.is_finite()).unwrap_or(1.0)
}

/// A number as it stands at a tick: whole numbers whole, others with at most four significant digits.
pub fn short(number: f64) -> String {
    let size = number.abs();
    if number == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e6).contains(&size) {
        let text = format!("{number:.3e}");
        let Some((digits, power)) = text.split_once('e') else { return text };
        return format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.'));
    }
    if number.fract() == 0.0 {
        return format!("{number}");
    }
    let decimals = (3.0 - libm::floor(libm::log10(size))).clamp(0.0, 8.0) as usize;
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(axis: Axis, most: usize) -> Vec<String> {
        axis.ticks(most).into_iter().map(|(_, words)| words).collect()
    }

    fn over(numbers: &[f64], log: bool) -> Axis {
        Axis::rounded(numbers.iter().copied(), log)
    }

    /// 0.25 is less than half of 2.5, so the axis starts at 0; a quarter of 2.5 is 0.625, the next
    /// round step is 1. From −3 to 5 it is 2.
    #[test]
    fn an_axis_ends_at_round_numbers() {
        assert_eq!(written(over(&[0.25, 2.5], false), 4), ["0", "1", "2", "3"]);
        assert_eq!(written(over(&[0.25, 2.5], false), 7), ["0.0", "0.5", "1.0", "1.5", "2.0", "2.5", "3.0"]);
        assert_eq!(written(over(&[24.9, 25.8], false), 6), ["24.5", "25.0", "25.5", "26.0"]);
        assert_eq!(written(over(&[-3.0, 5.0], false), 6), ["-4", "-2", "0", "2", "4", "6"]);
    }

    /// 4 to 256 lie between 1 and 1000; on an axis that ends at its numbers only 10 and 100 have a place.
    #[test]
    fn a_logarithmic_axis_counts_in_powers_of_ten() {
        assert_eq!(written(Axis::tight([4.0, 256.0].into_iter(), true), 6), ["10", "100"]);
        assert_eq!(written(over(&[1.0, 1e12], true), 5), ["1", "1000", "1e6", "1e9", "1e12"]);
        assert_eq!(over(&[1.0, 100.0], true).place(10.0), Some(0.5));
        assert_eq!(over(&[1.0, 100.0], true).place(-1.0), None);
    }

    #[test]
    fn one_number_stands_in_the_middle() {
        for (number, log) in [(0.0, false), (-7.5, false), (1e-250, false), (12.0, true)] {
            let place = Axis::tight([number, number].into_iter(), log).place(number).unwrap();
            assert!((place - 0.5).abs() < 1e-9, "{number} stands at {place}");
        }
    }

    #[test]
    fn no_number_makes_an_axis_without_an_end() {
        let hard = [
            0.0,
            -0.0,
            1e-300,
            5e-324,
            1e300,
            -1e300,
            f64::MAX,
            f64::NAN,
            f64::INFINITY,
            1.0,
            1.0 + f64::EPSILON,
        ];
        for a in hard {
            for b in hard {
                for log in [false, true] {
                    for axis in [over(&[a, b], log), Axis::tight([a, b].into_iter(), log)] {
                        let ticks = axis.ticks(5);
                        assert!(ticks.len() <= MOST_TICKS + 1, "{a} {b} {log}: {}", ticks.len());
                        assert!(ticks.iter().all(|(place, _)| (0.0..=1.0).contains(place)), "{a} {b} {log}");
                        if a.is_finite() && a.abs() <= LARGEST && (!log || a > 0.0) {
                            assert!(axis.place(a).is_some(), "{a} {b} {log}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_tick_is_short() {
        let cases = [
            (512.0, "512"),
            (12288.0, "12288"),
            (0.125, "0.125"),
            (1.0 / 3.0, "0.3333"),
            (1e-5, "1e-5"),
            (-2.5e7, "-2.5e7"),
        ];
        for (number, written) in cases {
            assert_eq!(short(number), written);
        }
    }
}
