//! Where a walk through a tree stands, and what holds there.

use super::built_in::Holds;
use super::model::{Group, Positions, Routed, Side};
use super::tree::Child;
use crate::fault::{Fault, Outcome};

/// Where the walk stands, and what holds there.
#[derive(Debug, Clone)]
pub(super) struct Spot {
    pub(super) path: String,
    pub(super) pattern: String,
    pub(super) list: Option<(usize, u64)>,
    pub(super) group: Option<Group>,
    pub(super) attention: Option<usize>,
    pub(super) experts: Option<Routed>,
    pub(super) positions: Positions,
    pub(super) applied: u64,
    pub(super) frozen: bool,
    /// Inside what a class adds to the base model.
    pub(super) in_class: bool,
    /// The path that this module shares its tensors with, and how long its own path was there.
    pub(super) shared: Option<(String, usize)>,
}

impl Spot {
    pub(super) fn inside(&self, name: &str, pattern: &str) -> Self {
        let mut inside = self.clone();
        for (path, part) in [(&mut inside.path, name), (&mut inside.pattern, pattern)] {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(part);
        }
        inside
    }

    pub(super) fn marked(&mut self, child: &Child) -> Outcome<()> {
        for mark in child
            .group
            .as_deref()
            .unwrap_or_default()
            .split('@')
            .map(str::trim)
            .filter(|mark| !mark.is_empty())
        {
            match mark {
                "frozen" => self.frozen = true,
                group => self.group = Some(group_of(group)?),
            }
        }
        Ok(())
    }

    pub(super) fn group_of(&self, holds: Holds) -> Group {
        let is_norm = matches!(holds, Holds::Norm | Holds::ResidualNorm);
        if holds == Holds::ResidualNorm {
            return Group::Norm;
        }
        if self.attention.is_some() {
            return Group::Attention;
        }
        match self.group {
            Some(Group::Embedding | Group::FeedForward | Group::Experts | Group::SharedExperts)
                if is_norm =>
            {
                Group::Norm
            }
            Some(group) => group,
            None if is_norm => Group::Norm,
            None if holds == Holds::Table => Group::Embedding,
            None if self.in_class => Group::Head,
            None if self.list.is_some() => Group::FeedForward,
            None => Group::Other,
        }
    }
}

pub(super) fn side_of(side: &str) -> Side {
    if side == "encoder" { Side::Source } else { Side::Target }
}

pub(super) fn group_of(word: &str) -> Outcome<Group> {
    let found = Group::ALL.into_iter().find(|group| group.name() == word);
    found.ok_or_else(|| Fault::new(format!("there is no group {word}"), "", "").into())
}
