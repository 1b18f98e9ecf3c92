//! From an exact number to the form in which a person writes it.

use super::form::Form;
use super::number::Number;
use super::powers::Powers;
use super::rational::{self, Rational, whole};
use super::surd::Surd;

impl Number {
    /// The number as it is written; nothing where its whole numbers would grow too long.
    pub fn form(&self) -> Option<Form> {
        let Self::Quotient { over, under } = self else { return Some(Form::MinusInfinity) };
        if let Some(number) = over.as_surd().filter(|_| under.is_one()) {
            return Some(of_surd(&number));
        }
        let (over, under) = in_whole_numbers(over, under)?;
        let (over, below_zero) =
            if all_negative(&over) { (over.scaled(&whole(-1).into()).ok()?, true) } else { (over, false) };
        let above = of_powers(&over);
        let form =
            if under.is_one() { above } else { Form::Fraction(Box::new(above), Box::new(of_powers(&under))) };
        Some(if below_zero { negative(form) } else { form })
    }
}

/// Both sums times what makes every fraction in them whole; sums with roots among their coefficients stay as they are.
fn in_whole_numbers(over: &Powers, under: &Powers) -> Option<(Powers, Powers)> {
    let plain = |sum: &Powers| sum.terms().iter().all(|(_, number)| number.as_rational().is_some());
    if !plain(over) || !plain(under) {
        return Some((over.clone(), under.clone()));
    }
    // The lower sum has no common divisor, so this is all that there is to clear.
    let below = whole(*over.content().ok()??.denom()).into();
    Some((over.scaled(&below).ok()?, under.scaled(&below).ok()?))
}

fn all_negative(sum: &Powers) -> bool {
    sum.terms().iter().all(|(_, number)| number.terms().iter().all(|(_, q)| *q.numer() < 0))
}

/// Σ cⱼ·e^αⱼ, the largest exponent first.
fn of_powers(sum: &Powers) -> Form {
    let mut terms = Vec::new();
    for (exponent, number) in sum.falling() {
        if exponent.is_zero() {
            match of_surd(number) {
                Form::Sum(own) => terms.extend(own),
                form => terms.push(form),
            }
        } else {
            let power = Form::Power(Box::new(of_surd(exponent)));
            terms.push(match of_surd(number) {
                Form::Whole(1) => power,
                Form::Negative(form) if *form == Form::Whole(1) => negative(power),
                Form::Negative(form) => negative(Form::Product(vec![*form, power])),
                form => Form::Product(vec![form, power]),
            });
        }
    }
    summed(terms)
}

/// Σ qᵢ·√nᵢ: roots first, then the fraction, as a score and what is added to it.
fn of_surd(number: &Surd) -> Form {
    let (fractions, roots): (Vec<_>, Vec<_>) = number.terms().iter().copied().partition(|(n, _)| *n == 1);
    summed(roots.into_iter().chain(fractions).map(|(n, q)| of_root(n, q)).collect())
}

/// q·√n as scores are written, a numerator over a root: √2 is 2/√2, and 5/4·√2 is 5/(2√2).
fn of_root(n: u64, q: Rational) -> Form {
    let wide = i128::from(n);
    let common = rational::gcd(wide, *q.denom());
    // At most 10¹⁸ · 10¹⁸, which an i128 holds.
    let above = q.numer().abs() * (wide / common);
    let below = q.denom() / common;
    let above = Form::Whole(above.unsigned_abs());
    let below = match (n, Form::Whole(below.unsigned_abs())) {
        (1, below) => below,
        (n, Form::Whole(1)) => Form::Root(n),
        (n, below) => Form::Product(vec![below, Form::Root(n)]),
    };
    let form = match below {
        Form::Whole(1) => above,
        below => Form::Fraction(Box::new(above), Box::new(below)),
    };
    if *q.numer() < 0 { negative(form) } else { form }
}

fn summed(mut terms: Vec<Form>) -> Form {
    match terms.len() {
        0 => Form::Whole(0),
        1 => terms.remove(0),
        _ => Form::Sum(terms),
    }
}

