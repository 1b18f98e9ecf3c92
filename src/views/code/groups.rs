//! Steps that share a name in files: one a head, one a sequence.

use std::collections::BTreeSet;

use super::Source;
use crate::arrays::Array;
use crate::ops::Op;
use crate::plan::{Axis, HeadStep, Name, Step, StepId};
use crate::views::stacked::{self, file_name};

/// The steps that a file holds in one array.
pub(super) struct Group<'a> {
    /// The array's name, and the variable's.
    pub(super) name: String,
    /// Its steps, in the plan's order; never empty.
    pub(super) steps: Vec<&'a Step>,
    /// What it holds.
    pub(super) array: Array,
}

/// Every group, in the order of the computation.
pub(super) fn all<'a>(source: &Source<'a>) -> Vec<Group<'a>> {
    let scene = source.scene;
    let of = |name: &str| -> Vec<&'a Step> {
        let own = |id: &&StepId| file_name(id.name).is_some_and(|own| own == name);
        scene.steps.iter().filter(own).filter_map(|id| scene.trace.plan().get(*id)).collect()
    };
    stacked::arrays(scene, source.keep_batch_axis)
        .into_iter()
        .map(|(name, array)| Group { steps: of(&name), name, array })
        .filter(|group| !group.steps.is_empty())
        .collect()
}

/// Where a head's step stands in the computation; nothing for what belongs to no head.
fn stage_of(name: Name) -> Option<HeadStep> {
    match name {
        Name::Head(_, step) => Some(step),
        _ => None,
    }
}

impl Group<'_> {
    /// The step that speaks for all.
    pub(super) fn first(&self) -> &Step {
        self.steps[0]
    }

    /// The step whose formula speaks for all: the first, or where heads differ (a mask in one of them only) the first of
    /// those that have most done to them.
    pub(super) fn fullest(&self) -> &Step {
        let last_input = |step: &Step| step.inputs.iter().map(|input| stage_of(input.name)).max();
        self.steps[1..]
            .iter()
            .fold(self.first(), |best, step| if last_input(step) > last_input(best) { step } else { best })
    }

    /// Whether it was given, not computed.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.first().op, Op::Given(_))
    }

    /// The variable that holds the step's input number `place`. Where heads differ (a bias in one of them only), the
    /// one that comes last in the computation has them all.
    pub(super) fn input(&self, place: usize) -> String {
        let inputs = self.steps.iter().filter_map(|step| step.inputs.get(place)).map(|input| input.name);
        inputs.max_by_key(|name| stage_of(*name)).and_then(file_name).unwrap_or_default()
    }

    /// Where it stands in the computation. The order in which names first appear is not enough: where only head 2 has a
    /// mask, its masked scores appear after head 1's weights.
    pub(super) fn stage(&self) -> (u8, Option<HeadStep>) {
        match self.first().id.name {
            Name::Head(_, step) => (1, Some(step)),
            Name::Concat | Name::Output => (2, None),
            _ => (0, None),
        }
    }

    /// How many inputs its steps have.
    pub(super) fn inputs(&self) -> usize {
        self.first().inputs.len()
    }

    /// The heads that have this step, where not all of them do.
    pub(super) fn only_heads(&self, num_heads: usize) -> Option<Vec<usize>> {
        let heads: BTreeSet<usize> =
            self.steps.iter().filter_map(|step| step.id.head()).map(|head| head.0).collect();
        (!heads.is_empty() && heads.len() < num_heads).then(|| heads.into_iter().collect())
    }

    /// Whether it is there once a key/value head, and not once a query head.
    pub(super) fn is_shared(&self) -> bool {
        let step = self.first().id.name;
        matches!(
            step,
            Name::Head(_, HeadStep::K | HeadStep::V | HeadStep::KNorm | HeadStep::KRot | HeadStep::VRot)
        )
    }

    /// Its shape in words: `2 heads × 3 queries × 3 keys`; a variable has all heads, even where the trace has a step in
    /// some of them only.
    pub(super) fn shape(&self, num_heads: usize) -> String {
        let step = self.first();
        let axis = |axis: Axis| match axis {
            Axis::Queries if step.id.name == Name::X => "token",
            Axis::Queries => "query",
            Axis::Keys => "key",
            _ => "",
        };
        let inner = [axis(step.axes.0), axis(step.axes.1)];
        let of_one_sequence = self.steps.iter().filter(|other| other.id.sequence == step.id.sequence);
        let heads = self.array.shape.iter().rev().nth(2).copied();
        let shared = self.is_shared() && heads != Some(of_one_sequence.count());
        let head = step.id.head().map(|_| if shared { "key/value head" } else { "head" });
        let mut words: Vec<&str> = head.into_iter().chain(inner).collect();
        while words.len() < self.array.shape.len() {
            words.insert(0, "sequence");
        }
        let from = words.len() - self.array.shape.len();
        let mut sizes = self.array.shape.clone();
        if let (true, Some(heads)) = (head == Some("head"), sizes.iter_mut().rev().nth(2)) {
            *heads = num_heads;
        }
        let parts = sizes.iter().zip(&words[from..]).map(|(size, word)| match (*size, *word) {
            (size, "") => size.to_string(),
            (1, word) => format!("1 {word}"),
            (size, "query") => format!("{size} queries"),
            (size, word) => format!("{size} {word}s"),
        });
        parts.collect::<Vec<_>>().join(" × ")
    }
}
