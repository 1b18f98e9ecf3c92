//! Whether claims are what comes out.

use nalgebra::DMatrix;

use super::{Check, no_step};
use crate::fault::Fault;
use crate::lesson::quantity::{Holds, Kind};
use crate::lesson::{Listed, Quantity};

impl Check<'_> {
    /// What is wrong with the place of claimed numbers.
    pub(super) fn no_cell(&self, listed: &Listed) -> Option<Fault> {
        let id = listed.step;
        let Ok((rows, columns)) = self.workshop.ran(listed.run.as_deref()).ok()?.shape(id) else {
            return Some(no_step(id));
        };
        let (row, column) = (listed.row.unwrap_or(0), listed.column.unwrap_or(0));
        (row >= rows || column >= columns).then(|| {
            Fault::new(
                format!("{id} has no cell [{},{}]", row + 1, column + 1),
                format!("it is {rows} × {columns}"),
                "rows and columns count from 1",
            )
        })
    }

    pub(super) fn listed(&mut self, claim: &Listed, path: &str) {
        let path = format!("{path}.equals");
        if !self.is_run(claim.run.as_deref(), &path) {
            return;
        }
        if let Some(fault) = self.no_cell(claim) {
            return self.fault(&path, fault);
        }
        let Ok(ran) = self.workshop.ran(claim.run.as_deref()) else { return };
        let Ok(value) = ran.value(claim.step) else { return };
        if let Some(fault) = untrue(claim, &value) {
            self.fault(&path, fault);
        }
    }

    /// Notes a comparison that does not hold.
    pub(super) fn holds(&mut self, quantity: &Quantity, path: &str, who: &str) {
        if !self.runs_of(quantity, path) {
            return;
        }
        match quantity.holds(self.workshop) {
            Ok(Holds::Yes) => {}
            Ok(Holds::No(failure)) => {
                let what = format!("{who} {quantity}, but {failure}");
                self.fault(path, Fault::new(what, "", "mend the claim, or the numbers it follows from"));
            }
            Err(why) => {
                let what = format!("{quantity} cannot be computed: {why}");
                let remedy = match quantity.kind() {
                    Kind::Truth => "",
                    Kind::Number | Kind::Matrix => "compare it: entropy(weights) < 1",
                };
                self.fault(path, Fault::new(what, "", remedy));
            }
        }
    }
}

/// What is untrue about a claim, if anything.
fn untrue(claim: &Listed, value: &DMatrix<f64>) -> Option<Fault> {
    let (from_row, from_column) = (claim.row.unwrap_or(0), claim.column.unwrap_or(0));
    let rows = claim.row.map_or(value.nrows(), |_| 1);
    let columns = claim.column.map_or(value.ncols(), |_| 1);
    let claimed = (claim.equals.len(), claim.equals.first().map_or(0, Vec::len));
    if claimed != (rows, columns) {
        return Some(Fault::new(
            format!("the claim about {} has {} × {} numbers", claim.step, claimed.0, claimed.1),
            format!("what it speaks of has {rows} × {columns}"),
            "claim a cell, a row, a column or the whole matrix",
        ));
    }
    for (r, line) in claim.equals.iter().enumerate() {
        for (c, said) in line.iter().enumerate() {
            let is = value[(from_row + r, from_column + c)];
            let same = is == *said || (is.is_nan() && said.is_nan()) || (is - said).abs() <= claim.tolerance;
            if !same {
                return Some(Fault::new(
                    format!(
                        "the lesson claims {}[{},{}] = {said}, but it is {is}",
                        claim.step,
                        from_row + r + 1,
                        from_column + c + 1
                    ),
                    format!(
                        "the difference is {:.1e}; at most {:.1e} is allowed",
                        (is - said).abs(),
                        claim.tolerance
                    ),
                    "mend the claim, or the numbers it follows from",
                ));
            }
        }
    }
    None
}
