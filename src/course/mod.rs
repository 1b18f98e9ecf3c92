//! The course: what a learner does with a lesson.

pub mod worksheet;
