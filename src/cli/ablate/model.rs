//! Heads of real weights.

use nalgebra::DMatrix;

use super::{AblateArgs, Ending, Subject, rank, report, write};
use crate::ablate::masked::masked;
use crate::ablate::{Measured, Reader, Study};
use crate::fault::Outcome;
use crate::lesson::Labels;
use crate::model::Task;
use crate::model::task::arithmetic;
use crate::views::ablate::Forecast;

/// Tokens that are listed by their probability where nobody says how many.
const TOKENS_LISTED: usize = 5;

/// `mha ablate --model`: one ablation, or every head in turn.
///
/// # Errors
/// The model or its text cannot be read; there are no such heads.
pub(super) fn run(args: &AblateArgs) -> Outcome<Ending> {
    let model = args.model.opened()?;
    let mut passage = args.model.passage(&model)?;
    let positions: Vec<usize> = args.mask.iter().map(|position| position - 1).collect();
    let mut hidden: Vec<(usize, u32)> = Vec::new();
    if !positions.is_empty() {
        let whole = passage;
        passage = masked(&model, &whole, &positions)?;
        hidden = positions.iter().map(|position| (*position, whole.ids[*position])).collect();
        hidden.sort_unstable();
        hidden.dedup();
    }
    let labels = Labels { queries: passage.labels.clone(), keys: passage.labels.clone() };
    let top = if args.each { 0 } else { args.top.unwrap_or(TOKENS_LISTED) };
    let reader = Reader::new(&model, &passage, &hidden, top);
    let task = Task::new(&model, passage)?;
    let mut study = Study::new(task.plan.clone(), &task, None, arithmetic())?;
    let subject = Subject { title: &model.name, labels: &labels, sequence: None, shows_output: false };
    if args.each {
        let (loss, measured) = match &reader {
            Some(reader) => {
                let [before] = reader.read([&*study.value(study.last())?])?;
                (before.loss, reader.measured)
            }
            None => (None, Measured::Next),
        };
        let count = reader.as_ref().map_or(0, |reader| reader.count);
        let mut losses = |runs: &[DMatrix<f32>]| match (&reader, loss) {
            (Some(reader), Some(before)) => {
                let after = reader.read_all(&runs.iter().collect::<Vec<_>>())?;
                Ok(after.into_iter().map(|after| after.loss.map(|after| after - before)).collect())
            }
            _ => Ok(vec![None; runs.len()]),
        };
        return rank(args, &mut study, &subject, loss.map(|loss| (loss, measured, count)), &mut losses);
    }
    let (mut report, [before, after]) = report(args, &mut study, &subject)?;
    report.is_headless = reader.is_none();
    if let Some(reader) = &reader {
        let [before, after] = reader.read([&before, &after])?;
        report.prediction = Some(Forecast {
            measured: reader.measured,
            count: reader.count,
            before,
            after,
            name: Box::new(|id| reader.name(id)),
        });
    }
    write(args, &report)
}
