//! A lesson with some of its keys changed: runs, tasks and plots compute such lessons.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use nalgebra::DMatrix;
use serde_yaml::{Mapping, Value};

use super::quantity::{Figure, Numbers};
use super::reader::Reader;
use super::{Language, Options, Problem, Quantity, file, guard, rules};
use crate::fault::{Fault, Faults, Outcome, Place, counted};
use crate::limits::FAULTS;
use crate::plan::StepId;

/// What faults of a change are in, as they say.
const CHANGE: &str = "the change";

/// The keys of a lesson file that say what is computed; a change touches no other, and needs no other to be read.
const COMPUTED: &[&str] = &["mha", "tokens", "kv_tokens", "attention", "inputs", "projections", "layers"];

/// How a lesson is read once more.
#[derive(Debug, Clone)]
pub struct Origin {
    folder: PathBuf,
    options: Options,
    /// The keys that say what is computed, with their values: read from the text once, where they are asked for.
    values: Arc<OnceLock<Value>>,
}

impl Origin {
    /// A lesson that is read from its text, with files relative to `folder`.
    pub(super) fn new(folder: &Path, options: &Options) -> Self {
        Self { folder: folder.to_owned(), options: *options, values: Arc::default() }
    }
}

impl Problem {
    /// The same lesson with some keys of its file changed: sections are merged, anything else takes the place of what
    /// stood there, null takes it away. Its texts, claims, questions and parts stay as they are.
    ///
    /// # Errors
    /// Everything that is wrong with the changed lesson, as for any lesson; the faults say that they come from the change.
    pub fn changed(&self, change: &Value) -> Outcome<Self> {
        let mut values = self.values()?;
        merged(&mut values, change);
        let folder = self.origin.folder.clone();
        let mut reader = Reader::new(&folder, &self.origin.options);
        let problem = file::read(&values, &mut reader).and_then(|file| rules::apply(file, &mut reader));
        let problem =
            problem.filter(|problem| reader.is_content() && rules::can_be_planned(problem, &mut reader));
        let Some(problem) = problem else {
            let (faults, untold) = reader.into_faults();
            return Err(of_the_change(
                faults.into_iter().map(|(fault, spot)| (fault, spot.to_string())),
                untold,
            ));
        };
        Ok(Self {
            title: self.title.clone(),
            summary: self.summary.clone(),
            source: self.source.clone(),
            story: self.story.clone(),
            claims: self.claims.clone(),
            quiz: self.quiz.clone(),
            course: self.course.clone(),
            text: self.text.clone(),
            origin: Origin { values: Arc::new(OnceLock::from(values)), ..self.origin.clone() },
            ..problem
        })
    }

    /// The language of its texts.
    pub fn language(&self) -> Language {
        self.origin.options.language
    }

    /// The same lesson with its texts in another language.
    ///
    /// # Errors
    /// Its files cannot be read any more.
    pub fn in_language(&self, language: Language) -> Outcome<Self> {
        let options = Options { language, ..self.origin.options };
        let read = super::parse_guarded(&self.text, CHANGE, &self.origin.folder, &options)?;
        Ok(Self {
            story: read.story,
            quiz: read.quiz,
            course: read.course,
            claims: read.claims,
            ..self.clone()
        })
    }

    /// The keys that say what is computed, with their values.
    pub fn values(&self) -> Outcome<Value> {
        if let Some(values) = self.origin.values.get() {
            return Ok(values.clone());
        }
        let whole = guard::value(&self.text, CHANGE)?;
        let Value::Mapping(entries) = whole else { return Ok(whole) };
        let kept = |(key, _): &(Value, Value)| key.as_str().is_some_and(|key| COMPUTED.contains(&key));
        let values = Value::Mapping(entries.into_iter().filter(kept).collect::<Mapping>());
        Ok(self.origin.values.get_or_init(|| values).clone())
    }
}

fn of_the_change(faults: impl Iterator<Item = (Fault, String)>, untold: usize) -> Faults {
    let mut told: Vec<Fault> = faults
        .take(FAULTS)
        .map(|(fault, path)| fault.at(Place { source: CHANGE.to_owned(), path, ..Place::default() }))
        .collect();
    if untold > 0 {
        let what = format!("{} more like these", counted(untold, "fault"));
        told.push(Fault::new(what, "", "mend the first ones, and look again").in_source(CHANGE));
    }
    Faults(told)
}

