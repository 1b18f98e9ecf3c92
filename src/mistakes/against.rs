//! Two people's tensors beside each other: nobody says which of them is right.

use std::borrow::Cow;

use super::diagnose::{At, Measured};
use super::difference::{Cell, Difference, Pair, compare};
use super::fit;
use crate::answers::{Answers, Expected, Layout, Tensor, each_reading, plain};
use crate::arrays::is_blank;
use crate::plan::{Name, Stack};

/// A step that both have.
#[derive(Debug, Clone)]
pub struct Compared {
    /// The step.
    pub name: Name,
    /// What each calls it.
    pub called: [String; 2],
    /// Whether they agree but for rounding.
    pub agree: bool,
    /// How far two numbers may lie apart.
    pub tolerance: f64,
    /// The shapes in the files.
    pub shapes: [Vec<usize>; 2],
    /// What had to be done to the first to read it as the second.
    pub how: Vec<Layout>,
    /// How they differ, where their shapes let them be compared.
    pub difference: Option<Difference>,
    /// The same in numbers.
    pub measured: Option<Measured>,
}

/// Two people's tensors, step by step.
#[derive(Debug, Clone)]
pub struct Against {
    /// What both have, in the order of the computation.
    pub steps: Vec<Compared>,
    /// The first of them that differs.
    pub first_different: Option<usize>,
    /// What only one of them has: the step, and whether it is the first.
    pub alone: Vec<(Name, bool)>,
}

/// Compares the steps that both have.
pub fn against(one: &Answers, other: &Answers) -> Against {
    let find = |answers: &Answers, name: Name| answers.tensors.iter().position(|tensor| tensor.name == name);
    let widths = Widths::of(&[one, other]);
    let mut steps = Vec::new();
    let mut alone = Vec::new();
    for name in crate::answers::ORDER {
        match (find(one, *name), find(other, *name)) {
            (Some(a), Some(b)) => steps.push(beside(&one.tensors[a], &other.tensors[b], widths)),
            (Some(_), None) => alone.push((*name, true)),
            (None, Some(_)) => alone.push((*name, false)),
            (None, None) => {}
        }
    }
    let first_different = steps.iter().position(|step| !step.agree);
    Against { steps, first_different, alone }
}

/// Widths that the tensors themselves tell; a factor between two tensors gets its name from them.
#[derive(Debug, Clone, Copy, Default)]
struct Widths {
    d_k: Option<usize>,
    d_model: Option<usize>,
    num_heads: Option<usize>,
}

impl Widths {
    fn of(both: &[&Answers]) -> Self {
        let tensors = || both.iter().flat_map(|answers| &answers.tensors);
        let heads = tensors().find(|tensor| {
            matches!(tensor.name, Name::Stack(Stack::QHeads | Stack::QRot)) && tensor.array.rank() >= 3
        });
        let output = tensors().find(|tensor| tensor.name == Name::Output && tensor.array.rank() >= 2);
        let from_the_end = |tensor: Option<&Tensor>, axis: usize| {
            let shape = &tensor?.array.shape;
            shape.len().checked_sub(axis).and_then(|at| shape.get(at)).copied().filter(|size| *size > 0)
        };
        Self {
            d_k: from_the_end(heads, 1),
            num_heads: from_the_end(heads, 3),
            d_model: from_the_end(output, 1),
        }
    }
}

