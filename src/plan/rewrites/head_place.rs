//! Which head of a plan a rewrite changes.

use std::fmt;
use std::str::FromStr;

use super::super::{Head, HeadStep, Name, Plan, StepId};
use crate::fault::{Fault, nearest};

/// A head, in a stack of layers also its layer: `head.2`, `layer.1.head.2`. Both from 0 in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeadPlace {
    /// The layer of a stack.
    pub layer: Option<usize>,
    /// The head.
    pub head: Head,
}

impl HeadPlace {
    /// The place of the head that a step belongs to.
    fn of(id: StepId) -> Option<Self> {
        Some(Self { layer: id.layer, head: id.head()? })
    }

    /// This head's steps of one kind in a plan: one, or one a sequence of a batch.
    ///
    /// # Errors
    /// The plan has none: with the nearest head that it has.
    pub(super) fn steps(self, plan: &Plan, step: HeadStep) -> Result<Vec<StepId>, Fault> {
        let wanted = StepId { sequence: None, layer: self.layer, name: Name::Head(self.head, step) };
        let ids: Vec<StepId> = plan.ids().into_iter().filter(|id| id.within() == wanted).collect();
        if ids.is_empty() { Err(self.is_not_there(plan, step)) } else { Ok(ids) }
    }

    fn is_not_there(self, plan: &Plan, step: HeadStep) -> Fault {
        let has_step = |id: &StepId| matches!(id.name, Name::Head(_, is) if is == step);
        let mut heads: Vec<String> = Vec::new();
        for place in
            plan.ids().into_iter().filter(has_step).filter_map(Self::of).map(|place| place.to_string())
        {
            if !heads.contains(&place) {
                heads.push(place);
            }
        }
        let what = format!("there is no {self}");
        match (heads.first(), heads.last()) {
            (Some(first), Some(last)) => {
                let near = nearest(&self.to_string(), heads.iter().map(String::as_str)).unwrap_or(last);
                let why = format!("the heads run from {first} to {last}, counted from 1");
                Fault::new(what, why, format!("did you mean {near}?"))
            }
            _ => Fault::new(
                what,
                format!("this plan has no {} of single heads", step.word()),
                "rewrite the plan before it is fused or tiled",
            ),
        }
    }
}

impl HeadPlace {
    /// The name that other tools give it, both counted from 0 (`L0H1`); `None` where there is no stack of layers.
    pub fn from_zero(self) -> Option<String> {
        self.layer.map(|layer| format!("L{layer}H{}", self.head.0))
    }
}

impl fmt::Display for HeadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(layer) = self.layer {
            write!(f, "layer.{}.", layer + 1)?;
        }
        write!(f, "head.{}", self.head.0 + 1)
    }
}

impl FromStr for HeadPlace {
    type Err = String;

    /// Reads `head.2` or `layer.1.head.2`, and `L0H1`, which other tools count from 0.
    fn from_str(text: &str) -> Result<Self, String> {
        let other_tools = text.strip_prefix('L').and_then(|rest| rest.split_once('H'));
        if let Some((layer, head)) = other_tools
            && let (Ok(layer), Ok(head)) = (layer.parse::<u32>(), head.parse::<u32>())
        {
            return Ok(Self { layer: Some(layer as usize), head: Head(head as usize) });
        }
        // A head is named as its steps are, without the step.
        match format!("{text}.output").parse::<StepId>() {
            Ok(StepId { sequence: None, layer, name: Name::Head(head, HeadStep::Output) }) => {
                Ok(Self { layer, head })
            }
            _ => Err(format!("{text} names no head: write head.2, or layer.1.head.2 in a stack of layers")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_named_as_its_steps_are() {
        for text in ["head.2", "layer.1.head.2", "layer.12.head.1"] {
            assert_eq!(text.parse::<HeadPlace>().unwrap().to_string(), text);
        }
        for wrong in ["head", "head.0", "2", "batch.1.head.2", "head.1.tile.1", "layer.1", "head.1.q", ""] {
            assert!(wrong.parse::<HeadPlace>().unwrap_err().contains("write head.2"), "{wrong}");
        }
    }

    #[test]
    fn other_tools_count_from_zero() {
        let place: HeadPlace = "L2H4".parse().unwrap();
        assert_eq!(place.to_string(), "layer.3.head.5");
        assert_eq!(place.from_zero().unwrap(), "L2H4");
        for wrong in ["L2", "LH", "L-1H0", "L1H", "l2h4"] {
            assert!(wrong.parse::<HeadPlace>().is_err(), "{wrong}");
        }
    }
}
