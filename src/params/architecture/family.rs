//! Family files: what is in them, and how one is laid over another.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use include_dir::{Dir, include_dir};
use serde_json::{Map as Json, Value as JsonValue};
use serde_yaml::{Mapping, Value as Yaml};

use super::formula::{self, Formula};
use super::tree::{Block, Module};
use crate::fault::{Fault, Faults, Outcome};

static FILES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/src/params/families");

/// Files that may stand on top of each other.
const MOST_PARENTS: usize = 8;

/// A family as its file and the files below describe it.
#[derive(Debug, Clone, Default)]
pub(super) struct Family {
    /// The file's name.
    pub(super) name: String,
    pub(super) types: Vec<String>,
    class_names: ByCase,
    prefixes: ByCase,
    pub(super) names: BTreeMap<Rc<str>, Formula>,
    pub(super) defaults: Json<String, JsonValue>,
    pub(super) blocks: BTreeMap<String, Rc<Block>>,
    pub(super) tree: Rc<Module>,
    /// What each kind of class adds; `None` where a child takes a class away.
    classes: Vec<(String, Option<Rc<Module>>)>,
    special_names: Vec<(String, Vec<String>)>,
    pub(super) tied: Vec<Tie>,
}

/// A text that depends on the class or the type.
#[derive(Debug, Clone, Default)]
struct ByCase(Vec<(String, String)>);

/// Two names of one tensor.
#[derive(Debug, Clone)]
pub(super) struct Tie {
    pub(super) alias: String,
    pub(super) tensor: String,
    pub(super) condition: Option<Formula>,
}

/// Class names that do not follow the rule `a-b` → `ForAB`.
const SUFFIXES: [(&str, &str); 4] =
    [("base", "Model"), ("pretraining", "ForPreTraining"), ("causal-lm", "ForCausalLM"), ("ctc", "ForCTC")];

impl Family {
    /// The family that builds a model type; `None` where there is none.
    pub(super) fn of_type(model_type: &str) -> Option<Outcome<Rc<Self>>> {
        // a report builds one model several times, with other sizes: the file is read once
        thread_local! {
            static READ: RefCell<BTreeMap<&'static str, Rc<Family>>> = const { RefCell::new(BTreeMap::new()) };
        }
        let lists = |text: &str| types_line(text).any(|known| known == model_type);
        let (name, text) = files().find(|(_, text)| lists(text))?;
        if let Some(family) = READ.with(|read| read.borrow().get(name).cloned()) {
            return Some(Ok(family));
        }
        let family = Self::read(name, text, 0).map(Rc::new);
        if let Ok(family) = &family {
            READ.with(|read| read.borrow_mut().insert(name, family.clone()));
        }
        Some(family)
    }

    /// Every model type that is known, in the order of the files.
    pub(super) fn known_types() -> Vec<&'static str> {
        files().flat_map(|(_, text)| types_line(text)).collect()
    }

    fn read(name: &str, text: &str, depth: usize) -> Outcome<Self> {
        Self::parse(name, text, depth).map_err(|Faults(faults)| {
            Faults(faults.into_iter().map(|fault| fault.in_source(format!("the family {name}"))).collect())
        })
    }

    fn parse(name: &str, text: &str, depth: usize) -> Outcome<Self> {
        let yaml: Mapping = serde_yaml::from_str(text).map_err(|error| malformed(&error.to_string()))?;
        let mut family = match yaml.get("like").and_then(Yaml::as_str) {
            Some(_) if depth >= MOST_PARENTS => return Err(malformed("its parents never end")),
            Some(parent) => {
                let found = files().find(|(name, _)| *name == parent);
                let (parent, text) =
                    found.ok_or_else(|| malformed(&format!("there is no family {parent}")))?;
                Self::read(parent, text, depth + 1)?
            }
            None => Self::default(),
        };
        family.name = name.to_owned();
        family.types.clear();
        let mut tree = None;
        for (key, value) in &yaml {
            match text_of(key)?.as_str() {
                "types" => family.types = texts(value)?,
                "like" => {}
                "name" => family.class_names = ByCase::read(value)?,
                "prefix" => family.prefixes = ByCase::read(value)?,
                "let" => {
                    for (name, value) in map(value)? {
                        family.names.insert(text_of(name)?.into(), as_formula(value)?);
                    }
                }
                "defaults" => {
                    for (name, value) in map(value)? {
                        let value =
                            serde_json::to_value(value).map_err(|error| malformed(&error.to_string()))?;
                        family.defaults.insert(text_of(name)?, value);
                    }
                }
                "blocks" => {
                    for (head, value) in map(value)? {
                        let (name, block) = Block::read(&text_of(head)?, value)?;
                        family.blocks.insert(name, Rc::new(block));
                    }
                }
                "tree" => tree = Some(Module::read(map(value)?)?),
                "classes" => family.add_classes(map(value)?)?,
                "names" => {
                    for (kind, value) in map(value)? {
                        let (kind, names) = (text_of(kind)?, texts(value)?);
                        family.special_names.retain(|(known, _)| *known != kind);
                        family.special_names.push((kind, names));
                    }
                }
                "tied" => family.add_ties(map(value)?)?,
                other => return Err(malformed(&format!("{other} means nothing here"))),
            }
        }
        if let Some(tree) = tree {
            let mut whole = (*family.tree).clone();
            whole.lay_over(tree);
            family.tree = whole.into();
        }
        Ok(family)
    }

    fn add_classes(&mut self, classes: &Mapping) -> Outcome<()> {
        for (kind, value) in classes {
            let kind = text_of(kind)?;
            let added = match value {
                Yaml::Null => None,
                value => Some(Module::read(map(value)?)?),
            };
            match (self.classes.iter_mut().find(|(known, _)| *known == kind), added) {
                (Some((_, there)), Some(added)) => {
                    let mut whole = there.as_deref().cloned().unwrap_or_default();
                    whole.lay_over(added);
                    *there = Some(whole.into());
                }
                (Some((_, there)), None) => *there = None,
                (None, added) => self.classes.push((kind, added.map(Rc::new))),
            }
        }
        Ok(())
    }

    fn add_ties(&mut self, ties: &Mapping) -> Outcome<()> {
        for (alias, value) in ties {
            let alias = text_of(alias)?;
            self.tied.retain(|tie| tie.alias != alias);
            if value.is_null() {
                continue;
            }
            let value = text_of(value)?;
            let (tensor, condition) = match value.split_once(" if ") {
                Some((tensor, condition)) => (tensor.trim().to_owned(), Some(formula::parse(condition)?)),
                None => (value.trim().to_owned(), None),
            };
            self.tied.push(Tie { alias, tensor, condition });
        }
        Ok(())
    }

    /// What a kind of class adds to the base model; `None` where there is no such class.
    pub(super) fn class(&self, kind: &str) -> Option<Rc<Module>> {
        self.classes.iter().find(|(known, _)| known == kind)?.1.clone()
    }

    /// Every kind of class that there is.
    pub(super) fn kinds(&self) -> impl Iterator<Item = &str> {
        self.classes.iter().filter(|(_, module)| module.is_some()).map(|(kind, _)| kind.as_str())
    }

    /// Where the base model stands inside a class of this kind; empty where it is not inside anything.
    pub(super) fn prefix(&self, kind: &str, model_type: &str) -> String {
        if kind == "base" { String::new() } else { self.prefixes.case(kind, model_type) }
    }

    /// The names that a kind of class goes by; the first is the usual one.
    pub(super) fn class_names(&self, kind: &str, model_type: &str) -> Vec<String> {
        let stem = self.class_names.case(model_type, "");
        let special = self.special_names.iter().find(|(known, _)| known == kind);
        match special {
            Some((_, names)) => names.iter().map(|name| name.replace("{name}", &stem)).collect(),
            None => vec![format!("{stem}{}", suffix(kind))],
        }
    }

    /// The kind of a class by its name.
    pub(super) fn kind_of(&self, class_name: &str, model_type: &str) -> Option<&str> {
        self.kinds().find(|kind| self.class_names(kind, model_type).iter().any(|name| name == class_name))
    }
}

