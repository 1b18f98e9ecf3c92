//! How long a real model's forward pass takes with every attention map kept.
//!
//! `cargo bench --bench model -- --model DIR --n 128 --threads 1 --repetitions 9` prints one line of JSON: the ids are
//! 101, then 1000, 1007, 1014, …, then 102, as `benches/transformers.py` gives them to the reference. `load_ms` is what
//! opening takes, `first_ms` the first pass, which reads the weights; `median_ms` and `best_ms` are of passes after it,
//! whose weights stand in memory.
#![expect(clippy::print_stdout, reason = "a benchmark prints its measurements")]

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use mha::fault::Outcome;
use mha::model::{Model, Task, Text};
use mha::ops::Arithmetic;
use mha::plan::{HeadStep, Name, Source, StepId};
use mha::trace::{Keep, run_plan};
use nalgebra::DMatrix;

fn main() {
    let model = words("--model").unwrap_or_else(|| "all-MiniLM-L6-v2".to_owned());
    let (n, threads) = (flag("--n", 128), flag("--threads", 1));
    let repetitions = flag("--repetitions", 9);
    let start = Instant::now();
    let model = Model::open(&model).expect("a model's folder after --model");
    let loaded = start.elapsed();
    let middle = (0..n.saturating_sub(2)).map(|at| 1000 + 7 * at as u32);
    let ids = std::iter::once(101).chain(middle).chain([102]).collect();
    let passage = model.read(&Text::Ids(ids)).expect("ids of the vocabulary");
    let task = Task::new(&model, passage).expect("a plan");
    let is_map = |id: &StepId| matches!(id.name, Name::Head(_, HeadStep::Weights) | Name::Hidden);
    let keep: HashSet<StepId> = task.plan.ids().into_iter().filter(is_map).collect();
    let maps = keep.iter().filter(|id| id.head().is_some()).count();
    let keep = Keep::Only(keep);
    let source = Held { task: &task, matrices: Mutex::new(HashMap::new()) };
    let forward = || {
        let start = Instant::now();
        let trace = run_plan(task.plan.clone(), &source, &keep, Arithmetic::Fast { threads });
        let seconds = start.elapsed().as_secs_f64();
        drop(trace.expect("nothing overflows"));
        seconds * 1e3
    };
    let first = forward();
    let mut times: Vec<f64> = (0..repetitions).map(|_| forward()).collect();
    times.sort_by(f64::total_cmp);
    println!(
        "{{\"engine\": \"mha\", \"n\": {n}, \"threads\": {threads}, \"maps\": {maps}, \"load_ms\": {:.1}, \"first_ms\": \
         {first:.2}, \"median_ms\": {:.2}, \"best_ms\": {:.2}}}",
        loaded.as_secs_f64() * 1e3,
        times.get(times.len() / 2).copied().unwrap_or(first),
        times.first().copied().unwrap_or(first)
    );
}

/// A model whose weights stay in memory once they were read, as those of the reference do.
struct Held<'a, 'm> {
    task: &'a Task<'m>,
    matrices: Mutex<HashMap<StepId, Option<Arc<DMatrix<f32>>>>>,
}

impl Source<f32> for Held<'_, '_> {
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<f32>>>> {
        let mut matrices = self.matrices.lock().expect("no thread panicked");
        if let Some(matrix) = matrices.get(&id) {
            return Ok(matrix.clone());
        }
        let matrix = self.task.matrix(id)?;
        matrices.insert(id, matrix.clone());
        Ok(matrix)
    }
}

fn words(name: &str) -> Option<String> {
    let arguments: Vec<String> = std::env::args().collect();
    let at = arguments.iter().position(|argument| argument == name)?;
    arguments.get(at + 1).cloned()
}

fn flag(name: &str, default: usize) -> usize {
    words(name).and_then(|value| value.parse().ok()).unwrap_or(default)
}
