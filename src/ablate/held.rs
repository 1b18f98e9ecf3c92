//! Where a study's runs find their numbers: values that are known, matrices that were read before, the plan's own source.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use nalgebra::DMatrix;

use crate::fault::Outcome;
use crate::ops::Real;
use crate::plan::{Source, StepId};

/// Values that are known, then the plan's own source.
pub(super) struct Known<'k, 'a, T: Real> {
    pub(super) values: &'k HashMap<StepId, Arc<DMatrix<T>>>,
    pub(super) rest: &'k Remembering<'a, T>,
}

impl<T: Real> Source<T> for Known<'_, '_, T> {
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<T>>>> {
        match self.values.get(&id) {
            Some(value) => Ok(Some(value.clone())),
            None => self.rest.matrix(id),
        }
    }
}

/// Numbers of learned matrices that are held between runs: 1 GiB of f32. What is beyond is read again.
const MOST_HELD: usize = 1 << 28;

/// A source that keeps what it has read, as far as there is room.
pub(super) struct Remembering<'a, T: Real> {
    source: &'a dyn Source<T>,
    held: Mutex<Held<T>>,
}

impl<'a, T: Real> Remembering<'a, T> {
    pub(super) fn new(source: &'a dyn Source<T>) -> Self {
        Self { source, held: Mutex::default() }
    }
}

struct Held<T> {
    matrices: HashMap<StepId, Arc<DMatrix<T>>>,
    numbers: usize,
}

impl<T> Default for Held<T> {
    fn default() -> Self {
        Self { matrices: HashMap::new(), numbers: 0 }
    }
}

impl<T: Real> Source<T> for Remembering<'_, T> {
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<T>>>> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(matrix) = held.matrices.get(&id) {
            return Ok(Some(matrix.clone()));
        }
        let matrix = self.source.matrix(id)?;
        if let Some(matrix) = &matrix
            && held.numbers + matrix.len() <= MOST_HELD
        {
            held.numbers += matrix.len();
            held.matrices.insert(id, matrix.clone());
        }
        Ok(matrix)
    }
}
