//! What people get wrong around attention. A new slip is a new entry here.

use super::around::{
    Around, Variant, with_eps, with_every_norm, with_gain, with_layer, with_layers, with_norms, with_steps,
};
use super::search::Part;
use crate::ops::{Activation, Add, LayerNorm, Op, Project, RmsNorm, Same};
use crate::plan::{EmbedStep, FeedForward, FfnStep, Name, Norm, NormPlace, StepId};
use crate::words::{n, t};

/// All of them, in the order of the computation.
pub(super) const ALL: &[Around] = &[
    Around {
        name: "positions-shifted",
        summary: n!("positions counted from another row"),
        right: "E = tokens + positions[i]",
        wrong: "E = tokens + positions[i + 1]",
        fix: n!(
            "See at which row the model's table of positions begins: at 0 in BERT and GPT-2, at 2 in RoBERTa."
        ),
        variants: |part| {
            let moved = |by: isize, detail: &str| shifted(part, by, detail);
            [moved(1, "+1"), moved(-1, "−1"), moved(2, "+2"), moved(-2, "−2")].into_iter().flatten().collect()
        },
    },
    Around {
        name: "embedding-part-missing",
        summary: n!("a part of the embedding not added"),
        right: "E = tokens + segments + positions",
        wrong: "E = tokens + segments",
        fix: n!(
            "Add a row of every table: of the tokens, of the positions, and of the segments, which is row 0 for a single sentence."
        ),
        variants: |part| {
            let sum: StepId = Name::Embed(EmbedStep::Sum).into();
            let parts = [EmbedStep::Positions, EmbedStep::Segments];
            let without = |left: EmbedStep| {
                with_steps(part, StepId::from(Name::Embed(left)).to_string(), |step| {
                    let left: StepId = Name::Embed(left).into();
                    let rest: Vec<StepId> = step.inputs.iter().copied().filter(|id| *id != left).collect();
                    let op = if rest.len() > 1 { Op::from(Add) } else { Op::from(Same) };
                    (step.id == sum && rest.len() < step.inputs.len()).then_some((op, rest))
                })
            };
            parts.into_iter().filter_map(without).collect()
        },
    },
    Around {
        name: "embedding-scale-missing",
        summary: n!("the embedding not scaled"),
        right: "E = √d_model · tokens",
        wrong: "E = tokens",
        fix: n!(
            "Multiply the embedding by the square root of d_model before the first layer, as Gemma and the first Transformer do."
        ),
        variants: |part| {
            let unscaled = with_layers(part, "", |layers| layers.start.as_mut()?.scale.take().map(drop));
            unscaled.into_iter().collect()
        },
    },
    Around {
        name: "norm-missing",
        summary: n!("a norm left out"),
        right: "norm(x)",
        wrong: "x",
        fix: n!("Call the norm, and hand on what it gives."),
        variants: |part| {
            let norms = part.plan.steps().iter().filter(|step| is_norm(&step.op));
            let without = |left: StepId| {
                with_steps(part, left.to_string(), |step| {
                    (step.id == left).then(|| (Same.into(), step.inputs.clone()))
                })
            };
            norms.filter_map(|step| without(step.id)).collect()
        },
    },
    Around {
        name: "norm-place",
        summary: n!("norms before each part where the model has them after each sum, or the other way round"),
        right: "norm(x + f(x)),  or  x + f(norm(x))",
        wrong: "x + f(norm(x)),  or  norm(x + f(x))",
        fix: n!(
            "Look at the model's own code: BERT and the first Transformer normalise after each sum, GPT-2, Llama and most others before each part."
        ),
        variants: |part| {
            let places = [NormPlace::Pre, NormPlace::Post];
            let placed = |place: NormPlace| {
                with_layers(part, "", |layers| {
                    layers.norm = place;
                    Some(())
                })
            };
            places.into_iter().filter_map(placed).collect()
        },
    },
    Around {
        name: "norm-eps",
        summary: n!("another eps in the norms"),
        right: "(x − mean) / √(variance + eps)",
        wrong: "(x − mean) / √(variance + another eps)",
        fix: n!(
            "Take eps from config.json (layer_norm_eps, rms_norm_eps); 1e-5 is what PyTorch takes where nobody says, and BERT has 1e-12."
        ),
        variants: |part| {
            let with = |eps: f64| {
                let detail = format!("eps = {eps:e}");
                with_every_norm(part, &detail, |norm| Some(with_eps(norm, eps)))
            };
            [1e-5, 1e-6, 1e-12, 1e-8, 1e-3, 0.0].into_iter().flat_map(with).collect()
        },
    },
    Around {
        name: "norm-unbiased",
        summary: n!("the variance divided by d − 1"),
        right: "variance = Σ(x − mean)² / d",
        wrong: "variance = Σ(x − mean)² / (d − 1)",
        fix: n!("Divide by d: torch.var(unbiased=False), or numpy.var as it is."),
        variants: |part| unbiased(part).into_iter().collect(),
    },
    Around {
        name: "norm-kind",
        summary: n!("a layer norm where the model has an RMS norm, or the other way round"),
        right: "x / √(mean(x²) + eps),  or  (x − mean) / √(variance + eps)",
        wrong: "(x − mean) / √(variance + eps),  or  x / √(mean(x²) + eps)",
        fix: n!(
            "Llama, Mistral, Qwen and Gemma have RMS norms, which take away no mean; BERT and GPT-2 have layer norms."
        ),
        variants: |part| {
            let other = |norm: &Norm| {
                Some(match norm {
                    Norm::Layer(norm) => Norm::Rms(RmsNorm { eps: norm.eps, gain: norm.gain.clone()? }),
                    Norm::Rms(norm) => {
                        Norm::Layer(LayerNorm { eps: norm.eps, gain: Some(norm.gain.clone()), shift: None })
                    }
                })
            };
            with_norms(part, "", other).into_iter().collect()
        },
    },
    Around {
        name: "norm-gain-missing",
        summary: n!("the gain of the norms, or their shift, not applied"),
        right: "x̂ · gain + shift",
        wrong: "x̂",
        fix: n!(
            "Load the norm's weight (and its bias, where it has one) from the checkpoint, and apply it to each column."
        ),
        variants: |part| {
            let bare = |norm: &Norm| match norm {
                Norm::Layer(norm) => Some(Norm::Layer(LayerNorm { gain: None, shift: None, ..norm.clone() })),
                Norm::Rms(_) => with_gain(norm, |_| 1.0),
            };
            let unmoved = |norm: &Norm| match norm {
                Norm::Layer(norm) => {
                    norm.shift.as_ref()?;
                    Some(Norm::Layer(LayerNorm { shift: None, ..norm.clone() }))
                }
                Norm::Rms(_) => None,
            };
            let ungained = |norm: &Norm| with_gain(norm, |_| 1.0);
            let found = [
                with_every_norm(part, &t!("both"), bare),
                with_every_norm(part, &t!("the shift"), unmoved),
                with_every_norm(part, &t!("the gain"), ungained),
            ];
            found.into_iter().flatten().collect()
        },
    },
    Around {
        name: "norm-gain-plus-one",
        summary: n!("the gain taken as w where the model has 1 + w, or the other way round"),
        right: "gain = 1 + w,  or  gain = w",
        wrong: "gain = w,  or  gain = 1 + w",
        fix: n!(
            "Gemma keeps its gains less 1, and adds it before it multiplies; the other families keep them as they are."
        ),
        variants: |part| {
            let moved = |by: f64| with_every_norm(part, "", |norm| with_gain(norm, |gain| gain + by));
            [-1.0, 1.0].into_iter().flat_map(moved).collect()
        },
    },
    Around {
        name: "residual-missing",
        summary: n!("what a part was given not added to what it found"),
        right: "x + f(x)",
        wrong: "f(x)",
        fix: n!("Keep what goes in, and add it to what comes out."),
        variants: |part| {
            let without = |names: &[Name], detail: String| {
                with_steps(part, detail, |step| {
                    let found = step.inputs.get(1)?;
                    names.contains(&step.id.name).then(|| (Same.into(), vec![*found]))
                })
            };
            let [attention, ffn] = RESIDUALS;
            let found = [
                without(&[attention, ffn], t!("both")),
                without(&[attention], t!("of attention")),
                without(&[ffn], t!("of the feed-forward network")),
            ];
            found.into_iter().flatten().collect()
        },
    },
    Around {
        name: "residual-after-norm",
        summary: n!("the normalised stream added instead of the stream itself"),
        right: "x + f(norm(x))",
        wrong: "norm(x) + f(norm(x))",
        fix: n!("Keep x before its norm, and add that: a name used again (x = norm(x)) is how it is lost."),
        variants: |part| {
            let normed = |names: &[Name], detail: String| {
                with_steps(part, detail, |step| {
                    let found = step.inputs.get(1)?;
                    let read = match step.id.name {
                        Name::AttentionResidual => Name::X,
                        _ => Name::Ffn(FfnStep::X),
                    };
                    let read = StepId::from(read).in_layer(step.id.layer);
                    names.contains(&step.id.name).then(|| (Add.into(), vec![read, *found]))
                })
            };
            let [attention, ffn] = RESIDUALS;
            let found = [
                normed(&[attention, ffn], t!("both")),
                normed(&[attention], t!("of attention")),
                normed(&[ffn], t!("of the feed-forward network")),
            ];
            found.into_iter().flatten().collect()
        },
    },
    Around {
        name: "parallel-parts",
        summary: n!(
            "attention and feed-forward network side by side where the model has one after the other, or the other way round"
        ),
        right: "x + FFN(norm(x + A(x))),  or  x + A(x) + FFN(norm(x))",
        wrong: "x + A(x) + FFN(norm(x)),  or  x + FFN(norm(x + A(x)))",
        fix: n!(
            "GPT-NeoX and GPT-J let both parts read the same stream; most others let the second read what the first has added."
        ),
        variants: |part| {
            let place = part.call.layers.as_ref().map(|layers| layers.norm);
            let other = match place {
                Some(NormPlace::Pre) => NormPlace::Parallel,
                Some(NormPlace::Parallel) => NormPlace::Pre,
                _ => return Vec::new(),
            };
            let placed = with_layers(part, "", |layers| {
                layers.norm = other;
                Some(())
            });
            placed.into_iter().collect()
        },
    },
    Around {
        name: "activation",
        summary: n!("another activation in the feed-forward network"),
        right: "activation(x · W_1 + b_1)",
        wrong: "another(x · W_1 + b_1)",
        fix: n!(
            "Take the one that config.json names: gelu is exact, with erf; gelu_new and gelu_pytorch_tanh are the approximation with tanh (torch: approximate=\"tanh\")."
        ),
        variants: |part| {
            let kinds = [
                (Activation::GeluTanh, "GELU (tanh)"),
                (Activation::Gelu, "GELU (erf)"),
                (Activation::Silu, "SiLU"),
                (Activation::Relu, "ReLU"),
                (Activation::Identity, "x"),
            ];
            let with = |(activation, name): (Activation, &str)| {
                with_layer(part, name, |layer| {
                    let network = layer.feed_forward?;
                    layer.feed_forward = Some(FeedForward { activation, ..network });
                    Some(())
                })
            };
            kinds.into_iter().filter_map(with).collect()
        },
    },
    Around {
        name: "gate-swapped",
        summary: n!("the gate and the product that it opens exchanged"),
        right: "activation(x · W_gate) ∘ (x · W_1)",
        wrong: "activation(x · W_1) ∘ (x · W_gate)",
        fix: n!("The activation goes over gate_proj, not over up_proj."),
        variants: |part| {
            let swapped = with_steps(part, "", |step| {
                let own = |read: FfnStep| StepId::from(Name::Ffn(read)).in_layer(step.id.layer);
                let inputs = match (&step.id.name, step.inputs.len()) {
                    (Name::Ffn(FfnStep::Activation), 1) if part.plan.get(own(FfnStep::Gate)).is_some() => {
                        vec![own(FfnStep::Up)]
                    }
                    (Name::Ffn(FfnStep::Product), _) => {
                        vec![own(FfnStep::Activation), own(FfnStep::Gate)]
                    }
                    _ => return None,
                };
                Some((step.op.clone(), inputs))
            });
            swapped.into_iter().collect()
        },
    },
    Around {
        name: "ffn-bias-missing",
        summary: n!("a bias of the feed-forward network not added"),
        right: "x · W + b",
        wrong: "x · W",
        fix: n!("Load the bias from the checkpoint, and add it to every row."),
        variants: |part| {
            let is_of_the_network = |step: &Name| matches!(step, Name::Ffn(_));
            let with_bias = part.plan.steps().iter().filter(|step| {
                is_of_the_network(&step.id.name)
                    && matches!(step.op, Op::Project(_))
                    && step.inputs.len() == 3
            });
            let without = |left: StepId| {
                with_steps(part, left.to_string(), |step| {
                    (step.id == left).then(|| (Project.into(), step.inputs[..2].to_vec()))
                })
            };
            with_bias.filter_map(|step| without(step.id)).collect()
        },
    },
];

