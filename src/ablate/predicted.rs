//! What a language head makes of hidden states: the loss over a passage, and the most likely tokens.

use nalgebra::DMatrix;

use super::masked::mask_id;
use crate::fault::Outcome;
use crate::model::readout::{Reading, Readout};
use crate::model::task::arithmetic;
use crate::model::{Model, Passage};

/// What a loss is the mean of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measured {
    /// −ln p of every next token: what a causal model is trained for.
    Next,
    /// −ln p of the tokens that were hidden from a masked model: what it is trained for.
    Hidden,
    /// −ln p of the tokens as they stand, which the model can see: no more than how well it still recognises them.
    Seen,
}

/// Reads hidden states of a passage with the model's language head.
pub struct Reader<'m> {
    model: &'m Model,
    readout: &'m Readout,
    /// What the loss is the mean of.
    pub measured: Measured,
    /// Tokens that the loss is the mean over.
    pub count: usize,
    /// The rows of hidden states that are read (from 0), and the token that belongs to each.
    rows: Vec<(usize, Option<u32>)>,
    /// The rows whose most likely tokens are wanted (from 0).
    shown: Vec<usize>,
    top: usize,
}

/// What a language head says about a passage.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Predicted {
    /// The mean of −ln p (nats); `None` where there is no token to predict.
    pub loss: Option<f64>,
    /// The most likely tokens where they were wanted.
    pub at: Vec<Prediction>,
}

/// The most likely tokens at one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Which row was read (from 0).
    pub position: usize,
    /// What stands there in the text, and its probability; `None` where nobody knows.
    pub target: Option<(u32, f64)>,
    /// Tokens with their probabilities, the likeliest first.
    pub top: Vec<(u32, f64)>,
}

impl<'m> Reader<'m> {
    /// A reader of a passage; `hidden` are its tokens that were masked (from 0), with what stood there. `None` where the
    /// checkpoint has no language head.
    pub fn new(model: &'m Model, passage: &Passage, hidden: &[(usize, u32)], top: usize) -> Option<Self> {
        let readout = model.blueprint.readout.as_ref()?;
        let ids = &passage.ids;
        let mask = mask_id(model);
        let (measured, targets): (_, Vec<(usize, u32)>) = if model.blueprint.is_causal {
            let next = ids.iter().skip(1).copied();
            (Measured::Next, next.enumerate().collect())
        } else if hidden.is_empty() {
            let own = |at: &usize| !passage.is_special[*at] && mask != Some(ids[*at]);
            (Measured::Seen, (0..ids.len()).filter(own).map(|at| (at, ids[at])).collect())
        } else {
            (Measured::Hidden, hidden.to_vec())
        };
        let shown: Vec<usize> = if model.blueprint.is_causal {
            ids.len().checked_sub(1).into_iter().collect()
        } else {
            (0..ids.len()).filter(|at| mask == Some(ids[*at])).collect()
        };
        let mut rows: Vec<(usize, Option<u32>)> = targets.iter().map(|(at, id)| (*at, Some(*id))).collect();
        let untold: Vec<usize> =
            shown.iter().copied().filter(|row| rows.iter().all(|(known, _)| known != row)).collect();
        rows.extend(untold.into_iter().map(|row| (row, None)));
        Some(Self { model, readout, measured, count: targets.len(), rows, shown, top })
    }

    /// What the head says at the end of each of these runs (n × d_model each); the vocabulary is read once for all of them.
    ///
    /// # Errors
    /// The language head cannot be read.
    pub fn read_all(&self, runs: &[&DMatrix<f32>]) -> Outcome<Vec<Predicted>> {
        let each = self.rows.len();
        if each == 0 {
            return Ok(runs.iter().map(|_| Predicted { loss: None, at: Vec::new() }).collect());
        }
        let width = runs.first().map_or(0, |run| run.ncols());
        let at = |row: usize| (row / each, self.rows[row % each].0);
        let hidden = DMatrix::from_fn(runs.len() * each, width, |row, column| {
            let (run, token) = at(row);
            runs[run][(token, column)]
        });
        let targets: Vec<Option<u32>> =
            runs.iter().flat_map(|_| self.rows.iter().map(|(_, id)| *id)).collect();
        let readings =
            self.readout.read(&*self.model.checkpoint, &hidden, &targets, self.top, arithmetic())?;
        Ok(readings.chunks(each).map(|readings| self.predicted(readings)).collect())
    }

    /// The same for a number of runs that is known.
    ///
    /// # Errors
    /// The language head cannot be read.
    pub fn read<const RUNS: usize>(&self, runs: [&DMatrix<f32>; RUNS]) -> Outcome<[Predicted; RUNS]> {
        let mut read = self.read_all(&runs)?.into_iter();
        Ok(runs.map(|_| read.next().unwrap_or_default()))
    }

    fn predicted(&self, readings: &[Reading]) -> Predicted {
        let losses: Vec<f64> = readings.iter().filter_map(Reading::loss).collect();
        let loss = (!losses.is_empty()).then(|| losses.iter().sum::<f64>() / losses.len() as f64);
        let at = self.rows.iter().zip(readings).filter(|((row, _), _)| self.shown.contains(row));
        let at = at.map(|((position, id), reading)| Prediction {
            position: *position,
            target: id.zip(reading.target).map(|(id, score)| (id, reading.probability(score))),
            top: reading.top.iter().map(|(id, score)| (*id, reading.probability(*score))).collect(),
        });
        Predicted { loss, at: at.collect() }
    }

    /// What a token is called: as people read it, or its number.
    pub fn name(&self, id: u32) -> String {
        let name = self.model.tokens.as_ref().and_then(|tokens| tokens.label(id));
        name.unwrap_or_else(|| id.to_string())
    }
}