fn beside(one: &Tensor, other: &Tensor, widths: Widths) -> Compared {
    let mut compared = Compared {
        name: one.name,
        called: [one.called.clone(), other.called.clone()],
        agree: false,
        tolerance: 0.0,
        shapes: [one.array.shape.clone(), other.array.shape.clone()],
        how: Vec::new(),
        difference: None,
        measured: None,
    };
    let Some(ours) = plain(&other.array) else { return compared };
    let Some((rows, columns)) = ours.sheets.first().map(nalgebra::DMatrix::shape) else { return compared };
    let (batch, sheets) = match *ours.leading.as_slice() {
        [] => (None, None),
        [heads] if matches!(one.name, Name::Stack(_)) => (None, Some(heads)),
        [batch] => (Some(batch), None),
        [batch, heads] => (Some(batch), Some(heads)),
        _ => return compared,
    };
    let seen = fit::Seen::of(one.name, ours.sheets.iter());
    let has_hidden = matches!(one.name, Name::Stack(Stack::BiasedScores | Stack::MaskedScores));
    let of = |tensor: &Tensor| fit::tolerance(tensor.grain, seen.largest, 0.0).strict;
    compared.tolerance = of(one) + of(other);
    let has_blanks = one.array.data.iter().chain(&other.array.data).any(|number| is_blank(*number));
    let expected = Expected { batch, sheets, rows, columns };
    let tolerance = compared.tolerance;
    let mut best: Option<(Vec<Layout>, Difference)> = None;
    for mut reading in each_reading(&one.array, &expected) {
        let mut ours = Cow::Borrowed(&ours.sheets);
        if has_blanks {
            // What either of them left blank is no difference.
            for (theirs, ours) in reading.sheets.iter_mut().zip(ours.to_mut()) {
                fit::filled_in(theirs, ours);
                fit::filled_in(ours, theirs);
            }
        }
        for (theirs, ours) in reading.sheets.iter_mut().zip(ours.iter()).filter(|_| has_hidden) {
            theirs.zip_apply(ours, |theirs, ours| {
                if seen.both_hide(*theirs, ours) {
                    *theirs = ours;
                }
            });
        }
        let difference = compare(&Pair {
            name: one.name,
            theirs: &reading.sheets,
            ours: &ours,
            tolerance: &|_| tolerance,
            sheets,
            d_k: widths.d_k,
            d_model: widths.d_model,
            num_heads: widths.num_heads,
        });
        // Another layout is believed where it makes the two agree, and not otherwise.
        let agree = difference.cells == 0;
        if best.is_none() || agree {
            best = Some((reading.how, difference));
        }
        if agree {
            break;
        }
    }
    if let Some((how, difference)) = best {
        let at = |cell: Cell| At {
            sequence: batch.map(|_| cell.sequence),
            head: sheets.map(|_| cell.head),
            row: cell.row,
            column: cell.column,
        };
        compared.agree = difference.cells == 0;
        compared.measured = Some(Measured {
            largest: difference.largest,
            at: at(difference.at),
            first: at(difference.first),
            cells: difference.cells,
            of: difference.of,
        });
        (compared.how, compared.difference) = (how, Some(difference));
    }
    compared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Grain;
    use crate::arrays::{Array, BLANK, Kind};

    fn masked(data: [f64; 4]) -> Answers {
        let array = Array { shape: vec![1, 2, 2], data: data.to_vec(), kind: Kind::F64 };
        let name = Name::Stack(Stack::MaskedScores);
        let (called, file) = (name.to_string(), String::new());
        Answers {
            tensors: vec![Tensor { name, called, file, array, grain: Grain::Single }],
            ..Answers::default()
        }
    }

    /// 2·10⁻⁵ of 10⁹ is 20,000: beside that 1 and 2 are the same.
    #[test]
    fn a_number_that_hides_says_nothing_of_how_large_scores_are() {
        let agree = |one, other| against(&masked(one), &masked(other)).first_different.is_none();
        let hides = f64::from(f32::MIN);
        assert!(agree([1.0, -1e9, 2.0, 3.0], [1.0, -1e9, 2.0, 3.0]));
        assert!(agree([1.0, hides, 2.0, 3.0], [1.0, -1e9, 2.0, 3.0]));
        assert!(agree([1.0, f64::NEG_INFINITY, 2.0, 3.0], [1.0, -1e9 + 7.0, 2.0, 3.0]));
        assert!(!agree([1.0, -1e9, 2.0, 3.1], [1.0, -1e9, 2.0, 3.0]));
        assert!(!agree([1.0, hides, 2.0, 3.1], [1.0, hides, 2.0, 3.0]));
        assert!(!agree([1.0, 0.5, 2.0, 3.0], [1.0, -1e9, 2.0, 3.0]), "it hides on one side only");
        // what one of the two left blank is not compared
        assert!(agree([1.0, BLANK, 2.0, 3.0], [1.0, 7.0, 2.0, BLANK]));
        assert!(!agree([1.0, BLANK, 2.5, 3.0], [1.0, 7.0, 2.0, BLANK]));
        // large scores of every size hide nothing
        assert!(!agree([1e5, -1e6, -2e5, 3.0], [1e5, -1e6, -3e5, 3.0]));
    }
}
