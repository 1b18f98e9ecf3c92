//! `mha check --model`: someone's port of a model beside the model itself; and lessons that are stacks of layers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use nalgebra::DMatrix;

use super::{CheckArgs, CheckFormat, read_once, write_parts};
use crate::answers;
use crate::cli::Ending;
use crate::cli::output::{self, Content};
use crate::fault::{Fault, Outcome};
use crate::lesson::{Problem, builtin};
use crate::mistakes::layers::{Whole, diagnose_layers};
use crate::model::Task;
use crate::plan::{Source, StepId, attention};
use crate::views::check_model::{self, Report};

/// The same numbers in double precision.
struct Widened<'a>(&'a Task<'a>);

impl Source<f64> for Widened<'_> {
    fn matrix(&self, id: StepId) -> Outcome<Option<Arc<DMatrix<f64>>>> {
        let matrix: Option<Arc<DMatrix<f32>>> = self.0.matrix(id)?;
        Ok(matrix.map(|matrix| Arc::new(matrix.map(f64::from))))
    }
}

/// Someone's port of a model.
pub(super) fn run(args: &CheckArgs) -> Outcome<Ending> {
    if let Some(lesson) = args.given.iter().find(|name| builtin::find(name).is_some()) {
        let why = "with --model every file holds tensors of the model's layers";
        let fault = Fault::new("--model takes no lesson", why, format!("leave out {lesson}"));
        return Err(fault.in_source("--model").into());
    }
    if args.given.is_empty() {
        let why = "the files with the tensors of your own port come after the model";
        let remedy = "mha check --model DIR --text \"…\" port.npz";
        return Err(Fault::new("there are no tensors to check", why, remedy).in_source("ANSWERS").into());
    }
    let model = args.model.opened()?;
    let task = Task::new(&model, args.model.passage(&model)?)?;
    let source = Widened(&task);
    let whole = Whole { call: &task.call, plan: &task.plan, source: &source };
    checked(args, &whole, &task.model.name, Some(&args.model.words()), &args.given)
}

/// A lesson that is a stack of layers.
pub(super) fn with_stack(args: &CheckArgs, problem: &Problem, files: &[String]) -> Outcome<Ending> {
    let call = problem.call();
    let plan = Arc::new(attention::plan(&call)?);
    let whole = Whole { call: &call, plan: &plan, source: &call.inputs };
    checked(args, &whole, &problem.title, None, files)
}

fn checked(
    args: &CheckArgs,
    whole: &Whole<'_>,
    title: &str,
    model: Option<&[String]>,
    files: &[String],
) -> Outcome<Ending> {
    read_once(files.iter().map(Path::new), "ANSWERS")?;
    let known = whole.known();
    let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
    let answers = answers::read_layers(&files, &args.map, &known)?;
    let diagnosis = diagnose_layers(whole, &answers)?;
    let report = Report { title, model, known: &known, answers: &answers, diagnosis: &diagnosis };
    match args.format {
        CheckFormat::Json => {
            output::write(&args.common, Content::Text, |out| check_model::write_json(&report, out))?;
        }
        format => write_parts(args, format, &check_model::parts(&report))?,
    }
    Ok(if diagnosis.first_wrong.is_none() { Ending::Done } else { Ending::AnswerIsNo })
}