/// The mappings that are sections, whose keys stand each for itself; any other mapping is one value, such as
/// `{causal: top-left}`.
const SECTIONS: &[&str] =
    &["attention", "inputs", "projections", "layers", "ffn", "qk_norm", "random", "alibi", "rope"];

/// Merges a change into values: section into section; null takes a key away; anything else takes the place of what was
/// there.
pub fn merged(values: &mut Value, change: &Value) {
    let Value::Mapping(changes) = change else { return };
    if !values.is_mapping() {
        *values = Value::Mapping(Mapping::new());
    }
    let Value::Mapping(entries) = values else { return };
    for (key, change) in changes {
        match (change, entries.get_mut(key)) {
            (Value::Null, _) => {
                entries.remove(key);
            }
            (Value::Mapping(inner), Some(value)) if is_merged(key, inner, value) => merged(value, change),
            (change, Some(value)) => change.clone_into(value),
            (change, None) => {
                entries.insert(key.clone(), change.clone());
            }
        }
    }
}

/// Whether a change goes into what stands under a key, instead of taking its place.
fn is_merged(key: &Value, change: &Mapping, value: &Value) -> bool {
    let is_section = |key: &Value| key.as_str().is_some_and(|key| SECTIONS.contains(&key));
    // {random: {seed: 3}} into {random: {seed: 7, std: 0.5}} changes the seed
    let is_inside = || {
        change.keys().all(is_section)
            && value.as_mapping().is_some_and(|value| change.keys().all(|key| value.contains_key(key)))
    };
    value.is_mapping() && (is_section(key) || is_inside())
}

/// A change in which `$` is this number: where it is a whole text, and in texts that begin with it and go on with an
/// operator, such as `$*2`.
///
/// # Errors
/// A text that begins so and is no expression. In words.
pub fn substituted(change: &Value, value: f64) -> Result<Value, String> {
    Ok(match change {
        Value::String(text) if is_in_dollars(text) => {
            let quantity: Quantity =
                text.parse().map_err(|error| format!("\"{text}\" is no expression: {error}"))?;
            number(quantity.number(&Variable(value))?)
        }
        Value::Sequence(items) => {
            Value::Sequence(items.iter().map(|item| substituted(item, value)).collect::<Result<_, _>>()?)
        }
        Value::Mapping(entries) => Value::Mapping(
            entries
                .iter()
                .map(|(key, inner)| Ok((key.clone(), substituted(inner, value)?)))
                .collect::<Result<_, String>>()?,
        ),
        other => other.clone(),
    })
}

/// Whether a text is `$`, or begins with it and goes on with an operator.
fn is_in_dollars(text: &str) -> bool {
    text.trim()
        .strip_prefix('$')
        .is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with(['+', '-', '*', '/', '^']))
}

/// What a number of a plot's axis alone gives an expression.
struct Variable(f64);

impl Numbers for Variable {
    fn step(&self, step: StepId, _: Option<&str>) -> Result<DMatrix<f64>, String> {
        Err(format!("a change is made before {step} is computed"))
    }

    fn figure(&self, _: Figure, _: Option<&str>) -> Result<f64, String> {
        Err("a change is made before anything is computed".to_owned())
    }

    fn count(&self, _: &str, _: &str) -> Result<f64, String> {
        Err("a change counts no models".to_owned())
    }

    fn slope(&self, (step, _): (StepId, Option<&str>), _: StepId) -> Result<f64, String> {
        Err(format!("a change is made before {step} is computed"))
    }

    fn variable(&self) -> Option<f64> {
        Some(self.0)
    }
}

