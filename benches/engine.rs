//! How long multi-head attention takes with every intermediate value kept: n tokens, d_model 512, 8 heads, f32.
//!
//! `cargo bench --bench engine -- --n 512 --threads 1 --repetitions 9` prints one line of JSON.
#![expect(clippy::print_stdout, reason = "a benchmark prints its measurements")]

use std::sync::Arc;
use std::time::Instant;

use mha::ops::Arithmetic;
use mha::plan::{Attention, Call, Inputs, Name, Plan, Projection, StepId, attention, inputs_as};
use mha::trace::{Keep, Trace, run_plan};
use nalgebra::DMatrix;

const D_MODEL: usize = 512;
const HEADS: usize = 8;

fn main() {
    let (n, threads, repetitions) = (flag("--n", 512), flag("--threads", 1), flag("--repetitions", 9));
    keep_freed_memory();
    let call = call(n);
    let plan = Arc::new(attention::plan(&call).expect("the sizes fit"));
    let inputs = inputs_as(&call.inputs);
    let mut times: Vec<f64> = (0..repetitions + 2).map(|_| time(&plan, &inputs, threads)).skip(2).collect();
    times.sort_by(f64::total_cmp);
    let operations = 2.0 * plan.cost(None).multiplications as f64;
    let (median, best) = (times[times.len() / 2], times[0]);
    println!(
        "{{\"engine\": \"mha\", \"n\": {n}, \"threads\": {threads}, \"median_ms\": {:.2}, \"best_ms\": {:.2}, \
         \"gflops\": {:.1}}}",
        median * 1e3,
        best * 1e3,
        operations / best / 1e9
    );
}

/// Lets glibc keep what is freed from here on: it learns its thresholds from the largest block freed, and PyTorch and
/// NumPy free one of all heads' scores where this engine frees one a head. Without it every call pays for fresh pages.
fn keep_freed_memory() {
    drop(std::hint::black_box(vec![1u8; 31 << 20]));
}

fn time(plan: &Arc<Plan>, inputs: &Inputs<f32>, threads: usize) -> f64 {
    let start = Instant::now();
    let trace: Trace<f32> =
        run_plan(plan.clone(), inputs, &Keep::All, Arithmetic::Fast { threads }).expect("nothing overflows");
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(trace.steps().count(), plan.steps().len());
    seconds
}

/// Numbers spread evenly from −1 to 1: what they are does not change the time.
fn call(n: usize) -> Call {
    let mut state = 1u64;
    let mut matrix = |rows: usize, columns: usize, size: f64| {
        Arc::new(DMatrix::from_fn(rows, columns, |_, _| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * size
        }))
    };
    let mut inputs = Inputs::new();
    inputs.insert(StepId::from(Name::X), matrix(n, D_MODEL, 1.0));
    for projection in Projection::ALL {
        inputs.insert(Name::W(projection).into(), matrix(D_MODEL, D_MODEL, 0.08));
    }
    Call {
        attention: Attention::multi_head(D_MODEL, HEADS),
        layers: None,
        batch: None,
        inputs,
        elsewhere: mha::plan::Shapes::new(),
    }
}

fn flag(name: &str, default: usize) -> usize {
    let arguments: Vec<String> = std::env::args().collect();
    let value = arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    value.and_then(|value| value.parse().ok()).unwrap_or(default)
}
