//! Values that are dropped once nothing needs them, and memory that is used again, change no number.

use std::collections::HashSet;
use std::path::Path;

use mha::model::{Model, Task, Text};
use mha::ops::Arithmetic;
use mha::plan::{HeadStep, Name, StepId};
use mha::trace::{Keep, run_plan};

/// With everything kept, no step may compute in the memory of its input; with maps and hidden states only, softmax and
/// activation do. Every cell is summed in the same order by however many threads.
#[test]
fn what_is_kept_does_not_depend_on_what_else_is() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models/bert-tiny");
    let model = Model::open(folder.to_str().unwrap()).unwrap();
    let passage = model.read(&Text::Ids((5..45).collect())).unwrap();
    let task = Task::new(&model, passage).unwrap();
    let is_asked = |id: &StepId| matches!(id.name, Name::Head(_, HeadStep::Weights) | Name::Hidden);
    let asked: HashSet<StepId> = task.plan.ids().into_iter().filter(is_asked).collect();
    let run = |keep: &Keep, arithmetic| run_plan(task.plan.clone(), &task, keep, arithmetic).unwrap();
    for threads in [1, 2, 3] {
        let arithmetic = Arithmetic::Fast { threads };
        let all = run(&Keep::All, Arithmetic::Fast { threads: 1 });
        let few = run(&Keep::Only(asked.clone()), arithmetic);
        assert_eq!(few.steps().count(), asked.len());
        for (step, value) in few.steps() {
            assert_eq!(Some(value), all.get(step.id), "{} with {threads} threads", step.id);
        }
    }
}
