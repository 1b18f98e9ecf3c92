//! A trace in, one format out. A view computes nothing about attention.

pub mod ablate;
pub mod ablate_data;
pub mod ablate_each;
pub mod against;
pub mod beside;
pub mod beside_json;
mod beside_step;
pub mod capture;
pub mod cell;
pub mod check;
pub mod check_json;
pub mod check_model;
pub mod code;
pub mod compare;
pub mod compare_json;
mod compare_tables;
pub mod csv;
pub mod derivation;
pub(crate) mod excerpt;
pub mod explain;
pub mod explain_json;
pub mod grid;
pub mod heads;
pub mod heads_html;
pub mod heads_json;
mod heads_map;
pub mod heat;
pub mod html;
pub mod json;
pub mod latex;
pub mod look;
pub mod markdown;
pub(crate) mod markdown_text;
pub(crate) mod markup;
mod matrix;
pub mod mistakes;
pub mod model;
pub mod model_csv;
pub mod model_json;
mod model_layers;
mod model_work;
pub mod npz;
pub mod page;
pub mod params;
pub mod params_csv;
pub mod params_json;
mod params_memory;
pub mod part;
pub mod plot;
pub mod presets;
pub mod sheet;
mod side_by_side;
pub mod stacked;
pub mod story;
pub mod summary;
pub mod table;
pub mod tex;

pub use crate::number;

use crate::exact::Exact;
use crate::lesson::{Labels, Saying};
use crate::plan::{Attention, StepId};
use crate::trace::Trace;
use page::Page;

/// What a view is given: a trace, which of its steps to show, and what the lesson says about them.
pub struct Scene<'a> {
    /// Shown above everything.
    pub title: &'a str,
    /// One sentence on what to notice; may be empty.
    pub summary: &'a str,
    /// Where the example comes from; may be empty.
    pub source: &'a str,
    /// The attention call.
    pub attention: &'a Attention,
    /// Names of the tokens.
    pub labels: &'a Labels,
    /// Told at a step, in order.
    pub story: &'a [Saying],
    /// The numbers.
    pub trace: &'a Trace<f64>,
    /// The same in exact numbers, where they were asked for; [`Scene::cell`] chooses.
    pub exact: Option<&'a Exact>,
    /// The steps to show, in order.
    pub steps: &'a [StepId],
    /// How many sequences the batch has.
    pub batch: Option<usize>,
    /// For each key/value head, the query head whose keys and values files hold for it.
    pub kv_sheets: &'a [usize],
    /// The look of the page.
    pub page: Page,
}
pub mod weights;
