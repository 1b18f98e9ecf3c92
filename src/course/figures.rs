//! The figures that expressions speak of, curves over them, and times.

use std::sync::Arc;
use std::time::{Duration, Instant};

use nalgebra::DMatrix;

use super::Ran;
use super::work;
use super::workshop::{Workshop, in_words};
use crate::fault::{Fault, Faults, Outcome};
use crate::lesson::course::{Plot, Timing};
use crate::lesson::quantity::{Amount, Figure, Numbers};
use crate::lesson::substituted;
use crate::limits::COURSE_MODELS;
use crate::ops::Arithmetic;
use crate::plan::{Attention, StepId, inputs_as};
use crate::trace::{Keep, Trace, run_plan};

/// How long a run takes on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Timed {
    /// What the lesson calls it.
    pub label: String,
    /// The shortest of several times.
    pub best: Duration,
    /// The one in the middle.
    pub median: Duration,
}

/// The points of a line: what `$` was, and what the line's value came to.
pub type Curve = Vec<(f64, f64)>;

/// Directions that a slope is the root mean square over.
const DIRECTIONS: usize = 8;

/// Half the distance of a central difference, of an input of about this size.
const STEP: f64 = 1e-5;

impl Numbers for Workshop {
    fn step(&self, step: StepId, run: Option<&str>) -> Result<DMatrix<f64>, String> {
        let value = self.run(run)?.value(step).map_err(|why| match run {
            None => why,
            Some(run) => format!("in the run {run}, {why}"),
        })?;
        self.work.begin(value.len() as u128)?;
        Ok(value)
    }

    fn figure(&self, figure: Figure, run: Option<&str>) -> Result<f64, String> {
        let ran = self.run(run)?;
        let cost = ran.plan.cost(ran.problem.batch.map(|_| 0));
        Ok(match figure {
            Figure::Parameters => ran.plan.parameters(),
            Figure::Multiplications => cost.multiplications,
            Figure::Additions => cost.additions,
            Figure::Exponentials => cost.exponentials,
            Figure::Cached => cached(&ran),
        } as f64)
    }

    fn count(&self, model: &str, key: &str) -> Result<f64, String> {
        let known = self.counted.borrow().get(model).cloned();
        let counts = match known {
            Some(counts) => counts,
            None => {
                let counts = self.counts(model);
                self.counted.borrow_mut().insert(model.to_owned(), counts.clone());
                counts
            }
        }?;
        let found = key.split('.').try_fold(&counts, |value, key| match value {
            serde_json::Value::Array(items) => items.get(key.parse::<usize>().ok()?.checked_sub(1)?),
            value => value.get(key),
        });
        match found.and_then(serde_json::Value::as_f64) {
            Some(number) => Ok(number),
            None => {
                let keys: Vec<&str> = counts
                    .as_object()
                    .map(|keys| {
                        keys.iter()
                            .filter(|(_, value)| value.is_number())
                            .map(|(key, _)| key.as_str())
                            .collect()
                    })
                    .unwrap_or_default();
                Err(format!("mha params {model} counts no {key}; numbers are {}", keys.join(", ")))
            }
        }
    }

    fn slope(&self, (out, run): (StepId, Option<&str>), by: StepId) -> Result<f64, String> {
        let key = (out, run.map(str::to_owned), by);
        if let Some(known) = self.slopes.borrow().get(&key) {
            return known.clone();
        }
        let ran = self.run(run)?;
        self.work.begin(2 * DIRECTIONS as u128 * work::of_plan(&ran.plan))?;
        let slope = slope(&ran, ran.placed(out), ran.placed(by));
        self.slopes.borrow_mut().insert(key, slope.clone());
        slope
    }

    fn work(&self, operations: u128) -> Result<(), String> {
        self.work.begin(operations)
    }

    fn variable(&self) -> Option<f64> {
        self.variable
    }
}

impl Workshop {
    fn run(&self, run: Option<&str>) -> Result<std::rc::Rc<Ran>, String> {
        self.ran(run).map_err(|faults| told(&faults, run))
    }

    fn counts(&self, model: &str) -> Result<serde_json::Value, String> {
        if self.counted.borrow().len() >= COURSE_MODELS {
            return Err(format!("a lesson counts at most {COURSE_MODELS} models"));
        }
        let words =
            shlex::split(model).ok_or_else(|| format!("\"{model}\" has a quote that is not closed"))?;
        let counter = self.counter.ok_or("models are not counted here")?;
        serde_json::from_str(&counter(&words)?).map_err(|error| error.to_string())
    }

    /// The points of each line of a plot.
    ///
    /// # Errors
    /// A value of `$` with which the lesson cannot be computed, or a line that comes to no number.
    pub fn curve(&self, plot: &Plot) -> Outcome<Vec<Curve>> {
        self.drawn(plot).map_err(|(_, faults)| faults)
    }

