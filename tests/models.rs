//! Real weights beside what PyTorch and transformers compute from the same files (`tests/reference/models`).

use std::collections::HashSet;
use std::path::Path;

use mha::model::{Model, Task, Text};
use mha::plan::StepId;
use serde_json::Value;

/// Every step of every layer, and every hidden state, of the tiny model with random weights.
#[test]
fn bert_is_computed_as_transformers_computes_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/models/bert-tiny");
    let model = Model::open(folder.to_str().unwrap()).unwrap();
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder.join("expected.json")).unwrap()).unwrap();
    for text in expected["texts"].as_array().unwrap() {
        let passage = model.read(&Text::One(text["text"].as_str().unwrap().to_owned())).unwrap();
        let ids: Vec<u32> =
            text["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
        assert_eq!(passage.ids, ids);
        let task = Task::new(&model, passage).unwrap();
        let keep: HashSet<StepId> = task.plan.ids().into_iter().collect();
        let trace = task.run(keep).unwrap();
        if text["has_steps"].as_bool().unwrap() {
            let file = folder.join(text["file"].as_str().unwrap());
            for (name, array) in mha::arrays::read_all(&file).unwrap() {
                let Ok(id) = name.parse::<StepId>() else { continue };
                if task.plan.get(id).is_none() {
                    assert!(
                        name.ends_with("masked_scores"),
                        "{name}: where nothing is masked there is no such step"
                    );
                    continue;
                }
                let is = trace.get(id).unwrap_or_else(|| panic!("{name}"));
                let width = is.ncols();
                for (at, want) in array.data.iter().enumerate() {
                    let is = f64::from(is[(at / width, at % width)]);
                    assert!((is - want).abs() <= 5e-5 * want.abs().max(1.0), "{name}[{at}]: {is} {want}");
                }
            }
        }
    }
}
