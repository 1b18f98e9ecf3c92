//! Someone's own numbers beside the right ones: what is different.

pub mod difference;
