//! How an exact number is written: one tree, as plain text and as LaTeX.

use std::fmt;

use unicode_width::UnicodeWidthStr;

/// An exact number as a person writes it: `1/√2`, `e^(1/√2)/(2e^(1/√2) + 1)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Form {
    /// A whole number from 0.
    Whole(u128),
    /// −∞: a hidden score.
    MinusInfinity,
    /// √n.
    Root(u64),
    /// e to some power.
    Power(Box<Form>),
    /// Factors one behind the other: 2√3, 2e^5.
    Product(Vec<Form>),
    /// A numerator over a denominator.
    Fraction(Box<Form>, Box<Form>),
    /// The same with a minus in front.
    Negative(Box<Form>),
    /// Terms with + between them, or − where a term is negative.
    Sum(Vec<Form>),
}

/// How tightly a form holds together: what stands inside something tighter wants brackets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Grip {
    Sum,
    Negative,
    Fraction,
    Product,
    Atom,
}

/// What a form is written in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Script {
    Plain,
    Latex,
}

impl Form {
    /// In LaTeX, for maths mode: `\frac{e^{1/\sqrt{2}}}{2e^{1/\sqrt{2}}+1}`.
    pub fn latex(&self) -> String {
        let mut text = String::new();
        self.write(Script::Latex, &mut text);
        text
    }

    /// Columns that it takes as plain text.
    pub fn width(&self) -> usize {
        UnicodeWidthStr::width(self.to_string().as_str())
    }

    fn grip(&self) -> Grip {
        match self {
            Self::Sum(_) => Grip::Sum,
            Self::Negative(_) => Grip::Negative,
            Self::Fraction(..) => Grip::Fraction,
            Self::Product(_) => Grip::Product,
            Self::Whole(_) | Self::MinusInfinity | Self::Root(_) | Self::Power(_) => Grip::Atom,
        }
    }

    fn write(&self, script: Script, text: &mut String) {
        let latex = script == Script::Latex;
        match self {
            Self::Whole(number) => text.push_str(&number.to_string()),
            Self::MinusInfinity => text.push_str(if latex { "-\\infty" } else { "−∞" }),
            Self::Root(n) if latex => text.push_str(&format!("\\sqrt{{{n}}}")),
            Self::Root(n) => text.push_str(&format!("√{n}")),
            Self::Power(exponent) if **exponent == Self::Whole(1) => text.push('e'),
            Self::Power(exponent) if latex => {
                text.push_str("e^{");
                exponent.write_slanted(text);
                text.push('}');
            }
            Self::Power(exponent) => {
                text.push_str("e^");
                let bare = matches!(**exponent, Self::Whole(_));
                exponent.write_within(if bare { Grip::Sum } else { Grip::Atom }, script, text);
            }
            Self::Product(factors) => {
                for factor in factors {
                    factor.write_within(Grip::Product, script, text);
                }
            }
            Self::Fraction(above, below) if latex => {
                text.push_str("\\frac{");
                above.write(script, text);
                text.push_str("}{");
                below.write(script, text);
                text.push('}');
            }
            Self::Fraction(above, below) => {
                above.write_within(Grip::Product, script, text);
                text.push('/');
                below.write_within(Grip::Atom, script, text);
            }
            Self::Negative(form) => {
                text.push(if latex { '-' } else { '−' });
                form.write_within(Grip::Fraction, script, text);
            }
            Self::Sum(terms) => {
                for (at, term) in terms.iter().enumerate() {
                    match term {
                        Self::Negative(form) if at > 0 => {
                            text.push_str(if latex { "-" } else { " − " });
                            form.write_within(Grip::Fraction, script, text);
                        }
                        term => {
                            if at > 0 {
                                text.push_str(if latex { "+" } else { " + " });
                            }
                            term.write_within(Grip::Negative, script, text);
                        }
                    }
                }
            }
        }
    }

    /// The form, in brackets unless it holds together at least as tightly as `grip`.
    fn write_within(&self, grip: Grip, script: Script, text: &mut String) {
        if self.grip() >= grip {
            self.write(script, text);
        } else if script == Script::Latex {
            text.push_str("\\left(");
            self.write(script, text);
            text.push_str("\\right)");
        } else {
            text.push('(');
            self.write(script, text);
            text.push(')');
        }
    }

    /// LaTeX with fractions on one line, as exponents have them: `1/\sqrt{2}`.
    fn write_slanted(&self, text: &mut String) {
        match self {
            Self::Fraction(above, below) => {
                above.write_within(Grip::Product, Script::Latex, text);
                text.push('/');
                let tight = matches!(**below, Self::Whole(_) | Self::Root(_));
                below.write_within(if tight { Grip::Sum } else { Grip::Atom }, Script::Latex, text);
            }
            Self::Negative(form) => {
                text.push('-');
                form.write_slanted(text);
            }
            Self::Sum(terms) => {
                for (at, term) in terms.iter().enumerate() {
                    if at > 0 && !matches!(term, Self::Negative(_)) {
                        text.push('+');
                    }
                    term.write_slanted(text);
                }
            }
            other => other.write(Script::Latex, text),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.write(Script::Plain, &mut text);
        f.write_str(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(number: u128) -> Form {
        Form::Whole(number)
    }

    fn over(above: Form, below: Form) -> Form {
        Form::Fraction(Box::new(above), Box::new(below))
    }

    fn minus(form: Form) -> Form {
        Form::Negative(Box::new(form))
    }

    /// a = e^(1/√2), as in the worked example.
    fn a() -> Form {
        Form::Power(Box::new(over(whole(1), Form::Root(2))))
    }

    #[test]
    fn a_form_is_written_in_text_and_in_latex() {
        #[track_caller]
        fn case(form: Form, plain: &str, latex: &str) {
            assert_eq!(form.to_string(), plain);
            assert_eq!(form.latex(), latex);
        }
        let two_a = Form::Product(vec![whole(2), a()]);
        case(
            over(a(), Form::Sum(vec![two_a.clone(), whole(1)])),
            "e^(1/√2)/(2e^(1/√2) + 1)",
            r"\frac{e^{1/\sqrt{2}}}{2e^{1/\sqrt{2}}+1}",
        );
        case(
            over(Form::Sum(vec![a(), minus(whole(1))]), whole(3)),
            "(e^(1/√2) − 1)/3",
            r"\frac{e^{1/\sqrt{2}}-1}{3}",
        );
        case(minus(over(whole(1), Form::Root(2))), "−1/√2", r"-\frac{1}{\sqrt{2}}");
        case(over(whole(5), Form::Product(vec![whole(2), Form::Root(2)])), "5/(2√2)", r"\frac{5}{2\sqrt{2}}");
        case(Form::Power(Box::new(whole(1))), "e", "e");
        case(Form::Power(Box::new(minus(whole(2)))), "e^(−2)", "e^{-2}");
        case(
            Form::Power(Box::new(Form::Sum(vec![
                over(whole(5), Form::Product(vec![whole(2), Form::Root(2)])),
                minus(over(whole(1), whole(4))),
            ]))),
            "e^(5/(2√2) − 1/4)",
            r"e^{5/\left(2\sqrt{2}\right)-1/4}",
        );
        case(minus(Form::Sum(vec![two_a, whole(1)])), "−(2e^(1/√2) + 1)", r"-\left(2e^{1/\sqrt{2}}+1\right)");
        case(Form::MinusInfinity, "−∞", r"-\infty");
    }
}
