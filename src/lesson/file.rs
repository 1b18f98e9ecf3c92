//! The keys of a lesson file, as they were typed; what they mean together is the business of `rules`.

use serde_yaml::Value;

use super::arrays_in::{self, Typed};
use super::claims;
use super::course::{self, Course};
use super::layers::{self, TypedLayers};
use super::literal::Cells;
use super::masks::{self, TypedMask};
use super::no_lesson;
use super::norm::{self, TypedNorm};
use super::packing::{self, Packed};
use super::positions::{self, TypedPositions};
use super::reader::{Given, Node, Reader, Section, Spot};
use super::story;
use super::{Claim, Question, Saying};
use crate::limits::LESSON_SIZE;
use crate::plan::Projection;
use crate::plan::spec::{FullyMaskedRows, Scale};

/// The version of the format that this program reads.
const VERSION: u64 = 1;

/// What a lesson can have at its outermost level.
const KEYS: &[&str] = &[
    "mha",
    "title",
    "summary",
    "source",
    "tokens",
    "kv_tokens",
    "attention",
    "inputs",
    "projections",
    "layers",
    "story",
    "claims",
    "quiz",
    "topics",
    "runs",
    "course",
];

/// A lesson file, key by key.
#[derive(Debug, Clone)]
pub(super) struct File {
    pub(super) title: Given<String>,
    pub(super) summary: Given<String>,
    pub(super) source: Given<String>,
    pub(super) tokens: Given<Vec<String>>,
    pub(super) kv_tokens: Given<Vec<String>>,
    pub(super) attention: AttentionKeys,
    pub(super) inputs: Inputs,
    pub(super) projections: Projections,
    pub(super) layers: Given<TypedLayers>,
    pub(super) story: Given<Vec<Saying>>,
    pub(super) claims: Given<Vec<Claim>>,
    pub(super) quiz: Given<Vec<Question>>,
    pub(super) course: Given<Course>,
}

/// The section `attention`.
#[derive(Debug, Clone)]
pub(super) struct AttentionKeys {
    pub(super) d_model: Given<usize>,
    pub(super) num_heads: Given<usize>,
    pub(super) num_kv_heads: Given<usize>,
    pub(super) d_k: Given<usize>,
    pub(super) d_v: Given<usize>,
    pub(super) scale: Given<Scale>,
    pub(super) mask: Given<Vec<TypedMask>>,
    pub(super) positions: Given<TypedPositions>,
    pub(super) softcap: Given<f64>,
    pub(super) qk_norm: Given<TypedNorm>,
    pub(super) sinks: Given<Typed>,
    pub(super) fully_masked_rows: Given<FullyMaskedRows>,
    pub(super) spot: Spot,
}

/// The section `inputs`.
#[derive(Debug, Clone)]
pub(super) struct Inputs {
    pub(super) x: Given<Typed>,
    pub(super) x_kv: Given<Typed>,
    pub(super) q: Given<Typed>,
    pub(super) k: Given<Typed>,
    pub(super) v: Given<Typed>,
    pub(super) spot: Spot,
}

/// The section `projections`; `w` and `b` in the paper's order Q, K, V, O.
#[derive(Debug, Clone)]
pub(super) struct Projections {
    pub(super) w: [Given<Typed>; 4],
    pub(super) b: [Given<Typed>; 4],
    pub(super) in_proj: Given<Packed>,
    pub(super) spot: Spot,
}

/// Reads every key; what is wrong is noted, and the rest is read all the same.
///
/// `None` only where there is nothing to go on with.
pub(super) fn read(value: &Value, reader: &mut Reader) -> Option<File> {
    let root = Node { value, spot: Spot::root() };
    if value.is_null() {
        return reader.fault(
            &root.spot,
            "the lesson is empty",
            "it needs attention: and inputs: at least",
            "`mha lessons show two-heads` prints one to start from",
        );
    }
    if no_lesson::by_its_keys(value, &root.spot, KEYS, reader).is_some() {
        return None;
    }
    let file = root.section(KEYS, reader)?;
    version(&file, reader);
    course::keep(value, reader)?;
    let text = |key: &str, reader: &mut Reader| file.given(key, reader, Node::text);
    let title = text("title", reader);
    let summary = text("summary", reader);
    let source = text("source", reader);
    let tokens = file.given("tokens", reader, labels);
    let kv_tokens = file.given("kv_tokens", reader, labels);
    let attention = file.given("attention", reader, attention);
    let inputs = file.given("inputs", reader, inputs);
    let projections = file.given("projections", reader, projections);
    let layers = file.given("layers", reader, layers::read);
    let story = file.given("story", reader, story::sayings);
    let claims = file.given("claims", reader, claims::read);
    let quiz = file.given("quiz", reader, course::questions);
    let course = course_of(&file, reader);
    for (key, missing, remedy) in [
        ("attention", attention.is_absent(), "write attention: {num_heads: 2}"),
        ("inputs", inputs.is_absent(), "write inputs: {x: [[1, 0], [0, 1]]}, or give q, k and v"),
    ] {
        if missing {
            reader.fault::<()>(
                &file.spot,
                format!("the lesson has no {key}"),
                "there is nothing to compute",
                remedy,
            );
        }
    }
    let nowhere = file.spot.key("projections");
    let no_projections = Projections {
        w: [const { Given::Absent }; 4],
        b: [const { Given::Absent }; 4],
        in_proj: Given::Absent,
        spot: nowhere,
    };
    Some(File {
        title,
        summary,
        source,
        tokens,
        kv_tokens,
        attention: attention.good().cloned()?,
        inputs: inputs.good().cloned()?,
        projections: projections.or(no_projections)?,
        layers,
        story,
        claims,
        quiz,
        course,
    })
}

