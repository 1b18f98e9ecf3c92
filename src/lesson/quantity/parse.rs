//! From the text of an expression to its meaning: recursive descent, one function a rank of operators.
//!
//! ```text
//! claims  = chain {"and" chain}        chain = sum {comparison sum}
//! sum     = product {(+ | -) product}  product = signed {(* | /) signed}
//! signed  = "-" signed | power         power = atom ["^" signed]
//! atom    = number | constant | $ | "(" sum ")" | function "(" … ")" | step [part] [@run]
//! ```

use super::NotAQuantity;
use super::expr::{Chain, Comparison, Constant, Expr, Meaning, Operator, Part, Slice};
use super::functions::{self, COUNT, Figure, Function, SLOPE};
use super::token::{Kind, Token, tokens};
use crate::lesson::step_names;
use crate::limits::{EXPRESSION_CHARACTERS, EXPRESSION_DEPTH};
use crate::plan::StepId;

type Parsed<T> = Result<T, NotAQuantity>;

/// Reads an expression.
pub(super) fn meaning(text: &str) -> Parsed<Meaning> {
    if text.chars().nth(EXPRESSION_CHARACTERS).is_some() {
        let what = format!("it has more than {EXPRESSION_CHARACTERS} characters");
        return Err(NotAQuantity::new(what, EXPRESSION_CHARACTERS + 1, "a short expression"));
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, next: 0, depth: 0 };
    let meaning = parser.claims()?;
    match parser.peek() {
        Kind::End => Ok(meaning),
        Kind::Sign("==") => Err(parser.unexpected("one =").with_remedy("write = for ==")),
        Kind::Sign("%") => Err(parser.unexpected("an operator or the end").with_remedy("write 0.5 for 50 %")),
        Kind::Sign("[") => Err(parser
            .unexpected("an operator or the end")
            .with_remedy("brackets follow the name of a step: head.1.scores[1,3]")),
        Kind::Sign("(") => {
            let before = parser.next.checked_sub(1).map(|before| &parser.tokens[before].kind);
            let fault = parser.unexpected("an operator or the end");
            Err(match before {
                Some(Kind::Name(name)) => fault.with_remedy(functions::no_function(name)),
                _ => fault.with_remedy("write * between two factors"),
            })
        }
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'a> {
    /// Ends with [`Kind::End`], which is never passed.
    tokens: &'a [Token],
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> &'a Kind {
        &self.tokens[self.next].kind
    }

    fn at(&self) -> usize {
        self.tokens[self.next].at
    }

    fn take(&mut self) -> &'a Kind {
        let kind = self.peek();
        if *kind != Kind::End {
            self.next += 1;
        }
        kind
    }

    /// Passes a sign, where it is the next one.
    fn passes(&mut self, sign: &str) -> bool {
        let passes = matches!(self.peek(), Kind::Sign(next) if *next == sign);
        if passes {
            self.take();
        }
        passes
    }

    fn needs(&mut self, sign: &str) -> Parsed<()> {
        if self.passes(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    fn unexpected(&self, expected: &str) -> NotAQuantity {
        let what = match self.peek() {
            Kind::End => "it ends too early".to_owned(),
            other => format!("{} stands in the wrong place", other.told()),
        };
        NotAQuantity::new(what, self.at(), expected)
    }

    /// What `read` reads one level deeper; never so deep that the stack would not hold.
    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == EXPRESSION_DEPTH {
            let what = format!("it is nested more than {EXPRESSION_DEPTH} deep");
            return Err(NotAQuantity::new(
                what,
                self.at(),
                "fewer parentheses, functions and signs in one another",
            ));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn claims(&mut self) -> Parsed<Meaning> {
        let (first, rest) = self.chain()?;
        let joined = |parser: &Self| matches!(parser.peek(), Kind::Name(name) if name == "and");
        if rest.is_empty() && !joined(self) {
            return Ok(Meaning::Value(first));
        }
        let mut chains = vec![self.compared(first, rest)?];
        while joined(self) {
            self.take();
            let (first, rest) = self.chain()?;
            chains.push(self.compared(first, rest)?);
        }
        Ok(Meaning::Claims(chains))
    }

    /// A chain that compares something.
    fn compared(&self, first: Expr, rest: Vec<(Comparison, Expr)>) -> Parsed<Chain> {
        if rest.is_empty() {
            return Err(self
                .unexpected("one of = != < <= > >=")
                .with_remedy("`and` joins comparisons: a < 1 and b > 2"));
        }
        Ok(Chain { first, rest })
    }

    fn chain(&mut self) -> Parsed<(Expr, Vec<(Comparison, Expr)>)> {
        let first = self.sum()?;
        let mut rest = Vec::new();
        while let Some(comparison) = self.comparison() {
            self.take();
            rest.push((comparison, self.sum()?));
        }
        Ok((first, rest))
    }

    fn comparison(&self) -> Option<Comparison> {
        let Kind::Sign(sign) = self.peek() else { return None };
        Some(match *sign {
            "=" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::AtMost,
            ">" => Comparison::More,
            ">=" => Comparison::AtLeast,
            _ => return None,
        })
    }

    fn sum(&mut self) -> Parsed<Expr> {
        self.operations(&[Operator::Plus, Operator::Minus], Self::product)
    }

    fn product(&mut self) -> Parsed<Expr> {
        self.operations(&[Operator::Times, Operator::Over], Self::signed)
    }

    /// Values with operators of one rank between them.
    fn operations(&mut self, operators: &[Operator], operand: fn(&mut Self) -> Parsed<Expr>) -> Parsed<Expr> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operators.iter().find(|operator| self.passes(operator.sign())) {
            rest.push((*operator, operand(self)?));
        }
        Ok(if rest.is_empty() { first } else { Expr::Operations(Box::new(first), rest) })
    }

    fn signed(&mut self) -> Parsed<Expr> {
        if self.passes("-") {
            return Ok(Expr::Negative(Box::new(self.deeper(Self::signed)?)));
        }
        let base = self.atom()?;
        if self.passes("^") {
            let exponent = self.deeper(Self::signed)?;
            return Ok(Expr::Operations(Box::new(base), vec![(Operator::Power, exponent)]));
        }
        Ok(base)
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let expected = "a number, a step, a function or (";
        match self.peek() {
            Kind::Number(value, typed) => {
                self.take();
                Ok(Expr::Number { value: *value, typed: typed.clone() })
            }
            Kind::Sign("$") => {
                self.take();
                Ok(Expr::Variable)
            }
            Kind::Sign("(") => {
                self.take();
                let inner = self.deeper(Self::sum)?;
                self.closes()?;
                Ok(inner)
            }
            Kind::Name(name) => self.named(name),
            Kind::Sign("+") => {
                Err(self.unexpected(expected).with_remedy("a number without a sign is positive"))
            }
            _ => Err(self.unexpected(expected)),
        }
    }

    /// Passes a closing parenthesis.
    fn closes(&mut self) -> Parsed<()> {
        if self.comparison().is_some() {
            let remedy = "compare outside of parentheses and functions, and join comparisons with `and`";
            return Err(self.unexpected(")").with_remedy(remedy));
        }
        self.needs(")")
    }

    fn named(&mut self, name: &'a str) -> Parsed<Expr> {
        let at = self.at();
        if matches!(self.tokens.get(self.next + 1).map(|token| &token.kind), Some(Kind::Sign("("))) {
            return self.call(name);
        }
        if let Some(constant) = Constant::ALL.into_iter().find(|constant| constant.word() == name) {
            self.take();
            return Ok(Expr::Constant(constant));
        }
        if name == "and" {
            return Err(self.unexpected("a number, a step, a function or ("));
        }
        if let Some(function) = functions::names().find(|function| *function == name) {
            let fault = NotAQuantity::new(format!("{name} is a function without parentheses"), at, "(");
            return Err(fault.with_remedy(format!("write {}", functions::example(function))));
        }
        let step = self.step()?;
        let part = self.part()?;
        let run = self.run();
        Ok(Expr::Slice(Slice { step, part, run }))
    }

    /// The name of a step.
    fn step(&mut self) -> Parsed<StepId> {
        let Kind::Name(name) = self.peek() else { return Err(self.unexpected("the name of a step")) };
        let Ok(step) = name.parse() else {
            let fault = NotAQuantity::new(format!("{name} is not the name of a step"), self.at(), "a step");
            return Err(fault.with_remedy(step_names::remedy(name)));
        };
        self.take();
        Ok(step)
    }

    /// What stands in brackets behind a step.
    fn part(&mut self) -> Parsed<Part> {
        if !self.passes("[") {
            return Ok(Part::Whole);
        }
        if self.passes(",") {
            let column = self.counted()?;
            self.needs("]")?;
            return Ok(Part::Column(column));
        }
        let row = self.counted()?;
        if self.passes("]") {
            return Ok(Part::Row(row));
        }
        self.needs(",")?;
        if matches!(self.peek(), Kind::Sign("]")) {
            return Err(self.unexpected("a column").with_remedy(format!("write [{}] for the row", row + 1)));
        }
        let column = self.counted()?;
        self.needs("]")?;
        Ok(Part::Cell(row, column))
    }

    /// A row or column, from 1 as it is typed, from 0 as it is given.
    fn counted(&mut self) -> Parsed<usize> {
        let fault = self.unexpected("a row or column, counted from 1");
        let Kind::Number(_, typed) = self.peek() else { return Err(fault) };
        match typed.parse::<usize>() {
            Ok(number) if number >= 1 => {
                self.take();
                Ok(number - 1)
            }
            _ => Err(NotAQuantity::new(
                format!("{typed} is no row or column"),
                self.at(),
                "a number from 1 on",
            )),
        }
    }

    fn run(&mut self) -> Option<String> {
        let Kind::Run(run) = self.peek() else { return None };
        self.take();
        Some(run.clone())
    }

    fn call(&mut self, name: &'a str) -> Parsed<Expr> {
        let at = self.at();
        let read: Option<fn(&mut Self) -> Parsed<Expr>> = match name {
            COUNT => Some(Self::count),
            SLOPE => Some(Self::slope),
            _ => None,
        };
        let function = Function::ALL.iter().find(|function| function.word() == name);
        let figure = Figure::ALL.into_iter().find(|figure| figure.word() == name);
        if read.is_none() && function.is_none() && figure.is_none() {
            let fault = NotAQuantity::new(format!("{name} is not a function"), at, "a function");
            return Err(fault.with_remedy(functions::no_function(name)));
        }
        self.take();
        self.needs("(")?;
        let expr = match (read, function, figure) {
            (Some(read), ..) => read(self)?,
            (_, Some(function), _) => self.deeper(|parser| parser.arguments(*function, at))?,
            (.., figure) => {
                let run = self.run();
                Expr::Figure(figure.unwrap_or(Figure::Parameters), run)
            }
        };
        self.closes()?;
        Ok(expr)
    }

    fn arguments(&mut self, function: Function, at: usize) -> Parsed<Expr> {
        let mut arguments = Vec::new();
        if !matches!(self.peek(), Kind::Sign(")")) {
            arguments.push(self.sum()?);
            while self.passes(",") {
                arguments.push(self.sum()?);
            }
        }
        if arguments.len() != function.arity() {
            let what = format!("{} is given {}", function.word(), values(arguments.len()));
            let fault = NotAQuantity::new(what, at, values(function.arity()));
            return Err(fault.with_remedy(format!("write {}", functions::example(function.word()))));
        }
        Ok(Expr::Call(function, arguments))
    }

    /// `"what stands behind mha params", key`.
    fn count(&mut self) -> Parsed<Expr> {
        let remedy = format!("write {}", functions::example(COUNT));
        let Kind::Text(model) = self.peek() else {
            return Err(self
                .unexpected("in quotes what stands between `mha params` and `--format json`")
                .with_remedy(remedy));
        };
        self.take();
        self.needs(",").map_err(|fault| fault.with_remedy(remedy.clone()))?;
        let (Kind::Name(key) | Kind::Text(key)) = self.peek() else {
            return Err(self.unexpected("a key of what mha params --format json writes").with_remedy(remedy));
        };
        self.take();
        Ok(Expr::Count { model: model.clone(), key: key.clone() })
    }

    /// `a step, an input`.
    fn slope(&mut self) -> Parsed<Expr> {
        let out = self.step()?;
        let run = self.run();
        self.needs(",").map_err(|fault| fault.with_remedy(format!("write {}", functions::example(SLOPE))))?;
        let by = self.step()?;
        Ok(Expr::Slope { out, run, by })
    }
}

fn values(count: usize) -> String {
    match count {
        0 => "no value".to_owned(),
        1 => "one value".to_owned(),
        count => format!("{count} values"),
    }
}
