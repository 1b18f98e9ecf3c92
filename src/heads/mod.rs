//! What each head of each layer does on a text: measures from its attention weights, and names for what stands out.
//!
//! ```text
//! Task (model, passage) ──> walk: one layer's maps at a time ──> Tally (sums over queries) ──> Survey
//!                                                                 Survey ──> Role (named by thresholds), Claim
//! ```
//!
//! Every definition stands in [`Measure`], every threshold in [`role`]; pages and help show both from there.

pub mod claims;
pub mod measure;
pub mod role;
pub mod survey;
pub mod tally;
mod walk;

pub use measure::Measure;
pub use role::Role;
pub use survey::{HeadSurvey, LayerSurvey, Peak, Survey, View};
pub use tally::Tally;