/// A number as YAML has it: whole ones whole, so that they can be sizes.
fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0; // 2^53
    if value.fract() == 0.0 && value.abs() <= EXACT { Value::from(value as i64) } else { Value::from(value) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lesson::parse;

    fn yaml(text: &str) -> Value {
        serde_yaml::from_str(text).unwrap()
    }

    #[test]
    fn sections_are_merged_and_everything_else_takes_the_place_of_what_was_there() {
        let cases = [
            (
                "{attention: {d_k: 2, mask: causal}}",
                "{attention: {d_k: 3}}",
                "{attention: {d_k: 3, mask: causal}}",
            ),
            ("{attention: {d_k: 2, mask: causal}}", "{attention: {mask: null}}", "{attention: {d_k: 2}}"),
            ("{inputs: {x: [[1, 2]]}}", "{inputs: {x: [[3]]}}", "{inputs: {x: [[3]]}}"),
            ("{tokens: [a]}", "{projections: {w_o: zeros}}", "{tokens: [a], projections: {w_o: zeros}}"),
            // a mask is one value; the numbers of a random array are several
            (
                "{attention: {mask: {causal: top-left}}}",
                "{attention: {mask: {window: 3}}}",
                "{attention: {mask: {window: 3}}}",
            ),
            (
                "{projections: {w_q: {random: {seed: 1, std: 2}}}}",
                "{projections: {w_q: {random: {seed: 3}}}}",
                "{projections: {w_q: {random: {seed: 3, std: 2}}}}",
            ),
            (
                "{projections: {w_q: {file: w.npy}}}",
                "{projections: {w_q: {random: {seed: 3}}}}",
                "{projections: {w_q: {random: {seed: 3}}}}",
            ),
            (
                "{projections: {w_q: identity}}",
                "{projections: {w_q: {random: {seed: 3}}}}",
                "{projections: {w_q: {random: {seed: 3}}}}",
            ),
        ];
        for (before, change, after) in cases {
            let mut values = yaml(before);
            merged(&mut values, &yaml(change));
            assert_eq!(values, yaml(after), "{change}");
        }
    }

    #[test]
    fn a_dollar_is_a_number_where_it_is_meant_as_one() {
        let cases = [
            ("{d_k: $}", 4.0, "{d_k: 4}"),
            ("{scale: $}", 0.5, "{scale: 0.5}"),
            ("{d_model: $*2}", 4.0, "{d_model: 8}"),
            ("{shape: ['$ + 1', $]}", 4.0, "{shape: [5, 4]}"),
            ("{scale: $^-0.5}", 4.0, "{scale: 0.5}"),
            ("{tokens: [a$, $a]}", 4.0, "{tokens: [a$, $a]}"),
        ];
        for (change, value, expected) in cases {
            assert_eq!(substituted(&yaml(change), value), Ok(yaml(expected)), "{change}");
        }
        assert!(substituted(&yaml("$ * x[1,1]"), 1.0).is_err());
        assert!(substituted(&yaml("$ *"), 1.0).is_err());
    }

    const LESSON: &str = "\
        {title: {en: Two, zh: 二}, attention: {num_heads: 2}, inputs: {x: [[1, 0, 1, 0], [0, 1, 0, 1]]}, \
        projections: {w_q: identity, w_k: identity, w_v: identity, w_o: identity}, \
        quiz: [{ask: {en: why?, zh: 为什么？}, cell: 'x[1,1]'}]}";

    fn lesson() -> Problem {
        parse(LESSON, "l.yaml", Path::new("."), &Options::default()).unwrap()
    }

    #[test]
    fn a_lesson_is_read_again_with_changes_one_upon_the_other() {
        let one = lesson().changed(&yaml("{attention: {num_heads: 1}}")).unwrap();
        assert_eq!((one.attention.num_heads, one.attention.d_k), (1, 4));
        let longer = one.changed(&yaml("{inputs: {x: [[1, 2, 3, 4]]}}")).unwrap();
        assert_eq!((longer.attention.num_heads, longer.labels.queries.len()), (1, 1));
        assert_eq!(longer.quiz, lesson().quiz);
    }

    #[test]
    fn faults_of_a_change_say_so_and_all_are_told() {
        let Faults(faults) =
            lesson().changed(&yaml("{attention: {num_heads: 3}, inputs: {y: 1}}")).unwrap_err();
        let told: Vec<_> = faults
            .iter()
            .map(|fault| {
                (fault.place.as_ref().unwrap().source.as_str(), fault.place.as_ref().unwrap().path.as_str())
            })
            .collect();
        assert!(told.contains(&("the change", "inputs.y")), "{told:?}");
    }

    #[test]
    fn a_lesson_is_told_in_the_other_language() {
        let zh = lesson().in_language(Language::Zh).unwrap();
        assert_eq!((zh.quiz[0].ask.as_str(), &zh.quiz[0].id), ("为什么？", &lesson().quiz[0].id));
        assert_eq!(zh.inputs, lesson().inputs);
    }
}
