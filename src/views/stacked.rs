//! The names under which files hold arrays: heads stacked, sequences on a leading axis.

use std::collections::HashSet;

use super::Scene;
use crate::arrays::{Array, Kind};
use crate::ops::{Op, View};
use crate::plan::{Axis, Head, HeadStep, Name, StepId, names};

/// The name in a file of what a step holds, with the prefix of its layer in a stack (`layer.2.weights`); `None` where files
/// do not have it. Sequences stand on an axis, and are not in the name.
pub fn file_name(id: impl Into<StepId>) -> Option<String> {
    let id = id.into();
    let name = match id.name {
        Name::Head(_, step) => Some(
            match step {
                HeadStep::Q => "q_heads",
                HeadStep::K => "k_heads",
                HeadStep::V => "v_heads",
                HeadStep::Output => "heads",
                other => other.word(),
            }
            .to_owned(),
        ),
        Name::Tile(..) => None,
        other => Some(other.to_string()),
    }?;
    Some(match id.layer {
        Some(layer) => format!("layer.{}.{name}", layer + 1),
        None => name,
    })
}

/// The chosen steps as arrays, in the order of the computation.
///
/// A head's step becomes (heads × rows × columns); what key/value heads hold is there once each (g, not h). In a
/// batch everything but the projections has the sequences in front, unless one sequence was chosen.
pub fn arrays(scene: &Scene<'_>, keep_batch_axis: bool) -> Vec<(String, Array)> {
    let mut names: Vec<String> = Vec::new();
    let mut groups: Vec<Vec<StepId>> = Vec::new();
    // A wrong run may have what files call so beside the heads' own: what stands under the name itself counts.
    let steps = scene.trace.plan().steps().iter().map(|step| step.id);
    let whole: HashSet<Option<String>> = steps.filter(|id| id.head().is_none()).map(file_name).collect();
    for id in scene.steps {
        let Some(name) = file_name(*id) else { continue };
        let stands_alone = id.head().is_some() && whole.contains(&Some(name.clone()));
        let is_there = scene.trace.get(*id).is_some();
        if !is_there || stands_alone || repeats_a_shared_head(scene, *id) {
            continue;
        }
        match names.iter().position(|known| *known == name) {
            Some(at) => groups[at].push(*id),
            None => {
                names.push(name);
                groups.push(vec![*id]);
            }
        }
    }
    names
        .into_iter()
        .zip(groups)
        .filter_map(|(name, mut ids)| {
            ids.sort(); // sequences, then heads; a wrong run may have computed them in another order
            Some((name, stack(scene, &ids, keep_batch_axis)?))
        })
        .collect()
}

/// Query heads of one group read the same keys and values: only one of them writes them.
fn repeats_a_shared_head(scene: &Scene<'_>, id: StepId) -> bool {
    match id.name {
        Name::Head(head, HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot | HeadStep::VRot) => {
            match id.layer {
                None => !scene.kv_sheets.contains(&head.0),
                Some(_) => head.0 > 0 && keys_of(scene, id, head) == keys_of(scene, id, Head(head.0 - 1)),
            }
        }
        _ => false,
    }
}

/// The columns of all keys that a head reads: layers of a stack may share keys in different ways.
fn keys_of<'a>(scene: &'a Scene<'_>, id: StepId, head: Head) -> Option<&'a Op> {
    let keys = StepId { name: Name::Head(head, HeadStep::K), ..id };
    scene.trace.plan().get(keys).map(|step| &step.op)
}

fn stack(scene: &Scene<'_>, ids: &[StepId], keep_batch_axis: bool) -> Option<Array> {
    let views: Vec<View<'_, f64>> = ids.iter().filter_map(|id| scene.trace.get(*id)).collect();
    let (rows, columns) = views.first()?.shape();
    let sequences = ids.iter().filter_map(|id| id.sequence).collect::<std::collections::BTreeSet<_>>().len();
    let sheets = views.len() / sequences.max(1);
    let mut shape = Vec::new();
    if sequences > 0 && keep_batch_axis {
        shape.push(sequences);
    }
    if ids[0].head().is_some() {
        shape.push(sheets);
    }
    match ids[0].name {
        name if names::axes(name).0 == Axis::One => shape.push(columns),
        _ => shape.extend([rows, columns]),
    }
    let mut data = Vec::with_capacity(views.len() * rows * columns);
    for view in &views {
        for r in 0..rows {
            data.extend((0..columns).map(|c| view[(r, c)] + 0.0));
        }
    }
    Some(Array { shape, data, kind: Kind::F64 })
}
