//! A plan is data: named steps in order, each an operation on earlier steps.

mod after;
pub mod attention;
pub mod id;
pub mod layers;
pub mod masks;
pub mod memory;
pub mod names;
pub mod rewrites;
pub mod spec;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use nalgebra::DMatrix;

pub use id::{EmbedStep, FfnStep, Head, HeadStep, Name, NotAStep, Projection, Stack, StepId, TileStep};
pub use layers::{FeedForward, Layer, Layers, Norm, NormPlace, Start};
pub use spec::Attention;

use crate::fault::{Fault, Outcome};
use crate::ops::{Cost, Formula, Layout, Op, Operation, Real, Shape, Signs};

/// What a problem brings along, by name.
pub type Inputs<T = f64> = BTreeMap<StepId, Arc<DMatrix<T>>>;

/// The same numbers in another type; a trace takes inputs as they are, without a copy.
pub fn inputs_as<T: Real>(inputs: &Inputs) -> Inputs<T> {
    inputs.iter().map(|(id, value)| (*id, Arc::new(value.map(T::of)))).collect()
}

/// Shapes of matrices, by name.
pub type Shapes = BTreeMap<StepId, Shape>;

/// Where a problem's numbers come from, by name: a map of matrices, or a checkpoint that is read as steps ask for it.
pub trait Source<T: Real>: Sync {
    /// The matrix of that name; `None` where there is none.
    ///
    /// # Errors
    /// It is there, and cannot be read.
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<T>>>>;
}

impl<T: Real> Source<T> for Inputs<T> {
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<T>>>> {
        Ok(self.get(&id).cloned())
    }
}

/// One attention call, or a stack of layers around it, with its numbers: what a plan is built from.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// Sizes, scale, masks, positions; of a stack those of its first layer.
    pub attention: Attention,
    /// The stack of layers, where the call is one.
    pub layers: Option<Layers>,
    /// How many sequences stand in the batch; `None` where the input had no batch axis.
    pub batch: Option<usize>,
    /// Embeddings (or q, k, v), projections, biases.
    pub inputs: Inputs,
    /// The shapes of matrices that stand in a checkpoint, and are read when a step asks for them.
    pub elsewhere: Shapes,
}

impl Call {
    /// The shape of a matrix that was given, here or elsewhere.
    pub fn shape_of(&self, id: StepId) -> Option<Shape> {
        self.inputs.get(&id).map(|matrix| matrix.shape()).or_else(|| self.elsewhere.get(&id).copied())
    }

    /// The attention of every layer; of a call without layers its own.
    pub fn attentions(&self) -> impl Iterator<Item = &Attention> {
        let own = self.layers.is_none().then_some(&self.attention);
        let of_layers = self.layers.iter().flat_map(|stack| &stack.layers).map(|layer| &layer.attention);
        own.into_iter().chain(of_layers)
    }
}

/// Named steps in order; every step's inputs come before it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    steps: Vec<Step>,
    places: HashMap<StepId, usize>,
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name.
    pub id: StepId,
    /// What it does.
    pub op: Op,
    /// What it does it to.
    pub inputs: Vec<StepId>,
    /// Rows and columns of its result.
    pub shape: Shape,
    /// What its rows and columns stand for.
    pub axes: (Axis, Axis),
    /// Something the operation cannot know about itself; usually empty.
    pub note: String,
    /// Whether an earlier step holds the same numbers (keys of a head that shares them): its cost counts once.
    pub repeats: bool,
}

/// What the rows or the columns of a matrix stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Tokens that ask.
    Queries,
    /// Tokens that answer.
    Keys,
    /// Keys of a tile, from this one on.
    KeysFrom(usize),
    /// Numbers of a token.
    Features,
    /// So many heads' queries, one above the other.
    StackedQueries(usize),
    /// So many heads' keys, one above the other.
    StackedKeys(usize),
    /// m, ℓ, o₁ … of the online softmax.
    State,
    /// A single line.
    One,
}

