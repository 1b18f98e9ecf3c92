//! Configs of well-known models beside the tensors that `mha params` counts for them: the two parts of the program know
//! the families separately, so names and shapes on which both agree are right, or wrong twice.

use std::collections::BTreeMap;
use std::ops::Range;

use mha::fault::Outcome;
use mha::model::Checkpoint;
use mha::model::architecture::blueprint;
use mha::params::architecture::{Asked, build, presets};
use mha::plan::{EmbedStep, Name};

/// Tensors of which only names and shapes are known; all numbers are 0.
struct Shapes(BTreeMap<String, Vec<usize>>);

impl Checkpoint for Shapes {
    fn tensors(&self) -> &BTreeMap<String, Vec<usize>> {
        &self.0
    }

    fn stored_as(&self, _: &str) -> Option<String> {
        None
    }

    fn rows(&self, name: &str, rows: Range<usize>) -> Outcome<Vec<f32>> {
        let width: usize = self.0[name].iter().skip(1).product();
        Ok(vec![0.0; rows.len() * width])
    }

    fn source(&self) -> String {
        "counted".to_owned()
    }
}

/// Every tensor in the stack of layers is read, none is missing, and all have the shapes that the config makes.
#[test]
fn configs_of_real_models_find_the_tensors_that_they_describe() {
    let mut seen = BTreeMap::<String, usize>::new();
    for preset in presets::search("") {
        let model_type = preset.config["model_type"].as_str().unwrap().to_owned();
        let counted = build(&preset.config, &Asked::default()).unwrap();
        let tied = |name: &str| counted.tied.iter().any(|(tied, _)| tied == name);
        let shape = |tensor: &mha::params::architecture::Tensor| {
            tensor.shape.iter().map(|side| usize::try_from(side.value()).unwrap()).collect()
        };
        // Files hold a tied matrix once, as the embedding.
        let is_stored = |name: &str| name.contains("embeddings") || !tied(name);
        let tensors = counted.tensors.iter().filter(|tensor| is_stored(&tensor.name));
        let shapes = Shapes(tensors.map(|tensor| (tensor.name.clone(), shape(tensor))).collect());
        match blueprint(&preset.config, &shapes) {
            Ok(made) => {
                assert!(!made.layers.layers.is_empty() && !made.matrices.is_empty());
                let embedded: Name = Name::Embed(EmbedStep::Tokens);
                assert!(!made.matrices.contains_key(&embedded.into()), "the vocabulary is read by rows");
                for stored in made.matrices.values() {
                    assert!(stored.shape(&shapes).is_ok());
                }
                *seen.entry(model_type).or_default() += 1;
            }
            Err(faults) => {
                let told = faults.to_string();
                let unsupported = format!("a model of type {model_type} is not computed");
                // One model's embedding is narrower than its layers.
                let is_narrow = preset.name == "opt-350m" && told.contains("word_embed_proj_dim is 512");
                assert!(is_narrow || told.contains(&unsupported), "{}: {told}", preset.name);
            }
        }
    }
    // Every family with a well-known model was among them, several times where there are many.
    for (model_type, most) in
        [("llama", 15), ("bert", 5), ("qwen2", 5), ("gpt_neox", 4), ("opt", 3), ("gemma3", 2)]
    {
        assert!(seen[model_type] >= most, "{seen:?}");
    }
    assert!(seen.len() >= 17, "{seen:?}");
}
