//! Every head in turn, by itself, ranked by what its absence changes.

use nalgebra::DMatrix;

use super::{AttentionLayer, Change, Study};
use crate::fault::Outcome;
use crate::ops::Real;
use crate::plan::rewrites::{HeadPlace, Replacement};

/// What the replacement of one head changes; or, where all others of its layer were replaced, that of the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// The head.
    pub place: HeadPlace,
    /// The change of its layer's output, relative to it; `None` where the output was all zero.
    pub output: Option<f64>,
    /// The change of what comes out at the end, relative to it.
    pub last: Option<f64>,
    /// The mean cosine between what comes out at the end before and after.
    pub cosine: Option<f64>,
    /// How much the loss grows (nats); `None` where there is none.
    pub loss: Option<f64>,
}

/// What heads are ranked by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The growth of the loss, the largest first.
    Loss,
    /// The change of the layer's output, the largest first.
    Output,
    /// The cosine at the end, the smallest first.
    Cosine,
    /// As they stand: layer by layer.
    Layer,
}

/// Which heads are replaced for the sake of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// The head itself.
    Itself,
    /// All others of its layer.
    Others,
    /// All others of the stack.
    AllOthers,
}

impl Turn {
    /// The heads that are replaced, of these layers.
    pub fn heads(self, place: HeadPlace, layers: &[AttentionLayer]) -> Vec<HeadPlace> {
        self.but(&[place], layers)
    }

    /// The heads that are replaced where these are meant.
    pub fn but(self, meant: &[HeadPlace], layers: &[AttentionLayer]) -> Vec<HeadPlace> {
        let others = |layers: &mut dyn Iterator<Item = &AttentionLayer>| {
            layers.flat_map(AttentionLayer::heads).filter(|head| !meant.contains(head)).collect()
        };
        match self {
            Self::Itself => meant.to_vec(),
            Self::Others => {
                let has_one = |layer: &&AttentionLayer| meant.iter().any(|place| place.layer == layer.layer);
                others(&mut layers.iter().filter(has_one))
            }
            Self::AllOthers => others(&mut layers.iter()),
        }
    }
}

/// Numbers of runs that wait to be read by a language head together.
const MOST_WAITING: usize = 1 << 24;

/// What reads the ends of runs (n × d_model each) and gives how much the loss has grown in each.
pub type Losses<'a, T> = dyn FnMut(&[DMatrix<T>]) -> Outcome<Vec<Option<f64>>> + 'a;

/// Every head of these layers in turn, in their order; `done` is told after each how many have been.
///
/// # Errors
/// A run that cannot be computed.
pub fn each<T: Real>(
    study: &mut Study<'_, T>,
    layers: &[AttentionLayer],
    (turn, with): (Turn, Replacement),
    losses: &mut Losses<'_, T>,
    done: &mut dyn FnMut(usize),
) -> Outcome<Vec<Ranked>> {
    study.learn_streams()?;
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut waiting: Vec<DMatrix<T>> = Vec::new();
    let all = study.layers().to_vec();
    for layer in layers {
        study.learn_layers(std::slice::from_ref(layer), with)?;
        let before = (study.value(layer.output)?, study.value(study.last())?);
        for place in layer.heads() {
            let heads = turn.heads(place, &all);
            let Some(run) = (!heads.is_empty()).then(|| study.ablate(&heads, with)).transpose()? else {
                // The only head: nothing else is there to be replaced.
                ranked.push(Ranked {
                    place,
                    output: Some(0.0),
                    last: Some(0.0),
                    cosine: Some(1.0),
                    loss: None,
                });
                waiting.push((*before.1).clone());
                continue;
            };
            let own = run.outputs.iter().find(|(of, _)| of.layer == layer.layer);
            let output = own.and_then(|(_, after)| Change::of(&*before.0, after).all.relative());
            let last = Change::of(&*before.1, &run.last).all;
            ranked.push(Ranked { place, output, last: last.relative(), cosine: last.cosine, loss: None });
            waiting.push(run.last);
            done(ranked.len());
            if waiting.iter().map(DMatrix::len).sum::<usize>() > MOST_WAITING {
                settle(&mut ranked, &mut waiting, losses)?;
            }
        }
        settle(&mut ranked, &mut waiting, losses)?;
        study.forget(layer);
    }
    Ok(ranked)
}

/// Reads the runs that wait: those of the last heads that were ranked.
fn settle<T: Real>(
    ranked: &mut [Ranked],
    waiting: &mut Vec<DMatrix<T>>,
    losses: &mut Losses<'_, T>,
) -> Outcome<()> {
    let from = ranked.len() - waiting.len();
    for (head, loss) in ranked[from..].iter_mut().zip(losses(waiting)?) {
        head.loss = loss;
    }
    waiting.clear();
    Ok(())
}

/// Puts heads in order; equal ones stay as they stand.
pub fn sort(heads: &mut [Ranked], by: Sort) {
    // What cannot be measured stands at the end.
    let falling = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => b.total_cmp(&a),
        (a, b) => b.is_some().cmp(&a.is_some()),
    };
    heads.sort_by(|a, b| match by {
        Sort::Loss => falling(a.loss, b.loss),
        Sort::Output => falling(a.output, b.output),
        Sort::Cosine => falling(a.cosine.map(|cosine| -cosine), b.cosine.map(|cosine| -cosine)),
        Sort::Layer => a.place.cmp(&b.place),
    });
}