/// The sections `topics`, `runs` and `course`.
fn course_of(file: &Section, reader: &mut Reader) -> Given<Course> {
    let topics = file.given("topics", reader, course::topics);
    let runs = file.given("runs", reader, course::runs);
    let parts = file.given("course", reader, course::parts);
    match (topics.or(Vec::new()), runs.or(Vec::new()), parts.or(Vec::new())) {
        (Some(topics), Some(runs), Some(parts)) => Given::Yes(Course { topics, runs, parts }),
        _ => Given::Faulty,
    }
}

fn version(file: &Section, reader: &mut Reader) {
    let Some(node) = file.get("mha") else { return };
    if node.value.as_u64() != Some(VERSION) {
        let shown = super::reader::describe(node.value);
        let what = format!("this lesson is of version {shown}, and this program reads version {VERSION}");
        reader.fault::<()>(&node.spot, what, "", format!("write mha: {VERSION}, or take a newer mha"));
    }
}

/// Names of tokens; numbers and true or false are taken as they would be written.
fn labels(node: &Node, reader: &mut Reader) -> Option<Vec<String>> {
    let items = node.items(reader, "a list of names", "write tokens: [a, b, c]")?;
    let names: Vec<Option<String>> = items
        .iter()
        .map(|item| match item.value {
            Value::String(text) => Some(text.clone()),
            Value::Bool(flag) => Some(flag.to_string()),
            Value::Number(number) => Some(number.to_string()),
            Value::Null => Some(String::new()),
            _ => item.refuse(reader, "a name", "put it in quotes"),
        })
        .collect();
    names.into_iter().collect()
}

/// Reads `attention`, of the lesson or of one layer.
pub(super) fn attention(node: &Node, reader: &mut Reader) -> Option<AttentionKeys> {
    let section = node.section(
        &[
            "d_model",
            "num_heads",
            "num_kv_heads",
            "d_k",
            "d_v",
            "scale",
            "mask",
            "positions",
            "softcap",
            "qk_norm",
            "sinks",
            "fully_masked_rows",
        ],
        reader,
    )?;
    let size = |key: &str, reader: &mut Reader| {
        section.given(key, reader, |node, reader| node.whole(reader, 1, LESSON_SIZE))
    };
    Some(AttentionKeys {
        d_model: size("d_model", reader),
        num_heads: size("num_heads", reader),
        num_kv_heads: size("num_kv_heads", reader),
        d_k: size("d_k", reader),
        d_v: size("d_v", reader),
        scale: section.given("scale", reader, scale),
        mask: section.given("mask", reader, masks::read),
        positions: section.given("positions", reader, positions::read),
        softcap: section.given("softcap", reader, softcap),
        qk_norm: section.given("qk_norm", reader, norm::read),
        sinks: array(&section, "sinks", reader),
        fully_masked_rows: section.given("fully_masked_rows", reader, |node, reader| {
            let words = [
                ("error", FullyMaskedRows::Error),
                ("zeros", FullyMaskedRows::Zeros),
                ("nan", FullyMaskedRows::Nan),
                ("uniform", FullyMaskedRows::Uniform),
            ];
            node.word(reader, &words)
        }),
        spot: section.spot.clone(),
    })
}

/// Reads an array of finite numbers.
pub(super) fn array(section: &Section, key: &str, reader: &mut Reader) -> Given<Typed> {
    section.given(key, reader, |node, reader| arrays_in::read(node, reader, Cells::Finite))
}

fn scale(node: &Node, reader: &mut Reader) -> Option<Scale> {
    match node.number(reader)? {
        0.0 => {
            let what = format!("{} is 0, so every score would be 0", node.spot);
            reader.fault(
                &node.spot,
                what,
                "all weights of a row would be equal",
                "leave scale out for 1/sqrt(d_k)",
            )
        }
        scale => Some(Scale::Given(scale)),
    }
}

fn softcap(node: &Node, reader: &mut Reader) -> Option<f64> {
    match node.number(reader)? {
        cap if cap > 0.0 => Some(cap),
        cap => {
            let what = format!("{} is {cap}, but it must be more than 0", node.spot);
            reader.fault(
                &node.spot,
                what,
                "scores become c · tanh(score / c)",
                "leave softcap out for no cap",
            )
        }
    }
}

fn inputs(node: &Node, reader: &mut Reader) -> Option<Inputs> {
    let section = node.section(&["x", "x_kv", "q", "k", "v"], reader)?;
    Some(Inputs {
        x: array(&section, "x", reader),
        x_kv: array(&section, "x_kv", reader),
        q: array(&section, "q", reader),
        k: array(&section, "k", reader),
        v: array(&section, "v", reader),
        spot: section.spot.clone(),
    })
}

/// Reads `projections`, of the lesson or of one layer.
pub(super) fn projections(node: &Node, reader: &mut Reader) -> Option<Projections> {
    let section =
        node.section(&["w_q", "w_k", "w_v", "w_o", "b_q", "b_k", "b_v", "b_o", "in_proj"], reader)?;
    let mut of_kind = |kind: char| {
        Projection::ALL.map(|projection| array(&section, &format!("{kind}_{}", projection.letter()), reader))
    };
    let (w, b) = (of_kind('w'), of_kind('b'));
    let in_proj = section.given("in_proj", reader, packing::read);
    Some(Projections { w, b, in_proj, spot: section.spot.clone() })
}
