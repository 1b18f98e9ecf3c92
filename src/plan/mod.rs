//! A plan is data: named steps in order, each an operation on earlier steps.

pub mod id;
pub mod spec;

pub use id::{Head, HeadStep, Name, Projection, Stack, StepId, TileStep};
pub use spec::Attention;
