//! How long it takes to tell what is wrong with someone's tensors: the whole catalogue against causal self-attention.
//!
//! `cargo bench --bench check` measures n = 12, d_model = 64 and n = 512, d_model = 512, both with 8 heads;
//! `-- --n 128 --d-model 256 --repetitions 9` another size. Each line that it prints is JSON.
#![expect(clippy::print_stdout, reason = "a benchmark prints its measurements")]

use std::sync::Arc;
use std::time::Instant;

use mha::answers::{Answers, Grain, ORDER, Tensor};
use mha::arrays::{Array, Kind};
use mha::mistakes::diagnose::{Diagnosis, diagnose};
use mha::mistakes::{Mistake, Wrong};
use mha::ops::Arithmetic;
use mha::plan::spec::{Alignment, Mask, Scale};
use mha::plan::{Attention, Call, Inputs, Name, Plan, Projection, StepId, attention};
use mha::trace::{Keep, Trace, run_plan};
use nalgebra::DMatrix;

const HEADS: usize = 8;

fn main() {
    let sizes = match (flag("--n"), flag("--d-model")) {
        (None, None) => vec![(12, 64), (512, 512)],
        (n, d_model) => vec![(n.unwrap_or(12), d_model.unwrap_or(64))],
    };
    for (n, d_model) in sizes {
        let repetitions = flag("--repetitions").unwrap_or(if n <= 64 { 9 } else { 3 }).max(1);
        let call = call(n, d_model);
        let right = attention::plan(&call).expect("the sizes fit");
        for (case, tensors) in cases(&call, &right) {
            for (given, answers) in [("all", tensors.clone()), ("output", output_of(&tensors))] {
                let (told, median, best) = measured(&call, &right, &answers, repetitions);
                let (forms, pairs, left_out) = (told.tried.forms, told.tried.pairs, told.tried.left_out);
                println!(
                    "{{\"n\": {n}, \"d_model\": {d_model}, \"case\": \"{case}\", \"given\": \"{given}\", \
                     \"median_ms\": {median:.2}, \"best_ms\": {best:.2}, \"forms\": {forms}, \"pairs\": {pairs}, \
                     \"pairs_left_out\": {left_out}, \"names\": {}}}",
                    told.explanations.len()
                );
            }
        }
    }
}

/// What people hand over: right tensors, those of one mistake, and those of nothing known (scores 15 % too small), for
/// which every two mistakes are tried.
fn cases(call: &Call, right: &Plan) -> Vec<(&'static str, Answers)> {
    let scale_missing = Mistake::find("scale-missing").expect("it is in the catalogue");
    let (_, one_mistake) = scale_missing.apply(call, right).expect("the scale is not 1");
    let mut cooler = call.clone();
    cooler.attention.scale = Scale::Given(0.85 * call.attention.scale_value());
    let nothing_known = attention::plan(&cooler).expect("the sizes are the same");
    vec![
        ("right", answers(call, &Wrong::right(call, right))),
        ("one mistake", answers(call, &one_mistake)),
        ("nothing known", answers(call, &Wrong::right(call, &nothing_known))),
    ]
}

/// All steps of a plan, as files of double precision hold them.
fn answers(call: &Call, plan: &Wrong) -> Answers {
    let run =
        run_plan(Arc::new(plan.plan.clone()), &call.inputs, &Keep::All, Arithmetic::Fast { threads: 1 });
    let trace: Trace<f64> = run.expect("nothing overflows");
    let tensor = |name: Name| {
        let (ids, heads) = plan.sheets(name)?;
        let (rows, columns) = plan.plan.get(*ids.first()?)?.shape;
        let matrices = ids.iter().filter_map(|id| trace.get(*id));
        let data = matrices.flat_map(|matrix| matrix.transpose().as_slice().to_vec()).collect();
        let shape = heads.into_iter().chain([rows, columns]).collect();
        let array = Array::new(shape, data, Kind::F64).expect("every head has this shape");
        Some(Tensor {
            name,
            called: name.to_string(),
            file: "mine.npz".to_owned(),
            array,
            grain: Grain::Double,
        })
    };
    Answers { tensors: ORDER.iter().filter_map(|name| tensor(*name)).collect(), ..Answers::default() }
}

fn output_of(answers: &Answers) -> Answers {
    let output = answers.tensors.iter().filter(|tensor| tensor.name == Name::Output);
    Answers { tensors: output.cloned().collect(), ..Answers::default() }
}

/// What was told, and the median and the shortest time in milliseconds.
fn measured(call: &Call, right: &Plan, answers: &Answers, repetitions: usize) -> (Diagnosis, f64, f64) {
    let mut told = diagnose(call, right, answers);
    let mut times = Vec::new();
    for _ in 0..repetitions {
        let start = Instant::now();
        told = diagnose(call, right, answers);
        times.push(start.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    (told, times[times.len() / 2], times[0])
}

/// Numbers spread evenly from −1 to 1, projections that keep their size; biases, so that they can be forgotten.
fn call(n: usize, d_model: usize) -> Call {
    let mut state = 1u64;
    let mut matrix = |rows: usize, columns: usize, size: f64| {
        Arc::new(DMatrix::from_fn(rows, columns, |_, _| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            ((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0) * size
        }))
    };
    let mut inputs = Inputs::new();
    inputs.insert(StepId::from(Name::X), matrix(n, d_model, 1.7));
    for projection in Projection::ALL {
        inputs.insert(Name::W(projection).into(), matrix(d_model, d_model, 1.7 / (d_model as f64).sqrt()));
        inputs.insert(Name::B(projection).into(), matrix(1, d_model, 0.5));
    }
    let masks = vec![Mask::Causal(Alignment::BottomRight)];
    Call {
        attention: Attention { masks, ..Attention::multi_head(d_model, HEADS) },
        layers: None,
        batch: None,
        inputs,
        elsewhere: mha::plan::Shapes::new(),
    }
}

fn flag(name: &str) -> Option<usize> {
    let arguments: Vec<String> = std::env::args().collect();
    let value = arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1));
    value.and_then(|value| value.parse().ok())
}