fn negative(form: Form) -> Form {
    Form::Negative(Box::new(form))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fraction(above: i128, below: i128) -> Number {
        Rational::new(above, below).into()
    }

    /// above / √below
    fn over_root(above: i128, below: i128) -> Number {
        fraction(above, 1).over(&fraction(below, 1).sqrt().unwrap()).unwrap()
    }

    #[track_caller]
    fn case(number: &Number, written: &str) {
        assert_eq!(number.form().unwrap().to_string(), written);
    }

    /// The field writes a score as a whole number over √d_k, in lowest terms, and so do we.
    #[test]
    fn scores_are_numerators_over_roots() {
        case(&over_root(1, 2), "1/√2");
        case(&over_root(2, 2), "2/√2");
        case(&fraction(2, 1).sqrt().unwrap(), "2/√2");
        case(&over_root(6, 4), "3");
        case(&over_root(5, 8), "5/(2√2)");
        case(&over_root(12, 3), "12/√3");
        case(&over_root(-1, 2), "−1/√2");
        case(&fraction(3, 7).over(&fraction(12, 1).sqrt().unwrap()).unwrap(), "3/(14√3)");
        case(&fraction(3, 4), "3/4");
        case(&fraction(0, 4), "0");
        case(&Number::MinusInfinity, "−∞");
        // ALiBi takes a quarter away from 1/√2.
        case(&over_root(1, 2).minus(&fraction(1, 4)).unwrap(), "1/√2 − 1/4");
    }

    /// With a = e^(1/√2), as the worked example's readers write them.
    #[test]
    fn weights_are_fractions_of_powers_of_e() {
        let a = over_root(1, 2).exp().unwrap();
        let one = fraction(1, 1);
        let sum = Number::sum([a.clone(), one.clone(), a.clone()]).unwrap(); // 2a + 1
        case(&a.over(&sum).unwrap(), "e^(1/√2)/(2e^(1/√2) + 1)");
        case(&one.over(&sum).unwrap(), "1/(2e^(1/√2) + 1)");
        // (a + 1)/(4a + 2): half of it.
        let half = Number::sum([a.clone(), one.clone()]).unwrap().over(&sum).unwrap().times(&fraction(1, 2));
        case(&half.unwrap(), "(e^(1/√2) + 1)/(4e^(1/√2) + 2)");
        // e^(−1/√2) / (e^(−1/√2) + 2) = 1 / (1 + 2a): the smallest exponent below is made 0.
        let b = over_root(-1, 2).exp().unwrap();
        case(
            &b.over(&Number::sum([b.clone(), one.clone(), one.clone()]).unwrap()).unwrap(),
            "1/(2e^(1/√2) + 1)",
        );
        // e^−2 − 1 over 2
        let less = fraction(-2, 1).exp().unwrap().minus(&one).unwrap();
        case(&less.times(&fraction(1, 2)).unwrap(), "(−1 + e^(−2))/2");
        case(&fraction(1, 1).exp().unwrap().times(&fraction(-3, 4)).unwrap(), "−3e/4");
    }

    /// tanh(1/2) = (e − 1)/(e + 1).
    #[test]
    fn a_capped_score_is_a_fraction_of_powers_too() {
        case(&fraction(1, 2).tanh().unwrap(), "(e − 1)/(e + 1)");
        case(&fraction(0, 1).tanh().unwrap(), "0");
        assert_eq!(fraction(1, 2).tanh().unwrap().exp(), Err(super::super::Why::PowerOfPower));
    }

    /// 2a/(2a + 1) + 1/(2a + 1) = 1; (3a + 3)/(2a + 2) = 3/2; a/3 taken three times is a.
    #[test]
    fn proportional_sums_are_plain_numbers() {
        let a = over_root(1, 2).exp().unwrap();
        let one = fraction(1, 1);
        let sum = Number::sum([a.clone(), a.clone(), one.clone()]).unwrap();
        let parts = [&a, &a, &one].map(|part| part.over(&sum).unwrap());
        assert_eq!(Number::sum(parts), Ok(one.clone()));
        let a_and_1 = Number::sum([a.clone(), one]).unwrap();
        let three = a_and_1.times(&fraction(3, 1)).unwrap();
        let two = a_and_1.times(&fraction(2, 1)).unwrap();
        assert_eq!(three.over(&two), Ok(fraction(3, 2)));
        let third = a.times(&fraction(1, 3)).unwrap();
        assert_eq!(Number::sum([third.clone(), third.clone(), third]), Ok(a));
    }
}