impl Plan {
    /// Adds a step at the end.
    ///
    /// # Errors
    /// An input is not there, or its shape does not fit.
    pub fn add(&mut self, id: StepId, op: impl Into<Op>, inputs: &[StepId]) -> Result<StepId, Fault> {
        let op = op.into();
        let mut shapes = Vec::with_capacity(inputs.len());
        for input in inputs {
            let step = self.get(*input).ok_or_else(|| {
                Fault::new(
                    format!("{id} needs {input}, which is not there"),
                    "a step can only use what comes before it",
                    format!("give {input}"),
                )
            })?;
            shapes.push(step.shape);
        }
        let shape = op.shape(&shapes).map_err(|why| {
            let given: Vec<String> =
                inputs.iter().zip(&shapes).map(|(input, (r, c))| format!("{input} is {r} × {c}")).collect();
            Fault::new(format!("{id} cannot be computed: {}", given.join(", ")), why, "make the sizes agree")
        })?;
        let axes = names::axes(id.name);
        self.push(Step { id, op, inputs: inputs.to_vec(), shape, axes, note: String::new(), repeats: false });
        Ok(id)
    }

    /// Adds a step that is complete; one of the same name is replaced where it stands.
    pub fn push(&mut self, step: Step) {
        match self.places.get(&step.id) {
            Some(place) => self.steps[*place] = step,
            None => {
                self.places.insert(step.id, self.steps.len());
                self.steps.push(step);
            }
        }
    }

    /// Puts another operation in the place of a step: its name, what its rows and columns stand for and what follows stay.
    ///
    /// # Errors
    /// The shapes of the inputs do not fit.
    pub fn replace(&mut self, id: StepId, op: impl Into<Op>, inputs: &[StepId]) -> Result<(), Fault> {
        let before = self.get(id).map(|step| (step.axes, step.note.clone(), step.repeats));
        self.add(id, op, inputs)?;
        if let (Some((axes, note, repeats)), Some(place)) = (before, self.place(id)) {
            self.steps[place] = Step { axes, note, repeats, ..self.steps[place].clone() };
        }
        Ok(())
    }

    /// Says something about a step that its operation cannot know.
    pub fn note(&mut self, id: StepId, note: impl Into<String>) {
        if let Some(place) = self.places.get(&id) {
            self.steps[*place].note = note.into();
        }
    }

    /// Says whether an earlier step holds the same numbers.
    pub fn repeats(&mut self, id: StepId, repeats: bool) {
        if let Some(place) = self.places.get(&id) {
            self.steps[*place].repeats = repeats;
        }
    }

    /// Sets what a step's rows and columns stand for.
    pub fn axes(&mut self, id: StepId, axes: (Axis, Axis)) {
        if let Some(place) = self.places.get(&id) {
            self.steps[*place].axes = axes;
        }
    }

    /// All steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The names of all steps, in order.
    pub fn ids(&self) -> Vec<StepId> {
        self.steps.iter().map(|step| step.id).collect()
    }

    /// The step of that name.
    pub fn get(&self, id: StepId) -> Option<&Step> {
        self.place(id).map(|place| &self.steps[place])
    }

    /// Where the step of that name stands.
    pub fn place(&self, id: StepId) -> Option<usize> {
        self.places.get(&id).copied()
    }

    /// The formula of a step, with its sizes.
    pub fn formula(&self, step: &Step, layout: Layout) -> Formula {
        step.op.formula(&Signs {
            out: names::sign(step.id),
            inputs: step.inputs.iter().map(|input| names::sign(*input)).collect(),
            out_shape: step.shape,
            shapes: self.shapes(step),
            layout,
        })
    }

    /// The shapes of a step's inputs.
    pub fn shapes(&self, step: &Step) -> Vec<Shape> {
        step.inputs.iter().filter_map(|input| self.get(*input)).map(|input| input.shape).collect()
    }

    /// What a step takes; nothing where an earlier step has the same numbers.
    pub fn cost_of(&self, step: &Step) -> Cost {
        if step.repeats { Cost::default() } else { step.op.cost(&self.shapes(step)) }
    }

    /// What one sequence takes.
    pub fn cost(&self, sequence: Option<usize>) -> Cost {
        self.steps.iter().filter(|step| step.id.sequence == sequence).map(|step| self.cost_of(step)).sum()
    }

    /// Learned numbers: projections and biases, and in a stack of layers also the matrices of its feed-forward networks
    /// and the gains and shifts of its norms.
    pub fn parameters(&self) -> u128 {
        let learned = |step: &Step| match &step.op {
            Op::Given(_) if names::is_learned(step.id.name) => step.shape.0 as u128 * step.shape.1 as u128,
            Op::LayerNorm(norm) => norm.parameters() as u128,
            Op::RmsNorm(norm) if !matches!(step.id.name, Name::QNorm | Name::KNorm | Name::Head(..)) => {
                norm.gain.len() as u128
            }
            _ => 0,
        };
        self.steps.iter().map(learned).sum()
    }
}