    /// The same; a fault comes with the key of the plot that is to blame (`change`, `lines[2].value`).
    pub(super) fn drawn(&self, plot: &Plot) -> Result<Vec<Curve>, (String, Faults)> {
        let mut curves = vec![Vec::with_capacity(plot.values.len()); plot.lines.len()];
        for x in &plot.values {
            let at = |key: String, Faults(faults): Faults| {
                let told = |fault: Fault| {
                    let what = format!("where {} is {x}, {}", plot.label, fault.what);
                    Fault { what, ..fault }
                };
                (key, Faults(faults.into_iter().map(told).collect()))
            };
            let problem = substituted(&plot.change, *x).map_err(in_words).and_then(|change| {
                if change.is_null() {
                    Ok(self.problem().clone())
                } else {
                    self.reread(self.problem(), &change)
                }
            });
            let there = self.with(problem.map_err(|faults| at("change".to_owned(), faults))?, Some(*x));
            for (index, (line, curve)) in plot.lines.iter().zip(&mut curves).enumerate() {
                let key = format!("lines[{}].value", index + 1);
                match there.amount(&line.value) {
                    Ok(Amount::Number(y)) if y.is_finite() => curve.push((*x, y)),
                    Err(why) => return Err(at(key, in_words(why))),
                    Ok(_) => {
                        let what = format!("{} is no finite number", line.value);
                        let remedy = "a point of a curve is one number: entropy(weights), mean(…)";
                        return Err(at(key, Fault::new(what, "", remedy).into()));
                    }
                }
            }
        }
        Ok(curves)
    }

    /// How long each run takes here: f32, with the fast arithmetic, on one thread.
    ///
    /// # Errors
    /// A run that cannot be computed.
    pub fn times(&self, timing: &Timing) -> Outcome<Vec<Timed>> {
        let timed = |(label, run): &(String, Option<String>)| {
            let ran = self.ran(run.as_deref())?;
            let inputs = inputs_as::<f32>(&ran.problem.inputs);
            let mut times = Vec::new();
            let started = Instant::now();
            // at least five, the first two to warm up; no more than a second in all
            while times.len() < 5 || (times.len() < 25 && started.elapsed() < Duration::from_secs(1)) {
                let start = Instant::now();
                let trace: Trace<f32> =
                    run_plan(Arc::clone(&ran.plan), &inputs, &Keep::All, Arithmetic::Fast { threads: 1 })?;
                times.push(start.elapsed());
                drop(trace);
            }
            let mut times = times.split_off(2);
            times.sort();
            let (best, median) = (times[0], times[times.len() / 2]);
            Ok(Timed { label: label.clone(), best, median })
        };
        timing.runs.iter().map(timed).collect()
    }
}

/// Numbers that a cached token takes, in all layers: keys and values of every key/value head.
fn cached(ran: &Ran) -> u128 {
    let of_a_layer = |attention: &Attention| {
        attention.num_kv_heads as u128 * (attention.d_k as u128 + attention.d_v as u128)
    };
    match &ran.problem.layers {
        None => of_a_layer(&ran.problem.attention),
        Some(stack) => stack.layers.iter().map(|layer| of_a_layer(&layer.attention)).sum(),
    }
}

/// The first fault of several, as one sentence.
fn told(faults: &Faults, run: Option<&str>) -> String {
    let first = faults.0.first().map(|fault| fault.what.clone()).unwrap_or_default();
    match run {
        Some(run) if !first.contains("no run called") => format!("the run {run} cannot be computed: {first}"),
        _ => first,
    }
}

/// How fast a step changes with an input: the root mean square over fixed random unit directions of the length of its
/// derivative along each, by central differences.
fn slope(ran: &Ran, out: StepId, by: StepId) -> Result<f64, String> {
    let Some(input) = ran.problem.inputs.get(&by) else {
        let known: Vec<String> = ran.problem.inputs.keys().map(StepId::to_string).collect();
        return Err(format!("{by} is not an input; the inputs are {}", known.join(", ")));
    };
    if ran.plan.get(out).is_none() {
        return Err(format!("there is no step {out}"));
    }
    let keep = Keep::Only([out].into());
    let size = input.iter().fold(1.0, |most: f64, cell| most.max(cell.abs()));
    let step = STEP * size;
    let at = |moved: DMatrix<f64>| -> Result<DMatrix<f64>, String> {
        let mut inputs = ran.problem.inputs.clone();
        inputs.insert(by, Arc::new(moved));
        let trace = run_plan(Arc::clone(&ran.plan), &inputs, &keep, Arithmetic::Ordered)
            .map_err(|faults| told(&faults, None))?;
        trace.get(out).map(|view| view.into_owned()).ok_or_else(|| format!("there is no step {out}"))
    };
    let (rows, columns) = input.shape();
    let mut squares = 0.0;
    for direction in 0..DIRECTIONS {
        let drawn = crate::lesson::direction(direction as u64, rows * columns);
        let direction = DMatrix::from_row_slice(rows, columns, &drawn);
        let unit = &direction / direction.norm();
        let difference = at(input.as_ref() + &unit * step)? - at(input.as_ref() - &unit * step)?;
        squares += (difference.norm() / (2.0 * step)).powi(2);
    }
    Ok((squares / DIRECTIONS as f64).sqrt())
}