/// `sequence-classification` → `ForSequenceClassification`.
pub(super) fn suffix(kind: &str) -> String {
    if let Some((_, suffix)) = SUFFIXES.iter().find(|(known, _)| *known == kind) {
        return (*suffix).to_owned();
    }
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
        if word == "lm" { "LM".to_owned() } else { first + letters.as_str() }
    };
    format!("For{}", kind.split('-').map(capitalised).collect::<String>())
}

impl ByCase {
    fn read(value: &Yaml) -> Outcome<Self> {
        Ok(Self(match value {
            Yaml::Mapping(cases) => cases
                .iter()
                .map(|(case, text)| Ok((text_of(case)?, text_of(text)?)))
                .collect::<Outcome<_>>()?,
            Yaml::Null => Vec::new(),
            one => vec![("else".to_owned(), text_of(one)?)],
        }))
    }

    fn case(&self, first: &str, second: &str) -> String {
        let find =
            |wanted: &str| self.0.iter().find(|(case, _)| case == wanted).map(|(_, text)| text.clone());
        find(first).or_else(|| find(second)).or_else(|| find("else")).unwrap_or_default()
    }
}

fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.files().filter_map(|file| Some((file.path().file_stem()?.to_str()?, file.contents_utf8()?)))
}

/// The types that a file lists, read without reading the rest of it.
fn types_line(text: &str) -> impl Iterator<Item = &str> {
    let line = text.lines().find_map(|line| line.strip_prefix("types:")).unwrap_or_default();
    let inside = line.trim().trim_start_matches('[').split(']').next().unwrap_or_default();
    inside.split(',').map(str::trim).filter(|word| !word.is_empty())
}

pub(super) fn malformed(why: &str) -> Faults {
    Fault::new("a family file cannot be read", why, "").into()
}

pub(super) fn map(value: &Yaml) -> Outcome<&Mapping> {
    static EMPTY: std::sync::LazyLock<Mapping> = std::sync::LazyLock::new(Mapping::new);
    match value {
        Yaml::Mapping(map) => Ok(map),
        Yaml::Null => Ok(&EMPTY),
        _ => Err(malformed("a map is needed")),
    }
}

pub(super) fn text_of(value: &Yaml) -> Outcome<String> {
    match value {
        Yaml::String(text) => Ok(text.clone()),
        Yaml::Number(number) => Ok(number.to_string()),
        Yaml::Bool(value) => Ok(value.to_string()),
        _ => Err(malformed("a text is needed")),
    }
}

fn texts(value: &Yaml) -> Outcome<Vec<String>> {
    match value {
        Yaml::Sequence(items) => items.iter().map(text_of).collect(),
        one => Ok(vec![text_of(one)?]),
    }
}

pub(super) fn as_formula(value: &Yaml) -> Outcome<Formula> {
    match value {
        Yaml::Null => Ok(Formula::Null),
        Yaml::Sequence(items) => Ok(Formula::List(items.iter().map(as_formula).collect::<Outcome<_>>()?)),
        other => formula::parse(&text_of(other)?),
    }
}