/// The two sums of a layer.
const RESIDUALS: [Name; 2] = [Name::AttentionResidual, Name::Ffn(FfnStep::Residual)];

fn is_norm(op: &Op) -> bool {
    matches!(op, Op::LayerNorm(_) | Op::RmsNorm(_))
}

/// The embedding with every token at a position so many rows further on; of rows beyond the table that was read nothing
/// is known.
fn shifted(part: &Part, by: isize, detail: &str) -> Option<Variant> {
    let id: StepId = Name::Embed(EmbedStep::Positions).into();
    let table = part.call.inputs.get(&id)?;
    let mut moved = (**table).clone();
    let mut unknown = Vec::new();
    for row in 0..table.nrows() {
        match row.checked_add_signed(by).filter(|from| *from < table.nrows()) {
            Some(from) => moved.set_row(row, &table.row(from)),
            None => unknown.push(row),
        }
    }
    let is_enough = unknown.len() < table.nrows();
    is_enough.then(|| Variant {
        inputs: vec![(id, moved)],
        unknown,
        ..Variant::new(part.plan.clone(), detail)
    })
}

/// Norms whose variance is divided by d − 1: a gain that is smaller, and an eps that weighs less.
fn unbiased(part: &Part) -> Option<Variant> {
    let d = part.plan.get(Name::Embedding.into())?.shape.1 as f64;
    let more = d / (d - 1.0);
    with_norms(part, "", |norm| match norm {
        Norm::Layer(norm) if d > 1.0 => {
            let gain = norm.gain.clone().unwrap_or_else(|| vec![1.0; d as usize]);
            let gain = gain.into_iter().map(|gain| gain / more.sqrt()).collect();
            Some(Norm::Layer(LayerNorm { eps: norm.eps / more, gain: Some(gain), shift: norm.shift.clone() }))
        }
        _ => None,
    })
}
